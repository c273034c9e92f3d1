/* SPDX-License-Identifier: MIT */
/* test_runtime.c - create, and allowed callers */
#include "tests/unit/caller.h"
#include "tests/unit/process.h"
#include "tests/unit/tree.h"
#include "topology/cpu_list.h"

/* ---- bad input ---------------------------------------------------------- */

ALL_TESTS(process_settle, NULL);

TEST(runtime_create__null_out__einval_and_says_so)
{
	struct skua_error err = { 0, "" };

	assert_int_equal(skua_runtime_create(NULL, NULL, &err), -EINVAL);
	assert_int_equal(err.code, -EINVAL);
	assert_non_null(strstr(err.text, "out: NULL"));
	assert_int_equal(skua_runtime_create(NULL, NULL, NULL), -EINVAL);
}

TEST(runtime__null__einval_or_0)
{
	assert_int_equal(skua_runtime_drain(NULL), -EINVAL);
	assert_int_equal(skua_runtime_destroy(NULL), -EINVAL);
	assert_int_equal(skua_runtime_workers(NULL), 0);
	assert_int_equal(skua_worker_index(NULL), -EINVAL);
}

TEST(runtime__in_a_poll__edeadlk_and_lives_on)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	assert_int_equal(call_on_worker(rt, rt, skua_runtime_drain), -EDEADLK);
	assert_int_equal(call_on_worker(rt, rt, skua_runtime_destroy),
			 -EDEADLK);
	assert_int_equal(call_on_worker(rt, NULL, skua_runtime_drain), -EINVAL);
	assert_int_equal(call_on_worker(rt, NULL, skua_runtime_destroy),
			 -EINVAL);
	/* Not closed: it takes tasks still. */
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_in_range(call_on_worker(rt, rt, index_of_caller), 0, 1);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(runtime_drain__from_another_runtimes_worker__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);

	assert_int_equal(call_on_worker(other, rt, skua_runtime_drain),
			 -EDEADLK);
	assert_int_equal(skua_runtime_destroy(other), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(worker_index__inside_outside_elsewhere__own_or_enoent)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(3, 0);

	assert_int_equal(skua_worker_index(rt), -ENOENT);
	assert_int_equal(call_on_worker(rt, rt, index_of_caller), 0);
	assert_in_range(call_on_worker(other, other, index_of_caller), 0, 2);
	assert_int_equal(call_on_worker(other, rt, index_of_caller), -ENOENT);
	assert_int_equal(call_on_worker(rt, NULL, index_of_caller), -EINVAL);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(skua_runtime_destroy(other), 0);
}

/* Holds its worker, and knows which one that is. */
struct indexed {
	struct holder holder; /* first: a task is its indexed */
	int index;
};

static enum skua_poll note_index_and_hold(struct skua_task *self)
{
	((struct indexed *)self)->index =
		skua_worker_index(runtime_of_task(self));
	return holder_poll(self);
}

TEST(worker_index__all_workers_held__each_index_once)
{
	struct skua_runtime *rt = runtime_new(4, 0);
	struct indexed tasks[4];
	unsigned seen = 0;

	for (unsigned n = 0; n < 4; n++) {
		tasks[n] = (struct indexed){ .holder = HOLDER_INIT };
		skua_task_init(&tasks[n].holder.task, note_index_and_hold);
		holder_hold(rt, &tasks[n].holder);
	}
	for (unsigned n = 0; n < 4; n++) {
		holder_end(&tasks[n].holder);
		assert_in_range(tasks[n].index, 0, 3);
		seen |= 1u << tasks[n].index;
	}
	assert_int_equal(seen, 0xf);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- numbers of workers ------------------------------------------------- */

TEST(runtime_create__some_workers__all_tasks_run)
{
	static const unsigned counts[] = { 1, 2, 3, 64, 200 };
	const struct belongings before = belongings();

	for (size_t c = 0; c < COUNT_OF(counts); c++) {
		struct skua_runtime *rt = runtime_new(counts[c], 0);
		struct tree *nodes = tree_new(4000);

		assert_int_equal(skua_runtime_workers(rt), counts[c]);
		assert_int_equal(skua_task_spawn(rt, &nodes[0].task), 0);
		assert_int_equal(skua_runtime_drain(rt), 0);
		tree_free(nodes);
		assert_int_equal(skua_runtime_destroy(rt), 0);
		expect_belongings(before);
	}
}

TEST(runtime_create__no_config__a_worker_for_each_cpu)
{
	struct skua_runtime *rt = NULL;
	struct cpu_list allowed;

	assert_int_equal(cpu_list_allowed(&allowed), 0);
	assert_int_equal(skua_runtime_create(&rt, NULL, NULL), 0);
	assert_int_equal(skua_runtime_workers(rt), allowed.count);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	cpu_list_free(&allowed);
}

static struct skua_runtime *created_inside;

static int create_inside(struct skua_runtime *rt)
{
	const struct skua_config cfg = { .size = sizeof(cfg), .workers = 2 };

	(void)rt;
	return skua_runtime_create(&created_inside, &cfg, NULL);
}

TEST(runtime_create__by_a_task__lives_beside_the_other)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct tree *nodes = tree_new(100);

	assert_int_equal(call_on_worker(rt, NULL, create_inside), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(skua_runtime_workers(created_inside), 2);
	assert_int_equal(skua_task_spawn(created_inside, &nodes[0].task), 0);
	assert_int_equal(skua_runtime_destroy(created_inside), 0);
	tree_free(nodes);
}
