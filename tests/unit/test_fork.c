/* SPDX-License-Identifier: MIT */
/* test_fork.c - a child of fork() has no workers, and is told so */

#include "core/loop/current.h"
#include "core/loop/worker.h"
#include "tests/unit/process.h"
#include "tests/unit/tasks.h"

#define NO_FORK "ThreadSanitizer allows no threads after a fork with threads"

static enum skua_poll put_off_look(struct skua_task *self)
{
	(void)self;
	current_here()->affinity_due_ns = UINT64_MAX;
	return SKUA_DONE;
}

/* Its workers do not look at the quota, for which they allocate: under
 * AddressSanitizer, a child that is forked meanwhile finds the allocator locked. */
static struct skua_runtime *runtime_quiet(void)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned i = 0; i < 2; i++) {
		struct skua_task task = SKUA_TASK_INIT(put_off_look);

		assert_int_equal(skua_task_spawn_on(rt, i, &task), 0);
		assert_int_equal(skua_task_join(&task), 0);
	}
	return rt;
}

/* Everything that a child may ask of the parent's runtime. */
static struct parent {
	struct skua_runtime *rt;
	struct waiter waiting;
	struct counter never; /* spawned */
	struct counter done;
	struct skua_waker waker;
	struct skua_group group;
	struct waiter member;
} parent;

static void parent_init(void)
{
	parent = (struct parent){ .rt = runtime_quiet(),
				  .waiting = WAITER_INIT,
				  .never = COUNTER_INIT,
				  .done = COUNTER_INIT,
				  .member = WAITER_INIT };
	waiter_start(parent.rt, &parent.waiting);
	parent.waker = skua_task_waker(&parent.waiting.task);
	spawn(parent.rt, &parent.done.task);
	wait_until_done(&parent.done.task);
	assert_int_equal(skua_group_init(&parent.group, parent.rt), 0);
	assert_int_equal(skua_group_spawn(&parent.group, &parent.member.task),
			 0);
	while (waiter_polls(&parent.member) == 0)
		sched_yield();
	wait_until_waiting(&parent.member.task);
}

static void parent_end(void)
{
	skua_waker_drop(parent.waker);
	assert_int_equal(waiter_polls(&parent.waiting), 1);
	assert_int_equal(waiter_polls(&parent.member), 1);
	assert_int_equal(skua_task_cancel(&parent.waiting.task), 0);
	join(&parent.waiting.task);
	join(&parent.done.task);
	assert_int_equal(skua_group_cancel(&parent.group), 0);
	assert_int_equal(skua_group_wait(&parent.group), 0);
	destroy(parent.rt);
}

/* ---- -EOWNERDEAD ----------------------------------------------------------- */

/* The number of the first call that did not say -EOWNERDEAD. */
#define EXPECT_DEAD(number, call)          \
	do {                               \
		if ((call) != -EOWNERDEAD) \
			return (number);   \
	} while (0)

static void ignore(void *arg)
{
	(void)arg;
}

static int never_found(struct skua_poller *self)
{
	(void)self;
	return 0;
}

static int call_runtime_functions(void)
{
	struct skua_runtime *rt = parent.rt;
	struct skua_poller poller = { .poll = never_found };
	struct skua_stats stats;
	struct skua_worker_stats worker_stats;
	struct skua_type_stats type_stats;
	struct skua_times times;

	EXPECT_DEAD(1, skua_runtime_block_on(rt, &parent.never.task));
	EXPECT_DEAD(2, skua_runtime_drain(rt));
	EXPECT_DEAD(3, skua_runtime_shutdown(rt, 0, SKUA_SHUTDOWN_RUN));
	EXPECT_DEAD(4, skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
					     SKUA_SHUTDOWN_CANCEL));
	EXPECT_DEAD(5, skua_runtime_destroy(rt));
	EXPECT_DEAD(6, skua_worker_index(rt));
	EXPECT_DEAD(7, skua_runtime_stats(rt, &stats));
	EXPECT_DEAD(8, skua_runtime_worker_stats(rt, 0, &worker_stats));
	EXPECT_DEAD(9, skua_task_spawn(rt, &parent.never.task));
	EXPECT_DEAD(10, skua_task_spawn_on(rt, 0, &parent.never.task));
	EXPECT_DEAD(11, skua_call(rt, ignore, NULL));
	EXPECT_DEAD(12, skua_runtime_poll(rt, 0));
	EXPECT_DEAD(13, skua_runtime_eventfd(rt));
	EXPECT_DEAD(14, skua_runtime_add_poller(rt, 0, &poller));
	EXPECT_DEAD(15, skua_runtime_times(rt, SKUA_TIMES_POLL, &times));
	EXPECT_DEAD(16, skua_runtime_type_stats(rt, &type_stats, 1));
	return skua_runtime_workers(rt) == 2 ? 0 : 17;
}

static int call_task_functions(void)
{
	struct skua_task *waiting = &parent.waiting.task;

	EXPECT_DEAD(1, skua_task_cancel(waiting));
	EXPECT_DEAD(2, skua_task_join(waiting));
	EXPECT_DEAD(3, skua_task_detach(waiting, NULL));
	EXPECT_DEAD(4, skua_task_join_poll(&parent.never.task, waiting));
	EXPECT_DEAD(5, skua_task_spawn(parent.rt, waiting));
	EXPECT_DEAD(6, skua_task_spawn_on(parent.rt, 1, waiting));
	EXPECT_DEAD(7, skua_task_set_urgent(waiting, true));
	EXPECT_DEAD(8, skua_task_set_type(waiting, NULL));
	return 0;
}

static int call_group_functions(void)
{
	struct skua_group *group = &parent.group;

	EXPECT_DEAD(1, skua_group_spawn(group, &parent.never.task));
	EXPECT_DEAD(2, skua_group_cancel(group));
	EXPECT_DEAD(3, skua_group_wait(group));
	EXPECT_DEAD(4, skua_group_wait_poll(&parent.never.task, group));
	EXPECT_DEAD(5, skua_group_init(&(struct skua_group){ .runtime = NULL },
				       parent.rt));
	return 0;
}

static int call_waker_functions(void)
{
	struct skua_waker clone = skua_waker_clone(parent.waker);

	skua_waker_wake_by_ref(parent.waker);
	skua_waker_wake(clone);
	skua_waker_drop(parent.waker);
	return 0;
}

static int call_timer_functions(void)
{
	struct skua_timer timer = SKUA_TIMER_INIT;

	EXPECT_DEAD(1, skua_timer_add(&parent.waiting.task, &timer, 0));
	return 0;
}

TEST(fork__runtime_functions_in_the_child__eownerdead)
{
	parent_init();
	assert_int_equal(exit_of(call_runtime_functions), 0);
	parent_end();
}

TEST(fork__task_functions_in_the_child__eownerdead)
{
	parent_init();
	assert_int_equal(exit_of(call_task_functions), 0);
	parent_end();
}

TEST(fork__group_functions_in_the_child__eownerdead)
{
	parent_init();
	assert_int_equal(exit_of(call_group_functions), 0);
	parent_end();
}

TEST(fork__timer_functions_in_the_child__eownerdead)
{
	parent_init();
	assert_int_equal(exit_of(call_timer_functions), 0);
	parent_end();
}

TEST(fork__wakers_in_the_child__do_nothing)
{
	parent_init();
	assert_int_equal(exit_of(call_waker_functions), 0);
	parent_end();
}

/* ---- a runtime of the child -------------------------------------------------- */

static int run_own_runtime(void)
{
	const struct skua_config cfg = { .size = sizeof(cfg), .workers = 2 };
	struct counter counters[100];
	struct skua_runtime *rt;

	if (skua_runtime_create(&rt, &cfg, NULL) != 0)
		return 1;
	for (unsigned n = 0; n < 100; n++) {
		counters[n] = (struct counter)COUNTER_INIT;
		if (skua_task_spawn(rt, &counters[n].task) != 0)
			return 2;
	}
	for (unsigned n = 0; n < 100; n++) {
		if (skua_task_join(&counters[n].task) != 0)
			return 3;
	}
	/* And one that the parent had, and never spawned. */
	if (parent.rt && skua_runtime_block_on(rt, &parent.never.task) != 0)
		return 4;
	return skua_runtime_destroy(rt) == 0 ? 0 : 5;
}

TEST(fork__child__has_its_own_runtime)
{
	if (THREAD_SANITIZED) {
		skip_aloud(NO_FORK);
		return;
	}
	parent_init();
	for (unsigned n = 0; n < 20; n++)
		assert_int_equal(exit_of(run_own_runtime), 0);
	parent_end();
	parent.rt = NULL;
}

/* ---- from a task --------------------------------------------------------------- */

static int fork_in_poll(struct skua_task *self, void *arg)
{
	struct skua_runtime *rt = arg;
	struct skua_timer timer = SKUA_TIMER_INIT;
	int status = 0;
	pid_t child = fork();

	if (child < 0)
		return -1;
	if (child == 0) {
		/* No worker any more, though on the stack of one. */
		if (skua_worker_index(rt) != -EOWNERDEAD)
			_exit(11);
		if (skua_timer_add(self, &timer, 0) != -EOWNERDEAD)
			_exit(12);
		if (skua_runtime_drain(rt) != -EOWNERDEAD)
			_exit(13);
		_exit(THREAD_SANITIZED ? 0 : run_own_runtime());
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -2;
	return WEXITSTATUS(status);
}

TEST(fork__from_a_task__child_is_no_worker)
{
	struct skua_runtime *rt = runtime_quiet();

	parent.rt = NULL;
	for (unsigned n = 0; n < 10; n++)
		assert_int_equal(call_in_poll(rt, fork_in_poll, rt), 0);
	destroy(rt);
}

/* ---- selects ------------------------------------------------------------------- */

/* Select the end of a task, or of a group, of a runtime of the child. */
static int select_end(bool of_group)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct nap it = NAP_INIT(20000000);
	struct skua_group group;
	struct skua_select_case cases[] = {
		SKUA_SELECT_CASE(SKUA_SELECT_JOIN, &it.task, NULL, 0),
		SKUA_SELECT_CASE(SKUA_SELECT_GROUP, &group, NULL, 0),
	};
	int code;

	if (skua_group_init(&group, rt))
		return 21;
	code = of_group ? skua_group_spawn(&group, &it.task)
			: skua_task_spawn(rt, &it.task);
	if (code || skua_select(cases + of_group, 1, 0, SKUA_FOREVER_NS) ||
	    cases[of_group].code)
		return 22;
	return skua_runtime_destroy(rt) ? 23 : 0;
}

static int select_in_child(struct skua_task *self, void *arg)
{
	int status = 0;
	pid_t child = fork();

	(void)self;
	(void)arg;
	if (child == 0) {
		sigset_t all;

		/* SIGALRM ends a child that hangs. */
		sigfillset(&all);
		pthread_sigmask(SIG_UNBLOCK, &all, NULL);
		alarm(20);
		_exit(select_end(false) || select_end(true));
	}
	return waitpid(child, &status, 0) == child ? status : -1;
}

TEST(fork__select_in_the_child_of_a_poll__waits_as_a_thread)
{
	struct skua_runtime *rt;

	if (THREAD_SANITIZED) {
		skip_aloud(NO_FORK);
		return;
	}
	rt = runtime_quiet();
	assert_int_equal(call_in_poll(rt, select_in_child, NULL), 0);
	destroy(rt);
}

/* ---- under load ------------------------------------------------------------------ */

static enum skua_poll yield_until_open(struct skua_task *self)
{
	return gate_is_open(&((struct waiter *)self)->end) ? SKUA_DONE
							   : SKUA_YIELD;
}

/* Adds a timer and takes it back, for ever. */
struct churner {
	struct skua_task task; /* first: a task is its churner */
	struct gate end;
	struct skua_timer timer;
};

static enum skua_poll churn(struct skua_task *self)
{
	struct churner *it = (struct churner *)self;

	for (unsigned n = 0; n < 100; n++) {
		skua_timer_add(self, &it->timer, UINT64_MAX - 1 - n);
		skua_timer_cancel(&it->timer);
	}
	return gate_is_open(&it->end) ? SKUA_DONE : SKUA_YIELD;
}

static struct churner churners[2];

/* None of it may wait for what a thread of the parent holds. */
static int ask_all(void)
{
	for (unsigned i = 0; i < COUNT_OF(churners); i++) {
		if (skua_timer_pending(&churners[i].timer))
			return 50;
		if (skua_timer_cancel(&churners[i].timer))
			return 51;
	}
	return call_runtime_functions();
}

/* Bounded in time, as no child waits for anything. */
TEST(fork__1000_times_under_load__each_child_is_told)
{
	const unsigned forks = SANITIZED ? 50 : 1000;
	struct waiter busy[2];
	struct belongings before;

	parent =
		(struct parent){ .rt = runtime_quiet(), .never = COUNTER_INIT };
	for (unsigned i = 0; i < COUNT_OF(churners); i++) {
		churners[i] = (struct churner){ .task = SKUA_TASK_INIT(churn) };
		spawn(parent.rt, &churners[i].task);
	}
	before = belongings();
	for (unsigned n = 0; n < COUNT_OF(busy); n++) {
		busy[n] = (struct waiter){ .task = SKUA_TASK_INIT(
						   yield_until_open) };
		spawn(parent.rt, &busy[n].task);
	}
	for (unsigned n = 0; n < forks; n++)
		assert_int_equal(exit_of(ask_all), 0);
	expect_belongings(before);
	for (unsigned n = 0; n < COUNT_OF(busy); n++) {
		gate_open(&busy[n].end);
		join(&busy[n].task);
		gate_open(&churners[n].end);
		join(&churners[n].task);
	}
	spawn(parent.rt, &parent.never.task);
	join(&parent.never.task);
	destroy(parent.rt);
}
