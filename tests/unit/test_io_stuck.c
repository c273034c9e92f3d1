/* SPDX-License-Identifier: MIT */
/**
 * test_io_stuck.c - events beside a worker in a poll that does not end
 *
 * The poll ends only after the echoes that are measured: without another worker that takes
 * the driver over, the test hangs. SKUA_TEST_SET=long: the poll lasts for five seconds.
 */
#include <sys/eventfd.h>

#include "core/runtime/runtime.h"
#include "tests/unit/echo.h"
#include "tests/unit/work_done.h"

#define TURNS  500u
#define BLOCKS 5u

static bool is_long(void)
{
	const char *set = getenv("SKUA_TEST_SET");

	return set && strcmp(set, "long") == 0;
}

/* A fiber that an event wakes, and that occupies its worker from then on. */
struct stuck {
	struct skua_fiber fiber; /* first: a fiber is its stuck */
	struct skua_io io;
	int other;
	bool spins; /* else its thread sleeps, until wake is written */
	int wake;
	struct gate begun, end;
};

static void get_stuck(struct skua_fiber *self)
{
	struct stuck *it = (struct stuck *)self;
	uint64_t count;
	char byte;

	if (skua_io_read(it->io, &byte, 1, SKUA_FOREVER_NS) != 1)
		return;
	gate_open(&it->begun);
	if (!it->spins && read(it->wake, &count, sizeof(count)) < 0)
		return;
	while (!gate_is_open(&it->end))
		;
}

/* Let the leader, which sleeps, take the event, and poll the fiber that gets stuck. */
static void stuck_begin(struct skua_runtime *rt, struct stuck *it, bool spins)
{
	int fds[2];

	*it = (struct stuck){ .spins = spins, .wake = eventfd(0, EFD_CLOEXEC) };
	fds_open(fds, PAIR_UNIX);
	it->io = attached(rt, fds[0]);
	it->other = fds[1];
	assert_int_equal(skua_fiber_init(&it->fiber, get_stuck, 0), 0);
	spawn(rt, &it->fiber.task);
	wait_for_wait(it->io, IO_READ);
	while (!idle_all_parked(&rt->pool.idle))
		sched_yield();
	assert_int_equal(write(it->other, "x", 1), 1);
	gate_wait(&it->begun);
}

static void stuck_end(struct stuck *it)
{
	uint64_t one = 1;

	gate_open(&it->end);
	assert_int_equal(write(it->wake, &one, sizeof(one)), sizeof(one));
	join(&it->fiber.task);
	io_close(it->io);
	assert_int_equal(close(it->other), 0);
	assert_int_equal(close(it->wake), 0);
}

static uint64_t takeovers(struct skua_runtime *rt)
{
	struct skua_stats stats;

	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	return stats.total.io_takeovers;
}

/* Make echoes: at least TURNS, and for at least @least_ns. */
static struct quantiles measure(const struct echo *echo, uint64_t least_ns)
{
	static uint64_t times_ns[1000000];
	uint64_t begin_ns = skua_now_ns();
	unsigned n = 0;

	while (n < TURNS ||
	       (n < COUNT_OF(times_ns) && skua_now_ns() - begin_ns < least_ns))
		times_ns[n++] = echo_turn(echo);
	return quantiles_of(times_ns, n);
}

/* A runtime, with a leader in a poll that does not end, and an echo that another worker
 * answers. */
struct scene {
	struct skua_runtime *rt;
	struct echo echo;
	struct stuck stuck;
	struct quantiles alone; /* before that */
	uint64_t first_ns;      /* the first echo after that */
};

static void scene_end(struct scene *it)
{
	stuck_end(&it->stuck);
	echo_end(&it->echo);
	destroy(it->rt);
}

static void scene_begin(struct scene *it, unsigned workers, bool spins,
			uint64_t alone_ns)
{
	it->rt = runtime_new(workers, 0);
	echo_start(it->rt, &it->echo);
	it->alone = measure(&it->echo, alone_ns);
	stuck_begin(it->rt, &it->stuck, spins);
	it->first_ns = echo_turn(&it->echo);
}

static void print(const char *name, unsigned workers, struct quantiles q)
{
	printf("%u workers, %s: p50 %.1f us, p99 %.1f us, most %.1f us\n",
	       workers, name, (double)q.p50_ns / 1e3, (double)q.p99_ns / 1e3,
	       (double)q.most_ns / 1e3);
}

/* Blocks of echoes alone and beside the poll take turns; the least of their ratios counts,
 * which other processes hardly change. If each event waited for a check of the sentinel, all
 * ratios would be above ten. */
static void beside(unsigned workers, bool spins)
{
	uint64_t firsts_ns[BLOCKS], length_ns = is_long() ? 1000000000 : 0;
	struct quantiles with;
	struct scene it;
	double least = 1e9;

	for (unsigned i = 0; i < BLOCKS; i++) {
		double ratio;

		scene_begin(&it, workers, spins, length_ns);
		with = measure(&it.echo,
			       i == BLOCKS - 1 ? 5 * length_ns : length_ns);
		assert_int_equal(state_of(&it.stuck.fiber.task) & TASK_COMPLETE,
				 0);
		firsts_ns[i] = it.first_ns;
		scene_end(&it);
		ratio = (double)with.p50_ns / (double)it.alone.p50_ns;
		if (ratio < least)
			least = ratio;
	}
	print("alone", workers, it.alone);
	print(spins ? "beside a poll that computes"
		    : "beside a poll that sleeps",
	      workers, with);
	printf("least ratio of p50 %.2f; first echoes: p50 %.1f us\n", least,
	       (double)quantiles_of(firsts_ns, BLOCKS).p50_ns / 1e3);
	assert_true(least < 5.0);
}

TEST(stuck__leader_in_a_poll__others_take_events_as_before)
{
	beside(2, false);
	beside(3, false);
}

/* On a busy machine, polls are long, and the leader gives the role up before. So this tries
 * until the sentinel has taken it over; if it never does, the test hangs. */
TEST(stuck__leader__another_worker_takes_the_role)
{
	uint64_t count = 0;

	while (count == 0) {
		struct scene it;

		scene_begin(&it, 2, false, 0);
		measure(&it.echo, 0);
		count = takeovers(it.rt);
		scene_end(&it);
	}
}

/* A fiber that an event wakes, that yields until the checks of the sentinel are rare, and that
 * occupies its worker then. */
struct late {
	struct skua_fiber fiber; /* first: a fiber is its late */
	struct skua_runtime *rt;
	struct skua_io io;
	unsigned taken_over; /* rounds in which its worker led */
};

/* Longer than the delays of the sentinel take to become the longest. */
#define YIELDS_NS UINT64_C(10000000)

static void yield_then_get_stuck(struct late *it)
{
	uint64_t end_ns = skua_now_ns() + YIELDS_NS, before;
	struct driver *driver = &it->rt->pool.drivers[0];
	unsigned index;

	while (skua_now_ns() < end_ns)
		skua_yield();
	index = current_worker->index;
	before = takeovers(it->rt);
	if (!driver_leads(driver, index))
		return; /* the fiber was stolen */
	while (driver_leads(driver, index))
		;
	it->taken_over += takeovers(it->rt) > before;
}

static void get_stuck_late(struct skua_fiber *self)
{
	struct late *it = (struct late *)self;
	char byte;

	while (it->taken_over < BLOCKS &&
	       skua_io_read(it->io, &byte, 1, SKUA_FOREVER_NS) == 1)
		yield_then_get_stuck(it);
}

/* No event comes meanwhile. If the sentinel took its own looks for those of another worker, the
 * test would hang. */
TEST(stuck__leader_after_short_polls__another_worker_takes_the_role)
{
	struct late it = { .rt = runtime_new(2, 0) };
	int fds[2];

	fds_open(fds, PAIR_UNIX);
	it.io = attached(it.rt, fds[0]);
	assert_int_equal(skua_fiber_init(&it.fiber, get_stuck_late, 0), 0);
	spawn(it.rt, &it.fiber.task);
	/* The fiber leaves bytes that come after its last round. */
	while (!(state_of(&it.fiber.task) & TASK_COMPLETE)) {
		if (idle_all_parked(&it.rt->pool.idle))
			assert_int_equal(write(fds[1], "x", 1), 1);
		usleep(1000);
	}
	join(&it.fiber.task);
	io_close(it.io);
	assert_int_equal(close(fds[1]), 0);
	destroy(it.rt);
}

/* On a machine with two CPUs, the client and the server share one. */
TEST(stuck__leader_computes__others_take_events)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip_aloud("there is one CPU");
	beside(2, true);
}

/* The new leader is woken by the kernel, and wakes nobody; beside it, the sentinel wakes up
 * each millisecond. If each event woke another worker, workers would sleep twice for each. On
 * a busy machine they may sleep more often for other reasons: the best of the blocks counts. */
TEST(stuck__events__no_wake_up_of_another_worker_for_each)
{
	double least = 1e9;
	struct scene it;

	scene_begin(&it, 3, false, 0);
	for (unsigned i = 0; i < BLOCKS; i++) {
		uint64_t sleeps = work_done().sleeps;
		uint64_t time_ns = skua_now_ns();
		double each;

		for (unsigned n = 0; n < TURNS; n++)
			echo_turn(&it.echo);
		time_ns = skua_now_ns() - time_ns;
		sleeps = work_done().sleeps - sleeps;
		each = ((double)sleeps - (double)time_ns / 1e6) / TURNS;
		if (each < least)
			least = each;
	}
	scene_end(&it);
	printf("workers sleep %.2f times for each event\n", least);
	assert_true(least < 1.8);
}
