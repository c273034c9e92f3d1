/* SPDX-License-Identifier: MIT */
/* test_sync.c - locks and signals between polls, fibers and threads */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* ---- mutex ----------------------------------------------------------------------- */

static int unlock(struct user *it)
{
	return skua_mutex_unlock(it->object);
}

TEST(mutex__unlocked_by_another__eperm)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;

	assert_int_equal(skua_mutex_unlock(&mutex), -EPERM);
	assert_int_equal(skua_mutex_lock(&mutex, SKUA_FOREVER_NS), 0);
	assert_int_equal(user_run(rt, true, unlock, &mutex), -EPERM);
	assert_int_equal(user_run(rt, false, unlock, &mutex), -EPERM);
	assert_int_equal(skua_mutex_unlock(&mutex), 0);
	destroy(rt);
}

static int lock_twice(struct user *it)
{
	int code;

	assert_int_equal(skua_mutex_lock(it->object, SKUA_FOREVER_NS), 0);
	code = skua_mutex_lock(it->object, SKUA_FOREVER_NS);
	assert_int_equal(skua_mutex_lock_try(it->object), code);
	assert_int_equal(skua_mutex_unlock(it->object), 0);
	return code;
}

TEST(mutex__locked_twice__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;

	assert_int_equal(user_run(rt, true, lock_twice, &mutex), -EDEADLK);
	assert_int_equal(user_run(rt, false, lock_twice, &mutex), -EDEADLK);
	destroy(rt);
}

static int lock_soon(struct user *it)
{
	int code = skua_mutex_lock(it->object, skua_now_ns() + SOON_NS);

	return code ? code : skua_mutex_unlock(it->object);
}

static int lock_at_once(struct user *it)
{
	return skua_mutex_lock(it->object, 0);
}

TEST(mutex__held__deadline_passes_and_nothing_stays)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;

	assert_int_equal(skua_mutex_lock(&mutex, SKUA_FOREVER_NS), 0);
	assert_int_equal(skua_mutex_destroy(&mutex), -EBUSY);
	for (unsigned fiber = 0; fiber < 2; fiber++) {
		assert_int_equal(user_run(rt, fiber, lock_soon, &mutex),
				 -ETIMEDOUT);
		assert_int_equal(user_run(rt, fiber, lock_at_once, &mutex),
				 -ETIMEDOUT);
	}
	assert_int_equal(skua_mutex_unlock(&mutex), 0);
	assert_int_equal(mutex.word, 0);
	assert_int_equal(skua_mutex_destroy(&mutex), 0);
	destroy(rt);
}

static int lock_until_cancelled(struct user *it)
{
	return skua_mutex_lock(it->object, SKUA_FOREVER_NS);
}

TEST(mutex__waiting_fiber_cancelled__ecanceled)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;
	struct user it = { .number = 0 };

	assert_int_equal(skua_mutex_lock(&mutex, SKUA_FOREVER_NS), 0);
	user_start(&it, rt, true, lock_until_cancelled, &mutex);
	wait_for_waiters(&mutex.waiters, 1);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED);
	assert_int_equal(skua_mutex_unlock(&mutex), 0);
	assert_int_equal(skua_mutex_destroy(&mutex), 0);
	destroy(rt);
}

static int lock_when_cancelled(struct user *it)
{
	while (!skua_task_cancelled(&it->fiber.task))
		skua_await();
	return lock_and_unlock(it->object);
}

TEST(mutex__free_and_fiber_cancelled__locked)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;
	struct user it = { .number = 0 };

	user_start(&it, rt, true, lock_when_cancelled, &mutex);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), 0);
	destroy(rt);
}

#define ROUNDS 20000u
#define USERS  6u

struct shared {
	struct skua_mutex mutex;
	struct skua_semaphore semaphore;
	struct skua_rwlock lock;
	uint64_t count; /* plain */
};

static int count_rounds(struct user *it)
{
	struct shared *shared = it->object;

	for (unsigned i = 0; i < ROUNDS; i++) {
		int code = skua_mutex_lock(&shared->mutex,
					   i % 8 ? SKUA_FOREVER_NS
						 : skua_now_ns() + 20000);

		if (code == -ETIMEDOUT)
			code = skua_mutex_lock(&shared->mutex, SKUA_FOREVER_NS);
		assert_int_equal(code, 0);
		shared->count++;
		assert_int_equal(skua_mutex_unlock(&shared->mutex), 0);
	}
	return 0;
}

/* The same in polls. */
struct poller {
	struct skua_task task; /* first: a task is its poller */
	struct skua_wait wait;
	struct shared *shared;
	unsigned rounds;
};

static enum skua_poll poll_rounds(struct skua_task *self)
{
	struct poller *it = (struct poller *)self;
	struct shared *shared = it->shared;

	for (; it->rounds < ROUNDS; it->rounds++) {
		int code = skua_mutex_lock_poll(self, &shared->mutex, &it->wait,
						SKUA_FOREVER_NS);

		assert_true(skua_wait_armed(&it->wait) == (code == -EAGAIN));
		if (code == -EAGAIN)
			return SKUA_PENDING;
		assert_int_equal(code, 0);
		shared->count++;
		assert_int_equal(skua_mutex_unlock(&shared->mutex), 0);
	}
	return SKUA_DONE;
}

TEST(mutex__polls_fibers_and_threads__exclude_each_other)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct shared shared = { .mutex = SKUA_MUTEX_INIT };
	struct user users[USERS] = { 0 };
	struct poller pollers[2];

	for (unsigned i = 0; i < USERS; i++)
		user_start(&users[i], rt, i % 3 != 0, count_rounds, &shared);
	for (unsigned i = 0; i < 2; i++) {
		pollers[i] =
			(struct poller){ .task = SKUA_TASK_INIT(poll_rounds),
					 .shared = &shared };
		spawn(rt, &pollers[i].task);
	}
	for (unsigned i = 0; i < USERS; i++)
		assert_int_equal(user_end(&users[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		join(&pollers[i].task);
	assert_int_equal(shared.count, (USERS + 2) * ROUNDS);
	assert_int_equal(skua_mutex_destroy(&shared.mutex), 0);
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

/* ---- children of fork() ------------------------------------------------------------- */

static void *hold_until_waited_for(void *arg)
{
	struct skua_mutex *mutex = arg;

	assert_int_equal(skua_mutex_lock(mutex, SKUA_FOREVER_NS), 0);
	wait_for_waiters(&mutex->waiters, 1);
	assert_int_equal(skua_mutex_unlock(mutex), 0);
	return NULL;
}

/* Lock a mutex that another thread holds. */
static int contend(void)
{
	struct skua_mutex mutex = SKUA_MUTEX_INIT;
	pthread_t thread;
	int code;

	if (pthread_create(&thread, NULL, hold_until_waited_for, &mutex))
		return -ENOMEM;
	while (skua_mutex_destroy(&mutex) == 0)
		sched_yield();
	code = lock_and_unlock(&mutex);
	pthread_join(thread, NULL);
	return code;
}

static int contend_in_child(void)
{
	struct skua_task *parents = skua_task_self();
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		sigset_t all;

		/* Ends a child that hangs; part of no success. */
		sigfillset(&all);
		pthread_sigmask(SIG_UNBLOCK, &all, NULL);
		alarm(20);
		_exit(contend() || skua_sleep_until(1) ||
		      skua_task_join(parents) != -EOWNERDEAD);
	}
	return waitpid(child, &status, 0) == child ? status : -1;
}

static int contend_in_child_of_poll(struct skua_task *self, void *arg)
{
	(void)self;
	(void)arg;
	return contend_in_child();
}

static int contend_in_child_of_fiber(struct user *it)
{
	(void)it;
	return contend_in_child();
}

TEST(mutex__child_of_a_poll_or_a_fiber__waits_as_a_thread)
{
	struct skua_runtime *rt;

	if (THREAD_SANITIZED) {
		skip_aloud("TSan starts no threads in the child of a fork()");
		return;
	}
	rt = runtime_new(1, 0);
	assert_int_equal(call_in_poll(rt, contend_in_child_of_poll, NULL), 0);
	assert_int_equal(user_run(rt, true, contend_in_child_of_fiber, NULL),
			 0);
	destroy(rt);
}

/* ---- the other objects, between fibers and threads ---------------------------------- */

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

/* ---- rwlock ----------------------------------------------------------------------- */

static int read_and_write(struct user *it)
{
	struct shared *shared = it->object;

	for (unsigned i = 0; i < ROUNDS / 4; i++) {
		if (i % 4 == it->number % 4) {
			assert_int_equal(skua_rwlock_write(&shared->lock,
							   SKUA_FOREVER_NS),
					 0);
			shared->count++;
			if (i % 8 == 0)
				assert_int_equal(
					skua_rwlock_downgrade(&shared->lock),
					0);
			assert_int_equal(i % 8 == 0 ? skua_rwlock_read_unlock(
							      &shared->lock)
						    : skua_rwlock_write_unlock(
							      &shared->lock),
					 0);
		} else if (skua_rwlock_read(&shared->lock,
					    skua_now_ns() + 20000) == 0) {
			assert_int_equal(
				skua_rwlock_write_unlock(&shared->lock),
				-EPERM);
			assert_int_equal(skua_rwlock_read_unlock(&shared->lock),
					 0);
		}
	}
	return 0;
}

TEST(rwlock__readers_and_writers__writers_alone)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct shared shared = { .lock = SKUA_RWLOCK_INIT };
	struct user users[USERS] = { 0 };

	for (unsigned i = 0; i < USERS; i++) {
		users[i].number = i;
		user_start(&users[i], rt, i % 3 != 0, read_and_write, &shared);
	}
	for (unsigned i = 0; i < USERS; i++)
		assert_int_equal(user_end(&users[i]), 0);
	assert_int_equal(shared.count, USERS * (ROUNDS / 4) / 4);
	assert_int_equal(skua_rwlock_destroy(&shared.lock), 0);
	assert_int_equal(skua_rwlock_read_unlock(&shared.lock), -EPERM);
	destroy(rt);
}

TEST(rwlock__held__try_and_twice_are_refused)
{
	struct skua_rwlock lock = SKUA_RWLOCK_INIT;

	assert_int_equal(skua_rwlock_read(&lock, 0), 0);
	assert_int_equal(skua_rwlock_read_try(&lock), 0);
	assert_int_equal(skua_rwlock_write_try(&lock), -EAGAIN);
	assert_int_equal(skua_rwlock_write(&lock, 0), -ETIMEDOUT);
	assert_int_equal(skua_rwlock_destroy(&lock), -EBUSY);
	assert_int_equal(skua_rwlock_read_unlock(&lock), 0);
	assert_int_equal(skua_rwlock_read_unlock(&lock), 0);
	assert_int_equal(skua_rwlock_write(&lock, 0), 0);
	assert_int_equal(skua_rwlock_write(&lock, 0), -EDEADLK);
	assert_int_equal(skua_rwlock_read(&lock, 0), -EDEADLK);
	assert_int_equal(skua_rwlock_read_try(&lock), -EDEADLK);
	assert_int_equal(skua_rwlock_write_unlock(&lock), 0);
	assert_int_equal(skua_rwlock_write_unlock(&lock), -EPERM);
}

/* ---- joins, groups and sleeps of fibers ---------------------------------------------- */

struct family {
	struct user parent; /* first: a user is its family */
	struct skua_runtime *rt;
	struct skua_group group;
	struct skua_event
		go_on; /* set: the children of wait_for_children() end */
	struct user children[4];
};

static int nap(struct user *it)
{
	(void)it;
	return skua_sleep_until(skua_now_ns() + 200000);
}

static int join_children(struct user *it)
{
	struct family *family = (struct family *)it;
	uint64_t start_ns = skua_now_ns();

	for (unsigned i = 0; i < 4; i++)
		user_start(&family->children[i], family->rt, true, nap, NULL);
	for (unsigned i = 0; i < 4; i++) {
		struct skua_task *task = &family->children[i].fiber.task;
		int code = skua_task_join_until(task, skua_now_ns() + 1000);

		if (code == -ETIMEDOUT)
			code = skua_task_join(task);
		assert_int_equal(code, 0);
		assert_int_equal(family->children[i].result, 0);
	}
	assert_true(skua_now_ns() - start_ns >= 200000);
	return 1;
}

TEST(join__by_fiber__waits)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct family family = { .rt = rt };

	user_start(&family.parent, rt, true, join_children, NULL);
	assert_int_equal(user_end(&family.parent), 1);
	destroy(rt);
}

static int wait_to_go_on(struct user *it)
{
	return skua_event_wait(it->object, SKUA_FOREVER_NS);
}

static int wait_for_children(struct user *it)
{
	struct family *family = (struct family *)it;

	assert_int_equal(skua_group_init(&family->group, family->rt), 0);
	for (unsigned i = 0; i < 4; i++) {
		struct user *child = &family->children[i];

		child->act = wait_to_go_on;
		child->object = &family->go_on;
		assert_int_equal(skua_fiber_init(&child->fiber, fiber_acts, 0),
				 0);
		assert_int_equal(
			skua_group_spawn(&family->group, &child->fiber.task),
			0);
	}
	assert_int_equal(
		skua_group_wait_until(&family->group, skua_now_ns() + 1000),
		-ETIMEDOUT);
	assert_int_equal(skua_event_set(&family->go_on), 0);
	return skua_group_wait(&family->group);
}

TEST(group_wait__by_fiber__waits)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct family family = { .rt = rt };

	user_start(&family.parent, rt, true, wait_for_children, NULL);
	assert_int_equal(user_end(&family.parent), 0);
	destroy(rt);
}

static int join_until_cancelled(struct user *it)
{
	return skua_task_join(it->object);
}

TEST(join__by_cancelled_fiber__ecanceled_and_others_may_join)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter child = WAITER_INIT;
	struct user it = { .number = 0 };

	waiter_start(rt, &child);
	user_start(&it, rt, true, join_until_cancelled, &child.task);
	wait_for_state(&child.task, TASK_END_TASK);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED);
	waiter_end(&child);
	destroy(rt);
}

static int sleep_until_cancelled(struct user *it)
{
	(void)it;
	return skua_sleep_until(SKUA_FOREVER_NS);
}

static int sleep_in_poll(struct skua_task *self, void *arg)
{
	(void)self, (void)arg;
	return skua_sleep_until(skua_now_ns() + 1000);
}

TEST(sleep_until__fibers_threads_and_polls__as_stated)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	uint64_t when_ns = skua_now_ns() + 300000;
	struct user it = { .number = 0 };

	assert_int_equal(skua_sleep_until(when_ns), 0);
	assert_true(skua_now_ns() >= when_ns);
	assert_int_equal(skua_sleep_until(0), 0);
	assert_int_equal(user_run(rt, true, nap, NULL), 0);
	assert_int_equal(call_in_poll(rt, sleep_in_poll, NULL), -EDEADLK);
	user_start(&it, rt, true, sleep_until_cancelled, NULL);
	wait_until_waiting(&it.fiber.task);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED);
	destroy(rt);
}

TEST(interval__late__in_step_again)
{
	struct skua_interval interval;
	uint64_t start_ns = skua_now_ns();
	uint64_t next_ns;

	assert_int_equal(skua_interval_init(NULL, 0, 1), -EINVAL);
	assert_int_equal(skua_interval_init(&interval, 0, 0), -EINVAL);
	assert_true(skua_interval_next(NULL) == SKUA_FOREVER_NS);
	assert_int_equal(skua_interval_init(&interval, start_ns, 3600000000000),
			 0);
	for (unsigned i = 1; i <= 3; i++)
		assert_true(skua_interval_next(&interval) ==
			    start_ns + i * UINT64_C(3600000000000));
	assert_int_equal(interval.missed, 0);
	/* Begun long ago: all times but the last one are left out. */
	assert_int_equal(skua_interval_init(&interval, start_ns - 1050, 100),
			 0);
	next_ns = skua_interval_next(&interval);
	assert_int_equal((next_ns - (start_ns - 1050)) % 100, 0);
	assert_true(next_ns <= skua_now_ns() && interval.missed >= 9);
	assert_int_equal(skua_interval_init(&interval, UINT64_MAX - 5, 10), 0);
	assert_true(skua_interval_next(&interval) == SKUA_FOREVER_NS);
	assert_true(skua_interval_next(&interval) == SKUA_FOREVER_NS);
}
