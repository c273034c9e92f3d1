/* SPDX-License-Identifier: MIT */
/**
 * model_drive_turns.c - core/drive.c: two threads drive one worker
 *
 * One at a time: the other is told so. What one did to the worker happens
 * before what the other does. The worker is a word here, and the descriptors
 * are left out.
 */
#include <stdint.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <unistd.h>

struct worker;

static bool drive_worker(struct worker *worker, uint64_t deadline_ns);

#define read(fd, to, size)                   ((void)(fd), (void)(to), (ssize_t)(size))
#define write(fd, from, size)                ((void)(fd), (void)(from), (ssize_t)(size))
#define timerfd_settime(fd, flags, new, old) ((void)(fd), (void)(new))

#include "core/worker.h"

#define worker_drive(worker, deadline_ns) drive_worker(worker, deadline_ns)

#include "core/drive.c"

static struct drive drive;
static struct pool pool;
static unsigned ticks; /* plain: the worker's */
static unsigned driven;

static bool drive_worker(struct worker *worker, uint64_t deadline_ns)
{
	(void)worker;
	(void)deadline_ns;
	explore_write(ticks, ticks + 1);
	return false;
}

static void setup(void)
{
	atomic_init(&drive.busy, 0);
	ticks = 0;
	driven = 0;
}

static void drives(void)
{
	int code = drive_poll(&drive, &pool, 0);

	explore_assert(code == 0 || code == -EBUSY);
	if (code == 0)
		driven++;
}

static void drives_unlocked(void)
{
	worker_drive(NULL, 0);
	driven++;
}

static void check(void)
{
	explore_assert(driven >= 1 && ticks == driven);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("two_drive", setup, check, drives, drives) },
	{ EXPLORE_PASS("three_drive", setup, check, drives, drives, drives) },
	{ EXPLORE_BUG("driven_unlocked", "data race", setup, check, drives,
		      drives_unlocked) },
};

EXPLORE_MAIN(cases)
