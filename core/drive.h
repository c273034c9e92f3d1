/* SPDX-License-Identifier: MIT */
/**
 * drive.h - a runtime whose one worker runs on the caller's thread (L4)
 *
 * The worker is parked between calls, by the same protocol as any other; its
 * parker writes to an eventfd. A timerfd stands for the timers. Both are in
 * one epoll descriptor, which the program's own loop waits for.
 */
#ifndef SKUA_CORE_DRIVE_H
#define SKUA_CORE_DRIVE_H

#include "core/pool.h"

struct skua_runtime;

struct drive {
	int epoll_fd; /* each -1: not open */
	int event_fd;
	int timer_fd;
	/* 1: a thread is driving. Writers: they. Those who wait for their turn
	 * sleep on it. */
	atomic_u32 busy;
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
