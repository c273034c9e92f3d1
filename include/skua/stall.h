/* SPDX-License-Identifier: MIT */
/* stall.h - what is said of a task whose poll takes too long */
#ifndef SKUA_STALL_H
#define SKUA_STALL_H

#include <skua/task.h>

SKUA_BEGIN_DECLS

#define SKUA_STALL_FRAMES 32

/**
 * struct skua_stall - a poll that is over its limit, and was not over yet
 * @size: sizeof(struct skua_stall) as the library knows it
 * @worker: the worker that it keeps
 * @type: of the task; NULL: it has none
 * @poll: the task's poll function; NULL where the kernel does not let the library
 *        look at memory that may be gone (process_vm_readv())
 * @duration_ns: how long the poll has taken so far, at least; all times begin when
 *        it was seen first
 * @cpu_ns: of that, how long it had a CPU, at least; for the rest it slept, as in
 *        a system call, or waited for a CPU
 * @waited_ns: how long it waited for a CPU, as far as is known; that does not count
 *        for the limit
 * @suppressed: polls of this worker that were over their limit since the last
 *        report, and not reported because that was less than a second ago
 * @frames: of the stack, 0 if it could not be had
 * @frame: the instruction that the poll was at, and then of each caller the one to
 *        return to; as for backtrace_symbols()
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
