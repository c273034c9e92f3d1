/* SPDX-License-Identifier: MIT */
/* task.h - from a runnable task to its end (L2) */
#ifndef SKUA_CORE_TASK_H
#define SKUA_CORE_TASK_H

#include "core/inject_queue.h"
#include "core/task_state.h"
#include "skua/task.h"

/*
 * The public struct has plain fields, so that it reads as C++ too. Here the
 * two that several threads use are seen as the atomics they are.
 */
_Static_assert(sizeof(atomic_u64) == sizeof(uint64_t) &&
		       _Alignof(atomic_u64) == _Alignof(uint64_t),
	       "an atomic word is laid out like a plain one");
_Static_assert(sizeof(struct inject_node) == sizeof(struct skua_task *) &&
		       offsetof(struct skua_task, next) == 0,
	       "the link of a task is a node of the injection queue");
_Static_assert(sizeof(struct skua_task) == 64, "a task is one cache line");

static inline atomic_u64 *task_state(struct skua_task *task)
{
	return (atomic_u64 *)&task->state;
}

static inline struct inject_node *task_node(struct skua_task *task)
{
	return (struct inject_node *)&task->next;
}

static inline struct skua_task *task_of_node(struct inject_node *node)
{
	return (struct skua_task *)node;
}

/* Where a joining thread sleeps; on its own stack. */
struct task_joiner {
	/* Writer: the worker that ends the task, 0 to 1. Reader: the joiner. */
	atomic_u32 done;
};

/**
 * task_finish - a running task is done: wake its joiner or release it
 *
 * The task may be gone when this returns.
 */
void task_finish(struct skua_task *task);

/* task_wait - sleep until the task ends; the caller holds the claim */
void task_wait(struct skua_task *task);

#endif
