// SPDX-License-Identifier: MIT
//
// sync.go - goroutines that lock, wait and signal (bench/workloads/tasks/sync.c)
//
// Where package sync has no equal, this is what programs in Go do: a semaphore, and a
// notification, is a channel with room for one; a barrier is a sync.Cond.
package main

import (
	"fmt"
	"sync"
)

// syncTasks has tasks that each run body once in a round.
type syncTasks struct {
	tasks, times int
	counted      []runs // by each task
	count        uint64 // guarded by the object
	expected     uint64 // the sum of all these
	prepare      func()
	body         func(s *syncTasks, i int)
}

func (s *syncTasks) sum() uint64 {
	sum := s.count
	for i := range s.counted {
		sum += s.counted[i].n
	}
	return sum
}

func (s *syncTasks) setup() *workload {
	s.counted = make([]runs, s.tasks)
	if s.expected == 0 {
		s.expected = uint64(s.tasks * s.times)
	}
	return &workload{
		params: fmt.Sprintf(`{"tasks":%d,"times":%d}`, s.tasks, s.times),
		ops:    s.tasks * s.times,
		prepare: func() {
			resetRuns(s.counted)
			s.count = 0
			if s.prepare != nil {
				s.prepare()
			}
		},
		round: func() {
			var wg sync.WaitGroup
			wg.Add(s.tasks)
			for i := 0; i < s.tasks; i++ {
				own := i
				go func() {
					s.body(s, own)
					wg.Done()
				}()
			}
			wg.Wait()
		},
		check: func() error {
			if sum := s.sum(); sum != s.expected {
				return fmt.Errorf("counted %d, not %d", sum, s.expected)
			}
			return nil
		},
		teardown: func() {},
	}
}

const (
	alone     = 1000000
	contended = 50000
	passes    = 100000
	meetings  = 10000
)

func mutexOf(tasks, times int) *workload {
	var mutex sync.Mutex
	s := syncTasks{tasks: tasks, times: times, body: func(s *syncTasks, _ int) {
		for n := 0; n < s.times; n++ {
			mutex.Lock()
			s.count++
			mutex.Unlock()
		}
	}}
	return s.setup()
}

func setupMutex(*options) *workload          { return mutexOf(1, alone) }
func setupMutexContended(*options) *workload { return mutexOf(8, contended) }

func setupRwlock(*options) *workload {
	var lock sync.RWMutex
	value := uint64(1) // guarded by lock
	s := syncTasks{tasks: 1, times: alone, body: func(s *syncTasks, i int) {
		for n := 0; n < s.times; n++ {
			lock.RLock()
			s.counted[i].n += value
			lock.RUnlock()
		}
	}}
	return s.setup()
}

func setupSemaphore(*options) *workload {
	permit := make(chan struct{}, 1)
	s := syncTasks{tasks: 1, times: alone, body: func(s *syncTasks, _ int) {
		for n := 0; n < s.times; n++ {
			permit <- struct{}{}
			s.count++
			<-permit
		}
	}}
	return s.setup()
}

// notifyOne keeps one notification, as skua and Tokio do.
func notifyOne(notify chan<- struct{}) {
	select {
	case notify <- struct{}{}:
	default:
	}
}

func setupNotify(*options) *workload {
	var notifies [2]chan struct{}
	s := syncTasks{tasks: 2, times: passes, body: func(s *syncTasks, i int) {
		own, next := notifies[i], notifies[1-i]
		for n := 0; n < s.times; n++ {
			<-own
			s.count++
			notifyOne(next)
		}
	}}
	s.prepare = func() {
		for i := range notifies {
			notifies[i] = make(chan struct{}, 1)
		}
		notifyOne(notifies[0])
	}
	return s.setup()
}

// barrier lets a number of goroutines proceed together, again and again.
type barrier struct {
	mutex            sync.Mutex
	all              *sync.Cond
	parties, arrived int
	generation       uint64
}

// wait returns 1 to the last goroutine that arrives, and 0 to the others.
func (b *barrier) wait() uint64 {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.arrived++
	if b.arrived == b.parties {
		b.arrived = 0
		b.generation++
		b.all.Broadcast()
		return 1
	}
	for own := b.generation; own == b.generation; {
		b.all.Wait()
	}
	return 0
}

func setupBarrier(*options) *workload {
	b := barrier{parties: 8}
	b.all = sync.NewCond(&b.mutex)
	s := syncTasks{tasks: b.parties, times: meetings, expected: meetings}
	s.body = func(s *syncTasks, i int) {
		for n := 0; n < s.times; n++ {
			s.counted[i].n += b.wait()
		}
	}
	return s.setup()
}

func setupOnce(*options) *workload {
	var once *sync.Once
	var value uint64 // initialised by once
	s := syncTasks{tasks: 1, times: alone, body: func(s *syncTasks, i int) {
		initialise := func() { value = 1 }
		for n := 0; n < s.times; n++ {
			once.Do(initialise)
			s.counted[i].n += value
		}
	}}
	s.prepare = func() { once = new(sync.Once) }
	return s.setup()
}
