/* SPDX-License-Identifier: MIT */
/* waits.c - see waits.h */
#include "bpf/waits/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/grow.h"
#include "bpf/cli/sorted.h"
#include "bpf/target/target_memory.h"
#include "bpf/target/wait_kind.h"

#define NO_HOLDER UINT32_MAX

static bool same_party(struct target_party a, struct target_party b)
{
	return a.task == b.task && a.thread == b.thread;
}

static bool is_nobody(struct target_party party)
{
	return !party.task && !party.thread;
}

/* ---- reading -------------------------------------------------------------------- */

static uint64_t read_word(struct waits *w, uint64_t address)
{
	uint64_t word = 0;

	return target_read(w->target, address, &word, sizeof(word)) ? 0 : word;
}

static bool is_io(uint32_t kind)
{
	return kind == AREA_WAITS_IO_READ || kind == AREA_WAITS_IO_WRITE;
}

/* Does a wait of this kind have an object with a list? */
static bool has_list(uint32_t kind)
{
	return kind != AREA_WAITS_JOIN && kind != AREA_WAITS_GROUP &&
	       kind != AREA_WAITS_TIME && kind != AREA_WAITS_SELECT &&
	       !is_io(kind);
}

/* The list of the object of a wait. The wait for a condition goes on as one for its
 * mutex. */
static uint64_t list_of(const struct target_wait *wait)
{
	const struct area_verb *verb = &wait->verb;
	bool second = verb->kind == AREA_WAITS_CONDITION &&
		      wait->armed.object == wait->armed.amount;

	return wait->armed.object + (second ? verb->second : verb->waiters);
}

/* The address of the word that names the holder without which the waiter of a wait cannot
 * go on; 0: there is none. */
static uint64_t holder_of(const struct target_wait *wait)
{
	bool condition = wait->verb.kind == AREA_WAITS_CONDITION;

	if (wait->verb.holder == NO_HOLDER || !has_list(wait->verb.kind))
		return 0;
	return (condition ? wait->armed.amount : wait->armed.object) +
	       wait->verb.holder;
}

static struct target_party find_party(struct waits *w,
				      const struct target_wait *wait)
{
	uint64_t at = holder_of(wait);

	if (wait->verb.kind == AREA_WAITS_JOIN)
		return (struct target_party){ .task = wait->armed.object };
	return at ? target_party(read_word(w, at)) : (struct target_party){ 0 };
}

static uint32_t find_object(const struct waits *w, uint64_t address)
{
	for (uint32_t i = 0; i < w->object_count; i++)
		if (w->objects[i].address == address)
			return i;
	return WAITS_NOBODY;
}

static uint32_t find_descriptor(const struct waits *w,
				const struct target_wait *wait)
{
	return is_io(wait->verb.kind)
		       ? descriptors_find(&w->descriptors, wait->armed.object)
		       : WAITS_NOBODY;
}

/* Return: 0, or -ENOMEM. */
static int add_waiter(struct waits *w, struct target_party party,
		      uint32_t fiber, const struct target_wait *wait,
		      uint32_t object)
{
	if (!grow(&w->waiters, sizeof(*w->waiters), w->waiter_count,
		  &w->waiter_room))
		return -ENOMEM;
	w->waiters[w->waiter_count++] = (struct waits_waiter){
		.party = party,
		.fiber = fiber,
		.wait = *wait,
		.object = object,
		.descriptor = find_descriptor(w, wait),
		.on = find_party(w, wait),
		.next = WAITS_NOBODY,
	};
	return 0;
}

/* Fibers are sorted by address. */
uint32_t waits_find_fiber(const struct waits *w, struct target_party party)
{
	const struct target_fibers *fibers = &w->fibers;
	size_t n =
		SORTED_UP_TO(fibers->list, fibers->count, address, party.task);

	return n > 0 && party.task && fibers->list[n - 1].address == party.task
		       ? (uint32_t)n - 1
		       : WAITS_NOBODY;
}

/* Has the last poll of a task, which is no fiber, left its wait armed? */
static bool is_done(struct waits *w, struct target_party party)
{
	uint64_t offset = target_runtime(w->target, 0)->task_state;

	return party.task && offset &&
	       (read_word(w, party.task + offset) & AREA_STATE_DONE);
}

static int add_listed(struct waits *w, const struct target_wait *wait,
		      struct target_party party, uint32_t object)
{
	int code = add_waiter(w, party, WAITS_NOBODY, wait, object);

	if (!code && is_done(w, party)) {
		w->waiters[w->waiter_count - 1].done = true;
		w->done++;
	}
	return code;
}

void waits_note_since(struct waits_side *side, uint64_t since_ns,
		      struct target_party party)
{
	if (!since_ns || (side->since_ns && side->since_ns <= since_ns))
		return;
	side->since_ns = since_ns;
	side->oldest = party;
}

/* Add a waiter of an object, unless it is a fiber, which is known already. *@at: the address
 * of its wait; receives the next one of its list, 0 if the wait changed meanwhile. */
static int read_listed(struct waits *w, uint32_t object,
		       struct waits_side *side, uint64_t *at)
{
	struct target_wait wait;
	struct target_party party;

	if (!target_read_wait(w->target, *at, &wait)) {
		*at = 0;
		return 0;
	}
	*at = wait.armed.next;
	party = target_party(wait.armed.waiter);
	waits_note_since(side, wait.armed.since_ns, party);
	return waits_find_fiber(w, party) == WAITS_NOBODY
		       ? add_listed(w, &wait, party, object)
		       : 0;
}

/* Add the tasks and threads in a list of an object that are no fibers. */
static int read_list(struct waits *w, uint32_t object, unsigned side,
		     uint64_t list)
{
	struct waits_side *out = &w->objects[object].sides[side];
	struct area_waiters waiters;
	uint64_t at;
	int code = 0;

	if (target_read(w->target, list, &waiters, sizeof(waiters)))
		return 0;
	out->waiters += waiters.count;
	at = waiters.first;
	for (unsigned i = 0; !code && at; i++) {
		if (i == WAITS_MAX_LIST) {
			w->more = true;
			break;
		}
		code = read_listed(w, object, out, &at);
	}
	return code;
}

/* Add the receiver that waits for a channel alone, and is in no list. */
static int read_alone(struct waits *w, uint32_t object, uint64_t channel)
{
	struct waits_side *out = &w->objects[object].sides[WAITS_RECEIVERS];
	uint64_t at =
		read_word(w, channel + offsetof(struct area_channel, receiver));
	struct target_wait wait;

	/* The channel of an older library has no such word, but other data after it. */
	if (!target_read_wait(w->target, at, &wait) ||
	    wait.armed.object != channel)
		return 0;
	out->waiters++;
	return read_listed(w, object, out, &at);
}

static bool is_spsc(uint32_t kind)
{
	return kind == AREA_WAITS_SPSC_SEND || kind == AREA_WAITS_SPSC_RECEIVE;
}

/* Where a queue has its lists. */
static size_t receivers_of(uint32_t kind)
{
	return is_spsc(kind) ? offsetof(struct area_spsc, receivers)
			     : offsetof(struct area_channel, receivers);
}

static size_t senders_of(uint32_t kind)
{
	return is_spsc(kind) ? offsetof(struct area_spsc, senders)
			     : offsetof(struct area_channel, senders);
}

/* Read the lists of an object, and the state of a channel. @wait: for the object */
static int read_lists(struct waits *w, uint32_t object,
		      const struct target_wait *wait)
{
	struct waits_object *it = &w->objects[object];
	uint64_t address = it->address;
	int code;

	if (wait_kind_is_channel(it->verb.kind))
		it->channel = channel_read(w->target, it->verb.kind, address);
	if (waits_sides(it) == 1)
		return read_list(w, object, 0, list_of(wait));
	code = is_spsc(it->verb.kind) ? 0 : read_alone(w, object, address);
	if (!code)
		code = read_list(w, object, WAITS_RECEIVERS,
				 address + receivers_of(it->verb.kind));
	return code ? code
		    : read_list(w, object, WAITS_SENDERS,
				address + senders_of(it->verb.kind));
}

/* Return the object of a wait, which is added if it is new; WAITS_NOBODY: it has none. */
static int add_object(struct waits *w, const struct target_wait *wait,
		      uint32_t *out)
{
	*out = WAITS_NOBODY;
	if (!has_list(wait->verb.kind))
		return 0;
	*out = find_object(w, wait->armed.object);
	if (*out != WAITS_NOBODY && w->objects[*out].verb.kind)
		return 0;
	if (*out == WAITS_NOBODY) {
		if (w->object_count == WAITS_MAX_OBJECTS) {
			w->more = true;
			return 0;
		}
		if (!grow(&w->objects, sizeof(*w->objects), w->object_count,
			  &w->object_room))
			return -ENOMEM;
		*out = w->object_count++;
		w->objects[*out] = (struct waits_object){
			.address = wait->armed.object,
		};
	}
	w->objects[*out].verb = wait->verb;
	if (wait->verb.kind != AREA_WAITS_CONDITION)
		w->objects[*out].holder = find_party(w, wait);
	return read_lists(w, *out, wait);
}

static int compare_fibers(const void *left, const void *right)
{
	const struct target_fiber *a = left, *b = right;

	return compare_numbers(a->address, b->address);
}

static bool find_waiter(const struct waits *w, struct target_party party)
{
	for (uint32_t i = 0; i < w->waiter_count; i++)
		if (same_party(w->waiters[i].party, party))
			return true;
	return false;
}

static int compare_waiters(const void *left, const void *right)
{
	const struct waits_waiter *a = left, *b = right;
	int order = compare_numbers(a->party.task, b->party.task);

	return order ? order
		     : compare_numbers(a->party.thread, b->party.thread);
}

/* Add the tasks and threads that wait for descriptors, and are no fibers. */
static int add_io(struct waits *w)
{
	int code = 0;

	for (uint32_t i = 0; i < w->descriptors.count; i++)
		for (unsigned way = 0; !code && way < DESCRIPTOR_WAYS; way++) {
			const struct target_wait *wait =
				&w->descriptors.list[i].wait[way];
			struct target_party party =
				target_party(wait->armed.waiter);

			if (wait->address &&
			    waits_find_fiber(w, party) == WAITS_NOBODY)
				code = add_listed(w, wait, party, WAITS_NOBODY);
		}
	return code;
}

/* Add the waits of threads that hold objects. */
static int add_threads(struct waits *w)
{
	int code = 0;

	/* Each wait may lead to a further object. */
	for (uint32_t i = 0; !code && i < w->object_count; i++) {
		struct target_party holder = w->objects[i].holder;
		struct area_thread thread;
		struct target_wait wait;
		uint32_t object;

		if (!holder.thread || find_waiter(w, holder) ||
		    target_read(w->target, holder.thread, &thread,
				sizeof(thread)) != 0 ||
		    !target_read_wait(w->target, thread.wait, &wait))
			continue;
		code = add_object(w, &wait, &object);
		if (!code && !find_waiter(w, holder))
			code = add_waiter(w, holder, WAITS_NOBODY, &wait,
					  object);
	}
	return code;
}

/* Add the cases of the select of a waiter, and their objects. */
static int add_cases(struct waits *w, uint32_t waiter)
{
	struct target_wait cases[SELECT_CASES];
	unsigned count =
		select_read(w->target, &w->waiters[waiter].wait, cases);
	int code = 0;

	w->waiters[waiter].first_case = w->case_count;
	for (unsigned i = 0; !code && i < count; i++) {
		uint32_t object;

		if (w->case_count == WAITS_MAX_CASES) {
			w->more = true;
			break;
		}
		code = add_object(w, &cases[i], &object);
		if (!code && !grow(&w->cases, sizeof(*w->cases), w->case_count,
				   &w->case_room))
			code = -ENOMEM;
		if (code)
			break;
		w->cases[w->case_count++] =
			(struct waits_case){ cases[i], object,
					     find_descriptor(w, &cases[i]) };
		w->waiters[waiter].case_count++;
	}
	return code;
}

static int add_selects(struct waits *w)
{
	int code = 0;

	/* The objects of cases may have further waiters, but these are no selects. */
	for (uint32_t i = 0, n = w->waiter_count; !code && i < n; i++)
		if (w->waiters[i].wait.verb.kind == AREA_WAITS_SELECT)
			code = add_cases(w, i);
	return code;
}

uint32_t waits_find(const struct waits *waits, struct target_party party)
{
	const struct waits_waiter key = { .party = party };
	const struct waits_waiter *found =
		is_nobody(party) || !waits->waiter_count
			? NULL
			: bsearch(&key, waits->waiters, waits->waiter_count,
				  sizeof(key), compare_waiters);

	return found ? (uint32_t)(found - waits->waiters) : WAITS_NOBODY;
}

/* Find the waiters that other waiters wait for. */
static void link_waiters(struct waits *w)
{
	if (w->waiter_count)
		qsort(w->waiters, w->waiter_count, sizeof(*w->waiters),
		      compare_waiters);
	for (uint32_t i = 0; i < w->waiter_count; i++)
		w->waiters[i].next = waits_find(w, w->waiters[i].on);
}

/* Add an object with a name. */
static int add_named(struct waits *w, const struct area_name *name)
{
	const struct target_wait wait = { .armed.object = name->object,
					  .verb = name->verb };
	uint32_t object;
	char *text;
	int code;

	if (name->verb.kind == AREA_WAITS_NOTHING ||
	    name->verb.kind >= AREA_WAITS_COUNT)
		return 0;
	code = add_object(w, &wait, &object);
	if (code || object == WAITS_NOBODY)
		return code;
	text = w->objects[object].name;
	for (size_t bytes = TARGET_NAME - 1; bytes > 0 && !*text; bytes /= 2)
		if (target_read(w->target, name->name, text, bytes) != 0)
			*text = 0; /* a short one at the end of its mapping */
	target_printable(text, TARGET_NAME);
	return 0;
}

static int read_names(struct waits *w, const struct target_runtime *runtime)
{
	uint64_t at = 0;
	int code = 0;

	if (!runtime->area.names)
		return 0;
	/* Read the head; the list may change meanwhile, and is then cut short. */
	at = read_word(w, runtime->area.names);
	for (unsigned i = 0; !code && at && i < WAITS_MAX_OBJECTS; i++) {
		struct area_name name;

		if (target_read(w->target, at, &name, sizeof(name)))
			break;
		code = add_named(w, &name);
		at = name.next;
	}
	return code;
}

int waits_read(struct target *target, struct waits *out)
{
	struct target_fibers *fibers = &out->fibers;
	int code;

	*out = (struct waits){ .target = target };
	code = target_fibers_read(target, fibers);
	if (!code)
		code = descriptors_read(target, &out->descriptors);
	out->more = fibers->more || out->descriptors.more;
	if (!code && fibers->count)
		qsort(fibers->list, fibers->count, sizeof(*fibers->list),
		      compare_fibers);
	for (unsigned i = 0; !code && i < target_runtimes(target); i++)
		code = read_names(out, target_runtime(target, i));
	for (unsigned i = 0; !code && i < fibers->count; i++) {
		const struct target_fiber *fiber = &fibers->list[i];
		struct target_party party = { .task = fiber->address };
		uint32_t object;

		if (!fiber->wait.address)
			continue;
		code = add_object(out, &fiber->wait, &object);
		if (!code)
			code = add_waiter(out, party, i, &fiber->wait, object);
	}
	if (!code)
		code = add_io(out);
	if (!code)
		code = add_selects(out);
	if (!code)
		code = add_threads(out);
	if (!code)
		link_waiters(out);
	if (!code)
		code = pools_read(target, &out->pools);
	return code;
}

void waits_free(struct waits *waits)
{
	target_fibers_free(&waits->fibers);
	descriptors_free(&waits->descriptors);
	free(waits->objects);
	free(waits->waiters);
	free(waits->cases);
	pools_free(&waits->pools);
	*waits = (struct waits){ .target = NULL };
}

/* ---- cycles --------------------------------------------------------------------- */

/* Did the waiter wait in the same way in an earlier reading? */
static bool waited(const struct waits *before,
		   const struct waits_waiter *waiter)
{
	uint32_t i = waits_find(before, waiter->party);
	const struct waits_waiter *was =
		i == WAITS_NOBODY ? NULL : &before->waiters[i];

	return was && was->wait.address == waiter->wait.address &&
	       was->wait.armed.object == waiter->wait.armed.object &&
	       was->wait.armed.since_ns == waiter->wait.armed.since_ns &&
	       same_party(was->on, waiter->on);
}

uint32_t waits_cycle(const struct waits *waits, uint32_t *first,
		     const struct waits *before)
{
	for (; *first < waits->waiter_count; (*first)++) {
		uint32_t at = *first, least = *first;
		bool real = true;

		/* A cycle is found at its least number. */
		for (unsigned steps = 0; steps < WAITS_MAX_CYCLE; steps++) {
			const struct waits_waiter *waiter = &waits->waiters[at];

			real &= !before || waited(before, waiter);
			at = waiter->next;
			if (at == WAITS_NOBODY || at <= least)
				break;
		}
		if (at == *first && real)
			return (*first)++;
	}
	return WAITS_NOBODY;
}

/* ---- objects -------------------------------------------------------------------- */

unsigned waits_sides(const struct waits_object *object)
{
	uint32_t kind = object->verb.kind;

	return kind == AREA_WAITS_SEND || kind == AREA_WAITS_RECEIVE ||
			       is_spsc(kind)
		       ? WAITS_SIDES
		       : 1;
}

struct waits_side waits_all(const struct waits_object *object)
{
	struct waits_side all = object->sides[0];

	for (unsigned i = 1; i < waits_sides(object); i++) {
		all.waiters += object->sides[i].waiters;
		waits_note_since(&all, object->sides[i].since_ns,
				 object->sides[i].oldest);
	}
	return all;
}
