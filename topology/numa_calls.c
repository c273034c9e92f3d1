/* SPDX-License-Identifier: MIT */
/* numa_calls.c - see numa_calls.h */
#include "topology/numa_calls.h"

#include <sys/syscall.h>
#include <unistd.h>

long get_mempolicy(int *mode, unsigned long *nodes, unsigned long bits,
		   void *at, unsigned flags)
{
	return syscall(SYS_get_mempolicy, mode, nodes, bits, at, flags);
}

long mbind(void *at, unsigned long bytes, int mode, const unsigned long *nodes,
	   unsigned long bits, unsigned flags)
{
	return syscall(SYS_mbind, at, bytes, mode, nodes, bits, flags);
}

long move_pages(int pid, unsigned long count, void **pages, const int *nodes,
		int *status, int flags)
{
	return syscall(SYS_move_pages, pid, count, pages, nodes, status, flags);
}
