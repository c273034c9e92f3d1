/* SPDX-License-Identifier: MIT */
/* task.h - the fields of a task as the scheduler sees them */
#ifndef SKUA_CORE_TASK_TASK_H
#define SKUA_CORE_TASK_TASK_H

#include "core/os/process_generation.h"
#include "core/queue/inject_queue.h"
#include "core/task/task_state.h"
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
_Static_assert(sizeof(struct skua_task_type) == 64 &&
		       offsetof(struct skua_task_type, stall_limit_ns) == 40,
	       "other processes read types");

/* The shortest limit of all types that tasks were given; UINT64_MAX: none has one.
 * Not of one runtime: a type may be used in several. Writers: threads that give a task
 * its type, to less. Readers: watchers of workers. */
extern atomic_u64 task_shortest_limit_ns __attribute__((visibility("hidden")));

/* Of struct skua_task, flags: [ generation:31 | urgent:1 ] */
#define TASK_URGENT          (1u << 0)
#define TASK_GENERATION_UNIT (1u << 1)

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

/**
 * task_dead - will it never end, because its workers are the parent's?
 *
 * Its pool is not asked: a task that ends meanwhile does not keep it.
 */
static inline bool task_dead(const struct skua_task *task)
{
	/* Relaxed: tells what the caller may rely on by itself, or a hint. */
	uint64_t state =
		atomic_load_relaxed(task_state((struct skua_task *)task));

	return task_state_spawned(state) && !task_state_ended(state) &&
	       task->flags / TASK_GENERATION_UNIT != process_generation();
}

/* Where a joining thread sleeps; on its own stack. */
struct task_joiner {
	/* Writer: the thread that ends the task, 0 to 1. Reader: the joiner. */
	atomic_u32 done;
};

/* The work that the end of a task demands; none if bit is 0. */
struct task_end {
	uint64_t bit; /* one of TASK_END_MASK */
	union skua_task_end what;
};

/*
 * The end field, of which a stale value may be read while another is written: see
 * TASK_WITHDRAWN. Relaxed, both: the bit that says that it is set orders them.
 */
static inline _Atomic(void *) *task_end_word(struct skua_task *task)
{
	return (_Atomic(void *) *)&task->end;
}

static inline union skua_task_end task_end_read(struct skua_task *task)
{
	return (union skua_task_end){ atomic_load_relaxed(
		task_end_word(task)) };
}

static inline void task_end_write(struct skua_task *task,
				  union skua_task_end end)
{
	atomic_store_relaxed(task_end_word(task), end.joiner);
}

/* task_drop_withdrawn - as task_drop(), of a task that is WITHDRAWN */
struct task_end task_drop_withdrawn(struct skua_task *task,
				    struct task_state_drop drop);

/**
 * task_drop - give references back
 *
 * Return: what the caller has to do if the last one went. The task may be gone,
 * unless the end is TASK_END_DETACH. TASK_WITHDRAWN: nothing was done, and the caller
 * must call task_drop_withdrawn() instead.
 */
static inline struct task_end task_drop(struct skua_task *task,
					struct task_state_drop drop)
{
	/* Acquire: the end field, whose bit may be set already. Pairs with
	 * task_state_transition_to_ended_by(). */
	uint64_t state = atomic_load_acquire(task_state(task));
	struct task_end end;

	/* A further round means that somebody else changed the state. */
	do {
		end.bit = state & (TASK_END_MASK | TASK_WITHDRAWN);
		end.what.joiner = NULL;
		if (!end.bit)
			continue;
		if (end.bit & TASK_WITHDRAWN)
			return (struct task_end){ TASK_WITHDRAWN, { NULL } };
		end.what = task_end_read(task);
	} while (!task_state_transition_to_dropped(task_state(task), &state,
						   drop));

	if (!task_state_ended(task_state_less(state, drop)))
		end.bit = 0;
	return end;
}

/* task_joiner_wait - sleep until the joined task has ended */
void task_joiner_wait(struct task_joiner *joiner);

/* task_joiner_wait_until - the same, but not beyond a time of CLOCK_MONOTONIC;
 * UINT64_MAX: for ever. Return: has it ended? */
bool task_joiner_wait_until(struct task_joiner *joiner, uint64_t deadline_ns);

/* task_joiner_wake - end the sleep; the joiner may be gone afterwards */
void task_joiner_wake(struct task_joiner *joiner);

#endif
