/* SPDX-License-Identifier: MIT */
/**
 * fiber.h - tasks with a stack of their own
 *
 * A fiber is a task whose poll function, fiber_poll(), switches to the stack of the fiber
 * and comes back when the fiber suspends itself or ends. The scheduler knows nothing of
 * fibers, so that everything that holds for tasks holds for them.
 *
 * Between two polls, the context of a fiber is data of its task, as the fields of any
 * other task are: fiber_switch() has saved it before the poll returns, so before the
 * state word lets another worker poll the fiber, however early a wake-up comes.
 * (tests/model/model_fiber.c)
 *
 * The predictor of returns remembers the calls of the other stack, so that each return
 * after a switch is predicted wrongly, and costs as much as a switch. Therefore
 * fiber_poll() and the functions that leave a fiber end in a tail call of fiber_switch(),
 * which continues in their callers. The last switch of a fiber calls end() on the stack
 * of the worker, so that this needs no function to return to.
 *
 * A fiber may go on on another thread after fiber_suspend(). So no function reads a
 * thread-local both before and after a suspension: compilers keep the thread pointer.
 * fiber_poll() runs on the stack of its thread, or on that of a fiber that stays on its
 * thread meanwhile, because it is in a poll within its own.
 *
 * Rejected: to switch from a fiber that suspends itself straight to the fiber in the LIFO slot,
 * which then ends the poll of the first one. That saves two of the four switches of a
 * channel_round_trip. A prototype without a limit of the LIFO slot took 105 ns instead of 103:
 * both fibers have to read the control bits, and the switch is no tail call any more. Besides,
 * a fiber would have to do what the loop does between two polls.
 */
#ifndef SKUA_CORE_FIBER_FIBER_H
#define SKUA_CORE_FIBER_FIBER_H

#include <stdbool.h>

#include "core/task/task.h"
#include "skua/fiber.h"

/* The fiber that runs on this thread; NULL: none. Writer: fiber_poll().
 * Initial-exec, like current_worker. Read it by fiber_current() only. */
extern _Thread_local struct skua_fiber *fiber_here
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/**
 * fiber_current - the fiber that runs on the calling thread; NULL: none
 *
 * Not read in C where that can be avoided: a compiler may keep the address of a
 * thread-local across fiber_suspend(), which returns on another thread.
 */
static inline struct skua_fiber *fiber_current(void)
{
	struct skua_fiber *fiber;

#if defined(__x86_64__) && !defined(SKUA_EXPLORE)
	__asm__ volatile("movq fiber_here@gottpoff(%%rip), %0\n\t"
			 "movq %%fs:(%0), %0"
			 : "=r"(fiber)
			 :
			 : "memory");
#elif defined(__aarch64__) && !defined(SKUA_EXPLORE)
	uint64_t offset;

	__asm__ volatile("adrp %1, :gottprel:fiber_here\n\t"
			 "ldr %1, [%1, :gottprel_lo12:fiber_here]\n\t"
			 "mrs %0, tpidr_el0\n\t"
			 "ldr %0, [%0, %1]"
			 : "=&r"(fiber), "=&r"(offset)
			 :
			 : "memory");
#else
	__asm__ volatile("" ::: "memory");
	fiber = fiber_here;
#endif
	return fiber;
}

/* fiber_is - is this task a fiber? The caller keeps it from its end. */
static inline bool fiber_is(const struct skua_task *task)
{
	return task->flags & TASK_FIBER;
}

/* Bits of skua_fiber.flags: the order of the stack; 0: the default of the runtime. */
#define FIBER_ORDER 0xffu
/* The fiber is at the top of its stack, and the release of the fiber gives it back. */
#define FIBER_ON_STACK (1u << 8)

/* fiber_cancel_masked - must waits of the fiber ignore a cancel? */
static inline bool fiber_cancel_masked(const struct skua_fiber *self)
{
	return self->masks > 0;
}

/* fiber_poll - the poll function of fibers */
enum skua_poll fiber_poll(struct skua_task *task);

/**
 * fiber_may_suspend - may the fiber leave its worker?
 * @self: fiber_current()
 *
 * Return: false in a poll that runs on top of the fiber; inside a job; and inside
 * skua_run() or while the fiber has a context of skua_task_ctx(), with which it may have
 * forked jobs.
 */
bool fiber_may_suspend(const struct skua_fiber *self);

/**
 * fiber_suspend - end the poll of the calling fiber as pending
 * @self: fiber_current(), and fiber_may_suspend()
 *
 * Returns when the fiber is polled again, perhaps on another thread.
 */
void fiber_suspend(struct skua_fiber *self);

/* fiber_yield - the same, as a poll that yields */
void fiber_yield(struct skua_fiber *self);

/* fiber_check_stack - in a debug build, end the process if the fiber that runs on the
 * calling thread was left by longjmp() */
void fiber_check_stack(void);

/* fiber_try_leave - the same for the calling fiber, with the result @poll. Return: 0;
 * -EDEADLK: the caller is no fiber, or may not suspend itself. */
int fiber_try_leave(enum skua_poll poll);

#endif
