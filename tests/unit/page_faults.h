/* SPDX-License-Identifier: MIT */
/* page_faults.h - page faults that a test causes and counts */
#ifndef SKUA_TESTS_UNIT_PAGE_FAULTS_H
#define SKUA_TESTS_UNIT_PAGE_FAULTS_H

#include <sys/mman.h>

#include "tests/unit/support.h"

/* touch_pages - cause @pages page faults, and few others */
static inline void touch_pages(size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	madvise(memory, pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		((volatile char *)memory)[i * page] = 1;
	munmap(memory, pages * page);
}

#endif
