/* SPDX-License-Identifier: MIT */
/* case.h - the parts of a case that are the same for all schedulers */
#ifndef SKUA_BENCH_PEERS_CASE_H
#define SKUA_BENCH_PEERS_CASE_H

#include <stdio.h>

#include "bench/peers/harness/harness.h"

/**
 * struct harness_case - a workload
 * @n: default of --n
 * @n_min, @n_max: range of --n; both 0: the case has no such option
 * @takes_tree: the case has the option --tree
 * @takes_input: the case has the option --input
 * @takes_client: the case has the options --client and --requests, and accepts --form,
 *                which concerns only skua
 * @ops: operations of a round
 * @count: returns the operations of a round if they depend on options; NULL: use @ops
 * @params: prints the parameters, a JSON object; NULL: print {"n":N}
 * @prepare: called before each round, not timed
 * @check: returns whether the result was right, and prints on stderr what was wrong
 * @time: makes a round by calls of @run, and returns the time of an operation, in ns;
 *        @timed is false for the warm-up. NULL: one call of @run is the round
 * @figures: prints more members of the result; NULL: none
 */
struct harness_case {
	const char *name;
	const char *description;
	unsigned n;
	unsigned n_min;
	unsigned n_max;
	bool takes_tree;
	bool takes_input;
	bool takes_client;
	uint64_t ops;
	uint64_t (*count)(const struct harness *h);
	void (*params)(const struct harness *h, FILE *file);
	void (*prepare)(struct harness *h);
	bool (*check)(const struct harness *h);
	double (*time)(struct harness *h, void (*run)(struct harness *h),
		       bool timed);
	void (*figures)(FILE *file);
};

/* HARNESS_CASE - define a case; its other members follow the description */
#define HARNESS_CASE(name_, description_, ...)                              \
	{                                                                   \
		.name = (name_), .description = (description_), __VA_ARGS__ \
	}

/* The cases; each array ends with one without a name. */
extern const struct harness_case harness_tasks[];
extern const struct harness_case harness_forks[];
extern const struct harness_case harness_regions[];
extern const struct harness_case harness_arrays[];
extern const struct harness_case harness_echo[];

/* The case and options that the command line asks for. */
struct harness_run {
	const struct harness_peer *peer;
	const struct harness_case *what;
	void (*run)(struct harness *h);
	unsigned rounds;
	bool json;
};

/* harness_measure - run the warm-up and the timed rounds, and print the result
 *
 * Return: whether every result was right. */
bool harness_measure(const struct harness_run *run, struct harness *h);

/* ---- for the cases -------------------------------------------------------- */

/* harness_memory - allocate memory that is never freed; not initialised
 *
 * Ends the program if there is no memory. */
void *harness_memory(size_t bytes);

/* harness_is_right - return whether @answer is @expected; if not, print it on stderr */
bool harness_is_right(const char *name, uint64_t answer, uint64_t expected);

/* harness_fib - compute a Fibonacci number by a loop */
uint64_t harness_fib(unsigned n);

/* harness_sort - sort numbers in place */
void harness_sort(double *numbers, size_t count);

#endif
