/* SPDX-License-Identifier: MIT */
/* fork_api.c - the public functions of fork-join */
#include <errno.h>

#include "core/loop/current.h"
#include "core/base/boundary.h"
#include "core/fiber/fiber.h"
#include "core/fork_join/fork_join.h"
#include "core/fork_join/job_slots.h"
#include "core/runtime/runtime.h"
#include "core/wait/wait.h"
#include "probes/counters.h"

void skua_fork_wanted(struct skua_ctx inner)
{
	fork_join_publish_owner(fork_join_of(inner), inner.head);
}

bool skua_reclaim_shared(struct skua_ctx inner)
{
	struct fork_join *fj = fork_join_of(inner);
	atomic_ptr *slot = (atomic_ptr *)inner.head - 1;

	if (split_deque_reclaim_owner(&fj->deque, slot))
		return true;
	fork_join_wait_owner(fj, slot);
	return false;
}

/* ---- mistakes ------------------------------------------------------------- */

/* Return the check record of the job in @slot. */
static struct job_check *check_of(struct skua_ctx ctx, void **slot)
{
	return fork_join_of(ctx)->checks +
	       (slot - (void **)fork_join_of(ctx)->deque.slots);
}

/* Return the mistake in a fork; NULL: none. Functions that are compiled without
 * checks fork jobs without recording them: then @ctx.head is above the recorded
 * top. */
static const char *find_fork_mistake(struct skua_ctx ctx,
				     const struct skua_job *job)
{
	if (!job || !job->run)
		return "skua_fork() is given no job, or one without a function: "
		       "set the job's run";
	if (ctx.head < ctx.forks->top)
		return "a function has forked a job, and not joined it: call "
		       "skua_reclaim() before the next fork from its context";
	if (ctx.head >= ctx.forks->end)
		return "more than SKUA_MAX_FORKS jobs are forked and not "
		       "joined; the limit is lower if RLIMIT_STACK is below "
		       "8 MB";
	return NULL;
}

static const char *find_join_mistake(struct skua_ctx inner,
				     const struct skua_job *job)
{
	if (inner.head ==
	    (void **)split_deque_head_owner(&fork_join_of(inner)->deque))
		return "a job is joined, and none has been forked: join each "
		       "forked job once";
	if (inner.head != inner.forks->top ||
	    (job && check_of(inner, inner.head - 1)->job != job))
		return "a job is joined that is not the newest: join jobs in "
		       "the reverse order of their forks";
	return NULL;
}

void skua_fork_check(struct skua_ctx ctx, const struct skua_job *job,
		     bool joins)
{
	const char *mistake;

	if (!ctx.forks)
		fork_join_abort(
			"no context: a fork outside of skua_run() and of "
			"tasks; use the context of skua_run() or "
			"skua_task_ctx()");
	fork_join_check_thread_owner(ctx);
	if (!fork_join_have_checks_owner(fork_join_of(ctx)))
		fork_join_abort(
			"there is no memory to check forks: free memory, or "
			"compile with SKUA_FORK_CHECKS=0");
	mistake = joins ? find_join_mistake(ctx, job)
			: find_fork_mistake(ctx, job);
	if (mistake)
		fork_join_abort(mistake);
	if (joins) {
		ctx.forks->top = check_of(ctx, ctx.head - 1)->top;
	} else {
		*check_of(ctx, ctx.head) =
			(struct job_check){ job, ctx.forks->top };
		ctx.forks->top = ctx.head + 1;
	}
}

int skua_ctx_check(struct skua_ctx ctx)
{
	if (!ctx.forks || !ctx.head)
		return -EINVAL;
	fork_join_check_ctx_owner(ctx);
	return 0;
}

/* ---- where forks begin ---------------------------------------------------- */

struct skua_ctx skua_task_ctx(const struct skua_task *self)
{
	struct skua_ctx ctx = { NULL, NULL };
	struct worker *worker;

	if (!self || !current_polls(self))
		return ctx;
	worker = current_here();
	if (!fork_join_have_guard_owner(worker->fork_join))
		return ctx;
	team_begin_forking(&worker->pool->team);
	worker->forked_at = worker->area.counters.tasks_polled;
	ctx = fork_join_ctx_owner(worker->fork_join);
	worker->fork_join->on_fiber = fiber_is(self);
	/* Ends the program if an earlier poll has left jobs that are not
	 * joined. */
	fork_join_check_end_owner(worker->fork_join, ctx.head);
	return ctx;
}

int skua_task_ctx_end(const struct skua_task *self)
{
	struct worker *worker;

	if (!self)
		return -EINVAL;
	if (!current_polls(self))
		return -EPERM;
	worker = current_here();
	/* Ends the program if there are jobs that are not joined. */
	fork_join_check_end_owner(worker->fork_join,
				  fork_join_ctx_owner(worker->fork_join).head);
	/* Within skua_run(), the poll goes on forking. 0 is not the number of a poll: that
	 * begins at 1. */
	if (!fork_region_within(worker))
		worker->forked_at = 0;
	return 0;
}

static bool polls_fiber(const struct worker *worker)
{
	const struct skua_task *task =
		worker ? (const struct skua_task *)worker->area.task : NULL;

	return task && fiber_is(task);
}

/* Call @root. The jobs that it forks belong to the thread, so a fiber that calls stays on its
 * worker meanwhile, as with a context of skua_task_ctx().
 * @place: of the thread in the team, or EVENT_NO_PLACE */
static void run(struct fork_join *fj, uint64_t place,
		void (*root)(struct skua_ctx, void *), void *arg)
{
	struct skua_ctx ctx = fork_join_ctx_owner(fj);
	struct telemetry *telemetry = fj->team->telemetry;
	struct worker *worker = current_here();
	const uint64_t forked_at = worker ? worker->forked_at : 0;
	struct fork_region region;

	if (worker)
		worker->forked_at = worker->area.counters.tasks_polled;
	fj->on_fiber = polls_fiber(worker);
	fork_region_begin(&region, fj->team, worker);
	telemetry_fork(telemetry, EVENT_RUN_BEGIN, (uintptr_t)root, place);
	root(ctx, arg);
	BOUNDARY(root);
	telemetry_fork(telemetry, EVENT_RUN_END, (uintptr_t)root, place);
	fork_region_end(&region);
	if (worker)
		worker->forked_at = forked_at;
	fork_join_check_end_owner(fj, ctx.head);
	fj->thread = NULL;
}

/* Run without a place in the team: no other thread takes the jobs. */
static int run_alone(struct pool *pool, void (*root)(struct skua_ctx, void *),
		     void *arg)
{
	struct fork_join fj = { 0 };
	struct job_slots slots;
	int code = job_slots_map(&slots, 1, 0);

	if (code)
		return code;
	fork_join_init(&fj, &pool->team, 0, job_slots_of(&slots, 0),
		       slots.count, false, NULL);
	if (fork_join_have_guard_owner(&fj))
		run(&fj, EVENT_NO_PLACE, root, arg);
	else
		code = -ENOMEM;
	fork_join_destroy(&fj);
	job_slots_unmap(&slots);
	return code;
}

/* Tell other processes of the call of a thread that has a place. */
static void show_call(struct fork_join *fj,
		      void (*root)(struct skua_ctx, void *))
{
	/* Relaxed: this thread has written it. */
	counter_set_owner(&fj->call.since_ns,
			  atomic_load_relaxed(&fj->taken_ns));
	counter_set_owner(&fj->call.root, (uintptr_t)root);
	/* Release: publishes the other words. Pairs with read_call() of open_calls.c, in
	 * another process, which reads all words twice. */
	atomic_store_release((atomic_u64 *)&fj->call.tid,
			     wait_thread_here()->id);
}

static int run_external(struct pool *pool, unsigned group,
			void (*root)(struct skua_ctx, void *), void *arg)
{
	struct fork_join *external = team_enter(&pool->team, group);

	if (external && !fork_join_have_guard_owner(external)) {
		team_leave(&pool->team, external);
		team_pass_on(&pool->team, group); /* F3 */
		external = NULL;
	}
	if (!external)
		return run_alone(pool, root, arg);
	team_begin_forking(&pool->team);
	show_call(external, root);
	run(external, external->index, root, arg);
	counter_set_owner(&external->call.tid, 0);
	team_leave(&pool->team, external);
	team_pass_on(&pool->team, group); /* F3 */
	return 0;
}

int skua_run(struct skua_runtime *rt, void (*root)(struct skua_ctx, void *),
	     void *arg)
{
	unsigned group;
	int code;

	if (!rt || !root)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	/* The call counts as a task, so that a drain waits for it. */
	group = idle_group_here(&rt->pool.idle);
	code = pool_enter_spawn(&rt->pool, group);
	if (!code) {
		code = run_external(&rt->pool, group, root, arg);
		pool_end_spawn(&rt->pool);
	}
	pool_leave(&rt->pool, group);
	return code;
}
