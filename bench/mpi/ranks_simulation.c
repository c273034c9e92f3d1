/* SPDX-License-Identifier: MIT */
/* ranks_simulation.c - see ranks_simulation.h */
#include "bench/mpi/ranks_simulation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/mpi/part_list.h"
#include "bench/simulator/events.h"

/* As in progress.c: an idle worker tests for SEARCH_NS without sleeping, and then sleeps
 * for SLEEP_NS between two tests. */
#define SEARCH_NS UINT64_C(20000)
#define SLEEP_NS  UINT64_C(50000)
/* A busy worker polls when a searcher yields, as in uts_ranks.c. */
#define TICK_NS UINT64_C(20000)
/* The least time between two steps of an idle rank. A guess. */
#define STEP_NS UINT64_C(1000)

/* Guesses, of the size that vendors publish for networks of 100 Gbit/s. */
const struct ranks_network ranks_network_default = {
	.latency_ns = { 600, 1500, 2500 },
	.overhead_ns = 500,
	.bytes_per_us = 12000,
	.machine_ranks = 2,
	.rack_ranks = 64,
};

struct message {
	struct message *next; /* in the inbox */
	uint64_t arrives_ns;
	int from, tag;
	size_t bytes;
	char data[];
};

/* Messages of a sum, which are those of MPI itself. The ranks form a tree, with two children
 * each: sums go up, and rank 0 sends the total to itself and down. */
enum { TAG_SUM = PROTOCOL_GIVE + 1, TAG_TOTAL };

struct sim_rank {
	struct ranks_simulation *sim;
	struct protocol protocol;
	struct protocol_counts counts;
	struct part_list pool;
	struct uts_walk walk;
	uint64_t left;           /* children on the stack */
	bool works;              /* until its next event */
	struct message *inbox;   /* by arrival */
	struct protocol_sum sum; /* of this rank and the children so far */
	unsigned summed;         /* of these, how many have joined */
	uint64_t clock_ns;       /* of the fiber that exchanges messages */
	uint64_t stepped_ns;
};

struct ranks_simulation {
	const struct ranks_plan *plan;
	struct ranks_outcome *outcome;
	struct sim_rank *ranks;
	struct uts_node
		*taken; /* by the workers of a rank, in the time of a node */
	struct events events;
	uint64_t over; /* ranks that know the end */
	uint64_t random;
	uint64_t parts_under_way;
};

/* ---- messages ------------------------------------------------------------------- */

static enum ranks_distance distance(const struct ranks_network *network, int a,
				    int b)
{
	if (a / (int)network->machine_ranks == b / (int)network->machine_ranks)
		return RANKS_MACHINE;
	return a / (int)network->rack_ranks == b / (int)network->rack_ranks
		       ? RANKS_RACK
		       : RANKS_FAR;
}

static uint64_t notices_ns(const struct sim_rank *rank, uint64_t arrives_ns)
{
	uint64_t slept_ns, begin_ns = rank->stepped_ns + SEARCH_NS;

	if (arrives_ns <= begin_ns)
		return arrives_ns > rank->stepped_ns + STEP_NS
			       ? arrives_ns
			       : rank->stepped_ns + STEP_NS;
	slept_ns = arrives_ns - begin_ns + SLEEP_NS - 1;
	return begin_ns + slept_ns / SLEEP_NS * SLEEP_NS;
}

static bool is_busy(const struct sim_rank *rank)
{
	return rank->left > 0 || rank->pool.count > 0;
}

/* Let an idle rank act when it notices its next message, or ends a pause. */
static void set_idle_event(struct sim_rank *rank)
{
	struct ranks_simulation *sim = rank->sim;
	uint32_t who = (uint32_t)(rank - sim->ranks);
	uint64_t at_ns = UINT64_MAX;

	if (rank->inbox)
		at_ns = notices_ns(rank, rank->inbox->arrives_ns);
	if (rank->protocol.pauses && rank->protocol.next_ask_ns < at_ns)
		at_ns = rank->protocol.next_ask_ns;
	if (at_ns < rank->clock_ns)
		at_ns = rank->clock_ns;
	if (at_ns == UINT64_MAX)
		events_cancel(&sim->events, who);
	else
		events_set(&sim->events, who, at_ns);
}

/* Messages from one rank to another stay in order, as those of MPI do. */
static void deliver(struct sim_rank *to, struct message *message)
{
	struct message **link = &to->inbox;

	for (struct message *m = to->inbox; m; m = m->next)
		if (m->from == message->from &&
		    m->arrives_ns > message->arrives_ns)
			message->arrives_ns = m->arrives_ns;
	while (*link && (*link)->arrives_ns <= message->arrives_ns)
		link = &(*link)->next;
	message->next = *link;
	*link = message;
	if (!to->works && to->inbox == message)
		set_idle_event(to);
}

static uint64_t jitter_ns(struct ranks_simulation *sim)
{
	/* Knuth's generator; its high bits are the random ones. */
	sim->random = sim->random * UINT64_C(6364136223846793005) +
		      UINT64_C(1442695040888963407);
	if (sim->plan->network.jitter_ns == 0 || sim->random >> 61 != 0)
		return 0;
	return (sim->random >> 29) % sim->plan->network.jitter_ns;
}

static uint64_t travel_ns(struct ranks_simulation *sim, int from, int to,
			  size_t bytes)
{
	const struct ranks_network *network = &sim->plan->network;

	return network->latency_ns[distance(network, from, to)] +
	       bytes * 1000 / network->bytes_per_us + jitter_ns(sim);
}

static int host_send(void *of, int to, int tag, const void *data, size_t bytes)
{
	struct sim_rank *rank = of;
	struct ranks_simulation *sim = rank->sim;
	struct message *message = malloc(sizeof(*message) + bytes);

	if (!message)
		return -ENOMEM;
	rank->clock_ns += sim->plan->network.overhead_ns;
	*message = (struct message){
		.from = rank->protocol.rank,
		.tag = tag,
		.bytes = bytes,
		.arrives_ns = rank->clock_ns +
			      travel_ns(sim, rank->protocol.rank, to, bytes),
	};
	if (bytes > 0)
		memcpy(message->data, data, bytes);
	sim->outcome->messages++;
	sim->outcome->bytes += bytes;
	if (tag == PROTOCOL_GIVE && bytes > 0)
		sim->parts_under_way++;
	deliver(&sim->ranks[to], message);
	return 0;
}

/* ---- sums ----------------------------------------------------------------------- */

/* Send the total to the children. */
static int tell_total(struct sim_rank *rank, const struct protocol_sum *total)
{
	const int first = 2 * rank->protocol.rank + 1;
	int err = 0;

	for (int to = first; err == 0 && to < first + 2; to++)
		if (to < rank->protocol.ranks)
			err = host_send(rank, to, TAG_TOTAL, total,
					sizeof(*total));
	protocol_summed(&rank->protocol, total);
	return err;
}

static int add(struct sim_rank *rank, const struct protocol_sum *sum)
{
	const int number = rank->protocol.rank, ranks = rank->protocol.ranks;
	const unsigned children = 2 * number + 2 < ranks   ? 2
				  : 2 * number + 1 < ranks ? 1
							   : 0;
	struct protocol_sum all;

	rank->sum.sent += sum->sent;
	rank->sum.received += sum->received;
	if (++rank->summed <= children)
		return 0;
	all = rank->sum;
	rank->sum = (struct protocol_sum){ 0 };
	rank->summed = 0;
	return number > 0 ? host_send(rank, (number - 1) / 2, TAG_SUM, &all,
				      sizeof(all))
			  : host_send(rank, 0, TAG_TOTAL, &all, sizeof(all));
}

static int host_sum(void *of, const struct protocol_sum *own)
{
	return add(of, own);
}

static int on_message(struct sim_rank *rank, const struct message *message)
{
	struct protocol_sum sum;

	if (message->tag <= PROTOCOL_GIVE)
		return protocol_receive(&rank->protocol, message->from,
					message->tag, message->data,
					message->bytes, rank->clock_ns);
	memcpy(&sum, message->data, sizeof(sum));
	return message->tag == TAG_SUM ? add(rank, &sum)
				       : tell_total(rank, &sum);
}

/* Take in the messages that have come. @wakes: set if one of them wakes the rank's fiber.
 * Return: 0; -ENOMEM */
static int receive_all(struct sim_rank *rank, uint64_t now_ns, bool *wakes)
{
	struct message *message;
	int err = 0;

	while (err == 0 && (message = rank->inbox) &&
	       message->arrives_ns <= now_ns) {
		rank->inbox = message->next;
		rank->clock_ns += rank->sim->plan->network.overhead_ns;
		if (message->tag == PROTOCOL_GIVE && message->bytes > 0)
			rank->sim->parts_under_way--;
		*wakes |= message->tag != TAG_SUM;
		err = on_message(rank, message);
		free(message);
	}
	return err;
}

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
	.send = host_send,
	.sum = host_sum,
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
	} while (err == 0 && is_busy(rank) &&
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
		left |= sim->ranks[i].works || is_busy(&sim->ranks[i]);
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
	err = receive_all(rank, now_ns, &wakes);
	if (err == 0 && wakes)
		err = protocol_step(&rank->protocol, rank->clock_ns);
	if (wakes)
		rank->stepped_ns = rank->clock_ns;
	if (rank->protocol.over && !was_over) {
		sim->over++;
		sim->outcome->early |= work_is_left(sim);
		sim->outcome->end_ns = rank->clock_ns;
	}
	if (err == 0 && is_busy(rank))
		return work_tick(rank, now_ns);
	set_idle_event(rank);
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
