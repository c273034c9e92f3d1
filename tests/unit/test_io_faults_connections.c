/* SPDX-License-Identifier: MIT */
/* test_io_faults_connections.c - connections whose system calls fail: see test_io_faults.c */
#include <sys/eventfd.h>

#include "core/runtime/runtime.h"
#include "tests/unit/fault_calls.h"
#include "tests/unit/process.h"

#define CONNECTIONS (16u * size_factor())
/* Each kind of fault comes about. The rarest one meets one attempt in eight to attach. */
#define MANY_CONNECTIONS (4u * CONNECTIONS)

/* ---- connections ------------------------------------------------------------- */

struct server {
	struct skua_runtime *rt;
	struct skua_io listener;
	struct sockaddr_in address;
	unsigned wrong;
	unsigned seen; /* connections */
	struct skua_task task;
	struct skua_wait wait;
	struct skua_io io;
};

/* Move all bytes, and go on after errors that the caller learns of. */
static int move_all(struct skua_io io, void *data, size_t size, bool writes)
{
	char *at = data;

	while (size > 0) {
		ssize_t n =
			writes ? skua_io_write(io, at, size, SKUA_FOREVER_NS)
			       : skua_io_read(io, at, size, SKUA_FOREVER_NS);

		if (n == 0 || (n < 0 && !is_fault(n)))
			return n ? (int)n : -EPIPE;
		if (n > 0) {
			at += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

/* Each client sends its number, and gets it back. */
static int serve(struct skua_io io)
{
	unsigned number;
	int code = move_all(io, &number, sizeof(number), false);

	if (!code)
		code = move_all(io, &number, sizeof(number), true);
	return skua_io_close(io) ? 1 : code;
}

static int accept_all(struct user *user)
{
	struct server *it = user->object;
	struct sockaddr_in from;
	struct skua_io io;

	while (it->seen < CONNECTIONS) {
		uint32_t length = sizeof(from);

		if (skua_io_accept(it->listener, &io, (struct sockaddr *)&from,
				   &length, SKUA_FOREVER_NS) ||
		    length != sizeof(from))
			return 1;
		it->seen++;
		if (serve(io))
			it->wrong++;
	}
	return 0;
}

/* Return the descriptor of a connection that was given a number. */
static int ask(const struct server *it, unsigned number)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&it->address,
				 sizeof(it->address)),
			 0);
	assert_int_equal(write(fd, &number, sizeof(number)), sizeof(number));
	return fd;
}

static void hear(int fd, unsigned number)
{
	unsigned answer;

	assert_int_equal(recv(fd, &answer, sizeof(answer), MSG_WAITALL),
			 sizeof(answer));
	assert_int_equal(answer, number);
	assert_int_equal(close(fd), 0);
}

/* ECONNABORTED is passed over; without descriptors, the next try follows soon. */
TEST(accept__faults__each_connection_is_served_once)
{
	for (unsigned run = 0; run < 4; run++) {
		struct skua_runtime *rt = runtime_new(1 + run / 2, 0);
		struct server it = { .rt = rt };
		struct user user = { 0 };
		int fd = listener_open(&it.address);

		faults_begin(HIDDEN, run);
		assert_int_equal(attach_at_last(rt, fd, &it.listener), 0);
		user_start(&user, rt, run % 2, accept_all, &it);
		for (unsigned i = 0; i < CONNECTIONS; i += 4) {
			int fds[4];

			for (unsigned n = 0; n < 4; n++)
				fds[n] = ask(&it, i + n);
			for (unsigned n = 0; n < 4; n++)
				hear(fds[n], i + n);
		}
		assert_int_equal(user_end(&user), 0);
		assert_int_equal(it.seen, CONNECTIONS);
		assert_int_equal(it.wrong, 0);
		io_close(it.listener);
		faults_end(HIDDEN);
		destroy(rt);
	}
}

/* With descriptors that cannot be attached, also in the form for polls. */
static enum skua_poll accept_poll(struct skua_task *self)
{
	struct server *it = SKUA_CONTAINER_OF(self, struct server, task);

	while (it->seen < MANY_CONNECTIONS) {
		int code =
			skua_io_accept_poll(self, it->listener, &it->io, NULL,
					    NULL, &it->wait, SKUA_FOREVER_NS);

		if (code == -EAGAIN)
			return SKUA_PENDING;
		it->seen++;
		if (code || skua_io_close(it->io))
			it->wrong++;
	}
	return SKUA_DONE;
}

TEST(accept__all_faults_in_a_poll__each_connection_is_closed_once)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct server it = { .rt = rt, .task = SKUA_TASK_INIT(accept_poll) };
	int fd = listener_open(&it.address);
	uint64_t from = atomic_load_relaxed(&rt->pool.accepts_delayed);

	faults_begin(ALL, 9);
	assert_int_equal(attach_at_last(rt, fd, &it.listener), 0);
	spawn(rt, &it.task);
	for (unsigned i = 0; i < MANY_CONNECTIONS; i++) {
		char byte;
		int client = ask(&it, i);

		/* Closed with a byte unread: a reset. */
		assert_true(recv(client, &byte, 1, MSG_WAITALL) <= 0);
		assert_int_equal(close(client), 0);
	}
	join(&it.task);
	assert_int_equal(it.wrong, 0);
	assert_true(atomic_load_relaxed(&rt->pool.accepts_delayed) > from);
	io_close(it.listener);
	faults_end(ALL & ~BIT(SHORT));
	destroy(rt);
}

/* An attempt that a signal has interrupted goes on. */
static int connect_all(struct user *user)
{
	struct server *it = user->object;

	for (unsigned i = 0; i < CONNECTIONS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		struct skua_io io;
		unsigned answer = 0;
		int code = fd < 0 ? 1 : attach_at_last(it->rt, fd, &io);

		if (code)
			return code;
		do
			code = skua_io_connect(
				io, (const struct sockaddr *)&it->address,
				sizeof(it->address), SKUA_FOREVER_NS);
		while (is_fault(code));
		if (code)
			return code;
		if (move_all(io, &i, sizeof(i), true) ||
		    move_all(io, &answer, sizeof(answer), false) ||
		    answer != i || skua_io_close(io))
			return 2;
	}
	return 0;
}

TEST(connect__faults__connected)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned run = 0; run < 2; run++) {
		struct server it = { .rt = rt };
		struct user server = { 0 }, client = { 0 };

		faults_begin(ALL, 7 + run);
		assert_int_equal(attach_at_last(rt, listener_open(&it.address),
						&it.listener),
				 0);
		user_start(&server, rt, true, accept_all, &it);
		user_start(&client, rt, run, connect_all, &it);
		assert_int_equal(user_end(&client), 0);
		assert_int_equal(user_end(&server), 0);
		assert_int_equal(it.wrong, 0);
		io_close(it.listener);
		faults_end(ALL & ~BIT(SHORT));
	}
	destroy(rt);
}

TEST(dial__all_faults__connected_or_an_error_and_no_descriptor_left)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	unsigned before, connected = 0, refused = 0;

	/* The driver opens its own descriptors once. */
	io_close(attached(rt, eventfd(0, EFD_CLOEXEC)));
	before = count_entries("/proc/self/fd");
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		struct skua_io listener, io;
		char text[50];
		int code;

		snprintf(text, sizeof(text), "unix:@skua-faults-%d",
			 (int)getpid());
		faults_begin(ALL, i);
		code = skua_listen(rt, text, 0, 0, &listener, NULL);
		if (code) {
			assert_true(is_fault(code));
			refused++;
			continue;
		}
		code = skua_dial(rt, text, 0, &io, SKUA_FOREVER_NS, NULL);
		if (code == 0) {
			connected++;
			io_close(io);
		} else {
			assert_true(is_fault(code));
			refused++;
		}
		io_close(listener);
		faults_end(0);
	}
	assert_true(connected > 0);
	assert_true(refused > 0);
	assert_int_equal(count_entries("/proc/self/fd"), before);
	destroy(rt);
}

/* A signal interrupts a call on a Unix socket before it has any effect. */
TEST(dial__interrupted__connected)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	char text[50], peer[50];

	snprintf(text, sizeof(text), "unix:@skua-signals-%d", (int)getpid());
	faults_begin(BIT(EINTR), 1);
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		struct skua_io listener, io;

		assert_int_equal(skua_listen(rt, text, 0, 0, &listener, NULL),
				 0);
		assert_int_equal(
			skua_dial(rt, text, 0, &io, SKUA_FOREVER_NS, NULL), 0);
		assert_int_equal(skua_io_peer_address(io, peer, sizeof(peer)),
				 0);
		assert_string_equal(peer, text);
		io_close(io);
		io_close(listener);
	}
	faults_end(BIT(EINTR));
	destroy(rt);
}

/* ---- the beginning and the end ------------------------------------------------- */

TEST(attach__no_memory_or_descriptors__errno_and_the_descriptor_as_it_was)
{
	unsigned refused = 0;

	for (unsigned i = 0; i < 100; i++) {
		struct skua_runtime *rt = runtime_new(1, 0);
		struct skua_io io = { 7, 9 };
		int fd = eventfd(0, EFD_CLOEXEC);
		int code;

		faults_begin(BIT(MEMORY), i);
		while ((code = skua_io_attach(rt, fd, 0, &io)) != 0) {
			assert_true(is_fault(code));
			assert_true(io.fd == 7 && io.serial == 9);
			assert_int_equal(fcntl(fd, F_GETFL), O_RDWR);
			refused++;
		}
		io_close(io);
		faults_end(0);
		destroy(rt);
	}
	assert_true(refused > 0);
}

/* An interrupted close has closed the descriptor, and is not repeated. */
TEST(close__eintr__closed_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	faults_begin(BIT(EINTR), 5);
	for (unsigned i = 0; i < 100; i++) {
		int fd = eventfd(0, EFD_CLOEXEC);

		io_close(attached(rt, fd));
		assert_int_equal(fcntl(fd, F_GETFD), -1);
	}
	/* A build with a sanitizer closes as the tests do, by the C library. */
	faults_end(SANITIZED ? 0 : BIT(EINTR));
	destroy(rt);
}
