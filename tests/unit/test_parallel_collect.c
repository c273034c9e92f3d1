/* SPDX-License-Identifier: MIT */
/* test_parallel_collect.c - collect keeps the order; partition loses nothing */
#include "tests/unit/loops.h"

/* Larger than a register, and of an odd size. */
struct item {
	unsigned char bytes[13];
};

static struct item item_of(size_t i)
{
	struct item item;

	for (size_t j = 0; j < sizeof(item.bytes); j++)
		item.bytes[j] = (unsigned char)(i >> (j % 4 * 8));
	return item;
}

static size_t number_of(const struct item *item)
{
	size_t i = 0;

	for (size_t j = 0; j < 4; j++)
		i |= (size_t)item->bytes[j] << (j * 8);
	return i;
}

/* Which belong to the front: none, all, or every so many. */
static bool chosen(size_t i, size_t every)
{
	return every == 0 ? false : i % every == 0;
}

static const size_t everies[] = { 0, 1, 2, 3, 100 };

struct choice {
	size_t every;
	size_t fails; /* at which item */
};

/* ---- collect --------------------------------------------------------------- */

static int choose(struct skua_ctx ctx, size_t begin, size_t end, void *out,
		  size_t *count, void *arg)
{
	const struct choice *choice = arg;
	struct item *items = out;

	ask(ctx);
	if (choice->fails >= begin && choice->fails < end)
		return -EIO;
	for (size_t i = begin; i < end; i++)
		if (chosen(i, choice->every))
			items[(*count)++] = item_of(i);
	return 0;
}

static void collect_each(struct skua_ctx ctx, size_t count, size_t grain)
{
	struct item *out = malloc((count + 1) * sizeof(*out));

	for (size_t k = 0; k < COUNT_OF(everies); k++) {
		struct choice choice = { everies[k], SIZE_MAX };
		size_t made = 77, expected = 0;

		assert_int_equal(skua_collect(ctx, 1000, 1000 + count, grain,
					      out, sizeof(*out), &made, choose,
					      &choice),
				 0);
		for (size_t i = 1000; i < 1000 + count; i++)
			if (chosen(i, choice.every)) {
				assert_true(expected < made);
				assert_int_equal(number_of(&out[expected++]),
						 i);
			}
		assert_int_equal(made, expected);
		choice.fails = 1000 + count / 2;
		assert_int_equal(skua_collect(ctx, 1000, 1000 + count, grain,
					      out, sizeof(*out), &made, choose,
					      &choice),
				 count ? -EIO : 0);
		assert_int_equal(made, 0);
	}
	free(out);
}

TEST(collect__each_size_and_grain__in_order)
{
	each_loop(collect_each);
}

static int lie(struct skua_ctx ctx, size_t begin, size_t end, void *out,
	       size_t *count, void *arg)
{
	(void)ctx;
	(void)out;
	(void)arg;
	*count = end - begin + 1;
	return 0;
}

static int bad_collects(struct skua_ctx ctx, void *arg)
{
	struct choice choice = { 1, SIZE_MAX };
	struct item out[1];
	size_t made;

	(void)arg;
	assert_int_equal(
		skua_collect(ctx, 0, 1, 0, out, 13, &made, NULL, &choice),
		-EINVAL);
	assert_int_equal(
		skua_collect(ctx, 0, 1, 0, out, 13, NULL, choose, &choice),
		-EINVAL);
	assert_int_equal(
		skua_collect(ctx, 0, 1, 0, NULL, 13, &made, choose, &choice),
		-EINVAL);
	assert_int_equal(
		skua_collect(ctx, 0, 1, 0, out, 0, &made, choose, &choice),
		-EINVAL);
	assert_int_equal(
		skua_collect(ctx, 1, 0, 0, out, 13, &made, choose, &choice),
		-EINVAL);
	assert_int_equal(skua_collect(ctx, 0, SIZE_MAX, 0, out, 13, &made,
				      choose, &choice),
			 -EINVAL);
	assert_int_equal(skua_collect(ctx, 0, 1, 0, out, 13, &made, lie, NULL),
			 -EINVAL);
	return 0;
}

TEST(collect__bad_arguments__einval)
{
	each_team(bad_collects, NULL);
}

/* ---- partition ------------------------------------------------------------- */

static int judge(struct skua_ctx ctx, const void *items, size_t count,
		 unsigned char *yes, void *arg)
{
	const struct choice *choice = arg;
	const struct item *item = items;

	ask(ctx);
	for (size_t i = 0; i < count; i++) {
		if (number_of(&item[i]) == choice->fails)
			return -EIO;
		yes[i] = chosen(number_of(&item[i]), choice->every);
	}
	return 0;
}

/* Each item is there once. */
static void check_all_there(const struct item *items, size_t count)
{
	unsigned char *seen = calloc(count + 1, 1);

	for (size_t i = 0; i < count; i++) {
		struct item expected = item_of(number_of(&items[i]));

		assert_true(number_of(&items[i]) < count);
		assert_int_equal(seen[number_of(&items[i])]++, 0);
		assert_memory_equal(&items[i], &expected, sizeof(expected));
	}
	free(seen);
}

static void partition_each(struct skua_ctx ctx, size_t count, size_t grain)
{
	struct item *items = malloc((count + 1) * sizeof(*items));

	for (size_t k = 0; k < COUNT_OF(everies); k++) {
		struct choice choice = { everies[k], SIZE_MAX };
		size_t split = 77;

		for (size_t i = 0; i < count; i++)
			items[i] = item_of(i);
		assert_int_equal(skua_partition(ctx, items, count,
						sizeof(*items), grain, judge,
						&split, &choice),
				 0);
		check_all_there(items, count);
		assert_true(split <= count);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(
				chosen(number_of(&items[i]), choice.every),
				i < split);
		choice.fails = count / 2;
		assert_int_equal(skua_partition(ctx, items, count,
						sizeof(*items), grain, judge,
						&split, &choice),
				 count ? -EIO : 0);
		check_all_there(items, count);
	}
	free(items);
}

TEST(partition__each_size_and_grain__each_on_its_side)
{
	each_loop(partition_each);
}

static int bad_partitions(struct skua_ctx ctx, void *arg)
{
	const struct skua_ctx none = { NULL, NULL };
	struct choice choice = { 1, SIZE_MAX };
	struct item items[1] = { item_of(0) };
	size_t split;

	(void)arg;
	assert_int_equal(
		skua_partition(ctx, items, 1, 13, 0, NULL, &split, &choice),
		-EINVAL);
	assert_int_equal(
		skua_partition(ctx, items, 1, 13, 0, judge, NULL, &choice),
		-EINVAL);
	assert_int_equal(
		skua_partition(ctx, NULL, 1, 13, 0, judge, &split, &choice),
		-EINVAL);
	assert_int_equal(
		skua_partition(ctx, items, 1, 0, 0, judge, &split, &choice),
		-EINVAL);
	assert_int_equal(
		skua_partition(none, items, 1, 13, 0, judge, &split, &choice),
		-EINVAL);
	assert_int_equal(skua_partition(ctx, items, SIZE_MAX, 13, 0, judge,
					&split, &choice),
			 -EINVAL);
	return 0;
}

TEST(partition__bad_arguments__einval)
{
	each_team(bad_partitions, NULL);
}
