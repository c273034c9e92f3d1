/* SPDX-License-Identifier: MIT */
/**
 * sharing.h - shares the work of a search among ranks, and finds its end
 *
 * Each rank has a fiber that exchanges the messages of protocol.h with those of the other
 * ranks. When the search is over, a rank waits for the answers to its own ASKs, and then
 * enters a barrier. It answers others until all ranks have entered it: then no message is
 * under way.
 */
#ifndef SKUA_BENCH_MPI_SHARING_H
#define SKUA_BENCH_MPI_SHARING_H

#include "bench/mpi/progress.h"
#include "bench/mpi/protocol.h"
#include "bench/mpi/work_pool.h"

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
		struct work_pool *pool, struct protocol_counts *counts);

#endif
