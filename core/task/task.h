/* SPDX-License-Identifier: MIT */
/* task.h - the fields of a task as the scheduler uses them */
#ifndef SKUA_CORE_TASK_TASK_H
#define SKUA_CORE_TASK_TASK_H

#include <sys/types.h>

#include "core/os/process_generation.h"
#include "core/queue/inject_queue.h"
#include "core/task/task_state.h"
#include "skua/fiber.h"
#include "skua/task.h"

/*
 * The public struct has plain fields, so that it compiles as C++, too. Here the
 * fields that several threads use are accessed as atomics.
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

/* The shortest stall limit, in ns, of all types that tasks were given;
 * UINT64_MAX: none has a limit. It belongs to the process, as several runtimes
 * may use a type. Writers: threads that give a task its type; they only lower
 * it. Readers: stall watches. */
extern atomic_u64 task_shortest_limit_ns __attribute__((visibility("hidden")));

/* Flags of struct skua_task: [ generation:30 | fiber:1 | urgent:1 ] */
#define TASK_URGENT          (1u << 0)
#define TASK_FIBER           (1u << 1) /* struct skua_fiber; for tools, too */
#define TASK_GENERATION_UNIT (1u << 2)
_Static_assert(PROCESS_GENERATION_MAX == UINT32_MAX / TASK_GENERATION_UNIT,
	       "a task has a bit for each bit of a generation");

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
 * task_dead - return true if a task will never end, because its workers run in
 * the parent process only
 *
 * Does not access the task's pool, which may be gone if the task ends
 * meanwhile.
 */
static inline bool task_dead(const struct skua_task *task)
{
	/* Relaxed: a hint, unless the caller itself knows that the state stays. */
	uint64_t state =
		atomic_load_relaxed(task_state((struct skua_task *)task));

	return task_state_spawned(state) && !task_state_ended(state) &&
	       task->flags / TASK_GENERATION_UNIT != process_generation();
}

/* The word on which a joining thread sleeps. It is on the stack of that thread. */
struct task_joiner {
	/* Writer: the thread that ends the task, which adds TASK_JOINER_TOLD.
	 * Reader: the joiner. */
	atomic_u32 done;
};

/* A select is the joiner of several tasks, and this word its wait's phase. */
#define TASK_JOINER_TOLD 4u

/* The duty of the thread that dropped the last reference; none if @bit is 0. */
struct task_end {
	uint64_t bit; /* one of TASK_END_MASK */
	union skua_task_end what;
};

/*
 * The end field. A read may return a stale value while another thread writes:
 * see TASK_WITHDRAWN. Relaxed, both: the bit that says that the field is set
 * orders them.
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

/* task_drop_withdrawn - the same as task_drop(), for a task that is WITHDRAWN */
struct task_end task_drop_withdrawn(struct skua_task *task,
				    struct task_state_drop drop);

/**
 * task_drop - give references back
 *
 * Return: what the caller must do if it dropped the last reference.
 * TASK_WITHDRAWN: nothing was done, and the caller must call
 * task_drop_withdrawn() instead.
 *
 * The task may be gone afterwards, unless the end is TASK_END_DETACH, or
 * TASK_END_GROUP of a group with a release function.
 */
static inline struct task_end task_drop(struct skua_task *task,
					struct task_state_drop drop)
{
	/* Acquire: the end field, whose bit may be set already. Pairs with
	 * task_state_transition_to_ended_by(). */
	uint64_t state = atomic_load_acquire(task_state(task));
	struct task_end end;

	/* The loop repeats when another thread changed the state. */
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

/* task_shown - return the function of the program that a task runs, for people: the poll
 * function, unless that is the one of all fibers */
static inline skua_task_fn task_shown(const struct skua_task *task)
{
	return task->flags & TASK_FIBER
		       ? (skua_task_fn)(uintptr_t)((const struct skua_fiber *)
							   task)
				 ->shown
		       : task->poll;
}

/* task_peek - copy a task, which may be gone, from @address. @shown receives the result of
 * task_shown(). Return: false: there is no memory of a task. */
bool task_peek(pid_t pid, const void *address, struct skua_task *task,
	       skua_task_fn *shown);

/* task_joiner_wait - sleep until the joined task has ended */
void task_joiner_wait(struct task_joiner *joiner);

/* task_joiner_wait_until - sleep until the joined task has ended, or
 * CLOCK_MONOTONIC reaches @deadline_ns; UINT64_MAX: no deadline. Return: true
 * if the task has ended. */
bool task_joiner_wait_until(struct task_joiner *joiner, uint64_t deadline_ns);

/* task_joiner_wake - wake the joiner, which may be gone afterwards */
void task_joiner_wake(struct task_joiner *joiner);

#endif
