/* SPDX-License-Identifier: MIT */
/**
 * server.c - a TCP server with epoll that answers each line with the same line
 *
 * Each connection is a task. Worker 0 has a poller: when the worker is idle, it
 * sleeps in the poller until the epoll set has events, and the poller then wakes the
 * tasks of those sockets. The main thread waits for SIGTERM or SIGINT.
 *
 * All tasks are members of one group. Its release function closes the socket of a
 * task that has ended and frees the task, so that descriptors and memory follow the
 * live connections. The poller owns a waker of each task, from the first poll of the
 * task until EPOLLHUP on its socket. A task cannot end before that, so no event
 * points to freed memory. A task that is done shuts its socket down, which makes the
 * kernel report EPOLLHUP.
 *
 * At SIGTERM the server closes the port. A connection that has answered all that
 * it received ends at once. Every other connection ends when it has sent its answers,
 * or at the latest after GRACE_MS.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4(), memrchr(), ppoll() */
#endif
#include <skua/skua.h>

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define MS      UINT64_C(1000000)
#define SECOND  (1000 * MS)
#define LONGEST 4096 /* bytes of a line */
#define BATCH   64   /* events, or clients, at once */
#define TURNS   16   /* system calls of a poll */

/* ---- sockets ---------------------------------------------------------------- */

/* A task with a socket: the first member of the listener and of each connection. */
struct source {
	struct skua_task task;
	int fd;
	struct skua_waker waker; /* owned by the poller */
};

static struct skua_group tasks;
static int epoll_fd, unpark_fd;

/* Wake the tasks whose sockets have events. */
static int events_poll(struct skua_poller *self)
{
	struct epoll_event ready[BATCH];
	int count = epoll_wait(epoll_fd, ready, BATCH, 0);

	(void)self;
	for (int i = 0; i < count; i++) {
		struct source *source = ready[i].data.ptr;

		if (!source)
			continue; /* an event of events_unpark() */
		if (!(ready[i].events & EPOLLHUP)) {
			skua_waker_wake_by_ref(source->waker);
			continue;
		}
		/* Either the task has shut the socket down, or the client has
		 * reset it, which the task sees in its next poll. Only this thread
		 * may drop the waker: another thread cannot know whether ready[]
		 * still has an event of it. */
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
		skua_waker_wake(source->waker); /* may free the source */
	}
	return count > 0;
}

/* Sleep until events_poll() finds something. */
static void events_park(struct skua_poller *self, uint64_t deadline_ns)
{
	struct pollfd set = { .fd = epoll_fd, .events = POLLIN };
	uint64_t now_ns = skua_now_ns();
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	struct timespec left = { .tv_sec = (time_t)(left_ns / SECOND),
				 .tv_nsec = (long)(left_ns % SECOND) };

	(void)self;
	ppoll(&set, 1, deadline_ns == UINT64_MAX ? NULL : &left, NULL);
}

/* Each write is an edge, and so an event: events_poll() need not read the value. */
static void events_unpark(struct skua_poller *self)
{
	(void)self;
	eventfd_write(unpark_fd, 1);
}

static struct skua_poller poller = { .poll = events_poll,
				     .park = events_park,
				     .unpark = events_unpark };

static int events_open(void)
{
	struct epoll_event unpark = { .events = EPOLLIN | EPOLLET };

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	unpark_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, unpark_fd, &unpark);
}

/* Spawn a task that owns socket @fd. Its struct has @size bytes and begins with a
 * source. Return: 0; -1: the task was not spawned, and the socket is closed. */
static int source_spawn(size_t size, skua_task_fn poll, int fd)
{
	struct source *source = calloc(1, size);

	if (source) {
		source->fd = fd;
		skua_task_init(&source->task, poll);
		if (skua_group_spawn(&tasks, &source->task) == 0)
			return 0;
	}
	free(source);
	close(fd);
	return -1;
}

/* Register the socket of a task in its first poll; later calls do nothing. Call it
 * at the begin of each poll. Edges suffice, because a task waits only after its
 * socket has returned EAGAIN. Return: 0; -1: see errno. */
static int source_watch(struct source *source)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET };

	if (source->waker.opaque)
		return 0;
	event.data.ptr = source;
	source->waker = skua_task_waker(&source->task);
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, source->fd, &event) == 0)
		return 0;
	skua_waker_drop(source->waker);
	return -1;
}

/* End a task. The client still receives the bytes that were sent before. The
 * socket stays open until the release of the task: closing it here would remove it
 * from the epoll set without an EPOLLHUP. */
static enum skua_poll source_done(struct source *source)
{
	shutdown(source->fd, SHUT_RDWR);
	return SKUA_DONE;
}

static void source_release(struct skua_task *task)
{
	struct source *source = SKUA_CONTAINER_OF(task, struct source, task);

	close(source->fd);
	free(source);
}

/* ---- connections ------------------------------------------------------------ */

/* Why a connection ended. CLOSED: the client closed it, it failed, or a line was
 * too long. FINISHED: after SIGTERM, it had answered all that it received.
 * CANCELLED: the time for answers was over. */
enum end { CLOSED, FINISHED, CANCELLED, ENDS };

struct connection {
	struct source source; /* first: source_release() frees it */
	size_t held;          /* bytes received and not yet answered */
	size_t complete;      /* of these, the bytes of whole lines */
	size_t sent;          /* of the complete ones, the bytes sent back */
	unsigned long served; /* requests answered */
	char bytes[LONGEST];
};

static bool time_is_over; /* the time for answers; set once */
static unsigned long served, ended[ENDS];

/* Read from the client. Return: the number of bytes; 0: the client has closed the
 * connection, or the buffer is full; -1: see errno. */
static ssize_t receive(struct connection *it)
{
	ssize_t got = recv(it->source.fd, it->bytes + it->held,
			   sizeof(it->bytes) - it->held, 0);
	const char *newline;

	if (got <= 0)
		return got; /* 0 also if the buffer is full: the line is too long */
	it->held += (size_t)got;
	newline = memrchr(it->bytes, '\n', it->held);
	it->complete = newline ? (size_t)(newline + 1 - it->bytes) : 0;
	return got;
}

/* Send whole lines back. Return: the number of bytes; -1: see errno. A connection
 * reads nothing while an answer waits to be sent: a client that does not read its
 * answers costs one buffer, and delays no other client. */
static ssize_t answer(struct connection *it)
{
	ssize_t sent = send(it->source.fd, it->bytes + it->sent,
			    it->complete - it->sent, MSG_NOSIGNAL);

	if (sent <= 0)
		return sent;
	it->sent += (size_t)sent;
	if (it->sent < it->complete)
		return sent;
	for (size_t i = 0; i < it->complete; i++)
		it->served += it->bytes[i] == '\n';
	it->held -= it->complete;
	memmove(it->bytes, it->bytes + it->complete, it->held);
	it->complete = it->sent = 0;
	return sent;
}

static enum skua_poll connection_done(struct connection *it, enum end end)
{
	/* Relaxed: the main thread reads the counters after its wait for the
	 * group. */
	__atomic_fetch_add(&served, it->served, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ended[end], 1, __ATOMIC_RELAXED);
	return source_done(&it->source);
}

static enum skua_poll connection_poll(struct skua_task *self)
{
	struct connection *it =
		SKUA_CONTAINER_OF(self, struct connection, source.task);
	enum skua_poll next = SKUA_YIELD;

	if (source_watch(&it->source))
		return connection_done(it, CLOSED);
	for (int turn = 0; turn < TURNS && next == SKUA_YIELD; turn++) {
		/* Read the mark before the socket, so that a request that arrived
		 * before the signal is answered. */
		bool cancelled = skua_task_cancelled(self);
		ssize_t moved = it->complete ? answer(it) : receive(it);

		if (moved < 0 && errno == EAGAIN) {
			if (cancelled && it->held == 0)
				return connection_done(it, FINISHED);
			next = SKUA_PENDING;
		} else if (moved <= 0) {
			return connection_done(it, CLOSED);
		}
	}
	/* Relaxed: after the store, finish() makes each task run once more. */
	if (__atomic_load_n(&time_is_over, __ATOMIC_RELAXED))
		return connection_done(it, CANCELLED);
	return next;
}

/* ---- the port --------------------------------------------------------------- */

/* The task that accepts clients. It is a member of the group, too, because only
 * members may spawn while the main thread waits. */
struct listener {
	struct source source; /* first: source_release() frees it */
	struct skua_timer retry;
};

static enum skua_poll listener_poll(struct skua_task *self)
{
	struct listener *it =
		SKUA_CONTAINER_OF(self, struct listener, source.task);

	if (skua_task_cancelled(self)) {
		skua_timer_cancel(&it->retry);
		return source_done(&it->source);
	}
	if (source_watch(&it->source)) {
		perror("server: epoll_ctl");
		_exit(1);
	}
	for (int i = 0; i < BATCH; i++) {
		int fd = accept4(it->source.fd, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			source_spawn(sizeof(struct connection), connection_poll,
				     fd);
			continue;
		}
		/* If no descriptor is free, clients wait in the backlog, and no
		 * edge tells when a descriptor becomes free. So try again later. */
		if (errno != EAGAIN)
			skua_timer_add(self, &it->retry,
				       skua_now_ns() + 10 * MS);
		return SKUA_PENDING;
	}
	return SKUA_YIELD;
}

/* Listen on loopback, on @port, or on any free port if it is 0; @port then
 * receives the number. Return: the socket; -1: see errno. */
static int port_open(uint16_t *port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(*port) };
	struct sockaddr *address = (struct sockaddr *)&in;
	socklen_t size = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, address, size) || listen(fd, SOMAXCONN) ||
	    getsockname(fd, address, &size))
		return -1;
	*port = ntohs(in.sin_port);
	return fd;
}

/* ---- start and stop --------------------------------------------------------- */

static int start(struct skua_runtime **rt, int port_fd)
{
	struct skua_error err = { 0, "out of memory or of descriptors" };

	if (events_open() || skua_runtime_create(rt, NULL, &err) ||
	    skua_runtime_add_poller(*rt, 0, &poller) ||
	    skua_group_init(&tasks, *rt) ||
	    skua_group_set_release(&tasks, source_release) ||
	    source_spawn(sizeof(struct listener), listener_poll, port_fd)) {
		fprintf(stderr, "server: %s\n", err.text);
		return -1;
	}
	return 0;
}

/* End all tasks. Afterwards their sockets are closed, and their memory is freed. */
static void finish(uint64_t grace_ns)
{
	skua_group_cancel(&tasks);
	if (skua_group_wait_until(&tasks, skua_now_ns() + grace_ns) == 0)
		return;
	/* A second cancel makes the remaining tasks run once more. Relaxed: the
	 * cancel makes the store visible to these polls. */
	__atomic_store_n(&time_is_over, true, __ATOMIC_RELAXED);
	skua_group_cancel(&tasks);
	skua_group_wait(&tasks);
}

/* Return @text as a number; -1 if it is not a number from 0 to @most. */
static long parse(const char *text, long most)
{
	char *end;
	long value = strtol(text, &end, 10);

	return *text && !*end && value >= 0 && value <= most ? value : -1;
}

int main(int argc, char **argv)
{
	long number = argc > 1 ? parse(argv[1], UINT16_MAX) : 0;
	long grace_ms = argc > 2 ? parse(argv[2], 3600000) : 10000;
	uint16_t port = (uint16_t)number;
	struct skua_runtime *rt;
	sigset_t stop;
	int port_fd, signal;

	if (argc > 3 || number < 0 || grace_ms < 0) {
		fputs("usage: server [PORT [GRACE_MS]], up to 65535 and 3600000\n",
		      stderr);
		return 2;
	}
	port_fd = port_open(&port);
	if (port_fd < 0) {
		perror("server: cannot listen");
		return 1;
	}
	/* sigwait() needs these signals blocked in every thread; threads that are
	 * created later inherit that. */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	if (start(&rt, port_fd))
		return 1;
	printf("listening on 127.0.0.1:%u\n", port);
	fflush(stdout);

	sigwait(&stop, &signal);
	finish((uint64_t)grace_ms * MS);
	if (skua_runtime_destroy(rt))
		return 1;
	close(unpark_fd);
	close(epoll_fd);
	printf("served %lu requests; connections: %lu closed by clients, "
	       "%lu finished, %lu cancelled\n",
	       served, ended[CLOSED], ended[FINISHED], ended[CANCELLED]);
	return 0;
}
