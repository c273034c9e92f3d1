/* SPDX-License-Identifier: MIT */
/**
 * files.h - operations on files, which the kernel or the blocking pool carries out
 *
 * An operation is a wait (core/wait/wait.h) whose amount is the address of a struct
 * skua_file_op. It is armed until a worker, or a thread that submits, takes its completion.
 * That thread notes the result, and grants the wait.
 *
 * An operation begins in a queue. The thread that queues it also submits the queue to the ring.
 * If another thread is doing that, this one leaves the operation to it, and that thread submits
 * again. So no thread waits for the system call of another one. But a thread that has submitted
 * some times loses the role to the next one, which waits for the system call in progress:
 * otherwise the others could keep it from its own task as long as they queue operations.
 *
 * Writes may stay in the queue, for a time that files.c limits, so that the worker submits
 * several at once. Until they are submitted, a step may take them back.
 *
 * No step takes back an armed wait that the ring has: the kernel uses the buffer. A step that
 * is told to give up asks the kernel to stop, and waits on. If the kernel does not take the
 * request, the step is told again, each millisecond, until it does. So the operation, and the
 * wait, stay in place until the completion was taken. The request names the wait by its
 * address. It cannot meet a later operation at the same address, because the kernel acts on it
 * before uring_cancel() returns, and the step is part of this operation.
 *
 * The ring belongs to the driver of group 0, whatever the group of the workers that submit. A
 * completion that is there when the submission ends is taken by the submitter, so operations on
 * data in memory do not pass the driver; an operation that waits for a device takes longer than a
 * wake-up in another group. If all workers of group 0 are in long polls, others reap for it (I11,
 * I12). Rejected, until a machine with several groups shows a gain: a ring for each group. Each
 * would need a queue, a submitter and a deadline of its own, a request to stop would have to go
 * to the ring that has the operation, and a worker would collect fewer writes for each system
 * call.
 *
 * The ring is made at the first operation, and stays. A runtime without one, as on kernels
 * that refuse it, uses the blocking pool, also for an operation that the ring declines.
 */
#ifndef SKUA_CORE_FILE_FILES_H
#define SKUA_CORE_FILE_FILES_H

#include "core/base/atomic.h"
#include "core/config/config.h"
#include "core/driver/driver.h"
#include "core/file/uring.h"
#include "core/os/pi_lock.h"
#include "core/wait/await.h"

struct files {
	/* The address of the ring; 0: no operation yet; FILES_NO_RING. Writer: the
	 * thread with the lock, once. Readers: any. */
	atomic_u64 ring;
	/* Held by a thread that makes the ring, and by one that hands operations to it or
	 * asks it to stop one. Taken before the list lock. */
	struct pi_lock lock;
	/* The operations that are in the ring. Its list lock also excludes threads that
	 * take completions from each other, and guards the fields that follow, up to
	 * again. */
	struct skua_waiters waiters;
	/* The operations that wait for the ring. */
	struct skua_waiters queued;
	/* The number of the thread that has begun last to hand them over, and how often it
	 * has done so. Wraps: a number comes again after 2^32 system calls. */
	uint32_t submitter;
	unsigned turns;
	/* Does that thread still do so, and is it to do so again? */
	bool submitting;
	bool again;
	/* Constant. */
	atomic_u64 *due_ns; /* pool.submit_due_ns; written with the list lock */
	struct driver *driver;
	const struct config *config;
};

#define FILES_NO_RING UINT64_C(1)

/* The data with which the driver knows the ring. Descriptors have larger ones
 * (core/io/io.h). */
#define FILES_EVENTS UINT64_C(1)

/* The verb of an operation in the ring. The object is the struct files. The result is 0;
 * that of the operation is in it. */
extern const struct wait_verb files_verb __attribute__((visibility("hidden")));

/* files_init - @files is zeroed */
void files_init(struct files *files, struct driver *driver, atomic_u64 *due_ns,
		const struct config *config);

/* files_close - no operation is in progress, and none will be */
void files_close(struct files *files);

/* files_has_ring - is there a ring? Makes it at the first call. Threads: any that may
 * use the runtime. */
bool files_has_ring(struct files *files);

/* files_submit - hand queued operations to the ring, unless another thread does. Threads:
 * any. */
void files_submit(struct files *files);

/* files_reap - take completions, and grant their waits. Threads: any. */
void files_reap(struct files *files);

/* files_try - carry out an operation if it needs no wait. Return: has it a result? */
bool files_try(struct skua_file_op *op);

/* files_declined - must the blocking pool carry out an operation that the ring has ended? */
bool files_declined(const struct skua_file_op *op);

/* files_run - carry out an operation; the function of its call */
void files_run(struct skua_blocking *call);

#endif
