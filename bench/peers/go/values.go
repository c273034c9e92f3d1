// SPDX-License-Identifier: MIT
//
// values.go - goroutines that send a value once, an item to all, and the latest value
// (bench/workloads/tasks/values.c)
//
// This is what programs in Go do: a oneshot is a channel with room for one; a broadcast is
// a channel for each receiver; a watch is a value with a channel that the next change
// closes.
package main

import (
	"fmt"
	"sync"
)

const (
	capacity = 128
	batch    = capacity / 2
)

// values has a sender and receivers that each run once in a round.
type values struct {
	receivers, times int
	sums             []runs // of what each receiver has received; of the sender alone
	round            func(v *values, wg *sync.WaitGroup)
}

func (v *values) setup() *workload {
	v.sums = make([]runs, v.receivers)
	if v.receivers == 0 {
		v.sums = make([]runs, 1)
	}
	return &workload{
		params:  fmt.Sprintf(`{"receivers":%d,"times":%d}`, v.receivers, v.times),
		ops:     v.times,
		prepare: func() { resetRuns(v.sums) },
		round: func() {
			var wg sync.WaitGroup
			wg.Add(v.receivers + 1)
			v.round(v, &wg)
			wg.Wait()
		},
		check: func() error {
			times := uint64(v.times)
			expected := uint64(len(v.sums)) * (times * (times + 1) / 2)
			sum := uint64(0)
			for i := range v.sums {
				sum += v.sums[i].n
			}
			if sum != expected {
				return fmt.Errorf("received %d, not %d", sum, expected)
			}
			return nil
		},
		teardown: func() {},
	}
}

func setupOneshot(*options) *workload {
	v := values{times: alone, round: func(v *values, wg *sync.WaitGroup) {
		go func() {
			sum := uint64(0)
			for i := 1; i <= v.times; i++ {
				oneshot := make(chan uint64, 1)
				oneshot <- uint64(i)
				sum += <-oneshot
			}
			v.sums[0].n = sum
			wg.Done()
		}()
	}}
	return v.setup()
}

func setupBroadcast(*options) *workload {
	v := values{receivers: 4, times: 200000, round: func(v *values, wg *sync.WaitGroup) {
		all := make([]chan uint64, v.receivers)
		caughtUp := make(chan struct{}, v.receivers)
		for r := range all {
			all[r] = make(chan uint64, capacity)
		}
		go func() {
			for i := 1; i <= v.times; i++ {
				for _, receiver := range all {
					receiver <- uint64(i)
				}
				for n := 0; i%batch == 0 && n < v.receivers; n++ {
					<-caughtUp
				}
			}
			wg.Done()
		}()
		for r := range all {
			own, sum := r, uint64(0)
			go func() {
				for i := 1; i <= v.times; i++ {
					sum += <-all[own]
					if i%batch == 0 {
						caughtUp <- struct{}{}
					}
				}
				v.sums[own].n = sum
				wg.Done()
			}()
		}
	}}
	return v.setup()
}

// watched is a value; the next change closes changed.
type watched struct {
	mutex   sync.Mutex
	version uint64
	value   uint64
	changed chan struct{}
}

func (w *watched) set(value uint64) {
	w.mutex.Lock()
	w.value = value
	w.version++
	close(w.changed)
	w.changed = make(chan struct{})
	w.mutex.Unlock()
}

// next waits until the version is not seen, and returns the version and the value.
func (w *watched) next(seen uint64) (uint64, uint64) {
	for {
		w.mutex.Lock()
		version, value, changed := w.version, w.value, w.changed
		w.mutex.Unlock()
		if version != seen {
			return version, value
		}
		<-changed
	}
}

func setupWatch(*options) *workload {
	v := values{receivers: 1, times: passes, round: func(v *values, wg *sync.WaitGroup) {
		there := watched{changed: make(chan struct{})}
		back := watched{changed: make(chan struct{})}
		go func() {
			version, value, sum := uint64(0), uint64(0), uint64(0)
			for i := 1; i <= v.times; i++ {
				there.set(uint64(i))
				version, value = back.next(version)
				sum += value
			}
			v.sums[0].n = sum
			wg.Done()
		}()
		go func() {
			version, value := uint64(0), uint64(0)
			for i := 1; i <= v.times; i++ {
				version, value = there.next(version)
				back.set(value)
			}
			wg.Done()
		}()
	}}
	return v.setup()
}
