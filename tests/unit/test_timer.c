/* SPDX-License-Identifier: MIT */
/* test_timer.c - timers wake tasks: not early, and beside any load */
#include <linux/futex.h>

#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

#define HOUR_NS UINT64_C(3600000000000)

/* Sleeps once for each delay, and then ends. */
struct sleeper {
	struct skua_task task; /* first: a task is its sleeper */
	struct skua_timer timer;
	uint64_t delay_ns;
	uint64_t due_ns;
	unsigned naps; /* left */
	unsigned polls;
	unsigned early;
	unsigned pending; /* polls at which it had not fired */
	struct gate added;
	int code;
};

static enum skua_poll sleeper_poll(struct skua_task *self)
{
	struct sleeper *it = (struct sleeper *)self;
	uint64_t now_ns = skua_now_ns();

	if (it->polls++ > 0) {
		it->early += now_ns < it->due_ns;
		it->pending += skua_timer_pending(&it->timer);
	}
	if (it->naps == 0 || skua_task_cancelled(self))
		return SKUA_DONE;
	it->naps--;
	it->due_ns = now_ns + it->delay_ns;
	it->code |= skua_timer_add(self, &it->timer, it->due_ns);
	return SKUA_PENDING;
}

static void sleeper_init(struct sleeper *it, uint64_t delay_ns, unsigned naps)
{
	*it = (struct sleeper){ .task = SKUA_TASK_INIT(sleeper_poll),
				.timer = SKUA_TIMER_INIT,
				.delay_ns = delay_ns,
				.naps = naps };
}

static void expect_slept(struct sleeper *it, unsigned naps)
{
	assert_int_equal(it->code, 0);
	assert_int_equal(it->polls, naps + 1);
	assert_int_equal(it->early, 0);
	assert_int_equal(it->pending, 0);
	assert_false(skua_timer_pending(&it->timer));
	assert_false(skua_timer_cancel(&it->timer));
}

/* sleeper_start - spawn it; returns when its timer, which is far, is pending */
static void sleeper_start(struct skua_runtime *rt, struct sleeper *it)
{
	spawn(rt, &it->task);
	while (wakers_of(&it->task) < 1)
		sched_yield();
	wait_until_waiting(&it->task);
	assert_true(skua_timer_pending(&it->timer));
}

static void wait_until_all_parked(struct skua_runtime *rt)
{
	while (!idle_all_parked(&rt->pool.idle))
		sched_yield();
}

/* ---- refused ------------------------------------------------------------- */

static int add_null(struct skua_task *self, void *arg)
{
	struct skua_timer timer = SKUA_TIMER_INIT;

	(void)arg;
	return skua_timer_add(self, NULL, 0) == -EINVAL &&
			       skua_timer_add(NULL, &timer, 0) == -EINVAL
		       ? 0
		       : 1;
}

static int add_for_another(struct skua_task *self, void *arg)
{
	struct skua_timer timer = SKUA_TIMER_INIT;

	(void)self;
	return skua_timer_add(arg, &timer, 0);
}

TEST(timer__null_or_never_added__einval_or_false)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_timer timer = SKUA_TIMER_INIT;

	assert_int_equal(call_in_poll(rt, add_null, NULL), 0);
	assert_false(skua_timer_cancel(NULL));
	assert_false(skua_timer_pending(NULL));
	assert_false(skua_timer_cancel(&timer));
	assert_false(skua_timer_pending(&timer));
	destroy(rt);
}

TEST(timer_add__self_is_not_polled__eperm)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_timer timer = SKUA_TIMER_INIT;
	struct waiter it = WAITER_INIT;

	waiter_start(rt, &it);
	assert_int_equal(skua_timer_add(&it.task, &timer, 0), -EPERM);
	assert_int_equal(call_in_poll(rt, add_for_another, &it.task), -EPERM);
	assert_false(skua_timer_pending(&timer));
	assert_int_equal(skua_task_cancel(&it.task), 0);
	join(&it.task);
	destroy(rt);
}

static int add_twice(struct skua_task *self, void *arg)
{
	struct skua_timer *timer = arg;

	return skua_timer_add(self, timer, UINT64_MAX) == 0 &&
			       skua_timer_pending(timer) &&
			       skua_timer_add(self, timer, 0) == -EALREADY &&
			       skua_timer_cancel(timer) &&
			       !skua_timer_pending(timer) &&
			       !skua_timer_cancel(timer) &&
			       skua_timer_add(self, timer, UINT64_MAX) == 0 &&
			       skua_timer_cancel(timer)
		       ? 0
		       : 1;
}

TEST(timer_add__pending__ealready_until_cancelled)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_timer timer = SKUA_TIMER_INIT;

	assert_int_equal(call_in_poll(rt, add_twice, &timer), 0);
	destroy(rt);
}

/* ---- firing -------------------------------------------------------------- */

TEST(now_ns__twice__does_not_go_back)
{
	uint64_t before = skua_now_ns();

	for (unsigned n = 0; n < 1000; n++) {
		uint64_t now_ns = skua_now_ns();

		assert_true(now_ns >= before);
		before = now_ns;
	}
}

TEST(timer__many_delays__fires_once_and_never_early)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct sleeper sleepers[200];

	for (unsigned n = 0; n < 200; n++) {
		sleeper_init(&sleepers[n], n * n * 100, 20);
		spawn(rt, &sleepers[n].task);
	}
	for (unsigned n = 0; n < 200; n++) {
		join(&sleepers[n].task);
		expect_slept(&sleepers[n], 20);
	}
	destroy(rt);
}

static enum skua_poll sleep_until_1(struct skua_task *self)
{
	struct sleeper *it = (struct sleeper *)self;

	if (it->polls++ > 0)
		return SKUA_DONE;
	it->code = skua_timer_add(self, &it->timer, 1);
	return SKUA_PENDING;
}

TEST(timer__time_has_passed__fires_now)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct sleeper it;

	for (unsigned n = 0; n < 200; n++) {
		sleeper_init(&it, 0, 0);
		it.task.poll = sleep_until_1;
		spawn(rt, &it.task);
		join(&it.task);
		expect_slept(&it, 1);
	}
	destroy(rt);
}

TEST(timer__one_worker_asleep__fires)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct sleeper it;

	for (unsigned n = 0; n < 20; n++) {
		sleeper_init(&it, UINT64_C(2000000), 1);
		spawn(rt, &it.task);
		join(&it.task);
		expect_slept(&it, 1);
	}
	destroy(rt);
}

/* Its worker never sleeps. */
static enum skua_poll yield_until_open(struct skua_task *self)
{
	return gate_is_open(&((struct waiter *)self)->end) ? SKUA_DONE
							   : SKUA_YIELD;
}

TEST(timer__one_worker_busy__fires)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter busy = { .task = SKUA_TASK_INIT(yield_until_open) };
	struct sleeper it;

	spawn(rt, &busy.task);
	sleeper_init(&it, UINT64_C(1000000), 10);
	spawn(rt, &it.task);
	join(&it.task);
	expect_slept(&it, 10);
	gate_open(&busy.end);
	join(&busy.task);
	destroy(rt);
}

/* Its first poll adds a timer, and has its worker occupied afterwards until
 * the timer has fired. */
struct blocked {
	struct sleeper sleeper; /* first: a task is its blocked */
	struct holder holder;
	struct skua_runtime *rt;
	int code;
};

static enum skua_poll block_own_worker(struct skua_task *self)
{
	struct blocked *it = (struct blocked *)self;
	enum skua_poll result = sleeper_poll(self);

	if (result == SKUA_PENDING) {
		it->code = skua_task_spawn_on(
			it->rt, (unsigned)skua_worker_index(it->rt),
			&it->holder.task);
		return result;
	}
	gate_open(&it->holder.go_on);
	return result;
}

TEST(timer__owner_in_a_long_poll__another_worker_fires)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned n = 0; n < 50; n++) {
		struct blocked it = { .holder = HOLDER_INIT, .rt = rt };

		/* Long enough for the holder to be there first, as a rule. */
		sleeper_init(&it.sleeper, UINT64_C(2000000), 1);
		it.sleeper.task.poll = block_own_worker;
		spawn(rt, &it.sleeper.task);
		join(&it.sleeper.task);
		assert_int_equal(it.code, 0);
		expect_slept(&it.sleeper, 1);
		join(&it.holder.task);
	}
	destroy(rt);
}

/* The sleep that begins with a timer in an hour must not last that long. */
TEST(timer__earlier_one_while_asleep__shortens_the_sleep)
{
	static const unsigned counts[] = { 1, 2, 3 };

	for (size_t c = 0; c < COUNT_OF(counts); c++) {
		struct skua_runtime *rt = runtime_new(counts[c], 0);
		struct sleeper far;
		struct sleeper near;

		sleeper_init(&far, HOUR_NS, 1);
		sleeper_start(rt, &far);
		for (unsigned n = 0; n < 20; n++) {
			wait_until_all_parked(rt);
			sleeper_init(&near, UINT64_C(1000000), 1);
			spawn(rt, &near.task);
			join(&near.task);
			expect_slept(&near, 1);
		}
		assert_true(skua_timer_cancel(&far.timer));
		assert_int_equal(skua_task_cancel(&far.task), 0);
		join(&far.task);
		destroy(rt);
	}
}

/* Each a little earlier than the one before. */
TEST(timer__added_from_late_to_early__all_fire)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct sleeper sleepers[100];

	for (unsigned n = 0; n < 100; n++) {
		sleeper_init(&sleepers[n], (100 - n) * UINT64_C(200000), 1);
		spawn(rt, &sleepers[n].task);
	}
	for (unsigned n = 0; n < 100; n++) {
		join(&sleepers[n].task);
		expect_slept(&sleepers[n], 1);
	}
	destroy(rt);
}

/* ---- turns at the lock ---------------------------------------------------- */

struct turn {
	struct pi_lock *lock;
	atomic_u32 had;
};

static void *take_turn(void *arg)
{
	struct turn *turn = arg;

	pi_lock_take(turn->lock);
	atomic_store_relaxed(&turn->had, 1);
	pi_lock_release(turn->lock);
	return NULL;
}

/* As between two batches of timers that fire. */
TEST(timer__somebody_waits_for_the_lock__goes_first)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct turn turn = { .lock = &rt->pool.workers[0]->timers.lock };
	pthread_t thread;

	pi_lock_take(turn.lock);
	assert_int_equal(pthread_create(&thread, NULL, take_turn, &turn), 0);
	/* The kernel marks the lock of a thread that others wait for. */
	while (!(atomic_load_relaxed(&turn.lock->word) & FUTEX_WAITERS))
		sched_yield();
	pi_lock_release(turn.lock);
	pi_lock_take(turn.lock);
	assert_int_equal(atomic_load_relaxed(&turn.had), 1);
	pi_lock_release(turn.lock);
	pthread_join(thread, NULL);
	destroy(rt);
}

/* ---- never, and taken back ------------------------------------------------ */

static enum skua_poll sleep_for_ever(struct skua_task *self)
{
	struct sleeper *it = (struct sleeper *)self;

	it->polls++;
	if (skua_task_cancelled(self))
		return SKUA_DONE;
	it->code |= skua_timer_add(self, &it->timer, UINT64_MAX);
	return SKUA_PENDING;
}

TEST(timer__never__pending_until_cancelled)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct sleeper it;
	struct sleeper other;

	sleeper_init(&it, 0, 0);
	it.task.poll = sleep_for_ever;
	sleeper_start(rt, &it);
	/* Others fire meanwhile. */
	sleeper_init(&other, UINT64_C(500000), 10);
	spawn(rt, &other.task);
	join(&other.task);
	expect_slept(&other, 10);
	assert_true(skua_timer_pending(&it.timer));
	assert_int_equal(it.polls, 1);
	assert_int_equal(wakers_of(&it.task), 1);
	assert_true(skua_timer_cancel(&it.timer));
	assert_int_equal(wakers_of(&it.task), 0);
	assert_false(skua_timer_pending(&it.timer));
	assert_int_equal(skua_task_cancel(&it.task), 0);
	join(&it.task);
	assert_int_equal(it.code, 0);
	destroy(rt);
}

/* Leaves the timer to others once it is added. */
static enum skua_poll nap_and_say_so(struct skua_task *self)
{
	struct sleeper *it = (struct sleeper *)self;

	if (it->polls++ > 0)
		return SKUA_DONE;
	it->code =
		skua_timer_add(self, &it->timer, skua_now_ns() + it->delay_ns);
	gate_open(&it->added);
	return SKUA_PENDING;
}

/* The firing and the cancel meet at every moment: one of them has it. */
TEST(timer_cancel__beside_the_firing__fires_or_not)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned n = 0; n < 300; n++) {
		struct sleeper it;
		bool cancelled;

		sleeper_init(&it, (n % 20) * UINT64_C(10000), 1);
		it.task.poll = nap_and_say_so;
		spawn(rt, &it.task);
		gate_wait(&it.added);
		cancelled = skua_timer_cancel(&it.timer);
		if (cancelled)
			assert_int_equal(skua_task_cancel(&it.task), 0);
		join(&it.task);
		assert_int_equal(it.polls, 2);
		assert_int_equal(it.code, 0);
		assert_false(skua_timer_pending(&it.timer));
	}
	destroy(rt);
}

/* ---- references ---------------------------------------------------------- */

static enum skua_poll add_and_end(struct skua_task *self)
{
	struct sleeper *it = (struct sleeper *)self;

	it->due_ns = skua_now_ns() + it->delay_ns;
	it->code = skua_timer_add(self, &it->timer, it->due_ns);
	return SKUA_DONE;
}

TEST(timer__pending_at_the_end__task_ends_with_it)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct sleeper it;

	for (unsigned n = 0; n < 20; n++) {
		sleeper_init(&it, UINT64_C(1000000), 1);
		it.task.poll = add_and_end;
		spawn(rt, &it.task);
		join(&it.task);
		assert_int_equal(it.code, 0);
		assert_true(skua_now_ns() >= it.due_ns);
		assert_false(skua_timer_pending(&it.timer));
	}
	/* Or with its cancel. */
	sleeper_init(&it, HOUR_NS, 1);
	it.task.poll = add_and_end;
	spawn(rt, &it.task);
	wait_until_done(&it.task);
	assert_true(skua_timer_cancel(&it.timer));
	join(&it.task);
	destroy(rt);
}

/* ---- shutdown ------------------------------------------------------------ */

TEST(timer__shutdown_cancels__all_fire)
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct sleeper sleepers[150];

		for (unsigned n = 0; n < 150; n++) {
			sleeper_init(&sleepers[n],
				     n == 0 ? UINT64_MAX / 2 : HOUR_NS * n, 1);
			sleeper_start(rt, &sleepers[n]);
		}
		assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
						       SKUA_SHUTDOWN_CANCEL),
				 0);
		for (unsigned n = 0; n < 150; n++) {
			assert_int_equal(sleepers[n].polls, 2);
			assert_false(skua_timer_pending(&sleepers[n].timer));
			join(&sleepers[n].task);
		}
		destroy(rt);
	}
}

/* Runs when the shutdown begins, and goes to sleep then. */
struct late_sleeper {
	struct sleeper sleeper; /* first: a task is its late_sleeper */
	struct gate running;
	struct gate go_on;
};

static enum skua_poll sleep_late(struct skua_task *self)
{
	struct late_sleeper *it = (struct late_sleeper *)self;
	bool first = it->sleeper.polls == 0;

	if (first) {
		gate_open(&it->running);
		gate_wait(&it->go_on);
		/* As if it had looked before, and not been cancelled yet. */
		it->sleeper.polls = 1;
		it->sleeper.code = skua_timer_add(self, &it->sleeper.timer,
						  skua_now_ns() + HOUR_NS);
		return SKUA_PENDING;
	}
	/* Waits for its timer, cancelled or not. */
	it->sleeper.polls++;
	return skua_timer_pending(&it->sleeper.timer) ? SKUA_PENDING
						      : SKUA_DONE;
}

TEST(timer__added_by_a_poll_beside_the_shutdown__fires_too)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct late_sleeper it = { .sleeper = { .task = SKUA_TASK_INIT(
							sleep_late) } };

	spawn(rt, &it.sleeper.task);
	gate_wait(&it.running);
	/* The mark is set, and all timers that there were have fired. */
	assert_int_equal(skua_runtime_shutdown(rt, 1, SKUA_SHUTDOWN_CANCEL),
			 -ETIMEDOUT);
	gate_open(&it.go_on);
	assert_int_equal(
		skua_runtime_shutdown(rt, SKUA_FOREVER_NS, SKUA_SHUTDOWN_RUN),
		0);
	assert_int_equal(it.sleeper.code, 0);
	join(&it.sleeper.task);
	destroy(rt);
}
