/* SPDX-License-Identifier: MIT */
/* uring.c - see uring.h */
#include "core/file/uring.h"

#include <errno.h>

#ifdef SKUA_HAVE_LIBURING

#include <fcntl.h>
#include <liburing.h>

#include "core/base/atomic.h"
#include "core/base/memory.h"

/* The kernel keeps the completions that do not fit into its queue until it is read. */
#define SUBMISSIONS (2 * URING_SUBMIT_MAX)
#define COMPLETIONS 1024u

struct uring {
	struct io_uring ring;
	/* Counts submissions. The kernel orders the reads of an operation before its
	 * completion; this word says so in the terms of C. Writers: threads that submit.
	 * Readers: threads that take completions. Wraps. */
	atomic_u32 submissions;
	const struct skua_allocator *allocator;
};

static void release(struct uring *uring)
{
	memory_free(uring->allocator, uring, CACHE_PAIR, 1, sizeof(*uring));
}

int uring_create(struct uring **out, const struct skua_allocator *allocator)
{
	struct io_uring_params params = { .flags = IORING_SETUP_CLAMP |
						   IORING_SETUP_CQSIZE,
					  .cq_entries = COMPLETIONS };
	struct uring *uring =
		memory_alloc(allocator, CACHE_PAIR, 1, sizeof(*uring));
	int code;

	if (!uring)
		return -ENOMEM;
	uring->allocator = allocator;
	atomic_init(&uring->submissions, 0);
	code = io_uring_queue_init_params(SUBMISSIONS, &uring->ring, &params);
	if (code < 0) {
		release(uring);
		return code;
	}
	*out = uring;
	return 0;
}

void uring_destroy(struct uring *uring)
{
	io_uring_queue_exit(&uring->ring);
	release(uring);
}

int uring_fd(const struct uring *uring)
{
	return uring->ring.ring_fd;
}

static void prepare(struct io_uring_sqe *sqe, const struct skua_file_op *op)
{
	const uint64_t offset = (uint64_t)op->offset;
	const unsigned size = (unsigned)op->size;

	switch ((enum file_kind)op->kind) {
	case FILE_READ:
		io_uring_prep_read(sqe, op->fd, op->buffer, size, offset);
		break;
	case FILE_WRITE:
		io_uring_prep_write(sqe, op->fd, op->buffer, size, offset);
		break;
	case FILE_SYNC:
		io_uring_prep_fsync(sqe, op->fd,
				    op->flags & SKUA_FILE_DATA_ONLY
					    ? IORING_FSYNC_DATASYNC
					    : 0);
		break;
	case FILE_OPEN:
		io_uring_prep_openat(sqe, AT_FDCWD, op->path, (int)op->flags,
				     op->mode);
		break;
	case FILE_CLOSE:
		io_uring_prep_close(sqe, op->fd);
		/* The kernel would close at once, on this worker: if it is the last
		 * descriptor of a removed file, that frees the whole file. */
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
		break;
	case FILE_NONE:
		io_uring_prep_nop(sqe);
		break;
	}
}

/* Submit what is in the queue; if the kernel takes nothing, it stays there. No signal
 * interrupts the call, which does not wait. */
static void flush(struct uring *uring)
{
	int taken = 1;

	/* The kernel stops after an operation that it refuses, whose completion
	 * says so; the loop repeats for those that follow. */
	while (taken > 0 && io_uring_sq_ready(&uring->ring) > 0)
		taken = io_uring_submit(&uring->ring);
}

/* Make operations that the kernel has not taken do nothing: they cannot be taken back. */
static void void_all(struct io_uring_sqe *const *sqes, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		io_uring_prep_nop(sqes[i]);
		sqes[i]->user_data = 0;
	}
}

unsigned uring_submit(struct uring *uring, const struct uring_request *requests,
		      unsigned count)
{
	struct io_uring_sqe *sqes[URING_SUBMIT_MAX];
	unsigned added = 0, left;

	/* There is room, unless the kernel has refused operations before. */
	while (added < count &&
	       (sqes[added] = io_uring_get_sqe(&uring->ring)) != NULL) {
		prepare(sqes[added], requests[added].op);
		sqes[added]->user_data = requests[added].tag;
		added++;
	}
	/* Release: the reads of the operations. Pairs with uring_take(). */
	atomic_fetch_add_release(&uring->submissions, 1);
	flush(uring);
	left = io_uring_sq_ready(&uring->ring);
	if (left > added)
		left = added;
	void_all(sqes + added - left, left);
	return added - left;
}

bool uring_cancel(struct uring *uring, uint64_t tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);

	/* Operations that the kernel has refused may occupy all entries. */
	if (!sqe) {
		flush(uring);
		sqe = io_uring_get_sqe(&uring->ring);
	}
	if (!sqe)
		return false;
	io_uring_prep_cancel64(sqe, tag, 0);
	sqe->user_data = 0;
	flush(uring);
	if (io_uring_sq_ready(&uring->ring) == 0)
		return true;
	void_all(&sqe, 1);
	return false;
}

bool uring_has_done(const struct uring *uring)
{
	const struct io_uring_cq *cq = &uring->ring.cq;

	/* Relaxed, both: a hint. uring_take() acquires. */
	return atomic_load_relaxed((const atomic_u32 *)cq->ktail) !=
	       atomic_load_relaxed((const atomic_u32 *)cq->khead);
}

unsigned uring_take(struct uring *uring, struct uring_done *out, unsigned count)
{
	struct io_uring_cqe *cqe;
	unsigned taken = 0;

	/* Enters the kernel only if that keeps further completions. */
	while (taken < count && io_uring_peek_cqe(&uring->ring, &cqe) == 0) {
		/* Acquire: as uring_submit() says. */
		(void)atomic_load_acquire(&uring->submissions);
		out[taken].tag = cqe->user_data;
		out[taken].result = cqe->res;
		io_uring_cqe_seen(&uring->ring, cqe);
		taken += out[taken].tag != 0;
	}
	return taken;
}

#else

int uring_create(struct uring **out, const struct skua_allocator *allocator)
{
	(void)out;
	(void)allocator;
	return -ENOSYS;
}

/* There is no ring, so the others are never called. */
void uring_destroy(struct uring *ring)
{
	(void)ring;
}

int uring_fd(const struct uring *ring)
{
	(void)ring;
	return -EBADF;
}

unsigned uring_submit(struct uring *ring, const struct uring_request *requests,
		      unsigned count)
{
	(void)ring;
	(void)requests;
	(void)count;
	return 0;
}

bool uring_cancel(struct uring *ring, uint64_t tag)
{
	(void)ring;
	(void)tag;
	return false;
}

bool uring_has_done(const struct uring *ring)
{
	(void)ring;
	return false;
}

unsigned uring_take(struct uring *ring, struct uring_done *out, unsigned count)
{
	(void)ring;
	(void)out;
	(void)count;
	return 0;
}

#endif
