/* SPDX-License-Identifier: MIT */
/**
 * drive.h - a runtime whose one worker runs on the caller's thread
 *
 * The worker is parked between calls, by the same protocol as any other; its
 * parker writes to an eventfd. A timerfd stands for the timers. Both are in
 * one epoll descriptor, which the program's own loop waits for.
 *
 * Threads that wait for a goal, such as the end of a task, drive as well: one of
 * them, the leader, until its own goal is reached; the others sleep meanwhile. The
 * program's loop may drive beside the leader, by turns, and clears the eventfd then.
 * So the leader cannot rely on that one to learn of its goal: a thread that reaches a
 * goal changes the news, and writes to a second eventfd, which the leader alone
 * clears.
 */
#ifndef SKUA_CORE_RUNTIME_DRIVE_H
#define SKUA_CORE_RUNTIME_DRIVE_H

#include "core/loop/pool.h"

struct skua_runtime;

struct drive {
	int epoll_fd; /* each -1: not open */
	int event_fd;
	int timer_fd;
	int goal_fd; /* readable: a goal was reached; not in epoll_fd */
	/* 1: a thread is driving. Writers: they. */
	atomic_u32 busy;
	/* 1: there is a leader. Writers: threads that wait for a goal. */
	atomic_u32 led;
	/* The futex of threads that wait for a goal: changes when a goal was
	 * reached, a leader has left, or the program's loop has driven. Writers:
	 * threads that do so. Wraps. */
	atomic_u32 news;
	/* Threads that are about to sleep until there is news, or do. Writers: they.
	 * Readers: threads that have news. */
	atomic_u32 sleepers;
};

/* drive_reset - nothing is open */
void drive_reset(struct drive *drive);

/* drive_init - open the descriptors and park the worker; -errno */
int drive_init(struct drive *drive, struct pool *pool);

/* drive_close - close the descriptors, if they are open */
void drive_close(struct drive *drive);

/**
 * drive_poll - run what is due, until idle or @deadline_ns
 *
 * Return: 0 (idle), 1 (more to do), or -EBUSY (another thread drives).
 */
int drive_poll(struct drive *drive, struct pool *pool, uint64_t deadline_ns);

/* drive_until_drained - drive until no task is left; false at the deadline */
bool drive_until_drained(struct drive *drive, struct pool *pool,
			 uint64_t deadline_ns);

/* drive_block_on - spawn a task, and drive until it has ended; @caller: as for
 * runtime_spawn(). Return: the code of the spawn */
int drive_block_on(struct skua_runtime *rt, struct skua_task *task,
		   const void *caller);

#endif
