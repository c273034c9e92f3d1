/* SPDX-License-Identifier: MIT */
/*
 * uts_tasks.c - search an unbalanced tree, a task for each node
 *
 * A task visits its node and spawns the node's children, as detached tasks. Tasks run
 * first in, first out. Without a limit the search would therefore be breadth-first and
 * hold millions of nodes. The number of live tasks is bounded by --live for each worker.
 * At the bound, a task spawns only one child, its successor, and hands it the list of
 * children that are not yet spawned. The successor adds its own children to the front of
 * that list: as long as there is no room, each list is a depth-first search that moves
 * from task to task. Every node is a task, and all remaining work belongs to tasks, which
 * can be stolen.
 *
 * Live tasks are counted without a shared counter. Each worker counts the tasks that it
 * made minus those that it finished, which may be negative. The sum over all workers is
 * exact. A worker knows the sum only approximately, because it reads the counts of the
 * other workers from time to time. The number of live tasks exceeds the bound by at most
 * the number of tasks that all workers make between two reads.
 *
 * Rejected: visit the children inside the task when there is no room. No room comes up
 * before the task has visited the whole subtree. On one worker, only 0.1 % of T1's nodes
 * became tasks, and the result said nothing about the scheduler.
 *
 * Rejected: let each worker bound its own count. If all tasks of a worker were stolen, its
 * count stays at the bound, and the thieves starve beside the long list of that worker
 * (T3's root has 2,000 children).
 */
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/workloads/block_pool.h"
#include "bench/kernels/uts_walk.h"
#include "bench/workloads/uts_option.h"
#include "bench/workloads/workloads.h"

/* Distance in bytes between fields that different threads write. Two cache
 * lines, because the processor may fetch lines in pairs. */
#define CACHE_PAIR 128

/* Number of children that a worker spawns between two reads of the other workers'
 * counts: LOOK_INTERVAL_PER_WORKER for each worker, because the cost of a read grows with
 * their number, but at least LOOK_INTERVAL. A guess. */
#define LOOK_INTERVAL            64
#define LOOK_INTERVAL_PER_WORKER 8

struct uts_options {
	const char *tree;
	uint64_t live; /* 0: no bound */
};

/* Written by one worker while a round runs. */
struct uts_worker {
	alignas(CACHE_PAIR) struct uts_counts counts;
	struct block_cache cache;
	int64_t others_live; /* live tasks of the other workers, at the last read */
	uint32_t until_look;
	int err;

	/*
	 * Tasks made minus tasks finished. Writer: this worker. Readers: the
	 * other workers. All relaxed: a recent value is enough.
	 */
	alignas(CACHE_PAIR) int64_t live;
};

struct uts_search {
	struct skua_runtime *rt;
	const struct uts_tree *tree;
	int64_t live_max; /* bound on the live tasks of all workers together */
	uint32_t look_interval;
	unsigned worker_count;
	struct uts_worker *workers;
	struct block_pool pool; /* blocks of union uts_block */
	struct uts_counts counts;
};

/* A list of nodes with children that are not yet spawned. */
struct uts_rest {
	struct uts_node node;
	uint32_t next_child;
	uint32_t children;
	struct uts_rest *next;
};

struct uts_task {
	struct skua_task task; /* first: a task is cast to its uts_task */
	struct uts_search *search;
	struct uts_worker *worker; /* runs it; set by its poll */
	struct uts_rest *rest;     /* children that it must spawn or hand on */
	struct uts_node node;
};

union uts_block {
	struct uts_task task;
	struct uts_rest rest;
	alignas(64) char bytes[128];
};

/* ---- the count of live tasks --------------------------------------------- */

static void look_at_others(const struct uts_search *search,
			   struct uts_worker *w)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < search->worker_count; i++)
		sum += __atomic_load_n(&search->workers[i].live,
				       __ATOMIC_RELAXED);
	w->others_live = sum - w->live;
	w->until_look = search->look_interval;
}

static bool has_room(const struct uts_search *search, struct uts_worker *w)
{
	if (w->until_look-- == 0)
		look_at_others(search, w);
	return w->live + w->others_live < search->live_max;
}

static void add_live(struct uts_worker *w, int64_t n)
{
	__atomic_store_n(&w->live, w->live + n, __ATOMIC_RELAXED);
}

/* ---- the search ---------------------------------------------------------- */

static enum skua_poll poll_node(struct skua_task *self);

static void release_node(struct skua_task *self)
{
	struct uts_task *t = (struct uts_task *)self;
	struct uts_worker *w = t->worker;

	add_live(w, -1);
	block_cache_give(&w->cache, t);
}

static int spawn(struct uts_search *search, struct uts_worker *w,
		 const struct uts_node *node, struct uts_rest *rest)
{
	struct uts_task *t = block_cache_take(&w->cache);
	int err;

	if (t == NULL)
		return -ENOMEM;
	t->search = search;
	t->rest = rest;
	t->node = *node;
	skua_task_init(&t->task, poll_node);
	skua_task_detach(&t->task, release_node);
	add_live(w, 1);
	err = skua_task_spawn(search->rt, &t->task);
	if (err != 0) {
		add_live(w, -1);
		block_cache_give(&w->cache, t);
	}
	return err;
}

/* Add the children of a node to the front of the list @rest. */
static int add_rest(struct uts_worker *w, struct uts_rest **rest,
		    const struct uts_node *node, uint32_t children)
{
	struct uts_rest *first = block_cache_take(&w->cache);

	if (first == NULL)
		return -ENOMEM;
	first->node = *node;
	first->next_child = 0;
	first->children = children;
	first->next = *rest;
	*rest = first;
	return 0;
}

/* Remove the next child from the list @rest, which is not empty. */
static struct uts_node take_child(struct uts_worker *w, struct uts_rest **rest)
{
	struct uts_rest *first = *rest;
	struct uts_node child = uts_tree_child(&first->node, first->next_child);

	if (++first->next_child == first->children) {
		*rest = first->next;
		block_cache_give(&w->cache, first);
	}
	return child;
}

/* Spawn children while there is room. Without room, spawn one child as the
 * successor, and hand it the rest of the list. */
static int spawn_rest(struct uts_search *search, struct uts_worker *w,
		      struct uts_rest *rest)
{
	int err = 0;

	while (err == 0 && rest != NULL) {
		bool room = has_room(search, w);
		struct uts_node child = take_child(w, &rest);

		if (!room)
			return spawn(search, w, &child, rest);
		err = spawn(search, w, &child, NULL);
	}
	return err;
}

static enum skua_poll poll_node(struct skua_task *self)
{
	struct uts_task *t = (struct uts_task *)self;
	struct uts_search *search = t->search;
	struct uts_worker *w = &search->workers[skua_worker_index(search->rt)];
	uint32_t children = uts_tree_children(search->tree, &t->node);
	int err = 0;

	t->worker = w;
	uts_counts_node(&w->counts, &t->node, children);
	if (children > 0)
		err = add_rest(w, &t->rest, &t->node, children);
	if (err == 0)
		err = spawn_rest(search, w, t->rest);
	if (err != 0)
		w->err = err;
	return SKUA_DONE;
}

static int search_with_tasks(struct uts_search *search)
{
	struct uts_node root = uts_tree_root(search->tree);
	/* No task runs yet, so that the calling thread may use worker 0's
	 * data. */
	int err = spawn(search, &search->workers[0], &root, NULL);

	if (err == 0)
		err = skua_runtime_drain(search->rt);
	for (unsigned i = 0; err == 0 && i < search->worker_count; i++) {
		uts_counts_add(&search->counts, &search->workers[i].counts);
		err = search->workers[i].err;
	}
	return err;
}

/* ---- the workload -------------------------------------------------------- */

static int make_workers(struct uts_search *search)
{
	size_t bytes = search->worker_count * sizeof(*search->workers);

	search->workers = aligned_alloc(CACHE_PAIR, bytes);
	if (search->workers == NULL)
		return -ENOMEM;
	memset(search->workers, 0, bytes);
	for (unsigned i = 0; i < search->worker_count; i++)
		block_cache_init(&search->workers[i].cache, &search->pool);
	return 0;
}

static int uts_setup(struct workload_run *run)
{
	const struct uts_options *options = run->options;
	struct uts_search *search = run->state;

	search->rt = run->rt;
	search->tree = uts_tree_find(options->tree);
	search->worker_count = run->workers;
	search->live_max = INT64_MAX;
	if (options->live > 0)
		search->live_max =
			(int64_t)(options->live * search->worker_count);
	search->look_interval = LOOK_INTERVAL_PER_WORKER * search->worker_count;
	if (search->look_interval < LOOK_INTERVAL)
		search->look_interval = LOOK_INTERVAL;
	block_pool_init(&search->pool, sizeof(union uts_block));
	run->ops = search->tree->nodes;
	return make_workers(search);
}

static void uts_teardown(struct workload_run *run)
{
	struct uts_search *search = run->state;

	free(search->workers);
	block_pool_destroy(&search->pool);
}

static void uts_prepare(struct workload_run *run)
{
	struct uts_search *search = run->state;

	search->counts = (struct uts_counts){ 0 };
	for (unsigned i = 0; i < search->worker_count; i++) {
		struct uts_worker *w = &search->workers[i];

		w->counts = (struct uts_counts){ 0 };
		w->until_look = 0;
		w->err = 0;
	}
}

static int uts_round(struct workload_run *run)
{
	return search_with_tasks(run->state);
}

static bool uts_check(struct workload_run *run)
{
	const struct uts_search *search = run->state;
	const struct uts_counts *counts = &search->counts;
	const struct uts_tree *tree = search->tree;

	if (counts->nodes == tree->nodes && counts->leaves == tree->leaves &&
	    counts->depth == tree->depth)
		return true;
	fprintf(stderr,
		"uts_tasks %s: %ju nodes, %ju leaves, depth %u; "
		"published: %ju, %ju, %u\n",
		tree->name, (uintmax_t)counts->nodes, (uintmax_t)counts->leaves,
		counts->depth, (uintmax_t)tree->nodes, (uintmax_t)tree->leaves,
		tree->depth);
	return false;
}

/* ---- options ------------------------------------------------------------- */

static error_t parse_tree(void *input, char *text)
{
	return uts_option_set(&((struct uts_options *)input)->tree, text);
}

static json_t *uts_params(const void *arg)
{
	const struct uts_options *options = arg;

	return json_pack("{s:s, s:I}", "tree", options->tree, "live",
			 (json_int_t)options->live);
}

#define LIVE_DEFAULT 256

static const struct uts_options defaults = {
	.tree = "T1",
	.live = LIVE_DEFAULT,
};

static const struct uts_options report[] = {
	{ .tree = "T1", .live = LIVE_DEFAULT },
	{ .tree = "T3", .live = LIVE_DEFAULT },
};

WORKLOAD(
	uts_tasks, "Search an unbalanced tree, one task for each node",
	ARGS_OPTIONS(
		ARGS_PARSED("tree", parse_tree, "T",
			    "The tree: " UTS_TREE_NAMES " (default T1)"),
		ARGS_NUMBER_OF(
			struct uts_options, "live", live, 0, 1000000000, "N",
			"Approximate bound of live tasks for each worker; "
			"above it, a task has one successor at a time (default "
			"256; 0 = no bound)")),
	.options_size = sizeof(struct uts_options), .defaults = &defaults,
	.report = report, .report_count = sizeof(report) / sizeof(report[0]),
	.params = uts_params, WORKLOAD_CALLS(uts, struct uts_search));
