/* SPDX-License-Identifier: MIT */
/* simulation.c - see simulation.h */
#include "bench/simulator/simulation.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "bench/simulator/costs.h"
#include "bench/simulator/policy.h"

struct injected injected;

/* ---- steps of workers ------------------------------------------------------------ */

void simulation_enter(struct simulation *sim, unsigned i, enum sim_state state)
{
	struct sim_worker *w = &sim->workers[i];

	sim->in_state[w->state]--;
	sim->in_state[state]++;
	w->state = state;
	if (state != SIM_PARKED)
		return;
	sim->outcome->parks++;
	events_cancel(&sim->events, i);
}

void simulation_claim(struct simulation *sim, unsigned i)
{
	assert(sim->workers[i].state == SIM_PARKED);
	sim->outcome->wakes++;
	sim->workers[i].step =
		sim->acting ? sim->workers[sim->acting - 1].step + 1 : 0;
	simulation_enter(sim, i, SIM_WAKES);
	events_set(&sim->events, i, injected.now_ns + COSTS_WAKE_NS);
}

void simulation_spend(uint64_t ns)
{
	injected.now_ns += ns;
}

void simulation_read_line(struct simulation *sim, unsigned i, unsigned group)
{
	enum tier tier = layout_group_tier(sim->layout, i, group);

	sim->lines++;
	simulation_spend(costs_probe_ns[tier] / (tier == TIER_CACHE ? 1 : 2));
}

bool simulation_probe(struct simulation *sim, unsigned i, unsigned victim)
{
	sim->queues++;
	simulation_spend(costs_probe_ns[layout_tier(sim->layout, i, victim)]);
	return task_ring_length(&sim->workers[victim].tasks) > 0;
}

void simulation_count(struct reads *reads, unsigned lines, unsigned queues)
{
	reads->times++;
	reads->lines += lines;
	reads->queues += queues;
	if (lines > reads->most_lines)
		reads->most_lines = lines;
	if (queues > reads->most_queues)
		reads->most_queues = queues;
}

void simulation_round(struct simulation *sim)
{
	sim->lines = 0;
	sim->queues = 0;
}

void simulation_failed(struct simulation *sim, unsigned i, uint64_t began_ns)
{
	uint64_t end_ns = began_ns + COSTS_ROUND_NS;

	simulation_count(&sim->outcome->failed, sim->lines, sim->queues);
	if (end_ns < injected.now_ns)
		end_ns = injected.now_ns;
	events_set(&sim->events, i, end_ns);
}

/* ---- tasks --------------------------------------------------------------------------- */

static bool measured(const struct simulation *sim, const struct sim_task *task)
{
	return sim->plan.workload != WORKLOAD_TREE &&
	       task->arrived_ns >= sim->plan.duration_ns / 5;
}

/* Return the distance between two nodes: 0: the same node; 1: the same
 * socket; 2: farther. */
static unsigned hops(const struct simulation *sim, unsigned node, unsigned home)
{
	return layout_node_tier(sim->layout, home, node) - TIER_NODE;
}

/* Worker @i begins a task of `once`: note when its group was reached. */
static void reach(struct simulation *sim, unsigned i)
{
	unsigned group = sim->layout->groups.places[i].group;
	unsigned step = sim->workers[i].step;
	struct sim_step *at =
		&sim->outcome->chain[step < SIM_STEPS ? step : SIM_STEPS - 1];

	if (sim->reached[group])
		return;
	sim->reached[group] = true;
	at->groups++;
	at->last_ns = injected.now_ns - sim->outcome->burst_ns;
}

/* Let worker @i begin a task. @stolen is the distance of the victim; TIERS
 * if the task was not stolen. */
static void begin_task(struct simulation *sim, unsigned i, struct sim_task task,
		       enum tier stolen)
{
	struct outcome *o = sim->outcome;
	unsigned away = hops(sim, layout_node_of(sim->layout, i), task.home);
	uint64_t slower = costs_penalty_percent[away] * COSTS_MEMORY_PERCENT;
	uint64_t work_ns = task.service_ns + task.service_ns * slower / 10000;

	if (stolen != TIERS)
		work_ns += costs_cold_ns[stolen] * COSTS_MEMORY_PERCENT / 100;
	o->home_ns += task.service_ns;
	o->work_ns += work_ns;
	o->done_away += away > 0;
	if (sim->plan.workload == WORKLOAD_ONCE && task.depth == 0)
		reach(sim, i);
	sim->workers[i].running = task;
	simulation_enter(sim, i, SIM_RUNS);
	events_set(&sim->events, i, injected.now_ns + work_ns);
}

static void add_task(struct simulation *sim, unsigned i, struct sim_task task)
{
	task.arrived_ns = injected.now_ns;
	task.serial = ++sim->serial;
	sim->outcome->arrived++;
	sim->outcome->arrived_sum += task.serial;
	task_ring_push(&sim->workers[i].tasks, task);
}

static void end_task(struct simulation *sim, unsigned i)
{
	struct outcome *o = sim->outcome;
	struct sim_task task = sim->workers[i].running;

	o->done++;
	o->done_sum += task.serial;
	o->end_ns = injected.now_ns;
	if (measured(sim, &task))
		histogram_record(&o->latencies,
				 injected.now_ns - task.arrived_ns);
	if (task.depth == 0)
		return;
	task.home = (uint16_t)layout_node_of(sim->layout, i);
	task.depth--;
	o->burst_ns = injected.now_ns;
	for (unsigned n = 0; n < sim->plan.children; n++)
		add_task(sim, i, task);
	sim->plan.policy->arrived(sim, i);
}

static void emptied(struct simulation *sim, unsigned victim)
{
	if (sim->plan.policy->emptied)
		sim->plan.policy->emptied(sim, victim);
}

bool simulation_steal(struct simulation *sim, unsigned i, unsigned victim,
		      unsigned most)
{
	struct task_ring *from = &sim->workers[victim].tasks;
	enum tier tier = layout_tier(sim->layout, i, victim);
	uint64_t *until_ns = &sim->workers[victim].contended_ns;
	uint32_t count = (task_ring_length(from) + 1) / 2;
	struct sim_task first;

	if (!simulation_probe(sim, i, victim)) {
		emptied(sim, victim);
		return false;
	}
	if (*until_ns > injected.now_ns)
		injected.now_ns = *until_ns;
	*until_ns = injected.now_ns +
		    costs_steal_ns[tier] * COSTS_STEAL_SERIAL_PERCENT / 100;
	simulation_spend(costs_steal_ns[tier]);
	if (count > most)
		count = most;
	sim->outcome->steals[tier]++;
	sim->outcome->moved[tier] += count;
	first = task_ring_oldest(from);
	while (--count > 0)
		task_ring_push(&sim->workers[i].tasks, task_ring_oldest(from));
	if (task_ring_length(from) == 0)
		emptied(sim, victim);
	sim->plan.policy->found(sim, i, true);
	begin_task(sim, i, first, tier);
	return true;
}

/* ---- tasks from outside ------------------------------------------------------------- */

struct sim_queue *simulation_queue(struct simulation *sim, unsigned group)
{
	return &sim->queues_of[sim->plan.one_queue ? 0 : group];
}

/* A thread at @group uses a line of the queue at @home, or of the one queue, that a
 * thread at *@at used last. */
static void use_line(struct simulation *sim, unsigned home, unsigned *at,
		     unsigned group)
{
	sim->outcome->lines_elsewhere +=
		group != (sim->plan.one_queue ? *at : home);
	*at = group;
}

/* A thread at @group spawns @task. */
static void inject(struct simulation *sim, unsigned group, struct sim_task task)
{
	struct sim_queue *queue = simulation_queue(sim, group);

	task.arrived_ns = injected.now_ns;
	task.serial = ++sim->serial;
	sim->outcome->arrived++;
	sim->outcome->arrived_sum += task.serial;
	sim->outcome->injected++;
	use_line(sim, group, &queue->calls_at, group);
	use_line(sim, group, &queue->tail_at, group);
	if (task_ring_length(&queue->tasks) == 0)
		use_line(sim, group, &queue->head_at, group);
	task_ring_push(&queue->tasks, task);
}

unsigned simulation_take(struct simulation *sim, unsigned i, unsigned group,
			 unsigned most)
{
	struct sim_queue *queue = simulation_queue(sim, group);
	unsigned own = sim->layout->groups.places[i].group;
	enum tier tier =
		queue->head_at == own
			? TIER_CACHE
			: layout_group_tier(sim->layout, i, queue->head_at);
	unsigned count = 0;

	simulation_spend(costs_probe_ns[tier]);
	if (task_ring_length(&queue->tasks) == 0 ||
	    queue->locked_ns > injected.now_ns)
		return 0;
	queue->locked_ns =
		injected.now_ns +
		costs_steal_ns[tier] * COSTS_STEAL_SERIAL_PERCENT / 100;
	simulation_spend(costs_steal_ns[tier]);
	use_line(sim, group, &queue->head_at, own);
	use_line(sim, group, &queue->lock_at, own);
	use_line(sim, group, &queue->tail_at, own);
	while (count < most && task_ring_length(&queue->tasks) > 0) {
		task_ring_push(&sim->workers[i].tasks,
			       task_ring_oldest(&queue->tasks));
		count++;
	}
	return count;
}

void simulation_begin(struct simulation *sim, unsigned i)
{
	begin_task(sim, i, task_ring_oldest(&sim->workers[i].tasks), TIERS);
}

/* ---- events ---------------------------------------------------------------------------- */

static void arrive(struct simulation *sim)
{
	struct arrivals *a = &sim->arrivals;
	unsigned i = a->worker;
	unsigned group = sim->layout->groups.places[i].group;
	bool outside =
		a->kind == WORKLOAD_OUTSIDE && sim->plan.policy->injected;

	for (unsigned n = 0; n < a->count; n++) {
		struct sim_task task = {
			.service_ns = arrivals_service_ns(a),
			.home = (uint16_t)layout_node_of(sim->layout, i),
			.depth = (uint16_t)sim->plan.depth,
		};

		if (outside)
			inject(sim, group, task);
		else
			add_task(sim, i, task);
	}
	if (outside)
		sim->plan.policy->injected(sim, group);
	else
		sim->plan.policy->arrived(sim, i);
	/* A searching worker sees new tasks in its own queue at once. */
	if (sim->workers[i].state == SIM_SEARCHES)
		events_set(&sim->events, i, injected.now_ns);
	arrivals_next(a);
}

static void act(struct simulation *sim, unsigned i)
{
	const struct policy *policy = sim->plan.policy;
	struct sim_worker *w = &sim->workers[i];
	bool first = w->state != SIM_SEARCHES, searched = w->state != SIM_RUNS;

	if (w->state == SIM_RUNS && w->running.serial != 0)
		end_task(sim, i);
	if (w->state == SIM_WAKES)
		policy->woken(sim, i);
	if (task_ring_length(&w->tasks) == 0) {
		if (w->state == SIM_RUNS && policy->next &&
		    policy->next(sim, i))
			return;
		policy->search(sim, i, first);
		return;
	}
	if (searched)
		policy->found(sim, i, false);
	begin_task(sim, i,
		   sim->plan.workload == WORKLOAD_TREE
			   ? task_ring_newest(&w->tasks)
			   : task_ring_oldest(&w->tasks),
		   TIERS);
}

static bool over(const struct simulation *sim, uint64_t next_ns)
{
	if (sim->plan.workload == WORKLOAD_TREE)
		return sim->outcome->done ==
		       (UINT64_C(2) << sim->plan.depth) - 1;
	return next_ns > sim->plan.duration_ns;
}

static void run(struct simulation *sim)
{
	for (;;) {
		uint64_t arrival_ns = sim->arrivals.next_ns;
		uint64_t event_ns = events_next_ns(&sim->events);
		bool arrives = arrival_ns < event_ns;

		injected.now_ns = arrives ? arrival_ns : event_ns;
		if (over(sim, injected.now_ns))
			return;
		assert(injected.now_ns != UINT64_MAX);
		sim->acting = arrives ? 0 : events_first(&sim->events) + 1;
		if (arrives)
			arrive(sim);
		else
			act(sim, sim->acting - 1);
	}
}

/* ---- all ------------------------------------------------------------------------------- */

/* Count the tasks that are not done, so that a test can account for all tasks. */
static void count_left(struct simulation *sim)
{
	struct outcome *o = sim->outcome;

	for (unsigned i = 0; i < sim->layout->groups.worker_count; i++) {
		struct sim_worker *w = &sim->workers[i];

		o->in_state[w->state]++;
		if (w->state == SIM_RUNS && w->running.serial != 0) {
			o->left++;
			o->left_sum += w->running.serial;
		}
		while (task_ring_length(&w->tasks) > 0) {
			o->left++;
			o->left_sum += task_ring_oldest(&w->tasks).serial;
		}
	}
	for (unsigned g = 0; g < sim->layout->groups.count; g++) {
		struct task_ring *tasks = &sim->queues_of[g].tasks;

		while (task_ring_length(tasks) > 0) {
			o->left++;
			o->left_sum += task_ring_oldest(tasks).serial;
		}
	}
}

/* All workers begin with a search for work, one after the other, within 100
 * ns. */
static int make(struct simulation *sim, const struct plan *plan)
{
	const struct policy *policy = plan->policy;
	unsigned workers = plan->layout->groups.worker_count;
	int code;

	sim->workers = calloc(workers, sizeof(*sim->workers));
	sim->queues_of =
		calloc(plan->layout->groups.count, sizeof(*sim->queues_of));
	sim->reached =
		calloc(plan->layout->groups.count, sizeof(*sim->reached));
	code = events_make(&sim->events, workers);
	if (!sim->workers || !sim->queues_of || !sim->reached || code)
		return -ENOMEM;
	sim->in_state[SIM_RUNS] = workers;
	sim->arrivals = (struct arrivals){ .kind = plan->workload,
					   .percent = plan->percent,
					   .service_ns = plan->service_ns };
	arrivals_begin(&sim->arrivals, plan->layout, plan->seed);
	if (plan->workload == WORKLOAD_ONCE)
		sim->arrivals.next_ns = plan->duration_ns / 5;
	injected.now_ns = 0;
	for (unsigned i = 0; i < workers; i++)
		events_set(&sim->events, i, 100 * i / workers);
	return policy->make ? policy->make(sim) : 0;
}

static void free_all(struct simulation *sim)
{
	unsigned workers = sim->layout->groups.worker_count;

	if (sim->plan.policy->free)
		sim->plan.policy->free(sim);
	for (unsigned i = 0; sim->workers && i < workers; i++)
		free(sim->workers[i].tasks.tasks);
	for (unsigned g = 0; sim->queues_of && g < sim->layout->groups.count;
	     g++)
		free(sim->queues_of[g].tasks.tasks);
	free(sim->queues_of);
	free(sim->reached);
	free(sim->workers);
	events_free(&sim->events);
}

int simulation_run(const struct plan *plan, struct outcome *outcome)
{
	struct simulation sim = { .plan = *plan,
				  .layout = plan->layout,
				  .outcome = outcome };
	int code;

	*outcome = (struct outcome){ .arrived = 0 };
	code = make(&sim, plan);
	if (!code) {
		run(&sim);
		count_left(&sim);
	}
	free_all(&sim);
	return code;
}
