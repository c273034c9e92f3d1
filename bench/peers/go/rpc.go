// SPDX-License-Identifier: MIT
//
// rpc.go - calls that come when they come: bench/workloads/tasks/rpc.c and bench/workloads/tasks/rpc_plan.c
//
// The caller is a goroutine, locked to a pinned thread, and has a worker (P) of
// its own, which serves no calls: the caller spins between them, and until the
// last one has ended. So GOMAXPROCS is one more than workers, and as many serve
// as are in the plan. But there is no outside in Go: a goroutine that is started
// waits in the caller's queue until another worker steals it; of the newest in
// there, the runtime first waits 3 us, or what a sleep of 3 us takes, for its
// owner to run it. And each 10 ms the caller is preempted, and its worker serves
// until it comes back. Both belong to Go, and are measured.
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
	// From the begin of a round to when the first call may arrive.
	leadNs  = 1000000
	shortNs = 10000
	longNs  = 1000000
	// One in so many is long.
	longOneIn = 200
	// Slowdowns are counted in thousandths.
	slowdownOne = 1000
)

// ---- the plan, and its queue without overhead ---------------------------------

type call struct{ arrivalNs, serviceNs int64 }

// uniform is the n-th number of the sequence, from 0 to 1, never 1.
func uniform(seed, n uint64) float64 {
	return float64(scatter(seed<<40+n)>>11) / (1 << 53)
}

// exponential differs from the C library's in the last bit at times, which may
// come to one ns in an arrival. (The conversion is of aarch64, which would add
// without rounding first.)
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

// simulate serves first come, first served.
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
	endsNs           []int64 // of the calls; 0: not yet
	served           atomic.Int64
	rounds           uint64
	startNs          int64 // of this round's plan
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

// sample gives the median of the round.
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
