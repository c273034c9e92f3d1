/* SPDX-License-Identifier: MIT */
/*
 * ledger_late.c - delays before tasks became ready
 *
 * A connection with data to read waits until its worker calls the poller that watches
 * it. Its task becomes ready only then, so no item contains this wait.
 */
#include <string.h>

#include "bpf/why/ledger.h"

/* The shortest delay to report. A guess: twenty ticks; pollers are called at
 * the end of each tick. */
#define LATE_NS UINT64_C(1000000)

/* Explain a delay like an item without a task, which waited for the worker. */
static void explain(const struct ledger *l, struct ledger_delay *delay)
{
	const struct ledger_late *late = &delay->late;
	const struct ledger_item item = { .from_ns = late->from_ns,
					  .ready_ns = late->from_ns,
					  .begin_ns = late->until_ns,
					  .end_ns = late->until_ns,
					  .track = late->track,
					  .home = late->track,
					  .name = LEDGER_NOBODY - 1 };
	struct ledger_split split;

	ledger_split(l, &item, &split);
	delay->reason_count = ledger_reasons(l, &item, &split, delay->reasons);
}

/* Insert a late call, if it is one of the latest so far; the latest comes
 * first. */
static void insert(struct ledger_verdict *v, const struct ledger_late *late)
{
	unsigned at = v->delay_count;

	while (at > 0 &&
	       ledger_late_by(&v->delays[at - 1].late) < ledger_late_by(late))
		at--;
	if (at == LEDGER_NAMED)
		return;
	if (v->delay_count < LEDGER_NAMED)
		v->delay_count++;
	memmove(&v->delays[at + 1], &v->delays[at],
		(v->delay_count - 1 - at) * sizeof(*v->delays));
	v->delays[at].late = *late;
}

void ledger_find_delays(const struct ledger *l, struct ledger_verdict *v)
{
	v->late_ns = v->slower_than_ns > 0 ? v->slower_than_ns : LATE_NS;
	for (size_t i = 0; i < l->late_count; i++) {
		const struct ledger_late *late = &l->lates[i];

		if (late->woken == 0 || ledger_late_by(late) <= v->late_ns)
			continue;
		v->late_times++;
		insert(v, late);
	}
	for (unsigned i = 0; i < v->delay_count; i++)
		explain(l, &v->delays[i]);
}

const struct ledger_late *ledger_late_of(const struct ledger *l,
					 const struct ledger_item *item)
{
	size_t low = 0, high = l->late_count;

	/* Late calls are sorted by their ends: find the last that ended by
	 * @ready_ns. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->lates[middle].until_ns <= item->ready_ns)
			low = middle + 1;
		else
			high = middle;
	}
	/* That call may be of another worker. */
	for (; low > 0; low--) {
		const struct ledger_late *late = &l->lates[low - 1];

		if (late->track == item->home)
			return item->ready_ns <= late->last_ns ? late : NULL;
	}
	return NULL;
}
