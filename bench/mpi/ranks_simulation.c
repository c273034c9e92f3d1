/* SPDX-License-Identifier: MIT */
/* ranks_simulation.c - see ranks_simulation.h */
#include "bench/mpi/ranks_simulation.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/mpi/simulated_rank.h"

/* A busy worker polls when a searcher yields, as in uts_ranks.c. */
#define TICK_NS UINT64_C(20000)

/* ---- the pool ------------------------------------------------------------------- */

static void host_ask(void *of, unsigned parts)
{
	((struct sim_rank *)of)->pool.asked += parts;
}

static int host_answer(void *of, void *parts, unsigned wanted, unsigned max)
{
	return part_list_answer(&((struct sim_rank *)of)->pool, parts, wanted,
				max);
}

static int host_put(void *of, const void *parts, size_t count)
{
	struct sim_rank *rank = of;
	const struct uts_part *part = parts;
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++) {
		rank->left += part[i].end - part[i].first;
		err = uts_walk_enter_part(&rank->walk, &part[i]);
	}
	rank->pool.waiting = 0;
	return err;
}

static unsigned host_waiting(void *of)
{
	return ((struct sim_rank *)of)->pool.waiting;
}

static bool host_idle(void *of)
{
	return part_list_idle(&((struct sim_rank *)of)->pool);
}

static const struct protocol_host host = {
	.send = simulated_rank_send,
	.sum = simulated_rank_sum,
	.ask = host_ask,
	.answer = host_answer,
	.put = host_put,
	.waiting = host_waiting,
	.idle = host_idle,
};

/* ---- the workers ---------------------------------------------------------------- */

static int enter(struct sim_rank *rank, const struct uts_node *node)
{
	struct uts_walk *walk = &rank->walk;
	size_t height = walk->height;
	int err = uts_walk_enter(walk, node);

	if (walk->height > height)
		rank->left += walk->levels[height].children;
	return err;
}

/* Each worker that has a node gives a part, while parts are missing. */
static int give_parts(struct sim_rank *rank, unsigned active)
{
	struct uts_part part;
	int err = 0;

	while (err == 0 && active-- > 0 && part_list_missing(&rank->pool) > 0 &&
	       rank->left > rank->sim->plan->workers &&
	       uts_walk_split(&rank->walk, &part)) {
		rank->left -= part.end - part.first;
		err = part_list_put(&rank->pool, &part, 1);
	}
	return err;
}

static int take_parts_back(struct sim_rank *rank)
{
	struct uts_part part;
	int err = 0;

	while (err == 0 && rank->left < rank->sim->plan->workers &&
	       part_list_take(&rank->pool, &part))
		err = host_put(rank, &part, 1);
	return err;
}

/* Pass the time of a node: each worker does one. */
static int work(struct sim_rank *rank)
{
	const unsigned workers = rank->sim->plan->workers;
	struct uts_node *taken = rank->sim->taken;
	unsigned active = 0;
	int err = take_parts_back(rank);

	while (active < workers && uts_walk_next(&rank->walk, &taken[active]))
		active++;
	rank->left -= active;
	for (unsigned i = active; err == 0 && i-- > 0;)
		err = enter(rank, &taken[i]);
	if (err == 0)
		err = give_parts(rank, active);
	rank->pool.waiting =
		rank->left < workers ? workers - (unsigned)rank->left : 0;
	return err;
}

/* Work for a tick, or until the rank is idle. */
static int work_tick(struct sim_rank *rank, uint64_t now_ns)
{
	struct ranks_simulation *sim = rank->sim;
	const uint64_t node_ns = sim->plan->node_ns;
	uint64_t end_ns = now_ns;
	int err = 0;

	do {
		err = work(rank);
		end_ns += node_ns;
	} while (err == 0 && simulated_rank_busy(rank) &&
		 end_ns + node_ns <= now_ns + TICK_NS);
	rank->works = true;
	if (end_ns > sim->outcome->last_node_ns)
		sim->outcome->last_node_ns = end_ns;
	if (end_ns < rank->clock_ns)
		end_ns = rank->clock_ns;
	events_set(&sim->events, (uint32_t)(rank - sim->ranks), end_ns);
	return err;
}

/* ---- the ranks ------------------------------------------------------------------ */

static bool work_is_left(const struct ranks_simulation *sim)
{
	bool left = sim->parts_under_way > 0;

	for (unsigned i = 0; i < sim->plan->ranks; i++)
		left |= sim->ranks[i].works ||
			simulated_rank_busy(&sim->ranks[i]);
	return left;
}

static int act(struct sim_rank *rank, uint64_t now_ns)
{
	struct ranks_simulation *sim = rank->sim;
	const bool was_over = rank->protocol.over;
	bool wakes =
		rank->works || !rank->inbox || rank->inbox->arrives_ns > now_ns;
	int err;

	rank->clock_ns = now_ns;
	rank->works = false;
	err = simulated_rank_receive(rank, now_ns, &wakes);
	if (err == 0 && wakes)
		err = protocol_step(&rank->protocol, rank->clock_ns);
	if (wakes)
		rank->stepped_ns = rank->clock_ns;
	if (rank->protocol.over && !was_over) {
		sim->over++;
		sim->outcome->early |= work_is_left(sim);
		sim->outcome->end_ns = rank->clock_ns;
	}
	if (err == 0 && simulated_rank_busy(rank))
		return work_tick(rank, now_ns);
	simulated_rank_set_event(rank);
	return err;
}

static int run(struct ranks_simulation *sim)
{
	int err = 0;

	while (err == 0 && sim->over < sim->plan->ranks) {
		uint32_t who = events_first(&sim->events);

		err = act(&sim->ranks[who], events_next_ns(&sim->events));
	}
	return err;
}

/* ---- start and end -------------------------------------------------------------- */

static int make_rank(struct ranks_simulation *sim, unsigned i)
{
	const struct ranks_plan *plan = sim->plan;
	struct sim_rank *rank = &sim->ranks[i];
	int err;

	*rank = (struct sim_rank){
		.sim = sim,
		.protocol = { .host = &host,
			      .of = rank,
			      .policy = &plan->policy,
			      .counts = &rank->counts,
			      .rank = (int)i,
			      .ranks = (int)plan->ranks,
			      .part_bytes = sizeof(struct uts_part) },
		.pool = { .part_bytes = sizeof(struct uts_part),
			  .searchers = plan->workers,
			  .waiting = plan->workers },
	};
	err = uts_walk_init(&rank->walk, plan->tree);
	if (err == 0)
		err = protocol_init(&rank->protocol, plan->seed);
	events_set(&sim->events, i, 0);
	return err;
}

static int make(struct ranks_simulation *sim)
{
	const struct ranks_plan *plan = sim->plan;
	struct uts_part root = { .node = uts_tree_root(plan->tree) };
	int err = events_make(&sim->events, plan->ranks);

	sim->ranks = calloc(plan->ranks, sizeof(*sim->ranks));
	sim->taken = calloc(plan->workers, sizeof(*sim->taken));
	if (!sim->ranks || !sim->taken)
		return -ENOMEM;
	for (unsigned i = 0; err == 0 && i < plan->ranks; i++)
		err = make_rank(sim, i);
	root.end = uts_tree_children(plan->tree, &root.node);
	uts_counts_node(&sim->ranks[0].walk.counts, &root.node, root.end);
	return err != 0 ? err : host_put(&sim->ranks[0], &root, 1);
}

static void free_rank(struct sim_rank *rank)
{
	struct message *message;

	while ((message = rank->inbox)) {
		rank->inbox = message->next;
		free(message);
	}
	protocol_free(&rank->protocol);
	part_list_free(&rank->pool);
	uts_walk_free(&rank->walk);
}

static void add_up(struct ranks_outcome *outcome, const struct sim_rank *rank)
{
	uts_counts_add(&outcome->counts, &rank->walk.counts);
	outcome->asks += rank->counts.asks;
	outcome->gives += rank->counts.gives;
	outcome->parts += rank->counts.parts_given;
	outcome->parts_received += rank->counts.parts_received;
	outcome->sums += rank->counts.sums;
}

int ranks_simulation_run(const struct ranks_plan *plan,
			 struct ranks_outcome *outcome)
{
	struct ranks_simulation sim = {
		.plan = plan,
		.outcome = outcome,
		.random = plan->seed,
	};
	int err;

	*outcome = (struct ranks_outcome){ .early = false };
	err = make(&sim);
	if (err == 0)
		err = run(&sim);
	for (unsigned i = 0; sim.ranks && i < plan->ranks; i++) {
		add_up(outcome, &sim.ranks[i]);
		free_rank(&sim.ranks[i]);
	}
	free(sim.ranks);
	free(sim.taken);
	events_free(&sim.events);
	return err;
}

double ranks_efficiency(const struct ranks_plan *plan,
			const struct ranks_outcome *outcome)
{
	const double workers = (double)plan->ranks * plan->workers;
	double least = (double)plan->tree->nodes / workers;

	if (least < plan->tree->depth)
		least = plan->tree->depth;
	return least * (double)plan->node_ns / (double)outcome->end_ns;
}
