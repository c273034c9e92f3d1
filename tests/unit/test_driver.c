/* SPDX-License-Identifier: MIT */
/* test_driver.c - descriptors whose events make tasks runnable */
#include <poll.h>

#include "tests/unit/deny.h"
#include "tests/unit/eventfd_readers.h"
#include "tests/unit/process.h"

static struct skua_worker_stats counts(struct skua_runtime *rt)
{
	struct skua_stats stats;

	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	return stats.total;
}

static uint32_t parker_state(struct skua_runtime *rt, unsigned i)
{
	return atomic_load_acquire(&rt->pool.idle.sleepers[i].parker.state);
}

/* Do all workers sleep without a deadline, one of them in the driver? */
static bool all_asleep(struct skua_runtime *rt)
{
	unsigned in_driver = 0;

	for (unsigned i = 0; i < rt->pool.worker_count; i++) {
		uint32_t state = parker_state(rt, i);

		in_driver += state == PARKER_ELSEWHERE;
		if (state != PARKER_PARKED && state != PARKER_ELSEWHERE)
			return false;
	}
	return in_driver == 1 && idle_all_parked(&rt->pool.idle) &&
	       atomic_load_relaxed(&rt->pool.sentinel.holder) == 0;
}

static void wait_until_asleep(struct skua_runtime *rt)
{
	while (!all_asleep(rt))
		sched_yield();
}

/* ---- one descriptor ------------------------------------------------------- */

TEST(attach__event_by_event__each_is_reaped)
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);

		event_by_event(rt, 1000);
		assert_true(counts(rt).io_events >= 1000);
		assert_true(counts(rt).io_reaps <= counts(rt).io_events);
		destroy(rt);
	}
}

TEST(attach__events_from_sleep__one_worker_sleeps_in_the_driver)
{
	for (unsigned workers = 1; workers <= 4; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct counter counter = COUNTER_INIT;
		struct reader reader;

		reader_start(rt, &reader, 10);
		for (unsigned i = 0; i < 10; i++) {
			wait_until_asleep(rt);
			tell(&reader);
			while (sum_of(&reader) < i + 1)
				sched_yield();
		}
		/* A spawn wakes any of them, also the one in the driver. */
		wait_until_asleep(rt);
		spawn(rt, &counter.task);
		join(&counter.task);
		reader_end(rt, &reader);
		assert_true(counts(rt).io_parks >= 10);
		/* A read makes an eventfd writable, which is an event as well. */
		assert_true(counts(rt).io_events >= 10);
		destroy(rt);
	}
}

TEST(attach__opens_two_descriptors__destroy_closes_them)
{
	struct belongings before;
	struct skua_runtime *rt = runtime_new(2, 0);
	struct reader reader;

	destroy(rt);
	before = belongings();
	rt = runtime_new(2, 0);
	assert_int_equal(count_entries("/proc/self/fd"), before.files);
	reader_start(rt, &reader, 0);
	assert_int_equal(count_entries("/proc/self/fd"), before.files + 3);
	reader_end(rt, &reader);
	assert_int_equal(count_entries("/proc/self/fd"), before.files + 2);
	end(rt, before);
}

TEST(attach__bad_descriptors__refused)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct driver *driver = driver_of(rt);
	FILE *file = tmpfile();
	int fd = eventfd(0, 0);

	assert_non_null(file);
	assert_int_equal(driver_attach(driver, -1, 0), -EBADF);
	assert_int_equal(driver_attach(driver, fileno(file), 0), -EPERM);
	assert_int_equal(driver_attach(driver, fd, 0), 0);
	assert_int_equal(driver_attach(driver, fd, 0), -EEXIST);
	assert_int_equal(driver_detach(driver, fd), 0);
	assert_int_equal(driver_detach(driver, fd), -ENOENT);
	assert_int_equal(driver_attach(driver, fd, 0), 0);
	close(fd);
	fclose(file);
	destroy(rt);
}

/* ---- long polls ------------------------------------------------------------- */

/* The worker that sleeps in the driver gets into a long poll; another one takes the role,
 * and then the same happens to that one. */
TEST(long_polls__of_leaders__others_reap)
{
	struct skua_runtime *rt = runtime_new(3, 0);
	struct gate gate = { 0 };
	struct reader holds[2], reader;

	for (unsigned i = 0; i < 2; i++) {
		reader_init(&holds[i], 1);
		holds[i].hold = &gate;
		reader_attach(rt, &holds[i]);
	}
	reader_start(rt, &reader, 200);
	for (unsigned i = 0; i < 2; i++) {
		wait_until_waiting(&holds[i].task);
		tell(&holds[i]);
		while (sum_of(&holds[i]) == 0)
			sched_yield();
		for (unsigned n = 0; n < 100; n++) {
			uint64_t sum = sum_of(&reader);

			wait_until_waiting(&reader.task);
			tell(&reader);
			while (sum_of(&reader) == sum)
				sched_yield();
		}
	}
	gate_open(&gate);
	for (unsigned i = 0; i < 2; i++)
		reader_end(rt, &holds[i]);
	reader_end(rt, &reader);
	destroy(rt);
}

static int attach_and_hold(struct skua_task *self, void *arg)
{
	struct reader *it = arg;

	(void)self;
	attach_waker(driver_of(runtime_of_task(&it->task)), it->fd, &it->waker);
	tell(it);
	while (sum_of(it) == 0)
		sched_yield();
	return 0;
}

/* The first descriptor is attached in a poll, which goes on; all others sleep. */
TEST(long_poll__that_attaches__another_worker_reaps)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct reader reader = { .task = SKUA_TASK_INIT(reader_poll),
				 .fd = eventfd(0, EFD_NONBLOCK),
				 .goal = 1 };

	driver_of(rt);
	spawn(rt, &reader.task);
	reader.waker = skua_task_waker(&reader.task);
	wait_until_waiting(&reader.task);
	while (!idle_all_parked(&rt->pool.idle))
		sched_yield();
	assert_int_equal(call_in_poll(rt, attach_and_hold, &reader), 0);
	reader_end(rt, &reader);
	destroy(rt);
}

/* ---- many at once ----------------------------------------------------------- */

#define READERS 12u
#define TELLS   4000u

/* Reads as reader_poll(); some polls take long. */
static enum skua_poll busy_poll(struct skua_task *self)
{
	struct reader *it = (struct reader *)self;
	uint64_t until_ns = skua_now_ns();

	if (it->number % 4 == 0)
		until_ns += 100000;
	while (skua_now_ns() < until_ns)
		;
	return reader_poll(self);
}

static void *tell_all(void *arg)
{
	struct reader *readers = arg;

	for (unsigned i = 0; i < TELLS; i++)
		tell(&readers[i * 7 % READERS]);
	return NULL;
}

TEST(many__told_by_threads__no_event_is_lost)
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct reader readers[READERS];
		pthread_t threads[2];

		for (unsigned i = 0; i < READERS; i++) {
			reader_init(&readers[i], UINT64_MAX);
			readers[i].number = i;
			readers[i].task.poll = busy_poll;
			reader_attach(rt, &readers[i]);
		}
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&threads[i], NULL,
							tell_all, readers),
					 0);
		for (unsigned i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		for (;;) {
			uint64_t sum = 0;

			for (unsigned i = 0; i < READERS; i++)
				sum += sum_of(&readers[i]);
			if (sum == 2 * TELLS)
				break;
			sched_yield();
		}
		for (unsigned i = 0; i < READERS; i++) {
			atomic_store_relaxed(&readers[i].goal, 0);
			tell(&readers[i]);
			reader_end(rt, &readers[i]);
		}
		destroy(rt);
	}
}

/* ---- order ------------------------------------------------------------------ */

#define BATCH 10u

TEST(batch__behind_a_long_poll__runs_in_order)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	unsigned order[BATCH], *log = order;
	struct reader readers[BATCH];
	struct holder holder = HOLDER_INIT;

	for (unsigned i = 0; i < BATCH; i++) {
		reader_init(&readers[i], 1);
		readers[i].log = &log;
		readers[i].number = i;
		reader_attach(rt, &readers[i]);
	}
	wait_until_asleep(rt);
	holder_hold(rt, &holder);
	for (unsigned i = 0; i < BATCH; i++)
		tell(&readers[i]);
	holder_end(&holder);
	for (unsigned i = 0; i < BATCH; i++)
		reader_end(rt, &readers[i]);
	for (unsigned i = 0; i < BATCH; i++)
		assert_int_equal(order[i], i);
	destroy(rt);
}

/* ---- timers ------------------------------------------------------------------ */

TEST(timers__beside_a_sleeping_leader__fire)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct reader reader;

		reader_start(rt, &reader, 1);
		for (unsigned i = 0; i < 20; i++) {
			struct nap nap = NAP_INIT(UINT64_C(60000) << i % 11);

			wait_until_asleep(rt);
			spawn(rt, &nap.task);
			join(&nap.task);
			assert_true(skua_now_ns() >= nap.when_ns);
		}
		tell(&reader);
		reader_end(rt, &reader);
		destroy(rt);
	}
}

/* ---- many idle descriptors ----------------------------------------------------- */

/* This hangs if a worker wakes up from time to time. */
TEST(attached__and_idle__no_worker_wakes)
{
	struct rlimit files;
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_stats before, after;
	struct reader reader;
	unsigned count;
	int *fds;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	count = files.rlim_cur < 10100 ? (unsigned)files.rlim_cur - 100 : 10000;
	fds = calloc(count, sizeof(*fds));
	assert_non_null(fds);
	reader_start(rt, &reader, 1);
	for (unsigned i = 0; i < count; i++) {
		fds[i] = dup(reader.fd);
		assert_true(fds[i] >= 0);
		attach_waker(driver_of(rt), fds[i], &reader.waker);
	}
	/* All have reported that they are writable, and a sentinel has checked for some
	 * time after that. Then nothing happens. */
	do {
		wait_until_asleep(rt);
		assert_int_equal(skua_runtime_stats(rt, &before), 0);
		usleep(50000);
		assert_int_equal(skua_runtime_stats(rt, &after), 0);
	} while (before.total.times_parked != after.total.times_parked ||
		 !all_asleep(rt));
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(driver_detach(driver_of(rt), fds[i]), 0);
		close(fds[i]);
	}
	tell(&reader);
	reader_end(rt, &reader);
	free(fds);
	destroy(rt);
}

/* ---- callers that drive ------------------------------------------------------------ */

TEST(driven__event__makes_its_descriptor_readable)
{
	struct skua_runtime *rt = RUNTIME(.flags = SKUA_CALLER_DRIVEN);
	struct pollfd wait = { .fd = skua_runtime_eventfd(rt),
			       .events = POLLIN };
	struct reader reader;

	reader_start(rt, &reader, 100);
	while (skua_runtime_poll(rt, 0) == 1)
		;
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(poll(&wait, 1, 0), 0);
		tell(&reader);
		assert_int_equal(poll(&wait, 1, -1), 1);
		assert_int_equal(skua_runtime_poll(rt, UINT64_MAX), 0);
		assert_int_equal(sum_of(&reader), i + 1);
	}
	reader_end(rt, &reader);
	assert_int_equal(counts(rt).io_parks, 0);
	destroy(rt);
}

/* ---- fork ------------------------------------------------------------------------- */

static struct skua_runtime *parent;

static int attach_in_child(void)
{
	int fd = eventfd(0, 0);

	if (driver_attach(&parent->pool.drivers[0], fd, 0) != -EOWNERDEAD)
		return 1;
	return driver_detach(&parent->pool.drivers[0], fd) == -EOWNERDEAD ? 0
									  : 2;
}

TEST(fork__attach_in_the_child__refused)
{
	struct reader reader;

	parent = runtime_new(2, 0);
	reader_start(parent, &reader, 2);
	tell(&reader);
	assert_int_equal(exit_of(attach_in_child), 0);
	while (sum_of(&reader) == 0)
		sched_yield();
	tell(&reader);
	reader_end(parent, &reader);
	destroy(parent);
}

/* ---- without epoll_pwait2() --------------------------------------------------------- */

static int events_and_timers(void)
{
	struct skua_runtime *rt;
	struct reader reader;

	if (!deny_call(SYS_epoll_pwait2))
		return 1;
	rt = runtime_new(1, 0);
	event_by_event(rt, 100);
	reader_start(rt, &reader, 1);
	for (unsigned i = 0; i < 3; i++) {
		struct nap nap = NAP_INIT(UINT64_C(500000));

		wait_until_asleep(rt);
		spawn(rt, &nap.task);
		join(&nap.task);
		if (skua_now_ns() < nap.when_ns)
			return 2;
	}
	tell(&reader);
	reader_end(rt, &reader);
	destroy(rt);
	return 0;
}

TEST(epoll_pwait2__denied__events_and_timers_come)
{
	assert_int_equal(exit_of(events_and_timers), 0);
}
