/* SPDX-License-Identifier: MIT */
/* test_io.c - reads and writes of attached descriptors, in fibers, polls and threads */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include "skua/fork.h"
#include "tests/unit/pairs.h"

#define SOON_NS UINT64_C(3000000)

static uint64_t soon(void)
{
	return skua_now_ns() + SOON_NS;
}

/* ---- attach ----------------------------------------------------------------- */

TEST(attach__bad_arguments__refused_and_nothing_attached)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io io = { 7, 9 };
	char name[] = "/tmp/test_io.XXXXXX";
	int file = mkstemp(name);
	int folder = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int event = eventfd(0, EFD_CLOEXEC);
	int flags = fcntl(file, F_GETFL);

	assert_int_equal(unlink(name), 0);
	assert_int_equal(skua_io_attach(NULL, event, 0, &io), -EINVAL);
	assert_int_equal(skua_io_attach(rt, event, 0, NULL), -EINVAL);
	assert_int_equal(skua_io_attach(rt, event, 8, &io), -EINVAL);
	assert_int_equal(skua_io_attach(rt, -1, 0, &io), -EBADF);
	assert_int_equal(skua_io_attach(rt, INT32_MAX, 0, &io), -EBADF);
	assert_int_equal(skua_io_attach(rt, INT32_MIN, 0, &io), -EBADF);
	assert_int_equal(skua_io_attach(rt, file, 0, &io), -EPERM);
	assert_int_equal(skua_io_attach(rt, folder, 0, &io), -EPERM);
	assert_int_equal(fcntl(file, F_GETFL), flags);
	assert_true(io.fd == 7 && io.serial == 9);
	assert_int_equal(skua_io_attach(rt, event, 0, &io), 0);
	assert_int_equal(close(file), 0);
	assert_int_equal(close(folder), 0);
	io_close(io);
	destroy(rt);
}

TEST(attach__twice__eexist_also_by_another_runtime)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct skua_io again = { 7, 9 };
	struct pair pair;
	int fd;

	pair_open(rt, &pair, PAIR_UNIX);
	fd = pair.ends[0].fd;
	assert_int_equal(skua_io_attach(rt, fd, 0, &again), -EEXIST);
	assert_int_equal(skua_io_attach(other, fd, 0, &again), -EEXIST);
	assert_true(again.fd == 7 && again.serial == 9);
	/* The first attachment is untouched. */
	assert_int_equal(skua_io_write_try(pair.ends[1], "a", 1), 1);
	assert_int_equal(skua_io_detach(pair.ends[0]), fd);
	assert_int_equal(skua_io_attach(other, fd, 0, &again), 0);
	assert_int_equal(skua_io_detach(again), fd);
	assert_int_equal(close(fd), 0);
	io_close(pair.ends[1]);
	destroy(other);
	destroy(rt);
}

TEST(handle__closed_or_detached__ebadf_for_ever)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io stale[4] = { SKUA_IO_INIT };
	char byte = 0;
	int fd = eventfd(0, EFD_CLOEXEC);

	stale[1] = attached(rt, fd);
	assert_int_equal(skua_io_detach(stale[1]), fd);
	stale[2] = attached(rt, fd);
	io_close(stale[2]);
	/* The kernel uses the number again. */
	assert_int_equal(eventfd(3, EFD_CLOEXEC), fd);
	stale[3] = (struct skua_io){ INT32_MAX, 1 };
	struct skua_io live = attached(rt, fd);

	for (unsigned i = 0; i < COUNT_OF(stale); i++) {
		struct skua_io io = stale[i];

		assert_int_equal(skua_io_read_try(io, &byte, 1), -EBADF);
		assert_int_equal(skua_io_read(io, &byte, 1, 0), -EBADF);
		assert_int_equal(skua_io_write_try(io, &byte, 1), -EBADF);
		assert_int_equal(skua_io_wait(io, POLLIN, 0), -EBADF);
		assert_int_equal(skua_io_shutdown(io, SHUT_RD), -EBADF);
		assert_int_equal(skua_io_detach(io), -EBADF);
		assert_int_equal(skua_io_close(io), -EBADF);
	}
	/* None of them has taken the count of the live one. */
	uint64_t count = 0;

	assert_int_equal(skua_io_read_try(live, &count, 8), 8);
	assert_true(count == 3);
	io_close(live);
	destroy(rt);
}

TEST(attach__shutting_down__eshutdown)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_io io;
	int fd = eventfd(0, EFD_CLOEXEC);

	assert_int_equal(
		skua_runtime_shutdown(rt, SKUA_FOREVER_NS, SKUA_SHUTDOWN_RUN),
		0);
	assert_int_equal(skua_io_attach(rt, fd, 0, &io), -ESHUTDOWN);
	assert_int_equal(close(fd), 0);
	destroy(rt);
}

static struct skua_runtime *forked_rt;
static struct pair forked_pair;

static int use_in_child(void)
{
	struct skua_io *io = &forked_pair.ends[0], again;
	struct skua_runtime *own;
	char byte;
	int fd = io->fd;

	if (skua_io_read_try(*io, &byte, 1) != -EOWNERDEAD ||
	    skua_io_read(*io, &byte, 1, 0) != -EOWNERDEAD ||
	    skua_io_shutdown(*io, SHUT_RDWR) != -EOWNERDEAD ||
	    skua_io_close(*io) != -EOWNERDEAD ||
	    skua_io_detach(*io) != -EOWNERDEAD ||
	    skua_io_attach(forked_rt, fd, 0, &again) != -EOWNERDEAD)
		return 1;
	if (THREAD_SANITIZED) /* which starts no thread here */
		return 0;
	if (skua_runtime_create(&own, NULL, NULL) ||
	    skua_io_attach(own, fd, 0, &again))
		return 2;
	/* The parent's handle is stale from then on. */
	if (skua_io_read_try(*io, &byte, 1) != -EBADF ||
	    skua_io_read(again, &byte, 1, SKUA_FOREVER_NS) != 1 || byte != 'x')
		return 3;
	return skua_io_close(again) || skua_runtime_destroy(own) ? 4 : 0;
}

TEST(handle__in_a_forked_child__eownerdead_but_the_child_may_attach)
{
	forked_rt = runtime_new(1, 0);
	pair_open(forked_rt, &forked_pair, PAIR_UNIX);
	assert_int_equal(skua_io_write_try(forked_pair.ends[1], "x", 1), 1);
	assert_int_equal(exit_of(use_in_child), 0);
	/* The child has taken nothing from the parent but the byte. */
	assert_int_equal(skua_io_write_try(forked_pair.ends[1], "y", 1), 1);
	char byte = 0;

	assert_int_equal(
		skua_io_read(forked_pair.ends[0], &byte, 1, SKUA_FOREVER_NS),
		1);
	assert_int_equal(byte, THREAD_SANITIZED ? 'x' : 'y');
	pair_close(&forked_pair);
	destroy(forked_rt);
}

/* ---- bad arguments ---------------------------------------------------------- */

TEST(calls__null_or_size_0__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct iovec none[2] = { { NULL, 0 }, { NULL, 0 } };
	struct pair pair;
	char byte = 0;
	size_t moved = 9;

	pair_open(rt, &pair, PAIR_UNIX);
	struct skua_io io = pair.ends[0];

	assert_int_equal(skua_io_read(io, NULL, 1, 0), -EINVAL);
	assert_int_equal(skua_io_read(io, &byte, 0, 0), -EINVAL);
	assert_int_equal(skua_io_read_try(io, NULL, 1), -EINVAL);
	assert_int_equal(skua_io_read_try(io, &byte, 0), -EINVAL);
	assert_int_equal(skua_io_write(io, NULL, 1, 0), -EINVAL);
	assert_int_equal(skua_io_write(io, &byte, 0, 0), -EINVAL);
	assert_int_equal(skua_io_write_try(io, &byte, 0), -EINVAL);
	assert_int_equal(skua_io_readv(io, NULL, 1, 0), -EINVAL);
	assert_int_equal(skua_io_readv(io, none, 0, 0), -EINVAL);
	assert_int_equal(skua_io_readv(io, none, 2, 0), -EINVAL);
	assert_int_equal(skua_io_readv(io, none, -1, 0), -EINVAL);
	assert_int_equal(skua_io_writev(io, none, 1025, 0), -EINVAL);
	assert_int_equal(skua_io_writev_try(io, none, 2), -EINVAL);
	assert_int_equal(skua_io_recvmsg(io, NULL, 0, 0), -EINVAL);
	assert_int_equal(skua_io_sendmsg(io, NULL, 0, 0), -EINVAL);
	assert_int_equal(skua_io_sendmsg_try(io, NULL, 0), -EINVAL);
	assert_int_equal(skua_io_read_exact(io, NULL, 1, NULL, 0), -EINVAL);
	assert_int_equal(skua_io_write_all(io, NULL, 1, NULL, 0), -EINVAL);
	assert_int_equal(skua_io_writev_all(io, NULL, 1, &moved, 0), -EINVAL);
	assert_int_equal(skua_io_writev_all(io, none, -1, &moved, 0), -EINVAL);
	assert_int_equal(moved, 0);
	assert_int_equal(skua_io_writev_all(io, NULL, 0, &moved, 0), 0);
	assert_int_equal(skua_io_writev_all(io, none, 2, &moved, 0), 0);
	assert_int_equal(skua_io_read_exact(io, NULL, 0, &moved, 0), 0);
	assert_int_equal(moved, 0);
	assert_int_equal(skua_io_accept(io, NULL, NULL, NULL, 0), -EINVAL);
	assert_int_equal(skua_io_connect(io, NULL, 0, 0), -EINVAL);
	assert_int_equal(skua_io_wait(io, POLLIN | POLLOUT, 0), -EINVAL);
	assert_int_equal(skua_io_wait(io, 0, 0), -EINVAL);
	assert_int_equal(skua_io_wait_try(io, POLLPRI), -EINVAL);
	assert_int_equal(skua_io_shutdown(io, 17), -EINVAL);
	pair_close(&pair);
	destroy(rt);
}

/* Calls the form that waits, which a poll must not, and the form for polls. */
struct asker {
	struct skua_task task; /* first */
	struct skua_io io;
	struct skua_wait wait;
	struct skua_task *other;
	int codes[8];
};

static enum skua_poll asker_poll(struct skua_task *self)
{
	struct asker *it = (struct asker *)self;
	struct skua_wait armed = SKUA_WAIT_INIT;
	char byte = 0;

	it->codes[0] = (int)skua_io_read(it->io, &byte, 1, 0);
	it->codes[1] =
		(int)skua_io_read_poll(NULL, it->io, &byte, 1, &it->wait, 0);
	it->codes[2] = (int)skua_io_read_poll(self, it->io, &byte, 1, NULL, 0);
	it->codes[3] = (int)skua_io_read_poll(it->other, it->io, &byte, 1,
					      &it->wait, 0);
	it->codes[4] = (int)skua_io_read_poll(self, it->io, &byte, 1, &armed,
					      SKUA_FOREVER_NS);
	/* Armed for reading. */
	it->codes[5] = (int)skua_io_write_poll(self, it->io, &byte, 1, &armed,
					       SKUA_FOREVER_NS);
	it->codes[6] = (int)skua_io_read_poll(self, it->io, &byte, 1, &it->wait,
					      SKUA_FOREVER_NS);
	it->codes[7] = skua_wait_cancel(self, &armed);
	return SKUA_DONE;
}

TEST(calls__in_a_poll__edeadlk_eperm_einval_ebusy)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_task other = SKUA_TASK_INIT(asker_poll);
	struct asker it = { .task = SKUA_TASK_INIT(asker_poll),
			    .other = &other };
	struct pair pair;

	pair_open(rt, &pair, PAIR_UNIX);
	it.io = pair.ends[0];
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.codes[0], -EDEADLK);
	assert_int_equal(it.codes[1], -EINVAL);
	assert_int_equal(it.codes[2], -EINVAL);
	assert_int_equal(it.codes[3], -EPERM);
	assert_int_equal(it.codes[4], -EAGAIN);
	assert_int_equal(it.codes[5], -EINVAL);
	assert_int_equal(it.codes[6], -EBUSY);
	assert_int_equal(it.codes[7], 0);
	pair_close(&pair);
	destroy(rt);
}

/* ---- one reader and one writer ---------------------------------------------- */

static int read_one(struct user *it)
{
	unsigned char byte = 0;
	ssize_t n = skua_io_read(*(struct skua_io *)it->object, &byte, 1,
				 SKUA_FOREVER_NS);

	return n == 1 ? byte : (int)n - 1000;
}

TEST(read__another_reads__ebusy)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct user first = { 0 };
		struct pair pair;
		char byte;

		pair_open(rt, &pair, PAIR_UNIX);
		user_start(&first, rt, is_fiber, read_one, &pair.ends[0]);
		wait_for_wait(pair.ends[0], IO_READ);
		assert_int_equal(skua_io_read_try(pair.ends[0], &byte, 1),
				 -EBUSY);
		assert_int_equal(skua_io_read(pair.ends[0], &byte, 1, 0),
				 -EBUSY);
		assert_int_equal(skua_io_wait(pair.ends[0], POLLIN, soon()),
				 -EBUSY);
		/* The other direction is free. */
		assert_int_equal(skua_io_write_try(pair.ends[0], "b", 1), 1);
		assert_int_equal(skua_io_write_try(pair.ends[1], "a", 1), 1);
		assert_int_equal(user_end(&first), 'a');
		assert_int_equal(skua_io_read_try(pair.ends[0], &byte, 1),
				 -EAGAIN);
		pair_close(&pair);
	}
	destroy(rt);
}

/* ---- bytes ------------------------------------------------------------------ */

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

/* ---- budget ----------------------------------------------------------------- */

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

/* ---- vectors and messages --------------------------------------------------- */

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

/* ---- deadlines and cancels -------------------------------------------------- */

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

/* ---- half-closed ------------------------------------------------------------ */

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

/* ---- many buffers ----------------------------------------------------------- */

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

/* ---- errors ----------------------------------------------------------------- */

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

/* ---- other libraries -------------------------------------------------------- */

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
