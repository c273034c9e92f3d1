/* SPDX-License-Identifier: MIT */
/* test_task_order.c - the order that tasks run in */
#include "tests/unit/tasks.h"

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
		skua_task_spawn(runtime_of_task(self), &it->children++->task);
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
TEST(task_spawn__from_outside__runs_first_in_first_out)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct logger loggers[50];
	struct holder holder = HOLDER_INIT;

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

TEST(task_spawn__from_a_task__newest_first_then_fifo)
{
	static const unsigned expected[] = { 0, 5, 1, 2, 3, 4 };
	struct skua_runtime *rt = runtime_new(1, 0);
	struct logger loggers[6];

	loggers_init(loggers, 6, 0);
	loggers[0].children = &loggers[1];
	loggers[0].child_count = 5;
	spawn(rt, &loggers[0].task);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(order.count, COUNT_OF(expected));
	for (unsigned n = 0; n < COUNT_OF(expected); n++)
		assert_int_equal(order.who[n], expected[n]);
}

TEST(task_yield__two_on_one_worker__alternate)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct logger loggers[3];

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

TEST(task_yield__alone__is_polled_to_its_end)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct logger logger;

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
TEST(injection_queue__worker_is_busy__injected_task_gets_its_turn)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct gate end = { 0 };
	struct yielder first = { .task = SKUA_TASK_INIT(yield_until_open),
				 .end = &end };
	struct yielder second = first;
	struct yielder third = { .task = SKUA_TASK_INIT(open_a_gate),
				 .end = &end };

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

/* Each spawns itself again through its release, as the newest: without the cap
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

	skua_runtime_worker_stats(runtime_of_task(self), 0, &stats);
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
	struct skua_runtime *rt = runtime_of_task(task);

	if (--chain->links == 0)
		return;
	skua_task_init(task, chain_poll);
	skua_task_detach(task, chain_on);
	skua_task_spawn(rt, task);
}

TEST(task_spawn__chains_in_the_lifo_slot__three_in_a_row)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct chain chains[CHAINS];
	struct skua_stats stats;

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
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	assert_int_equal(stats.total.tasks_polled, 1 + CHAINS * 100);
	assert_int_equal(lifo.longest, 3);
	assert_true(lifo.waited > CHAINS);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}
