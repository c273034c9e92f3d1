// SPDX-License-Identifier: MIT
//
// blocking.go - goroutines that make system calls that may block
// (bench/workloads/tasks/blocking.c)
//
// This is what programs in Go do: the goroutine makes the call on its own thread, and if
// the call takes long, another thread takes over the goroutine's processor. The empty call
// is getpid(), by the function that tells the scheduler of a system call.
package main

import (
	"fmt"
	"sync"
	"syscall"
)

type blockings struct {
	fibers, times, sleepNs int
	counted                []runs // of each goroutine
}

func (b *blockings) call() {
	if b.sleepNs == 0 {
		syscall.Syscall(syscall.SYS_GETPID, 0, 0, 0)
		return
	}
	time := syscall.Timespec{Nsec: int64(b.sleepNs)}
	syscall.Nanosleep(&time, nil)
}

func (b *blockings) setup(*options) *workload {
	b.counted = make([]runs, b.fibers)
	return &workload{
		params: fmt.Sprintf(`{"fibers":%d,"times":%d,"sleep_ns":%d}`, b.fibers, b.times,
			b.sleepNs),
		ops:     b.fibers * b.times,
		prepare: func() { resetRuns(b.counted) },
		round: func() {
			var wg sync.WaitGroup
			wg.Add(b.fibers)
			for i := range b.counted {
				own := &b.counted[i]
				go func() {
					for n := 0; n < b.times; n++ {
						b.call()
						own.n++
					}
					wg.Done()
				}()
			}
			wg.Wait()
		},
		check: func() error {
			sum := 0
			for i := range b.counted {
				sum += int(b.counted[i].n)
			}
			if sum != b.fibers*b.times {
				return fmt.Errorf("%d calls, not %d", sum, b.fibers*b.times)
			}
			return nil
		},
		teardown: func() {},
	}
}
