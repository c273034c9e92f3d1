/* SPDX-License-Identifier: MIT */
/**
 * test_stats.c - what is counted, and that it was done as counted
 *
 * With one worker that a task holds, what happens next and the counters
 * are determined: the tests here expect exact values. Regression tests of
 * the paths that the counters tell apart are here, too.
 */
#include <pthread.h>

#include "core/loop/current.h"
#include "core/runtime/runtime.h"
#include "core/task/task.h"
#include "tests/unit/support.h"

/* ---- helpers ------------------------------------------------------------ */

static struct skua_stats stats_of(struct skua_runtime *rt)
{
	struct skua_stats stats;

	memset(&stats, 0xff, sizeof(stats));
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	return stats;
}

/* Without those that depend on how long the search was. */
static void expect_counters(const struct skua_worker_stats *got,
			    const struct skua_worker_stats *expected)
{
	assert_int_equal(got->tasks_spawned, expected->tasks_spawned);
	assert_int_equal(got->tasks_polled, expected->tasks_polled);
	assert_int_equal(got->tasks_stolen, expected->tasks_stolen);
	assert_int_equal(got->lifo_hits, expected->lifo_hits);
	assert_int_equal(got->global_batch_fetches,
			 expected->global_batch_fetches);
	assert_int_equal(got->overflows, expected->overflows);
	assert_int_equal(got->overflows_single, expected->overflows_single);
	assert_int_equal(got->queue_depth, expected->queue_depth);
}

struct child {
	struct skua_task task; /* first: a task is its child */
	unsigned polls;
};

static enum skua_poll child_poll(struct skua_task *self)
{
	((struct child *)self)->polls++;
	return SKUA_DONE;
}

static struct child *children_new(unsigned count)
{
	struct child *children = calloc(count, sizeof(*children));

	assert_non_null(children);
	for (unsigned n = 0; n < count; n++)
		children[n].task = (struct skua_task)SKUA_TASK_INIT(child_poll);
	return children;
}

static void children_free(struct child *children, unsigned count)
{
	for (unsigned n = 0; n < count; n++)
		assert_int_equal(children[n].polls, 1);
	free(children);
}

/* Spawns its children, and says what the counters were then. */
struct parent {
	struct skua_task task; /* first: a task is its parent */
	struct child *children;
	unsigned count;
	struct skua_stats stats;
};

static enum skua_poll parent_poll(struct skua_task *self)
{
	struct parent *it = (struct parent *)self;

	for (unsigned n = 0; n < it->count; n++)
		skua_task_spawn(runtime_of_task(self), &it->children[n].task);
	skua_runtime_stats(runtime_of_task(self), &it->stats);
	return SKUA_DONE;
}

/* Run a parent with @count children on a fresh runtime, which is returned. */
static struct skua_runtime *run_parent(struct parent *parent, unsigned count,
				       unsigned workers, uint32_t capacity)
{
	struct skua_runtime *rt = runtime_new(workers, capacity);

	memset(parent, 0, sizeof(*parent));
	parent->task = (struct skua_task)SKUA_TASK_INIT(parent_poll);
	parent->children = children_new(count);
	parent->count = count;
	assert_int_equal(skua_task_spawn(rt, &parent->task), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	children_free(parent->children, count);
	return rt;
}

/* ---- bad input ---------------------------------------------------------- */

TEST(stats__null__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_stats stats;

	assert_int_equal(skua_runtime_stats(NULL, &stats), -EINVAL);
	assert_int_equal(skua_runtime_stats(rt, NULL), -EINVAL);
	assert_int_equal(skua_runtime_stats(NULL, NULL), -EINVAL);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(worker_stats__null_or_no_such_worker__einval)
{
	struct skua_runtime *rt = runtime_new(3, 0);
	struct skua_worker_stats stats;

	assert_int_equal(skua_runtime_worker_stats(NULL, 0, &stats), -EINVAL);
	assert_int_equal(skua_runtime_worker_stats(rt, 0, NULL), -EINVAL);
	for (unsigned worker = 0; worker < 3; worker++)
		assert_int_equal(skua_runtime_worker_stats(rt, worker, &stats),
				 0);
	assert_int_equal(skua_runtime_worker_stats(rt, 3, &stats), -EINVAL);
	assert_int_equal(skua_runtime_worker_stats(rt, UINT32_MAX, &stats),
			 -EINVAL);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- exact values ------------------------------------------------------- */

TEST(stats__new_runtime__all_zero)
{
	const struct skua_worker_stats none = { 0 };

	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct skua_stats stats = stats_of(rt);

		assert_int_equal(stats.workers, workers);
		assert_int_equal(stats.tasks_spawned, 0);
		assert_int_equal(stats.injection_depth, 0);
		expect_counters(&stats.total, &none);
		assert_int_equal(skua_runtime_destroy(rt), 0);
	}
}

TEST(stats__parent_of_ten_on_one_worker__exact)
{
	const struct skua_worker_stats during = { .tasks_spawned = 10,
						  .tasks_polled = 1,
						  .global_batch_fetches = 1,
						  .queue_depth = 9 };
	const struct skua_worker_stats after = { .tasks_spawned = 10,
						 .tasks_polled = 11,
						 .lifo_hits = 1,
						 .global_batch_fetches = 1 };
	struct parent parent;
	struct skua_runtime *rt = run_parent(&parent, 10, 1, 0);
	struct skua_stats stats = stats_of(rt);

	expect_counters(&parent.stats.total, &during);
	assert_int_equal(parent.stats.tasks_spawned, 11);
	expect_counters(&stats.total, &after);
	assert_int_equal(stats.tasks_spawned, 11);
	assert_int_equal(stats.injection_depth, 0);
	assert_int_equal(stats.total.steal_attempts, 0); /* from nobody */
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static enum skua_poll spawn_next(struct skua_task *self)
{
	struct child *it = (struct child *)self;

	it->polls++;
	if (it[1].task.poll)
		skua_task_spawn(runtime_of_task(self), &it[1].task);
	return SKUA_DONE;
}

/* Three polls from the slot, the fourth by way of the queue, and so on. */
TEST(stats__chain_of_thirteen__nine_lifo_hits)
{
	const struct skua_worker_stats expected = { .tasks_spawned = 12,
						    .tasks_polled = 13,
						    .lifo_hits = 9,
						    .global_batch_fetches = 1 };
	struct skua_runtime *rt = runtime_new(1, 0);
	struct child chain[14] = { 0 };
	struct skua_stats stats;

	for (unsigned n = 0; n < 13; n++)
		chain[n].task = (struct skua_task)SKUA_TASK_INIT(spawn_next);
	assert_int_equal(skua_task_spawn(rt, &chain[0].task), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	stats = stats_of(rt);
	expect_counters(&stats.total, &expected);
	assert_int_equal(stats.tasks_spawned, 13);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

struct yielder {
	struct skua_task task; /* first: a task is its yielder */
	unsigned left;
};

static enum skua_poll yield_some(struct skua_task *self)
{
	return ((struct yielder *)self)->left-- > 0 ? SKUA_YIELD : SKUA_DONE;
}

TEST(stats__task_that_yields__a_poll_each_and_one_spawn)
{
	const struct skua_worker_stats expected = { .tasks_polled = 101,
						    .global_batch_fetches = 1 };
	struct skua_runtime *rt = runtime_new(1, 0);
	struct yielder it = { .task = SKUA_TASK_INIT(yield_some), .left = 100 };
	struct skua_stats stats;

	assert_int_equal(skua_task_spawn(rt, &it.task), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	stats = stats_of(rt);
	expect_counters(&stats.total, &expected);
	assert_int_equal(stats.tasks_spawned, 1);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(stats_injection_depth__worker_is_held__counts_waiting)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct child *children = children_new(20);
	struct holder holder = HOLDER_INIT;

	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 20; n++) {
		assert_int_equal(skua_task_spawn(rt, &children[n].task), 0);
		assert_int_equal(stats_of(rt).injection_depth, n + 1);
	}
	assert_int_equal(stats_of(rt).total.queue_depth, 0);
	holder_end(&holder);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(stats_of(rt).injection_depth, 0);
	/* One batch for the holder, one for the twenty. */
	assert_int_equal(stats_of(rt).total.global_batch_fetches, 2);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	children_free(children, 20);
}

TEST(stats_times_parked__idle_workers__each_parks)
{
	struct skua_runtime *rt = runtime_new(3, 0);
	struct skua_worker_stats stats;

	for (unsigned worker = 0; worker < 3; worker++) {
		do {
			sched_yield();
			assert_int_equal(
				skua_runtime_worker_stats(rt, worker, &stats),
				0);
		} while (stats.times_parked == 0);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- sums --------------------------------------------------------------- */

static void add(struct skua_worker_stats *sum,
		const struct skua_worker_stats *one)
{
	sum->tasks_spawned += one->tasks_spawned;
	sum->tasks_polled += one->tasks_polled;
	sum->tasks_stolen += one->tasks_stolen;
	sum->steal_attempts += one->steal_attempts;
	sum->times_parked += one->times_parked;
	sum->lifo_hits += one->lifo_hits;
	sum->global_batch_fetches += one->global_batch_fetches;
	sum->overflows += one->overflows;
	sum->overflows_single += one->overflows_single;
	sum->queue_depth += one->queue_depth;
}

TEST(stats__many_tasks_on_some_workers__sums_agree)
{
	const unsigned outside = 500;
	struct child *children = children_new(outside);
	struct parent parent;
	struct skua_runtime *rt = run_parent(&parent, 5000, 4, 16);
	struct skua_worker_stats sum = { 0 };
	struct skua_stats stats;

	for (unsigned n = 0; n < outside; n++)
		assert_int_equal(skua_task_spawn(rt, &children[n].task), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	stats = stats_of(rt);
	for (unsigned worker = 0; worker < 4; worker++) {
		struct skua_worker_stats one;

		assert_int_equal(skua_runtime_worker_stats(rt, worker, &one),
				 0);
		assert_true(one.lifo_hits <= one.tasks_polled);
		add(&sum, &one);
	}
	assert_int_equal(stats.tasks_spawned, 1 + 5000 + outside);
	assert_int_equal(stats.total.tasks_polled, stats.tasks_spawned);
	assert_int_equal(stats.total.tasks_spawned, 5000);
	assert_int_equal(stats.injection_depth, 0);
	assert_true(stats.total.overflows > 0);
	assert_int_equal(stats.workers, 4);
	expect_counters(&stats.total, &sum);
	/* Those that idle workers still count. */
	assert_true(stats.total.steal_attempts <= sum.steal_attempts);
	assert_true(stats.total.times_parked <= sum.times_parked);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	children_free(children, outside);
}

TEST(stats__refused_spawn__is_not_counted)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct child *child = children_new(1);

	holder_hold(rt, &holder);
	pool_close(&rt->pool); /* what destroy begins with */
	assert_int_equal(skua_task_spawn(rt, &child->task), -ESHUTDOWN);
	assert_int_equal(stats_of(rt).tasks_spawned, 1);
	assert_int_equal(stats_of(rt).injection_depth, 0);
	holder_end(&holder);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(child->polls, 0);
	free(child);
}

/* ---- a batch can be stolen ---------------------------------------------- */

/* The first of four waits, on its worker, for the other three. */
struct batch_task {
	struct skua_task task; /* first: a task is its batch_task */
	atomic_u32 *ran;
	struct gate running;
	bool waits;
};

static enum skua_poll batch_poll(struct skua_task *self)
{
	struct batch_task *it = (struct batch_task *)self;

	gate_open(&it->running);
	while (it->waits && atomic_load_acquire(it->ran) < 3)
		sched_yield();
	atomic_fetch_add_release(it->ran, 1);
	return SKUA_DONE;
}

TEST(injection_queue__fetched_batch__is_stealable)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct holder holders[2] = { HOLDER_INIT, HOLDER_INIT };
	struct batch_task batch[4];
	struct skua_stats stats;
	atomic_u32 ran = 0;

	holder_hold(rt, &holders[0]);
	holder_hold(rt, &holders[1]);
	for (unsigned n = 0; n < 4; n++) {
		batch[n] = (struct batch_task){
			.task = SKUA_TASK_INIT(batch_poll),
			.ran = &ran,
			.waits = n == 0,
		};
		assert_int_equal(skua_task_spawn(rt, &batch[n].task), 0);
	}
	/* One worker fetches the four and is stuck with the first; the other
	 * one has to steal the rest. */
	gate_open(&holders[0].go_on);
	gate_wait(&batch[0].running);
	assert_int_equal(stats_of(rt).injection_depth, 0);
	assert_int_equal(stats_of(rt).total.queue_depth, 3);
	gate_open(&holders[1].go_on);
	assert_int_equal(skua_runtime_drain(rt), 0);

	assert_int_equal(atomic_load_relaxed(&ran), 4);
	stats = stats_of(rt);
	assert_int_equal(stats.total.tasks_stolen, 3);
	assert_int_equal(stats.total.global_batch_fetches, 3);
	assert_int_equal(stats.total.tasks_polled, 6);
	assert_int_equal(stats.total.lifo_hits, 0);
	assert_true(stats.total.steal_attempts >= 2);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* The same when nobody holds the second worker: it may be asleep. */
TEST(injection_queue__other_worker_sleeps__is_woken_to_steal)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned round = 0; round < 200; round++) {
		struct holder holder = HOLDER_INIT;
		struct batch_task batch[4];
		atomic_u32 ran = 0;

		holder_hold(rt, &holder);
		for (unsigned n = 0; n < 4; n++) {
			batch[n] = (struct batch_task){
				.task = SKUA_TASK_INIT(batch_poll),
				.ran = &ran,
				.waits = n == 0,
			};
			assert_int_equal(skua_task_spawn(rt, &batch[n].task),
					 0);
		}
		gate_open(&holder.go_on);
		assert_int_equal(skua_runtime_drain(rt), 0);
		assert_int_equal(atomic_load_relaxed(&ran), 4);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- an overflow is one batch ------------------------------------------- */

/* The newest is in the slot, and 256 before it fit into the queue. */
TEST(overflow__queue_just_full__none)
{
	const struct skua_worker_stats during = { .tasks_spawned = 257,
						  .tasks_polled = 1,
						  .global_batch_fetches = 1,
						  .queue_depth = 256 };
	struct parent parent;
	struct skua_runtime *rt = run_parent(&parent, 257, 1, 256);

	expect_counters(&parent.stats.total, &during);
	assert_int_equal(parent.stats.injection_depth, 0);
	assert_int_equal(stats_of(rt).total.overflows, 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(overflow__one_more__spills_128_as_one_batch)
{
	const struct skua_worker_stats during = { .tasks_spawned = 258,
						  .tasks_polled = 1,
						  .global_batch_fetches = 1,
						  .overflows = 1,
						  .queue_depth = 129 };
	struct skua_worker_stats after = { .tasks_spawned = 258,
					   .tasks_polled = 259,
					   .lifo_hits = 1,
					   .overflows = 1 };
	struct parent parent;
	struct skua_runtime *rt = run_parent(&parent, 258, 1, 256);
	struct skua_stats stats = stats_of(rt);

	expect_counters(&parent.stats.total, &during);
	assert_int_equal(parent.stats.injection_depth, 128);
	/* How many of the 128 come back at a time depends on how often the
	 * worker looks, and so on how long the polls took. */
	after.global_batch_fetches = stats.total.global_batch_fetches;
	assert_in_range(after.global_batch_fetches, 2, 129);
	expect_counters(&stats.total, &after);
	assert_int_equal(stats.tasks_spawned, 259);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(overflow__next_half_full__spills_again)
{
	struct parent parent;
	struct skua_runtime *rt = run_parent(&parent, 258 + 127, 1, 256);

	assert_int_equal(stats_of(rt).total.overflows, 1);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	rt = run_parent(&parent, 258 + 128, 1, 256);
	assert_int_equal(stats_of(rt).total.overflows, 2);
	assert_int_equal(parent.stats.injection_depth, 256);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* Fills its worker's queue, claims the oldest task as a thief would, and
 * spawns three more meanwhile. */
struct robbed {
	struct parent parent; /* first: a task is its robbed */
	struct skua_stats full;
	struct skua_stats pending;
};

static enum skua_poll robbed_poll(struct skua_task *self)
{
	struct robbed *it = (struct robbed *)self;
	struct local_queue *queue = current_worker->queue;
	uint32_t capacity = local_queue_room_owner(queue);
	uint64_t head = atomic_load_relaxed(&queue->head);
	struct child *next = it->parent.children;
	struct skua_task *stolen = &next->task;

	for (unsigned n = 0; n < capacity + 1; n++)
		skua_task_spawn(runtime_of_task(self), &next++->task);
	skua_runtime_stats(runtime_of_task(self), &it->full);
	/* real and pending, each raised by one */
	atomic_store_relaxed(&queue->head, head + (1 << 16) + 1);
	for (unsigned n = 0; n < 3; n++)
		skua_task_spawn(runtime_of_task(self), &next++->task);
	skua_runtime_stats(runtime_of_task(self), &it->pending);
	/* The release, and the task goes back. */
	atomic_store_release(&queue->head, head + (1 << 16));
	local_queue_push_owner(queue, stolen);
	return SKUA_DONE;
}

static void check_pending(uint32_t capacity)
{
	struct skua_runtime *rt = runtime_new(1, capacity);
	unsigned count = capacity + 1 + 3;
	struct robbed it = { .parent.task = SKUA_TASK_INIT(robbed_poll) };

	it.parent.children = children_new(count);
	assert_int_equal(skua_task_spawn(rt, &it.parent.task), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(it.full.total.queue_depth, capacity);
	assert_int_equal(it.full.total.overflows, 0);
	assert_int_equal(it.full.total.overflows_single, 0);
	assert_int_equal(it.pending.total.queue_depth, capacity - 1);
	assert_int_equal(it.pending.total.overflows, 0);
	assert_int_equal(it.pending.total.overflows_single, 3);
	assert_int_equal(it.pending.injection_depth, 3);
	assert_int_equal(stats_of(rt).total.tasks_polled, count + 1);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	children_free(it.parent.children, count);
}

TEST(overflow__full_queue_being_stolen_from__tasks_go_singly)
{
	check_pending(4);
	check_pending(256);
}

/* ---- a full queue drops nothing ----------------------------------------- */

TEST(task_spawn__capacity_4__100000_spawned_in_a_task_all_run)
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct parent parent;
		struct skua_runtime *rt =
			run_parent(&parent, 100000, workers, 4);
		struct skua_stats stats = stats_of(rt);

		assert_int_equal(stats.tasks_spawned, 100001);
		assert_int_equal(stats.total.tasks_polled, 100001);
		assert_true(stats.total.overflows > 0);
		assert_int_equal(stats.total.queue_depth, 0);
		assert_int_equal(stats.injection_depth, 0);
		/* Alone, each second push displaces two. */
		if (workers == 1)
			assert_int_equal(parent.stats.total.overflows,
					 (100000 - 1 - 4 + 1) / 2);
		assert_int_equal(skua_runtime_destroy(rt), 0);
	}
}
