/* SPDX-License-Identifier: MIT */
/**
 * membarrier.h - a fence in all threads of the process, on behalf of one
 *
 * Where one side of a protocol fences often and the other side rarely, the rare
 * side calls membarrier_fence(), and the other side needs no more than
 * atomic_fence_compiler(). The call takes about a microsecond, and 12 us if
 * other threads of the process run; it interrupts their CPUs.
 */
#ifndef SKUA_CORE_OS_MEMBARRIER_H
#define SKUA_CORE_OS_MEMBARRIER_H

#include "core/base/atomic.h"

/**
 * membarrier_register - prepare the process for membarrier_fence()
 *
 * Does nothing in a process that has other threads already: the kernel would
 * let the caller wait 10 to 20 ms for all CPUs. The registration lasts until the
 * process calls exec, so that later runtimes find it.
 *
 * Return: true if membarrier_fence() works. False: the kernel is older than
 * 4.14, a filter of system calls denies it, or the process had other threads
 * before its first runtime.
 */
bool membarrier_register(void);

/*
 * membarrier_fence - make every thread of the process execute a full fence
 * before this returns; the calling thread does so before and after the others.
 * Return: false if the kernel refused, and no thread has fenced.
 */
#ifdef SKUA_EXPLORE

#define membarrier_fence() explore_membarrier()

#else

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline bool membarrier_fence(void)
{
	int saved = errno;
	long code =
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);

	errno = saved; /* the library never sets it */
	return code == 0;
}

#endif

/* membarrier_or_fence - the fence of the rare side: membarrier_fence(), or, if
 * that does not work and the other side fences itself, a fence of its own.
 * Return: as membarrier_fence(). */
static inline bool membarrier_or_fence(bool works)
{
	if (works)
		return membarrier_fence();
	/* Orders what the caller stored before what it loads from now on.
	 * Pairs with the other side's fence: lifo_slot_take_owner(),
	 * fiber_cancel_leave(). */
	atomic_fence_seq_cst();
	return true;
}

#endif
