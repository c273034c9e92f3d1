/* SPDX-License-Identifier: MIT */
/*
 * test_probes.c - a tracer that attaches to a probe sees each event, once
 *
 * The tracer is the kernel: a uprobe on the nop, that raises the semaphore.
 */
#include "probes/probes.h"

#include "tests/unit/probe_attach.h"
#include "tests/unit/support.h"

#define CALLS UINT64_C(1000)

/* The arguments that the tracer sees, in order. */
struct arguments {
	uint64_t values[4];
};

static void skip_test(const char *reason)
{
	skipped_in_part(reason);
	skip_aloud(reason);
}

/* Attach, or skip the test that needs it. */
static int attach_or_skip(const char *name)
{
	int fd;

	if (!PROBES_EXIST)
		skip_test("no probes on this architecture");
	fd = probe_attach(name);
	if (fd == -EACCES || fd == -EPERM)
		skip_test("uprobes are not permitted");
	if (fd == -ENODEV || fd == -EOPNOTSUPP || fd == -EINVAL)
		skip_test("the kernel has no uprobes with semaphores");
	if (fd < 0)
		fail_msg("%s: %s", name, strerror(-fd));
	return fd;
}

/* ---- one call at a time --------------------------------------------------- */

struct probe {
	const char *name;
	bool (*enabled)(void);
	void (*fire)(void);
	struct arguments seen; /* by a tracer, of what fire() says */
};

static void fire_steal(void)
{
	probe_steal(3, 4095, 32, UINT64_C(1) << 40);
}

static void fire_steal_fail(void)
{
	probe_steal_fail(5, 1000000);
}

static void fire_park(void)
{
	probe_park(7, PROBE_PARK_CROWDED);
}

static void fire_unpark(void)
{
	probe_unpark(9, UINT64_C(1) << 40, 77);
}

static void fire_lifo_flush(void)
{
	probe_lifo_flush(1, 20, 30);
}

static void fire_overflow(void)
{
	probe_overflow(0, 128);
}

static void fire_inject(void)
{
	probe_inject(2, 64);
}

static void fire_stall(void)
{
	probe_stall(4, (void *)8, 16);
}

static void fire_accept_delayed(void)
{
	probe_accept_delayed(-24, 1000000);
}

static void fire_worker_start(void)
{
	probe_worker_start(6, 1234);
}

static void fire_blocking_full(void)
{
	probe_blocking_full(1024, 3);
}

static void fire_worker_stop(void)
{
	probe_worker_stop(8);
}

static void fire_io_takeover(void)
{
	probe_io_takeover(3, 5);
}

/* The two that their caller asks for before. */
static void fire_task_begin(void)
{
	if (probe_task_begin_enabled())
		probe_task_begin_hit(1, 2, 3, 4);
}

static void fire_task_end(void)
{
	if (probe_task_end_enabled())
		probe_task_end_hit(1, 2, 3, 0);
}

/* clang-format off */
#define NUMBER(name, count) PROBE_##name,
enum { PROBES(NUMBER) };

#define ARGUMENTS(name, count) count,
static const unsigned argument_counts[] = { PROBES(ARGUMENTS) };

#define ROW(name, ...) \
	[PROBE_##name] = { #name, probe_##name##_enabled, fire_##name, { __VA_ARGS__ } }

static const struct probe probes[] = {
	ROW(steal, {3, 4095, 32, UINT64_C(1) << 40}),
	ROW(steal_fail, {5, 1000000}),
	ROW(park, {7, 1}),
	ROW(unpark, {9, UINT64_C(1) << 40, 77}),
	ROW(lifo_flush, {1, 20, 30}),
	ROW(overflow, {0, 128}),
	ROW(inject, {2, 64}),
	ROW(stall, {4, 8, 16}),
	ROW(accept_delayed, {24, 1000000}),
	ROW(task_begin, {1,2,3,4}),
	ROW(task_end, {1,2,3}),
	ROW(worker_start, {6, 1234}),
	ROW(worker_stop, {8}),
	ROW(io_takeover, {3, 5}),
	ROW(blocking_full, {1024, 3}),
};
/* clang-format on */

static unsigned enabled_count(void)
{
	unsigned count = 0;

	for (size_t i = 0; i < COUNT_OF(probes); i++)
		count += probes[i].enabled();
	return count;
}

TEST(probe__attached__semaphore_raised_and_each_call_counted)
{
	for (size_t i = 0; i < COUNT_OF(probes); i++) {
		const struct probe *probe = &probes[i];
		int fd = attach_or_skip(probe->name);

		assert_true(probe->enabled());
		assert_int_equal(enabled_count(), 1);
		for (uint64_t n = 0; n < CALLS; n++)
			probe->fire();
		assert_int_equal(probe_hits(fd), CALLS);
		close(fd);
	}
}

TEST(probe__detached__semaphore_lowered)
{
	for (size_t i = 0; i < COUNT_OF(probes); i++) {
		close(attach_or_skip(probes[i].name));
		assert_false(probes[i].enabled());
		probes[i].fire();
	}
}

/* The registers of the first hit, as the kernel has recorded them. */
static struct arguments first_hit(const struct perf_event_mmap_page *ring)
{
	const char *data = (const char *)ring + ring->data_offset;
	const struct perf_event_header *event = (const void *)data;
	/* Which registers they are, then those, by their number. */
	const uint64_t *sample = (const void *)(data + sizeof(*event));

	assert_int_equal(event->type, PERF_RECORD_SAMPLE);
	assert_int_equal(sample[0], PERF_SAMPLE_REGS_ABI_64);
#if defined(__x86_64__)
	return (struct arguments){ { sample[4], sample[3], sample[2],
				     sample[1] } };
#else
	return (struct arguments){ { sample[1], sample[2], sample[3],
				     sample[4] } };
#endif
}

TEST(probe__attached__arguments_are_where_the_note_says)
{
	size_t size = 2 * (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < COUNT_OF(probes); i++) {
		int fd = attach_or_skip(probes[i].name);
		void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, 0);
		struct arguments hit;

		assert_ptr_not_equal(ring, MAP_FAILED);
		probes[i].fire();
		assert_int_equal(probe_hits(fd), 1);
		hit = first_hit(ring);
		assert_memory_equal(hit.values, probes[i].seen.values,
				    argument_counts[i] * sizeof(uint64_t));
		munmap(ring, size);
		close(fd);
	}
}

/* ---- a runtime ------------------------------------------------------------ */

#define TASKS   20000
#define WORKERS 4

/* The work of a worker, by its hooks and by the probes on its thread. */
struct observed {
	struct skua_worker_stats stats; /* at its end */
	uint64_t parked;
	uint64_t unparked;
	int fds[COUNT_OF(probes)]; /* in the order of probes[] */
};

static struct observed observed[WORKERS];
static struct skua_runtime *runtime;

/* By each worker, for itself: a count that threads inherit is not exact. */
static void start_worker(void *ctx, unsigned worker)
{
	(void)ctx;
	for (size_t i = 0; i < COUNT_OF(probes); i++)
		observed[worker].fds[i] = probe_attach(probes[i].name);
}

static void count_park(void *ctx, unsigned worker)
{
	(void)ctx;
	observed[worker].parked++;
}

static void count_unpark(void *ctx, unsigned worker)
{
	(void)ctx;
	observed[worker].unparked++;
}

/* Here, and not after the drain: until now it may have searched and parked. */
static void stop_worker(void *ctx, unsigned worker)
{
	(void)ctx;
	skua_runtime_worker_stats(runtime, worker, &observed[worker].stats);
}

/* The hits of a probe on the threads of all workers. */
static uint64_t sum_hits(size_t probe)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < WORKERS; i++) {
		assert_true(observed[i].fds[probe] >= 0);
		sum += probe_hits(observed[i].fds[probe]);
		close(observed[i].fds[probe]);
	}
	return sum;
}

static struct skua_task tasks[TASKS];
static enum skua_poll poll_leaf(struct skua_task *self)
{
	(void)self;
	for (volatile unsigned i = 0; i < 100; i++)
		;
	return SKUA_DONE;
}

static enum skua_poll poll_root(struct skua_task *self)
{
	(void)self;
	for (size_t i = 0; i < TASKS; i++) {
		skua_task_init(&tasks[i], poll_leaf);
		assert_int_equal(skua_task_spawn(runtime, &tasks[i]), 0);
	}
	return SKUA_DONE;
}

/* All in the small queue of one worker, from which three others steal. */
static void run_tasks(void)
{
	struct skua_hooks hooks = { .worker_start = start_worker,
				    .worker_stop = stop_worker,
				    .worker_park = count_park,
				    .worker_unpark = count_unpark };
	struct skua_task root = SKUA_TASK_INIT(poll_root);

	runtime = RUNTIME(.workers = WORKERS, .queue_capacity = 64,
			  .hooks = &hooks, .flags = SKUA_NO_ENV);
	assert_int_equal(skua_task_spawn(runtime, &root), 0);
	assert_int_equal(skua_runtime_drain(runtime), 0);
	assert_int_equal(skua_runtime_destroy(runtime), 0);
}

#define LATER 10

static enum skua_poll poll_later(struct skua_task *self)
{
	(void)self;
	for (size_t i = 0; i < LATER; i++) {
		skua_task_init(&tasks[i], poll_leaf);
		assert_int_equal(skua_task_spawn(runtime, &tasks[i]), 0);
	}
	return SKUA_DONE;
}

/* Until the worker sleeps. */
static uint64_t drive(enum skua_poll (*poll)(struct skua_task *))
{
	struct skua_task root = SKUA_TASK_INIT(poll);
	struct skua_stats stats;

	assert_int_equal(skua_task_spawn(runtime, &root), 0);
	while (skua_runtime_poll(runtime, 1000) != 0)
		;
	assert_int_equal(skua_runtime_stats(runtime, &stats), 0);
	return stats.total.lifo_hits;
}

TEST(lifo_flush__attached_later__tells_of_what_came_after)
{
	size_t size = 2 * (size_t)sysconf(_SC_PAGESIZE);
	uint64_t before;
	struct arguments hit;
	void *ring;
	int fd;

	close(attach_or_skip("lifo_flush"));
	runtime = RUNTIME(.flags = SKUA_NO_ENV | SKUA_CALLER_DRIVEN);
	before = drive(poll_root);
	assert_true(before > 0);
	fd = attach_or_skip("lifo_flush");
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(ring, MAP_FAILED);
	before = drive(poll_later) - before;
	assert_in_range(probe_hits(fd), 1, LATER);
	hit = first_hit(ring);
	assert_in_range(hit.values[1], 1, before);
	assert_in_range(hit.values[2], hit.values[1], LATER + 1);
	munmap(ring, size);
	close(fd);
	assert_int_equal(skua_runtime_destroy(runtime), 0);
}

/* After the others: it leaves probes attached. */
TEST(runtime__attached__hits_agree_with_counters)
{
	struct observed sum = { .parked = 0 };

	close(attach_or_skip("steal"));
	run_tasks();
	for (unsigned i = 0; i < WORKERS; i++) {
		const struct skua_worker_stats *stats = &observed[i].stats;

		sum.parked += observed[i].parked;
		sum.unparked += observed[i].unparked;
		sum.stats.steals += stats->steals;
		sum.stats.searches_failed += stats->searches_failed;
		sum.stats.global_batch_fetches += stats->global_batch_fetches;
		sum.stats.overflows += stats->overflows;
		sum.stats.overflows_single += stats->overflows_single;
		sum.stats.tasks_polled += stats->tasks_polled;
	}
	assert_int_equal(sum_hits(PROBE_steal), sum.stats.steals);
	assert_int_equal(sum_hits(PROBE_steal_fail), sum.stats.searches_failed);
	assert_int_equal(sum_hits(PROBE_park), sum.parked);
	assert_int_equal(sum_hits(PROBE_unpark), sum.unparked);
	assert_int_equal(sum_hits(PROBE_inject),
			 sum.stats.global_batch_fetches);
	assert_true(sum.stats.overflows > 0);
	assert_int_equal(sum_hits(PROBE_overflow),
			 sum.stats.overflows + sum.stats.overflows_single);
	/* Those that begin with the hook, or before. */
	assert_int_equal(sum_hits(PROBE_worker_stop), WORKERS);
	assert_int_equal(sum_hits(PROBE_task_begin), sum.stats.tasks_polled);
	assert_int_equal(sum_hits(PROBE_task_end), sum.stats.tasks_polled);
}

/* Last, and the semaphores are not checked: some kernels raise them twice for
 * the second tracer, and lower them once. */
TEST(probe__attached_twice__both_count)
{
	for (size_t i = 0; i < COUNT_OF(probes); i++) {
		int first = attach_or_skip(probes[i].name);
		int second = attach_or_skip(probes[i].name);

		probes[i].fire();
		assert_int_equal(probe_hits(first), 1);
		close(first);
		probes[i].fire();
		assert_int_equal(probe_hits(second), 2);
		close(second);
	}
}
