/* SPDX-License-Identifier: MIT */
/* test_wait_left.c - a task that ends with an armed wait is named in a debug build */
#include <sched.h>

#include "core/task/task.h"
#include "core/wait/wait.h"
#include "skua/channel.h"
#include "skua/sync.h"
#include "tests/unit/tasks.h"

struct leaver {
	struct skua_task task; /* first: a task is its leaver */
	struct skua_wait wait;
};

static struct skua_mutex mutex;

static enum skua_poll leave(struct skua_task *self)
{
	struct leaver *it = (struct leaver *)self;

	/* Not SKUA_PENDING, though the wait is armed. */
	skua_mutex_lock_poll(self, &mutex, &it->wait, SKUA_FOREVER_NS);
	return SKUA_DONE;
}

static const struct skua_task_type type = SKUA_TASK_TYPE("leaver");

static enum skua_poll cancel_and_leave(struct skua_task *self)
{
	struct leaver *it = (struct leaver *)self;

	leave(self);
	assert_int_equal(skua_wait_cancel(self, &it->wait), 0);
	return SKUA_DONE;
}

/* Run a leaver while this thread holds the mutex, and unlock it. */
static struct skua_runtime *run(struct leaver *it, skua_task_fn poll)
{
	struct skua_runtime *rt = RUNTIME(.workers = 1, .flags = SKUA_NO_ENV);

	assert_int_equal(skua_mutex_lock(&mutex, SKUA_FOREVER_NS), 0);
	skua_task_init(&it->task, poll);
	skua_task_set_type(&it->task, &type);
	assert_int_equal(skua_task_spawn(rt, &it->task), 0);
	return rt;
}

static uint32_t waiting(void)
{
	uint32_t count;

	waiters_lock(&mutex.waiters);
	count = mutex.waiters.count;
	waiters_unlock(&mutex.waiters);
	return count;
}

#ifndef NDEBUG
static void leave_a_wait(void)
{
	static struct leaver it;

	run(&it, leave);
	while (waiting() == 0 || !(state_of(&it.task) & TASK_COMPLETE))
		sched_yield();
	skua_mutex_unlock(&mutex);
}
#endif

TEST(poll__ends_with_an_armed_wait__named)
{
#ifdef NDEBUG
	skip_aloud(NO_ASSERTS);
#else
	if (THREAD_SANITIZED) {
		skip_aloud("TSan starts no threads in the child of a fork()");
		return;
	}
	assert_true(aborts_saying(leave_a_wait, "a task of type leaver"));
#endif
}

TEST(poll__cancels_its_wait_and_ends__is_fine)
{
	static struct leaver it;
	struct skua_runtime *rt = run(&it, cancel_and_leave);

	assert_int_equal(skua_task_join(&it.task), 0);
	assert_int_equal(skua_mutex_unlock(&mutex), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- objects that are freed --------------------------------------------------- */

#ifndef NDEBUG
static struct skua_channel channel;

static void *receive_for_long(void *arg)
{
	uint64_t item;

	skua_channel_receive(&channel, &item,
			     skua_now_ns() + UINT64_C(100000000));
	gate_open(arg);
	return NULL;
}

static void make_channel(void)
{
	static uint64_t memory[SKUA_CHANNEL_BYTES(2, 8) / 8];

	assert_int_equal(skua_channel_init(&channel, memory, 2, 8), 0);
}

static bool is_waited_for(void)
{
	return __atomic_load_n(&channel.receiver, __ATOMIC_RELAXED) != NULL;
}

/* Again if the wait was over before: this thread may have had no CPU for as long. */
static void free_under_a_wait(void)
{
	for (unsigned n = 0; n < 100; n++) {
		struct gate over = { 0 };
		pthread_t thread;

		make_channel();
		if (pthread_create(&thread, NULL, receive_for_long, &over) != 0)
			return;
		while (!is_waited_for() && !gate_is_open(&over))
			sched_yield();
		make_channel();
		pthread_join(thread, NULL);
	}
}
#endif

TEST(channel__made_again_under_a_wait__named)
{
#ifdef NDEBUG
	skip_aloud(NO_ASSERTS);
#else
	if (THREAD_SANITIZED) {
		skip_aloud("TSan starts no threads in the child of a fork()");
		return;
	}
	assert_true(aborts_saying(free_under_a_wait,
				  "was freed or initialised again"));
#endif
}

/* In a release build, such a task keeps its wait until the object is granted, and then
 * ends. */
TEST(poll__ends_with_an_armed_wait__ends_with_the_grant)
{
#ifndef NDEBUG
	skip_aloud("a debug build ends the process");
#else
	static struct leaver it;
	struct skua_runtime *rt = run(&it, leave);

	while (waiting() == 0 || !(state_of(&it.task) & TASK_COMPLETE))
		sched_yield();
	assert_int_equal(skua_mutex_unlock(&mutex), 0);
	assert_int_equal(skua_task_join(&it.task), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	mutex = (struct skua_mutex)SKUA_MUTEX_INIT;
#endif
}
