/* SPDX-License-Identifier: MIT */
/* drive.c - see drive.h */
#include "core/runtime/drive.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <limits.h>

#include "core/loop/loop.h"
#include "core/base/clock.h"
#include "core/os/futex.h"
#include "core/runtime/runtime.h"
#include "core/os/signals.h"
#include "core/loop/worker.h"
#include "skua/task.h"

void drive_reset(struct drive *drive)
{
	drive->epoll_fd = -1;
	drive->event_fd = -1;
	drive->timer_fd = -1;
	drive->goal_fd = -1;
	atomic_init(&drive->busy, 0);
	atomic_init(&drive->led, 0);
	atomic_init(&drive->news, 0);
	atomic_init(&drive->sleepers, 0);
}

/* Make an eventfd readable. */
static void set_readable(int fd)
{
	uint64_t one = 1;
	int saved = errno; /* the library never sets it */
	ssize_t written;

	/* A write fails only if the counter is at its maximum: then the eventfd is
	 * readable already. */
	written = write(fd, &one, sizeof(one));
	(void)written;
	errno = saved;
}

static void clear_readable(int fd)
{
	uint64_t count;
	int saved = errno;
	ssize_t got;

	/* A read fails only if the eventfd is not readable. */
	got = read(fd, &count, sizeof(count));
	(void)got;
	errno = saved;
}

static void signal_event(void *ctx)
{
	const struct drive *drive = ctx;

	set_readable(drive->event_fd);
}

/* publish_news - wake the threads that sleep on the news
 *
 * A leader that sleeps in ppoll() is not woken. Return: true if any thread sleeps. */
static bool publish_news(struct drive *drive)
{
	/* Release: the caller's earlier writes. Pairs with the acquire in
	 * drive_until(). */
	atomic_fetch_add_release(&drive->news, 1);
	/* Orders the change of the news before the read of sleepers. Pairs with the
	 * fence in sleep_until_news(): either that thread sees the news, or it is
	 * woken. */
	atomic_fence_seq_cst();
	if (atomic_load_relaxed(&drive->sleepers) == 0)
		return false;
	futex_wake(&drive->news, INT_MAX);
	return true;
}

/* A goal was reached. The thread that waits for it may be a leader that sleeps in
 * ppoll(), so write to goal_fd as well. */
static void reach_goal(void *ctx)
{
	struct drive *drive = ctx;

	if (publish_news(drive))
		set_readable(drive->goal_fd);
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
	drive->goal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (drive->epoll_fd < 0 || drive->event_fd < 0 || drive->timer_fd < 0 ||
	    drive->goal_fd < 0)
		return -errno;
	return 0;
}

int drive_init(struct drive *drive, struct pool *pool)
{
	struct worker *worker = pool->workers[0];
	int code = open_all(drive);

	if (!code)
		code = watch(drive, drive->event_fd);
	if (!code)
		code = watch(drive, drive->timer_fd);
	if (code)
		return code;
	pool->idle.sleepers[0].parker.wake = signal_event;
	pool->idle.sleepers[0].parker.ctx = drive;
	pool->drivers[0].outer = drive->epoll_fd + 1;
	pool->on_drained = reach_goal;
	pool->on_drained_ctx = drive;
	/* No timer is due yet, so this call only parks the worker. */
	loop_drive(worker, 0);
	return 0;
}

void drive_close(struct drive *drive)
{
	if (drive->epoll_fd >= 0)
		close(drive->epoll_fd);
	if (drive->event_fd >= 0)
		close(drive->event_fd);
	if (drive->timer_fd >= 0)
		close(drive->timer_fd);
	if (drive->goal_fd >= 0)
		close(drive->goal_fd);
}

/* arm_timer - make timer_fd readable when the earliest timer is due */
static void arm_timer(const struct drive *drive, const struct pool *pool)
{
	uint64_t next_ns = pool_next_timer_ns(pool);
	struct itimerspec when = { .it_value = { 0 } };

	if (next_ns != UINT64_MAX) {
		when.it_value.tv_sec = (time_t)(next_ns / NS_PER_S);
		when.it_value.tv_nsec = (long)(next_ns % NS_PER_S);
		if (next_ns == 0)
			when.it_value.tv_nsec = 1; /* zero would disarm */
	}
	timerfd_settime(drive->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* A condition for which drive_for() and drive_until() wait. */
struct goal {
	bool (*reached)(const void *ctx);
	const void *ctx;
};

/* drive_for - run the due tasks, timers and pollers until idle, until @deadline_ns or
 * until @goal is reached
 *
 * @goal may be NULL. Return: as drive_poll(). */
static int drive_for(struct drive *drive, struct pool *pool,
		     uint64_t deadline_ns, const struct goal *goal)
{
	struct worker *worker = pool->workers[0];
	sigset_t before;
	bool more;

	/* Acquire: the worker's fields, from the thread that drove last. Pairs with the
	 * release below. */
	if (atomic_exchange_acquire(&drive->busy, 1))
		return -EBUSY;
	signals_block(&before);
	clear_readable(drive->event_fd);
	do {
		more = loop_drive(worker, goal ? 0 : deadline_ns);
	} while (goal && more && !goal->reached(goal->ctx) &&
		 clock_now_ns() < deadline_ns);
	arm_timer(drive, pool);
	if (more)
		signal_event(drive);
	/* Release: the worker's fields. Pairs with the acquire above. */
	atomic_store_release(&drive->busy, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return more;
}

int drive_poll(struct drive *drive, struct pool *pool, uint64_t deadline_ns)
{
	int more = drive_for(drive, pool, deadline_ns, NULL);

	/* The leader may have found the worker busy, and sleep until it may drive. */
	if (more != -EBUSY)
		publish_news(drive);
	return more;
}

/* wait_for_event - sleep until epoll_fd is readable, a goal was reached, or the deadline
 *
 * Only the leader calls it. */
static void wait_for_event(const struct drive *drive, uint64_t deadline_ns)
{
	struct pollfd fds[] = { { .fd = drive->epoll_fd, .events = POLLIN },
				{ .fd = drive->goal_fd, .events = POLLIN } };
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	struct timespec left = { .tv_sec = (time_t)(left_ns / NS_PER_S),
				 .tv_nsec = (long)(left_ns % NS_PER_S) };
	int saved = errno;

	ppoll(fds, 2, deadline_ns == UINT64_MAX ? NULL : &left, NULL);
	errno = saved;
	if (fds[1].revents)
		clear_readable(drive->goal_fd);
}

/* sleep_until_news - sleep until the news differs from @news, or until the deadline
 *
 * With @events, which only the leader passes, the sleep also ends when there is something
 * to run. */
static void sleep_until_news(struct drive *drive, uint32_t news, bool events,
			     uint64_t deadline_ns)
{
	/* Relaxed, both: the fence orders them. */
	atomic_fetch_add_relaxed(&drive->sleepers, 1);
	/* Orders the count of sleepers before the read of the news. Pairs with the
	 * fence in publish_news(). */
	atomic_fence_seq_cst();
	if (!events)
		futex_wait_until(&drive->news, news, deadline_ns);
	else if (atomic_load_relaxed(&drive->news) == news)
		wait_for_event(drive, deadline_ns);
	/* Relaxed: a publisher that reads the old count makes a wake call in vain. */
	atomic_fetch_sub_relaxed(&drive->sleepers, 1);
}

/* lead - become the leader; return false if there is one already */
static bool lead(struct drive *drive)
{
	/* Acquire: the last leader's clearing of goal_fd. Pairs with the release in
	 * drive_until(). */
	return atomic_exchange_acquire(&drive->led, 1) == 0;
}

/* drive_until - drive, or sleep while another thread drives, until @goal is reached
 *
 * Return: false if the deadline came first. */
static bool drive_until(struct drive *drive, struct pool *pool,
			uint64_t deadline_ns, const struct goal *goal)
{
	bool leads = false;
	bool reached;

	/* Relaxed: the fence orders it. */
	atomic_fetch_add_relaxed(&pool->drainers, 1);
	/* Orders the count before the check of the goal. Pairs with the fence in
	 * search_check_drained(). */
	atomic_fence_seq_cst();
	for (;;) {
		/* Acquire: the writes before the goal was reached. Pairs with the
		 * release in publish_news(). */
		uint32_t news = atomic_load_acquire(&drive->news);
		int more = -EBUSY;

		leads = leads || lead(drive);
		if (leads)
			more = drive_for(drive, pool, deadline_ns, goal);
		reached = goal->reached(goal->ctx);
		if (reached || (deadline_ns != UINT64_MAX &&
				clock_now_ns() >= deadline_ns))
			break;
		if (more != 1)
			sleep_until_news(drive, news, more == 0, deadline_ns);
	}
	/* Relaxed: a worker that reads the old count makes a wake call in vain. */
	atomic_fetch_sub_relaxed(&pool->drainers, 1);
	if (leads) {
		/* Release: the state of goal_fd. Pairs with the acquire in lead(). */
		atomic_store_release(&drive->led, 0);
		publish_news(drive);
	}
	return reached;
}

static bool drained(const void *ctx)
{
	return pool_drained(ctx);
}

bool drive_until_drained(struct drive *drive, struct pool *pool,
			 uint64_t deadline_ns)
{
	const struct goal goal = { drained, pool };

	return drive_until(drive, pool, deadline_ns, &goal);
}

/* ---- block_on ------------------------------------------------------------ */

/* A task that spawns and joins the task of skua_runtime_block_on(), and then reports the
 * goal to the thread that drives. */
struct companion {
	struct skua_task task; /* first: a task is cast to its companion */
	struct skua_runtime *rt;
	struct skua_task *joined;
	const void *caller; /* for runtime_spawn() */
	int code;
	bool spawned;
	/* 1: the joined task has ended. Writer: the companion. Readers: threads that
	 * drive. */
	atomic_u32 done;
};

static enum skua_poll companion_poll(struct skua_task *self)
{
	struct companion *it = (struct companion *)self;

	if (!it->spawned)
		it->code = runtime_spawn(it->rt, it->joined, 0, it->caller);
	if (!it->code) {
		it->spawned = true;
		if (skua_task_join_poll(self, it->joined) == -EAGAIN)
			return SKUA_PENDING;
	}
	/* Relaxed: the join in drive_block_on() acquires @code. */
	atomic_store_relaxed(&it->done, 1);
	reach_goal(&it->rt->drive);
	return SKUA_DONE;
}

static bool companion_done(const void *ctx)
{
	const struct companion *it = ctx;

	/* Relaxed: see companion_poll(). */
	return atomic_load_relaxed(&it->done) != 0;
}

int drive_block_on(struct skua_runtime *rt, struct skua_task *task,
		   const void *caller)
{
	struct companion it = { .task = SKUA_TASK_INIT(companion_poll),
				.rt = rt,
				.joined = task,
				.caller = caller };
	const struct goal goal = { companion_done, &it };
	int code;

	/* The companion has the same urgency as the task. */
	it.task.flags = task->flags & TASK_URGENT;
	atomic_init(&it.done, 0);
	code = runtime_spawn(rt, &it.task, 0, caller);
	if (code)
		return code;
	drive_until(&rt->drive, &rt->pool, UINT64_MAX, &goal);
	/* The poll of the companion has ended, or ends soon on a thread that drives. */
	skua_task_join(&it.task);
	return it.code;
}
