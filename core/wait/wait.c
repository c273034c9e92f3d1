/* SPDX-License-Identifier: MIT */
/* wait.c - see wait.h */
#include "core/wait/wait.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/hot.h"
#include "core/loop/schedule.h"
#include "core/os/futex.h"
#include "core/task/task.h"
#include "probes/area.h"
#include "skua/select.h"

enum { NEXT, PREVIOUS }; /* links of a wait */

/* The number of times that wait_check_taken() looks, once in a millisecond. A number and not a
 * time, because the whole program may be stopped meanwhile. */
#define LOOKS_MAX 3000u

_Static_assert(sizeof(struct skua_wait) == 128, "two cache lines");

/* Tools read a wait, a list and a thread. */
#define SAME(a, b, field, other)                                               \
	_Static_assert(offsetof(struct a, field) == offsetof(struct b, other), \
		       #field)
SAME(skua_wait, area_armed, link, next);
SAME(skua_wait, area_armed, object, object);
SAME(skua_wait, area_armed, waiter, waiter);
SAME(skua_wait, area_armed, verb, verb);
SAME(skua_wait, area_armed, since_ns, since_ns);
SAME(skua_wait, area_armed, amount, amount);
SAME(skua_wait, area_armed, phase, phase);
SAME(skua_waiters, area_waiters, count, count);
SAME(skua_waiters, area_waiters, first, first);
SAME(wait_thread, area_thread, id, tid);
SAME(wait_thread, area_thread, wait, wait);
_Static_assert(WAIT_THREAD == AREA_HOLDER_THREAD &&
		       WAIT_FREE_BITS == AREA_HOLDER_FLAGS && WAIT_ARMED == 1,
	       "as tools know them");

_Thread_local struct wait_thread wait_thread
	__attribute__((tls_model("initial-exec")));

struct wait_thread *wait_thread_here(void)
{
	if (wait_thread.id == 0)
		wait_thread.id = (uint32_t)gettid();
	return &wait_thread;
}

/* ---- the list lock ---------------------------------------------------------- */

/* How often a thread looks at the lock before it sleeps. A guess, which the
 * workload mutex_contended retunes: about the time for which a running thread
 * holds it. */
#ifndef LOCK_SPINS
#define LOCK_SPINS 64
#endif

void waiters_lock_contended(atomic_u32 *word)
{
	for (int i = 0; i < LOCK_SPINS; i++) {
		cpu_relax();
		/* Relaxed: waiters_try_lock() decides. */
		if (atomic_load_relaxed(word) == WAITERS_FREE &&
		    waiters_try_lock(word))
			return;
	}
	/* Acquire: as in waiters_try_lock(). The loop repeats when another thread was
	 * faster, or the sleep ended without a cause. */
	while (atomic_exchange_acquire(word, WAITERS_CONTENDED) != WAITERS_FREE)
		futex_wait(word, WAITERS_CONTENDED);
}

void waiters_wake_one(atomic_u32 *word)
{
	futex_wake(word, 1);
}

/* ---- lists ------------------------------------------------------------------ */

static struct skua_task *task_of(const struct skua_wait *wait)
{
	return wait->waiter & WAIT_THREAD ? NULL
					  : (struct skua_task *)wait->waiter;
}

bool wait_by_thread(const struct skua_wait *wait)
{
	const struct skua_task *task = task_of(wait);

	return !task || task_dead(task);
}

/* Return the wait of the select of which @wait is a case; NULL: it is of no select. */
static struct skua_wait *select_of(struct skua_wait *wait)
{
	return wait->in_select
		       ? SKUA_CONTAINER_OF(wait, struct skua_select_case, wait)
				 ->select
		       : NULL;
}

/* Take the reference that an armed wait holds (N4). The waiter calls this. */
static void take_reference(struct skua_wait *wait)
{
	struct skua_wait *select = select_of(wait);

	if (!task_of(wait))
		return;
	if (select && select->references > 0)
		select->references--;
	else
		schedule_add_references(task_of(wait), 1);
}

/* Give the reference of a wait back. The caller polls the task. */
static void give_reference_back(struct skua_wait *wait)
{
	struct skua_wait *select = select_of(wait);

	if (!task_of(wait))
		return;
	if (select)
		select->references++;
	else
		schedule_drop_polled(task_of(wait), 1);
}

void wait_select_begin(struct skua_wait *select, uint32_t cases)
{
	select->references = (uint16_t)cases;
	if (task_of(select))
		schedule_add_references(task_of(select), cases);
}

void wait_select_end(struct skua_wait *select)
{
	if (task_of(select) && select->references > 0)
		schedule_drop_polled(task_of(select), select->references);
	select->references = 0;
}

static void set_phase(struct skua_wait *wait, enum wait_phase phase)
{
	/* Relaxed: under the list lock, or by the waiter of an idle wait. */
	atomic_store_relaxed(wait_phase(wait), phase);
}

/* Put a wait into a list: before all others, or after them. */
static void insert_locked(struct skua_waiters *waiters, struct skua_wait *wait,
			  bool first)
{
	struct skua_wait *next = first ? waiters->first : NULL;
	struct skua_wait *previous = first ? NULL : waiters->last;

	wait->link[NEXT] = next;
	wait->link[PREVIOUS] = previous;
	*(next ? &next->link[PREVIOUS] : &waiters->last) = wait;
	*(previous ? &previous->link[NEXT] : &waiters->first) = wait;
	waiters->count++;
}

HOT void wait_arm_locked(struct skua_waiters *waiters, struct skua_wait *wait,
			 bool first)
{
	take_reference(wait);
	insert_locked(waiters, wait, first);
	set_phase(wait, WAIT_ARMED);
}

#ifndef NDEBUG
static _Noreturn void say_freed(const struct skua_wait *wait)
{
	fprintf(stderr,
		"skua: the object at %p was freed or initialised again, and a "
		"wait for it is still armed. Keep an object in place until "
		"every call on it has returned\n",
		wait->object);
	abort();
}
#endif

/* End the program if the object was freed, or initialised again, while the wait was in its
 * list. */
static void check_listed(const struct skua_waiters *waiters,
			 const struct skua_wait *wait)
{
#ifndef NDEBUG
	const struct skua_wait *next = wait->link[NEXT];
	const struct skua_wait *previous = wait->link[PREVIOUS];

	if ((next ? next->link[PREVIOUS] : waiters->last) == wait &&
	    (previous ? previous->link[NEXT] : waiters->first) == wait)
		return;
	say_freed(wait);
#else
	(void)waiters;
	(void)wait;
#endif
}

static void remove_locked(struct skua_waiters *waiters, struct skua_wait *wait)
{
	struct skua_wait *next = wait->link[NEXT];
	struct skua_wait *previous = wait->link[PREVIOUS];

	check_listed(waiters, wait);
	*(next ? &next->link[PREVIOUS] : &waiters->last) = previous;
	*(previous ? &previous->link[NEXT] : &waiters->first) = next;
	waiters->count--;
}

void wait_withdraw_locked(struct skua_waiters *waiters, struct skua_wait *wait)
{
	remove_locked(waiters, wait);
	set_phase(wait, WAIT_IDLE);
	give_reference_back(wait);
}

void wait_move_locked(struct skua_waiters *from, struct skua_waiters *to,
		      struct skua_wait *wait)
{
	remove_locked(from, wait);
	insert_locked(to, wait, false);
}

HOT void wait_choose_locked(struct skua_waiters *waiters,
			    struct skua_wait *wait, struct wait_chain *chain)
{
	remove_locked(waiters, wait);
	set_phase(wait, WAIT_CHOSEN);
	wait->link[NEXT] = NULL;
	*(chain->last ? &chain->last->link[NEXT] : &chain->first) = wait;
	chain->last = wait;
}

void wait_choose_all_locked(struct skua_waiters *waiters,
			    struct wait_chain *chain)
{
	while (waiters->first)
		wait_choose_locked(waiters, waiters->first, chain);
}

/* ---- one wait --------------------------------------------------------------- */

HOT void wait_arm_alone(struct skua_wait *wait)
{
	take_reference(wait);
	set_phase(wait, WAIT_ARMED);
}

void wait_list_locked(struct skua_waiters *waiters, struct skua_wait *wait,
		      bool first)
{
	insert_locked(waiters, wait, first);
}

void wait_withdraw_alone(struct skua_wait *wait)
{
	set_phase(wait, WAIT_IDLE);
	give_reference_back(wait);
}

HOT void wait_choose_alone(struct skua_wait *wait, uint8_t given,
			   struct wait_chain *chain)
{
	wait->given = given;
	wait->link[NEXT] = NULL;
	*(chain->last ? &chain->last->link[NEXT] : &chain->first) = wait;
	chain->last = wait;
}

void wait_check_taken(const struct skua_wait *wait)
{
#if !defined(NDEBUG) && !defined(SKUA_EXPLORE)
	const struct timespec look = { .tv_nsec = 1000000 };

	for (unsigned n = 0; n < LOOKS_MAX; n++) {
		/* Relaxed: the caller looks at the phase again. */
		if (atomic_load_relaxed(wait_phase((struct skua_wait *)wait)) !=
		    WAIT_ARMED)
			return;
		nanosleep(&look, NULL);
	}
	say_freed(wait);
#else
	(void)wait;
#endif
}

void wait_expect_grant(struct skua_wait *wait)
{
	uint32_t phase = WAIT_ARMED;

	/* Relaxed: the caller looks at the phase again. Fails if the wait was
	 * granted. */
	atomic_cas_relaxed(wait_phase(wait), &phase, WAIT_CHOSEN);
}

/* ---- grants ----------------------------------------------------------------- */

/* End the program if the task is done: its last poll has left the wait armed, and the task
 * would keep the object for ever. */
static void check_not_done(const struct skua_wait *wait, struct skua_task *task)
{
#ifndef NDEBUG
	/* Relaxed: a task that is done stays so while it has references. */
	if (!(atomic_load_relaxed(task_state(task)) & TASK_COMPLETE))
		return;
	fprintf(stderr,
		"skua: the object at %p is granted to a task of type %s that is "
		"done: its last poll left a wait armed. Call skua_wait_cancel() "
		"before a poll returns SKUA_DONE\n",
		wait->object, task->type ? task->type->name : "(none)");
	abort();
#else
	(void)wait;
	(void)task;
#endif
}

/* Grant a wait. Return: the task that the caller must wake; NULL: none. */
static struct skua_task *grant(struct skua_wait *wait)
{
	struct skua_wait *select = select_of(wait);
	struct skua_task *task = wait_by_thread(wait) ? NULL : task_of(wait);

	if (task)
		check_not_done(wait, task);
	/* Release: what the grantor did before. Pairs with the acquires in
	 * await.c. The wait may be gone afterwards; futex_wake() uses only its
	 * address. */
	atomic_store_release(wait_phase(wait), WAIT_GRANTED);
	/* Release: the store. Pairs with count_told(), select.c. Without it, the
	 * select would not know when the grantor is done with it (N6). */
	if (select)
		atomic_fetch_add_release(wait_phase(select), WAIT_TOLD);
	if (!task)
		futex_wake(wait_phase(select ? select : wait), 1);
	return task;
}

HOT void wait_grant(struct wait_chain *chain)
{
	struct skua_wait *wait = chain->first;
	struct skua_task *first;

	if (!wait)
		return;
	*chain = (struct wait_chain){ wait->link[NEXT], NULL };
	first = grant(wait);
	/* The first task last, as that one gets into the LIFO slot: so the
	 * tasks run in the order of their waits. */
	while ((wait = chain->first) != NULL) {
		struct skua_task *task;

		chain->first = wait->link[NEXT];
		task = grant(wait);
		if (task)
			schedule_wake_by_value(task);
	}
	if (first)
		schedule_wake_by_value(first);
}
