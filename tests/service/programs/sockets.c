/* SPDX-License-Identifier: MIT */
/*
 * sockets.c KIND - tasks, fibers and threads that wait for descriptors and blocking calls
 *
 * It prints "ready" and the ports of its TCP listeners, of IPv4 and IPv6 (0: none), and ends
 * when its standard input has a line or ends.
 *
 *	calm      one wait for each kind of descriptor, and three connections that are read
 *	blocking  fibers with blocking calls that do not end: two that run, two that are
 *		  queued, and one that waits for a place in the queue
 *	threads   the same, by threads and a task
 *	hungry    a fiber that accepts a connection, and no descriptor is left for it
 *	select    a task whose poll selects from an eventfd and an event
 *	slow      a fiber that reads what a thread writes each 20 ms
 *	late      the same, each 2 ms, and a task whose polls keep the only worker from
 *		  looking for events: 10 ms in 20 ms
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "skua/skua.h"

static struct skua_runtime *rt;

static const struct skua_task_type acceptor = SKUA_TASK_TYPE("acceptor");
static const struct skua_task_type serve = SKUA_TASK_TYPE("serve");
static const struct skua_task_type dialler = SKUA_TASK_TYPE("dialler");
static const struct skua_task_type reader = SKUA_TASK_TYPE("reader");
static const struct skua_task_type caller = SKUA_TASK_TYPE("caller");
static const struct skua_task_type db_query = SKUA_TASK_TYPE("db_query");
static const struct skua_task_type writer = SKUA_TASK_TYPE("writer");

static void check(int code, const char *what)
{
	if (code >= 0)
		return;
	fprintf(stderr, "sockets: %s failed: %s\n", what,
		strerror(code == -1 ? errno : -code));
	exit(1);
}

/* A task or thread, and the descriptor that it reads or writes. */
struct job {
	struct skua_task task;
	struct skua_wait wait;
	struct skua_io io;
};

static struct job *job_of(int fd)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		exit(1);
	check(skua_io_attach(rt, fd, 0, &job->io), "skua_io_attach()");
	return job;
}

static void start(const struct skua_task_type *type, void (*fn)(void *),
		  struct job *job)
{
	check(skua_fiber_spawn(rt, type, fn, job), "skua_fiber_spawn()");
}

static void read_on(void *arg)
{
	struct job *job = arg;
	char bytes[256];

	while (skua_io_read(job->io, bytes, sizeof(bytes), SKUA_FOREVER_NS) > 0)
		;
}

static void *read_by_thread(void *arg)
{
	read_on(arg);
	return NULL;
}

static enum skua_poll read_in_poll(struct skua_task *self)
{
	struct job *job = (struct job *)self;
	char bytes[256];

	if (skua_io_read_poll(self, job->io, bytes, sizeof(bytes), &job->wait,
			      SKUA_FOREVER_NS) != -EAGAIN)
		exit(1);
	return SKUA_PENDING;
}

static void write_on(void *arg)
{
	static const char bytes[4096];
	struct job *job = arg;

	while (skua_io_write(job->io, bytes, sizeof(bytes), SKUA_FOREVER_NS) >
	       0)
		;
}

static void accept_on(void *arg)
{
	struct job *job = arg;
	struct skua_io io;

	while (skua_io_accept(job->io, &io, NULL, NULL, SKUA_FOREVER_NS) == 0) {
		struct job *connection = calloc(1, sizeof(*connection));

		if (!connection)
			exit(1);
		connection->io = io;
		start(&serve, read_on, connection);
	}
}

/* ---- sockets ---------------------------------------------------------------------- */

/* In a network namespace of its own, the loopback device is down at first. */
static void raise_loopback(void)
{
	struct ifreq device = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	check(fd, "socket()");
	check(ioctl(fd, SIOCGIFFLAGS, &device), "SIOCGIFFLAGS");
	if (!(device.ifr_flags & IFF_UP)) {
		device.ifr_flags |= IFF_UP;
		check(ioctl(fd, SIOCSIFFLAGS, &device), "SIOCSIFFLAGS");
	}
	close(fd);
}

static int bound(int type, int backlog, struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	check(fd, "socket()");
	check(bind(fd, (struct sockaddr *)address, length), "bind()");
	if (backlog >= 0)
		check(listen(fd, backlog), "listen()");
	check(getsockname(fd, (struct sockaddr *)address, &length),
	      "getsockname()");
	return fd;
}

static int bound_unix(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int length =
		snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			 "skua sockets %d", (int)getpid());

	check(fd, "socket()");
	/* A name that begins with 0 is in no folder. */
	check(bind(fd, (struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			       (size_t)length)),
	      "bind()");
	check(listen(fd, 8), "listen()");
	return fd;
}

/* Return: a socket that listens at [::1]; -1: there is no IPv6. */
static int bound_six(struct sockaddr_in6 *address)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in6){ .sin6_family = AF_INET6,
					  .sin6_addr = in6addr_loopback };
	if (fd < 0 || bind(fd, (struct sockaddr *)address, length) != 0 ||
	    listen(fd, 8) != 0)
		return -1;
	check(getsockname(fd, (struct sockaddr *)address, &length),
	      "getsockname()");
	return fd;
}

static void connect_to(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check(fd, "socket()");
	check(connect(fd, (const struct sockaddr *)address, sizeof(*address)),
	      "connect()");
}

/* ---- calm ------------------------------------------------------------------------- */

static struct sockaddr_in full;

static void connect_in_vain(void *arg)
{
	struct job *job = arg;

	skua_io_connect(job->io, (const struct sockaddr *)&full, sizeof(full),
			SKUA_FOREVER_NS);
}

static void calm(void)
{
	struct sockaddr_in6 six = { .sin6_port = 0 };
	struct sockaddr_in address, other;
	struct job *polled;
	pthread_t thread;
	int fds[2], six_fd = bound_six(&six);

	if (six_fd >= 0)
		start(&acceptor, accept_on, job_of(six_fd));
	start(&acceptor, accept_on, job_of(bound(SOCK_STREAM, 8, &address)));
	for (unsigned i = 0; i < 3; i++)
		connect_to(&address);
	start(&acceptor, accept_on, job_of(bound_unix()));

	/* The queue of the listener is full, so that its kernel does not answer. */
	bound(SOCK_STREAM, 0, &full);
	connect_to(&full);
	start(&dialler, connect_in_vain,
	      job_of(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));

	check(pthread_create(&thread, NULL, read_by_thread,
			     job_of(bound(SOCK_DGRAM, -1, &other))),
	      "pthread_create()");
	check(pipe2(fds, O_CLOEXEC), "pipe2()");
	polled = job_of(fds[0]);
	check(skua_task_init(&polled->task, read_in_poll), "skua_task_init()");
	skua_task_set_type(&polled->task, &reader);
	check(skua_task_spawn(rt, &polled->task), "skua_task_spawn()");
	start(&reader, read_on, job_of(eventfd(0, EFD_CLOEXEC)));
	check(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds),
	      "socketpair()");
	start(&writer, write_on, job_of(fds[0]));
	printf("ready %u %u\n", ntohs(address.sin_port),
	       six_fd < 0 ? 0u : ntohs(six.sin6_port));
}

/* ---- blocking --------------------------------------------------------------------- */

static void block(struct skua_blocking *self)
{
	(void)self;
	for (;;)
		pause();
}

static void call_block(void *arg)
{
	struct skua_blocking call = SKUA_BLOCKING_INIT(block);

	(void)arg;
	skua_blocking_call(rt, &call, SKUA_FOREVER_NS);
}

static void blocking(void)
{
	for (unsigned i = 0; i < 5; i++)
		start(&caller, call_block, NULL);
	puts("ready 0");
}

static void *call_by_thread(void *arg)
{
	call_block(arg);
	return NULL;
}

static enum skua_poll call_in_poll(struct skua_task *self)
{
	static struct skua_blocking call = SKUA_BLOCKING_INIT(block);
	static bool started;

	if (!started)
		started =
			skua_blocking_start(self, &call, SKUA_FOREVER_NS) == 0;
	if (started)
		skua_blocking_poll(self, &call, SKUA_FOREVER_NS);
	return SKUA_PENDING;
}

static void blocking_without_fibers(void)
{
	static struct skua_task task;
	pthread_t thread;

	check(skua_task_init(&task, call_in_poll), "skua_task_init()");
	check(skua_task_spawn(rt, &task), "skua_task_spawn()");
	for (unsigned i = 0; i < 4; i++)
		check(-pthread_create(&thread, NULL, call_by_thread, NULL),
		      "pthread_create()");
	puts("ready 0");
}

/* ---- hungry ------------------------------------------------------------------------- */

static void hungry(void)
{
	struct sockaddr_in address;
	struct rlimit limit;
	struct job *job = job_of(bound(SOCK_STREAM, 8, &address));
	int next;

	connect_to(&address);
	next = dup(0);
	check(next, "dup()");
	close(next);
	check(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit()");
	limit.rlim_cur = (rlim_t)next;
	check(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit()");
	start(&acceptor, accept_on, job);
	printf("ready %u\n", ntohs(address.sin_port));
}

/* ---- select ----------------------------------------------------------------------- */

struct chooser {
	struct skua_task task; /* first */
	struct skua_wait wait;
	struct skua_io io;
	struct skua_event event;
	struct skua_select_case cases[2];
	struct skua_select select;
};

static enum skua_poll choose(struct skua_task *self)
{
	struct chooser *it = (struct chooser *)self;

	if (skua_select_poll(self, &it->select, &it->wait, SKUA_FOREVER_NS) !=
	    -EAGAIN)
		exit(1);
	return SKUA_PENDING;
}

static void select_in_poll(void)
{
	static struct chooser it = { .task = SKUA_TASK_INIT(choose),
				     .wait = SKUA_WAIT_INIT,
				     .event = SKUA_EVENT_INIT };

	check(skua_io_attach(rt, eventfd(0, EFD_CLOEXEC), 0, &it.io),
	      "skua_io_attach()");
	it.cases[0] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_IO, &it.io, NULL, POLLIN);
	it.cases[1] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_EVENT, &it.event, NULL, 0);
	it.select = (struct skua_select){ .cases = it.cases, .count = 2 };
	check(skua_task_spawn(rt, &it.task), "skua_task_spawn()");
	puts("ready 0");
}

/* ---- slow and late ------------------------------------------------------------------ */

#define MS_NS UINT64_C(1000000)

struct feed {
	int fd;
	unsigned ms;
};

static void *feed(void *arg)
{
	const struct feed *feed = arg;

	for (;;) {
		usleep(1000 * feed->ms);
		if (write(feed->fd, "x", 1) != 1)
			exit(1);
	}
	return NULL;
}

static void compute(void *arg)
{
	(void)arg;
	for (;;) {
		uint64_t until = skua_now_ns() + 10 * MS_NS;

		while (skua_now_ns() < until)
			;
		skua_sleep_until(until + 10 * MS_NS);
	}
}

static void feed_each(unsigned ms)
{
	static struct feed from;
	pthread_t thread;
	int fds[2];

	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
	      "socketpair()");
	from = (struct feed){ fds[1], ms };
	start(&serve, read_on, job_of(fds[0]));
	check(pthread_create(&thread, NULL, feed, &from), "pthread_create()");
	puts("ready 0");
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	struct skua_config config = { .size = sizeof(config),
				      .workers = 2,
				      .blocking_threads = 2,
				      .blocking_queued = 2 };

	if (strcmp(kind, "late") == 0)
		config.workers = 1;
	check(skua_runtime_create(&rt, &config, NULL), "skua_runtime_create()");
	raise_loopback();
	if (strcmp(kind, "calm") == 0) {
		calm();
	} else if (strcmp(kind, "blocking") == 0) {
		blocking();
	} else if (strcmp(kind, "threads") == 0) {
		blocking_without_fibers();
	} else if (strcmp(kind, "hungry") == 0) {
		hungry();
	} else if (strcmp(kind, "select") == 0) {
		select_in_poll();
	} else if (strcmp(kind, "slow") == 0) {
		feed_each(20);
	} else if (strcmp(kind, "late") == 0) {
		start(&db_query, compute, NULL);
		feed_each(2);
	} else {
		fprintf(stderr, "sockets: no kind '%s'\n", kind);
		return 2;
	}
	fflush(stdout);
	getchar();
	_exit(0);
}
