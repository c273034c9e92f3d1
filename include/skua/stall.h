/* SPDX-License-Identifier: MIT */
/* stall.h - report about a poll that takes too long */
#ifndef SKUA_STALL_H
#define SKUA_STALL_H

#include <skua/task.h>

SKUA_BEGIN_DECLS

#define SKUA_STALL_FRAMES 32

/**
 * struct skua_stall - a poll that is over its limit and was still in progress when it
 * was checked
 * @size: sizeof(struct skua_stall) in the loaded library
 * @worker: index of the worker that is in the poll
 * @type: type of the task; NULL if it has none
 * @poll: poll function of the task, or the function of a fiber; NULL if the kernel does not
 *        let the library read memory that may be freed (process_vm_readv())
 * @duration_ns: how long the poll has taken so far, at least, in nanoseconds. All
 *         times begin when a check first saw the poll
 * @cpu_ns: the part of @duration_ns in which the thread had a CPU, at least; in the
 *          rest it slept, for example in a system call, or waited for a CPU
 * @waited_ns: how long the thread waited for a CPU, as far as that is known; this
 *             time does not count for the limit
 * @suppressed: number of polls of this worker that were over their limit since its
 *         last report, and were not reported because that was less than a second ago
 * @frames: number of stack frames; 0 if the stack is not available
 * @frame: the instruction at which the poll was, then the return address of each
 *         caller, as backtrace_symbols() takes them
 */
struct skua_stall {
	size_t size;
	unsigned worker;
	unsigned frames;
	const struct skua_task_type *type;
	skua_task_fn poll;
	uint64_t duration_ns;
	uint64_t cpu_ns;
	uint64_t waited_ns;
	uint64_t suppressed;
	void *frame[SKUA_STALL_FRAMES];
};

SKUA_END_DECLS

#endif
