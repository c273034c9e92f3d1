/* SPDX-License-Identifier: MIT */
/* test_names.c - names of objects, and the words that tools read of fibers and waits */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "core/runtime/runtime.h"
#include "core/wait/wait.h"
#include "skua/channel.h"
#include "skua/fiber.h"
#include "skua/sync.h"
#include "tests/unit/parent.h"

extern struct area_root area_root;

static struct skua_mutex mutex, other;
static struct skua_semaphore semaphore;

static struct skua_runtime *make(void)
{
	return RUNTIME(.workers = 2, .flags = SKUA_NO_ENV);
}

static const struct area_runtime *area_of(const struct skua_runtime *rt)
{
	return &rt->pool.telemetry.area;
}

/* The names of a runtime, as a reader finds them. */
static unsigned listed(const struct skua_runtime *rt, const char **names,
		       unsigned most)
{
	const struct area_name *at =
		*(const struct area_name *const *)area_of(rt)->names;
	unsigned count = 0;

	for (; at && count < most; at = (const struct area_name *)at->next)
		names[count++] = (const char *)at->name;
	return count;
}

/* ---- names ------------------------------------------------------------------- */

TEST(set_name__several__listed_until_cleared)
{
	struct skua_runtime *rt = make();
	struct skua_sync_name names[3] = { 0 };
	const char *found[4];

	assert_int_equal(listed(rt, found, 4), 0);
	assert_int_equal(skua_sync_set_name(rt, &names[0], SKUA_SYNC_MUTEX,
					    &mutex, "first"),
			 0);
	assert_int_equal(skua_sync_set_name(rt, &names[1], SKUA_SYNC_MUTEX,
					    &other, "second"),
			 0);
	assert_int_equal(skua_sync_set_name(rt, &names[2], SKUA_SYNC_SEMAPHORE,
					    &semaphore, "third"),
			 0);
	assert_int_equal(listed(rt, found, 4), 3);
	assert_string_equal(found[0], "third");
	assert_string_equal(found[2], "first");
	/* From the middle, the front and the end of the list. */
	assert_int_equal(skua_sync_clear_name(&names[1]), 0);
	assert_int_equal(listed(rt, found, 4), 2);
	assert_string_equal(found[1], "first");
	assert_int_equal(skua_sync_clear_name(&names[2]), 0);
	assert_int_equal(skua_sync_clear_name(&names[0]), 0);
	assert_int_equal(listed(rt, found, 4), 0);
	/* Again. */
	assert_int_equal(skua_sync_set_name(rt, &names[1], SKUA_SYNC_MUTEX,
					    &other, "fourth"),
			 0);
	assert_int_equal(listed(rt, found, 4), 1);
	assert_int_equal(skua_sync_clear_name(&names[1]), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(set_name__channels__listed_with_their_kinds)
{
	struct skua_runtime *rt = make();
	static struct skua_channel channel;
	static struct skua_oneshot oneshot = SKUA_ONESHOT_INIT;
	static struct skua_broadcast broadcast;
	static struct skua_watch watch;
	static struct skua_spsc spsc;
	const struct {
		enum skua_sync_kind kind;
		const void *object;
		uint32_t shown, waiters;
	} objects[] = {
		{ SKUA_SYNC_CHANNEL, &channel, AREA_WAITS_RECEIVE,
		  offsetof(struct area_channel, receivers) },
		{ SKUA_SYNC_ONESHOT, &oneshot, AREA_WAITS_ONESHOT,
		  offsetof(struct area_oneshot, waiters) },
		{ SKUA_SYNC_BROADCAST, &broadcast, AREA_WAITS_BROADCAST,
		  offsetof(struct area_broadcast, waiters) },
		{ SKUA_SYNC_WATCH, &watch, AREA_WAITS_WATCH,
		  offsetof(struct area_watch, waiters) },
		{ SKUA_SYNC_SPSC, &spsc, AREA_WAITS_SPSC_RECEIVE,
		  offsetof(struct area_spsc, receivers) },
	};
	struct skua_sync_name names[COUNT_OF(objects)] = { 0 };
	const struct area_name *at;

	for (unsigned i = 0; i < COUNT_OF(objects); i++) {
		assert_int_equal(skua_sync_set_name(rt, &names[i],
						    objects[i].kind,
						    objects[i].object, "name"),
				 0);
		at = *(const struct area_name *const *)area_of(rt)->names;
		assert_int_equal(at->object, (uintptr_t)objects[i].object);
		assert_int_equal(at->verb.kind, objects[i].shown);
		assert_int_equal(at->verb.waiters, objects[i].waiters);
		assert_int_equal(at->verb.holder, UINT32_MAX);
	}
	for (unsigned i = 0; i < COUNT_OF(objects); i++)
		assert_int_equal(skua_sync_clear_name(&names[i]), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(set_name__misuse__refused)
{
	struct skua_runtime *rt = make();
	struct skua_sync_name name = { 0 };

	assert_int_equal(skua_sync_set_name(NULL, &name, SKUA_SYNC_MUTEX,
					    &mutex, "name"),
			 -EINVAL);
	assert_int_equal(
		skua_sync_set_name(rt, NULL, SKUA_SYNC_MUTEX, &mutex, "name"),
		-EINVAL);
	assert_int_equal(
		skua_sync_set_name(rt, &name, SKUA_SYNC_MUTEX, NULL, "name"),
		-EINVAL);
	assert_int_equal(
		skua_sync_set_name(rt, &name, SKUA_SYNC_MUTEX, &mutex, NULL),
		-EINVAL);
	assert_int_equal(skua_sync_set_name(rt, &name, (enum skua_sync_kind)0,
					    &mutex, "name"),
			 -EINVAL);
	assert_int_equal(
		skua_sync_set_name(rt, &name,
				   (enum skua_sync_kind)(SKUA_SYNC_SPSC + 1),
				   &mutex, "name"),
		-EINVAL);
	assert_int_equal(skua_sync_clear_name(&name), 0);
	assert_int_equal(skua_sync_clear_name(NULL), -EINVAL);
	assert_int_equal(
		skua_sync_set_name(rt, &name, SKUA_SYNC_MUTEX, &mutex, "name"),
		0);
	assert_int_equal(
		skua_sync_set_name(rt, &name, SKUA_SYNC_MUTEX, &other, "name"),
		-EALREADY);
	assert_int_equal(skua_sync_clear_name(&name), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- waits ------------------------------------------------------------------- */

static void lock_it(void *arg)
{
	(void)arg;
	assert_int_equal(skua_mutex_lock(&mutex, SKUA_FOREVER_NS), 0);
	skua_mutex_unlock(&mutex);
}

/* Read as another process does: the library does not know of it. */
#define AS_A_TOOL __attribute__((no_sanitize("thread")))

AS_A_TOOL static uint64_t word(uint64_t address)
{
	return *(volatile uint64_t *)address;
}

AS_A_TOOL static bool waited_for(void)
{
	return ((volatile struct skua_mutex *)&mutex)->waiters.count > 0;
}

/* The fiber in the stacks of a runtime, of which there is one; 0: none. */
AS_A_TOOL static uint64_t fiber_of(const struct skua_runtime *rt)
{
	const struct area_stacks *stacks =
		(const struct area_stacks *)area_of(rt)->stacks;
	uint64_t found = 0;

	assert_int_equal(area_of(rt)->stacks_count, 1);
	for (uint64_t at = stacks->arenas; at; at = word(at))
		for (unsigned i = 0; i < AREA_ARENA_STACKS; i++) {
			uint64_t stack =
				((const struct area_arena *)at)->stacks[i];

			if (stack && ((const struct area_stack *)stack)->fiber)
				found = ((const struct area_stack *)stack)
						->fiber;
		}
	return found;
}

/* The wait of that fiber; NULL: none. */
AS_A_TOOL static const struct area_armed *wait_of(const struct skua_runtime *rt)
{
	uint64_t fiber = fiber_of(rt);

	return fiber ? (const struct area_armed *)word(fiber +
						       area_root.fiber_wait)
		     : NULL;
}

AS_A_TOOL static struct area_armed copy_of(const struct area_armed *wait)
{
	const volatile struct area_armed *from = wait;

	return (struct area_armed){ .object = from->object,
				    .waiter = from->waiter,
				    .verb = from->verb,
				    .since_ns = from->since_ns,
				    .phase = from->phase };
}

TEST(area__fiber_waits__leads_to_the_holder)
{
	struct skua_runtime *rt = make();
	struct area_armed wait;
	const struct area_verb *verb;
	uint64_t holder, fiber;

	assert_int_equal(skua_mutex_lock(&mutex, SKUA_FOREVER_NS), 0);
	assert_int_equal(skua_fiber_spawn(rt, NULL, lock_it, NULL), 0);
	while (!wait_of(rt) || !waited_for())
		sched_yield();
	fiber = fiber_of(rt);
	wait = copy_of(wait_of(rt));
	verb = (const struct area_verb *)wait.verb;
	assert_int_equal(word(fiber + area_root.fiber_fn), (uintptr_t)lock_it);
	assert_int_equal(wait.waiter, fiber);
	assert_int_equal(wait.object, (uintptr_t)&mutex);
	assert_int_equal(wait.phase, 1);
	assert_true(wait.since_ns > 0 && wait.since_ns <= skua_now_ns());
	assert_int_equal(verb->kind, AREA_WAITS_MUTEX);
	assert_int_equal(word(wait.object + verb->waiters +
			      offsetof(struct area_waiters, first)),
			 (uintptr_t)wait_of(rt));
	holder = word(wait.object + verb->holder);
	assert_true(holder & AREA_HOLDER_THREAD);
	holder &= ~(AREA_HOLDER_THREAD | AREA_HOLDER_FLAGS);
	assert_int_equal(((const struct area_thread *)holder)->tid, gettid());
	assert_int_equal(skua_mutex_unlock(&mutex), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(fiber_of(rt), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}
