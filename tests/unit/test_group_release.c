/* SPDX-License-Identifier: MIT */
/* test_group_release.c - groups that let members go as they end */
#include <pthread.h>
#include <time.h>

#include "core/group_slots.h"
#include "skua/waker.h"
#include "tests/unit/tasks.h"

/* A member on the heap, and what the test wants to know of all. */
struct tally {
	atomic_u32 polls;
	atomic_u32 releases;
	atomic_u32 cancelled;
	struct skua_group *group;
	struct skua_runtime *rt;
};

struct member {
	struct skua_task task; /* first: a task is its member */
	struct tally *tally;
	bool waits;      /* for its cancellation */
	unsigned spawns; /* more, from its release function */
};

static enum skua_poll member_poll(struct skua_task *self)
{
	struct member *it = (struct member *)self;

	atomic_fetch_add_relaxed(&it->tally->polls, 1);
	if (it->waits && !skua_task_cancelled(self))
		return SKUA_PENDING;
	if (skua_task_cancelled(self))
		atomic_fetch_add_relaxed(&it->tally->cancelled, 1);
	return SKUA_DONE;
}

static struct member *member_new(struct tally *tally, bool waits)
{
	struct member *it = calloc(1, sizeof(*it));

	assert_non_null(it);
	*it = (struct member){ .task = SKUA_TASK_INIT(member_poll),
			       .tally = tally,
			       .waits = waits };
	return it;
}

static void member_spawn(struct tally *tally, bool waits)
{
	struct member *it = member_new(tally, waits);

	assert_int_equal(skua_group_spawn(tally->group, &it->task), 0);
}

static void member_release(struct skua_task *task)
{
	struct member *it = (struct member *)task;
	struct tally *tally = it->tally;
	unsigned spawns = it->spawns;

	free(it);
	atomic_fetch_add_release(&tally->releases, 1);
	if (spawns > 0) {
		it = member_new(tally, false);
		it->spawns = spawns - 1;
		assert_int_equal(skua_group_spawn(tally->group, &it->task), 0);
	}
}

static uint32_t releases(struct tally *tally)
{
	return atomic_load_acquire(&tally->releases);
}

static void wait_for_releases(struct tally *tally, uint32_t count)
{
	while (releases(tally) < count)
		sched_yield();
}

static void setup(struct tally *tally, struct skua_group *group,
		  struct skua_runtime *rt)
{
	*tally = (struct tally){ .group = group, .rt = rt };
	assert_int_equal(skua_group_init(group, rt), 0);
	assert_int_equal(skua_group_set_release(group, member_release), 0);
}

/* ---- refused ------------------------------------------------------------- */

static void set_release__null_or_in_use__refused(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct skua_group group;

	(void)state;
	assert_int_equal(skua_group_set_release(NULL, member_release), -EINVAL);
	assert_int_equal(skua_group_live(NULL), 0);
	assert_int_equal(skua_group_init(&group, rt), 0);
	assert_int_equal(skua_group_set_release(&group, member_release), 0);
	assert_int_equal(skua_group_set_release(&group, NULL), 0);
	assert_int_equal(skua_group_spawn(&group, &counter.task), 0);
	wait_until_done(&counter.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	/* It has ended, and is in the list. */
	assert_int_equal(skua_group_set_release(&group, member_release),
			 -EALREADY);
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(skua_group_set_release(&group, member_release), 0);
	assert_int_equal(skua_group_wait(&group), 0);
	destroy(rt);
}

static void spawn__queues_are_full__the_task_is_the_callers(void **state)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = 1,
				      .max_queued = 1 };
	struct skua_runtime *rt;
	struct skua_group group;
	struct tally tally;
	struct member *it;
	unsigned refused = 0;

	(void)state;
	assert_int_equal(skua_runtime_create(&rt, &config, NULL), 0);
	setup(&tally, &group, rt);
	for (unsigned n = 0; n < 100000 && refused == 0; n++) {
		int code;

		it = member_new(&tally, false);
		code = skua_group_spawn(&group, &it->task);
		if (code == 0)
			continue;
		assert_int_equal(code, -EAGAIN);
		/* As before: it may be spawned in another way. */
		assert_int_equal(it->task.state, 0);
		free(it);
		refused++;
	}
	assert_int_equal(refused, 1);
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(skua_group_live(&group), 0);
	destroy(rt);
}

/* ---- let go -------------------------------------------------------------- */

static void end__beside_others_that_live__is_released_at_once(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_group group;
	struct tally tally;

	(void)state;
	setup(&tally, &group, rt);
	for (unsigned n = 0; n < 100; n++)
		member_spawn(&tally, true);
	for (uint32_t n = 1; n <= 1000; n++) {
		member_spawn(&tally, false);
		wait_for_releases(&tally, n);
	}
	assert_int_equal(skua_group_live(&group) >= 100, 1);
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(releases(&tally), 1100);
	assert_int_equal(atomic_load_relaxed(&tally.cancelled), 100);
	destroy(rt);
}

static void release__spawns_members__while_somebody_waits(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_group group;
	struct tally tally;

	(void)state;
	setup(&tally, &group, rt);
	for (unsigned round = 0; round < 100; round++) {
		struct member *it = member_new(&tally, false);

		it->spawns = 20;
		assert_int_equal(skua_group_spawn(&group, &it->task), 0);
		assert_int_equal(skua_group_wait(&group), 0);
		assert_int_equal(releases(&tally), (round + 1) * 21);
	}
	destroy(rt);
}

static void waker_left__is_released_by_its_drop(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_group group;
	struct tally tally;
	struct member *it;
	struct skua_waker waker;

	(void)state;
	setup(&tally, &group, rt);
	it = member_new(&tally, true);
	assert_int_equal(skua_group_spawn(&group, &it->task), 0);
	waker = skua_task_waker(&it->task);
	assert_int_equal(skua_group_cancel(&group), 0);
	wait_until_done(&it->task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(releases(&tally), 0);
	/* Of a member that is done: nothing happens. */
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait_until(&group, 0), -ETIMEDOUT);
	skua_waker_drop(waker);
	assert_int_equal(releases(&tally), 1);
	assert_int_equal(skua_group_wait(&group), 0);
	destroy(rt);
}

/* ---- memory -------------------------------------------------------------- */

struct heap {
	struct skua_allocator allocator;
	atomic_u64 bytes;
	atomic_u64 most;
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
	struct skua_config config = { .size = sizeof(config),
				      .workers = workers,
				      .allocator = &heap->allocator };
	struct skua_runtime *rt;

	*heap = (struct heap){ .allocator = { heap_alloc, heap_free, heap } };
	assert_int_equal(skua_runtime_create(&rt, &config, NULL), 0);
	return rt;
}

/* What they take follows those that live at once, not those that ever did. */
static void many_come_and_go__memory_stays(void **state)
{
	const uint32_t live = 50, all = 100000;
	struct heap heap;
	struct skua_runtime *rt = runtime_on(&heap, 2);
	uint64_t before = atomic_load_relaxed(&heap.bytes);
	struct skua_group group;
	struct tally tally;

	(void)state;
	setup(&tally, &group, rt);
	for (uint32_t n = 0; n < all; n++) {
		while (n - releases(&tally) >= live)
			sched_yield();
		member_spawn(&tally, false);
	}
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(releases(&tally), all);
	assert_in_range(atomic_load_relaxed(&heap.most) - before, live * 8,
			1024 + live * 32);
	assert_int_equal(atomic_load_relaxed(&heap.bytes), before);
	destroy(rt);
}

static void many_live_at_once__memory_is_given_back(void **state)
{
	const uint32_t live = 20000;
	struct heap heap;
	struct skua_runtime *rt = runtime_on(&heap, 2);
	uint64_t before = atomic_load_relaxed(&heap.bytes);
	struct skua_group group;
	struct tally tally;

	(void)state;
	setup(&tally, &group, rt);
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t n = 0; n < live; n++)
			member_spawn(&tally, true);
		assert_int_equal(skua_group_live(&group), live);
		assert_in_range(atomic_load_relaxed(&heap.bytes) - before,
				live * 16, 1024 + live * 32);
		assert_int_equal(skua_group_cancel(&group), 0);
		assert_int_equal(skua_group_wait(&group), 0);
		assert_int_equal(releases(&tally), (round + 1) * live);
		assert_int_equal(atomic_load_relaxed(&heap.bytes), before);
	}
	destroy(rt);
}

static void spawn__no_memory__enomem_and_no_member(void **state)
{
	struct heap heap;
	struct skua_runtime *rt = runtime_on(&heap, 1);
	struct skua_group group;
	struct tally tally;
	struct member *it;
	unsigned live = 0;

	(void)state;
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

/* Beside a list, to which a spawn adds in one step whatever its length. */
static void spawn__large_group__costs_as_in_a_list(void **state)
{
	const uint32_t count = 100000;
	struct member *members = calloc(2 * count, sizeof(*members));
	uint64_t list = UINT64_MAX, slots = UINT64_MAX;

	(void)state;
	assert_non_null(members);
	for (unsigned round = 0; round < 3; round++) {
		uint64_t took = cost_of_growing(members, count, NULL);

		list = took < list ? took : list;
		took = cost_of_growing(members, count, member_keep);
		slots = took < slots ? took : slots;
	}
	free(members);
	printf("with slots %.2f times a list\n", (double)slots / (double)list);
	assert_true(slots < 4 * list);
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

static void spawn__group_grows_meanwhile__finds_a_slot(void **state)
{
	static struct late late;
	struct skua_allocator allocator = { late_alloc, late_free, &late };
	struct skua_config config = { .size = sizeof(config),
				      .workers = 1,
				      .allocator = &allocator };
	struct skua_runtime *rt;
	struct skua_group group;
	pthread_t thread;

	(void)state;
	assert_int_equal(skua_runtime_create(&rt, &config, NULL), 0);
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

/* ---- all at once --------------------------------------------------------- */

static void *spawn_many(void *arg)
{
	struct tally *tally = arg;

	for (unsigned n = 0; n < 5000; n++)
		member_spawn(tally, n % 4 == 0);
	return NULL;
}

static void *cancel_often(void *arg)
{
	struct tally *tally = arg;

	for (unsigned n = 0; n < 200; n++) {
		assert_int_equal(skua_group_cancel(tally->group), 0);
		sched_yield();
	}
	return NULL;
}

/* Before the first cancel members stay, and after it each ends. */
static void cancels_beside_spawns_and_ends__each_is_released_once(void **state)
{
	struct skua_runtime *rt = runtime_new(3, 0);
	struct skua_group group;
	struct tally tally;
	pthread_t threads[4];

	(void)state;
	setup(&tally, &group, rt);
	for (unsigned round = 1; round <= 3; round++) {
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL,
							i < 2 ? spawn_many
							      : cancel_often,
							&tally),
					 0);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(skua_group_wait(&group), 0);
		assert_int_equal(releases(&tally), round * 10000);
	}
	destroy(rt);
}

/* ---- waits that are given up --------------------------------------------- */

static void wait_until__members_left__etimedout_and_again(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_group group;
	struct tally tally;

	(void)state;
	setup(&tally, &group, rt);
	assert_int_equal(skua_group_wait_until(NULL, 0), -EINVAL);
	assert_int_equal(skua_group_wait_until(&group, 0), 0);
	member_spawn(&tally, true);
	for (unsigned n = 0; n < 100; n++)
		assert_int_equal(
			skua_group_wait_until(&group, skua_now_ns() + n * 1000),
			-ETIMEDOUT);
	/* Spawns go on. */
	member_spawn(&tally, true);
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait_until(&group, UINT64_MAX), 0);
	assert_int_equal(releases(&tally), 2);
	destroy(rt);
}

/* Deadlines that come as members end: each wait is told, or gives up. */
static void wait_until__beside_the_last_end__0_or_etimedout(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_group group;
	struct tally tally;
	unsigned given_up = 0;

	(void)state;
	setup(&tally, &group, rt);
	for (unsigned round = 0; round < 3000; round++) {
		int code;

		member_spawn(&tally, false);
		code = skua_group_wait_until(&group,
					     skua_now_ns() + round % 32 * 1000);
		if (code) {
			assert_int_equal(code, -ETIMEDOUT);
			assert_int_equal(skua_group_wait(&group), 0);
			given_up++;
		}
		assert_int_equal(releases(&tally), round + 1);
	}
	assert_true(given_up > 0);
	destroy(rt);
}

/* A task that waits for a group, and gives that up when it is told to. */
struct quitter {
	struct skua_task task; /* first: a task is its quitter */
	struct skua_group *group;
	struct gate quit;
	atomic_u32 polls;
	int waited;
	int cancelled;
};

static enum skua_poll quitter_poll(struct skua_task *self)
{
	struct quitter *it = (struct quitter *)self;

	if (gate_is_open(&it->quit)) {
		it->cancelled = skua_group_wait_cancel(self, it->group);
		if (it->cancelled == 0)
			return SKUA_DONE;
	}
	it->waited = skua_group_wait_poll(self, it->group);
	atomic_fetch_add_release(&it->polls, 1);
	return it->waited == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

static int cancel_of_another(struct skua_task *self, void *arg)
{
	return skua_group_wait_cancel(self, arg);
}

static void wait_cancel__a_task_waits__another_may(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_group group;
	struct tally tally;
	struct quitter it = { .task = SKUA_TASK_INIT(quitter_poll),
			      .group = &group };

	(void)state;
	setup(&tally, &group, rt);
	member_spawn(&tally, true);
	spawn(rt, &it.task);
	while (atomic_load_acquire(&it.polls) == 0)
		sched_yield();
	wait_until_waiting(&it.task);
	assert_int_equal(it.waited, -EAGAIN);
	assert_int_equal(skua_group_wait_cancel(&it.task, &group), -EPERM);
	assert_int_equal(skua_group_wait_cancel(NULL, &group), -EINVAL);
	assert_int_equal(skua_group_wait_cancel(&it.task, NULL), -EINVAL);
	assert_int_equal(call_in_poll(rt, cancel_of_another, &group), -EINVAL);
	assert_int_equal(skua_group_wait_until(&group, 0), -EALREADY);
	gate_open(&it.quit);
	skua_waker_wake(skua_task_waker(&it.task));
	join(&it.task);
	assert_int_equal(it.cancelled, 0);
	assert_int_equal(skua_group_wait_until(&group, 0), -ETIMEDOUT);
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait(&group), 0);
	destroy(rt);
}

static void wait_cancel__all_have_ended__ealready(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_group group;
	struct tally tally;
	struct quitter it = { .task = SKUA_TASK_INIT(quitter_poll),
			      .group = &group };

	(void)state;
	setup(&tally, &group, rt);
	member_spawn(&tally, true);
	spawn(rt, &it.task);
	while (atomic_load_acquire(&it.polls) == 0)
		sched_yield();
	wait_until_waiting(&it.task);
	gate_open(&it.quit);
	assert_int_equal(skua_group_cancel(&group), 0);
	join(&it.task); /* woken by the end of the group */
	assert_int_equal(it.cancelled, -EALREADY);
	assert_int_equal(it.waited, 0);
	assert_int_equal(releases(&tally), 1);
	destroy(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_release__null_or_in_use__refused),
		cmocka_unit_test(
			spawn__queues_are_full__the_task_is_the_callers),
		cmocka_unit_test(
			end__beside_others_that_live__is_released_at_once),
		cmocka_unit_test(release__spawns_members__while_somebody_waits),
		cmocka_unit_test(waker_left__is_released_by_its_drop),
		cmocka_unit_test(many_come_and_go__memory_stays),
		cmocka_unit_test(many_live_at_once__memory_is_given_back),
		cmocka_unit_test(spawn__no_memory__enomem_and_no_member),
		cmocka_unit_test(spawn__large_group__costs_as_in_a_list),
		cmocka_unit_test(spawn__group_grows_meanwhile__finds_a_slot),
		cmocka_unit_test(
			cancels_beside_spawns_and_ends__each_is_released_once),
		cmocka_unit_test(wait_until__members_left__etimedout_and_again),
		cmocka_unit_test(
			wait_until__beside_the_last_end__0_or_etimedout),
		cmocka_unit_test(wait_cancel__a_task_waits__another_may),
		cmocka_unit_test(wait_cancel__all_have_ended__ealready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
