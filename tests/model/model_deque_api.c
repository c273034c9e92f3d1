/* SPDX-License-Identifier: MIT */
/**
 * model_deque_api.c - core/api/deque_api.c: the last handle frees the deque
 *
 * What each holder did with the deque happens before it is freed, and each part
 * of it is freed once, what it has outgrown too.
 */
#include "core/base/memory.h"

static void free_storage(void *object);
static void *storage_of(size_t size);

#define memory_alloc(allocator, align, count, size) \
	((void)(allocator), storage_of(size))
#define memory_free(allocator, memory, align, count, size) \
	((void)(allocator), free_storage(memory))

#include "core/queue/deque.c"
#include "core/api/deque_api.c"

#define HOLDERS 3
#define PARTS   3 /* the handles' object, a buffer, and one that it outgrew */

static alignas(CACHE_PAIR) unsigned char storage[PARTS][1024];
static unsigned parts;
static unsigned frees[PARTS];
static struct skua_deque *deque;
static struct skua_deque_stealer *stealers[2];
static unsigned used[HOLDERS]; /* plain: by each holder, before it is freed */
static int items[3];

static void *storage_of(size_t size)
{
	explore_assert(size <= sizeof(storage[0]) && parts < PARTS);
	return storage[parts++];
}

static void free_storage(void *object)
{
	for (unsigned i = 0; i < HOLDERS; i++)
		explore_write(used[i], 2);
	for (unsigned i = 0; i < PARTS; i++)
		frees[i] += object == storage[i];
}

static void setup(void)
{
	parts = 0;
	memset(frees, 0, sizeof(frees));
	explore_assert(skua_deque_create(&deque, SKUA_DEQUE_LIFO, 2) == 0);
	stealers[0] = skua_deque_stealer_create(deque);
	stealers[1] = skua_deque_stealer_clone(stealers[0]);
	explore_assert(skua_deque_push(deque, &items[0]) == 0);
	explore_assert(skua_deque_push(deque, &items[1]) == 0);
}

/* The deque grows. */
static void owner(void)
{
	explore_assert(skua_deque_push(deque, &items[2]) == 0);
	explore_write(used[0], 1);
	skua_deque_destroy(deque);
}

static void stealer_0(void)
{
	void *item;

	skua_deque_stealer_steal(stealers[0], &item);
	explore_write(used[1], 1);
	skua_deque_stealer_drop(stealers[0]);
}

static void stealer_1(void)
{
	explore_write(used[2], 1);
	skua_deque_stealer_drop(stealers[1]);
}

static void stealer_1_relaxed(void)
{
	explore_write(used[2], 1);
	if (atomic_fetch_sub_relaxed(&deque->handles, 1) != 1)
		return;
	deque_destroy(&deque->deque);
	free_deque(deque);
}

/* Not grown if the thief was there first: but then not allocated, either. */
static void check(void)
{
	for (unsigned i = 0; i < PARTS; i++)
		explore_assert(frees[i] == (i < parts));
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("three_handles", setup, check, owner, stealer_0,
		       stealer_1) },
	{ EXPLORE_BUG("dropped_relaxed", "data race", setup, check, owner,
		      stealer_0, stealer_1_relaxed) },
};

EXPLORE_MAIN(cases)
