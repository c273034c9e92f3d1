/* SPDX-License-Identifier: MIT */
/*
 * uts_ranks.c - search an unbalanced tree with the workers of several ranks of MPI
 *
 * Each rank has a fiber for each worker. A fiber walks depth-first, and gives half of the
 * children that are left of its oldest node away while its pool wants parts.
 */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kernels/uts_walk.h"
#include "bench/mpi/session.h"
#include "bench/mpi/sharing.h"
#include "bench/workloads/uts_option.h"
#include "bpf/cli/args.h"

/* Number of nodes between two yields, about 20 us: the poller of MPI runs when a worker
 * has finished a tick. */
#define NODES_PER_YIELD 100

struct options {
	const char *tree;
	uint64_t workers;
	bool multiple;
};

struct searcher {
	struct skua_fiber fiber; /* first: the function casts back */
	struct work_pool *pool;
	struct uts_walk walk;
	int err;
};

struct rank {
	struct skua_fiber fiber; /* first: exchanges parts with other ranks */
	struct session session;
	struct skua_event changed;
	struct work_pool pool;
	struct protocol_counts counts;
	struct searcher *searchers; /* one for each worker */
	uint64_t begin_ns;
	double seconds;
};

/* ---- the search ----------------------------------------------------------------- */

static int walk_part(struct searcher *searcher, const struct uts_part *part)
{
	struct uts_walk *walk = &searcher->walk;
	struct uts_node child;
	struct uts_part given;
	unsigned nodes = 0;
	int err = uts_walk_enter_part(walk, part);

	while (err == 0 && uts_walk_next(walk, &child)) {
		err = uts_walk_enter(walk, &child);
		if (err == 0 && work_pool_wants(searcher->pool) &&
		    uts_walk_split(walk, &given))
			err = work_pool_put(searcher->pool, &given, 1);
		if (++nodes % NODES_PER_YIELD == 0)
			(void)skua_yield();
	}
	return err;
}

/* A rank that has no memory for its work ends the job: the others would wait for it. */
static void search(struct skua_fiber *self)
{
	struct searcher *searcher = (struct searcher *)self;
	struct uts_part part;
	int err = 0;

	while (err == 0 && work_pool_take(searcher->pool, &part))
		err = walk_part(searcher, &part);
	if (err != 0)
		session_stop("search", err);
}

/* Put the children of the root into the pool of rank 0. */
static void put_root(struct rank *rank, const struct uts_tree *tree)
{
	struct uts_part all = { .node = uts_tree_root(tree) };
	int err;

	all.end = uts_tree_children(tree, &all.node);
	uts_counts_node(&rank->searchers[0].walk.counts, &all.node, all.end);
	err = work_pool_put(&rank->pool, &all, 1);
	if (err != 0)
		session_stop("search", err);
}

static void exchange(struct skua_fiber *self)
{
	struct rank *rank = (struct rank *)self;
	int err = sharing_run(&rank->session.progress, MPI_COMM_WORLD,
			      &rank->pool, &rank->counts);

	if (err != 0)
		session_stop("exchange", err);
}

static int start_searcher(struct rank *rank, struct searcher *searcher)
{
	int err = skua_fiber_init(&searcher->fiber, search, 0);

	return err != 0 ? err
			: skua_task_spawn(rank->session.rt,
					  &searcher->fiber.task);
}

/* Search with all ranks; they begin together. */
static int search_tree(struct rank *rank)
{
	const unsigned workers = rank->session.workers;
	int err = skua_fiber_init(&rank->fiber, exchange, 0);

	mpi_enter(&rank->session.progress);
	MPI_Barrier(MPI_COMM_WORLD);
	mpi_leave(&rank->session.progress);
	rank->begin_ns = skua_now_ns();
	for (unsigned i = 0; err == 0 && i < workers; i++)
		err = start_searcher(rank, &rank->searchers[i]);
	if (err == 0)
		session_run(&rank->session, &rank->fiber);
	for (unsigned i = 0; err == 0 && i < workers; i++)
		err = skua_task_join(&rank->searchers[i].fiber.task);
	rank->seconds = (double)(skua_now_ns() - rank->begin_ns) / 1e9;
	return err;
}

static int make_searchers(struct rank *rank, const struct uts_tree *tree)
{
	const unsigned workers = rank->session.workers;
	int err = 0;

	work_pool_init(&rank->pool, sizeof(struct uts_part), workers,
		       &rank->changed);
	rank->searchers = calloc(workers, sizeof(*rank->searchers));
	if (!rank->searchers)
		return -ENOMEM;
	for (unsigned i = 0; err == 0 && i < workers; i++) {
		rank->searchers[i].pool = &rank->pool;
		err = uts_walk_init(&rank->searchers[i].walk, tree);
	}
	return err;
}

static void free_searchers(struct rank *rank)
{
	for (unsigned i = 0; i < rank->session.workers; i++)
		uts_walk_free(&rank->searchers[i].walk);
	free(rank->searchers);
	work_pool_free(&rank->pool);
}

/* ---- the result ----------------------------------------------------------------- */

/* The counts that are added up over the ranks. */
enum { NODES, LEAVES, WORKERS, PARTS, ASKS, ROUNDS, SUMS };

struct result {
	uint64_t sums[SUMS];
	uint32_t depth;
	double seconds;
};

/* Add up on rank 0. */
static void add_up(const struct rank *rank, struct result *result)
{
	struct uts_counts own = { 0 };
	uint64_t sums[SUMS];

	for (unsigned i = 0; i < rank->session.workers; i++)
		uts_counts_add(&own, &rank->searchers[i].walk.counts);
	sums[NODES] = own.nodes;
	sums[LEAVES] = own.leaves;
	sums[WORKERS] = rank->session.workers;
	sums[PARTS] = rank->counts.parts_given;
	sums[ASKS] = rank->counts.asks;
	sums[ROUNDS] = rank->session.rank == 0 ? rank->counts.sums : 0;
	MPI_Reduce(sums, result->sums, SUMS, MPI_UINT64_T, MPI_SUM, 0,
		   MPI_COMM_WORLD);
	MPI_Reduce(&own.depth, &result->depth, 1, MPI_UINT32_T, MPI_MAX, 0,
		   MPI_COMM_WORLD);
	result->seconds = rank->seconds;
}

static void print(const struct uts_tree *tree, const struct result *result,
		  int ranks)
{
	printf("uts %s, %d ranks, %ju workers: %ju nodes, %ju leaves, depth %u; "
	       "%.3f s, %.3f million nodes/s; %ju parts given, %ju asks, "
	       "%ju sums\n",
	       tree->name, ranks, (uintmax_t)result->sums[WORKERS],
	       (uintmax_t)result->sums[NODES], (uintmax_t)result->sums[LEAVES],
	       result->depth, result->seconds,
	       (double)result->sums[NODES] / result->seconds / 1e6,
	       (uintmax_t)result->sums[PARTS], (uintmax_t)result->sums[ASKS],
	       (uintmax_t)result->sums[ROUNDS]);
}

static int check(const struct uts_tree *tree, const struct result *result)
{
	if (result->sums[NODES] == tree->nodes &&
	    result->sums[LEAVES] == tree->leaves &&
	    result->depth == tree->depth)
		return EXIT_OK;
	fprintf(stderr,
		ARGS_PROGRAM ": wrong counts; published for %s: %ju nodes, "
			     "%ju leaves, depth %u\n",
		tree->name, (uintmax_t)tree->nodes, (uintmax_t)tree->leaves,
		tree->depth);
	return EXIT_FAILED;
}

static int run(const struct options *options)
{
	const struct uts_tree *tree = uts_tree_find(options->tree);
	struct rank rank = { .seconds = 0 };
	struct result result = { .depth = 0 };
	int code = EXIT_OK, err;

	session_open(&rank.session, (unsigned)options->workers,
		     options->multiple);
	err = make_searchers(&rank, tree);
	if (err == 0 && rank.session.rank == 0)
		put_root(&rank, tree);
	if (err == 0)
		err = search_tree(&rank);
	if (err != 0)
		session_stop("search", err);
	session_end_runtime(&rank.session);
	add_up(&rank, &result);
	free_searchers(&rank);
	if (rank.session.rank == 0) {
		print(tree, &result, rank.session.ranks);
		code = args_flush(check(tree, &result));
	}
	MPI_Finalize();
	return code;
}

/* ---- options -------------------------------------------------------------------- */

static error_t parse_tree(void *of, char *text)
{
	return uts_option_set(&((struct options *)of)->tree, text);
}

static const struct args_verb verb = {
	.doc = "Search an unbalanced tree with the workers of all ranks. Start "
	       "it with mpirun.",
	ARGS_OPTIONS(
		ARGS_PARSED("tree", parse_tree, "T",
			    "The tree: " UTS_TREE_NAMES " (default T1)"),
		ARGS_NUMBER_OF(struct options, "workers", workers, 0,
			       SKUA_MAX_WORKERS, "N",
			       "Workers of each rank (default 0: as many as "
			       "the rank has CPUs)"),
		ARGS_FLAG_OF(struct options, "multiple", multiple,
			     "Initialise MPI with MPI_THREAD_MULTIPLE instead "
			     "of MPI_THREAD_SERIALIZED")),
};

int main(int argc, char **argv)
{
	struct options options = { .tree = "T1" };

	if (args_parse_verb(&verb, "", argc, argv, &options) != 0)
		return EXIT_USAGE;
	return run(&options);
}
