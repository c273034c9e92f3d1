/* SPDX-License-Identifier: MIT */
/**
 * track.h - a table of the live tasks, for people
 *
 * A runtime has the table only with SKUA_TRACK_TASKS; without it, POLL_TRACK is never
 * set. The table is in the debug area (struct area_task): skua_runtime_left(), the log
 * and other processes read it.
 *
 * A task is in one of TRACK_WINDOW slots that its address chooses. A spawn claims
 * a slot that no task holds before a queue publishes the task; from then on, the
 * thread that queues, polls or ends the task writes the slot, as the task's state
 * lets only one of them do that at a time. The end of the last poll gives the slot
 * back. If no slot of the window is free, the table leaves the task out and counts it.
 *
 * A task may be done while a waker of it still exists. Its slot then continues to
 * show it, as the thread that drops the waker must not touch the runtime. The slot is
 * taken by the next spawn of the same task, or by another task if no slot is free.
 */
#ifndef SKUA_CORE_TELEMETRY_TRACK_H
#define SKUA_CORE_TELEMETRY_TRACK_H

#include "core/telemetry/telemetry.h"

#define TRACK_SLOTS  4096u
#define TRACK_WINDOW 16u
/* The maximum number of types for which the runtime remembers a warning that
 * nothing refers to a pending task. */
#define TRACK_HINTS 64u

/* The table, in zeroed memory. */
struct track {
	struct area_task tasks[TRACK_SLOTS];
	/* The types of those warnings, or poll functions if there is no type.
	 * Writers: workers, from 0. */
	atomic_u64 hinted[TRACK_HINTS];
};

/* track_spawn - record a task that the caller is about to queue; @caller: the
 * code that spawns it */
void track_spawn(struct telemetry *telemetry, const struct skua_task *task,
		 const void *caller);

/* track_forget - remove a task whose spawn was refused after track_spawn() */
void track_forget(struct telemetry *telemetry, const struct skua_task *task);

/* track_queued - record that a task was woken, and that the caller is about to
 * queue it */
void track_queued(struct telemetry *telemetry, const struct skua_task *task);

/**
 * track_wait - record what a task, in its poll, has begun to wait for
 * @what: the address of a task or group, or the time of a timer
 */
void track_wait(struct telemetry *telemetry, const struct skua_task *task,
		enum area_wait wait, uint64_t what);

/* track_poll_begin - record that a task is going to be polled. Return: its
 * slot, for track_poll_end(), or NULL */
struct area_task *track_poll_begin(struct telemetry *telemetry,
				   const struct skua_task *task);

/* track_poll_end - record the result of the poll, before another thread may
 * poll the task; @spare: is the spare reference (task_state.h) still there? */
void track_poll_end(struct telemetry *telemetry, struct area_task *slot,
		    struct skua_task *task, enum skua_poll result, bool spare);

#endif
