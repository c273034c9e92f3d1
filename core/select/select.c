/* SPDX-License-Identifier: MIT */
/**
 * select.c - wait for the first of several operations
 *
 * A select is an operation whose step (await.h) runs the steps of its cases. Each case has a
 * wait in the list of its object, or of a descriptor at its direction (N7), as if its
 * operation were called alone. Cases for the end of a task or of a group (select_join.h,
 * select_group.h) and for a time use no wait. The select has a wait of its own, which is in
 * no list, and holds the deadline and the waiter:
 *
 *	try       each case, without a wait; the first that does not say "not now" wins
 *	arm       each case; the step of a case looks once more, and may win
 *	look      after a wake-up: the step of a case whose wait was granted may win
 *	withdraw  all other cases. One that was granted passes its grant on (N6). For
 *	          one that was chosen, the select waits until it is granted
 *	count     the grantors that are done with the select: as many as there were grants
 *
 * Only the waiter of the select decides: it takes one result, and undoes the others. So
 * there is no word for which grantors race.
 */
#include <errno.h>

#include "core/select/select_group.h"
#include "core/select/select_join.h"
#include "core/base/clock.h"
#include "core/channel/verbs.h"
#include "core/io/call.h"
#include "core/io/ready.h"
#include "core/loop/schedule.h"
#include "core/sync/verbs.h"
#include "skua/select.h"

#define NO_CASE (-EAGAIN)

/* ---- cases ------------------------------------------------------------------ */

static bool operands_fit(const struct skua_select_case *it)
{
	const struct skua_subscription *subscription = it->object;

	switch (it->kind) {
	case SKUA_SELECT_NEVER:
	case SKUA_SELECT_TIME:
		return true;
	case SKUA_SELECT_SUBSCRIPTION:
		return subscription && subscription->broadcast && it->item;
	case SKUA_SELECT_SEND:
	case SKUA_SELECT_RECEIVE:
	case SKUA_SELECT_ONESHOT:
	case SKUA_SELECT_WATCH:
	case SKUA_SELECT_SPSC_SEND:
	case SKUA_SELECT_SPSC_RECEIVE:
		return it->object && it->item;
	case SKUA_SELECT_PERMITS:
		return it->object && it->amount > 0 &&
		       it->amount <= SKUA_MAX_PERMITS;
	case SKUA_SELECT_LOCK:
	case SKUA_SELECT_EVENT:
	case SKUA_SELECT_NOTIFY:
	case SKUA_SELECT_JOIN:
	case SKUA_SELECT_GROUP:
	case SKUA_SELECT_READ_LOCK:
	case SKUA_SELECT_WRITE_LOCK:
		return it->object;
	case SKUA_SELECT_IO:
		return it->object && ready_events_fit(it->amount);
	}
	return false;
}

static int check(const struct skua_select_case *cases, uint32_t count,
		 uint32_t flags)
{
	if (!cases || count == 0 || count > SKUA_SELECT_MAX_CASES ||
	    (flags & ~SKUA_SELECT_IN_ORDER))
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++)
		if (!operands_fit(&cases[i]))
			return -EINVAL;
	return 0;
}

static struct skua_io handle_of(const struct skua_select_case *it)
{
	return *(const struct skua_io *)it->object;
}

static bool has_come(const struct skua_select_case *it)
{
	return it->amount != SKUA_FOREVER_NS && clock_now_ns() >= it->amount;
}

/* Return: -EAGAIN: not now. Otherwise what the operation returns. */
static int try_case(struct skua_select_case *it)
{
	switch (it->kind) {
	case SKUA_SELECT_NEVER:
		return -EAGAIN;
	case SKUA_SELECT_SEND:
		return skua_channel_send_try(it->object, it->item);
	case SKUA_SELECT_RECEIVE:
		return skua_channel_receive_try(it->object, it->item);
	case SKUA_SELECT_ONESHOT:
		return skua_oneshot_receive_try(it->object, it->item);
	case SKUA_SELECT_SUBSCRIPTION:
		return skua_subscription_receive_try(it->object, it->item,
						     &it->amount);
	case SKUA_SELECT_WATCH:
		return skua_watch_changed_try(it->object, &it->amount,
					      it->item);
	case SKUA_SELECT_LOCK:
		return skua_mutex_lock_try(it->object);
	case SKUA_SELECT_PERMITS:
		return skua_semaphore_acquire_try(it->object, it->amount);
	case SKUA_SELECT_EVENT:
		return skua_event_is_set(it->object) ? 0 : -EAGAIN;
	case SKUA_SELECT_NOTIFY:
		return notify_take(it->object) ? 0 : -EAGAIN;
	case SKUA_SELECT_JOIN:
		return select_join_try(it->object);
	case SKUA_SELECT_TIME:
		return has_come(it) ? 0 : -EAGAIN;
	case SKUA_SELECT_IO:
		return skua_io_wait_try(handle_of(it), (short)it->amount);
	case SKUA_SELECT_GROUP:
		return select_group_try(it->object);
	case SKUA_SELECT_READ_LOCK:
		return skua_rwlock_read_try(it->object);
	case SKUA_SELECT_WRITE_LOCK:
		return skua_rwlock_write_try(it->object);
	case SKUA_SELECT_SPSC_SEND:
		return skua_spsc_send_try(it->object, it->item);
	case SKUA_SELECT_SPSC_RECEIVE:
		return skua_spsc_receive_try(it->object, it->item);
	}
	return -EINVAL;
}

/* The verb of a case and its arguments; NULL: the case has no wait. */
static const struct wait_verb *verb_of(struct skua_select_case *it,
				       uint64_t *amount, void **object)
{
	const struct skua_subscription *subscription = it->object;
	const struct wait_verb *verb;

	*object = it->object;
	*amount = (uintptr_t)it->item;
	switch (it->kind) {
	case SKUA_SELECT_SEND:
		return &channel_send_verb;
	case SKUA_SELECT_RECEIVE:
		return &channel_receive_verb;
	case SKUA_SELECT_ONESHOT:
		return &oneshot_verb;
	case SKUA_SELECT_SUBSCRIPTION:
		*object = subscription->broadcast;
		*amount = subscription->next;
		return &broadcast_verb;
	case SKUA_SELECT_WATCH:
		*amount = it->amount;
		return &watch_verb;
	case SKUA_SELECT_LOCK:
		return &mutex_verb;
	case SKUA_SELECT_PERMITS:
		*amount = it->amount;
		return &semaphore_verb;
	case SKUA_SELECT_EVENT:
		return &event_verb;
	case SKUA_SELECT_NOTIFY:
		return &notify_verb;
	case SKUA_SELECT_IO:
		verb = ready_begin(&it->wait, handle_of(it), it->amount,
				   object);
		*amount = (uintptr_t)*object;
		return verb;
	case SKUA_SELECT_READ_LOCK:
		*amount = 0;
		return &rwlock_read_verb;
	case SKUA_SELECT_WRITE_LOCK:
		*amount = 1;
		return &rwlock_write_verb;
	case SKUA_SELECT_SPSC_SEND:
		return &spsc_send_verb;
	case SKUA_SELECT_SPSC_RECEIVE:
		return &spsc_receive_verb;
	case SKUA_SELECT_NEVER:
	case SKUA_SELECT_JOIN:
	case SKUA_SELECT_GROUP:
	case SKUA_SELECT_TIME:
		break;
	}
	return NULL;
}

/* Is the case for the end of a task or of a group? Such a case does not use its
 * wait, except for the stage, which says whether the case is armed. */
static bool is_end(const struct skua_select_case *it)
{
	return it->kind == SKUA_SELECT_JOIN || it->kind == SKUA_SELECT_GROUP;
}

/* Has a case, whose step returned 0, yet to get what it waited for? */
static bool gets_later(const struct skua_select_case *it)
{
	return it->kind == SKUA_SELECT_SUBSCRIPTION ||
	       it->kind == SKUA_SELECT_WATCH;
}

static int call_step(struct skua_select_case *it, bool granted, int give_up)
{
	const struct wait_verb *verb = it->wait.verb;
	int code = verb->step(&it->wait, it->wait.object, granted, give_up);

	return code == 0 && gets_later(it) ? try_case(it) : code;
}

/* Arm a case, or take it. Return: as try_case(). */
static int arm_case(struct skua_select_case *it, struct skua_wait *whole)
{
	const struct wait_verb *verb;
	uint64_t amount;
	void *object;
	int code;

	if (is_end(it)) {
		code = it->kind == SKUA_SELECT_JOIN
			       ? select_join_arm(it->object, whole)
			       : select_group_arm(it->object, whole);
		it->wait.stage = code == -EAGAIN;
		return code;
	}
	verb = verb_of(it, &amount, &object);
	if (!verb)
		return -EAGAIN;
	await_begin(&it->wait, verb, amount);
	it->wait.object = object;
	it->wait.waiter = whole->waiter;
	it->wait.in_select = 1;
	it->select = whole;
	return call_step(it, false, 0);
}

/* ---- grants ----------------------------------------------------------------- */

static bool by_thread(const struct skua_wait *whole)
{
	return whole->waiter & WAIT_THREAD;
}

/* Take the grant of a case. The grantor has told the select of it, or will do so. */
static bool take_grant(struct skua_select *select, struct skua_select_case *it)
{
	if (!await_take_grant(&it->wait))
		return false;
	select->owed++;
	return true;
}

/* Count the grantors that are done with the select. Return: were there any? */
static bool count_told(struct skua_select *select, struct skua_wait *whole)
{
	/* Acquire: all that they did. Pairs with grant() of wait.c and with
	 * task_joiner_wake(), by the last member of a group as well. */
	uint32_t told = atomic_load_acquire(wait_phase(whole)) / WAIT_TOLD;

	/* Relaxed: the load acquired. */
	if (told)
		atomic_fetch_sub_relaxed(wait_phase(whole), told * WAIT_TOLD);
	select->owed -= (int32_t)told;
	return told;
}

/* After a wake-up. Return: as try_case(); @give_up: it returns this if the case was
 * granted, and would have to wait. */
static int look_at_case(struct skua_select *select, struct skua_select_case *it,
			struct skua_wait *whole, int give_up)
{
	int code;

	switch (it->kind) {
	case SKUA_SELECT_NEVER:
		return -EAGAIN;
	case SKUA_SELECT_TIME:
		return has_come(it) ? 0 : -EAGAIN;
	case SKUA_SELECT_JOIN:
	case SKUA_SELECT_GROUP:
		code = it->kind == SKUA_SELECT_JOIN
			       ? select_join_look(it->object)
			       : select_group_look(it->object);
		it->wait.stage = code == -EAGAIN;
		select->owed += code == 0 && by_thread(whole);
		return code;
	default:
		return take_grant(select, it) ? call_step(it, true, give_up)
					      : -EAGAIN;
	}
}

/* ---- withdrawals ------------------------------------------------------------ */

static bool withdraw_end(struct skua_select *select,
			 struct skua_select_case *it, struct skua_wait *whole)
{
	int code;

	if (!it->wait.stage)
		return true;
	code = it->kind == SKUA_SELECT_JOIN
		       ? select_join_withdraw(it->object, whole)
		       : select_group_withdraw(it->object, whole);
	if (code == -EAGAIN)
		return false;
	it->wait.stage = 0;
	select->owed += code == 1 && by_thread(whole);
	return true;
}

/* Withdraw a case that does not take effect. Return: false: it will be granted in a
 * moment. */
static bool withdraw_case(struct skua_select *select,
			  struct skua_select_case *it, struct skua_wait *whole)
{
	const struct wait_verb *verb = it->wait.verb;

	if (is_end(it))
		return withdraw_end(select, it, whole);
	if (it->kind == SKUA_SELECT_NEVER || it->kind == SKUA_SELECT_TIME)
		return true;
	if (!await_armed(&it->wait))
		return true;
	if (!take_grant(select, it))
		return verb->step(&it->wait, it->wait.object, false,
				  -ECANCELED) != -EAGAIN;
	if (verb->pass_on)
		verb->pass_on(&it->wait, it->wait.object);
	return true;
}

/* ---- the select ------------------------------------------------------------- */

/* The case that comes next after @i, of those in turn. */
static uint32_t case_at(const struct skua_select *select, uint32_t i)
{
	i += select->first;
	return i < select->count ? i : i - select->count;
}

/* Begin with another case each time, so that none is left out for ever. */
static __attribute__((noinline)) uint32_t first_of(uint32_t count,
						   uint32_t flags)
{
	/* Initial-exec, like current_worker. */
	static _Thread_local uint32_t turn
		__attribute__((tls_model("initial-exec")));

	if (flags & SKUA_SELECT_IN_ORDER)
		return 0;
	turn += UINT32_C(0x9e3779b9); /* far apart, for any count */
	return (uint32_t)((uint64_t)turn * count >> 32);
}

static int won(struct skua_select *select, uint32_t i, int code)
{
	select->cases[i].code = code;
	select->result = (int)i;
	return (int)i;
}

/* Return: the index of the case that takes effect; NO_CASE. */
static int try_all(struct skua_select *select)
{
	for (uint32_t i = 0; i < select->count; i++) {
		uint32_t at = case_at(select, i);
		int code = try_case(&select->cases[at]);

		if (code != -EAGAIN)
			return won(select, at, code);
	}
	return NO_CASE;
}

static int arm_all(struct skua_select *select, struct skua_wait *whole)
{
	for (uint32_t i = 0; i < select->count; i++) {
		struct skua_wait *wait = &select->cases[i].wait;

		/* Relaxed: nobody else knows the wait. */
		atomic_store_relaxed(wait_phase(wait), WAIT_IDLE);
		wait->stage = 0;
	}
	for (uint32_t i = 0; i < select->count; i++) {
		uint32_t at = case_at(select, i);
		int code = arm_case(&select->cases[at], whole);

		if (code != -EAGAIN)
			return won(select, at, code);
	}
	return NO_CASE;
}

static int look_at_all(struct skua_select *select, struct skua_wait *whole,
		       int give_up)
{
	for (uint32_t i = 0; i < select->count; i++) {
		uint32_t at = case_at(select, i);
		int code = look_at_case(select, &select->cases[at], whole,
					give_up);

		if (code != -EAGAIN && (!give_up || code != give_up))
			return won(select, at, code);
	}
	return NO_CASE;
}

/* Withdraw all cases but the one that takes effect. Return: are they withdrawn? */
static bool withdraw_all(struct skua_select *select, struct skua_wait *whole)
{
	bool all = true;

	for (uint32_t i = 0; i < select->count; i++)
		if ((int)i != select->result)
			all &= withdraw_case(select, &select->cases[i], whole);
	return all;
}

/* Return: the result of the select; -EAGAIN: a grantor is not done with it. That one wakes
 * the waiter, as it has not told the select yet. */
static int conclude(struct skua_select *select, struct skua_wait *whole)
{
	/* The loop repeats when a grantor has told the select meanwhile. */
	while (!withdraw_all(select, whole) || select->owed != 0)
		if (!count_told(select, whole))
			return -EAGAIN;
	wait_select_end(whole);
	/* Relaxed: no grantor knows the wait any more. */
	atomic_store_relaxed(wait_phase(whole), WAIT_IDLE);
	return select->result;
}

/* Return the number of cases that have a wait. */
static uint32_t waits_of(const struct skua_select *select)
{
	uint32_t waits = 0;

	for (uint32_t i = 0; i < select->count; i++) {
		const struct skua_select_case *it = &select->cases[i];

		waits += it->kind != SKUA_SELECT_NEVER && !is_end(it) &&
			 it->kind != SKUA_SELECT_TIME;
	}
	return waits;
}

/* Begin: arm the cases. Return: the index of one that took effect; NO_CASE. */
static int begin(struct skua_select *select, struct skua_wait *whole)
{
	whole->object = select;
	select->owed = 0;
	select->ends = 0;
	select->result = NO_CASE;
	/* Relaxed: nobody else knows the wait. */
	atomic_store_relaxed(wait_phase(whole), WAIT_ARMED);
	wait_select_begin(whole, waits_of(select));
	return arm_all(select, whole);
}

static int select_step(struct skua_wait *whole, void *object, bool granted,
		       int give_up)
{
	struct skua_select *select = object;
	int at;

	(void)granted;
	if (!await_armed(whole) && give_up) {
		at = try_all(select);
		return at == NO_CASE ? give_up : at;
	}
	if (!await_armed(whole)) {
		at = begin(select, whole);
	} else {
		/* Before the look: a grant that comes after the look has the
		 * waiter run again, because it is not counted yet. */
		(void)count_told(select, whole);
		if (select->ends)
			return conclude(select, whole);
		at = look_at_all(select, whole, give_up);
	}
	if (at == NO_CASE && !give_up)
		return -EAGAIN;
	if (at == NO_CASE)
		select->result = give_up;
	select->ends = 1;
	return conclude(select, whole);
}

static const struct wait_verb select_verb = {
	.step = select_step,
	.kind = AREA_WAITS_SELECT,
	.waiters = offsetof(struct skua_select_case, wait),
	.holder = WAIT_NO_HOLDER,
	.second = sizeof(struct skua_select_case),
};

WAIT_SHOWN(skua_select, area_select, cases);
WAIT_SHOWN(skua_select, area_select, count);
WAIT_SHOWN(skua_select_case, area_select_case, kind);
WAIT_SHOWN(skua_select_case, area_select_case, object);
WAIT_SHOWN(skua_select_case, area_select_case, amount);
WAIT_SHOWN(skua_select_case, area_select_case, wait);
_Static_assert(AREA_SELECT_NEVER == SKUA_SELECT_NEVER &&
		       AREA_SELECT_JOIN == SKUA_SELECT_JOIN &&
		       AREA_SELECT_TIME == SKUA_SELECT_TIME &&
		       AREA_SELECT_GROUP == SKUA_SELECT_GROUP,
	       "tools read the kinds of cases");

/* ---- the interface ---------------------------------------------------------- */

/* The time at which the select has a result in any case. */
static uint64_t until(const struct skua_select *select, uint64_t deadline_ns)
{
	for (uint32_t i = 0; i < select->count; i++)
		if (select->cases[i].kind == SKUA_SELECT_TIME &&
		    select->cases[i].amount < deadline_ns)
			deadline_ns = select->cases[i].amount;
	return deadline_ns;
}

/* Has the caller a case for a descriptor, and used up its budget for calls on them? */
static bool budget_spent(const struct skua_select_case *cases, uint32_t count)
{
	bool has_io = false;

	if (!call_spent(0))
		return false;
	for (uint32_t i = 0; i < count; i++)
		has_io |= cases[i].kind == SKUA_SELECT_IO;
	return has_io;
}

/* Count the call of a select that did not wait, if its case @at is for a descriptor. Return:
 * @at. */
static int count_call(const struct skua_select_case *cases, int at)
{
	if (cases[at].kind == SKUA_SELECT_IO)
		(void)call_spent(1);
	return at;
}

int skua_select(struct skua_select_case *cases, uint32_t count, uint32_t flags,
		uint64_t deadline_ns)
{
	struct skua_select select = { cases, count, flags, 0, 0, 0, 0 };
	int at = check(cases, count, flags);

	if (!at)
		at = await_allowed();
	if (at)
		return at;
	if (budget_spent(cases, count))
		call_let_others_run();
	select.first = first_of(count, flags);
	at = try_all(&select);
	return at == NO_CASE ? await(&select_verb, &select, count,
				     until(&select, deadline_ns))
			     : count_call(cases, at);
}

int skua_select_poll(struct skua_task *self, struct skua_select *select,
		     struct skua_wait *wait, uint64_t deadline_ns)
{
	int at = select ? await_may_poll(self, wait) : -EINVAL;

	if (!at && !await_armed(wait)) {
		at = check(select->cases, select->count, select->flags);
		if (at)
			return at;
		if (budget_spent(select->cases, select->count)) {
			schedule_wake(self);
			return -EAGAIN;
		}
		select->first = first_of(select->count, select->flags);
		at = try_all(select);
		if (at != NO_CASE)
			return count_call(select->cases, at);
		at = 0;
	}
	return at ? at
		  : await_poll(self, wait, &select_verb, select, select->count,
			       until(select, deadline_ns));
}

int skua_select_try(struct skua_select_case *cases, uint32_t count,
		    uint32_t flags)
{
	struct skua_select select = { cases, count, flags, 0, 0, 0, 0 };
	int at = check(cases, count, flags);

	if (at)
		return at;
	select.first = first_of(count, flags);
	return try_all(&select);
}
