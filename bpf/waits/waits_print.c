/* SPDX-License-Identifier: MIT */
/* waits_print.c - see waits_print.h */
#include "bpf/waits/waits_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/json.h"
#include "bpf/cli/sorted.h"
#include "bpf/cli/table.h"
#include "bpf/target/wait_kind.h"
#include "bpf/waits/waits_io.h"

/* The states of a fiber, after the kinds of waits: waits that the descriptor tells apart,
 * and states that are no waits. */
enum {
	IO_ACCEPT = AREA_WAITS_COUNT,
	IO_CONNECT,
	QUEUED,
	RUNNING,
	WAKER,
	STATES
};

static const char *const state_names[STATES - AREA_WAITS_COUNT] = {
	"descriptor, to accept", "descriptor, to connect", "queued", "running",
	"a waker"
};

uint32_t waits_fiber_kind(const struct target_fiber *fiber)
{
	const uint64_t runs = AREA_STATE_SCHEDULED | AREA_STATE_ACTIVE;

	if (fiber->worker)
		return RUNNING;
	if (fiber->state & runs)
		return QUEUED;
	return fiber->wait.address ? fiber->wait.verb.kind : WAKER;
}

static const char *state_name(uint32_t state)
{
	return state < AREA_WAITS_COUNT ? wait_kind_name(state)
					: state_names[state - AREA_WAITS_COUNT];
}

/* Write the object of a wait: "mutex accounts", "channel orders, to send", "time". @text:
 * WAITS_WHAT bytes. */
static const char *what(const struct waits *waits,
			const struct target_wait *wait, uint32_t object,
			uint32_t descriptor, char *text)
{
	const char *kind = wait_kind_name(wait->verb.kind);
	char name[TARGET_NAME];
	int noun = wait_kind_noun(wait->verb.kind);

	if (object != WAITS_NOBODY)
		snprintf(text, WAITS_WHAT, "%.*s %s%s", noun, kind,
			 waits_object_name(waits, object, name), kind + noun);
	else if (wait->verb.kind == AREA_WAITS_TIME)
		snprintf(text, WAITS_WHAT, "%s", kind);
	else if (wait->verb.kind == AREA_WAITS_SELECT)
		snprintf(text, WAITS_WHAT, "%s of %" PRIu64, kind,
			 wait->armed.amount);
	else if (descriptor != WAITS_NOBODY)
		waits_io_name(waits, descriptor,
			      wait->verb.kind == AREA_WAITS_IO_READ
				      ? DESCRIPTOR_READ
				      : DESCRIPTOR_WRITE,
			      text);
	else
		snprintf(text, WAITS_WHAT, "%s 0x%" PRIx64, kind,
			 wait->armed.object);
	return text;
}

static const char *what_of(const struct waits *waits,
			   const struct waits_waiter *waiter, char *text)
{
	return what(waits, &waiter->wait, waiter->object, waiter->descriptor,
		    text);
}

const char *waits_fiber_state(const struct waits *waits, uint32_t fiber,
			      char *text)
{
	const struct target_fiber *it = &waits->fibers.list[fiber];
	char wait[WAITS_WHAT], time[WAITS_FOR];
	uint32_t state = waits_fiber_kind(it), waiter;

	switch (state) {
	case RUNNING:
		snprintf(text, WAITS_STATE, "running on worker %u",
			 it->worker - 1);
		return text;
	case QUEUED:
		return strcpy(text, "queued");
	case WAKER:
		return strcpy(text, "waits for a waker");
	default:
		waiter = waits_find(
			waits, (struct target_party){ .task = it->address });
		snprintf(
			text, WAITS_STATE, "waits for %s%s",
			waiter == WAITS_NOBODY
				? what(waits, &it->wait, WAITS_NOBODY,
				       WAITS_NOBODY, wait)
				: what_of(waits, &waits->waiters[waiter], wait),
			waits_for_text(waits, it->wait.armed.since_ns, time));
		return text;
	}
}

/* ---- text ----------------------------------------------------------------------- */

/* Write the state of a holder. @text: WAITS_STATE bytes. */
static const char *holder_does(const struct waits *waits,
			       struct target_party holder, char *text)
{
	for (uint32_t i = 0; holder.task && i < waits->fibers.count; i++)
		if (waits->fibers.list[i].address == holder.task)
			return waits_fiber_state(waits, i, text);
	return "";
}

static bool is_channel(const struct waits_object *object)
{
	return wait_kind_is_channel(object->verb.kind);
}

/* Is it in the first table? Pools of threads have a table of their own. */
static bool is_lock(const struct waits_object *object)
{
	return !is_channel(object) && object->verb.kind != AREA_WAITS_BLOCKING;
}

/* The number of objects in a table. */
static uint32_t count_objects(const struct waits *waits,
			      bool (*in_table)(const struct waits_object *))
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < waits->object_count; i++)
		count += in_table(&waits->objects[i]);
	return count;
}

static void add_lock(struct table *table, const struct waits *waits, uint32_t i)
{
	const struct waits_object *object = &waits->objects[i];
	char name[TARGET_NAME], party[2 * TARGET_NAME], time[32],
		does[WAITS_STATE];
	bool held = object->holder.task || object->holder.thread;

	table_add(table, "%s", wait_kind_name(object->verb.kind));
	table_add(table, "%s", waits_object_name(waits, i, name));
	table_count(table, object->sides[0].waiters);
	table_add(table, "%s",
		  waits_since_text(waits, object->sides[0].since_ns, time));
	table_add(table, "%s",
		  held ? waits_party_name(waits, object->holder, party) : "-");
	table_add(table, "%s",
		  held ? holder_does(waits, object->holder, does) : "");
}

static void print_locks(const struct waits *waits)
{
	static const char *const titles[] = { "kind",    "object", "waiters",
					      "longest", "holder", "which",
					      NULL };
	struct table table;

	if (count_objects(waits, is_lock) == 0)
		return;
	table_begin(&table, titles, "110011");
	for (uint32_t i = 0; i < waits->object_count; i++)
		if (is_lock(&waits->objects[i]))
			add_lock(&table, waits, i);
	table_print(stdout, &table);
	printf("\n");
}

/* ---- text: channels --------------------------------------------------------------- */

/* The kind of an object, without how it is waited for. @text: TARGET_NAME bytes */
static const char *noun(const struct waits_object *object, char *text)
{
	uint32_t kind = object->verb.kind;

	snprintf(text, TARGET_NAME, "%.*s", wait_kind_noun(kind),
		 wait_kind_name(kind));
	return text;
}

/* Write the contents of an object of skua/channel.h: "4 of 4". @text: 2 *
 * TARGET_NAME bytes */
static const char *contents(const struct waits_object *object, char *text)
{
	const struct channel_state *state = &object->channel;
	char items[32], capacity[32];

	text_count(items, state->items);
	text_count(capacity, state->capacity);
	if (!state->known)
		return "-";
	if (object->verb.kind == AREA_WAITS_BROADCAST)
		snprintf(text, 2 * TARGET_NAME, "%s sent", items);
	else if (object->verb.kind == AREA_WAITS_WATCH)
		snprintf(text, 2 * TARGET_NAME, "version %s", items);
	else if (object->verb.kind == AREA_WAITS_ONESHOT)
		return state->taken   ? "taken"
		       : state->items ? "a value"
				      : "nothing";
	else
		snprintf(text, 2 * TARGET_NAME, "%s of %s", items, capacity);
	return text;
}

static void add_side(struct table *table, const struct waits *waits,
		     const struct waits_object *object, unsigned side)
{
	static const char *const names[] = { "receivers", "senders" };
	const struct waits_side *it = &object->sides[side];
	bool any = it->oldest.task || it->oldest.thread;
	char time[32], party[2 * TARGET_NAME];

	table_add(table, "%s", names[side]);
	table_count(table, it->waiters);
	table_add(table, "%s", waits_since_text(waits, it->since_ns, time));
	table_add(table, "%s",
		  any ? waits_party_name(waits, it->oldest, party) : "-");
}

static void add_channel(struct table *table, const struct waits *waits,
			uint32_t i)
{
	const struct waits_object *object = &waits->objects[i];
	char name[TARGET_NAME], text[2 * TARGET_NAME];

	table_add(table, "%s", noun(object, text));
	table_add(table, "%s", waits_object_name(waits, i, name));
	table_add(table, "%s",
		  !object->channel.known   ? "-"
		  : object->channel.closed ? "closed"
					   : "open");
	table_add(table, "%s", contents(object, text));
	add_side(table, waits, object, WAITS_RECEIVERS);
	for (unsigned side = 1; side < waits_sides(object); side++) {
		for (unsigned column = 0; column < 4; column++)
			table_add(table, "%s", "");
		add_side(table, waits, object, side);
	}
}

static void print_channels(const struct waits *waits)
{
	static const char *const titles[] = { "kind",    "object",   "state",
					      "has",     "side",     "waiters",
					      "longest", "of which", NULL };
	struct table table;

	if (count_objects(waits, is_channel) == 0)
		return;
	table_begin(&table, titles, "11111001");
	for (uint32_t i = 0; i < waits->object_count; i++)
		if (is_channel(&waits->objects[i]))
			add_channel(&table, waits, i);
	table_print(stdout, &table);
	printf("\n");
}

/* ---- text: fibers and waiters ------------------------------------------------------ */

/* waits_fiber_kind(), with what a fiber wants of its descriptor. */
static uint32_t fiber_state(const struct waits *waits,
			    const struct target_fiber *fiber)
{
	uint32_t state = waits_fiber_kind(fiber), waiter, descriptor;

	if (!wait_kind_is_io(state))
		return state;
	waiter = waits_find(waits,
			    (struct target_party){ .task = fiber->address });
	descriptor = waiter == WAITS_NOBODY ? WAITS_NOBODY
					    : waits->waiters[waiter].descriptor;
	if (descriptor == WAITS_NOBODY)
		return state;
	if (state == AREA_WAITS_IO_READ)
		return waits->descriptors.list[descriptor].socket.listens
			       ? IO_ACCEPT
			       : state;
	return waits->descriptors.list[descriptor].connecting ? IO_CONNECT
							      : state;
}

static void print_fibers(const struct waits *waits)
{
	static const char *const titles[] = { "fibers", "wait for", "longest",
					      NULL };
	uint64_t counts[STATES] = { 0 }, oldest[STATES] = { 0 };
	struct table table;

	for (uint32_t i = 0; i < waits->fibers.count; i++) {
		const struct target_fiber *fiber = &waits->fibers.list[i];
		uint64_t since_ns = fiber->wait.armed.since_ns;
		uint32_t state = fiber_state(waits, fiber);

		counts[state]++;
		if (state < QUEUED && since_ns &&
		    (!oldest[state] || since_ns < oldest[state]))
			oldest[state] = since_ns;
	}
	table_begin(&table, titles, "010");
	for (uint32_t state = 1; state < STATES; state++) {
		char time[32];

		if (!counts[state])
			continue;
		table_count(&table, counts[state]);
		table_add(&table, "%s", state_name(state));
		table_add(&table, "%s",
			  waits_since_text(waits, oldest[state], time));
	}
	table_print(stdout, &table);
}

/* Print what a select waits for. */
static void print_cases(const struct waits *waits,
			const struct waits_waiter *waiter)
{
	char text[WAITS_WHAT];

	for (uint32_t i = 0; i < waiter->case_count; i++) {
		const struct waits_case *it =
			&waits->cases[waiter->first_case + i];

		printf("    %s\n", what(waits, &it->wait, it->object,
					it->descriptor, text));
	}
}

static void print_each(const struct waits *waits)
{
	printf("\n");
	for (uint32_t i = 0; i < waits->waiter_count; i++) {
		const struct waits_waiter *waiter = &waits->waiters[i];
		char party[2 * TARGET_NAME], wait[WAITS_WHAT], time[WAITS_FOR];

		printf("%s waits for %s%s%s\n",
		       waits_party_name(waits, waiter->party, party),
		       what_of(waits, waiter, wait),
		       waits_for_text(waits, waiter->wait.armed.since_ns, time),
		       waiter->done ? ", although it is done" : "");
		print_cases(waits, waiter);
	}
}

static void print_stack(const struct waits *waits, struct flame_names *names,
			uint32_t fiber)
{
	struct flame_function functions[STACK_FRAMES];

	if (fiber != WAITS_NOBODY)
		stack_print(names, functions,
			    stack_read(waits->target, names,
				       &waits->fibers.list[fiber], functions));
}

static void print_deadlocks(const struct waits *waits,
			    const struct waits *before,
			    struct flame_names *names)
{
	uint32_t next = 0, first;

	while ((first = waits_cycle(waits, &next, before)) != WAITS_NOBODY) {
		uint32_t at = first;

		printf("\ndeadlock:\n");
		do {
			const struct waits_waiter *waiter = &waits->waiters[at];
			char party[2 * TARGET_NAME], on[2 * TARGET_NAME],
				wait[WAITS_WHAT], time[WAITS_FOR];

			printf("  %s waits for %s%s; it needs %s\n",
			       waits_party_name(waits, waiter->party, party),
			       what_of(waits, waiter, wait),
			       waits_for_text(waits,
					      waiter->wait.armed.since_ns,
					      time),
			       waits_party_name(waits, waiter->on, on));
			print_stack(waits, names, waiter->fiber);
			at = waiter->next;
		} while (at != first);
	}
}

void waits_text(const struct waits *waits, const struct waits *before,
		struct flame_names *names, bool each)
{
	if (!waits->fibers.known) {
		printf("The library of this process does not tell of its "
		       "fibers: it is older than skua 0.2\n");
		return;
	}
	print_locks(waits);
	print_channels(waits);
	waits_io_text(waits);
	waits_io_pools_text(waits);
	if (waits->fibers.count)
		print_fibers(waits);
	else
		printf("no fiber has a stack; skua tasks shows tasks that are "
		       "no fibers\n");
	if (each)
		print_each(waits);
	if (waits->done)
		printf("\n%u task%s done, and still wait%s: the last poll left a "
		       "wait armed; what it is granted is lost\n",
		       waits->done, waits->done == 1 ? " is" : "s are",
		       waits->done == 1 ? "s" : "");
	if (waits->descriptors.nameless)
		printf("\nsome sockets have no address here: there are too "
		       "many in the network namespace of the process\n");
	if (waits->more)
		printf("\nsome fibers, objects or waits are left out: there are "
		       "too many\n");
	print_deadlocks(waits, before, names);
}

/* ---- JSON ----------------------------------------------------------------------- */

static json_t *side_json(const struct waits *waits,
			 const struct waits_side *side)
{
	char party[2 * TARGET_NAME];

	return json_pack(
		"{s:o, s:o, s:s}", "waiters", json_count(side->waiters),
		"longest_ns", json_count(waits_since(waits, side->since_ns)),
		"of_which", waits_party_name(waits, side->oldest, party));
}

/* Add what an object of skua/channel.h has in addition. */
static void add_channel_json(json_t *to, const struct waits *waits,
			     const struct waits_object *object)
{
	const struct channel_state *state = &object->channel;

	json_object_set_new(
		to, "state",
		!state->known ? json_null()
			      : json_string(state->closed ? "closed" : "open"));
	json_object_set_new(to, "items", json_count(state->items));
	json_object_set_new(to, "capacity", json_count(state->capacity));
	json_object_set_new(to, "taken", json_boolean(state->taken));
	json_object_set_new(to, "receivers",
			    side_json(waits, &object->sides[WAITS_RECEIVERS]));
	if (waits_sides(object) > 1)
		json_object_set_new(
			to, "senders",
			side_json(waits, &object->sides[WAITS_SENDERS]));
}

static json_t *object_json(const struct waits *waits, uint32_t i)
{
	const struct waits_object *object = &waits->objects[i];
	struct waits_side all = waits_all(object);
	char party[2 * TARGET_NAME], does[WAITS_STATE], text[TARGET_NAME];
	json_t *json = json_pack(
		"{s:o, s:s, s:s, s:o, s:o, s:s, s:s}", "address",
		json_count(object->address), "name", object->name, "kind",
		is_channel(object) ? noun(object, text)
				   : wait_kind_name(object->verb.kind),
		"waiters", json_count(all.waiters), "longest_ns",
		json_count(waits_since(waits, all.since_ns)), "holder",
		waits_party_name(waits, object->holder, party), "holder_does",
		holder_does(waits, object->holder, does));

	if (is_channel(object))
		add_channel_json(json, waits, object);
	return json;
}

static json_t *cases_json(const struct waits *waits,
			  const struct waits_waiter *waiter)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < waiter->case_count; i++) {
		const struct target_wait *wait =
			&waits->cases[waiter->first_case + i].wait;

		json_array_append_new(
			array,
			json_pack("{s:s, s:o}", "kind",
				  wait_kind_name(wait->verb.kind), "object",
				  json_count(wait->armed.object)));
	}
	return array;
}

static json_t *waiter_json(const struct waits *waits,
			   const struct waits_waiter *waiter)
{
	char party[2 * TARGET_NAME], on[2 * TARGET_NAME];
	json_t *json = json_pack(
		"{s:s, s:s, s:o, s:o, s:s, s:b}", "waiter",
		waits_party_name(waits, waiter->party, party), "kind",
		wait_kind_name(waiter->wait.verb.kind), "object",
		json_count(waiter->wait.armed.object), "since_ns",
		json_count(waits_since(waits, waiter->wait.armed.since_ns)),
		"needs", waits_party_name(waits, waiter->on, on), "done",
		waiter->done);

	if (waiter->wait.verb.kind == AREA_WAITS_SELECT)
		json_object_set_new(json, "cases", cases_json(waits, waiter));
	return json;
}

static json_t *stack_json(const struct waits *waits, struct flame_names *names,
			  uint32_t fiber)
{
	struct flame_function functions[STACK_FRAMES];
	json_t *array = json_array();
	unsigned count =
		fiber == WAITS_NOBODY
			? 0
			: stack_read(waits->target, names,
				     &waits->fibers.list[fiber], functions);

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(array, json_string(functions[i].name));
	return array;
}

static json_t *deadlocks_json(const struct waits *waits,
			      const struct waits *before,
			      struct flame_names *names)
{
	json_t *cycles = json_array();
	uint32_t next = 0, first;

	while ((first = waits_cycle(waits, &next, before)) != WAITS_NOBODY) {
		json_t *cycle = json_array();
		uint32_t at = first;

		do {
			const struct waits_waiter *waiter = &waits->waiters[at];
			json_t *one = waiter_json(waits, waiter);

			json_object_set_new(
				one, "stack",
				stack_json(waits, names, waiter->fiber));
			json_array_append_new(cycle, one);
			at = waiter->next;
		} while (at != first);
		json_array_append_new(cycles, cycle);
	}
	return cycles;
}

void waits_json(const struct waits *waits, const struct waits *before,
		struct flame_names *names)
{
	json_t *objects = json_array(), *waiters = json_array();

	for (uint32_t i = 0; i < waits->object_count; i++)
		json_array_append_new(objects, object_json(waits, i));
	for (uint32_t i = 0; i < waits->waiter_count; i++)
		json_array_append_new(waiters,
				      waiter_json(waits, &waits->waiters[i]));
	json_print(stdout,
		   json_pack("{s:i, s:b, s:i, s:b, s:o, s:o, s:o, s:o, s:o}",
			     "pid", (int)target_pid(waits->target), "known",
			     waits->fibers.known, "fibers",
			     (int)waits->fibers.count, "more", waits->more,
			     "objects", objects, "descriptors",
			     waits_io_json(waits), "blocking",
			     waits_io_pools_json(waits), "waiters", waiters,
			     "deadlocks", deadlocks_json(waits, before, names)),
		   0);
}
