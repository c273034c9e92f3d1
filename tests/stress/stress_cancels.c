/* SPDX-License-Identifier: MIT */
/**
 * stress_cancels.c - cancels and drops that meet the poll of their task
 *
 * A fixed number of tasks that yield, wait for a waker or a timer, or end at
 * random; some are urgent, some bound, some members of groups. A poll that
 * gives a waker of its task away stays until somebody has taken it, so that the
 * cancel, wake-up, drop or detach that follows comes while the task is polled,
 * or at the very end of the poll. It comes from other tasks, from skua_call(),
 * from other threads, or from the poll itself. Every other runtime ends with a
 * shutdown that cancels.
 *
 * Checked: each task ends once, is released once or before its group, and is
 * not polled after that; a poll after a cancel sees it; as many tasks and polls
 * as the runtime counts. The memory of each life is allocated for it: half of
 * them are freed at once, for AddressSanitizer, half are poisoned and looked at
 * later. A waiting task relies on a wake-up or a cancel that somebody has
 * promised: one that is lost hangs the program. There is no timeout.
 *
 * stress_wakers.c has more of joins, and fewer cancels.
 */
#include <errno.h>
#include <sched.h>
#include <skua/skua.h>

#include "core/base/rng.h"
#include "tests/stress/graves.h"
#include "tests/stress/stress.h"

#define LIVES    48u /* of detached tasks, at a time */
#define BOXES    16u
#define SWEEPERS 2u
#define OWNERS   2u
#define MEMBERS  8u /* of a group */
#define NEAR_NS  30000u
#define FAR_NS   UINT64_C(3600000000000)

enum phase { LIVE, DONE, ENDED };

/* How a task that is no member comes to be detached. */
enum detaching { DETACHED, BY_ITSELF, BY_OTHERS };

struct actor {
	struct skua_task task; /* first: a task is its actor */
	/* The polls' own. */
	struct skua_timer timer;
	bool timed; /* the timer may be pending */
	bool far;
	bool member;
	enum detaching detaching;
	uint64_t promised; /* wake-ups or cancels, by boxes */
	/* Written by others, while they have a waker. */
	atomic_u64 posted;    /* before each that was promised */
	atomic_u32 taken;     /* the waker that a poll has given away */
	atomic_u32 cancelled; /* after a cancel */
	/* Writer: the poller. */
	atomic_u32 polling;
	atomic_u32 phase;
};

/* A box holds a waker and its taker's duty. */
#define PROMISED UINT64_C(1) /* wake or cancel */
#define DETACH   UINT64_C(2)
#define TAGS     (PROMISED | DETACH)

static struct skua_runtime *rt;
static unsigned worker_count;
static atomic_u64 boxes[BOXES];
static atomic_u32 stopping; /* no further life; each poll ends its task */
static atomic_u32 alive;    /* lives and owners of groups that go on */
static uint64_t ops_wanted;

/* Of the whole program. */
static atomic_u64 ops;       /* cancels and drops */
static atomic_u64 cancels;   /* among them */
static atomic_u64 met_polls; /* among them */
/* Of a round. */
static atomic_u64 lives;
static atomic_u64 ends;
static atomic_u64 polls;
static atomic_u64 calls;
static atomic_u64 callees;

static void count(atomic_u64 *counter)
{
	/* Relaxed: a count, read as an estimate or after joins. */
	atomic_fetch_add_relaxed(counter, 1);
}

/* Random, of the calling thread. */
static uint32_t below(uint32_t bound)
{
	static _Thread_local struct rng rng;
	static _Thread_local bool begun;
	static atomic_u64 threads;

	if (!begun)
		rng_init(&rng, atomic_fetch_add_relaxed(&threads, 1));
	begun = true;
	return rng_below(&rng, bound);
}

/* Relaxed: a poll or a release that does not see it lives once more. */
static bool stops(void)
{
	return atomic_load_relaxed(&stopping) != 0;
}

static void leave(void)
{
	/* Release: all that was done. Pairs with the acquire in sweep(). */
	atomic_fetch_sub_acq_rel(&alive, 1);
}

/* ---- lives -------------------------------------------------------------- */

static enum skua_poll poll(struct skua_task *task);
static void release(struct skua_task *task);

/* The task has ended, and its memory is the caller's. */
static void bury(struct actor *actor)
{
	if (atomic_exchange_acq_rel(&actor->phase, ENDED) != DONE)
		stress_fail("a task ended without being done, or twice");
	count(&ends);
	grave_bury(actor, sizeof(*actor), below(UINT32_MAX));
}

static struct actor *new_actor(void)
{
	struct actor *actor = calloc(1, sizeof(*actor));

	if (!actor)
		stress_fail("no memory");
	stress_check(skua_task_init(&actor->task, poll), "init");
	return actor;
}

static int spawn(struct actor *actor)
{
	switch (below(8)) {
	case 0:
		return skua_task_spawn_on(rt, below(worker_count),
					  &actor->task);
	case 1:
		stress_check(skua_task_set_urgent(&actor->task, true),
			     "set_urgent");
	}
	return skua_task_spawn(rt, &actor->task);
}

/* A shutdown refuses what comes from outside. */
static bool spawned(struct actor *actor, int code)
{
	if (code == 0) {
		count(&lives);
		return true;
	}
	if (code != -ESHUTDOWN || !stops())
		stress_fail("spawn: %d", code);
	free(actor);
	return false;
}

static void begin(void)
{
	struct actor *actor = new_actor();

	actor->detaching = below(3);
	if (actor->detaching == DETACHED)
		stress_check(skua_task_detach(&actor->task, release), "detach");
	if (!spawned(actor, spawn(actor)))
		leave();
}

static void release(struct skua_task *task)
{
	bury((struct actor *)task);
	if (stops())
		leave();
	else
		begin();
}

/* ---- what is done to a task ----------------------------------------------- */

static void count_op(const struct actor *actor)
{
	count(&ops);
	/* Relaxed: for the statistics. */
	if (atomic_load_relaxed(&actor->polling))
		count(&met_polls);
}

static void cancel(struct actor *actor)
{
	int code;

	count_op(actor);
	count(&cancels);
	code = skua_task_cancel(&actor->task);
	if (code != 0 && code != -EALREADY)
		stress_fail("cancel: %d", code);
	/* Release: the cancel. Pairs with the acquire in poll(). */
	if (code == 0)
		atomic_store_release(&actor->cancelled, 1);
}

static void drop(struct skua_waker waker)
{
	count_op((struct actor *)waker.opaque);
	skua_waker_drop(waker);
}

static void wake(struct skua_waker waker)
{
	count_op((struct actor *)waker.opaque);
	skua_waker_wake(waker);
}

/* Use up a waker in one of several ways. */
static void use(struct skua_waker waker, bool promised)
{
	struct skua_waker clone;

	switch (below(promised ? 12 : 20)) {
	case 0 ... 3:
		cancel((struct actor *)waker.opaque);
		drop(waker);
		break;
	case 4:
		cancel((struct actor *)waker.opaque);
		cancel((struct actor *)waker.opaque);
		wake(waker);
		break;
	case 5 ... 6:
		skua_waker_wake_by_ref(waker);
		drop(waker);
		break;
	case 7 ... 8:
		clone = skua_waker_clone(waker);
		drop(waker);
		wake(clone);
		break;
	case 9 ... 11:
		wake(waker);
		break;
	default:
		drop(waker);
	}
}

static void act(uint64_t entry)
{
	struct skua_waker waker = { (uintptr_t)(entry & ~TAGS) };
	struct actor *actor = (struct actor *)waker.opaque;
	bool detach = entry & DETACH;

	/* Relaxed: the wake-up or cancel publishes it. */
	if (entry & PROMISED)
		atomic_fetch_add_relaxed(&actor->posted, 1);
	/* Relaxed: a hint. */
	atomic_store_relaxed(&actor->taken, 1);
	for (uint32_t spins = below(64); spins > 0; spins--)
		cpu_relax();
	if (detach && below(2)) {
		stress_check(skua_task_detach(&actor->task, release), "detach");
		detach = false;
	}
	use(waker, entry & PROMISED);
	/* Until somebody detaches it, its memory stays. */
	if (detach)
		stress_check(skua_task_detach(&actor->task, release), "detach");
}

/* Put an entry into a box, and act on what was there; 0 only takes. */
static bool exchange(uint64_t entry)
{
	uint64_t taken = atomic_exchange_acq_rel(&boxes[below(BOXES)], entry);

	if (taken)
		act(taken);
	return taken != 0;
}

static void called(void *arg)
{
	(void)arg;
	exchange(0);
	count(&callees);
}

static void call(void)
{
	int code = skua_call(rt, called, NULL);

	if (code == 0)
		count(&calls);
	else if (code != -ESHUTDOWN || !stops())
		stress_fail("call: %d", code);
}

/* ---- polls ---------------------------------------------------------------- */

static void give(struct actor *actor, uint64_t tags)
{
	atomic_store_relaxed(&actor->taken, 0);
	exchange(skua_task_waker(&actor->task).opaque | tags);
}

/* Stay in the poll for a moment, or until the waker is taken. */
static void linger(struct actor *actor)
{
	for (unsigned i = 0; i < 4 && !atomic_load_relaxed(&actor->taken); i++)
		sched_yield();
	for (uint32_t spins = below(64); spins > 0; spins--)
		cpu_relax();
}

/* Wait, with somebody bound to wake or cancel the task. */
static enum skua_poll wait_for_promise(struct actor *actor)
{
	/* Relaxed: what ended the last wait published it. */
	if (atomic_load_relaxed(&actor->posted) == actor->promised) {
		actor->promised++;
		give(actor, PROMISED);
		if (below(2))
			linger(actor);
	}
	return SKUA_PENDING;
}

static void add_timer(struct actor *actor, bool far)
{
	uint64_t delay = far ? FAR_NS : below(NEAR_NS);

	stress_check(skua_timer_add(&actor->task, &actor->timer,
				    skua_now_ns() + delay),
		     "timer_add");
	actor->timed = true;
	actor->far = far;
}

/* Take the timer back, or leave it; false: it is what the task waits for. */
static bool settle_timer(struct actor *actor)
{
	if (!actor->timed)
		return true;
	if (!actor->far && !stops() && skua_timer_pending(&actor->timer) &&
	    below(2))
		return false;
	skua_timer_cancel(&actor->timer);
	actor->timed = false;
	return true;
}

static void settle_detaching(struct actor *actor)
{
	enum detaching how = actor->detaching;

	actor->detaching = DETACHED;
	if (actor->member || how == DETACHED)
		return;
	if (how == BY_ITSELF) {
		stress_check(skua_task_detach(&actor->task, release), "detach");
		return;
	}
	give(actor, DETACH);
	linger(actor);
}

static enum skua_poll choose(struct actor *actor)
{
	switch (below(16)) {
	case 0:
		return SKUA_DONE;
	case 1 ... 2:
		return wait_for_promise(actor);
	case 3:
		add_timer(actor, true);
		return wait_for_promise(actor);
	case 4:
		add_timer(actor, false);
		return SKUA_PENDING;
	case 5: /* It ends when the timer fires. */
		add_timer(actor, false);
		return SKUA_DONE;
	case 6:
		cancel(actor);
		if (!skua_task_cancelled(&actor->task))
			stress_fail("a poll did not see its own cancel");
		return SKUA_YIELD;
	case 7:
		wake(skua_task_waker(&actor->task));
		return SKUA_PENDING;
	case 8:
		drop(skua_task_waker(&actor->task));
		return SKUA_YIELD;
	case 9 ... 12:
		give(actor, 0);
		linger(actor);
		return below(4) ? SKUA_YIELD : SKUA_DONE;
	case 13:
		call();
		return SKUA_YIELD;
	default:
		exchange(0);
		return SKUA_YIELD;
	}
}

static enum skua_poll run(struct actor *actor)
{
	if (!settle_timer(actor))
		return SKUA_PENDING;
	settle_detaching(actor);
	if (stops() || (skua_task_cancelled(&actor->task) && below(2)))
		return SKUA_DONE;
	return choose(actor);
}

static enum skua_poll poll(struct skua_task *task)
{
	struct actor *actor = (struct actor *)task;
	enum skua_poll result;

	/* Relaxed, both: of this task alone. */
	if (atomic_fetch_add_relaxed(&actor->polling, 1) != 0)
		stress_fail("polled twice at once");
	if (atomic_load_relaxed(&actor->phase) != LIVE)
		stress_fail("polled after it was done");
	/* Acquire: pairs with the release in cancel(). */
	if (atomic_load_acquire(&actor->cancelled) &&
	    !skua_task_cancelled(task))
		stress_fail("a poll after a cancel did not see it");
	count(&polls);
	result = run(actor);
	if (result == SKUA_DONE)
		atomic_store_release(&actor->phase, DONE);
	atomic_fetch_sub_relaxed(&actor->polling, 1);
	return result;
}

/* ---- foreign threads ------------------------------------------------------ */

static void cancel_members(struct skua_group *group, struct actor **members,
			   unsigned n)
{
	stress_check(skua_group_cancel(group), "group_cancel");
	for (unsigned i = 0; i < n; i++)
		atomic_store_release(&members[i]->cancelled, 1);
}

static void *own_groups(void)
{
	struct skua_group group;

	stress_check(skua_group_init(&group, rt), "group_init");
	while (!stops()) {
		struct actor *members[MEMBERS];
		unsigned n = 0;

		for (unsigned i = 0; i < MEMBERS; i++) {
			struct actor *actor = new_actor();

			actor->member = true;
			if (spawned(actor,
				    skua_group_spawn(&group, &actor->task)))
				members[n++] = actor;
		}
		for (uint32_t i = below(8); i > 0; i--)
			exchange(0);
		if (below(2))
			cancel_members(&group, members, n);
		stress_check(skua_group_wait(&group), "group_wait");
		for (unsigned i = 0; i < n; i++)
			bury(members[i]);
	}
	leave();
	return NULL;
}

static void shut_down(void)
{
	stress_check(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
					   SKUA_SHUTDOWN_CANCEL),
		     "shutdown");
}

struct foreign {
	unsigned index;
	bool shutdown;
};

static void *sweep(const struct foreign *foreign)
{
	/* Acquire: pairs with the release in leave(). */
	while (atomic_load_acquire(&alive) > 0) {
		bool taken = false;

		for (unsigned i = 0; i < BOXES / 4; i++)
			taken |= exchange(0);
		if (foreign->index == 0 && !stops() &&
		    atomic_load_relaxed(&ops) >= ops_wanted) {
			atomic_store_relaxed(&stopping, 1);
			if (foreign->shutdown)
				shut_down();
		}
		if (!taken || below(8) == 0)
			sched_yield();
	}
	return NULL;
}

static void *foreign_body(void *arg)
{
	const struct foreign *foreign = arg;

	return foreign->index < SWEEPERS ? sweep(foreign) : own_groups();
}

/* ---- rounds --------------------------------------------------------------- */

static void expect(const char *what, uint64_t number, uint64_t counted)
{
	if (number != counted)
		stress_fail("%" PRIu64 " %s, counted as %" PRIu64, number, what,
			    counted);
}

static void check_round(void)
{
	uint64_t called = atomic_load_relaxed(&callees);
	struct skua_stats stats;

	stress_check(skua_runtime_stats(rt, &stats), "stats");
	for (unsigned i = 0; i < BOXES; i++)
		if (atomic_load_relaxed(&boxes[i]))
			stress_fail("a waker outlived its task");
	expect("lives", atomic_load_relaxed(&lives),
	       atomic_load_relaxed(&ends));
	expect("calls", atomic_load_relaxed(&calls), called);
	expect("spawns", atomic_load_relaxed(&lives) + called,
	       stats.tasks_spawned);
	expect("polls", atomic_load_relaxed(&polls) + called,
	       stats.total.tasks_polled);
}

static void reset(void)
{
	atomic_store_relaxed(&lives, 0);
	atomic_store_relaxed(&ends, 0);
	atomic_store_relaxed(&polls, 0);
	atomic_store_relaxed(&calls, 0);
	atomic_store_relaxed(&callees, 0);
	atomic_store_relaxed(&stopping, 0);
	atomic_store_relaxed(&alive, LIVES + OWNERS);
}

/* Returns how many lives there were. */
static uint64_t run_round(unsigned workers, bool shutdown)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = workers,
				      .queue_capacity = 16 };
	struct foreign foreign[SWEEPERS + OWNERS];
	struct skua_error err;

	if (skua_runtime_create(&rt, &config, &err) != 0)
		stress_fail("create: %s", err.text);
	worker_count = workers;
	reset();
	for (unsigned i = 0; i < LIVES; i++)
		begin();
	for (unsigned i = 0; i < SWEEPERS + OWNERS; i++)
		foreign[i] = (struct foreign){ i, shutdown };
	stress_threads(SWEEPERS + OWNERS, foreign_body, foreign,
		       sizeof(foreign[0]));
	if (!shutdown)
		stress_check(skua_runtime_drain(rt), "drain");
	check_round();
	stress_check(skua_runtime_destroy(rt), "destroy");
	return atomic_load_relaxed(&ends);
}

int main(void)
{
	static const unsigned workers[] = { 1, 2, 3, 8, 64 };
	/* A life costs a microsecond or more: a fifth of the usual number. */
	uint64_t wanted = stress_ops() / 5;
	uint64_t ended = 0;

	for (unsigned round = 0; round < 10; round++) {
		ops_wanted = (round + 1) * (wanted / 10 + 1);
		ended += run_round(workers[round / 2], round % 2);
	}
	graves_close(sizeof(struct actor));
	if (atomic_load_relaxed(&met_polls) == 0)
		stress_fail("none during a poll: not all was tested");
	printf("cancels: %" PRIu64 " operations (%" PRIu64
	       " cancels, the rest drops), %" PRIu64
	       " of them during the task's poll; %" PRIu64
	       " lives, each ended once\n",
	       atomic_load_relaxed(&ops), atomic_load_relaxed(&cancels),
	       atomic_load_relaxed(&met_polls), ended);
	return 0;
}
