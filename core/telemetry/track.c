/* SPDX-License-Identifier: MIT */
/* track.c - see track.h */
#include "core/telemetry/track.h"

#include "core/base/clock.h"
#include "core/os/log.h"
#include "core/task/task.h"

_Static_assert(AREA_TASK_FIBER == TASK_FIBER, "as tools know it");

/* Atomic operations of this file are relaxed, except where a slot changes
 * hands. Several threads write the slot of a task one after the other, in the
 * order that the task's queues give them. Readers need whole words, but no
 * order between them. */

static struct area_task *slot_of(struct telemetry *telemetry, uint64_t task,
				 unsigned i)
{
	uint64_t first = (task * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

	return &telemetry->track->tasks[(first + i) % TRACK_SLOTS];
}

/* Return the slot of a task; NULL if the table left it out, or there is no
 * table. */
static struct area_task *find(struct telemetry *telemetry,
			      const struct skua_task *task)
{
	uint64_t address = (uintptr_t)task;

	for (unsigned i = 0; telemetry->track && i < TRACK_WINDOW; i++) {
		struct area_task *slot = slot_of(telemetry, address, i);

		if (counter_read(&slot->holder) == address)
			return slot;
	}
	return NULL;
}

/* Claim for @task a free slot that shows @shown. Return: false if it shows
 * another task, or another task holds it. */
static bool claim(struct area_task *slot, uint64_t shown, uint64_t task)
{
	uint64_t nobody = 0;

	/* Acquire: the last holder's writes to the slot come before those of
	 * @task. Pairs with the release in give_back(). */
	return counter_read(&slot->task) == shown &&
	       counter_read(&slot->holder) == 0 &&
	       atomic_cas_acquire((atomic_u64 *)&slot->holder, &nobody, task);
}

static void give_back(struct area_task *slot)
{
	/* Release: the holder's writes to the slot. Pairs with the acquire in
	 * claim(). */
	atomic_store_release((atomic_u64 *)&slot->holder, 0);
}

/* Claim a slot for a task that has none. The first choice is the slot that
 * shows an earlier life of the same task, then an empty slot, then one that
 * shows another task that is done. */
static struct area_task *claim_any(struct telemetry *telemetry, uint64_t task)
{
	const uint64_t first[] = { task, 0 };

	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < TRACK_WINDOW; i++) {
			struct area_task *slot = slot_of(telemetry, task, i);

			if (claim(slot, first[k], task))
				return slot;
		}
	}
	for (unsigned i = 0; i < TRACK_WINDOW; i++) {
		struct area_task *slot = slot_of(telemetry, task, i);

		if (claim(slot, counter_read(&slot->task), task))
			return slot;
	}
	return NULL;
}

static void set_state(struct area_task *slot, enum area_task_state state)
{
	counter_set_owner(&slot->state, state);
	counter_set_owner(&slot->since_ns, clock_now_ns());
}

void track_spawn(struct telemetry *telemetry, const struct skua_task *task,
		 const void *caller)
{
	struct area_task *slot = claim_any(telemetry, (uintptr_t)task);

	if (!slot) {
		atomic_fetch_add_relaxed(
			(atomic_u64 *)&telemetry->area.tasks_left_out, 1);
		return;
	}
	counter_set_owner(&slot->task, (uintptr_t)task);
	set_state(slot, AREA_TASK_QUEUED);
	counter_set_owner(&slot->spawned_ns, counter_read(&slot->since_ns));
	counter_set_owner(&slot->type, (uintptr_t)task->type);
	counter_set_owner(&slot->poll, (uintptr_t)task_shown(task));
	counter_set_owner(&slot->caller, (uintptr_t)caller);
	counter_set_owner(&slot->wait, AREA_WAIT_NONE);
	counter_set_owner(&slot->what, 0);
	counter_set_owner(&slot->wakers, 0);
	counter_set_owner(&slot->home, task->home);
}

void track_forget(struct telemetry *telemetry, const struct skua_task *task)
{
	struct area_task *slot = find(telemetry, task);

	if (slot) {
		counter_set_owner(&slot->task, 0);
		give_back(slot);
	}
}

void track_queued(struct telemetry *telemetry, const struct skua_task *task)
{
	struct area_task *slot = find(telemetry, task);

	if (slot)
		set_state(slot, AREA_TASK_QUEUED);
}

void track_wait(struct telemetry *telemetry, const struct skua_task *task,
		enum area_wait wait, uint64_t what)
{
	struct area_task *slot = find(telemetry, task);

	if (!slot)
		return;
	counter_set_owner(&slot->what, what);
	counter_set_owner(&slot->wait, wait);
}

/* Is this the first hint for the type? Return: false if there is no room to
 * remember it. */
static bool first_hint(struct telemetry *telemetry, uint64_t type)
{
	for (unsigned i = 0; i < TRACK_HINTS; i++) {
		uint64_t old = 0;

		if (atomic_cas_relaxed(&telemetry->track->hinted[i], &old,
				       type))
			return true;
		if (old == type)
			return false;
	}
	return false;
}

static void hint(struct telemetry *telemetry, const struct skua_task *task,
		 const struct area_task *slot)
{
	if (!first_hint(telemetry, slot->type ? slot->type : slot->poll))
		return;
	log_say(&telemetry->hooks, SKUA_LOG_WARNING,
		"task %p of type %s is pending, and nothing refers to it: no "
		"waker, join, group wait or timer; unless it is cancelled, it "
		"is never polled again (said once for each type)",
		(const void *)task, task->type ? task->type->name : "(none)");
}

/* Record that a poll has ended with SKUA_PENDING; called before another thread
 * may poll the task. Two references are no wakers: the scheduler's own, and the
 * spare one, unless the poll lent that as a waker. */
static void pending(struct telemetry *telemetry, struct skua_task *task,
		    struct area_task *slot, bool spare)
{
	uint64_t state = atomic_load_relaxed(task_state(task));
	uint64_t wakers = task_state_references(state) - 1 - (uint64_t)spare;

	counter_set_owner(&slot->wakers, wakers);
	if (wakers == 0)
		counter_set_owner(&slot->wait, AREA_WAIT_NOBODY);
	else if (counter_read(&slot->wait) == AREA_WAIT_NONE)
		counter_set_owner(&slot->wait, AREA_WAIT_WAKER);
	set_state(slot, AREA_TASK_WAITING);
	if (wakers == 0 && !(state & TASK_SCHEDULED) &&
	    !(atomic_load_relaxed(&telemetry->poll_flags) & POLL_CANCEL))
		hint(telemetry, task, slot);
}

/* Record that a task is done. If nothing else refers to it, it ends now, and
 * its slot becomes empty. Otherwise it ends when its last waker is dropped,
 * which is not reported here. */
static void done(struct skua_task *task, struct area_task *slot, bool spare)
{
	uint64_t state = atomic_load_relaxed(task_state(task));
	uint64_t wakers = task_state_references(state) - 1 - (uint64_t)spare;

	counter_set_owner(&slot->wakers, wakers);
	if (wakers)
		set_state(slot, AREA_TASK_DONE);
	else
		counter_set_owner(&slot->task, 0);
	give_back(slot);
}

struct area_task *track_poll_begin(struct telemetry *telemetry,
				   const struct skua_task *task)
{
	struct area_task *slot = find(telemetry, task);

	if (slot) {
		counter_set_owner(&slot->wait, AREA_WAIT_NONE);
		set_state(slot, AREA_TASK_POLLED);
	}
	return slot;
}

void track_poll_end(struct telemetry *telemetry, struct area_task *slot,
		    struct skua_task *task, enum skua_poll result, bool spare)
{
	if (!slot)
		return;
	if (result == SKUA_PENDING)
		pending(telemetry, task, slot, spare);
	else if (result == SKUA_YIELD)
		set_state(slot, AREA_TASK_QUEUED);
	else
		done(task, slot, spare);
}
