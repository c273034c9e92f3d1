/* SPDX-License-Identifier: MIT */
/* test_io_bytes.c - bytes between fibers, polls and threads, in order and whole */
#include "tests/unit/io_deadlines.h"

/* ---- bytes -------------------------------------------------------------- */

/* Moves numbers from one end to the other. */
struct stream {
	struct skua_io io;
	size_t bytes, chunk;
	uint64_t wrong;
};

static unsigned char byte_at(size_t at)
{
	return (unsigned char)(at * 131 + at / 251);
}

static int write_stream(struct user *it)
{
	struct stream *s = it->object;
	unsigned char data[8192];
	size_t at = 0;

	while (at < s->bytes) {
		size_t left = s->bytes - at;
		size_t n = left < s->chunk ? left : s->chunk;
		size_t moved;

		for (size_t i = 0; i < n; i++)
			data[i] = byte_at(at + i);
		if (skua_io_write_all(s->io, data, n, &moved, SKUA_FOREVER_NS))
			return -1;
		at += moved;
	}
	return 0;
}

static int read_stream(struct user *it)
{
	struct stream *s = it->object;
	unsigned char data[8192];
	size_t at = 0;
	ssize_t n;

	while ((n = skua_io_read(s->io, data, s->chunk, SKUA_FOREVER_NS)) > 0)
		for (ssize_t i = 0; i < n; i++)
			s->wrong += data[i] != byte_at(at++);
	s->bytes = at;
	return (int)n;
}

/* All bytes arrive in their order, and then the end of file. */
TEST(stream__all_kinds_and_sizes__all_bytes_in_order)
{
	static const size_t chunks[] = { 1, 100, 4096, 8192 };

	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);

		for (unsigned run = 0; run < PAIR_KINDS * 4 * 4; run++) {
			enum pair_kind kind = run % PAIR_KINDS;
			size_t out = chunks[run / PAIR_KINDS % 4];
			size_t in = chunks[run / PAIR_KINDS / 4];
			struct user reader = { 0 }, writer = { 0 };
			/* More than fits into a pipe. */
			struct stream from = {
				.bytes = in == 1 ? 100000 : 200 * out + 1000,
				.chunk = out
			};
			struct stream to = { .chunk = in };
			struct pair pair;

			pair_open(rt, &pair, kind);
			to.io = pair.ends[0];
			from.io = pair.ends[1];
			user_start(&reader, rt, run % 2, read_stream, &to);
			user_start(&writer, rt, run / 2 % 2, write_stream,
				   &from);
			assert_int_equal(user_end(&writer), 0);
			io_close(pair.ends[1]);
			assert_int_equal(user_end(&reader), 0);
			assert_int_equal(to.bytes, from.bytes);
			assert_int_equal(to.wrong, 0);
			io_close(pair.ends[0]);
		}
		destroy(rt);
	}
}

/* The same by polls. */
struct poller_stream {
	struct skua_task task; /* first */
	struct skua_wait wait;
	struct skua_io io;
	size_t at, bytes, most; /* most: calls in one poll */
	uint64_t wrong;
	ssize_t end;
	unsigned char data[512];
};

static enum skua_poll poll_write(struct skua_task *self)
{
	struct poller_stream *it = (struct poller_stream *)self;
	size_t calls = 0;

	while (it->at < it->bytes) {
		ssize_t n;

		/* The same bytes at each attempt. */
		for (size_t i = 0; i < sizeof(it->data); i++)
			it->data[i] = byte_at(it->at + i);
		n = skua_io_write_poll(self, it->io, it->data, sizeof(it->data),
				       &it->wait, SKUA_FOREVER_NS);
		if (n == -EAGAIN)
			return SKUA_PENDING;
		it->wrong += n <= 0;
		it->at += (size_t)n;
		if (++calls > it->most)
			it->most = calls;
	}
	it->end = skua_io_close(it->io);
	return SKUA_DONE;
}

static enum skua_poll poll_read(struct skua_task *self)
{
	struct poller_stream *it = (struct poller_stream *)self;
	size_t calls = 0;

	for (;;) {
		ssize_t n = skua_io_read_poll(self, it->io, it->data,
					      sizeof(it->data), &it->wait,
					      SKUA_FOREVER_NS);

		if (n == -EAGAIN)
			return SKUA_PENDING;
		it->end = n;
		if (n <= 0)
			return SKUA_DONE;
		for (ssize_t i = 0; i < n; i++)
			it->wrong += it->data[i] != byte_at(it->at++);
		if (++calls > it->most)
			it->most = calls;
	}
}

TEST(stream__by_polls__all_bytes_in_order_and_budget_kept)
{
	for (unsigned run = 0; run < 2 * PAIR_KINDS; run++) {
		struct skua_runtime *rt = runtime_new(run % 2 + 1, 0);
		struct poller_stream reader = {
			.task = SKUA_TASK_INIT(poll_read),
		};
		struct poller_stream writer = {
			.task = SKUA_TASK_INIT(poll_write),
			.bytes = 1000 * sizeof(reader.data),
		};
		struct pair pair;

		pair_open(rt, &pair, run / 2);
		reader.io = pair.ends[0];
		writer.io = pair.ends[1];
		spawn(rt, &reader.task);
		spawn(rt, &writer.task);
		join(&writer.task);
		join(&reader.task);
		assert_int_equal(reader.wrong + writer.wrong, 0);
		assert_int_equal(reader.at, writer.at);
		assert_int_equal(reader.end, 0);
		assert_int_equal(writer.end, 0);
		/* One has waited before. */
		assert_true(reader.most <= 129 && writer.most <= 129);
		io_close(pair.ends[0]);
		destroy(rt);
	}
}

/* ---- budget ------------------------------------------------------------- */

struct greedy {
	struct skua_io io;
	struct gate other_ran;
	unsigned calls;
};

static int read_many(struct user *it)
{
	struct greedy *g = it->object;
	char byte;

	while (!gate_is_open(&g->other_ran) &&
	       skua_io_read(g->io, &byte, 1, SKUA_FOREVER_NS) == 1)
		g->calls++;
	return 0;
}

static int open_gate(struct user *it)
{
	gate_open(it->object);
	return 0;
}

/* A fiber that never has to wait lets others run. */
TEST(budget__fiber_never_waits__others_run_after_128_calls)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct user greedy = { 0 }, other = { 0 };
	struct greedy g = { .calls = 0 };
	struct pair pair;

	pair_open(rt, &pair, PAIR_UNIX);
	assert_true(fill(pair.ends[1]) > 10000);
	g.io = pair.ends[0];
	holder_hold(rt, &holder);
	user_start(&greedy, rt, true, read_many, &g);
	user_start(&other, rt, true, open_gate, &g.other_ran);
	holder_end(&holder);
	user_end(&greedy);
	user_end(&other);
	/* The first call beyond the budget yields, and goes on. */
	assert_int_equal(g.calls, 129);
	pair_close(&pair);
	destroy(rt);
}

/* ---- vectors and messages ----------------------------------------------- */

TEST(vectors__all_kinds__whole)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (enum pair_kind kind = 0; kind < PAIR_KINDS; kind++) {
		char a[3] = "", b[5] = "";
		struct iovec out[2] = { { "ab", 2 }, { "cdef", 4 } };
		struct iovec in[2] = { { a, 2 }, { b, 4 } };
		struct pair pair;

		pair_open(rt, &pair, kind);
		assert_int_equal(skua_io_readv_try(pair.ends[0], in, 2),
				 -EAGAIN);
		assert_int_equal(
			skua_io_writev(pair.ends[1], out, 2, SKUA_FOREVER_NS),
			6);
		assert_int_equal(
			skua_io_readv(pair.ends[0], in, 2, SKUA_FOREVER_NS), 6);
		assert_string_equal(a, "ab");
		assert_string_equal(b, "cdef");
		assert_int_equal(skua_io_writev_try(pair.ends[1], out, 1), 2);
		pair_close(&pair);
	}
	destroy(rt);
}

TEST(messages__descriptor_and_datagrams__received)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	int fds[2];
	char data[8] = "";
	struct iovec out = { "hi", 2 }, in = { data, sizeof(data) };
	struct msghdr to = { .msg_iov = &out, .msg_iovlen = 1 };
	struct msghdr from = { .msg_iov = &in, .msg_iovlen = 1 };
	struct pair pair;

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
	pair.ends[0] = attached(rt, fds[0]);
	pair.ends[1] = attached(rt, fds[1]);
	assert_int_equal(skua_io_recvmsg_try(pair.ends[0], &from, 0), -EAGAIN);
	assert_int_equal(skua_io_sendmsg(pair.ends[1], &to, 0, SKUA_FOREVER_NS),
			 2);
	assert_int_equal(skua_io_sendmsg_try(pair.ends[1], &to, 0), 2);
	/* Two datagrams, though the first read is short. */
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(skua_io_recvmsg(pair.ends[0], &from, 0,
						 SKUA_FOREVER_NS),
				 2);
	out.iov_len = 0;
	assert_int_equal(skua_io_sendmsg_try(pair.ends[1], &to, 0), 0);
	assert_int_equal(
		skua_io_recvmsg(pair.ends[0], &from, 0, SKUA_FOREVER_NS), 0);
	pair_close(&pair);
	pair_open(rt, &pair, PAIR_PIPE);
	assert_int_equal(skua_io_recvmsg(pair.ends[0], &from, 0, 0), -ENOTSOCK);
	pair_close(&pair);
	destroy(rt);
}

/* ---- many buffers ------------------------------------------------------- */

#define PARTS      200
#define PART_BYTES 3000u

struct parts {
	struct skua_io io;
	struct iovec vector[PARTS];
	size_t moved;
};

static int write_parts(struct user *it)
{
	struct parts *parts = it->object;

	return skua_io_writev_all(parts->io, parts->vector, PARTS,
				  &parts->moved, SKUA_FOREVER_NS);
}

/* More than the kernel takes at once, and more buffers than are passed to it; some are
 * empty. */
TEST(writev_all__slow_reader__all_bytes_in_order)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	static char data[PARTS * PART_BYTES], got[PARTS * PART_BYTES];
	struct parts parts;
	struct user it = { 0 };

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 31 + i / 257);
	for (enum pair_kind kind = 0; kind < PAIR_KINDS; kind++) {
		struct iovec before[PARTS];
		struct pair pair;
		size_t size = 0;

		pair_open(rt, &pair, kind);
		parts.io = pair.ends[1];
		for (unsigned i = 0; i < PARTS; i++) {
			size_t bytes = i % 5 == 3 ? 0
				       : i == 77  ? 60000
						  : PART_BYTES - i;

			parts.vector[i] = (struct iovec){ data + size, bytes };
			size += bytes;
		}
		assert_true(size <= sizeof(data));
		memcpy(before, parts.vector, sizeof(before));
		user_start(&it, rt, kind % 2, write_parts, &parts);
		assert_int_equal(skua_io_read_exact(pair.ends[0], got, size,
						    NULL, SKUA_FOREVER_NS),
				 0);
		assert_int_equal(user_end(&it), 0);
		assert_int_equal(parts.moved, size);
		assert_memory_equal(got, data, size);
		assert_memory_equal(before, parts.vector, sizeof(before));
		pair_close(&pair);
	}
	destroy(rt);
}

/* Nobody reads: what the kernel has taken is reported. */
TEST(writev_all__deadline_passes__tells_how_much_was_written)
{
	static char data[1 << 22];
	struct skua_runtime *rt = runtime_new(1, 0);
	struct iovec vector[2] = { { data, sizeof(data) },
				   { data, sizeof(data) } };
	struct pair pair;
	size_t moved = 0;
	size_t got = 0;
	ssize_t n;

	pair_open(rt, &pair, PAIR_UNIX);
	assert_int_equal(skua_io_writev_all(pair.ends[1], vector, 2, &moved,
					    skua_now_ns() + 1000000),
			 -ETIMEDOUT);
	assert_true(moved > 0 && moved < 2 * sizeof(data));
	while ((n = skua_io_read_try(pair.ends[0], data, sizeof(data))) > 0)
		got += (size_t)n;
	assert_int_equal(got, moved);
	pair_close(&pair);
	destroy(rt);
}
