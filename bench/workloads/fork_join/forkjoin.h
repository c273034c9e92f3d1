/* SPDX-License-Identifier: MIT */
/**
 * forkjoin.h - common code of the workloads that time one call that forks and joins
 *
 * After each timed round, the same call is made in several other ways, in turn, so that
 * a disturbance affects all of them:
 *
  *	T   by skua_run() on the measured runtime: this is the timed round
  *	T1  by skua_run() on a runtime with one worker; the same as T if the measured
  *	    runtime has one worker
  *	Ts  serially: plain calls in place of forks, none of them inlined
  *	Ti  serially, with as much inlining as the compiler chooses
  *	Th  by new threads, as many as workers, with one part each; loops only
 *
 * T1 / Ts is the cost of forks; Ts / T is the speed-up by workers. They are always shown
 * together, because a slow T1 alone would make T1 / T look good. Each answer is checked.
 */
#ifndef SKUA_BENCH_WORKLOADS_FORK_JOIN_FORKJOIN_H
#define SKUA_BENCH_WORKLOADS_FORK_JOIN_FORKJOIN_H

#include "bench/workloads/workloads.h"
#include "bpf/cli/args.h"

/* Forbid inlining, so that recursion stays recursion. */
#ifdef __clang__
#define FORKJOIN_CALL __attribute__((noinline))
#else
#define FORKJOIN_CALL __attribute__((noipa))
#endif

/**
 * struct forkjoin_case - a call and the ways to make it
 * @name: name of the workload, for messages
 * @min_n, @max_n: range of the option --n
 * @bytes: size of the data of the call, which is zeroed before make()
 * @make: for a value of --n, makes the data of the call and sets its number of forks and
 *        of operations. Returns 0 or -errno. NULL: the workload passes all of these to
 *        forkjoin_open()
 * @unmake: frees the memory of the data, also if make() failed; NULL: it has none
 * @clear: resets the data before a call; may be NULL
 * @root: makes the call, within skua_run()
 * @serial: makes the call serially, without inlining
 * @inlined: like @serial, with inlining; NULL: @serial serves for both
 * @by_hand: makes the call by this number of new threads; NULL: not possible
 * @check: returns whether the answer was right, and prints on stderr what was wrong
 */
struct forkjoin_case {
	const char *name;
	uint64_t min_n;
	uint64_t max_n;
	size_t bytes;
	int (*make)(void *of, uint64_t n, uint64_t *forks, uint64_t *ops);
	void (*unmake)(void *of);
	void (*clear)(void *of);
	void (*root)(struct skua_ctx ctx, void *of);
	void (*serial)(void *of);
	void (*inlined)(void *of);
	void (*by_hand)(void *of, unsigned threads);
	bool (*check)(const void *of);
};

/* The options of a fork-join workload; one with more options begins with this struct. */
struct forkjoin_options {
	const struct forkjoin_case *what;
	uint64_t n;
	bool serial;
	bool alone; /* make the call for rounds only: leave out T1, Ts, Ti and Th */
};

/* Special number of forks: the number is not fixed, but depends on how often
 * workers ask for work. */
#define FORKJOIN_ADAPTIVE UINT64_MAX

/**
 * forkjoin_open - make the state of a workload, and set its ops
 * @what: the call, borrowed
 * @of: the data of the call, borrowed until forkjoin_close()
 * @forks: number of forks of a call, or FORKJOIN_ADAPTIVE
 * @alone: make the call for rounds only, so that profiles and counters cover nothing else
 *
 * Return: 0 or -errno.
 */
int forkjoin_open(struct workload_run *run, const struct forkjoin_case *what,
		  void *of, uint64_t forks, bool alone);

/* forkjoin_of - return the data of the call */
void *forkjoin_of(const struct workload_run *run);

void forkjoin_close(struct workload_run *run);

/* Members of struct workload for a state that forkjoin_open() made. */
void forkjoin_prepare(struct workload_run *run);
int forkjoin_round(struct workload_run *run);
bool forkjoin_check(struct workload_run *run);
double forkjoin_sample(struct workload_run *run, uint64_t round_ns);
json_t *forkjoin_figures(struct workload_run *run);

/* forkjoin_add_params - add the options of all fork-join workloads, except --n, to
 * @params */
json_t *forkjoin_add_params(json_t *params,
			    const struct forkjoin_options *options);

/* More members of struct workload, for options that are a struct
 * forkjoin_options or begin with one. */
int forkjoin_setup(struct workload_run *run);
void forkjoin_teardown(struct workload_run *run);
json_t *forkjoin_params(const void *options);
bool forkjoin_serial(const void *options);
error_t forkjoin_parse_n(void *options, char *text);

/* The command-line options of all fork-join workloads, for a struct forkjoin_options or a
 * struct that begins with one; and --n, with its help text. */
#define FORKJOIN_OPTIONS                                                      \
	ARGS_FLAG_OF(struct forkjoin_options, "serial", serial,               \
		     "Run in the calling thread, without workers and forks"), \
		ARGS_FLAG_OF(                                                 \
			struct forkjoin_options, "alone", alone,              \
			"Leave out the serial calls and the call with one worker")
#define FORKJOIN_N(text) ARGS_PARSED("n", forkjoin_parse_n, "N", text)

/* The members of struct workload that all users of forkjoin_open() share. */
#define FORKJOIN_ROUNDS                                         \
	.serial = forkjoin_serial, .prepare = forkjoin_prepare, \
	.round = forkjoin_round, .check = forkjoin_check,       \
	.sample = forkjoin_sample, .figures = forkjoin_figures

/* FORKJOIN_WORKLOAD - define a workload that is one call
 * n_doc: the help text of --n
 * n_: the value of --n in the report
 * The other arguments are members of its struct forkjoin_case. */
#define FORKJOIN_WORKLOAD(name_, description_, n_doc, n_, ...)             \
	static const struct forkjoin_case name_##_case = {                 \
		.name = #name_,                                            \
		__VA_ARGS__,                                               \
	};                                                                 \
	static const struct forkjoin_options name_##_report[] = {          \
		{ .what = &name_##_case, .n = (n_), .serial = true },      \
		{ .what = &name_##_case, .n = (n_) },                      \
	};                                                                 \
	WORKLOAD(name_, description_,                                      \
		 ARGS_OPTIONS(FORKJOIN_N(n_doc), FORKJOIN_OPTIONS),        \
		 .options_size = sizeof(struct forkjoin_options),          \
		 .defaults = &name_##_report[1], .report = name_##_report, \
		 .report_count = 2, .params = forkjoin_params,             \
		 FORKJOIN_ROUNDS, .setup = forkjoin_setup,                 \
		 .teardown = forkjoin_teardown)

#endif
