/* SPDX-License-Identifier: MIT */
/**
 * uring.h - a ring of the kernel, to which any thread submits operations on files
 *
 * Rejected: IORING_SETUP_SINGLE_ISSUER with DEFER_TASKRUN, which is the fastest kind of
 * ring: only one thread may then submit, and completions appear when that thread enters
 * the kernel. Here the operations of a worker that is in a long poll have to complete, so
 * that others can reap them. The default kind interrupts the submitter for that.
 */
#ifndef SKUA_CORE_FILE_URING_H
#define SKUA_CORE_FILE_URING_H

#include <stdbool.h>
#include <stdint.h>

#include "skua/file.h"
#include "skua/runtime.h"

struct uring;

enum file_kind {
	FILE_NONE, /* not prepared */
	FILE_READ,
	FILE_WRITE,
	FILE_SYNC,
	FILE_OPEN,
	FILE_CLOSE,
};

/* A completion: the tag of the operation, and its result. */
struct uring_done {
	uint64_t tag;
	int32_t result;
};

/* uring_create - create a ring. Return: 0; a negative errno: the kernel refuses, or the
 * library was built without liburing (-ENOSYS) */
int uring_create(struct uring **out, const struct skua_allocator *allocator);

/* uring_destroy - no operation is in progress */
void uring_destroy(struct uring *ring);

/* uring_fd - return the descriptor that is ready to read when there are completions */
int uring_fd(const struct uring *ring);

/* The most operations of one uring_submit(). */
#define URING_SUBMIT_MAX 32u

/* An operation, which stays in place until it has completed, and its tag, which is not 0 and
 * comes back with the completion. */
struct uring_request {
	const struct skua_file_op *op;
	uint64_t tag;
};

/**
 * uring_submit - begin operations, up to URING_SUBMIT_MAX
 *
 * The caller excludes other calls of this function and of uring_cancel(). Return: how many
 * the kernel has taken, the first ones; the others will not complete.
 */
unsigned uring_submit(struct uring *ring, const struct uring_request *requests,
		      unsigned count);

/**
 * uring_cancel - ask the kernel to stop an operation that it has taken
 *
 * If the operation has not completed, it completes soon, with -ECANCELED, -EINTR or its
 * result. The caller excludes other calls, as above. Return: false: the kernel did not take
 * the request, for example for lack of memory, and will not act on it: ask again.
 */
bool uring_cancel(struct uring *ring, uint64_t tag);

/* uring_has_done - are there completions? Threads: any. */
bool uring_has_done(const struct uring *ring);

/* uring_take - take up to @count completions. The caller excludes other callers. Return:
 * how many */
unsigned uring_take(struct uring *ring, struct uring_done *out, unsigned count);

#endif
