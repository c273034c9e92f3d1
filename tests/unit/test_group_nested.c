/* SPDX-License-Identifier: MIT */
/* test_group_nested.c - groups within groups, and the first error of a member */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "skua/fiber.h"
#include "skua/group.h"
#include "skua/sync.h"
#include "tests/unit/tasks.h"

#define DEPTH 10000u
#define MANY  16u

static struct skua_runtime *make(void)
{
	return RUNTIME(.workers = 2, .flags = SKUA_NO_ENV);
}

/* Pending until it is cancelled. */
static enum skua_poll until_cancelled(struct skua_task *self)
{
	return skua_task_cancelled(self) ? SKUA_DONE : SKUA_PENDING;
}

static void add(struct skua_group *group, struct skua_task *task)
{
	skua_task_init(task, until_cancelled);
	assert_int_equal(skua_group_spawn(group, task), 0);
}

/* ---- cancels ------------------------------------------------------------------ */

TEST(cancel__parent__reaches_all_below)
{
	struct skua_runtime *rt = make();
	struct skua_group groups[5]; /* 1 and 2 in 0, 3 in 1, 4 in 3 */
	static const unsigned parents[5] = { 0, 0, 0, 1, 3 };
	struct skua_task tasks[5];

	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(skua_group_init(&groups[i], rt), 0);
		if (i > 0)
			assert_int_equal(skua_group_nest(&groups[i],
							 &groups[parents[i]]),
					 0);
		add(&groups[i], &tasks[i]);
	}
	assert_int_equal(skua_group_wait_until(&groups[4], 0), -ETIMEDOUT);
	assert_int_equal(skua_group_cancel(&groups[0]), 0);
	for (unsigned i = 5; i-- > 0;)
		assert_int_equal(skua_group_wait(&groups[i]), 0);
	destroy(rt);
}

TEST(cancel__child__leaves_the_parent_alone)
{
	struct skua_runtime *rt = make();
	struct skua_group parent, child, sibling;
	struct skua_task tasks[3];

	skua_group_init(&parent, rt);
	skua_group_init(&child, rt);
	skua_group_init(&sibling, rt);
	assert_int_equal(skua_group_nest(&child, &parent), 0);
	assert_int_equal(skua_group_nest(&sibling, &parent), 0);
	add(&parent, &tasks[0]);
	add(&child, &tasks[1]);
	add(&sibling, &tasks[2]);
	assert_int_equal(skua_group_cancel(&child), 0);
	assert_int_equal(skua_group_wait(&child), 0);
	assert_int_equal(
		skua_group_wait_until(&sibling, skua_now_ns() + 1000000),
		-ETIMEDOUT);
	assert_int_equal(skua_group_live(&parent), 2); /* a member, a group */
	assert_int_equal(skua_group_cancel(&parent), 0);
	assert_int_equal(skua_group_wait(&sibling), 0);
	assert_int_equal(skua_group_wait(&parent), 0);
	destroy(rt);
}

TEST(nest__parent_is_cancelled__child_is_at_once)
{
	struct skua_runtime *rt = make();
	struct skua_group parent, child;
	struct skua_task tasks[2];

	skua_group_init(&parent, rt);
	skua_group_init(&child, rt);
	add(&parent, &tasks[0]);
	assert_int_equal(skua_group_cancel(&parent), 0);
	assert_int_equal(skua_group_nest(&child, &parent), 0);
	add(&child, &tasks[1]);
	assert_int_equal(skua_group_wait(&child), 0);
	assert_int_equal(skua_group_wait(&parent), 0);
	/* The wait has ended the nesting, and the cancel. */
	add(&child, &tasks[1]);
	assert_int_equal(skua_group_wait_until(&child, 0), -ETIMEDOUT);
	skua_group_cancel(&child);
	assert_int_equal(skua_group_wait(&child), 0);
	destroy(rt);
}

TEST(wait__parent__only_after_the_child)
{
	struct skua_runtime *rt = make();
	struct skua_group parent, child;

	skua_group_init(&parent, rt);
	skua_group_init(&child, rt);
	assert_int_equal(skua_group_nest(&child, &parent), 0);
	assert_int_equal(
		skua_group_wait_until(&parent, skua_now_ns() + 1000000),
		-ETIMEDOUT);
	assert_int_equal(skua_group_wait(&child), 0);
	assert_int_equal(skua_group_wait_until(&parent, 0), 0);
	/* Again. */
	assert_int_equal(skua_group_nest(&child, &parent), 0);
	assert_int_equal(skua_group_wait(&child), 0);
	assert_int_equal(skua_group_wait(&parent), 0);
	destroy(rt);
}

TEST(cancel__10000_groups_deep__takes_no_stack)
{
	struct skua_runtime *rt = make();
	struct skua_group *groups = calloc(DEPTH, sizeof(*groups));
	struct skua_task task;

	for (unsigned i = 0; i < DEPTH; i++) {
		assert_int_equal(skua_group_init(&groups[i], rt), 0);
		if (i > 0)
			assert_int_equal(
				skua_group_nest(&groups[i], &groups[i - 1]), 0);
	}
	add(&groups[DEPTH - 1], &task);
	assert_int_equal(skua_group_cancel(&groups[0]), 0);
	for (unsigned i = DEPTH; i-- > 0;)
		assert_int_equal(skua_group_wait(&groups[i]), 0);
	free(groups);
	destroy(rt);
}

TEST(nest__misuse__refused)
{
	struct skua_runtime *rt = make(), *other = make();
	struct skua_group group, parent, foreign;
	struct skua_task task;

	skua_group_init(&group, rt);
	skua_group_init(&parent, rt);
	skua_group_init(&foreign, other);
	assert_int_equal(skua_group_nest(NULL, &parent), -EINVAL);
	assert_int_equal(skua_group_nest(&group, NULL), -EINVAL);
	assert_int_equal(skua_group_nest(&group, &group), -EINVAL);
	assert_int_equal(skua_group_nest(&group, &foreign), -EINVAL);
	assert_int_equal(skua_group_nest(&group, &parent), 0);
	assert_int_equal(skua_group_nest(&group, &parent), -EALREADY);
	/* A circle: the parent has a member, the group. */
	assert_int_equal(skua_group_nest(&parent, &group), -EALREADY);
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(skua_group_wait(&parent), 0);
	add(&group, &task);
	assert_int_equal(skua_group_nest(&group, &parent), -EALREADY);
	skua_group_cancel(&group);
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(skua_group_fail(NULL, -1), -EINVAL);
	assert_int_equal(skua_group_fail(&group, 0), -EINVAL);
	assert_int_equal(skua_group_fail(&group, 1), -EINVAL);
	assert_int_equal(skua_group_error(NULL), -EINVAL);
	destroy(rt);
	destroy(other);
}

/* ---- errors --------------------------------------------------------------------- */

struct failer {
	struct skua_task task; /* first: a task is its failer */
	struct skua_group *group;
	int error, code;
};

static enum skua_poll fail_poll(struct skua_task *self)
{
	struct failer *it = (struct failer *)self;

	it->code = skua_group_fail(it->group, it->error);
	return SKUA_DONE;
}

TEST(fail__first_error__wins_and_cancels_the_rest)
{
	struct skua_runtime *rt = make();
	struct skua_group group, parent;
	struct failer failers[2] = { { .group = &group, .error = -EIO },
				     { .group = &group, .error = -EPIPE } };
	struct skua_task waits, of_parent;

	skua_group_init(&parent, rt);
	skua_group_init(&group, rt);
	assert_int_equal(skua_group_error(&group), 0);
	assert_int_equal(skua_group_nest(&group, &parent), 0);
	add(&parent, &of_parent);
	for (unsigned round = 0; round < 2; round++) {
		if (round > 0)
			skua_group_init(&group, rt);
		add(&group, &waits);
		assert_int_equal(skua_group_error(&group), 0);
		for (unsigned i = 0; i < 2; i++) {
			skua_task_init(&failers[i].task, fail_poll);
			assert_int_equal(
				skua_group_spawn(&group, &failers[i].task), 0);
		}
		assert_int_equal(skua_group_wait(&group), 0);
		assert_int_equal(failers[0].code + failers[1].code, -EALREADY);
		assert_int_equal(skua_group_error(&group),
				 failers[0].code ? -EPIPE : -EIO);
	}
	assert_int_equal(skua_group_error(&parent), 0);
	assert_int_equal(skua_group_wait_until(&parent, 0), -ETIMEDOUT);
	skua_group_cancel(&parent);
	assert_int_equal(skua_group_wait(&parent), 0);
	destroy(rt);
}

/* ---- in fibers -------------------------------------------------------------------- */

struct request {
	struct skua_fiber fiber; /* first: the function casts back */
	struct skua_group *above;
	struct skua_runtime *rt;
	bool cleaned;
	int code, error;
};

/* Waits for two members, of which one fails; cleans up although it is cancelled itself. */
static void serve(struct skua_fiber *self)
{
	struct request *it = (struct request *)self;
	struct skua_group parts;
	struct failer failer = { .group = &parts, .error = -EIO };
	struct skua_task waits;

	skua_group_init(&parts, it->rt);
	it->code = skua_group_nest(&parts, it->above);
	skua_task_init(&waits, until_cancelled);
	skua_group_spawn(&parts, &waits);
	skua_task_init(&failer.task, fail_poll);
	skua_group_spawn(&parts, &failer.task);
	skua_cancel_mask();
	if (!it->code)
		it->code = skua_group_wait(&parts);
	skua_cancel_unmask();
	it->error = skua_group_error(&parts);
	it->cleaned = true;
}

TEST(fail__in_a_fiber__told_to_its_waiter)
{
	struct skua_runtime *rt = make();
	struct skua_group above;

	skua_group_init(&above, rt);
	for (unsigned round = 0; round < 100; round++) {
		struct request it = { .above = &above, .rt = rt };

		assert_int_equal(skua_fiber_init(&it.fiber, serve, 0), 0);
		assert_int_equal(skua_group_spawn(&above, &it.fiber.task), 0);
		if (round % 2)
			skua_group_cancel(&above);
		assert_int_equal(skua_group_wait(&above), 0);
		assert_int_equal(it.code, 0);
		assert_true(it.cleaned);
		assert_int_equal(it.error, -EIO);
	}
	destroy(rt);
}

/* ---- beside each other -------------------------------------------------------------- */

static struct skua_group top;
static int stop;

static void *cancel_top(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		skua_group_cancel(&top);
		sched_yield();
	}
	return NULL;
}

/* Groups that come and go in a tree, which two threads cancel. */
static void *come_and_go(void *arg)
{
	struct skua_group groups[MANY];
	struct skua_task tasks[MANY];

	for (unsigned round = 0; round < (SANITIZED ? 100u : 500u); round++) {
		for (unsigned i = 0; i < MANY; i++) {
			skua_group_init(&groups[i], arg);
			skua_group_nest(&groups[i],
					i % 4 ? &groups[i - 1] : &top);
			skua_task_init(&tasks[i], until_cancelled);
			skua_group_spawn(&groups[i], &tasks[i]);
		}
		for (unsigned i = MANY; i-- > 0;)
			skua_group_wait(&groups[i]);
	}
	return NULL;
}

TEST(cancel__while_groups_come_and_go__each_member_ends)
{
	struct skua_runtime *rt = make();
	pthread_t cancellers[2], others[2];
	struct skua_task task;

	skua_group_init(&top, rt);
	add(&top, &task);
	stop = 0;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			pthread_create(&cancellers[i], NULL, cancel_top, NULL),
			0);
		assert_int_equal(
			pthread_create(&others[i], NULL, come_and_go, rt), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(others[i], NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(cancellers[i], NULL), 0);
	assert_int_equal(skua_group_wait(&top), 0);
	destroy(rt);
}
