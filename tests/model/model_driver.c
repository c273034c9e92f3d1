/* SPDX-License-Identifier: MIT */
/**
 * model_driver.c - core/driver/driver.[ch]: an event is reaped, whatever polls do
 *
 * Three real workers, in some cases two, and the drivers of their groups; each epoll is a word
 * and a futex.
 * Each event spawns the task with its number. Some tasks are long polls, which end when the
 * task of an event was polled: an event that nobody reaps is a livelock, or a state in which
 * no thread can run.
 *
 * The last cases leave out parts of the rules; the explorer must find them.
 */
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
/* The same for cases whose sentinel goes on checking: each check takes steps. */
#define SOON_NS (EXPLORE_START_NS + NS_PER_S / 80)
/* When the only timer is due, for which a sentinel waits: no execution lasts as long. */
#define TIMER_NS EXPLORE_FAR_NS

static enum defect defect;
/* How old the last look must be in a round. */
static uint64_t round_ns;
/* How many tasks, from MORE on, are spawned with that of event 1. */
static unsigned more;
#define DRIVER_ROUND_NS round_ns
#define NO_LOOK_NS      (UINT64_C(1000) * NS_PER_S)

static void fence_of(const char *function);

#define atomic_fence_seq_cst() fence_of(__func__)

#include "core/driver/driver.c"

#include "core/loop/pool.h"

static bool leads(const struct driver *driver, unsigned i)
{
	return defect != LEAVES_UNWATCHED && driver_leads(driver, i);
}

static bool is_stuck(const struct driver *driver, uint64_t since_ns,
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

static bool resign(struct driver *driver, unsigned i)
{
	return defect != NEVER_RESIGNS_TO_PARK && driver_resign(driver, i);
}

static bool is_near(const struct driver *driver);

static bool looks(struct driver *driver, uint64_t now_ns, uint64_t age_ns,
		  struct driver_batch *batch)
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

static void fence_of(const char *function)
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
static void event(unsigned i)
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

static void deliver(struct driver *driver, uint64_t data, uint32_t events)
{
	(void)driver;
	explore_assert(events == EPOLLIN && delivered[data]++ == 0);
	explore_assert(workers_spawn((unsigned)data) == 0);
	for (unsigned i = 0; data == 1 && i < more; i++)
		explore_assert(workers_spawn(MORE + i) == 0);
}

static bool is_near(const struct driver *driver)
{
	return current_worker->driver == driver;
}

static void attach(unsigned i)
{
	struct driver *driver =
		current_worker ? current_worker->driver : &drivers[home];

	explore_assert(driver_attach(driver, (int)i, i) == 0);
}

static void wait_until_polled(unsigned i)
{
	while (polled[i] == 0)
		cpu_relax();
}

static enum skua_poll finish(struct skua_task *task)
{
	polled[task_number(task)]++;
	return SKUA_DONE;
}

/* A long poll, which ends when the task of event 1 was polled. */
static enum skua_poll wait_for_first(struct skua_task *task)
{
	polled[task_number(task)]++;
	wait_until_polled(1);
	return SKUA_DONE;
}

/* The same for event 2. */
static enum skua_poll wait_for_second(struct skua_task *task)
{
	polled[task_number(task)]++;
	wait_until_polled(2);
	return SKUA_DONE;
}

/* It attaches the first descriptor, and goes on in its poll. */
static enum skua_poll attach_and_wait(struct skua_task *task)
{
	polled[0]++;
	attach(1);
	event(1);
	wait_until_polled(1);
	(void)task;
	return SKUA_DONE;
}

/* Its worker has no time to search or sleep. */
static enum skua_poll yield_until_first(struct skua_task *task)
{
	polled[task_number(task)]++;
	if (polled[1] > 0)
		return SKUA_DONE;
	cpu_relax();
	return SKUA_YIELD;
}

static atomic_u32 never; /* slept on, and not woken */

static void sleep_until(uint64_t time_ns)
{
	while (explore_now_ns() < time_ns)
		futex_wait_until(&never, 0, time_ns);
}

/* Each poll takes so long that the worker then checks another group. */
static enum skua_poll yield_slowly(struct skua_task *task)
{
	polled[task_number(task)]++;
	if (polled[2] > 0)
		return SKUA_DONE;
	sleep_until(explore_now_ns() + TICK_POLLERS_NS);
	return SKUA_YIELD;
}

static enum skua_poll yield_until_second(struct skua_task *task)
{
	polled[task_number(task)]++;
	if (polled[2] > 0)
		return SKUA_DONE;
	cpu_relax();
	return SKUA_YIELD;
}

/* Event 2 occurs, and the next task is a long poll that waits for it. */
static enum skua_poll raise_second(struct skua_task *task)
{
	polled[task_number(task)]++;
	event(2);
	explore_assert(workers_spawn(LONG) == 0);
	return SKUA_DONE;
}

/* ---- outside --------------------------------------------------------------- */

static void ends(void)
{
	pool_stop(&pool);
}

static void attaches(void)
{
	attach(1);
	event(1);
	wait_until_polled(1);
	ends();
}

static void spawns(void)
{
	explore_assert(workers_spawn(0) == 0);
	wait_until_polled(1);
	ends();
}

/* Task 0 is beside the event, or keeps a worker until it was reaped. */
static void attaches_and_spawns(void)
{
	attach(1);
	explore_assert(workers_spawn(0) == 0);
	event(1);
	wait_until_polled(1);
	wait_until_polled(0);
	ends();
}

/* Event 2 comes while the task of event 1 is polled, which waits for it. */
static void attaches_two(void)
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
static void attaches_two_at(uint64_t time_ns)
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

static void attaches_two_late(void)
{
	attaches_two_at(LATE_NS);
}

/* As attaches_two(), while task 0 keeps another worker. */
static void attaches_two_and_spawns(void)
{
	explore_assert(workers_spawn(0) == 0);
	attaches_two();
}

/* As attaches_two(), beside a task that yields until the end. */
static void attaches_two_and_yields(void)
{
	explore_assert(workers_spawn(0) == 0);
	attaches_two();
}

/* Event 1 makes a round of four tasks. The first of them has event 2 occur, whose task is
 * urgent, and spawns a long poll. */
static void attaches_two_and_prioritises(void)
{
	explore_assert(workers_spawn(URGENT) == 0);
	wait_until_polled(URGENT);
	attach(1);
	attach(2);
	explore_assert(workers_spawn(0) == 0);
	event(1);
	wait_until_polled(2);
	wait_until_polled(LONG);
	ends();
}

/* Nothing is ready: the leader is woken by the spawn alone. */
static void attaches_then_spawns(void)
{
	attach(1);
	explore_assert(workers_spawn(0) == 0);
	wait_until_polled(0);
	event(1);
	wait_until_polled(1);
	ends();
}

/* ---- a poller of worker 0 --------------------------------------------------- */

static struct skua_poller poller;
static atomic_u32 unparked;

static int poll_nothing(struct skua_poller *self)
{
	(void)self;
	return 0;
}

static void park_in_poller(struct skua_poller *self, uint64_t deadline_ns)
{
	(void)self;
	if (deadline_ns == SENTINEL_NEVER)
		futex_wait(&unparked, 0);
	else
		futex_wait_until(&unparked, 0, deadline_ns);
	atomic_exchange_acquire(&unparked, 0);
}

static void unpark_poller(struct skua_poller *self)
{
	(void)self;
	atomic_store_release(&unparked, 1);
	futex_wake(&unparked, 1);
}

/* The event comes when the sentinel has retired. */
static void attaches_late(void)
{
	attach(1);
	sleep_until(LATE_NS);
	event(1);
	wait_until_polled(1);
	ends();
}

/* The same with a poller of worker 0. */
static void add_poller_and_wait(uint64_t time_ns)
{
	attach(1);
	explore_assert(pool_add_poller(&pool, 0, &poller) == 0);
	sleep_until(time_ns);
	event(1);
	wait_until_polled(1);
	ends();
}

static void attaches_and_adds_poller_late(void)
{
	add_poller_and_wait(LATE_NS);
}

static void adds_poller_and_attaches_two_soon(void)
{
	explore_assert(pool_add_poller(&pool, 0, &poller) == 0);
	attaches_two_at(SOON_NS);
}

/* The first descriptor is attached, and has an event, when the worker sleeps in its
 * poller. */
static void adds_poller_and_attaches(void)
{
	explore_assert(pool_add_poller(&pool, 0, &poller) == 0);
	sleep_until(EXPLORE_START_NS + 1);
	attach(1);
	sleep_until(SOON_NS);
	event(1);
	wait_until_polled(1);
	ends();
}

static void attaches_and_adds_poller_soon(void)
{
	add_poller_and_wait(SOON_NS);
}

/* Worker 0 may be the leader when the poller is added. */
static void attaches_and_adds_poller(void)
{
	attach(1);
	explore_assert(pool_add_poller(&pool, 0, &poller) == 0);
	event(1);
	wait_until_polled(1);
	ends();
}

/* ---- fixture ---------------------------------------------------------------- */

static void summon(void *ctx, unsigned group)
{
	if (defect != ATTACHES_SILENTLY)
		sentinel_summon_leader(ctx, group);
}

/* Put worker i into group i % @groups. */
static void place(unsigned count, unsigned groups)
{
	workers_place(count, groups);
	for (unsigned g = 0; g < groups; g++) {
		driver_init(&drivers[g], g, 0, summon, &pool);
		drivers[g].deliver = deliver;
	}
}

static void setup(unsigned count, skua_task_fn first, uint64_t lifo_delay_ns)
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
	atomic_init(&unparked, 0);
	atomic_init(&never, 0);
	poller = (struct skua_poller){ .poll = poll_nothing,
				       .park = park_in_poller,
				       .unpark = unpark_poller };
	explore_watch(&pool.sentinel, sizeof(pool.sentinel));
	explore_watch(sights, sizeof(sights));
}

/* The polls of all workers are short so far: a leader keeps the role. */
static void keep(void)
{
	for (unsigned i = 0; i < WORKERS; i++)
		workers[i].tick.mean_ns = 0;
}

static void setup_one(void)
{
	setup(1, finish, SENTINEL_NEVER);
}

static void setup_two(void)
{
	setup(2, finish, SENTINEL_NEVER);
}

static void setup_two_keep(void)
{
	setup_two();
	keep();
}

static void setup_inside(void)
{
	setup(2, attach_and_wait, SENTINEL_NEVER);
}

static void setup_beside_long(void)
{
	setup(2, wait_for_first, LIFO_DELAY_NS);
}

static void setup_beside_long_keep(void)
{
	setup_beside_long();
	keep();
}

static void setup_long_event(unsigned count, uint64_t lifo_delay_ns)
{
	setup(count, finish, lifo_delay_ns);
	tasks[1].poll = wait_for_second;
}

static void setup_event_long(void)
{
	setup_long_event(2, SENTINEL_NEVER);
}

static void setup_event_long_keep(void)
{
	setup_long_event(2, SENTINEL_NEVER);
	keep();
}

static void setup_event_long_keep_lifo(void)
{
	setup_long_event(2, LIFO_DELAY_NS);
	keep();
}

static void setup_event_long_of_three(void)
{
	setup_long_event(3, LIFO_DELAY_NS);
	tasks[0].poll = wait_for_second;
}

static void setup_event_long_of_three_keep(void)
{
	setup_event_long_of_three();
	keep();
}

static void setup_event_long_of_groups_keep(void)
{
	setup_event_long_of_three();
	place(3, 3);
	keep();
}

/* A worker that never sleeps is the sentinel, too, while the others are in long polls. */
static void setup_awake_of_groups(void)
{
	static struct skua_poller awake = { .poll = poll_nothing };

	setup_event_long_of_groups_keep();
	workers[0].pollers.list = &awake;
	home = 2; /* whose turn is not the first one of worker 0 */
}

/* Two groups of one worker; the descriptors are at that of worker 1. */
static void setup_far(void)
{
	setup(2, finish, SENTINEL_NEVER);
	place(2, 2);
	home = 1;
	keep();
}

static void setup_far_inside(void)
{
	setup_inside();
	place(2, 2);
}

static void setup_far_long(void)
{
	setup_event_long();
	place(2, 2);
	home = 1;
}

static void setup_far_long_keep(void)
{
	setup_far_long();
	keep();
}

/* While worker 1 is in a long poll, worker 0 ends ticks. */
static void setup_far_busy(void)
{
	setup_far_long_keep();
	tasks[0].poll = yield_slowly;
	workers[0].tick.mean_ns = NS_PER_S;
}

/* Workers 0 and 2 are in one group, which has the descriptors, and worker 1 in another. */
static void setup_beside_far(void)
{
	setup_long_event(3, SENTINEL_NEVER);
	place(3, 2);
}

static void setup_beside_far_keep(void)
{
	setup_beside_far();
	keep();
}

/* A timer of worker 1, whose wheel is empty. */
static void add_timer(void)
{
	unsigned group = workers[1].group;

	atomic_init(&deadlines[group].next_ns[pool.groups->places[1].bit],
		    TIMER_NS);
}

static void setup_quiet(void)
{
	setup_event_long_keep();
	add_timer();
}

static void setup_far_quiet(void)
{
	setup_far_long_keep();
	add_timer();
}

static void setup_beside_far_quiet(void)
{
	setup_beside_far();
	add_timer();
}

/* The worker with a poller is alone in its group, or with worker 2. */
static void setup_poller_far(void)
{
	setup(2, finish, SENTINEL_NEVER);
	place(2, 2);
	keep();
}

static void setup_poller_far_quiet(void)
{
	setup_poller_far();
	add_timer();
}

static void setup_poller_beside_far(void)
{
	setup(3, finish, SENTINEL_NEVER);
	place(3, 2);
}

/* Most events arrive on the CPU of worker @i. */
static void prefer(unsigned i)
{
	for (unsigned n = 0; n < DRIVER_VOTES; n++)
		driver_arrived(&pool.drivers[0], i);
	explore_assert(driver_preferred(&pool.drivers[0]) == i + 1);
}

static void setup_preferred(void)
{
	setup_event_long_keep();
	prefer(1);
}

static void setup_preferred_of_three(void)
{
	setup_event_long_of_three_keep();
	prefer(2);
}

static void setup_preferred_beside(void)
{
	setup_two_keep();
	prefer(0);
}

static void setup_busy(void)
{
	setup(1, yield_until_first, SENTINEL_NEVER);
}

/* A worker in a round looks only when it is over. */
static void setup_round(unsigned count)
{
	setup(count, yield_until_second, LIFO_DELAY_NS);
	round_ns = NO_LOOK_NS;
	more = 2;
}

static void setup_round_one(void)
{
	setup_round(1);
}

static void setup_round_two_keep(void)
{
	setup_round(2);
	keep();
}

/* Each poll is a tick. */
static void setup_prioritised(void)
{
	setup(1, yield_until_first, SENTINEL_NEVER);
	round_ns = NO_LOOK_NS;
	more = 2;
	tasks[1].poll = raise_second;
	tasks[LONG].poll = wait_for_second;
	tasks[2].flags = tasks[URGENT].flags = TASK_URGENT;
	workers[0].tick.mean_ns = NS_PER_S;
}

static void setup_attaches_unfenced(void)
{
	setup_two();
	defect = ATTACHES_UNFENCED;
}

static void setup_attaches_silently(void)
{
	setup_inside();
	defect = ATTACHES_SILENTLY;
}

static void setup_never_resigns_to_park(void)
{
	setup_two_keep();
	defect = NEVER_RESIGNS_TO_PARK;
}

static void setup_leaves_unwatched(void)
{
	setup_event_long_keep();
	defect = LEAVES_UNWATCHED;
}

static void setup_nobody_watches(void)
{
	setup_event_long_keep();
	defect = NOBODY_WATCHES;
}

static void setup_takes_interruption(void)
{
	setup_event_long_of_three_keep();
	defect = TAKES_INTERRUPTION;
}

static void setup_looks_near(void)
{
	setup_far_long_keep();
	defect = LOOKS_NEAR;
}

static void setup_looks_near_busy(void)
{
	setup_far_busy();
	defect = LOOKS_NEAR;
}

static void check(void)
{
	explore_assert(delivered[1] == 1 && polled[1] == 1);
}

static void check_two(void)
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

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("one__few", setup_one, check, ONE_AND(attaches)),
	  FEW(15000) },
	{ EXPLORE_PASS("one_busy__few", setup_busy, check,
		       ONE_AND(attaches_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("two__few", setup_two, check, WORKERS_AND(attaches)),
	  FEW(15000) },
	{ EXPLORE_PASS("two__many", setup_two, check, WORKERS_AND(attaches)),
	  MANY(15000) },
	{ EXPLORE_PASS("two__late__few", setup_two_keep, check,
		       WORKERS_AND(attaches_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("inside__few", setup_inside, check, WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("inside__many", setup_inside, check,
		       WORKERS_AND(spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("beside_spawn__few", setup_two_keep, check,
		       WORKERS_AND(attaches_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_spawn__many", setup_two_keep, check,
		       WORKERS_AND(attaches_and_spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("after_spawn__few", setup_two_keep, check,
		       WORKERS_AND(attaches_then_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_long__few", setup_beside_long, check,
		       WORKERS_AND(attaches_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_long__keep__few", setup_beside_long_keep, check,
		       WORKERS_AND(attaches_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("event_long__few", setup_event_long, check_two,
		       WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("event_long__many", setup_event_long, check_two,
		       WORKERS_AND(attaches_two)),
	  MANY(15000) },
	{ EXPLORE_PASS("event_long__keep__few", setup_event_long_keep,
		       check_two, WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("event_long__keep__many", setup_event_long_keep,
		       check_two, WORKERS_AND(attaches_two)),
	  MANY(15000) },
	{ EXPLORE_PASS("event_long__keep__lifo__few",
		       setup_event_long_keep_lifo, check_two,
		       WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("two_long_of_three__few", setup_event_long_of_three,
		       check_two, THREE_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("two_long_of_three__keep__few",
		       setup_event_long_of_three_keep, check_two,
		       THREE_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("two_long_of_three__keep__many",
		       setup_event_long_of_three_keep, check_two,
		       THREE_AND(attaches_two_and_spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("two_long_of_groups__keep__few",
		       setup_event_long_of_groups_keep, check_two,
		       THREE_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("two_long_of_groups__awake__few", setup_awake_of_groups,
		       check_two, THREE_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("preferred__few", setup_preferred, check_two,
		       WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("preferred__many", setup_preferred, check_two,
		       WORKERS_AND(attaches_two)),
	  MANY(15000) },
	{ EXPLORE_PASS("preferred_of_three__few", setup_preferred_of_three,
		       check_two, THREE_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("preferred__beside_spawn__few", setup_preferred_beside,
		       check, WORKERS_AND(attaches_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("preferred__poller__few", setup_preferred_beside, check,
		       WORKERS_AND(attaches_and_adds_poller_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("quiet__few", setup_quiet, check_two,
		       WORKERS_AND(attaches_two_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__quiet__few", setup_far_quiet, check_two,
		       WORKERS_AND(attaches_two_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_beside_far__quiet__few", setup_beside_far_quiet,
		       check_two, THREE_AND(adds_poller_and_attaches_two_soon)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_far__quiet__few", setup_poller_far_quiet, check,
		       WORKERS_AND(adds_poller_and_attaches)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__few", setup_far, check, WORKERS_AND(attaches)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__late__few", setup_far, check,
		       WORKERS_AND(attaches_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__inside__few", setup_far_inside, check,
		       WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__long__few", setup_far_long, check_two,
		       WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__long__keep__few", setup_far_long_keep, check_two,
		       WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("far__long__keep__many", setup_far_long_keep, check_two,
		       WORKERS_AND(attaches_two)),
	  MANY(15000) },
	{ EXPLORE_PASS("far__busy__few", setup_far_busy, check_two,
		       WORKERS_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_far__few", setup_beside_far, check_two,
		       THREE_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_far__keep__few", setup_beside_far_keep,
		       check_two, THREE_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_PASS("beside_far__keep__many", setup_beside_far_keep,
		       check_two, THREE_AND(attaches_two)),
	  MANY(15000) },
	{ EXPLORE_PASS("poller_far__few", setup_poller_far, check,
		       WORKERS_AND(attaches_and_adds_poller)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_far__late__few", setup_poller_far, check,
		       WORKERS_AND(attaches_and_adds_poller_soon)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_beside_far__few", setup_poller_beside_far, check,
		       THREE_AND(attaches_and_adds_poller)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_beside_far__late__few", setup_poller_beside_far,
		       check, THREE_AND(attaches_and_adds_poller_soon)),
	  FEW(15000) },
	{ EXPLORE_PASS("round__few", setup_round_one, check_two,
		       ONE_AND(attaches_two_and_yields)),
	  FEW(15000) },
	{ EXPLORE_PASS("round__two__few", setup_round_two_keep, check_two,
		       WORKERS_AND(attaches_two_and_yields)),
	  FEW(15000) },
	{ EXPLORE_PASS("prioritised__few", setup_prioritised, check_two,
		       ONE_AND(attaches_two_and_prioritises)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_alone__few", setup_one, check,
		       ONE_AND(attaches_and_adds_poller)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller__few", setup_two_keep, check,
		       WORKERS_AND(attaches_and_adds_poller)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller__late__few", setup_two_keep, check,
		       WORKERS_AND(attaches_and_adds_poller_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller_alone__late__few", setup_one, check,
		       ONE_AND(attaches_and_adds_poller_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("poller__many", setup_two_keep, check,
		       WORKERS_AND(attaches_and_adds_poller)),
	  MANY(15000) },

	{ EXPLORE_BUG("attaches_unfenced", "livelock", setup_attaches_unfenced,
		      check, WORKERS_AND(attaches)),
	  FEW(200000) },
	{ EXPLORE_BUG("attaches_silently", "", setup_attaches_silently, check,
		      WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_BUG("never_resigns_to_park", "livelock",
		      setup_never_resigns_to_park, check,
		      WORKERS_AND(attaches_and_adds_poller_late)),
	  FEW(15000) },
	{ EXPLORE_BUG("leaves_unwatched", "", setup_leaves_unwatched, check_two,
		      WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_BUG("nobody_watches", "", setup_nobody_watches, check_two,
		      WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_BUG("looks_near", "", setup_looks_near, check_two,
		      WORKERS_AND(attaches_two)),
	  FEW(15000) },
	{ EXPLORE_BUG("looks_near__busy", "", setup_looks_near_busy, check_two,
		      WORKERS_AND(attaches_two_and_spawns)),
	  FEW(15000) },
	{ EXPLORE_BUG("takes_interruption", "", setup_takes_interruption,
		      check_two, THREE_AND(attaches_two_and_spawns)),
	  FEW(200000) },
};

EXPLORE_MAIN(cases)
