/* SPDX-License-Identifier: MIT */
/* test_group_memory.c - what groups that let members go cost, also large ones */
#include <pthread.h>
#include <time.h>

#include "core/task/group_slots.h"
#include "tests/unit/members.h"

/* ---- memory -------------------------------------------------------------- */

struct heap {
	struct skua_allocator allocator;
	atomic_u64 bytes;
	atomic_u64 most;
	uint64_t before;   /* bytes, when the runtime was new */
	atomic_u32 broken; /* gives no more */
};

static void *heap_alloc(void *ctx, size_t align, size_t size)
{
	struct heap *heap = ctx;
	uint64_t bytes;

	if (atomic_load_relaxed(&heap->broken))
		return NULL;
	bytes = atomic_fetch_add_relaxed(&heap->bytes, size) + size;
	if (bytes > atomic_load_relaxed(&heap->most))
		atomic_store_relaxed(&heap->most, bytes);
	return aligned_alloc(align, size);
}

static void heap_free(void *ctx, void *memory, size_t size)
{
	struct heap *heap = ctx;

	atomic_fetch_sub_relaxed(&heap->bytes, size);
	free(memory);
}

static struct skua_runtime *runtime_on(struct heap *heap, unsigned workers)
{
	struct skua_runtime *rt;

	*heap = (struct heap){ .allocator = { heap_alloc, heap_free, heap } };
	rt = RUNTIME(.workers = workers, .allocator = &heap->allocator);
	heap->before = atomic_load_relaxed(&heap->bytes);
	return rt;
}

/* Their memory follows those that live at once, not those that ever did. */
TEST(many_come_and_go__memory_stays)
{
	const uint32_t live = 50, all = 100000;
	struct heap heap;
	struct skua_runtime *rt = runtime_on(&heap, 2);
	struct skua_group group;
	struct tally tally;

	setup(&tally, &group, rt);
	for (uint32_t n = 0; n < all; n++) {
		while (n - releases(&tally) >= live)
			sched_yield();
		member_spawn(&tally, false);
	}
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(releases(&tally), all);
	assert_in_range(atomic_load_relaxed(&heap.most) - heap.before, live * 8,
			1024 + live * 32);
	assert_int_equal(atomic_load_relaxed(&heap.bytes), heap.before);
	destroy(rt);
}

TEST(many_live_at_once__memory_is_given_back)
{
	const uint32_t live = 20000;
	struct heap heap;
	struct skua_runtime *rt = runtime_on(&heap, 2);
	struct skua_group group;
	struct tally tally;

	setup(&tally, &group, rt);
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t n = 0; n < live; n++)
			member_spawn(&tally, true);
		assert_int_equal(skua_group_live(&group), live);
		assert_in_range(atomic_load_relaxed(&heap.bytes) - heap.before,
				live * 16, 1024 + live * 32);
		assert_int_equal(skua_group_cancel(&group), 0);
		assert_int_equal(skua_group_wait(&group), 0);
		assert_int_equal(releases(&tally), (round + 1) * live);
		assert_int_equal(atomic_load_relaxed(&heap.bytes), heap.before);
	}
	destroy(rt);
}

struct last {
	struct skua_task task; /* first: a task is its last */
	struct skua_group *group;
	atomic_u32 code;
};

static enum skua_poll last_poll(struct skua_task *self)
{
	return skua_group_live(((struct last *)self)->group) ? SKUA_YIELD
							     : SKUA_DONE;
}

static void last_release(struct skua_task *self)
{
	struct last *it = (struct last *)self;

	atomic_store_release(&it->code, (uint32_t)skua_group_wait(it->group));
}

/* The group belongs to a task, and ends with it. */
TEST(wait__in_a_release_function__memory_is_given_back)
{
	struct heap heap;
	struct skua_runtime *rt = runtime_on(&heap, 1);
	struct skua_group group;
	struct tally tally;
	struct last last = { .task = SKUA_TASK_INIT(last_poll),
			     .group = &group };

	setup(&tally, &group, rt);
	member_spawn(&tally, false);
	assert_int_equal(skua_task_detach(&last.task, last_release), 0);
	spawn(rt, &last.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(atomic_load_acquire(&last.code), 0);
	assert_int_equal(atomic_load_relaxed(&heap.bytes), heap.before);
	destroy(rt);
}

TEST(spawn__no_memory__enomem_and_no_member)
{
	struct heap heap;
	struct skua_runtime *rt = runtime_on(&heap, 1);
	struct skua_group group;
	struct tally tally;
	struct member *it;
	unsigned live = 0;

	setup(&tally, &group, rt);
	it = member_new(&tally, true);
	atomic_store_relaxed(&heap.broken, 1);
	assert_int_equal(skua_group_spawn(&group, &it->task), -ENOMEM);
	atomic_store_relaxed(&heap.broken, 0);
	assert_int_equal(skua_group_spawn(&group, &it->task), 0);
	/* Those that there is room for are none the worse. */
	atomic_store_relaxed(&heap.broken, 1);
	do {
		it = member_new(&tally, true);
		live++;
	} while (skua_group_spawn(&group, &it->task) == 0);
	free(it);
	assert_int_equal(live, SLOTS_FIRST / 2);
	assert_int_equal(skua_group_live(&group), live);
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(releases(&tally), live);
	atomic_store_relaxed(&heap.broken, 0);
	destroy(rt);
}

/* ---- large groups --------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void member_keep(struct skua_task *task)
{
	(void)task;
}

/* The CPU time of so many spawns into a group of as many, that all stay. */
static uint64_t cost_of_growing(struct member *members, uint32_t count,
				skua_release_fn release)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_group group;
	struct tally tally = { .group = &group };
	uint64_t began = 0, took;

	assert_int_equal(skua_group_init(&group, rt), 0);
	assert_int_equal(skua_group_set_release(&group, release), 0);
	for (uint32_t n = 0; n < 2 * count; n++) {
		if (n == count)
			began = cpu_ns();
		members[n] =
			(struct member){ .task = SKUA_TASK_INIT(member_poll),
					 .tally = &tally,
					 .waits = true };
		assert_int_equal(skua_group_spawn(&group, &members[n].task), 0);
	}
	took = cpu_ns() - began;
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait(&group), 0);
	destroy(rt);
	return took;
}

/*
 * Beside a list, to which a spawn adds in one step whatever its length. It
 * comes to 1.2 times as much; beside a build that had both CPUs, to 4.3 times.
 * A search from the first slot for each spawn took 90 times as much.
 */
TEST(spawn__large_group__costs_as_in_a_list)
{
	const uint32_t count = 100000;
	struct member *members = calloc(2 * count, sizeof(*members));
	uint64_t list = UINT64_MAX, slots = UINT64_MAX;

	assert_non_null(members);
	for (unsigned round = 0; round < 3; round++) {
		uint64_t took = cost_of_growing(members, count, NULL);

		list = took < list ? took : list;
		took = cost_of_growing(members, count, member_keep);
		slots = took < slots ? took : slots;
	}
	free(members);
	printf("with slots %.2f times a list\n", (double)slots / (double)list);
	assert_true(slots < 20 * list);
}

/* A thread that comes late with what it knew of a small group. */
struct late {
	struct heap heap;
	struct tally tally;
	struct gate waits, go;
};

static _Thread_local bool comes_late;

static void *late_alloc(void *ctx, size_t align, size_t size)
{
	struct late *late = ctx;

	if (comes_late && !gate_is_open(&late->waits)) {
		gate_open(&late->waits);
		gate_wait(&late->go);
	}
	return heap_alloc(&late->heap, align, size);
}

static void late_free(void *ctx, void *memory, size_t size)
{
	heap_free(&((struct late *)ctx)->heap, memory, size);
}

static void *spawn_late(void *arg)
{
	struct late *late = arg;

	comes_late = true;
	member_spawn(&late->tally, true);
	return NULL;
}

TEST(spawn__group_grows_meanwhile__finds_a_slot)
{
	static struct late late;
	struct skua_allocator allocator = { late_alloc, late_free, &late };
	struct skua_runtime *rt =
		RUNTIME(.workers = 1, .allocator = &allocator);
	struct skua_group group;
	pthread_t thread;

	setup(&late.tally, &group, rt);
	assert_int_equal(pthread_create(&thread, NULL, spawn_late, &late), 0);
	gate_wait(&late.waits);
	for (unsigned n = 0; n < 2000; n++)
		member_spawn(&late.tally, true);
	gate_open(&late.go);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(skua_group_live(&group), 2001);
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(releases(&late.tally), 2001);
	destroy(rt);
}
