/* SPDX-License-Identifier: MIT */
/* test_sync.c - arguments of locks and signals, and waits that are refused or given up */
#include "skua/fork.h"
#include "skua/sync.h"
#include "skua/waker.h"
#include "tests/unit/users.h"

#define SOON_NS UINT64_C(3000000)

/* ---- arguments ------------------------------------------------------------------- */

TEST(sync__null__einval)
{
	struct skua_wait wait = SKUA_WAIT_INIT;

	assert_int_equal(skua_mutex_lock(NULL, 0), -EINVAL);
	assert_int_equal(skua_mutex_lock_try(NULL), -EINVAL);
	assert_int_equal(skua_mutex_lock_poll(NULL, NULL, &wait, 0), -EINVAL);
	assert_int_equal(skua_mutex_unlock(NULL), -EINVAL);
	assert_int_equal(skua_mutex_destroy(NULL), -EINVAL);
	assert_int_equal(skua_rwlock_read(NULL, 0), -EINVAL);
	assert_int_equal(skua_rwlock_write_unlock(NULL), -EINVAL);
	assert_int_equal(skua_rwlock_read_unlock(NULL), -EINVAL);
	assert_int_equal(skua_semaphore_init(NULL, 0), -EINVAL);
	assert_int_equal(skua_semaphore_acquire(NULL, 1, 0), -EINVAL);
	assert_int_equal(skua_semaphore_release(NULL, 1), -EINVAL);
	assert_int_equal(skua_semaphore_close(NULL), -EINVAL);
	assert_int_equal(skua_semaphore_permits(NULL), 0);
	assert_int_equal(skua_event_wait(NULL, 0), -EINVAL);
	assert_int_equal(skua_event_set(NULL), -EINVAL);
	assert_int_equal(skua_event_reset(NULL), -EINVAL);
	assert_false(skua_event_is_set(NULL));
	assert_int_equal(skua_notify_wait(NULL, 0), -EINVAL);
	assert_int_equal(skua_notify_one(NULL), -EINVAL);
	assert_int_equal(skua_notify_all(NULL), -EINVAL);
	assert_int_equal(skua_condition_wait(NULL, NULL, 0), -EINVAL);
	assert_int_equal(skua_condition_signal(NULL), -EINVAL);
	assert_int_equal(skua_barrier_init(NULL, 1), -EINVAL);
	assert_int_equal(skua_barrier_wait(NULL, 0), -EINVAL);
	assert_int_equal(skua_once_begin(NULL, 0), -EINVAL);
	assert_int_equal(skua_once_end(NULL, true), -EINVAL);
	assert_false(skua_once_is_done(NULL));
	assert_int_equal(skua_wait_cancel(NULL, &wait), -EINVAL);
	assert_false(skua_wait_armed(NULL));
}

static int initialise(struct user *it)
{
	struct skua_once *once = it->object;
	int code = skua_once_begin(once, SKUA_FOREVER_NS);

	if (code == 1)
		assert_int_equal(skua_once_end(once, true), 0);
	return code;
}

/* The first waiter becomes the initialiser, and lets the second one proceed. */
TEST(once__fails_beside_two_waiters__one_initialises_for_both)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_once once = SKUA_ONCE_INIT;
	struct user users[2] = { 0 };

	assert_int_equal(skua_once_begin(&once, 0), 1);
	for (unsigned i = 0; i < 2; i++) {
		user_start(&users[i], rt, true, initialise, &once);
		wait_for_waiters(&once.waiters, i + 1);
	}
	assert_int_equal(skua_once_end(&once, false), 0);
	assert_int_equal(user_end(&users[0]), 1);
	assert_int_equal(user_end(&users[1]), 0);
	destroy(rt);
}

TEST(condition__deadline_passes__etimedout_with_the_mutex)
{
	struct skua_condition condition = SKUA_CONDITION_INIT;
	struct skua_mutex mutex = SKUA_MUTEX_INIT;

	assert_int_equal(skua_mutex_lock(&mutex, 0), 0);
	assert_int_equal(skua_condition_wait(&condition, &mutex,
					     skua_now_ns() + 1000000),
			 -ETIMEDOUT);
	assert_int_equal(skua_mutex_unlock(&mutex), 0);
}

TEST(barrier__last_arrives_after_its_deadline__completes)
{
	struct skua_barrier barrier;

	assert_int_equal(skua_barrier_init(&barrier, 1), 0);
	assert_int_equal(skua_barrier_wait(&barrier, 0), 1);
}

TEST(barrier__of_0_or_not_initialised__einval)
{
	struct skua_barrier barrier = { .parties = 0 };

	assert_int_equal(skua_barrier_init(&barrier, 0), -EINVAL);
	assert_int_equal(skua_barrier_wait(&barrier, SKUA_FOREVER_NS), -EINVAL);
}

TEST(semaphore__permits_out_of_range__refused)
{
	struct skua_semaphore semaphore;

	assert_int_equal(skua_semaphore_init(&semaphore, SKUA_MAX_PERMITS + 1),
			 -EINVAL);
	assert_int_equal(skua_semaphore_init(&semaphore, SKUA_MAX_PERMITS), 0);
	assert_int_equal(skua_semaphore_release(&semaphore, 1), -EOVERFLOW);
	assert_int_equal(skua_semaphore_release(&semaphore, UINT64_MAX),
			 -EOVERFLOW);
	assert_int_equal(skua_semaphore_acquire(&semaphore, 0, 0), -EINVAL);
	assert_int_equal(
		skua_semaphore_acquire_try(&semaphore, SKUA_MAX_PERMITS + 1),
		-EINVAL);
	assert_int_equal(
		skua_semaphore_acquire_try(&semaphore, SKUA_MAX_PERMITS), 0);
	assert_int_equal(skua_semaphore_acquire_try(&semaphore, 1), -EAGAIN);
	assert_int_equal(skua_semaphore_permits(&semaphore), 0);
}

/* ---- waits that are refused -------------------------------------------------------- */

static int lock_and_unlock(void *object)
{
	int code = skua_mutex_lock(object, SKUA_FOREVER_NS);

	return code ? code : skua_mutex_unlock(object);
}

static int lock_in_poll(struct skua_task *self, void *arg)
{
	(void)self;
	return lock_and_unlock(arg);
}

static void lock_in_region(struct skua_ctx ctx, void *arg)
{
	int *code = arg;
	struct skua_mutex mutex = SKUA_MUTEX_INIT;

	(void)ctx;
	*code = lock_and_unlock(&mutex);
}

static int lock_with_ctx(struct user *it)
{
	skua_task_ctx(&it->fiber.task);
	return skua_mutex_lock(it->object, SKUA_FOREVER_NS);
}

TEST(lock__in_poll_job_or_fiber_with_ctx__edeadlk)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;
	int code = 0;

	assert_int_equal(call_in_poll(rt, lock_in_poll, &mutex), -EDEADLK);
	assert_int_equal(skua_run(rt, lock_in_region, &code), 0);
	assert_int_equal(code, -EDEADLK);
	assert_int_equal(skua_mutex_lock(&mutex, SKUA_FOREVER_NS), 0);
	assert_int_equal(user_run(rt, true, lock_with_ctx, &mutex), -EDEADLK);
	assert_int_equal(skua_mutex_unlock(&mutex), 0);
	assert_int_equal(skua_mutex_destroy(&mutex), 0);
	destroy(rt);
}

/* ---- waits of polls ---------------------------------------------------------------- */

/* Waits for two mutexes by turns, and gives one up. */
struct undecided {
	struct skua_task task; /* first */
	struct skua_mutex *first, *second;
	struct skua_wait waits[2];
	int codes[4];
	unsigned step;
};

static enum skua_poll give_up_first(struct skua_task *self)
{
	struct undecided *it = (struct undecided *)self;

	if (it->step++ == 0) {
		it->codes[0] = skua_mutex_lock_poll(
			self, it->first, &it->waits[0], SKUA_FOREVER_NS);
		it->codes[1] = skua_mutex_lock_poll(
			self, it->second, &it->waits[0], SKUA_FOREVER_NS);
		it->codes[2] = skua_wait_cancel(self, &it->waits[0]);
		it->codes[3] = skua_wait_cancel(self, &it->waits[0]);
	}
	return SKUA_DONE;
}

TEST(wait_cancel__armed__withdrawn)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex first = SKUA_MUTEX_INIT, second = SKUA_MUTEX_INIT;
	struct undecided it = { .task = SKUA_TASK_INIT(give_up_first),
				.first = &first,
				.second = &second };

	assert_int_equal(skua_mutex_lock(&first, SKUA_FOREVER_NS), 0);
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.codes[0], -EAGAIN);
	assert_int_equal(it.codes[1], -EINVAL); /* armed for the first */
	assert_int_equal(it.codes[2], 0);
	assert_int_equal(it.codes[3], 0);
	assert_int_equal(skua_mutex_unlock(&first), 0);
	assert_int_equal(skua_mutex_destroy(&first), 0);
	destroy(rt);
}

/* Uses a wait, which is armed for an event, for other calls. */
struct confused {
	struct skua_task task; /* first */
	struct skua_event *event, *other;
	struct skua_wait wait;
	bool soon; /* is there a deadline? */
	uint64_t deadline_ns;
	int codes[4];
	unsigned polls;
};

static enum skua_poll use_armed_wait(struct skua_task *self)
{
	struct confused *it = (struct confused *)self;
	unsigned at = it->polls++ ? 2 : 0;

	/* Again if the deadline had passed before the wait was armed. */
	while (!skua_wait_armed(&it->wait) && at == 0) {
		it->deadline_ns =
			it->soon ? skua_now_ns() + SOON_NS : SKUA_FOREVER_NS;
		it->codes[3] = skua_event_wait_poll(self, it->event, &it->wait,
						    it->deadline_ns);
	}
	/* Also after the grant: that is the event's. */
	it->codes[at] = skua_event_wait_poll(self, it->other, &it->wait,
					     it->deadline_ns);
	if (at == 0)
		return SKUA_PENDING;
	it->codes[1] = skua_event_wait_poll(self, it->event, &it->wait,
					    it->deadline_ns);
	return it->codes[1] == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

TEST(wait__armed_and_used_for_another_object__einval_without_effect)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned set = 0; set < 2; set++) {
		struct skua_event event = SKUA_EVENT_INIT;
		struct skua_event other = SKUA_EVENT_INIT;
		struct confused it = { .task = SKUA_TASK_INIT(use_armed_wait),
				       .event = &event,
				       .other = &other,
				       .soon = !set };

		spawn(rt, &it.task);
		if (set) {
			wait_until_waiting(&it.task);
			assert_int_equal(skua_event_set(&event), 0);
		}
		join(&it.task); /* the deadline wakes it, or the event */
		assert_int_equal(it.codes[3], -EAGAIN);
		assert_int_equal(it.codes[0], -EINVAL);
		assert_int_equal(it.codes[2], -EINVAL);
		assert_int_equal(it.codes[1], set ? 0 : -ETIMEDOUT);
	}
	destroy(rt);
}
