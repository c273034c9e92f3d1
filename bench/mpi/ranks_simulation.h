/* SPDX-License-Identifier: MIT */
/**
 * ranks_simulation.h - search a tree of UTS with simulated ranks, in simulated time
 *
 * The ranks run protocol.c and part_list.c, and walk the tree with uts_walk.c. Workers,
 * messages and their times are simulated:
 *
 * - A rank has one stack of nodes. In the time of a node, each of its workers takes a node
 *   from the stack, as long as there are some.
 * - A rank notices messages when its poller runs: at the end of a tick while it is busy;
 *   at once, and later at the end of each sleep, while it is idle.
 * - A message takes the latency of its distance and the time of its bytes, and a part of
 *   the time of both ranks.
 */
#ifndef SKUA_BENCH_MPI_RANKS_SIMULATION_H
#define SKUA_BENCH_MPI_RANKS_SIMULATION_H

#include "bench/kernels/uts_walk.h"
#include "bench/mpi/protocol.h"

/* The distance of two ranks: of one machine; of one rack; neither. */
enum ranks_distance { RANKS_MACHINE, RANKS_RACK, RANKS_FAR, RANKS_DISTANCES };

/* struct ranks_network - the times of messages, and the ranks that are near */
struct ranks_network {
	uint64_t latency_ns[RANKS_DISTANCES]; /* one way */
	uint64_t overhead_ns;                 /* of each rank, for a message */
	uint64_t jitter_ns;                   /* of one message in 8, at most */
	uint64_t bytes_per_us;
	unsigned machine_ranks, rack_ranks;
};

extern const struct ranks_network ranks_network_default;

struct ranks_plan {
	const struct uts_tree *tree;
	struct protocol_policy policy;
	struct ranks_network network;
	unsigned ranks, workers; /* of each rank */
	uint64_t node_ns;        /* the work of a node */
	uint64_t seed;
};

struct ranks_outcome {
	struct uts_counts counts;
	uint64_t last_node_ns; /* when the last node was done */
	uint64_t end_ns;       /* when all ranks knew the end */
	uint64_t messages, bytes;
	uint64_t asks, gives, parts, sums;
	uint64_t parts_received;
	bool early; /* a rank knew the end while there was work */
};

/* ranks_simulation_run - run a simulation. Return: 0; -ENOMEM */
int ranks_simulation_run(const struct ranks_plan *plan,
			 struct ranks_outcome *outcome);

/* ranks_efficiency - return the least time that the tree can take, divided by the time that
 * it took. The least time is that of all workers without a pause, or that of one worker that
 * walks to the deepest node, if this is longer */
double ranks_efficiency(const struct ranks_plan *plan,
			const struct ranks_outcome *outcome);

#endif
