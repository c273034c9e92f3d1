/* SPDX-License-Identifier: MIT */
/* test_io_ends.c - calls on descriptors that end early or fail */
#include "tests/unit/io_deadlines.h"

/* ---- deadlines and cancels ---------------------------------------------- */

TEST(deadline__nothing_comes__etimedout_and_nothing_stays)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct pair pair;
	char bytes[4] = "";
	size_t moved = 9, filled;

	pair_open(rt, &pair, PAIR_UNIX);
	assert_int_equal(skua_io_read(pair.ends[0], bytes, 1, 0), -ETIMEDOUT);
	assert_int_equal(skua_io_read(pair.ends[0], bytes, 1, soon()),
			 -ETIMEDOUT);
	assert_int_equal(skua_io_wait(pair.ends[0], POLLIN, soon()),
			 -ETIMEDOUT);
	filled = fill(pair.ends[1]);
	assert_int_equal(skua_io_write(pair.ends[1], bytes, 1, soon()),
			 -ETIMEDOUT);
	while (filled > 0) {
		char sink[4096];
		ssize_t n = skua_io_read(pair.ends[0], sink, sizeof(sink),
					 SKUA_FOREVER_NS);

		assert_true(n > 0);
		filled -= (size_t)n;
	}
	/* The event that says that there is room may be late. */
	assert_int_equal(skua_io_write(pair.ends[1], "abc", 3, SKUA_FOREVER_NS),
			 3);
	assert_int_equal(
		skua_io_read_exact(pair.ends[0], bytes, 4, &moved, soon()),
		-ETIMEDOUT);
	assert_int_equal(moved, 3);
	/* A byte that is there is read even after the deadline. */
	assert_int_equal(skua_io_write(pair.ends[1], "d", 1, SKUA_FOREVER_NS),
			 1);
	assert_int_equal(skua_io_read(pair.ends[0], bytes, 1, 1), 1);
	pair_close(&pair);
	destroy(rt);
}

/* A worker that does not look for events, as it is in a long poll. */
struct long_poll {
	struct skua_task task; /* first */
	bool begun, over;      /* atomic */
};

static enum skua_poll poll_long(struct skua_task *self)
{
	struct long_poll *it = (struct long_poll *)self;

	__atomic_store_n(&it->begun, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&it->over, __ATOMIC_ACQUIRE))
		sched_yield();
	return SKUA_DONE;
}

struct reading {
	struct skua_io io;
	uint64_t deadline_ns;
};

static int read_until(struct user *it)
{
	struct reading *reading = it->object;
	char byte;

	return (int)skua_io_read(reading->io, &byte, 1, reading->deadline_ns);
}

/* Write a byte while a reader waits. Return: was it there before the deadline? */
static bool read_beside_long_poll(struct skua_runtime *rt, enum pair_kind kind)
{
	struct long_poll poll = { .begun = false };
	struct reading reading;
	struct user it = { 0 };
	struct pair pair;
	bool in_time;
	int result;

	pair_open(rt, &pair, kind);
	reading.io = pair.ends[0];
	skua_task_init(&poll.task, poll_long);
	spawn(rt, &poll.task);
	while (!__atomic_load_n(&poll.begun, __ATOMIC_ACQUIRE))
		sched_yield();
	reading.deadline_ns = skua_now_ns() + 50000000;
	user_start(&it, rt, false, read_until, &reading);
	while ((io_word(pair.ends[0], IO_READ) & IO_OWNER) != IO_ARMED &&
	       skua_now_ns() < reading.deadline_ns)
		sched_yield();
	assert_int_equal(write(pair.ends[1].fd, "a", 1), 1);
	in_time = skua_now_ns() < reading.deadline_ns;
	result = user_end(&it);
	if (in_time)
		assert_int_equal(result, 1);
	__atomic_store_n(&poll.over, true, __ATOMIC_RELEASE);
	join(&poll.task);
	pair_close(&pair);
	return in_time;
}

/* The only worker does not look for events before the deadline. */
TEST(deadline__byte_came_and_no_worker_looked__is_read)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (enum pair_kind kind = 0; kind < PAIR_KINDS; kind++)
		while (!read_beside_long_poll(rt, kind))
			;
	destroy(rt);
}

TEST(cancel__fiber_waits__ecanceled_and_the_byte_stays)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user it = { 0 };
	struct pair pair;
	char byte = 0;

	pair_open(rt, &pair, PAIR_UNIX);
	user_start(&it, rt, true, read_one, &pair.ends[0]);
	wait_for_wait(pair.ends[0], IO_READ);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED - 1000);
	assert_int_equal(skua_io_write_try(pair.ends[1], "z", 1), 1);
	assert_int_equal(skua_io_read(pair.ends[0], &byte, 1, SKUA_FOREVER_NS),
			 1);
	assert_int_equal(byte, 'z');
	pair_close(&pair);
	destroy(rt);
}

TEST(shutdown_with_cancel__fiber_waits__ecanceled)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user it = { 0 };
	struct pair pair;

	pair_open(rt, &pair, PAIR_TCP);
	user_start(&it, rt, true, read_one, &pair.ends[0]);
	wait_for_wait(pair.ends[0], IO_READ);
	assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
					       SKUA_SHUTDOWN_CANCEL),
			 0);
	assert_int_equal(it.result, -ECANCELED - 1000);
	pair_close(&pair);
	destroy(rt);
}

/* ---- half-closed -------------------------------------------------------- */

/* Bytes and the end of file arrive before the read, with one event. */
TEST(half_close__data_and_end_at_once__data_then_0)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned run = 0; run < 200; run++) {
		struct user it = { 0 };
		struct pair pair;
		char data[64];

		pair_open(rt, &pair, run % 2 ? PAIR_TCP : PAIR_UNIX);
		assert_int_equal(skua_io_write_try(pair.ends[1], "abc", 3), 3);
		assert_int_equal(skua_io_shutdown(pair.ends[1], SHUT_WR), 0);
		if (run % 4 < 2)
			while (!(io_word(pair.ends[0], IO_READ) & IO_ENDING))
				sched_yield();
		assert_int_equal(skua_io_read(pair.ends[0], data, sizeof(data),
					      SKUA_FOREVER_NS),
				 3);
		/* The end is seen, and stays. */
		user_start(&it, rt, true, read_one, &pair.ends[0]);
		assert_int_equal(user_end(&it), -1000);
		assert_int_equal(skua_io_read(pair.ends[0], data, sizeof(data),
					      SKUA_FOREVER_NS),
				 0);
		/* The other direction goes on. */
		assert_int_equal(
			skua_io_write(pair.ends[0], "de", 2, SKUA_FOREVER_NS),
			2);
		assert_int_equal(skua_io_read(pair.ends[1], data, sizeof(data),
					      SKUA_FOREVER_NS),
				 2);
		pair_close(&pair);
	}
	destroy(rt);
}

/* A read that stops at urgent data does not mean that the socket is empty. */
TEST(urgent_data__read_stops_at_it__rest_is_read)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned run = 0; run < 100; run++) {
		struct pair pair;
		char data[64];
		int fd;

		pair_open(rt, &pair, PAIR_TCP);
		fd = pair.ends[1].fd;
		assert_int_equal(send(fd, "abc", 3, 0), 3);
		assert_int_equal(send(fd, "!", 1, MSG_OOB), 1);
		assert_int_equal(send(fd, "de", 2, 0), 2);
		if (run % 2)
			while (!(io_word(pair.ends[0], IO_READ) & IO_ENDING))
				sched_yield();
		for (ssize_t got = 0; got < 5;) {
			ssize_t n = skua_io_read(pair.ends[0], data,
						 sizeof(data), SKUA_FOREVER_NS);

			assert_true(n > 0);
			got += n;
		}
		pair_close(&pair);
	}
	destroy(rt);
}

/* ---- errors ------------------------------------------------------------- */

/* An outside thread has SIGPIPE unblocked, and is not ended by it. */
TEST(write__nobody_reads__epipe_without_sigpipe)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct iovec one = { "x", 1 };

	for (enum pair_kind kind = 0; kind < PAIR_KINDS; kind++) {
		struct pair pair;
		ssize_t n;

		signal(SIGPIPE, SIG_DFL);
		pair_open(rt, &pair, kind);
		io_close(pair.ends[0]);
		/* TCP learns of it by the answer to the first one. */
		while ((n = skua_io_write(pair.ends[1], "x", 1,
					  SKUA_FOREVER_NS)) == 1)
			sched_yield();
		if (n == -ECONNRESET)
			n = skua_io_write(pair.ends[1], "x", 1, 0);
		assert_int_equal(n, -EPIPE);
		assert_int_equal(skua_io_writev(pair.ends[1], &one, 1, 0),
				 -EPIPE);
		io_close(pair.ends[1]);
	}
	destroy(rt);
}

TEST(read__connection_reset__econnreset_while_it_waits)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct linger now = { 1, 0 };
	struct user it = { 0 };
	struct pair pair;

	pair_open(rt, &pair, PAIR_TCP);
	user_start(&it, rt, true, read_one, &pair.ends[0]);
	wait_for_wait(pair.ends[0], IO_READ);
	assert_int_equal(setsockopt(pair.ends[1].fd, SOL_SOCKET, SO_LINGER,
				    &now, sizeof(now)),
			 0);
	io_close(pair.ends[1]);
	assert_int_equal(user_end(&it), -ECONNRESET - 1000);
	io_close(pair.ends[0]);
	destroy(rt);
}

TEST(errno__calls_that_fail__untouched)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io io;
	struct pair pair;
	char byte;

	errno = 4711;
	assert_int_equal(skua_io_attach(rt, -1, 0, &io), -EBADF);
	pair_open(rt, &pair, PAIR_UNIX);
	errno = 4711;
	assert_int_equal(skua_io_read_try(pair.ends[0], &byte, 1), -EAGAIN);
	assert_int_equal(skua_io_read(pair.ends[0], &byte, 1, soon()),
			 -ETIMEDOUT);
	assert_int_equal(skua_io_accept_try(pair.ends[0], &io, NULL, NULL),
			 -EINVAL);
	io_close(pair.ends[1]);
	assert_int_equal(skua_io_write_try(pair.ends[0], &byte, 1), -EPIPE);
	io_close(pair.ends[0]);
	assert_int_equal(errno, 4711);
	destroy(rt);
}

/* ---- other libraries ---------------------------------------------------- */

static int wait_readable(struct user *it)
{
	return skua_io_wait(*(struct skua_io *)it->object, POLLIN,
			    SKUA_FOREVER_NS);
}

/* It asks the kernel, whatever the program has read, and the reads of the program and of
 * the library may take turns. */
TEST(wait__program_reads_by_itself__ready_while_there_are_bytes)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (enum pair_kind kind = 0; kind < PAIR_KINDS; kind++) {
		struct user it = { 0 };
		struct pair pair;
		char byte;
		int fd;

		pair_open(rt, &pair, kind);
		fd = pair.ends[0].fd;
		assert_int_equal(skua_io_wait_try(pair.ends[0], POLLIN),
				 -EAGAIN);
		user_start(&it, rt, true, wait_readable, &pair.ends[0]);
		wait_for_wait(pair.ends[0], IO_READ);
		assert_int_equal(skua_io_write_try(pair.ends[1], "abc", 3), 3);
		assert_int_equal(user_end(&it), POLLIN);
		assert_int_equal(read(fd, &byte, 1), 1);
		assert_int_equal(
			skua_io_wait(pair.ends[0], POLLIN, SKUA_FOREVER_NS),
			POLLIN);
		assert_int_equal(
			skua_io_read(pair.ends[0], &byte, 1, SKUA_FOREVER_NS),
			1);
		assert_int_equal(
			skua_io_wait(pair.ends[0], POLLIN, SKUA_FOREVER_NS),
			POLLIN);
		assert_int_equal(read(fd, &byte, 1), 1);
		assert_int_equal(skua_io_wait(pair.ends[0], POLLIN, soon()),
				 -ETIMEDOUT);
		assert_int_equal(
			skua_io_wait(pair.ends[1], POLLOUT, SKUA_FOREVER_NS) &
				POLLOUT,
			POLLOUT);
		io_close(pair.ends[1]);
		assert_true(skua_io_wait(pair.ends[0], POLLIN,
					 SKUA_FOREVER_NS) > 0);
		io_close(pair.ends[0]);
	}
	destroy(rt);
}
