/* SPDX-License-Identifier: MIT */
/**
 * stress_lends.c - references that polls give away, from everywhere
 *
 * Actors of two runtimes make wakers of themselves and of each other: in their
 * own polls, in those of others on the same worker and of the other runtime, in
 * release functions inside a poll and behind its end, in a poller, and on outside
 * threads. Timers are added in a poll and cancelled by another thread before
 * or after it ends; children and groups are awaited; foreign threads cancel.
 *
 * Checked: an actor ends when its last waker is gone, by a count of its own,
 * and once. A reference too many hangs the program.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "skua/skua.h"
#include "tests/stress/stress.h"

#define ACTORS   48u
#define BOXES    24u
#define OUTSIDE  2u
#define PROMISED UINT64_C(1)

struct actor;

/* A detached helper; its release makes wakers of its actor. */
struct helper {
	struct skua_task task; /* first */
	struct actor *actor;
	struct skua_waker waker; /* of the actor, counted */
};

struct child {
	struct skua_task task; /* first */
	struct actor *actor;
};

struct actor {
	struct skua_task task; /* first */
	struct skua_runtime *rt;
	struct rng rng;
	struct skua_timer timer;
	/* 0: the actor's; 1: a canceller may take it; 2: it has it */
	atomic_u32 lent_timer;
	bool pending_timer;
	struct child child;
	bool joining;
	struct skua_group group;
	struct child member;
	bool grouped;
	uint64_t polls; /* plain: handed from poll to poll */
	uint64_t life;
	atomic_u32 wakers; /* alive, or about to be made */
	atomic_u32 done;
	atomic_u32 polling;
	atomic_u32 lives;
	atomic_u32 ended;
};

static struct skua_runtime *runtimes[2];
static struct actor actors[ACTORS];
static atomic_u64 boxes[BOXES];
static atomic_u32 stopping;
static atomic_u32 helpers; /* alive */
static atomic_u64 made;    /* wakers */

static void check(int code, const char *what)
{
	if (code != 0)
		stress_fail("%s: %d", what, code);
}

static struct actor *actor_of(uint64_t waker)
{
	return (struct actor *)(uintptr_t)(waker & ~PROMISED);
}

static struct skua_waker as_waker(uint64_t waker)
{
	return (struct skua_waker){ (uintptr_t)(waker & ~PROMISED) };
}

/* Relaxed, in these: counts; the library orders the end. */
static uint64_t make(struct actor *it)
{
	atomic_fetch_add_relaxed(&made, 1);
	atomic_fetch_add_relaxed(&it->wakers, 1);
	return skua_task_waker(&it->task).opaque;
}

static uint64_t copy(uint64_t waker)
{
	atomic_fetch_add_relaxed(&made, 1);
	atomic_fetch_add_relaxed(&actor_of(waker)->wakers, 1);
	return skua_waker_clone(as_waker(waker)).opaque;
}

static void wake(uint64_t waker)
{
	atomic_fetch_sub_relaxed(&actor_of(waker)->wakers, 1);
	skua_waker_wake(as_waker(waker));
}

static void drop(uint64_t waker)
{
	atomic_fetch_sub_relaxed(&actor_of(waker)->wakers, 1);
	skua_waker_drop(as_waker(waker));
}

static void end(uint64_t waker)
{
	if (waker == 0)
		return;
	if (waker & PROMISED)
		wake(waker);
	else
		drop(waker);
}

static void put(struct rng *rng, uint64_t waker)
{
	end(atomic_exchange_acq_rel(&boxes[rng_below(rng, BOXES)], waker));
}

/* Use a waker that was found, at random. */
static void juggle(struct rng *rng)
{
	uint64_t waker =
		atomic_exchange_acq_rel(&boxes[rng_below(rng, BOXES)], 0);
	uint64_t more;

	if (waker == 0)
		return;
	switch (rng_below(rng, 6)) {
	case 0:
		end(waker);
		break;
	case 1:
		more = copy(waker);
		end(waker);
		drop(more);
		break;
	case 2:
		more = copy(waker);
		end(more | PROMISED);
		end(waker);
		break;
	case 3:
		more = copy(waker);
		put(rng, waker);
		put(rng, more);
		break;
	case 4:
		skua_waker_wake_by_ref(as_waker(waker));
		drop(waker);
		break;
	default:
		more = make(actor_of(waker));
		skua_task_cancel(&actor_of(waker)->task);
		wake(more);
		end(waker);
	}
}

/* ---- helpers and children ------------------------------------------------- */

static void helper_release(struct skua_task *task)
{
	struct helper *it = (struct helper *)task;
	uint64_t mine = it->waker.opaque;
	uint64_t one = make(it->actor), two = copy(one);

	drop(one);
	wake(two);
	end(mine);
	free(it);
	atomic_fetch_sub_relaxed(&helpers, 1);
}

static enum skua_poll helper_poll(struct skua_task *self)
{
	struct helper *it = (struct helper *)self;

	if (it->actor->life & 1)
		drop(make(it->actor));
	return SKUA_DONE;
}

/* In the actor's poll: the release runs here, or at the helper's end. */
static void help(struct actor *it, bool other)
{
	struct helper *helper = calloc(1, sizeof(*helper));

	if (!helper)
		return;
	atomic_fetch_add_relaxed(&helpers, 1);
	helper->actor = it;
	helper->waker.opaque = make(it);
	skua_task_init(&helper->task, helper_poll);
	check(skua_task_detach(&helper->task, helper_release), "detach");
	/* Not ended: nobody polls what is not spawned; a waker keeps it. */
	if (skua_task_spawn(runtimes[other], &helper->task) != 0)
		stress_fail("spawn of a helper");
}

static enum skua_poll child_poll(struct skua_task *self)
{
	struct child *it = (struct child *)self;

	drop(make(it->actor));
	return SKUA_DONE;
}

/* ---- actors --------------------------------------------------------------- */

static bool settle(struct actor *it)
{
	bool waits = false;

	if (it->joining) {
		int code = skua_task_join_poll(&it->task, &it->child.task);

		if (code == -EAGAIN)
			waits = true;
		else if (code == 0)
			it->joining = false;
		else
			check(code, "join_poll");
	}
	if (it->grouped) {
		int code = skua_group_wait_poll(&it->task, &it->group);

		if (code == -EAGAIN)
			waits = true;
		else if (code == 0)
			it->grouped = false;
		else
			check(code, "group_wait_poll");
	}
	return waits;
}

/* May a canceller have the timer? Take it back; false if it is in use. */
static bool own_timer(struct actor *it)
{
	uint32_t one = 1;

	return atomic_load_acquire(&it->lent_timer) == 0 ||
	       atomic_cas_acq_rel(&it->lent_timer, &one, 0);
}

static enum skua_poll act(struct actor *it)
{
	struct rng *rng = &it->rng;
	bool waits;

	for (unsigned n = rng_below(rng, 4); n > 0; n--)
		put(rng, make(it));
	if (rng_below(rng, 4) == 0)
		drop(make(it));
	if (rng_below(rng, 4) == 0)
		wake(make(it));
	if (rng_below(rng, 2) == 0)
		juggle(rng);
	if (rng_below(rng, 8) == 0)
		help(it, rng_below(rng, 2));
	if (own_timer(it) && !skua_timer_pending(&it->timer) &&
	    rng_below(rng, 3) == 0) {
		check(skua_timer_add(&it->task, &it->timer,
				     skua_now_ns() + rng_below(rng, 20000)),
		      "timer");
		if (rng_below(rng, 2))
			atomic_store_release(&it->lent_timer, 1);
	}
	waits = settle(it);
	if (!it->joining && rng_below(rng, 6) == 0) {
		skua_task_init(&it->child.task, child_poll);
		check(skua_task_spawn(runtimes[rng_below(rng, 2)],
				      &it->child.task),
		      "child");
		it->joining = true;
		waits |= settle(it);
	}
	if (!it->grouped && rng_below(rng, 6) == 0) {
		check(skua_group_init(&it->group, runtimes[rng_below(rng, 2)]),
		      "group");
		skua_task_init(&it->member.task, child_poll);
		check(skua_group_spawn(&it->group, &it->member.task), "member");
		it->grouped = true;
		waits |= settle(it);
	}
	switch (rng_below(rng, 4)) {
	case 0:
		return SKUA_YIELD;
	case 1:
		if (!it->joining && !it->grouped && own_timer(it) &&
		    !skua_timer_pending(&it->timer))
			return SKUA_DONE;
		/* fallthrough */
	default:
		if (waits && rng_below(rng, 2))
			return SKUA_PENDING; /* child or group wakes it */
		put(rng, make(it) | PROMISED);
		return SKUA_PENDING;
	}
}

static enum skua_poll actor_poll(struct skua_task *self)
{
	struct actor *it = (struct actor *)self;
	enum skua_poll result;

	if (atomic_exchange_acq_rel(&it->polling, 1))
		stress_fail("polled twice at once");
	it->polls++;
	result = act(it);
	if (result == SKUA_DONE)
		atomic_store_release(&it->done, 1);
	atomic_exchange_acq_rel(&it->polling, 0);
	return result;
}

static void actor_release(struct skua_task *task)
{
	struct actor *it = (struct actor *)task;

	/* Acquire: as the library has ordered it. */
	if (atomic_load_acquire(&it->wakers) != 0)
		stress_fail("ended with %u wakers",
			    atomic_load_relaxed(&it->wakers));
	if (!atomic_load_acquire(&it->done))
		stress_fail("ended before it was done");
	memset(&it->task, 0xa5, sizeof(it->task));
	atomic_store_release(&it->ended, 1);
}

static void begin(struct actor *it)
{
	it->life++;
	it->polls = 0;
	atomic_store_relaxed(&it->done, 0);
	atomic_store_relaxed(&it->ended, 0);
	it->timer = (struct skua_timer)SKUA_TIMER_INIT;
	atomic_store_relaxed(&it->lent_timer, 0);
	skua_task_init(&it->task, actor_poll);
	if (it->life % 3 == 0)
		skua_task_set_urgent(&it->task, true);
	check(skua_task_detach(&it->task, actor_release), "detach");
	if (it->life % 3 == 1)
		check(skua_task_spawn_on(it->rt, 0, &it->task), "spawn_on");
	else
		check(skua_task_spawn(it->rt, &it->task), "spawn");
}

/* ---- others --------------------------------------------------------------- */

struct juggler {
	struct skua_poller poller; /* first */
	struct rng rng;
};

static int juggler_poll(struct skua_poller *self)
{
	struct juggler *it = (struct juggler *)self;

	juggle(&it->rng);
	return atomic_load_relaxed(&stopping) ? SKUA_POLLER_DONE : 0;
}

static void *outside(void *arg)
{
	struct rng rng;

	rng_init(&rng, 1000 + (unsigned)(uintptr_t)arg);
	while (!atomic_load_acquire(&stopping)) {
		struct actor *it = &actors[rng_below(&rng, ACTORS)];
		uint32_t one = 1;

		for (unsigned i = 0; i < 4; i++)
			juggle(&rng);
		if (atomic_cas_acq_rel(&it->lent_timer, &one, 2)) {
			skua_timer_cancel(&it->timer);
			/* Else it might wait for the timer. */
			atomic_store_release(&it->lent_timer, 0);
		}
		if (rng_below(&rng, 16) == 0)
			sched_yield();
	}
	return NULL;
}

static void open_runtimes(struct juggler *juggler, bool poller)
{
	for (unsigned r = 0; r < 2; r++) {
		struct skua_config cfg = { .size = sizeof(cfg),
					   .workers = 2 - r,
					   .queue_capacity = 8 };

		check(skua_runtime_create(&runtimes[r], &cfg, NULL), "create");
	}
	rng_init(&juggler->rng, 78);
	/* It takes part until the end, and its worker never sleeps. */
	if (poller)
		check(skua_runtime_add_poller(runtimes[0], 0, &juggler->poller),
		      "poller");
}

static void open_actors(void)
{
	for (unsigned i = 0; i < ACTORS; i++) {
		struct actor *it = &actors[i];

		it->rt = runtimes[i % 2];
		it->child.actor = it;
		it->member.actor = it;
		rng_init(&it->rng, i);
		begin(it);
	}
}

/* One that has ended: let it live again, if @again; was it the end of it? */
static bool bury(struct actor *it, bool again)
{
	uint32_t one = 1;

	if (!atomic_cas_acq_rel(&it->ended, &one, 2))
		return false;
	while (atomic_load_acquire(&it->lent_timer) == 2)
		sched_yield();
	if (again)
		begin(it);
	return true;
}

/* Return: how many wakers were made. */
static uint64_t live(uint64_t lives)
{
	uint64_t begun = ACTORS;
	unsigned alive = ACTORS;

	open_actors();
	while (alive > 0) {
		for (unsigned i = 0; i < ACTORS; i++) {
			bool again = begun < lives;

			if (!bury(&actors[i], again))
				continue;
			begun += again;
			alive -= !again;
		}
		sched_yield();
	}
	return begun;
}

static uint64_t run(uint64_t lives, bool poller)
{
	struct juggler juggler = { .poller = { .poll = juggler_poll } };
	pthread_t threads[OUTSIDE];
	uint64_t begun;

	atomic_store_relaxed(&stopping, 0);
	open_runtimes(&juggler, poller);
	for (unsigned i = 0; i < OUTSIDE; i++)
		if (pthread_create(&threads[i], NULL, outside,
				   (void *)(uintptr_t)i))
			stress_fail("no thread");
	begun = live(lives);
	/* Release: pairs with the acquires of those that stop. */
	atomic_store_release(&stopping, 1);
	for (unsigned i = 0; i < OUTSIDE; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < BOXES; i++)
		if (atomic_load_relaxed(&boxes[i]))
			stress_fail("a waker is left");
	for (unsigned r = 0; r < 2; r++)
		check(skua_runtime_destroy(runtimes[r]), "destroy");
	if (atomic_load_relaxed(&helpers))
		stress_fail("helpers are left");
	return begun;
}

int main(void)
{
	/* An operation is a waker that is made and ends. A life has hundreds of
	 * them, each of which costs ten times what others call one. */
	uint64_t lives = stress_ops() / 5000 + ACTORS;
	uint64_t begun = run(lives, false);

	begun += run(lives / 4, true);
	printf("lends: %" PRIu64 " wakers of %" PRIu64 " lives, each gone "
	       "before its task ended\n",
	       atomic_load_relaxed(&made), begun);
	return 0;
}
