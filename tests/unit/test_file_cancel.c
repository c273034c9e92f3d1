/* SPDX-License-Identifier: MIT */
/*
 * test_file_cancel.c - requests to stop operations on files, which the kernel refuses at first
 *
 * The program is linked with --wrap for io_uring_submit(), which then fails as it does when
 * the kernel is out of memory: it takes nothing, and the operations stay in the ring. A
 * request that is lost lets a test wait for ever.
 */
#include "core/runtime/runtime.h"
#include "tests/unit/users.h"

#define SOON_NS  UINT64_C(2000000)
#define REFUSALS 5u

struct io_uring;

/* How many calls still succeed at first, and how many are refused after that. Callers exclude
 * each other. */
static atomic_u32 first, refusals;

/* Not there in a library without liburing. */
int __real_io_uring_submit(struct io_uring *ring) __attribute__((weak));
int __wrap_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit(struct io_uring *ring)
{
	atomic_u32 *left = atomic_load_relaxed(&first) ? &first : &refusals;
	uint32_t count = atomic_load_relaxed(left);

	if (count > 0)
		atomic_store_relaxed(left, count - 1);
	return left == &refusals && count > 0 ? -EAGAIN
					      : __real_io_uring_submit(ring);
}

/* ---- the ring ----------------------------------------------------------------------- */

/* A ring with a read in it, which waits for a pipe. */
struct full {
	struct uring *ring;
	struct skua_file_op op;
	int pipes[2];
	char byte;
};

static bool full_begin(struct full *it)
{
	struct uring_request request = { &it->op, 1 };

	memset(it, 0, sizeof(*it));
	if (uring_create(&it->ring, NULL))
		return false;
	assert_int_equal(pipe(it->pipes), 0);
	skua_file_prep_read(&it->op, it->pipes[0], &it->byte, 1,
			    SKUA_FILE_POSITION);
	assert_int_equal(uring_submit(it->ring, &request, 1), 1);
	return true;
}

/* Fill the ring with operations that the kernel refuses. */
static void fill(struct full *it)
{
	struct uring_request requests[URING_SUBMIT_MAX];

	for (unsigned i = 0; i < URING_SUBMIT_MAX; i++)
		requests[i] = (struct uring_request){ &it->op, 2 };
	atomic_store_relaxed(&refusals, UINT32_MAX);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(
			uring_submit(it->ring, requests, URING_SUBMIT_MAX), 0);
	atomic_store_relaxed(&refusals, 0);
}

/* The read ends with @result. */
static void full_end(struct full *it, int result)
{
	struct uring_done done = { 0, 0 };

	/* Had it not been stopped, it would have read the byte. */
	assert_int_equal(write(it->pipes[1], "x", 1), 1);
	while (uring_take(it->ring, &done, 1) == 0)
		sched_yield();
	assert_int_equal(done.tag, 1);
	assert_int_equal(done.result, result);
	close(it->pipes[0]);
	close(it->pipes[1]);
	uring_destroy(it->ring);
}

TEST(cancel__ring_full_of_refused_operations__takes_effect)
{
	struct full it;

	if (!full_begin(&it))
		skip_aloud("io_uring is not built in, or refused");
	fill(&it);
	assert_true(uring_cancel(it.ring, 1));
	full_end(&it, -ECANCELED);
}

TEST(cancel__refused__returns_false_and_does_nothing)
{
	struct full it;

	if (!full_begin(&it))
		skip_aloud("io_uring is not built in, or refused");
	atomic_store_relaxed(&refusals, 1);
	assert_false(uring_cancel(it.ring, 1));
	full_end(&it, 1);
}

TEST(cancel__ring_full_and_refused__returns_false)
{
	struct full it;

	if (!full_begin(&it))
		skip_aloud("io_uring is not built in, or refused");
	fill(&it);
	atomic_store_relaxed(&refusals, UINT32_MAX);
	assert_false(uring_cancel(it.ring, 1));
	atomic_store_relaxed(&refusals, 0);
	full_end(&it, 1);
}

/* ---- operations --------------------------------------------------------------------- */

/* A read from a pipe that stays empty, by a fiber, a thread or a poll. */
struct reader {
	struct user user;
	struct skua_task task;
	struct skua_file_op op;
	struct skua_runtime *rt;
	int pipes[2];
	uint64_t wait_ns; /* SKUA_FOREVER_NS */
	uint64_t deadline_ns;
	char byte;
	ssize_t result;
};

static uint64_t deadline_of(const struct reader *it)
{
	return it->wait_ns == SKUA_FOREVER_NS ? it->wait_ns
					      : skua_now_ns() + it->wait_ns;
}

static int read_pipe(struct user *user)
{
	struct reader *it = user->object;

	return (int)skua_file_read(it->rt, it->pipes[0], &it->byte, 1,
				   SKUA_FILE_POSITION, deadline_of(it));
}

static enum skua_poll poll_pipe(struct skua_task *self)
{
	struct reader *it = SKUA_CONTAINER_OF(self, struct reader, task);

	if (it->deadline_ns == 0)
		it->deadline_ns = deadline_of(it);
	it->result = skua_file_poll(self, &it->op, it->deadline_ns);
	return it->result == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

static void reader_begin(struct reader *it, unsigned workers, uint64_t wait_ns)
{
	*it = (struct reader){ .rt = runtime_new(workers, 0),
			       .wait_ns = wait_ns,
			       .task = SKUA_TASK_INIT(poll_pipe) };
	assert_int_equal(pipe(it->pipes), 0);
	skua_file_prep_read(&it->op, it->pipes[0], &it->byte, 1,
			    SKUA_FILE_POSITION);
	atomic_store_relaxed(&first, 1); /* begins the read */
	atomic_store_relaxed(&refusals, REFUSALS);
}

static void reader_end(struct reader *it)
{
	assert_int_equal(count_of(&it->rt->files.waiters), 0);
	atomic_store_relaxed(&first, 0);
	atomic_store_relaxed(&refusals, 0);
	destroy(it->rt);
	close(it->pipes[0]);
	close(it->pipes[1]);
}

/* Cancel a task whose read is in the ring. */
static void cancel(struct reader *it, struct skua_task *task)
{
	wait_for_waiters(&it->rt->files.waiters, 1);
	skua_task_cancel(task);
}

/* The read has ended with @result, after it was refused each time. */
static void expect(const struct reader *it, ssize_t result)
{
	assert_int_equal(result,
			 it->wait_ns == SOON_NS ? -ETIMEDOUT : -ECANCELED);
	assert_int_equal(atomic_load_relaxed(&refusals), 0);
}

static void give_up(unsigned workers, bool fiber, uint64_t wait_ns)
{
	struct reader it;
	bool ring;

	reader_begin(&it, workers, wait_ns);
	ring = files_has_ring(&it.rt->files);
	if (ring) {
		user_start(&it.user, it.rt, fiber, read_pipe, &it);
		if (wait_ns != SOON_NS)
			cancel(&it, &it.user.fiber.task);
		expect(&it, user_end(&it.user));
	}
	reader_end(&it);
	if (!ring)
		skip_aloud("io_uring is not built in, or refused");
}

static void give_up_by_poll(uint64_t wait_ns)
{
	struct reader it;
	bool ring;

	reader_begin(&it, 1, wait_ns);
	ring = files_has_ring(&it.rt->files);
	if (ring) {
		spawn(it.rt, &it.task);
		if (wait_ns != SOON_NS)
			cancel(&it, &it.task);
		join(&it.task);
		expect(&it, it.result);
	}
	reader_end(&it);
	if (!ring)
		skip_aloud("io_uring is not built in, or refused");
}

TEST(read__cancel_refused__fiber_asks_again)
{
	give_up(1, true, SKUA_FOREVER_NS);
	give_up(2, true, SKUA_FOREVER_NS);
}

TEST(read__deadline_refused__fiber_asks_again)
{
	give_up(1, true, SOON_NS);
}

TEST(read__deadline_refused__thread_asks_again)
{
	give_up(1, false, SOON_NS);
}

TEST(read__cancel_refused__poll_asks_again)
{
	give_up_by_poll(SKUA_FOREVER_NS);
}

/* The timer of the deadline is queued. */
TEST(read__cancel_refused_before_the_deadline__poll_asks_again)
{
	give_up_by_poll(UINT64_C(3600000000000));
}

TEST(read__deadline_refused__poll_asks_again)
{
	give_up_by_poll(SOON_NS);
}
