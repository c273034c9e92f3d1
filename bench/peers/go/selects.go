// SPDX-License-Identifier: MIT
//
// selects.go - a goroutine that takes the first of several items
// (bench/workloads/tasks/selects.c)
package main

import (
	"fmt"
	"sync"
)

// selects has one goroutine that asks, and one that answers.
type selects struct {
	channels, times int
	sums            []runs // of the answers
	answer          func(there []chan uint64, back chan<- uint64)
}

func (s *selects) setup() *workload {
	s.sums = make([]runs, 1)
	s.times = passes
	return &workload{
		params:  fmt.Sprintf(`{"times":%d}`, s.times),
		ops:     s.times,
		prepare: func() { resetRuns(s.sums) },
		round:   s.round,
		check: func() error {
			times := uint64(s.times)
			if expected := times * (times + 1) / 2; s.sums[0].n != expected {
				return fmt.Errorf("received %d, not %d", s.sums[0].n, expected)
			}
			return nil
		},
		teardown: func() {},
	}
}

func (s *selects) round() {
	there := make([]chan uint64, s.channels)
	for i := range there {
		there[i] = make(chan uint64, selectCapacity)
	}
	back := make(chan uint64, selectCapacity)
	var wg sync.WaitGroup
	wg.Add(2)
	go func() {
		for i := 0; i < s.times; i++ {
			s.answer(there, back)
		}
		wg.Done()
	}()
	go func() {
		sum := uint64(0)
		for i := 1; i <= s.times; i++ {
			there[i%s.channels] <- uint64(i)
			sum += <-back
		}
		s.sums[0].n = sum
		wg.Done()
	}()
	wg.Wait()
}

const selectCapacity = 16

func setupSelect1(*options) *workload {
	s := selects{channels: 1, answer: func(there []chan uint64, back chan<- uint64) {
		back <- <-there[0]
	}}
	return s.setup()
}

func setupSelect2(*options) *workload {
	s := selects{channels: 2, answer: func(there []chan uint64, back chan<- uint64) {
		select {
		case n := <-there[0]:
			back <- n
		case n := <-there[1]:
			back <- n
		}
	}}
	return s.setup()
}

func setupSelect8(*options) *workload {
	s := selects{channels: 8, answer: func(there []chan uint64, back chan<- uint64) {
		select {
		case n := <-there[0]:
			back <- n
		case n := <-there[1]:
			back <- n
		case n := <-there[2]:
			back <- n
		case n := <-there[3]:
			back <- n
		case n := <-there[4]:
			back <- n
		case n := <-there[5]:
			back <- n
		case n := <-there[6]:
			back <- n
		case n := <-there[7]:
			back <- n
		}
	}}
	return s.setup()
}
