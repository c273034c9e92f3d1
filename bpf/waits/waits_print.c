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

/* The states of a fiber that is not in a wait, after the kinds of waits. */
enum { QUEUED = AREA_WAITS_COUNT, RUNNING, WAKER, STATES };

static const char *const state_names[STATES - AREA_WAITS_COUNT] = { "queued",
								    "running",
								    "a waker" };

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

/* Nanoseconds since a time; 0: unknown. */
static uint64_t since(const struct waits *waits, uint64_t since_ns)
{
	return since_ns && since_ns < waits->fibers.at_ns
		       ? waits->fibers.at_ns - since_ns
		       : 0;
}

static const char *since_text(const struct waits *waits, uint64_t since_ns,
			      char *text)
{
	return since_ns ? text_time(text, (double)since(waits, since_ns)) : "-";
}

/* Write the object of a wait: "mutex accounts", "time". @text: 2 * TARGET_NAME bytes. */
static const char *what(const struct waits *waits,
			const struct target_wait *wait, uint32_t object,
			char *text)
{
	const char *kind = wait_kind_name(wait->verb.kind);
	char name[TARGET_NAME];

	if (object != WAITS_NOBODY)
		snprintf(text, 2 * TARGET_NAME, "%s %s", kind,
			 waits_object_name(waits, object, name));
	else if (wait->verb.kind == AREA_WAITS_TIME)
		snprintf(text, 2 * TARGET_NAME, "%s", kind);
	else
		snprintf(text, 2 * TARGET_NAME, "%s 0x%" PRIx64, kind,
			 wait->armed.object);
	return text;
}

const char *waits_fiber_state(const struct waits *waits, uint32_t fiber,
			      char *text)
{
	const struct target_fiber *it = &waits->fibers.list[fiber];
	char wait[2 * TARGET_NAME], time[32];
	uint32_t state = waits_fiber_kind(it), waiter;

	switch (state) {
	case RUNNING:
		snprintf(text, 3 * TARGET_NAME, "running on worker %u",
			 it->worker - 1);
		return text;
	case QUEUED:
		return strcpy(text, "queued");
	case WAKER:
		return strcpy(text, "waits for a waker");
	default:
		waiter = waits_find(
			waits, (struct target_party){ .task = it->address });
		snprintf(text, 3 * TARGET_NAME, "waits for %s, for %s",
			 what(waits, &it->wait,
			      waiter == WAITS_NOBODY
				      ? WAITS_NOBODY
				      : waits->waiters[waiter].object,
			      wait),
			 since_text(waits, it->wait.armed.since_ns, time));
		return text;
	}
}

/* ---- text ----------------------------------------------------------------------- */

/* Write the state of a holder. @text: 3 * TARGET_NAME bytes. */
static const char *holder_does(const struct waits *waits,
			       struct target_party holder, char *text)
{
	for (uint32_t i = 0; holder.task && i < waits->fibers.count; i++)
		if (waits->fibers.list[i].address == holder.task)
			return waits_fiber_state(waits, i, text);
	return "";
}

static void print_objects(const struct waits *waits)
{
	static const char *const titles[] = { "kind",    "object", "waiters",
					      "longest", "holder", "which",
					      NULL };
	struct table table;

	if (waits->object_count == 0)
		return;
	table_begin(&table, titles, "110011");
	for (uint32_t i = 0; i < waits->object_count; i++) {
		const struct waits_object *object = &waits->objects[i];
		char name[TARGET_NAME], party[2 * TARGET_NAME], time[32],
			does[3 * TARGET_NAME];
		bool held = object->holder.task || object->holder.thread;

		table_add(&table, "%s", wait_kind_name(object->verb.kind));
		table_add(&table, "%s", waits_object_name(waits, i, name));
		table_count(&table, object->waiters);
		table_add(&table, "%s",
			  since_text(waits, object->since_ns, time));
		table_add(&table, "%s",
			  held ? waits_party_name(waits, object->holder, party)
			       : "-");
		table_add(&table, "%s",
			  held ? holder_does(waits, object->holder, does) : "");
	}
	table_print(stdout, &table);
	printf("\n");
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
		uint32_t state = waits_fiber_kind(fiber);

		counts[state]++;
		if (state < AREA_WAITS_COUNT && since_ns &&
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
		table_add(&table, "%s", since_text(waits, oldest[state], time));
	}
	table_print(stdout, &table);
}

static void print_each(const struct waits *waits)
{
	printf("\n");
	for (uint32_t i = 0; i < waits->waiter_count; i++) {
		const struct waits_waiter *waiter = &waits->waiters[i];
		char party[2 * TARGET_NAME], wait[2 * TARGET_NAME], time[32];

		printf("%s waits for %s, for %s\n",
		       waits_party_name(waits, waiter->party, party),
		       what(waits, &waiter->wait, waiter->object, wait),
		       since_text(waits, waiter->wait.armed.since_ns, time));
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
				wait[2 * TARGET_NAME], time[32];

			printf("  %s waits for %s, for %s; it needs %s\n",
			       waits_party_name(waits, waiter->party, party),
			       what(waits, &waiter->wait, waiter->object, wait),
			       since_text(waits, waiter->wait.armed.since_ns,
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
	print_objects(waits);
	if (waits->fibers.count)
		print_fibers(waits);
	else
		printf("no fiber has a stack\n");
	if (each)
		print_each(waits);
	if (waits->more)
		printf("\nsome fibers, objects or waits are left out: there are "
		       "too many\n");
	print_deadlocks(waits, before, names);
}

/* ---- JSON ----------------------------------------------------------------------- */

static json_t *object_json(const struct waits *waits, uint32_t i)
{
	const struct waits_object *object = &waits->objects[i];
	char party[2 * TARGET_NAME], does[3 * TARGET_NAME];

	return json_pack("{s:o, s:s, s:s, s:o, s:o, s:s, s:s}", "address",
			 json_count(object->address), "name", object->name,
			 "kind", wait_kind_name(object->verb.kind), "waiters",
			 json_count(object->waiters), "longest_ns",
			 json_count(since(waits, object->since_ns)), "holder",
			 waits_party_name(waits, object->holder, party),
			 "holder_does",
			 holder_does(waits, object->holder, does));
}

static json_t *waiter_json(const struct waits *waits,
			   const struct waits_waiter *waiter)
{
	char party[2 * TARGET_NAME], on[2 * TARGET_NAME];

	return json_pack("{s:s, s:s, s:o, s:o, s:s}", "waiter",
			 waits_party_name(waits, waiter->party, party), "kind",
			 wait_kind_name(waiter->wait.verb.kind), "object",
			 json_count(waiter->wait.armed.object), "since_ns",
			 json_count(since(waits, waiter->wait.armed.since_ns)),
			 "needs", waits_party_name(waits, waiter->on, on));
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
		   json_pack("{s:i, s:b, s:i, s:b, s:o, s:o, s:o}", "pid",
			     (int)target_pid(waits->target), "known",
			     waits->fibers.known, "fibers",
			     (int)waits->fibers.count, "more", waits->more,
			     "objects", objects, "waiters", waiters,
			     "deadlocks", deadlocks_json(waits, before, names)),
		   0);
}
