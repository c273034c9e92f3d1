/* SPDX-License-Identifier: MIT */
/**
 * policy_runtime.c - the library's own policy
 *
 * core/idle/victims.c chooses the victims, from a map like the runtime's, and wake.c and
 * claim.c of the same folder choose the worker to wake. The functions here do what functions
 * of core/loop/ do with these: they decide how far a worker searches at which time, and when
 * it parks. The comment above each names the function that it stands for.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "bench/simulator/policy.h"
#include "core/base/clock.h"
#include "core/idle/idle.h"
#include "core/base/rng.h"
#include "core/base/spin.h"
#include "core/idle/victims.h"
#include "core/queue/inject_group.h"
#include "core/queue/work_map.h"

/* The policy's data of one worker. */
struct own {
	struct rng rng;
	struct work_flag flag;
	struct spin spin;
	uint64_t idle_since_ns;
	unsigned waited; /* index + 1 of the group at which its last search saw
			  * tasks and left them; 0: none */
	/* Where its last search has found a task, and how many its waker told it
	 * of. */
	const struct task_ring *from;
	uint32_t told;
	bool parks; /* it is registered as parked, and scans all queues once more */
};

struct runtime {
	struct idle idle;
	struct work_map map;
	struct idle_group *by_group;
	struct idle_sleeper *sleepers;
	struct work_line *lines;
	struct own *own;
	uint64_t *parked; /* last seen idle_group.parked of each group */
};

/* ---- waking ------------------------------------------------------------------------- */

/* Find out which workers the preceding call has woken, and wake them in the
 * simulation. Return: whether there were any. */
static bool see_claims(struct simulation *sim)
{
	struct runtime *rt = sim->policy;
	const struct llc_groups *groups = &sim->layout->groups;
	bool any = false;

	for (unsigned g = 0; g < groups->count; g++) {
		uint64_t now = atomic_load_acquire(&rt->by_group[g].parked);
		uint64_t gone = rt->parked[g] & ~now;

		rt->parked[g] = now;
		for (; gone != 0; gone &= gone - 1) {
			simulation_claim(
				sim, groups->groups[g]
					     .workers[__builtin_ctzll(gone)]);
			any = true;
		}
	}
	return any;
}

/* Count the lines that the preceding call read in order to choose a worker
 * to wake. */
static void count_wake(struct simulation *sim)
{
	unsigned lines = injected.count;

	simulation_count(&sim->outcome->checked, lines, 0);
	if (see_claims(sim))
		simulation_count(&sim->outcome->woken, lines, 0);
}

static void runtime_arrived(struct simulation *sim, unsigned i)
{
	struct runtime *rt = sim->policy;

	injected_forget();
	work_flag_raise_owner(&rt->own[i].flag, WORK_TASKS);
	if (sim->workers[i].state == SIM_PARKED)
		idle_wake_worker(&rt->idle, i);
	else
		idle_wake(&rt->idle, idle_group_of(&rt->idle, i));
	count_wake(sim);
}

/* Count the lines of other groups and of their workers that the preceding call
 * read. */
static void count_elsewhere(struct simulation *sim, unsigned group)
{
	const struct runtime *rt = sim->policy;
	const struct llc_groups *groups = &sim->layout->groups;

	for (unsigned n = 0; n < injected.count; n++) {
		uintptr_t at = injected.lines[n] - (uintptr_t)rt->by_group;
		uintptr_t sleeper = injected.lines[n] - (uintptr_t)rt->sleepers;

		at /= sizeof(*rt->by_group);
		sleeper /= sizeof(*rt->sleepers);
		sim->outcome->lines_elsewhere +=
			(at < groups->count && at != group) ||
			(sleeper < groups->worker_count &&
			 groups->places[sleeper].group != group);
	}
}

/* Stands for pool_inject() of core/loop/pool.c. */
static void runtime_injected(struct simulation *sim, unsigned group)
{
	struct runtime *rt = sim->policy;
	struct work_line *line = &rt->map.lines[group];

	if (!sim->plan.one_queue)
		inject_group_raise(line, INJECT_NORMAL);
	injected_forget();
	idle_wake_injected(&rt->idle, group);
	count_elsewhere(sim, group);
	count_wake(sim);
}

static bool queue_visible(struct simulation *sim, unsigned group)
{
	return task_ring_length(&simulation_queue(sim, group)->tasks) > 0;
}

/* Stands for work_take_injected() of core/loop/work_shared.c. */
static unsigned take(struct simulation *sim, unsigned i, unsigned group,
		     unsigned most)
{
	struct runtime *rt = sim->policy;
	const struct llc_groups *groups = &sim->layout->groups;
	const struct task_ring *tasks = &simulation_queue(sim, group)->tasks;
	unsigned workers = sim->plan.one_queue ? groups->worker_count
					       : groups->groups[group].count;
	unsigned share = task_ring_length(tasks) / workers;
	unsigned count;

	if (share < INJECT_BATCH_MIN)
		share = INJECT_BATCH_MIN;
	if (share > INJECT_BATCH_MAX)
		share = INJECT_BATCH_MAX;
	rt->own[i].from = tasks;
	count = simulation_take(sim, i, group, share < most ? share : most);
	if (count > 1)
		work_flag_raise_owner(&rt->own[i].flag, WORK_TASKS);
	return count;
}

/* Stands for take_from_group() of core/loop/work_shared.c. */
static bool take_elsewhere(struct simulation *sim, unsigned i,
			   struct victim victim, enum victims_reach reach,
			   unsigned *waited)
{
	struct runtime *rt = sim->policy;
	const struct tuning *tuning = &sim->plan.tuning;
	unsigned count = 0;

	if (!queue_visible(sim, victim.line)) {
		if (reach == VICTIMS_ALL &&
		    rng_below(&rt->own[i].rng, INJECT_CLEAR_EACH) == 0)
			atomic_fetch_and_relaxed(
				&rt->map.lines[victim.line].bits[WORK_INJECTED],
				~inject_group_bit(INJECT_NORMAL));
		return false;
	}
	if (reach == VICTIMS_ALL || rt->own[i].waited == victim.line + 1)
		count = take(sim, i, victim.line,
			     victim.far ? tuning->steal_max_far
					: tuning->steal_max);
	else if (*waited == 0)
		*waited = victim.line + 1;
	return count > 0;
}

/* Stands for fetch_injected() of core/loop/work.c. */
static bool runtime_next(struct simulation *sim, unsigned i)
{
	struct runtime *rt = sim->policy;
	unsigned group = idle_group_of(&rt->idle, i);
	unsigned count = 0;

	if (queue_visible(sim, group))
		count = take(sim, i, group, UINT32_MAX);
	if (count == 0)
		return false;
	if (count > 1) {
		injected_forget();
		idle_wake(&rt->idle, group);
		count_wake(sim);
	}
	simulation_begin(sim, i);
	return true;
}

/* Stands for pass_by() of core/loop/work_shared.c. */
static void runtime_emptied(struct simulation *sim, unsigned victim)
{
	struct runtime *rt = sim->policy;
	const struct llc_place *place = &sim->layout->groups.places[victim];

	work_map_pass_by(&rt->map, place->group, place->bit);
}

static void lower_flag(struct simulation *sim, unsigned i)
{
	struct runtime *rt = sim->policy;

	if (task_ring_length(&sim->workers[i].tasks) == 0)
		work_flag_lower_owner(&rt->own[i].flag, WORK_TASKS);
}

/* ---- finding ------------------------------------------------------------------------- */

/* Add the time for the lines that were recorded from number @counted on. */
static void spend_lines(struct simulation *sim, unsigned i, unsigned *counted)
{
	const struct runtime *rt = sim->policy;

	for (; *counted < injected.count; (*counted)++) {
		uintptr_t at = injected.lines[*counted] - (uintptr_t)rt->lines;

		simulation_read_line(sim, i,
				     (unsigned)(at / sizeof(*rt->lines)));
	}
}

static void runtime_found(struct simulation *sim, unsigned i, bool stolen);

/* Begin the first of the tasks that searcher @i has taken from a group's queue. */
static bool begin_taken(struct simulation *sim, unsigned i)
{
	runtime_found(sim, i, false);
	simulation_begin(sim, i);
	return true;
}

/* Stands for work_find() and steal() of core/loop/work_shared.c. */
static bool find(struct simulation *sim, unsigned i, enum victims_reach reach)
{
	struct runtime *rt = sim->policy;
	const struct tuning *tuning = &sim->plan.tuning;
	const struct llc_groups *groups = &sim->layout->groups;
	const struct llc_place *place = &groups->places[i];
	struct victims v = {
		.groups = groups,
		.map = &rt->map,
		.rng = &rt->own[i].rng,
		.kind = WORK_TASKS,
		.reach = reach,
		.samples = tuning->far_samples,
		.own_line = place->group,
		.own_bit = rt->own[i].flag.bit,
		.siblings = place->siblings,
	};
	struct victim victim;
	unsigned counted = 0, waited = 0, worker;

	if (queue_visible(sim, place->group) &&
	    take(sim, i, place->group, UINT32_MAX) > 0)
		return begin_taken(sim, i);
	injected_forget();
	victims_begin(&v);
	while (victims_next(&v, &victim)) {
		spend_lines(sim, i, &counted);
		if (victim.injected) {
			if (take_elsewhere(sim, i, victim, reach, &waited))
				return begin_taken(sim, i);
			continue;
		}
		worker = groups->groups[victim.line].workers[victim.bit];
		rt->own[i].from = &sim->workers[worker].tasks;
		if (simulation_steal(sim, i, worker,
				     victim.far ? tuning->steal_max_far
						: tuning->steal_max))
			return true;
	}
	spend_lines(sim, i, &counted);
	rt->own[i].waited = waited;
	rt->own[i].from = NULL;
	return false;
}

/* Stands for line_visible() of core/loop/work.c. */
static bool line_visible(struct simulation *sim, unsigned i, unsigned line)
{
	const struct runtime *rt = sim->policy;
	uint64_t bits = work_map_read(&rt->map, line, WORK_TASKS);

	simulation_read_line(sim, i, line);
	if (work_map_read(&rt->map, line, WORK_INJECTED) != 0 &&
	    queue_visible(sim, line))
		return true;
	for (; bits != 0; bits &= bits - 1) {
		if (simulation_probe(sim, i,
				     sim->layout->groups.groups[line]
					     .workers[__builtin_ctzll(bits)]))
			return true;
	}
	return false;
}

/* Stands for work_visible() of core/loop/work.c. */
static bool work_visible(struct simulation *sim, unsigned i)
{
	unsigned groups = sim->layout->groups.count;
	unsigned own = sim->layout->groups.places[i].group;
	bool visible = false;

	simulation_round(sim);
	injected_forget();
	visible = queue_visible(sim, own);
	for (unsigned g = 0; !visible && g < groups; g++)
		visible = line_visible(sim, i, (own + g) % groups);
	simulation_count(&sim->outcome->handed, sim->lines, sim->queues);
	return visible;
}

static void cancel_park(struct runtime *rt, unsigned i)
{
	unsigned group = idle_group_of(&rt->idle, i);

	idle_park_cancel(&rt->idle, i);
	rt->parked[group] = atomic_load_acquire(&rt->by_group[group].parked);
	rt->own[i].parks = false;
}

/* Stands for found() and wake_for_rest() of core/loop/search.c. */
static void runtime_found(struct simulation *sim, unsigned i, bool stolen)
{
	struct runtime *rt = sim->policy;
	struct own *own = &rt->own[i];
	unsigned more =
		task_ring_length(&sim->workers[i].tasks) - (stolen ? 0 : 1);
	unsigned seen = more + (own->from ? task_ring_length(own->from) : 0);

	if (rt->own[i].parks)
		cancel_park(rt, i);
	if (stolen && more)
		work_flag_raise_owner(&rt->own[i].flag, WORK_TASKS);
	if (!idle_leave_search(&rt->idle, i) || !idle_any_sleepy(&rt->idle) ||
	    !(more || work_visible(sim, i)))
		return;
	injected_forget();
	idle_wake_for(&rt->idle, idle_group_of(&rt->idle, i),
		      seen > own->told ? seen : own->told);
	count_wake(sim);
}

/* ---- searching and sleeping ------------------------------------------------------------ */

static uint64_t spin_limit_ns(const struct simulation *sim, unsigned i)
{
	const struct runtime *rt = sim->policy;

	return spin_budget(
		&rt->own[i].spin,
		SPIN_SLEEP_WAKES *
			idle_wake_cost_ns(&rt->idle,
					  idle_group_of(&rt->idle, i)));
}

/* Stands for the end of search_and_sleep() of core/loop/search.c. */
static void go_to_sleep(struct simulation *sim, unsigned i, bool searching)
{
	struct runtime *rt = sim->policy;
	unsigned group = idle_group_of(&rt->idle, i);

	lower_flag(sim, i);
	idle_park_begin(&rt->idle, i, searching);
	rt->parked[group] = atomic_load_acquire(&rt->by_group[group].parked);
	rt->own[i].parks = true;
	rt->own[i].told = 0;
	simulation_round(sim);
	if (find(sim, i, VICTIMS_ALL))
		return;
	rt->own[i].parks = false;
	simulation_count(&sim->outcome->sleeping, sim->lines, sim->queues);
	simulation_enter(sim, i, SIM_PARKED);
}

/* Stands for the first part of find_told() of core/loop/search.c. */
static bool find_told(struct simulation *sim, unsigned i)
{
	struct runtime *rt = sim->policy;

	if (rt->own[i].told < IDLE_MANY)
		return false;
	simulation_round(sim);
	if (find(sim, i, VICTIMS_ALL))
		return true;
	simulation_count(&sim->outcome->told, sim->lines, sim->queues);
	return false;
}

/* Stands for one round of search() of core/loop/search.c. */
static void runtime_search(struct simulation *sim, unsigned i, bool first)
{
	struct runtime *rt = sim->policy;
	struct sim_worker *w = &sim->workers[i];
	uint64_t began_ns = clock_now_ns(), spin_ns = spin_limit_ns(sim, i);
	uint64_t far_ns = spin_far_ns(
		spin_ns,
		idle_wake_cost_ns(&rt->idle, idle_group_of(&rt->idle, i)),
		sim->plan.tuning.far_delay_ns);
	uint64_t searched_ns;

	if (w->state == SIM_RUNS) {
		rt->own[i].told = 0;
		lower_flag(sim, i);
		if (!idle_try_search(&rt->idle, i)) {
			rt->own[i].idle_since_ns = began_ns;
			go_to_sleep(sim, i, false);
			return;
		}
	}
	simulation_enter(sim, i, SIM_SEARCHES);
	if (first)
		w->rounds = 0;
	searched_ns = first ? 0 : began_ns - w->search_ns;
	if (w->rounds++ >= sim->plan.tuning.steal_attempts &&
	    searched_ns >= spin_ns) {
		go_to_sleep(sim, i, true);
		return;
	}
	if (first && find_told(sim, i))
		return;
	simulation_round(sim);
	if (find(sim, i,
		 searched_ns < far_ns ? VICTIMS_NODE : VICTIMS_SAMPLE)) {
		if (!first)
			spin_learn(&rt->own[i].spin, searched_ns);
		return;
	}
	simulation_failed(sim, i, began_ns);
	if (first) {
		w->search_ns = clock_now_ns();
		rt->own[i].idle_since_ns = w->search_ns;
	}
}

/* Stands for woken() and learn_gap() of core/loop/search.c. */
static void runtime_woken(struct simulation *sim, unsigned i)
{
	struct runtime *rt = sim->policy;
	struct own *own = &rt->own[i];
	uint64_t now_ns = clock_now_ns();

	idle_begun(&rt->idle, i);
	idle_woken(&rt->idle, i, now_ns);
	own->told = idle_told(&rt->idle, i);
	spin_learn(&own->spin,
		   idle_claimed_ns(&rt->idle, i) - own->idle_since_ns);
}

/* ---- memory ------------------------------------------------------------------------------ */

static void runtime_free(struct simulation *sim)
{
	struct runtime *rt = sim->policy;

	if (!rt)
		return;
	free(rt->by_group);
	free(rt->sleepers);
	free(rt->lines);
	free(rt->own);
	free(rt->parked);
	free(rt);
}

static void *lines_of(size_t count, size_t size)
{
	return aligned_alloc(CACHE_PAIR, count * size);
}

static int runtime_make(struct simulation *sim)
{
	const struct llc_groups *groups = &sim->layout->groups;
	struct runtime *rt = lines_of(1, (sizeof(*rt) + CACHE_PAIR - 1) /
						 CACHE_PAIR * CACHE_PAIR);

	if (!rt)
		return -ENOMEM;
	sim->policy = rt;
	rt->by_group = lines_of(groups->count, sizeof(*rt->by_group));
	rt->sleepers = lines_of(groups->worker_count, sizeof(*rt->sleepers));
	rt->lines = lines_of(groups->count, sizeof(*rt->lines));
	rt->own = calloc(groups->worker_count, sizeof(*rt->own));
	rt->parked = calloc(groups->count, sizeof(*rt->parked));
	if (!rt->by_group || !rt->sleepers || !rt->lines || !rt->own ||
	    !rt->parked)
		return -ENOMEM;
	work_map_init(&rt->map, rt->lines, groups->count);
	idle_init(&rt->idle, groups, rt->by_group, rt->sleepers);
	for (unsigned i = 0; i < groups->worker_count; i++) {
		rng_init(&rt->own[i].rng, sim->plan.seed << 32 | i);
		work_flag_init(&rt->own[i].flag, &rt->map,
			       groups->places[i].group, groups->places[i].bit);
	}
	return 0;
}

const struct policy policy_runtime = {
	.name = "runtime",
	.description = "the library's own code",
	.make = runtime_make,
	.free = runtime_free,
	.arrived = runtime_arrived,
	.injected = runtime_injected,
	.next = runtime_next,
	.search = runtime_search,
	.woken = runtime_woken,
	.found = runtime_found,
	.emptied = runtime_emptied,
};
