/* SPDX-License-Identifier: MIT */
/* arena.c - see arena.h */
#include "core/fiber/arena.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/fiber/watched.h"
#include "probes/counters.h"
#include "topology/node_memory.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* About the size of an arena, which has from one to 64 stacks. A guess: large enough for
 * few calls of mmap(), small enough to be returned as a whole. */
#define ARENA_BYTES ((size_t)4 << 20)

/* Tops of stacks are apart by multiples of the page size, and so in the same sets of a
 * cache of 64 sets. Stacks of different colours are not. */
#define COLOUR_BYTES sizeof(struct stack)
#define COLOURS      32u

_Static_assert(sizeof(struct stack) == 128, "32 of them are a page");
_Static_assert(offsetof(struct stack, low) ==
			       offsetof(struct area_stack, low) &&
		       offsetof(struct stack, fiber) ==
			       offsetof(struct area_stack, fiber),
	       "tools read a stack");

/* The part of the mappings of a process that guards may use: three quarters. A guess. */
#define MAPPINGS_PART(limit) ((limit) / 4 * 3)
/* If the kernel does not tell its limit: its default. */
#define MAPPINGS_DEFAULT 65530

/* The kernel has no MADV_GUARD_INSTALL, or not for this memory. A fact about the process,
 * which one thread finds out; others may find it out at the same time. Relaxed: it guards
 * no data. */
static atomic_u32 guards_are_mappings;

/* The mappings that the guards of all runtimes of the process have made. Writers: threads
 * that make guards or unmap arenas. */
static atomic_u64 mappings;
/* Their limit; 0: not read yet. Writers: threads that read it. */
static atomic_u64 mappings_limit;

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* A guard, the stack, and a page for struct stack and the colour. */
static size_t stride(unsigned order)
{
	return ((size_t)1 << order) + 2 * page_bytes();
}

/* ---- guards ------------------------------------------------------------------ */

static uint64_t read_limit(void)
{
	unsigned long limit = MAPPINGS_DEFAULT;
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");

	if (file && fscanf(file, "%lu", &limit) != 1)
		limit = MAPPINGS_DEFAULT;
	if (file)
		fclose(file);
	return MAPPINGS_PART(limit) + 1; /* not 0 */
}

/* Count two more mappings. Return: false: the limit is reached. */
static bool enter_mappings(void)
{
	/* Relaxed, all: numbers, which guard no data. */
	uint64_t limit = atomic_load_relaxed(&mappings_limit);

	if (limit == 0) {
		limit = read_limit();
		atomic_store_relaxed(&mappings_limit, limit);
	}
	if (atomic_fetch_add_relaxed(&mappings, 2) + 2 <= limit)
		return true;
	atomic_fetch_sub_relaxed(&mappings, 2);
	return false;
}

static bool guard_by_mapping(char *guard)
{
	if (!enter_mappings())
		return false;
	if (mprotect(guard, page_bytes(), PROT_NONE) == 0)
		return true;
	atomic_fetch_sub_relaxed(&mappings, 2);
	return false;
}

static bool make_guard(char *guard)
{
	if (atomic_load_relaxed(&guards_are_mappings))
		return guard_by_mapping(guard);
	if (madvise(guard, page_bytes(), MADV_GUARD_INSTALL) == 0)
		return true;
	if (errno != EINVAL)
		return false;
	/* An old kernel, or locked memory (mlockall()). */
	atomic_store_relaxed(&guards_are_mappings, 1);
	return guard_by_mapping(guard);
}

/* ---- arenas ------------------------------------------------------------------ */

static unsigned count_of(unsigned order)
{
	size_t count = ARENA_BYTES >> order;

	return count > 64 ? 64 : count < 1 ? 1 : (unsigned)count;
}

struct arena *arena_map(void *owner, unsigned order, int node)
{
	int saved = errno; /* the library never sets it */
	unsigned count = count_of(order);
	size_t bytes = page_bytes() + count * stride(order);
	struct arena *arena =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (arena != MAP_FAILED) {
		/* Both may fail: then the memory is elsewhere, or the kernel has
		 * no large pages. */
		if (node != NODE_MEMORY_ANY)
			node_memory_prefer(arena, bytes, node);
		madvise(arena, bytes, MADV_NOHUGEPAGE);
		*arena = (struct arena){
			.owner = owner,
			.bytes = bytes,
			.cold = UINT64_MAX >> (64 - count),
			.order = order,
			.count = count,
			.colour = (unsigned)((uintptr_t)arena / page_bytes()),
		};
	}
	errno = saved;
	return arena == MAP_FAILED ? NULL : arena;
}

void arena_unmap(struct arena *arena)
{
	uint64_t guarded = (uint64_t)__builtin_popcountll(arena->guarded);
	int saved = errno;

	if (atomic_load_relaxed(&guards_are_mappings)) {
		uint64_t made = atomic_load_relaxed(&mappings);

		/* Guards from before may be none. The loop repeats when another
		 * thread has changed the number. */
		while (!atomic_cas_relaxed(
			&mappings, &made,
			made < 2 * guarded ? 0 : made - 2 * guarded))
			;
	}
	munmap(arena, arena->bytes);
	errno = saved;
}

/* ---- stacks ------------------------------------------------------------------ */

static char *guard_of(struct arena *arena, unsigned index)
{
	return (char *)arena + page_bytes() + index * stride(arena->order);
}

struct stack *arena_warm(struct arena *arena)
{
	unsigned index = (unsigned)__builtin_ctzll(arena->cold);
	uint64_t bit = UINT64_C(1) << index;
	char *guard = guard_of(arena, index);
	char *end = guard + stride(arena->order);
	int saved = errno;
	bool guarded = (arena->guarded & bit) || make_guard(guard);
	struct stack *stack;

	errno = saved;
	if (!guarded)
		return NULL;
	arena->guarded |= bit;
	arena->cold &= ~bit;
	stack = (struct stack *)(end - COLOUR_BYTES * ((arena->colour + index) %
						       COLOURS)) -
		1;
	*stack = (struct stack){
		.low = guard + page_bytes(),
		.arena = arena,
		.order = arena->order,
		.index = index,
	};
	counter_set_owner(&arena->area.stacks[index], (uintptr_t)stack);
	watched_register(stack);
	return stack;
}

void arena_return(struct stack *stack)
{
	char *low = stack->low;
	char *end = low - page_bytes() + stride(stack->order);
	int saved = errno;

	watched_deregister(stack);
	/* Not MADV_FREE: the pages would be counted as resident until memory runs
	 * short, and then be lost without a word to struct stack. */
	madvise(low, (size_t)(end - low), MADV_DONTNEED);
	errno = saved;
}

void arena_chill(struct arena *arena, unsigned index)
{
	counter_set_owner(&arena->area.stacks[index], 0);
	arena->cold |= UINT64_C(1) << index;
}

size_t stack_used(const struct stack *stack)
{
	size_t page = page_bytes(), pages = stack_bytes(stack) / page + 1;
	unsigned char present[256];
	int saved = errno;
	size_t used = 0;

	for (size_t i = 0; i < pages && used == 0; i += sizeof(present)) {
		size_t count = pages - i < sizeof(present) ? pages - i
							   : sizeof(present);

		if (mincore(stack->low + i * page, count * page, present) != 0)
			break;
		for (size_t n = 0; n < count && used == 0; n++)
			if (present[n] & 1)
				used = (pages - i - n) * page;
	}
	errno = saved;
	return used;
}
