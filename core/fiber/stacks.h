/* SPDX-License-Identifier: MIT */
/**
 * stacks.h - the free stacks of the workers of a node
 *
 * Each worker keeps free stacks in two magazines of each size (Bonwick and Adams,
 * "Magazines and Vmem", USENIX 2001): it takes from one and gives to it, and swaps it for
 * the other when it is empty or full. A further full magazine goes to the node, as one
 * batch of a list under a lock; a worker without a stack takes a batch of that list, or
 * warms up a cold stack of an arena (arena.h).
 *
 * Warm stacks hold memory, so those that nobody used for STACKS_IDLE_NS are made cold:
 * stacks_trim(). A magazine does not record times; it is idle if no fiber of the worker
 * took or gave a stack of that size between two trims. The batches of the node are in
 * the order of their times. An arena whose stacks are all cold is unmapped.
 */
#ifndef SKUA_CORE_FIBER_STACKS_H
#define SKUA_CORE_FIBER_STACKS_H

#include <pthread.h>

#include "core/fiber/arena.h"

/* How long the memory of a free stack is kept. A guess: longer than the pauses of a busy
 * service, and short enough for a process that shares its machine. */
#define STACKS_IDLE_NS UINT64_C(1000000000)

/* The free stacks of one size. */
struct stacks_size {
	struct stack *newest, *oldest; /* batches */
	/* Arenas with a cold stack, and the ones without. */
	struct arena *arenas, *full;
};

/* The stacks of a node. */
struct stacks {
	pthread_mutex_t lock;
	/* Guarded by the lock. */
	struct area_stacks area; /* for tools: a list of all arenas */
	struct stacks_size sizes[STACK_ORDERS];
	uint64_t warm; /* stacks in batches */
	/* Constant. */
	int node;
	unsigned default_order;
};

struct magazine {
	struct stack *first;
	unsigned count;
	bool used; /* since the last trim */
};

/* The free stacks that a worker keeps. Used by that worker alone. */
struct stack_cache {
	struct stacks *stacks;                      /* of its node; constant */
	struct magazine magazines[STACK_ORDERS][2]; /* it uses the first one */
};

/* stacks_init - @node: the NUMA node to prefer, or NODE_MEMORY_ANY; @default_order: of
 * the stacks of fibers that name no size */
void stacks_init(struct stacks *stacks, int node, unsigned default_order);

/* stacks_destroy - unmap all stacks; no fiber may have one */
void stacks_destroy(struct stacks *stacks);

/**
 * stacks_take - take a stack of at least 2^@order bytes
 * @cache: that of the calling worker; NULL: none of @stacks
 *
 * Return: NULL: no memory.
 */
struct stack *stacks_take(struct stacks *stacks, struct stack_cache *cache,
			  unsigned order);

/* stacks_give - give a stack back, which no thread uses; @cache: that of the calling
 * worker, of any node, or NULL */
void stacks_give(struct stack_cache *cache, struct stack *stack);

/**
 * stacks_visit - call @act with each fiber that a stack points at
 *
 * Holds the lock meanwhile, which keeps a fiber from its end only as fiber_cancel.h
 * explains.
 */
void stacks_visit(struct stacks *stacks,
		  void (*act)(struct skua_fiber *fiber, void *arg), void *arg);

/* stacks_pass - wait until no thread is in stacks_visit() that was so before */
void stacks_pass(struct stacks *stacks);

/**
 * stacks_trim - make stacks cold that were not used for STACKS_IDLE_NS
 * @cache: of the calling worker; the second of two calls STACKS_IDLE_NS apart finds its
 *         idle stacks
 *
 * Takes a few microseconds for each such stack, for at most STACKS_TRIM of the node's.
 *
 * Return: true if there are warm stacks left, so that another call is needed.
 */
bool stacks_trim(struct stack_cache *cache, uint64_t now_ns);

#define STACKS_TRIM 64u

/* stacks_trim_node - the same for the node's stacks alone. Return: true if there may be
 * more than STACKS_TRIM of them. */
bool stacks_trim_node(struct stacks *stacks, uint64_t now_ns);

#endif
