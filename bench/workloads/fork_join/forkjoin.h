/* SPDX-License-Identifier: MIT */
/**
 * forkjoin.h - workloads that are one call, which forks and joins
 *
 * The same call is made in several ways, in turn, so that what disturbs one
 * disturbs the others:
 *
 *	T   by skua_run(), on the runtime that is measured: the round
 *	T1  by skua_run(), on a runtime of one worker; the round, if that has one
 *	Ts  serially: a call where the others fork, and no call inlined
 *	Ti  serially, and inlined as far as the compiler likes
 *	Th  by threads of its own, as many as workers, a part each; of loops only
 *
 * T1 / Ts is what forking costs, Ts / T what the workers gain; neither is told
 * without the other, as a slow T1 makes a fine T1 / T. Each answer is checked.
 */
#ifndef SKUA_BENCH_WORKLOADS_FORK_JOIN_FORKJOIN_H
#define SKUA_BENCH_WORKLOADS_FORK_JOIN_FORKJOIN_H

#include "bench/workloads/workloads.h"

/* A function that is called as often as it says: recursion stays recursion. */
#ifdef __clang__
#define FORKJOIN_CALL __attribute__((noinline))
#else
#define FORKJOIN_CALL __attribute__((noipa))
#endif

/**
 * struct forkjoin_case - a call
 * @name: of the workload, for messages
 * @min_n, @max_n: of the option --n
 * @make: for the option --n: what the call works on, its forks, and how many
 *        operations it is. 0 or -errno. NULL: forkjoin_open() is given them
 * @unmake: what make() has made
 * @clear: undo the last call; may be NULL
 * @root, @serial: make the call; @root for skua_run()
 * @inlined: as @serial; NULL: it is that function
 * @by_hand: as @serial, by so many threads; NULL: nothing to compare with
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

/* Of a workload that has no options but these. */
struct forkjoin_options {
	const struct forkjoin_case *what;
	uint64_t n;
	bool serial;
	bool alone; /* nothing beside the rounds */
};

/* As many forks as others ask for. */
#define FORKJOIN_ADAPTIVE UINT64_MAX

/**
 * forkjoin_open - the state of a workload, whose ops are set
 * @what: the call
 * @of: what it works on, borrowed
 * @forks: how many it makes
 * @alone: make it for the rounds only, so that nothing else counts
 *
 * Return: 0 or -errno.
 */
int forkjoin_open(struct workload_run *run, const struct forkjoin_case *what,
		  void *of, uint64_t forks, bool alone);

/* forkjoin_of - what the call of this state works on */
void *forkjoin_of(const struct workload_run *run);

void forkjoin_close(struct workload_run *run);

/* Members of struct workload, for a state of forkjoin_open(). */
void forkjoin_prepare(struct workload_run *run);
int forkjoin_round(struct workload_run *run);
bool forkjoin_check(struct workload_run *run);
double forkjoin_sample(struct workload_run *run, uint64_t round_ns);
json_t *forkjoin_figures(struct workload_run *run);

/* forkjoin_add_params - add the options that all have, but --n */
json_t *forkjoin_add_params(json_t *params,
			    const struct forkjoin_options *options);

/* And for struct forkjoin_options, or what begins with one. */
int forkjoin_setup(struct workload_run *run);
void forkjoin_teardown(struct workload_run *run);
json_t *forkjoin_params(const void *options);
bool forkjoin_serial(const void *options);
error_t forkjoin_parse(int key, char *arg, struct argp_state *state);

enum {
	FORKJOIN_OPTION_N = 0x100,
	FORKJOIN_OPTION_SERIAL,
	FORKJOIN_OPTION_ALONE
};

/* Options that all have; forkjoin_parse() knows them. */
#define FORKJOIN_OPTIONS                                                        \
	{ .name = "serial",                                                     \
	  .key = FORKJOIN_OPTION_SERIAL,                                        \
	  .doc = "In the calling thread, without workers and forks" },          \
	{                                                                       \
		.name = "alone", .key = FORKJOIN_OPTION_ALONE,                  \
		.doc = "Leave out the serial call, and the one with one worker" \
	}

/* The workload of a case: what --n means, and the n of the report. */
#define FORKJOIN_WORKLOAD(name_, case_, description_, n_doc, n_)    \
	static const struct argp_option name_##_argp_options[] = {  \
		{ .name = "n",                                      \
		  .key = FORKJOIN_OPTION_N,                         \
		  .arg = "N",                                       \
		  .doc = n_doc },                                   \
		FORKJOIN_OPTIONS,                                   \
		{ 0 },                                              \
	};                                                          \
	static const struct argp name_##_argp = {                   \
		name_##_argp_options, forkjoin_parse, 0, 0, 0, 0, 0 \
	};                                                          \
	static const struct forkjoin_options name_##_report[] = {   \
		{ .what = &(case_), .n = (n_), .serial = true },    \
		{ .what = &(case_), .n = (n_) },                    \
	};                                                          \
	const struct workload workload_##name_ = {                  \
		.name = #name_,                                     \
		.description = description_,                        \
		.argp = &name_##_argp,                              \
		.options_size = sizeof(struct forkjoin_options),    \
		.defaults = &name_##_report[1],                     \
		.report = name_##_report,                           \
		.report_count = 2,                                  \
		.params = forkjoin_params,                          \
		.serial = forkjoin_serial,                          \
		.setup = forkjoin_setup,                            \
		.prepare = forkjoin_prepare,                        \
		.round = forkjoin_round,                            \
		.check = forkjoin_check,                            \
		.sample = forkjoin_sample,                          \
		.figures = forkjoin_figures,                        \
		.teardown = forkjoin_teardown,                      \
	}

#endif
