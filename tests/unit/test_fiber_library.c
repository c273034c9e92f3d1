/* SPDX-License-Identifier: MIT */
/* test_fiber_library.c - fibers of the library, jobs in fibers, and how tools show them */
#include "tests/unit/fiber_calls.h"

/* ---- fibers of the library ---------------------------------------------- */

struct tally {
	atomic_u32 calls;
	atomic_u32 fibers;
};

static void count_call(void *arg)
{
	struct tally *tally = arg;

	assert_int_equal(skua_yield(), 0);
	/* Relaxed, both: the drain orders them. */
	atomic_fetch_add_relaxed(&tally->calls, 1);
	if (skua_fiber_self())
		atomic_fetch_add_relaxed(&tally->fibers, 1);
	assert_int_equal(skua_yield(), 0);
}

static int spawn_calls(struct call *it)
{
	for (unsigned n = 0; n < 1000; n++)
		assert_int_equal(
			skua_fiber_spawn(it->rt, NULL, count_call, it->arg), 0);
	return 0;
}

TEST(spawn__from_outside_and_from_a_fiber__each_called_once)
{
	static const struct skua_task_type type = SKUA_TASK_TYPE("counting");
	struct skua_runtime *rt = runtime_new(2, 0);
	struct tally tally = { 0 };

	assert_int_equal(skua_fiber_spawn(NULL, NULL, count_call, NULL),
			 -EINVAL);
	assert_int_equal(skua_fiber_spawn(rt, NULL, NULL, NULL), -EINVAL);
	for (unsigned n = 0; n < 1000; n++)
		assert_int_equal(
			skua_fiber_spawn(rt, &type, count_call, &tally), 0);
	assert_int_equal(call_in_fiber(rt, spawn_calls, &tally), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(atomic_load_relaxed(&tally.calls), 2000);
	assert_int_equal(atomic_load_relaxed(&tally.fibers), 2000);
	destroy(rt);
}

TEST(spawn__after_a_shutdown__eshutdown)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(
		skua_runtime_shutdown(rt, SKUA_FOREVER_NS, SKUA_SHUTDOWN_RUN),
		0);
	assert_int_equal(skua_fiber_spawn(rt, NULL, count_call, NULL),
			 -ESHUTDOWN);
	destroy(rt);
}

static int mask_twice(struct call *it)
{
	assert_int_equal(skua_cancel_unmask(), -EINVAL);
	assert_int_equal(skua_cancel_mask(), 0);
	assert_int_equal(skua_cancel_mask(), 0);
	assert_int_equal(skua_cancel_unmask(), 0);
	assert_true(fiber_cancel_masked(&it->fiber));
	assert_int_equal(skua_cancel_unmask(), 0);
	assert_false(fiber_cancel_masked(&it->fiber));
	assert_int_equal(skua_cancel_mask(), 0);
	return 0;
}

TEST(cancel_mask__counted__until_the_end)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct call it = { .rt = rt };

	assert_int_equal(skua_cancel_mask(), -EPERM);
	assert_int_equal(skua_cancel_unmask(), -EPERM);
	call_init(&it, mask_twice, NULL);
	for (unsigned n = 0; n < 2; n++) {
		spawn(rt, &it.fiber.task);
		join(&it.fiber.task);
		assert_int_equal(it.result, 0);
	}
	destroy(rt);
}

static __attribute__((noinline)) int use_40000(struct call *it)
{
	char large[40000];

	large[0] = 1;
	/* So that the compiler keeps all of it. */
	__asm__ volatile("" : : "r"(large) : "memory");
	assert_in_range(skua_fiber_stack_used(&it->fiber), 40000, 81920);
	return large[0];
}

static int use_stack(struct call *it)
{
	assert_in_range(skua_fiber_stack_used(&it->fiber), 1, 32768);
	return use_40000(it);
}

TEST(stack_used__deep_call__counted)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_fiber fiber;

	assert_int_equal(skua_fiber_init(&fiber, do_nothing, 0), 0);
	assert_int_equal(skua_fiber_stack_used(&fiber), 0);
	assert_int_equal(skua_fiber_stack_used(NULL), 0);
	assert_int_equal(call_in_fiber(rt, use_stack, NULL), 1);
	destroy(rt);
}

/* ---- jobs --------------------------------------------------------------- */

static int wait_with_context(struct call *it)
{
	struct skua_ctx ctx = skua_task_ctx(&it->fiber.task);

	assert_non_null(ctx.forks);
	assert_int_equal(skua_yield(), -EDEADLK);
	assert_int_equal(skua_await(), -EDEADLK);
	assert_int_equal(skua_task_ctx_end(&it->fiber.task), 0);
	return skua_yield();
}

TEST(yield__with_a_context__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(call_in_fiber(rt, wait_with_context, NULL), 0);
	destroy(rt);
}

static int keep_context(struct call *it)
{
	skua_task_ctx(&it->fiber.task);
	return 0;
}

static int join_forkers(struct call *it)
{
	for (unsigned n = 0; n < 100; n++) {
		struct call child = { .rt = it->rt };

		call_init(&child, keep_context, NULL);
		if (join_child(it, &child.fiber.task) || skua_yield())
			return -1;
	}
	return 0;
}

TEST(yield__child_within_had_a_context__yields)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(call_in_fiber(rt, join_forkers, NULL), 0);
	destroy(rt);
}

TEST(ctx_end__not_polled__eperm)
{
	struct skua_task task = SKUA_TASK_INIT(count_poll);

	assert_int_equal(skua_task_ctx_end(NULL), -EINVAL);
	assert_int_equal(skua_task_ctx_end(&task), -EPERM);
}

/* A job waits: it is refused, on each thread. */
struct waiting_job {
	struct skua_job job; /* first: a job is its waiting_job */
	int code;
};

static void wait_in_job(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	((struct waiting_job *)job)->code = skua_yield();
}

static int fork_waiting_jobs(struct call *it)
{
	struct skua_ctx ctx = skua_task_ctx(&it->fiber.task);
	struct skua_scope scope = skua_scope_begin(ctx);
	struct waiting_job jobs[64];

	for (unsigned i = 0; i < COUNT_OF(jobs); i++) {
		jobs[i] = (struct waiting_job){ { wait_in_job }, 0 };
		skua_scope_fork(&scope, &jobs[i].job);
	}
	skua_scope_join(&scope);
	for (unsigned i = 0; i < COUNT_OF(jobs); i++) {
		if (jobs[i].code != -EDEADLK)
			return -1;
	}
	assert_int_equal(skua_task_ctx_end(&it->fiber.task), 0);
	return skua_yield();
}

TEST(yield__in_a_job__edeadlk)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);

		for (unsigned n = 0; n < 100; n++)
			assert_int_equal(
				call_in_fiber(rt, fork_waiting_jobs, NULL), 0);
		destroy(rt);
	}
}

/* A function that forks, called by skua_run() in a fiber. */
static void wait_in_region(struct skua_ctx ctx, void *arg)
{
	struct skua_task *self = skua_task_self();
	struct skua_event never = SKUA_EVENT_INIT;

	assert_non_null(ctx.forks);
	assert_int_equal(skua_yield(), -EDEADLK);
	assert_int_equal(skua_await(), -EDEADLK);
	assert_int_equal(skua_sleep_until(skua_now_ns() + 1), -EDEADLK);
	assert_int_equal(skua_event_wait(&never, 0), -EDEADLK);
	/* Another context begins and ends within. */
	assert_non_null(skua_task_ctx(self).forks);
	assert_int_equal(skua_task_ctx_end(self), 0);
	assert_int_equal(skua_yield(), -EDEADLK);
	*(unsigned *)arg += 1;
}

static int run_in_fiber(struct call *it)
{
	unsigned calls = 0;

	assert_int_equal(skua_run(it->arg, wait_in_region, &calls), 0);
	assert_int_equal(skua_yield(), 0);
	assert_non_null(skua_task_ctx(&it->fiber.task).forks);
	assert_int_equal(skua_run(it->arg, wait_in_region, &calls), 0);
	assert_int_equal(skua_yield(), -EDEADLK);
	assert_int_equal(skua_task_ctx_end(&it->fiber.task), 0);
	return skua_yield() ? -1 : (int)calls;
}

TEST(yield__in_run__edeadlk)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_runtime *other = runtime_new(2, 0);

	assert_int_equal(call_in_fiber(rt, run_in_fiber, rt), 2);
	assert_int_equal(call_in_fiber(rt, run_in_fiber, other), 2);
	destroy(other);
	destroy(rt);
}

/* A fiber waits for a job that another worker keeps, while an outside thread offers a job
 * that may need more stack than the fiber has. */
struct keeper {
	struct skua_job job; /* first: a job is its keeper */
	atomic_u32 kept;
	struct gate end;
};

static void keep_until_the_end(struct skua_ctx ctx, struct skua_job *job)
{
	struct keeper *it = (struct keeper *)job;

	(void)ctx;
	atomic_store_relaxed(&it->kept, 1);
	gate_wait(&it->end);
}

static int join_keeper(struct call *it)
{
	struct keeper *keeper = it->arg;
	struct skua_ctx ctx = skua_task_ctx(&it->fiber.task), inner;
	bool here;

	while (!skua_wanted(ctx))
		sched_yield();
	inner = skua_fork(ctx, &keeper->job);
	while (!atomic_load_relaxed(&keeper->kept))
		sched_yield();
	atomic_store_relaxed(&keeper->kept, 2);
	here = skua_reclaim(inner, &keeper->job);
	return here ? -1 : skua_task_ctx_end(&it->fiber.task);
}

struct stranger {
	struct skua_job job; /* first: a job is its stranger */
	bool on_fiber;
};

static void note_fiber(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	((struct stranger *)job)->on_fiber = skua_fiber_self() != NULL;
}

/* Offer a job for a while. */
static void offer(struct skua_ctx ctx, void *arg)
{
	struct stranger *it = arg;
	struct skua_ctx inner = skua_fork(ctx, &it->job);

	for (unsigned n = 0; n < 2000; n++)
		sched_yield();
	if (skua_reclaim(inner, &it->job))
		note_fiber(ctx, &it->job);
}

TEST(join__in_a_fiber__runs_no_job_of_others)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned n = 0; n < 10; n++) {
		struct keeper keeper = { .job = { keep_until_the_end } };
		struct stranger stranger = { .job = { note_fiber } };
		struct call it = { .rt = rt };

		call_init(&it, join_keeper, &keeper);
		spawn(rt, &it.fiber.task);
		while (atomic_load_relaxed(&keeper.kept) != 2)
			sched_yield();
		assert_int_equal(skua_run(rt, offer, &stranger), 0);
		gate_open(&keeper.end);
		join(&it.fiber.task);
		assert_int_equal(it.result, 0);
		assert_false(stranger.on_fiber);
	}
	destroy(rt);
}

/* ---- names -------------------------------------------------------------- */

/* Is a task with this function in the table of tasks? */
static bool table_shows(struct skua_runtime *rt, const void *function)
{
	const struct area_task *slots = rt->pool.telemetry.track->tasks;

	for (unsigned i = 0; i < TRACK_SLOTS; i++)
		if (counter_read(&slots[i].task) &&
		    counter_read(&slots[i].poll) == (uintptr_t)function)
			return true;
	return false;
}

TEST(fiber__tracked__shown_by_its_function)
{
	struct skua_runtime *rt =
		RUNTIME(.flags = SKUA_TRACK_TASKS, .workers = 1);
	struct gate waits = { 0 };
	struct call it = { .rt = rt };

	call_init(&it, await_the_cancel, &waits);
	spawn(rt, &it.fiber.task);
	gate_wait(&waits);
	assert_true(table_shows(rt, (const void *)(uintptr_t)call_act));
	assert_false(table_shows(rt, (const void *)(uintptr_t)fiber_poll));
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	join(&it.fiber.task);
	destroy(rt);
}
