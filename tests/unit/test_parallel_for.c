/* SPDX-License-Identifier: MIT */
/* test_parallel_for.c - loops without a value, and how ranges are cut */
#include "tests/unit/loops.h"

#define MAX_ITEMS 20000

static int no_body(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	(void)ctx;
	(void)begin;
	(void)end;
	(void)arg;
	fail_msg("called");
	return 0;
}

static int no_map(struct skua_ctx ctx, const void *in, void *out, size_t count,
		  void *arg)
{
	(void)ctx;
	(void)in;
	(void)out;
	(void)count;
	(void)arg;
	fail_msg("called");
	return 0;
}

/* ---- arguments ------------------------------------------------------------- */

static int bad_arguments(struct skua_ctx ctx, void *arg)
{
	const struct skua_ctx none = { NULL, NULL };
	char item = 0;

	(void)arg;
	assert_int_equal(skua_for(ctx, 0, 1, 0, NULL, NULL), -EINVAL);
	assert_int_equal(skua_for(ctx, 2, 1, 0, no_body, NULL), -EINVAL);
	assert_int_equal(skua_for(none, 0, 1, 0, no_body, NULL), -EINVAL);
	assert_int_equal(skua_map(ctx, &item, 1, &item, 1, 1, 0, NULL, NULL),
			 -EINVAL);
	assert_int_equal(skua_map(ctx, NULL, 1, &item, 1, 1, 0, no_map, NULL),
			 -EINVAL);
	assert_int_equal(skua_map(ctx, &item, 1, NULL, 1, 1, 0, no_map, NULL),
			 -EINVAL);
	assert_int_equal(skua_map(ctx, &item, 0, &item, 1, 1, 0, no_map, NULL),
			 -EINVAL);
	assert_int_equal(skua_map(ctx, &item, 1, &item, 0, 1, 0, no_map, NULL),
			 -EINVAL);
	assert_int_equal(skua_map(ctx, &item, 1, &item, 16, SIZE_MAX / 8, 0,
				  no_map, NULL),
			 -EINVAL);
	assert_int_equal(skua_map(none, &item, 1, &item, 1, 1, 0, no_map, NULL),
			 -EINVAL);
	return 0;
}

TEST(for__bad_arguments__einval)
{
	each_team(bad_arguments, NULL);
}

static int empty_range(struct skua_ctx ctx, void *arg)
{
	(void)arg;
	assert_int_equal(skua_for(ctx, 0, 0, 0, no_body, NULL), 0);
	assert_int_equal(skua_for(ctx, 7, 7, 3, no_body, NULL), 0);
	assert_int_equal(skua_for(ctx, SIZE_MAX, SIZE_MAX, 0, no_body, NULL),
			 0);
	assert_int_equal(skua_map(ctx, NULL, 1, NULL, 1, 0, 0, no_map, NULL),
			 0);
	return 0;
}

TEST(for__empty_range__no_call)
{
	each_team(empty_range, NULL);
}

/* ---- each once ------------------------------------------------------------- */

#define FIRST 10

struct visits {
	unsigned char of[MAX_ITEMS];
	size_t grain, end;
};

static int visit(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	struct visits *visits = arg;

	ask(ctx);
	assert_true(begin < end);
	assert_true(end <= visits->end);
	if (visits->grain) {
		size_t left = visits->end - begin;

		assert_int_equal((begin - FIRST) % visits->grain, 0);
		assert_int_equal(end - begin,
				 left < visits->grain ? left : visits->grain);
	}
	for (size_t i = begin; i < end; i++)
		visits->of[i - FIRST]++;
	return 0;
}

static void visit_each(struct skua_ctx ctx, size_t count, size_t grain)
{
	struct visits *visits = calloc(1, sizeof(*visits));

	visits->grain = grain;
	visits->end = FIRST + count;
	assert_int_equal(
		skua_for(ctx, FIRST, visits->end, grain, visit, visits), 0);
	for (size_t i = 0; i < MAX_ITEMS; i++)
		assert_int_equal(visits->of[i], i < count);
	free(visits);
}

TEST(for__each_size_and_grain__each_item_once)
{
	each_loop(visit_each);
}

static int visit_last(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	atomic_u64 *items = arg;

	ask(ctx);
	atomic_fetch_add_relaxed(items, end - begin);
	return 0;
}

static int end_at_once(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	(void)arg;
	ask(ctx);
	assert_true(begin < end);
	return begin == 0 ? 5 : 6;
}

static int greatest_ranges(struct skua_ctx ctx, void *arg)
{
	static const size_t grains[] = {
		0, 1, SIZE_MAX / 2, SIZE_MAX / 2 + 2, SIZE_MAX - 1, SIZE_MAX
	};
	atomic_u64 items;

	(void)arg;
	for (size_t i = 0; i < COUNT_OF(grains); i++) {
		atomic_init(&items, 0);
		assert_int_equal(skua_for(ctx, SIZE_MAX - 1000, SIZE_MAX,
					  grains[i], visit_last, &items),
				 0);
		assert_int_equal(atomic_load_relaxed(&items), 1000);
		assert_int_equal(skua_for(ctx, 0, SIZE_MAX, grains[i],
					  end_at_once, NULL),
				 5);
	}
	atomic_init(&items, 0);
	assert_int_equal(
		skua_for(ctx, 0, SIZE_MAX, SIZE_MAX / 100, visit_last, &items),
		0);
	assert_int_equal(atomic_load_relaxed(&items), SIZE_MAX);
	return 0;
}

TEST(for__greatest_ranges_and_grains__nothing_overflows)
{
	each_team(greatest_ranges, NULL);
}

/* ---- ends ------------------------------------------------------------------ */

struct ends {
	unsigned char done[MAX_ITEMS];
	size_t lowest, second;
};

/* Ends the loop at two places; the second is quicker. */
static int visit_till(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	struct ends *ends = arg;

	ask(ctx);
	for (size_t i = begin; i < end; i++) {
		if (i == ends->lowest) {
			sched_yield();
			return -EIO;
		}
		if (i == ends->second)
			return 17;
		ends->done[i] = 1;
	}
	return 0;
}

static void end_each(struct skua_ctx ctx, size_t count, size_t grain)
{
	struct ends *ends = calloc(1, sizeof(*ends));

	for (size_t i = 0; i < count; i += count / 5 + 1) {
		memset(ends, 0, sizeof(*ends));
		ends->lowest = i;
		ends->second = i + (count - i) / 2 + 1;
		assert_int_equal(
			skua_for(ctx, 0, count, grain, visit_till, ends), -EIO);
		for (size_t j = 0; j < i; j++)
			assert_int_equal(ends->done[j], 1);
		assert_int_equal(ends->done[i], 0);
	}
	free(ends);
}

TEST(for__bodies_return_values__the_first_in_the_range)
{
	each_loop(end_each);
}

static int count_calls(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	unsigned *calls = arg;

	(void)ctx;
	(void)begin;
	(void)end;
	return ++*calls == 3 ? 1 : 0;
}

static int end_early(struct skua_ctx ctx, void *arg)
{
	unsigned *calls = arg;

	return skua_for(ctx, 0, 1000, 10, count_calls, calls);
}

TEST(for__a_body_returns_a_value__no_more_calls)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	unsigned calls = 0;

	assert_int_equal(in_region(rt, end_early, &calls), 1);
	assert_int_equal(calls, 3);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- two workers ----------------------------------------------------------- */

struct meeting {
	struct gate gates[2];
};

/* The two items are done at the same time, or the test hangs. */
static int meet(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	struct meeting *it = arg;

	(void)ctx;
	assert_int_equal(end, begin + 1);
	gate_open(&it->gates[begin]);
	gate_wait(&it->gates[1 - begin]);
	return 0;
}

static int meet_two(struct skua_ctx ctx, void *arg)
{
	/* Until somebody asks: a loop that comes before that is not split. */
	while (!skua_wanted(ctx))
		sched_yield();
	return skua_for(ctx, 0, 2, (size_t)(uintptr_t)arg, meet,
			&(struct meeting){ 0 });
}

TEST(for__two_workers__at_the_same_time)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	assert_int_equal(in_region(rt, meet_two, (void *)0), 0);
	assert_int_equal(in_region(rt, meet_two, (void *)1), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* The upper half has no end, as long as nobody hears that the lower one has
 * failed. */
static int endless(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	struct gate *begun = arg;

	(void)ctx;
	(void)end;
	if (begin > 0) {
		gate_open(begun);
		return 0;
	}
	gate_wait(begun);
	return -EIO;
}

static int end_endless(struct skua_ctx ctx, void *arg)
{
	struct gate begun = { 0 };

	(void)arg;
	while (!skua_wanted(ctx))
		sched_yield();
	return skua_for(ctx, 0, SIZE_MAX, 1, endless, &begun);
}

TEST(for__a_body_before_others_fails__they_hear_of_it)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	assert_int_equal(in_region(rt, end_endless, NULL), -EIO);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

#define SIDE 60

static int cells(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	atomic_u64 *sum = arg;

	ask(ctx);
	for (size_t i = begin; i < end; i++)
		atomic_fetch_add_relaxed(sum, i);
	return 0;
}

static int rows(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	int code = 0;

	ask(ctx);
	for (size_t i = begin; i < end && code == 0; i++)
		code = skua_for(ctx, i * SIDE, (i + 1) * SIDE, 0, cells, arg);
	return code;
}

static int nested(struct skua_ctx ctx, void *arg)
{
	atomic_u64 sum;

	(void)arg;
	atomic_init(&sum, 0);
	assert_int_equal(skua_for(ctx, 0, SIDE, 0, rows, &sum), 0);
	assert_int_equal(atomic_load_relaxed(&sum),
			 SIDE * SIDE * (SIDE * SIDE - 1) / 2);
	return 0;
}

TEST(for__in_a_for__each_item_once)
{
	each_team(nested, NULL);
}

/* ---- map ------------------------------------------------------------------- */

static int widen(struct skua_ctx ctx, const void *in, void *out, size_t count,
		 void *arg)
{
	const uint16_t *from = in;
	uint64_t *to = out;

	ask(ctx);
	for (size_t i = 0; i < count; i++)
		to[i] = from[i] + *(uint64_t *)arg;
	return 0;
}

static void map_each(struct skua_ctx ctx, size_t count, size_t grain)
{
	uint16_t *in = calloc(count + 1, sizeof(*in));
	uint64_t *out = calloc(count + 1, sizeof(*out));
	uint64_t more = 1u << 20;

	for (size_t i = 0; i < count; i++)
		in[i] = (uint16_t)(3 * i);
	assert_int_equal(skua_map(ctx, in, sizeof(*in), out, sizeof(*out),
				  count, grain, widen, &more),
			 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(out[i], more + (uint16_t)(3 * i));
	free(in);
	free(out);
}

TEST(map__each_size_and_grain__each_item_in_place)
{
	each_loop(map_each);
}

static int map_fails(struct skua_ctx ctx, const void *in, void *out,
		     size_t count, void *arg)
{
	const char *items = in;

	(void)out;
	(void)arg;
	ask(ctx);
	for (size_t i = 0; i < count; i++)
		if (items[i])
			return items[i];
	return 0;
}

static int map_ends(struct skua_ctx ctx, void *arg)
{
	char items[1000] = { 0 };

	(void)arg;
	items[400] = 3;
	items[900] = -1;
	assert_int_equal(skua_map(ctx, items, 1, items, 1, sizeof(items), 1,
				  map_fails, NULL),
			 3);
	return 0;
}

TEST(map__callbacks_return_values__the_first_in_the_array)
{
	each_team(map_ends, NULL);
}
