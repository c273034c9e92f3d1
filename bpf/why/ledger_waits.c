/* SPDX-License-Identifier: MIT */
/*
 * ledger_waits.c - waits for locks and channels: the item that contains one, the holder
 * of the lock, and what the holder did meanwhile
 *
 * A holder is known from when a task began to wait for its lock (EVENT_HELD), and from
 * when a task was woken that then got the lock. In between, a task may take and leave
 * the lock without a wait: no event tells of it, and its time counts as that of the
 * holder before.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/cli/grow.h"
#include "bpf/cli/sorted.h"
#include "bpf/recording/offcpu.h"
#include "bpf/target/wait_kind.h"
#include "bpf/why/ledger.h"
#include "bpf/why/ledger_parts.h"
#include "probes/area.h"

/* How many holders, and polls or sleeps of them, are looked at in one wait; the rest of
 * the wait is unknown. A guess: a recording cannot keep this command busy for long. */
#define MAX_LOOKS 4096u

/* ---- collecting ------------------------------------------------------------ */

/* Does a wait count only because the task had a label? A wait for a lock counts in any case,
 * and its holder is found in another way. */
static bool is_labelled(const struct ledger_wait *wait)
{
	return wait->labelled && !wait_kind_is_lock(wait->kind);
}

/* The task waits on when its poll has ended. @number: index + 1 of the wait */
static void suspend(struct ledger *l, uint64_t task, size_t number)
{
	const struct address entry = { .address = task, .number = number };

	if (addresses_put(&l->suspended, &entry))
		l->failed = -ENOMEM;
}

void ledger_on_wait(struct ledger *l, const struct trace_mark *mark)
{
	struct ledger_steps *s = &l->tracks[mark->track];
	uint64_t task = mark->args[0].number, object = mark->args[1].number;
	struct ledger_open *open = ledger_find_poll(s, task);
	bool labelled = open && open->labels.now != LEDGER_NOBODY;
	bool goes_on = mark->again && open && open->wait > 0 &&
		       l->waits[open->wait - 1].object == object;

	s->wait_ns = mark->ns;
	if (!wait_kind_is_lock(mark->number) &&
	    !wait_kind_is_channel(mark->number) && !labelled)
		return;
	if (goes_on) {
		open->goes_on = true;
		l->waits[open->wait - 1].server.task = 0;
		suspend(l, task, open->wait);
		return;
	}
	if (mark->again) /* its beginning was not seen */
		return;
	if (!grow(&l->waits, sizeof(*l->waits), l->wait_count, &l->wait_room)) {
		l->failed = -ENOMEM;
		return;
	}
	l->waits[l->wait_count++] = (struct ledger_wait){
		.object = object,
		.from_ns = mark->ns,
		.kind = (uint32_t)mark->number,
		.name = open ? open->step.name : LEDGER_NOBODY,
		.labelled = labelled,
		.server = { .name = LEDGER_NOBODY, .label = LEDGER_NOBODY },
	};
	suspend(l, task, l->wait_count);
}

static void add_hold(struct ledger *l, uint64_t object, uint64_t ns,
		     uint64_t holder)
{
	if (!grow(&l->holds, sizeof(*l->holds), l->hold_count, &l->hold_room)) {
		l->failed = -ENOMEM;
		return;
	}
	l->holds[l->hold_count++] = (struct ledger_hold){ .object = object,
							  .ns = ns,
							  .holder = holder };
}

void ledger_on_held(struct ledger *l, const struct trace_mark *mark)
{
	uint64_t since = l->tracks[mark->track].wait_ns;

	add_hold(l, mark->args[1].number, since > 0 ? since : mark->ns,
		 mark->args[0].number);
}

void ledger_begin_poll(struct ledger *l, struct ledger_open *open,
		       const struct trace_mark *mark)
{
	struct address wait;

	open->task = mark->args[0].number;
	if (addresses_take(&l->suspended, open->task, &wait))
		open->wait = wait.number;
}

void ledger_on_give_up(struct ledger *l, const struct trace_mark *mark)
{
	struct ledger_open *open =
		ledger_find_poll(&l->tracks[mark->track], mark->args[0].number);

	if (open && open->wait > 0 &&
	    l->waits[open->wait - 1].object == mark->args[1].number)
		open->gave_up = true;
}

void ledger_waited(struct ledger *l, struct ledger_item *item,
		   const struct ledger_open *open)
{
	struct ledger_wait *wait = &l->waits[open->wait - 1];
	bool holds = !open->gave_up && (wait->kind == AREA_WAITS_MUTEX ||
					wait->kind == AREA_WAITS_WRITE);

	if (wait_kind_is_channel(wait->kind)) {
		ledger_served(l, wait, item->ready_ns, open->gave_up);
		if (!wait_kind_is_send(wait->kind) && !wait->labelled)
			return;
	}
	if (holds)
		add_hold(l, wait->object, item->ready_ns, item->task);
	/* It may be woken before it notes that it waits. */
	if (wait->from_ns > item->ready_ns)
		return;
	item->from_ns = wait->from_ns;
	item->wait = open->wait;
}

/* ---- after the last event --------------------------------------------------- */

static int compare_holds(const void *left, const void *right)
{
	const struct ledger_hold *a = left, *b = right;

	if (a->object != b->object)
		return compare_numbers(a->object, b->object);
	return compare_numbers(a->ns, b->ns);
}

static int compare_polls(const void *left, const void *right)
{
	const struct ledger_item *a = left, *b = right;

	if (a->task != b->task)
		return compare_numbers(a->task, b->task);
	return compare_numbers(a->begin_ns, b->begin_ns);
}

/* The index of the first poll of a holder that ended after @ns, if there is one. */
static size_t find_held(const struct ledger *l, uint64_t task, uint64_t ns)
{
	size_t low = 0, high = l->held_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ledger_item *poll = &l->held[middle];

		if (poll->task < task ||
		    (poll->task == task && poll->end_ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_of(const struct ledger *l, size_t index, uint64_t task)
{
	return index < l->held_count && l->held[index].task == task;
}

static int keep_polls(struct ledger *l, struct addresses *holders,
		      const struct ledger_item *polls, size_t count,
		      size_t *room)
{
	for (size_t i = 0; i < count; i++) {
		if (!addresses_has(holders, polls[i].task))
			continue;
		if (!grow(&l->held, sizeof(*l->held), l->held_count, room))
			return -ENOMEM;
		l->held[l->held_count++] = polls[i];
	}
	return 0;
}

/* Name a holder by a poll of it, or as the recording does. */
static void name_hold(struct ledger *l, struct ledger_hold *hold)
{
	size_t i = find_held(l, hold->holder, hold->ns);
	const char *name;
	char text[32];

	hold->name = hold->label = LEDGER_NOBODY;
	if (hold->holder == 0)
		return;
	if (!is_of(l, i, hold->holder) && i > 0)
		i--;
	if (is_of(l, i, hold->holder)) {
		hold->name = l->held[i].name;
		hold->label = l->held[i].label;
		return;
	}
	name = trace_name(l->trace, TRACE_NAME_HOLDER, hold->holder);
	snprintf(text, sizeof(text), "0x%" PRIx64, hold->holder);
	hold->name = ledger_name(l, name && name[0] ? name : text);
}

/* Each waiter of a lock names its holder. Keep the first of those that follow each other,
 * so that a look at a wait behind many others does not end with the first holder. */
static void drop_repeated(struct ledger *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->hold_count; i++) {
		const struct ledger_hold *hold = &l->holds[i];

		if (kept > 0 && l->holds[kept - 1].object == hold->object &&
		    l->holds[kept - 1].holder == hold->holder)
			continue;
		l->holds[kept++] = *hold;
	}
	l->hold_count = kept;
}

int ledger_settle_waits(struct ledger *l)
{
	struct addresses holders = { .count = 0 };
	size_t room = 0;
	int code = ledger_find_channels(l);

	if (!code)
		code = ledger_add_servers(l, &holders);
	for (size_t i = 0; !code && i < l->hold_count; i++) {
		const struct address entry = { .address = l->holds[i].holder };

		code = addresses_put(&holders, &entry);
	}
	if (!code && holders.count > 0)
		code = keep_polls(l, &holders, l->items, l->count, &room);
	if (!code && holders.count > 0)
		code = keep_polls(l, &holders, l->others, l->other_count,
				  &room);
	addresses_free(&holders);
	if (code)
		return code;
	if (l->held_count > 0)
		qsort(l->held, l->held_count, sizeof(*l->held), compare_polls);
	if (l->hold_count > 0)
		qsort(l->holds, l->hold_count, sizeof(*l->holds),
		      compare_holds);
	drop_repeated(l);
	for (size_t i = 0; i < l->hold_count; i++)
		name_hold(l, &l->holds[i]);
	ledger_settle_channels(l);
	return l->failed;
}

void ledger_count_stuck(struct ledger *l)
{
	for (size_t i = 0; i < l->suspended.size; i++) {
		const struct address *entry = &l->suspended.slots[i];
		struct ledger_wait *wait;

		if (entry->address == 0)
			continue;
		wait = &l->waits[entry->number - 1];
		if (wait_kind_is_channel(wait->kind)) {
			ledger_still_waits(l, wait);
			continue;
		}
		if (!wait_kind_is_lock(wait->kind))
			continue;
		l->stuck_count++;
		if (!l->stuck || wait->from_ns < l->waits[l->stuck - 1].from_ns)
			l->stuck = entry->number;
	}
}

/* ---- what a holder did ------------------------------------------------------- */

static enum ledger_part part_of(enum offcpu_kind kind)
{
	switch (kind) {
	case OFFCPU_NOT:
		return LEDGER_RUNNING;
	case OFFCPU_WAITS:
		return LEDGER_PREEMPTED;
	case OFFCPU_UNKNOWN:
		return LEDGER_UNKNOWN;
	default:
		return LEDGER_DESCHEDULED;
	}
}

/* A time in which a holder is looked at. @did: receives what it did; @left: number of looks
 * that are left. */
struct look {
	const struct ledger *ledger;
	uint64_t holder;
	uint64_t from_ns, until_ns;
	uint64_t *did;
	unsigned *left;
};

/* Note that it did something until then. */
static void did_until(struct look *look, enum ledger_part part, uint64_t ns)
{
	if (ns > look->until_ns)
		ns = look->until_ns;
	if (look->from_ns >= ns)
		return;
	look->did[part] += ns - look->from_ns;
	look->from_ns = ns;
}

static bool looks_on(struct look *look)
{
	if (look->from_ns >= look->until_ns || *look->left == 0)
		return false;
	(*look->left)--;
	return true;
}

/* Of a thread that is no worker, the kernel knows whether it had a CPU. */
static void look_at_thread(struct look *look)
{
	const struct trace *trace = look->ledger->trace;
	const struct offcpu *offs = trace_offcpu(trace);
	const char *name = trace_name(trace, TRACE_NAME_HOLDER, look->holder);
	struct offcpu_look at;
	uint32_t tid;

	if (!offcpu_any(offs) || !name ||
	    sscanf(name, TRACE_HOLDER_THREAD "%" SCNu32, &tid) != 1)
		return;
	at = offcpu_look(offs, tid, look->from_ns);
	while (looks_on(look)) {
		const struct offcpu_span *off = NULL;
		uint64_t end;
		enum offcpu_kind kind =
			offcpu_at(&at, look->from_ns, &end, &off);

		did_until(look, part_of(kind), end);
	}
}

/* Between its polls a task is runnable, or waits itself. */
static void look_at_task(struct look *look)
{
	const struct ledger *l = look->ledger;
	size_t i = find_held(l, look->holder, look->from_ns);

	if (!is_of(l, i, look->holder) &&
	    (i == 0 || !is_of(l, i - 1, look->holder)))
		return;
	for (; is_of(l, i, look->holder) && looks_on(look); i++) {
		const struct ledger_item *poll = &l->held[i];
		uint64_t end = poll->end_ns < look->until_ns ? poll->end_ns
							     : look->until_ns;

		did_until(look, LEDGER_WAITED, poll->ready_ns);
		if (look->from_ns < end) {
			ledger_split_between(l, poll, look->from_ns, end,
					     look->did);
			look->from_ns = end;
		}
	}
	if (!is_of(l, i, look->holder))
		did_until(look, LEDGER_WAITED, look->until_ns);
}

/* The index of the last hold of a lock at @ns or before; l->hold_count: none. */
static size_t find_hold(const struct ledger *l, uint64_t object, uint64_t ns)
{
	const struct ledger_hold key = { .object = object, .ns = ns };
	size_t low = 0, high = l->hold_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_holds(&l->holds[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && l->holds[low - 1].object == object ? low - 1
							     : l->hold_count;
}

const char *ledger_last_holder(const struct ledger *l, uint64_t lock)
{
	size_t i = find_hold(l, lock, UINT64_MAX);

	return i < l->hold_count && l->holds[i].name < l->name_count
		       ? l->names[l->holds[i].name]
		       : NULL;
}

/* Find out what a holder did; 0: it is not known. */
static void look_at(struct look *look)
{
	if (look->holder & AREA_HOLDER_THREAD)
		look_at_thread(look);
	else if (look->holder)
		look_at_task(look);
	did_until(look, LEDGER_UNKNOWN, look->until_ns);
}

void ledger_did(const struct ledger *l, uint64_t holder, uint64_t from_ns,
		uint64_t until_ns, uint64_t *did)
{
	unsigned left = MAX_LOOKS;
	struct look look = { .ledger = l,
			     .holder = holder,
			     .from_ns = from_ns,
			     .until_ns = until_ns,
			     .did = did,
			     .left = &left };

	look_at(&look);
}

/* A place in a channel was missing: blame the last task that made one. A task with a label
 * waited for something else: blame the task that woke it. */
static void split_full(const struct ledger *l, const struct ledger_item *item,
		       const struct ledger_wait *wait,
		       struct ledger_split *split)
{
	struct ledger_cause cause = { .part = LEDGER_WAITED,
				      .track = item->track,
				      .name = wait->server.name,
				      .label = wait->server.label,
				      .holder = wait->server.task,
				      .lock = wait->object,
				      .lock_kind = wait->kind };

	if (item->from_ns == item->ready_ns)
		return;
	ledger_did(l, wait->server.task, item->from_ns, item->ready_ns,
		   cause.did);
	ledger_add_cause(split, &cause, item->ready_ns - item->from_ns);
}

/* Set the cause to a holder. @hold: NULL: it is not known. */
static void blame(struct ledger_cause *cause, const struct ledger_item *item,
		  const struct ledger_hold *hold)
{
	bool known = hold && hold->holder && hold->holder != item->task;

	cause->name = known ? hold->name : LEDGER_NOBODY;
	cause->label = known ? hold->label : LEDGER_NOBODY;
	cause->holder = known ? hold->holder : 0;
}

void ledger_split_wait(const struct ledger *l, const struct ledger_item *item,
		       struct ledger_split *split)
{
	const struct ledger_wait *wait = &l->waits[item->wait - 1];
	uint64_t from = item->from_ns, until = item->ready_ns;
	size_t i = find_hold(l, wait->object, from);
	unsigned left = MAX_LOOKS;

	split->parts[LEDGER_WAITED] = until - from;
	if (wait_kind_is_send(wait->kind) || is_labelled(wait)) {
		split_full(l, item, wait, split);
		return;
	}
	for (; from < until; i++) {
		struct ledger_cause cause = { .part = LEDGER_WAITED,
					      .track = item->track,
					      .lock = wait->object,
					      .lock_kind = wait->kind };
		struct look look = { .ledger = l,
				     .from_ns = from,
				     .until_ns = until,
				     .left = &left };
		const struct ledger_hold *hold = NULL;

		if (i < l->hold_count && looks_on(&look))
			hold = &l->holds[i];
		if (hold && i + 1 < l->hold_count &&
		    hold[1].object == wait->object && hold[1].ns < until)
			look.until_ns = hold[1].ns;
		if (from == look.until_ns)
			continue;
		blame(&cause, item, hold);
		look.holder = cause.holder;
		look.did = cause.did;
		look_at(&look);
		ledger_add_cause(split, &cause, look.until_ns - from);
		from = look.until_ns;
	}
}
