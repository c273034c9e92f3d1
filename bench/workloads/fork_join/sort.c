/* SPDX-License-Identifier: MIT */
/*
 * sort.c - sort items of 8 bytes by a key of 4
 *
 * sort_unstable and sort_stable use skua/sort_template.h, which inlines the comparison.
 * sort_by_key uses skua_sort_by_key(), which calls a function for each key. The serial
 * reference of all is qsort(), which calls a function for each comparison. An operation
 * is an item.
 */
#include <errno.h>
#include <stdlib.h>

#include "bpf/cli/args.h"
#include "bench/kernels/arrays.h"
#include "bench/workloads/fork_join/forkjoin.h"
#include "skua/sort.h"

#define SKUA_SORT_NAME             sort_items
#define SKUA_SORT_TYPE             struct sort_item
#define SKUA_SORT_LESS(a, b, arg_) ((a)->key < (b)->key)
#include "skua/sort_template.h"

struct sort_options {
	struct forkjoin_options common; /* first: FORKJOIN_OPTIONS sets it */
	const char *input;
};

struct sort {
	size_t n;
	const char *input;
	struct sort_item *items;
	struct sort_item *spare;
};

/* ---- the sorts ------------------------------------------------------------ */

static void root_unstable(struct skua_ctx ctx, void *arg)
{
	const struct sort *of = arg;

	sort_items(ctx, of->items, of->n, NULL);
}

static void root_stable(struct skua_ctx ctx, void *arg)
{
	const struct sort *of = arg;

	sort_items_stable(ctx, of->items, of->n, of->spare, NULL);
}

static uint64_t key_of(const void *item, void *arg)
{
	(void)arg;
	return ((const struct sort_item *)item)->key;
}

static void root_by_key(struct skua_ctx ctx, void *arg)
{
	const struct sort *of = arg;

	/* The result need not be checked here: without memory nothing is
	 * sorted, and check() fails. */
	(void)skua_sort_by_key(ctx, of->items, of->n, sizeof(*of->items),
			       key_of, NULL);
}

static int compare(const void *a, const void *b)
{
	const struct sort_item *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static void serial(void *arg)
{
	const struct sort *of = arg;

	qsort(of->items, of->n, sizeof(*of->items), compare);
}

/* ---- the cases ------------------------------------------------------------ */

static void clear(void *arg)
{
	const struct sort *of = arg;

	sort_fill(of->items, of->n, of->input);
}

static bool check(const void *arg)
{
	const struct sort *of = arg;

	return sort_check(of->items, of->n, of->input, false);
}

static bool check_stable(const void *arg)
{
	const struct sort *of = arg;

	return sort_check(of->items, of->n, of->input, true);
}

#define SORT_CASE(name_, root_, check_)                            \
	{                                                          \
		.name = name_, .min_n = 1, .max_n = 1000000000,    \
		.clear = clear, .root = (root_), .serial = serial, \
		.check = (check_)                                  \
	}

/* qsort() of the GNU C library is a merge sort, and stable, if it has enough
 * memory: it also serves as the serial reference of the stable sorts. */
static const struct forkjoin_case unstable =
	SORT_CASE("sort_unstable", root_unstable, check);
static const struct forkjoin_case stable =
	SORT_CASE("sort_stable", root_stable, check_stable);
static const struct forkjoin_case by_key =
	SORT_CASE("sort_by_key", root_by_key, check_stable);

static void free_sort(struct sort *of)
{
	free(of->items);
	free(of->spare);
	free(of);
}

static int sort_setup(struct workload_run *run)
{
	const struct sort_options *options = run->options;
	struct sort *of = malloc(sizeof(*of));
	int err = -ENOMEM;

	if (of == NULL)
		return -ENOMEM;
	of->n = options->common.n;
	of->input = options->input;
	of->items = calloc(of->n, sizeof(*of->items));
	of->spare = calloc(of->n, sizeof(*of->spare));
	run->ops = of->n;
	if (of->items != NULL && of->spare != NULL)
		err = forkjoin_open(run, options->common.what, of,
				    FORKJOIN_ADAPTIVE, options->common.alone);
	if (err != 0)
		free_sort(of);
	return err;
}

static void sort_teardown(struct workload_run *run)
{
	struct sort *of = forkjoin_of(run);

	forkjoin_close(run);
	free_sort(of);
}

/* ---- options -------------------------------------------------------------- */

static error_t parse_input(void *input, char *text)
{
	struct sort_options *options = input;

	if (!sort_input_valid(text))
		return args_refuse("--input is '%s'; allowed: %s", text,
				   SORT_INPUTS);
	options->input = text;
	return 0;
}

static json_t *sort_params(const void *arg)
{
	const struct sort_options *options = arg;

	return forkjoin_add_params(json_pack("{s:I, s:s}", "n",
					     (json_int_t)options->common.n,
					     "input", options->input),
				   &options->common);
}

#define ROW(case_, input_)                                \
	{                                                 \
		{ .what = &(case_), .n = SORT_N }, input_ \
	}

/* Define a workload of one of the cases; rows_ are its options in the report. */
#define SORT_WORKLOAD(name_, description_, rows_)                             \
	WORKLOAD(name_, description_,                                         \
		 ARGS_OPTIONS(FORKJOIN_N("How many items (default 1000000)"), \
			      ARGS_PARSED("input", parse_input, "WORD",       \
					  "Which: " SORT_INPUTS               \
					  " (default random)"),               \
			      FORKJOIN_OPTIONS),                              \
		 .options_size = sizeof(struct sort_options),                 \
		 .defaults = &(rows_)[0], .report = rows_,                    \
		 .report_count = sizeof(rows_) / sizeof((rows_)[0]),          \
		 .params = sort_params, FORKJOIN_ROUNDS, .setup = sort_setup, \
		 .teardown = sort_teardown)

static const struct sort_options unstable_rows[] = {
	ROW(unstable, "random"), ROW(unstable, "sorted"),
	ROW(unstable, "reversed"), ROW(unstable, "equal"),
	ROW(unstable, "organ_pipe")
};

static const struct sort_options stable_rows[] = {
	ROW(stable, "random"), ROW(stable, "sorted"), ROW(stable, "reversed"),
	ROW(stable, "equal"), ROW(stable, "organ_pipe")
};

static const struct sort_options by_key_rows[] = { ROW(by_key, "random") };

SORT_WORKLOAD(sort_unstable, "Sort an array in place", unstable_rows);
SORT_WORKLOAD(sort_stable, "Sort an array and keep the order of equal items",
	      stable_rows);
SORT_WORKLOAD(sort_by_key, "Sort an array by a key that a callback returns",
	      by_key_rows);
