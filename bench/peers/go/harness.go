// SPDX-License-Identifier: MIT
//
// harness.go - command line, rounds and JSON of skua-bench (bench/measure.c)
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	program    = "skua-peer-go"
	maxRounds  = 10000
	maxWorkers = 1024
	trees      = "T1, T3, T1L"
)

// A workload is what setup made: functions as in bench/workload.h. Only round
// is timed, and a warm-up round comes first.
type workload struct {
	params   string // a JSON object
	ops      int
	prepare  func()
	round    func()
	check    func() error
	sample   func(roundNs int64) float64 // nil: the time by the operations
	figures  func() string               // nil: none; else `,"name":value`
	teardown func()
}

type entry struct {
	name, description string
	setup             func(o *options) *workload
}

type options struct {
	workers, rounds int
	json            bool
	tree            string
}

// cacheLine keeps what different threads write apart.
const cacheLine = 64

// runs counts how often a goroutine ran. It is the goroutine's own, and not
// atomic: one that ran twice is found out. As bench/empty_tasks.h.
type runs struct {
	n uint64
	_ [cacheLine - 8]byte
}

func resetRuns(all []runs) {
	for i := range all {
		all[i].n = 0
	}
}

func checkRuns(all []runs, expected uint64) error {
	for i := range all {
		if all[i].n != expected {
			return fmt.Errorf("task %d ran %d times, not %d", i, all[i].n, expected)
		}
	}
	return nil
}

func computeStep(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	return (z ^ (z >> 27)) * 0x94d049bb133111eb
}

// compute takes about cost microseconds at 3 GHz, as bench/compute.h.
func compute(number, cost uint64) uint64 {
	z := number + 0x9e3779b97f4a7c15
	for i := uint64(0); i < cost*450; i++ {
		z = computeStep(z)
	}
	return z ^ (z >> 31)
}

// scatter makes numbers that look random, as bench/compute.h.
func scatter(number uint64) uint64 {
	z := computeStep((number + 1) * 0x9e3779b97f4a7c15)
	return z ^ (z >> 31)
}

// percentiles gives the times that so many percent of all did not exceed.
func percentiles(ns []int64) string {
	sort.Slice(ns, func(a, b int) bool { return ns[a] < ns[b] })
	at := func(perMille int) int64 {
		needed := (len(ns)*perMille + 999) / 1000
		if needed == 0 {
			return 0
		}
		return ns[needed-1]
	}
	return fmt.Sprintf(`{"p50":%d,"p90":%d,"p99":%d,"p999":%d}`,
		at(500), at(900), at(990), at(999))
}

// ---- command line -----------------------------------------------------------

func refuse(format string, args ...any) {
	fmt.Fprintf(os.Stderr, program+format+"\n", args...)
	os.Exit(2)
}

func names() string {
	var all []string
	for _, e := range entries {
		all = append(all, e.name)
	}
	return strings.Join(all, ", ")
}

func list() {
	for _, e := range entries {
		fmt.Printf("%-24s %s\n", e.name, e.description)
	}
}

func help() {
	fmt.Printf("Usage: "+program+" list | run WORKLOAD [--workers N] [--rounds R] [--json]\n"+
		"Measure Go %s on workloads of skua-bench: %s.\n"+
		"uts also takes --tree %s.\n", version(), names(), trees)
}

func find(args []string) entry {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		refuse(" run: a workload is needed before any options; allowed: %s", names())
	}
	for _, e := range entries {
		if e.name == args[0] {
			return e
		}
	}
	refuse(" run: no workload '%s'; allowed: %s", args[0], names())
	return entry{}
}

func number(who, option, text string, max int) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n < 1 || int(n) > max {
		refuse("%s: %s is '%s'; allowed: 1 to %d", who, option, text, max)
	}
	return int(n)
}

func parse(e entry, args []string) *options {
	who, tree := " run "+e.name, ""
	if e.name == "uts" {
		tree = " --tree"
	}
	o := &options{workers: runtime.NumCPU(), rounds: 5, tree: "T1"}
	for i := 0; i < len(args); i++ {
		option, value, joined := strings.Cut(args[i], "=")
		takes := option == "--workers" || option == "--rounds" ||
			option == "--tree" && tree != ""
		if takes && !joined {
			if i++; i == len(args) {
				refuse("%s: %s needs a value", who, option)
			}
			value = args[i]
		}
		switch {
		case option == "--workers":
			o.workers = number(who, option, value, maxWorkers)
		case option == "--rounds":
			o.rounds = number(who, option, value, maxRounds)
		case option == "--tree" && takes:
			if findTree(value) == nil {
				refuse("%s: --tree is '%s'; allowed: %s", who, value, trees)
			}
			o.tree = value
		case args[i] == "--json":
			o.json = true
		case option == "--json":
			refuse("%s: %s: --json takes no value", who, args[i])
		case strings.HasPrefix(option, "-"):
			refuse("%s: no option '%s'; allowed: --workers --rounds --json%s",
				who, args[i], tree)
		default:
			refuse("%s: unexpected argument '%s'", who, args[i])
		}
	}
	return o
}

func isHelp(word string) bool {
	return word == "--help" || word == "-?" || word == "help"
}

func main() {
	args := os.Args[1:]
	switch {
	case len(args) == 0:
		refuse(": a verb is needed; allowed: list, run")
	case isHelp(args[0]):
		help()
	case args[0] != "list" && args[0] != "run":
		refuse(": no verb '%s'; allowed: list, run", args[0])
	case len(args) > 1 && isHelp(args[1]):
		help()
	case args[0] == "run":
		e := find(args[1:])
		if !measure(e, parse(e, args[2:])) {
			os.Exit(1)
		}
	case len(args) > 1:
		refuse(" list: unexpected argument '%s'", args[1])
	default:
		list()
	}
}

// ---- rounds -----------------------------------------------------------------

func version() string {
	return strings.TrimPrefix(runtime.Version(), "go")
}

func measure(e entry, o *options) bool {
	runtime.GOMAXPROCS(o.workers)
	w := e.setup(o)
	ok := true
	var times []float64
	for round := 0; round <= o.rounds; round++ {
		if w.prepare != nil {
			w.prepare()
		}
		start := time.Now()
		w.round()
		ns := time.Since(start).Nanoseconds()
		if err := w.check(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", e.name, err)
			ok = false
		}
		switch {
		case round == 0: // the warm-up
		case w.sample != nil:
			times = append(times, w.sample(ns))
		default:
			times = append(times, float64(ns)/float64(w.ops))
		}
	}
	print(e, o, w, times, ok)
	if w.teardown != nil {
		w.teardown()
	}
	return ok
}

func print(e entry, o *options, w *workload, times []float64, ok bool) {
	n := len(times)
	sort.Float64s(times)
	median := (times[(n-1)/2] + times[n/2]) / 2
	figures := ""
	if w.figures != nil {
		figures = w.figures()
	}
	if o.json {
		fmt.Printf(`{"peer":"go","version":"%s","workload":"%s","params":%s,`+
			`"workers":%d,"rounds":%d,"ops":%d,"ns_per_op":%.2f,`+
			`"min":%.2f,"max":%.2f,"ok":%t%s}`+"\n", version(), e.name,
			w.params, o.workers, n, w.ops, median, times[0], times[n-1],
			ok, figures)
		return
	}
	verdict := "ok"
	if !ok {
		verdict = "WRONG RESULT"
	}
	fmt.Printf("go %s: %s %s, %d workers: %.1f ns/op (%.1f to %.1f in %d rounds of %d ops), %s\n",
		version(), e.name, w.params, o.workers, median, times[0], times[n-1],
		n, w.ops, verdict)
	if figures != "" {
		fmt.Println("  " + strings.TrimPrefix(figures, ","))
	}
}
