/* SPDX-License-Identifier: MIT */
/**
 * session.h - a runtime inside a rank of MPI
 *
 * MPI binds a rank to CPUs (mpirun --bind-to, or Slurm), and the runtime keeps to them:
 * it has as many workers as the rank has CPUs. A rank for each socket or NUMA node, with
 * its workers inside, is the usual layout.
 */
#ifndef SKUA_BENCH_MPI_SESSION_H
#define SKUA_BENCH_MPI_SESSION_H

#include "bench/mpi/progress.h"

struct session {
	struct skua_runtime *rt;
	struct mpi_progress progress; /* of worker 0 */
	unsigned workers;
	int rank, ranks;
};

/**
 * session_open - initialise MPI, and create a runtime with its progress
 * @workers: number of workers; 0: the default of the runtime
 * @multiple: let all threads call MPI at once (MPI_THREAD_MULTIPLE)
 *
 * Prints the errors, and ends the whole job if there is one.
 */
void session_open(struct session *session, unsigned workers, bool multiple);

/* session_stop - end the job of all ranks because of an error of this one. Return: never */
void session_stop(const char *what, int err) __attribute__((noreturn));

/* session_run - run a fiber, and wait until it has ended. Threads: outside */
void session_run(struct session *session, struct skua_fiber *fiber);

/* session_end_runtime - destroy the runtime. The caller then calls MPI as it likes, and
 * MPI_Finalize() at the end. */
void session_end_runtime(struct session *session);

#endif
