/* SPDX-License-Identifier: MIT */
/**
 * test_epoll_host.c - an epoll program and a runtime, each inside the other
 *
 * An echo server on socket pairs, twice: once the program's own epoll loop
 * drives a runtime without threads, and once a worker of a runtime sleeps in
 * the program's epoll set, as a poller. A client thread sends and checks.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "tests/unit/tasks.h"

#define CONNECTIONS 8u
#define MESSAGES    (SANITIZED ? 50u : 500u)

struct connection {
	struct skua_task task; /* first: a task is its connection */
	int server_fd;
	int client_fd;
	uint64_t echoed;
	/* Wakes the task; the event loop's, from the first poll on. */
	struct skua_waker waker;
	/* Never due: proves that a task may wait for both. */
	struct skua_timer timer;
};

struct host {
	struct connection connections[CONNECTIONS];
	int epoll_fd;
	struct skua_runtime *rt;
};

/* Echoes all that is there, and waits for more until the client hangs up. */
static enum skua_poll echo_poll(struct skua_task *self)
{
	struct connection *c = (struct connection *)self;
	char byte;
	ssize_t got;

	if (c->waker.opaque == 0) {
		c->waker = skua_task_waker(self);
		skua_timer_add(self, &c->timer, UINT64_MAX);
	}
	while ((got = read(c->server_fd, &byte, 1)) == 1) {
		if (write(c->server_fd, &byte, 1) != 1)
			return SKUA_DONE;
		c->echoed++;
	}
	if (got < 0)
		return SKUA_PENDING;
	skua_timer_cancel(&c->timer);
	skua_waker_drop(c->waker);
	return SKUA_DONE;
}

static void *client(void *arg)
{
	struct host *host = arg;

	for (unsigned m = 0; m < MESSAGES; m++) {
		for (unsigned i = 0; i < CONNECTIONS; i++) {
			char sent = (char)(m + i);
			char echoed = (char)~sent;
			int fd = host->connections[i].client_fd;

			if (write(fd, &sent, 1) != 1 ||
			    read(fd, &echoed, 1) != 1 || echoed != sent)
				abort();
		}
	}
	for (unsigned i = 0; i < CONNECTIONS; i++)
		close(host->connections[i].client_fd);
	return NULL;
}

static void open_connection(struct host *host, unsigned i)
{
	struct connection *c = &host->connections[i];
	struct epoll_event event = { .events = EPOLLIN | EPOLLET,
				     .data.ptr = c };
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	c->server_fd = fds[0];
	c->client_fd = fds[1];
	fcntl(c->server_fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(
		epoll_ctl(host->epoll_fd, EPOLL_CTL_ADD, c->server_fd, &event),
		0);
	skua_task_init(&c->task, echo_poll);
	spawn(host->rt, &c->task);
}

static void host_open(struct host *host, struct skua_runtime *rt)
{
	memset(host, 0, sizeof(*host));
	host->rt = rt;
	host->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_true(host->epoll_fd >= 0);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		open_connection(host, i);
}

static void host_close(struct host *host)
{
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		assert_int_equal(host->connections[i].echoed, MESSAGES);
		close(host->connections[i].server_fd);
	}
	close(host->epoll_fd);
}

/* ---- the runtime inside the program's loop -------------------------------- */

/* One turn: wait, wake the tasks whose descriptors are ready, drive. */
static void turn(struct host *host)
{
	struct epoll_event events[CONNECTIONS + 1];
	int count = epoll_wait(host->epoll_fd, events, CONNECTIONS + 1, -1);

	for (int i = 0; i < count; i++) {
		struct connection *c = events[i].data.ptr;

		if (c)
			skua_waker_wake_by_ref(c->waker);
	}
	while (skua_runtime_poll(host->rt, 0) == 1)
		;
}

static bool all_done(struct host *host)
{
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		if (!(state_of(&host->connections[i].task) & TASK_COMPLETE))
			return false;
	}
	return true;
}

TEST(epoll_host__drives_a_runtime__echoes)
{
	struct skua_config cfg = SKUA_CONFIG_INIT;
	struct epoll_event event = { .events = EPOLLIN };
	struct skua_runtime *rt;
	struct skua_error err;
	struct host host;
	pthread_t thread;

	cfg.flags = SKUA_CALLER_DRIVEN;
	assert_int_equal(skua_runtime_create(&rt, &cfg, &err), 0);
	host_open(&host, rt);
	assert_int_equal(epoll_ctl(host.epoll_fd, EPOLL_CTL_ADD,
				   skua_runtime_eventfd(rt), &event),
			 0);
	/* The first polls make the wakers. */
	while (skua_runtime_poll(rt, 0) == 1)
		;
	assert_int_equal(pthread_create(&thread, NULL, client, &host), 0);
	while (!all_done(&host))
		turn(&host);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	host_close(&host);
}

/* ---- the program's descriptors inside the runtime -------------------------- */

struct epoll_poller {
	struct skua_poller poller; /* first: a poller is its epoll_poller */
	struct host *host;
	int wake_fd;
	unsigned parks;
	unsigned limited; /* of these, with a deadline */
};

static int wake_ready(struct skua_poller *self)
{
	struct epoll_poller *p = (struct epoll_poller *)self;
	struct epoll_event events[CONNECTIONS + 1];
	int count = epoll_wait(p->host->epoll_fd, events, CONNECTIONS + 1, 0);
	uint64_t ignored;
	int found = 0;

	for (int i = 0; i < count; i++) {
		struct connection *c = events[i].data.ptr;

		if (c) {
			skua_waker_wake_by_ref(c->waker);
			found = 1;
		} else if (read(p->wake_fd, &ignored, sizeof(ignored)) < 0) {
			continue; /* somebody else's turn has read it */
		}
	}
	return found;
}

static void park_in_epoll(struct skua_poller *self, uint64_t deadline_ns)
{
	struct epoll_poller *p = (struct epoll_poller *)self;
	struct pollfd fd = { .fd = p->host->epoll_fd, .events = POLLIN };
	uint64_t now_ns = skua_now_ns();
	struct timespec wait = { 0 };

	if (deadline_ns > now_ns) {
		wait.tv_sec = (time_t)((deadline_ns - now_ns) / 1000000000);
		wait.tv_nsec = (long)((deadline_ns - now_ns) % 1000000000);
	}
	p->parks++;
	p->limited += deadline_ns != UINT64_MAX;
	ppoll(&fd, 1, deadline_ns == UINT64_MAX ? NULL : &wait, NULL);
}

static void unpark_by_event(struct skua_poller *self)
{
	struct epoll_poller *p = (struct epoll_poller *)self;
	uint64_t one = 1;

	if (write(p->wake_fd, &one, sizeof(one)) < 0)
		abort();
}

TEST(poller__idle_worker__waits_in_epoll_without_a_timeout)
{
	/* Nothing to watch for, and so no deadline for the sentinel's sake. */
	struct skua_runtime *rt =
		RUNTIME(.workers = 1, .lifo_steal_delay_ns = SKUA_LIFO_PRIVATE);
	struct epoll_poller p = { .poller = { .poll = wake_ready,
					      .park = park_in_epoll,
					      .unpark = unpark_by_event } };
	struct epoll_event event = { .events = EPOLLIN };
	struct host host;
	pthread_t thread;

	host_open(&host, rt);
	/* The first polls make the wakers. */
	for (unsigned i = 0; i < CONNECTIONS; i++)
		wait_until_waiting(&host.connections[i].task);
	p.host = &host;
	p.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(
		epoll_ctl(host.epoll_fd, EPOLL_CTL_ADD, p.wake_fd, &event), 0);
	assert_int_equal(skua_runtime_add_poller(rt, 0, &p.poller), 0);
	assert_int_equal(pthread_create(&thread, NULL, client, &host), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		assert_int_equal(skua_task_join(&host.connections[i].task), 0);
	/* A spawn from outside ends the sleep in epoll, too. */
	{
		struct counter counter = COUNTER_INIT;

		spawn(rt, &counter.task);
		assert_int_equal(skua_task_join(&counter.task), 0);
		assert_int_equal(counter.polls, 1);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_true(p.parks > 0);
	assert_int_equal(p.limited, 0);
	close(p.wake_fd);
	host_close(&host);
}
