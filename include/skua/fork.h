/* SPDX-License-Identifier: MIT */
/**
 * fork.h - calls that run in parallel: fork a job, do something else, join it
 *
 * A job is a call that another thread may make meanwhile. It lives on the stack of
 * the function that forks it, so nothing is allocated. While no thread takes the job,
 * its fork and its join cost two stores, two loads and two branches. A complete
 * example:
 *
 *	struct fib_job {
 *		struct skua_job job; // first: fib_run() casts back
 *		long n, result;
 *	};
 *
 *	static long fork_fib(struct skua_ctx ctx, long n);
 *
 *	static inline long fib(struct skua_ctx ctx, long n)
 *	{
 *		return n < 2 ? n : fork_fib(ctx, n);
 *	}
 *
 *	static void fib_run(struct skua_ctx ctx, struct skua_job *job)
 *	{
 *		struct fib_job *it = (struct fib_job *)job;
 *
 *		it->result = fib(ctx, it->n);
 *	}
 *
 *	static long fork_fib(struct skua_ctx ctx, long n)
 *	{
 *		struct fib_job left = { .job.run = fib_run, .n = n - 1 };
 *		struct skua_ctx inner = skua_fork(ctx, &left.job);
 *		long right = fib(inner, n - 2);
 *
 *		if (skua_reclaim(inner, &left.job)) // nobody took it
 *			return fib(ctx, n - 1) + right;
 *		return left.result + right;
 *	}
 *
 *	static void root(struct skua_ctx ctx, void *arg)
 *	{
 *		*(long *)arg = fib(ctx, 30);
 *	}
 *	...
 *	err = skua_run(rt, root, &result);
 *
 * The test of n is in an inline function of its own, so that a leaf costs no call. Half
 * of all calls are leaves, and a call costs about as much as a fork: with the test
 * within fork_fib(), this program takes half as long again.
 *
 * A job may run on the thread that forked it, after all jobs that were forked later.
 * So it must not wait for anything that another job does, or the function that forked
 * it; and only a join may wait for a job.
 *
 * A context says on which thread a call runs, and which jobs it has forked. It is
 * passed down by value. skua_fork() returns the context for the calls that follow;
 * skua_reclaim() takes it back, and then the earlier context holds again. A function
 * must join all jobs that it forked, in reverse order, before it returns. That holds
 * for exceptions as well: calls between a fork and its join must not throw, or the
 * function must catch the exception there. Only the thread that was given a context
 * may use it: a job gets a context of its own.
 *
 * Tasks beside jobs. A worker checks its tasks between two jobs that it took, not
 * within a job, which may be half of the whole computation. For each external thread
 * that computes (skua_run()), one worker less helps, and that worker polls tasks as
 * always. When a task computes, all workers may help it; another task then waits for
 * about as long as the computation takes. A task that is bound to a worker that helps
 * waits as long at any time. (`skua-bench run beside` measures how long.)
 *
 * Each job that is forked and not joined takes 8 bytes of a reserve, besides its own
 * memory. The reserve has as many slots as jobs of 64 bytes fit on a stack:
 * SKUA_MAX_FORKS a thread, or fewer if the process's stacks are limited to less than
 * 8 MB (RLIMIT_STACK). The page after the last slot cannot be written and ends the
 * program, like the page after the end of a stack.
 *
 * Checks. Where SKUA_FORK_CHECKS is 1, the library checks each fork and each reclaim,
 * and a mistake ends the program by abort(), with a line on stderr. Mistakes are: no
 * context, one of another thread, or one that is kept after skua_run() has returned;
 * a job without a function; joins out of order, of another job, or missing; more jobs
 * than the reserve has slots; a loop, a sort or skua_ctx_check() with the context from
 * before a fork. (If a poll leaves a job behind, the next computation of its worker
 * finds that.) SKUA_FORK_CHECKS is 1 by default in code compiled without optimisation
 * and without NDEBUG; a program may define it before it includes this header. Code
 * with checks and code without may call each other.
 */
#ifndef SKUA_FORK_H
#define SKUA_FORK_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

#ifndef SKUA_FORK_CHECKS
#if !defined(NDEBUG) && !defined(__OPTIMIZE__)
#define SKUA_FORK_CHECKS 1
#else
#define SKUA_FORK_CHECKS 0
#endif
#endif

/* The most jobs of one thread that are forked and not joined; see above. */
#define SKUA_MAX_FORKS (1u << 17)

/* The most external threads of a runtime that workers help at once. */
#define SKUA_MAX_EXTERNAL_THREADS 16

struct skua_runtime;
struct skua_task;
struct skua_job;

/*
 * The jobs that a thread has forked; private to the library. Its layout is part of
 * the binary interface, because the functions below are inlined into programs.
 */
struct skua_forks {
	void **split;    /* slots from here on are private to the thread */
	uint32_t wanted; /* whether other threads ask for jobs */
	uint32_t reserved;
	void **end;  /* after the last slot */
	void **room; /* after the last slot that a scope takes */
	void **top;  /* with checks: after the newest job */
};

/**
 * struct skua_ctx - where a call is in its tree of calls; the fields are private to
 * the library
 */
struct skua_ctx {
	struct skua_forks *forks;
	void **head;
};

/**
 * struct skua_job - a call that other threads may make; embed it, beside the
 * arguments and the result
 * @run: makes the call on another thread, with the context of that thread. It must
 *       return: it must not be left by an exception, longjmp() or pthread_exit(). It
 *       may take any time, fork, and call all functions that a poll function may
 *       call. If it blocks, it blocks the jobs after it
 *
 * The memory must stay in place from the fork to the end of the join.
 */
struct skua_job {
	void (*run)(struct skua_ctx ctx, struct skua_job *job) SKUA_NOEXCEPT;
};

/**
 * skua_run - call a function that forks, and wait for it
 * @rt: live runtime, borrowed
 * @root: the function; called once, with a context and @arg
 * @arg: passed to @root
 *
 * The calling thread runs @root itself and counts as one of the workers meanwhile:
 * with one worker, everything runs on the calling thread. Idle workers take jobs as
 * soon as there are any. When the call returns, all jobs are joined.
 *
 * Workers take jobs of up to SKUA_MAX_EXTERNAL_THREADS external threads at once. The
 * jobs of a further thread run on that thread alone, which allocates their slots.
 *
 * Threads: any; within a poll or a job of @rt, better pass the context down
 * (skua_task_ctx()). @root must not drain, shut down or destroy @rt, which wait for it
 * (-EDEADLK). Blocks: until @root returns and the jobs that other threads have taken
 * are done. Allocates: nothing, with the exception above.
 * Order: writes of a job are visible after its join.
 * Return: 0; -EINVAL (a pointer except @arg is NULL); -ESHUTDOWN (the runtime is
 * shutting down: @root was not called); -ENOMEM (@root was not called; only if
 * SKUA_MAX_EXTERNAL_THREADS threads are in this call of the same runtime); -EOWNERDEAD
 * (in a forked child).
 */
SKUA_API int skua_run(struct skua_runtime *rt,
		      void (*root)(struct skua_ctx ctx, void *arg)
			      SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_task_ctx - fork from within a task
 * @self: the task that the calling thread polls
 *
 * Call it once a poll, and pass the context down. The poll lasts until its jobs are
 * joined, and other tasks of the worker wait for it.
 *
 * Threads: worker, in a poll. Blocks: never. Allocates: nothing.
 * Return: a context; it has two NULLs if the caller does not poll @self.
 */
SKUA_API struct skua_ctx skua_task_ctx(const struct skua_task *self);

/**
 * skua_ctx_check - check the context that a function is given
 * @ctx: of the calling function
 *
 * It is for functions that take a context, such as your own loops; the loops and
 * sorts of the library begin with this call. In code with and without checks, it ends
 * the program, as the checks above do, if the context is of another thread, is kept
 * after skua_run() has returned, or is from before a fork that code with checks made.
 *
 * Threads: that of @ctx. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL if @ctx has NULLs, as skua_task_ctx() may return it.
 */
SKUA_API int skua_ctx_check(struct skua_ctx ctx);

/* skua_fork_wanted - the rest of a fork when other threads ask for jobs; private to
 * the library. As skua_fork(). */
SKUA_API void skua_fork_wanted(struct skua_ctx inner);

/* skua_reclaim_shared - the rest of a join when another thread may have taken the
 * job; private to the library. As skua_reclaim(). */
SKUA_API bool skua_reclaim_shared(struct skua_ctx inner);

/* skua_fork_check - end the program if the arguments of a fork are wrong or, with
 * @joins, those of a reclaim, where a NULL @job stands for the newest job; private to
 * the library. As skua_fork(). */
SKUA_API void skua_fork_check(struct skua_ctx ctx, const struct skua_job *job,
			      bool joins);

/**
 * skua_fork - let other threads make a call
 * @ctx: of the calling function
 * @job: initialised; the library borrows it until skua_reclaim()
 *
 * Threads: that of @ctx. Blocks: never. Allocates: nothing.
 * Order: earlier writes are visible to the thread that runs the job.
 * Return: the context for calls until @job is reclaimed.
 */
static inline struct skua_ctx skua_fork(struct skua_ctx ctx,
					struct skua_job *job)
{
	struct skua_ctx inner = { ctx.forks, ctx.head + 1 };

	if (SKUA_FORK_CHECKS)
		skua_fork_check(ctx, job, false);
	/* Relaxed, both: other threads see the slot and the job after the release
	 * in skua_fork_wanted(); the next fork hears a thread that asks later. */
	__atomic_store_n(ctx.head, SKUA_STATIC_CAST(void *, job),
			 __ATOMIC_RELAXED);
	if (__builtin_expect(
		    __atomic_load_n(&ctx.forks->wanted, __ATOMIC_RELAXED) != 0,
		    0))
		skua_fork_wanted(inner);
	return inner;
}

/**
 * skua_reclaim - end a fork: take the job back, or wait until it is done
 * @inner: the context that skua_fork() returned
 * @job: the job of that fork; all jobs that were forked after it are joined
 *
 * While it waits, the thread runs other jobs on top of its stack, but no tasks.
 *
 * Threads: that of @inner. Blocks: until the job is done, if another thread has
 * taken it. Allocates: nothing.
 * Order: writes of a job that was taken are visible.
 * Return: true if no thread has taken the job and none will: the caller must make the
 * call itself, with the context that it gave to skua_fork(). False if the job is done.
 */
static inline __attribute__((warn_unused_result)) bool
skua_reclaim(struct skua_ctx inner, const struct skua_job *job)
{
	if (SKUA_FORK_CHECKS)
		skua_fork_check(inner, job, true);
	(void)job;
	return __builtin_expect(inner.head > inner.forks->split, 1) ||
	       skua_reclaim_shared(inner);
}

/**
 * skua_wanted - tell whether other threads ask for jobs
 * @ctx: of the calling function
 *
 * It is a hint for loops that make jobs on request: true while other threads find
 * nothing to take. With one worker there are no other threads.
 *
 * Threads: that of @ctx. Blocks: never. Allocates: nothing.
 */
static inline bool skua_wanted(struct skua_ctx ctx)
{
	/* Relaxed: a hint. */
	return __atomic_load_n(&ctx.forks->wanted, __ATOMIC_RELAXED) != 0;
}

/**
 * struct skua_scope - a number of forks that is not known beforehand
 *
 * The fields are private to the library. A scope belongs to one function:
 *
 *	struct skua_scope scope = skua_scope_begin(ctx);
 *
 *	for (node = first; node; node = node->next)
 *		skua_scope_fork(&scope, &node->job);
 *	skua_scope_join(&scope);
 *
 * Pass scope.ctx to functions that fork and are called between the scope's forks.
 */
struct skua_scope {
	struct skua_ctx ctx;
	void **begin;
};

/**
 * skua_scope_begin - a scope without a job
 * @ctx: of the calling function, which uses it again after skua_scope_join()
 *
 * Threads: that of @ctx. Blocks: never. Allocates: nothing.
 */
static inline struct skua_scope skua_scope_begin(struct skua_ctx ctx)
{
	struct skua_scope scope = { ctx, ctx.head };

	return scope;
}

/**
 * skua_scope_fork - let other threads run a job
 * @scope: begun, and not joined
 * @job: initialised; the library borrows it until skua_scope_join()
 *
 * Scopes take half of the slots, up to SKUA_MAX_FORKS / 2 jobs; the rest is for forks
 * of these jobs. A job that finds no slot runs at once, within this call.
 *
 * Threads: that of the scope. Blocks: never, except for such a job.
 * Allocates: nothing.
 * Order: as skua_fork().
 */
static inline void skua_scope_fork(struct skua_scope *scope,
				   struct skua_job *job) SKUA_NOTHROW
{
	if (scope->ctx.head >= scope->ctx.forks->room)
		job->run(scope->ctx, job);
	else
		scope->ctx = skua_fork(scope->ctx, job);
}

/**
 * skua_scope_join - run the jobs that no thread has taken, and wait for the others
 * @scope: has no job afterwards, and may be used again
 *
 * Threads: that of the scope. Blocks: as skua_reclaim(). Allocates: nothing.
 * Order: writes of the jobs are visible.
 */
static inline void skua_scope_join(struct skua_scope *scope) SKUA_NOTHROW
{
	while (scope->ctx.head != scope->begin) {
		struct skua_ctx inner = scope->ctx;
		/* Relaxed: only this thread writes the slot, unless a thief takes
		 * the job. */
		struct skua_job *job = SKUA_STATIC_CAST(
			struct skua_job *,
			__atomic_load_n(inner.head - 1, __ATOMIC_RELAXED));

		scope->ctx.head--;
		/* The library decides what the slot holds once the job is taken. */
		if (skua_reclaim(inner, NULL))
			job->run(scope->ctx, job);
	}
}

SKUA_END_DECLS

#endif
