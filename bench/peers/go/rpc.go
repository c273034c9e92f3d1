// SPDX-License-Identifier: MIT
//
// rpc.go - calls in an open loop, as in bench/workloads/tasks/rpc.c and rpc_plan.c
//
// The caller is a goroutine that is locked to a pinned thread. It spins between calls, and
// until the last call has ended, and therefore occupies a worker (P) that serves no calls.
// For this reason GOMAXPROCS is one more than the workers, so that as many workers serve as
// the plan assumes. Two effects of Go remain, and are measured:
//   - There are no external threads. A new goroutine waits in the caller's queue until
//     another worker steals it. Before a worker steals the newest goroutine of a queue, the
//     runtime sleeps for 3 us (or as long as such a sleep takes), so that the owner may run
//     it.
//   - Every 10 ms the caller is preempted, and its worker serves calls until the caller runs
//     again.
package main

import (
	"fmt"
	"math"
	"runtime"
	"sort"
	"sync/atomic"
	"time"
)

const (
	// Time from the start of a round to the earliest possible arrival.
	leadNs  = 1000000
	shortNs = 10000
	longNs  = 1000000
	// One in this many calls is long.
	longOneIn = 200
	// Slowdowns are counted in thousandths.
	slowdownOne = 1000
)

// ---- the plan, and its queue without overhead ---------------------------------

type call struct{ arrivalNs, serviceNs int64 }

// uniform returns the n-th pseudo-random number, in [0, 1), of the sequence seed.
func uniform(seed, n uint64) float64 {
	return float64(scatter(seed<<40+n)>>11) / (1 << 53)
}

// exponential sometimes differs from the C code in the last bit, which can change an
// arrival by 1 ns. (The conversion forces rounding. Without it, aarch64 would fuse the
// multiplication with the caller's addition.)
func exponential(mean, uniform float64) float64 {
	return float64(-math.Log1p(-uniform) * mean)
}

func plan(calls []call, o *rpcOptions, servers int, seed uint64) {
	bimodal := o.service == "bimodal"
	meanNs := shortNs
	if bimodal {
		meanNs += (longNs - shortNs) / longOneIn
	}
	gapNs := float64(meanNs) * 100 / float64(o.load) / float64(servers)
	nowNs := 0.0
	for i := range calls {
		n := 2 * uint64(i)
		nowNs += exponential(gapNs, uniform(seed, n))
		random := uniform(seed, n+1)
		service := int64(exponential(shortNs, random))
		switch {
		case bimodal && random*longOneIn < 1:
			service = longNs
		case bimodal:
			service = shortNs
		case service < 1:
			service = 1
		}
		calls[i] = call{int64(nowNs), service}
	}
}

type callTimes struct{ sojournNs, slowdown []int64 }

func (t *callTimes) record(c call, sojournNs int64) {
	t.sojournNs = append(t.sojournNs, sojournNs)
	t.slowdown = append(t.slowdown, sojournNs*slowdownOne/c.serviceNs)
}

// simulate serves the calls in a first-come-first-served queue without overhead.
func (t *callTimes) simulate(calls []call, servers int) {
	freeNs := make([]int64, servers)
	for _, c := range calls {
		first := &freeNs[0]
		for k := range freeNs {
			if freeNs[k] < *first {
				first = &freeNs[k]
			}
		}
		if *first < c.arrivalNs {
			*first = c.arrivalNs
		}
		*first += c.serviceNs
		t.record(c, *first-c.arrivalNs)
	}
}

// ---- a round ------------------------------------------------------------------

type rpc struct {
	o                *rpcOptions
	workers          int
	base             time.Time
	calls            []call
	endsNs           []int64 // end of each call; 0: not yet served
	served           atomic.Int64
	rounds           uint64
	startNs          int64 // when the plan of this round starts
	times, simulated callTimes
}

func (r *rpc) now() int64 { return int64(time.Since(r.base)) }

func (r *rpc) serve(i int) {
	now := r.now()
	for end := now + r.calls[i].serviceNs; now < end; {
		now = r.now()
	}
	r.endsNs[i] = now
	r.served.Add(1)
}

func (r *rpc) prepare() {
	plan(r.calls, r.o, r.workers, uint64(r.o.seed)+r.rounds)
	r.rounds++
	for i := range r.endsNs {
		r.endsNs[i] = 0
	}
	r.served.Store(0)
}

func (r *rpc) round() {
	r.startNs = r.now() + leadNs
	for i := range r.calls {
		for r.now() < r.startNs+r.calls[i].arrivalNs {
		}
		go r.serve(i)
	}
	for r.served.Load() < int64(len(r.calls)) {
	}
}

func (r *rpc) check() error {
	wrong := 0
	for i, c := range r.calls {
		if r.endsNs[i] < r.startNs+c.arrivalNs+c.serviceNs {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d calls were not served for their time", wrong)
	}
	return nil
}

// sample returns the median sojourn time of the round.
func (r *rpc) sample(int64) float64 {
	before := len(r.times.sojournNs)
	for i, c := range r.calls {
		r.times.record(c, r.endsNs[i]-(r.startNs+c.arrivalNs))
	}
	r.simulated.simulate(r.calls, r.workers)
	round := r.times.sojournNs[before:]
	sort.Slice(round, func(a, b int) bool { return round[a] < round[b] })
	return float64(percentile(round, 50))
}

func (r *rpc) figures() string {
	figures := fmt.Sprintf(`,"latency_ns":%s,"queue_latency_ns":%s,`+
		`"slowdown":%s,"queue_slowdown":%s`,
		percentiles(r.times.sojournNs, 1),
		percentiles(r.simulated.sojournNs, 1),
		percentiles(r.times.slowdown, slowdownOne),
		percentiles(r.simulated.slowdown, slowdownOne))
	return figures + fmt.Sprintf(`,"p999_of_queue":%.4f`,
		float64(percentile(r.times.slowdown, 99.9))/
			float64(percentile(r.simulated.slowdown, 99.9)))
}

func setupRPC(o *options) *workload {
	r := &rpc{o: &o.rpc, workers: o.workers, base: time.Now(),
		calls: make([]call, o.rpc.calls), endsNs: make([]int64, o.rpc.calls)}
	runtime.GOMAXPROCS(o.workers + 1)
	runtime.LockOSThread()
	pinLast()
	return &workload{
		params: fmt.Sprintf(`{"service":"%s","load":%d,"calls":%d,"seed":%d}`,
			r.o.service, r.o.load, r.o.calls, r.o.seed),
		ops:     r.o.calls,
		prepare: r.prepare,
		round:   r.round,
		check:   r.check,
		sample:  r.sample,
		figures: r.figures,
	}
}
