/* SPDX-License-Identifier: MIT */
/* sentinel.c - see sentinel.h for the rules I6 and I7 */
#include "core/loop/sentinel.h"

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/loop/pool.h"
#include "core/loop/worker.h"
#include "core/os/membarrier.h"

/* The longest delay between two checks of slots that stay empty. A guess. */
#define DELAY_MAX_NS UINT64_C(10000000)
/* The same while descriptors are attached. The sentinel then looks for events as well, and
 * for a leader in a long poll, so this is how late an event is behind such a poll. A guess:
 * a wake-up each millisecond takes at most 0.5 % of a CPU. */
#define DELAY_MAX_DRIVER_NS UINT64_C(1000000)
/* The shortest delay while descriptors are attached, if the slots are not checked more
 * often. A guess, as that of lifo_delay_ns. */
#define DELAY_MIN_DRIVER_NS UINT64_C(50000)
/* The sentinel stops checking the slots after this many checks in a row at which all
 * workers are parked: about 25 ms with the default delay, and 5 ms while descriptors are
 * attached, so that a service which is called more often keeps its sentinel. More checks
 * would cost more than the summons that they spare: each of them is a wake-up in vain. */
#define QUIET_MAX 9u
/* The number of these checks if no worker ran for a long time after the last sentinel had
 * stopped. Then each check is a wake-up in vain, and to stop early costs the next worker that
 * runs one summons. With QUIET_MAX checks, an accept that finds no descriptor left, and is
 * tried ten times a second, takes 108 wake-ups a second instead of 29. */
#define QUIET_RARE 1u
/* A time is long if it is at least this many times the longest delay. A guess. */
#define RARE_DELAYS 4u
/* The sentinel is slow if the time between two checks is more than this many
 * times lifo_delay_ns. A worker that fills a slot must then summon it, which
 * costs a wake-up of about 2 us. While polls are short, this happens at most
 * once in the time of 15 delays, as the times between checks double: 1/2, 1, 2,
 * 4, 8. With 1 instead of 8, chained_spawn takes 1.09 times as long. */
#define SLOW_DELAYS       1u
#define SLOW_DELAYS_SHORT 8u
/* Polls are short if at least this many fit into lifo_delay_ns. A guess. */
#define SHORT_POLLS 16u

void sentinel_init(struct sentinel *sentinel, struct sentinel_sight *sights)
{
	atomic_init(&sentinel->holder, 0);
	atomic_init(&sentinel->until_ns, SENTINEL_NEVER);
	atomic_init(&sentinel->slow, 0);
	sentinel->ripe_ns = SENTINEL_NEVER;
	sentinel->quiet_max = QUIET_MAX;
	sentinel->stopped_ns = 0;
	sentinel->sights = sights;
}

/* Summon worker @i of @group. Returns false if it is no longer parked. */
static bool summon_parked(struct pool *pool, unsigned group, unsigned i)
{
	/* Relaxed: ordered by the fence. */
	atomic_store_relaxed(&pool->drivers[group].summoned, i + 1);
	/* I7. Orders the summons before the load of the parked bit. Pairs with
	 * the fences in sleep_parked() and idle_park_cancel(), by a worker
	 * whose bit was cleared: either that worker sees the summons, and
	 * passes it on, or it is seen to be awake here. */
	atomic_fence_seq_cst();
	if (!idle_parked(&pool->idle, i))
		return false;
	parker_unpark(&pool->idle.sleepers[i].parker);
	return true;
}

/* Summon a parked worker of @group. Returns false if none is parked. */
static bool summon_in(struct pool *pool, unsigned group)
{
	int i;

	/* The loop repeats when the worker found was claimed before it could be
	 * summoned. If none is parked, a worker that parks from now on does its
	 * own check (I2). */
	do {
		i = idle_first_parked_in(&pool->idle, group);
	} while (i >= 0 && !summon_parked(pool, group, (unsigned)i));
	return i >= 0;
}

bool sentinel_pass_lead(struct worker *w)
{
	struct pool *pool = w->pool;
	unsigned i;

	if (!driver_used(w->driver))
		return false;
	i = driver_preferred(w->driver) - 1;
	/* Relaxed: a hint. A worker that sleeps in a poller cannot lead. I11:
	 * summon_parked() fences after the role is free. If no worker is
	 * preferred, @i is UINT_MAX. */
	return i < pool->worker_count && i != w->index &&
	       idle_parked(&pool->idle, i) &&
	       atomic_load_relaxed(&pool->workers[i]->pollers.parks) == 0 &&
	       driver_vacate(w->driver, w->index) &&
	       summon_parked(pool, w->group, i);
}

static void summon_any(struct pool *pool)
{
	for (unsigned g = 0; g < pool->groups->count; g++) {
		if (summon_in(pool, g))
			return;
	}
}

void sentinel_summon(struct pool *pool)
{
	/* Relaxed: a worker that has just given up the role is still going to
	 * check for timers and workers itself (I7). */
	uint32_t holder = atomic_load_relaxed(&pool->sentinel.holder);

	if (holder)
		parker_unpark(&pool->idle.sleepers[holder - 1].parker);
	else
		summon_any(pool);
}

void sentinel_summon_leader(struct pool *pool, unsigned group)
{
	/* A leader that gives the role up summons another one itself. */
	bool led = driver_led(&pool->drivers[group]);
	/* Relaxed: ordered by the caller's fence. */
	uint32_t holder = atomic_load_relaxed(&pool->sentinel.holder);
	/* The sentinel may be awake, and never park. */
	bool parked = holder && idle_parked(&pool->idle, holder - 1);
	bool near = parked && idle_group_of(&pool->idle, holder - 1) == group;

	if (!led && !near && summon_in(pool, group))
		return;
	if (parked)
		parker_unpark(&pool->idle.sleepers[holder - 1].parker);
	else
		summon_any(pool);
}

/* Was @w, which calls this, the last worker of its group to be summoned? */
static bool is_summoned(const struct worker *w)
{
	/* Relaxed: a thread that summons this worker fences (I7), or ends its park. */
	return atomic_load_relaxed(&w->driver->summoned) == w->index + 1;
}

static void end_summons(struct worker *w)
{
	/* Relaxed: as in is_summoned(). A thread that summons another worker meanwhile has
	 * ended the park of that one, which checks for both roles. */
	atomic_store_relaxed(&w->driver->summoned, 0);
}

void sentinel_summoned_in_vain(struct worker *w)
{
	/* Relaxed: the thread that summoned @w has ended its park since it stored what the
	 * sentinel must see. */
	uint32_t holder = atomic_load_relaxed(&w->pool->sentinel.holder);

	if (!is_summoned(w) || holder == 0 || holder == w->index + 1)
		return;
	end_summons(w);
	parker_unpark(&w->pool->idle.sleepers[holder - 1].parker);
}

bool sentinel_watches_slots(const struct pool *pool)
{
	return pool->tuning.lifo_delay_ns != SENTINEL_NEVER;
}

HOT void sentinel_filled(struct worker *w)
{
	const struct sentinel *s = &w->pool->sentinel;
	bool missing = false;

	if (!sentinel_watches_slots(w->pool))
		return;
	/* Once is enough: while this worker is awake, a sentinel is missing
	 * only if no worker is parked (I7). A check at each fill read a line of
	 * each group while all workers were busy. Relaxed, both: ordered by
	 * the fence at the worker's wake-up (I7). */
	if (!w->watched) {
		w->watched = true;
		missing = atomic_load_relaxed(&s->holder) == 0;
	}
	if (missing || atomic_load_relaxed(&s->slow) != 0)
		sentinel_summon(w->pool);
}

bool sentinel_is(const struct worker *w)
{
	/* Relaxed: only this worker writes its index there, and clears it. */
	return atomic_load_relaxed(&w->pool->sentinel.holder) == w->index + 1;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Are descriptors attached to the driver of any group? */
static bool any_attached(const struct pool *pool)
{
	for (unsigned g = 0; g < pool->groups->count; g++) {
		if (driver_attached(&pool->drivers[g]))
			return true;
	}
	return false;
}

/* Are descriptors attached to a driver that no worker leads? */
static bool any_without_leader(const struct pool *pool)
{
	for (unsigned g = 0; g < pool->groups->count; g++) {
		if (driver_attached(&pool->drivers[g]) &&
		    !driver_led(&pool->drivers[g]))
			return true;
	}
	return false;
}

/* Is there anything to check while a worker runs? */
static bool watches_any(const struct pool *pool)
{
	return sentinel_watches_slots(pool) || any_attached(pool);
}

/* May a check find anything? It may find events while all workers are parked if no worker
 * of a group leads, because all of them sleep in pollers. */
static bool checks_pay(const struct pool *pool)
{
	return !idle_all_parked(&pool->idle) || any_without_leader(pool);
}

static bool something_to_watch(struct pool *pool)
{
	return (watches_any(pool) && checks_pay(pool)) ||
	       pool_next_timer_ns(pool) != SENTINEL_NEVER;
}

/* Return half of the delay after which a task is ripe, or less while descriptors
 * are attached: a check sees a new task within this time, and the task is ripe a
 * full delay later. */
static uint64_t shortest_delay(const struct pool *pool)
{
	uint64_t delay_ns = pool->tuning.lifo_delay_ns / 2;

	return any_attached(pool) ? earlier(delay_ns, DELAY_MIN_DRIVER_NS)
				  : delay_ns;
}

static uint64_t longest_delay(const struct pool *pool)
{
	if (any_attached(pool))
		return DELAY_MAX_DRIVER_NS;
	return pool->tuning.lifo_delay_ns > DELAY_MAX_NS
		       ? pool->tuning.lifo_delay_ns
		       : DELAY_MAX_NS;
}

/* Return the longest delay with which the sentinel is not slow. While descriptors are
 * attached, no delay is long: most tasks that wait for events fill a slot, and a summons
 * for each would cost a wake-up of the sentinel for each event. */
static uint64_t slow_delay(const struct pool *pool)
{
	if (any_attached(pool))
		return DELAY_MAX_DRIVER_NS;
	return earlier(
		(pool->sentinel.short_polls ? SLOW_DELAYS_SHORT : SLOW_DELAYS) *
			pool->tuning.lifo_delay_ns,
		DELAY_MAX_NS);
}

/* Set when to check the LIFO slots next: after @delay_ns, or earlier if a task
 * that was seen is ripe earlier. */
static void set_delay(struct pool *pool, uint64_t delay_ns)
{
	struct sentinel *s = &pool->sentinel;

	s->delay_ns = delay_ns;
	s->check_ns = watches_any(pool)
			      ? earlier(clock_now_ns() + delay_ns, s->ripe_ns)
			      : SENTINEL_NEVER;
	/* Relaxed: as in sentinel_filled(). */
	atomic_store_relaxed(&s->slow, delay_ns > slow_delay(pool));
}

/* Begin to count checks with all workers parked. If a sentinel has stopped checking, the
 * time since then tells how rarely workers run, and so after how many checks to stop. */
static void begin_quiet(struct pool *pool)
{
	struct sentinel *s = &pool->sentinel;

	if (s->stopped_ns)
		s->quiet_max = clock_now_ns() - s->stopped_ns <
					       RARE_DELAYS * longest_delay(pool)
				       ? QUIET_MAX
				       : QUIET_RARE;
	s->stopped_ns = 0;
	s->quiet = 0;
}

static bool take_role(struct worker *w)
{
	struct sentinel *s = &w->pool->sentinel;
	/* A hint that a worker has just filled its slot. */
	bool summoned = is_summoned(w);
	uint32_t nobody = 0;

	/* Acquire: the fields that the sentinel before has written. Pairs with
	 * the release in give_role(). */
	if (!atomic_cas_acq_rel(&s->holder, &nobody, w->index + 1))
		return false;
	/* Only a preference of wakers. A waker may claim the sentinel; then another worker
	 * must be woken to take the role. */
	if (!driver_led(w->driver))
		idle_claim_last(&w->pool->idle, w->index);
	end_summons(w);
	set_delay(w->pool, shortest_delay(w->pool));
	if (summoned && watches_any(w->pool))
		s->check_ns =
			clock_now_ns(); /* the delay runs from that check */
	begin_quiet(w->pool);
	return true;
}

static void give_role(struct worker *w)
{
	struct pool *pool = w->pool;
	struct sentinel *s = &pool->sentinel;

	if (!driver_led(w->driver))
		idle_claim_none_last(&pool->idle, w->group);
	/* Relaxed: ordered by the fence. */
	atomic_store_relaxed(&s->until_ns, SENTINEL_NEVER);
	/* Release: the sentinel's own fields. Pairs with take_role(). */
	atomic_store_release(&s->holder, 0);
	/* Orders both stores before the loads in something_to_watch(). Pairs
	 * with the fences in alert_sentinel() (I6), and in sleep_parked() and
	 * idle_park_cancel() (I7). */
	atomic_fence_seq_cst();
}

/* Does the sentinel wait for timers only? It does after some checks with all workers
 * parked; and at once if there is no other worker, unless it has to look for events. */
static bool waits_for_timers(const struct pool *pool)
{
	return pool->sentinel.quiet >= pool->sentinel.quiet_max ||
	       (pool->worker_count == 1 && !checks_pay(pool));
}

/* Does the sentinel check more rarely than it has to while descriptors are attached? None
 * were when it began its delay. */
static bool is_late(const struct pool *pool)
{
	return pool->sentinel.delay_ns > DELAY_MAX_DRIVER_NS &&
	       any_attached(pool);
}

uint64_t sentinel_enter(struct worker *w)
{
	struct pool *pool = w->pool;
	struct sentinel *s = &pool->sentinel;
	/* Relaxed: the value only decides which worker tries. */
	uint32_t holder = atomic_load_relaxed(&s->holder);

	if (holder != w->index + 1 &&
	    (holder != 0 || !something_to_watch(pool) || !take_role(w)))
		return SENTINEL_NEVER;
	/* The loop repeats when a timer was added meanwhile, or a worker woke,
	 * or when the role was given up and taken again. */
	for (;;) {
		/* A sentinel that waits for timers only counts as slow even if
		 * its delay is short, so that a worker which fills a slot
		 * summons it. */
		bool quiet = waits_for_timers(pool);
		uint64_t until = earlier(pool_next_timer_ns(pool),
					 quiet ? SENTINEL_NEVER : s->check_ns);

		quiet = quiet && until != SENTINEL_NEVER;
		/* Relaxed, both: ordered by the fence. */
		if (quiet && pool->worker_count > 1)
			atomic_store_relaxed(&s->slow, 1);
		atomic_store_relaxed(&s->until_ns, until);
		/* I6, I7. Orders both stores before the loads of the timers'
		 * deadlines and of the parked bits. Pairs with the fences in
		 * alert_sentinel(), and in sleep_parked() and
		 * idle_park_cancel(). */
		atomic_fence_seq_cst();
		if (pool_next_timer_ns(pool) < until)
			continue;
		if ((quiet && watches_any(pool) && checks_pay(pool)) ||
		    is_late(pool)) {
			begin_quiet(pool);
			set_delay(pool, shortest_delay(pool));
			continue;
		}
		if (until != SENTINEL_NEVER)
			return until;
		give_role(w);
		if (!something_to_watch(pool) || !take_role(w))
			return SENTINEL_NEVER;
	}
}

/* Is there a task in the slot of @other? Records since when it has been there,
 * and whether the worker's polls were short since the last check. */
static bool occupied(struct sentinel *s, const struct worker *other,
		     struct sentinel_sight *sight, uint64_t now_ns)
{
	void *item = lifo_slot_seen(&other->lifo);
	uint64_t polls = counter_read(&other->area.counters.tasks_polled);
	uint64_t short_ns = other->pool->tuning.lifo_delay_ns / SHORT_POLLS;

	if ((polls - sight->polls) * short_ns > now_ns - s->checked_ns)
		s->short_polls = true;
	if (item != sight->item || polls != sight->polls)
		*sight = (struct sentinel_sight){ item, polls, now_ns, false };
	return item != NULL;
}

/* Take the role of leader from worker @leader, for the sentinel @w or, in another group, for
 * a parked worker. A worker with pollers never leads. */
static bool replace(struct worker *w, struct driver *driver, unsigned leader)
{
	if (driver == w->driver)
		return !w->pollers.list &&
		       driver_take_over(driver, w->index, leader);
	return idle_first_parked_in(&w->pool->idle, driver->group) >= 0 &&
	       driver_depose(driver, leader);
}

/* Replace a leader that is awake, if it has begun no poll and nobody has looked for events
 * since the last check (I12). */
static void watch_leader(struct worker *w, struct driver *driver)
{
	struct pool *pool = w->pool;
	const struct sentinel *s = &pool->sentinel;
	unsigned leader;
	uint64_t polls;

	if (!driver_attached(driver) ||
	    !driver_stuck(driver, s->checked_ns, &leader) || leader == w->index)
		return;
	polls = counter_read(
		&pool->workers[leader]->area.counters.tasks_polled);
	if (polls != s->sights[leader].polls || !replace(w, driver, leader))
		return;
	counter_add_owner(&w->area.counters.io_takeovers, 1);
	probe_io_takeover(w->index, leader);
}

/* Take the tasks that are claimed, if they are still in their slots. Returns
 * one; the others go into the local queue, as after a steal. */
static struct skua_task *take_claimed(struct worker *w)
{
	struct pool *pool = w->pool;
	/* Orders the claims before the loads of the items (lifo_slot.h). */
	bool fenced = membarrier_or_fence(pool->membarrier);
	struct skua_task *first = NULL;

	for (unsigned i = 0; i < pool->worker_count; i++) {
		struct sentinel_sight *sight = &pool->sentinel.sights[i];
		struct lifo_slot *slot = &pool->workers[i]->lifo;
		struct skua_task *task = sight->item;

		if (!sight->claimed)
			continue;
		*sight = (struct sentinel_sight){ .polls = sight->polls };
		if (!fenced)
			lifo_slot_give_back(slot, w->index + 1);
		else if (!lifo_slot_take_claimed(slot, task, w->index + 1))
			continue;
		else if (first)
			local_queue_push_owner(w->queue, task);
		else
			first = task;
	}
	return first;
}

/* Count the checks with all workers parked, after some of which the sentinel stops
 * checking. */
static void count_quiet(struct pool *pool, uint64_t now_ns)
{
	struct sentinel *s = &pool->sentinel;

	if (checks_pay(pool))
		begin_quiet(pool);
	else
		s->quiet++;
	if (s->quiet == s->quiet_max)
		s->stopped_ns = now_ns;
}

struct skua_task *sentinel_check(struct worker *w, uint64_t now_ns)
{
	struct pool *pool = w->pool;
	struct sentinel *s = &pool->sentinel;
	struct skua_task *task = NULL;
	uint32_t room = local_queue_room_owner(w->queue) + 1;
	uint32_t claims = 0;

	/* Check before s->check_ns only if the sentinel is slow: then it was
	 * summoned for a filled slot. */
	if (now_ns < s->check_ns && !atomic_load_relaxed(&s->slow))
		return NULL;
	count_quiet(pool, now_ns);
	for (unsigned g = 0; g < pool->groups->count; g++)
		watch_leader(w, &pool->drivers[g]);
	s->ripe_ns = SENTINEL_NEVER;
	s->short_polls = false;
	for (unsigned i = 0; i < pool->worker_count; i++) {
		struct worker *other = pool->workers[i];
		struct sentinel_sight *sight = &s->sights[i];
		uint64_t ripe_ns;

		if (i == w->index || !occupied(s, other, sight, now_ns) ||
		    !sentinel_watches_slots(pool))
			continue;
		ripe_ns = sight->since_ns + pool->tuning.lifo_delay_ns;
		/* Without room, a task stays in its slot, ripe, for the next
		 * sentinel. */
		if (ripe_ns > now_ns || claims == room)
			s->ripe_ns = earlier(s->ripe_ns, ripe_ns);
		else if (lifo_slot_claim(&other->lifo, w->index + 1))
			claims += sight->claimed = true;
	}
	/* All at once, because a fence of all threads takes long. */
	if (claims > 0)
		task = take_claimed(w);
	s->checked_ns = now_ns;
	/* I9. The caller wakes a worker for the queue by I3. */
	if (task && local_queue_length(w->queue) > 0)
		work_flag_raise_owner(&w->flag, WORK_TASKS);
	set_delay(pool,
		  task || s->ripe_ns != SENTINEL_NEVER
			  ? shortest_delay(pool)
			  : earlier(2 * s->delay_ns, longest_delay(pool)));
	/* This may make tasks runnable, in this worker's own queues. The ripe tasks need
	 * their room there, so they come first. */
	if (pool_submit_due(pool, now_ns, false))
		pool->submit(pool);
	return task;
}

struct skua_task *sentinel_watch(struct worker *w, uint64_t now_ns)
{
	struct pool *pool = w->pool;
	struct sentinel *s = &pool->sentinel;
	/* Relaxed: the value only decides which worker tries. */
	uint32_t holder = atomic_load_relaxed(&s->holder);
	struct skua_task *task;

	if (!sentinel_watches_slots(pool) ||
	    (holder != w->index + 1 && (holder != 0 || !take_role(w))) ||
	    now_ns < s->check_ns)
		return NULL;
	task = sentinel_check(w, now_ns);
	/* A worker that is awake has no reason to check less often. */
	set_delay(pool, shortest_delay(pool));
	return task;
}

/* Is there a sentinel that checks leaders often enough? One that waits for timers only does
 * not check them. */
static bool is_checking(const struct sentinel *s)
{
	/* Relaxed, both: ordered by the caller's fence (I7). */
	return atomic_load_relaxed(&s->holder) != 0 &&
	       atomic_load_relaxed(&s->slow) == 0;
}

void sentinel_leave(struct worker *w)
{
	/* Relaxed: only this worker clears its own index there, and a thread
	 * that writes that index issues a fence (I7). */
	if (sentinel_is(w))
		give_role(w);
	else if (is_summoned(w))
		end_summons(w);
	else if (!driver_leads(w->driver, w->index) ||
		 is_checking(&w->pool->sentinel)) /* I12 */
		return;
	if (something_to_watch(w->pool))
		sentinel_summon_leader(w->pool, w->group);
}
