// SPDX-License-Identifier: MIT
//
// channels.go - goroutines that send and receive (bench/workloads/tasks/channels.c)
package main

import (
	"fmt"
	"sync"
)

// channels has pairs of a sender and a receiver.
type channels struct {
	pairs, times int
	sums         []runs // of what each receiver has received
	goroutines   int
	start        func(c *channels, wg *sync.WaitGroup)
}

func (c *channels) setup() *workload {
	c.sums = make([]runs, c.pairs)
	if c.goroutines == 0 {
		c.goroutines = 2 * c.pairs
	}
	return &workload{
		params:  fmt.Sprintf(`{"pairs":%d,"times":%d}`, c.pairs, c.times),
		ops:     c.pairs * c.times,
		prepare: func() { resetRuns(c.sums) },
		round: func() {
			var wg sync.WaitGroup
			wg.Add(c.goroutines)
			c.start(c, &wg)
			wg.Wait()
		},
		check: func() error {
			times := uint64(c.times)
			expected := uint64(c.pairs) * (times * (times + 1) / 2)
			sum := uint64(0)
			for i := range c.sums {
				sum += c.sums[i].n
			}
			if sum != expected {
				return fmt.Errorf("received %d, not %d", sum, expected)
			}
			return nil
		},
		teardown: func() {},
	}
}

func setupChannel(*options) *workload {
	c := channels{pairs: 1, times: alone, goroutines: 1}
	c.start = func(c *channels, wg *sync.WaitGroup) {
		channel := make(chan uint64, capacity)
		go func() {
			sum := uint64(0)
			for i := 1; i <= c.times; i++ {
				channel <- uint64(i)
				sum += <-channel
			}
			c.sums[0].n = sum
			wg.Done()
		}()
	}
	return c.setup()
}

// startPairs has all pairs use one channel.
func startPairs(c *channels, wg *sync.WaitGroup) {
	channel := make(chan uint64, capacity)
	for pair := range c.sums {
		own := pair
		go func() {
			for i := 1; i <= c.times; i++ {
				channel <- uint64(i)
			}
			wg.Done()
		}()
		go func() {
			sum := uint64(0)
			for i := 1; i <= c.times; i++ {
				sum += <-channel
			}
			c.sums[own].n = sum
			wg.Done()
		}()
	}
}

func setupChannelMPMC(o *options) *workload {
	c := channels{pairs: o.pairs, times: o.times, start: startPairs}
	return c.setup()
}

func setupChannelRoundTrip(*options) *workload {
	c := channels{pairs: 1, times: passes}
	c.start = func(c *channels, wg *sync.WaitGroup) {
		there := make(chan uint64, capacity)
		back := make(chan uint64, capacity)
		go func() {
			sum := uint64(0)
			for i := 1; i <= c.times; i++ {
				there <- uint64(i)
				sum += <-back
			}
			c.sums[0].n = sum
			wg.Done()
		}()
		go func() {
			for i := 1; i <= c.times; i++ {
				back <- <-there
			}
			wg.Done()
		}()
	}
	return c.setup()
}

func setupSpsc(*options) *workload {
	c := channels{pairs: 1, times: alone, start: startPairs}
	return c.setup()
}
