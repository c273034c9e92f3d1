/* SPDX-License-Identifier: MIT */
/**
 * meeting.h - two fibers of one worker that let each other wait for one object of each kind
 *
 * For tests of what a wait costs.
 */
#ifndef SKUA_TESTS_UNIT_MEETING_H
#define SKUA_TESTS_UNIT_MEETING_H

#include "skua/channel.h"
#include "skua/sync.h"
#include "tests/unit/tasks.h"

#define ROUNDS   20000u
#define CAPACITY 2u /* of the channel and of the broadcast */

/* A wait that a channel lets a party make. */
enum channel_wait {
	WAIT_EMPTY,
	WAIT_FULL,
	WAIT_ONESHOT,
	WAIT_BROADCAST,
	WAIT_WATCH,
	CHANNEL_WAITS
};

struct meeting;

/* One of two fibers that let each other wait. */
struct party {
	struct skua_fiber fiber; /* first: a fiber is its party */
	struct meeting *meeting;
	unsigned index;
	unsigned waits; /* it found an object in use */
	unsigned channel_waits[CHANNEL_WAITS];
	unsigned wrong;
};

/* Two fibers, and one object of each kind. They have stacks before anything is counted,
 * and keep them until that is over. */
struct meeting {
	struct party parties[2];
	struct skua_barrier barrier;
	struct skua_mutex mutex;
	struct skua_rwlock rwlock;
	struct skua_semaphore semaphore;
	struct skua_once once;
	struct skua_event event;
	struct skua_notify notify;
	struct skua_condition condition;
	bool signalled; /* guarded by mutex */
	struct skua_channel channel;
	struct skua_oneshot oneshot;
	struct skua_broadcast broadcast;
	struct skua_subscription subscription; /* of the second party */
	struct skua_watch watch;
	uint64_t items[SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
	uint64_t news[SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
	uint64_t value;
	atomic_u32 phase;
	atomic_u32 ready; /* parties that have a stack */
	atomic_u32 done;  /* parties */
};

enum { MEET_LATER, MEET_NOW, MEET_NO_MORE }; /* phases */

/* One party holds each object while the other one runs. So the other one waits. */
static void use_objects(struct party *me, uint64_t deadline_ns)
{
	struct meeting *all = me->meeting;
	int code;

#define HOLD(try, wait, end)                    \
	do {                                    \
		code = (try);                   \
		me->waits += code == -EAGAIN;   \
		if (code == -EAGAIN)            \
			code = (wait);          \
		me->wrong += code < 0;          \
		me->wrong += skua_yield() != 0; \
		me->wrong += (end) != 0;        \
	} while (0)

	HOLD(skua_mutex_lock_try(&all->mutex),
	     skua_mutex_lock(&all->mutex, deadline_ns),
	     skua_mutex_unlock(&all->mutex));
	HOLD(skua_rwlock_write_try(&all->rwlock),
	     skua_rwlock_write(&all->rwlock, deadline_ns),
	     skua_rwlock_write_unlock(&all->rwlock));
	HOLD(skua_semaphore_acquire_try(&all->semaphore, 1),
	     skua_semaphore_acquire(&all->semaphore, 1, deadline_ns),
	     skua_semaphore_release(&all->semaphore, 1));
	HOLD(skua_once_begin_try(&all->once),
	     skua_once_begin(&all->once, deadline_ns),
	     code == 1 ? skua_once_end(&all->once, true) : 0);
#undef HOLD
}

static void wait_for_signals(struct party *me, uint64_t deadline_ns)
{
	struct meeting *all = me->meeting;

	me->wrong += skua_event_wait(&all->event, deadline_ns) != 0;
	me->wrong += skua_notify_wait(&all->notify, deadline_ns) != 0;
	me->wrong += skua_mutex_lock(&all->mutex, deadline_ns) != 0;
	while (!all->signalled)
		me->wrong += skua_condition_wait(&all->condition, &all->mutex,
						 deadline_ns) != 0;
	me->wrong += skua_mutex_unlock(&all->mutex) != 0;
}

static void send_signals(struct party *me, uint64_t deadline_ns)
{
	struct meeting *all = me->meeting;

	me->wrong += skua_yield() != 0;
	me->wrong += skua_event_set(&all->event) != 0;
	me->wrong += skua_yield() != 0;
	me->wrong += skua_notify_one(&all->notify) != 0;
	me->wrong += skua_yield() != 0;
	me->wrong += skua_mutex_lock(&all->mutex, deadline_ns) != 0;
	all->signalled = true;
	me->wrong += skua_condition_signal(&all->condition) != 0;
	me->wrong += skua_mutex_unlock(&all->mutex) != 0;
}

/* Make a call without a wait, and then, if that is not possible, with one. */
#define TRY_AND_WAIT(kind, try, wait)                \
	do {                                         \
		int code_ = (try);                   \
                                                     \
		if (code_ == -EAGAIN) {              \
			me->channel_waits[(kind)]++; \
			code_ = (wait);              \
		}                                    \
		me->wrong += code_ != 0;             \
	} while (0)

/* The receiver comes first. The sender then fills the channel, and waits. */
static void receive_items(struct party *me, uint64_t deadline_ns)
{
	struct meeting *all = me->meeting;
	uint64_t item, version = skua_watch_get(&all->watch, &item);
	uintptr_t value = 0;

	for (uint64_t i = 0; i < CAPACITY + 2; i++) {
		TRY_AND_WAIT(WAIT_EMPTY,
			     skua_channel_receive_try(&all->channel, &item),
			     skua_channel_receive(&all->channel, &item,
						  deadline_ns));
		me->wrong += item != i;
	}
	TRY_AND_WAIT(WAIT_ONESHOT,
		     skua_oneshot_receive_try(&all->oneshot, &value),
		     skua_oneshot_receive(&all->oneshot, &value, deadline_ns));
	me->wrong += value != 7;
	TRY_AND_WAIT(
		WAIT_BROADCAST,
		skua_subscription_receive_try(&all->subscription, &item, NULL),
		skua_subscription_receive(&all->subscription, &item, NULL,
					  deadline_ns));
	TRY_AND_WAIT(
		WAIT_WATCH,
		skua_watch_changed_try(&all->watch, &version, &item),
		skua_watch_changed(&all->watch, &version, &item, deadline_ns));
}

static void send_items(struct party *me, uint64_t deadline_ns)
{
	struct meeting *all = me->meeting;
	uint64_t item;

	me->wrong += skua_yield() != 0;
	for (item = 0; item < CAPACITY + 2; item++)
		TRY_AND_WAIT(
			WAIT_FULL, skua_channel_send_try(&all->channel, &item),
			skua_channel_send(&all->channel, &item, deadline_ns));
	me->wrong += skua_yield() != 0;
	me->wrong += skua_oneshot_send(&all->oneshot, 7) != 0;
	me->wrong += skua_yield() != 0;
	me->wrong += skua_broadcast_send(&all->broadcast, &item) != 0;
	me->wrong += skua_yield() != 0;
	me->wrong += skua_watch_set(&all->watch, &item) != 0;
}

#undef TRY_AND_WAIT

/* One of the two prepares the next round, while the other one waits. */
static void meet(struct party *me, uint64_t deadline_ns)
{
	struct meeting *all = me->meeting;

	me->wrong += skua_barrier_wait(&all->barrier, deadline_ns) < 0;
	if (me->index == 0) {
		all->once = (struct skua_once)SKUA_ONCE_INIT;
		all->oneshot = (struct skua_oneshot)SKUA_ONESHOT_INIT;
		all->signalled = false;
		me->wrong += skua_event_reset(&all->event) != 0;
	}
	me->wrong += skua_barrier_wait(&all->barrier, deadline_ns) < 0;
}

static void keep_meeting(struct skua_fiber *self)
{
	struct party *me = (struct party *)self;
	struct meeting *all = me->meeting;
	uint64_t far_ns = skua_now_ns() + UINT64_C(3600000000000);

	atomic_fetch_add_release(&all->ready, 1);
	while (atomic_load_acquire(&all->phase) == MEET_LATER)
		skua_yield();
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t deadline_ns = i % 2 ? far_ns : SKUA_FOREVER_NS;

		meet(me, deadline_ns);
		use_objects(me, deadline_ns);
		if (me->index == 0) {
			wait_for_signals(me, deadline_ns);
			send_items(me, deadline_ns);
		} else {
			send_signals(me, deadline_ns);
			receive_items(me, deadline_ns);
		}
	}
	atomic_fetch_add_release(&all->done, 1);
	while (atomic_load_acquire(&all->phase) == MEET_NOW)
		skua_yield();
}

/* Both fibers stay on one worker. On two, a thread that is preempted while it holds a
 * list lock would make the other one sleep. Return: do both fibers run, and wait for the
 * driver? */
static bool meeting_begin(struct meeting *all, struct skua_runtime *rt,
			  unsigned worker)
{
	bool right = true;

	*all = (struct meeting){ .phase = MEET_LATER };
	right &= skua_barrier_init(&all->barrier, 2) == 0;
	right &= skua_semaphore_init(&all->semaphore, 1) == 0;
	right &= skua_channel_init(&all->channel, all->items, CAPACITY, 8) == 0;
	right &= skua_broadcast_init(&all->broadcast, all->news, CAPACITY, 8) ==
		 0;
	right &= skua_broadcast_subscribe(&all->broadcast,
					  &all->subscription) == 0;
	right &= skua_watch_init(&all->watch, &all->value, 8) == 0;
	for (unsigned n = 0; n < COUNT_OF(all->parties); n++) {
		struct party *party = &all->parties[n];

		party->meeting = all;
		party->index = n;
		right &= skua_fiber_init(&party->fiber, keep_meeting, 0) == 0;
		right &=
			skua_task_spawn_on(rt, worker, &party->fiber.task) == 0;
	}
	while (right && atomic_load_acquire(&all->ready) < 2)
		sched_yield();
	return right;
}

static void meeting_end(struct meeting *all)
{
	for (unsigned n = 0; n < COUNT_OF(all->parties); n++)
		join(&all->parties[n].fiber.task);
}

static bool meeting_over(struct meeting *all)
{
	return atomic_load_acquire(&all->done) == COUNT_OF(all->parties);
}

/* Return how much was wrong. Each of four objects lets one party wait; each channel does in
 * most rounds. */
static unsigned meeting_wrong(const struct meeting *all)
{
	const struct party *parties = all->parties;
	unsigned wrong = parties[0].wrong + parties[1].wrong +
			 (parties[0].waits + parties[1].waits < ROUNDS);

	for (unsigned i = 0; i < CHANNEL_WAITS; i++)
		wrong += parties[0].channel_waits[i] +
				 parties[1].channel_waits[i] <
			 ROUNDS / 2;
	return wrong;
}

#endif
