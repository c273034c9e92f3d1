/* SPDX-License-Identifier: MIT */
/**
 * harness.h - the common part of the peers in C and C++
 *
 * It has the command line, the rounds and the JSON of skua-bench
 * (bench/harness/measure.c), and the data of the cases. A peer defines how its scheduler
 * runs a round of each case that it has. The rest of each case is in tasks.c, forks.c,
 * region.c, arrays.c and echo.c.
 */
#ifndef SKUA_BENCH_PEERS_HARNESS_H
#define SKUA_BENCH_PEERS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/clients/echo_cases.h"
#include "bench/kernels/arrays.h"
#include "bench/kernels/compute.h"
#include "bench/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "bench/kernels/uts_tree.h"

#define HARNESS_ROUNDS_MAX  10000u
#define HARNESS_WORKERS_MAX 1024u

#define SPAWN_TASKS  10000u
#define SPAWN_REPEAT 20u
#define CHAIN_TASKS  1000u
#define CHAIN_REPEAT 100u
#define MAP_ITEMS    10000u
#define MAP_COST     1u

/* Counts how often a task ran; on a cache line of its own. The count is not atomic, so that
 * the check detects a task that ran on two threads at once (as in
 * bench/workloads/empty_tasks.h). */
struct harness_runs {
	uint64_t runs;
	char padding[56];
};

struct harness_result {
	uint64_t number;
	uint64_t value;
};

struct harness_counts {
	uint64_t nodes;
	uint64_t leaves;
	uint32_t depth;
};

/* Options, input and results of the cases. Memory is allocated only for the
 * case that runs. */
struct harness {
	unsigned workers;
	unsigned n; /* --n, or the size of the case */

	struct harness_runs runs[SPAWN_TASKS]; /* one for each task */
	struct harness_result results[MAP_ITEMS];
	const struct uts_tree *tree;
	struct harness_counts counts;

	uint64_t answer; /* of fib, nqueens, skynet and reduce */
	double area;     /* of integrate */
	struct matmul_product product;
	uint32_t *numbers; /* of cilksort */
	uint32_t *spare;

	double *a; /* of for */
	const double *b;
	const double *c;
	const uint64_t *in; /* of scan */
	uint64_t *out;
	struct sort_item *items;
	const char *input; /* order of the items */

	const struct echo_case *echo;
	const char *client; /* mode of the client */
	uint64_t requests;  /* of a round; 0: those of the case */
	int listener; /* a listening socket, for all of the server's threads */
};

/* A case by its name, and the function that runs a round of it (for region, one call;
 * for echo cases, it starts the server's threads before the first round). */
struct harness_round {
	const char *name;
	void (*run)(struct harness *h);
};

/**
 * struct harness_peer - a scheduler
 * @start: called before the first round; may be NULL
 * @rounds: one for each case that it has, ended by one whose name is NULL
 */
struct harness_peer {
	const char *name;
	const char *version;
	void (*start)(struct harness *h);
	const struct harness_round *rounds;
};

/* harness_main - carry out the command line
 *
 * Return: an exit code: 0 success, 1 a wrong result, 2 usage. */
int harness_main(const struct harness_peer *peer, char **argv);

/* ---- for the rounds ------------------------------------------------------- */

static inline void harness_map_item(struct harness *h, uint64_t number)
{
	h->results[number].value = compute(number, MAP_COST);
	h->results[number].number = number;
}

static inline struct harness_counts harness_count(const struct uts_node *node,
						  uint32_t children)
{
	struct harness_counts counts;

	counts.nodes = 1;
	counts.leaves = children == 0;
	counts.depth = node->depth;
	return counts;
}

static inline void harness_add(struct harness_counts *sum,
			       const struct harness_counts *counts)
{
	sum->nodes += counts->nodes;
	sum->leaves += counts->leaves;
	if (counts->depth > sum->depth)
		sum->depth = counts->depth;
}

/* The function that integrate integrates. harness_trapezoid() is the area
 * below the line between two of its points. */
static inline double harness_function(double x)
{
	return (x * x + 1) * x;
}

static inline double harness_trapezoid(double x0, double y0, double x1,
				       double y1)
{
	return (y0 + y1) * (x1 - x0) / 2;
}

#ifdef __cplusplus
}
#endif

#endif
