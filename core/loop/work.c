/* SPDX-License-Identifier: MIT */
/* work.c - see work.h */
#include "core/loop/work.h"

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/loop/worker.h"
#include "core/os/membarrier.h"

#define LIFO_STREAK_MAX 3u
/* A guess: urgent and bound tasks get at most eight polls of nine. */
#define PRIORITISED_STREAK_MAX 8u
/* In a burst, the worker still notifies when its queue has a multiple of so many
 * tasks, so that it wakes more workers than those that wake each other. A guess:
 * the benchmark `spawn_many_worker` retunes it. */
#define BURST_TELL 16u
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
/* How many tasks of its own a worker moves behind a batch of injected tasks. A
 * guess: each takes about as long as the poll of an empty task. */
#define INJECT_AHEAD_MAX 32u
/* The longest polls of its own tasks behind which a worker puts injected tasks. A
 * guess: twenty times as long as moving such a task takes. */
#define INJECT_BEHIND_NS UINT64_C(1000)

/* ---- making tasks visible ---------------------------------------------- */

/* Move half of a full local queue to the injection queue, as one batch. */
static void spill_owner(struct worker *w)
{
	struct local_queue_run run = local_queue_spill_owner(w->queue);
	struct inject_list list = { NULL, NULL, 0 };

	if (run.count == 0)
		return;
	for (uint32_t i = 0; i < run.count; i++) {
		struct skua_task *task = local_queue_run_item(w->queue, run, i);

		inject_list_append(&list, task_node(task));
	}
	counter_add_owner(&w->area.counters.overflows, 1);
	telemetry_overflow(&w->telemetry, run.count);
	pool_push(w->pool, w->group, INJECT_NORMAL, &list);
}

/*
 * Push a task to a local queue that is full. Half of the queue is moved to the
 * injection queue to make room. If that is impossible because a thief holds
 * slots, only this task goes to the injection queue. Returns as push_owner().
 */
static __attribute__((noinline)) bool push_full_owner(struct worker *w,
						      struct skua_task *task)
{
	struct inject_list list = { NULL, NULL, 0 };

	spill_owner(w);
	if (local_queue_push_owner(w->queue, task))
		return true;
	counter_add_owner(&w->area.counters.overflows_single, 1);
	telemetry_overflow(&w->telemetry, 1);
	inject_list_append(&list, task_node(task));
	pool_push(w->pool, w->group, INJECT_NORMAL, &list);
	return false;
}

/* Push a task to the back of the local queue. The caller notifies the idle
 * protocol. Returns true if the task is in the local queue, false if it is in
 * the injection queue. */
static inline bool push_owner(struct worker *w, struct skua_task *task)
{
	return local_queue_push_owner(w->queue, task) ||
	       push_full_owner(w, task);
}

HOT void work_tell_owner(struct worker *w)
{
	/* This contains the fence of I1: it orders the push before the loads in
	 * idle_wake(). Pairs with the fences in idle_park_begin() and
	 * idle_leave_search(). */
	work_flag_raise_owner(&w->flag, WORK_TASKS);
	idle_wake(&w->pool->idle, w->group);
}

/* Begin a burst if more than half of the ring is queued, and end it if thieves
 * have taken all tasks before the newest one. The caller notifies (I10). */
static inline void plan_burst_owner(struct worker *w)
{
	uint64_t queued = local_queue_queued_owner(w->queue);

	/* Relaxed, all: only the worker writes it. The caller's fence orders
	 * the beginning before all pushes of the burst. At its end, no task is
	 * left for which the worker has not fenced, except the newest. */
	if (queued > w->queue->mask / 2 && w->pool->membarrier &&
	    !atomic_load_relaxed(&w->burst))
		atomic_store_relaxed(&w->burst, 1);
	else if (queued <= 1 && atomic_load_relaxed(&w->burst))
		atomic_store_relaxed(&w->burst, 0);
}

/* Is the worker in a burst, with tasks before the one that it has just pushed?
 * Then it need not notify (I10). */
static inline bool behind_others_owner(const struct worker *w)
{
	uint64_t queued;

	/* Relaxed: only the worker writes it. */
	if (!atomic_load_relaxed(&w->burst))
		return false;
	/* Orders the push before the load of head, against a thief that calls
	 * membarrier_fence(): pairs with the one in pass_by(). */
	atomic_fence_compiler();
	queued = local_queue_queued_owner(w->queue);
	return queued > 1 && queued % BURST_TELL != 0;
}

HOT void work_push_back_owner(struct worker *w, struct skua_task *task)
{
	/* The only worker of a runtime has nobody to notify, as no other thread
	 * takes from a local queue. After a spill it needs the fence all the
	 * same (I1, step 2). */
	if (!local_queue_push_owner(w->queue, task))
		push_full_owner(w, task);
	else if (w->pool->worker_count == 1 || behind_others_owner(w))
		return;
	plan_burst_owner(w);
	work_tell_owner(w);
}

HOT void work_schedule_owner(struct worker *w, struct skua_task *task)
{
	struct skua_task *displaced = lifo_slot_put_owner(&w->lifo, task);

	if (displaced)
		work_push_back_owner(w, displaced);
	else
		sentinel_filled(w);
}

HOT void work_yield_owner(struct worker *w, struct skua_task *task)
{
	/* An exception to I1: no fence and no check if the worker takes
	 * its next task from the front of this queue. If it takes another one
	 * after all, notify_rest(), end_tick() or loop_poll_within()
	 * notifies. */
	if (!push_owner(w, task) || lifo_slot_peek(&w->lifo))
		work_tell_owner(w);
}

/* ---- finding tasks ------------------------------------------------------ */

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

/*
 * Take a fair share of the injection queue of @group, but at most @most tasks:
 * return the first task, to run it next, and move the others to the local queue.
 * @see_to: receives true if the caller must notify the idle protocol: this has
 * made work visible (I1), or has turned other takers away (I5)
 */
static HOT struct skua_task *take_injected(struct worker *w, unsigned group,
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

/*
 * Notify the idle protocol (I1) after a worker that is no searcher took @task
 * from a shared queue. No other thread does so for the work that the take left
 * visible, or for the worker's own queue while the worker polls @task.
 */
static struct skua_task *notify_rest(struct worker *w, struct skua_task *task,
				     bool see_to)
{
	if (see_to || (task && local_queue_length(w->queue) > 0))
		work_tell_owner(w);
	return task;
}

/* These two are separate functions, so that work_next() saves no registers for
 * them. */
static __attribute__((noinline)) struct skua_task *
fetch_injected(struct worker *w)
{
	bool see_to;
	struct skua_task *task =
		take_injected(w, w->group, UINT64_MAX, &see_to);

	return notify_rest(w, task, see_to);
}

/* Take one task; @see_to as in take_injected(). */
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

/* Take from the urgent lane of the group, else from the inbox. No other worker
 * takes from the inbox, so a take from it never turns another worker away. */
static struct skua_task *take_prioritised(struct worker *w, bool *see_to)
{
	struct skua_task *task =
		take_one(&w->inject->lanes[INJECT_URGENT], see_to);
	bool nothing;

	return task ? task : take_one(&w->inbox, &nothing);
}

static __attribute__((noinline)) struct skua_task *
fetch_prioritised(struct worker *w)
{
	bool see_to;
	struct skua_task *task = take_prioritised(w, &see_to);

	return notify_rest(w, task, see_to);
}

/* Move the oldest @count tasks of the local queue behind the others. */
static void move_back_owner(struct worker *w, uint32_t count)
{
	struct skua_task *task;

	while (count-- > 0 && (task = local_queue_pop_owner(w->queue)) != NULL)
		push_owner(w, task);
}

/*
 * Take a batch of injected tasks, whose turn it is. Its first task runs at once.
 * The others go behind the worker's own tasks if one poll of each of these takes
 * no longer than a turn; otherwise they go ahead of them. Moving a long queue
 * behind the batch would take too long: then take a single task.
 */
static struct skua_task *fetch_in_turn(struct worker *w)
{
	uint32_t own = local_queue_length(w->queue);
	uint32_t before =
		own + (lifo_slot_peek(&w->lifo) ? LIFO_STREAK_MAX : 0);
	bool ahead = w->turns.own_ns > INJECT_BEHIND_NS ||
		     before * w->turns.own_ns > TURNS_NS;
	uint64_t most = ahead && own > INJECT_AHEAD_MAX ? 1 : w->turns.polls;
	bool see_to;
	struct skua_task *task = take_injected(w, w->group, most, &see_to);

	if (!task)
		return NULL;
	if (ahead && local_queue_length(w->queue) > own) {
		move_back_owner(w, own);
		/* The task in the LIFO slot is one of the worker's own. */
		w->lifo_streak = LIFO_STREAK_MAX;
	}
	/* Fewer tasks than the turn has room for may have been there. */
	w->polls_until_inject =
		local_queue_before_owner(w->queue, w->batch_end) + 1;
	w->turns.polls = w->polls_until_inject;
	return notify_rest(w, task, see_to);
}

/* Check the injection queue, as polls_until_inject says. Return: an injected
 * task to run next; NULL: it is the turn of the local tasks. */
static __attribute__((noinline)) struct skua_task *fetch_due(struct worker *w)
{
	uint32_t left = local_queue_before_owner(w->queue, w->batch_end);
	bool own = local_queue_length(w->queue) > 0 || lifo_slot_peek(&w->lifo);
	enum turns_turn turn;

	/* The last batch is not done: other tasks ran in between. */
	if (left > 0) {
		w->polls_until_inject = left + 1;
		w->turns.polls += w->polls_until_inject;
		return NULL;
	}
	turn = turns_check(
		&w->turns,
		inject_queue_visible(&w->inject->lanes[INJECT_NORMAL]),
		clock_now_ns());
	w->polls_until_inject = w->turns.polls;
	/* Without own tasks, next_normal() takes a whole share. */
	return turn == TURN_OUTSIDE && own ? fetch_in_turn(w) : NULL;
}

/* Take a task that is neither urgent nor bound, without a search. */
static inline struct skua_task *next_normal(struct worker *w)
{
	struct skua_task *task;

	if (--w->polls_until_inject == 0) {
		task = fetch_due(w);
		if (task)
			return task;
	}
	task = lifo_slot_take_owner(&w->lifo);
	if (task && w->lifo_streak < LIFO_STREAK_MAX) {
		w->lifo_streak++;
		counter_add_owner(&w->area.counters.lifo_hits, 1);
		return task;
	}
	w->lifo_streak = 0;
	if (task) {
		/* Behind no other task, it would come back at once. */
		if (local_queue_length(w->queue) == 0)
			return task;
		work_yield_owner(w, task);
	}
	task = local_queue_pop_owner(w->queue);
	return task ? task : fetch_injected(w);
}

/* work_next() if there are urgent or bound tasks, or were at the last poll. */
static __attribute__((noinline)) struct skua_task *
next_beside_prioritised(struct worker *w)
{
	struct skua_task *task = NULL;
	bool nothing;

	if (w->prioritised_streak < PRIORITISED_STREAK_MAX)
		task = fetch_prioritised(w);
	if (task) {
		w->prioritised_streak++;
		return task;
	}
	/* After PRIORITISED_STREAK_MAX polls it is the turn of the other tasks.
	 * The inbox and the normal tasks alternate in that turn; without a turn
	 * of its own, the inbox would starve beside an urgent lane that is
	 * never empty. */
	w->inbox_turn = w->prioritised_streak != 0 && !w->inbox_turn;
	w->prioritised_streak = 0;
	if (w->inbox_turn)
		task = notify_rest(w, take_one(&w->inbox, &nothing), false);
	if (!task)
		task = next_normal(w);
	return task ? task : fetch_prioritised(w);
}

HOT struct skua_task *work_next(struct worker *w)
{
	struct skua_task *task;

	if (w->prioritised_streak != 0 ||
	    inject_queue_visible(&w->inject->lanes[INJECT_URGENT]) ||
	    inject_queue_visible(&w->inbox))
		return next_beside_prioritised(w);
	w->inbox_turn = false;
	task = next_normal(w);
	return task ? task : fetch_prioritised(w);
}

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
		    : take_injected(w, victim.line, most_of(w, victim),
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
	struct skua_task *task = take_prioritised(w, &see_to);

	w->left = 0;
	if (!task)
		task = take_injected(w, w->group, UINT64_MAX, &see_to);
	return task ? task : steal(w, reach);
}

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

/* Has any worker of that group tasks in its queue, or do tasks wait at the
 * group? */
static bool line_visible(const struct pool *pool, unsigned line)
{
	uint64_t bits = work_map_read(&pool->map, line, WORK_TASKS);

	if (work_map_read(&pool->map, line, WORK_INJECTED) != 0 &&
	    inject_group_visible(&pool->inject[line]))
		return true;
	for (; bits != 0; bits &= bits - 1) {
		unsigned i = pool->groups->groups[line]
				     .workers[__builtin_ctzll(bits)];

		if (local_queue_length(pool->workers[i]->queue) > 0)
			return true;
	}
	return false;
}

HOT bool work_visible(const struct worker *w)
{
	const struct pool *pool = w->pool;

	/* In one group, the map does not name the queues. */
	if (inject_group_visible(w->inject))
		return true;
	/* The worker's own group first: the work is most likely there. */
	for (unsigned g = 0; g < pool->groups->count; g++) {
		if (line_visible(pool, (w->group + g) % pool->groups->count))
			return true;
	}
	return false;
}

HOT void work_lower_flags_owner(struct worker *w)
{
	if (local_queue_length(w->queue) == 0) {
		work_flag_lower_owner(&w->flag, WORK_TASKS);
		/* Relaxed: as in plan_burst_owner(). */
		atomic_store_relaxed(&w->burst, 0);
	}
	if (w->fork_join)
		fork_join_lower_flag_owner(w->fork_join);
}
