/* SPDX-License-Identifier: MIT */
/* memory.h - memory from the user's allocator, or libc's */
#ifndef SKUA_CORE_BASE_MEMORY_H
#define SKUA_CORE_BASE_MEMORY_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/boundary.h"
#include "skua/runtime.h"

/* errno_restore - errno is @saved again, after an allocation: the library never
 * sets it */
static inline void errno_restore(int saved)
{
	/* Clang takes errno to be out of malloc()'s reach: without this, the
	 * next line does nothing. */
	__asm__ volatile("" ::: "memory");
	errno = saved;
}

/**
 * memory_alloc - zeroed memory for @count elements of @size bytes
 * @allocator: NULL = libc's
 * @align: a power of two
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

/* memory_free - give it back; NULL is ignored */
static inline void memory_free(const struct skua_allocator *allocator,
			       void *memory, size_t align, size_t count,
			       size_t size)
{
	size_t bytes = (count * size + align - 1) / align * align;

	if (!memory)
		return;
	if (allocator)
		allocator->free(allocator->ctx, memory, bytes);
	else
		free(memory);
	BOUNDARY(allocator);
}

#endif
