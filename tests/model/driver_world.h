/* SPDX-License-Identifier: MIT */
/**
 * driver_world.h - three workers, the drivers of their groups and a kernel, for models of
 * core/driver/driver.[ch]
 *
 * Each epoll is a word and a futex. Each event spawns the task with its number. Some tasks
 * are long polls, which end when the task of an event was polled: an event that nobody
 * reaps is a livelock, or a state in which no thread can run. The variants leave out parts
 * of the rules.
 */
#ifndef SKUA_TESTS_MODEL_DRIVER_WORLD_H
#define SKUA_TESTS_MODEL_DRIVER_WORLD_H

#include <stdalign.h>

#include "core/base/atomic.h"

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	ATTACHES_UNFENCED,
	ATTACHES_SILENTLY,     /* I11: summons nobody */
	NEVER_RESIGNS_TO_PARK, /* a leader sleeps in a poller */
	LEAVES_UNWATCHED, /* I12: a leader leaves the driver, and nobody watches it */
	NOBODY_WATCHES, /* I12: a sentinel neither looks nor takes the role */
	LOOKS_NEAR,     /* I12: nobody looks for events of another group */
	TAKES_INTERRUPTION, /* an interruption is an edge, which others take */
};

#define WORKERS 3
/* When a sentinel has retired, or waits for timers only. */
#define LATE_NS (EXPLORE_START_NS + NS_PER_S)
/* When the only timer is due, for which a sentinel waits: no execution lasts as long. */
#define TIMER_NS EXPLORE_FAR_NS

static enum defect defect;
/* How old the last look must be in a round. */
static uint64_t round_ns;
/* How many tasks, from MORE on, are spawned with that of event 1. */
static unsigned more;
#define DRIVER_ROUND_NS round_ns
#define NO_LOOK_NS      (UINT64_C(1000) * NS_PER_S)

static inline void fence_of(const char *function);

#define atomic_fence_seq_cst() fence_of(__func__)

#include "core/driver/driver.c"

#include "core/loop/pool.h"

static inline bool leads(const struct driver *driver, unsigned i)
{
	return defect != LEAVES_UNWATCHED && driver_leads(driver, i);
}

static inline bool is_stuck(const struct driver *driver, uint64_t since_ns,
			    unsigned *leader)
{
	return defect != NOBODY_WATCHES &&
	       driver_stuck(driver, since_ns, leader);
}

#define driver_leads(driver, i) leads(driver, i)
#define driver_stuck(driver, since_ns, leader) \
	is_stuck(driver, since_ns, leader)
#include "core/loop/sentinel.c"
#undef driver_leads
#undef driver_stuck

static inline bool resign(struct driver *driver, unsigned i)
{
	return defect != NEVER_RESIGNS_TO_PARK && driver_resign(driver, i);
}

static inline bool is_near(const struct driver *driver);

static inline bool looks(struct driver *driver, uint64_t now_ns,
			 uint64_t age_ns, struct driver_batch *batch)
{
	batch->count = 0;
	return defect != NOBODY_WATCHES &&
	       (defect != LOOKS_NEAR || is_near(driver)) &&
	       driver_take(driver, now_ns, age_ns, batch);
}

#define driver_resign(driver, i) resign(driver, i)
#define driver_take(driver, now_ns, age_ns, batch) \
	looks(driver, now_ns, age_ns, batch)
#include "core/loop/work.c"
#include "core/loop/search.c"
#include "core/loop/loop.c"
#include "core/loop/reap.c"
#undef driver_resign
#undef driver_take

#undef atomic_fence_seq_cst

#include "tests/model/workers.h"

static inline void fence_of(const char *function)
{
	if (defect == ATTACHES_UNFENCED &&
	    strcmp(function, "driver_attach") == 0)
		return;
	atomic_fence_seq_cst();
}

/* ---- the kernel ----------------------------------------------------------- */

#define INTERRUPTED (UINT32_C(1) << 31)

/* One for each group, and for each thread that opens one although another was faster. */
#define SETS 4

/* The number of sets. */
static atomic_u32 sets;
/* By set. Bit i: descriptor i is attached. */
static atomic_u32 members[SETS];
/* By set. Bit i: descriptor i has an event; and INTERRUPTED. The sleeper's futex. */
static atomic_u32 ready[SETS];
/* The group to which a thread that is no worker attaches. */
static unsigned home;
/* The set of each descriptor. */
static unsigned set_of_fd[TASKS];
static unsigned delivered[TASKS];

int epoll_set_open(struct epoll_set *set)
{
	int number = (int)atomic_fetch_add_acq_rel(&sets, 1);

	explore_assert(number < SETS);
	*set = (struct epoll_set){ number, SETS + number };
	return 0;
}

void epoll_set_close(const struct epoll_set *set)
{
	(void)set;
}

int epoll_set_nest(const struct epoll_set *set, int outer_fd)
{
	(void)set, (void)outer_fd;
	return 0;
}

int epoll_set_add(const struct epoll_set *set, int fd, uint64_t data)
{
	explore_assert(data == (uint64_t)fd);
	set_of_fd[fd] = (unsigned)set->epoll_fd;
	atomic_fetch_or_acq_rel(&members[set->epoll_fd], 1u << fd);
	return 0;
}

int epoll_set_remove(const struct epoll_set *set, int fd)
{
	atomic_fetch_and_acq_rel(&members[set->epoll_fd], ~(1u << fd));
	return 0;
}

/* Edges are taken; the interruption stays. */
unsigned epoll_set_take(const struct epoll_set *set, struct epoll_event *events,
			unsigned most)
{
	uint32_t keep = defect == TAKES_INTERRUPTION ? 0 : INTERRUPTED;
	uint32_t now;
	unsigned count = 0;

	if (atomic_load_acquire(&ready[set->epoll_fd]) == 0)
		return 0;
	now = atomic_fetch_and_acq_rel(&ready[set->epoll_fd], keep);
	if (now & INTERRUPTED)
		events[count++].data.u64 = EPOLL_SET_INTERRUPT;
	for (unsigned i = 0; i < TASKS && count < most; i++) {
		if (now >> i & 1)
			events[count++] =
				(struct epoll_event){ .events = EPOLLIN,
						      .data.u64 = i };
	}
	return count;
}

/* As the kernel, which sleeps again if another thread has taken the event. */
unsigned epoll_set_sleep(const struct epoll_set *set,
			 struct epoll_event *events, unsigned most,
			 uint64_t deadline_ns)
{
	unsigned count;

	while ((count = epoll_set_take(set, events, most)) == 0) {
		if (explore_now_ns() >= deadline_ns)
			break;
		if (deadline_ns == EPOLL_SET_NEVER)
			explore_futex_wait(&ready[set->epoll_fd], 0);
		else
			explore_futex_wait_until(&ready[set->epoll_fd], 0,
						 deadline_ns);
	}
	return count;
}

void epoll_set_interrupt(const struct epoll_set *set)
{
	atomic_fetch_or_acq_rel(&ready[set->epoll_fd], INTERRUPTED);
	explore_futex_wake(&ready[set->epoll_fd], 1);
}

void epoll_set_clear(const struct epoll_set *set)
{
	atomic_fetch_and_acq_rel(&ready[set->epoll_fd], ~INTERRUPTED);
}

/* An event of descriptor @i, if it is attached. */
static inline void event(unsigned i)
{
	unsigned set = set_of_fd[i];

	explore_assert(atomic_load_acquire(&members[set]) >> i & 1);
	atomic_fetch_or_acq_rel(&ready[set], 1u << i);
	explore_futex_wake(&ready[set], 1);
}

/* Tasks that no event spawns. */
enum { LONG = 3, MORE = 4, URGENT = 6 };

/* ---- tasks ----------------------------------------------------------------- */

static unsigned polled[TASKS];

static inline void deliver(struct driver *driver, uint64_t data,
			   uint32_t events)
{
	(void)driver;
	explore_assert(events == EPOLLIN && delivered[data]++ == 0);
	explore_assert(workers_spawn((unsigned)data) == 0);
	for (unsigned i = 0; data == 1 && i < more; i++)
		explore_assert(workers_spawn(MORE + i) == 0);
}

static inline bool is_near(const struct driver *driver)
{
	return current_worker->driver == driver;
}

static inline void attach(unsigned i)
{
	struct driver *driver =
		current_worker ? current_worker->driver : &drivers[home];

	explore_assert(driver_attach(driver, (int)i, i) == 0);
}

static inline void wait_until_polled(unsigned i)
{
	while (polled[i] == 0)
		cpu_relax();
}

static inline enum skua_poll finish(struct skua_task *task)
{
	polled[task_number(task)]++;
	return SKUA_DONE;
}

/* A long poll, which ends when the task of event 2 was polled. */
static inline enum skua_poll wait_for_second(struct skua_task *task)
{
	polled[task_number(task)]++;
	wait_until_polled(2);
	return SKUA_DONE;
}

/* It attaches the first descriptor, and goes on in its poll. */
static inline enum skua_poll attach_and_wait(struct skua_task *task)
{
	polled[0]++;
	attach(1);
	event(1);
	wait_until_polled(1);
	(void)task;
	return SKUA_DONE;
}

static atomic_u32 never; /* slept on, and not woken */

static inline void sleep_until(uint64_t time_ns)
{
	while (explore_now_ns() < time_ns)
		futex_wait_until(&never, 0, time_ns);
}

/* ---- outside --------------------------------------------------------------- */

static inline void ends(void)
{
	pool_stop(&pool);
}

static inline void attaches(void)
{
	attach(1);
	event(1);
	wait_until_polled(1);
	ends();
}

static inline void spawns(void)
{
	explore_assert(workers_spawn(0) == 0);
	wait_until_polled(1);
	ends();
}

/* The event comes when the sentinel has retired. */
static inline void attaches_late(void)
{
	attach(1);
	sleep_until(LATE_NS);
	event(1);
	wait_until_polled(1);
	ends();
}

/* Event 2 comes while the task of event 1 is polled, which waits for it. */
static inline void attaches_two(void)
{
	attach(1);
	attach(2);
	event(1);
	wait_until_polled(1);
	event(2);
	wait_until_polled(2);
	ends();
}

/* The same when the sentinel waits for the timer only. */
static inline void attaches_two_at(uint64_t time_ns)
{
	attach(1);
	attach(2);
	sleep_until(time_ns);
	event(1);
	wait_until_polled(1);
	event(2);
	wait_until_polled(2);
	ends();
}

static inline void attaches_two_late(void)
{
	attaches_two_at(LATE_NS);
}

/* As attaches_two(), while task 0 keeps another worker. */
static inline void attaches_two_and_spawns(void)
{
	explore_assert(workers_spawn(0) == 0);
	attaches_two();
}

/* ---- fixture ---------------------------------------------------------------- */

static inline int poll_nothing(struct skua_poller *self)
{
	(void)self;
	return 0;
}

static inline void summon(void *ctx, unsigned group)
{
	if (defect != ATTACHES_SILENTLY)
		sentinel_summon_leader(ctx, group);
}

/* Put worker i into group i % @groups. */
static inline void place(unsigned count, unsigned groups)
{
	workers_place(count, groups);
	for (unsigned g = 0; g < groups; g++) {
		driver_init(&drivers[g], g, 0, summon, &pool);
		drivers[g].deliver = deliver;
	}
}

/* Makes @count workers of one group again, its driver and the kernel. */
static inline void world_reset(unsigned count, skua_task_fn first,
			       uint64_t lifo_delay_ns)
{
	defect = NO_DEFECT;
	round_ns = 0;
	more = 0;
	home = 0;
	workers_reset(first, finish, lifo_delay_ns);
	place(count, 1);
	memset(polled, 0, sizeof(polled));
	memset(delivered, 0, sizeof(delivered));
	memset(set_of_fd, 0, sizeof(set_of_fd));
	atomic_init(&sets, 0);
	for (unsigned i = 0; i < SETS; i++) {
		atomic_init(&members[i], 0);
		atomic_init(&ready[i], 0);
	}
	atomic_init(&never, 0);
}

/* The polls of all workers are short so far: a leader keeps the role. */
static inline void keep(void)
{
	for (unsigned i = 0; i < WORKERS; i++)
		workers[i].tick.mean_ns = 0;
}

/* A timer of worker 1, whose wheel is empty. */
static inline void add_timer(void)
{
	unsigned group = workers[1].group;

	atomic_init(&deadlines[group].next_ns[pool.groups->places[1].bit],
		    TIMER_NS);
}

/* Most events arrive on the CPU of worker @i. */
static inline void prefer(unsigned i)
{
	for (unsigned n = 0; n < DRIVER_VOTES; n++)
		driver_arrived(&pool.drivers[0], i);
	explore_assert(driver_preferred(&pool.drivers[0]) == i + 1);
}

static inline void check(void)
{
	explore_assert(delivered[1] == 1 && polled[1] == 1);
}

static inline void check_two(void)
{
	check();
	explore_assert(delivered[2] == 1 && polled[2] == 1);
}

/* ---- cases ------------------------------------------------------------------ */

#define FEW(EXECUTIONS)      EXPLORE_WITHIN(3, 2), .random = (EXECUTIONS)
#define MANY(EXECUTIONS)     EXPLORE_WITHIN(12, 6), .random = (EXECUTIONS)
#define ONE_AND(OUTSIDE)     workers_run_0, OUTSIDE
#define WORKERS_AND(OUTSIDE) workers_run_0, workers_run_1, OUTSIDE
#define THREE_AND(OUTSIDE)   workers_run_0, workers_run_1, workers_run_2, OUTSIDE

#endif
