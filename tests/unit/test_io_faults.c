/* SPDX-License-Identifier: MIT */
/**
 * test_io_faults.c - system calls that are interrupted, that move fewer bytes than they
 * could, or that fail for a lack of memory or descriptors
 *
 * Linked with tests/faults/, which makes them fail. All bytes arrive, no call hangs, and
 * the caller learns only of the errors that the manual page lists.
 */
#include <poll.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include "core/runtime/runtime.h"
#include "tests/unit/fault_calls.h"

#define MOST  4096u
#define BYTES (100000u * size_factor())

/* ---- bytes ------------------------------------------------------------------ */

/* One end of a pair, and the bytes that it has moved. Without asserts: fibers use it. */
struct stream {
	struct skua_io io;
	bool is_socket;
	uint64_t bytes, wanted;
	struct rng rng;
	int code; /* of a call that has failed */
	/* Of a reader whose calls have deadlines: the last one, and calls that have timed
	 * out (atomic). */
	uint64_t deadline_ns;
	unsigned late;
	/* Of a poll. */
	struct skua_task task;
	struct skua_wait wait;
	unsigned char data[MOST];
	size_t size;
};

static unsigned char byte_at(uint64_t at)
{
	return (unsigned char)(at * 131 + at / 251);
}

static void fill_in(struct stream *it)
{
	uint64_t left = it->wanted - it->bytes;

	it->size = 1 + rng_below(&it->rng, MOST);
	if (it->size > left)
		it->size = (size_t)left;
	for (size_t i = 0; i < it->size; i++)
		it->data[i] = byte_at(it->bytes + i);
}

static bool is_right(const struct stream *it, ssize_t n)
{
	for (ssize_t i = 0; i < n; i++)
		if (it->data[i] != byte_at(it->bytes + (uint64_t)i))
			return false;
	return true;
}

/* Count the bytes of a call. Return: does the stream go on? */
static bool goes_on(struct stream *it, ssize_t n)
{
	if (n > 0)
		it->bytes += (uint64_t)n;
	else if (n == 0 || !is_fault(n))
		it->code = n == 0 ? -EPIPE : (int)n;
	return it->code == 0 && it->bytes < it->wanted;
}

/* Two parts of the data. */
static void split(struct stream *it, struct iovec parts[2])
{
	size_t half = rng_below(&it->rng, (uint32_t)it->size + 1);

	parts[0] = (struct iovec){ it->data, half };
	parts[1] = (struct iovec){ it->data + half, it->size - half };
}

static ssize_t write_somehow(struct stream *it)
{
	struct iovec parts[2];
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	uint32_t way = rng_below(&it->rng, it->is_socket ? 3 : 2);

	fill_in(it);
	split(it, parts);
	if (way == 0)
		return skua_io_write(it->io, it->data, it->size,
				     SKUA_FOREVER_NS);
	return way == 1 ? skua_io_writev(it->io, parts, 2, SKUA_FOREVER_NS)
			: skua_io_sendmsg(it->io, &message, 0, SKUA_FOREVER_NS);
}

static ssize_t read_somehow(struct stream *it)
{
	struct iovec parts[2];
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	uint32_t way = rng_below(&it->rng, it->is_socket ? 4 : 3);
	int ready;

	it->size = 1 + rng_below(&it->rng, MOST);
	split(it, parts);
	if (way == 0) {
		ready = skua_io_wait(it->io, POLLIN, SKUA_FOREVER_NS);
		if (ready < 0)
			return ready;
	}
	if (way <= 1)
		return skua_io_read(it->io, it->data, it->size,
				    SKUA_FOREVER_NS);
	return way == 2 ? skua_io_readv(it->io, parts, 2, SKUA_FOREVER_NS)
			: skua_io_recvmsg(it->io, &message, 0, SKUA_FOREVER_NS);
}

static int write_stream(struct user *user)
{
	struct stream *it = user->object;

	while (goes_on(it, write_somehow(it)))
		;
	return it->code;
}

static int read_stream(struct user *user)
{
	struct stream *it = user->object;
	ssize_t n;

	do {
		n = read_somehow(it);
		if (!is_right(it, n))
			return 1;
	} while (goes_on(it, n));
	return it->code;
}

static enum skua_poll write_poll(struct skua_task *self)
{
	struct stream *it = SKUA_CONTAINER_OF(self, struct stream, task);
	ssize_t n;

	do {
		if (!skua_wait_armed(&it->wait))
			fill_in(it);
		n = skua_io_write_poll(self, it->io, it->data, it->size,
				       &it->wait, SKUA_FOREVER_NS);
		if (n == -EAGAIN)
			return SKUA_PENDING;
	} while (goes_on(it, n));
	return SKUA_DONE;
}

/* As pair_open(), although attachments have faults. */
static void pair_open_at_last(struct skua_runtime *rt, struct pair *pair,
			      enum pair_kind kind)
{
	int fds[2];

	fds_open(fds, kind);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(attach_at_last(rt, fds[i], &pair->ends[i]), 0);
}

/* @form: of the writer: 0: a thread, 1: a fiber, 2: a poll */
static void pass(struct skua_runtime *rt, enum pair_kind kind, unsigned form)
{
	static struct stream from, to;
	struct user writer = { 0 }, reader = { 0 };
	struct pair pair;

	pair_open_at_last(rt, &pair, kind);
	from = (struct stream){ .io = pair.ends[1],
				.is_socket = kind != PAIR_PIPE,
				.wanted = BYTES,
				.task = SKUA_TASK_INIT(write_poll),
				.wait = SKUA_WAIT_INIT };
	to = from;
	to.io = pair.ends[0];
	rng_init(&from.rng, kind);
	rng_init(&to.rng, kind + 10);
	if (form == 2)
		spawn(rt, &from.task);
	else
		user_start(&writer, rt, form, write_stream, &from);
	user_start(&reader, rt, form != 1, read_stream, &to);
	if (form == 2)
		join(&from.task);
	else
		assert_int_equal(user_end(&writer), 0);
	assert_int_equal(from.code, 0);
	assert_int_equal(user_end(&reader), 0);
	assert_true(to.bytes == from.wanted && from.bytes == from.wanted);
	pair_close(&pair);
}

static void pass_all(unsigned chosen)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);

		faults_begin(chosen, workers);
		for (enum pair_kind kind = 0; kind < PAIR_KINDS; kind++)
			for (unsigned form = 0; form < 3; form++)
				pass(rt, kind, form);
		faults_end(chosen & ~BIT(ACCEPT));
		destroy(rt);
	}
}

TEST(bytes__eintr__all_arrive)
{
	pass_all(BIT(EINTR));
}

/* A call that finds nothing waits for an event, which comes. */
TEST(bytes__eagain_although_ready__all_arrive)
{
	pass_all(BIT(EAGAIN));
}

TEST(bytes__short_counts__all_arrive)
{
	pass_all(BIT(SHORT));
}

TEST(bytes__all_faults__all_arrive)
{
	pass_all(ALL);
}

/* The forms that move all of it hide short counts. */
static int write_at_once(struct user *user)
{
	struct stream *it = user->object;
	size_t moved = 0;

	fill_in(it);
	return skua_io_write_all(it->io, it->data, it->size, &moved,
				 SKUA_FOREVER_NS) ||
	       moved != it->size;
}

TEST(exact__short_counts__all_of_it)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	static struct stream from, to;

	faults_begin(HIDDEN, 3);
	for (unsigned i = 0; i < 50; i++) {
		struct user writer = { 0 };
		struct pair pair;
		size_t moved = 0;

		pair_open(rt, &pair, i % PAIR_KINDS);
		from = (struct stream){ .io = pair.ends[1], .wanted = MOST };
		to = (struct stream){ .io = pair.ends[0] };
		rng_init(&from.rng, i);
		user_start(&writer, rt, i % 2, write_at_once, &from);
		assert_int_equal(user_end(&writer), 0);
		assert_int_equal(skua_io_read_exact(to.io, to.data, from.size,
						    &moved, SKUA_FOREVER_NS),
				 0);
		assert_int_equal(moved, from.size);
		assert_true(is_right(&to, (ssize_t)moved));
		pair_close(&pair);
	}
	faults_end(BIT(EINTR) | BIT(EAGAIN) | BIT(SHORT));
	destroy(rt);
}

/* A form that moves all of it would repeat such a write for ever. */
static int write_nothing(struct user *user)
{
	struct stream *it = user->object;
	struct iovec vector = { it->data, 8 };
	size_t moved = 1;
	int code =
		skua_io_write_all(it->io, it->data, 8, &moved, SKUA_FOREVER_NS);

	if (code != -EIO || moved != 0)
		return 1;
	moved = 1;
	code = skua_io_writev_all(it->io, &vector, 1, &moved, SKUA_FOREVER_NS);
	return code != -EIO || moved != 0;
}

TEST(write_all__writes_move_nothing__eio)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	static struct stream from;

	for (unsigned i = 0; i < 2 * PAIR_KINDS; i++) {
		struct pair pair;

		pair_open(rt, &pair, i % PAIR_KINDS);
		from = (struct stream){ .io = pair.ends[1] };
		faults_begin(BIT(NOTHING), 1);
		assert_int_equal(
			user_run(rt, i / PAIR_KINDS, write_nothing, &from), 0);
		faults_end(BIT(NOTHING));
		pair_close(&pair);
	}
	destroy(rt);
}

#define PATIENCE_NS 50000u /* a read waits for less than that */

/* Read until all bytes have come, in calls that may find that their deadline has passed. */
static int read_late(struct user *user)
{
	struct stream *it = user->object;
	ssize_t n;

	do {
		n = skua_io_read(
			it->io, it->data, 1 + rng_below(&it->rng, MOST),
			skua_now_ns() + rng_below(&it->rng, PATIENCE_NS));
		if (n == -ETIMEDOUT)
			__atomic_fetch_add(&it->late, 1, __ATOMIC_RELAXED);
		else if (!is_right(it, n))
			return 1;
	} while (n == -ETIMEDOUT || goes_on(it, n));
	return it->code;
}

static enum skua_poll read_late_poll(struct skua_task *self)
{
	struct stream *it = SKUA_CONTAINER_OF(self, struct stream, task);
	ssize_t n;

	do {
		if (!skua_wait_armed(&it->wait))
			it->deadline_ns = skua_now_ns() +
					  rng_below(&it->rng, PATIENCE_NS);
		n = skua_io_read_poll(self, it->io, it->data, MOST, &it->wait,
				      it->deadline_ns);
		if (n == -EAGAIN)
			return SKUA_PENDING;
		if (n == -ETIMEDOUT)
			__atomic_fetch_add(&it->late, 1, __ATOMIC_RELAXED);
		else if (!is_right(it, n))
			it->code = 1;
	} while (n == -ETIMEDOUT || goes_on(it, n));
	return SKUA_DONE;
}

/* Wait until the reader has timed out once more. */
static void await_late(const struct stream *to)
{
	unsigned late = __atomic_load_n(&to->late, __ATOMIC_RELAXED);

	while (__atomic_load_n(&to->late, __ATOMIC_RELAXED) == late)
		sched_yield();
}

/* Write in small parts, some of them right after a deadline, and the others at any time. */
static void write_in_parts(struct stream *from, const struct stream *to)
{
	while (from->bytes < from->wanted) {
		size_t moved;

		if (from->bytes == 0 || rng_below(&from->rng, 4) == 0)
			await_late(to);
		fill_in(from);
		if (from->size > 64)
			from->size = 64;
		assert_int_equal(skua_io_write_all(from->io, from->data,
						   from->size, &moved,
						   SKUA_FOREVER_NS),
				 0);
		from->bytes += moved;
	}
}

/* @form: of the reader: 0: a thread, 1: a fiber, 2: a poll */
static void pass_late(struct skua_runtime *rt, enum pair_kind kind,
		      unsigned form)
{
	static struct stream from, to;
	struct user reader = { 0 };
	struct pair pair;

	pair_open(rt, &pair, kind);
	to = (struct stream){ .io = pair.ends[0],
			      .wanted = 2500u * size_factor(),
			      .task = SKUA_TASK_INIT(read_late_poll),
			      .wait = SKUA_WAIT_INIT };
	from = to;
	from.io = pair.ends[1];
	rng_init(&from.rng, kind);
	rng_init(&to.rng, kind + 10);
	if (form == 2)
		spawn(rt, &to.task);
	else
		user_start(&reader, rt, form, read_late, &to);
	write_in_parts(&from, &to);
	if (form == 2)
		join(&to.task);
	else
		assert_int_equal(user_end(&reader), 0);
	assert_int_equal(to.code, 0);
	assert_true(to.bytes == to.wanted);
	pair_close(&pair);
}

/* A byte that comes about the time of a deadline is read, or left for the next call. */
TEST(deadlines__faults__each_byte_is_read_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	faults_begin(HIDDEN, 6);
	for (enum pair_kind kind = 0; kind < PAIR_KINDS; kind++)
		for (unsigned form = 0; form < 3; form++)
			pass_late(rt, kind, form);
	faults_end(BIT(EINTR) | BIT(EAGAIN) | BIT(SHORT));
	destroy(rt);
}

/* An eventfd moves eight bytes or none. */
TEST(eventfd__all_faults__each_count_arrives)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	int fd = eventfd(0, EFD_CLOEXEC);
	struct skua_io io;
	ssize_t n;

	faults_begin(ALL, 4);
	assert_int_equal(attach_at_last(rt, fd, &io), 0);
	for (uint64_t i = 1; i < 200; i++) {
		uint64_t count = i;

		do
			n = skua_io_write(io, &count, 8, SKUA_FOREVER_NS);
		while (is_fault(n));
		assert_int_equal(n, 8);
		do
			n = skua_io_read(io, &count, 8, SKUA_FOREVER_NS);
		while (is_fault(n));
		assert_int_equal(n, 8);
		assert_true(count == i);
	}
	io_close(io);
	faults_end(BIT(EINTR) | BIT(EAGAIN) | BIT(MEMORY));
	destroy(rt);
}
