/* SPDX-License-Identifier: MIT */
/* lock_names.c - see lock_names.h */
#include "bpf/recording/lock_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/cli/grow.h"
#include "bpf/target/target_memory.h"
#include "bpf/target/wait_kind.h"

/* Locks and holders beyond this number get no name, and names beyond that are not read: a
 * process may have any number, and each read counts against its budget
 * (target_budget.h). */
#define MAX_KNOWN 4096u
#define MAX_READS 8192u

struct lock_name {
	uint64_t object;
	uint64_t name; /* address of its text */
};

/* ---- the names of locks ---------------------------------------------------- */

static uint64_t read_word(struct target *target, uint64_t address)
{
	uint64_t word = 0;

	return target_read(target, address, &word, sizeof(word)) ? 0 : word;
}

static void latest_last(struct lock_name *names, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct lock_name first = names[i];

		names[i] = names[count - 1 - i];
		names[count - 1 - i] = first;
	}
}

/* Read the names that a runtime has got since the last time: they come first in its list.
 * If the one that was the first is gone, all are read again. */
static int read_list(struct lock_names *n, struct target *target,
		     struct lock_names_head *head, uint64_t list)
{
	uint64_t at = read_word(target, list);
	uint64_t last = head->list == list ? head->first : 0;
	size_t begin = n->count;

	*head = (struct lock_names_head){ list, at };
	n->reads++;
	/* The list may change meanwhile, and is then cut short. */
	while (at && at != last && n->reads++ < MAX_READS) {
		struct area_name name;

		if (target_read(target, at, &name, sizeof(name)))
			break;
		if (!grow(&n->named, sizeof(*n->named), n->count, &n->room))
			return -ENOMEM;
		n->named[n->count++] =
			(struct lock_name){ name.object, name.name };
		at = name.next;
	}
	latest_last(n->named + begin, n->count - begin);
	return 0;
}

static int read_lists(struct lock_names *n, struct target *target)
{
	int code = 0;

	for (unsigned i = 0; !code && i < target_runtimes(target) &&
			     i < TARGET_MAX_RUNTIMES && n->reads < MAX_READS;
	     i++) {
		const struct target_runtime *runtime =
			target_runtime(target, i);

		if (runtime->area.names)
			code = read_list(n, target, &n->heads[i],
					 runtime->area.names);
	}
	return code;
}

static void read_text(struct target *target, uint64_t address, char *text)
{
	text[0] = '\0';
	/* A short one may be at the end of its mapping. */
	for (size_t bytes = TARGET_NAME - 1; bytes > 0 && !*text; bytes /= 2)
		if (target_read(target, address, text, bytes) != 0)
			text[0] = '\0';
	target_printable(text, TARGET_NAME);
}

/* Find the name that the program gave a lock, the latest one if it has several. @text:
 * empty if it has none. */
static int name_lock(struct lock_names *n, struct target *target,
		     uint64_t object, char *text)
{
	int code = read_lists(n, target);

	text[0] = '\0';
	for (size_t i = n->count; !code && i > 0 && !*text; i--)
		if (n->named[i - 1].object == object)
			read_text(target, n->named[i - 1].name, text);
	return code;
}

/* ---- the names of holders -------------------------------------------------- */

static void name_thread(struct target *target, uint64_t address, char *text)
{
	struct area_thread area;
	pid_t tid = 0;

	if (target_read(target, address, &area, sizeof(area)) == 0)
		tid = target_thread(target, area.tid);
	if (tid)
		snprintf(text, TARGET_NAME, TRACE_HOLDER_THREAD "%d", (int)tid);
}

static void name_task(struct target *target,
		      const struct target_runtime *runtime, uint64_t task,
		      char *text)
{
	uint64_t type = read_word(target, task + runtime->task_type);
	uint64_t poll = read_word(target, task + runtime->task_poll);

	if (type || poll)
		target_name(target, type, poll, text);
}

static void name_holder(struct target *target,
			const struct target_runtime *runtime, uint64_t holder,
			char *text)
{
	text[0] = '\0';
	if (holder & AREA_HOLDER_THREAD)
		name_thread(target, holder & ~AREA_HOLDER_THREAD, text);
	else
		name_task(target, runtime, holder, text);
}

/* ---- both -------------------------------------------------------------------- */

int lock_names_write(struct lock_names *n, struct target *target,
		     const struct target_runtime *runtime,
		     struct trace_writer *writer, const struct event *e)
{
	bool lock = e->kind == EVENT_WAIT && wait_kind_is_lock(e->detail);
	struct address entry = { .address = lock ? e->b : e->a };
	char text[TARGET_NAME];
	int code = 0;

	if ((!lock && e->kind != EVENT_HELD) || !runtime ||
	    entry.address == 0 || n->known.count >= MAX_KNOWN ||
	    addresses_has(&n->known, entry.address))
		return 0;
	if (lock)
		code = name_lock(n, target, entry.address, text);
	else
		name_holder(target, runtime, entry.address, text);
	if (!code)
		code = addresses_put(&n->known, &entry);
	if (code || !text[0])
		return code;
	return trace_write_name(writer,
				lock ? TRACE_NAME_OBJECT : TRACE_NAME_HOLDER,
				entry.address, text);
}

void lock_names_free(struct lock_names *n)
{
	addresses_free(&n->known);
	free(n->named);
	*n = (struct lock_names){ .count = 0 };
}
