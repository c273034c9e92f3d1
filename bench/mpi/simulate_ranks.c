/* SPDX-License-Identifier: MIT */
/*
 * simulate_ranks.c - skua-simulate-ranks: how well policies share a search among many
 * ranks, in simulated time
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/table.h"
#include "bench/mpi/ranks_policies.h"
#include "bench/mpi/ranks_simulation.h"
#include "bpf/cli/args.h"

#define MAX_ROWS     64
#define LARGER_NAMES "T3L, T3W"

static const uint64_t default_ranks[] = { 1, 10, 100, 1000 };

/* Larger trees. The counts of T3L are the published ones, those of T3W come from a walk by
 * one thread. */
static const struct uts_tree larger[] = {
	{
		.name = "T3L",
		.shape = UTS_BINOMIAL,
		.seed = 7,
		.branching = 2000,
		.nonleaf_children = 5,
		.nonleaf_probability = 0.200014,
		.nodes = 111345631,
		.leaves = 89076904,
		.depth = 17844,
	},
	{
		.name = "T3W",
		.shape = UTS_BINOMIAL,
		.seed = 42,
		.branching = 1200000,
		.nonleaf_children = 8,
		.nonleaf_probability = 0.1235,
		.nodes = 102348873,
		.leaves = 89705263,
		.depth = 680,
	},
};

struct options {
	const struct uts_tree *tree;
	const struct ranks_policy *policy; /* NULL: all */
	uint64_t ranks;                    /* 0: default_ranks */
	uint64_t workers, node_ns, seed;
	bool json;
};

struct row {
	const struct ranks_policy *policy;
	struct ranks_plan plan;
	struct ranks_outcome outcome;
};

struct study {
	const struct options *options;
	size_t count;
	struct row rows[MAX_ROWS];
};

/* ---- rows ----------------------------------------------------------------------- */

static double failed_percent(const struct ranks_outcome *outcome)
{
	return outcome->asks == 0 ? 0
				  : 100 - 100 * (double)outcome->gives /
						    (double)outcome->asks;
}

static double working_percent(const struct row *row)
{
	return 100 * ranks_efficiency(&row->plan, &row->outcome) *
	       (double)row->outcome.end_ns / (double)row->outcome.last_node_ns;
}

static void fill_row(struct table_row *row, const void *of, size_t i)
{
	const struct row *r = &((const struct study *)of)->rows[i];
	const struct ranks_outcome *o = &r->outcome;

	snprintf(row->cell[0], TABLE_CELL_BYTES, "%u", r->plan.ranks);
	snprintf(row->cell[1], TABLE_CELL_BYTES, "%s", r->policy->name);
	snprintf(row->cell[2], TABLE_CELL_BYTES, "%.1f %%",
		 100 * ranks_efficiency(&r->plan, o));
	snprintf(row->cell[3], TABLE_CELL_BYTES, "%.1f %%", working_percent(r));
	snprintf(row->cell[4], TABLE_CELL_BYTES, "%.2f",
		 (double)o->end_ns / 1e6);
	snprintf(row->cell[5], TABLE_CELL_BYTES, "%.2f",
		 (double)(o->end_ns - o->last_node_ns) / 1e6);
	snprintf(row->cell[6], TABLE_CELL_BYTES, "%.0f",
		 (double)o->messages / r->plan.ranks);
	snprintf(row->cell[7], TABLE_CELL_BYTES, "%.1f %%", failed_percent(o));
	snprintf(row->cell[8], TABLE_CELL_BYTES, "%.1f",
		 o->gives == 0 ? 0 : (double)o->parts / (double)o->gives);
}

static void print_table(const struct study *study)
{
	static const char *const head[] = {
		"ranks",           "policy", "efficiency",
		"working",         "ms",     "end ms",
		"messages a rank", "failed", "parts a steal",
	};
	const struct table table = {
		.columns = 9,
		.text = 2,
		.head = head,
		.count = study->count,
		.fill = fill_row,
		.of = study,
	};

	table_print(stdout, &table);
}

static void print_json(const struct row *row)
{
	const struct ranks_outcome *o = &row->outcome;
	json_t *object = json_pack(
		"{ss ss sI sI sI sI sf sI sI sI sI sI sI sI sI sI}", "tree",
		row->plan.tree->name, "policy", row->policy->name, "ranks",
		(json_int_t)row->plan.ranks, "workers",
		(json_int_t)row->plan.workers, "node_ns",
		(json_int_t)row->plan.node_ns, "seed",
		(json_int_t)row->plan.seed, "efficiency",
		ranks_efficiency(&row->plan, o), "nodes",
		(json_int_t)o->counts.nodes, "last_node_ns",
		(json_int_t)o->last_node_ns, "end_ns", (json_int_t)o->end_ns,
		"messages", (json_int_t)o->messages, "bytes",
		(json_int_t)o->bytes, "asks", (json_int_t)o->asks, "gives",
		(json_int_t)o->gives, "parts", (json_int_t)o->parts, "sums",
		(json_int_t)o->sums);

	json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12));
	putchar('\n');
	json_decref(object);
}

/* ---- simulations ---------------------------------------------------------------- */

static const char *wrong(const struct row *row)
{
	const struct uts_tree *tree = row->plan.tree;
	const struct ranks_outcome *o = &row->outcome;

	if (o->counts.nodes != tree->nodes ||
	    o->counts.leaves != tree->leaves || o->counts.depth != tree->depth)
		return "the counts are not those of the tree";
	if (o->early)
		return "a rank ended before the last node was done";
	return NULL;
}

static int run_row(struct study *study, const struct ranks_policy *policy,
		   uint64_t ranks)
{
	const struct options *options = study->options;
	struct row *row = &study->rows[study->count++];
	int err;

	*row = (struct row){
		.policy = policy,
		.plan = { .tree = options->tree,
			  .policy = policy->policy,
			  .network = ranks_network_default,
			  .ranks = (unsigned)ranks,
			  .workers = (unsigned)options->workers,
			  .node_ns = options->node_ns,
			  .seed = options->seed },
	};
	err = ranks_simulation_run(&row->plan, &row->outcome);
	if (err == 0 && !wrong(row)) {
		if (options->json)
			print_json(row);
		return EXIT_OK;
	}
	fprintf(stderr, ARGS_PROGRAM ": %s, %u ranks: %s\n", policy->name,
		row->plan.ranks, err != 0 ? strerror(-err) : wrong(row));
	return EXIT_FAILED;
}

static int run_ranks(struct study *study, uint64_t ranks)
{
	int code = EXIT_OK;

	if (study->options->policy)
		return run_row(study, study->options->policy, ranks);
	/* A single rank asks nobody. */
	for (size_t i = 0; code == EXIT_OK && ranks_policies[i].name; i++)
		if (i == 0 || ranks > 1)
			code = run_row(study, &ranks_policies[i], ranks);
	return code;
}

static int run(const struct options *options)
{
	static struct study study;
	const size_t defaults = sizeof(default_ranks) / sizeof(uint64_t);
	int code = EXIT_OK;

	study.options = options;
	if (options->ranks > 0)
		code = run_ranks(&study, options->ranks);
	for (size_t i = 0;
	     code == EXIT_OK && options->ranks == 0 && i < defaults; i++)
		code = run_ranks(&study, default_ranks[i]);
	if (code == EXIT_OK && !options->json)
		print_table(&study);
	return args_flush(code);
}

/* ---- options -------------------------------------------------------------------- */

static error_t parse_tree(void *of, char *text)
{
	const struct uts_tree **tree = &((struct options *)of)->tree;

	*tree = uts_tree_find(text);
	for (size_t i = 0; i < sizeof(larger) / sizeof(larger[0]); i++)
		if (strcmp(text, larger[i].name) == 0)
			*tree = &larger[i];
	return *tree ? 0
		     : args_refuse("--tree is '%s'; allowed: %s, %s", text,
				   UTS_TREE_NAMES, LARGER_NAMES);
}

static error_t parse_policy(void *of, char *text)
{
	struct options *options = of;
	char allowed[200] = "";

	options->policy = ranks_policy_find(text);
	if (options->policy)
		return 0;
	for (const struct ranks_policy *p = ranks_policies; p->name; p++) {
		size_t used = strlen(allowed);

		snprintf(allowed + used, sizeof(allowed) - used, "%s%s",
			 used > 0 ? ", " : "", p->name);
	}
	return args_refuse("--policy is '%s'; allowed: %s", text, allowed);
}

static const struct args_verb verb = {
	.doc = "Search a tree of UTS with simulated ranks, and show how well "
	       "policies share the work",
	ARGS_OPTIONS(
		ARGS_PARSED("tree", parse_tree, "T",
			    "The tree: " UTS_TREE_NAMES ", " LARGER_NAMES
			    " (default T1)"),
		ARGS_PARSED("policy", parse_policy, "P",
			    "How ranks ask each other (default: all policies)"),
		ARGS_NUMBER_OF(struct options, "ranks", ranks, 1, 4096, "N",
			       "Ranks (default: 1, 10, 100 and 1000)"),
		ARGS_NUMBER_OF(struct options, "workers", workers, 1, 1024, "N",
			       "Workers of each rank (default 128)"),
		ARGS_NUMBER_OF(struct options, "node-ns", node_ns, 100,
			       1000000000, "NS",
			       "Work of a node of the tree (default 10000)"),
		ARGS_NUMBER_OF(struct options, "seed", seed, 0, 1000000, "N",
			       "Seed of the choice of ranks (default 1)"),
		ARGS_JSON(struct options, "Print a line of JSON for each "
					  "simulation")),
};

int main(int argc, char **argv)
{
	struct options options = {
		.tree = uts_tree_find("T1"),
		.workers = 128,
		.node_ns = 10000,
		.seed = 1,
	};

	if (args_parse_verb(&verb, "", argc, argv, &options) != 0)
		return EXIT_USAGE;
	return run(&options);
}
