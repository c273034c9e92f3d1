/* SPDX-License-Identifier: MIT */
/* test_task_type.c - of which kind a task says that it is */
#include "tests/unit/tasks.h"

static const struct skua_task_type http_read = SKUA_TASK_TYPE("http_read");
static const struct skua_task_type slow = { "slow",
					    SKUA_MIN_STALL_LIMIT_NS,
					    { 0, 0 } };

TEST(type__initialiser__name_and_zeros)
{
	assert_string_equal(http_read.name, "http_read");
	assert_int_equal(http_read.stall_limit_ns, 0);
	assert_int_equal(http_read.reserved[0] | http_read.reserved[1], 0);
}

TEST(set_type__null_task__einval)
{
	assert_int_equal(skua_task_set_type(NULL, &http_read), -EINVAL);
	assert_int_equal(skua_task_set_type(NULL, NULL), -EINVAL);
}

TEST(set_type__bad_type__einval_and_unchanged)
{
	struct counter it = COUNTER_INIT;
	struct skua_task_type endless = http_read;
	struct skua_task_type newer[2] = { http_read, http_read };
	struct skua_task_type limited = http_read;

	assert_int_equal(skua_task_set_type(&it.task, &slow), 0);
	memset(endless.name, 'x', sizeof(endless.name));
	assert_int_equal(skua_task_set_type(&it.task, &endless), -EINVAL);
	for (size_t i = 0; i < 2; i++) {
		newer[i].reserved[i] = 1;
		assert_int_equal(skua_task_set_type(&it.task, &newer[i]),
				 -EINVAL);
	}
	limited.stall_limit_ns = SKUA_MIN_STALL_LIMIT_NS - 1;
	assert_int_equal(skua_task_set_type(&it.task, &limited), -EINVAL);
	limited.stall_limit_ns = SKUA_MAX_STALL_LIMIT_NS + 1;
	assert_int_equal(skua_task_set_type(&it.task, &limited), -EINVAL);
	assert_ptr_equal(it.task.type, &slow);
}

TEST(set_type__limits_of_the_range__allowed)
{
	struct counter it = COUNTER_INIT;
	struct skua_task_type limited = http_read;

	memset(limited.name, 'x', sizeof(limited.name) - 1);
	limited.stall_limit_ns = SKUA_MIN_STALL_LIMIT_NS;
	assert_int_equal(skua_task_set_type(&it.task, &limited), 0);
	limited.stall_limit_ns = SKUA_MAX_STALL_LIMIT_NS;
	assert_int_equal(skua_task_set_type(&it.task, &limited), 0);
}

TEST(set_type__spawned__ealready_until_joined)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;

	assert_int_equal(skua_task_set_type(&it.task, &http_read), 0);
	waiter_start(rt, &it);
	assert_int_equal(skua_task_set_type(&it.task, &slow), -EALREADY);
	assert_int_equal(skua_task_set_type(&it.task, NULL), -EALREADY);
	assert_ptr_equal(it.task.type, &http_read);
	assert_int_equal(skua_task_cancel(&it.task), 0);
	join(&it.task);
	/* It is kept for the next time. */
	assert_ptr_equal(it.task.type, &http_read);
	assert_int_equal(skua_task_set_type(&it.task, NULL), 0);
	assert_null(it.task.type);
	destroy(rt);
}

TEST(set_type__urgent_too__both_are_kept)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter it = COUNTER_INIT;

	assert_int_equal(skua_task_set_urgent(&it.task, true), 0);
	assert_int_equal(skua_task_set_type(&it.task, &http_read), 0);
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.polls, 1);
	assert_true(it.task.flags & TASK_URGENT);
	assert_ptr_equal(it.task.type, &http_read);
	assert_int_equal(skua_task_init(&it.task, count_poll), 0);
	assert_null(it.task.type);
	destroy(rt);
}
