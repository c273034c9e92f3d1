/* SPDX-License-Identifier: MIT */
/* test_recorder_fork.c - what threads that fork jobs do is noted, while somebody wants it */
#include <sched.h>
#include <unistd.h>

#include "core/runtime/runtime.h"
#include "probes/events.h"
#include "skua/fork.h"
#include "tests/unit/support.h"

static struct skua_runtime *make(unsigned workers)
{
	return RUNTIME(.workers = workers, .flags = SKUA_NO_ENV);
}

/* ---- events of threads that are no workers -------------------------------------- */

static uint64_t head_of(const struct skua_runtime *rt)
{
	return __atomic_load_n(&rt->pool.telemetry.area.ring_head,
			       __ATOMIC_ACQUIRE);
}

static const struct event *event_of(const struct skua_runtime *rt, uint64_t n)
{
	const struct area_runtime *area = &rt->pool.telemetry.area;
	const struct event *event =
		(const struct event *)area->ring + n % area->ring_events;

	/* Acquire: the event. Pairs with recorder_note_shared(). */
	while (n >= head_of(rt) ||
	       __atomic_load_n(&event->what, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	return event;
}

static const struct event *is_next(const struct skua_runtime *rt, uint64_t n,
				   enum event_kind kind, uint64_t b)
{
	const struct event *event = event_of(rt, n);

	assert_int_equal(event->kind, kind);
	assert_int_equal(event->b, b);
	assert_int_equal(event->detail, gettid());
	return event;
}

/* ---- calls of skua_run() -------------------------------------------------------- */

static void do_nothing(struct skua_ctx ctx, void *arg)
{
	(void)ctx;
	(void)arg;
}

TEST(fork__nobody_records__notes_nothing)
{
	struct skua_runtime *rt = make(2);

	assert_int_equal(skua_run(rt, do_nothing, NULL), 0);
	assert_int_equal(head_of(rt), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* No worker is awake to allocate the ring. */
TEST(fork__all_workers_sleep__run_is_noted)
{
	struct skua_runtime *rt = make(2);
	const struct event *begin;

	for (unsigned i = 0; i < 2; i++)
		while (counter_read(&rt->pool.workers[i]->area.times.state) !=
		       AREA_PARKED)
			sched_yield();
	assert_int_equal(skua_record_start(rt), 0);
	assert_int_equal(skua_run(rt, do_nothing, NULL), 0);
	assert_int_equal(head_of(rt), 2);
	begin = is_next(rt, 0, EVENT_RUN_BEGIN, 2);
	assert_int_equal(begin->a, (uintptr_t)do_nothing);
	assert_true(is_next(rt, 1, EVENT_RUN_END, 2)->time >= begin->time);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- joins that wait ------------------------------------------------------------ */

struct work {
	struct skua_job job;
	struct skua_runtime *rt;
	bool taken;
	struct skua_job inner; /* the caller takes it in its join */
	bool inner_taken;
};

static void await_flag(const bool *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void run_inner(struct skua_ctx ctx, struct skua_job *job)
{
	struct work *work =
		(void *)((char *)job - offsetof(struct work, inner));

	(void)ctx;
	__atomic_store_n(&work->inner_taken, true, __ATOMIC_RELEASE);
}

/* Ends after the caller has begun to wait, and has run the inner job. */
static void run_outer(struct skua_ctx ctx, struct skua_job *job)
{
	struct work *work = (struct work *)job;
	struct skua_ctx inner;

	__atomic_store_n(&work->taken, true, __ATOMIC_RELEASE);
	event_of(work->rt, 1);
	work->inner.run = run_inner;
	inner = skua_fork(ctx, &work->inner);
	await_flag(&work->inner_taken);
	assert_false(skua_reclaim(inner, &work->inner));
}

static void fork_one(struct skua_ctx ctx, void *arg)
{
	struct work *work = arg;
	struct skua_ctx inner = skua_fork(ctx, &work->job);

	await_flag(&work->taken);
	assert_false(skua_reclaim(inner, &work->job));
}

TEST(fork__join_waits__wait_and_help_are_noted)
{
	struct skua_runtime *rt = make(2);
	struct work work = { .job = { .run = run_outer }, .rt = rt };
	const struct event *help;
	unsigned victim;

	assert_int_equal(skua_record_start(rt), 0);
	assert_int_equal(skua_run(rt, fork_one, &work), 0);
	is_next(rt, 0, EVENT_RUN_BEGIN, 2);
	is_next(rt, 1, EVENT_JOIN_BEGIN, 2);
	help = event_of(rt, 2);
	victim = (unsigned)help->b;
	assert_in_range(victim, 0, 1);
	is_next(rt, 2, EVENT_HELP_BEGIN, victim);
	assert_int_equal(help->a, (uintptr_t)run_inner);
	is_next(rt, 3, EVENT_HELP_END, victim);
	is_next(rt, 4, EVENT_JOIN_END, 2);
	is_next(rt, 5, EVENT_RUN_END, 2);
	assert_int_equal(head_of(rt), 6);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}
