/* SPDX-License-Identifier: MIT */
/* stacks.c - see stacks.h */
#include "core/fiber/stacks.h"

#include "core/base/atomic.h"
#include "core/base/clock.h"

/* Stacks of a magazine. */
#define MAGAZINE 32u

static void push(struct stack **list, struct stack *stack)
{
	stack->next = *list;
	*list = stack;
}

static struct stack *pop(struct stack **list)
{
	struct stack *stack = *list;

	if (stack)
		*list = stack->next;
	return stack;
}

static struct stacks_size *size_of(struct stacks *stacks, unsigned order)
{
	return &stacks->sizes[order - STACK_ORDER_MIN];
}

/* ---- arenas, under the lock --------------------------------------------------- */

static void link_arena(struct arena **list, struct arena *arena)
{
	arena->previous = NULL;
	arena->next = *list;
	if (*list)
		(*list)->previous = arena;
	*list = arena;
}

static void unlink_arena(struct arena **list, struct arena *arena)
{
	if (arena->previous)
		arena->previous->next = arena->next;
	else
		*list = arena->next;
	if (arena->next)
		arena->next->previous = arena->previous;
}

/* ---- the list for tools, under the lock ----------------------------------------- */

static void set_link(uint64_t *link, uint64_t arena)
{
	/* Release: the arena's words. Tools order their reads by system calls. */
	atomic_store_release((atomic_u64 *)link, arena);
}

static void change_list(struct stacks *stacks)
{
	/* Release: the change before; the next one writes by release stores. */
	set_link(&stacks->area.changes, stacks->area.changes + 1);
}

static void publish_arena(struct stacks *stacks, struct arena *arena)
{
	struct arena *first = (struct arena *)(uintptr_t)stacks->area.arenas;

	change_list(stacks);
	arena->area.next = (uintptr_t)first;
	if (first)
		first->before = arena;
	set_link(&stacks->area.arenas, (uintptr_t)arena);
	change_list(stacks);
}

static void unpublish_arena(struct stacks *stacks, struct arena *arena)
{
	struct arena *next = (struct arena *)(uintptr_t)arena->area.next;

	change_list(stacks);
	if (next)
		next->before = arena->before;
	set_link(arena->before ? &arena->before->area.next
			       : &stacks->area.arenas,
		 (uintptr_t)next);
	change_list(stacks);
}

static struct stack *warm_locked(struct stacks *stacks, unsigned order)
{
	struct stacks_size *size = size_of(stacks, order);
	struct arena *arena = size->arenas;
	struct stack *stack;

	if (!arena) {
		arena = arena_map(stacks, order, stacks->node);
		if (!arena)
			return NULL;
		link_arena(&size->arenas, arena);
		publish_arena(stacks, arena);
	}
	stack = arena_warm(arena);
	if (!arena->cold) {
		unlink_arena(&size->arenas, arena);
		link_arena(&size->full, arena);
	}
	return stack;
}

/* Make a stack cold, whose memory is returned. */
static void chill_locked(struct stacks *stacks, struct arena *arena,
			 unsigned index)
{
	struct stacks_size *size = size_of(stacks, arena->order);

	if (!arena->cold) {
		unlink_arena(&size->full, arena);
		link_arena(&size->arenas, arena);
	}
	arena_chill(arena, index);
	if (arena_all_cold(arena)) {
		unlink_arena(&size->arenas, arena);
		unpublish_arena(stacks, arena);
		arena_unmap(arena);
	}
}

/* Make a list of stacks cold. */
static void chill(struct stack *list)
{
	while (list) {
		struct stack *stack = pop(&list);
		struct arena *arena = stack->arena;
		struct stacks *stacks = arena->owner;
		unsigned index = stack->index;

		arena_return(stack);
		pthread_mutex_lock(&stacks->lock);
		chill_locked(stacks, arena, index);
		pthread_mutex_unlock(&stacks->lock);
	}
}

/* ---- batches, under the lock --------------------------------------------------- */

static void put_batch_locked(struct stacks *stacks, struct stack *batch,
			     unsigned count, uint64_t now_ns)
{
	struct stacks_size *size = size_of(stacks, batch->order);

	batch->count = count;
	batch->given_ns = now_ns;
	batch->newer = NULL;
	batch->older = size->newest;
	if (size->newest)
		size->newest->newer = batch;
	else
		size->oldest = batch;
	size->newest = batch;
	stacks->warm += count;
}

static void remove_batch_locked(struct stacks *stacks, struct stack *batch)
{
	struct stacks_size *size = size_of(stacks, batch->order);

	if (batch->newer)
		batch->newer->older = batch->older;
	else
		size->newest = batch->older;
	if (batch->older)
		batch->older->newer = batch->newer;
	else
		size->oldest = batch->newer;
	stacks->warm -= batch->count;
}

/* Take one stack of the newest batch. */
static struct stack *take_one_locked(struct stacks *stacks, unsigned order)
{
	struct stack *batch = size_of(stacks, order)->newest;
	struct stack *rest;

	if (!batch)
		return NULL;
	remove_batch_locked(stacks, batch);
	rest = batch->next;
	if (rest)
		put_batch_locked(stacks, rest, (unsigned)batch->count - 1,
				 batch->given_ns);
	return batch;
}

static void give_batch(struct stacks *stacks, struct stack *batch,
		       unsigned count)
{
	uint64_t now_ns = clock_now_ns();

	pthread_mutex_lock(&stacks->lock);
	put_batch_locked(stacks, batch, count, now_ns);
	pthread_mutex_unlock(&stacks->lock);
}

/* ---- magazines ------------------------------------------------------------------ */

static void swap(struct magazine *magazines)
{
	struct magazine first = magazines[0];

	magazines[0] = magazines[1];
	magazines[1] = first;
	magazines[0].used = magazines[1].used = true;
}

/* Take a stack for a worker whose magazine is empty, and fill the magazine with a batch,
 * if there is one. */
static __attribute__((noinline)) struct stack *
refill(struct stacks *stacks, struct magazine *magazine, unsigned order)
{
	struct stack *stack;

	pthread_mutex_lock(&stacks->lock);
	stack = size_of(stacks, order)->newest;
	if (stack)
		remove_batch_locked(stacks, stack);
	else
		stack = warm_locked(stacks, order);
	pthread_mutex_unlock(&stacks->lock);
	if (stack && stack->count) {
		magazine->first = stack->next;
		magazine->count = (unsigned)stack->count - 1;
		stack->count = 0;
	}
	return stack;
}

static struct stack *take_outside(struct stacks *stacks, unsigned order)
{
	struct stack *stack;

	pthread_mutex_lock(&stacks->lock);
	stack = take_one_locked(stacks, order);
	if (!stack)
		stack = warm_locked(stacks, order);
	pthread_mutex_unlock(&stacks->lock);
	if (stack)
		stack->count = 0;
	return stack;
}

struct stack *stacks_take(struct stacks *stacks, struct stack_cache *cache,
			  unsigned order)
{
	struct magazine *magazines;
	struct stack *stack;

	if (!cache)
		return take_outside(stacks, order);
	magazines = cache->magazines[order - STACK_ORDER_MIN];
	if (magazines->count == 0 && magazines[1].count > 0)
		swap(magazines);
	magazines->used = true;
	stack = pop(&magazines->first);
	if (!stack)
		return refill(stacks, magazines, order);
	magazines->count--;
	return stack;
}

void stacks_give(struct stack_cache *cache, struct stack *stack)
{
	struct stacks *stacks = stack->arena->owner;
	struct magazine *magazines;

	if (!cache || cache->stacks != stacks) {
		stack->next = NULL;
		give_batch(stacks, stack, 1);
		return;
	}
	magazines = cache->magazines[stack->order - STACK_ORDER_MIN];
	if (magazines->count == MAGAZINE) {
		if (magazines[1].count == MAGAZINE) {
			give_batch(stacks, magazines[1].first, MAGAZINE);
			magazines[1] = (struct magazine){ NULL, 0, true };
		}
		swap(magazines);
	}
	magazines->used = true;
	magazines->count++;
	push(&magazines->first, stack);
}

/* ---- idle stacks ------------------------------------------------------------------ */

/* Return: does the worker keep warm stacks? */
static bool trim_cache(struct stack_cache *cache)
{
	bool warm = false;

	for (unsigned i = 0; i < 2 * STACK_ORDERS; i++) {
		struct magazine *magazine = &cache->magazines[i / 2][i % 2];

		if (!magazine->used) {
			chill(magazine->first);
			magazine->first = NULL;
			magazine->count = 0;
		}
		magazine->used = false;
		warm |= magazine->count > 0;
	}
	return warm;
}

/* Remove a batch that is idle, if there is one. */
static struct stack *idle_batch_locked(struct stacks *stacks, uint64_t now_ns)
{
	for (unsigned i = 0; i < STACK_ORDERS; i++) {
		struct stack *batch = stacks->sizes[i].oldest;

		if (batch && now_ns >= batch->given_ns + STACKS_IDLE_NS) {
			remove_batch_locked(stacks, batch);
			return batch;
		}
	}
	return NULL;
}

bool stacks_trim_node(struct stacks *stacks, uint64_t now_ns)
{
	for (unsigned done = 0; done < STACKS_TRIM;) {
		struct stack *batch;

		pthread_mutex_lock(&stacks->lock);
		batch = idle_batch_locked(stacks, now_ns);
		pthread_mutex_unlock(&stacks->lock);
		if (!batch)
			return false;
		done += (unsigned)batch->count;
		chill(batch);
	}
	return true;
}

bool stacks_trim(struct stack_cache *cache, uint64_t now_ns)
{
	struct stacks *stacks = cache->stacks;
	bool warm = trim_cache(cache);

	stacks_trim_node(stacks, now_ns);
	pthread_mutex_lock(&stacks->lock);
	warm |= stacks->warm > 0;
	pthread_mutex_unlock(&stacks->lock);
	return warm;
}

/* ---- their fibers ------------------------------------------------------------------- */

static void visit_arena(const struct arena *arena,
			void (*act)(struct skua_fiber *fiber, void *arg),
			void *arg)
{
	for (unsigned i = 0; i < arena->count; i++) {
		struct stack *stack =
			(struct stack *)(uintptr_t)arena->area.stacks[i];
		/* Acquire: the fiber's state, from its spawn on. Pairs with the
		 * release in begin(), fiber.c. A stack that is being made cold
		 * reads as zeros: it has no fiber. */
		struct skua_fiber *fiber =
			stack ? atomic_load_acquire(stack_fiber(stack)) : NULL;

		if (fiber)
			act(fiber, arg);
	}
}

void stacks_visit(struct stacks *stacks,
		  void (*act)(struct skua_fiber *fiber, void *arg), void *arg)
{
	const struct arena *arena;

	pthread_mutex_lock(&stacks->lock);
	arena = (const struct arena *)(uintptr_t)stacks->area.arenas;
	for (; arena; arena = (const struct arena *)(uintptr_t)arena->area.next)
		visit_arena(arena, act, arg);
	pthread_mutex_unlock(&stacks->lock);
}

void stacks_pass(struct stacks *stacks)
{
	pthread_mutex_lock(&stacks->lock);
	pthread_mutex_unlock(&stacks->lock);
}

/* ---- begin and end ------------------------------------------------------------------ */

void stacks_init(struct stacks *stacks, int node, unsigned default_order)
{
	pthread_mutex_init(&stacks->lock, NULL);
	stacks->node = node;
	stacks->default_order = default_order;
}

static void unmap_all(struct arena *arena)
{
	while (arena) {
		struct arena *next = arena->next;

		arena_unmap(arena);
		arena = next;
	}
}

void stacks_destroy(struct stacks *stacks)
{
	for (unsigned i = 0; i < STACK_ORDERS; i++) {
		unmap_all(stacks->sizes[i].arenas);
		unmap_all(stacks->sizes[i].full);
	}
	pthread_mutex_destroy(&stacks->lock);
}
