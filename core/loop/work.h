/* SPDX-License-Identifier: MIT */
/**
 * work.h - a worker's own tasks, and where it finds more
 *
 * A worker takes its next task from the first of these that has one:
 *
 *   the urgent lane and the worker's inbox, a few times in a row
 *   the injection queue, when a check is due and it is the queue's turn (turns.h)
 *   the worker's LIFO slot, a few times in a row
 *   the worker's local queue
 *   the injection queue
 *   the other workers' local queues: a search
 *
 * "Visible" work is work that other workers can take: the urgent lane, the
 * injection queue and the local queues, but neither LIFO slots nor inboxes.
 * A thread that makes work visible, and does not run it next itself, notifies
 * the idle protocol (core/idle/IDLE.md).
 */
#ifndef SKUA_CORE_LOOP_WORK_H
#define SKUA_CORE_LOOP_WORK_H

#include <stdbool.h>

#include "core/base/turns.h"
#include "core/idle/victims.h"

struct skua_task;
struct worker;

/* work_schedule_owner - queue a runnable task in the LIFO slot, so that it runs
 * next */
void work_schedule_owner(struct worker *w, struct skua_task *task);

/* work_push_back_owner - queue a task behind the worker's other tasks */
void work_push_back_owner(struct worker *w, struct skua_task *task);

/**
 * work_yield_owner - the same, when the worker takes its next task right after
 * that, by work_next()
 *
 * Wakes no other worker: if this task is alone, it runs next; if it is not,
 * other workers have been notified of this queue before.
 */
void work_yield_owner(struct worker *w, struct skua_task *task);

/**
 * work_overtake_owner - let the tasks that timers have just woken run before the other
 * tasks in the queue
 * @end: the position after the other tasks (local_queue_tail_owner())
 *
 * The first woken task is in the LIFO slot. The others have been pushed behind tasks that
 * yielded, and would wait for a poll of each. The function does nothing if it takes longer
 * than a poll to move the other tasks. It does nothing either while tasks that were
 * overtaken before are still in the queue, so that a task is overtaken at most once, and an
 * endless stream of timers starves no task.
 *
 * Rejected: the urgent lane, as the program's urgent tasks would wait behind those of
 * timers. Also rejected: to fire a timer only when its task can run next. It would take
 * the lock of the wheel for each timer, and no searcher would find the others.
 */
void work_overtake_owner(struct worker *w, uint64_t end);

/* work_next - take a task of the worker's own or from a shared queue, without a
 * search. Return: NULL if there is none. */
struct skua_task *work_next(struct worker *w);

/**
 * work_find - take a task from the shared queues, the inbox, or by stealing
 *
 * For a searcher, or for a worker that is about to park, after its fence. The
 * caller notifies the idle protocol by I3 of the work that this leaves visible.
 * Does not look in the worker's own LIFO slot and local queue. Return: NULL if
 * there is none in @reach.
 */
struct skua_task *work_find(struct worker *w, enum victims_reach reach);

/* work_visible - is there work that another worker could take? The caller has
 * issued a fence before. */
bool work_visible(const struct worker *w);

/* ---- of work_shared.c, for work.c -------------------------------------------- */

/**
 * work_take_injected - take a fair share of the injection queue of @group, but at
 * most @most tasks
 * @see_to: receives true if the caller must notify the idle protocol: this has
 * made work visible (I1), or has turned other takers away (I5)
 *
 * Moves all but the first task to the local queue. Return: the first task, to run
 * next; NULL if there is none.
 */
struct skua_task *work_take_injected(struct worker *w, unsigned group,
				     uint64_t most, bool *see_to);

/* work_take_prioritised - take a task from the urgent lane of the group, else from the
 * inbox. @see_to: as of work_take_injected() */
struct skua_task *work_take_prioritised(struct worker *w, bool *see_to);

/* work_take_bound - take a task from the inbox. The take turns no other worker away. */
struct skua_task *work_take_bound(struct worker *w);

/* ---- other groups ---------------------------------------------------------- */

/*
 * How many ticks pass between two checks of other groups. A guess: a check costs a
 * cache miss or two, and a tick takes 10 us or more if there is much to do.
 */
#define OTHERS_TICKS 8u
/* How long a group takes no task before workers of other groups take its tasks. Busy
 * workers take their first one after TURNS_NS, or after a poll. */
#ifdef SKUA_EXPLORE
#define OTHERS_LATE_NS UINT64_C(0)
#else
#define OTHERS_LATE_NS (2 * TURNS_NS)
#endif

/**
 * work_check_others - help another group if its workers do not take the tasks that
 * wait there
 *
 * They may all be in long polls, while no worker that searches sees the tasks. So
 * each worker that ends a tick checks one other group from time to time. If tasks
 * wait there, and none is taken for OTHERS_LATE_NS, the worker moves a share of them
 * to the queues of its own group. So tasks wait for at most OTHERS_TICKS ticks of a
 * worker for each group, if any worker ends its ticks.
 */
void work_check_others(struct worker *w);

/* work_tell_owner - wake another worker for the tasks in this worker's queue,
 * if the idle protocol requires it (I1) */
void work_tell_owner(struct worker *w);

/* work_lower_flags_owner - clear the worker's flags of an empty task queue and
 * job deque, so that thieves skip it. Not during a poll or a job. */
void work_lower_flags_owner(struct worker *w);

#endif
