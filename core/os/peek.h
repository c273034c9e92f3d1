/* SPDX-License-Identifier: MIT */
/**
 * peek.h - read memory of this process that may be unmapped
 */
#ifndef SKUA_CORE_OS_PEEK_H
#define SKUA_CORE_OS_PEEK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* peek - copy @size bytes from @address; false if they are unmapped, or the
 * kernel refuses. @pid: getpid() */
static inline bool peek(pid_t pid, const void *address, void *into, size_t size)
{
	const struct iovec local = { into, size };
	const struct iovec remote = { (void *)(uintptr_t)address, size };
	int saved = errno; /* the library never sets it */
	/* A bare system call, so that a sanitizer does not check the
	 * address. */
	long got = syscall(SYS_process_vm_readv, pid, &local, 1UL, &remote, 1UL,
			   0UL);

	errno = saved;
	return got == (long)size;
}

#endif
