/* SPDX-License-Identifier: MIT */
/* session.c - see session.h */
#include "bench/mpi/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"

void session_stop(const char *what, int err)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(-err));
	MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
	abort();
}

void session_open(struct session *session, unsigned workers, bool multiple)
{
	const int level =
		multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
	struct skua_config config = SKUA_CONFIG_INIT;
	struct skua_error error;
	int provided, err;

	MPI_Init_thread(NULL, NULL, level, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &session->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &session->ranks);
	if (provided < level) {
		fprintf(stderr, "%s: this MPI has no %s\n",
			program_invocation_short_name,
			multiple ? "MPI_THREAD_MULTIPLE"
				 : "MPI_THREAD_SERIALIZED");
		MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
	}
	config.workers = workers;
	err = skua_runtime_create(&session->rt, &config, &error);
	if (err != 0) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name,
			error.text);
		session_stop("runtime", err);
	}
	session->workers = skua_runtime_workers(session->rt);
	err = mpi_progress_start(&session->progress, session->rt, 0);
	if (err != 0)
		session_stop("progress", err);
}

void session_run(struct session *session, struct skua_fiber *fiber)
{
	int err = skua_task_spawn(session->rt, &fiber->task);

	if (err == 0)
		err = skua_task_join(&fiber->task);
	if (err != 0)
		session_stop("fiber", err);
}

void session_end_runtime(struct session *session)
{
	int err = skua_runtime_destroy(session->rt);

	if (err != 0)
		session_stop("runtime", err);
	mpi_progress_free(&session->progress);
}
