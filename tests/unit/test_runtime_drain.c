/* SPDX-License-Identifier: MIT */
/* test_runtime_drain.c - wait for all tasks, and end */
#include <pthread.h>

#include "core/runtime/runtime.h"
#include "tests/unit/caller.h"
#include "tests/unit/process.h"
#include "tests/unit/tree.h"

/* ---- drain -------------------------------------------------------------- */

ALL_TESTS(process_settle, NULL);

TEST(runtime_drain__no_task_ever__returns_at_once)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned n = 0; n < 100; n++)
		assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* Plain fields, read without a join: the drain orders them. */
TEST(runtime_drain__tasks_spawned_tasks__sees_all_they_wrote)
{
	struct skua_runtime *rt = runtime_new(3, 16);

	for (unsigned round = 0; round < 50; round++) {
		struct tree *nodes = tree_new(500 + round);

		assert_int_equal(skua_task_spawn(rt, &nodes[0].task), 0);
		assert_int_equal(skua_runtime_drain(rt), 0);
		tree_free(nodes);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

struct drainer {
	struct skua_runtime *rt;
	struct tree *nodes;
	unsigned wrong;
	int code;
};

static void *drain(void *arg)
{
	struct drainer *it = arg;

	it->code = skua_runtime_drain(it->rt);
	for (unsigned n = 0; n < it->nodes->count; n++)
		it->wrong += it->nodes[n].value != n + 1;
	return NULL;
}

TEST(runtime_drain__several_wait__all_return)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct tree *nodes = tree_new(300);
	struct holder holder = HOLDER_INIT;
	struct drainer drainers[3];
	pthread_t threads[3];

	holder_hold(rt, &holder);
	assert_int_equal(skua_task_spawn(rt, &nodes[0].task), 0);
	for (unsigned n = 0; n < 3; n++) {
		drainers[n] = (struct drainer){ rt, nodes, 0, 1 };
		assert_int_equal(
			pthread_create(&threads[n], NULL, drain, &drainers[n]),
			0);
	}
	while (atomic_load_acquire(&rt->pool.drainers) < 3)
		sched_yield();
	gate_open(&holder.go_on);
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(pthread_join(threads[n], NULL), 0);
		assert_int_equal(drainers[n].code, 0);
		assert_int_equal(drainers[n].wrong, 0);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
	tree_free(nodes);
}

/* ---- destroy ------------------------------------------------------------ */

TEST(runtime_destroy__tasks_queued__runs_them_all)
{
	const struct belongings before = belongings();

	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 4);
		struct tree *trees[20];

		for (unsigned t = 0; t < 20; t++) {
			trees[t] = tree_new(200);
			assert_int_equal(skua_task_spawn(rt, &trees[t]->task),
					 0);
		}
		end(rt, before);
		for (unsigned t = 0; t < 20; t++)
			tree_free(trees[t]);
	}
}

static void *destroy(void *arg)
{
	return (void *)(intptr_t)skua_runtime_destroy(arg);
}

/* Holds the runtime open, and then spawns a tree. */
struct last_holder {
	struct holder holder; /* first: a task is its last_holder */
	struct tree *nodes;
	int code;
};

static enum skua_poll hold_then_spawn(struct skua_task *self)
{
	struct last_holder *it = (struct last_holder *)self;

	holder_poll(self);
	it->code = skua_task_spawn(runtime_of_task(self), &it->nodes[0].task);
	return SKUA_DONE;
}

static enum skua_poll do_nothing(struct skua_task *self)
{
	(void)self;
	return SKUA_DONE;
}

static int spawn_nothing(struct skua_runtime *rt)
{
	static struct skua_task task = SKUA_TASK_INIT(do_nothing);

	return skua_task_spawn(rt, &task);
}

TEST(runtime_destroy__waits_for_a_task__eshutdown_outside)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct skua_task probe = SKUA_TASK_INIT(do_nothing);
	struct last_holder last = { .holder = HOLDER_INIT };
	pthread_t thread;
	void *code;
	int spawned;

	assert_int_equal(skua_task_init(&last.holder.task, hold_then_spawn), 0);
	last.nodes = tree_new(100);
	holder_hold(rt, &last.holder);
	assert_int_equal(pthread_create(&thread, NULL, destroy, rt), 0);
	/* The other worker takes what comes before the destroy has begun. */
	while ((spawned = skua_task_spawn(rt, &probe)) == 0)
		assert_int_equal(skua_task_join(&probe), 0);
	assert_int_equal(spawned, -ESHUTDOWN);
	assert_int_equal(skua_task_spawn(rt, &probe), -ESHUTDOWN);
	/* Never spawned, then; another runtime takes it. */
	assert_int_equal(skua_task_join(&probe), -EINVAL);
	assert_int_equal(skua_task_spawn(other, &probe), 0);
	assert_int_equal(skua_task_join(&probe), 0);
	/* Another runtime's worker is outside, too. */
	assert_int_equal(call_on_worker(other, rt, spawn_nothing), -ESHUTDOWN);

	gate_open(&last.holder.go_on);
	assert_int_equal(pthread_join(thread, &code), 0);
	assert_int_equal((intptr_t)code, 0);
	assert_int_equal(last.code, 0);
	tree_free(last.nodes);
	assert_int_equal(skua_runtime_destroy(other), 0);
}

/* A refused task that was detached keeps its release for its next runtime. */
static atomic_u32 releases;

static void count_release(struct skua_task *task)
{
	(void)task;
	atomic_fetch_add_relaxed(&releases, 1);
}

TEST(runtime_destroy__detached_task_refused__is_not_released)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct skua_task task = SKUA_TASK_INIT(do_nothing);
	struct holder holder = HOLDER_INIT;
	pthread_t thread;

	holder_hold(rt, &holder);
	assert_int_equal(pthread_create(&thread, NULL, destroy, rt), 0);
	while (!atomic_load_acquire(&rt->pool.closing))
		sched_yield();
	assert_int_equal(skua_task_detach(&task, count_release), 0);
	assert_int_equal(skua_task_spawn(rt, &task), -ESHUTDOWN);
	assert_int_equal(skua_task_spawn(rt, &task), -ESHUTDOWN);
	gate_open(&holder.go_on);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load_relaxed(&releases), 0);
	assert_int_equal(skua_task_spawn(other, &task), 0);
	assert_int_equal(skua_runtime_destroy(other), 0);
	assert_int_equal(atomic_load_relaxed(&releases), 1);
}
