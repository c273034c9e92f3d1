/* SPDX-License-Identifier: MIT */
/* job_slots.c - see job_slots.h */
#include "core/fork_join/job_slots.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* The least bytes of stack that a forked job takes: the job itself, and its
 * call. */
#define STACK_OF_JOB 64u

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* The number of slots of a place: as many as jobs fit on a stack, in whole
 * pages; at most SKUA_MAX_FORKS. */
static size_t count_slots(void)
{
	size_t page = page_bytes() / sizeof(atomic_ptr);
	size_t count = SKUA_MAX_FORKS;
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) == 0 &&
	    stack.rlim_cur / STACK_OF_JOB < count)
		count = stack.rlim_cur / STACK_OF_JOB;
	return count < page ? page : count / page * page;
}

size_t job_slots_place_bytes(const struct job_slots *slots)
{
	return slots->count * sizeof(atomic_ptr) + page_bytes();
}

/* Since Linux 6.13; older headers do not have it. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* MADV_GUARD_INSTALL takes a third of the time of mprotect(), and does not split the
 * mapping. Kernels that do not know it, and locked memory, refuse it. */
int job_slots_guard(atomic_ptr *end)
{
	int saved = errno;
	int code = 0;

	if (madvise(end, page_bytes(), MADV_GUARD_INSTALL) != 0 &&
	    mprotect(end, page_bytes(), PROT_NONE) != 0)
		code = -ENOMEM;
	errno = saved;
	return code;
}

static size_t mapped_bytes(const struct job_slots *slots)
{
	return slots->places * job_slots_place_bytes(slots) + slots->behind;
}

int job_slots_map(struct job_slots *slots, unsigned places, size_t behind)
{
	int saved = errno; /* the library never sets it */
	void *memory;

	slots->memory = NULL;
	slots->places = places;
	slots->count = count_slots();
	slots->behind = behind;
	memory = mmap(NULL, mapped_bytes(slots), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory != MAP_FAILED) {
		/* It may fail: then the kernel has no large pages. */
		madvise(memory, mapped_bytes(slots), MADV_NOHUGEPAGE);
		slots->memory = memory;
	}
	errno = saved;
	return slots->memory ? 0 : -ENOMEM;
}

void job_slots_unmap(struct job_slots *slots)
{
	if (slots->memory)
		munmap(slots->memory, mapped_bytes(slots));
	slots->memory = NULL;
}

atomic_ptr *job_slots_of(const struct job_slots *slots, unsigned i)
{
	return (atomic_ptr *)(slots->memory + i * job_slots_place_bytes(slots));
}

char *job_slots_behind(const struct job_slots *slots)
{
	return slots->memory + slots->places * job_slots_place_bytes(slots);
}

struct job_check *job_slots_map_checks(size_t count)
{
	int saved = errno;
	void *memory = mmap(NULL, count * sizeof(struct job_check),
			    PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	errno = saved;
	return memory == MAP_FAILED ? NULL : memory;
}

void job_slots_unmap_checks(struct job_check *checks, size_t count)
{
	if (checks)
		munmap(checks, count * sizeof(*checks));
}
