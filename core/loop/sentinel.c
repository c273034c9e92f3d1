/* SPDX-License-Identifier: MIT */
/* sentinel.c - see sentinel.h for the rules I6 and I7 */
#include "core/loop/sentinel.h"

#include "core/base/clock.h"
#include "core/loop/pool.h"
#include "core/loop/worker.h"

/* The longest delay between two looks at slots that stay empty. A guess. */
#define DELAY_MAX_NS UINT64_C(10000000)
/* So many looks in a row at which nobody is awake end the role: about 25 ms
 * with the default delay, so that a service that is called often keeps it. */
#define QUIET_MAX 9u
/* A sentinel with more than so many delays between two looks is slow. To be
 * told costs the filler a wake-up, about 2 us: while polls are short, at most once in
 * 15 delays; with 1 there, too, chained_spawn takes 1.09 of the time. */
#define SLOW_DELAYS       1u
#define SLOW_DELAYS_SHORT 8u
/* Polls are short if so many fit into a delay. A guess. */
#define SHORT_POLLS 16u

void sentinel_init(struct sentinel *sentinel, struct sentinel_sight *sights)
{
	atomic_init(&sentinel->holder, 0);
	atomic_init(&sentinel->until_ns, SENTINEL_NEVER);
	atomic_init(&sentinel->slow, 0);
	atomic_init(&sentinel->summoned, 0);
	sentinel->ripe_ns = SENTINEL_NEVER;
	sentinel->sights = sights;
}

/* Summon worker @i; false if it is not parked any more. */
static bool summon_parked(struct pool *pool, unsigned i)
{
	/* Relaxed: ordered by the fence. */
	atomic_store_relaxed(&pool->sentinel.summoned, i + 1);
	/* I7. Orders the summons before the look at the bit. Pairs with the
	 * fence of a worker whose bit was cleared: either it sees the summons,
	 * and passes it on, or it is seen to be awake. */
	atomic_fence_seq_cst();
	if (!idle_parked(&pool->idle, i))
		return false;
	parker_unpark(&pool->idle.sleepers[i].parker);
	return true;
}

void sentinel_summon(struct pool *pool)
{
	/* Relaxed: a worker that is no sentinel any more has its own look still
	 * to come (I7). */
	uint32_t holder = atomic_load_relaxed(&pool->sentinel.holder);
	int i;

	if (holder) {
		parker_unpark(&pool->idle.sleepers[holder - 1].parker);
		return;
	}
	/* A further round means that somebody was claimed. If there is nobody,
	 * those who park have their own look still to come (I2). */
	do {
		i = idle_first_parked(&pool->idle);
	} while (i >= 0 && !summon_parked(pool, (unsigned)i));
}

static bool watches_lifo(const struct pool *pool)
{
	return pool->tuning.lifo_delay_ns != SENTINEL_NEVER;
}

void sentinel_filled(struct worker *w)
{
	const struct sentinel *s = &w->pool->sentinel;

	/* Relaxed: ordered by the fence at the worker's wake-up (I7). */
	if (watches_lifo(w->pool) && (atomic_load_relaxed(&s->holder) == 0 ||
				      atomic_load_relaxed(&s->slow) != 0))
		sentinel_summon(w->pool);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool something_to_watch(struct pool *pool)
{
	return (watches_lifo(pool) && !idle_all_parked(&pool->idle)) ||
	       pool_next_timer_ns(pool) != SENTINEL_NEVER;
}

/* Half of the time that a task must wait: it is seen by then, and ripe a delay later. */
static uint64_t shortest_delay(const struct pool *pool)
{
	return pool->tuning.lifo_delay_ns / 2;
}

/* When to look at the LIFO slots next: also when a task that was seen is ripe. */
static void set_delay(struct pool *pool, uint64_t delay_ns)
{
	struct sentinel *s = &pool->sentinel;

	s->delay_ns = delay_ns;
	s->check_ns = watches_lifo(pool)
			      ? earlier(clock_now_ns() + delay_ns, s->ripe_ns)
			      : SENTINEL_NEVER;
	/* Relaxed: as in sentinel_filled(). */
	atomic_store_relaxed(
		&s->slow,
		watches_lifo(pool) &&
			delay_ns > (s->short_polls ? SLOW_DELAYS_SHORT
						   : SLOW_DELAYS) *
					   pool->tuning.lifo_delay_ns);
}

static bool take_role(struct worker *w)
{
	struct sentinel *s = &w->pool->sentinel;
	/* Relaxed: a hint, whether somebody filled a slot just now. */
	bool summoned = atomic_load_relaxed(&s->summoned) == w->index + 1;
	uint32_t nobody = 0;

	/* Acquire: the fields of the sentinel before. Pairs with the release
	 * in give_role(). */
	if (!atomic_cas_acq_rel(&s->holder, &nobody, w->index + 1))
		return false;
	/* Relaxed: a waker that wakes the sentinel has to make another one. */
	atomic_store_relaxed(&w->pool->idle.last_choice, w->index + 1);
	/* Relaxed: a thread that summons meanwhile only needs a sentinel, and there is
	 * one. */
	atomic_store_relaxed(&s->summoned, 0);
	set_delay(w->pool, shortest_delay(w->pool));
	if (summoned && watches_lifo(w->pool))
		s->check_ns =
			clock_now_ns(); /* the delay runs from that look */
	s->quiet = 0;
	return true;
}

static void give_role(struct pool *pool)
{
	struct sentinel *s = &pool->sentinel;

	atomic_store_relaxed(&pool->idle.last_choice, 0);
	/* Relaxed: ordered by the fence. */
	atomic_store_relaxed(&s->until_ns, SENTINEL_NEVER);
	/* Release: the sentinel's own fields. Pairs with take_role(). */
	atomic_store_release(&s->holder, 0);
	/* Orders the two before the look for something to watch. Pairs with
	 * the fences of I6 and I7. */
	atomic_fence_seq_cst();
}

uint64_t sentinel_enter(struct worker *w)
{
	struct pool *pool = w->pool;
	struct sentinel *s = &pool->sentinel;
	/* Relaxed: decides only which worker tries. */
	uint32_t holder = atomic_load_relaxed(&s->holder);

	if (holder != w->index + 1 &&
	    (holder != 0 || !something_to_watch(pool) || !take_role(w)))
		return SENTINEL_NEVER;
	/* A further round means that a timer was added, or that somebody woke
	 * meanwhile. */
	for (;;) {
		/* After QUIET_MAX looks it waits for timers alone, and is slow
		 * even if its delay is not yet. */
		bool quiet = s->quiet >= QUIET_MAX;
		uint64_t until = earlier(pool_next_timer_ns(pool),
					 quiet ? SENTINEL_NEVER : s->check_ns);

		quiet = quiet && until != SENTINEL_NEVER;
		/* Relaxed, both: ordered by the fence. */
		if (quiet)
			atomic_store_relaxed(&s->slow, 1);
		atomic_store_relaxed(&s->until_ns, until);
		/* I6, I7. Orders the two before the look at the timers, and at the
		 * workers that are awake. Pairs with the fence in alert_sentinel(), and
		 * with that of a worker that wakes. */
		atomic_fence_seq_cst();
		if (pool_next_timer_ns(pool) < until)
			continue;
		if (quiet && watches_lifo(pool) &&
		    !idle_all_parked(&pool->idle)) {
			s->quiet = 0;
			set_delay(pool, shortest_delay(pool));
			continue;
		}
		if (until != SENTINEL_NEVER)
			return until;
		give_role(pool);
		if (!something_to_watch(pool) || !take_role(w))
			return SENTINEL_NEVER;
	}
}

static uint64_t longest_delay(const struct pool *pool)
{
	return pool->tuning.lifo_delay_ns > DELAY_MAX_NS
		       ? pool->tuning.lifo_delay_ns
		       : DELAY_MAX_NS;
}

/* Is there a task in the slot of @other? Note since when, and whether its polls were
 * short since the last look. */
static bool occupied(struct sentinel *s, const struct worker *other,
		     struct sentinel_sight *sight, uint64_t now_ns)
{
	void *item = lifo_slot_seen(&other->lifo);
	uint64_t polls = counter_read(&other->area.counters.tasks_polled);
	uint64_t short_ns = other->pool->tuning.lifo_delay_ns / SHORT_POLLS;

	if ((polls - sight->polls) * short_ns > now_ns - s->checked_ns)
		s->short_polls = true;
	if (item != sight->item || polls != sight->polls)
		*sight = (struct sentinel_sight){ item, polls, now_ns };
	return item != NULL;
}

/* Take a ripe task, if it is still there: the @first, or else to the local queue,
 * as a steal does. False if there is no room. */
static bool take_ripe(struct worker *w, struct worker *other,
		      struct sentinel_sight *sight, struct skua_task **first)
{
	struct skua_task *task = sight->item;

	if (*first && local_queue_room_owner(w->queue) == 0)
		return false;
	sight->item = NULL;
	if (!lifo_slot_take_seen(&other->lifo, task))
		return true;
	if (*first)
		local_queue_push_owner(w->queue, task);
	else
		*first = task;
	return true;
}

struct skua_task *sentinel_check(struct worker *w)
{
	struct pool *pool = w->pool;
	struct sentinel *s = &pool->sentinel;
	uint64_t now_ns = clock_now_ns();
	struct skua_task *task = NULL;

	/* Before its time only if it is slow and was told of a filled slot. */
	if (now_ns < s->check_ns && !atomic_load_relaxed(&s->slow))
		return NULL;
	s->quiet = idle_all_parked(&pool->idle) ? s->quiet + 1 : 0;
	s->ripe_ns = SENTINEL_NEVER;
	s->short_polls = false;
	for (unsigned i = 0; i < pool->worker_count; i++) {
		struct worker *other = pool->workers[i];
		struct sentinel_sight *sight = &s->sights[i];
		uint64_t ripe_ns;

		if (i == w->index || !occupied(s, other, sight, now_ns))
			continue;
		ripe_ns = sight->since_ns + pool->tuning.lifo_delay_ns;
		/* Without room, a task stays ripe for the next sentinel. */
		if (ripe_ns > now_ns || !take_ripe(w, other, sight, &task))
			s->ripe_ns = earlier(s->ripe_ns, ripe_ns);
	}
	s->checked_ns = now_ns;
	/* I9. The caller tells of them, by I3. */
	if (task && local_queue_length(w->queue) > 0)
		work_flag_raise_owner(&w->flag, WORK_TASKS);
	set_delay(pool,
		  task || s->ripe_ns != SENTINEL_NEVER
			  ? shortest_delay(pool)
			  : earlier(2 * s->delay_ns, longest_delay(pool)));
	return task;
}

struct skua_task *sentinel_watch(struct worker *w, uint64_t now_ns)
{
	struct pool *pool = w->pool;
	struct sentinel *s = &pool->sentinel;
	/* Relaxed: decides only which worker tries. */
	uint32_t holder = atomic_load_relaxed(&s->holder);
	struct skua_task *task;

	if (!watches_lifo(pool) ||
	    (holder != w->index + 1 && (holder != 0 || !take_role(w))) ||
	    now_ns < s->check_ns)
		return NULL;
	task = sentinel_check(w);
	/* Awake, it need not save looks. */
	set_delay(pool, shortest_delay(pool));
	return task;
}

void sentinel_leave(struct worker *w)
{
	struct sentinel *s = &w->pool->sentinel;
	uint32_t me = w->index + 1;

	/* Relaxed, all: only this worker takes its own index from there, and a thread
	 * that writes it there has a fence (I7). */
	if (atomic_load_relaxed(&s->holder) == me)
		give_role(w->pool);
	else if (atomic_load_relaxed(&s->summoned) == me)
		atomic_store_relaxed(&s->summoned, 0);
	else
		return;
	if (something_to_watch(w->pool))
		sentinel_summon(w->pool);
}
