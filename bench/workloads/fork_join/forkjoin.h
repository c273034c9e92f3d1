/* SPDX-License-Identifier: MIT */
/**
 * forkjoin.h - workloads of one call that forks and joins
 *
 * A round makes the same call in several ways, in turn, so that a disturbance affects
 * all of them:
 *
 *	T   by skua_run(), on the measured runtime: the round
 *	T1  by skua_run(), on a runtime of one worker; the round, if that has one
 *	Ts  serially: calls in place of forks, none of them inlined
 *	Ti  serially, and inlined as far as the compiler likes
 *	Th  by new threads, as many as workers, with one part each; loops only
 *
 * T1 / Ts is the cost of forks, Ts / T the gain from workers. Neither is shown without
 * the other, because a slow T1 makes a fine T1 / T. Each answer is checked.
 */
#ifndef SKUA_BENCH_WORKLOADS_FORK_JOIN_FORKJOIN_H
#define SKUA_BENCH_WORKLOADS_FORK_JOIN_FORKJOIN_H

#include "bench/workloads/workloads.h"
#include "bpf/cli/args.h"

/* A function without inlining: recursion stays recursion. */
#ifdef __clang__
#define FORKJOIN_CALL __attribute__((noinline))
#else
#define FORKJOIN_CALL __attribute__((noipa))
#endif

/**
 * struct forkjoin_case - a call
 * @name: of the workload, for messages
 * @min_n, @max_n: of the option --n
 * @make: for the option --n: the data of the call, its number of forks, and its
 *        number of operations. 0 or -errno. NULL: the workload passes them to
 *        forkjoin_open()
 * @unmake: free the data of make()
 * @clear: undo the last call; may be NULL
 * @root, @serial: make the call; @root for skua_run()
 * @inlined: as @serial, inlined; NULL: @serial
 * @by_hand: as @serial, by this number of threads; NULL: there is none
 * @check: was the answer right? Says on stderr what was wrong.
 */
struct forkjoin_case {
	const char *name;
	uint64_t min_n;
	uint64_t max_n;
	int (*make)(uint64_t n, void **of, uint64_t *forks, uint64_t *ops);
	void (*unmake)(void *of);
	void (*clear)(void *of);
	void (*root)(struct skua_ctx ctx, void *of);
	void (*serial)(void *of);
	void (*inlined)(void *of);
	void (*by_hand)(void *of, unsigned threads);
	bool (*check)(const void *of);
};

/* The options of a workload without others. */
struct forkjoin_options {
	const struct forkjoin_case *what;
	uint64_t n;
	bool serial;
	bool alone; /* only the rounds */
};

/* The number of forks varies with the workers that ask for work. */
#define FORKJOIN_ADAPTIVE UINT64_MAX

/**
 * forkjoin_open - make the state of a workload, and set its ops
 * @what: the call
 * @of: its data, borrowed
 * @forks: their number in a call
 * @alone: make the call for the rounds only, so that nothing else counts
 *
 * Return: 0 or -errno.
 */
int forkjoin_open(struct workload_run *run, const struct forkjoin_case *what,
		  void *of, uint64_t forks, bool alone);

/* forkjoin_of - the data of the call */
void *forkjoin_of(const struct workload_run *run);

void forkjoin_close(struct workload_run *run);

/* Members of struct workload, for a state of forkjoin_open(). */
void forkjoin_prepare(struct workload_run *run);
int forkjoin_round(struct workload_run *run);
bool forkjoin_check(struct workload_run *run);
double forkjoin_sample(struct workload_run *run, uint64_t round_ns);
json_t *forkjoin_figures(struct workload_run *run);

/* forkjoin_add_params - add the options that all have, except --n */
json_t *forkjoin_add_params(json_t *params,
			    const struct forkjoin_options *options);

/* The same for struct forkjoin_options, or a struct that begins with one. */
int forkjoin_setup(struct workload_run *run);
void forkjoin_teardown(struct workload_run *run);
json_t *forkjoin_params(const void *options);
bool forkjoin_serial(const void *options);
error_t forkjoin_parse_n(void *options, char *text);

/* The options that all have, of a struct forkjoin_options or of one that begins with
 * it; and --n, with its help. */
#define FORKJOIN_OPTIONS                                                  \
	ARGS_FLAG_OF(struct forkjoin_options, "serial", serial,           \
		     "In the calling thread, without workers and forks"), \
		ARGS_FLAG_OF(                                             \
			struct forkjoin_options, "alone", alone,          \
			"Leave out the serial call, and the one with one worker")
#define FORKJOIN_N(text) ARGS_PARSED("n", forkjoin_parse_n, "N", text)

/* The members that all workloads of forkjoin_open() have, except their options. */
#define FORKJOIN_ROUNDS                                         \
	.serial = forkjoin_serial, .prepare = forkjoin_prepare, \
	.round = forkjoin_round, .check = forkjoin_check,       \
	.sample = forkjoin_sample, .figures = forkjoin_figures

/* A workload that is a call: the help text of --n, the n of the report, and the
 * members of its struct forkjoin_case. */
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
