/* SPDX-License-Identifier: MIT */
/* select_world.h - an object of each kind that may be in a select, except descriptors, which
 * test_select_io.c has */
#ifndef SKUA_TESTS_UNIT_SELECT_WORLD_H
#define SKUA_TESTS_UNIT_SELECT_WORLD_H

#include <string.h>

#include "skua/select.h"
#include "tests/unit/users.h"

#define SOON_NS  UINT64_C(3000000)
#define CAPACITY 2u
#define KINDS    (SKUA_SELECT_SPSC_RECEIVE + 1)

/* An object of each kind, none of which is ready. */
struct world {
	struct skua_channel full, empty;
	uint64_t memory[2][SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
	struct skua_spsc full_spsc, empty_spsc;
	uint64_t spsc_memory[2][SKUA_SPSC_BYTES(CAPACITY, 8) / 8];
	struct skua_oneshot oneshot;
	struct skua_broadcast broadcast;
	uint64_t items[SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
	struct skua_subscription subscription;
	struct skua_watch watch;
	uint64_t value[SKUA_WATCH_BYTES(8) / 8];
	struct skua_mutex mutex;
	struct skua_semaphore semaphore;
	struct skua_event event;
	struct skua_notify notify;
	struct ending {
		struct skua_task task; /* first */
		struct skua_event ends;
		struct skua_wait wait;
	} ending, member;
	struct skua_group group; /* of the member */
	/* Held for writing, and for reading, by the thread that has the mutex. */
	struct skua_rwlock to_read, to_write;
	struct skua_select_case cases[KINDS];
	uint64_t got[KINDS];
	struct skua_runtime *rt;
};

static inline enum skua_poll poll_ending(struct skua_task *self)
{
	struct ending *it = (struct ending *)self;

	return skua_event_wait_poll(self, &it->ends, &it->wait,
				    SKUA_FOREVER_NS) == -EAGAIN
		       ? SKUA_PENDING
		       : SKUA_DONE;
}

static inline void set_case(struct world *w, enum skua_select_kind kind,
			    void *object, uint64_t amount)
{
	w->cases[kind] = (struct skua_select_case)SKUA_SELECT_CASE(
		kind, object, &w->got[kind], amount);
}

static inline void world_init(struct world *w, struct skua_runtime *rt)
{
	uint64_t zero = 0;

	memset(w, 0, sizeof(*w));
	w->rt = rt;
	assert_int_equal(skua_channel_init(&w->full, w->memory[0], CAPACITY, 8),
			 0);
	for (unsigned i = 0; i < CAPACITY; i++)
		assert_int_equal(skua_channel_send_try(&w->full, &zero), 0);
	assert_int_equal(
		skua_channel_init(&w->empty, w->memory[1], CAPACITY, 8), 0);
	assert_int_equal(
		skua_broadcast_init(&w->broadcast, w->items, CAPACITY, 8), 0);
	assert_int_equal(
		skua_broadcast_subscribe(&w->broadcast, &w->subscription), 0);
	assert_int_equal(skua_watch_init(&w->watch, w->value, 8), 0);
	assert_int_equal(skua_mutex_lock_try(&w->mutex), 0);
	assert_int_equal(skua_semaphore_init(&w->semaphore, 1), 0);
	w->ending.task = (struct skua_task)SKUA_TASK_INIT(poll_ending);
	spawn(rt, &w->ending.task);
	w->member.task = (struct skua_task)SKUA_TASK_INIT(poll_ending);
	assert_int_equal(skua_group_init(&w->group, rt), 0);
	assert_int_equal(skua_group_spawn(&w->group, &w->member.task), 0);
	set_case(w, SKUA_SELECT_NEVER, NULL, 0);
	set_case(w, SKUA_SELECT_SEND, &w->full, 0);
	w->got[SKUA_SELECT_SEND] = 77;
	set_case(w, SKUA_SELECT_RECEIVE, &w->empty, 0);
	set_case(w, SKUA_SELECT_ONESHOT, &w->oneshot, 0);
	set_case(w, SKUA_SELECT_SUBSCRIPTION, &w->subscription, 0);
	set_case(w, SKUA_SELECT_WATCH, &w->watch, 1);
	set_case(w, SKUA_SELECT_LOCK, &w->mutex, 0);
	set_case(w, SKUA_SELECT_PERMITS, &w->semaphore, 3);
	set_case(w, SKUA_SELECT_EVENT, &w->event, 0);
	set_case(w, SKUA_SELECT_NOTIFY, &w->notify, 0);
	set_case(w, SKUA_SELECT_JOIN, &w->ending.task, 0);
	set_case(w, SKUA_SELECT_TIME, NULL, SKUA_FOREVER_NS);
	set_case(w, SKUA_SELECT_GROUP, &w->group, 0);
	assert_int_equal(skua_rwlock_write_try(&w->to_read), 0);
	set_case(w, SKUA_SELECT_READ_LOCK, &w->to_read, 0);
	assert_int_equal(skua_rwlock_read_try(&w->to_write), 0);
	set_case(w, SKUA_SELECT_WRITE_LOCK, &w->to_write, 0);
	assert_int_equal(
		skua_spsc_init(&w->full_spsc, w->spsc_memory[0], CAPACITY, 8),
		0);
	for (unsigned i = 0; i < CAPACITY; i++)
		assert_int_equal(skua_spsc_send_try(&w->full_spsc, &zero), 0);
	assert_int_equal(
		skua_spsc_init(&w->empty_spsc, w->spsc_memory[1], CAPACITY, 8),
		0);
	set_case(w, SKUA_SELECT_SPSC_SEND, &w->full_spsc, 0);
	w->got[SKUA_SELECT_SPSC_SEND] = 77;
	set_case(w, SKUA_SELECT_SPSC_RECEIVE, &w->empty_spsc, 0);
}

/* End the task, which may be joined already, and the member. */
static inline void world_end(struct world *w, bool joined)
{
	assert_int_equal(skua_event_set(&w->ending.ends), 0);
	assert_int_equal(skua_task_join(&w->ending.task), joined ? -EINVAL : 0);
	assert_int_equal(skua_event_set(&w->member.ends), 0);
	assert_int_equal(skua_group_wait(&w->group), 0);
}

/* For calls by the thread that has the locks, except of kind @ready. */
static inline void leave_locks_out(struct world *w, unsigned ready)
{
	if (ready != SKUA_SELECT_LOCK)
		w->cases[SKUA_SELECT_LOCK].kind = SKUA_SELECT_NEVER;
	if (ready != SKUA_SELECT_READ_LOCK)
		w->cases[SKUA_SELECT_READ_LOCK].kind = SKUA_SELECT_NEVER;
}

/* Make a case ready. By the thread that has the mutex. */
static inline void make_ready(struct world *w, unsigned kind)
{
	uint64_t item = 40 + kind;

	switch (kind) {
	case SKUA_SELECT_SEND:
		assert_int_equal(skua_channel_receive_try(&w->full, &item), 0);
		break;
	case SKUA_SELECT_RECEIVE:
		assert_int_equal(skua_channel_send_try(&w->empty, &item), 0);
		break;
	case SKUA_SELECT_ONESHOT:
		assert_int_equal(skua_oneshot_send(&w->oneshot, item), 0);
		break;
	case SKUA_SELECT_SUBSCRIPTION:
		assert_int_equal(skua_broadcast_send(&w->broadcast, &item), 0);
		break;
	case SKUA_SELECT_WATCH:
		assert_int_equal(skua_watch_set(&w->watch, &item), 0);
		break;
	case SKUA_SELECT_LOCK:
		assert_int_equal(skua_mutex_unlock(&w->mutex), 0);
		break;
	case SKUA_SELECT_PERMITS:
		assert_int_equal(skua_semaphore_release(&w->semaphore, 2), 0);
		break;
	case SKUA_SELECT_EVENT:
		assert_int_equal(skua_event_set(&w->event), 0);
		break;
	case SKUA_SELECT_NOTIFY:
		assert_int_equal(skua_notify_one(&w->notify), 0);
		break;
	case SKUA_SELECT_JOIN:
		assert_int_equal(skua_event_set(&w->ending.ends), 0);
		break;
	case SKUA_SELECT_GROUP:
		assert_int_equal(skua_event_set(&w->member.ends), 0);
		break;
	case SKUA_SELECT_READ_LOCK:
		assert_int_equal(skua_rwlock_write_unlock(&w->to_read), 0);
		break;
	case SKUA_SELECT_WRITE_LOCK:
		assert_int_equal(skua_rwlock_read_unlock(&w->to_write), 0);
		break;
	case SKUA_SELECT_SPSC_SEND:
		assert_int_equal(skua_spsc_receive_try(&w->full_spsc, &item),
				 0);
		break;
	case SKUA_SELECT_SPSC_RECEIVE:
		assert_int_equal(skua_spsc_send_try(&w->empty_spsc, &item), 0);
		break;
	default:
		break;
	}
}

static inline bool has_item(unsigned kind)
{
	return (kind >= SKUA_SELECT_RECEIVE && kind <= SKUA_SELECT_WATCH) ||
	       kind == SKUA_SELECT_SPSC_RECEIVE;
}

static inline bool ready_later(unsigned kind)
{
	return kind != SKUA_SELECT_NEVER && kind != SKUA_SELECT_TIME &&
	       kind != SKUA_SELECT_IO;
}

/* Nothing is left behind, and no case but @kind has had an effect. KINDS: none has.
 * @made: it was ready. By the thread that has the mutex, unless the select has it. */
static inline void check_world(struct world *w, unsigned kind, bool made)
{
	uint64_t item, version = 1;

	for (unsigned i = 0; i < KINDS; i++)
		if (has_item(i))
			assert_int_equal(w->got[i], i == kind ? 40 + i : 0);
	assert_null(w->full.senders.first);
	assert_null(w->full.receivers.first);
	assert_null(w->empty.receivers.first);
	assert_int_equal(skua_channel_length(&w->full), CAPACITY);
	assert_int_equal(skua_channel_length(&w->empty), 0);
	for (unsigned i = 0; i < CAPACITY; i++)
		assert_int_equal(skua_channel_receive_try(&w->full, &item), 0);
	assert_int_equal(item, kind == SKUA_SELECT_SEND ? 77 : 0);
	assert_null(w->full_spsc.senders.first);
	assert_null(w->empty_spsc.receivers.first);
	assert_int_equal(skua_spsc_length(&w->full_spsc), CAPACITY);
	assert_int_equal(skua_spsc_length(&w->empty_spsc), 0);
	for (unsigned i = 0; i < CAPACITY; i++)
		assert_int_equal(skua_spsc_receive_try(&w->full_spsc, &item),
				 0);
	assert_int_equal(item, kind == SKUA_SELECT_SPSC_SEND ? 77 : 0);
	assert_null(w->oneshot.waiters.first);
	assert_int_equal(skua_oneshot_receive_try(&w->oneshot, &item),
			 kind == SKUA_SELECT_ONESHOT ? -EPIPE : -EAGAIN);
	assert_null(w->broadcast.waiters.first);
	assert_int_equal(
		skua_subscription_receive_try(&w->subscription, &item, NULL),
		-EAGAIN);
	assert_null(w->watch.waiters.first);
	assert_int_equal(skua_watch_changed_try(&w->watch, &version, &item),
			 kind == SKUA_SELECT_WATCH ? 0 : -EAGAIN);
	assert_null(w->mutex.waiters.first);
	if (kind != SKUA_SELECT_LOCK)
		assert_int_equal(skua_mutex_unlock(&w->mutex), 0);
	assert_int_equal(skua_mutex_destroy(&w->mutex), 0);
	assert_null(w->to_read.waiters.first);
	if (kind != SKUA_SELECT_READ_LOCK)
		assert_int_equal(skua_rwlock_write_unlock(&w->to_read), 0);
	assert_int_equal(skua_rwlock_destroy(&w->to_read), 0);
	assert_null(w->to_write.waiters.first);
	if (kind != SKUA_SELECT_WRITE_LOCK)
		assert_int_equal(skua_rwlock_read_unlock(&w->to_write), 0);
	assert_int_equal(skua_rwlock_destroy(&w->to_write), 0);
	assert_null(w->semaphore.waiters.first);
	assert_int_equal(skua_semaphore_permits(&w->semaphore),
			 kind == SKUA_SELECT_PERMITS ? 0 : 1);
	assert_null(w->event.waiters.first);
	assert_null(w->notify.waiters.first);
	assert_int_equal(skua_notify_wait(&w->notify, 0), -ETIMEDOUT);
	/* The state of a group that was waited for is the first one. */
	assert_true((w->group.state == 0) == (kind == SKUA_SELECT_GROUP));
	world_end(w, kind == SKUA_SELECT_JOIN);
	(void)made;
}

/* Give back the lock that a select has got. Return: @at; an error. */
static inline int release(struct world *w, int at)
{
	if (at == SKUA_SELECT_LOCK && skua_mutex_unlock(&w->mutex))
		return -EPERM;
	if (at == SKUA_SELECT_READ_LOCK && skua_rwlock_read_unlock(&w->to_read))
		return -EPERM;
	if (at == SKUA_SELECT_WRITE_LOCK &&
	    skua_rwlock_write_unlock(&w->to_write))
		return -EPERM;
	return at;
}

static inline int select_all(struct user *it)
{
	struct world *w = it->object;

	return release(
		w, skua_select(w->cases, KINDS, it->number, SKUA_FOREVER_NS));
}

/* The same in polls. */
struct selector {
	struct skua_task task; /* first */
	struct world *world;
	struct skua_select select;
	struct skua_wait wait;
	uint64_t deadline_ns;
	int result, polls;
};

static inline enum skua_poll poll_selector(struct skua_task *self)
{
	struct selector *it = (struct selector *)self;

	it->polls++;
	it->result =
		skua_select_poll(self, &it->select, &it->wait, it->deadline_ns);
	if (it->result == -EAGAIN)
		return SKUA_PENDING;
	it->result = release(it->world, it->result);
	return SKUA_DONE;
}

static inline void selector_init(struct selector *it, struct world *w)
{
	*it = (struct selector){ .task = SKUA_TASK_INIT(poll_selector),
				 .world = w,
				 .select = { .cases = w->cases,
					     .count = KINDS },
				 .deadline_ns = SKUA_FOREVER_NS };
}

#endif
