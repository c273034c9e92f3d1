/* SPDX-License-Identifier: MIT */
/* progress.c - see progress.h */
#include "bench/mpi/progress.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FIRST_CAPACITY 16

/* How long a worker without tasks tests without sleeping, and how long it then sleeps
 * between two tests. Guesses: a message between two processes of a machine takes 1 to 5
 * us, and a sleep costs 5 us of CPU time. */
#define SEARCH_NS UINT64_C(20000)
#define SLEEP_NS  UINT64_C(50000)

static int make_room(struct mpi_progress *progress, size_t capacity)
{
	MPI_Request *requests =
		reallocarray(progress->requests, capacity, sizeof(*requests));
	struct mpi_op **ops;
	int *completed;
	MPI_Status *statuses;

	if (requests)
		progress->requests = requests;
	ops = reallocarray(progress->ops, capacity, sizeof(struct mpi_op *));
	if (ops)
		progress->ops = ops;
	completed =
		reallocarray(progress->completed, capacity, sizeof(*completed));
	if (completed)
		progress->completed = completed;
	statuses =
		reallocarray(progress->statuses, capacity, sizeof(*statuses));
	if (statuses)
		progress->statuses = statuses;
	if (!requests || !ops || !completed || !statuses)
		return -ENOMEM;
	progress->capacity = capacity;
	return 0;
}

/* Remove the requests that are MPI_REQUEST_NULL, as MPI_Testsome() leaves those that
 * are complete. */
static void drop_complete_locked(struct mpi_progress *progress)
{
	size_t kept = 0;

	for (size_t i = 0; i < progress->count; i++) {
		if (progress->requests[i] == MPI_REQUEST_NULL)
			continue;
		progress->requests[kept] = progress->requests[i];
		progress->ops[kept++] = progress->ops[i];
	}
	progress->count = kept;
}

/* Test all requests, and wake the tasks of those that are complete. Return their
 * number. */
static int test_locked(struct mpi_progress *progress)
{
	int completed;

	if (progress->count == 0)
		return 0;
	MPI_Testsome((int)progress->count, progress->requests, &completed,
		     progress->completed, progress->statuses);
	if (completed == MPI_UNDEFINED || completed == 0)
		return 0;
	for (int i = 0; i < completed; i++) {
		struct mpi_op *op = progress->ops[progress->completed[i]];
		struct skua_event *also = op->also;

		op->status = progress->statuses[i];
		op->request = MPI_REQUEST_NULL;
		/* The last access to @op. */
		skua_event_set(&op->done);
		if (also)
			skua_event_set(also);
	}
	drop_complete_locked(progress);
	return completed;
}

/* ---- the poller ----------------------------------------------------------------- */

static int progress_poll(struct skua_poller *self)
{
	struct mpi_progress *progress = (struct mpi_progress *)self;

	/* If the lock is held, another thread calls MPI, or adds a request. */
	if (pthread_mutex_trylock(&progress->lock) == 0) {
		test_locked(progress);
		pthread_mutex_unlock(&progress->lock);
	}
	return 0;
}

/* Return whether an unpark came, after at most @sleep_ns. */
static bool wait_unpark(struct mpi_progress *progress, uint64_t sleep_ns)
{
	const struct timespec sleep = { .tv_nsec = (long)sleep_ns };
	struct pollfd fd = { .fd = progress->wakes_fd, .events = POLLIN };
	uint64_t wakes;

	return ppoll(&fd, 1, &sleep, NULL) > 0 &&
	       read(progress->wakes_fd, &wakes, sizeof(wakes)) > 0;
}

static void progress_park(struct skua_poller *self, uint64_t deadline_ns)
{
	struct mpi_progress *progress = (struct mpi_progress *)self;
	const uint64_t begin_ns = skua_now_ns();
	uint64_t now_ns = begin_ns, sleep_ns;
	int completed;

	while (now_ns < deadline_ns) {
		pthread_mutex_lock(&progress->lock);
		completed = test_locked(progress);
		pthread_mutex_unlock(&progress->lock);
		sleep_ns = now_ns - begin_ns < SEARCH_NS ? 0 : SLEEP_NS;
		if (deadline_ns - now_ns < sleep_ns)
			sleep_ns = deadline_ns - now_ns;
		if (completed > 0 || wait_unpark(progress, sleep_ns))
			return;
		/* Other ranks may have been given the same CPU. */
		if (sleep_ns == 0)
			sched_yield();
		now_ns = skua_now_ns();
	}
}

static void progress_unpark(struct skua_poller *self)
{
	struct mpi_progress *progress = (struct mpi_progress *)self;
	const uint64_t one = 1;

	/* It fails only if the count is full: then the park ends as well. */
	while (write(progress->wakes_fd, &one, sizeof(one)) < 0 &&
	       errno == EINTR)
		;
}

/* ---- start and end -------------------------------------------------------------- */

void mpi_progress_free(struct mpi_progress *progress)
{
	free(progress->requests);
	free(progress->ops);
	free(progress->completed);
	free(progress->statuses);
	if (progress->wakes_fd >= 0)
		close(progress->wakes_fd);
	pthread_mutex_destroy(&progress->lock);
}

int mpi_progress_start(struct mpi_progress *progress, struct skua_runtime *rt,
		       unsigned worker)
{
	int level, err;

	MPI_Query_thread(&level);
	if (level < MPI_THREAD_SERIALIZED)
		return -EPERM;
	*progress = (struct mpi_progress){
		.poller = { .poll = progress_poll,
			    .park = progress_park,
			    .unpark = progress_unpark },
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.serialized = level == MPI_THREAD_SERIALIZED,
		.wakes_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
	};
	err = progress->wakes_fd < 0 ? -errno : 0;
	if (err == 0)
		err = make_room(progress, FIRST_CAPACITY);
	if (err == 0)
		err = skua_runtime_add_poller(rt, worker, &progress->poller);
	if (err != 0)
		mpi_progress_free(progress);
	return err;
}

/* ---- calls of tasks ------------------------------------------------------------- */

void mpi_enter(struct mpi_progress *progress)
{
	if (progress->serialized)
		pthread_mutex_lock(&progress->lock);
}

void mpi_leave(struct mpi_progress *progress)
{
	if (progress->serialized)
		pthread_mutex_unlock(&progress->lock);
}

int mpi_op_start(struct mpi_progress *progress, struct mpi_op *op,
		 struct skua_event *also)
{
	int err = 0;

	op->done = (struct skua_event)SKUA_EVENT_INIT;
	op->also = also;
	pthread_mutex_lock(&progress->lock);
	if (progress->count == progress->capacity)
		err = make_room(progress, 2 * progress->capacity);
	if (err == 0) {
		progress->requests[progress->count] = op->request;
		progress->ops[progress->count++] = op;
	}
	pthread_mutex_unlock(&progress->lock);
	return err;
}

void mpi_op_cancel(struct mpi_progress *progress, struct mpi_op *op)
{
	pthread_mutex_lock(&progress->lock);
	/* The request may be complete: then it is no longer in the list. */
	for (size_t i = 0; i < progress->count; i++)
		if (progress->ops[i] == op)
			MPI_Cancel(&progress->requests[i]);
	pthread_mutex_unlock(&progress->lock);
}
