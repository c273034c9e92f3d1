/* SPDX-License-Identifier: MIT */
/**
 * fork.h - calls that run in parallel: fork a job, do other work, join the job
 *
 * A job is a function call that another thread may make while its caller does other
 * work. It lives on the stack of the function that forks it, so nothing is allocated.
 * While no thread takes the job, its fork and its join cost two stores, two loads and
 * two branches. A complete example:
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
 *		if (skua_reclaim(inner, &left.job)) // no thread took it
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
 * The test of n is in an inline function of its own, so that a leaf costs no call.
 * Half of all calls are leaves, and a call costs about as much as a fork: with the
 * test inside fork_fib(), this program takes half as long again.
 *
 * The thread that forked a job may run it itself, after all jobs that it forked
 * later. So a job must not wait for another job, nor for the function that forked it.
 * Only a join may wait for a job.
 *
 * A context says on which thread a call runs, and which jobs that thread has forked.
 * It is passed down by value. skua_fork() returns the context for the calls that
 * follow; after skua_reclaim() the earlier context is valid again. A function must
 * join all jobs that it forked, in reverse order, before it returns. This includes a
 * return by an exception: calls between a fork and its join must not throw, or the
 * function must catch the exception there. Only the thread that received a context
 * may use it: each job gets a context of its own.
 *
 * Tasks beside jobs. A worker that runs jobs of other threads checks for tasks
 * between two of these jobs, but not inside one, which may be half of the whole
 * computation. For each external thread that computes (skua_run()), one worker fewer
 * helps, and that worker keeps polling tasks. When a task computes, all workers may
 * help; other tasks then wait for about as long as the computation takes. A task that
 * is bound to a worker that helps may wait as long in either case. `skua-bench run
 * beside` measures these waits.
 *
 * Each job that is forked and not yet joined takes 8 bytes of a reserve, besides its
 * own memory. The reserve has as many slots as jobs of 64 bytes fit on a stack:
 * SKUA_MAX_FORKS for each thread, or fewer if the stacks of the process are limited
 * to less than 8 MB (RLIMIT_STACK). After the last slot comes a guard page: a write to
 * it ends the program, as with a stack. The guard page is made when the thread first
 * forks or takes a job.
 *
 * Checks. Where SKUA_FORK_CHECKS is 1, the library checks each fork and each reclaim,
 * and a mistake ends the program by abort(), with a line on stderr. Mistakes are:
 *
 * - no context, a context of another thread, or one that is used after skua_run() has
 *   returned
 * - a job without a function
 * - a join out of order, a join of another job, or a missing join
 * - more jobs than the reserve has slots
 * - a loop, a sort or skua_ctx_check() with the context from before a fork
 *
 * If a poll ends without joining a job, the next computation of its worker reports
 * the mistake. By default, SKUA_FORK_CHECKS is 1 in code compiled without
 * optimisation and without NDEBUG; a program may define it before it includes this
 * header. Code with checks and code without may call each other.
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

/* The maximum number of jobs that a thread may have forked and not joined; see
 * above. */
#define SKUA_MAX_FORKS (1u << 17)

/* The maximum number of external threads of a runtime that workers help at the
 * same time. */
#define SKUA_MAX_EXTERNAL_THREADS 16

struct skua_runtime;
struct skua_task;
struct skua_job;

/*
 * The jobs that a thread has forked; private to the library. The layout is part of
 * the binary interface, because the functions below are inlined into programs.
 */
struct skua_forks {
	void **split;    /* slots from here on are private to the thread */
	uint32_t wanted; /* not 0: other threads ask for jobs */
	uint32_t reserved;
	void **end;  /* after the last slot */
	void **room; /* after the last slot that scopes use */
	void **top;  /* with checks: after the newest job */
};

/**
 * struct skua_ctx - the place of a call in its tree of calls; the fields are private
 * to the library
 */
struct skua_ctx {
	/* private: to the library */
	struct skua_forks *forks;
	void **head;
};

/**
 * struct skua_job - a call that another thread may make; embed it beside the
 * arguments and the result
 * @run: makes the call, with a context of the thread that runs it: another thread
 *       or, in a scope, also the thread that forked the job. It must return: no
 *       exception, longjmp() or pthread_exit() may leave it. It may take any time,
 *       fork, and call every function that a poll function may call. If it blocks,
 *       it also delays the jobs that the same thread runs after it
 *
 * The memory must stay in place from the fork to the end of the join.
 */
struct skua_job {
	void (*run)(struct skua_ctx ctx, struct skua_job *job) SKUA_NOEXCEPT;
};

/**
 * skua_run - call a function that forks, and wait until it returns
 * @rt: live runtime, borrowed
 * @root: function to call; it is called once, with a context and @arg
 * @arg: passed to @root; may be NULL
 *
 * The calling thread runs @root itself, and takes the place of one worker meanwhile:
 * with one worker, everything runs on the calling thread. Idle workers take jobs as
 * soon as there are any; workers that are awake wait 5 us first, so that a short call
 * is not slower than with one worker. When skua_run() returns, all jobs are joined.
 *
 * Workers take jobs of up to SKUA_MAX_EXTERNAL_THREADS external threads at the same
 * time. If further threads call skua_run(), each of them runs its jobs alone, and
 * allocates the slots for them.
 *
 * @root must not drain, shut down or destroy @rt: these calls would wait for @root,
 * and return -EDEADLK instead.
 *
 * Threads: any. In a poll or a job of @rt, pass the context down instead
 * (skua_task_ctx()). Blocks: until @root has returned and the jobs that other threads
 * took are done. Allocates: nothing, except a guard page, and slots for a further thread
 * as above.
 * Order: writes of a job are visible after its join.
 * Return: 0; -EINVAL (@rt or @root is NULL); -ESHUTDOWN (the runtime is shutting
 * down: @root was not called); -ENOMEM (there is no memory for the guard page, or for the
 * slots of a further thread: @root was not called); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_run(struct skua_runtime *rt,
		      void (*root)(struct skua_ctx ctx, void *arg)
			      SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_task_ctx - return a context with which a task can fork
 * @self: task that the calling thread is polling, borrowed
 *
 * Call it once in a poll, and pass the context down. The poll lasts until its jobs
 * are joined; other tasks of the worker wait meanwhile.
 *
 * Threads: worker, in a poll. Blocks: never. Allocates: nothing, except the guard page
 * of the worker, once.
 * Return: the context. If the caller does not poll @self, or there is no memory for the
 * guard page, both fields of the context are NULL: skua_ctx_check() returns -EINVAL for
 * it, as the loops and sorts of the library do, and skua_fork() must not get it.
 */
SKUA_API struct skua_ctx skua_task_ctx(const struct skua_task *self);

/**
 * skua_task_ctx_end - give the context of skua_task_ctx() back before the poll ends
 * @self: task that the calling thread is polling, borrowed; it has joined all its jobs
 *
 * A fiber calls this before it waits: the context belongs to a worker, and a fiber may
 * go on on another one. Until then, calls that would wait return -EDEADLK. The context
 * must not be used afterwards. In other tasks the end of the poll does the same.
 *
 * Threads: worker, in a poll. Blocks: never. Allocates: nothing.
 * Return: 0, also if @self has no context; -EINVAL (@self is NULL); -EPERM (@self is not
 * being polled).
 */
SKUA_API int skua_task_ctx_end(const struct skua_task *self);

/**
 * skua_ctx_check - check the context that a function received
 * @ctx: context of the calling function
 *
 * Use it in functions that take a context, for example in loops of your own; the
 * loops and sorts of the library begin with this call. It ends the program, in the
 * same way as the checks above and whatever SKUA_FORK_CHECKS is, if @ctx belongs to
 * another thread, if skua_run() has returned since, or if @ctx is from before a fork
 * that code with checks made.
 *
 * Threads: the thread of @ctx. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL if a field of @ctx is NULL, as skua_task_ctx() may return it.
 */
SKUA_API int skua_ctx_check(struct skua_ctx ctx);

/* skua_fork_wanted - offer jobs to threads that ask for them, as the slow part of
 * a fork; private to the library. As skua_fork(). */
SKUA_API void skua_fork_wanted(struct skua_ctx inner);

/* skua_reclaim_shared - take back or wait for a job that another thread may have
 * taken, as the slow part of a join; private to the library. As skua_reclaim(). */
SKUA_API bool skua_reclaim_shared(struct skua_ctx inner);

/* skua_fork_check - end the program if the arguments of a fork or, with @joins, of
 * a reclaim are wrong; private to the library. A NULL @job of a reclaim stands for
 * the newest job. As skua_fork(). */
SKUA_API void skua_fork_check(struct skua_ctx ctx, const struct skua_job *job,
			      bool joins);

/**
 * skua_fork - offer a job to other threads
 * @ctx: context of the calling function
 * @job: initialised; borrowed until skua_reclaim() of the job
 *
 * Threads: the thread of @ctx. Blocks: never. Allocates: nothing; with checks, the
 * first fork of a thread allocates memory for them, and ends the program if there is
 * none.
 * Order: writes before the call are visible to the thread that runs the job.
 * Return: the context for the calls that the function makes before it reclaims @job.
 */
static inline struct skua_ctx skua_fork(struct skua_ctx ctx,
					struct skua_job *job)
{
	struct skua_ctx inner = { ctx.forks, ctx.head + 1 };

	if (SKUA_FORK_CHECKS)
		skua_fork_check(ctx, job, false);
	/* Both relaxed: other threads see the slot and the job only after the
	 * release in skua_fork_wanted(). If another thread asks later, the next
	 * fork sees that. */
	__atomic_store_n(ctx.head, SKUA_STATIC_CAST(void *, job),
			 __ATOMIC_RELAXED);
	if (__builtin_expect(
		    __atomic_load_n(&ctx.forks->wanted, __ATOMIC_RELAXED) != 0,
		    0))
		skua_fork_wanted(inner);
	return inner;
}

/**
 * skua_reclaim - join a job: take it back, or wait until it is done
 * @inner: context that skua_fork() returned
 * @job: job of that fork. All jobs that were forked after it must be joined already
 *
 * While it waits, the thread runs other jobs on top of its stack, but no tasks. On the
 * stack of a fiber it runs only jobs of the thread that has taken @job, which usually
 * are parts of @job.
 *
 * Threads: the thread of @inner. Blocks: until the job is done, if another thread has
 * taken it. Allocates: nothing.
 * Order: if another thread ran the job, its writes are visible after the call.
 * Return: true if no thread has taken the job, and none will: the caller must make
 * the call itself, with the context that it passed to skua_fork(). False if the job
 * is done.
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
 * @ctx: context of the calling function
 *
 * A hint for loops that make jobs on request: true while other threads search and
 * find no job. With one worker, no other thread asks.
 *
 * Threads: the thread of @ctx. Blocks: never. Allocates: nothing.
 */
static inline bool skua_wanted(struct skua_ctx ctx)
{
	/* Relaxed: a hint. */
	return __atomic_load_n(&ctx.forks->wanted, __ATOMIC_RELAXED) != 0;
}

/**
 * struct skua_scope - forks whose number is not known beforehand
 * @ctx: context for calls of functions that fork, between the forks of the scope
 *
 * A scope belongs to one function:
 *
 *	struct skua_scope scope = skua_scope_begin(ctx);
 *
 *	for (node = first; node; node = node->next)
 *		skua_scope_fork(&scope, &node->job);
 *	skua_scope_join(&scope);
 */
struct skua_scope {
	struct skua_ctx ctx;
	/* private: to the library */
	void **begin;
};

/**
 * skua_scope_begin - return a scope that has no job yet
 * @ctx: context of the calling function, which uses it again only after
 *       skua_scope_join()
 *
 * Threads: the thread of @ctx. Blocks: never. Allocates: nothing.
 */
static inline struct skua_scope skua_scope_begin(struct skua_ctx ctx)
{
	struct skua_scope scope = { ctx, ctx.head };

	return scope;
}

/**
 * skua_scope_fork - offer a job of a scope to other threads
 * @scope: begun and not yet joined
 * @job: initialised; borrowed until skua_scope_join()
 *
 * Scopes use half of the slots, up to SKUA_MAX_FORKS / 2 jobs; the other half is left
 * for the forks of these jobs. A job that finds no free slot runs at once, inside
 * this call.
 *
 * Threads: the thread of the scope. Blocks: never, unless the job runs inside the
 * call. Allocates: nothing.
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
 * skua_scope_join - run the jobs that no thread has taken, and wait for the other
 * ones
 * @scope: begun; has no job afterwards, and may be used again
 *
 * Threads: the thread of the scope. Blocks: as skua_reclaim(). Allocates: nothing.
 * Order: writes of the jobs are visible after the call.
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
		/* NULL, because the slot no longer holds the job once a thief has
		 * taken it. */
		if (skua_reclaim(inner, NULL))
			job->run(scope->ctx, job);
	}
}

SKUA_END_DECLS

#endif
