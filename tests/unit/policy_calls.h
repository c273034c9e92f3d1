/* SPDX-License-Identifier: MIT */
/* policy_calls.h - the kernel's calls about NUMA memory that a test takes the place of */
#ifndef SKUA_TESTS_UNIT_POLICY_CALLS_H
#define SKUA_TESTS_UNIT_POLICY_CALLS_H

#include <sys/types.h>

long __real_get_mempolicy(int *mode, unsigned long *nodes, unsigned long bits,
			  void *at, unsigned flags);
long __wrap_get_mempolicy(int *mode, unsigned long *nodes, unsigned long bits,
			  void *at, unsigned flags);
long __real_mbind(void *at, unsigned long size, int mode,
		  const unsigned long *nodes, unsigned long bits,
		  unsigned flags);
long __wrap_mbind(void *at, unsigned long size, int mode,
		  const unsigned long *nodes, unsigned long bits,
		  unsigned flags);
void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t o);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t o);

#endif
