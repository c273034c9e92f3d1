/* SPDX-License-Identifier: MIT */
/* work.c - see work.h: a worker's own tasks */
#include "core/loop/work.h"

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/loop/worker.h"

#define LIFO_STREAK_MAX 3u
/* A guess: urgent and bound tasks get at most eight polls of nine. */
#define PRIORITISED_STREAK_MAX 8u
/* In a burst, the worker still notifies when its queue has a multiple of so many
 * tasks, so that it wakes more workers than those that wake each other. A guess:
 * the benchmark `spawn_many_worker` retunes it. */
#define BURST_TELL 16u
/* How many tasks of its own a worker moves behind a batch of injected tasks. A
 * guess: each takes about as long as the poll of an empty task. */
#define INJECT_AHEAD_MAX 32u
/* The longest polls of its own tasks behind which a worker puts injected tasks. A
 * guess: twenty times as long as moving such a task takes. */
#define INJECT_BEHIND_NS UINT64_C(1000)
/* About how long it takes to move a task to the end of the queue. A guess: the benchmark
 * `timers` retunes it. */
#define OVERTAKE_MOVE_NS UINT64_C(25)

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

/* ---- the next task ------------------------------------------------------ */

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
		work_take_injected(w, w->group, UINT64_MAX, &see_to);

	return notify_rest(w, task, see_to);
}

static __attribute__((noinline)) struct skua_task *
fetch_prioritised(struct worker *w)
{
	bool see_to;
	struct skua_task *task = work_take_prioritised(w, &see_to);

	return notify_rest(w, task, see_to);
}

/* Move the oldest @count tasks of the local queue behind the others. */
static void move_back_owner(struct worker *w, uint32_t count)
{
	struct skua_task *task;

	while (count-- > 0 && (task = local_queue_pop_owner(w->queue)) != NULL)
		push_owner(w, task);
}

void work_overtake_owner(struct worker *w, uint64_t end)
{
	uint32_t others = local_queue_before_owner(w->queue, end);

	if (others == 0 || others * OVERTAKE_MOVE_NS > w->tick.mean_ns ||
	    local_queue_before_owner(w->queue, w->overtaken_end) > 0)
		return;
	move_back_owner(w, others);
	w->overtaken_end = local_queue_end_owner(w->queue);
	/* A worker that was about to park may have missed a task in between. */
	work_tell_owner(w);
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
	struct skua_task *task = work_take_injected(w, w->group, most, &see_to);

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
		task = notify_rest(w, work_take_bound(w), false);
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

/* ---- what other workers see ------------------------------------------------ */

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
