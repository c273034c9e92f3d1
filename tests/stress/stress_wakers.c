/* SPDX-License-Identifier: MIT */
/**
 * stress_wakers.c - polls, wakes, cancels, drops and ends, all at once
 *
 * A fixed population of tasks that yield, wait or end at random, and are then
 * spawned again. They put wakers of themselves into shared boxes; other tasks
 * and foreign threads take these out, and wake, clone, cancel or drop. A third
 * of the tasks is detached, a third joined by foreign threads, a third by other
 * tasks; some are urgent, some bound to a worker.
 *
 * Checked: a task is polled by one worker at a time, and not after its end; it
 * ends once; nothing touches it after that, since the thread that ends it
 * poisons its memory and checks it later; as many polls and spawns as the runtime
 * counts. A promise of a wake-up is kept: a task waits without a further
 * promise if it has not seen the wake-up of the last one, also if that came
 * while it was runnable, so that a wake-up that is lost, or whose writes the
 * next poll does not see, hangs the program. There is no timeout.
 */
#include <errno.h>
#include <sched.h>
#include <stdalign.h>
#include <skua/skua.h>
#include <string.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define SLOTS    96u
#define BOXES    32u
#define JOINERS  2u
#define SWEEPERS 2u
#define POISON   0xa5

enum kind { DETACHED, THREAD_JOINED, PARENT, CHILD };
enum phase { FREE, LIVE, DONE };

/* A task for the time of one life. */
struct actor {
	struct skua_task task;
	struct slot *slot;
	uint64_t promised; /* wake-ups, by boxes; the poll's own */
	atomic_u64 posted; /* written before each promised wake-up */
	atomic_u32 polling;
};

/* Where lives follow one another. */
struct slot {
	alignas(CACHE_PAIR) struct actor actor;
	/* Handed on from poll to poll, and from an end to the next spawn. */
	enum kind kind;
	struct rng rng;
	struct slot *child; /* of a PARENT */
	bool child_spawned;
	uint64_t lives;
	/* Writer: the poller. Reader: the first sweeper. */
	atomic_u64 polls;
	atomic_u32 phase;
};

/* A waker: its opaque value, and 1 if it was promised to wake. */
#define PROMISED UINT64_C(1)

static struct skua_runtime *rt;
static unsigned worker_count;
static struct slot slots[SLOTS];
static atomic_u64 boxes[BOXES];
static atomic_u32 stopping; /* no further life; each poll ends its task */
static atomic_u32 alive;    /* slots with a task that has not ended */
static atomic_u64 cancels;
static uint64_t polls_wanted;

static void check(int code, const char *what)
{
	if (code != 0)
		stress_fail("%s: %d", what, code);
}

/* ---- lives -------------------------------------------------------------- */

static enum skua_poll poll(struct skua_task *task);
static void release(struct skua_task *task);

static unsigned slot_number(const struct slot *slot)
{
	return (unsigned)(slot - slots);
}

/* Has anybody written to the task since its end? */
static void check_poison(const struct slot *slot)
{
	const unsigned char *bytes = (const unsigned char *)&slot->actor;

	for (size_t i = 0; i < sizeof(slot->actor); i++) {
		if (bytes[i] != POISON)
			stress_fail("slot %u: byte %zu written after the end",
				    slot_number(slot), i);
	}
}

static void begin(struct slot *slot)
{
	struct actor *actor = &slot->actor;
	unsigned number = slot_number(slot);

	check_poison(slot);
	actor->slot = slot;
	actor->promised = 0;
	atomic_init(&actor->posted, 0);
	atomic_init(&actor->polling, 0);
	check(skua_task_init(&actor->task, poll), "init");
	if (slot->kind == DETACHED || slot->kind == PARENT)
		check(skua_task_detach(&actor->task, release), "detach");
	/* Relaxed: the spawn publishes it. */
	if (atomic_exchange_acq_rel(&slot->phase, LIVE) != FREE)
		stress_fail("slot %u: spawned while it lives", number);
	slot->lives++;
	if (number % 8 == 5)
		check(skua_task_set_urgent(&actor->task, true), "set_urgent");
	if (number % 8 == 6)
		check(skua_task_spawn_on(rt, number % worker_count,
					 &actor->task),
		      "spawn_on");
	else
		check(skua_task_spawn(rt, &actor->task), "spawn");
}

/* The life is over, and the memory the caller's. */
static void end(struct slot *slot)
{
	if (atomic_exchange_acq_rel(&slot->phase, FREE) != DONE)
		stress_fail("slot %u: ended without being done, or twice",
			    slot_number(slot));
	memset(&slot->actor, POISON, sizeof(slot->actor));
}

/* Relaxed: a poll or a joiner that does not see it lives once more. */
static bool stops(void)
{
	return atomic_load_relaxed(&stopping) != 0;
}

static void leave(void)
{
	/* Release: the slot's counts. Pairs with the acquire in sweep(). */
	atomic_fetch_sub_acq_rel(&alive, 1);
}

static void release(struct skua_task *task)
{
	struct slot *slot = ((struct actor *)task)->slot;

	end(slot);
	if (stops())
		leave();
	else
		begin(slot);
}

/* ---- wakers ------------------------------------------------------------- */

/* Use up a waker in one of several ways. */
static void act(uint64_t entry, struct rng *rng)
{
	struct skua_waker waker = { (uintptr_t)(entry & ~PROMISED) };
	struct actor *actor = (struct actor *)waker.opaque;
	struct skua_waker clone;
	int code;

	/* Relaxed: the wake-up publishes it. */
	if (entry & PROMISED)
		atomic_fetch_add_relaxed(&actor->posted, 1);
	switch (rng_below(rng, entry & PROMISED ? 24 : 32)) {
	case 0:
		atomic_fetch_add_relaxed(&cancels, 1);
		code = skua_task_cancel(&actor->task);
		if (code != 0 && code != -EALREADY)
			stress_fail("cancel: %d", code);
		skua_waker_drop(waker);
		break;
	case 1 ... 7:
		skua_waker_wake_by_ref(waker);
		skua_waker_drop(waker);
		break;
	case 8 ... 11:
		clone = skua_waker_clone(waker);
		skua_waker_drop(waker);
		skua_waker_wake(clone);
		break;
	case 12 ... 15:
		clone = skua_waker_clone(waker);
		skua_waker_wake(waker);
		skua_waker_wake(clone);
		break;
	case 16 ... 23:
		skua_waker_wake(waker);
		break;
	default:
		skua_waker_drop(waker);
	}
}

/* Put an entry into a box, and act on what was there; 0 only takes. */
static bool exchange(uint64_t entry, struct rng *rng)
{
	uint64_t taken =
		atomic_exchange_acq_rel(&boxes[rng_below(rng, BOXES)], entry);

	if (taken)
		act(taken, rng);
	return taken != 0;
}

static uint64_t waker_of(struct actor *actor)
{
	return skua_task_waker(&actor->task).opaque;
}

/* ---- tasks -------------------------------------------------------------- */

/* Wait, with somebody bound to wake the task. */
static enum skua_poll wait_for_promise(struct actor *actor)
{
	/* Relaxed: the wake-up that ended the last wait published it. */
	if (atomic_load_relaxed(&actor->posted) == actor->promised) {
		actor->promised++;
		exchange(waker_of(actor) | PROMISED, &actor->slot->rng);
	}
	return SKUA_PENDING;
}

/* Spawn the child, or join it; false: it lives. */
static bool child_ended(struct actor *parent)
{
	struct slot *child = parent->slot->child;
	int code;

	if (!parent->slot->child_spawned)
		return true;
	code = skua_task_join_poll(&parent->task, &child->actor.task);
	if (code != 0 && code != -EAGAIN)
		stress_fail("join_poll: %d", code);
	if (code == 0) {
		end(child);
		parent->slot->child_spawned = false;
	}
	return code == 0;
}

static enum skua_poll choose(struct actor *actor)
{
	struct slot *slot = actor->slot;

	if (slot->kind == PARENT && !child_ended(actor))
		return rng_below(&slot->rng, 4) ? SKUA_PENDING : SKUA_YIELD;
	if (stops())
		return SKUA_DONE;
	if (skua_task_cancelled(&actor->task) && rng_below(&slot->rng, 2))
		return SKUA_DONE;
	switch (rng_below(&slot->rng, 32)) {
	case 0:
		return SKUA_DONE;
	case 1 ... 5:
		return wait_for_promise(actor);
	case 6 ... 7:
		skua_waker_wake(skua_task_waker(&actor->task));
		return SKUA_PENDING;
	case 8 ... 10:
		exchange(waker_of(actor), &slot->rng);
		return SKUA_YIELD;
	case 11 ... 13:
		exchange(0, &slot->rng);
		return SKUA_YIELD;
	case 14:
		if (slot->kind != PARENT)
			return SKUA_YIELD;
		begin(slot->child);
		slot->child_spawned = true;
		return SKUA_YIELD;
	default:
		return SKUA_YIELD;
	}
}

static enum skua_poll poll(struct skua_task *task)
{
	struct actor *actor = (struct actor *)task;
	struct slot *slot = actor->slot;
	enum skua_poll result;

	/* Relaxed, all: counts of this task alone, and of its slot. */
	if (atomic_fetch_add_relaxed(&actor->polling, 1) != 0)
		stress_fail("slot %u: polled twice at once", slot_number(slot));
	if (atomic_load_relaxed(&slot->phase) != LIVE)
		stress_fail("slot %u: polled after its end", slot_number(slot));
	atomic_store_relaxed(&slot->polls,
			     atomic_load_relaxed(&slot->polls) + 1);
	result = choose(actor);
	if (result == SKUA_DONE)
		atomic_store_release(&slot->phase, DONE);
	atomic_fetch_sub_relaxed(&actor->polling, 1);
	return result;
}

/* ---- foreign threads ---------------------------------------------------- */

struct joiner {
	unsigned index;
};

static void *join_all(void *arg)
{
	const struct joiner *joiner = arg;
	bool left = true;

	while (left) {
		left = false;
		for (unsigned i = joiner->index; i < SLOTS; i += JOINERS) {
			struct slot *slot = &slots[i];

			if (slot->kind != THREAD_JOINED || slot->lives == 0 ||
			    /* Relaxed: the joiner's own. */
			    atomic_load_relaxed(&slot->phase) == FREE)
				continue;
			check(skua_task_join(&slot->actor.task), "join");
			end(slot);
			if (stops()) {
				leave();
				continue;
			}
			begin(slot);
			left = true;
		}
	}
	return NULL;
}

static uint64_t polls_made(void)
{
	uint64_t polls = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		/* Relaxed: an estimate, or after the end. */
		polls += atomic_load_relaxed(&slots[i].polls);
	return polls;
}

struct sweeper {
	unsigned index;
	struct rng rng;
};

static void *sweep(void *arg)
{
	struct sweeper *sweeper = arg;

	/* Acquire: pairs with the release in leave(). */
	for (uint32_t n = 0; atomic_load_acquire(&alive) > 0; n++) {
		bool taken = false;

		for (unsigned i = 0; i < BOXES / 4; i++)
			taken |= exchange(0, &sweeper->rng);
		if (sweeper->index == 0 && n % 64 == 0 &&
		    polls_made() >= polls_wanted)
			atomic_store_relaxed(&stopping, 1);
		if (!taken || n % 16 == 0)
			sched_yield();
	}
	return NULL;
}

struct foreign {
	struct joiner joiner;
	struct sweeper sweeper;
	bool sweeps;
};

static void *foreign_body(void *arg)
{
	struct foreign *foreign = arg;

	return foreign->sweeps ? sweep(&foreign->sweeper)
			       : join_all(&foreign->joiner);
}

/* ---- rounds ------------------------------------------------------------- */

static void reset(void)
{
	static const enum kind kinds[] = { DETACHED, THREAD_JOINED, PARENT,
					   CHILD };

	atomic_store_relaxed(&stopping, 0);
	atomic_store_relaxed(&alive, SLOTS * 3 / 4); /* not the children */
	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *slot = &slots[i];

		memset(slot, 0, sizeof(*slot));
		memset(&slot->actor, POISON, sizeof(slot->actor));
		/* By two: so that the urgent and bound are of all kinds. */
		slot->kind = kinds[i / 8 % 4];
		if (slot->kind == PARENT)
			slot->child = &slots[i + 8];
		rng_init(&slot->rng, i);
	}
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i].kind != CHILD)
			begin(&slots[i]);
}

static void run_foreign(void)
{
	struct foreign foreign[JOINERS + SWEEPERS];

	for (unsigned i = 0; i < JOINERS + SWEEPERS; i++) {
		foreign[i].sweeps = i >= JOINERS;
		foreign[i].joiner.index = i;
		foreign[i].sweeper.index = i - JOINERS;
		rng_init(&foreign[i].sweeper.rng, SLOTS + i);
	}
	stress_threads(JOINERS + SWEEPERS, foreign_body, foreign,
		       sizeof(foreign[0]));
}

/* All lives are over, and the runtime counted them and their polls. */
static uint64_t check_round(void)
{
	struct skua_stats stats;
	uint64_t lives = 0;
	uint64_t polls = polls_made();

	check(skua_runtime_drain(rt), "drain");
	check(skua_runtime_stats(rt, &stats), "stats");
	for (unsigned i = 0; i < BOXES; i++)
		if (atomic_load_relaxed(&boxes[i]))
			stress_fail("a waker outlived its task");
	for (unsigned i = 0; i < SLOTS; i++) {
		check_poison(&slots[i]);
		if (atomic_load_relaxed(&slots[i].phase) != FREE)
			stress_fail("slot %u has not ended", i);
		lives += slots[i].lives;
	}
	if (stats.total.tasks_polled != polls)
		stress_fail("%" PRIu64 " polls, the runtime counted %" PRIu64,
			    polls, stats.total.tasks_polled);
	if (stats.tasks_spawned != lives)
		stress_fail("%" PRIu64 " lives, the runtime counted %" PRIu64,
			    lives, stats.tasks_spawned);
	return lives;
}

static uint64_t run_round(unsigned workers, uint64_t *polls)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = workers,
				      .queue_capacity = 16 };
	struct skua_error err;
	uint64_t lives;

	if (skua_runtime_create(&rt, &config, &err) != 0)
		stress_fail("create: %s", err.text);
	worker_count = workers;
	reset();
	run_foreign();
	lives = check_round();
	*polls += polls_made();
	check(skua_runtime_destroy(rt), "destroy");
	return lives;
}

int main(void)
{
	static const unsigned workers[] = { 1, 2, 3, 64, 200 };
	uint64_t ops = stress_ops();
	uint64_t polls = 0;
	uint64_t lives = 0;

	/* An operation is a poll. */
	for (unsigned round = 0; polls < ops || round < 5; round++) {
		polls_wanted = ops / 5 + 1;
		lives += run_round(workers[round % 5], &polls);
	}
	printf("wakers: %" PRIu64 " polls, %" PRIu64 " lives, %" PRIu64
	       " cancels, each ended once\n",
	       polls, lives, atomic_load_relaxed(&cancels));
	return 0;
}
