/* SPDX-License-Identifier: MIT */
/**
 * file.h - operations on files
 *
 * Reading and writing a file blocks the thread, and files cannot be waited for as sockets
 * can (skua/io.h). These calls hand an operation to io_uring where the kernel permits it,
 * and otherwise to the blocking pool (skua/blocking.h); the runtime logs which at the first
 * operation. A short read of data that the kernel has in memory is done at once, unless it
 * is at the position of the file.
 *
 * The kernel uses the buffer during an operation, and a call returns only when the kernel
 * no longer does. With a deadline or a cancel (skua/wait.h), a call therefore asks the
 * kernel to stop, and waits for the answer. A disk may take as long for that as for the
 * operation itself. If the operation succeeds after all, the call returns its result.
 *
 * Descriptors, paths and buffers belong to the caller, and stay in place until the call
 * returns; for skua_file_poll(), until it returns anything but -EAGAIN. Sizes and offsets
 * are in bytes. Operations on one file may be in progress at the same time; they end in
 * any order.
 *
 * The calls return the errors of the system calls that they stand for, as negative errno
 * values, but never -EINTR. All calls of fibers and outside threads also return: -EINVAL
 * (@rt is NULL, a pointer is NULL while its size is not 0, an offset is negative, or,
 * without io_uring, the descriptor is non-blocking and not of a file: see skua/io.h);
 * -ETIMEDOUT and -ECANCELED (nothing was done); -ENOMEM; -ESHUTDOWN (an outside thread
 * calls during a shutdown); -EDEADLK (the caller must not wait: it is in a poll, in a job,
 * inside skua_run(), or a fiber with a context of skua_task_ctx()); -EOWNERDEAD (in a
 * forked child).
 */
#ifndef SKUA_FILE_H
#define SKUA_FILE_H

#include <skua/blocking.h>
#include <sys/types.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/* skua_file_read() and skua_file_write(): at the position of the file, which the operation
 * moves, as read() and write() do. For pipes and terminals. */
#define SKUA_FILE_POSITION (-1)

/* Flag of skua_file_sync(): only what a later read needs, as fdatasync(). */
#define SKUA_FILE_DATA_ONLY (1u << 0)

/**
 * skua_file_read - read from a file
 * @rt: live runtime, borrowed
 * @fd: descriptor of a file
 * @buffer: receives the bytes
 * @size: how many, up to 2,147,479,552
 * @offset: where in the file, or SKUA_FILE_POSITION
 * @deadline_ns: time of skua_now_ns() at which to ask the kernel to stop, or
 *               SKUA_FOREVER_NS
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the operation has
 * ended. Allocates: nothing, except the ring at the first operation of a runtime.
 * Order: what the caller wrote to memory before is visible to the kernel.
 * Return: the number of bytes, less than @size only at the end of the file or because of
 * an error or signal; 0 at the end of the file; a negative errno value.
 */
SKUA_API ssize_t skua_file_read(struct skua_runtime *rt, int fd, void *buffer,
				size_t size, int64_t offset,
				uint64_t deadline_ns);

/**
 * skua_file_write - write to a file
 * @rt: live runtime, borrowed
 * @fd: descriptor of a file
 * @data: the bytes
 * @size: how many, up to 2,147,479,552
 * @offset: where in the file, or SKUA_FILE_POSITION. A file that was opened with O_APPEND
 *          is written to at its end in any case
 * @deadline_ns: as for skua_file_read()
 *
 * Threads: fibers and outside threads. Blocks: as skua_file_read(). Allocates: as
 * skua_file_read(). SIGPIPE: raised as by write(), in a thread of the process.
 * Return: the number of bytes, which may be less than @size, for example if the disk is
 * full; a negative errno value.
 */
SKUA_API ssize_t skua_file_write(struct skua_runtime *rt, int fd,
				 const void *data, size_t size, int64_t offset,
				 uint64_t deadline_ns);

/**
 * skua_file_sync - write what the kernel has of a file to the disk
 * @rt: live runtime, borrowed
 * @fd: descriptor of a file
 * @flags: 0 or SKUA_FILE_DATA_ONLY
 * @deadline_ns: as for skua_file_read()
 *
 * Threads: fibers and outside threads. Blocks: as skua_file_read(). Allocates: as
 * skua_file_read().
 * Return: 0; -EINVAL (a flag is unknown); another negative errno value.
 */
SKUA_API int skua_file_sync(struct skua_runtime *rt, int fd, unsigned flags,
			    uint64_t deadline_ns);

/**
 * skua_file_open - open a file
 * @rt: live runtime, borrowed
 * @path: as for open()
 * @flags: as for open(); the library adds O_CLOEXEC
 * @mode: as for open()
 * @deadline_ns: as for skua_file_read()
 *
 * Threads: fibers and outside threads. Blocks: as skua_file_read(). Allocates: as
 * skua_file_read().
 * Return: the descriptor, which belongs to the caller; a negative errno value.
 */
SKUA_API int skua_file_open(struct skua_runtime *rt, const char *path,
			    int flags, mode_t mode, uint64_t deadline_ns);

/**
 * skua_file_close - close a file
 * @rt: live runtime, borrowed
 * @fd: descriptor
 * @deadline_ns: as for skua_file_read()
 *
 * Threads: fibers and outside threads. Blocks: as skua_file_read(). Allocates: as
 * skua_file_read().
 * Return: 0; -ETIMEDOUT or -ECANCELED (@fd is still open); another error of close(), after
 * which it is closed.
 */
SKUA_API int skua_file_close(struct skua_runtime *rt, int fd,
			     uint64_t deadline_ns);

/* ---- in polls ------------------------------------------------------------------- */

/**
 * struct skua_file_op - an operation of a poll
 *
 * Embed it, zeroed; the fields are private to the library. Prepare it with one of the
 * functions below, and call skua_file_poll() until that returns anything but -EAGAIN.
 * Then it may be prepared again.
 */
struct skua_file_op {
	/* private: to the library */
	struct skua_blocking call; /* first: the library casts back */
	const char *path;
	void *buffer;
	uint64_t size;
	int64_t offset;
	int64_t result;
	int32_t fd;
	uint32_t flags;
	uint32_t mode;
	int32_t asked;
	uint16_t kind;
	uint16_t stage;
	uint32_t reserved;
};

/* skua_file_prep_read - prepare a read, with the arguments of skua_file_read()
 *
 * @op must not be in progress. NULL is ignored, here and below.
 *
 * Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API void skua_file_prep_read(struct skua_file_op *op, int fd, void *buffer,
				  size_t size, int64_t offset);

/* skua_file_prep_write - prepare a write. As skua_file_prep_read(). */
SKUA_API void skua_file_prep_write(struct skua_file_op *op, int fd,
				   const void *data, size_t size,
				   int64_t offset);

/* skua_file_prep_sync - prepare a sync. As skua_file_prep_read(). */
SKUA_API void skua_file_prep_sync(struct skua_file_op *op, int fd,
				  unsigned flags);

/* skua_file_prep_open - prepare an open. As skua_file_prep_read(). */
SKUA_API void skua_file_prep_open(struct skua_file_op *op, const char *path,
				  int flags, mode_t mode);

/* skua_file_prep_close - prepare a close. As skua_file_prep_read(). */
SKUA_API void skua_file_prep_close(struct skua_file_op *op, int fd);

/**
 * skua_file_poll - begin a prepared operation, or get its result
 * @self: task that is being polled
 * @op: prepared; the same task makes all calls for it
 * @deadline_ns: as for skua_file_read()
 *
 * A task may have several operations in progress. It must not be done before each has
 * ended.
 *
 * Threads: worker, in the poll of @self. Blocks: never. Allocates: as skua_file_read().
 * Return: the result, as the call above returns it; -EAGAIN (in progress: return
 * SKUA_PENDING, and call this again in the next poll); -EPERM (@self is not being polled);
 * -EINVAL (an argument is NULL, or @op is not prepared, or in progress for another task).
 */
SKUA_API ssize_t skua_file_poll(struct skua_task *self, struct skua_file_op *op,
				uint64_t deadline_ns);

SKUA_END_DECLS

#endif
