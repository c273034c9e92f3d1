/* SPDX-License-Identifier: MIT */
/* test_task_detach.c - a task that ends by itself */
#include "tests/unit/tasks.h"

/* ---- detach ------------------------------------------------------------- */

/* A task that notes its releases. */
struct released {
	struct holder holder; /* first: a task is its released */
	unsigned releases;
	int worker;
};

static void note_release(struct skua_task *task)
{
	struct released *it = (struct released *)task;

	it->releases++;
	it->worker = skua_worker_index(runtime_of_task(task));
}

#define RELEASED_INIT                               \
	{                                           \
		.holder = HOLDER_INIT, .worker = -1 \
	}

/* @worker: the index of the worker that released it, or -ENOENT */
static void destroy_and_expect_release(struct skua_runtime *rt,
				       const struct released *it, int worker)
{
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(it->releases, 1);
	assert_int_equal(it->worker, worker);
}

TEST(task_detach__null__einval)
{
	assert_int_equal(skua_task_detach(NULL, note_release), -EINVAL);
	assert_int_equal(skua_task_detach(NULL, NULL), -EINVAL);
}

TEST(task_detach__twice__ealready_and_one_release)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct released it = RELEASED_INIT;

	assert_int_equal(skua_task_detach(&it.holder.task, note_release), 0);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release),
			 -EALREADY);
	holder_hold(rt, &it.holder);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release),
			 -EALREADY);
	gate_open(&it.holder.go_on);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release),
			 -EALREADY);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(it.releases, 1);
}

TEST(task_detach__before_spawn__released_once_on_the_worker)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct released it = RELEASED_INIT;

	assert_int_equal(skua_task_detach(&it.holder.task, note_release), 0);
	assert_int_equal(it.releases, 0);
	/* Detached or not: it was never spawned. */
	assert_int_equal(skua_task_join(&it.holder.task), -EINVAL);
	gate_open(&it.holder.go_on);
	spawn(rt, &it.holder.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(it.releases, 1);
	assert_int_equal(it.worker, 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(it.releases, 1);
}

TEST(task_detach__while_queued__released_once_on_the_worker)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct released it = RELEASED_INIT;

	holder_hold(rt, &holder);
	gate_open(&it.holder.go_on);
	spawn(rt, &it.holder.task);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release), 0);
	assert_int_equal(it.releases, 0);
	holder_end(&holder);
	destroy_and_expect_release(rt, &it, 0);
}

TEST(task_detach__while_running__released_once_on_the_worker)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct released it = RELEASED_INIT;

	holder_hold(rt, &it.holder);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release), 0);
	assert_int_equal(it.releases, 0);
	gate_open(&it.holder.go_on);
	destroy_and_expect_release(rt, &it, 0);
}

TEST(task_detach__when_done__released_once_from_the_call)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct released it = RELEASED_INIT;

	gate_open(&it.holder.go_on);
	spawn(rt, &it.holder.task);
	wait_for_state(&it.holder.task, TASK_COMPLETE);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release), 0);
	assert_int_equal(it.releases, 1);
	assert_int_equal(it.worker, -ENOENT);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(it.releases, 1);
}

static enum skua_poll detach_itself(struct skua_task *self)
{
	struct released *it = (struct released *)self;

	if (skua_task_detach(self, note_release) != 0)
		it->releases = 100;
	return SKUA_DONE;
}

TEST(task_detach__by_the_running_task_itself__released_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct released it = RELEASED_INIT;

	assert_int_equal(skua_task_init(&it.holder.task, detach_itself), 0);
	spawn(rt, &it.holder.task);
	destroy_and_expect_release(rt, &it, 0);
}

TEST(task_detach__no_release__memory_free_after_drain)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned n = 0; n < 100; n++) {
		struct counter *counter = malloc(sizeof(*counter));

		assert_non_null(counter);
		*counter = (struct counter)COUNTER_INIT;
		assert_int_equal(skua_task_detach(&counter->task, NULL), 0);
		spawn(rt, &counter->task);
		assert_int_equal(skua_runtime_drain(rt), 0);
		assert_int_equal(counter->polls, 1);
		free(counter);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static atomic_u32 freed;

static void free_task(struct skua_task *task)
{
	free(task);
	atomic_fetch_add_relaxed(&freed, 1);
}

/* AddressSanitizer sees any touch after the release. */
TEST(task_detach__release_frees__never_touched_again)
{
	const unsigned count = 3000;
	struct skua_runtime *rt = runtime_new(2, 0);

	atomic_store_relaxed(&freed, 0);
	for (unsigned n = 0; n < count; n++) {
		struct counter *counter = malloc(sizeof(*counter));

		assert_non_null(counter);
		*counter = (struct counter)COUNTER_INIT;
		if (n % 2)
			assert_int_equal(
				skua_task_detach(&counter->task, free_task), 0);
		spawn(rt, &counter->task);
		if (n % 2 == 0)
			assert_int_equal(
				skua_task_detach(&counter->task, free_task), 0);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(atomic_load_relaxed(&freed), count);
}

struct phoenix {
	struct skua_task task; /* first: a task is its phoenix */
	unsigned lives;
	atomic_u32 wrong;
};

/* Behind a spawn the next life may have ended on another worker already. */
static void count_wrong(struct phoenix *it, int code)
{
	if (code != 0)
		atomic_fetch_add_relaxed(&it->wrong, 1);
}

static void rise_again(struct skua_task *task)
{
	struct phoenix *it = (struct phoenix *)task;
	struct skua_runtime *rt = runtime_of_task(task);

	if (--it->lives == 0)
		return;
	count_wrong(it, skua_task_init(task, task->poll));
	count_wrong(it, skua_task_detach(task, rise_again));
	count_wrong(it, skua_task_spawn(rt, task));
}

static enum skua_poll do_nothing(struct skua_task *self)
{
	(void)self;
	return SKUA_DONE;
}

TEST(task_detach__release_spawns_it_anew__runs_again)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct phoenix it = { .task = SKUA_TASK_INIT(do_nothing),
			      .lives = 1000 };

	assert_int_equal(skua_task_detach(&it.task, rise_again), 0);
	spawn(rt, &it.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(it.lives, 0);
	assert_int_equal(atomic_load_relaxed(&it.wrong), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}
