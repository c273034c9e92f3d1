/* SPDX-License-Identifier: MIT */
/**
 * stress_timers.c - timers that are added, cancelled and fire, all at once
 *
 * Each task has a timer, and adds it again and again, for a time that has
 * passed, that is near, or far away. It ends a wait by the timer, or cancels it
 * itself in a later poll, or has handed it over: a foreign thread cancels it,
 * and wakes the task if it was in time. Checked: no timer fires early, none
 * fires after its cancel, each add ends by one of the two, and as many polls
 * find the timer fired as were not cancelled. Far timers are always cancelled,
 * so that none is waited for; one that is lost hangs the program.
 */
#include <sched.h>
#include <skua/skua.h>
#include <stdalign.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define TASKS   64u
#define THREADS 2u
#define FAR_NS  UINT64_C(3600000000000)

/* The side that may cancel the timer of a task. */
enum hand { OWN, HANDED, TAKEN };

struct timed {
	alignas(CACHE_PAIR) struct skua_task task;
	struct skua_timer timer;
	struct rng rng;
	uint64_t when_ns;
	bool added;
	bool far;
	/* Of this wait: OWN to HANDED by the task; back by the first of two:
	 * TAKEN by a foreign thread, which then cancels. */
	atomic_u32 hand;
	uint64_t waker; /* while it is handed over */
	bool in_time;   /* the foreign cancel; published by its wake-up */
	uint64_t adds;
	uint64_t fired;
	uint64_t cancelled;
};

static struct skua_runtime *rt;
static struct timed timeds[TASKS];
static atomic_u64 adds;
static atomic_u32 stopping;
static atomic_u32 left;
static uint64_t wanted;

/* ---- tasks -------------------------------------------------------------- */

static uint64_t delay_ns(struct timed *timed)
{
	switch (rng_below(&timed->rng, 8)) {
	case 0:
		return 0;
	case 1 ... 4:
		return rng_below(&timed->rng, 20000);
	case 5:
		return rng_below(&timed->rng, 1000000);
	default:
		return FAR_NS;
	}
}

static enum skua_poll add(struct timed *timed)
{
	uint64_t delay = delay_ns(timed);

	timed->added = true;
	timed->far = delay == FAR_NS;
	timed->when_ns = skua_now_ns() + delay;
	timed->adds++;
	atomic_fetch_add_relaxed(&adds, 1);
	stress_check(
		skua_timer_add(&timed->task, &timed->timer, timed->when_ns),
		"timer_add");
	if (timed->far || rng_below(&timed->rng, 2)) {
		timed->waker = skua_task_waker(&timed->task).opaque;
		/* Release: the waker. Pairs with the acquire in cancel(). */
		atomic_store_release(&timed->hand, HANDED);
		return SKUA_PENDING;
	}
	return rng_below(&timed->rng, 4) ? SKUA_PENDING : SKUA_YIELD;
}

static void count_fired(struct timed *timed)
{
	if (skua_now_ns() < timed->when_ns)
		stress_fail("a timer fired early");
	timed->fired++;
	timed->added = false;
}

/* Handed over: it is over when the foreign thread has cancelled, or the task
 * has seen it fire and takes it back. */
static bool handed_over(struct timed *timed)
{
	uint32_t hand = HANDED;

	/* Acquire: pairs with the release in cancel(). */
	if (atomic_load_acquire(&timed->hand) == OWN) {
		if (timed->in_time) {
			timed->cancelled++;
			timed->added = false;
		}
		return true;
	}
	if (!atomic_cas_acq_rel(&timed->hand, &hand, OWN))
		return false; /* being cancelled: a wake-up follows */
	skua_waker_drop((struct skua_waker){ timed->waker });
	timed->in_time = false;
	return true;
}

/* Woken, by the timer or by a cancel; or the task had yielded. */
static enum skua_poll look(struct timed *timed)
{
	bool handed =
		atomic_load_relaxed(&timed->hand) != OWN || timed->waker != 0;

	if (handed && !handed_over(timed))
		return SKUA_PENDING;
	timed->waker = 0;
	if (!timed->added)
		return SKUA_YIELD;
	if (!skua_timer_pending(&timed->timer)) {
		count_fired(timed);
	} else if (timed->far || rng_below(&timed->rng, 4) == 0) {
		if (skua_timer_cancel(&timed->timer)) {
			timed->cancelled++;
			timed->added = false;
		} else {
			count_fired(timed);
		}
	} else {
		return rng_below(&timed->rng, 2) ? SKUA_PENDING : SKUA_YIELD;
	}
	return SKUA_YIELD;
}

static enum skua_poll poll(struct skua_task *task)
{
	struct timed *timed = (struct timed *)task;

	if (timed->added)
		return look(timed);
	/* Relaxed: a poll that does not see it adds once more. */
	if (!atomic_load_relaxed(&stopping))
		return add(timed);
	atomic_fetch_sub_acq_rel(&left, 1);
	return SKUA_DONE;
}

/* ---- foreign threads ---------------------------------------------------- */

static void cancel(struct timed *timed)
{
	struct skua_waker waker;
	uint32_t hand = HANDED;

	/* Acquire: the waker. Pairs with the release in add(). */
	if (!atomic_cas_acq_rel(&timed->hand, &hand, TAKEN))
		return;
	waker.opaque = (uintptr_t)timed->waker;
	timed->in_time = skua_timer_cancel(&timed->timer);
	/* Release: the above. Pairs with the acquire in handed_over(). */
	atomic_store_release(&timed->hand, OWN);
	skua_waker_wake(waker);
}

struct foreign {
	struct rng rng;
};

static void *foreign_body(void *arg)
{
	struct foreign *foreign = arg;

	/* Acquire: the tasks' counts. */
	while (atomic_load_acquire(&left) > 0) {
		for (unsigned i = 0; i < TASKS / 4; i++)
			cancel(&timeds[rng_below(&foreign->rng, TASKS)]);
		if (atomic_load_relaxed(&adds) >= wanted)
			atomic_store_relaxed(&stopping, 1);
		sched_yield();
	}
	return NULL;
}

/* ---- rounds ------------------------------------------------------------- */

static void run_runtime(unsigned workers, uint64_t *fired, uint64_t *cancelled)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = workers };
	struct foreign foreign[THREADS];
	struct skua_error err;

	if (skua_runtime_create(&rt, &config, &err) != 0)
		stress_fail("create: %s", err.text);
	atomic_store_relaxed(&stopping, 0);
	atomic_store_relaxed(&left, TASKS);
	for (unsigned i = 0; i < TASKS; i++) {
		timeds[i] = (struct timed){ .task = SKUA_TASK_INIT(poll) };
		rng_init(&timeds[i].rng, i);
	}
	for (unsigned i = 0; i < TASKS; i++)
		stress_check(skua_task_spawn(rt, &timeds[i].task), "spawn");
	for (unsigned i = 0; i < THREADS; i++)
		rng_init(&foreign[i].rng, TASKS + i);
	stress_threads(THREADS, foreign_body, foreign, sizeof(foreign[0]));
	for (unsigned i = 0; i < TASKS; i++) {
		struct timed *timed = &timeds[i];

		stress_check(skua_task_join(&timed->task), "join");
		if (timed->fired + timed->cancelled != timed->adds)
			stress_fail("%" PRIu64 " adds, %" PRIu64
				    " fired, %" PRIu64 " cancelled",
				    timed->adds, timed->fired,
				    timed->cancelled);
		if (skua_timer_pending(&timed->timer))
			stress_fail("a timer outlived its task");
		*fired += timed->fired;
		*cancelled += timed->cancelled;
	}
	stress_check(skua_runtime_destroy(rt), "destroy");
}

int main(void)
{
	static const unsigned workers[] = { 1, 2, 3, 64, 200 };
	/* Timers take microseconds: a hundredth of the usual number. */
	uint64_t ops = stress_ops() / 100;
	uint64_t fired = 0;
	uint64_t cancelled = 0;

	for (unsigned round = 0; round < 5; round++) {
		wanted = (round + 1) * (ops / 5 + 1);
		run_runtime(workers[round], &fired, &cancelled);
	}
	printf("timers: %" PRIu64 " fired, %" PRIu64
	       " cancelled, each one of the two, none early\n",
	       fired, cancelled);
	return 0;
}
