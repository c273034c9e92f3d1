/* SPDX-License-Identifier: MIT */
/**
 * reactor.c - a thread that waits for descriptors and wakes tasks
 *
 * A task that finds nothing to read passes a waker to the reactor, as the data of a
 * one-shot epoll registration, and returns SKUA_PENDING. The reactor wakes with the
 * data that epoll_wait() returns, so it needs neither a table nor a lock.
 */
#include <skua/skua.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#define READERS 10
#define ROUNDS  100

struct reader {
	struct skua_task task;
	int epoll_fd, fd;
	unsigned got; /* bytes */
};

/* Register @fd, so that the reactor wakes @self once there is something to read.
 * Return: 0; -1: see errno. */
static int wait_readable(struct skua_task *self, int epoll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT };

	event.data.u64 = skua_task_waker(self).opaque;
	/* A descriptor stays registered after it has fired. */
	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0 ||
	    (errno == ENOENT &&
	     epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0))
		return 0;
	skua_waker_drop((struct skua_waker){ (uintptr_t)event.data.u64 });
	return -1;
}

static enum skua_poll reader_poll(struct skua_task *self)
{
	struct reader *it = SKUA_CONTAINER_OF(self, struct reader, task);
	char bytes[16];
	ssize_t got;

	while ((got = read(it->fd, bytes, sizeof(bytes))) > 0)
		it->got += (unsigned)got;
	if (got < 0 && errno == EAGAIN &&
	    wait_readable(self, it->epoll_fd, it->fd) == 0)
		return SKUA_PENDING;
	return SKUA_DONE; /* the end of the pipe */
}

/* Wake tasks until a descriptor is readable that is registered without a waker. */
static void *reactor(void *epoll_fd)
{
	struct epoll_event events[64];

	for (;;) {
		int count = epoll_wait(*(int *)epoll_fd, events, 64, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.u64 == 0)
				return NULL;
			skua_waker_wake((struct skua_waker){
				(uintptr_t)events[i].data.u64 });
		}
	}
}

int main(void)
{
	static struct reader readers[READERS];
	struct epoll_event end = { .events = EPOLLIN };
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC), ends[READERS][2], stop[2];
	struct skua_runtime *rt;
	unsigned sum = 0;
	pthread_t thread;

	if (epoll_fd < 0 || pipe(stop) != 0 ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, stop[0], &end) != 0 ||
	    skua_runtime_create(&rt, NULL, NULL) != 0 ||
	    pthread_create(&thread, NULL, reactor, &epoll_fd) != 0)
		return 1;
	for (int i = 0; i < READERS; i++) {
		if (pipe2(ends[i], O_NONBLOCK | O_CLOEXEC) != 0)
			return 1;
		readers[i].epoll_fd = epoll_fd;
		readers[i].fd = ends[i][0];
		skua_task_init(&readers[i].task, reader_poll);
		if (skua_task_spawn(rt, &readers[i].task) != 0)
			return 1;
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < READERS; i++)
			sum += write(ends[i][1], "x", 1) == 1;
	}
	for (int i = 0; i < READERS; i++)
		close(ends[i][1]);
	/* A join also waits until the wakers are gone: the reactor holds none
	 * afterwards. */
	for (int i = 0; i < READERS; i++) {
		if (skua_task_join(&readers[i].task) != 0)
			return 1;
		sum -= readers[i].got;
		close(readers[i].fd);
	}
	close(stop[1]); /* makes the other end readable */
	pthread_join(thread, NULL);
	close(stop[0]);
	close(epoll_fd);
	printf("%u readers, %u bytes lost\n", READERS, sum);
	return skua_runtime_destroy(rt) != 0 || sum != 0;
}
