// SPDX-License-Identifier: MIT
//
// files.go - goroutines that read and write blocks of a file
// (bench/workloads/tasks/files.c)
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
)

const (
	blocks     = 4096
	blockBytes = 4096
	writeEvery = 10
)

type files struct {
	fibers, times int
	file          *os.File
	done          []runs
}

func fill(block []byte, number uint64) {
	for at := 0; at < blockBytes; at += 8 {
		binary.LittleEndian.PutUint64(block[at:], number)
	}
}

func (f *files) makeFile() error {
	file, err := os.CreateTemp("/tmp", "skua-files.")
	if err != nil {
		return err
	}
	os.Remove(file.Name())
	block := make([]byte, blockBytes)
	for i := uint64(0); i < blocks; i++ {
		fill(block, i)
		if _, err := file.Write(block); err != nil {
			return err
		}
	}
	f.file = file
	return nil
}

// use returns the number of operations that went right.
func (f *files) use(seed uint64) uint64 {
	block := make([]byte, blockBytes)
	right := uint64(0)
	for i := 0; i < f.times; i++ {
		seed = seed*6364136223846793005 + 1442695040888963407
		number := (seed >> 33) % blocks
		var bytes int
		if i%writeEvery == writeEvery-1 {
			fill(block, number)
			bytes, _ = f.file.WriteAt(block, int64(number*blockBytes))
		} else {
			bytes, _ = f.file.ReadAt(block, int64(number*blockBytes))
		}
		if bytes == blockBytes && binary.LittleEndian.Uint64(block) == number &&
			binary.LittleEndian.Uint64(block[blockBytes-8:]) == number {
			right++
		}
	}
	return right
}

func setupFiles(*options) *workload {
	f := files{fibers: 8, times: 20000}
	if err := f.makeFile(); err != nil {
		fmt.Fprintln(os.Stderr, "files:", err)
		os.Exit(1)
	}
	f.done = make([]runs, f.fibers)
	return &workload{
		params:  fmt.Sprintf(`{"fibers":%d,"times":%d}`, f.fibers, f.times),
		ops:     f.fibers * f.times,
		prepare: func() { resetRuns(f.done) },
		round: func() {
			var wg sync.WaitGroup
			wg.Add(f.fibers)
			for i := 0; i < f.fibers; i++ {
				go func(i int) {
					f.done[i].n = f.use(uint64(i) + 1)
					wg.Done()
				}(i)
			}
			wg.Wait()
		},
		check: func() error {
			right := uint64(0)
			for i := range f.done {
				right += f.done[i].n
			}
			if right != uint64(f.fibers*f.times) {
				return fmt.Errorf("%d of %d operations went right", right,
					f.fibers*f.times)
			}
			return nil
		},
		teardown: func() { f.file.Close() },
	}
}
