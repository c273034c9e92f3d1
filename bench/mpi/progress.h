/* SPDX-License-Identifier: MIT */
/**
 * progress.h - lets fibers and polls wait for requests of MPI
 *
 * MPI makes progress only inside its own calls, and offers no descriptor to wait for.
 * Therefore a poller (skua/poller.h) of one worker tests all requests for which tasks
 * wait, and wakes those whose requests are complete. While that worker has no tasks, it
 * searches for a short time, and then sleeps in short steps between two tests.
 *
 *	struct mpi_op op;
 *
 *	mpi_enter(progress);
 *	MPI_Irecv(buffer, count, MPI_LONG, from, tag, comm, &op.request);
 *	mpi_leave(progress);
 *	err = mpi_op_start(progress, &op, NULL);
 *	if (err == 0)
 *		err = skua_event_wait(&op.done, SKUA_FOREVER_NS);
 *
 * MPI must have been initialised with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE.
 * With the former, one thread at a time may call MPI: mpi_enter() and mpi_leave() see
 * to that. With the latter they do nothing.
 */
#ifndef SKUA_BENCH_MPI_PROGRESS_H
#define SKUA_BENCH_MPI_PROGRESS_H

#include <mpi.h>
#include <pthread.h>
#include <skua/skua.h>

/**
 * struct mpi_op - a request of MPI for which tasks wait
 * @request: set by the caller before mpi_op_start()
 * @status: of the request, once @done is set
 * @done: set when the request is complete; the memory then belongs to the caller again
 * @also: another event that is set when the request is complete; NULL: none
 */
struct mpi_op {
	MPI_Request request;
	MPI_Status status;
	struct skua_event done;
	struct skua_event *also;
};

/* struct mpi_progress - the requests for which the tasks of a runtime wait */
struct mpi_progress {
	struct skua_poller poller; /* first: the callbacks cast back */
	/* Guards the fields below and, if MPI's calls are serialized, these. */
	pthread_mutex_t lock;
	bool serialized;
	/* The requests and their ops, and room for the results of a test; all have
	 * @capacity entries. */
	size_t count, capacity;
	MPI_Request *requests;
	struct mpi_op **ops;
	int *completed;
	MPI_Status *statuses;
	int wakes_fd; /* an eventfd that ends a park */
};

/**
 * mpi_progress_start - let a worker test requests
 * @progress: memory of the caller, until mpi_progress_free()
 * @rt: live runtime, borrowed
 * @worker: index of the worker
 *
 * Threads: outside. Allocates: from libc. Return: 0; -EPERM (MPI was not initialised
 * with the levels above); -ENOMEM; the errors of eventfd() and of
 * skua_runtime_add_poller().
 */
int mpi_progress_start(struct mpi_progress *progress, struct skua_runtime *rt,
		       unsigned worker);

/* mpi_progress_free - free what mpi_progress_start() has allocated, after
 * skua_runtime_destroy() */
void mpi_progress_free(struct mpi_progress *progress);

/* mpi_enter, mpi_leave - stand around each call of MPI while @progress runs
 *
 * The caller must not wait between them, except in MPI. */
void mpi_enter(struct mpi_progress *progress);
void mpi_leave(struct mpi_progress *progress);

/**
 * mpi_op_start - have a request tested until it is complete
 * @op: its request is set; stays in place until its event is set
 * @also: see struct mpi_op; may be NULL
 *
 * Threads: any. Blocks: while another thread is inside MPI. Allocates: from libc, if
 * there have never been as many requests before. Return: 0; -ENOMEM (the request is not
 * tested).
 */
int mpi_op_start(struct mpi_progress *progress, struct mpi_op *op,
		 struct skua_event *also);

/* mpi_op_cancel - ask MPI to cancel the receive of @op. The caller then waits for its
 * event; MPI_Test_cancelled() of its status says whether the receive was cancelled. */
void mpi_op_cancel(struct mpi_progress *progress, struct mpi_op *op);

#endif
