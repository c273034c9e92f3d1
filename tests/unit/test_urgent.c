/* SPDX-License-Identifier: MIT */
/* test_urgent.c - the urgent lane: first, and not for ever */
#include "tests/unit/tasks.h"

#define LOG_MAX 600u

static struct {
	char what[LOG_MAX + 1];
	unsigned who[LOG_MAX];
	unsigned count;
} order; /* of polls on one worker; read after a drain */

/* Says that it was polled: U if it is urgent, n if not. */
struct logger {
	struct skua_task task; /* first: a task is its logger */
	unsigned who;
	unsigned yields;
	char what;
};

static enum skua_poll log_and_yield(struct skua_task *self)
{
	struct logger *it = (struct logger *)self;

	if (order.count < LOG_MAX) {
		order.what[order.count] = it->what;
		order.who[order.count++] = it->who;
	}
	return it->yields-- > 0 ? SKUA_YIELD : SKUA_DONE;
}

static void logger_init(struct logger *it, unsigned who, bool urgent)
{
	*it = (struct logger){ .task = SKUA_TASK_INIT(log_and_yield),
			       .who = who,
			       .what = urgent ? 'U' : 'n' };
	assert_int_equal(skua_task_set_urgent(&it->task, urgent), 0);
}

static void order_clear(void)
{
	memset(&order, 0, sizeof(order));
}

/* ---- refused ------------------------------------------------------------- */

TEST(set_urgent__null__einval)
{
	assert_int_equal(skua_task_set_urgent(NULL, true), -EINVAL);
	assert_int_equal(skua_task_set_urgent(NULL, false), -EINVAL);
}

TEST(set_urgent__spawned__ealready_until_joined)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;

	assert_int_equal(skua_task_set_urgent(&it.task, true), 0);
	assert_int_equal(skua_task_set_urgent(&it.task, false), 0);
	waiter_start(rt, &it);
	assert_int_equal(skua_task_set_urgent(&it.task, true), -EALREADY);
	assert_int_equal(skua_task_cancel(&it.task), 0);
	wait_until_done(&it.task);
	assert_int_equal(skua_task_set_urgent(&it.task, true), -EALREADY);
	join(&it.task);
	assert_int_equal(skua_task_set_urgent(&it.task, true), 0);
	destroy(rt);
}

/* ---- order --------------------------------------------------------------- */

TEST(urgent__normal_ones_queued__come_first_in_order)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct logger tasks[12];

	order_clear();
	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 12; n++) {
		logger_init(&tasks[n], n, n >= 6);
		spawn(rt, &tasks[n].task);
	}
	holder_end(&holder);
	destroy(rt);
	assert_string_equal(order.what, "UUUUUUnnnnnn");
	for (unsigned n = 0; n < 12; n++)
		assert_int_equal(order.who[n], (n + 6) % 12);
}

TEST(urgent__more_than_eight__then_one_normal)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct logger normal[4];
	struct logger urgent[40];

	order_clear();
	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 4; n++) {
		logger_init(&normal[n], n, false);
		spawn(rt, &normal[n].task);
	}
	for (unsigned n = 0; n < 40; n++) {
		logger_init(&urgent[n], n, true);
		spawn(rt, &urgent[n].task);
	}
	holder_end(&holder);
	destroy(rt);
	assert_string_equal(order.what, "UUUUUUUUnUUUUUUUUnUUUUUUUUn"
					"UUUUUUUUnUUUUUUUU");
}

TEST(urgent__yields__goes_behind_the_other_urgent_ones)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct logger tasks[4];

	order_clear();
	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 4; n++) {
		logger_init(&tasks[n], n, n > 0);
		tasks[n].yields = n > 0 ? 1 : 0;
		spawn(rt, &tasks[n].task);
	}
	holder_end(&holder);
	destroy(rt);
	assert_string_equal(order.what, "UUUUUUn");
	for (unsigned n = 0; n < 6; n++)
		assert_int_equal(order.who[n], n % 3 + 1);
}

/* Waits, and then logs. */
static enum skua_poll wait_then_log(struct skua_task *self)
{
	struct logger *it = (struct logger *)self;

	if (it->yields == 0)
		return log_and_yield(self);
	it->yields--;
	return SKUA_PENDING;
}

TEST(urgent__woken__comes_first_too)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct logger tasks[5];

	order_clear();
	logger_init(&tasks[4], 4, true);
	tasks[4].task.poll = wait_then_log;
	tasks[4].yields = 1;
	spawn(rt, &tasks[4].task);
	wait_until_waiting(&tasks[4].task);
	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 4; n++) {
		logger_init(&tasks[n], n, false);
		spawn(rt, &tasks[n].task);
	}
	skua_waker_wake(skua_task_waker(&tasks[4].task));
	holder_end(&holder);
	destroy(rt);
	assert_string_equal(order.what, "Unnnn");
}

struct parent {
	struct skua_task task; /* first: a task is its parent */
	struct logger *children;
	unsigned count;
};

static enum skua_poll spawn_children(struct skua_task *self)
{
	struct parent *it = (struct parent *)self;

	for (unsigned n = 0; n < it->count; n++)
		skua_task_spawn(runtime_of_task(self), &it->children[n].task);
	return SKUA_DONE;
}

TEST(urgent__spawned_by_a_task__before_its_newest)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct logger children[6];
	struct parent parent = { SKUA_TASK_INIT(spawn_children), children, 6 };

	order_clear();
	for (unsigned n = 0; n < 6; n++)
		logger_init(&children[n], n, n < 3);
	spawn(rt, &parent.task);
	destroy(rt);
	assert_string_equal(order.what, "UUUnnn");
}

/* Polls, after which a task that yields gives the third task's turn up: seconds, so
 * that a spawner without a CPU is waited for. */
#define PATIENCE 50000000u

struct yielder {
	struct skua_task task; /* first: a task is its yielder */
	struct gate *end;
	struct gate running;
	unsigned polls;
};

static enum skua_poll yield_until_open(struct skua_task *self)
{
	struct yielder *it = (struct yielder *)self;

	gate_open(&it->running);
	return gate_is_open(it->end) || ++it->polls == PATIENCE ? SKUA_DONE
								: SKUA_YIELD;
}

static enum skua_poll open_a_gate(struct skua_task *self)
{
	gate_open(((struct yielder *)self)->end);
	return SKUA_DONE;
}

static void yielder_init(struct yielder *it, struct gate *end, bool urgent)
{
	*it = (struct yielder){ .task = SKUA_TASK_INIT(yield_until_open),
				.end = end };
	assert_int_equal(skua_task_set_urgent(&it->task, urgent), 0);
}

/* Two urgent ones that never have enough, and @third. */
static void expect_a_turn(struct skua_runtime *rt, struct gate *end,
			  struct skua_task *third, bool bound)
{
	struct yielder first;
	struct yielder second;

	yielder_init(&first, end, true);
	yielder_init(&second, end, true);
	spawn(rt, &first.task);
	spawn(rt, &second.task);
	gate_wait(&first.running);
	gate_wait(&second.running);
	if (bound)
		assert_int_equal(skua_task_spawn_on(rt, 0, third), 0);
	else
		spawn(rt, third);
	join(third);
	join(&first.task);
	join(&second.task);
	assert_true(first.polls < PATIENCE && second.polls < PATIENCE);
}

TEST(urgent__never_ends__normal_one_has_its_turn)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct gate end = { 0 };
	struct yielder third = { .task = SKUA_TASK_INIT(open_a_gate),
				 .end = &end };

	expect_a_turn(rt, &end, &third.task, false);
	destroy(rt);
}

TEST(urgent__never_ends__bound_one_has_its_turn)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct gate end = { 0 };
	struct yielder third = { .task = SKUA_TASK_INIT(open_a_gate),
				 .end = &end };

	expect_a_turn(rt, &end, &third.task, true);
	destroy(rt);
}

/* Local work, urgent work, and the injection queue: each has its turn. */
TEST(urgent__busy_with_urgent_and_own__injected_has_its_turn)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct gate end = { 0 };
	struct yielder own[2];
	struct yielder third = { .task = SKUA_TASK_INIT(open_a_gate),
				 .end = &end };

	for (unsigned n = 0; n < 2; n++) {
		yielder_init(&own[n], &end, false);
		spawn(rt, &own[n].task);
		gate_wait(&own[n].running);
	}
	expect_a_turn(rt, &end, &third.task, false);
	for (unsigned n = 0; n < 2; n++)
		join(&own[n].task);
	destroy(rt);
}

TEST(urgent__spawned_on_one_worker__is_not_urgent)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct holder holder = HOLDER_INIT;
	struct counter counter = COUNTER_INIT;
	struct logger it;

	order_clear();
	assert_int_equal(skua_task_spawn_on(rt, 1, &holder.task), 0);
	gate_wait(&holder.running);
	logger_init(&it, 0, true);
	assert_int_equal(skua_task_spawn_on(rt, 1, &it.task), 0);
	/* Nobody takes it from there, as from the lane. */
	for (unsigned n = 0; n < 100; n++) {
		spawn(rt, &counter.task);
		join(&counter.task);
	}
	assert_int_equal(order.count, 0);
	holder_end(&holder);
	join(&it.task);
	destroy(rt);
}
