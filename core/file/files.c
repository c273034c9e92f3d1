/* SPDX-License-Identifier: MIT */
/* files.c - see files.h */
#include "core/file/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/loop/sentinel.h"
#include "core/os/log.h"

/* Completions taken at once. */
#ifdef SKUA_EXPLORE
#define BATCH 1u
#else
#define BATCH 64u
#endif

/* A read of up to so many bytes is tried at once: copying more takes longer than a tick.
 * A guess, which the workload files retunes. */
#define TRY_BYTES 65536u

/* How long a worker collects writes to submit them at once, unless there are SUBMIT_AT of
 * them. Guesses, which the workload files retunes: with 20 us it takes 1.2 times as long. */
#define SUBMIT_WAIT_NS UINT64_C(50000)
#ifdef SKUA_EXPLORE
#define SUBMIT_AT 2u
#else
#define SUBMIT_AT 16u
#endif

/* After so many submissions in a row by a thread, the next one takes the role. A guess: a few
 * system calls. Models set it for each case. */
#ifndef SUBMIT_TURNS
#define SUBMIT_TURNS 4u
#endif

static struct uring *ring_of(struct files *files)
{
	/* Acquire: the ring. Pairs with the release in create(). */
	uint64_t word = atomic_load_acquire(&files->ring);

	return word == FILES_NO_RING ? NULL : (struct uring *)(uintptr_t)word;
}

/* ---- completions ----------------------------------------------------------------- */

static struct skua_file_op *op_of(const struct skua_wait *wait)
{
	return (struct skua_file_op *)(uintptr_t)wait->amount;
}

/* Return: may there be more completions? */
static bool reap_some(struct files *files, struct uring *ring)
{
	struct wait_chain chain = { NULL, NULL };
	struct uring_done done[BATCH];
	unsigned count;

	waiters_lock(&files->waiters);
	count = uring_take(ring, done, BATCH);
	for (unsigned i = 0; i < count; i++) {
		struct skua_wait *wait =
			(struct skua_wait *)(uintptr_t)done[i].tag;

		op_of(wait)->result = done[i].result;
		wait_choose_locked(&files->waiters, wait, &chain);
	}
	waiters_unlock(&files->waiters);
	wait_grant(&chain);
	return count == BATCH;
}

void files_reap(struct files *files)
{
	struct uring *ring = ring_of(files);

	/* Until it is empty: the driver tells of the next completion only then. */
	while (ring && reap_some(files, ring))
		;
}

/* ---- operations ------------------------------------------------------------------ */

/* The stages of a wait: it is not armed yet; its operation is queued; the ring has that. */
enum { BEGINS, QUEUED, IN_RING };

/* Take operations out of the queue, for the ring. Return: how many. */
static unsigned pick_locked(struct files *files, struct uring_request *requests)
{
	struct skua_wait *wait;
	unsigned count = 0;

	while (count < URING_SUBMIT_MAX && (wait = files->queued.first)) {
		wait_move_locked(&files->queued, &files->waiters, wait);
		wait->stage = IN_RING;
		requests[count++] =
			(struct uring_request){ .op = op_of(wait),
						.tag = (uintptr_t)wait };
	}
	files->again = files->queued.first != NULL;
	files->turns++;
	/* Relaxed: under the lock, and a hint to others. */
	if (!files->again && atomic_load_relaxed(files->due_ns) != 0)
		atomic_store_relaxed(files->due_ns, 0);
	return count;
}

/* The same, if a thread has asked for it, and no other thread has taken the role of the caller.
 * If there are none, the caller stops submitting. */
static unsigned pick(struct files *files, uint32_t submitter,
		     struct uring_request *requests)
{
	unsigned count = 0;

	waiters_lock(&files->waiters);
	if (files->submitter == submitter) {
		if (files->again)
			count = pick_locked(files, requests);
		files->submitting = count > 0;
	}
	waiters_unlock(&files->waiters);
	return count;
}

/* The kernel refuses operations: their callers use the blocking pool (files_declined()). */
static void decline(struct files *files, const struct uring_request *requests,
		    unsigned count)
{
	struct wait_chain chain = { NULL, NULL };

	waiters_lock(&files->waiters);
	for (unsigned i = 0; i < count; i++) {
		struct skua_wait *wait =
			(struct skua_wait *)(uintptr_t)requests[i].tag;

		op_of(wait)->result = -EAGAIN;
		wait_choose_locked(&files->waiters, wait, &chain);
	}
	waiters_unlock(&files->waiters);
	wait_grant(&chain);
}

/* Return: were there any operations? */
static bool submit_some(struct files *files, uint32_t submitter)
{
	struct uring_request requests[URING_SUBMIT_MAX];
	unsigned count, taken = 0;

	pi_lock_take(&files->lock);
	count = pick(files, submitter, requests);
	if (count > 0)
		taken = uring_submit(ring_of(files), requests, count);
	pi_lock_release(&files->lock);
	if (taken < count)
		decline(files, requests + taken, count - taken);
	return count > 0;
}

void files_submit(struct files *files)
{
	uint32_t submitter;
	bool other;

	waiters_lock(&files->waiters);
	files->again = true;
	other = files->submitting && files->turns < SUBMIT_TURNS;
	if (!other) {
		files->submitting = true;
		files->submitter++;
		files->turns = 0;
	}
	submitter = files->submitter;
	waiters_unlock(&files->waiters);
	if (other)
		return;
	while (submit_some(files, submitter))
		;
	/* An operation on data in memory is complete by now. */
	if (uring_has_done(ring_of(files)))
		files_reap(files);
}

/*
 * May an operation wait in the queue? Only a write on a worker whose polls are short. Most
 * writes need no disk: the kernel copies the data, but on a thread of its own, because many
 * filesystems cannot tell in advance whether that would block. The wake-up of that thread takes
 * longer than the copy.
 */
static bool may_wait_locked(const struct files *files, const struct worker *w,
			    const struct skua_file_op *op)
{
	/* The driver is that of group 0 of the runtime. */
	return op->kind == FILE_WRITE && w &&
	       w->pool->drivers == files->driver &&
	       files->queued.count < SUBMIT_AT &&
	       w->tick.mean_ns <= SUBMIT_WAIT_NS &&
	       (w->pool->worker_count == 1 || sentinel_watches_slots(w->pool));
}

/* Queue the operation for the ring. */
static void begin(struct files *files, struct skua_wait *wait)
{
	struct skua_file_op *op = op_of(wait);
	struct worker *w = current_worker;
	bool waits, first;

	op->asked = 0;
	waiters_lock(&files->waiters);
	wait->stage = QUEUED;
	wait_arm_locked(&files->queued, wait, false);
	waits = may_wait_locked(files, w, op);
	/* Relaxed, both: under the lock. Workers that end a tick, and the sentinel, see
	 * the time soon, also if this worker is in a long poll by then. */
	first = waits && atomic_load_relaxed(files->due_ns) == 0;
	if (first)
		atomic_store_relaxed(files->due_ns,
				     w->tick.start_ns + SUBMIT_WAIT_NS);
	waiters_unlock(&files->waiters);
	if (!waits)
		files_submit(files);
	else if (first)
		sentinel_filled(w);
}

/* End an operation that the ring has not got, or ask the kernel to stop it. Return:
 * -EAGAIN: it will end. */
static int stop(struct files *files, struct skua_wait *wait, int give_up)
{
	int code = -EAGAIN;
	bool cancels;

	/* With the lock, an operation is in the ring or in the queue, not in between. */
	pi_lock_take(&files->lock);
	waiters_lock(&files->waiters);
	cancels = wait_armed_locked(wait);
	if (cancels && wait->stage == QUEUED) {
		wait_withdraw_locked(&files->queued, wait);
		cancels = false;
		code = give_up;
	}
	waiters_unlock(&files->waiters);
	if (cancels && uring_cancel(ring_of(files), (uintptr_t)wait))
		op_of(wait)->asked = give_up;
	pi_lock_release(&files->lock);
	return code;
}

/* The result of the operation, or, if the kernel has stopped it on request, the error of
 * the request. A close that a signal or a request has interrupted has closed the descriptor. */
static int ended(struct skua_file_op *op)
{
	if (op->kind == FILE_CLOSE && op->result == -EINTR)
		op->result = 0;
	if (op->asked && (op->result == -ECANCELED || op->result == -EINTR))
		return op->asked;
	return 0;
}

static int step(struct skua_wait *wait, void *object, bool granted, int give_up)
{
	struct skua_file_op *op = op_of(wait);
	struct files *files = object;

	wait->object = object;
	if (granted)
		return ended(op);
	if (!await_armed(wait)) {
		if (give_up)
			return give_up;
		begin(files, wait);
	} else if (give_up && !op->asked) {
		return stop(files, wait, give_up);
	}
	return -EAGAIN;
}

/* Has the kernel not taken the request to stop? It does not say when it would take it. */
static bool insists(const struct skua_wait *wait)
{
	return op_of(wait)->asked == 0;
}

const struct wait_verb files_verb = { .step = step,
				      .kind = AREA_WAITS_FILE,
				      .waiters =
					      offsetof(struct files, waiters),
				      .holder = WAIT_NO_HOLDER,
				      .insists = insists };

bool files_declined(const struct skua_file_op *op)
{
	/* -EAGAIN: the file was opened with O_NONBLOCK. The others, unless they were
	 * asked for: the thread that submitted it has ended. */
	return op->result == -EAGAIN || op->result == -EINTR ||
	       op->result == -ECANCELED;
}

/* ---- without a ring -------------------------------------------------------------- */

/* Does a short read leave the file as it was, so that another one may follow? */
static bool may_try(const struct skua_file_op *op)
{
	return op->kind == FILE_READ && op->size <= TRY_BYTES &&
	       op->offset != SKUA_FILE_POSITION;
}

bool files_try(struct skua_file_op *op)
{
	struct iovec vector = { op->buffer, op->size };
	int saved = errno;
	ssize_t done;

	if (!may_try(op))
		return false;
	done = preadv2(op->fd, &vector, 1, op->offset, RWF_NOWAIT);
	errno = saved;
	if (done < (ssize_t)op->size)
		return false;
	op->result = done;
	return true;
}

static int64_t carry_out(const struct skua_file_op *op)
{
	const bool at = op->offset != SKUA_FILE_POSITION;

	switch ((enum file_kind)op->kind) {
	case FILE_READ:
		return at ? pread(op->fd, op->buffer, op->size, op->offset)
			  : read(op->fd, op->buffer, op->size);
	case FILE_WRITE:
		return at ? pwrite(op->fd, op->buffer, op->size, op->offset)
			  : write(op->fd, op->buffer, op->size);
	case FILE_SYNC:
		return op->flags & SKUA_FILE_DATA_ONLY ? fdatasync(op->fd)
						       : fsync(op->fd);
	case FILE_OPEN:
		return open(op->path, (int)op->flags, op->mode);
	case FILE_CLOSE:
		return close(op->fd);
	case FILE_NONE:
		break;
	}
	errno = EINVAL;
	return -1;
}

void files_run(struct skua_blocking *call)
{
	struct skua_file_op *op = (struct skua_file_op *)call;

	/* The loop repeats when a signal of the program interrupted the call. A close
	 * that was interrupted has closed the descriptor nevertheless. */
	do {
		op->result = carry_out(op);
		if (op->result < 0)
			op->result = -errno;
	} while (op->result == -EINTR && op->kind != FILE_CLOSE);
	if (op->result == -EINTR)
		op->result = 0;
	/* A non-blocking descriptor that is no file. To the caller of a poll form,
	 * -EAGAIN would mean that it will be woken. */
	if (op->result == -EAGAIN)
		op->result = -EINVAL;
}

/* ---- the ring itself -------------------------------------------------------------------- */

/* Make the ring, with the lock. Return: the word. */
static uint64_t create_locked(struct files *files)
{
	const struct skua_hooks *hooks = &files->config->hooks;
	struct uring *ring;
	int code = uring_create(&ring, files->config->allocator);

	if (!code) {
		code = driver_attach(files->driver, uring_fd(ring),
				     FILES_EVENTS);
		if (code)
			uring_destroy(ring);
	}
	if (!code) {
		log_say(hooks, SKUA_LOG_INFO, "files: by io_uring");
		return (uintptr_t)ring;
	}
	log_say(hooks, SKUA_LOG_INFO,
		"files: by up to %u threads; no io_uring: %s%s",
		files->config->blocking_threads, strerror(-code),
		code == -EPERM ? " (a filter of system calls, or "
				 "kernel.io_uring_disabled, forbids it)"
			       : "");
	return FILES_NO_RING;
}

bool files_has_ring(struct files *files)
{
	/* Relaxed: ring_of() acquires. */
	uint64_t word = atomic_load_relaxed(&files->ring);

	if (word)
		return word != FILES_NO_RING;
	pi_lock_take(&files->lock);
	/* Relaxed: changes under the lock. */
	word = atomic_load_relaxed(&files->ring);
	if (!word) {
		word = create_locked(files);
		/* Release: the ring. Pairs with the acquire in ring_of(). */
		atomic_store_release(&files->ring, word);
	}
	pi_lock_release(&files->lock);
	return word != FILES_NO_RING;
}

void files_init(struct files *files, struct driver *driver, atomic_u64 *due_ns,
		const struct config *config)
{
	files->due_ns = due_ns;
	files->driver = driver;
	files->config = config;
	pi_lock_init(&files->lock);
}

void files_close(struct files *files)
{
	struct uring *ring = ring_of(files);

	if (!ring)
		return;
	driver_detach(files->driver, uring_fd(ring));
	uring_destroy(ring);
}
