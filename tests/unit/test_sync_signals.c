/* SPDX-License-Identifier: MIT */
/* test_sync_signals.c - semaphores, events, notifies, barriers, onces and conditions, between
 * fibers and threads */
#include "skua/sync.h"
#include "skua/waker.h"
#include "tests/unit/users.h"

#define SOON_NS UINT64_C(3000000)
#define ROUNDS  20000u
#define USERS   6u

static int acquire_two(struct user *it)
{
	return skua_semaphore_acquire(it->object, 2, SKUA_FOREVER_NS);
}

TEST(semaphore__first_wants_two__not_passed_over)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_semaphore semaphore;

	for (unsigned fiber = 0; fiber < 2; fiber++) {
		struct user it = { .number = 0 };

		assert_int_equal(skua_semaphore_init(&semaphore, 1), 0);
		user_start(&it, rt, fiber, acquire_two, &semaphore);
		wait_for_waiters(&semaphore.waiters, 1);
		assert_int_equal(skua_semaphore_acquire_try(&semaphore, 1),
				 -EAGAIN);
		assert_int_equal(
			skua_semaphore_acquire(&semaphore, 1,
					       skua_now_ns() + SOON_NS),
			-ETIMEDOUT);
		assert_int_equal(skua_semaphore_release(&semaphore, 3), 0);
		assert_int_equal(user_end(&it), 0);
		assert_int_equal(skua_semaphore_permits(&semaphore), 2);
	}
	destroy(rt);
}

TEST(semaphore__release_beside_waiter__counts_what_is_left)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_semaphore semaphore;
	struct user it = { .number = 0 };

	assert_int_equal(skua_semaphore_init(&semaphore, 1), 0);
	user_start(&it, rt, false, acquire_two, &semaphore);
	wait_for_waiters(&semaphore.waiters, 1);
	assert_int_equal(
		skua_semaphore_release(&semaphore, SKUA_MAX_PERMITS + 1),
		-EOVERFLOW);
	/* The waiter leaves room. */
	assert_int_equal(skua_semaphore_release(&semaphore, SKUA_MAX_PERMITS),
			 0);
	assert_int_equal(user_end(&it), 0);
	assert_int_equal(skua_semaphore_permits(&semaphore),
			 SKUA_MAX_PERMITS - 1);
	destroy(rt);
}

TEST(semaphore__closed__eshutdown)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_semaphore semaphore = { .word = 0 };
	struct user users[2] = { 0 };

	user_start(&users[0], rt, true, acquire_two, &semaphore);
	user_start(&users[1], rt, false, acquire_two, &semaphore);
	wait_for_waiters(&semaphore.waiters, 2);
	assert_int_equal(skua_semaphore_close(&semaphore), 0);
	assert_int_equal(skua_semaphore_close(&semaphore), -EALREADY);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(user_end(&users[i]), -ESHUTDOWN);
	assert_int_equal(skua_semaphore_acquire_try(&semaphore, 1), -ESHUTDOWN);
	destroy(rt);
}

static int await_event(struct user *it)
{
	return skua_event_wait(it->object, SKUA_FOREVER_NS);
}

TEST(event__set__all_proceed)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_event event = SKUA_EVENT_INIT;
	struct user users[USERS] = { 0 };

	for (unsigned i = 0; i < USERS; i++)
		user_start(&users[i], rt, i % 2, await_event, &event);
	wait_for_waiters(&event.waiters, USERS);
	assert_false(skua_event_is_set(&event));
	assert_int_equal(skua_event_wait(&event, 0), -ETIMEDOUT);
	assert_int_equal(skua_event_set(&event), 0);
	assert_int_equal(skua_event_set(&event), 0);
	for (unsigned i = 0; i < USERS; i++)
		assert_int_equal(user_end(&users[i]), 0);
	assert_int_equal(skua_event_wait(&event, 0), 0);
	assert_int_equal(skua_event_reset(&event), 0);
	assert_int_equal(skua_event_wait(&event, 0), -ETIMEDOUT);
	destroy(rt);
}

static int await_notify(struct user *it)
{
	return skua_notify_wait(it->object, SKUA_FOREVER_NS);
}

TEST(notify__one__is_kept_or_wakes_one)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_notify notify = SKUA_NOTIFY_INIT;
	struct user users[2] = { 0 };

	assert_int_equal(skua_notify_one(&notify), 0);
	assert_int_equal(skua_notify_one(&notify), 0);
	assert_int_equal(skua_notify_wait(&notify, 0), 0);
	assert_int_equal(skua_notify_wait(&notify, 0), -ETIMEDOUT);
	user_start(&users[0], rt, true, await_notify, &notify);
	wait_for_waiters(&notify.waiters, 1);
	user_start(&users[1], rt, false, await_notify, &notify);
	wait_for_waiters(&notify.waiters, 2);
	assert_int_equal(skua_notify_one(&notify), 0);
	assert_int_equal(user_end(&users[0]), 0);
	wait_for_waiters(&notify.waiters, 1);
	assert_int_equal(skua_notify_all(&notify), 0);
	assert_int_equal(user_end(&users[1]), 0);
	assert_int_equal(skua_notify_wait(&notify, 0), -ETIMEDOUT);
	destroy(rt);
}

struct meeting {
	struct skua_barrier barrier;
	atomic_u64 arrivals;
};

static int meet(struct user *it)
{
	struct meeting *meeting = it->object;
	int lasts = 0;

	for (unsigned round = 1; round <= 1000; round++) {
		int code;

		atomic_fetch_add_relaxed(&meeting->arrivals, 1);
		code = skua_barrier_wait(&meeting->barrier, SKUA_FOREVER_NS);
		assert_true(code == 0 || code == 1);
		lasts += code;
		assert_true(atomic_load_relaxed(&meeting->arrivals) >=
			    (uint64_t)round * USERS);
	}
	return lasts;
}

TEST(barrier__many_rounds__one_last_in_each)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct meeting meeting;
	struct user users[USERS] = { 0 };
	int lasts = 0;

	atomic_init(&meeting.arrivals, 0);
	assert_int_equal(skua_barrier_init(&meeting.barrier, USERS), 0);
	for (unsigned i = 0; i < USERS; i++)
		user_start(&users[i], rt, i % 2, meet, &meeting);
	for (unsigned i = 0; i < USERS; i++)
		lasts += user_end(&users[i]);
	assert_int_equal(lasts, 1000);
	assert_int_equal(skua_barrier_init(&meeting.barrier, 1), 0);
	assert_int_equal(skua_barrier_wait(&meeting.barrier, 0), 1);
	destroy(rt);
}

struct initialised {
	struct skua_once once;
	unsigned value;
	unsigned attempts;
};

/* The first two attempts fail. */
static int initialise(struct user *it)
{
	struct initialised *all = it->object;
	int code;

	while ((code = skua_once_begin(&all->once, SKUA_FOREVER_NS)) == 1) {
		bool done = ++all->attempts == 3;

		assert_int_equal(skua_once_begin(&all->once, 0), -EDEADLK);
		if (done)
			all->value = 7;
		skua_yield(); /* in a fiber: others come to wait */
		assert_int_equal(skua_once_end(&all->once, done), 0);
	}
	assert_int_equal(code, 0);
	assert_true(skua_once_is_done(&all->once));
	assert_int_equal(skua_once_end(&all->once, true), -EPERM);
	return (int)all->value;
}

TEST(once__fails_twice__initialised_once)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct initialised all = { .once = SKUA_ONCE_INIT };
	struct user users[USERS] = { 0 };

	for (unsigned i = 0; i < USERS; i++)
		user_start(&users[i], rt, i % 2, initialise, &all);
	for (unsigned i = 0; i < USERS; i++)
		assert_int_equal(user_end(&users[i]), 7);
	assert_int_equal(all.attempts, 3);
	destroy(rt);
}

/* A queue of numbers between producers and consumers. */
struct queue {
	struct skua_mutex mutex;
	struct skua_condition filled;
	unsigned items, taken;
};

static int consume(struct user *it)
{
	struct queue *queue = it->object;

	for (unsigned i = 0; i < ROUNDS / 4; i++) {
		assert_int_equal(
			skua_mutex_lock(&queue->mutex, SKUA_FOREVER_NS), 0);
		while (queue->items == 0) {
			int code = skua_condition_wait(
				&queue->filled, &queue->mutex,
				i % 4 ? SKUA_FOREVER_NS : skua_now_ns() + 5000);

			assert_true(code == 0 || code == -ETIMEDOUT);
		}
		queue->items--;
		queue->taken++;
		assert_int_equal(skua_mutex_unlock(&queue->mutex), 0);
	}
	return 0;
}

static int produce(struct user *it)
{
	struct queue *queue = it->object;

	for (unsigned i = 0; i < ROUNDS / 4; i++) {
		assert_int_equal(
			skua_mutex_lock(&queue->mutex, SKUA_FOREVER_NS), 0);
		queue->items++;
		assert_int_equal(skua_condition_signal(&queue->filled), 0);
		assert_int_equal(skua_mutex_unlock(&queue->mutex), 0);
	}
	return 0;
}

TEST(condition__producers_and_consumers__all_taken)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct queue queue = { .mutex = SKUA_MUTEX_INIT };
	struct user users[8] = { 0 };

	assert_int_equal(skua_condition_wait(&queue.filled, &queue.mutex, 0),
			 -EPERM);
	for (unsigned i = 0; i < 8; i++)
		user_start(&users[i], rt, i % 4 != 3, i % 2 ? consume : produce,
			   &queue);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(user_end(&users[i]), 0);
	assert_int_equal(queue.taken, ROUNDS);
	assert_int_equal(queue.items, 0);
	destroy(rt);
}

/* Waits for a condition in its polls, and gives the wait up at some time. */
enum gives_up { NEVER, AT_ONCE, WHEN_WOKEN };

struct signalled {
	struct skua_task task; /* first */
	struct skua_mutex mutex;
	struct skua_condition condition;
	struct skua_wait wait;
	enum gives_up gives_up;
	bool mutex_is_free; /* when it gives up */
	unsigned polls;
	int code;
};

static enum skua_poll wait_for_signal(struct skua_task *self)
{
	struct signalled *it = (struct signalled *)self;
	unsigned poll = it->polls++;

	if (poll == 0)
		assert_int_equal(
			skua_mutex_lock_poll(self, &it->mutex, &it->wait, 0),
			0);
	it->code = skua_condition_wait_poll(self, &it->condition, &it->mutex,
					    &it->wait, SKUA_FOREVER_NS);
	assert_int_equal(skua_wait_armed(&it->wait), it->code == -EAGAIN);
	if (it->code == -EAGAIN &&
	    it->gives_up == (poll ? WHEN_WOKEN : AT_ONCE)) {
		int code = skua_wait_cancel(self, &it->wait);

		assert_int_equal(code, it->mutex_is_free ? 0 : -EALREADY);
		if (it->mutex_is_free)
			it->code = -ECANCELED;
	}
	if (it->code == -EAGAIN)
		return SKUA_PENDING;
	assert_int_equal(skua_mutex_unlock(&it->mutex), 0);
	return SKUA_DONE;
}

static int wait_in_polls(struct skua_runtime *rt, enum gives_up gives_up,
			 bool cancel)
{
	struct signalled it = { .task = SKUA_TASK_INIT(wait_for_signal),
				.gives_up = gives_up,
				.mutex_is_free = gives_up == AT_ONCE };

	spawn(rt, &it.task);
	if (gives_up != AT_ONCE) {
		wait_for_waiters(&it.condition.waiters, 1);
		assert_int_equal(skua_mutex_lock(&it.mutex, SKUA_FOREVER_NS),
				 0);
		assert_int_equal(cancel ? skua_task_cancel(&it.task)
					: skua_condition_signal(&it.condition),
				 0);
		wait_for_waiters(&it.mutex.waiters, 1);
		assert_int_equal(skua_mutex_unlock(&it.mutex), 0);
	}
	join(&it.task); /* ends only if no reference is left */
	assert_int_equal(it.mutex.word, 0);
	assert_int_equal(it.condition.waiters.count, 0);
	return it.code;
}

TEST(condition__polls_give_up_in_each_stage__mutex_held_again)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(wait_in_polls(rt, NEVER, false), 0);
	assert_int_equal(wait_in_polls(rt, NEVER, true), -ECANCELED);
	assert_int_equal(wait_in_polls(rt, AT_ONCE, false), -ECANCELED);
	assert_int_equal(wait_in_polls(rt, WHEN_WOKEN, false), 0);
	destroy(rt);
}
