/* SPDX-License-Identifier: MIT */
/* test_task.c - the public functions on tasks, and the order they run in */
#include <pthread.h>

#include "core/runtime.h"
#include "core/task.h"
#include "tests/unit/support.h"

/* ---- helpers ------------------------------------------------------------ */

/* Counts its polls, in plain memory: what the library does must order it. */
struct counter {
	struct skua_task task; /* first: a task is its counter */
	unsigned polls;
};

static enum skua_poll count_poll(struct skua_task *self)
{
	((struct counter *)self)->polls++;
	return SKUA_DONE;
}

#define COUNTER_INIT                               \
	{                                          \
		.task = SKUA_TASK_INIT(count_poll) \
	}

static uint64_t state_of(struct skua_task *task)
{
	/* Acquire: a test acts on what it sees. */
	return atomic_load_acquire(task_state(task));
}

static void wait_for_state(struct skua_task *task, uint64_t bit)
{
	while (!(state_of(task) & bit))
		sched_yield();
}

static void spawn(struct skua_runtime *rt, struct skua_task *task)
{
	assert_int_equal(skua_task_spawn(rt, task), 0);
}

/* ---- initialisation ----------------------------------------------------- */

static void task_init__null__einval(void **state)
{
	struct skua_task task;

	(void)state;
	assert_int_equal(skua_task_init(NULL, count_poll), -EINVAL);
	assert_int_equal(skua_task_init(&task, NULL), -EINVAL);
	assert_int_equal(skua_task_init(NULL, NULL), -EINVAL);
}

static void task_init__used_memory__equals_the_initialiser(void **state)
{
	struct skua_task by_macro = SKUA_TASK_INIT(count_poll);
	struct skua_task by_call;

	(void)state;
	memset(&by_call, 0xa5, sizeof(by_call));
	assert_int_equal(skua_task_init(&by_call, count_poll), 0);
	assert_memory_equal(&by_call, &by_macro, sizeof(by_call));
}

/* ---- spawn -------------------------------------------------------------- */

static void task_spawn__null_or_no_poll__einval(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct skua_task without_poll = SKUA_TASK_INIT(NULL);

	(void)state;
	assert_int_equal(skua_task_spawn(NULL, &counter.task), -EINVAL);
	assert_int_equal(skua_task_spawn(rt, NULL), -EINVAL);
	assert_int_equal(skua_task_spawn(rt, &without_poll), -EINVAL);
	spawn(rt, &counter.task); /* still as it was initialised */
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(counter.polls, 1);
}

static void task_spawn__queued_running_or_not_joined__ealready(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct holder holder = HOLDER_INIT;

	(void)state;
	holder_hold(rt, &holder);
	spawn(rt, &counter.task);
	assert_int_equal(skua_task_spawn(rt, &counter.task), -EALREADY);
	assert_int_equal(skua_task_spawn(rt, &holder.task), -EALREADY);
	holder_end(&holder);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(skua_task_spawn(rt, &counter.task), -EALREADY);
	assert_int_equal(counter.polls, 1);
	assert_int_equal(skua_task_join(&counter.task), 0);
	spawn(rt, &counter.task);
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(counter.polls, 2);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static void task_spawn__after_join__runs_again_each_time(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter counter = COUNTER_INIT;

	(void)state;
	for (unsigned n = 1; n <= 2000; n++) {
		spawn(rt, &counter.task);
		assert_int_equal(skua_task_join(&counter.task), 0);
		assert_int_equal(counter.polls, n);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static void task_spawn__after_drain_and_init__runs_again(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter counter = COUNTER_INIT;

	(void)state;
	for (unsigned n = 1; n <= 200; n++) {
		assert_int_equal(skua_task_init(&counter.task, count_poll), 0);
		spawn(rt, &counter.task);
		assert_int_equal(skua_runtime_drain(rt), 0);
		assert_int_equal(counter.polls, n);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static void task_spawn__on_another_runtime_after_join__runs(void **state)
{
	struct skua_runtime *a = runtime_new(1, 0);
	struct skua_runtime *b = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	(void)state;
	spawn(a, &counter.task);
	assert_int_equal(skua_task_join(&counter.task), 0);
	spawn(b, &counter.task);
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(counter.polls, 2);
	assert_int_equal(skua_runtime_destroy(a), 0);
	assert_int_equal(skua_runtime_destroy(b), 0);
}

/* What a task tried on itself or with the runtime, from inside its poll. */
struct prober {
	struct skua_task task; /* first: a task is its prober */
	struct skua_task *other;
	int codes[8];
};

static enum skua_poll spawn_itself(struct skua_task *self)
{
	struct prober *prober = (struct prober *)self;

	prober->codes[0] = skua_task_spawn(self->runtime, self);
	return SKUA_DONE;
}

static void task_spawn__by_the_running_task_itself__ealready(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct prober prober = { .task = SKUA_TASK_INIT(spawn_itself) };

	(void)state;
	spawn(rt, &prober.task);
	assert_int_equal(skua_task_join(&prober.task), 0);
	assert_int_equal(prober.codes[0], -EALREADY);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static struct skua_runtime *signalled_rt;
static struct counter signalled = COUNTER_INIT;
static int signalled_code;

static void spawn_from_handler(int signal)
{
	(void)signal;
	signalled_code = skua_task_spawn(signalled_rt, &signalled.task);
}

static void task_spawn__from_a_signal_handler__runs(void **state)
{
	const struct sigaction action = { .sa_handler = spawn_from_handler };
	struct sigaction before;

	(void)state;
	signalled_rt = runtime_new(1, 0);
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	for (unsigned n = 1; n <= 100; n++) {
		signalled_code = 1;
		assert_int_equal(raise(SIGUSR1), 0);
		assert_int_equal(signalled_code, 0);
		assert_int_equal(skua_task_join(&signalled.task), 0);
		assert_int_equal(signalled.polls, n);
	}
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	assert_int_equal(skua_runtime_destroy(signalled_rt), 0);
}

/* ---- join --------------------------------------------------------------- */

static void task_join__null_or_never_spawned__einval(void **state)
{
	struct counter counter = COUNTER_INIT;

	(void)state;
	assert_int_equal(skua_task_join(NULL), -EINVAL);
	assert_int_equal(skua_task_join(&counter.task), -EINVAL);
	assert_int_equal(skua_task_join(&counter.task), -EINVAL);
}

static void task_join__joined_already__einval(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	(void)state;
	spawn(rt, &counter.task);
	assert_int_equal(skua_task_join(&counter.task), 0);
	/* As if it had never been spawned. */
	assert_int_equal(skua_task_join(&counter.task), -EINVAL);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

struct joiner {
	struct skua_task *task;
	int code;
};

static void *join_task(void *arg)
{
	struct joiner *joiner = arg;

	joiner->code = skua_task_join(joiner->task);
	return NULL;
}

static void task_join__before_the_task_runs__returns_after_it(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct holder holder = HOLDER_INIT;
	struct joiner joiner = { &counter.task, 1 };
	pthread_t thread;

	(void)state;
	holder_hold(rt, &holder);
	spawn(rt, &counter.task);
	assert_int_equal(pthread_create(&thread, NULL, join_task, &joiner), 0);
	wait_for_state(&counter.task, TASK_JOIN_WAITING);
	assert_true(state_of(&counter.task) & TASK_SCHEDULED);
	holder_end(&holder);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(joiner.code, 0);
	assert_int_equal(counter.polls, 1);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static void task_join__while_the_task_runs__returns_after_it(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct joiner joiner = { &holder.task, 1 };
	pthread_t thread;

	(void)state;
	holder_hold(rt, &holder);
	assert_int_equal(pthread_create(&thread, NULL, join_task, &joiner), 0);
	wait_for_state(&holder.task, TASK_JOIN_WAITING);
	assert_true(state_of(&holder.task) & TASK_RUNNING);
	gate_open(&holder.go_on);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(joiner.code, 0);
	assert_int_equal(state_of(&holder.task), TASK_IDLE);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static void task_join__after_the_task_ended__returns_at_once(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	(void)state;
	spawn(rt, &counter.task);
	wait_for_state(&counter.task, TASK_COMPLETE);
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(counter.polls, 1);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static void task_join__runtime_destroyed_meanwhile__returns_0(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	(void)state;
	spawn(rt, &counter.task);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(counter.polls, 1);
}

static void task_join__second_joiner__ealready(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct joiner joiner = { &holder.task, 1 };
	pthread_t thread;

	(void)state;
	holder_hold(rt, &holder);
	assert_int_equal(pthread_create(&thread, NULL, join_task, &joiner), 0);
	wait_for_state(&holder.task, TASK_JOIN_WAITING);
	assert_int_equal(skua_task_join(&holder.task), -EALREADY);
	assert_int_equal(skua_task_detach(&holder.task, NULL), -EALREADY);
	gate_open(&holder.go_on);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(joiner.code, 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static void task_join__detached__ealready(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;

	(void)state;
	holder_hold(rt, &holder);
	assert_int_equal(skua_task_detach(&holder.task, NULL), 0);
	assert_int_equal(skua_task_join(&holder.task), -EALREADY);
	gate_open(&holder.go_on);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(skua_task_join(&holder.task), -EALREADY);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static enum skua_poll join_others(struct skua_task *self)
{
	struct prober *prober = (struct prober *)self;

	prober->codes[0] = skua_task_join(prober->other);
	prober->codes[1] = skua_task_join(self);
	prober->codes[2] = skua_task_join(NULL);
	return SKUA_DONE;
}

static void task_join__inside_a_poll__edeadlk(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct prober prober = { .task = SKUA_TASK_INIT(join_others),
				 .other = &counter.task };

	(void)state;
	spawn(other, &counter.task);
	spawn(rt, &prober.task);
	assert_int_equal(skua_task_join(&prober.task), 0);
	assert_int_equal(prober.codes[0], -EDEADLK);
	assert_int_equal(prober.codes[1], -EDEADLK);
	assert_int_equal(prober.codes[2], -EINVAL);
	/* The refused join left no mark. */
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(skua_runtime_destroy(other), 0);
}

/* The end of the task and the join of it meet at every moment. */
static void task_join__many_beside_their_end__each_returns(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter counters[16];

	(void)state;
	for (unsigned c = 0; c < 16; c++)
		counters[c] = (struct counter)COUNTER_INIT;
	for (unsigned n = 1; n <= 500; n++) {
		for (unsigned c = 0; c < 16; c++)
			spawn(rt, &counters[c].task);
		for (unsigned c = 0; c < 16; c++) {
			assert_int_equal(skua_task_join(&counters[c].task), 0);
			assert_int_equal(counters[c].polls, n);
		}
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- detach ------------------------------------------------------------- */

/* A task that notes its releases. */
struct released {
	struct holder holder; /* first: a task is its released */
	unsigned releases;
	int worker;
};

static void note_release(struct skua_task *task)
{
	struct released *it = (struct released *)task;

	it->releases++;
	it->worker = skua_worker_index(task->runtime);
}

#define RELEASED_INIT                               \
	{                                           \
		.holder = HOLDER_INIT, .worker = -1 \
	}

static void task_detach__null__einval(void **state)
{
	(void)state;
	assert_int_equal(skua_task_detach(NULL, note_release), -EINVAL);
	assert_int_equal(skua_task_detach(NULL, NULL), -EINVAL);
}

static void task_detach__twice__ealready_and_one_release(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct released it = RELEASED_INIT;

	(void)state;
	assert_int_equal(skua_task_detach(&it.holder.task, note_release), 0);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release),
			 -EALREADY);
	holder_hold(rt, &it.holder);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release),
			 -EALREADY);
	gate_open(&it.holder.go_on);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release),
			 -EALREADY);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(it.releases, 1);
}

static void task_detach__before_spawn__released_once_on_the_worker(void **s)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct released it = RELEASED_INIT;

	(void)s;
	assert_int_equal(skua_task_detach(&it.holder.task, note_release), 0);
	assert_int_equal(it.releases, 0);
	/* Detached or not: it was never spawned. */
	assert_int_equal(skua_task_join(&it.holder.task), -EINVAL);
	gate_open(&it.holder.go_on);
	spawn(rt, &it.holder.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(it.releases, 1);
	assert_int_equal(it.worker, 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(it.releases, 1);
}

static void task_detach__while_queued__released_once_on_the_worker(void **s)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct released it = RELEASED_INIT;

	(void)s;
	holder_hold(rt, &holder);
	gate_open(&it.holder.go_on);
	spawn(rt, &it.holder.task);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release), 0);
	assert_int_equal(it.releases, 0);
	holder_end(&holder);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(it.releases, 1);
	assert_int_equal(it.worker, 0);
}

static void task_detach__while_running__released_once_on_the_worker(void **s)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct released it = RELEASED_INIT;

	(void)s;
	holder_hold(rt, &it.holder);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release), 0);
	assert_int_equal(it.releases, 0);
	gate_open(&it.holder.go_on);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(it.releases, 1);
	assert_int_equal(it.worker, 0);
}

static void task_detach__when_done__released_once_from_the_call(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct released it = RELEASED_INIT;

	(void)state;
	gate_open(&it.holder.go_on);
	spawn(rt, &it.holder.task);
	wait_for_state(&it.holder.task, TASK_COMPLETE);
	assert_int_equal(skua_task_detach(&it.holder.task, note_release), 0);
	assert_int_equal(it.releases, 1);
	assert_int_equal(it.worker, -ENOENT);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(it.releases, 1);
}

static enum skua_poll detach_itself(struct skua_task *self)
{
	struct released *it = (struct released *)self;

	if (skua_task_detach(self, note_release) != 0)
		it->releases = 100;
	return SKUA_DONE;
}

static void task_detach__by_the_running_task_itself__released_once(void **s)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct released it = RELEASED_INIT;

	(void)s;
	assert_int_equal(skua_task_init(&it.holder.task, detach_itself), 0);
	spawn(rt, &it.holder.task);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(it.releases, 1);
	assert_int_equal(it.worker, 0);
}

static void task_detach__no_release__memory_free_after_drain(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	(void)state;
	for (unsigned n = 0; n < 100; n++) {
		struct counter *counter = malloc(sizeof(*counter));

		assert_non_null(counter);
		*counter = (struct counter)COUNTER_INIT;
		assert_int_equal(skua_task_detach(&counter->task, NULL), 0);
		spawn(rt, &counter->task);
		assert_int_equal(skua_runtime_drain(rt), 0);
		assert_int_equal(counter->polls, 1);
		free(counter);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static atomic_u32 freed;

static void free_task(struct skua_task *task)
{
	free(task);
	atomic_fetch_add_relaxed(&freed, 1);
}

/* AddressSanitizer sees any touch after the release. */
static void task_detach__release_frees__never_touched_again(void **state)
{
	const unsigned count = 3000;
	struct skua_runtime *rt = runtime_new(2, 0);

	(void)state;
	atomic_store_relaxed(&freed, 0);
	for (unsigned n = 0; n < count; n++) {
		struct counter *counter = malloc(sizeof(*counter));

		assert_non_null(counter);
		*counter = (struct counter)COUNTER_INIT;
		if (n % 2)
			assert_int_equal(
				skua_task_detach(&counter->task, free_task), 0);
		spawn(rt, &counter->task);
		if (n % 2 == 0)
			assert_int_equal(
				skua_task_detach(&counter->task, free_task), 0);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(atomic_load_relaxed(&freed), count);
}

struct phoenix {
	struct skua_task task; /* first: a task is its phoenix */
	unsigned lives;
	unsigned wrong;
};

static void rise_again(struct skua_task *task)
{
	struct phoenix *it = (struct phoenix *)task;
	struct skua_runtime *rt = task->runtime;

	if (--it->lives == 0)
		return;
	it->wrong += skua_task_init(task, task->poll) != 0;
	it->wrong += skua_task_detach(task, rise_again) != 0;
	it->wrong += skua_task_spawn(rt, task) != 0;
}

static enum skua_poll do_nothing(struct skua_task *self)
{
	(void)self;
	return SKUA_DONE;
}

static void task_detach__release_spawns_it_anew__runs_again(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct phoenix it = { .task = SKUA_TASK_INIT(do_nothing),
			      .lives = 1000 };

	(void)state;
	assert_int_equal(skua_task_detach(&it.task, rise_again), 0);
	spawn(rt, &it.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(it.lives, 0);
	assert_int_equal(it.wrong, 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- order -------------------------------------------------------------- */

#define LOG_MAX 600u

static struct {
	unsigned who[LOG_MAX];
	unsigned count;
} order; /* of polls on one worker; read after a drain */

static void log_poll(unsigned who)
{
	if (order.count < LOG_MAX)
		order.who[order.count++] = who;
}

struct logger {
	struct skua_task task; /* first: a task is its logger */
	unsigned who;
	unsigned yields;
	struct logger *children; /* spawned at the first poll */
	unsigned child_count;
};

static enum skua_poll log_and_yield(struct skua_task *self)
{
	struct logger *it = (struct logger *)self;

	log_poll(it->who);
	for (; it->child_count > 0; it->child_count--)
		skua_task_spawn(self->runtime, &it->children++->task);
	return it->yields-- > 0 ? SKUA_YIELD : SKUA_DONE;
}

static void loggers_init(struct logger *loggers, unsigned count,
			 unsigned yields)
{
	order.count = 0;
	for (unsigned n = 0; n < count; n++)
		loggers[n] = (struct logger){
			.task = SKUA_TASK_INIT(log_and_yield),
			.who = n,
			.yields = yields,
		};
}

/* As many as one worker takes in one batch. */
static void task_spawn__from_outside__runs_first_in_first_out(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct logger loggers[50];
	struct holder holder = HOLDER_INIT;

	(void)state;
	loggers_init(loggers, 50, 0);
	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 50; n++)
		spawn(rt, &loggers[n].task);
	holder_end(&holder);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(order.count, 50);
	for (unsigned n = 0; n < 50; n++)
		assert_int_equal(order.who[n], n);
}

static void task_spawn__from_a_task__newest_first_then_fifo(void **state)
{
	static const unsigned expected[] = { 0, 5, 1, 2, 3, 4 };
	struct skua_runtime *rt = runtime_new(1, 0);
	struct logger loggers[6];

	(void)state;
	loggers_init(loggers, 6, 0);
	loggers[0].children = &loggers[1];
	loggers[0].child_count = 5;
	spawn(rt, &loggers[0].task);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(order.count, COUNT_OF(expected));
	for (unsigned n = 0; n < COUNT_OF(expected); n++)
		assert_int_equal(order.who[n], expected[n]);
}

static void task_yield__two_on_one_worker__alternate(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct logger loggers[3];

	(void)state;
	loggers_init(loggers, 3, 200);
	loggers[0].yields = 0;
	loggers[0].children = &loggers[1];
	loggers[0].child_count = 2;
	spawn(rt, &loggers[0].task);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(order.count, 1 + 2 * 201);
	for (unsigned n = 2; n < order.count; n++)
		assert_int_equal(order.who[n] + order.who[n - 1], 1 + 2);
}

static void task_yield__alone__is_polled_to_its_end(void **state)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct logger logger;

	(void)state;
	loggers_init(&logger, 1, 500);
	spawn(rt, &logger.task);
	assert_int_equal(skua_task_join(&logger.task), 0);
	assert_int_equal(order.count, 501);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* Keeps its worker busy until its gate is open. */
struct yielder {
	struct skua_task task; /* first: a task is its yielder */
	struct gate running;
	struct gate *end;
};

static enum skua_poll yield_until_open(struct skua_task *self)
{
	struct yielder *it = (struct yielder *)self;

	gate_open(&it->running);
	return gate_is_open(it->end) ? SKUA_DONE : SKUA_YIELD;
}

static enum skua_poll open_a_gate(struct skua_task *self)
{
	gate_open(((struct yielder *)self)->end);
	return SKUA_DONE;
}

/* If the local queue always came first, the third would never run. */
static void design_4_13__worker_is_busy__injected_task_gets_its_turn(void **s)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct gate end = { 0 };
	struct yielder first = { .task = SKUA_TASK_INIT(yield_until_open),
				 .end = &end };
	struct yielder second = first;
	struct yielder third = { .task = SKUA_TASK_INIT(open_a_gate),
				 .end = &end };

	(void)s;
	spawn(rt, &first.task);
	spawn(rt, &second.task);
	gate_wait(&first.running);
	gate_wait(&second.running);
	spawn(rt, &third.task);
	assert_int_equal(skua_task_join(&third.task), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- the LIFO slot's cap ------------------------------------------------ */

#define CHAINS 8u

/* Each spawns itself anew through its release, as the newest: without the cap
 * the first one would run to its end before any other had its turn. */
struct chain {
	struct skua_task task; /* first: a task is its chain */
	unsigned links;
};

static struct {
	uint64_t hits; /* of the LIFO slot, at the last poll */
	unsigned streak;
	unsigned longest;
	unsigned waited; /* streaks of three while others waited */
} lifo;

static enum skua_poll chain_poll(struct skua_task *self)
{
	struct skua_worker_stats stats;

	skua_worker_stats(self->runtime, 0, &stats);
	lifo.streak = stats.lifo_hits == lifo.hits ? 0 : lifo.streak + 1;
	lifo.hits = stats.lifo_hits;
	if (lifo.streak > lifo.longest)
		lifo.longest = lifo.streak;
	lifo.waited += lifo.streak == 3 && stats.queue_depth > 0;
	return SKUA_DONE;
}

static void chain_on(struct skua_task *task)
{
	struct chain *chain = (struct chain *)task;
	struct skua_runtime *rt = task->runtime;

	if (--chain->links == 0)
		return;
	skua_task_init(task, chain_poll);
	skua_task_detach(task, chain_on);
	skua_task_spawn(rt, task);
}

static void task_spawn__chains_in_the_lifo_slot__three_in_a_row(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct chain chains[CHAINS];
	struct skua_stats stats;

	(void)state;
	memset(&lifo, 0, sizeof(lifo));
	holder_hold(rt, &holder);
	for (unsigned c = 0; c < CHAINS; c++) {
		chains[c] = (struct chain){ .task = SKUA_TASK_INIT(chain_poll),
					    .links = 100 };
		skua_task_detach(&chains[c].task, chain_on);
		spawn(rt, &chains[c].task);
	}
	holder_end(&holder);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(skua_stats(rt, &stats), 0);
	assert_int_equal(stats.total.tasks_polled, 1 + CHAINS * 100);
	assert_int_equal(lifo.longest, 3);
	assert_true(lifo.waited > CHAINS);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- design 4.7: foreigners --------------------------------------------- */

/* From outside a worker's own thread, nothing of the worker is written. */
static void expect_untouched(struct skua_runtime *rt, uint64_t injected)
{
	struct worker *worker = &rt->pool.workers[0];
	struct skua_stats stats;

	assert_false(lifo_slot_peek(&worker->lifo));
	assert_int_equal(local_queue_length(worker->queue), 0);
	assert_int_equal(atomic_load_relaxed(&worker->queue->tail), 0);
	assert_int_equal(skua_stats(rt, &stats), 0);
	assert_int_equal(stats.injection_depth, injected);
	assert_int_equal(stats.total.tasks_spawned, 0);
	assert_int_equal(stats.tasks_spawned, 1 + injected); /* the holder */
}

static void design_4_7__spawn_by_a_foreign_thread__is_injected(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counters[5];
	struct holder holder = HOLDER_INIT;
	struct skua_stats stats;

	(void)state;
	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 5; n++) {
		counters[n] = (struct counter)COUNTER_INIT;
		spawn(rt, &counters[n].task);
		expect_untouched(rt, n + 1);
	}
	holder_end(&holder);
	assert_int_equal(skua_runtime_drain(rt), 0);
	for (unsigned n = 0; n < 5; n++)
		assert_int_equal(counters[n].polls, 1);
	assert_int_equal(skua_stats(rt, &stats), 0);
	assert_int_equal(stats.total.lifo_hits, 0);
	assert_int_equal(stats.total.tasks_spawned, 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* Spawns its counters on a runtime that is not its own. */
struct envoy {
	struct skua_task task; /* first: a task is its envoy */
	struct skua_runtime *target;
	struct counter counters[5];
	int codes;
};

static enum skua_poll envoy_poll(struct skua_task *self)
{
	struct envoy *envoy = (struct envoy *)self;

	for (unsigned n = 0; n < COUNT_OF(envoy->counters); n++)
		envoy->codes |= skua_task_spawn(envoy->target,
						&envoy->counters[n].task);
	return SKUA_DONE;
}

static void design_4_7__spawn_by_another_runtimes_worker__is_injected(void **s)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *home = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct envoy envoy = { .task = SKUA_TASK_INIT(envoy_poll),
			       .target = rt };
	struct skua_stats stats;

	(void)s;
	for (unsigned n = 0; n < 5; n++)
		envoy.counters[n] = (struct counter)COUNTER_INIT;
	holder_hold(rt, &holder);
	spawn(home, &envoy.task);
	assert_int_equal(skua_task_join(&envoy.task), 0);
	assert_int_equal(envoy.codes, 0);
	expect_untouched(rt, 5);
	expect_untouched(home, 0); /* its "holder" is the envoy */
	holder_end(&holder);
	assert_int_equal(skua_runtime_drain(rt), 0);
	for (unsigned n = 0; n < 5; n++)
		assert_int_equal(envoy.counters[n].polls, 1);
	assert_int_equal(skua_stats(rt, &stats), 0);
	assert_int_equal(stats.total.lifo_hits, 0);
	assert_int_equal(skua_runtime_destroy(home), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- misuse ------------------------------------------------------------- */

#ifndef NDEBUG
static enum skua_poll poll_nonsense(struct skua_task *self)
{
	(void)self;
	return (enum skua_poll)1;
}

static void run_a_task_that_returns_1(void)
{
	const struct skua_config cfg = { .size = sizeof(cfg), .workers = 1 };
	static struct skua_task task = SKUA_TASK_INIT(poll_nonsense);
	struct skua_runtime *rt;

	if (skua_runtime_create(&rt, &cfg, NULL) == 0 &&
	    skua_task_spawn(rt, &task) == 0)
		skua_runtime_destroy(rt);
}
#endif

static void task_poll__returns_no_known_value__asserts(void **state)
{
	(void)state;
#ifdef NDEBUG
	skip_aloud(NO_ASSERTS);
#else
	assert_true(aborts(run_a_task_that_returns_1));
#endif
}

/* clang-format off */
static const struct CMUnitTest tests[] = {
	/* First: it forks, and some sanitizers want no threads before that. */
	cmocka_unit_test(task_poll__returns_no_known_value__asserts),
	cmocka_unit_test(task_init__null__einval),
	cmocka_unit_test(task_init__used_memory__equals_the_initialiser),
	cmocka_unit_test(task_spawn__null_or_no_poll__einval),
	cmocka_unit_test(task_spawn__queued_running_or_not_joined__ealready),
	cmocka_unit_test(task_spawn__after_join__runs_again_each_time),
	cmocka_unit_test(task_spawn__after_drain_and_init__runs_again),
	cmocka_unit_test(task_spawn__on_another_runtime_after_join__runs),
	cmocka_unit_test(task_spawn__by_the_running_task_itself__ealready),
	cmocka_unit_test(task_spawn__from_a_signal_handler__runs),
	cmocka_unit_test(task_join__null_or_never_spawned__einval),
	cmocka_unit_test(task_join__joined_already__einval),
	cmocka_unit_test(task_join__before_the_task_runs__returns_after_it),
	cmocka_unit_test(task_join__while_the_task_runs__returns_after_it),
	cmocka_unit_test(task_join__after_the_task_ended__returns_at_once),
	cmocka_unit_test(task_join__runtime_destroyed_meanwhile__returns_0),
	cmocka_unit_test(task_join__second_joiner__ealready),
	cmocka_unit_test(task_join__detached__ealready),
	cmocka_unit_test(task_join__inside_a_poll__edeadlk),
	cmocka_unit_test(task_join__many_beside_their_end__each_returns),
	cmocka_unit_test(task_detach__null__einval),
	cmocka_unit_test(task_detach__twice__ealready_and_one_release),
	cmocka_unit_test(task_detach__before_spawn__released_once_on_the_worker),
	cmocka_unit_test(task_detach__while_queued__released_once_on_the_worker),
	cmocka_unit_test(task_detach__while_running__released_once_on_the_worker),
	cmocka_unit_test(task_detach__when_done__released_once_from_the_call),
	cmocka_unit_test(task_detach__by_the_running_task_itself__released_once),
	cmocka_unit_test(task_detach__no_release__memory_free_after_drain),
	cmocka_unit_test(task_detach__release_frees__never_touched_again),
	cmocka_unit_test(task_detach__release_spawns_it_anew__runs_again),
	cmocka_unit_test(task_spawn__from_outside__runs_first_in_first_out),
	cmocka_unit_test(task_spawn__from_a_task__newest_first_then_fifo),
	cmocka_unit_test(task_yield__two_on_one_worker__alternate),
	cmocka_unit_test(task_yield__alone__is_polled_to_its_end),
	cmocka_unit_test(design_4_13__worker_is_busy__injected_task_gets_its_turn),
	cmocka_unit_test(task_spawn__chains_in_the_lifo_slot__three_in_a_row),
	cmocka_unit_test(design_4_7__spawn_by_a_foreign_thread__is_injected),
	cmocka_unit_test(design_4_7__spawn_by_another_runtimes_worker__is_injected),
};
/* clang-format on */

int main(void)
{
	return cmocka_run_group_tests_name("task", tests, NULL, NULL);
}
