/* SPDX-License-Identifier: MIT */
/**
 * drive.h - a runtime whose single worker runs on the caller's thread
 *
 * Between calls the worker is parked, by the same protocol as any other worker. Its
 * parker writes to an eventfd, and a timerfd becomes readable when a timer is due. Both
 * are in one epoll descriptor, which the program's event loop waits for.
 *
 * Threads that wait for a goal, such as the end of a task, drive as well: one of them,
 * the leader, drives until its own goal is reached; the others sleep meanwhile. The
 * program's event loop may take turns with the leader, and then clears the eventfd. So
 * the eventfd cannot tell the leader that its goal was reached. Instead, a thread that
 * reaches a goal changes the news and writes to a second eventfd, goal_fd, which only
 * the leader clears.
 */
#ifndef SKUA_CORE_RUNTIME_DRIVE_H
#define SKUA_CORE_RUNTIME_DRIVE_H

#include "core/loop/pool.h"

struct skua_runtime;

struct drive {
	int epoll_fd; /* each descriptor: -1 if it is not open */
	int event_fd;
	int timer_fd;
	int goal_fd; /* readable: a goal was reached; it is not in epoll_fd */
	/* A lock: 1 while a thread drives. Writers, readers: threads that drive. */
	atomic_u32 busy;
	/* 1 while there is a leader. Writers, readers: threads that wait for a goal. */
	atomic_u32 led;
	/* The futex of threads that wait for a goal. Changes when a goal was reached, when
	 * the leader leaves, and when the program's event loop has driven. Writers: the
	 * threads that cause these changes. Wraps; only a difference counts. */
	atomic_u32 news;
	/* The number of threads that sleep, or are about to, until the news changes.
	 * Writers: these threads. Readers: threads that change the news. */
	atomic_u32 sleepers;
};

/* drive_reset - initialise @drive without open descriptors */
void drive_reset(struct drive *drive);

/* drive_init - open the descriptors and park the worker. Return: 0 or a negative errno;
 * the caller closes them with drive_close(), also after a failure */
int drive_init(struct drive *drive, struct pool *pool);

/* drive_close - close the descriptors, if they are open */
void drive_close(struct drive *drive);

/**
 * drive_poll - run the due tasks, timers and pollers, until idle or
 * @deadline_ns
 *
 * Return: 0 (idle), 1 (more to do), or -EBUSY (another thread drives).
 */
int drive_poll(struct drive *drive, struct pool *pool, uint64_t deadline_ns);

/* drive_until_drained - drive until no task is left. Return: false at the deadline */
bool drive_until_drained(struct drive *drive, struct pool *pool,
			 uint64_t deadline_ns);

/* drive_block_on - spawn a task, and drive until it has ended; @caller: see
 * runtime_spawn(). Return: 0 or the error of the spawn */
int drive_block_on(struct skua_runtime *rt, struct skua_task *task,
		   const void *caller);

#endif
