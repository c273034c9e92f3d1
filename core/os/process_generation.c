/* SPDX-License-Identifier: MIT */
/* process_generation.c - see process_generation.h */
#include "core/os/process_generation.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic(atomic_u32 *) process_generation_page;

/* The latest generation in this process or, as a forked child has a copy, in an
 * ancestor. */
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
	/* Release, acquire: tells other threads that the kernel will wipe the
	 * page in children, before any of them writes there. Pairs with
	 * itself. */
	else if (atomic_cas_acq_rel(&process_generation_page, &none, page))
		none = page;
	if (none != page)
		munmap(page, size);
	*out = none; /* or the page of a thread that was faster */
	return code;
}

int process_generation_adopt(uint32_t *out)
{
	/* Acquire: the kernel will wipe the page. Pairs with map_page(). */
	atomic_u32 *page = atomic_load_acquire(&process_generation_page);
	uint32_t generation = 0;
	uint32_t next;
	int code = page ? 0 : map_page(&page);

	if (code)
		return code;
	/* Relaxed, all: the number guards no data. Several threads may find the
	 * page wiped; one of them writes its number, and the numbers of the
	 * others are never used. */
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
