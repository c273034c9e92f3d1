/* SPDX-License-Identifier: MIT */
/* drive.c - see drive.h */
#include "core/drive.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/worker.h"

/* Between two looks at whether all is drained. */
#define SLICE_NS UINT64_C(10000000)

static void signal_event(void *ctx)
{
	const struct drive *drive = ctx;
	uint64_t one = 1;
	int saved = errno; /* the library never sets it */
	ssize_t written;

	/* Fails only if the counter is at its end: then it is readable. */
	written = write(drive->event_fd, &one, sizeof(one));
	(void)written;
	errno = saved;
}

static void clear_event(const struct drive *drive)
{
	uint64_t count;
	int saved = errno;
	ssize_t got;

	/* Fails only if there is none. */
	got = read(drive->event_fd, &count, sizeof(count));
	(void)got;
	errno = saved;
}

static int watch(const struct drive *drive, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(drive->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0
		       ? 0
		       : -errno;
}

static int open_all(struct drive *drive)
{
	drive->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	drive->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	drive->timer_fd =
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (drive->epoll_fd < 0 || drive->event_fd < 0 || drive->timer_fd < 0)
		return -errno;
	return 0;
}

int drive_init(struct drive *drive, struct pool *pool)
{
	struct worker *worker = &pool->workers[0];
	int code = open_all(drive);

	atomic_init(&drive->busy, 0);
	if (!code)
		code = watch(drive, drive->event_fd);
	if (!code)
		code = watch(drive, drive->timer_fd);
	if (code)
		return code;
	pool->idle.sleepers[0].parker.wake = signal_event;
	pool->idle.sleepers[0].parker.ctx = drive;
	/* Nothing is due yet: this parks the worker. */
	worker_drive(worker, 0);
	return 0;
}

void drive_close(struct drive *drive)
{
	if (drive->epoll_fd > 0)
		close(drive->epoll_fd);
	if (drive->event_fd > 0)
		close(drive->event_fd);
	if (drive->timer_fd > 0)
		close(drive->timer_fd);
}

/* Have the descriptor become readable when the earliest timer is due. */
static void arm_timer(const struct drive *drive, const struct pool *pool)
{
	uint64_t next_ns = timers_earliest(pool);
	struct itimerspec when = { .it_value = { 0 } };

	if (next_ns != UINT64_MAX) {
		when.it_value.tv_sec = (time_t)(next_ns / NS_PER_S);
		when.it_value.tv_nsec = (long)(next_ns % NS_PER_S);
		if (next_ns == 0)
			when.it_value.tv_nsec = 1; /* zero would disarm */
	}
	timerfd_settime(drive->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

int drive_poll(struct drive *drive, struct pool *pool, uint64_t deadline_ns)
{
	bool more;

	/* Acquire: the worker's own fields. Pairs with the release below. */
	if (atomic_exchange_acquire(&drive->busy, 1))
		return -EBUSY;
	clear_event(drive);
	more = worker_drive(&pool->workers[0], deadline_ns);
	arm_timer(drive, pool);
	if (more)
		signal_event(drive);
	/* Release: as above. */
	atomic_store_release(&drive->busy, 0);
	return more;
}

bool drive_until_drained(struct drive *drive, struct pool *pool,
			 uint64_t deadline_ns)
{
	for (;;) {
		uint64_t now_ns = clock_now_ns();
		uint64_t slice_ns = now_ns + SLICE_NS;
		struct pollfd fd = { .fd = drive->epoll_fd, .events = POLLIN };
		struct timespec wait = { 0 };
		int more = drive_poll(drive, pool, slice_ns);

		if (pool_drained(pool))
			return true;
		if (now_ns >= deadline_ns)
			return false;
		if (more == 1)
			continue;
		if (deadline_ns < slice_ns)
			slice_ns = deadline_ns;
		wait.tv_nsec =
			slice_ns > now_ns ? (long)(slice_ns - now_ns) : 0;
		/* In slices, because another thread may be the one that drives
		 * and drains it. */
		ppoll(&fd, 1, &wait, NULL);
	}
}
