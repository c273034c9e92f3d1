/* SPDX-License-Identifier: MIT */
/*
 * uts.c - search an unbalanced tree by forks
 *
 * Before the parent visits a child, it forks the visit to its remaining children as one
 * job, which lies on the parent's stack. An operation is a node. (uts_tasks.c searches
 * with a task for each node.)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/cli/args.h"
#include "bench/workloads/fork_join/forkjoin.h"
#include "bench/kernels/uts_walk.h"
#include "bench/workloads/uts_option.h"

struct uts_options {
	struct forkjoin_options common; /* first: forkjoin.c casts to it */
	const char *tree;
};

struct uts {
	const struct uts_tree *tree;
	struct uts_counts counts;
};

/* A node that is being visited. */
struct uts_visit {
	const struct uts_tree *tree;
	const struct uts_node *node;
	struct uts_counts *counts;
};

struct uts_job {
	struct skua_job job; /* first: it is cast back */
	const struct uts_visit *parent;
	uint32_t first, end; /* the range of the parent's children to visit */
	struct uts_counts counts;
};

/* ---- two ways ------------------------------------------------------------- */

static void visit_forked(struct skua_ctx ctx, const struct uts_tree *tree,
			 const struct uts_node *node,
			 struct uts_counts *counts);
static void visit_children(struct skua_ctx ctx, const struct uts_visit *parent,
			   uint32_t first, uint32_t end);

static void visit_child(struct skua_ctx ctx, const struct uts_visit *parent,
			uint32_t i)
{
	struct uts_node child = uts_tree_child(parent->node, i);

	visit_forked(ctx, parent->tree, &child, parent->counts);
}

/* Visit the children of a job. It may run on another thread, and therefore has
 * counts of its own, which the parent adds at the join. */
static void run_children(struct skua_ctx ctx, struct skua_job *job)
{
	struct uts_job *fork = (struct uts_job *)job;
	struct uts_visit parent = *fork->parent;

	fork->counts = (struct uts_counts){ 0 };
	parent.counts = &fork->counts;
	visit_children(ctx, &parent, fork->first, fork->end);
}

static void visit_children(struct skua_ctx ctx, const struct uts_visit *parent,
			   uint32_t first, uint32_t end)
{
	struct uts_job rest;

	rest.job.run = run_children;
	rest.parent = parent;
	rest.end = end;
	while (first + 1 < end) {
		struct skua_ctx inner;

		rest.first = first + 1;
		inner = skua_fork(ctx, &rest.job);
		visit_child(inner, parent, first);
		if (!skua_reclaim(inner, &rest.job)) {
			uts_counts_add(parent->counts, &rest.counts);
			return;
		}
		first++;
	}
	visit_child(ctx, parent, first);
}

static void visit_forked(struct skua_ctx ctx, const struct uts_tree *tree,
			 const struct uts_node *node, struct uts_counts *counts)
{
	struct uts_visit visit = { tree, node, counts };
	uint32_t children = uts_tree_children(tree, node);

	uts_counts_node(counts, node, children);
	if (children > 0)
		visit_children(ctx, &visit, 0, children);
}

/* ---- the case ------------------------------------------------------------- */

static void clear(void *of)
{
	((struct uts *)of)->counts = (struct uts_counts){ 0 };
}

static void root(struct skua_ctx ctx, void *of)
{
	struct uts *uts = of;
	struct uts_node node = uts_tree_root(uts->tree);

	visit_forked(ctx, uts->tree, &node, &uts->counts);
}

static void serial(void *of)
{
	struct uts *uts = of;
	struct uts_node node = uts_tree_root(uts->tree);

	uts_count_subtree(uts->tree, &node, &uts->counts);
}

static bool check(const void *of)
{
	const struct uts *uts = of;
	const struct uts_counts *counts = &uts->counts;
	const struct uts_tree *tree = uts->tree;

	if (counts->nodes == tree->nodes && counts->leaves == tree->leaves &&
	    counts->depth == tree->depth)
		return true;
	fprintf(stderr,
		"uts %s: %ju nodes, %ju leaves, depth %u; "
		"published: %ju, %ju, %u\n",
		tree->name, (uintmax_t)counts->nodes, (uintmax_t)counts->leaves,
		counts->depth, (uintmax_t)tree->nodes, (uintmax_t)tree->leaves,
		tree->depth);
	return false;
}

/* No @inlined: most time is spent in library functions for hashing and
 * floating point, which cannot be inlined. */
static const struct forkjoin_case search = {
	.name = "uts",
	.clear = clear,
	.root = root,
	.serial = serial,
	.check = check,
};

static int uts_setup(struct workload_run *run)
{
	const struct uts_options *options = run->options;
	struct uts *uts = malloc(sizeof(*uts));
	uint64_t forks;
	int err;

	if (uts == NULL)
		return -ENOMEM;
	uts->tree = uts_tree_find(options->tree);
	run->ops = uts->tree->nodes;
	/* A node with n children makes n - 1 forks, a leaf none: together
	 * one fewer than there are leaves. */
	forks = uts->tree->leaves - 1;
	err = forkjoin_open(run, &search, uts, forks, options->common.alone);
	if (err != 0)
		free(uts);
	return err;
}

static void uts_teardown(struct workload_run *run)
{
	void *uts = forkjoin_of(run);

	forkjoin_close(run);
	free(uts);
}

/* ---- options -------------------------------------------------------------- */

static error_t parse_tree(void *input, char *text)
{
	return uts_option_set(&((struct uts_options *)input)->tree, text);
}

static json_t *uts_params(const void *arg)
{
	const struct uts_options *options = arg;

	return forkjoin_add_params(json_pack("{s:s}", "tree", options->tree),
				   &options->common);
}

static const struct uts_options report[] = {
	{ .tree = "T1", .common.serial = true },
	{ .tree = "T1" },
	{ .tree = "T3", .common.serial = true },
	{ .tree = "T3" },
};

WORKLOAD(uts, "Search an unbalanced tree, by forks",
	 ARGS_OPTIONS(ARGS_PARSED("tree", parse_tree, "T",
				  "The tree: " UTS_TREE_NAMES " (default T1)"),
		      FORKJOIN_OPTIONS),
	 .options_size = sizeof(struct uts_options), .defaults = &report[1],
	 .report = report, .report_count = sizeof(report) / sizeof(report[0]),
	 .params = uts_params, FORKJOIN_ROUNDS, .setup = uts_setup,
	 .teardown = uts_teardown);
