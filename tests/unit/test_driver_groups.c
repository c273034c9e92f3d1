/* SPDX-License-Identifier: MIT */
/*
 * test_driver_groups.c - the drivers of several groups of workers
 *
 * The groups are made: each runtime has a number of groups of a few workers, whatever the
 * machine. A test whose events nobody reaps hangs.
 */
#include <fcntl.h>
#include <sys/eventfd.h>

#include "core/base/clock.h"
#include "core/io/attach.h"
#include "core/loop/worker.h"
#include "core/runtime/runtime.h"
#include "skua/io.h"

int __real_llc_groups_make(struct llc_groups *out,
			   const struct machine *machine, const unsigned *cpus,
			   unsigned workers);
int __wrap_llc_groups_make(struct llc_groups *out,
			   const struct machine *machine, const unsigned *cpus,
			   unsigned workers);

#define llc_groups_make __real_llc_groups_make
#include "tests/near.h"
#undef llc_groups_make

#include "tests/unit/attached_wakers.h"
#include "tests/unit/pairs.h"

/* Longer than a test takes. */
#define SEARCH_NS (60 * NS_PER_S)
#define WORKERS   128u
#define EVENTS    20u

struct shape {
	unsigned groups, size; /* workers of a group */
};

static const struct shape shapes[] = { { 2, 2 }, { 8, 2 }, { 64, 2 } };

static struct shape shape;
static struct skua_runtime *rt;

static void place(struct skua_cpu *cpu, unsigned size)
{
	cpu->llc = cpu->cpu / size;
	cpu->node = 0;
}

int __wrap_llc_groups_make(struct llc_groups *out,
			   const struct machine *machine, const unsigned *cpus,
			   unsigned workers)
{
	(void)machine, (void)cpus;
	near_make(out, workers, 1, place, shape.size);
	return 0;
}

/* ---- a pipe, and the task that reads it --------------------------------------- */

struct reader {
	struct skua_task task; /* first: a task is its reader */
	struct driver *driver;
	struct skua_waker waker; /* kept while the descriptor is attached */
	int fds[2];
	atomic_u64 sum;
	atomic_u64 goal;
};

static enum skua_poll read_poll(struct skua_task *self)
{
	struct reader *it = (struct reader *)self;
	char bytes[64];
	ssize_t count;

	while ((count = read(it->fds[0], bytes, sizeof(bytes))) > 0)
		atomic_fetch_add_release(&it->sum, (uint64_t)count);
	return atomic_load_relaxed(&it->sum) >= atomic_load_relaxed(&it->goal)
		       ? SKUA_DONE
		       : SKUA_PENDING;
}

static void reader_begin(struct reader *it, unsigned group, uint64_t goal)
{
	*it = (struct reader){ .task = SKUA_TASK_INIT(read_poll),
			       .driver = &rt->pool.drivers[group],
			       .goal = goal };
	/* The end that is read has no events of another kind. */
	assert_int_equal(pipe2(it->fds, O_CLOEXEC), 0);
	assert_int_equal(fcntl(it->fds[0], F_SETFL, O_NONBLOCK), 0);
	spawn(rt, &it->task);
	it->waker = skua_task_waker(&it->task);
	attach_waker(it->driver, it->fds[0], &it->waker);
}

static void tell(struct reader *it)
{
	assert_int_equal(write(it->fds[1], "", 1), 1);
}

static void tell_one_by_one(struct reader *it)
{
	for (unsigned n = 0; n < EVENTS; n++) {
		uint64_t sum = atomic_load_acquire(&it->sum);

		tell(it);
		while (atomic_load_acquire(&it->sum) == sum)
			sched_yield();
	}
}

static void reader_end(struct reader *it)
{
	wait_until_done(&it->task);
	assert_int_equal(driver_detach(it->driver, it->fds[0]), 0);
	skua_waker_drop(it->waker);
	join(&it->task);
	close(it->fds[0]);
	close(it->fds[1]);
}

/* ---- tasks that keep workers ------------------------------------------------ */

struct keeper {
	struct skua_task task; /* first: a task is its keeper */
	bool yields;           /* else its poll does not end */
	atomic_u32 begun;
	struct gate end;
};

static struct keeper keepers[WORKERS];

static enum skua_poll keep(struct skua_task *self)
{
	struct keeper *it = (struct keeper *)self;

	atomic_store_release(&it->begun, 1);
	if (!it->yields)
		gate_wait(&it->end);
	return gate_is_open(&it->end) ? SKUA_DONE : SKUA_YIELD;
}

/* Keep @count workers, from @first on. */
static void keep_workers(unsigned first, unsigned count, bool yields)
{
	for (unsigned i = first; i < first + count; i++) {
		keepers[i] = (struct keeper){ .task = SKUA_TASK_INIT(keep),
					      .yields = yields };
		assert_int_equal(skua_task_spawn_on(rt, i, &keepers[i].task),
				 0);
	}
	for (unsigned i = first; i < first + count; i++)
		while (atomic_load_acquire(&keepers[i].begun) == 0)
			sched_yield();
}

static void let_go(unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++)
		gate_open(&keepers[i].end);
	for (unsigned i = first; i < first + count; i++)
		join(&keepers[i].task);
}

/* ---- fixture ---------------------------------------------------------------- */

static void begin(struct shape it)
{
	shape = it;
	rt = RUNTIME(.workers = it.groups * it.size);
	assert_int_equal(rt->pool.groups->count, it.groups);
	for (unsigned i = 0; i < it.groups * it.size; i++)
		assert_int_equal(rt->pool.workers[i]->group, i / it.size);
}

static void begin_with_readers(struct shape it)
{
	begin(it);
	for (unsigned g = 0; g < it.groups; g++)
		rt->pool.drivers[g].deliver = wake_attached;
}

/* ---- attaching -------------------------------------------------------------- */

static unsigned group_of(struct skua_io io)
{
	return table_find(io.fd)->group;
}

static uint32_t attached_to(unsigned group)
{
	return atomic_load_relaxed(&rt->pool.drivers[group].attached);
}

TEST(attach__from_outside__takes_the_groups_in_turn)
{
	for (unsigned n = 0; n < COUNT_OF(shapes); n++) {
		const struct shape *s = &shapes[n];
		struct skua_io ios[2 * WORKERS];
		unsigned counts[WORKERS] = { 0 };

		begin(*s);
		for (unsigned i = 0; i < 2 * s->groups; i++) {
			int fd = eventfd(0, EFD_CLOEXEC);

			assert_int_equal(skua_io_attach(rt, fd, 0, &ios[i]), 0);
			counts[group_of(ios[i])]++;
		}
		for (unsigned g = 0; g < s->groups; g++) {
			assert_int_equal(counts[g], 2);
			assert_int_equal(attached_to(g), 2);
		}
		for (unsigned i = 0; i < 2 * s->groups; i++)
			assert_int_equal(skua_io_close(ios[i]), 0);
		for (unsigned g = 0; g < s->groups; g++)
			assert_int_equal(attached_to(g), 0);
		destroy(rt);
	}
}

struct attacher {
	struct skua_task task; /* first: a task is its attacher */
	struct skua_io io;
};

static enum skua_poll attach_here(struct skua_task *self)
{
	struct attacher *it = (struct attacher *)self;
	int fd = eventfd(0, EFD_CLOEXEC);

	assert_int_equal(skua_io_attach(rt, fd, 0, &it->io), 0);
	return SKUA_DONE;
}

TEST(attach__by_a_task__its_workers_group)
{
	for (unsigned n = 0; n < COUNT_OF(shapes); n++) {
		const struct shape *s = &shapes[n];

		begin(*s);
		for (unsigned i = 0; i < s->groups * s->size; i++) {
			struct attacher it = { .task = SKUA_TASK_INIT(
						       attach_here) };

			assert_int_equal(skua_task_spawn_on(rt, i, &it.task),
					 0);
			join(&it.task);
			assert_int_equal(group_of(it.io), i / s->size);
			assert_int_equal(skua_io_close(it.io), 0);
		}
		destroy(rt);
	}
}

/* Accepts one connection after the other. */
struct acceptor {
	struct skua_task task; /* first: a task is its acceptor */
	struct skua_wait wait;
	struct skua_io listener, *ios;
	unsigned left;
};

static enum skua_poll accept_here(struct skua_task *self)
{
	struct acceptor *it = (struct acceptor *)self;
	int code = 0;

	while (it->left > 0 && !code) {
		code = skua_io_accept_poll(self, it->listener, it->ios, NULL,
					   NULL, &it->wait, SKUA_FOREVER_NS);
		it->ios += !code;
		it->left -= !code;
	}
	assert_true(code == 0 || code == -EAGAIN);
	return code ? SKUA_PENDING : SKUA_DONE;
}

/* @bound: the worker that accepts; -1: any. */
static void accept_connections(struct skua_io *ios, unsigned count, int bound)
{
	struct acceptor it = { .task = SKUA_TASK_INIT(accept_here),
			       .ios = ios,
			       .left = count };
	int clients[2 * WORKERS];
	struct sockaddr_in address;
	int listener = listener_open(&address);

	assert_int_equal(skua_io_attach(rt, listener, 0, &it.listener), 0);
	for (unsigned i = 0; i < count; i++) {
		clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(clients[i],
					 (struct sockaddr *)&address,
					 sizeof(address)),
				 0);
	}
	if (bound < 0)
		spawn(rt, &it.task);
	else
		assert_int_equal(
			skua_task_spawn_on(rt, (unsigned)bound, &it.task), 0);
	join(&it.task);
	assert_int_equal(skua_io_close(it.listener), 0);
	for (unsigned i = 0; i < count; i++)
		close(clients[i]);
}

/* The connections of an acceptor on any worker take the groups in turn. Those of one that is
 * bound to a worker stay in the group of that. */
static void accept_by(const struct shape *s, bool bound)
{
	unsigned count = 2 * s->groups, counts[WORKERS] = { 0 };
	struct skua_io ios[2 * WORKERS];

	begin(*s);
	accept_connections(ios, count,
			   bound ? (int)(s->groups * s->size) - 1 : -1);
	for (unsigned i = 0; i < count; i++) {
		counts[group_of(ios[i])]++;
		assert_int_equal(skua_io_close(ios[i]), 0);
	}
	for (unsigned g = 0; g < s->groups && !bound; g++)
		assert_int_equal(counts[g], 2);
	assert_int_equal(counts[s->groups - 1], bound ? count : 2);
	destroy(rt);
}

TEST(accept__by_any_worker__connections_take_the_groups_in_turn)
{
	for (unsigned n = 0; n < COUNT_OF(shapes); n++)
		accept_by(&shapes[n], false);
}

TEST(accept__by_a_bound_task__connections_stay_in_its_group)
{
	for (unsigned n = 0; n < COUNT_OF(shapes); n++)
		accept_by(&shapes[n], true);
}

/* ---- leaders ---------------------------------------------------------------- */

static bool sleeps_in_driver(unsigned i)
{
	return atomic_load_acquire(&rt->pool.idle.sleepers[i].parker.state) ==
	       PARKER_ELSEWHERE;
}

static unsigned count_in_driver(unsigned group)
{
	unsigned count = 0;

	for (unsigned i = 0; i < shape.size; i++)
		count += sleeps_in_driver(group * shape.size + i);
	return count;
}

/* Does one worker sleep in the driver of each group that has a descriptor, and no worker
 * with a deadline? */
static bool all_asleep(void)
{
	if (!idle_all_parked(&rt->pool.idle) ||
	    atomic_load_relaxed(&rt->pool.sentinel.holder) != 0)
		return false;
	for (unsigned g = 0; g < shape.groups; g++) {
		if (count_in_driver(g) != g % 2)
			return false;
	}
	return true;
}

TEST(idle__groups_with_descriptors__one_worker_sleeps_in_each_driver)
{
	for (unsigned n = 0; n < COUNT_OF(shapes); n++) {
		const struct shape *s = &shapes[n];
		struct reader readers[WORKERS];

		begin_with_readers(*s);
		for (unsigned g = 1; g < s->groups; g += 2)
			reader_begin(&readers[g], g, EVENTS);
		while (!all_asleep())
			sched_yield();
		for (unsigned g = 1; g < s->groups; g += 2)
			tell_one_by_one(&readers[g]);
		for (unsigned g = 1; g < s->groups; g += 2)
			reader_end(&readers[g]);
		destroy(rt);
	}
}

TEST(group__in_long_polls_beside_sleepers__another_group_reaps)
{
	for (unsigned n = 0; n < COUNT_OF(shapes); n++) {
		const struct shape *s = &shapes[n];
		struct reader reader;

		begin_with_readers(*s);
		keep_workers(0, s->size, false);
		reader_begin(&reader, 0, EVENTS);
		tell_one_by_one(&reader);
		let_go(0, s->size);
		reader_end(&reader);
		destroy(rt);
	}
}

TEST(group__in_long_polls_beside_busy_workers__another_group_reaps)
{
	for (unsigned n = 0; n < COUNT_OF(shapes); n++) {
		const struct shape *s = &shapes[n];
		struct reader reader;

		begin_with_readers(*s);
		keep_workers(0, s->size, false);
		keep_workers(s->size, (s->groups - 1) * s->size, true);
		reader_begin(&reader, 0, EVENTS);
		tell_one_by_one(&reader);
		let_go(0, s->groups * s->size);
		reader_end(&reader);
		destroy(rt);
	}
}

static uint64_t count_parks(void)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < rt->pool.worker_count; i++)
		count += counter_read(
			&rt->pool.workers[i]->area.counters.times_parked);
	return count;
}

/* A worker that searches until the test is over does not sleep. */
TEST(group__in_long_polls_beside_a_searcher__the_searcher_reaps)
{
	struct reader reader;
	uint64_t parks;

	begin_with_readers((struct shape){ 2, 2 });
	keep_workers(0, 4, false);
	/* While no worker reads it. A runtime allows no more than a second. */
	rt->pool.tuning.spin_ns = SEARCH_NS;
	parks = count_parks();
	let_go(2, 1);
	reader_begin(&reader, 0, EVENTS);
	tell_one_by_one(&reader);
	assert_int_equal(count_parks(), parks);
	let_go(0, 2);
	let_go(3, 1);
	reader_end(&reader);
	destroy(rt);
}

/* The only worker that is not in a long poll never sleeps. So it is the sentinel, too. */
TEST(groups__in_long_polls_beside_a_worker_that_stays_awake__it_reaps)
{
	struct reader readers[4];

	begin_with_readers((struct shape){ 4, 2 });
	keep_workers(0, 8, false);
	/* While no worker reads it. */
	rt->pool.tuning.spin_ns = TUNING_SPIN_FOREVER;
	let_go(0, 1);
	for (unsigned g = 0; g < 4; g++)
		reader_begin(&readers[g], g, EVENTS);
	for (unsigned g = 0; g < 4; g++)
		tell_one_by_one(&readers[g]);
	let_go(1, 7);
	for (unsigned g = 0; g < 4; g++)
		reader_end(&readers[g]);
	destroy(rt);
}

/* Does worker @i lead group 0, and sleep in its driver? */
static bool leads_asleep(unsigned i)
{
	return atomic_load_relaxed(&rt->pool.drivers[0].leader) ==
	       (DRIVER_ASLEEP | (i + 1));
}

/* The leader of group 0 gets into a long poll. */
TEST(leader__in_a_long_poll__a_worker_of_its_group_leads)
{
	for (unsigned groups = 2; groups <= 8; groups += 6) {
		struct reader reader;
		unsigned leader;

		begin_with_readers((struct shape){ groups, 2 });
		reader_begin(&reader, 0, EVENTS);
		while (!leads_asleep(0) && !leads_asleep(1))
			sched_yield();
		leader = leads_asleep(1);
		keep_workers(leader, 1, false);
		while (!leads_asleep(1 - leader))
			sched_yield();
		tell_one_by_one(&reader);
		let_go(leader, 1);
		reader_end(&reader);
		destroy(rt);
	}
}

/* ---- many ------------------------------------------------------------------- */

#define TELLS 2000u

static struct reader many[2 * WORKERS];

static void *tell_all(void *arg)
{
	unsigned step = *(const unsigned *)arg;

	for (unsigned i = 0; i < TELLS; i++)
		tell(&many[i * step % (2 * shape.groups)]);
	return NULL;
}

static uint64_t sum_of_all(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 2 * shape.groups; i++)
		sum += atomic_load_acquire(&many[i].sum);
	return sum;
}

TEST(many__told_by_threads__no_event_is_lost)
{
	static const unsigned steps[] = { 1, 7 };

	for (unsigned n = 0; n < COUNT_OF(shapes); n++) {
		const struct shape *s = &shapes[n];
		pthread_t threads[COUNT_OF(steps)];

		begin_with_readers(*s);
		for (unsigned i = 0; i < 2 * s->groups; i++)
			reader_begin(&many[i], i % s->groups, UINT64_MAX);
		for (unsigned i = 0; i < COUNT_OF(steps); i++)
			assert_int_equal(pthread_create(&threads[i], NULL,
							tell_all,
							(void *)&steps[i]),
					 0);
		for (unsigned i = 0; i < COUNT_OF(steps); i++)
			pthread_join(threads[i], NULL);
		while (sum_of_all() < COUNT_OF(steps) * TELLS)
			sched_yield();
		for (unsigned i = 0; i < 2 * s->groups; i++) {
			atomic_store_relaxed(&many[i].goal, 0);
			tell(&many[i]);
			reader_end(&many[i]);
		}
		destroy(rt);
	}
}
