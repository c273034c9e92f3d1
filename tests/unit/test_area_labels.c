/* SPDX-License-Identifier: MIT */
/* test_area_labels.c - the label of a poll, as other processes read it */
#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

/* A table of tasks, as a debug build has it, allows no polls within polls. */
static int without_table(void **state)
{
	(void)state;
	return setenv("SKUA_TRACK_TASKS", "0", 1);
}

ALL_TESTS(without_table, NULL);

/* Return the label of the poll that worker 0 is in, as a reader finds it; NULL: none. */
static const char *label_of(const struct skua_runtime *rt)
{
	const struct area_worker *area = &rt->pool.workers[0]->area;

	return area->task && area->label_poll == area->counters.tasks_polled
		       ? (const char *)(uintptr_t)area->label
		       : NULL;
}

/* ---- one task -------------------------------------------------------------- */

struct labelled {
	struct skua_task task; /* first: a task is cast to this struct */
	struct skua_runtime *rt;
	const char *seen[4];
	unsigned polls;
};

static enum skua_poll set_then_yield(struct skua_task *self)
{
	struct labelled *it = (struct labelled *)self;

	if (it->polls++) {
		it->seen[3] = label_of(it->rt);
		return SKUA_DONE;
	}
	assert_int_equal(skua_task_set_label("get"), 0);
	it->seen[0] = label_of(it->rt);
	assert_int_equal(skua_task_set_label("set"), 0);
	it->seen[1] = label_of(it->rt);
	assert_int_equal(skua_task_set_label(NULL), 0);
	it->seen[2] = label_of(it->rt);
	assert_int_equal(skua_task_set_label("last"), 0);
	return SKUA_YIELD;
}

TEST(label__set_in_a_poll__is_that_of_this_poll_alone)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct labelled it = { .task = SKUA_TASK_INIT(set_then_yield),
			       .rt = rt };

	spawn(rt, &it.task);
	join(&it.task);
	assert_string_equal(it.seen[0], "get");
	assert_string_equal(it.seen[1], "set");
	assert_null(it.seen[2]);
	assert_null(it.seen[3]);
	destroy(rt);
}

/* ---- polls within polls ---------------------------------------------------- */

struct parent {
	struct skua_task task; /* first: a task is its parent */
	struct skua_runtime *rt;
	struct skua_task child;
	const char *label; /* NULL: it sets none */
	const char *before, *after;
	bool spawned;
};

static enum skua_poll set_label(struct skua_task *self)
{
	(void)self;
	assert_int_equal(skua_task_set_label("child"), 0);
	return SKUA_DONE;
}

static enum skua_poll join_within(struct skua_task *self)
{
	struct parent *it = (struct parent *)self;
	int code;

	if (it->label)
		assert_int_equal(skua_task_set_label(it->label), 0);
	if (!it->spawned)
		spawn(it->rt, &it->child);
	it->spawned = true;
	it->before = label_of(it->rt);
	code = skua_task_join_poll(&it->task, &it->child);
	it->after = label_of(it->rt);
	return code == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

static struct parent run_parent(const char *label)
{
	struct parent it = { .task = SKUA_TASK_INIT(join_within),
			     .rt = runtime_new(1, 0),
			     .child = SKUA_TASK_INIT(set_label),
			     .label = label };

	spawn(it.rt, &it.task);
	join(&it.task);
	destroy(it.rt);
	return it;
}

TEST(label__of_a_poll_within__is_not_the_outer_one)
{
	struct parent it = run_parent("parent");

	assert_string_equal(it.before, "parent");
	assert_string_equal(it.after, "parent");
	it = run_parent(NULL);
	assert_null(it.before);
	assert_null(it.after);
}
