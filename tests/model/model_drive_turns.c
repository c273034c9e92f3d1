/* SPDX-License-Identifier: MIT */
/**
 * model_drive_turns.c - core/runtime/drive.c: several threads drive one worker
 *
 * One at a time: another is told so, or waits for its turn. The changes that one
 * makes to the worker happen before the next one's. A thread that drains or blocks
 * returns when that is reached, under each driver, and no wake-up is lost: a
 * descriptor that another thread clears before the sleeper has run lets it sleep
 * on, as ppoll() does. The worker is a stub whose only task ends when it has been driven often enough; the
 * descriptors are words.
 */
#include <poll.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <unistd.h>

struct worker;

static bool drive_worker(struct worker *worker, uint64_t deadline_ns);
static void event_clear(int fd);
static void event_set(int fd);
static void event_wait(struct pollfd *fds, nfds_t count);

#define read(fd, to, size)                   ((void)(to), event_clear(fd), (ssize_t)(size))
#define write(fd, from, size)                ((void)(from), event_set(fd), (ssize_t)(size))
#define timerfd_settime(fd, flags, new, old) ((void)(fd), (void)(new))
#define ppoll(fds, count, wait, mask)        ((void)(wait), event_wait(fds, count))

#include "core/loop/worker.h"

#define loop_drive(worker, deadline_ns) drive_worker(worker, deadline_ns)

#include "core/runtime/drive.c"

static struct drive drive;
static struct pool pool;
static struct inject_group inject[1];
static struct timer_deadlines deadlines[1];
static struct llc_group group = { .count = 1 };
static const struct llc_groups one = { .count = 1, .groups = &group };
static struct worker *workers[1]; /* none: what drives it is below */
static unsigned ticks;            /* plain: the worker's */
static unsigned parks;            /* plain: the same, written last */
static unsigned polls;            /* that the task needs still: the worker's */
static unsigned driven;
static atomic_u32 readable[2]; /* the descriptors */
static atomic_u32 written;     /* changes with each write to one of them */
static unsigned result;        /* written by the task, plain */
static atomic_u32 woken;       /* by an event, as which the task waits for */
static atomic_u32 ended;       /* the task, as companion_poll() tells */
static bool others;            /* is there a task that never ends? */

/* ---- the world ------------------------------------------------------------ */

static void event_clear(int fd)
{
	atomic_exchange_acquire(&readable[fd], 0);
}

static void event_set(int fd)
{
	atomic_exchange_release(&readable[fd], 1);
	atomic_fetch_add_release(&written, 1);
	explore_futex_wake(&written, EXPLORE_THREADS);
}

/* A sleep until one of the descriptors is readable when the thread looks. */
static void event_wait(struct pollfd *fds, nfds_t count)
{
	for (;;) {
		uint32_t before = atomic_load_acquire(&written);
		bool any = false;

		for (nfds_t i = 0; i < count; i++) {
			/* A descriptor is looked at under a lock: no stale load. */
			fds[i].revents =
				atomic_fetch_or_acq_rel(&readable[fds[i].fd], 0)
					? POLLIN
					: 0;
			any = any || fds[i].revents;
		}
		if (any)
			return;
		explore_futex_wait(&written, before);
	}
}

/* Polls the task, and is idle once it has ended. */
static bool drive_worker(struct worker *worker, uint64_t deadline_ns)
{
	(void)worker;
	(void)deadline_ns;
	explore_write(ticks, ticks + 1);
	if (atomic_load_acquire(&woken) == 0)
		return false;
	if (polls > 0 && --polls == 0) {
		explore_write(result, 7);
		if (others) {
			atomic_store_release(&ended, 1);
			reach_goal(&drive);
		}
		/* As done() in loop.c. */
		atomic_fetch_add_release(&pool.refused, 1);
	}
	/* As search_check_drained(). */
	atomic_fence_seq_cst();
	pool_check_drained(&pool);
	/* As telemetry_park(). */
	explore_write(parks, parks + 1);
	return polls > 0;
}

static void setup(void)
{
	memset(&pool, 0, sizeof(pool));
	pool.workers = workers;
	pool.groups = &one;
	pool.inject = inject;
	pool.deadlines = deadlines;
	atomic_init(&deadlines[0].next_ns[0], UINT64_MAX);
	atomic_init(&inject[0].outside, POOL_OUTSIDE_SPAWN);
	atomic_init(&pool.refused, 0);
	atomic_init(&pool.drainers, 0);
	atomic_init(&pool.drain_epoch, 0);
	pool.on_drained = reach_goal;
	pool.on_drained_ctx = &drive;
	drive_reset(&drive);
	drive.epoll_fd = 0;
	drive.event_fd = 0; /* all that is in the epoll descriptor */
	drive.goal_fd = 1;
	atomic_init(&readable[0], 0);
	atomic_init(&readable[1], 0);
	atomic_init(&written, 0);
	ticks = 0;
	driven = 0;
	parks = 0;
	polls = 1;
	result = 0;
	atomic_init(&woken, 1);
	atomic_init(&ended, 0);
	others = false;
}

/* One turn of the host is not enough. */
static void setup_two_polls(void)
{
	setup();
	polls = 2;
}

/* The task waits for an event, and another one for ever. */
static void setup_event(void)
{
	setup();
	atomic_init(&inject[0].outside, 2 * POOL_OUTSIDE_SPAWN);
	atomic_init(&woken, 0);
	others = true;
}

/* The same, and the task needs two turns. */
static void setup_event_two_polls(void)
{
	setup_event();
	polls = 2;
}

/* ---- threads -------------------------------------------------------------- */

static void drives(void)
{
	int code = drive_poll(&drive, &pool, 0);

	explore_assert(code >= 0 || code == -EBUSY);
	if (code >= 0)
		driven++;
}

static void drives_unlocked(void)
{
	loop_drive(NULL, 0);
	driven++;
}

static void drains(void)
{
	explore_assert(drive_until_drained(&drive, &pool, UINT64_MAX));
	explore_assert(explore_read(result) == 7);
}

static bool has_ended(const void *ctx)
{
	(void)ctx;
	return atomic_load_relaxed(&ended) != 0;
}

/* As drive_block_on(). */
static void blocks(void)
{
	const struct goal goal = { has_ended, NULL };

	explore_assert(drive_until(&drive, &pool, UINT64_MAX, &goal));
	explore_assert(atomic_load_acquire(&ended) == 1);
	explore_assert(explore_read(result) == 7);
}

static void wakes(void)
{
	atomic_store_release(&woken, 1);
	event_set(drive.event_fd);
}

/* As a loop, for which the descriptor is readable twice. */
static void wakes_and_hosts(void)
{
	wakes();
	drives();
	drives();
}

static void check(void)
{
	explore_assert(driven >= 1 && ticks == driven);
}

/* ---- cases ---------------------------------------------------------------- */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("two_drive", setup, check, drives, drives) },
	{ EXPLORE_PASS("three_drive", setup, check, drives, drives, drives) },
	{ EXPLORE_PASS("one_drains", setup, NULL, drains) },
	{ EXPLORE_PASS("two_drain", setup, NULL, drains, drains) },
	{ EXPLORE_PASS("one_drains_beside_a_host", setup, NULL, drains,
		       drives) },
	{ EXPLORE_PASS("one_drains_beside_a_host__two_polls", setup_two_polls,
		       NULL, drains, drives) },
	{ EXPLORE_PASS("two_drain_beside_a_host", setup, NULL, drains, drains,
		       drives),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("one_blocks", setup_event, NULL, blocks, wakes) },
	{ EXPLORE_PASS("two_block", setup_event, NULL, blocks, blocks, wakes),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("one_blocks_beside_a_host", setup_event, NULL, blocks,
		       wakes_and_hosts) },
	{ EXPLORE_PASS("one_blocks_beside_a_host__two_polls",
		       setup_event_two_polls, NULL, blocks, wakes_and_hosts) },
	{ EXPLORE_PASS("two_block_beside_a_host", setup_event, NULL, blocks,
		       blocks, wakes_and_hosts),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("driven_unlocked", "data race", setup, check, drives,
		      drives_unlocked) },
};

EXPLORE_MAIN(cases)
