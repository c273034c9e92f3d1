/* SPDX-License-Identifier: MIT */
/* test_join_poll.c - join a task from the poll of another one */
#include <pthread.h>

#include "skua/timer.h"
#include "tests/unit/tasks.h"

/* Joins its child at each poll, until that has ended. */
struct parent {
	struct skua_task task; /* first: a task is its parent */
	struct skua_task *child;
	atomic_u32 polls; /* begun */
	int code;         /* of the last try */
	unsigned again;   /* tries that said -EAGAIN */
};

static enum skua_poll parent_poll(struct skua_task *self)
{
	struct parent *it = (struct parent *)self;

	it->code = skua_task_join_poll(self, it->child);
	it->again += it->code == -EAGAIN;
	/* Release: the code. Pairs with parent_polls(). */
	atomic_fetch_add_release(&it->polls, 1);
	return it->code == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

static uint32_t parent_polls(struct parent *it)
{
	return atomic_load_acquire(&it->polls);
}

#define PARENT_INIT(of)                                            \
	{                                                          \
		.task = SKUA_TASK_INIT(parent_poll), .child = (of) \
	}

/* parent_start - spawn it; returns when it waits for its child */
static void parent_start(struct skua_runtime *rt, struct parent *it)
{
	spawn(rt, &it->task);
	while (parent_polls(it) == 0)
		sched_yield();
	wait_until_waiting(&it->task);
	assert_int_equal(it->code, -EAGAIN);
}

/* ---- with a deadline ------------------------------------------------------ */

/* The lines that skua/task.h has with skua_task_join_cancel(). */
struct patient {
	struct skua_task task; /* first: a task is its patient */
	struct skua_task *child;
	struct skua_timer timer;
	uint64_t deadline_ns;
	bool begun;
	int code;
};

static enum skua_poll patient_poll(struct skua_task *self)
{
	struct patient *it = (struct patient *)self;
	int code;

	if (!it->begun)
		skua_timer_add(self, &it->timer, it->deadline_ns);
	it->begun = true;
	code = skua_task_join_poll(self, it->child);
	if (code == -EAGAIN && !skua_timer_pending(&it->timer))
		code = skua_task_join_cancel(self, it->child) ? -EAGAIN
							      : -ETIMEDOUT;
	if (code == -EAGAIN)
		return SKUA_PENDING;
	skua_timer_cancel(&it->timer);
	it->code = code;
	return SKUA_DONE;
}

static int patient_join(struct skua_runtime *rt, struct skua_task *child,
			uint64_t patience_ns)
{
	struct patient it = { .task = SKUA_TASK_INIT(patient_poll),
			      .child = child,
			      .deadline_ns = skua_now_ns() + patience_ns };

	spawn(rt, &it.task);
	join(&it.task);
	return it.code;
}

TEST(join_poll__deadline__timed_out_or_joined)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct waiter child = WAITER_INIT;

	waiter_start(rt, &child);
	for (unsigned round = 0; round < 200; round++)
		assert_int_equal(patient_join(rt, &child.task, round * 1000),
				 -ETIMEDOUT);
	waiter_end(&child);
	assert_int_equal(patient_join(rt, &child.task, SKUA_FOREVER_NS / 2), 0);
	/* Beside the end. */
	for (unsigned round = 0; round < 2000; round++) {
		struct counter counter = COUNTER_INIT;
		int code;

		spawn(rt, &counter.task);
		code = patient_join(rt, &counter.task, round % 50 * 1000);
		if (code)
			assert_int_equal(code, -ETIMEDOUT);
		if (code)
			join(&counter.task);
	}
	destroy(rt);
}

/* ---- refused ------------------------------------------------------------- */

struct pair {
	struct skua_task *self;
	struct skua_task *task;
};

/* skua_task_join_poll() in the poll of some task; NULL: that task itself. */
static int join_pair(struct skua_task *self, void *arg)
{
	struct pair *pair = arg;

	return skua_task_join_poll(pair->self ? pair->self : self, pair->task);
}

TEST(join_poll__null_itself_never_spawned__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct pair pair = { NULL, &counter.task };
	struct parent itself = PARENT_INIT(&itself.task);

	assert_int_equal(skua_task_join_poll(NULL, &counter.task), -EINVAL);
	assert_int_equal(skua_task_join_poll(&counter.task, NULL), -EINVAL);
	assert_int_equal(call_in_poll(rt, join_pair, &pair), -EINVAL);
	pair.task = NULL;
	assert_int_equal(call_in_poll(rt, join_pair, &pair), -EINVAL);
	spawn(rt, &itself.task);
	join(&itself.task);
	assert_int_equal(itself.code, -EINVAL);
	/* The refusals left no mark. */
	spawn(rt, &counter.task);
	join(&counter.task);
	destroy(rt);
}

TEST(join_poll__self_is_not_polled__eperm)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct waiter child = WAITER_INIT;
	struct waiter waiting = WAITER_INIT;
	struct holder holder = HOLDER_INIT;
	struct pair pair = { &waiting.task, &child.task };

	waiter_start(rt, &child);
	waiter_start(rt, &waiting);
	holder_hold(rt, &holder);
	/* Outside; and in the poll of another task. */
	assert_int_equal(skua_task_join_poll(&waiting.task, &child.task),
			 -EPERM);
	assert_int_equal(call_in_poll(rt, join_pair, &pair), -EPERM);
	/* It is polled, but not here. */
	pair.self = &holder.task;
	assert_int_equal(skua_task_join_poll(&holder.task, &child.task),
			 -EPERM);
	assert_int_equal(call_in_poll(rt, join_pair, &pair), -EPERM);
	holder_end(&holder);
	waiter_end(&waiting);
	join(&waiting.task);
	waiter_end(&child);
	join(&child.task); /* nobody else had the right */
	destroy(rt);
}

static void *join_it(void *arg)
{
	return (void *)(intptr_t)skua_task_join(arg);
}

TEST(join_poll__detached_or_joined_by_others__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter child = WAITER_INIT;
	struct parent parent = PARENT_INIT(&child.task);
	struct pair pair = { NULL, &child.task };
	pthread_t thread;
	void *code;

	/* A thread joins. */
	waiter_start(rt, &child);
	assert_int_equal(pthread_create(&thread, NULL, join_it, &child.task),
			 0);
	wait_for_state(&child.task, TASK_END_THREAD);
	assert_int_equal(call_in_poll(rt, join_pair, &pair), -EALREADY);
	waiter_end(&child);
	assert_int_equal(pthread_join(thread, &code), 0);
	assert_int_equal((intptr_t)code, 0);
	/* A task does. */
	child = (struct waiter)WAITER_INIT;
	waiter_start(rt, &child);
	parent_start(rt, &parent);
	assert_int_equal(call_in_poll(rt, join_pair, &pair), -EALREADY);
	assert_int_equal(skua_task_join(&child.task), -EALREADY);
	assert_int_equal(skua_task_detach(&child.task, NULL), -EALREADY);
	waiter_end(&child);
	join(&parent.task);
	/* It is detached, before its end and after. */
	child = (struct waiter)WAITER_INIT;
	waiter_start(rt, &child);
	assert_int_equal(skua_task_detach(&child.task, NULL), 0);
	assert_int_equal(call_in_poll(rt, join_pair, &pair), -EALREADY);
	waiter_end(&child);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(call_in_poll(rt, join_pair, &pair), -EALREADY);
	destroy(rt);
}

/* ---- joins --------------------------------------------------------------- */

TEST(join_poll__ended_already__0_at_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter child = COUNTER_INIT;
	struct parent parent = PARENT_INIT(&child.task);

	for (unsigned n = 1; n <= 100; n++) {
		spawn(rt, &child.task);
		wait_until_done(&child.task);
		spawn(rt, &parent.task);
		join(&parent.task);
		assert_int_equal(parent.code, 0);
		assert_int_equal(parent_polls(&parent), n);
		assert_int_equal(child.polls, n);
		assert_int_equal(state_of(&child.task), TASK_IDLE);
	}
	assert_int_equal(parent.again, 0);
	destroy(rt);
}

/* A task waits for a child of that runtime, which then ends. */
static void wait_for_the_end(struct skua_runtime *rt,
			     struct skua_runtime *of_child,
			     struct waiter *child)
{
	struct parent parent = PARENT_INIT(&child->task);

	waiter_start(of_child, child);
	parent_start(rt, &parent);
	waiter_end(child);
	join(&parent.task);
	assert_int_equal(parent.code, 0);
	assert_int_equal(parent_polls(&parent), 2);
}

TEST(join_poll__end_of_the_joined__wakes_the_joiner)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned n = 0; n < 200; n++) {
		struct waiter child = WAITER_INIT;

		wait_for_the_end(rt, rt, &child);
		/* It is the joiner's, and as if it had never been spawned. */
		assert_int_equal(skua_task_join(&child.task), -EINVAL);
		assert_int_equal(child.ends, 1);
	}
	destroy(rt);
}

TEST(join_poll__joiner_polled_without_cause__eagain)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter child = WAITER_INIT;
	struct parent parent = PARENT_INIT(&child.task);

	waiter_start(rt, &child);
	parent_start(rt, &parent);
	for (uint32_t polls = 2; polls < 100; polls++) {
		skua_waker_wake(skua_task_waker(&parent.task));
		while (parent_polls(&parent) < polls)
			sched_yield();
		wait_until_waiting(&parent.task);
		assert_int_equal(parent.code, -EAGAIN);
		/* That of the thread that ends the child. */
		assert_int_equal(wakers_of(&parent.task), 1);
	}
	waiter_end(&child);
	join(&parent.task);
	assert_int_equal(parent.code, 0);
	assert_int_equal(parent.again, 99);
	destroy(rt);
}

TEST(join_poll__child_has_a_waker_left__not_before_its_drop)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter child = WAITER_INIT;
	struct parent parent = PARENT_INIT(&child.task);
	struct skua_waker waker;

	waiter_start(rt, &child);
	waker = skua_task_waker(&child.task);
	parent_start(rt, &parent);
	waiter_end(&child);
	wait_until_done(&child.task);
	skua_waker_wake(skua_task_waker(&parent.task));
	while (parent_polls(&parent) < 2)
		sched_yield();
	wait_until_waiting(&parent.task);
	assert_int_equal(parent.code, -EAGAIN);
	skua_waker_drop(waker);
	join(&parent.task);
	assert_int_equal(parent.code, 0);
	destroy(rt);
}

/* Asks once, and then ends. */
static enum skua_poll ask_and_leave(struct skua_task *self)
{
	parent_poll(self);
	return SKUA_DONE;
}

TEST(join_poll__joiner_ends_first__both_end)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter child = WAITER_INIT;
	struct parent parent = { .task = SKUA_TASK_INIT(ask_and_leave),
				 .child = &child.task };

	waiter_start(rt, &child);
	spawn(rt, &parent.task);
	wait_until_done(&parent.task);
	assert_int_equal(parent.code, -EAGAIN);
	/* The thread that ends the child still holds on to it. */
	assert_int_equal(wakers_of(&parent.task), 1);
	waiter_end(&child);
	join(&parent.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(child.ends, 1);
	assert_int_equal(parent_polls(&parent), 1);
	destroy(rt);
}

TEST(join_poll__child_on_another_runtime__wakes_across)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);

	for (unsigned n = 0; n < 200; n++) {
		struct waiter child = WAITER_INIT;

		wait_for_the_end(rt, other, &child);
	}
	destroy(rt);
	destroy(other);
}

/* The end of the child and the question meet at every moment. */
TEST(join_poll__beside_the_end__each_is_told)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter child = COUNTER_INIT;
	struct parent parent = PARENT_INIT(&child.task);

	for (unsigned n = 1; n <= 5000; n++) {
		spawn(rt, &child.task);
		spawn(rt, &parent.task);
		join(&parent.task);
		assert_int_equal(parent.code, 0);
		assert_int_equal(child.polls, n);
	}
	destroy(rt);
}

/* ---- chains -------------------------------------------------------------- */

#define CHAIN 100000u

static void *drop_waker(void *arg)
{
	skua_waker_drop(*(struct skua_waker *)arg);
	return NULL;
}

/* On a stack that a recursion would overflow. */
static void drop_on_a_small_stack(struct skua_waker waker)
{
	pthread_attr_t attr;
	pthread_t thread;

	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, 256 * 1024), 0);
	assert_int_equal(pthread_create(&thread, &attr, drop_waker, &waker), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attr);
}

/* Each asked for the next one and left: the end of the last ends them all. */
TEST(join_poll__chain_of_100000_done__one_drop_ends_all)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct parent *parents = calloc(CHAIN, sizeof(*parents));
	struct waiter last = WAITER_INIT;
	struct skua_waker waker;

	assert_non_null(parents);
	waiter_start(rt, &last);
	waker = skua_task_waker(&last.task);
	waiter_end(&last);
	for (unsigned n = CHAIN; n-- > 0;) {
		parents[n] = (struct parent){
			.task = SKUA_TASK_INIT(ask_and_leave),
			.child = n == CHAIN - 1 ? &last.task
						: &parents[n + 1].task
		};
		spawn(rt, &parents[n].task);
	}
	assert_int_equal(skua_runtime_drain(rt), 0);
	for (unsigned n = 0; n < CHAIN; n++) {
		assert_int_equal(parents[n].code, -EAGAIN);
		assert_int_equal(wakers_of(&parents[n].task), 1);
	}
	drop_on_a_small_stack(waker);
	join(&parents[0].task);
	for (unsigned n = 0; n < CHAIN; n++)
		assert_int_equal(
			task_state_references(state_of(&parents[n].task)), 0);
	free(parents);
	destroy(rt);
}

/* Each waits for the next one. */
TEST(join_poll__chain_of_100000_waiting__all_are_told)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct parent *parents = calloc(CHAIN, sizeof(*parents));
	struct waiter last = WAITER_INIT;

	assert_non_null(parents);
	waiter_start(rt, &last);
	for (unsigned n = CHAIN; n-- > 0;) {
		parents[n] = (struct parent)PARENT_INIT(
			n == CHAIN - 1 ? &last.task : &parents[n + 1].task);
		spawn(rt, &parents[n].task);
	}
	waiter_end(&last);
	join(&parents[0].task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	for (unsigned n = 0; n < CHAIN; n++)
		assert_int_equal(parents[n].code, 0);
	free(parents);
	destroy(rt);
}

/* ---- join_cancel ------------------------------------------------------------- */

/* Begins a join, gives it up at the next poll, and ends. */
struct quitter {
	struct skua_task task; /* first: a task is its quitter */
	struct skua_task *child;
	unsigned polls;
	int codes[4];
};

static enum skua_poll quitter_poll(struct skua_task *self)
{
	struct quitter *it = (struct quitter *)self;

	if (it->polls++ == 0) {
		it->codes[0] = skua_task_join_cancel(self, it->child);
		it->codes[1] = skua_task_join_poll(self, it->child);
		return SKUA_PENDING;
	}
	it->codes[2] = skua_task_join_cancel(self, it->child);
	it->codes[3] = skua_task_join_cancel(self, it->child);
	return SKUA_DONE;
}

TEST(join_cancel__bad_arguments__einval_or_eperm)
{
	struct counter one = COUNTER_INIT, two = COUNTER_INIT;

	assert_int_equal(skua_task_join_cancel(NULL, &one.task), -EINVAL);
	assert_int_equal(skua_task_join_cancel(&one.task, NULL), -EINVAL);
	assert_int_equal(skua_task_join_cancel(&one.task, &one.task), -EINVAL);
	assert_int_equal(skua_task_join_cancel(&one.task, &two.task), -EPERM);
}

/* Afterwards neither knows the other: each is joined by a thread. */
TEST(join_cancel__child_runs__others_may_join)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct waiter child = WAITER_INIT;
	struct quitter quitter = { .task = SKUA_TASK_INIT(quitter_poll),
				   .child = &child.task };

	spawn(rt, &child.task);
	wait_until_waiting(&child.task);
	spawn(rt, &quitter.task);
	wait_until_waiting(&quitter.task);
	assert_int_equal(skua_task_join_until(&child.task, 0), -EALREADY);
	skua_waker_wake(skua_task_waker(&quitter.task));
	assert_int_equal(skua_task_join(&quitter.task), 0);
	assert_int_equal(quitter.codes[0], -EINVAL);
	assert_int_equal(quitter.codes[1], -EAGAIN);
	assert_int_equal(quitter.codes[2], 0);
	assert_int_equal(quitter.codes[3], -EINVAL);
	assert_int_equal(skua_task_join_until(&child.task, 0), -ETIMEDOUT);
	waiter_end(&child);
	join(&child.task);
	destroy(rt);
}

TEST(join_cancel__child_has_ended__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter child = WAITER_INIT;
	struct quitter quitter = { .task = SKUA_TASK_INIT(quitter_poll),
				   .child = &child.task };

	spawn(rt, &child.task);
	wait_until_waiting(&child.task);
	spawn(rt, &quitter.task);
	wait_until_waiting(&quitter.task);
	waiter_end(&child); /* which wakes the quitter */
	assert_int_equal(skua_task_join(&quitter.task), 0);
	assert_int_equal(quitter.codes[2], -EALREADY);
	assert_int_equal(quitter.codes[3], -EALREADY);
	destroy(rt);
}
