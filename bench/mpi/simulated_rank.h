/* SPDX-License-Identifier: MIT */
/* simulated_rank.h - a rank of a simulation, its messages, and when it notices them */
#ifndef SKUA_BENCH_MPI_SIMULATED_RANK_H
#define SKUA_BENCH_MPI_SIMULATED_RANK_H

#include "bench/mpi/part_list.h"
#include "bench/mpi/ranks_simulation.h"
#include "bench/simulator/events.h"

struct message {
	struct message *next; /* in the inbox */
	uint64_t arrives_ns;
	int from, tag;
	size_t bytes;
	char data[];
};

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
	/* By the workers of a rank, in the time of a node. */
	struct uts_node *taken;
	struct events events;
	uint64_t over; /* ranks that know the end */
	uint64_t random;
	uint64_t parts_under_way;
};

static inline bool simulated_rank_busy(const struct sim_rank *rank)
{
	return rank->left > 0 || rank->pool.count > 0;
}

/* simulated_rank_set_event - let an idle rank act when it notices its next message, or ends
 * a pause */
void simulated_rank_set_event(struct sim_rank *rank);

/* simulated_rank_send - of struct protocol_host */
int simulated_rank_send(void *of, int to, int tag, const void *data,
			size_t bytes);

/* simulated_rank_sum - of struct protocol_host */
int simulated_rank_sum(void *of, const struct protocol_sum *own);

/**
 * simulated_rank_receive - take in the messages that have come
 * @wakes: set if one of them wakes the rank's fiber
 *
 * Return: 0; -ENOMEM
 */
int simulated_rank_receive(struct sim_rank *rank, uint64_t now_ns, bool *wakes);

#endif
