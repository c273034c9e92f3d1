/* SPDX-License-Identifier: MIT */
/**
 * sharing.h - shares the work of a search among ranks, and finds its end
 *
 * Each rank has a fiber that exchanges messages with those of the other ranks:
 *
 * - ASK: the sender is idle, and wants parts. A rank has at most one ASK under way.
 * - GIVE: the answer, with parts, or without if the rank is idle as well. A busy rank
 *   answers when one of its searchers has given a part to its pool. An idle rank asks
 *   the others in turn, from a random one on; if none had parts, it pauses, and begins
 *   again.
 * - TOKEN: the wave that finds the end of the search, from rank 0 round all ranks. It
 *   adds up the GIVEs with parts that are under way: a rank waits until it is idle, adds
 *   those that it has sent, subtracts those that it has received, and passes the wave on.
 *   The wave is in vain if a rank has received parts since it passed the last wave, or if
 *   the sum is not 0. Source: E. W. Dijkstra, "Shmuel Safra's version of termination
 *   detection" (EWD 998, 1987).
 * - OVER: rank 0 knows that all ranks are idle, and no parts are under way.
 *
 * After OVER, a rank waits for the answer to its own ASK, and then enters a barrier. It
 * answers others until all ranks have entered it: then no message is under way.
 */
#ifndef SKUA_BENCH_MPI_SHARING_H
#define SKUA_BENCH_MPI_SHARING_H

#include "bench/mpi/progress.h"
#include "bench/mpi/work_pool.h"

/* The most bytes of the parts of one GIVE. */
#define SHARING_MAX_BYTES 2048

/* struct sharing_counts - what a rank has done */
struct sharing_counts {
	uint64_t asks;  /* sent */
	uint64_t gives; /* sent, with parts */
	uint64_t parts_given;
	uint64_t parts_received;
	uint64_t waves; /* begun by this rank: 0 except for rank 0 */
};

/**
 * sharing_run - exchange parts with the other ranks until the search is over
 * @progress: started
 * @comm: of all ranks that search; no other messages use it meanwhile
 * @pool: pool of this rank. Its event @changed was set up with work_pool_init()
 * @counts: receives what this rank has done
 *
 * Ends the search of @pool. Threads: a fiber. Blocks: until the search of all ranks is
 * over. Return: 0; -ENOMEM, after which the job must be aborted.
 */
int sharing_run(struct mpi_progress *progress, MPI_Comm comm,
		struct work_pool *pool, struct sharing_counts *counts);

#endif
