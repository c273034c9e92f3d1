// SPDX-License-Identifier: MIT
//
// harness.go - the command line, rounds and JSON of skua-bench (bench/harness/measure.c)
package main

import (
	"fmt"
	"math"
	"math/bits"
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
	services   = "exponential, bimodal"
	clients    = "auto, spin, sleep"
	forms      = "polls, fibers"
)

// ownOptions has the options that only one workload has.
var ownOptions = map[string][]string{
	"uts":          {"--tree"},
	"channel_mpmc": {"--pairs", "--times"},
	"rpc":          {"--service", "--load", "--calls", "--seed"},
	"echo_1":       echoOptions,
	"echo_50":      echoOptions,
	"echo_10k":     echoOptions,
}

// echoOptions are those of the workloads with a client. --form concerns only skua.
var echoOptions = []string{"--client", "--requests", "--form"}

// workload has the functions of a workload, which are called as in
// bench/harness/workload.h: only round is timed, and a warm-up round comes first.
type workload struct {
	params   string // a JSON object
	ops      int
	prepare  func()
	round    func()
	check    func() error
	sample   func(roundNs int64) float64 // nil: round time divided by ops
	figures  func() string               // `,"name":value`...; nil: none
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
	pairs, times    int // of channel_mpmc
	rpc             rpcOptions
	client          string
	requests        int
}

type rpcOptions struct {
	service           string
	load, calls, seed int
}

// cacheLine is the distance between data that different threads write.
const cacheLine = 64

// runs counts how often a goroutine ran. It is not atomic, so that the check detects a
// goroutine that ran on two threads at once (as in bench/workloads/empty_tasks.h).
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

// compute takes about cost microseconds at 3 GHz, like that of bench/kernels/compute.h.
func compute(number, cost uint64) uint64 {
	z := number + 0x9e3779b97f4a7c15
	for i := uint64(0); i < cost*450; i++ {
		z = computeStep(z)
	}
	return z ^ (z >> 31)
}

// scatter spreads consecutive numbers over all 64 bits, like that of
// bench/kernels/compute.h.
func scatter(number uint64) uint64 {
	z := computeStep((number + 1) * 0x9e3779b97f4a7c15)
	return z ^ (z >> 31)
}

// percentile returns the value that the given percentage of the sorted values do not
// exceed, rounded down to eight bits, as bench/harness/histogram.c does.
func percentile(sorted []int64, percent float64) int64 {
	needed := int(math.Ceil(float64(len(sorted)) * percent / 100))
	if needed == 0 {
		return 0
	}
	value := uint64(sorted[needed-1])
	shift := bits.Len64(value >> 8)
	return int64(value >> shift << shift)
}

// percentiles returns the percentiles of all as a JSON object; values are divided by one.
func percentiles(all []int64, one float64) string {
	sort.Slice(all, func(a, b int) bool { return all[a] < all[b] })
	at := func(percent float64) string {
		value := float64(percentile(all, percent)) / one
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return fmt.Sprintf(`{"p50":%s,"p90":%s,"p99":%s,"p999":%s,"p9999":%s}`,
		at(50), at(90), at(99), at(99.9), at(99.99))
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
		"uts also takes --tree %s; channel_mpmc: --pairs N, --times N;\n"+
		"rpc: --service %s, --load PERCENT, --calls N, --seed N;\n"+
		"echo_*: --client %s, --requests N\n",
		version(), names(), trees, services, clients)
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

func number(who, option, text string, min, max int) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || int(n) < min || int(n) > max {
		refuse("%s: %s is '%s'; allowed: %d to %d", who, option, text, min, max)
	}
	return int(n)
}

func word(who, option, text, allowed string) string {
	if !contains(strings.Split(allowed, ", "), text) {
		refuse("%s: %s is '%s'; allowed: %s", who, option, text, allowed)
	}
	return text
}

func contains(all []string, word string) bool {
	for _, each := range all {
		if each == word {
			return true
		}
	}
	return false
}

// defaultWorkers returns the number of CPUs, minus one if the caller needs a CPU.
func defaultWorkers(e entry) int {
	workers := runtime.NumCPU()
	if (e.name == "rpc" || strings.HasPrefix(e.name, "echo_")) && workers > 1 {
		workers--
	}
	return workers
}

func parse(e entry, args []string) *options {
	who := " run " + e.name
	valued := append([]string{"--workers", "--rounds"}, ownOptions[e.name]...)
	o := &options{workers: defaultWorkers(e), rounds: 5, tree: "T1",
		pairs: 2, times: 200000, client: "auto",
		rpc: rpcOptions{service: "exponential", load: 60, calls: 20000, seed: 1}}
	for i := 0; i < len(args); i++ {
		option, value, joined := strings.Cut(args[i], "=")
		if contains(valued, option) {
			if !joined {
				if i++; i == len(args) {
					refuse("%s: %s needs a value", who, option)
				}
				value = args[i]
			}
			o.set(who, option, value)
			continue
		}
		switch {
		case args[i] == "--json":
			o.json = true
		case option == "--json":
			refuse("%s: %s: --json takes no value", who, args[i])
		case strings.HasPrefix(option, "-"):
			refuse("%s: no option '%s'; allowed: %s --json", who, args[i],
				strings.Join(valued, " "))
		default:
			refuse("%s: unexpected argument '%s'", who, args[i])
		}
	}
	return o
}

func (o *options) set(who, option, value string) {
	switch option {
	case "--workers":
		o.workers = number(who, option, value, 1, maxWorkers)
	case "--rounds":
		o.rounds = number(who, option, value, 1, maxRounds)
	case "--tree":
		o.tree = word(who, option, value, trees)
	case "--pairs":
		o.pairs = number(who, option, value, 1, 1000)
	case "--times":
		o.times = number(who, option, value, 1, 1000000000)
	case "--service":
		o.rpc.service = word(who, option, value, services)
	case "--load":
		o.rpc.load = number(who, option, value, 1, 95)
	case "--calls":
		o.rpc.calls = number(who, option, value, 1, 10000000)
	case "--seed":
		o.rpc.seed = number(who, option, value, 0, 1000000)
	case "--client":
		o.client = word(who, option, value, clients)
	case "--requests":
		o.requests = number(who, option, value, 0, 1000000000)
	case "--form":
		word(who, option, value, forms)
	}
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
