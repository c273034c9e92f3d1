/* SPDX-License-Identifier: MIT */
/* test_fork_lends.c - a poll that forks, and makes references in the child */
#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

/* Forks in its poll, after @before wakers of itself. */
struct forker {
	struct skua_task task; /* first: a task is its forker */
	struct waiter *other;
	unsigned before;
	unsigned after;
	int status;
	struct skua_waker kept[4];
};

#define REQUIRE(it)                            \
	do {                                   \
		if (!(it))                     \
			_exit(__LINE__ & 255); \
	} while (0)

static enum skua_poll lend_poll(struct skua_task *self)
{
	struct skua_waker one = skua_task_waker(self);
	struct skua_waker two = skua_waker_clone(one);

	skua_waker_drop(one);
	skua_waker_drop(two);
	return SKUA_DONE;
}

static void in_child(struct forker *it)
{
	struct skua_config cfg = { .size = sizeof(cfg),
				   .flags = SKUA_CALLER_DRIVEN };
	struct skua_timer timer = SKUA_TIMER_INIT;
	struct skua_task task = SKUA_TASK_INIT(lend_poll);
	struct skua_runtime *rt;
	uint64_t references = task_state_references(state_of(&it->task));

	for (unsigned n = 0; n < 2; n++) {
		struct skua_waker one = skua_task_waker(&it->task);
		struct skua_waker two = skua_waker_clone(one);

		REQUIRE(task_state_references(state_of(&it->task)) ==
			references + 2);
		skua_waker_wake(one);
		skua_waker_drop(two);
		REQUIRE(skua_timer_add(&it->task, &timer, 0) == -EOWNERDEAD);
		REQUIRE(skua_task_join_poll(&it->task, &it->other->task) ==
			-EOWNERDEAD);
		REQUIRE(skua_task_join(&it->other->task) == -EOWNERDEAD);
		REQUIRE(skua_runtime_create(&rt, &cfg, NULL) == 0);
		REQUIRE(skua_runtime_block_on(rt, &task) == 0);
		REQUIRE(skua_task_spawn(rt, &task) == 0);
		while (skua_runtime_poll(rt, 0) == 1)
			;
		REQUIRE(skua_task_join(&task) == 0);
		REQUIRE(skua_runtime_destroy(rt) == 0);
	}
	for (unsigned n = 0; n < it->before; n++)
		skua_waker_wake(it->kept[n]);
	REQUIRE(task_state_references(state_of(&it->task)) ==
		references - it->before);
	_exit(0);
}

static enum skua_poll forker_poll(struct skua_task *self)
{
	struct forker *it = (struct forker *)self;
	pid_t child;

	for (unsigned n = 0; n < it->before; n++)
		it->kept[n] = skua_task_waker(self);
	child = fork();
	if (child == 0)
		in_child(it);
	if (child < 0 || waitpid(child, &it->status, 0) != child)
		it->status = -1;
	for (unsigned n = 0; n < it->before; n++)
		skua_waker_drop(it->kept[n]);
	for (unsigned n = 0; n < it->after; n++)
		skua_waker_drop(skua_task_waker(self));
	return SKUA_DONE;
}

TEST(fork_in_poll__child_makes_wakers__counts_stay_right)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter other = WAITER_INIT;

	waiter_start(rt, &other);
	for (unsigned n = 0; n < 9; n++) {
		struct forker it = { .task = SKUA_TASK_INIT(forker_poll),
				     .other = &other,
				     .before = n / 3,
				     .after = n % 3 };

		spawn(rt, &it.task);
		join(&it.task);
		assert_int_equal(it.status, 0);
	}
	gate_open(&other.end);
	assert_int_equal(skua_task_cancel(&other.task), 0);
	join(&other.task);
	destroy(rt);
}
