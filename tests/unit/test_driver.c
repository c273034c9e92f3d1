/* SPDX-License-Identifier: MIT */
/* test_driver.c - descriptors whose events make tasks runnable */
#include <poll.h>
#include <sys/eventfd.h>

#include "core/loop/current.h"
#include "core/loop/loop.h"
#include "core/loop/worker.h"
#include "core/runtime/runtime.h"
#include "tests/unit/attached_wakers.h"
#include "tests/unit/deny.h"
#include "tests/unit/process.h"
#include "tests/unit/tasks.h"

/* A task that reads an eventfd, and ends when it has read a sum. */
struct reader {
	struct skua_task task; /* first: a task is its reader */
	int fd;
	struct skua_waker waker; /* kept while the descriptor is attached */
	atomic_u64 goal;
	atomic_u64 sum;
	/* Whether a poll reads at most once, so that each read but the first poll's follows an
	 * event. */
	bool once;
	atomic_u32 polled;
	/* If not NULL, a poll that has read something waits for this gate. */
	struct gate *hold;
	/* If not NULL, where a poll that has read something writes @number. */
	unsigned **log;
	unsigned number;
};

static enum skua_poll reader_poll(struct skua_task *self)
{
	struct reader *it = (struct reader *)self;
	uint64_t count;

	while (read(it->fd, &count, sizeof(count)) > 0) {
		if (it->log)
			*(*it->log)++ = it->number;
		atomic_fetch_add_release(&it->sum, count);
		if (it->hold)
			gate_wait(it->hold);
		if (it->once)
			break;
	}
	atomic_store_release(&it->polled, 1);
	return atomic_load_relaxed(&it->sum) >= atomic_load_relaxed(&it->goal)
		       ? SKUA_DONE
		       : SKUA_PENDING;
}

static struct driver *driver_of(struct skua_runtime *rt)
{
	/* Before the first descriptor is attached. */
	if (rt->pool.drivers[0].deliver != wake_attached)
		rt->pool.drivers[0].deliver = wake_attached;
	return &rt->pool.drivers[0];
}

static void reader_init(struct reader *it, uint64_t goal)
{
	*it = (struct reader){ .task = SKUA_TASK_INIT(reader_poll),
			       .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
			       .goal = goal };
	assert_true(it->fd >= 0);
}

static void reader_attach(struct skua_runtime *rt, struct reader *it)
{
	spawn(rt, &it->task);
	it->waker = skua_task_waker(&it->task);
	attach_waker(driver_of(rt), it->fd, &it->waker);
}

static void reader_start(struct skua_runtime *rt, struct reader *it,
			 uint64_t goal)
{
	reader_init(it, goal);
	reader_attach(rt, it);
}

static void tell(struct reader *it)
{
	uint64_t one = 1;

	assert_int_equal(write(it->fd, &one, sizeof(one)), sizeof(one));
}

static uint64_t sum_of(struct reader *it)
{
	return atomic_load_acquire(&it->sum);
}

static void reader_end(struct skua_runtime *rt, struct reader *it)
{
	wait_until_done(&it->task);
	assert_int_equal(driver_detach(driver_of(rt), it->fd), 0);
	skua_waker_drop(it->waker);
	join(&it->task);
	close(it->fd);
}

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

static void event_by_event(struct skua_runtime *rt, unsigned events)
{
	struct reader reader;

	reader_init(&reader, events);
	reader.once = true;
	reader_attach(rt, &reader);
	while (!atomic_load_acquire(&reader.polled))
		sched_yield();
	for (unsigned i = 0; i < events; i++) {
		tell(&reader);
		while (sum_of(&reader) < i + 1)
			sched_yield();
	}
	reader_end(rt, &reader);
}

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

/* ---- callers that drive, and pollers ---------------------------------------------- */

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

/* Sleeps until it is unparked or until the deadline. */
struct source {
	struct skua_poller poller; /* first: a poller is its source */
	int fd;
	struct gate stop;
};

static int source_poll(struct skua_poller *self)
{
	return gate_is_open(&((struct source *)self)->stop) ? SKUA_POLLER_DONE
							    : 0;
}

static void source_park(struct skua_poller *self, uint64_t deadline_ns)
{
	struct source *it = (struct source *)self;
	struct pollfd wait = { .fd = it->fd, .events = POLLIN };
	uint64_t now_ns = skua_now_ns(), left_ns, count;
	struct timespec left;

	left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	left = (struct timespec){ (time_t)(left_ns / 1000000000),
				  (long)(left_ns % 1000000000) };
	ppoll(&wait, 1, deadline_ns == UINT64_MAX ? NULL : &left, NULL);
	if (wait.revents)
		assert_int_equal(read(it->fd, &count, sizeof(count)),
				 sizeof(count));
}

static void source_unpark(struct skua_poller *self)
{
	uint64_t one = 1;

	assert_int_equal(write(((struct source *)self)->fd, &one, sizeof(one)),
			 sizeof(one));
}

/* Worker 0 sleeps in the poller, and so never in the driver. */
TEST(poller__with_a_park__events_are_reaped_beside_it)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct source source = { .poller = { .poll = source_poll,
						     .park = source_park,
						     .unpark = source_unpark },
					 .fd = eventfd(0, EFD_NONBLOCK) };
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct reader reader;

		event_by_event(rt, 10);
		assert_int_equal(skua_runtime_add_poller(rt, 0, &source.poller),
				 0);
		reader_start(rt, &reader, 10);
		for (unsigned i = 0; i < 10; i++) {
			wait_until_waiting(&reader.task);
			while (!idle_all_parked(&rt->pool.idle))
				sched_yield();
			tell(&reader);
			while (sum_of(&reader) < i + 1)
				sched_yield();
		}
		reader_end(rt, &reader);
		gate_open(&source.stop);
		destroy(rt);
		close(source.fd);
	}
}

/* Stands before reap_owner(), and counts the looks for events. */
static atomic_u64 looks;

bool __real_reap_owner(struct worker *w, uint64_t now_ns, bool busy);
bool __wrap_reap_owner(struct worker *w, uint64_t now_ns, bool busy);

bool __wrap_reap_owner(struct worker *w, uint64_t now_ns, bool busy)
{
	/* Relaxed: a count. */
	atomic_fetch_add_relaxed(&looks, 1);
	return __real_reap_owner(w, now_ns, busy);
}

static void wait_until_parked(struct skua_runtime *rt)
{
	while (!idle_all_parked(&rt->pool.idle))
		sched_yield();
}

/* A leader's search may end at once, as it sleeps where events come. That of a worker that
 * sleeps in a poller looks for events and tasks as often as the configuration says; but it may
 * find an event, or not begin while the machine is busy. */
TEST(poller__with_a_park__search_is_not_that_of_a_leader)
{
	enum { ATTEMPTS = 200, ROUNDS = 1000 };
	struct source source = { .poller = { .poll = source_poll,
					     .park = source_park,
					     .unpark = source_unpark },
				 .fd = eventfd(0, EFD_NONBLOCK) };
	struct skua_runtime *rt =
		RUNTIME(.workers = 1, .steal_attempts = ATTEMPTS);
	struct reader reader;
	uint64_t most = 0, rest;

	assert_int_equal(skua_runtime_add_poller(rt, 0, &source.poller), 0);
	reader_start(rt, &reader, ROUNDS);
	for (unsigned i = 0; i < ROUNDS && most < ATTEMPTS; i++) {
		uint64_t before;

		wait_until_waiting(&reader.task);
		wait_until_parked(rt);
		before = atomic_load_relaxed(&looks);
		tell(&reader);
		while (sum_of(&reader) < i + 1)
			sched_yield();
		wait_until_parked(rt);
		most = atomic_load_relaxed(&looks) - before;
	}
	assert_true(most >= ATTEMPTS);
	rest = ROUNDS - sum_of(&reader);
	assert_true(rest == 0 ||
		    write(reader.fd, &rest, sizeof(rest)) == sizeof(rest));
	reader_end(rt, &reader);
	gate_open(&source.stop);
	destroy(rt);
	close(source.fd);
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

/* ---- where events arrive ---------------------------------------------------- */

#define PASSES 60u

static void prefer(struct skua_runtime *rt, unsigned i)
{
	for (unsigned n = 0; n < 4 * DRIVER_VOTES; n++)
		driver_arrived(driver_of(rt), i);
	assert_int_equal(driver_preferred(driver_of(rt)), i + 1);
}

/* Does worker @i lead, and sleep, soon? */
static bool soon_leads(struct skua_runtime *rt, unsigned i)
{
	for (unsigned n = 0; n < 1000; n++) {
		if (atomic_load_acquire(&driver_of(rt)->leader) ==
		    (DRIVER_ASLEEP | (i + 1)))
			return true;
		sched_yield();
	}
	return false;
}

/* The leader passes the role on after an event, unless its polls were long, so that it had given
 * the role up before. If no worker passed it on, the test would hang. */
TEST(leader__another_worker_is_preferred__takes_the_role)
{
	struct skua_runtime *rt = runtime_new(3, 0);
	struct reader reader;

	reader_start(rt, &reader, UINT64_MAX);
	for (unsigned n = 0; n < PASSES; n++) {
		prefer(rt, n % 3);
		do
			tell(&reader);
		while (!soon_leads(rt, n % 3));
	}
	atomic_store_relaxed(&reader.goal, 0);
	tell(&reader);
	reader_end(rt, &reader);
	destroy(rt);
}

TEST(votes__for_two_workers__most_of_the_last_ones_decide)
{
	struct driver driver = { .owner = NULL };

	assert_int_equal(driver_preferred(&driver), 0);
	driver_arrived(&driver, 5);
	assert_int_equal(driver_preferred(&driver), 0);
	driver_arrived(&driver, 5);
	assert_int_equal(driver_preferred(&driver), 6);
	for (unsigned n = 0; n < 100; n++)
		driver_arrived(&driver, 5);
	driver_arrived(&driver, 7);
	assert_int_equal(driver_preferred(&driver), 6);
	for (unsigned n = 0; n < 6; n++)
		driver_arrived(&driver, 7);
	assert_int_equal(driver_preferred(&driver), 8);
}

static struct skua_runtime *voting;

/* The CPU on which worker 0 went to sleep. */
static int cpu_of_first(uint64_t data)
{
	(void)data;
	return (int)atomic_load_relaxed(&voting->pool.idle.sleepers[0].cpu) - 1;
}

static void ignore(struct driver *driver, uint64_t data, uint32_t events)
{
	(void)driver, (void)data, (void)events;
}

/* Deliver events, @count at once, that vote as often as they can. Return: index + 1 of the
 * worker that is preferred then; 0: none. */
static unsigned preferred_after(uint32_t count)
{
	struct driver_batch batch = { .count = count };

	for (unsigned n = 0; n < 8 * DRIVER_VOTES * DRIVER_VOTE_EVENTS; n++)
		reap_deliver_owner(current_worker, &batch);
	return driver_preferred(driver_of(voting));
}

static unsigned preferred[3];

static enum skua_poll vote_alone_and_at_once(struct skua_task *self)
{
	(void)self;
	preferred[0] = preferred_after(1);
	preferred[1] = preferred_after(2);
	preferred[2] = preferred_after(1);
	return SKUA_DONE;
}

TEST(votes__of_events_that_come_at_once__for_no_worker)
{
	struct skua_task task = SKUA_TASK_INIT(vote_alone_and_at_once);

	voting = runtime_new(2, 0);
	driver_of(voting)->deliver = ignore;
	driver_of(voting)->cpu_of = cpu_of_first;
	while (!idle_all_parked(&voting->pool.idle))
		sched_yield();
	spawn(voting, &task);
	join(&task);
	assert_true(preferred[0] != 0);
	assert_int_equal(preferred[1], 0);
	assert_true(preferred[2] != 0);
	destroy(voting);
}
