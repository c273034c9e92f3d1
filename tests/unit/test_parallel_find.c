/* SPDX-License-Identifier: MIT */
/* test_parallel_find.c - loops that end when something has been found */
#include "tests/unit/loops.h"

#define MAX_ITEMS 20000

/* Items: nothing, something to find, or a mistake. */
struct field {
	signed char at[MAX_ITEMS];
	atomic_u64 looked; /* items */
};

static int look(struct skua_ctx ctx, size_t begin, size_t end, size_t *found,
		void *arg)
{
	struct field *field = arg;

	ask(ctx);
	assert_true(begin < end);
	for (size_t i = begin; i < end; i++) {
		atomic_fetch_add_relaxed(&field->looked, 1);
		if (field->at[i]) {
			*found = i;
			return field->at[i];
		}
	}
	return 0;
}

static int look_any(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	size_t found;

	return look(ctx, begin, end, &found, arg);
}

static int look_all(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	int code = look_any(ctx, begin, end, arg);

	return code < 0 ? code : !code;
}

/* ---- arguments ------------------------------------------------------------- */

static int bad_arguments(struct skua_ctx ctx, void *arg)
{
	const struct skua_ctx none = { NULL, NULL };

	assert_int_equal(skua_find_first(ctx, 0, 1, 0, NULL, NULL, NULL),
			 -EINVAL);
	assert_int_equal(skua_find_any(ctx, 0, 1, 0, NULL, NULL, NULL),
			 -EINVAL);
	assert_int_equal(skua_any(ctx, 0, 1, 0, NULL, NULL), -EINVAL);
	assert_int_equal(skua_all(ctx, 0, 1, 0, NULL, NULL), -EINVAL);
	assert_int_equal(skua_find_first(ctx, 2, 1, 0, look, NULL, arg),
			 -EINVAL);
	assert_int_equal(skua_find_any(none, 0, 1, 0, look, NULL, arg),
			 -EINVAL);
	assert_int_equal(skua_any(ctx, 2, 1, 0, look_any, arg), -EINVAL);
	assert_int_equal(skua_all(none, 0, 1, 0, look_all, arg), -EINVAL);
	return 0;
}

TEST(find__bad_arguments__einval)
{
	each_team(bad_arguments, NULL);
}

static int more_than_1(struct skua_ctx ctx, void *arg)
{
	struct field *field = arg;

	field->at[50] = 2;
	assert_int_equal(skua_find_first(ctx, 0, 100, 1, look, NULL, field),
			 -EINVAL);
	assert_int_equal(skua_find_any(ctx, 0, 100, 1, look, NULL, field),
			 -EINVAL);
	assert_int_equal(skua_any(ctx, 0, 100, 1, look_any, field), -EINVAL);
	return 0;
}

TEST(find__callback_returns_more_than_1__einval)
{
	struct field *field = calloc(1, sizeof(*field));

	each_team(more_than_1, field);
	free(field);
}

/* ---- found or not ---------------------------------------------------------- */

static void find_none(struct skua_ctx ctx, struct field *field, size_t count,
		      size_t grain)
{
	size_t found = 12345;

	atomic_store_relaxed(&field->looked, 0);
	assert_int_equal(
		skua_find_first(ctx, 0, count, grain, look, &found, field), 0);
	assert_int_equal(
		skua_find_any(ctx, 0, count, grain, look, &found, field), 0);
	assert_int_equal(skua_any(ctx, 0, count, grain, look_any, field), 0);
	assert_int_equal(skua_all(ctx, 0, count, grain, look_all, field), 1);
	assert_int_equal(atomic_load_relaxed(&field->looked), 4 * count);
	assert_int_equal(found, 12345);
}

/* All find the item at @first; a second may be found by some. */
static void find_it(struct skua_ctx ctx, struct field *field, size_t count,
		    size_t grain, size_t first)
{
	size_t second = first + (count - first) / 2, found = SIZE_MAX;
	signed char what = field->at[first];
	int code;

	assert_int_equal(
		skua_find_first(ctx, 0, count, grain, look, &found, field),
		what);
	assert_int_equal(found, what == 1 ? first : SIZE_MAX);
	code = skua_find_any(ctx, 0, count, grain, look, &found, field);
	assert_true(code == what || code == field->at[second]);
	if (code == 1)
		assert_int_equal(field->at[found], 1);
	code = skua_any(ctx, 0, count, grain, look_any, field);
	assert_true(code == what || code == field->at[second]);
	code = skua_all(ctx, 0, count, grain, look_all, field);
	assert_true(code != 1);
}

static void find_each(struct skua_ctx ctx, size_t count, size_t grain)
{
	static const signed char whats[][2] = {
		{ 1, 1 }, { 1, -EIO }, { -EIO, 1 }, { -EIO, -EIO }
	};
	struct field *field = calloc(1, sizeof(*field));

	find_none(ctx, field, count, grain);
	for (size_t i = 0; i < count; i += count / 5 + 1)
		for (size_t j = 0; j < COUNT_OF(whats); j++) {
			field->at[i + (count - i) / 2] = whats[j][1];
			field->at[i] = whats[j][0];
			find_it(ctx, field, count, grain, i);
			memset(field->at, 0, sizeof(field->at));
		}
	free(field);
}

TEST(find__each_size_and_grain__what_is_there)
{
	each_loop(find_each);
}

static int found_null(struct skua_ctx ctx, void *arg)
{
	struct field *field = arg;

	field->at[70] = 1;
	assert_int_equal(skua_find_first(ctx, 0, 100, 0, look, NULL, field), 1);
	assert_int_equal(skua_find_any(ctx, 0, 100, 0, look, NULL, field), 1);
	return 0;
}

TEST(find__found_is_null__only_whether)
{
	struct field *field = calloc(1, sizeof(*field));

	each_team(found_null, field);
	free(field);
}

/* ---- early exit ------------------------------------------------------------ */

/* Item 0 waits until somebody else has found the other one. */
struct race {
	struct gate found;
	size_t at;
	atomic_u32 behind; /* begun behind that */
};

static int race(struct skua_ctx ctx, size_t begin, size_t end, size_t *found,
		void *arg)
{
	struct race *it = arg;

	(void)ctx;
	if (begin == 0)
		gate_wait(&it->found);
	if (it->at < begin || it->at >= end)
		return 0;
	*found = it->at;
	gate_open(&it->found);
	return 1;
}

static int find_upper(struct skua_ctx ctx, void *arg)
{
	struct race first = { .at = 80 }, any = { .at = 80 };
	size_t found = 0;

	(void)arg;
	while (!skua_wanted(ctx))
		sched_yield();
	assert_int_equal(skua_find_first(ctx, 0, 100, 1, race, &found, &first),
			 1);
	assert_int_equal(found, 80);
	while (!skua_wanted(ctx))
		sched_yield();
	assert_int_equal(skua_find_any(ctx, 0, 100, 1, race, &found, &any), 1);
	assert_int_equal(found, 80);
	return 0;
}

TEST(find__another_worker_finds_it__all_end)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	assert_int_equal(in_region(rt, find_upper, NULL), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* A range without an end, as long as nobody hears of what is found in its upper
 * half. */
static int endless(struct skua_ctx ctx, size_t begin, size_t end, size_t *found,
		   void *arg)
{
	struct gate *begun = arg;

	(void)ctx;
	(void)end;
	if (begin < SIZE_MAX / 4) {
		gate_open(begun);
		return 0;
	}
	gate_wait(begun);
	*found = begin;
	return 1;
}

static int find_in_endless(struct skua_ctx ctx, void *arg)
{
	struct gate begun = { 0 };

	(void)arg;
	while (!skua_wanted(ctx))
		sched_yield();
	return skua_find_any(ctx, 0, SIZE_MAX, 1, endless, NULL, &begun);
}

TEST(find_any__another_worker_finds_it__is_heard_of)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	assert_int_equal(in_region(rt, find_in_endless, NULL), 1);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static int find_early(struct skua_ctx ctx, void *arg)
{
	struct field *field = arg;
	size_t found;

	field->at[10] = 1;
	assert_int_equal(
		skua_find_first(ctx, 0, MAX_ITEMS, 1, look, &found, field), 1);
	return 0;
}

TEST(find__one_worker__nothing_is_looked_at_behind_it)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct field *field = calloc(1, sizeof(*field));

	assert_int_equal(in_region(rt, find_early, field), 0);
	assert_int_equal(atomic_load_relaxed(&field->looked), 11);
	free(field);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}
