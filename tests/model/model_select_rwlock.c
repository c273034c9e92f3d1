/* SPDX-License-Identifier: MIT */
/**
 * model_select_rwlock.c - threads that select a rwlock, or an event
 *
 * A writer is alone: its plain writes race with nothing. A select that is admitted, and takes
 * the event, passes the lock on: nobody waits while the lock is free. The select and its
 * cases are freed when the call returns. tests/model/mutants.toml has broken variants.
 */
#include "tests/model/waiter.h"

#define word_of         event_word_of
#define withdraw_locked event_withdraw_locked
#include "core/sync/event.c"
#undef word_of
#undef withdraw_locked
#undef WAITERS
#define readers rwlock_readers
#define verb_of rwlock_verb_of
#include "core/sync/rwlock.c"
#undef readers
#undef verb_of
#include "core/select/select.c"

static struct skua_rwlock lock;
static struct skua_event event;
static struct skua_select_case cases[2];
static unsigned data; /* plain: under the lock */
static unsigned told; /* plain: written before the event is set */

static void setup(void)
{
	waiters_reset();
	lock = (struct skua_rwlock)SKUA_RWLOCK_INIT;
	event = (struct skua_event)SKUA_EVENT_INIT;
	memset(cases, 0, sizeof(cases));
	explore_watch(&lock, sizeof(lock));
	explore_watch(cases, sizeof(cases));
	data = told = 0;
}

static void write_and_unlock(void)
{
	explore_write(data, explore_read(data) + 1);
	explore_assert(skua_rwlock_write_unlock(&lock) == 0);
}

static void read_and_unlock(void)
{
	explore_assert(explore_read(data) <= 1);
	explore_assert(skua_rwlock_read_unlock(&lock) == 0);
}

static void select_lock(enum skua_select_kind kind, uint64_t deadline_ns)
{
	int at, code = 0;

	waiter_begin(0);
	cases[0] = (struct skua_select_case)SKUA_SELECT_CASE(SKUA_SELECT_EVENT,
							     &event, NULL, 0);
	cases[1] =
		(struct skua_select_case)SKUA_SELECT_CASE(kind, &lock, NULL, 0);
	at = skua_select(cases, 2, SKUA_SELECT_IN_ORDER, deadline_ns);
	explore_assert(at >= 0 ||
		       (at == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	if (at >= 0)
		code = cases[at].code;
	explore_free(cases, sizeof(cases));
	explore_assert(code == 0);
	if (at == 0)
		explore_assert(explore_read(told) == 1);
	if (at == 1 && kind == SKUA_SELECT_WRITE_LOCK)
		write_and_unlock();
	else if (at == 1)
		read_and_unlock();
	/* The lock is not this thread's. */
	explore_assert(skua_rwlock_write_unlock(&lock) == -EPERM);
}

static void event_or_write(void)
{
	select_lock(SKUA_SELECT_WRITE_LOCK, SKUA_FOREVER_NS);
}

static void event_or_read(void)
{
	select_lock(SKUA_SELECT_READ_LOCK, SKUA_FOREVER_NS);
}

static void write_soon(void)
{
	select_lock(SKUA_SELECT_WRITE_LOCK, SOON_NS);
}

static void writer(void)
{
	waiter_begin(1);
	explore_assert(skua_rwlock_write(&lock, SKUA_FOREVER_NS) == 0);
	write_and_unlock();
}

static void reader(void)
{
	waiter_begin(2);
	explore_assert(skua_rwlock_read(&lock, SKUA_FOREVER_NS) == 0);
	explore_assert(explore_read(data) <= 2);
	explore_assert(skua_rwlock_read_unlock(&lock) == 0);
}

static void sets(void)
{
	waiter_begin(3);
	explore_write(told, 1);
	explore_assert(skua_event_set(&event) == 0);
}

static void unlocked(void)
{
	explore_assert(lock.word == 0 && lock.writer == 0);
	explore_assert(!lock.waiters.first && !event.waiters.first);
}

static const struct explore_case all_cases[] = {
	{ EXPLORE_PASS("write", setup, unlocked, event_or_write, writer, sets),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("read", setup, unlocked, event_or_read, writer, sets),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("write__others", setup, unlocked, event_or_write, writer,
		       reader, sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("read__others", setup, unlocked, event_or_read, writer,
		       reader, sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("write__deadline", setup, unlocked, write_soon, writer,
		       reader),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(all_cases)
