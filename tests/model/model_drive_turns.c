/* SPDX-License-Identifier: MIT */
/**
 * model_drive_turns.c - core/drive.c: several threads drive one worker
 *
 * One at a time: another is told so, or waits for its turn. What one did to the
 * worker happens before what the next does. Who drains or blocks returns when
 * that is reached, whoever drove, and no wake-up is lost. The worker is a stub
 * whose only task ends when it has been driven often enough; the descriptors are
 * words.
 */
#include <poll.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <unistd.h>

struct worker;

static bool drive_worker(struct worker *worker, uint64_t deadline_ns);
static void event_clear(void);
static void event_set(void);
static void event_wait(const void *limit);

#define read(fd, to, size) \
	((void)(fd), (void)(to), event_clear(), (ssize_t)(size))
#define write(fd, from, size) \
	((void)(fd), (void)(from), event_set(), (ssize_t)(size))
#define timerfd_settime(fd, flags, new, old) ((void)(fd), (void)(new))
#define ppoll(fds, count, wait, mask)        ((void)(fds), event_wait(wait))

#include "core/worker.h"

#define worker_drive(worker, deadline_ns) drive_worker(worker, deadline_ns)

#include "core/drive.c"

static struct drive drive;
static struct pool pool;
static struct worker *workers[1]; /* none: what drives it is below */
static unsigned ticks;            /* plain: the worker's */
static unsigned parks;            /* plain: the same, written last */
static unsigned polls;            /* that the task needs still: the worker's */
static unsigned driven;
static atomic_u32 readable; /* the descriptor */
static unsigned result;     /* written by the task, plain */

/* ---- the world ------------------------------------------------------------ */

static void event_clear(void)
{
	atomic_exchange_acquire(&readable, 0);
}

static void event_set(void)
{
	atomic_exchange_release(&readable, 1);
	explore_futex_wake(&readable, EXPLORE_THREADS);
}

/* A look at the descriptor, and a sleep until it is readable. */
static void event_wait(const void *limit)
{
	(void)limit;
	if (atomic_load_acquire(&readable) == 0)
		explore_futex_wait(&readable, 0);
}

/* Polls the task, and is idle once it has ended. */
static bool drive_worker(struct worker *worker, uint64_t deadline_ns)
{
	(void)worker;
	(void)deadline_ns;
	explore_write(ticks, ticks + 1);
	if (polls > 0 && --polls == 0) {
		explore_write(result, 7);
		/* As done() in worker.c. */
		atomic_fetch_add_release(&pool.refused, 1);
	}
	/* As look_drained(). */
	atomic_fence_seq_cst();
	pool_check_drained(&pool);
	/* As tell_park(). */
	explore_write(parks, parks + 1);
	return polls > 0;
}

static void setup(void)
{
	memset(&pool, 0, sizeof(pool));
	pool.workers = workers;
	atomic_init(&pool.outside, POOL_OUTSIDE_SPAWN);
	atomic_init(&pool.refused, 0);
	atomic_init(&pool.drainers, 0);
	atomic_init(&pool.drain_epoch, 0);
	pool.on_drained = signal_event;
	pool.on_drained_ctx = &drive;
	drive_reset(&drive);
	atomic_init(&readable, 0);
	ticks = 0;
	driven = 0;
	parks = 0;
	polls = 1;
	result = 0;
}

/* One turn of the host is not enough. */
static void setup_two_polls(void)
{
	setup();
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
	worker_drive(NULL, 0);
	driven++;
}

static void drains(void)
{
	explore_assert(drive_until_drained(&drive, &pool, UINT64_MAX));
	explore_assert(explore_read(result) == 7);
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
	{ EXPLORE_BUG("driven_unlocked", "data race", setup, check, drives,
		      drives_unlocked) },
};

EXPLORE_MAIN(cases)
