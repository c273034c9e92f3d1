/* SPDX-License-Identifier: MIT */
/**
 * model_queue_api.c - core/api/queue_api.c: handles, and injectors without a fence
 *
 * What each holder did with the queue happens before it is freed, and it is
 * freed once. Threads that push to an injector and then take until they get
 * nothing leave nothing behind, although none of them fences; nor does a thread that
 * marks itself as asleep, takes until it gets nothing, and is woken by those that push
 * and see the mark.
 */
#include <string.h>

#include "core/base/memory.h"

static void free_storage(void *object);
static void *storage_of(size_t size);

#define memory_alloc(allocator, align, count, size) \
	((void)(allocator), storage_of(size))
#define memory_free(allocator, memory, align, count, size) \
	((void)(allocator), free_storage(memory))

#include "core/api/queue_api.c"

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

/* ---- injectors ------------------------------------------------------------- */

#define PUSHERS 3

static struct skua_injector injector;
static struct skua_node nodes[PUSHERS];
static unsigned taken;

static void setup_injector(void)
{
	inject_queue_init(&injector.queue);
	memset(nodes, 0, sizeof(nodes));
	taken = 0;
}

typedef int push_fn(struct skua_injector *to, struct skua_node *node);
typedef size_t take_fn(struct skua_injector *from, struct skua_node **into,
		       size_t max);

static void push_and_take_by(unsigned i, push_fn *push, take_fn *take,
			     size_t max)
{
	struct skua_node *got[PUSHERS];
	size_t count;

	explore_assert(push(&injector, &nodes[i]) == 0);
	while ((count = take(&injector, got, max)) > 0)
		taken += (unsigned)count;
}

/* As skua_injector_push() would be without its fence. */
static int push_unfenced(struct skua_injector *to, struct skua_node *node)
{
	struct inject_list list = { NULL, NULL, 0 };

	inject_list_append(&list, node_of(node));
	inject_queue_push(&to->queue, &list);
	return 0;
}

/* As skua_injector_take() would be without its fence. */
static size_t take_unfenced(struct skua_injector *from, struct skua_node **into,
			    size_t max)
{
	struct inject_take take = inject_queue_take(&from->queue, max);
	struct inject_node *node;
	size_t count = 0;

	while ((node = inject_list_pop(&take.list)) != NULL)
		into[count++] = (struct skua_node *)node;
	return count;
}

static void pusher_0(void)
{
	push_and_take_by(0, skua_injector_push, skua_injector_take, PUSHERS);
}

static void pusher_1(void)
{
	push_and_take_by(1, skua_injector_push, skua_injector_take, PUSHERS);
}

static void pusher_2(void)
{
	push_and_take_by(2, skua_injector_push, skua_injector_take, PUSHERS);
}

static void pusher_0_takes_ones(void)
{
	push_and_take_by(0, skua_injector_push, skua_injector_take, 1);
}

static void pusher_1_takes_ones(void)
{
	push_and_take_by(1, skua_injector_push, skua_injector_take, 1);
}

static void pusher_0_unfenced(void)
{
	push_and_take_by(0, push_unfenced, take_unfenced, PUSHERS);
}

static void pusher_1_unfenced(void)
{
	push_and_take_by(1, push_unfenced, take_unfenced, PUSHERS);
}

static void pusher_2_unfenced(void)
{
	push_and_take_by(2, push_unfenced, take_unfenced, PUSHERS);
}

static void check_two_taken(void)
{
	explore_assert(taken == 2);
	explore_assert(skua_injector_length(&injector) == 0);
}

static void check_three_taken(void)
{
	explore_assert(taken == 3);
	explore_assert(skua_injector_length(&injector) == 0);
}

/* ---- a sleeper ------------------------------------------------------------- */

static atomic_bool asleep;
static bool woken[2];

static void setup_sleeper(void)
{
	setup_injector();
	atomic_init(&asleep, false);
	woken[0] = woken[1] = false;
}

static void sleeper(void)
{
	struct skua_node *got[2];
	size_t count;

	atomic_store_relaxed(&asleep, true);
	while ((count = skua_injector_take(&injector, got, 2)) > 0)
		taken += (unsigned)count;
}

static void wake_by(unsigned i)
{
	/* As wake-ups that cost nothing while nobody sleeps. */
	woken[i] = atomic_load_relaxed(&asleep);
}

static void waker_0(void)
{
	explore_assert(skua_injector_push(&injector, &nodes[0]) == 0);
	wake_by(0);
}

static void waker_1(void)
{
	explore_assert(skua_injector_push(&injector, &nodes[1]) == 0);
	wake_by(1);
}

static void waker_0_unfenced(void)
{
	push_unfenced(&injector, &nodes[0]);
	wake_by(0);
}

static void sleeper_unfenced(void)
{
	struct skua_node *got[2];
	size_t count;

	atomic_store_relaxed(&asleep, true);
	while ((count = take_unfenced(&injector, got, 2)) > 0)
		taken += (unsigned)count;
}

static void check_one_woken(void)
{
	explore_assert(taken == 1 || woken[0]);
}

static void check_two_woken(void)
{
	explore_assert(taken == 2 || woken[0] || woken[1]);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("three_handles", setup, check, owner, stealer_0,
		       stealer_1) },
	{ EXPLORE_BUG("dropped_relaxed", "data race", setup, check, owner,
		      stealer_0, stealer_1_relaxed) },

	{ EXPLORE_PASS("injector__two_threads", setup_injector, check_two_taken,
		       pusher_0, pusher_1) },
	{ EXPLORE_PASS("injector__two_threads__by_ones", setup_injector,
		       check_two_taken, pusher_0_takes_ones,
		       pusher_1_takes_ones) },
	{ EXPLORE_PASS("injector__three_threads", setup_injector,
		       check_three_taken, pusher_0, pusher_1, pusher_2) },
	{ EXPLORE_BUG("injector__two_threads__unfenced", "taken == 2",
		      setup_injector, check_two_taken, pusher_0_unfenced,
		      pusher_1_unfenced) },
	{ EXPLORE_BUG("injector__three_threads__unfenced", "taken == 3",
		      setup_injector, check_three_taken, pusher_0_unfenced,
		      pusher_1_unfenced, pusher_2_unfenced) },

	{ EXPLORE_PASS("sleeper__one_push", setup_sleeper, check_one_woken,
		       sleeper, waker_0) },
	{ EXPLORE_PASS("sleeper__two_pushes", setup_sleeper, check_two_woken,
		       sleeper, waker_0, waker_1) },
	{ EXPLORE_BUG("sleeper__push_unfenced", "taken == 1", setup_sleeper,
		      check_one_woken, sleeper, waker_0_unfenced) },
	{ EXPLORE_BUG("sleeper__take_unfenced", "taken == 1", setup_sleeper,
		      check_one_woken, sleeper_unfenced, waker_0) },
};

EXPLORE_MAIN(cases)
