/* SPDX-License-Identifier: MIT */
/* test_io_connection.c - accept and connect, also without descriptors left */
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <time.h>

#include "core/runtime/runtime.h"
#include "tests/unit/pairs.h"

#define SOON_NS   UINT64_C(3000000)
#define SECOND_NS UINT64_C(1000000000)
/* Between two attempts to accept. */
#define LONGEST_NS (SECOND_NS / 10)

struct server {
	struct skua_io listener;
	struct sockaddr_in address;
};

static void server_open(struct skua_runtime *rt, struct server *server)
{
	server->listener = attached(rt, listener_open(&server->address));
}

static const struct sockaddr *address_of(const struct server *server)
{
	return (const struct sockaddr *)&server->address;
}

/* A socket that is connected to the server by the program. */
static int client_open(const struct server *server)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(
		connect(fd, address_of(server), sizeof(server->address)), 0);
	return fd;
}

static struct skua_io socket_open(struct skua_runtime *rt)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return attached(rt, fd);
}

static bool no_delay(int fd)
{
	int value = 0;
	socklen_t length = sizeof(value);

	assert_int_equal(
		getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length), 0);
	return value != 0;
}

/* ---- accept ----------------------------------------------------------------- */

static int accept_one(struct user *it)
{
	struct server *server = it->object;
	struct sockaddr_in from = { 0 };
	uint32_t length = sizeof(from);
	struct skua_io io;
	char byte = 0;
	int code =
		skua_io_accept(server->listener, &io, (struct sockaddr *)&from,
			       &length, SKUA_FOREVER_NS);

	if (code)
		return code;
	if (length != sizeof(from) ||
	    from.sin_addr.s_addr != htonl(INADDR_LOOPBACK) ||
	    !(fcntl(io.fd, F_GETFD) & FD_CLOEXEC) ||
	    !(fcntl(io.fd, F_GETFL) & O_NONBLOCK) || !no_delay(io.fd))
		return 1;
	if (skua_io_read(io, &byte, 1, SKUA_FOREVER_NS) != 1)
		return 2;
	return skua_io_close(io) ? 3 : byte;
}

TEST(accept__before_and_after_the_connection__attached)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned run = 0; run < 4; run++) {
		struct server server;
		struct user it = { 0 };
		int fd = -1;

		server_open(rt, &server);
		if (run / 2)
			fd = client_open(&server);
		user_start(&it, rt, run % 2, accept_one, &server);
		if (fd < 0) {
			wait_for_wait(server.listener, IO_READ);
			fd = client_open(&server);
		}
		assert_int_equal(write(fd, "x", 1), 1);
		assert_int_equal(user_end(&it), 'x');
		assert_int_equal(close(fd), 0);
		io_close(server.listener);
	}
	destroy(rt);
}

TEST(accept__bad_input__errno)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct server server;
	struct sockaddr_in from;
	uint32_t length = sizeof(from);
	struct skua_io io = { 7, 9 };
	struct pair pair;

	server_open(rt, &server);
	assert_int_equal(skua_io_accept(server.listener, NULL, NULL, NULL, 0),
			 -EINVAL);
	assert_int_equal(skua_io_accept(server.listener, &io, NULL, &length, 0),
			 -EINVAL);
	assert_int_equal(skua_io_accept(server.listener, &io,
					(struct sockaddr *)&from, NULL, 0),
			 -EINVAL);
	assert_int_equal(skua_io_accept_try(server.listener, &io, NULL, NULL),
			 -EAGAIN);
	assert_int_equal(skua_io_accept(server.listener, &io, NULL, NULL, 0),
			 -ETIMEDOUT);
	pair_open(rt, &pair, PAIR_TCP);
	assert_int_equal(
		skua_io_accept(pair.ends[0], &io, NULL, NULL, SKUA_FOREVER_NS),
		-EINVAL);
	pair_close(&pair);
	pair_open(rt, &pair, PAIR_PIPE);
	assert_int_equal(
		skua_io_accept(pair.ends[0], &io, NULL, NULL, SKUA_FOREVER_NS),
		-ENOTSOCK);
	pair_close(&pair);
	assert_true(io.fd == 7 && io.serial == 9);
	io_close(server.listener);
	destroy(rt);
}

TEST(attach__keep_delay__nagle_stays_also_for_connections)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct server server;
	struct skua_io io;
	int fd;

	fd = listener_open(&server.address);
	assert_int_equal(
		skua_io_attach(rt, fd, SKUA_IO_KEEP_DELAY, &server.listener),
		0);
	assert_false(no_delay(fd));
	fd = client_open(&server);
	assert_int_equal(skua_io_accept(server.listener, &io, NULL, NULL,
					SKUA_FOREVER_NS),
			 0);
	assert_false(no_delay(io.fd));
	io_close(io);
	assert_int_equal(close(fd), 0);
	io_close(server.listener);
	destroy(rt);
}

/* The program has closed a descriptor without the library: its number comes again. */
TEST(accept__number_of_a_descriptor_closed_by_the_program__attached_anew)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct server server;
	struct skua_io io, lost;
	char byte;
	int fd;

	server_open(rt, &server);
	fd = client_open(&server);
	lost = socket_open(rt);
	assert_int_equal(close(lost.fd), 0);
	assert_int_equal(skua_io_accept(server.listener, &io, NULL, NULL,
					SKUA_FOREVER_NS),
			 0);
	assert_int_equal(io.fd, lost.fd);
	assert_int_equal(skua_io_read_try(lost, &byte, 1), -EBADF);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(skua_io_read(io, &byte, 1, SKUA_FOREVER_NS), 1);
	io_close(io);
	assert_int_equal(close(fd), 0);
	io_close(server.listener);
	destroy(rt);
}

/* ---- no descriptors left ---------------------------------------------------- */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* Leave no number for a new descriptor. Return: the limit before. */
static struct rlimit use_up(void)
{
	struct rlimit before, now;
	int next = dup(0);

	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = before;
	now.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	return before;
}

/* The same task, as a poll. */
struct acceptor {
	struct skua_task task; /* first */
	struct skua_wait wait;
	struct server *server;
	struct skua_io io;
	unsigned polls;
	int code;
};

static enum skua_poll accept_poll(struct skua_task *self)
{
	struct acceptor *it = (struct acceptor *)self;

	it->polls++;
	it->code = skua_io_accept_poll(self, it->server->listener, &it->io,
				       NULL, NULL, &it->wait, SKUA_FOREVER_NS);
	return it->code == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

static uint64_t delayed(struct skua_runtime *rt)
{
	struct skua_stats stats;

	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	return stats.accepts_delayed;
}

/* The costs of half a second of the longest delays. */
struct shortage {
	uint64_t attempts, passed_ns, spent_ns;
	uint64_t sleeps; /* of all threads */
};

static uint64_t sleeps_so_far(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (uint64_t)usage.ru_nvcsw;
}

static struct shortage shortage_watch(struct skua_runtime *rt, uint64_t from)
{
	struct shortage it;

	/* From the eighth on, the delays are the longest. The time includes both looks
	 * at the attempts. */
	do {
		it.passed_ns = skua_now_ns();
		it.attempts = delayed(rt) - from;
	} while (it.attempts < 8 && usleep(1000) == 0);
	it.spent_ns = cpu_ns();
	it.sleeps = sleeps_so_far();
	usleep(500000);
	it.sleeps = sleeps_so_far() - it.sleeps;
	it.spent_ns = cpu_ns() - it.spent_ns;
	it.attempts = delayed(rt) - from - it.attempts;
	it.passed_ns = skua_now_ns() - it.passed_ns;
	printf("without descriptors: %u attempts in %.1f ms, %.2f %% of a CPU, "
	       "%u sleeps",
	       (unsigned)it.attempts, (double)it.passed_ns / 1e6,
	       (double)it.spent_ns * 100 / (double)it.passed_ns,
	       (unsigned)it.sleeps);
	return it;
}

enum { BY_THREAD, BY_FIBER, BY_POLL, KINDS };

/* Accept a connection, first without descriptors. Return: the costs of that. */
static struct shortage accept_delayed(struct skua_runtime *rt, unsigned kind)
{
	struct acceptor acceptor = { .task = SKUA_TASK_INIT(accept_poll) };
	uint64_t from = delayed(rt), count, begin_ns;
	struct server server;
	struct user it = { 0 };
	struct rlimit before;
	struct shortage result;
	int fd;

	server_open(rt, &server);
	acceptor.server = &server;
	fd = client_open(&server);
	assert_int_equal(write(fd, "x", 1), 1);
	before = use_up();
	if (kind == BY_POLL)
		spawn(rt, &acceptor.task);
	else
		user_start(&it, rt, kind == BY_FIBER, accept_one, &server);
	result = shortage_watch(rt, from);
	begin_ns = skua_now_ns();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	count = delayed(rt);
	if (kind == BY_POLL) {
		join(&acceptor.task);
		assert_int_equal(acceptor.code, 0);
		assert_true(acceptor.polls <= delayed(rt) - from + 2);
		io_close(acceptor.io);
	} else {
		assert_int_equal(user_end(&it), 'x');
	}
	printf("; served after %.1f ms\n",
	       (double)(skua_now_ns() - begin_ns) / 1e6);
	/* By the next attempt: one may have failed just before. */
	assert_true(delayed(rt) <= count + 1);
	assert_int_equal(close(fd), 0);
	io_close(server.listener);
	return result;
}

/* The delays grow, so that a second of them costs next to nothing; and the connection is
 * served once there is a descriptor. Each attempt wakes one worker; another one watches it,
 * and sleeps without a deadline soon after. On a busy machine they may sleep more often: the
 * best kind counts. */
TEST(accept__no_descriptors__waits_without_spinning_then_serves)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		double least = 1e9;

		for (unsigned kind = 0; kind < KINDS; kind++) {
			struct shortage it = accept_delayed(rt, kind);
			double sleeps =
				(double)it.sleeps / (double)(it.attempts + 1);

			assert_true(it.attempts <=
				    it.passed_ns / LONGEST_NS + 1);
			assert_true(SANITIZED ||
				    it.spent_ns < it.passed_ns / 20);
			if (kind != BY_THREAD && sleeps < least)
				least = sleeps;
		}
		printf("%u workers: %.1f sleeps for an attempt\n", workers,
		       least);
		assert_true(least <= (workers == 1 ? 4 : 7));
		destroy(rt);
	}
}

TEST(accept__no_descriptors__deadline_cancel_and_close_end_the_delay)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user closed = { 0 }, cancelled = { 0 };
	uint64_t from = delayed(rt);
	struct server server;
	struct rlimit before;
	struct skua_io io;
	int fd;

	server_open(rt, &server);
	fd = client_open(&server);
	before = use_up();
	assert_int_equal(skua_io_accept_try(server.listener, &io, NULL, NULL),
			 -EAGAIN);
	assert_int_equal(skua_io_accept(server.listener, &io, NULL, NULL, 0),
			 -ETIMEDOUT);
	assert_int_equal(skua_io_accept(server.listener, &io, NULL, NULL,
					skua_now_ns() + SOON_NS),
			 -ETIMEDOUT);
	assert_true(delayed(rt) >= from + 3);
	user_start(&cancelled, rt, true, accept_one, &server);
	wait_for_wait(server.listener, IO_READ);
	assert_int_equal(skua_io_accept_try(server.listener, &io, NULL, NULL),
			 -EBUSY);
	assert_int_equal(skua_task_cancel(&cancelled.fiber.task), 0);
	assert_int_equal(user_end(&cancelled), -ECANCELED);
	user_start(&closed, rt, false, accept_one, &server);
	wait_for_wait(server.listener, IO_READ);
	io_close(server.listener);
	assert_int_equal(user_end(&closed), -EBADF);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(close(fd), 0);
	destroy(rt);
}

/* ---- connect ---------------------------------------------------------------- */

struct dial {
	struct skua_io io;
	const struct sockaddr *address;
	uint32_t length;
};

static int connect_one(struct user *it)
{
	struct dial *dial = it->object;

	return skua_io_connect(dial->io, dial->address, dial->length,
			       SKUA_FOREVER_NS);
}

TEST(connect__server_there__connected_and_short_reads_are_trusted)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct server server;
		struct dial dial;
		struct skua_io io;
		char data[8];

		server_open(rt, &server);
		dial = (struct dial){ socket_open(rt), address_of(&server),
				      sizeof(server.address) };
		/* A socket that is not connected has an event. If a worker noted it
		 * after the connection, reads would only be tried once more. */
		while (!(io_word(dial.io, IO_READ) & IO_ENDING))
			sched_yield();
		assert_int_equal(user_run(rt, is_fiber, connect_one, &dial), 0);
		assert_int_equal(skua_io_accept(server.listener, &io, NULL,
						NULL, SKUA_FOREVER_NS),
				 0);
		assert_int_equal(skua_io_write(io, "ab", 2, SKUA_FOREVER_NS),
				 2);
		assert_int_equal(
			skua_io_read(dial.io, data, 8, SKUA_FOREVER_NS), 2);
		/* The event of the socket before it was connected is forgotten. */
		assert_false(io_word(dial.io, IO_READ) & IO_ENDING);
		io_close(io);
		io_close(dial.io);
		io_close(server.listener);
	}
	destroy(rt);
}

TEST(connect__nobody_listens_or_bad_input__errno)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct server server;
		struct dial dial;
		struct pair pair;

		server_open(rt, &server);
		io_close(server.listener);
		dial = (struct dial){ socket_open(rt), address_of(&server),
				      sizeof(server.address) };
		assert_int_equal(user_run(rt, is_fiber, connect_one, &dial),
				 -ECONNREFUSED);
		io_close(dial.io);
		dial.io = socket_open(rt);
		dial.length = 1;
		assert_int_equal(user_run(rt, is_fiber, connect_one, &dial),
				 -EINVAL);
		io_close(dial.io);
		pair_open(rt, &pair, PAIR_PIPE);
		dial = (struct dial){ pair.ends[0], address_of(&server),
				      sizeof(server.address) };
		assert_int_equal(user_run(rt, is_fiber, connect_one, &dial),
				 -ENOTSOCK);
		pair_close(&pair);
	}
	destroy(rt);
}

/* The queue of the listener is full. No event says when it has room. */
TEST(connect__queue_of_a_unix_socket_full__tried_again)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uint32_t length = sizeof(address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int first = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct skua_io listener, io;
	struct user it = { 0 };
	struct dial dial;

	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
		 "skua-test-io-%d", (int)getpid());
	assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(connect(first, (struct sockaddr *)&address, length),
			 0);
	listener = attached(rt, fd);
	dial = (struct dial){
		attached(rt, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
		(struct sockaddr *)&address, length
	};
	assert_int_equal(skua_io_connect(dial.io, dial.address, length,
					 skua_now_ns() + SOON_NS),
			 -ETIMEDOUT);
	user_start(&it, rt, true, connect_one, &dial);
	wait_for_wait(dial.io, IO_WRITE);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(skua_io_accept(listener, &io, NULL, NULL,
						SKUA_FOREVER_NS),
				 0);
		io_close(io);
	}
	assert_int_equal(user_end(&it), 0);
	assert_int_equal(close(first), 0);
	io_close(dial.io);
	io_close(listener);
	destroy(rt);
}
