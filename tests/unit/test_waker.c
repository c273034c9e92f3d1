/* SPDX-License-Identifier: MIT */
/* test_waker.c - wake, clone and drop: callers, times, and effects */
#include <pthread.h>

#include "tests/unit/tasks.h"

/* ---- helpers ------------------------------------------------------------ */

/* Run @count tasks one after the other: whatever is queued before them on a
 * runtime with one worker has been polled then. */
static void run_some(struct skua_runtime *rt, unsigned count)
{
	struct counter counter = COUNTER_INIT;

	for (unsigned n = 0; n < count; n++) {
		spawn(rt, &counter.task);
		join(&counter.task);
	}
}

static void waiter_end_and_join(struct waiter *it)
{
	waiter_end(it);
	join(&it->task);
	assert_int_equal(it->ends, 1);
}

/* Holds its worker at its first poll only; pending until @end is open. */
struct latch {
	struct waiter waiter; /* first: a task is its latch */
	struct gate running;
	struct gate go_on;
};

static enum skua_poll latch_poll(struct skua_task *self)
{
	struct latch *it = (struct latch *)self;

	gate_open(&it->running);
	gate_wait(&it->go_on);
	return waiter_poll(self);
}

#define LATCH_INIT                                              \
	{                                                       \
		.waiter = {.task = SKUA_TASK_INIT(latch_poll) } \
	}

/* ---- no waker ----------------------------------------------------------- */

TEST(waker__none__is_ignored)
{
	const struct skua_waker none = { 0 };

	assert_int_equal(skua_task_waker(NULL).opaque, 0);
	assert_int_equal(skua_waker_clone(none).opaque, 0);
	skua_waker_wake(none);
	skua_waker_wake_by_ref(none);
	skua_waker_drop(none);
}

/* ---- wake --------------------------------------------------------------- */

TEST(waker_wake__waiting__polled_once_more)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;

	waiter_start(rt, &it);
	for (uint32_t polls = 2; polls < 500; polls++) {
		skua_waker_wake(skua_task_waker(&it.task));
		while (waiter_polls(&it) < polls)
			sched_yield();
		wait_until_waiting(&it.task);
		run_some(rt, 1);
		assert_int_equal(waiter_polls(&it), polls);
		assert_int_equal(wakers_of(&it.task), 0);
	}
	waiter_end_and_join(&it);
	destroy(rt);
}

TEST(waker__pending_task__parked_until_woken)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct waiter waiters[10];

	for (unsigned n = 0; n < 10; n++) {
		waiters[n] = (struct waiter)WAITER_INIT;
		waiter_start(rt, &waiters[n]);
	}
	run_some(rt, 2000);
	for (unsigned n = 0; n < 10; n++) {
		assert_int_equal(waiter_polls(&waiters[n]), 1);
		waiter_end_and_join(&waiters[n]);
		assert_int_equal(waiter_polls(&waiters[n]), 2);
	}
	destroy(rt);
}

/* It is polled until it has had so many polls, and no more. */
static void expect_polls(struct skua_runtime *rt, struct waiter *it,
			 unsigned polls)
{
	while (waiter_polls(it) < polls)
		sched_yield();
	wait_until_waiting(&it->task);
	run_some(rt, 100);
	assert_int_equal(waiter_polls(it), polls);
	waiter_end_and_join(it);
	destroy(rt);
}

TEST(waker_wake__running__polled_once_more)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct latch it = LATCH_INIT;

	spawn(rt, &it.waiter.task);
	gate_wait(&it.running);
	for (unsigned n = 0; n < 100; n++)
		skua_waker_wake(skua_task_waker(&it.waiter.task));
	assert_int_equal(wakers_of(&it.waiter.task), 0);
	gate_open(&it.go_on);
	expect_polls(rt, &it.waiter, 2);
}

TEST(waker_wake__scheduled__coalesces_into_one_poll)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct waiter it = WAITER_INIT;

	waiter_start(rt, &it);
	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 1000; n++)
		skua_waker_wake(skua_task_waker(&it.task));
	assert_int_equal(waiter_polls(&it), 1);
	holder_end(&holder);
	expect_polls(rt, &it, 2);
}

TEST(waker_wake__not_polled_yet__first_poll_only)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct waiter it = WAITER_INIT;

	holder_hold(rt, &holder);
	spawn(rt, &it.task);
	for (unsigned n = 0; n < 10; n++)
		skua_waker_wake(skua_task_waker(&it.task));
	holder_end(&holder);
	expect_polls(rt, &it, 1);
}

TEST(waker_wake__complete_task__reference_dropped)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct holder holder = HOLDER_INIT;
	struct skua_waker waker;

	holder_hold(rt, &holder);
	spawn(rt, &counter.task);
	waker = skua_task_waker(&counter.task);
	holder_end(&holder);
	wait_until_done(&counter.task);
	for (unsigned n = 0; n < 100; n++) {
		skua_waker_wake_by_ref(waker);
		skua_waker_wake(skua_waker_clone(waker));
	}
	run_some(rt, 10);
	assert_int_equal(wakers_of(&counter.task), 1);
	skua_waker_wake(waker); /* and so ends it */
	join(&counter.task);
	assert_int_equal(counter.polls, 1);
	destroy(rt);
}

/* The wake is kept if the poll yields, and needs no second one. */
static enum skua_poll wake_itself_and_yield(struct skua_task *self)
{
	struct counter *it = (struct counter *)self;

	if (++it->polls == 1000)
		return SKUA_DONE;
	skua_waker_wake(skua_task_waker(self));
	return it->polls % 2 ? SKUA_YIELD : SKUA_PENDING;
}

TEST(waker_wake__by_the_task_itself__polled_again)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter it = { .task = SKUA_TASK_INIT(wake_itself_and_yield) };

	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.polls, 1000);
	destroy(rt);
}

/* ---- references ---------------------------------------------------------- */

TEST(waker_drop__last_one__ends_the_join)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;
	struct joiner joiner = { .task = &it.task };
	struct skua_waker wakers[20];

	waiter_start(rt, &it);
	wakers[0] = skua_task_waker(&it.task);
	for (unsigned n = 1; n < 20; n++)
		wakers[n] = skua_waker_clone(wakers[n - 1]);
	joiner_start(&joiner);
	gate_open(&it.end);
	skua_waker_wake_by_ref(wakers[0]);
	wait_until_done(&it.task);
	/* The scheduler has nothing left to do with it. */
	assert_int_equal(skua_runtime_drain(rt), 0);
	for (unsigned left = 20; left > 0; left--) {
		assert_int_equal(wakers_of(&it.task), left);
		assert_false(gate_is_open(&joiner.returned));
		skua_waker_drop(wakers[left - 1]);
	}
	joiner_end(&joiner);
	destroy(rt);
}

static struct {
	atomic_u32 count;
	pthread_t thread;
} released;

static void note_release(struct skua_task *task)
{
	(void)task;
	released.thread = pthread_self();
	atomic_fetch_add_release(&released.count, 1);
}

static uint32_t releases(void)
{
	return atomic_load_acquire(&released.count);
}

TEST(waker_drop__last_of_a_detached__releases_on_this_thread)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned n = 0; n < 200; n++) {
		struct waiter it = WAITER_INIT;
		struct skua_waker waker;

		atomic_store_relaxed(&released.count, 0);
		waiter_start(rt, &it);
		waker = skua_task_waker(&it.task);
		assert_int_equal(skua_task_detach(&it.task, note_release), 0);
		gate_open(&it.end);
		skua_waker_wake_by_ref(waker);
		wait_until_done(&it.task);
		assert_int_equal(skua_runtime_drain(rt), 0);
		assert_int_equal(releases(), 0);
		skua_waker_drop(waker);
		assert_int_equal(releases(), 1);
		assert_true(pthread_equal(released.thread, pthread_self()));
	}
	destroy(rt);
}

static int drop_and_see(struct skua_task *self, void *arg)
{
	(void)self;
	skua_waker_drop(*(struct skua_waker *)arg);
	return pthread_equal(released.thread, pthread_self()) ? 0 : 1;
}

TEST(waker_drop__on_another_runtimes_worker__releases_there)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;
	struct skua_waker waker;

	atomic_store_relaxed(&released.count, 0);
	waiter_start(rt, &it);
	waker = skua_task_waker(&it.task);
	assert_int_equal(skua_task_detach(&it.task, note_release), 0);
	gate_open(&it.end);
	skua_waker_wake_by_ref(waker);
	wait_until_done(&it.task);
	assert_int_equal(call_in_poll(other, drop_and_see, &waker), 0);
	assert_int_equal(releases(), 1);
	destroy(rt);
	destroy(other);
}

/* Drops the one waker of itself that it has, in its last poll. */
struct self_dropper {
	struct skua_task task; /* first: a task is its self_dropper */
	struct skua_waker waker;
};

static enum skua_poll keep_a_waker_then_drop_it(struct skua_task *self)
{
	struct self_dropper *it = (struct self_dropper *)self;

	if (it->waker.opaque == 0) {
		it->waker = skua_task_waker(self);
		return SKUA_YIELD;
	}
	skua_waker_drop(it->waker);
	return SKUA_DONE;
}

TEST(waker_drop__in_the_last_poll__task_ends_with_it)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct self_dropper it = { .task = SKUA_TASK_INIT(
					   keep_a_waker_then_drop_it) };

	for (unsigned n = 0; n < 100; n++) {
		it.waker.opaque = 0;
		spawn(rt, &it.task);
		join(&it.task);
	}
	destroy(rt);
}

/* The last waker and the last poll meet at every moment. */
static void *drop_waker(void *arg)
{
	skua_waker_drop(*(struct skua_waker *)arg);
	return NULL;
}

TEST(waker_drop__beside_the_end__one_release)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	atomic_store_relaxed(&released.count, 0);
	for (unsigned n = 1; n <= 300; n++) {
		struct waiter it = WAITER_INIT;
		struct skua_waker waker;
		pthread_t thread;

		waiter_start(rt, &it);
		waker = skua_task_waker(&it.task);
		assert_int_equal(skua_task_detach(&it.task, note_release), 0);
		gate_open(&it.end);
		assert_int_equal(skua_task_cancel(&it.task), 0);
		assert_int_equal(
			pthread_create(&thread, NULL, drop_waker, &waker), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		while (releases() < n)
			sched_yield();
	}
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(releases(), 300);
	destroy(rt);
}

/* ---- from where ---------------------------------------------------------- */

TEST(waker_wake__foreign_thread__through_the_injection_queue)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct waiter it = WAITER_INIT;
	struct skua_stats stats;

	waiter_start(rt, &it);
	holder_hold(rt, &holder);
	skua_waker_wake(skua_task_waker(&it.task));
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	assert_int_equal(stats.injection_depth, 1);
	assert_int_equal(stats.total.queue_depth, 0);
	holder_end(&holder);
	waiter_end_and_join(&it);
	destroy(rt);
}

static int wake_arg(struct skua_task *self, void *arg)
{
	(void)self;
	skua_waker_wake(skua_task_waker(arg));
	return 0;
}

TEST(waker_wake__own_worker__runs_next)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;
	struct skua_stats before;
	struct skua_stats after;

	waiter_start(rt, &it);
	assert_int_equal(skua_runtime_stats(rt, &before), 0);
	assert_int_equal(call_in_poll(rt, wake_arg, &it.task), 0);
	while (waiter_polls(&it) < 2)
		sched_yield();
	assert_int_equal(skua_runtime_stats(rt, &after), 0);
	assert_int_equal(after.total.lifo_hits, before.total.lifo_hits + 1);
	waiter_end_and_join(&it);
	destroy(rt);
}

/* Notes on which worker of which runtime it was polled last. */
struct located {
	struct waiter waiter; /* first: a task is its located */
	struct skua_runtime *rt;
	int index;
};

static enum skua_poll located_poll(struct skua_task *self)
{
	struct located *it = (struct located *)self;

	it->index = skua_worker_index(it->rt);
	return waiter_poll(self);
}

TEST(waker_wake__another_runtimes_worker__polled_at_home)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct located it = {
		.waiter = { .task = SKUA_TASK_INIT(located_poll) }, .rt = rt
	};

	waiter_start(rt, &it.waiter);
	for (uint32_t polls = 2; polls < 200; polls++) {
		it.index = -1;
		assert_int_equal(call_in_poll(other, wake_arg, &it.waiter.task),
				 0);
		while (waiter_polls(&it.waiter) < polls)
			sched_yield();
		wait_until_waiting(&it.waiter.task);
		assert_int_equal(it.index, 0);
	}
	waiter_end_and_join(&it.waiter);
	destroy(rt);
	destroy(other);
}

static struct skua_waker signalled;

static void wake_from_handler(int signal)
{
	(void)signal;
	skua_waker_wake(skua_waker_clone(signalled));
	skua_waker_wake_by_ref(signalled);
}

TEST(waker_wake__signal_handler__polled)
{
	const struct sigaction action = { .sa_handler = wake_from_handler };
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;
	struct sigaction before;

	waiter_start(rt, &it);
	signalled = skua_task_waker(&it.task);
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	for (uint32_t polls = 2; polls < 100; polls++) {
		uint32_t seen = waiter_polls(&it);

		assert_int_equal(raise(SIGUSR1), 0);
		while (waiter_polls(&it) == seen)
			sched_yield();
		wait_until_waiting(&it.task);
	}
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	skua_waker_drop(signalled);
	waiter_end_and_join(&it);
	destroy(rt);
}

/* ---- many threads -------------------------------------------------------- */

#define THREADS 4u
#define ROUNDS  20000u

/* Adds up what its wakers left in their mailboxes. */
struct adder {
	struct skua_task task; /* first: a task is its adder */
	atomic_u32 mail[THREADS];
	uint64_t sum;
	uint64_t goal;
};

static enum skua_poll adder_poll(struct skua_task *self)
{
	struct adder *it = (struct adder *)self;

	for (unsigned n = 0; n < THREADS; n++)
		it->sum += atomic_exchange_acquire(&it->mail[n], 0);
	return it->sum == it->goal ? SKUA_DONE : SKUA_PENDING;
}

struct sender {
	struct adder *adder;
	struct skua_waker waker;
	unsigned index;
};

static void *send_all(void *arg)
{
	struct sender *it = arg;

	for (unsigned n = 0; n < ROUNDS; n++) {
		atomic_fetch_add_relaxed(&it->adder->mail[it->index], 1);
		skua_waker_wake_by_ref(it->waker);
	}
	skua_waker_drop(it->waker);
	return NULL;
}

TEST(waker_wake_by_ref__from_many_threads__none_is_lost)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct adder adder = { .task = SKUA_TASK_INIT(adder_poll),
			       .goal = (uint64_t)THREADS * ROUNDS };
	struct sender senders[THREADS];
	pthread_t threads[THREADS];

	spawn(rt, &adder.task);
	/* Not done before they have all sent: a waker can be made of it. */
	for (unsigned n = 0; n < THREADS; n++)
		senders[n] = (struct sender){ &adder,
					      skua_task_waker(&adder.task), n };
	for (unsigned n = 0; n < THREADS; n++)
		assert_int_equal(pthread_create(&threads[n], NULL, send_all,
						&senders[n]),
				 0);
	join(&adder.task);
	assert_int_equal(adder.sum, adder.goal);
	for (unsigned n = 0; n < THREADS; n++)
		assert_int_equal(pthread_join(threads[n], NULL), 0);
	destroy(rt);
}

/* Says which value it saw last. */
struct mirror {
	struct skua_task task; /* first: a task is its mirror */
	atomic_u32 value;
	atomic_u32 seen;
};

#define LAST_VALUE 12000u

static enum skua_poll mirror_poll(struct skua_task *self)
{
	struct mirror *it = (struct mirror *)self;
	/* Relaxed: the wake must order it. */
	uint32_t value = atomic_load_relaxed(&it->value);

	atomic_store_relaxed(&it->seen, value);
	return value == LAST_VALUE ? SKUA_DONE : SKUA_PENDING;
}

static struct gate noise_end;

static void *make_noise(void *arg)
{
	while (!gate_is_open(&noise_end))
		skua_waker_wake_by_ref(*(struct skua_waker *)arg);
	skua_waker_drop(*(struct skua_waker *)arg);
	return NULL;
}

/* If a wake that finds the task scheduled did nothing, a value would now and
 * then not be seen, and nobody would wake once more. */
TEST(waker_wake__queued_task__is_seen_by_the_next_poll)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct mirror it = { .task = SKUA_TASK_INIT(mirror_poll) };
	struct skua_waker waker;
	struct skua_waker noise;
	pthread_t thread;

	spawn(rt, &it.task);
	waker = skua_task_waker(&it.task);
	noise = skua_task_waker(&it.task);
	assert_int_equal(pthread_create(&thread, NULL, make_noise, &noise), 0);
	for (uint32_t value = 1; value <= LAST_VALUE; value++) {
		if (value == LAST_VALUE / 2) { /* and now without noise */
			gate_open(&noise_end);
			assert_int_equal(pthread_join(thread, NULL), 0);
		}
		atomic_store_relaxed(&it.value, value);
		skua_waker_wake_by_ref(waker);
		if (value % 3 != 0)
			continue;
		while (atomic_load_relaxed(&it.seen) != value)
			sched_yield();
	}
	skua_waker_drop(waker);
	join(&it.task);
	assert_int_equal(atomic_load_relaxed(&it.seen), LAST_VALUE);
	destroy(rt);
}
