/* SPDX-License-Identifier: MIT */
/**
 * epoll_set.h - descriptors that one thread sleeps on: what the driver needs of the kernel
 *
 * An epoll, and an eventfd in it by which other threads end the sleep. The eventfd is
 * level-triggered and stays readable until the sleeper clears it. So a thread that
 * collects events meanwhile takes no interruption away: the kernel wakes the sleeper
 * again as long as a level-triggered descriptor is ready.
 */
#ifndef SKUA_CORE_DRIVER_EPOLL_SET_H
#define SKUA_CORE_DRIVER_EPOLL_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

/* The data of the eventfd's events. No descriptor may have it. */
#define EPOLL_SET_INTERRUPT UINT64_MAX
#define EPOLL_SET_NEVER     UINT64_MAX

struct epoll_set {
	int epoll_fd;
	int event_fd;
};

/* epoll_set_open - open both descriptors. Return: 0; -EMFILE, -ENFILE, -ENOMEM */
int epoll_set_open(struct epoll_set *set);

void epoll_set_close(const struct epoll_set *set);

/* epoll_set_add - add a descriptor, edge-triggered, to read and to write. Return: 0, or
 * the error of epoll_ctl() */
int epoll_set_add(const struct epoll_set *set, int fd, uint64_t data);

int epoll_set_remove(const struct epoll_set *set, int fd);

/* epoll_set_nest - make epoll @outer_fd readable while @set has events. Return: 0, or the
 * error of epoll_ctl() */
int epoll_set_nest(const struct epoll_set *set, int outer_fd);

/* epoll_set_take - take up to @most events without a sleep. Return: their number */
unsigned epoll_set_take(const struct epoll_set *set, struct epoll_event *events,
			unsigned most);

/**
 * epoll_set_sleep - the same, but sleep until there are events
 * @deadline_ns: time of the monotonic clock at which the sleep ends; EPOLL_SET_NEVER:
 * none
 *
 * May return 0 earlier: after a signal; and some time before a far deadline, because the
 * kernel may end a long sleep late. Where the kernel or a filter refuses the
 * system call epoll_pwait2, the deadline is rounded up to a millisecond.
 */
unsigned epoll_set_sleep(const struct epoll_set *set,
			 struct epoll_event *events, unsigned most,
			 uint64_t deadline_ns);

/* epoll_set_interrupt - end the sleep; any thread */
void epoll_set_interrupt(const struct epoll_set *set);

/* epoll_set_clear - called by the sleeper when it has seen EPOLL_SET_INTERRUPT */
void epoll_set_clear(const struct epoll_set *set);

#endif
