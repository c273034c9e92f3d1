/* SPDX-License-Identifier: MIT */
/* memory.h - memory from the user's allocator or from libc */
#ifndef SKUA_CORE_BASE_MEMORY_H
#define SKUA_CORE_BASE_MEMORY_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/boundary.h"
#include "skua/runtime.h"

/* errno_restore - set errno to @saved after memory was allocated or freed: the
 * library never changes errno */
static inline void errno_restore(int saved)
{
	/* Clang assumes that an allocation cannot change errno. Without this
	 * barrier it removes the next line. */
	__asm__ volatile("" ::: "memory");
	errno = saved;
}

/**
 * memory_alloc - allocate zeroed memory for @count elements of @size bytes
 * @allocator: the user's; NULL: libc
 * @align: in bytes, a power of two
 *
 * Return: the memory, which the caller releases with memory_free(); NULL: no
 * memory.
 */
static inline void *memory_alloc(const struct skua_allocator *allocator,
				 size_t align, size_t count, size_t size)
{
	size_t bytes = (count * size + align - 1) / align * align;
	int saved = errno;
	void *memory = allocator
			       ? allocator->alloc(allocator->ctx, align, bytes)
			       : aligned_alloc(align, bytes);

	BOUNDARY(allocator);
	errno_restore(saved);
	return memory ? memset(memory, 0, bytes) : NULL;
}

/* memory_free - free memory of memory_alloc(), with the arguments of that call;
 * NULL is ignored */
static inline void memory_free(const struct skua_allocator *allocator,
			       void *memory, size_t align, size_t count,
			       size_t size)
{
	size_t bytes = (count * size + align - 1) / align * align;
	int saved = errno;

	if (!memory)
		return;
	if (allocator)
		allocator->free(allocator->ctx, memory, bytes);
	else
		free(memory);
	BOUNDARY(allocator);
	errno_restore(saved);
}

#endif
