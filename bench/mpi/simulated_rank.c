/* SPDX-License-Identifier: MIT */
/* simulated_rank.c - see simulated_rank.h */
#include "bench/mpi/simulated_rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As in progress.c: an idle worker tests for SEARCH_NS without sleeping, and then sleeps
 * for SLEEP_NS between two tests. */
#define SEARCH_NS UINT64_C(20000)
#define SLEEP_NS  UINT64_C(50000)
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

/* Messages of a sum, which are those of MPI itself. The ranks form a tree, with two children
 * each: sums go up, and rank 0 sends the total to itself and down. */
enum { TAG_SUM = PROTOCOL_GIVE + 1, TAG_TOTAL };

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

void simulated_rank_set_event(struct sim_rank *rank)
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
		simulated_rank_set_event(to);
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

int simulated_rank_send(void *of, int to, int tag, const void *data,
			size_t bytes)
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
			err = simulated_rank_send(rank, to, TAG_TOTAL, total,
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
	return number > 0 ? simulated_rank_send(rank, (number - 1) / 2, TAG_SUM,
						&all, sizeof(all))
			  : simulated_rank_send(rank, 0, TAG_TOTAL, &all,
						sizeof(all));
}

int simulated_rank_sum(void *of, const struct protocol_sum *own)
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

int simulated_rank_receive(struct sim_rank *rank, uint64_t now_ns, bool *wakes)
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
