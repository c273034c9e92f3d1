/* SPDX-License-Identifier: MIT */
/**
 * model_select.c - threads that wait for the first of several operations
 *
 * Of two objects, which several threads provide at the same time, one is taken, and the
 * other stays for the next caller: no item, permit or notification is lost or doubled, and
 * nobody waits while there is something for it. The select and its cases are freed when
 * the call returns. The last cases leave out parts of the argument; the explorer must find
 * them.
 */
#include "tests/model/select.h"

static void setup(void)
{
	setup_objects();
	explore_watch(cases, sizeof(cases));
	explore_watch(memory, sizeof(memory));
}

/* ---- events ----------------------------------------------------------------- */

static void selects_events(void)
{
	int code, at;

	waiter_begin(0);
	at = select_by(0, on(&event), on(&other_event), SKUA_FOREVER_NS, &code);
	explore_assert(code == 0);
	is_told(at ? &other_event : &event);
}

static void selects_events_soon(void)
{
	int code, at;

	waiter_begin(0);
	at = select_by(0, on(&event), on(&other_event), SOON_NS, &code);
	if (at >= 0)
		is_told(at ? &other_event : &event);
}

static void sets_event(void)
{
	waiter_begin(1);
	sets(&event);
}

static void sets_event_2(void)
{
	waiter_begin(2);
	sets(&event);
}

static void sets_other(void)
{
	waiter_begin(2);
	sets(&other_event);
}

/* ---- items ------------------------------------------------------------------ */

static void selects_items_by(unsigned i, uint64_t deadline_ns)
{
	int code, at;

	waiter_begin(i);
	at = select_by(i, receive_of(i, 0), receive_of(i, 1), deadline_ns,
		       &code);
	if (at < 0)
		return;
	explore_assert(code == 0);
	explore_assert(items[i][!at] == ITEMS);
	got(items[i][at]);
}

static void selects_items(void)
{
	selects_items_by(0, SKUA_FOREVER_NS);
}

static void selects_items_soon(void)
{
	selects_items_by(0, SOON_NS);
}

static void selects_items_also(void)
{
	selects_items_by(3, SKUA_FOREVER_NS);
}

static void sends_0(void)
{
	waiter_begin(1);
	sends(0, 4);
}

static void sends_1(void)
{
	waiter_begin(2);
	sends(1, 5);
}

static void sends_both(void)
{
	waiter_begin(1);
	sends(0, 4);
	sends(1, 5);
}

/* Receives, in a select or alone; then hands the item to the next one. */
static void selects_event_or_item(void)
{
	int code, at;

	waiter_begin(0);
	at = select_by(0, on(&event), receive_of(0, 0), SKUA_FOREVER_NS, &code);
	explore_assert(code == 0);
	if (at == 0)
		is_told(&event);
	else
		sends(0, items[0][0]);
	if (at == 1)
		sent[items[0][0]]--;
}

static void receives_0(void)
{
	uint64_t item = ITEMS;

	waiter_begin(3);
	explore_assert(waiter_await(&channel_receive_verb, &channels[0],
				    (uintptr_t)&item, SKUA_FOREVER_NS) == 0);
	got(item);
}

/* Takes an item for which a select was woken. */
static void steals_0(void)
{
	uint64_t item = ITEMS;

	waiter_begin(3);
	if (skua_channel_receive_try(&channels[0], &item) == 0)
		got(item);
}

static void sends_0_and_sets(void)
{
	waiter_begin(1);
	sends(0, 4);
	sets(&event);
}

/* ---- a closed channel --------------------------------------------------------- */

static void selects_closed_by(unsigned i)
{
	int code, at;

	waiter_begin(i);
	at = select_by(i, on(&event), receive_of(i, 0), SKUA_FOREVER_NS, &code);
	explore_assert(at == 1 && code == -EPIPE);
}

static void selects_closed(void)
{
	selects_closed_by(0);
}

static void selects_closed_also(void)
{
	selects_closed_by(3);
}

static void closes_0(void)
{
	waiter_begin(1);
	explore_assert(skua_channel_close(&channels[0]) == 0);
}

/* ---- two selects against each other ------------------------------------------ */

static void setup_against(void)
{
	setup();
	setup_channel(1, CAPACITY);
}

/* Each receives from one channel or sends to the other, two times. */
static void against(unsigned i, unsigned from)
{
	int code, at;

	waiter_begin(i);
	at = select_by(i, receive_of(i, from), send_of_item(i, !from, 4 + i),
		       SKUA_FOREVER_NS, &code);
	explore_assert(code == 0);
	if (at == 0)
		got(items[i][from]);
	else
		sent[4 + i]++;
}

static void against_0(void)
{
	letters[4] = 1;
	against(0, 0);
}

static void against_1(void)
{
	letters[5] = 1;
	against(1, 1);
}

/* ---- permits ---------------------------------------------------------------- */

static void selects_event_or_permit(void)
{
	int code, at;

	waiter_begin(0);
	at = select_by(0, on(&event),
		       case_of(SKUA_SELECT_PERMITS, &semaphore, NULL, 1),
		       SKUA_FOREVER_NS, &code);
	explore_assert(code == 0);
	if (at == 0)
		is_told(&event);
	else
		explore_assert(skua_semaphore_release(&semaphore, 1) == 0);
}

static void acquires(void)
{
	waiter_begin(3);
	explore_assert(waiter_await(&semaphore_verb, &semaphore, 1,
				    SKUA_FOREVER_NS) == 0);
}

static void releases(void)
{
	waiter_begin(2);
	explore_assert(skua_semaphore_release(&semaphore, 1) == 0);
}

static void no_permit(void)
{
	none_waits();
	explore_assert(skua_semaphore_permits(&semaphore) == 0);
}

/* ---- notifications ---------------------------------------------------------- */

static void selects_event_or_notification(void)
{
	int code, at;

	waiter_begin(0);
	at = select_by(0, on(&event),
		       case_of(SKUA_SELECT_NOTIFY, &notify, NULL, 0),
		       SKUA_FOREVER_NS, &code);
	if (at == 0)
		is_told(&event);
	else
		explore_assert(skua_notify_one(&notify) == 0);
}

static void waits_for_notification(void)
{
	waiter_begin(3);
	explore_assert(
		waiter_await(&notify_verb, &notify, 0, SKUA_FOREVER_NS) == 0);
}

static void notifies(void)
{
	waiter_begin(2);
	explore_assert(skua_notify_one(&notify) == 0);
}

static void none_kept(void)
{
	none_waits();
	explore_assert(notify.word == 0);
}

/* ---- a mutex ---------------------------------------------------------------- */

static void setup_locked(void)
{
	setup();
	mutex.word = waiters[2].thread.id
			     ? (uintptr_t)&waiters[2].thread | WAIT_THREAD
			     : 0;
}

static void setup_starving(void)
{
	setup_locked();
	starving_ns = 0;
}

static void critical(void)
{
	explore_assert(explore_read(inside) == 0);
	explore_write(inside, 1);
	explore_write(inside, 0);
	explore_assert(skua_mutex_unlock(&mutex) == 0);
}

static void selects_event_or_lock(void)
{
	int code, at;

	waiter_begin(0);
	at = select_by(0, on(&event),
		       case_of(SKUA_SELECT_LOCK, &mutex, NULL, 0),
		       SKUA_FOREVER_NS, &code);
	explore_assert(code == 0);
	if (at == 0)
		is_told(&event);
	else
		critical();
}

static void locks(void)
{
	waiter_begin(3);
	explore_assert(skua_mutex_lock(&mutex, SKUA_FOREVER_NS) == 0);
	critical();
}

static void unlocks(void)
{
	waiter_begin(2);
	critical();
}

static void unlocked(void)
{
	none_waits();
	explore_assert(mutex.word == 0);
}

/* ---- a oneshot and a watch ---------------------------------------------------- */

static int taken;

static void selects_values(void)
{
	int code, at;

	waiter_begin(0);
	at = select_by(0,
		       case_of(SKUA_SELECT_ONESHOT, &oneshot, &items[0][0], 0),
		       case_of(SKUA_SELECT_WATCH, &watch, &items[0][1], 1),
		       SKUA_FOREVER_NS, &code);
	explore_assert(code == 0 && items[0][at] == 4 + (unsigned)at);
	taken = at;
}

static void sends_value(void)
{
	waiter_begin(1);
	explore_assert(skua_oneshot_send(&oneshot, 4) == 0);
}

static void sets_value(void)
{
	uint64_t value = 5;

	waiter_begin(2);
	explore_assert(skua_watch_set(&watch, &value) == 0);
}

static void values_stay(void)
{
	uintptr_t value = 0;
	int code = skua_oneshot_receive_try(&oneshot, &value);

	none_waits();
	explore_assert(code == (taken == 0 ? -EPIPE : 0));
	explore_assert(taken == 0 || value == 4);
}

/* ---- a task ----------------------------------------------------------------- */

static unsigned work; /* plain: written by the task */

static void setup_task(void)
{
	setup();
	task = (struct skua_task){ .next = NULL };
	task.state = TASK_ACTIVE + TASK_REFERENCE;
	task.flags = process_generation() * TASK_GENERATION_UNIT;
	work = 0;
}

static void selects_event_or_end(void)
{
	int code, at;

	waiter_begin(0);
	at = select_by(0, on(&event), case_of(SKUA_SELECT_JOIN, &task, NULL, 0),
		       SKUA_FOREVER_NS, &code);
	explore_assert(code == 0);
	if (at == 0)
		is_told(&event);
	else
		explore_assert(explore_read(work) == 1);
	if (at == 1)
		task.state = ~UINT64_C(0);
}

static void selects_end_or_event(void)
{
	int code, at;

	waiter_begin(0);
	at = select_by(0, case_of(SKUA_SELECT_JOIN, &task, NULL, 0), on(&event),
		       SKUA_FOREVER_NS, &code);
	explore_assert(code == 0);
	if (at == 1) {
		is_told(&event);
		return;
	}
	explore_assert(explore_read(work) == 1);
	task.state = ~UINT64_C(0);
}

static void selects_end_soon(void)
{
	int code, at;

	waiter_begin(0);
	at = select_by(0, on(&event), case_of(SKUA_SELECT_JOIN, &task, NULL, 0),
		       SOON_NS, &code);
	if (at == 1) {
		explore_assert(explore_read(work) == 1);
		task.state = ~UINT64_C(0);
	}
}

static void ends(void)
{
	struct task_state_drop drop = { 1, true };
	struct task_end end;

	waiter_begin(2);
	explore_write(work, 1);
	end = task_drop(&task, drop);
	if (end.bit & TASK_WITHDRAWN)
		end = task_drop_withdrawn(&task, drop);
	if (end.bit)
		task_joiner_wake(end.what.joiner);
}

static struct skua_task selector;

static void setup_selector(void)
{
	setup_task();
	selector = (struct skua_task){ .next = NULL };
	selector.state = TASK_ACTIVE + 2 * TASK_REFERENCE;
}

/* A task selects. An event has woken it, so it looks before the end of @task tells it. A
 * thread waits until it is told, and so acquires the end in any case. */
static void selects_as_task(void)
{
	struct skua_wait whole = { .waiter = (uintptr_t)&selector };
	int code;

	waiter_begin(0);
	code = select_join_arm(&task, &whole);
	if (code == -EAGAIN)
		code = select_join_look(&task);
	if (code == 0) {
		explore_assert(explore_read(work) == 1);
		task.state = ~UINT64_C(0);
		return;
	}
	while (select_join_withdraw(&task, &whole) == -EAGAIN)
		cpu_relax();
}

static void ends_for_task(void)
{
	struct task_state_drop drop = { 1, true };
	struct task_end end;

	waiter_begin(2);
	explore_write(work, 1);
	end = task_drop(&task, drop);
	if (end.bit & TASK_WITHDRAWN)
		end = task_drop_withdrawn(&task, drop);
	if (end.bit)
		schedule_drop(end.what.task);
}

/* The task was joined, or can be. */
static void joinable(void)
{
	none_waits();
	explore_assert(task.state == ~UINT64_C(0) ||
		       select_join_try(&task) == 0);
}

/* The reference for the waker was dropped, by the select or by the waker. */
static void joinable_by_task(void)
{
	joinable();
	explore_assert(selector.state == TASK_ACTIVE + 2 * TASK_REFERENCE);
}

/* ---- cases ------------------------------------------------------------------ */

static void setup_keeps_grants(void)
{
	setup();
	defect = KEEPS_GRANTS;
}

static void setup_keeps_lock(void)
{
	setup_locked();
	defect = KEEPS_GRANTS;
}

static void setup_counts_late(void)
{
	setup();
	defect = COUNTS_LATE;
}

static void setup_arms_blindly(void)
{
	setup();
	defect = ARMS_BLINDLY;
}

static const struct explore_case all_cases[] = {
	{ EXPLORE_PASS("events", setup, none_waits, selects_events, sets_event,
		       sets_other),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("events__deadline", setup, none_waits,
		       selects_events_soon, sets_event, sets_other),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("items", setup, none_lost, selects_items, sends_0,
		       sends_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("items__deadline", setup, none_lost, selects_items_soon,
		       sends_both),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("items__two_selects", setup, none_lost, selects_items,
		       selects_items_also, sends_both),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("items__two_selects__deeper", setup, none_lost,
		       selects_items, selects_items_also, sends_both),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("item_or_event__receiver", setup, none_lost,
		       selects_event_or_item, receives_0, sends_0_and_sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("item_or_event__stolen", setup, none_lost,
		       selects_event_or_item, sends_0, steals_0, sets_event_2),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("item_or_event__stolen__deeper", setup, none_lost,
		       selects_event_or_item, sends_0, steals_0, sets_event_2),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__two_selects", setup, none_lost, selects_closed,
		       selects_closed_also, closes_0),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("close__two_selects__deeper", setup, none_lost,
		       selects_closed, selects_closed_also, closes_0),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("against_each_other", setup_against, none_lost,
		       against_0, against_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("permit_or_event__acquirer", setup, no_permit,
		       selects_event_or_permit, acquires, releases, sets_event),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("permit_or_event__acquirer__deeper", setup, no_permit,
		       selects_event_or_permit, acquires, releases, sets_event),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("notification_or_event__waiter", setup, none_kept,
		       selects_event_or_notification, waits_for_notification,
		       notifies, sets_event),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("notification_or_event__waiter__deeper", setup,
		       none_kept, selects_event_or_notification,
		       waits_for_notification, notifies, sets_event),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("lock_or_event__locker", setup_locked, unlocked,
		       selects_event_or_lock, locks, unlocks, sets_event),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("lock_or_event__locker__deeper", setup_locked, unlocked,
		       selects_event_or_lock, locks, unlocks, sets_event),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("lock_or_event__starving", setup_starving, unlocked,
		       selects_event_or_lock, locks, unlocks, sets_event),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("lock_or_event__starving__deeper", setup_starving,
		       unlocked, selects_event_or_lock, locks, unlocks,
		       sets_event),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("values", setup, values_stay, selects_values,
		       sends_value, sets_value),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("end_or_event", setup_task, joinable,
		       selects_event_or_end, ends, sets_event),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("end_first_or_event", setup_task, joinable,
		       selects_end_or_event, ends, sets_event),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("end__task_selects", setup_selector, joinable_by_task,
		       selects_as_task, ends_for_task),
	  EXPLORE_WITHIN(3, 2) },
	{ EXPLORE_PASS("end__deadline", setup_task, joinable, selects_end_soon,
		       ends),
	  EXPLORE_WITHIN(3, 2) },

	{ EXPLORE_BUG("keeps_grants", "lost wake-up", setup_keeps_grants,
		      none_lost, selects_event_or_item, receives_0,
		      sends_0_and_sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("keeps_permits", "lost wake-up", setup_keeps_grants,
		      no_permit, selects_event_or_permit, acquires, releases,
		      sets_event),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("keeps_notifications", "lost wake-up", setup_keeps_grants,
		      none_kept, selects_event_or_notification,
		      waits_for_notification, notifies, sets_event),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("keeps_locks", "lost wake-up", setup_keeps_lock, unlocked,
		      selects_event_or_lock, locks, unlocks, sets_event),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("counts_late", "lost wake-up", setup_counts_late,
		      none_lost, selects_event_or_item, sends_0, steals_0,
		      sets_event_2),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("arms_blindly", "lost wake-up", setup_arms_blindly,
		      none_lost, selects_items, sends_0),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(all_cases)
