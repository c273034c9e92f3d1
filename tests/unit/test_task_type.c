/* SPDX-License-Identifier: MIT */
/* test_task_type.c - of which kind a task says that it is */
#include "tests/unit/tasks.h"

static const struct skua_task_type http_read = SKUA_TASK_TYPE("http_read");
static const struct skua_task_type slow = { "slow",
					    SKUA_MIN_STALL_LIMIT_NS,
					    { 0, 0 } };

static void type__initialiser__name_and_zeros(void **state)
{
	(void)state;
	assert_string_equal(http_read.name, "http_read");
	assert_int_equal(http_read.stall_limit_ns, 0);
	assert_int_equal(http_read.reserved[0] | http_read.reserved[1], 0);
}

static void set_type__null_task__einval(void **state)
{
	(void)state;
	assert_int_equal(skua_task_set_type(NULL, &http_read), -EINVAL);
	assert_int_equal(skua_task_set_type(NULL, NULL), -EINVAL);
}

static void set_type__bad_type__einval_and_unchanged(void **state)
{
	struct counter it = COUNTER_INIT;
	struct skua_task_type endless = http_read;
	struct skua_task_type newer[2] = { http_read, http_read };
	struct skua_task_type limited = http_read;

	(void)state;
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

static void set_type__limits_of_the_range__allowed(void **state)
{
	struct counter it = COUNTER_INIT;
	struct skua_task_type limited = http_read;

	(void)state;
	memset(limited.name, 'x', sizeof(limited.name) - 1);
	limited.stall_limit_ns = SKUA_MIN_STALL_LIMIT_NS;
	assert_int_equal(skua_task_set_type(&it.task, &limited), 0);
	limited.stall_limit_ns = SKUA_MAX_STALL_LIMIT_NS;
	assert_int_equal(skua_task_set_type(&it.task, &limited), 0);
}

static void set_type__spawned__ealready_until_joined(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;

	(void)state;
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

static void set_type__urgent_too__both_are_kept(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter it = COUNTER_INIT;

	(void)state;
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

/* clang-format off */
static const struct CMUnitTest tests[] = {
	cmocka_unit_test(type__initialiser__name_and_zeros),
	cmocka_unit_test(set_type__null_task__einval),
	cmocka_unit_test(set_type__bad_type__einval_and_unchanged),
	cmocka_unit_test(set_type__limits_of_the_range__allowed),
	cmocka_unit_test(set_type__spawned__ealready_until_joined),
	cmocka_unit_test(set_type__urgent_too__both_are_kept),
};
/* clang-format on */

int main(void)
{
	return cmocka_run_group_tests_name("task_type", tests, NULL, NULL);
}
