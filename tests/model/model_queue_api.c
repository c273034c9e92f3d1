/* SPDX-License-Identifier: MIT */
/**
 * model_queue_api.c - core/queue_api.c: the last handle frees the queue
 *
 * What each holder did with the queue happens before it is freed, and it is
 * freed once.
 */
#include "core/memory.h"

static void free_storage(void *object);
static void *storage_of(size_t size);

#define memory_alloc(allocator, align, count, size) \
	((void)(allocator), storage_of(size))
#define memory_free(allocator, memory, align, count, size) \
	((void)(allocator), free_storage(memory))

#include "core/queue_api.c"

#define HOLDERS 3

static alignas(CACHE_PAIR) unsigned char storage[1024];
static struct skua_queue *queue;
static struct skua_stealer *stealers[2];
static unsigned used[HOLDERS]; /* plain: by each holder, before it is freed */
static unsigned frees;

static void *storage_of(size_t size)
{
	explore_assert(size <= sizeof(storage));
	return storage;
}

static void free_storage(void *object)
{
	explore_assert(object == storage);
	for (unsigned i = 0; i < HOLDERS; i++)
		explore_write(used[i], 2);
	frees++;
}

static void setup(void)
{
	frees = 0;
	explore_assert(skua_queue_create(&queue, 4) == 0);
	stealers[0] = skua_queue_stealer(queue);
	stealers[1] = skua_stealer_clone(stealers[0]);
}

static void owner(void)
{
	explore_write(used[0], 1);
	skua_queue_destroy(queue);
}

static void stealer_0(void)
{
	explore_write(used[1], 1);
	skua_stealer_drop(stealers[0]);
}

static void stealer_1(void)
{
	explore_write(used[2], 1);
	skua_stealer_drop(stealers[1]);
}

static void stealer_1_relaxed(void)
{
	explore_write(used[2], 1);
	if (atomic_fetch_sub_relaxed(&queue->handles, 1) == 1)
		free_storage(queue);
}

static void check(void)
{
	explore_assert(frees == 1);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("three_handles", setup, check, owner, stealer_0,
		       stealer_1) },
	{ EXPLORE_BUG("dropped_relaxed", "data race", setup, check, owner,
		      stealer_0, stealer_1_relaxed) },
};

EXPLORE_MAIN(cases)
