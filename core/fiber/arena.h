/* SPDX-License-Identifier: MIT */
/**
 * arena.h - mapped memory for some stacks of one size
 *
 *	struct arena | guard | stack | struct stack | guard | stack | ...
 *
 * The memory comes from mmap(), never from the user's allocator: it needs guards, and
 * pages that the kernel provides when they are first written to. It is never locked or
 * made of large pages on purpose: the stack of a waiting fiber takes one page or two.
 *
 * A stack is *cold* while it is free and has no memory; the others are *warm*. The guard
 * of a stack is made when it is first warmed up. Where the kernel can (Linux 6.13), it is
 * a mark in the page table, so that an arena is one mapping. Elsewhere it is a mapping
 * of its own, and costs two of the mappings that a process may have (vm.max_map_count).
 * So arenas use a part of these, and leave the others to the program, to which a refused
 * mmap() may be the end.
 *
 * The caller locks.
 */
#ifndef SKUA_CORE_FIBER_ARENA_H
#define SKUA_CORE_FIBER_ARENA_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/atomic.h"
#include "probes/area.h"

struct skua_fiber;

#define STACK_ORDER_MIN 14u /* 16 KB */
#define STACK_ORDER_MAX 26u /* 64 MB */
#define STACK_ORDERS    (STACK_ORDER_MAX - STACK_ORDER_MIN + 1)

/* Describes a stack, and is the end of it. Undefined while the stack is cold. */
struct stack {
	/* A struct area_stack, for tools. */
	alignas(64) char *low;    /* the lowest address */
	struct skua_fiber *fiber; /* that has it; NULL: free */

	struct stack *next; /* in a list of the owner */
	struct arena *arena;
	uint32_t order; /* it has at least 2^order bytes */
	uint32_t index; /* in the arena */
	/* Of the tools that must know stacks: see watched.h. */
	uint64_t watched[4];
	/* Of a list of batches (stacks.c): in the first stack of a batch. */
	struct stack *newer, *older;
	uint64_t given_ns;
	uint64_t count;
};

struct arena {
	/* For tools: a list of all arenas of the owner, and their warm stacks. */
	struct area_arena area;
	struct arena *before;          /* in that list */
	struct arena *next, *previous; /* in a list of the owner */
	void *owner;
	size_t bytes;
	uint64_t cold;    /* a bit for each cold stack */
	uint64_t guarded; /* a bit for each stack with a guard */
	unsigned order;
	unsigned count; /* of stacks, at most 64 */
	unsigned colour;
};

/**
 * arena_map - map an arena, whose stacks are cold
 * @node: the NUMA node to prefer; NODE_MEMORY_ANY: none
 *
 * Return: NULL: no memory.
 */
struct arena *arena_map(void *owner, unsigned order, int node);

/* arena_unmap - unmap an arena whose stacks are cold */
void arena_unmap(struct arena *arena);

/* stack_fiber - the fiber that has a stack. Writer: the worker that begins or ends the
 * fiber. Readers: it; threads that cancel (fiber_cancel.h); tools. */
static inline _Atomic(struct skua_fiber *) *stack_fiber(struct stack *stack)
{
	return (_Atomic(struct skua_fiber *) *)&stack->fiber;
}

/* arena_all_cold - are all stacks cold? */
static inline bool arena_all_cold(const struct arena *arena)
{
	return arena->cold == UINT64_MAX >> (64 - arena->count);
}

/* arena_warm - take a cold stack; there is one. Return: NULL: no memory. */
struct stack *arena_warm(struct arena *arena);

/* arena_return - return the memory of a stack that is not used, which is warm, to the
 * kernel; needs no lock. The caller then calls arena_chill(). */
void arena_return(struct stack *stack);

/* arena_chill - make a stack cold */
void arena_chill(struct arena *arena, unsigned index);

/* stack_order - the order of the smallest stacks of at least @bytes */
static inline unsigned stack_order(size_t bytes)
{
	unsigned order = STACK_ORDER_MIN;

	while (((size_t)1 << order) < bytes)
		order++;
	return order;
}

/* stack_used - the bytes of a stack down to the lowest page that has memory; 0: unknown */
size_t stack_used(const struct stack *stack);

/* stack_bytes - the bytes from the lowest address to struct stack */
static inline size_t stack_bytes(const struct stack *stack)
{
	return (size_t)((const char *)stack - stack->low);
}

#endif
