/* SPDX-License-Identifier: MIT */
/**
 * work.h - what a worker has at hand, and where it gets more
 *
 * A worker takes its next task from, in this order:
 *
 *   the urgent lane and its inbox, a few times in a row
 *   the injection queue, when that is due
 *   its LIFO slot, a few times in a row
 *   its local queue
 *   the injection queue
 *   the other workers' local queues: a search
 *
 * "Visible" is what other workers can take: the urgent lane, the injection
 * queue and the local queues, but neither the LIFO slots nor the inboxes.
 * A thread that makes work visible and does not run it next itself notifies the idle
 * protocol (core/idle/IDLE.md).
 */
#ifndef SKUA_CORE_LOOP_WORK_H
#define SKUA_CORE_LOOP_WORK_H

#include <stdbool.h>

#include "core/idle/victims.h"

struct skua_task;
struct worker;

/* work_schedule_owner - queue a runnable task, to run next */
void work_schedule_owner(struct worker *w, struct skua_task *task);

/**
 * work_push_back_owner - queue a task behind the others of the worker
 *
 * If it is the only one, it runs next, and is not worth a wake-up.
 */
void work_push_back_owner(struct worker *w, struct skua_task *task);

/* work_next - what the worker has at hand, or finds without a search */
struct skua_task *work_next(struct worker *w);

/**
 * work_find - what there is elsewhere than in the own LIFO slot and queue
 *
 * By a searcher, or, as far as there is anything, by a parker after its fence:
 * they see to what they leave visible by I3.
 */
struct skua_task *work_find(struct worker *w, enum victims_reach reach);

/* work_visible - is there work that another worker could do? After a fence. */
bool work_visible(const struct worker *w);

/* work_tell_owner - what is in the worker's queue has others to be told of (I1) */
void work_tell_owner(struct worker *w);

/* work_lower_flags_owner - have thieves pass the worker by, of which nothing can be
 * had; while it computes nothing */
void work_lower_flags_owner(struct worker *w);

#endif
