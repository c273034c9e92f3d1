/* SPDX-License-Identifier: MIT */
/**
 * takers.h - fibers, polls and threads that take from an object, with a record of each call
 *
 * A *taker* takes from a shared object (a mutex, permits), keeps that for a moment and gives it
 * back, again and again: with and without a wait, with deadlines that are near, beside cancels.
 * Each call is recorded with the stamps of one counter, which is increased at its begin, at its
 * end, and under the list lock when it begins and ceases to wait. The program that includes
 * this file defines takers_take() and takers_give(), and replays the record call by call, in
 * the order of the stamps, in a time that is proportional to its length (replay()). Include the
 * file of the object after this one: the functions of its list are replaced here.
 */
#ifndef SKUA_TESTS_STRESS_TAKERS_H
#define SKUA_TESTS_STRESS_TAKERS_H

#include <errno.h>
#include <sched.h>
#include <skua/skua.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/wait/await.h"
#include "tests/sanitized.h"
#include "tests/stress/stress.h"

/* ---- the record ------------------------------------------------------------------ */

#define FIBERS  3u
#define POLLERS 3u
#define THREADS 2u
#define TAKERS  (FIBERS + POLLERS + THREADS)

/* The calls of a taker in a round: more than 10^5 of all. */
#define CALLS  16384u
#define STAMPS (UINT64_C(6) * TAKERS * (CALLS + 16))

struct call {
	uint64_t called, returned;
	uint64_t armed; /* it began to wait; 0: it did not wait */
	uint64_t
		left; /* it ceased to wait: it was chosen for good, or gave up */
	/* No call that begins from here on may overtake it; 0: any may. */
	uint64_t starved;
	uint32_t amount;
	int code;
	bool gives;  /* or else: takes */
	bool chosen; /* for good */
	bool late;   /* when it was woken, it had waited for long */
};

enum form { TRY, WAIT, POLL };

struct taker {
	union {
		struct skua_task
			task; /* first: a task or a fiber is its taker */
		struct skua_fiber fiber;
	} as;
	unsigned index;
	struct rng rng;
	atomic_u64 self; /* as a waiter; 0: a thread that has not begun */
	struct skua_wait wait;
	enum form form;
	uint64_t deadline_ns;
	uint32_t held;
	unsigned count;
	struct call *call; /* the last one */
	struct call calls[CALLS + 16];
};

static struct taker takers[TAKERS];
static unsigned calls_wanted; /* of each taker, in this round */
static bool broken;           /* a defect is planted: calls may fail */

static atomic_u64 stamps;

static uint64_t stamp(void)
{
	/* Acquire and release: what comes before this call, in the order of the stamps, is
	 * visible after it. Pairs with itself. */
	return atomic_fetch_add_acq_rel(&stamps, 1) + 1;
}

/* The last call of a taker. */
static struct call *call_by(uintptr_t waiter)
{
	/* Relaxed: the caller has heard of this waiter, and looks only for it. */
	for (unsigned i = 0; i < TAKERS; i++)
		if (atomic_load_relaxed(&takers[i].self) == waiter)
			return takers[i].call;
	stress_fail("a waiter that is no taker");
}

static struct call *call_of(const struct skua_wait *wait)
{
	return call_by(wait->waiter);
}

static void call_begin(struct taker *it, bool gives, uint32_t amount)
{
	it->call = &it->calls[it->count];
	*it->call = (struct call){ .gives = gives, .amount = amount };
	it->call->called = stamp();
}

static void call_end(struct taker *it, int code)
{
	it->call->code = code;
	it->call->returned = stamp();
	it->count++;
}

/* ---- takers ---------------------------------------------------------------------- */

/* Let others run? A taker that holds something does so more often, so that others wait. */
static bool lingers(struct taker *it)
{
	return rng_below(&it->rng, it->held ? 6 : 24) == 0;
}

/* takers_amount - how much to take next; takers_take, takers_give - the call */
static uint32_t takers_amount(struct taker *it);
static int takers_take(struct taker *it);
static int takers_give(struct taker *it, uint32_t amount);

/* With a planted defect, a taker may never be granted what it waits for. */
static uint64_t random_deadline(struct rng *rng)
{
	switch (rng_below(rng, 8)) {
	case 0:
		return 0;
	case 1:
	case 2:
	case 3:
		if (!broken)
			return SKUA_FOREVER_NS;
		/* fall through */
	default:
		return skua_now_ns() + rng_below(rng, 50000);
	}
}

static void choose_form(struct taker *it)
{
	bool polls = it->index >= FIBERS && it->index < FIBERS + POLLERS;

	it->form = polls ? POLL : WAIT;
	if (rng_below(&it->rng, 8) == 0)
		it->form = TRY;
	it->deadline_ns = random_deadline(&it->rng);
}

static void check_code(const struct taker *it, int code, bool cancelled)
{
	bool allowed = code == 0;

	if (it->form == TRY)
		allowed |= code == -EAGAIN;
	else if (code == -ETIMEDOUT)
		allowed = it->deadline_ns <= skua_now_ns();
	else if (code == -ECANCELED)
		allowed = cancelled || (it->index < FIBERS &&
					skua_task_cancelled(&it->as.task));
	if (!allowed && !broken)
		stress_fail("a take returned %d", code);
}

static void give_some(struct taker *it)
{
	uint32_t amount = 1 + rng_below(&it->rng, it->held);
	int code;

	call_begin(it, true, amount);
	code = takers_give(it, amount);
	call_end(it, code);
	if (code && !broken)
		stress_fail("a give returned %d", code);
	it->held -= amount;
}

/* Return: false if it is a poll that has to wait. */
static bool take_some(struct taker *it)
{
	bool cancelled = false;
	int code;

	if (!skua_wait_armed(&it->wait)) {
		choose_form(it);
		call_begin(it, false, takers_amount(it));
	}
	code = takers_take(it);
	if (code == -EAGAIN && it->form == POLL) {
		if (rng_below(&it->rng, 4) ||
		    skua_wait_cancel(&it->as.task, &it->wait) != 0)
			return false;
		code = -ECANCELED;
		cancelled = true;
	}
	call_end(it, code);
	check_code(it, code, cancelled);
	if (code == 0)
		it->held = it->call->amount;
	return true;
}

static bool is_done(const struct taker *it)
{
	return it->held == 0 && it->count >= calls_wanted;
}

static void fiber_takes(struct skua_fiber *self)
{
	struct taker *it = (struct taker *)self;

	while (!is_done(it)) {
		if (it->held)
			give_some(it);
		else if (skua_task_cancelled(&self->task) &&
			 rng_below(&it->rng, 8) == 0)
			return;
		else
			take_some(it);
		if (lingers(it))
			skua_yield();
	}
}

static enum skua_poll task_takes(struct skua_task *self)
{
	struct taker *it = (struct taker *)self;

	while (!is_done(it)) {
		if (it->held)
			give_some(it);
		else if (!take_some(it))
			return SKUA_PENDING;
		if (rng_below(&it->rng, 16) == 0 && !skua_wait_armed(&it->wait))
			return SKUA_YIELD;
	}
	return SKUA_DONE;
}

static void *thread_takes(void *arg)
{
	struct taker *it = arg;

	/* Relaxed: its calls tell others. */
	atomic_store_relaxed(&it->self, await_self());
	while (!is_done(it)) {
		if (it->held)
			give_some(it);
		else
			take_some(it);
		if (lingers(it))
			sched_yield();
	}
	return NULL;
}

/* ---- rounds ---------------------------------------------------------------------- */

/* A call takes several times as long as the operations of other stress tests. */
#if defined(SKUA_TESTS_STRESS_CHAOS_H)
#define SHARE 1
#elif THREAD_SANITIZED
#define SHARE 64
#else
#define SHARE 8
#endif

static struct skua_runtime *takers_runtime(void)
{
	struct skua_config config = { .size = sizeof(config), .workers = 2 };
	struct skua_runtime *rt;
	struct skua_error error;

	for (unsigned i = 0; i < TAKERS; i++) {
		takers[i].index = i;
		rng_init(&takers[i].rng, i);
	}
	if (skua_runtime_create(&rt, &config, &error) != 0)
		stress_fail("%s", error.text);
	return rt;
}

static void spawn_taker(struct skua_runtime *rt, struct taker *it)
{
	if (it->index < FIBERS)
		stress_check(skua_fiber_init(&it->as.fiber, fiber_takes, 0),
			     "fiber_init");
	else
		it->as.task = (struct skua_task)SKUA_TASK_INIT(task_takes);
	stress_check(skua_task_spawn(rt, &it->as.task), "spawn");
}

/* Cancel a fiber, and spawn it again for the rest of its calls. */
static bool disturb(struct skua_runtime *rt, struct taker *it)
{
	skua_task_cancel(&it->as.task);
	stress_check(skua_task_join(&it->as.task), "join");
	if (is_done(it))
		return false;
	spawn_taker(rt, it);
	return true;
}

static void takers_run(struct skua_runtime *rt, unsigned calls)
{
	struct taker *first_thread = &takers[FIBERS + POLLERS];
	pthread_t threads[THREADS];

	calls_wanted = calls;
	/* Relaxed: the spawns order it. */
	atomic_store_relaxed(&stamps, 0);
	for (unsigned i = 0; i < TAKERS; i++) {
		takers[i].count = takers[i].held = 0;
		/* Relaxed: as above. */
		atomic_store_relaxed(&takers[i].self,
				     i < FIBERS + POLLERS
					     ? (uintptr_t)&takers[i].as.task
					     : 0);
		takers[i].wait = (struct skua_wait)SKUA_WAIT_INIT;
	}
	for (unsigned i = 0; i < FIBERS + POLLERS; i++)
		spawn_taker(rt, &takers[i]);
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_takes,
				   &first_thread[i]) != 0)
			stress_fail("cannot create a thread");
	for (unsigned i = 0; i < FIBERS; i++)
		do
			skua_sleep_until(skua_now_ns() + 200000);
		while (disturb(rt, &takers[i]));
	for (unsigned i = FIBERS; i < FIBERS + POLLERS; i++)
		stress_check(skua_task_join(&takers[i].as.task), "join");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- the replay ------------------------------------------------------------------ */

/* A stamp at which a call of a taker begins, or ends. */
static struct moment {
	const struct call *call;
	unsigned taker;
} moments[STAMPS];

/* The call of each taker that is in progress; NULL: none. */
static const struct call *in_progress[TAKERS];

/* The end of the time in which an operation that took nothing must have found nothing to
 * take; 0: it took something. */
static uint64_t refused_until(const struct call *call)
{
	if (call->gives || call->code == 0)
		return 0;
	return call->armed ? call->armed : call->returned;
}

/* Takes part in a replay. Return: what is wrong; NULL: nothing. */
typedef const char *replay_fn(const struct call *call, unsigned taker,
			      uint64_t now);

/* replay - go through all calls, in the order of the stamps
 *
 * A call is in progress while @begun and @ended are called for it. */
static const char *replay(replay_fn *begun, replay_fn *ended)
{
	uint64_t last = atomic_load_relaxed(&stamps);
	const char *wrong = NULL;

	if (last >= STAMPS)
		stress_fail("more than %" PRIu64 " stamps", STAMPS);
	memset(moments, 0, (last + 1) * sizeof(moments[0]));
	for (unsigned i = 0; i < TAKERS; i++) {
		for (unsigned j = 0; j < takers[i].count; j++) {
			const struct call *call = &takers[i].calls[j];

			moments[call->called] = (struct moment){ call, i };
			moments[call->returned] = (struct moment){ call, i };
		}
	}
	for (uint64_t now = 1; now <= last && !wrong; now++) {
		const struct call *call = moments[now].call;
		unsigned taker = moments[now].taker;

		if (!call)
			continue;
		in_progress[taker] = call;
		wrong = (call->called == now ? begun : ended)(call, taker, now);
		if (call->returned == now)
			in_progress[taker] = NULL;
	}
	memset(in_progress, 0, sizeof(in_progress));
	return wrong;
}

/* Return the calls of the round, and count those that waited. */
static uint64_t count_calls(uint64_t *waited)
{
	uint64_t calls = 0;

	for (unsigned i = 0; i < TAKERS; i++) {
		calls += takers[i].count;
		for (unsigned j = 0; j < takers[i].count; j++)
			*waited += takers[i].calls[j].armed != 0;
	}
	return calls;
}

/* takers_check - check rounds, and destroy the runtime
 *
 * @round: returns what is wrong; NULL: nothing */
static void takers_check(struct skua_runtime *rt,
			 const char *round(struct skua_runtime *rt,
					   unsigned calls))
{
	uint64_t wanted = stress_ops() / SHARE, done = 0, waited = 0;

	while (done < wanted) {
		const char *wrong = round(rt, CALLS);

		if (wrong)
			stress_fail("%s", wrong);
		done += count_calls(&waited);
	}
	stress_check(skua_runtime_destroy(rt), "destroy");
	printf("%" PRIu64 " calls, of which %" PRIu64 " waited\n", done,
	       waited);
}

/* ---- the list of the object ------------------------------------------------------- */

static inline void note_starved(const struct skua_wait *wait)
{
	if (!call_of(wait)->starved)
		call_of(wait)->starved = stamp();
}

static void note_armed(const struct skua_wait *wait, bool first)
{
	struct call *call = call_of(wait);

	if (!call->armed)
		call->armed = stamp();
	else if (first && call->late)
		note_starved(wait);
}

static void note_left(const struct skua_wait *wait)
{
	call_of(wait)->left = stamp();
}

#endif
