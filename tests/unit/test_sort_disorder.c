/* SPDX-License-Identifier: MIT */
/* test_sort_disorder.c - sorts by comparisons that contradict themselves, or that
 * make it long, or short */
#include "tests/unit/sorts.h"

/* ---- comparisons that are no order ----------------------------------------- */

enum disorder {
	ALWAYS,
	NEVER,
	COIN,
	ROCK_PAPER_SCISSORS,
	LESS_OR_EQUAL,
	DISORDERS
};

/* Each thread has a coin of its own. */
static _Thread_local struct rng coin = { 1, 1 };
static enum disorder disorder;

static bool contradicts(const struct pair *a, const struct pair *b)
{
	switch (disorder) {
	case ALWAYS:
		return true;
	case NEVER:
		return false;
	case COIN:
		return rng_next(&coin) % 2;
	case ROCK_PAPER_SCISSORS:
		return (b->key + 3 - a->key % 3) % 3 == 1;
	default:
		return a->key <= b->key;
	}
}

static int compare_anyhow(const void *a, const void *b, void *arg)
{
	(void)arg;
	return contradicts(a, b) ? -1 : contradicts(b, a);
}

#define SKUA_SORT_NAME            sort_anyhow
#define SKUA_SORT_TYPE            struct pair
#define SKUA_SORT_LESS(a, b, arg) contradicts(a, b)
#include <skua/sort_template.h>

TEMPLATE_SORTS(anyhow, sort_anyhow, struct pair)

static int anyhow_8(struct skua_ctx ctx, void *base, size_t count)
{
	return skua_sort(ctx, base, count, 8, compare_anyhow, NULL);
}

static int anyhow_stable_8(struct skua_ctx ctx, void *base, size_t count)
{
	return skua_sort_stable(ctx, base, count, 8, compare_anyhow, NULL);
}

static int anyhow_24(struct skua_ctx ctx, void *base, size_t count)
{
	return skua_sort(ctx, base, count, 24, compare_anyhow, NULL);
}

static int sort_anyhow_all(struct skua_ctx ctx, void *arg)
{
	const struct sort *sort = arg;

	for (size_t i = 0; i < SIZES; i++)
		for (int order = 0; order < ORDERS && sizes[i] <= 5000; order++)
			sort_one(ctx, sort, (enum order)order, sizes[i], false);
	return 0;
}

TEST(sort__comparison_is_no_order__each_item_once)
{
	struct sort sorts[] = { { anyhow, 8, false },
				{ anyhow_stable, 8, false },
				{ anyhow_8, 8, false },
				{ anyhow_stable_8, 8, false },
				{ anyhow_24, 24, false } };

	for (int kind = 0; kind < DISORDERS; kind++)
		for (size_t i = 0; i < COUNT_OF(sorts); i++) {
			disorder = (enum disorder)kind;
			each_team(sort_anyhow_all, &sorts[i]);
		}
}

/* ---- two runs -------------------------------------------------------------- */

#define TWO_RUNS 20000u

static int compare_counted(const void *a, const void *b, void *arg)
{
	++*(uint64_t *)arg;
	return compare_keys(a, b, NULL);
}

static int sort_two_runs(struct skua_ctx ctx, void *arg)
{
	static const enum order orders[] = { ORGAN_PIPE, TWO_SORTED, APPENDED,
					     VALLEY };
	struct pair *items = calloc(TWO_RUNS, sizeof(*items));

	(void)arg;
	for (size_t n = 0; n < COUNT_OF(orders); n++) {
		uint64_t comparisons = 0;

		for (size_t i = 0; i < TWO_RUNS; i++)
			items[i].key = key_of(orders[n], i, TWO_RUNS, NULL);
		assert_int_equal(skua_sort(ctx, items, TWO_RUNS, 8,
					   compare_counted, &comparisons),
				 0);
		for (size_t i = 1; i < TWO_RUNS; i++)
			assert_true(items[i - 1].key <= items[i].key);
		/* Quicksort takes some 14 for each: log2(20000). */
		assert_true(comparisons < 4 * TWO_RUNS);
	}
	free(items);
	return 0;
}

TEST(sort__two_runs__merged)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(in_region(rt, sort_two_runs, NULL), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- how deep the stack is -------------------------------------------------- */

/* Runs that are merged in so many steps, each of which has something to do beside
 * the next. */
#define DEEP 400u

static _Thread_local const char *deep_begin;
static size_t deep_most;

static int compare_deep(const void *a, const void *b, void *arg)
{
	const char *here = __builtin_frame_address(0);

	/* So that others take what there is. */
	sched_yield();
	if (deep_begin && (size_t)(deep_begin - here) > deep_most)
		deep_most = (size_t)(deep_begin - here);
	return compare_keys(a, b, arg);
}

static int sort_deep(struct skua_ctx ctx, void *arg)
{
	const size_t count = DEEP * DEEP / 2;
	struct pair *items = calloc(count, sizeof(*items));
	size_t left = 0, right = count - DEEP;
	uint32_t key = 0;
	struct rng rng;

	(void)arg;
	rng_init(&rng, 1);
	for (uint32_t i = 0; i < DEEP; i++) {
		uint32_t gap = i ? rng_below(&rng, 2 * i) : 0;

		for (; gap > 0 && left < count - DEEP; gap--)
			items[left++].key = key++;
		items[right++].key = key++;
	}
	while (left < count - DEEP)
		items[left++].key = key++;
	deep_begin = __builtin_frame_address(0);
	assert_int_equal(skua_sort(ctx, items, count, 8, compare_deep, NULL),
			 0);
	deep_begin = NULL;
	free(items);
	return 0;
}

/* How many bytes of the caller's stack it takes. */
static size_t depth_with(unsigned workers)
{
	struct skua_runtime *rt = runtime_new(workers, 0);

	deep_most = 0;
	for (int i = 0; i < 10; i++)
		assert_int_equal(in_region(rt, sort_deep, NULL), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	return deep_most;
}

TEST(sort__two_runs_whose_rest_is_taken_often__no_stack)
{
	size_t alone = depth_with(1);

	/* The external thread and a worker take it from each other. */
	assert_true(depth_with(2) < 5 * alone);
}

/* ---- a killer: what quicksort takes longest for ----------------------------- */

/* McIlroy's adversary: values are decided as they are compared. */
struct killer {
	uint32_t *values, solid, gas, candidate;
	uint64_t comparisons;
};

static int compare_killer(const void *a, const void *b, void *arg)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	struct killer *it = arg;

	it->comparisons++;
	if (it->values[left] == it->gas && it->values[right] == it->gas)
		it->values[left == it->candidate ? left : right] = it->solid++;
	if (it->values[left] == it->gas)
		it->candidate = left;
	else if (it->values[right] == it->gas)
		it->candidate = right;
	return (it->values[left] > it->values[right]) -
	       (it->values[left] < it->values[right]);
}

#define KILLED 20000u

static int kill_sort(struct skua_ctx ctx, void *arg)
{
	struct killer it = { .values = calloc(KILLED, sizeof(uint32_t)),
			     .gas = KILLED };
	uint32_t *items = calloc(KILLED, sizeof(*items));

	(void)arg;
	for (uint32_t i = 0; i < KILLED; i++) {
		items[i] = i;
		it.values[i] = it.gas;
	}
	/* Else it would decide that all is in order. */
	it.values[0] = 1;
	it.values[1] = 0;
	it.values[2] = 2;
	it.solid = 3;
	assert_int_equal(skua_sort(ctx, items, KILLED, 4, compare_killer, &it),
			 0);
	for (uint32_t i = 1; i < KILLED; i++)
		assert_true(it.values[items[i - 1]] < it.values[items[i]]);
	/* 15 = log2(20000). Without heapsort five times as many. */
	assert_true(it.comparisons < 6 * 15 * KILLED);
	free(items);
	free(it.values);
	return 0;
}

TEST(sort__adversary__n_log_n_comparisons)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(in_region(rt, kill_sort, NULL), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}
