/* SPDX-License-Identifier: MIT */
/* test_task_self.c - what a thread asks of the task that it polls */
#include "tests/unit/tasks.h"

/* Not first, so that a cast is not enough. */
struct asker {
	unsigned number;
	struct skua_task task;
	struct skua_task *self, *released_in;
	struct skua_runtime *rt;
	struct gate released;
};

static enum skua_poll asker_poll(struct skua_task *self)
{
	struct asker *it = SKUA_CONTAINER_OF(self, struct asker, task);

	it->self = skua_task_self();
	it->rt = skua_task_runtime(self);
	return SKUA_DONE;
}

static void asker_release(struct skua_task *task)
{
	struct asker *it = SKUA_CONTAINER_OF(task, struct asker, task);

	it->released_in = skua_task_self();
	gate_open(&it->released);
}

TEST(task_self__in_a_poll__that_task)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct asker it = { .number = 7, .task = SKUA_TASK_INIT(asker_poll) };

	assert_int_equal(skua_runtime_block_on(rt, &it.task), 0);
	assert_ptr_equal(it.self, &it.task);
	assert_ptr_equal(it.rt, rt);
	assert_int_equal(it.number, 7);
	destroy(rt);
}

TEST(task_self__in_a_release__none)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct asker it = { .task = SKUA_TASK_INIT(asker_poll) };

	it.released_in = &it.task;
	assert_int_equal(skua_task_detach(&it.task, asker_release), 0);
	spawn(rt, &it.task);
	gate_wait(&it.released);
	assert_null(it.released_in);
	destroy(rt);
}

TEST(task_self__outside__none)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_null(skua_task_self());
	destroy(rt);
}

TEST(task_self__caller_driven__only_in_the_poll)
{
	struct skua_runtime *rt = RUNTIME(.flags = SKUA_CALLER_DRIVEN);
	struct asker it = { .task = SKUA_TASK_INIT(asker_poll) };

	spawn(rt, &it.task);
	assert_int_equal(skua_runtime_poll(rt, UINT64_MAX), 0);
	assert_ptr_equal(it.self, &it.task);
	assert_null(skua_task_self());
	destroy(rt);
}

/* ---- labels ----------------------------------------------------------------- */

struct labelled {
	struct skua_fiber fiber;
	struct skua_task task;
	int code;
	const char *before, *after_wait;
};

static void set_and_wait(struct skua_fiber *self)
{
	struct labelled *it = (struct labelled *)self;

	it->before = self->label;
	it->code = skua_task_set_label("get");
	skua_yield();
	it->after_wait = self->label;
}

static enum skua_poll set_in_poll(struct skua_task *self)
{
	SKUA_CONTAINER_OF(self, struct labelled, task)->code =
		skua_task_set_label("get");
	return SKUA_DONE;
}

TEST(task_set_label__of_a_fiber__stays_until_its_end)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct labelled it = { .code = 1 };

	assert_int_equal(skua_fiber_init(&it.fiber, set_and_wait, 0), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(skua_task_spawn(rt, &it.fiber.task), 0);
		assert_int_equal(skua_task_join(&it.fiber.task), 0);
		assert_int_equal(it.code, 0);
		assert_null(it.before);
		assert_string_equal(it.after_wait, "get");
		assert_null(it.fiber.label);
	}
	destroy(rt);
}

TEST(task_set_label__in_a_poll__is_accepted)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct labelled it = { .task = SKUA_TASK_INIT(set_in_poll), .code = 1 };

	assert_int_equal(skua_runtime_block_on(rt, &it.task), 0);
	assert_int_equal(it.code, 0);
	destroy(rt);
}

TEST(task_set_label__outside__eperm)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(skua_task_set_label("get"), -EPERM);
	destroy(rt);
}

/* ---- runtimes --------------------------------------------------------------- */

TEST(task_runtime__not_spawned__none)
{
	struct asker it = { .task = SKUA_TASK_INIT(asker_poll) };

	assert_null(skua_task_runtime(&it.task));
	assert_null(skua_task_runtime(NULL));
}

TEST(task_runtime__spawn_refused__none)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct asker it = { .task = SKUA_TASK_INIT(asker_poll) };

	assert_int_equal(
		skua_runtime_shutdown(rt, SKUA_FOREVER_NS, SKUA_SHUTDOWN_RUN),
		0);
	assert_int_equal(skua_task_spawn(rt, &it.task), -ESHUTDOWN);
	assert_null(skua_task_runtime(&it.task));
	destroy(rt);
}

/* Also one that was spawned before, and has no runtime any more for its next life. */
TEST(task_runtime__respawn_refused__none)
{
	struct skua_runtime *rt = RUNTIME(.workers = 1, .max_queued = 1);
	struct holder holder = HOLDER_INIT;
	struct counter queued = COUNTER_INIT;
	struct counter it = COUNTER_INIT;

	spawn(rt, &it.task);
	join(&it.task);
	assert_ptr_equal(skua_task_runtime(&it.task), rt);
	holder_hold(rt, &holder);
	spawn(rt, &queued.task);
	assert_int_equal(skua_task_spawn(rt, &it.task), -EAGAIN);
	assert_null(skua_task_runtime(&it.task));
	holder_end(&holder);
	join(&queued.task);
	destroy(rt);
}

TEST(container_of__expression__evaluated_once)
{
	struct asker items[2];
	struct skua_task *tasks[] = { &items[0].task, &items[1].task };
	struct skua_task **next = tasks;

	assert_ptr_equal(SKUA_CONTAINER_OF(*next++, struct asker, task),
			 &items[0]);
	assert_ptr_equal(next, &tasks[1]);
}
