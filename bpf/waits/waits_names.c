/* SPDX-License-Identifier: MIT */
/* waits_names.c - times, objects, tasks and threads as text: see waits.h */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bpf/cli/table.h"
#include "bpf/waits/waits.h"

uint64_t waits_since(const struct waits *waits, uint64_t since_ns)
{
	return since_ns && since_ns < waits->fibers.at_ns
		       ? waits->fibers.at_ns - since_ns
		       : 0;
}

const char *waits_since_text(const struct waits *waits, uint64_t since_ns,
			     char *text)
{
	return since_ns ? text_time(text, (double)waits_since(waits, since_ns))
			: strcpy(text, "-");
}

const char *waits_for_text(const struct waits *waits, uint64_t since_ns,
			   char *text)
{
	char time[32];

	if (since_ns)
		snprintf(text, WAITS_FOR, ", for %s",
			 waits_since_text(waits, since_ns, time));
	else
		*text = '\0';
	return text;
}

const char *waits_object_name(const struct waits *waits, uint32_t object,
			      char *text)
{
	const struct waits_object *it = &waits->objects[object];

	if (it->name[0])
		snprintf(text, TARGET_NAME, "%s", it->name);
	else
		snprintf(text, TARGET_NAME, "0x%" PRIx64, it->address);
	return text;
}

/* Name the type or function of a task. */
static void name_type(const struct waits *waits, uint64_t task, char *text)
{
	struct target_party party = { .task = task };
	uint32_t i = waits_find_fiber(waits, party);
	char name[TARGET_NAME] = "";
	uint64_t type, fn;

	if (i != WAITS_NOBODY) {
		type = waits->fibers.list[i].type;
		fn = waits->fibers.list[i].fn;
	} else {
		target_task(waits->target, target_runtime(waits->target, 0),
			    task, &type, &fn);
	}
	if (type || fn)
		target_name(waits->target, type, fn, name);
	snprintf(text, 2 * TARGET_NAME, "%s%s%s",
		 i != WAITS_NOBODY ? "fiber" : "task", *name ? " " : "", name);
}

static void name_thread(const struct waits *waits, uint64_t thread, char *text)
{
	struct area_thread area = { 0 };
	pid_t tid = 0;

	if (target_read(waits->target, thread, &area, sizeof(area)) == 0)
		tid = target_thread(waits->target, area.tid);
	if (tid)
		snprintf(text, 2 * TARGET_NAME, "thread %d", (int)tid);
	else
		snprintf(text, 2 * TARGET_NAME, "a thread that is gone");
}

const char *waits_party_name(const struct waits *waits,
			     struct target_party party, char *text)
{
	size_t length;

	if (party.thread) {
		name_thread(waits, party.thread, text);
		return text;
	}
	waits_party_type(waits, party, text);
	length = strlen(text);
	if (party.task)
		snprintf(text + length, 2 * TARGET_NAME - length, " 0x%" PRIx64,
			 party.task);
	return text;
}

const char *waits_party_type(const struct waits *waits,
			     struct target_party party, char *text)
{
	if (party.task)
		name_type(waits, party.task, text);
	else
		strcpy(text, party.thread ? "thread" : "nobody");
	return text;
}
