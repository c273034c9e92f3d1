/* SPDX-License-Identifier: MIT */
/* work_shared.c - see work.h: the queues from which several workers take */
#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/loop/work.h"
#include "core/loop/worker.h"
#include "core/os/membarrier.h"

/* The longest queue that a search leaves to its owner, and how long it watches the owner. A
 * guess: a steal costs both workers a few cache misses, and each poll of a task that
 * has moved costs some more. The benchmark `barrier` retunes both. */
#define SHORT_QUEUE 8u
/* The most queues that a step of a search watches: it looks at no other work meanwhile. */
#define WATCHES_MAX 4u
#ifdef SKUA_EXPLORE
#define WATCH_NS UINT64_C(0)
#else
#define WATCH_NS UINT64_C(500)
#endif

/* ---- the queues of the worker's group ----------------------------------- */

/* The injection queue of @group. */
static struct inject_queue *inject_of(const struct worker *w, unsigned group)
{
	return &w->pool->inject[group].lanes[INJECT_NORMAL];
}

/* A worker's fair share of the injection queue of @group, in tasks, limited to
 * the room in its local queue. One task more fits, because it runs at once. */
static uint64_t fair_share(const struct worker *w, unsigned group)
{
	const struct pool *pool = w->pool;
	uint64_t share = inject_queue_length(inject_of(w, group)) /
			 pool->groups->groups[group].count;
	uint64_t room = local_queue_room_owner(w->queue) + UINT64_C(1);

	if (share < INJECT_BATCH_MIN)
		share = INJECT_BATCH_MIN;
	if (share > INJECT_BATCH_MAX)
		share = INJECT_BATCH_MAX;
	return share < room ? share : room;
}

static uint32_t left_in(const struct inject_queue *queue)
{
	uint64_t left = inject_queue_length(queue);

	return left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
}

HOT struct skua_task *work_take_injected(struct worker *w, unsigned group,
					 uint64_t most, bool *see_to)
{
	struct inject_queue *queue = inject_of(w, group);
	struct inject_take take;
	struct inject_node *first;
	struct inject_node *node;
	uint64_t share;

	*see_to = false;
	if (!inject_queue_visible(queue))
		return NULL;
	share = fair_share(w, group);
	take = inject_queue_take(queue, share < most ? share : most);
	first = inject_list_pop(&take.list);
	if (!first)
		return NULL;
	pool_count_queued(w->pool, -(int64_t)(1 + take.list.count));
	counter_add_owner(&w->area.counters.global_batch_fetches, 1);
	telemetry_inject(&w->telemetry, 1 + take.list.count);
	w->left = left_in(queue);
	*see_to = take.turned_away || take.list.count > 0;
	while ((node = inject_list_pop(&take.list)) != NULL) {
		local_queue_push_owner(w->queue, task_of_node(node));
		w->batch_end = local_queue_end_owner(w->queue);
	}
	if (local_queue_length(w->queue) > 0)
		work_flag_raise_owner(&w->flag, WORK_TASKS);
	return task_of_node(first);
}

/* Take one task; @see_to as in work_take_injected(). */
static struct skua_task *take_one(struct inject_queue *queue, bool *see_to)
{
	struct inject_take take;

	*see_to = false;
	/* The queue is empty in most cases; this check saves the call. */
	if (!inject_queue_visible(queue))
		return NULL;
	take = inject_queue_take(queue, 1);
	*see_to = take.turned_away;
	return take.list.count ? task_of_node(take.list.first) : NULL;
}

struct skua_task *work_take_bound(struct worker *w)
{
	bool nothing; /* no other worker takes from the inbox */

	return take_one(&w->inbox, &nothing);
}

struct skua_task *work_take_prioritised(struct worker *w, bool *see_to)
{
	struct skua_task *task =
		take_one(&w->inject->lanes[INJECT_URGENT], see_to);

	return task ? task : work_take_bound(w);
}

/* ---- a search ------------------------------------------------------------ */

/* If the queue of worker @i, the victim, is empty, clear its bit of the map so
 * that other thieves skip it (I9). Returns false if the queue got tasks
 * meanwhile; the bit is then set again. */
static bool pass_by(const struct pool *pool, struct victim victim, unsigned i)
{
	const struct local_queue *queue = pool->workers[i]->queue;
	bool refused;

	if (local_queue_length(queue) > 0)
		return true;
	work_map_pass_by(&pool->map, victim.line, victim.bit);
	/* I10. The owner may be in a burst, and not fence: this fences for it.
	 * Orders the steal, and the cleared bit, before the second check. Pairs
	 * with the compiler's fence in behind_others_owner(). If the kernel
	 * refuses, because it filters the call since the runtime began, a task
	 * may wait for the end of the owner's poll. Relaxed: ordered by the
	 * fence in work_map_pass_by(), if the burst begins. */
	refused = atomic_load_relaxed(&pool->workers[i]->burst) &&
		  !membarrier_fence();
	if (local_queue_length(queue) == 0 && !refused)
		return true;
	work_map_return(&pool->map, victim.line, victim.bit);
	return refused;
}

/* The most tasks to take at once from a victim: fewer from one on another node,
 * because a task that moves to another node is slow to run there. */
static uint32_t most_of(const struct worker *w, struct victim victim)
{
	return victim.far ? w->pool->tuning.steal_max_far
			  : w->pool->tuning.steal_max;
}

/*
 * Does the owner of a short queue take its tasks so fast that a steal would not pay? A
 * search then passes the queue by (I2): two workers that move tasks of a few tens of
 * nanoseconds between them take longer than one worker alone. If workers share CPUs, the
 * owner may not run while a thief watches it.
 * @watches: how many queues the step may still watch
 */
static HOT bool works_off(const struct pool *pool,
			  const struct local_queue *queue, unsigned *watches)
{
	uint32_t length = local_queue_length(queue);
	uint64_t taken, end_ns;

	if (*watches == 0 || length == 0 || length > SHORT_QUEUE ||
	    idle_oversubscribed(&pool->idle))
		return false;
	--*watches;
	taken = local_queue_taken(queue);
	end_ns = clock_now_ns() + WATCH_NS;
	while (clock_now_ns() < end_ns)
		cpu_relax();
	return local_queue_taken(queue) != taken;
}

/* Steal up to half of the victim's queue. @watches: as in works_off() */
static struct skua_task *steal_from(struct worker *w, struct victim victim,
				    unsigned *watches)
{
	struct pool *pool = w->pool;
	unsigned i = pool->groups->groups[victim.line].workers[victim.bit];
	struct local_queue_steal got;

	if (works_off(pool, pool->workers[i]->queue, watches))
		return NULL;
	/* The loop repeats when the victim has pushed a task after the steal
	 * found its queue empty. */
	do {
		counter_add_owner(&w->area.counters.steal_attempts, 1);
		got = local_queue_steal_into(pool->workers[i]->queue, w->queue,
					     most_of(w, victim));
	} while (!pass_by(pool, victim, i) &&
		 got.outcome != SKUA_STEAL_SUCCESS);
	if (got.outcome != SKUA_STEAL_SUCCESS)
		return NULL;
	if (got.count > 1)
		work_flag_raise_owner(&w->flag, WORK_TASKS);
	counter_add_owner(&w->area.counters.tasks_stolen, got.count);
	if (victim.far)
		counter_add_owner(&w->area.counters.tasks_stolen_far,
				  got.count);
	telemetry_stolen(&w->telemetry, got.item, got.count, i);
	w->left = local_queue_length(pool->workers[i]->queue);
	return got.item;
}

/* Are the queues of another group empty? A worker that is about to sleep then clears
 * their bits of the map now and then, so that later searches pass the group by
 * (I9). */
static bool passes_group(struct worker *w, unsigned group, bool sleeps)
{
	const struct inject_group *at = &w->pool->inject[group];
	struct work_line *line = &w->pool->map.lines[group];
	bool empty = true;

	if (inject_group_visible(at))
		return false;
	if (!sleeps || rng_below(&w->rng, INJECT_CLEAR_EACH) != 0)
		return true;
	for (unsigned lane = 0; lane < INJECT_LANES; lane++)
		empty &= inject_group_pass_by(&at->lanes[lane], line, lane);
	return empty;
}

/*
 * Take from the queues of another group: one urgent task, or a share of its
 * injection queue, no larger than a steal. Searchers of that group come first: a
 * worker that is not about to sleep takes only what its last search has seen there
 * as well.
 * @left: set to the group, + 1, if the worker leaves tasks there and *@left is 0
 */
static struct skua_task *take_from_group(struct worker *w, struct victim victim,
					 bool sleeps, unsigned *left)
{
	struct inject_group *at = &w->pool->inject[victim.line];
	struct skua_task *task;
	bool see_to; /* I3 covers what a searcher leaves */

	if (passes_group(w, victim.line, sleeps))
		return NULL;
	if (!sleeps && w->left_at != victim.line + 1) {
		if (*left == 0)
			*left = victim.line + 1;
		return NULL;
	}
	task = take_one(&at->lanes[INJECT_URGENT], &see_to);
	return task ? task
		    : work_take_injected(w, victim.line, most_of(w, victim),
					 &see_to);
}

static struct skua_task *steal(struct worker *w, enum victims_reach reach)
{
	const struct llc_place *place = &w->pool->groups->places[w->index];
	struct victims v = {
		.groups = w->pool->groups,
		.map = &w->pool->map,
		.rng = &w->rng,
		.kind = WORK_TASKS,
		.reach = reach,
		.samples = w->pool->tuning.far_samples,
		.own_line = place->group,
		.own_bit = w->flag.bit,
		.siblings = place->siblings,
	};
	struct skua_task *task = NULL;
	struct victim victim;
	unsigned watches = reach == VICTIMS_ALL ? 0 : WATCHES_MAX;
	unsigned left = 0;

	victims_begin(&v);
	while (!task && victims_next(&v, &victim))
		task = victim.injected
			       ? take_from_group(w, victim,
						 reach == VICTIMS_ALL, &left)
			       : steal_from(w, victim, &watches);
	w->left_at = left;
	return task;
}

HOT struct skua_task *work_find(struct worker *w, enum victims_reach reach)
{
	bool see_to;
	struct skua_task *task = work_take_prioritised(w, &see_to);

	w->left = 0;
	if (!task)
		task = work_take_injected(w, w->group, UINT64_MAX, &see_to);
	return task ? task : steal(w, reach);
}

/* ---- checks of other queues ----------------------------------------------- */

/* Move tasks from a queue of @group to the same one of the worker's group. */
static void move_late(struct worker *w, unsigned group, enum inject_lane lane)
{
	struct pool *pool = w->pool;
	struct inject_queue *queue = &pool->inject[group].lanes[lane];
	struct inject_take take = inject_queue_take(queue, INJECT_BATCH_MAX);

	if (lane == INJECT_NORMAL)
		pool_count_queued(pool, -(int64_t)take.list.count);
	if (take.list.count == 0)
		return;
	pool_push(pool, w->group, lane, &take.list);
	/* I1, for these tasks; I5, for those that are left. */
	idle_wake(&pool->idle, w->group);
}

/* Have tasks waited at @group for too long? */
static bool others_late(struct worker *w, unsigned group)
{
	const struct inject_group *at = &w->pool->inject[group];
	uint64_t taken = 0;

	if (work_map_read(&w->pool->map, group, WORK_INJECTED) == 0 ||
	    !inject_group_visible(at)) {
		w->others.seen_ns = 0;
		return false;
	}
	/* Relaxed: a count that only goes up, and guards no data. */
	for (unsigned lane = 0; lane < INJECT_LANES; lane++)
		taken += atomic_load_relaxed(&at->lanes[lane].taken);
	if (w->others.seen_ns == 0) {
		w->others.seen_ns = w->tick.start_ns;
		w->others.taken = taken;
	} else if (w->others.taken != taken) {
		w->others.seen_ns = 0;
	}
	return w->others.seen_ns != 0 &&
	       w->others.seen_ns + OTHERS_LATE_NS <= w->tick.start_ns;
}

static __attribute__((noinline)) void check_others(struct worker *w)
{
	unsigned groups = w->pool->groups->count;
	unsigned group = (w->group + w->others.step) % groups;

	w->others.ticks = 1;
	if (others_late(w, group)) {
		for (unsigned lane = 0; lane < INJECT_LANES; lane++)
			move_late(w, group, lane);
		w->others.seen_ns = 0;
	}
	if (w->others.seen_ns != 0)
		return; /* check the same group again after the next tick */
	w->others.ticks = OTHERS_TICKS;
	w->others.step = w->others.step % (groups - 1) + 1;
}

HOT void work_check_others(struct worker *w)
{
	if (w->pool->groups->count > 1 && --w->others.ticks == 0)
		check_others(w);
}
