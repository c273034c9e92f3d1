/* SPDX-License-Identifier: MIT */
/* case.h - the knowledge of the harness about each case, for all schedulers */
#ifndef SKUA_BENCH_PEERS_CASE_H
#define SKUA_BENCH_PEERS_CASE_H

#include <stdio.h>

#include "bench/peers/harness/harness.h"

/**
 * struct harness_case
 * @n: the default of --n
 * @n_min, @n_max: range of --n; 0: there is no such option
 * @takes_tree, @takes_input: the options --tree and --input
 * @ops: operations of a round
 * @count: as @ops, where options tell; NULL: @ops is set
 * @params: print the parameters, a JSON object; NULL: {"n":N}
 * @prepare: before each round, not timed
 * @check: was the result right? Prints on stderr what was wrong.
 * @time: make the round, by calls of @run, and return the time of an operation;
 *        what @timed says is not the warm-up. NULL: @run is the round
 * @figures: print more members of the result; NULL: none
 */
struct harness_case {
	const char *name;
	const char *description;
	unsigned n;
	unsigned n_min;
	unsigned n_max;
	bool takes_tree;
	bool takes_input;
	uint64_t ops;
	uint64_t (*count)(const struct harness *h);
	void (*params)(const struct harness *h, FILE *file);
	void (*prepare)(struct harness *h);
	bool (*check)(const struct harness *h);
	double (*time)(struct harness *h, void (*run)(struct harness *h),
		       bool timed);
	void (*figures)(FILE *file);
};

/* HARNESS_CASE - a case; its other members follow the description */
#define HARNESS_CASE(name_, description_, ...)                              \
	{                                                                   \
		.name = (name_), .description = (description_), __VA_ARGS__ \
	}

/* The last one is followed by one without a name. */
extern const struct harness_case harness_tasks[];
extern const struct harness_case harness_forks[];
extern const struct harness_case harness_regions[];
extern const struct harness_case harness_arrays[];

/* The request of the command line. */
struct harness_run {
	const struct harness_peer *peer;
	const struct harness_case *what;
	void (*run)(struct harness *h);
	unsigned rounds;
	bool json;
};

/* harness_measure - a round of warm-up, and the timed ones. Return: was every
 * result right? */
bool harness_measure(const struct harness_run *run, struct harness *h);

/* ---- for the cases -------------------------------------------------------- */

/* harness_memory - for ever, not filled; ends the program if there is none */
void *harness_memory(size_t bytes);

/* harness_is_right - is it? Says on stderr if not. */
bool harness_is_right(const char *name, uint64_t answer, uint64_t expected);

/* harness_fib - a Fibonacci number, by addition */
uint64_t harness_fib(unsigned n);

/* harness_sort - numbers, in place */
void harness_sort(double *numbers, size_t count);

#endif
