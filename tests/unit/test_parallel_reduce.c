/* SPDX-License-Identifier: MIT */
/* test_parallel_reduce.c - reductions: order, identity, ends, what is owned */
#include "tests/unit/loops.h"

/* ---- matrices: associative, not commutative -------------------------------- */

/* Of numbers modulo 2^64. */
struct matrix {
	uint64_t at[4];
};

static const struct matrix unit = { { 1, 0, 0, 1 } };

static struct matrix multiply(struct matrix a, struct matrix b)
{
	return (struct matrix){ { a.at[0] * b.at[0] + a.at[1] * b.at[2],
				  a.at[0] * b.at[1] + a.at[1] * b.at[3],
				  a.at[2] * b.at[0] + a.at[3] * b.at[2],
				  a.at[2] * b.at[1] + a.at[3] * b.at[3] } };
}

static struct matrix matrix_of(size_t i)
{
	return (struct matrix){ { i + 1, 2 * i + 3, 5, 7 * i } };
}

static int matrix_fold(struct skua_ctx ctx, size_t begin, size_t end,
		       void *value, void *arg)
{
	struct matrix *product = value;

	ask(ctx);
	assert_true(begin < end);
	for (size_t i = begin; i < end; i++)
		*product = multiply(*product, matrix_of(i));
	assert_null(arg);
	return 0;
}

static int matrix_join(void *left, void *right, void *arg)
{
	*(struct matrix *)left =
		multiply(*(struct matrix *)left, *(struct matrix *)right);
	assert_null(arg);
	return 0;
}

static const struct skua_reduction matrices = { .size = sizeof(struct matrix),
						.identity = &unit,
						.fold = matrix_fold,
						.join = matrix_join };

static void reduce_each(struct skua_ctx ctx, size_t count, size_t grain)
{
	struct matrix expected = unit, result;

	for (size_t i = 5; i < 5 + count; i++)
		expected = multiply(expected, matrix_of(i));
	assert_int_equal(
		skua_reduce(ctx, 5, 5 + count, grain, &matrices, &result, NULL),
		0);
	assert_memory_equal(&result, &expected, sizeof(result));
}

TEST(reduce__each_size_and_grain__in_order)
{
	each_loop(reduce_each);
}

/* ---- arguments ------------------------------------------------------------- */

static int bad_arguments(struct skua_ctx ctx, void *arg)
{
	const struct skua_ctx none = { NULL, NULL };
	struct skua_reduction how = matrices;
	struct matrix value;

	(void)arg;
	assert_int_equal(skua_reduce(ctx, 0, 1, 0, NULL, &value, NULL),
			 -EINVAL);
	assert_int_equal(skua_reduce(ctx, 0, 1, 0, &how, NULL, NULL), -EINVAL);
	assert_int_equal(skua_reduce(ctx, 1, 0, 0, &how, &value, NULL),
			 -EINVAL);
	assert_int_equal(skua_reduce(none, 0, 1, 0, &how, &value, NULL),
			 -EINVAL);
	how.size = 0;
	assert_int_equal(skua_reduce(ctx, 0, 1, 0, &how, &value, NULL),
			 -EINVAL);
	how.size = SKUA_MAX_VALUE + 1;
	assert_int_equal(skua_reduce(ctx, 0, 1, 0, &how, &value, NULL),
			 -EINVAL);
	how = matrices;
	how.fold = NULL;
	assert_int_equal(skua_reduce(ctx, 0, 1, 0, &how, &value, NULL),
			 -EINVAL);
	how = matrices;
	how.join = NULL;
	assert_int_equal(skua_reduce(ctx, 0, 1, 0, &how, &value, NULL),
			 -EINVAL);
	return 0;
}

TEST(reduce__bad_arguments__einval)
{
	each_team(bad_arguments, NULL);
}

/* ---- the largest values ---------------------------------------------------- */

static int bytes_fold(struct skua_ctx ctx, size_t begin, size_t end,
		      void *value, void *arg)
{
	unsigned char *bytes = value;

	(void)arg;
	ask(ctx);
	for (size_t i = begin; i < end; i++)
		bytes[i % SKUA_MAX_VALUE]++;
	return 0;
}

static int bytes_join(void *left, void *right, void *arg)
{
	unsigned char *to = left, *from = right;

	(void)arg;
	for (size_t i = 0; i < SKUA_MAX_VALUE; i++)
		to[i] = (unsigned char)(to[i] + from[i]);
	return 0;
}

static int largest_values(struct skua_ctx ctx, void *arg)
{
	const struct skua_reduction how = { .size = SKUA_MAX_VALUE,
					    .fold = bytes_fold,
					    .join = bytes_join };
	unsigned char bytes[SKUA_MAX_VALUE];

	(void)arg;
	for (size_t grain = 0; grain < 20; grain += 19) {
		memset(bytes, 0xff, sizeof(bytes)); /* the identity is zeros */
		assert_int_equal(skua_reduce(ctx, 0, 9 * SKUA_MAX_VALUE, grain,
					     &how, bytes, NULL),
				 0);
		for (size_t i = 0; i < SKUA_MAX_VALUE; i++)
			assert_int_equal(bytes[i], 9);
	}
	return 0;
}

TEST(reduce__largest_values__each_has_its_own)
{
	each_team(largest_values, NULL);
}

/* ---- floating point -------------------------------------------------------- */

static int add_fold(struct skua_ctx ctx, size_t begin, size_t end, void *value,
		    void *arg)
{
	const atomic_u32 *asks = arg;
	double *sum = value;

	if (atomic_load_relaxed(asks))
		ask(ctx);
	for (size_t i = begin; i < end; i++)
		*sum += 1.0 / (double)(i * i + 1);
	return 0;
}

static int add_join(void *left, void *right, void *arg)
{
	(void)arg;
	*(double *)left += *(double *)right;
	return 0;
}

struct sums {
	double first;
	bool known;
};

static int add_up(struct skua_ctx ctx, void *arg)
{
	const struct skua_reduction how = { .size = sizeof(double),
					    .fold = add_fold,
					    .join = add_join };
	struct sums *sums = arg;

	for (uint32_t round = 0; round < 20; round++) {
		atomic_u32 asks;
		double sum = 1e9;

		atomic_init(&asks, round % 2);
		assert_int_equal(
			skua_reduce(ctx, 0, 10007, 10, &how, &sum, &asks), 0);
		if (!sums->known)
			*sums = (struct sums){ sum, true };
		assert_memory_equal(&sum, &sums->first, sizeof(sum));
	}
	return 0;
}

TEST(reduce__a_grain__floating_point_to_the_last_digit)
{
	struct sums sums = { 0, false };

	each_team(add_up, &sums);
	assert_true(sums.known);
}

/* ---- ends, and values that own something ----------------------------------- */

struct owner {
	atomic_u64 live;
	size_t fold_fails, join_fails; /* at which item */
};

/* A value: NULL, or memory with the last item. */
struct owned {
	size_t *last;
};

static int own_fold(struct skua_ctx ctx, size_t begin, size_t end, void *value,
		    void *arg)
{
	struct owner *owner = arg;
	struct owned *owned = value;

	ask(ctx);
	if (!owned->last) {
		owned->last = malloc(sizeof(size_t));
		atomic_fetch_add_relaxed(&owner->live, 1);
	}
	*owned->last = end - 1;
	return owner->fold_fails >= begin && owner->fold_fails < end ? -EIO : 0;
}

static void own_drop(void *value, void *arg)
{
	struct owner *owner = arg;
	struct owned *owned = value;

	if (owned->last)
		atomic_fetch_sub_relaxed(&owner->live, 1);
	free(owned->last);
	owned->last = NULL;
}

static int own_join(void *left, void *right, void *arg)
{
	struct owner *owner = arg;
	struct owned *to = left, *from = right;

	if (!from->last)
		return 0;
	if (to->last)
		assert_true(*to->last < *from->last);
	own_drop(to, owner);
	*to = *from;
	return *to->last >= owner->join_fails ? -EDOM : 0;
}

static const struct skua_reduction owned_values = { .size = sizeof(
							    struct owned),
						    .fold = own_fold,
						    .join = own_join,
						    .drop = own_drop };

static void own_each(struct skua_ctx ctx, size_t count, size_t grain)
{
	struct owner owner = { .fold_fails = SIZE_MAX, .join_fails = SIZE_MAX };
	struct owned result;

	atomic_init(&owner.live, 0);
	assert_int_equal(skua_reduce(ctx, 0, count, grain, &owned_values,
				     &result, &owner),
			 0);
	assert_int_equal(atomic_load_relaxed(&owner.live), count != 0);
	if (count)
		assert_int_equal(*result.last, count - 1);
	own_drop(&result, &owner);
	for (size_t i = 0; i < count; i += count / 7 + 1) {
		owner.fold_fails = i;
		assert_int_equal(skua_reduce(ctx, 0, count, grain,
					     &owned_values, &result, &owner),
				 -EIO);
		assert_int_equal(atomic_load_relaxed(&owner.live), 0);
	}
	owner.fold_fails = SIZE_MAX;
	owner.join_fails = count / 2;
	if (skua_reduce(ctx, 0, count, grain, &owned_values, &result, &owner))
		assert_int_equal(atomic_load_relaxed(&owner.live), 0);
	else
		own_drop(&result, &owner);
}

TEST(reduce__callbacks_return_values__nothing_leaks)
{
	each_loop(own_each);
}

static int join_ends(struct skua_ctx ctx, void *arg)
{
	struct owner owner = { .fold_fails = SIZE_MAX, .join_fails = 20 };
	struct owned result;

	(void)arg;
	atomic_init(&owner.live, 0);
	assert_int_equal(
		skua_reduce(ctx, 0, 40, 10, &owned_values, &result, &owner),
		-EDOM);
	assert_int_equal(atomic_load_relaxed(&owner.live), 0);
	return 0;
}

TEST(reduce__join_returns_a_value__is_returned)
{
	each_team(join_ends, NULL);
}

/* ---- ranges without an end -------------------------------------------------- */

static int end_fold(struct skua_ctx ctx, size_t begin, size_t end, void *value,
		    void *arg)
{
	size_t *calls = value;

	ask(ctx);
	++*calls;
	return end > *(const size_t *)arg && begin <= *(const size_t *)arg
		       ? -EIO
		       : 0;
}

static int end_join(void *left, void *right, void *arg)
{
	(void)arg;
	*(size_t *)left += *(size_t *)right;
	return 0;
}

static int end_early(struct skua_ctx ctx, void *arg)
{
	const struct skua_reduction how = { .size = sizeof(size_t),
					    .fold = end_fold,
					    .join = end_join };
	size_t value;

	(void)arg;
	for (size_t fails = 0; fails < 70; fails += 23)
		for (size_t grain = 0; grain < 4; grain++)
			assert_int_equal(skua_reduce(ctx, 0, SIZE_MAX, grain,
						     &how, &value, &fails),
					 -EIO);
	return 0;
}

TEST(reduce__fold_ends_the_largest_range__returns)
{
	each_team(end_early, NULL);
}
