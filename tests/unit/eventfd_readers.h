/* SPDX-License-Identifier: MIT */
/* eventfd_readers.h - tasks that read eventfds, attached to the driver of the first group */
#ifndef SKUA_TESTS_UNIT_EVENTFD_READERS_H
#define SKUA_TESTS_UNIT_EVENTFD_READERS_H

#include <sys/eventfd.h>

#include "core/runtime/runtime.h"
#include "tests/unit/attached_wakers.h"
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

static inline enum skua_poll reader_poll(struct skua_task *self)
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

static inline struct driver *driver_of(struct skua_runtime *rt)
{
	/* Before the first descriptor is attached. */
	if (rt->pool.drivers[0].deliver != wake_attached)
		rt->pool.drivers[0].deliver = wake_attached;
	return &rt->pool.drivers[0];
}

static inline void reader_init(struct reader *it, uint64_t goal)
{
	*it = (struct reader){ .task = SKUA_TASK_INIT(reader_poll),
			       .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
			       .goal = goal };
	assert_true(it->fd >= 0);
}

static inline void reader_attach(struct skua_runtime *rt, struct reader *it)
{
	spawn(rt, &it->task);
	it->waker = skua_task_waker(&it->task);
	attach_waker(driver_of(rt), it->fd, &it->waker);
}

static inline void reader_start(struct skua_runtime *rt, struct reader *it,
				uint64_t goal)
{
	reader_init(it, goal);
	reader_attach(rt, it);
}

static inline void tell(struct reader *it)
{
	uint64_t one = 1;

	assert_int_equal(write(it->fd, &one, sizeof(one)), sizeof(one));
}

static inline uint64_t sum_of(struct reader *it)
{
	return atomic_load_acquire(&it->sum);
}

static inline void reader_end(struct skua_runtime *rt, struct reader *it)
{
	wait_until_done(&it->task);
	assert_int_equal(driver_detach(driver_of(rt), it->fd), 0);
	skua_waker_drop(it->waker);
	join(&it->task);
	close(it->fd);
}

static inline void event_by_event(struct skua_runtime *rt, unsigned events)
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

#endif
