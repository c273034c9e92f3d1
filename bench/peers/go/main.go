// SPDX-License-Identifier: MIT
//
// # Go's scheduler on the workloads of skua-bench
//
// The first nine workloads, with their constants, come from Tokio's benchmark
// rt_multi_threaded. They are written here like those in skua's bench/workloads/tasks/,
// with a goroutine for each task:
//
//	spawn_many_local         20 times: 10,000 empty tasks, wait for all
//	spawn_many_worker        the same, from another goroutine than main
//	spawn_many_remote_idle   the same, from a goroutine with its own thread
//	spawn_many_remote_busy1  the same, 5 times, while two tasks for each worker
//	                         use 10 us and yield, again and again
//	spawn_many_remote_busy2  5 times 1,000 tasks, while one chain of tasks for
//	                         each worker runs: each task uses 10 us and spawns
//	                         its successor
//	yield_many               5 times: 200 tasks yield 1,000 times each
//	fiber_yield              the same: a goroutine has a stack
//	fiber_spawn              as spawn_many_worker
//	ping_pong                50 times: 1,000 tasks, each of which spawns a
//	                         partner, sends it a number and awaits an answer
//	chained_spawn            100 times: 1,000 tasks, each spawns the next one
//	join_one                 200,000 times: a task spawns a task and awaits it
//
// The others come from skua:
//
//	wake          another thread wakes a task 1,000 times, 60 us apart
//	parallel_map  10,000 tasks of about 1 us
//	mutex, mutex_contended, rwlock, semaphore, notify, barrier, once
//	              the same with package sync and channels (sync.go)
//	select_1, select_2, select_8
//	              the same with channels (selects.go)
//	oneshot, broadcast, watch
//	              the same with channels (values.go)
//	blocking, blocking_sleeps
//	              goroutines that make system calls (blocking.go)
//	timers        one task adds and stops 10^6 timers; meanwhile 1,000 tasks
//	              sleep 1 to 51 ms beside two busy tasks for each worker
//	uts           unbalanced tree search with a task for each node
//	echo_1, echo_50, echo_10k
//	              echo servers, which a client in another process asks (echo.go)
//	rpc           20,000 calls in an open loop with a task for each call, by the
//	              same plan, spawned by a pinned thread that spins
//
// Differences that cannot be avoided: --workers sets GOMAXPROCS. There are no external
// threads: a goroutine that spawns or waits occupies a worker meanwhile. In the "remote"
// workloads it has at least a thread of its own (LockOSThread). Goroutines are waited for
// with a sync.WaitGroup, because they have no handles to join. In wake, GOMAXPROCS is one
// more than the workers, because the waking thread, which spins like skua's, is a
// goroutine too; and no thread is woken in turn (like skua's --alone). uts counts live
// tasks with one counter for all workers (skua has one for each), and uses Go's SHA-1
// (skua uses nettle's). rpc.go describes the effect of a caller that is a goroutine. The
// garbage collector runs.
package main

import (
	"fmt"
	"math"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// ---- tasks that keep the workers busy (bench/workloads/background_load.c) -----

// stall uses 10 us. It returns false if the load must stop.
func stall(stop *atomic.Bool) bool {
	start := time.Now()
	if stop.Load() {
		return false
	}
	for time.Since(start) < 10*time.Microsecond {
		// Yield the thread, not the goroutine.
		syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
	}
	return true
}

func yieldingLoad(stop *atomic.Bool, wg *sync.WaitGroup) {
	for stall(stop) {
		runtime.Gosched()
	}
	wg.Done()
}

func chainLoad(stop *atomic.Bool, wg *sync.WaitGroup) {
	if stall(stop) {
		go chainLoad(stop, wg)
	} else {
		wg.Done()
	}
}

// ---- batches of tasks ---------------------------------------------------------

type batches struct {
	tasks, repeat int
	more          string // parameters
	perTask       int    // operations; 0: one
	runs          []runs // one for each task
	expected      uint64 // runs of each task; 0: repeat
	round         func(b *batches)
	load          func(stop *atomic.Bool, wg *sync.WaitGroup)
	loads         int // goroutines of the load for each worker
}

func (b batches) setup(o *options) *workload {
	var stop atomic.Bool
	var loads sync.WaitGroup
	if b.runs == nil {
		b.runs = make([]runs, b.tasks)
	}
	if b.expected == 0 {
		b.expected = uint64(b.repeat)
	}
	if b.perTask == 0 {
		b.perTask = 1
	}
	for i := 0; i < b.loads*o.workers; i++ {
		loads.Add(1)
		go b.load(&stop, &loads)
	}
	return &workload{
		params:  fmt.Sprintf(`{"tasks":%d,"repeat":%d%s}`, b.tasks, b.repeat, b.more),
		ops:     b.tasks * b.repeat * b.perTask,
		prepare: func() { resetRuns(b.runs) },
		round:   func() { b.round(&b) },
		check:   func() error { return checkRuns(b.runs, b.expected) },
		teardown: func() {
			stop.Store(true)
			loads.Wait()
		},
	}
}

func spawnAll(b *batches) {
	var wg sync.WaitGroup
	for i := 0; i < b.repeat; i++ {
		wg.Add(len(b.runs))
		for t := range b.runs {
			own := &b.runs[t]
			go func() {
				own.n++
				wg.Done()
			}()
		}
		wg.Wait()
	}
}

func inside(b *batches) {
	done := make(chan struct{})
	go func() {
		spawnAll(b)
		close(done)
	}()
	<-done
}

func remote(b *batches) {
	runtime.LockOSThread()
	spawnAll(b)
	runtime.UnlockOSThread()
}

const yields = 1000

func yieldAll(b *batches) {
	var wg sync.WaitGroup
	for i := 0; i < b.repeat; i++ {
		wg.Add(len(b.runs))
		for t := range b.runs {
			own := &b.runs[t]
			go func() {
				own.n++
				for y := 0; y < yields; y++ {
					runtime.Gosched()
					own.n++
				}
				wg.Done()
			}()
		}
		wg.Wait()
	}
}

func ping(number uint64, right *runs, wg *sync.WaitGroup) {
	toPong, toPing := make(chan uint64, 1), make(chan uint64, 1)
	go func() { toPing <- ^<-toPong }()
	toPong <- number
	if <-toPing == ^number {
		right.n++
	}
	wg.Done()
}

func pingAll(b *batches) {
	var wg sync.WaitGroup
	for i := 0; i < b.repeat; i++ {
		wg.Add(len(b.runs))
		go func() {
			for t := range b.runs {
				go ping(uint64(t), &b.runs[t], &wg)
			}
		}()
		wg.Wait()
	}
}

func link(links []runs, done chan<- struct{}) {
	links[0].n++
	if len(links) > 1 {
		go link(links[1:], done)
	} else {
		done <- struct{}{}
	}
}

func chainAll(b *batches) {
	done := make(chan struct{})
	for i := 0; i < b.repeat; i++ {
		go link(b.runs, done)
		<-done
	}
}

const children = 1000 * 200

func joinAll(b *batches) {
	done := make(chan struct{})
	go func() {
		child := &b.runs[0]
		for joined := uint64(1); joined <= children; joined++ {
			ended := make(chan struct{})
			go func() {
				child.n++
				close(ended)
			}()
			<-ended
			if child.n != joined {
				panic("a child had not run once when it was joined")
			}
		}
		close(done)
	}()
	<-done
}

// ---- parallel_map -------------------------------------------------------------

const (
	mapItems = 10000
	mapCost  = 1
)

func setupMap(*options) *workload {
	type result struct{ number, value uint64 }
	results := make([]result, mapItems)
	return &workload{
		params: fmt.Sprintf(`{"items":%d,"cost":%d}`, mapItems, mapCost),
		ops:    mapItems,
		prepare: func() {
			for i := range results {
				results[i] = result{math.MaxUint64, 0}
			}
		},
		round: func() {
			var wg sync.WaitGroup
			wg.Add(mapItems)
			for i := range results {
				number, own := uint64(i), &results[i]
				go func() {
					*own = result{number, compute(number, mapCost)}
					wg.Done()
				}()
			}
			wg.Wait()
		},
		check: func() error {
			for i := range results {
				number := uint64(i)
				if results[i] != (result{number, compute(number, mapCost)}) {
					return fmt.Errorf("item %d is wrong", i)
				}
			}
			return nil
		},
	}
}

// ---- wake ---------------------------------------------------------------------

const (
	wakes = 1000
	gap   = 60 * time.Microsecond
	// The waking thread spins for this long; after that it also yields.
	spinFor = 200 * time.Microsecond
	lost    = 10 * time.Second
)

// pinLast pins this thread to the last of its CPUs. If that fails, the figures are less
// precise, but not wrong.
func pinLast() {
	var cpus, one [16]uint64
	syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(cpus),
		uintptr(unsafe.Pointer(&cpus)))
	for cpu := 1023; cpu >= 0; cpu-- {
		if cpus[cpu/64]>>(cpu%64)&1 == 1 {
			one[cpu/64] = 1 << (cpu % 64)
			break
		}
	}
	syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(one),
		uintptr(unsafe.Pointer(&one)))
}

func setupWake(o *options) *workload {
	base := time.Now()
	now := func() int64 { return int64(time.Since(base)) }
	wake := make(chan struct{}, 1)
	ended := make(chan struct{})
	var landedAt int64 // guarded by landed
	var landed atomic.Uint32
	go func() {
		for range wake {
			landedAt = now()
			landed.Add(1)
		}
		close(ended)
	}()

	runtime.GOMAXPROCS(o.workers + 1)
	runtime.LockOSThread()
	pinLast()
	var round, all []int64
	sent := uint32(0)

	one := func() int64 {
		for end := now() + int64(gap); now() < end; {
		}
		start := now()
		sent++
		wake <- struct{}{}
		for landed.Load() != sent {
			waited := time.Duration(now() - start)
			if waited > lost {
				panic("a wake was lost")
			}
			if waited > spinFor {
				syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
			}
		}
		return landedAt - start
	}
	return &workload{
		params:  fmt.Sprintf(`{"wakes":%d,"gap":%d,"alone":true}`, wakes, gap/time.Microsecond),
		ops:     wakes,
		prepare: func() { round = round[:0] },
		round: func() {
			for i := 0; i < wakes; i++ {
				round = append(round, one())
			}
		},
		check: func() error {
			if n := landed.Load(); n != sent {
				return fmt.Errorf("woken %d times so far, not %d", n, sent)
			}
			return nil
		},
		sample: func(int64) float64 {
			all = append(all, round...)
			sort.Slice(round, func(a, b int) bool { return round[a] < round[b] })
			return float64(round[(len(round)-1)/2])
		},
		figures: func() string { return `,"latency_ns":` + percentiles(all, 1) },
		teardown: func() {
			close(wake)
			<-ended
		},
	}
}

// ---- timers -------------------------------------------------------------------

const (
	timers   = 1000000
	sleepers = 1000
	// The number of timers that are added or stopped before the task yields.
	timerBatch = 1000
	far        = time.Hour
	near       = time.Millisecond
	within     = 50 * time.Millisecond
)

type sleeper struct {
	late time.Duration
	ran  bool
}

// byBatches calls do for each timer, and yields after each batch. It returns the time
// that the calls took, without the time in which other goroutines ran.
func byBatches(do func(i int)) time.Duration {
	result := make(chan time.Duration)
	go func() {
		var sum time.Duration
		for i := 0; i < timers; {
			start := time.Now()
			for end := i + timerBatch; i < end; i++ {
				do(i)
			}
			sum += time.Since(start)
			runtime.Gosched()
		}
		result <- sum
	}()
	return <-result
}

func beBusy(stop *atomic.Bool, wg *sync.WaitGroup) {
	for !stop.Load() {
		for start := time.Now(); time.Since(start) < 10*time.Microsecond; {
		}
		runtime.Gosched()
	}
	wg.Done()
}

// sleepBesideLoad lets the sleepers sleep while the workers are busy. It returns how many
// of them ran within the time lost.
func sleepBesideLoad(all []sleeper, workers int) int64 {
	var busy sync.WaitGroup
	var stop atomic.Bool
	var awake atomic.Int64
	busy.Add(2 * workers)
	for i := 0; i < 2*workers; i++ {
		go beBusy(&stop, &busy)
	}
	for i := range all {
		sleep := near + time.Duration(scatter(uint64(i))%uint64(within))
		own := &all[i]
		go func() {
			due := time.Now().Add(sleep)
			time.Sleep(sleep)
			own.late = time.Since(due)
			own.ran = true
			awake.Add(1)
		}()
	}
	for start := time.Now(); awake.Load() < sleepers && time.Since(start) < lost; {
		time.Sleep(time.Millisecond)
	}
	stop.Store(true)
	busy.Wait()
	return awake.Load()
}

func setupTimers(o *options) *workload {
	all := make([]sleeper, sleepers)
	farTimers := make([]*time.Timer, timers)
	var wrong, awake, rounds int64
	var add, stop, sumAdd, sumStop time.Duration
	var late []int64
	return &workload{
		params:  fmt.Sprintf(`{"timers":%d,"sleepers":%d}`, timers, sleepers),
		ops:     timers,
		prepare: func() { wrong = 0 },
		round: func() {
			add = byBatches(func(i int) {
				d := far + time.Duration(scatter(uint64(i))%uint64(far))
				farTimers[i] = time.AfterFunc(d, func() {})
			})
			awake = sleepBesideLoad(all, o.workers)
			stop = byBatches(func(i int) {
				if !farTimers[i].Stop() {
					wrong++
				}
			})
		},
		check: func() error {
			early := 0
			for i := range all {
				if all[i].late < 0 {
					early++
				}
			}
			if wrong == 0 && early == 0 && awake == sleepers {
				return nil
			}
			return fmt.Errorf("%d of the far timers were not there, "+
				"%d of the near ones early, %d lost", wrong, early,
				sleepers-awake)
		},
		sample: func(int64) float64 {
			rounds++
			sumAdd += add
			sumStop += stop
			for i := range all {
				late = append(late, int64(all[i].late))
			}
			return float64(add+stop) / timers
		},
		figures: func() string {
			n := float64(rounds) * timers
			return fmt.Sprintf(`,"add_ns":%.2f,"cancel_ns":%.2f,"latency_ns":%s`,
				float64(sumAdd)/n, float64(sumStop)/n, percentiles(late, 1))
		},
	}
}

// ---- all ----------------------------------------------------------------------

const (
	awaitDrain = `,"await":"drain"`
	awaitJoin  = `,"await":"join"`
)

var entries []entry

// init fills entries, because an initialiser would refer to itself through the functions
// above.
func init() {
	entries = []entry{
		{"parallel_map", "Compute a function of many numbers, one task for each", setupMap},
		{"uts", "Search an unbalanced tree, one task for each node", setupUTS},
		{"spawn_many_local", "Spawn 10,000 empty tasks, wait for all",
			batches{tasks: 10000, repeat: 20, more: awaitDrain, round: spawnAll}.setup},
		{"spawn_many_worker", "Spawn 10,000 empty tasks from inside a task, wait for all",
			batches{tasks: 10000, repeat: 20, more: awaitJoin, round: inside}.setup},
		{"spawn_many_remote_idle", "Spawn 10,000 empty tasks from another thread, wait for all",
			batches{tasks: 10000, repeat: 20, more: awaitJoin, round: remote}.setup},
		{"spawn_many_remote_busy1", "Like spawn_many_remote_idle, beside tasks that yield",
			batches{tasks: 10000, repeat: 5, more: awaitJoin, round: remote,
				load: yieldingLoad, loads: 2}.setup},
		{"spawn_many_remote_busy2", "Like spawn_many_remote_idle, beside chains of tasks",
			batches{tasks: 1000, repeat: 5, more: awaitJoin, round: remote,
				load: chainLoad, loads: 1}.setup},
		{"yield_many", "200 tasks yield 1,000 times each",
			batches{tasks: 200, repeat: 5, more: `,"yields":1000`, perTask: yields,
				expected: (yields + 1) * 5, round: yieldAll}.setup},
		{"fiber_yield", "200 goroutines yield 1,000 times each",
			batches{tasks: 200, repeat: 5, more: `,"yields":1000`, perTask: yields,
				expected: (yields + 1) * 5, round: yieldAll}.setup},
		{"fiber_spawn", "Spawn 10,000 empty goroutines from inside one, wait for all",
			batches{tasks: 10000, repeat: 20, round: inside}.setup},
		{"ping_pong", "1,000 tasks exchange two messages with a partner each",
			batches{tasks: 1000, repeat: 50, round: pingAll}.setup},
		{"chained_spawn", "Each of 1,000 tasks spawns the next one",
			batches{tasks: 1000, repeat: 100, round: chainAll}.setup},
		{"join_one", "A task spawns an empty task and waits for it",
			batches{tasks: 1000, repeat: 200, runs: make([]runs, 1),
				expected: children, round: joinAll}.setup},
		{"mutex", "A task locks and unlocks a mutex that is free", setupMutex},
		{"mutex_contended", "Eight tasks lock and unlock one mutex", setupMutexContended},
		{"rwlock", "A task locks a lock as a reader, and unlocks it", setupRwlock},
		{"semaphore", "A task takes a permit, and releases it", setupSemaphore},
		{"notify", "Two tasks notify each other in turn", setupNotify},
		{"barrier", "Eight tasks meet at a barrier again and again", setupBarrier},
		{"once", "A task asks for something that is initialised", setupOnce},
		{"channel", "A task sends an item, and receives it", setupChannel},
		{"channel_mpmc", "Tasks send, and as many others receive", setupChannelMPMC},
		{"channel_round_trip", "Two tasks send an item to and fro", setupChannelRoundTrip},
		{"select_1", "A task answers items from one channel, by a select", setupSelect1},
		{"select_2", "A task answers items from 2 channels, by a select", setupSelect2},
		{"select_8", "A task answers items from 8 channels, by a select", setupSelect8},
		{"spsc", "A task sends, and another one receives", setupSpsc},
		{"files", "Tasks read and write blocks of a file", setupFiles},
		{"oneshot", "A task sends a number once, and receives it", setupOneshot},
		{"broadcast", "A task sends numbers, and four receive each", setupBroadcast},
		{"watch", "Two tasks set a number, and wait for the other's", setupWatch},
		{"blocking", "A task makes a system call that does nothing",
			(&blockings{fibers: 1, times: 20000}).setup},
		{"blocking_sleeps", "Tasks make a system call that sleeps for 50 us",
			(&blockings{fibers: 1000, times: 1, sleepNs: 50000}).setup},
		{"wake", "Latency of a task woken by another thread", setupWake},
		{"timers", "Add and stop 10^6 timers; lateness of timers under load", setupTimers},
		{"echo_1", "Echo 64 bytes over TCP, one connection", setupEcho("echo_1")},
		{"echo_50", "Echo 64 bytes over TCP, 50 connections", setupEcho("echo_50")},
		{"echo_10k", "Echo 64 bytes over TCP, 10,000 connections, 100 at a time",
			setupEcho("echo_10k")},
		{"rpc", "Calls in an open loop, compared with an ideal queue", setupRPC},
	}
}
