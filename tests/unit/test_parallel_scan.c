/* SPDX-License-Identifier: MIT */
/* test_parallel_scan.c - all prefixes, inclusive and exclusive */
#define SUPPORT_FAIL_ALLOCATIONS
#include "tests/unit/loops.h"

/* ---- affine functions: associative, not commutative ------------------------ */

/* x -> a * x + b modulo 2^64; a value is a chain of them. */
struct affine {
	uint64_t a, b;
};

static const struct affine unit = { 1, 0 };

static struct affine affine_of(size_t i)
{
	return (struct affine){ 2 * i + 3, 5 * i + 1 };
}

/* @left first, then @right. */
static struct affine chain(struct affine left, struct affine right)
{
	return (struct affine){ right.a * left.a, right.a * left.b + right.b };
}

struct prefixes {
	struct affine *out;
	size_t begin;
	bool inclusive;
	size_t fold_fails, scan_fails; /* at which item */
	atomic_u32 join_fails;         /* so many joins later */
};

static int affine_fold(struct skua_ctx ctx, size_t begin, size_t end,
		       void *value, void *arg)
{
	struct prefixes *it = arg;
	struct affine *chained = value;

	ask(ctx);
	assert_true(begin < end);
	if (it->fold_fails >= begin && it->fold_fails < end)
		return -EDOM;
	for (size_t i = begin; i < end; i++)
		*chained = chain(*chained, affine_of(i));
	return 0;
}

static int affine_scan(struct skua_ctx ctx, size_t begin, size_t end,
		       void *carry, void *arg)
{
	struct prefixes *it = arg;
	struct affine *chained = carry;

	ask(ctx);
	assert_true(begin < end);
	for (size_t i = begin; i < end; i++) {
		struct affine next = chain(*chained, affine_of(i));

		if (i == it->scan_fails)
			return -EIO;
		it->out[i - it->begin] = it->inclusive ? next : *chained;
		*chained = next;
	}
	return 0;
}

static int affine_join(void *left, void *right, void *arg)
{
	struct prefixes *it = arg;

	*(struct affine *)left =
		chain(*(struct affine *)left, *(struct affine *)right);
	return atomic_fetch_sub_relaxed(&it->join_fails, 1) == 1 ? -ERANGE : 0;
}

static const struct skua_reduction affines = { .size = sizeof(struct affine),
					       .identity = &unit,
					       .fold = affine_fold,
					       .join = affine_join };

/* The first @count of the prefixes are right; what is behind them is 1, if none
 * should be there. */
static void check_prefixes(const struct prefixes *it, size_t count)
{
	struct affine expected = unit;

	for (size_t i = 0; i < count; i++) {
		struct affine next = chain(expected, affine_of(it->begin + i));

		if (it->inclusive)
			expected = next;
		assert_memory_equal(&it->out[i], &expected, sizeof(expected));
		expected = next;
	}
}

static void prefixes_new(struct prefixes *it, size_t count, bool inclusive)
{
	*it = (struct prefixes){ .out = calloc(count + 1, sizeof(*it->out)),
				 .begin = 1000,
				 .inclusive = inclusive,
				 .fold_fails = SIZE_MAX,
				 .scan_fails = SIZE_MAX };
	atomic_init(&it->join_fails, 0);
}

static int scan_on(struct skua_ctx ctx, struct prefixes *it, size_t count,
		   size_t grain, struct affine *whole)
{
	return skua_scan(ctx, it->begin, it->begin + count, grain, &affines,
			 affine_scan, whole, it);
}

static void scan_each(struct skua_ctx ctx, size_t count, size_t grain)
{
	for (int inclusive = 0; inclusive < 2; inclusive++) {
		struct affine whole = { 0, 0 }, expected = unit;
		struct prefixes it;

		prefixes_new(&it, count, inclusive);
		assert_int_equal(scan_on(ctx, &it, count, grain, &whole), 0);
		check_prefixes(&it, count);
		for (size_t i = 0; i < count; i++)
			expected = chain(expected, affine_of(it.begin + i));
		assert_memory_equal(&whole, &expected, sizeof(whole));
		assert_int_equal(it.out[count].a, 0);
		free(it.out);
	}
}

TEST(scan__each_size_and_grain__all_prefixes)
{
	each_loop(scan_each);
}

/* ---- arguments ------------------------------------------------------------- */

static void no_drop(void *value, void *arg)
{
	(void)value;
	(void)arg;
}

static int bad_arguments(struct skua_ctx ctx, void *arg)
{
	const struct skua_ctx none = { NULL, NULL };
	struct skua_reduction how = affines;

	assert_int_equal(skua_scan(ctx, 0, 1, 0, NULL, affine_scan, NULL, arg),
			 -EINVAL);
	assert_int_equal(skua_scan(ctx, 0, 1, 0, &how, NULL, NULL, arg),
			 -EINVAL);
	assert_int_equal(skua_scan(ctx, 1, 0, 0, &how, affine_scan, NULL, arg),
			 -EINVAL);
	assert_int_equal(skua_scan(none, 0, 1, 0, &how, affine_scan, NULL, arg),
			 -EINVAL);
	how.drop = no_drop;
	assert_int_equal(skua_scan(ctx, 0, 1, 0, &how, affine_scan, NULL, arg),
			 -EINVAL);
	how = affines;
	how.size = SKUA_MAX_VALUE + 1;
	assert_int_equal(skua_scan(ctx, 0, 1, 0, &how, affine_scan, NULL, arg),
			 -EINVAL);
	return 0;
}

TEST(scan__bad_arguments__einval)
{
	each_team(bad_arguments, NULL);
}

/* ---- ends ------------------------------------------------------------------ */

static void end_each(struct skua_ctx ctx, size_t count, size_t grain)
{
	for (size_t i = 0; i < count; i += count / 5 + 1) {
		struct prefixes it;
		struct affine whole = { 3, 4 };
		int code;

		prefixes_new(&it, count, true);
		it.scan_fails = it.begin + i;
		assert_int_equal(scan_on(ctx, &it, count, grain, &whole), -EIO);
		check_prefixes(&it, i);
		assert_int_equal(whole.a, 3);
		it.scan_fails = SIZE_MAX;
		it.fold_fails = it.begin + i;
		code = scan_on(ctx, &it, count, grain, &whole);
		assert_int_equal(code, grain ? -EDOM : 0);
		check_prefixes(&it, grain ? i / grain * grain : count);
		it.fold_fails = SIZE_MAX;
		atomic_store_relaxed(&it.join_fails, (uint32_t)i + 1);
		code = scan_on(ctx, &it, count, grain, &whole);
		assert_true(code == 0 || code == -ERANGE);
		check_prefixes(&it, code ? 0 : count);
		free(it.out);
	}
}

TEST(scan__callbacks_return_values__the_first_in_the_range)
{
	each_loop(end_each);
}

/* ---- floating point -------------------------------------------------------- */

static int add_fold(struct skua_ctx ctx, size_t begin, size_t end, void *value,
		    void *arg)
{
	(void)arg;
	ask(ctx);
	for (size_t i = begin; i < end; i++)
		*(double *)value += 1.0 / (double)(i * i + 1);
	return 0;
}

static int add_scan(struct skua_ctx ctx, size_t begin, size_t end, void *carry,
		    void *arg)
{
	double *out = arg, *sum = carry;

	ask(ctx);
	for (size_t i = begin; i < end; i++)
		out[i] = *sum += 1.0 / (double)(i * i + 1);
	return 0;
}

static int add_join(void *left, void *right, void *arg)
{
	(void)arg;
	*(double *)left += *(double *)right;
	return 0;
}

#define TERMS 5003

static int add_up(struct skua_ctx ctx, void *arg)
{
	const struct skua_reduction how = { .size = sizeof(double),
					    .fold = add_fold,
					    .join = add_join };
	double *first = arg, *sums = calloc(TERMS, sizeof(*sums));

	for (int round = 0; round < 20; round++) {
		assert_int_equal(
			skua_scan(ctx, 0, TERMS, 7, &how, add_scan, NULL, sums),
			0);
		if (first[0] == 0)
			memcpy(first, sums, TERMS * sizeof(*sums));
		assert_memory_equal(sums, first, TERMS * sizeof(*sums));
	}
	free(sums);
	return 0;
}

TEST(scan__a_grain__floating_point_to_the_last_digit)
{
	double *first = calloc(TERMS, sizeof(*first));

	each_team(add_up, first);
	free(first);
}

/* ---- memory ---------------------------------------------------------------- */

static int without_memory(struct skua_ctx ctx, void *arg)
{
	struct prefixes it;

	(void)arg;
	for (unsigned nth = 1; nth <= 3; nth++) {
		long live;

		prefixes_new(&it, 4000, true);
		ask(ctx);
		errno = 0;
		allocations_begin(nth);
		assert_int_equal(scan_on(ctx, &it, 4000, 0, NULL), 0);
		assert_int_equal(errno, 0);
		/* Two, if somebody asks: where there are others. */
		assert_int_equal(allocations_failed(),
				 ctx.forks->split && nth <= 2);
		live = allocations_end();
		assert_int_equal(live, 0);
		check_prefixes(&it, 4000);
		free(it.out);
	}
	return 0;
}

TEST(scan__no_memory__one_thread_does_it)
{
	if (!CAN_FAIL_ALLOCATIONS)
		skip_aloud(NO_FAILURES);
	each_team(without_memory, NULL);
}

static int more_than_memory(struct skua_ctx ctx, void *arg)
{
	struct prefixes it;

	(void)arg;
	prefixes_new(&it, 0, true);
	it.begin = 0;
	it.scan_fails = 0;
	assert_int_equal(skua_scan(ctx, 0, SIZE_MAX, 1, &affines, affine_scan,
				   NULL, &it),
			 -EIO);
	free(it.out);
	return 0;
}

TEST(scan__more_blocks_than_memory__one_thread_does_it)
{
	each_team(more_than_memory, NULL);
}

/* ---- two workers ----------------------------------------------------------- */

struct meeting {
	struct gate folds;
	uint64_t out[3000];
};

static int meet_fold(struct skua_ctx ctx, size_t begin, size_t end, void *value,
		     void *arg)
{
	struct meeting *it = arg;

	(void)ctx;
	gate_open(&it->folds);
	for (size_t i = begin; i < end; i++)
		*(uint64_t *)value += i;
	return 0;
}

static int meet_scan(struct skua_ctx ctx, size_t begin, size_t end, void *carry,
		     void *arg)
{
	struct meeting *it = arg;

	(void)ctx;
	if (begin == 0)
		gate_wait(&it->folds);
	for (size_t i = begin; i < end; i++)
		it->out[i] = *(uint64_t *)carry += i;
	return 0;
}

static int meet_join(void *left, void *right, void *arg)
{
	(void)arg;
	*(uint64_t *)left += *(uint64_t *)right;
	return 0;
}

static int meet_two(struct skua_ctx ctx, void *arg)
{
	const struct skua_reduction how = { .size = sizeof(uint64_t),
					    .fold = meet_fold,
					    .join = meet_join };
	struct meeting *it = calloc(1, sizeof(*it));

	(void)arg;
	while (!skua_wanted(ctx))
		sched_yield();
	assert_int_equal(skua_scan(ctx, 0, 3000, 0, &how, meet_scan, NULL, it),
			 0);
	for (uint64_t i = 0; i < 3000; i++)
		assert_int_equal(it->out[i], i * (i + 1) / 2);
	free(it);
	return 0;
}

TEST(scan__two_workers__one_goes_ahead)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	assert_int_equal(in_region(rt, meet_two, NULL), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- of those that go ahead, and behind ------------------------------------- */

#define BLOCKS_OF_ONE 100000u

/* The leader is the thread that calls. */
static _Thread_local const char *leader_begin;

struct helped {
	struct gate ahead;  /* somebody folds */
	struct gate failed; /* somebody's scan has */
	bool last;          /* was scanned */
	size_t deepest;
	atomic_u32 misaligned;
};

static void helped_value(struct helped *it, const void *value)
{
	if ((uintptr_t)value % _Alignof(max_align_t))
		atomic_store_relaxed(&it->misaligned, 1);
}

static int helped_join(void *left, void *right, void *arg)
{
	helped_value(arg, left);
	helped_value(arg, right);
	*(uint64_t *)left += *(uint64_t *)right;
	return 0;
}

/* One goes ahead by one sub-range, and no more. */
static int fold_one(struct skua_ctx ctx, size_t begin, size_t end, void *value,
		    void *arg)
{
	struct helped *it = arg;

	(void)ctx;
	helped_value(it, value);
	if (!leader_begin && gate_is_open(&it->ahead))
		return -EAGAIN;
	*(uint64_t *)value += end - begin;
	if (!leader_begin)
		gate_open(&it->ahead);
	return 0;
}

static int scan_until_one_fails(struct skua_ctx ctx, size_t begin, size_t end,
				void *carry, void *arg)
{
	struct helped *it = arg;

	(void)ctx;
	helped_value(it, carry);
	*(uint64_t *)carry += end - begin;
	if (!leader_begin) {
		gate_open(&it->failed);
		return -EDOM;
	}
	if (begin == 0)
		gate_wait(&it->ahead);
	if (begin > BLOCKS_OF_ONE / 2) {
		gate_wait(&it->failed);
		sched_yield();
	}
	it->last |= end == BLOCKS_OF_ONE;
	return 0;
}

static int fail_behind(struct skua_ctx ctx, void *arg)
{
	/* A size that values behind each other are not aligned with. */
	const struct skua_reduction how = { .size = 24,
					    .fold = fold_one,
					    .join = helped_join };
	struct helped it = { .last = false };
	int code;

	(void)arg;
	leader_begin = __builtin_frame_address(0);
	code = skua_scan(ctx, 0, BLOCKS_OF_ONE, 1, &how, scan_until_one_fails,
			 NULL, &it);
	leader_begin = NULL;
	assert_int_equal(code, -EDOM);
	assert_false(it.last);
	assert_int_equal(atomic_load_relaxed(&it.misaligned), 0);
	return 0;
}

TEST(scan__another_thread_has_failed__the_leader_ends)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	assert_int_equal(in_region(rt, fail_behind, NULL), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* Every other one fails, but not for the leader. */
static int fold_now_and_then(struct skua_ctx ctx, size_t begin, size_t end,
			     void *value, void *arg)
{
	struct helped *it = arg;

	(void)ctx;
	if (!leader_begin && begin % 2) {
		gate_open(&it->ahead);
		return -EAGAIN;
	}
	*(uint64_t *)value += end - begin;
	return 0;
}

static int scan_deep(struct skua_ctx ctx, size_t begin, size_t end, void *carry,
		     void *arg)
{
	const char *here = __builtin_frame_address(0);
	struct helped *it = arg;

	(void)ctx;
	if (leader_begin && (size_t)(leader_begin - here) > it->deepest)
		it->deepest = (size_t)(leader_begin - here);
	if (begin == 0)
		gate_wait(&it->ahead);
	if (leader_begin && begin < 1000)
		sched_yield();
	*(uint64_t *)carry += end - begin;
	return 0;
}

static int fail_ahead(struct skua_ctx ctx, void *arg)
{
	const struct skua_reduction how = { .size = 8,
					    .fold = fold_now_and_then,
					    .join = helped_join };
	struct helped it = { .last = false };
	uint64_t value = 0;
	int code;

	(void)arg;
	leader_begin = __builtin_frame_address(0);
	code = skua_scan(ctx, 0, 10000, 1, &how, scan_deep, &value, &it);
	leader_begin = NULL;
	assert_int_equal(code, 0);
	assert_int_equal(value, 10000);
	assert_true(it.deepest < 64 * 1024);
	return 0;
}

TEST(scan__folds_fail_ahead__no_stack)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (int i = 0; i < 20; i++)
		assert_int_equal(in_region(rt, fail_ahead, NULL), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}
