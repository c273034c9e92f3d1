/* SPDX-License-Identifier: MIT */
/**
 * worker.c - the scheduler loop
 *
 * A worker takes its next task from, in this order:
 *
 *   the injection queue, when that is due
 *   its LIFO slot, at most LIFO_STREAK_MAX times in a row
 *   its local queue
 *   the injection queue
 *   the other workers' queues, and the injection queue again (a search)
 *
 * and sleeps when all are empty. "Visible" work is what other workers can
 * take: the injection queue and the local queues, but not the LIFO slots.
 * Whoever makes work visible that it does not run next itself notifies the
 * idle protocol (core/IDLE.md).
 */
#include "core/worker.h"

#include <assert.h>
#include <string.h>

/* As Go and Tokio: a prime, so as not to beat with the program's rhythm. */
#define POLLS_UNTIL_INJECT 61u
#define LIFO_STREAK_MAX    3u
/* Bounds of the fair share of the injection queue, from the seeds. */
#define INJECT_BATCH_MIN 4u
#define INJECT_BATCH_MAX 64u
/* Most tasks that one steal moves. A guess; `uts` retunes it. */
#define STEAL_MAX 32u

_Thread_local struct worker *worker_current;

void worker_init(struct worker *worker, struct pool *pool, unsigned index,
		 struct local_queue *queue)
{
	memset(worker, 0, sizeof(*worker));
	worker->pool = pool;
	worker->queue = queue;
	worker->index = index;
	worker->polls_until_inject = POLLS_UNTIL_INJECT;
	rng_init(&worker->rng, index);
	lifo_slot_init(&worker->lifo);
	atomic_init(&worker->finished, 0);
}

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
	counter_add_owner(&w->counters.overflows, 1);
	inject_queue_push(&w->pool->inject, &list);
}

/*
 * To the back of the local queue. If it is full, half of it makes room; if
 * that cannot be because a thief holds slots, the task goes to the injection
 * queue alone. The caller notifies. Return: is it in the local queue?
 */
static bool push_owner(struct worker *w, struct skua_task *task)
{
	struct inject_list list = { NULL, NULL, 0 };

	if (local_queue_push_owner(w->queue, task))
		return true;
	spill_owner(w);
	if (local_queue_push_owner(w->queue, task))
		return true;
	counter_add_owner(&w->counters.overflows_single, 1);
	inject_list_append(&list, task_node(task));
	inject_queue_push(&w->pool->inject, &list);
	return false;
}

void worker_spawn_owner(struct worker *w, struct skua_task *task)
{
	struct skua_task *displaced;

	/* Before the task can end: see pool.h. */
	counter_add_owner(&w->counters.tasks_spawned, 1);
	displaced = lifo_slot_put_owner(&w->lifo, task);
	if (displaced) {
		push_owner(w, displaced);
		idle_notify(&w->pool->idle);
	}
}

/*
 * A task goes to the back of the local queue. If it is the only one there, it
 * runs next, and is not worth a wake-up: the one exception to I1. If something
 * else runs next after all, fetch_injected() makes up for it.
 */
static void push_back_owner(struct worker *w, struct skua_task *task)
{
	bool next =
		local_queue_length(w->queue) == 0 && !lifo_slot_peek(&w->lifo);

	if (!push_owner(w, task) || !next)
		idle_notify(&w->pool->idle);
}

/* ---- finding tasks ------------------------------------------------------ */

/* A fair share of the injection queue, as far as the local queue has room. */
static uint64_t fair_share(const struct worker *w)
{
	const struct pool *pool = w->pool;
	uint64_t share =
		inject_queue_length(&pool->inject) / pool->worker_count;
	uint64_t room = local_queue_room_owner(w->queue) + UINT64_C(1);

	if (share < INJECT_BATCH_MIN)
		share = INJECT_BATCH_MIN;
	if (share > INJECT_BATCH_MAX)
		share = INJECT_BATCH_MAX;
	return share < room ? share : room;
}

/*
 * Take from the injection queue: the first task to run, the others into the
 * local queue.
 * @see_to: receives whether that leaves anything to see to: work made visible
 *          (I1), or takers that were turned away (I5)
 */
static struct skua_task *take_injected(struct worker *w, bool *see_to)
{
	struct inject_take take;
	struct inject_node *first;
	struct inject_node *node;

	*see_to = false;
	if (!inject_queue_visible(&w->pool->inject))
		return NULL;
	take = inject_queue_take(&w->pool->inject, fair_share(w));
	first = inject_list_pop(&take.list);
	if (!first)
		return NULL;
	counter_add_owner(&w->counters.global_batch_fetches, 1);
	*see_to = take.turned_away || take.list.count > 0;
	while ((node = inject_list_pop(&take.list)) != NULL)
		local_queue_push_owner(w->queue, task_of_node(node));
	return task_of_node(first);
}

/* The same by a worker that does not search: nobody else sees to what it
 * leaves, or to what is in its own queue while it runs this task. */
static struct skua_task *fetch_injected(struct worker *w)
{
	bool see_to;
	struct skua_task *task = take_injected(w, &see_to);

	if (see_to || (task && local_queue_length(w->queue) > 0))
		idle_notify(&w->pool->idle);
	return task;
}

/* What the worker has at hand, or finds without a search. */
static struct skua_task *next_task(struct worker *w)
{
	struct skua_task *task;

	if (--w->polls_until_inject == 0) {
		w->polls_until_inject = POLLS_UNTIL_INJECT;
		task = fetch_injected(w);
		if (task)
			return task;
	}
	task = lifo_slot_take(&w->lifo);
	if (task && w->lifo_streak < LIFO_STREAK_MAX) {
		w->lifo_streak++;
		counter_add_owner(&w->counters.lifo_hits, 1);
		return task;
	}
	w->lifo_streak = 0;
	if (task)
		push_back_owner(w, task);
	task = local_queue_pop_owner(w->queue);
	return task ? task : fetch_injected(w);
}

/* Try each other worker once, from a random one on. */
static struct skua_task *steal(struct worker *w)
{
	struct pool *pool = w->pool;
	unsigned victim = rng_below(&w->rng, pool->worker_count);

	for (unsigned n = 0; n < pool->worker_count; n++, victim++) {
		struct local_queue_steal got;

		if (victim == pool->worker_count)
			victim = 0;
		if (victim == w->index)
			continue;
		counter_add_owner(&w->counters.steal_attempts, 1);
		got = local_queue_steal_into(pool->workers[victim].queue,
					     w->queue, STEAL_MAX);
		if (got.outcome != SKUA_STEAL_SUCCESS)
			continue;
		counter_add_owner(&w->counters.tasks_stolen, got.count);
		return got.item;
	}
	return NULL;
}

/* By a searcher, or a parker, who see to what they leave by I3. */
static struct skua_task *look_everywhere(struct worker *w)
{
	bool see_to;
	struct skua_task *task = take_injected(w, &see_to);

	return task ? task : steal(w);
}

static bool stopping(const struct worker *w)
{
	/* Relaxed: ordered by the fence in idle_park_begin(), or by the
	 * acquire of the parked bit. */
	return atomic_load_relaxed(&w->pool->stopping) != 0;
}

static struct skua_task *search(struct worker *w)
{
	for (uint32_t i = 0; i < w->pool->steal_attempts; i++) {
		struct skua_task *task = look_everywhere(w);

		if (task || stopping(w))
			return task;
		cpu_relax();
	}
	return NULL;
}

/* Is there work that another worker could do? After a fence. */
static bool work_visible(const struct worker *w)
{
	const struct pool *pool = w->pool;

	if (inject_queue_visible(&pool->inject))
		return true;
	for (unsigned i = 0; i < pool->worker_count; i++) {
		if (local_queue_length(pool->workers[i].queue) > 0)
			return true;
	}
	return false;
}

/* A searcher has found a task: hand the search over if there is more (I3). */
static struct skua_task *found(struct worker *w, struct skua_task *task)
{
	if (idle_leave_search(&w->pool->idle) &&
	    (local_queue_length(w->queue) > 0 || work_visible(w)))
		idle_wake(&w->pool->idle);
	return task;
}

/* Search, then sleep, until there is a task; NULL to end the worker. */
static struct skua_task *wait_for_task(struct worker *w)
{
	struct idle *idle = &w->pool->idle;
	bool searching = idle_try_search(idle);
	struct skua_task *task;

	/* What it finished comes before the look for those that wait for it.
	 * Pairs with the fence in pool_wait_drained(). */
	atomic_fence_seq_cst();
	pool_check_drained(w->pool);
	for (;;) {
		task = searching ? search(w) : NULL;
		if (task)
			return found(w, task);

		idle_park_begin(idle, w->index, searching);
		task = look_everywhere(w); /* I2 */
		if (task || stopping(w)) {
			idle_park_cancel(idle, w->index);
			return task ? found(w, task) : NULL;
		}
		counter_add_owner(&w->counters.times_parked, 1);
		idle_park_wait(idle, w->index);
		searching = true; /* whoever woke it has counted it */
	}
}

/* ---- running them ------------------------------------------------------- */

static void poll_task(struct worker *w, struct skua_task *task)
{
	enum skua_poll result;

	task_state_transition_to_running(task_state(task));
	counter_add_owner(&w->counters.tasks_polled, 1);
	result = task->poll(task);
	assert(result == SKUA_DONE || result == SKUA_YIELD);
	if (result == SKUA_YIELD) {
		task_state_transition_to_scheduled(task_state(task));
		push_back_owner(w, task);
		return;
	}
	task_finish(task);
	/* Release: what the task wrote, and its spawn. Pairs with the acquire
	 * in pool.c. Relaxed: the worker's own counter. */
	atomic_store_release(&w->finished,
			     atomic_load_relaxed(&w->finished) + 1);
}

void worker_run(struct worker *w)
{
	struct skua_task *task;

	worker_current = w;
	while ((task = next_task(w)) || (task = wait_for_task(w)))
		poll_task(w, task);
	worker_current = NULL;
}
