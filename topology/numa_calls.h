/* SPDX-License-Identifier: MIT */
/**
 * numa_calls.h - the kernel's calls about memory and nodes
 *
 * As libnuma has them, without what that does when it is loaded: it reads files for
 * a quarter of a millisecond, and sets the policy of the thread, and sets it back.
 */
#ifndef SKUA_TOPOLOGY_NUMA_CALLS_H
#define SKUA_TOPOLOGY_NUMA_CALLS_H

#include <linux/mempolicy.h>

/* Return: 0, or -1 and errno. */
long get_mempolicy(int *mode, unsigned long *nodes, unsigned long bits,
		   void *at, unsigned flags);
long mbind(void *at, unsigned long bytes, int mode, const unsigned long *nodes,
	   unsigned long bits, unsigned flags);
long move_pages(int pid, unsigned long count, void **pages, const int *nodes,
		int *status, int flags);

#endif
