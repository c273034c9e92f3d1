/* SPDX-License-Identifier: MIT */
/* membarrier.c - see membarrier.h */
#include "core/os/membarrier.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A libc without this variable counts as having other threads. */
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else
#define __libc_single_threaded false
#endif

static bool ask(void)
{
	int saved = errno;
	long code = syscall(SYS_membarrier,
			    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);

	errno = saved; /* the library never sets it */
	return code == 0;
}

bool membarrier_register(void)
{
	/* The fence itself tells whether the process is registered. */
	return membarrier_fence() ||
	       (__libc_single_threaded && ask() && membarrier_fence());
}
