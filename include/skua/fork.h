/* SPDX-License-Identifier: MIT */
/**
 * fork.h - calls that run in parallel: fork a job, do something else, join it
 *
 * A job is a call that another thread may make meanwhile. It lives on the stack
 * of whoever forks it; nothing is allocated, and while nobody takes it, a fork
 * and its join cost two stores, two loads and two branches. The example, whole:
 *
 *	struct fib_job {
 *		struct skua_job job; // first: fib_run() casts back
 *		long n, result;
 *	};
 *
 *	static long fib(struct skua_ctx ctx, long n);
 *
 *	static void fib_run(struct skua_ctx ctx, struct skua_job *job)
 *	{
 *		struct fib_job *it = (struct fib_job *)job;
 *
 *		it->result = fib(ctx, it->n);
 *	}
 *
 *	static long fib(struct skua_ctx ctx, long n)
 *	{
 *		struct fib_job left;
 *		struct skua_ctx inner;
 *		long right;
 *
 *		if (n < 2)
 *			return n;
 *		left.job.run = fib_run;
 *		left.n = n - 1;
 *		inner = skua_fork(ctx, &left.job);
 *		right = fib(inner, n - 2);
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
 * The job's fields are set behind the test of n, and not by an initializer: most
 * calls are leaves, which would pay for it.
 *
 * A job may run on its own thread, behind all that was forked after it: so it
 * must not wait for anything that another job or the function that forked it is
 * going to do; and only a join may wait for it.
 *
 * A context says on which thread the call runs, and what it has forked so far.
 * It is passed down by value: skua_fork() returns the one for what comes behind
 * it, and skua_reclaim() is given that one back; then the one before it holds
 * again. Jobs are joined in reverse order, all of them, before the function that
 * forked them returns, and also where an exception is going to leave it: what it
 * calls between a fork and its join throws nothing, or is caught there. A context
 * is used by the thread that it was given to, and by no other: a job gets its own.
 *
 * Tasks beside jobs. A worker looks at its tasks between two jobs that it took,
 * not within one, which may be half of the whole computation. For each thread
 * outside that computes (skua_run()), one worker less helps, and polls tasks as
 * soon as ever. When a task computes, all workers may be within it: another task
 * then waits for about as long as the computation takes; and so does, at any
 * time, a task that is bound to a worker that helps. (How long that is:
 * `skua-bench run beside`.)
 *
 * Jobs that are forked and not joined take 8 bytes each of a reserve besides
 * their own memory, as many as fit on a stack at 64 bytes each: SKUA_MAX_FORKS
 * of them on a thread, or fewer, if the process's stacks are limited to less
 * than 8 MB (RLIMIT_STACK). Past that a page that cannot be written ends the
 * program, as it does past the end of the stack.
 *
 * Checks. Where SKUA_FORK_CHECKS is 1, each fork and each reclaim is checked,
 * and a mistake ends the program by abort(), with a line on stderr: no context,
 * or one of another thread, or one that is kept after skua_run() has returned; a
 * job without a function; joins out of order, of another job, or missing; more
 * jobs than there is room for; a loop, a sort or skua_ctx_check() with the context
 * from before a fork. (A poll that leaves a job behind is found when its worker computes next.)
 * It is 1 by default in code compiled with neither optimisation nor NDEBUG, and
 * may be set before this header is included. Code with checks and without may
 * call each other.
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

/* Jobs that are forked and not joined, of one thread, at most; see above. */
#define SKUA_MAX_FORKS (1u << 17)

/* Threads outside a runtime that compute in it at once, and are helped. */
#define SKUA_MAX_EXTERNAL_THREADS 16

struct skua_runtime;
struct skua_task;
struct skua_job;

/*
 * What a thread has forked; the library's. Its layout is part of the binary
 * interface, as the functions below are inlined into programs.
 */
struct skua_forks {
	void **split;    /* what is not before it is the thread's own */
	uint32_t wanted; /* whether others ask for jobs */
	uint32_t reserved;
	void **end;  /* behind the last slot */
	void **room; /* behind the last one that a scope takes */
	void **top;  /* with checks: behind the newest job */
};

/**
 * struct skua_ctx - where a call is in its tree of calls; the fields are the
 * library's
 */
struct skua_ctx {
	struct skua_forks *forks;
	void **head;
};

/**
 * struct skua_job - a call that others may make; embed it, with the arguments
 * and the result
 * @run: makes the call on another thread, with that one's context. Returns: it
 *       must not be left by an exception, longjmp() or pthread_exit(). It may
 *       take as long as it likes, fork, and call whatever a poll function may;
 *       what blocks in it blocks the jobs behind it
 *
 * The memory stays in place from the fork to the end of the join.
 */
struct skua_job {
	void (*run)(struct skua_ctx ctx, struct skua_job *job) SKUA_NOEXCEPT;
};

/**
 * skua_run - call a function that forks, and wait for it
 * @rt: live runtime, borrowed
 * @root: the function; called once, with a context, and @arg
 * @arg: the function's
 *
 * The caller makes the call itself, and counts as one of the workers meanwhile:
 * with one worker all runs on the calling thread. Idle workers take jobs as soon
 * as there are any. Once @root has returned, nothing of it is left.
 *
 * SKUA_MAX_EXTERNAL_THREADS threads at once may have others take their jobs; those of a
 * further one run on its own thread, which allocates room for them.
 *
 * Threads: any; within a poll or a job of @rt, rather pass the context down
 * (skua_task_ctx()). @root must not drain, shut down or destroy @rt, which wait
 * for it (-EDEADLK). Blocks: as long as @root does, and until a job is done that
 * another thread has taken. Allocates: nothing, but as said.
 * Order: what jobs write is visible after their join.
 * Return: 0; -EINVAL (a pointer but @arg is NULL); -ESHUTDOWN (the runtime is
 * shutting down: @root was not called); -ENOMEM (likewise, and only if
 * SKUA_MAX_EXTERNAL_THREADS threads are in this call of the same runtime); -EOWNERDEAD (in
 * a forked child).
 */
SKUA_API int skua_run(struct skua_runtime *rt,
		      void (*root)(struct skua_ctx ctx, void *arg)
			      SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_task_ctx - fork from within a task
 * @self: the task that the calling thread polls
 *
 * For this poll; once, to be passed down. The poll lasts until its jobs are
 * joined, and other tasks wait for it.
 *
 * Threads: worker, in a poll. Blocks: never. Allocates: nothing.
 * Return: a context; one of two NULLs if @self is not polled by the caller.
 */
SKUA_API struct skua_ctx skua_task_ctx(const struct skua_task *self);

/**
 * skua_ctx_check - check the context that a function is given
 * @ctx: of the calling function
 *
 * For functions that take a context, as a loop of your own does; the loops and
 * sorts of the library begin with this call. It checks in all code what the checks
 * above say of contexts, and ends the program likewise: a context of another
 * thread; one that is kept after skua_run() has returned; one from before a fork,
 * if code with checks made that fork.
 *
 * Threads: that of @ctx. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL if @ctx is none, as skua_task_ctx() returns it.
 */
SKUA_API int skua_ctx_check(struct skua_ctx ctx);

/* skua_fork_wanted - the rest of a fork that others have asked for; the
 * library's. As skua_fork(). */
SKUA_API void skua_fork_wanted(struct skua_ctx inner);

/* skua_reclaim_shared - the rest of a join of a job that others may have taken;
 * the library's. As skua_reclaim(). */
SKUA_API bool skua_reclaim_shared(struct skua_ctx inner);

/* skua_fork_check - end the program if the arguments of a fork are wrong, or,
 * with @joins, of a reclaim, where @job may be NULL: the newest, whichever it is;
 * the library's. As skua_fork(). */
SKUA_API void skua_fork_check(struct skua_ctx ctx, const struct skua_job *job,
			      bool joins);

/**
 * skua_fork - let others make a call
 * @ctx: of the calling function
 * @job: initialised; the caller's again after skua_reclaim()
 *
 * Threads: that of @ctx. Blocks: never. Allocates: nothing.
 * Order: what was written before is visible to whoever runs the job.
 * Return: the context for what is called until @job is reclaimed.
 */
static inline struct skua_ctx skua_fork(struct skua_ctx ctx,
					struct skua_job *job)
{
	struct skua_ctx inner = { ctx.forks, ctx.head + 1 };

	if (SKUA_FORK_CHECKS)
		skua_fork_check(ctx, job, false);
	/* Relaxed, both: others see the slot, and what is in it, behind the
	 * release of skua_fork_wanted(); who asks later is heard later. */
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
 * @inner: what skua_fork() returned
 * @job: what it was given; all jobs that were forked after it are joined
 *
 * Waiting, the thread runs other jobs, on top of its stack, but no tasks.
 *
 * Threads: that of @inner. Blocks: until the job is done, if another thread has
 * taken it. Allocates: nothing.
 * Order: what the job wrote is visible, if it was taken.
 * Return: true if nobody has taken the job and nobody will: the caller makes the
 * call itself, with the context that it gave to skua_fork(). False if it is
 * done.
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
 * skua_wanted - do others ask for jobs?
 * @ctx: of the calling function
 *
 * A hint for loops that make jobs on request: true while there is nothing for
 * others to take. With one worker there are no others.
 *
 * Threads: that of @ctx. Blocks: never. Allocates: nothing.
 */
static inline bool skua_wanted(struct skua_ctx ctx)
{
	/* Relaxed: a hint. */
	return __atomic_load_n(&ctx.forks->wanted, __ATOMIC_RELAXED) != 0;
}

/**
 * struct skua_scope - a number of forks that is known only as they are made
 *
 * The fields are the library's. A scope is one function's:
 *
 *	struct skua_scope scope = skua_scope_begin(ctx);
 *
 *	for (node = first; node; node = node->next)
 *		skua_scope_fork(&scope, &node->job);
 *	skua_scope_join(&scope);
 *
 * To call something that forks between its forks, give it scope.ctx.
 */
struct skua_scope {
	struct skua_ctx ctx;
	void **begin;
};

/**
 * skua_scope_begin - a scope without a job
 * @ctx: of the calling function, which uses it again behind skua_scope_join()
 *
 * Threads: that of @ctx. Blocks: never. Allocates: nothing.
 */
static inline struct skua_scope skua_scope_begin(struct skua_ctx ctx)
{
	struct skua_scope scope = { ctx, ctx.head };

	return scope;
}

/**
 * skua_scope_fork - let others run a job
 * @scope: begun, and not joined
 * @job: initialised; the caller's again after skua_scope_join()
 *
 * Scopes take half of the room, up to SKUA_MAX_FORKS / 2 jobs: what these fork
 * has the rest. A job that finds none any more runs at once.
 *
 * Threads: that of the scope. Blocks: never, but for such a job.
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
 * skua_scope_join - run what nobody has taken, and wait for the rest
 * @scope: has no job any more afterwards, and may be used again
 *
 * Threads: that of the scope. Blocks: as skua_reclaim(). Allocates: nothing.
 * Order: what the jobs wrote is visible.
 */
static inline void skua_scope_join(struct skua_scope *scope) SKUA_NOTHROW
{
	while (scope->ctx.head != scope->begin) {
		struct skua_ctx inner = scope->ctx;
		/* Relaxed: the thread's own, unless somebody takes it. */
		struct skua_job *job = SKUA_STATIC_CAST(
			struct skua_job *,
			__atomic_load_n(inner.head - 1, __ATOMIC_RELAXED));

		scope->ctx.head--;
		/* What it is once it was taken, is the library's. */
		if (skua_reclaim(inner, NULL))
			job->run(scope->ctx, job);
	}
}

SKUA_END_DECLS

#endif
