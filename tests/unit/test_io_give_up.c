/* SPDX-License-Identifier: MIT */
/**
 * test_io_give_up.c - how soon a read ends at its deadline, and after a cancel
 *
 * A deadline is compared with a sleep of the kernel, a cancel with an event that ends the same
 * read. They are measured in turn; the least of the ratios counts, which other processes hardly
 * change. SKUA_TEST_SET=long: twenty times as many reads.
 */
#include "core/runtime/runtime.h"
#include "tests/unit/echo.h"

#define READS  100u
#define BLOCKS 5u

static unsigned reads(void)
{
	const char *set = getenv("SKUA_TEST_SET");

	return set && strcmp(set, "long") == 0 ? 20 * READS : READS;
}

static void print(const char *name, struct quantiles q)
{
	printf("%s: after p50 %.1f us, p99 %.1f us, most %.1f us\n", name,
	       (double)q.p50_ns / 1e3, (double)q.p99_ns / 1e3,
	       (double)q.most_ns / 1e3);
}

static void smaller(double *least, struct quantiles one, struct quantiles other)
{
	double ratio = (double)one.p50_ns / (double)other.p50_ns;

	if (ratio < *least)
		*least = ratio;
}

/* A descriptor from which nothing comes, unless the test writes. */
struct scene {
	struct skua_runtime *rt;
	struct skua_io io;
	int other;
	uint64_t *times_ns;
	unsigned count, wrong;
};

static void scene_begin(struct scene *it, unsigned workers)
{
	int fds[2];

	*it = (struct scene){ .rt = runtime_new(workers, 0), .count = reads() };
	it->times_ns = calloc(it->count, sizeof(*it->times_ns));
	assert_non_null(it->times_ns);
	fds_open(fds, PAIR_UNIX);
	it->io = attached(it->rt, fds[0]);
	it->other = fds[1];
}

static void scene_end(struct scene *it)
{
	assert_int_equal(it->wrong, 0);
	io_close(it->io);
	assert_int_equal(close(it->other), 0);
	destroy(it->rt);
	free(it->times_ns);
}

/* ---- deadlines ---------------------------------------------------------------------- */

static int read_until_late(struct user *user)
{
	struct scene *it = user->object;
	char byte;

	for (unsigned i = 0; i < it->count; i++) {
		uint64_t due_ns = skua_now_ns() + nap_length_ns(i);

		it->wrong +=
			skua_io_read(it->io, &byte, 1, due_ns) != -ETIMEDOUT;
		it->times_ns[i] = skua_now_ns() - due_ns;
	}
	return 0;
}

static struct quantiles deadlines(struct scene *it, bool is_fiber)
{
	user_run(it->rt, is_fiber, read_until_late, it);
	return quantiles_of(it->times_ns, it->count);
}

/* Sleeps of a thread without a runtime. */
static struct quantiles naps(struct scene *it)
{
	nap_by_kernel(it->times_ns, it->count);
	return quantiles_of(it->times_ns, it->count);
}

static void measure_deadlines(unsigned workers)
{
	double least_fiber = 1e9, least_thread = 1e9;
	struct quantiles fiber, thread, kernel;

	for (unsigned i = 0; i < BLOCKS; i++) {
		struct scene it;

		scene_begin(&it, workers);
		kernel = naps(&it);
		fiber = deadlines(&it, true);
		thread = deadlines(&it, false);
		scene_end(&it);
		smaller(&least_fiber, fiber, kernel);
		smaller(&least_thread, thread, kernel);
	}
	printf("%u workers\n", workers);
	print("a sleep of the kernel", kernel);
	print("the deadline of a fiber", fiber);
	print("the deadline of a thread", thread);
	printf("least ratios of p50 %.2f and %.2f\n", least_fiber,
	       least_thread);
	assert_true(least_fiber < 4.0);
	assert_true(least_thread < 4.0);
}

TEST(deadline__of_a_read__ends_it_as_soon_as_a_sleep)
{
	measure_deadlines(1);
	measure_deadlines(2);
}

/* ---- cancels ------------------------------------------------------------------------ */

/* A fiber that reads once. */
struct reader {
	struct skua_fiber fiber; /* first: a fiber is its reader */
	struct skua_io io;
	ssize_t result;
	uint64_t end_ns;
};

static void read_once(struct skua_fiber *self)
{
	struct reader *it = (struct reader *)self;
	char byte;

	it->result = skua_io_read(it->io, &byte, 1, SKUA_FOREVER_NS);
	it->end_ns = skua_now_ns();
}

/* End reads while all workers sleep. */
static struct quantiles ends(struct scene *it, bool cancel)
{
	for (unsigned i = 0; i < it->count; i++) {
		struct reader reader = { .io = it->io };
		uint64_t begin_ns;

		assert_int_equal(skua_fiber_init(&reader.fiber, read_once, 0),
				 0);
		spawn(it->rt, &reader.fiber.task);
		wait_for_wait(it->io, IO_READ);
		while (!idle_all_parked(&it->rt->pool.idle))
			sched_yield();
		begin_ns = skua_now_ns();
		if (cancel)
			skua_task_cancel(&reader.fiber.task);
		else
			assert_int_equal(write(it->other, "x", 1), 1);
		join(&reader.fiber.task);
		it->wrong += reader.result != (cancel ? -ECANCELED : 1);
		it->times_ns[i] = reader.end_ns - begin_ns;
	}
	return quantiles_of(it->times_ns, it->count);
}

static void measure_cancels(unsigned workers)
{
	struct quantiles events, cancels;
	double least = 1e9;

	for (unsigned i = 0; i < BLOCKS; i++) {
		struct scene it;

		scene_begin(&it, workers);
		events = ends(&it, false);
		cancels = ends(&it, true);
		scene_end(&it);
		smaller(&least, cancels, events);
	}
	printf("%u workers\n", workers);
	print("an event", events);
	print("a cancel", cancels);
	printf("least ratio of p50 %.2f\n", least);
	assert_true(least < 4.0);
}

TEST(cancel__of_a_read__ends_it_as_soon_as_an_event)
{
	measure_cancels(1);
	measure_cancels(2);
}
