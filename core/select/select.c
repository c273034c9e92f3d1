/* SPDX-License-Identifier: MIT */
/**
 * select.c - wait for the first of several operations
 *
 * A select is an operation whose step (await.h) runs the steps of its cases. Each case has a
 * wait in the list of its object, or of a descriptor at its direction (N7), as if its
 * operation were called alone. Cases for the end of a task or of a group, and for a time, use
 * no wait (case_kind.h). The select has a wait of its own, which is in no list, and holds the
 * deadline and the waiter:
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

#include "core/io/call.h"
#include "core/loop/schedule.h"
#include "core/select/case_kind.h"

#define NO_CASE (-EAGAIN)

/* ---- cases ------------------------------------------------------------------ */

static int check(const struct skua_select_case *cases, uint32_t count,
		 uint32_t flags)
{
	if (!cases || count == 0 || count > SKUA_SELECT_MAX_CASES ||
	    (flags & ~SKUA_SELECT_IN_ORDER))
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++)
		if (!case_fits(&cases[i]))
			return -EINVAL;
	return 0;
}

static int call_step(struct skua_select_case *it, bool granted, int give_up)
{
	const struct wait_verb *verb = it->wait.verb;
	int code = verb->step(&it->wait, it->wait.object, granted, give_up);

	return code == 0 && case_kind_of(it)->gets_later ? case_try(it) : code;
}

/* The stages of the wait of a case for an end, which is in no list. */
enum { END_OVER, END_ARMED };

static void set_end(struct skua_select_case *it, int code)
{
	it->wait.stage = code == -EAGAIN ? END_ARMED : END_OVER;
}

/* Arm a case, or take it. Return: as case_try(). */
static int arm_case(struct skua_select_case *it, struct skua_wait *whole)
{
	const struct end_verb *end = case_kind_of(it)->end;
	const struct wait_verb *verb;
	uint64_t amount;
	void *object;
	int code;

	if (end) {
		code = end->arm(it->object, whole);
		set_end(it, code);
		return code;
	}
	if (!case_waits(it))
		return -EAGAIN;
	verb = case_verb(it, &amount, &object);
	await_begin(&it->wait, verb, amount);
	it->wait.object = object;
	it->wait.waiter = whole->waiter;
	it->wait.in_select = 1;
	it->select = whole;
	return call_step(it, false, 0);
}

/* ---- grants ----------------------------------------------------------------- */

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

/* After a wake-up. Return: as case_try(); @give_up: it returns this if the case was
 * granted, and would have to wait. */
static int look_at_case(struct skua_select *select, struct skua_select_case *it,
			struct skua_wait *whole, int give_up)
{
	const struct end_verb *end = case_kind_of(it)->end;
	int code;

	if (end) {
		code = end->look(it->object);
		set_end(it, code);
		select->owed += code == 0 && wait_by_thread(whole);
		return code;
	}
	/* For a time, or nothing. */
	if (!case_waits(it))
		return case_try(it);
	return take_grant(select, it) ? call_step(it, true, give_up) : -EAGAIN;
}

/* ---- withdrawals ------------------------------------------------------------ */

static bool withdraw_end(struct skua_select *select,
			 struct skua_select_case *it, struct skua_wait *whole)
{
	int code;

	if (it->wait.stage != END_ARMED)
		return true;
	code = case_kind_of(it)->end->withdraw(it->object, whole);
	if (code == -EAGAIN)
		return false;
	it->wait.stage = END_OVER;
	select->owed += code == 1 && wait_by_thread(whole);
	return true;
}

/* Withdraw a case that does not take effect. Return: false: it will be granted in a
 * moment. */
static bool withdraw_case(struct skua_select *select,
			  struct skua_select_case *it, struct skua_wait *whole)
{
	const struct wait_verb *verb = it->wait.verb;

	if (case_kind_of(it)->end)
		return withdraw_end(select, it, whole);
	if (!case_waits(it) || !await_armed(&it->wait))
		return true;
	if (!take_grant(select, it))
		return verb->step(&it->wait, it->wait.object, false,
				  -ECANCELED) != -EAGAIN;
	if (verb->pass_on)
		verb->pass_on(&it->wait, it->wait.object);
	return true;
}

/* ---- the select ------------------------------------------------------------- */

/* Return the index of the case whose turn is number @i, from 0. */
static uint32_t case_at(const struct skua_select *select, uint32_t i)
{
	i += select->first;
	return i < select->count ? i : i - select->count;
}

/* Return the index of the case with the first turn: another one each time, so that none is
 * left out for ever. */
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
		int code = case_try(&select->cases[at]);

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
		wait->stage = END_OVER;
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

/* Withdraw all cases except the one that takes effect. Return: are they withdrawn? */
static bool withdraw_all(struct skua_select *select, struct skua_wait *whole)
{
	bool all = true;

	for (uint32_t i = 0; i < select->count; i++)
		if ((int)i != select->result)
			all &= withdraw_case(select, &select->cases[i], whole);
	return all;
}

/* Return: the result of the select; -EAGAIN: a grantor is not done with the select. It wakes
 * the waiter when it is. */
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

	for (uint32_t i = 0; i < select->count; i++)
		waits += case_waits(&select->cases[i]);
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

/* Return the time by which the select has a result: its deadline, or the earliest time that
 * is a case. */
static uint64_t until(const struct skua_select *select, uint64_t deadline_ns)
{
	for (uint32_t i = 0; i < select->count; i++)
		if (select->cases[i].kind == SKUA_SELECT_TIME &&
		    select->cases[i].amount < deadline_ns)
			deadline_ns = select->cases[i].amount;
	return deadline_ns;
}

/* Has the caller used up its budget for calls on descriptors, and is a case for one? */
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
