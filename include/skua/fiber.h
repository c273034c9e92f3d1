/* SPDX-License-Identifier: MIT */
/**
 * fiber.h - tasks with a stack of their own, written as straight-line code
 *
 * A fiber is a task: it is spawned, joined, cancelled, grouped, woken, typed and shown
 * by the tools like any other. The library provides its poll function, which runs the
 * function of the fiber until that has to wait. The fiber may go on on another worker.
 *
 *	struct client {
 *		struct skua_fiber fiber; // first: the function casts back
 *		unsigned turns;
 *	};
 *
 *	static void serve(struct skua_fiber *self)
 *	{
 *		struct client *client = (struct client *)self;
 *
 *		for (unsigned i = 0; i < client->turns; i++) {
 *			take_a_step(client);
 *			skua_yield();
 *		}
 *	}
 *
 *	skua_fiber_init(&client->fiber, serve, 0);
 *	skua_task_spawn(rt, &client->fiber.task);
 *
 * Thread-local variables: after any call that waits, a fiber may be on another thread.
 * Compilers keep the addresses of thread-local variables, errno included, across calls.
 * Do not use one both before and after a call that waits in the same function; or keep
 * the fiber on one worker with skua_task_spawn_on(). This library never sets errno, and
 * keeps none for a fiber: after a call that waits, errno is that of another thread. The
 * same holds for pthread_self() and gettid(). No build of the library can check this.
 *
 * Arithmetic: a fiber has rounding modes and other control bits of floating-point arithmetic
 * of its own. It begins with those of the thread that first polls it, and keeps what it sets
 * across calls that wait, on any worker. It leaves them to no poll. A poll, poller or job has
 * to leave these bits as it found them, as the ABI says of each function. If it leaves others,
 * the thread keeps these; fibers still have their own. The flags of exceptions are no control
 * bits: after a call that waits, they are those of any computation.
 *
 * Locks: do not hold a pthread mutex across a call that waits.
 *
 * C++: exceptions may be thrown and caught in a fiber, and must not leave its function. A
 * fiber may wait in a catch block, or in a destructor that runs because of an exception: it
 * takes the exceptions that it handles along to another thread. This needs a C++ runtime
 * that is there when this library is loaded; one that a plugin brings later is not enough.
 *
 * Jobs: skua_task_ctx(&self->task) works in a fiber, and jobs run on its stack. The
 * context belongs to the worker, so calls that would wait return -EDEADLK until
 * skua_task_ctx_end(). They do so inside skua_run() as well.
 *
 * Stacks are mapped once and kept. Each has a guard below its lowest address, so that an
 * overflow raises SIGSEGV (see skua_fiber_report_overflow()). The kernel provides a page
 * when it is first written to.
 */
#ifndef SKUA_FIBER_H
#define SKUA_FIBER_H

#include <skua/base.h>
#include <skua/task.h>
#include <skua/timer.h>

SKUA_BEGIN_DECLS

struct skua_fiber;
struct skua_runtime;
struct skua_wait;

/**
 * skua_fiber_fn - function of a fiber
 * @self: the fiber; the struct that embeds it holds the arguments and results
 *
 * Runs once, on the stack of the fiber. The fiber is done when it returns. It must
 * return: no exception, longjmp() or pthread_exit() may leave it (see SKUA_NOEXCEPT).
 * Between two calls that wait it is as a poll: it should take microseconds, and must not
 * block its thread.
 */
typedef void (*skua_fiber_fn)(struct skua_fiber *self) SKUA_NOEXCEPT;

#define SKUA_MIN_STACK UINT64_C(16384)    /* bytes */
#define SKUA_MAX_STACK UINT64_C(67108864) /* bytes */

/**
 * struct skua_fiber - a fiber; embed it in a struct of your own
 * @task: the fiber, for the functions on tasks: pass its address
 *
 * Initialise it with skua_fiber_init(). The rules of struct skua_task apply. It has a
 * stack from its first poll to its last one.
 */
struct skua_fiber {
	struct skua_task task;
	/* private: to the library */
	skua_fiber_fn fn;
	void *stack;
	void *context;
	void *caller;
	struct skua_wait *wait;
	uint32_t flags;
	uint32_t masks;
	struct skua_fiber *outer;
	const void *shown;
	struct skua_timer timer;
	const char *label;
};

/**
 * skua_fiber_init - initialise a fiber
 * @fiber: memory of the caller; must not be a fiber that was spawned and has not ended
 * @fn: function of the fiber
 * @stack_bytes: SKUA_MIN_STACK to SKUA_MAX_STACK, rounded up to a power of two; 0 =
 *      fiber_stack of the configuration, 65,536 by default
 *
 * Spawn it with skua_task_spawn(), skua_group_spawn() and so on, passing &fiber->task.
 * After a join it may be spawned again without another initialisation.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (a pointer is NULL, or @stack_bytes is out of range); -ENOTSUP (the
 * process runs with shadow stacks, which this version cannot switch: start it with
 * GLIBC_TUNABLES=glibc.cpu.x86_shstk=off).
 */
SKUA_API int skua_fiber_init(struct skua_fiber *fiber, skua_fiber_fn fn,
			     size_t stack_bytes);

/**
 * skua_fiber_spawn - run a function in a fiber that the library provides
 * @rt: live runtime, borrowed
 * @type: type of the fiber, as in skua_task_set_type(); may be NULL
 * @fn: called once, with @arg, on a stack of the default size
 * @arg: passed to @fn
 *
 * The fiber is detached. Use this if no struct skua_fiber of your own is needed. A waker
 * of the fiber (skua_task_self() is its task) must be dropped before the runtime is
 * destroyed.
 *
 * Threads: any. Blocks: never, except for a lock that is held for some microseconds.
 * Allocates: the fiber, on its own stack, from the pool of stacks.
 * Order: writes before the call are visible to @fn.
 * Return: 0; -EINVAL (@rt or @fn is NULL, or @type is not valid); -ENOMEM; -ESHUTDOWN;
 * -EAGAIN (max_queued tasks are queued); -ENOTSUP (as skua_fiber_init()).
 */
SKUA_API int skua_fiber_spawn(struct skua_runtime *rt,
			      const struct skua_task_type *type,
			      void (*fn)(void *arg) SKUA_NOEXCEPT, void *arg);

/**
 * skua_fiber_self - return the calling fiber
 *
 * For code that a fiber calls without passing the fiber.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the fiber; NULL outside of fibers, and in a job that another thread has taken.
 */
SKUA_API struct skua_fiber *skua_fiber_self(void);

/**
 * skua_await - suspend the calling fiber until it is woken
 *
 * For waits of the program's own: make a waker first (skua_task_waker()), as a poll
 * function would. May return without a cause. A cancel wakes the fiber once, and the calls
 * after that suspend it again: call this in a loop that checks what the fiber waits for, and
 * skua_task_cancelled().
 *
 * Threads: worker, in a fiber. Blocks: the fiber, not its worker. Allocates: nothing.
 * Order: writes before the wake are visible after the call.
 * Return: 0; -EDEADLK (not in a fiber; or the fiber has a context of skua_task_ctx() or is
 * inside skua_run(), so that it cannot leave its worker): nothing was done.
 */
SKUA_API int skua_await(void);

/**
 * skua_yield - let other tasks run before the calling fiber goes on
 *
 * Threads: worker, in a fiber. Blocks: as skua_await(). Allocates: nothing.
 * Return: as skua_await().
 */
SKUA_API int skua_yield(void);

/**
 * skua_cancel_mask - hide a cancel from the waits of the calling fiber
 *
 * Lets a cancelled fiber wait while it cleans up. skua_task_cancelled() still tells of
 * the cancel. Calls are counted: each needs a skua_cancel_unmask(). The end of the fiber
 * ends all of them.
 *
 * Threads: worker, in a fiber. Blocks: never. Allocates: nothing.
 * Return: 0; -EPERM (not in a fiber); -EOVERFLOW (UINT32_MAX calls are open).
 */
SKUA_API int skua_cancel_mask(void);

/**
 * skua_cancel_unmask - end the last skua_cancel_mask() of the calling fiber
 *
 * Threads: worker, in a fiber. Blocks: never. Allocates: nothing.
 * Return: 0; -EPERM (not in a fiber); -EINVAL (no call is open).
 */
SKUA_API int skua_cancel_unmask(void);

/**
 * skua_fiber_stack_used - return how much of its stack a fiber has used at most
 * @fiber: must not end during the call
 *
 * Counts whole pages from the top to the lowest one that has memory. Fibers that had the
 * stack before are included, until the stack has been idle for a second.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: bytes; 0 if it is not known, or the fiber has no stack, or @fiber is NULL.
 */
SKUA_API size_t skua_fiber_stack_used(const struct skua_fiber *fiber);

/**
 * skua_fiber_report_overflow - say which fiber it was if one overflows its stack
 *
 * Installs a handler of SIGSEGV for the process. Each worker that starts later has an
 * alternate stack for signals. If a fiber runs into the guard of its stack,
 * a line on stderr names its type, its function, the size of the stack and the depth. Then
 * the action that was there before has the signal; by default it ends the process, at the
 * place of the overflow. An older handler runs on that alternate stack as well.
 *
 * A function whose frame is larger than a page, by a large array for example, may jump over
 * the guard and overwrite other memory: compile the code of fibers with
 * -fstack-clash-protection, which touches each page in turn.
 *
 * Call it before the first runtime is created. The thread that drives a caller-driven
 * runtime needs an alternate stack of its own, see sigaltstack(2).
 *
 * Threads: any. Blocks: never. Allocates: nothing here, and later a stack for each worker.
 * Return: 0; -EALREADY (it was called before); another negative errno value of
 * sigaction().
 */
SKUA_API int skua_fiber_report_overflow(void);

SKUA_END_DECLS

#endif
