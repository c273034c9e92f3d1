/* SPDX-License-Identifier: MIT */
/* test_area.c - what other processes read of a runtime is so */
#include <pthread.h>

#include "core/runtime/runtime.h"
#include "core/telemetry/wait_sample.h"
#include "probes/root.h"
#include "tests/unit/parent.h"

extern struct area_root area_root;

/* ---- helpers ---------------------------------------------------------------- */

static const struct area_runtime *area_of(const struct skua_runtime *rt)
{
	return &rt->pool.telemetry.area;
}

static const struct area_worker *worker_area(const struct skua_runtime *rt,
					     unsigned i)
{
	const uint64_t *workers = (const uint64_t *)area_of(rt)->workers;

	return (const struct area_worker *)(workers[i] +
					    area_of(rt)->worker_offset);
}

static const struct area_samples *samples_of(const struct skua_runtime *rt,
					     unsigned i)
{
	return (const struct area_samples *)worker_area(rt, i)->samples;
}

/* As a reader finds it: from the root. */
static bool listed(const struct skua_runtime *rt)
{
	uint64_t address = area_root.runtimes;

	while (address && address != (uintptr_t)area_of(rt))
		address = ((const struct area_runtime *)address)->next;
	return address != 0;
}

static struct skua_runtime *make(unsigned workers)
{
	return RUNTIME(.workers = workers, .flags = SKUA_NO_ENV);
}

static void destroy(struct skua_runtime *rt)
{
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- the list ---------------------------------------------------------------- */

TEST(root__of_this_library__says_what_it_is)
{
	assert_int_equal(area_root.magic, AREA_ROOT_MAGIC);
	assert_int_equal(area_root.abi, AREA_ABI);
	assert_int_equal(area_root.bytes, sizeof(area_root));
	assert_int_equal(area_root.task_poll, offsetof(struct skua_task, poll));
	assert_int_equal(area_root.task_type, offsetof(struct skua_task, type));
	assert_int_equal(area_root.task_state,
			 offsetof(struct skua_task, state));
	assert_int_equal(area_root.task_flags,
			 offsetof(struct skua_task, flags));
	assert_int_equal(area_root.fiber_label,
			 offsetof(struct skua_fiber, label));
	assert_true(strlen(area_root.version) < sizeof(area_root.version));
}

/* Written out, unlike counter_list.h: programs of other versions read these words. */
TEST(counters__of_each_release__keep_their_words)
{
	static const struct {
		const char *name;
		size_t word;
	} published[] = {
		{ "tasks_spawned", 0 },        { "tasks_polled", 1 },
		{ "tasks_stolen", 2 },         { "steal_attempts", 3 },
		{ "times_parked", 4 },         { "lifo_hits", 5 },
		{ "global_batch_fetches", 6 }, { "overflows", 7 },
		{ "overflows_single", 8 },     { "jobs_stolen", 9 },
		{ "tasks_stolen_far", 10 },    { "steals", 11 },
		{ "searches_failed", 12 },     { "stalls", 13 },
		{ "stacks_missing", 14 },      { "io_reaps", 15 },
		{ "io_events", 16 },           { "io_parks", 17 },
		{ "io_takeovers", 18 },
	};
	static const struct {
		const char *name;
		size_t offset;
	} counters[] = {
#define COUNTER(name, ...) { #name, offsetof(struct area_counters, name) },
		COUNTER_LIST(COUNTER)
#undef COUNTER
	};

	assert_int_equal(sizeof(struct area_counters), 31 * sizeof(uint64_t));
	assert_int_equal(offsetof(struct area_worker, times) -
				 offsetof(struct area_worker, task),
			 256);
	for (unsigned i = 0; i < sizeof(published) / sizeof(*published); i++) {
		assert_string_equal(counters[i].name, published[i].name);
		assert_int_equal(counters[i].offset,
				 published[i].word * sizeof(uint64_t));
	}
}

TEST(runtimes__created_and_destroyed__listed_meanwhile)
{
	struct skua_runtime *rt[3];

	for (unsigned i = 0; i < 3; i++)
		rt[i] = make(1);
	assert_int_equal(area_root.count, 3);
	/* From the middle, the end and the front of the list. */
	for (unsigned i = 0; i < 3; i++) {
		unsigned next = (i + 1) % 3;
		uint64_t changes = area_root.changes;

		assert_true(listed(rt[next]));
		destroy(rt[next]);
		assert_int_equal(area_root.changes, changes + 2);
		assert_int_equal(area_root.count, 2 - i);
		for (unsigned j = i + 1; j < 3; j++)
			assert_true(listed(rt[(j + 1) % 3]));
	}
	assert_int_equal(area_root.runtimes, 0);
}

#define CHANGERS 4
#define CHANGES  2000

/* Areas without a runtime: what is around takes too long for two to meet. */
static void *change_list(void *arg)
{
	struct area_runtime *areas = arg;

	for (unsigned i = 0; i < CHANGES; i++) {
		for (unsigned k = 0; k < 2; k++)
			root_add(&areas[k], (uint32_t)getpid());
		for (unsigned k = 0; k < 2; k++)
			root_remove(&areas[k], (uint32_t)getpid());
	}
	return NULL;
}

TEST(runtimes__of_several_threads__are_all_listed)
{
	static struct area_runtime areas[CHANGERS][2];
	pthread_t threads[CHANGERS];
	uint64_t changes = area_root.changes;

	for (unsigned i = 0; i < CHANGERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, change_list,
						areas[i]),
				 0);
	for (unsigned i = 0; i < CHANGERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(area_root.runtimes, 0);
	assert_int_equal(area_root.count, 0);
	assert_int_equal(area_root.changes,
			 changes + UINT64_C(2) * 4 * CHANGERS * CHANGES);
}

static void child__has_its_parents_list__adds_its_own(void)
{
	struct skua_runtime *rt = make(1);
	bool good = listed(rt) && area_of(rt)->pid == (uint32_t)getpid() &&
		    area_root.count == 2 && area_root.changes % 2 == 0;

	destroy(rt);
	_exit(good && area_root.count == 1 ? 0 : 1);
}

TEST(runtime__in_a_child__is_told_from_its_parents)
{
	struct skua_runtime *rt;
	int status;
	pid_t pid;

	if (THREAD_SANITIZED)
		skip_aloud("no threads in a child under ThreadSanitizer");
	rt = make(1);
	assert_int_equal(area_of(rt)->pid, getpid());
	pid = fork();
	if (pid == 0)
		child__has_its_parents_list__adds_its_own();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	destroy(rt);
}

/* ---- a worker ---------------------------------------------------------------- */

struct seen {
	struct skua_task task;
	const struct area_worker *area;
	uint64_t number;
	bool as_it_is;
};

static enum skua_poll look_at_itself(struct skua_task *self)
{
	struct seen *it = (struct seen *)self;

	it->number = it->area->counters.tasks_polled;
	it->as_it_is = it->area->task == (uintptr_t)self &&
		       it->area->times.state == AREA_RUNNING &&
		       it->area->tid == (uint64_t)gettid() &&
		       self->poll == look_at_itself;
	return SKUA_DONE;
}

TEST(worker__that_polls__names_the_task)
{
	struct skua_runtime *rt = make(1);

	for (uint64_t i = 1; i <= 200; i++) {
		struct seen it = { .task = SKUA_TASK_INIT(look_at_itself),
				   .area = worker_area(rt, 0) };

		assert_int_equal(skua_runtime_block_on(rt, &it.task), 0);
		assert_true(it.as_it_is);
		assert_int_equal(it.number, i);
	}
	assert_int_equal(worker_area(rt, 0)->task, 0);
	destroy(rt);
}

static void wait_parked(const struct skua_runtime *rt, unsigned i)
{
	while (counter_read(&worker_area(rt, i)->times.state) != AREA_PARKED)
		sched_yield();
}

static struct area_times times_of(const struct area_worker *area)
{
	const struct area_times *times = &area->times;

	return (struct area_times){ .state = counter_read(&times->state),
				    .since_ns = counter_read(&times->since_ns),
				    .run_ns = counter_read(&times->run_ns),
				    .search_ns =
					    counter_read(&times->search_ns),
				    .park_ns = counter_read(&times->park_ns) };
}

static uint64_t sum_of(const struct area_times *times)
{
	return times->run_ns + times->search_ns + times->park_ns;
}

static enum skua_poll do_nothing(struct skua_task *self)
{
	(void)self;
	return SKUA_DONE;
}

/* Each moment is in one of the sums. */
TEST(times__of_a_worker__add_up)
{
	struct skua_runtime *rt = make(1);
	struct area_times first, last;

	wait_parked(rt, 0);
	first = times_of(worker_area(rt, 0));
	for (unsigned i = 0; i < 1000; i++) {
		struct skua_task task = SKUA_TASK_INIT(do_nothing);

		assert_int_equal(skua_runtime_block_on(rt, &task), 0);
	}
	wait_parked(rt, 0);
	last = times_of(worker_area(rt, 0));
	assert_true(last.run_ns > first.run_ns);
	assert_true(last.search_ns > first.search_ns);
	assert_true(last.park_ns > first.park_ns);
	assert_true(first.since_ns >= area_of(rt)->started_ns ||
		    first.park_ns == 0);
	assert_int_equal(sum_of(&last) - sum_of(&first),
			 last.since_ns - first.since_ns);
	destroy(rt);
}

/* ---- samples ----------------------------------------------------------------- */

static uint64_t total(const struct probes_histogram *h)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < PROBES_BUCKETS; i++)
		sum += h->count[i];
	return sum;
}

/* Over the rows of a worker. */
static struct area_type sum_rows(const struct area_samples *samples)
{
	struct area_type sum = { 0 };

	for (unsigned i = 0; i < AREA_TYPES; i++) {
		sum.polls += samples->types[i].polls;
		sum.run_ns += samples->types[i].run_ns;
		sum.waits += samples->types[i].waits;
		sum.wait_ns += samples->types[i].wait_ns;
	}
	return sum;
}

#define CHILDREN 5000u
#define ROUNDS   20u

/* Many tasks in one worker; afterwards they have their poll function again. */
static void run_children(struct skua_runtime *rt, skua_task_fn fn)
{
	static struct skua_task children[CHILDREN];

	run_parent(rt, children, CHILDREN, fn);
	for (unsigned i = 0; i < CHILDREN; i++)
		assert_true(children[i].poll == fn);
}

TEST(polls__of_many_tasks__are_estimated)
{
	struct skua_runtime *rt = make(1);
	const struct area_samples *samples = samples_of(rt, 0);
	uint64_t polls, most;
	struct area_type sum;

	for (unsigned i = 0; i < ROUNDS; i++)
		run_children(rt, do_nothing);
	polls = worker_area(rt, 0)->counters.tasks_polled;
	assert_int_equal(polls, ROUNDS * (CHILDREN + 1));
	sum = sum_rows(samples);
	/* All but those since the last sample, and a tick. */
	most = area_of(rt)->sample + TICK_BUDGET;
	assert_in_range(sum.polls, polls - most, polls);
	assert_int_equal(total(&samples->poll), sum.polls);
	assert_int_equal(samples->poll.sum_ns, sum.run_ns);
	assert_true(sum.waits > 0 && sum.wait_ns > 0);
	assert_int_equal(total(&samples->wait), sum.waits);
	assert_int_equal(samples->wait.sum_ns, sum.wait_ns);
	assert_true(total(&samples->park) <=
		    worker_area(rt, 0)->counters.times_parked);
	destroy(rt);
}

/* Longer than a tick: each of these is timed. */
static enum skua_poll take_time(struct skua_task *self)
{
	uint64_t start_ns = skua_now_ns();

	(void)self;
	while (skua_now_ns() - start_ns < UINT64_C(100000))
		;
	return SKUA_DONE;
}

static const struct area_type *row_of_poll(const struct area_samples *samples,
					   skua_task_fn poll)
{
	for (unsigned i = 0; i < AREA_TYPES; i++)
		if (samples->types[i].poll == (uintptr_t)poll)
			return &samples->types[i];
	return NULL;
}

TEST(polls__that_are_long__are_all_timed)
{
	static struct skua_task tasks[200];
	struct skua_runtime *rt = make(1);
	const struct area_type *row;

	run_parent(rt, tasks, COUNT_OF(tasks), take_time);
	row = row_of_poll(samples_of(rt, 0), take_time);
	assert_non_null(row);
	/* Except some at the start, when it is not known that they are. */
	assert_in_range(row->polls, COUNT_OF(tasks) / 2, COUNT_OF(tasks) + 1);
	assert_true(row->run_ns / row->polls >= 100000);
	assert_true(row->longest_ns >= 100000);
	/* They waited for each other. */
	assert_true(row->waits > 0 && row->longest_wait_ns >= 100000);
	destroy(rt);
}

/* Each after a sleep of the worker: no tick is ever full. */
TEST(polls__that_come_one_by_one__are_timed)
{
	struct skua_runtime *rt = make(1);
	const struct area_type *row;

	for (unsigned i = 0; i < 200; i++) {
		struct skua_task task = SKUA_TASK_INIT(take_time);

		wait_parked(rt, 0);
		assert_int_equal(skua_runtime_block_on(rt, &task), 0);
	}
	row = row_of_poll(samples_of(rt, 0), take_time);
	assert_non_null(row);
	assert_in_range(row->polls, 100, 200);
	assert_true(row->run_ns / row->polls >= 100000);
	destroy(rt);
}

#define OUTSIDE 5000u

/* From outside, urgent or bound: they have queues of their own. */
TEST(waits__of_tasks_apart__count_about_once)
{
	static struct skua_task tasks[OUTSIDE];

	for (unsigned urgent = 0; urgent < 2; urgent++) {
		struct skua_runtime *rt = make(1);
		struct area_type sum;

		for (unsigned i = 0; i < OUTSIDE; i++) {
			skua_task_init(&tasks[i], do_nothing);
			skua_task_set_urgent(&tasks[i], urgent);
			assert_int_equal(
				urgent ? skua_task_spawn(rt, &tasks[i])
				       : skua_task_spawn_on(rt, 0, &tasks[i]),
				0);
		}
		assert_int_equal(skua_runtime_drain(rt), 0);
		sum = sum_rows(samples_of(rt, 0));
		assert_in_range(sum.waits, 1, OUTSIDE + WAIT_SAMPLE_EACH);
		destroy(rt);
	}
}

static void expect_more_polls_than_waits(const struct area_samples *samples)
{
	for (unsigned i = 0; i < AREA_TYPES; i++) {
		const struct area_type *row = &samples->types[i];
		uint64_t polls = counter_read(&row->polls);

		assert_true(counter_read(&row->waits) <= polls);
		assert_true(counter_read(&row->poll) == 0 || polls > 0);
		assert_true(counter_read(&row->run_ns) / (polls ? polls : 1) <=
			    counter_read(&row->longest_ns));
	}
}

/* The first of many from outside stands for 251 in the estimate of all waits. */
TEST(waits__of_a_rare_type__are_not_more_than_its_polls)
{
	struct skua_runtime *rt = make(1);
	const struct area_samples *samples = samples_of(rt, 0);
	struct skua_task rare = SKUA_TASK_INIT(take_time);
	const struct area_type *row;

	assert_int_equal(skua_runtime_block_on(rt, &rare), 0);
	wait_parked(rt, 0);
	row = row_of_poll(samples, take_time);
	assert_non_null(row);
	assert_int_equal(counter_read(&row->polls), 1);
	assert_int_equal(counter_read(&row->waits), 1);
	assert_in_range(counter_read(&row->run_ns), 100000,
			counter_read(&row->longest_ns));
	for (unsigned i = 0; i < ROUNDS; i++)
		run_children(rt, do_nothing);
	wait_parked(rt, 0);
	expect_more_polls_than_waits(samples);
	destroy(rt);
}

/* Several types, each now and then, from outside. */
TEST(polls__of_many_rare_types__are_more_than_none)
{
	static struct skua_task tasks[OUTSIDE];
	static const struct skua_task_type types[7] = { SKUA_TASK_TYPE("a") };
	struct skua_runtime *rt = make(2);
	uint64_t polled = 0, seen = 0;

	for (unsigned i = 0; i < OUTSIDE; i++) {
		skua_task_init(&tasks[i], do_nothing);
		skua_task_set_type(&tasks[i], &types[i % COUNT_OF(types)]);
		assert_int_equal(skua_task_spawn(rt, &tasks[i]), 0);
	}
	assert_int_equal(skua_runtime_drain(rt), 0);
	for (unsigned i = 0; i < 2; i++) {
		wait_parked(rt, i);
		expect_more_polls_than_waits(samples_of(rt, i));
		seen += sum_rows(samples_of(rt, i)).polls;
		polled += worker_area(rt, i)->counters.tasks_polled;
	}
	assert_true(seen <= polled);
	destroy(rt);
}

/* The driver's time between two calls is not the worker's. */
TEST(times__of_a_driven_worker__leave_out_its_driver)
{
	struct skua_runtime *rt =
		RUNTIME(.flags = SKUA_NO_ENV | SKUA_CALLER_DRIVEN);
	struct skua_task tasks[2] = { SKUA_TASK_INIT(take_time),
				      SKUA_TASK_INIT(take_time) };
	const struct area_times *times;
	uint64_t since_ns, run_ns;

	times = &worker_area(rt, 0)->times;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(skua_task_spawn(rt, &tasks[i]), 0);
	assert_int_equal(skua_runtime_poll(rt, 0), 1);
	assert_int_equal(times->state, AREA_STARTING);
	since_ns = times->since_ns;
	run_ns = times->run_ns;
	take_time(NULL);
	assert_int_equal(skua_runtime_poll(rt, UINT64_MAX), 0);
	assert_int_equal(times->state, AREA_PARKED);
	assert_true(times->run_ns > run_ns);
	/* Of the time since the first call, the part between the calls is not its own. */
	assert_true(times->since_ns - since_ns - (times->run_ns - run_ns) >=
		    100000);
	destroy(rt);
}

TEST(types__more_than_rows__share_the_last)
{
	static struct skua_task_type types[2 * AREA_TYPES];
	struct area_samples *samples = calloc(1, sizeof(*samples));
	static struct area_worker area;
	struct tick tick = { 0 };
	struct worker_telemetry telemetry = { .area = &area, .tick = &tick };
	uint64_t sum = 0;

	assert_non_null(samples);
	area.samples = (uintptr_t)samples;
	for (unsigned i = 0; i < COUNT_OF(types); i++) {
		area.counters.tasks_polled += 10;
		telemetry_sample(&telemetry, &types[i], do_nothing, 7);
	}
	assert_true(samples->types[AREA_TYPES - 1].polls > 0);
	assert_int_equal(samples->types[AREA_TYPES - 1].poll, 1);
	for (unsigned i = 0; i < AREA_TYPES; i++) {
		const struct area_type *row = &samples->types[i];

		sum += row->polls;
		assert_int_equal(row->run_ns, 7 * row->polls);
		if (i < AREA_TYPES - 1)
			assert_true(row->polls == 0 || row->polls == 10);
	}
	assert_int_equal(sum, 10 * COUNT_OF(types));
	free(samples);
}

static enum skua_poll instead(struct skua_task *task)
{
	(void)task;
	return SKUA_DONE;
}

/* Two tasks of the same place in the table: one is timed, both run. */
TEST(wait_sample__tasks_collide__one_is_timed)
{
	static struct wait_samples samples;
	struct skua_task task = SKUA_TASK_INIT(do_nothing);
	uint64_t since_ns;
	uint32_t weight;

	wait_sample_put(&samples, &task, 3, instead);
	assert_true(task.poll == instead);
	assert_true(wait_sample_poll(&samples, &task) == do_nothing);
	task.poll = take_time;
	wait_sample_put(&samples, &task, 4, instead);
	assert_true(task.poll == take_time);
	assert_true(wait_sample_take(&samples, &task, &since_ns, &weight) ==
		    do_nothing);
	assert_int_equal(weight, 3);
	assert_true(task.poll == do_nothing);
}
