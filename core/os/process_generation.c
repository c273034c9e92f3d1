/* SPDX-License-Identifier: MIT */
/* process_generation.c - see process_generation.h */
#include "core/os/process_generation.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic(atomic_u32 *) process_generation_page;

/* The latest generation here or in an ancestor: a child has a copy. */
static atomic_u32 latest;

static int map_page(atomic_u32 **out)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	atomic_u32 *none = NULL;
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int code = 0;

	if (page == MAP_FAILED)
		return -ENOMEM;
	if (madvise(page, size, MADV_WIPEONFORK) != 0)
		code = -errno;
	/* Release, acquire: the page is wiped in children, before anybody
	 * writes there. Pairs with itself. */
	else if (atomic_cas_acq_rel(&process_generation_page, &none, page))
		none = page;
	if (none != page)
		munmap(page, size);
	*out = none; /* or of a thread that was faster */
	return code;
}

int process_generation_adopt(uint32_t *out)
{
	/* Acquire: as in map_page(). */
	atomic_u32 *page = atomic_load_acquire(&process_generation_page);
	uint32_t generation = 0;
	uint32_t next;
	int code = page ? 0 : map_page(&page);

	if (code)
		return code;
	/* Relaxed, all: a number. Of the threads that find the page wiped, one
	 * writes its own; a number may be left out. */
	generation = atomic_load_relaxed(page);
	if (generation == 0) {
		next = atomic_fetch_add_relaxed(&latest, 1) + 1;
		if (next > PROCESS_GENERATION_MAX)
			return -ENOMEM;
		if (atomic_cas_relaxed(page, &generation, next))
			generation = next;
	}
	*out = generation;
	return 0;
}
