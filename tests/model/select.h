/* SPDX-License-Identifier: MIT */
/**
 * select.h - objects of all kinds, and threads that select, for model_select.c
 *
 * The code of all objects is in one file: each has its own names for the same things. The
 * variants leave out parts of the select's code.
 */
#ifndef SKUA_TESTS_MODEL_SELECT_H
#define SKUA_TESTS_MODEL_SELECT_H

enum defect {
	NO_DEFECT,
	KEEPS_GRANTS, /* a case that loses does not pass its grant on */
	COUNTS_LATE,  /* grantors are counted after the look at the cases */
	ARMS_BLINDLY, /* a case that receives does not look when it is armed */
};

static enum defect defect;

static unsigned long starving_ns;
#define STARVING_NS starving_ns
#define SPINS       1
#include "tests/model/waiter.h"

/* One file for all objects: their own names for the same things. */
#define word_of         mutex_word_of
#define take            mutex_take
#define withdraw_locked mutex_withdraw_locked
#define choose          mutex_choose
#include "core/sync/mutex.c"
#undef word_of
#undef take
#undef withdraw_locked
#undef choose
#undef WAITERS

#define word_of         semaphore_word_of
#define take            semaphore_take
#define withdraw_locked semaphore_withdraw_locked
#include "core/sync/semaphore.c"
#undef word_of
#undef take
#undef withdraw_locked
#undef WAITERS
#undef CLOSED

#define word_of           event_word_of
#define withdraw_locked   event_withdraw_locked
#define wait_step_of      event_step_of
#define choose_all_locked event_choose_all_locked
#include "core/sync/event.c"
#undef word_of
#undef withdraw_locked
#undef wait_step_of
#undef choose_all_locked
#undef WAITERS

#define word_of             notify_word_of
#define withdraw_locked     notify_withdraw_locked
#define wait_step_of        notify_step_of
#define left_locked         notify_left_locked
#define choose              notify_choose
#define take                notify_take_kept
#define take_or_wait_locked notify_take_or_wait_locked
#include "core/sync/notify.c"
#undef word_of
#undef withdraw_locked
#undef wait_step_of
#undef left_locked
#undef choose
#undef take
#undef take_or_wait_locked
#undef WAITERS

#include "core/channel/channel.c"
#undef TICKET

#define word_of             oneshot_word_of
#define take                oneshot_take
#define take_or_wait_locked oneshot_take_or_wait_locked
#define withdraw_locked     oneshot_withdraw_locked
#define receive_step        oneshot_receive_step
#include "core/channel/oneshot.c"
#undef word_of
#undef take
#undef take_or_wait_locked
#undef withdraw_locked
#undef receive_step
#undef WAITERS
#undef CLOSED

#define slot              broadcast_slot
#define slot_of           broadcast_slot_of
#define tail_of           broadcast_tail_of
#define receive_step      broadcast_receive_step
#define choose_all_locked broadcast_choose_all_locked
#include "core/channel/broadcast.c"
#undef slot
#undef slot_of
#undef tail_of
#undef receive_step
#undef choose_all_locked
#undef CLOSED

#define word_of watch_word_of
#define finish  watch_finish
#include "core/channel/watch.c"
#undef word_of

#undef finish

#include "core/select/select_join.c"

/* ---- variants --------------------------------------------------------------- */

static int blind_step(struct skua_wait *wait, void *object, bool granted,
		      int give_up)
{
	struct skua_channel *channel = object;

	if (granted || give_up || await_armed(wait))
		return receive_step(wait, object, granted, give_up);
	waiters_lock(&channel->receivers);
	atomic_store_relaxed(receivers_wait(channel), 1);
	wait_arm_locked(&channel->receivers, wait, false);
	waiters_unlock(&channel->receivers);
	return -EAGAIN;
}

/* The verb of a case, changed. */
static struct wait_verb changed_verb;

static void begin_case(struct skua_wait *wait, const struct wait_verb *verb,
		       uint64_t amount)
{
	changed_verb = *verb;
	if (defect == KEEPS_GRANTS && verb->pass_on) {
		changed_verb.pass_on = NULL;
		verb = &changed_verb;
	}
	if (defect == ARMS_BLINDLY && verb == &channel_receive_verb) {
		changed_verb.step = blind_step;
		verb = &changed_verb;
	}
	await_begin(wait, verb, amount);
}

static bool take_grant_of_case(struct skua_wait *wait)
{
	struct skua_wait *whole =
		SKUA_CONTAINER_OF(wait, struct skua_select_case, wait)->select;
	bool granted = await_take_grant(wait);
	uint32_t told;

	if (granted || defect != COUNTS_LATE)
		return granted;
	told = atomic_load_acquire(wait_phase(whole)) / WAIT_TOLD;
	atomic_fetch_sub_relaxed(wait_phase(whole), told * WAIT_TOLD);
	((struct skua_select *)whole->object)->owed -= (int)told;
	return false;
}

#define await_begin(wait, verb, amount) begin_case((wait), (verb), (amount))
#define await_take_grant(wait)          take_grant_of_case((wait))

#include "core/select/select.c"

/* ---- fixture ---------------------------------------------------------------- */

#define THREADS  4
#define CAPACITY 2
#define ITEMS    8

static struct skua_channel channels[2];
static uint64_t memory[2][SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
static struct skua_semaphore semaphore;
static struct skua_event event, other_event;
static struct skua_notify notify;
static struct skua_mutex mutex;
static struct skua_oneshot oneshot;
static struct skua_watch watch;
static uint64_t watched[1];
static struct skua_task task; /* joined */

/* Of each thread: freed when the call returns. */
static struct skua_select_case cases[THREADS][2];
static uint64_t items[THREADS][2];

static unsigned letters[ITEMS]; /* plain: written before an item is sent */
static unsigned sent[ITEMS], received[ITEMS];
static unsigned told[2]; /* plain: written before an event is set */
static unsigned inside;  /* plain: under the mutex */

static void setup_channel(unsigned i, unsigned full)
{
	uint64_t item = i;

	explore_assert(
		skua_channel_init(&channels[i], memory[i], CAPACITY, 8) == 0);
	for (unsigned n = 0; n < full; n++) {
		explore_assert(skua_channel_send_try(&channels[i], &item) == 0);
		sent[item]++;
		letters[item] = 1;
	}
}

static void setup_objects(void)
{
	defect = NO_DEFECT;
	starving_ns = 1000000;
	waiters_reset();
	memset(letters, 0, sizeof(letters));
	memset(sent, 0, sizeof(sent));
	memset(received, 0, sizeof(received));
	memset(told, 0, sizeof(told));
	memset(cases, 0, sizeof(cases));
	inside = 0;
	setup_channel(0, 0);
	setup_channel(1, 0);
	explore_assert(skua_semaphore_init(&semaphore, 0) == 0);
	event = other_event = (struct skua_event)SKUA_EVENT_INIT;
	notify = (struct skua_notify)SKUA_NOTIFY_INIT;
	mutex = (struct skua_mutex)SKUA_MUTEX_INIT;
	oneshot = (struct skua_oneshot)SKUA_ONESHOT_INIT;
	explore_assert(skua_watch_init(&watch, watched, 8) == 0);
}

/* Select one of two. The cases are gone when the call has returned. */
static int select_by(unsigned i, struct skua_select_case first,
		     struct skua_select_case second, uint64_t deadline_ns,
		     int *code)
{
	int at;

	cases[i][0] = first;
	cases[i][1] = second;
	at = skua_select(cases[i], 2, SKUA_SELECT_IN_ORDER, deadline_ns);
	explore_assert(at >= 0 ||
		       (at == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	if (at >= 0)
		*code = cases[i][at].code;
	explore_free(cases[i], sizeof(cases[i]));
	return at;
}

static struct skua_select_case case_of(enum skua_select_kind kind, void *object,
				       void *item, uint64_t amount)
{
	return (struct skua_select_case)SKUA_SELECT_CASE(kind, object, item,
							 amount);
}

static struct skua_select_case receive_of(unsigned i, unsigned channel)
{
	items[i][channel] = ITEMS;
	return case_of(SKUA_SELECT_RECEIVE, &channels[channel],
		       &items[i][channel], 0);
}

static struct skua_select_case send_of_item(unsigned i, unsigned channel,
					    uint64_t item)
{
	items[i][channel] = item;
	return case_of(SKUA_SELECT_SEND, &channels[channel], &items[i][channel],
		       0);
}

static struct skua_select_case on(struct skua_event *which)
{
	return case_of(SKUA_SELECT_EVENT, which, NULL, 0);
}

static void got(uint64_t item)
{
	explore_assert(item < ITEMS && explore_read(letters[item]) == 1);
	received[item]++;
}

static void sends(unsigned channel, uint64_t item)
{
	explore_write(letters[item], 1);
	explore_assert(skua_channel_send_try(&channels[channel], &item) == 0);
	sent[item]++;
}

static void sets(struct skua_event *which)
{
	explore_write(told[which == &other_event], 1);
	explore_assert(skua_event_set(which) == 0);
}

static void is_told(struct skua_event *which)
{
	explore_assert(explore_read(told[which == &other_event]) == 1);
}

static void none_waits(void)
{
	for (unsigned i = 0; i < 2; i++) {
		explore_assert(!channels[i].receivers.first &&
			       !channels[i].receivers_wait);
		explore_assert(!channels[i].senders.first &&
			       !channels[i].senders_wait);
	}
	explore_assert(!semaphore.waiters.first && !event.waiters.first &&
		       !other_event.waiters.first && !notify.waiters.first &&
		       !mutex.waiters.first && !oneshot.waiters.first &&
		       !watch.waiters.first);
}

/* Each item that was sent was received once, or is in its channel. */
static void none_lost(void)
{
	uint64_t item;

	none_waits();
	for (unsigned i = 0; i < 2; i++)
		while (ring_receive(&channels[i], &item) == 0)
			received[item]++;
	for (unsigned i = 0; i < ITEMS; i++)
		explore_assert(received[i] == sent[i]);
}

#endif
