/* SPDX-License-Identifier: MIT */
/* object_names.c - see object_names.h */
#include "bpf/recording/object_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/cli/grow.h"
#include "bpf/target/target_text.h"
#include "bpf/target/wait_kind.h"

/* Locks and holders beyond this number get no name, and names of locks beyond that are not
 * read: a process may have any number. A reader of the file accepts twice as many names, of
 * all kinds. */
#define MAX_KNOWN OBJECT_NAMES_MAX
#define MAX_READS 65536u

/* ---- the names of locks ---------------------------------------------------- */

static uint64_t read_word(struct target *target, uint64_t address)
{
	uint64_t word = 0;

	return target_read(target, address, &word, sizeof(word)) ? 0 : word;
}

/* Keep the names that were read, the latest of a lock: they come first in the list. */
static int keep_names(struct object_names *n, const struct address *names,
		      size_t count)
{
	int code = 0;

	while (!code && count-- > 0)
		code = addresses_put(&n->named, &names[count]);
	return code;
}

/* Read the names that a runtime has got since the last time: they come first in its list.
 * If the one that was the first is gone, all are read again. */
static int read_list(struct object_names *n, struct target *target,
		     struct object_names_head *head, uint64_t list)
{
	uint64_t at = read_word(target, list);
	uint64_t last = head->list == list ? head->first : 0;
	struct address *names = NULL;
	size_t count = 0, room = 0;
	int code = 0;

	*head = (struct object_names_head){ list, at };
	n->reads++;
	/* The list may change meanwhile, and is then cut short. */
	while (!code && at && at != last && n->reads++ < MAX_READS) {
		struct area_name name;

		if (target_read(target, at, &name, sizeof(name)))
			break;
		if (!grow(&names, sizeof(*names), count, &room)) {
			code = -ENOMEM;
			break;
		}
		names[count++] = (struct address){ .address = name.object,
						   .number = name.name };
		at = name.next;
	}
	if (!code)
		code = keep_names(n, names, count);
	free(names);
	return code;
}

static int read_lists(struct object_names *n, struct target *target)
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

/* Find the name that the program gave a lock, the latest one if it has several. @text:
 * empty if it has none. */
static int name_lock(struct object_names *n, struct target *target,
		     uint64_t object, char *text)
{
	int code = read_lists(n, target);
	struct address name;

	text[0] = '\0';
	if (!code && addresses_find(&n->named, object, &name))
		target_text(target, name.number, text);
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
	uint64_t type, poll;

	target_task(target, runtime, task, &type, &poll);
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

/* The kind of name that an event needs; TRACE_NAME_FUNCTION: none of these. */
static enum trace_name_of name_of(const struct event *e)
{
	switch (e->kind) {
	case EVENT_HELD:
		return TRACE_NAME_HOLDER;
	case EVENT_LABEL:
		return TRACE_NAME_LABEL;
	case EVENT_WAIT:
		return wait_kind_is_object(e->detail) ? TRACE_NAME_OBJECT
						      : TRACE_NAME_FUNCTION;
	default:
		return TRACE_NAME_FUNCTION;
	}
}

int object_names_write(struct object_names *n, struct target *target,
		       const struct target_runtime *runtime,
		       struct trace_writer *writer, const struct event *e)
{
	enum trace_name_of of = name_of(e);
	struct address entry = { .address = of == TRACE_NAME_HOLDER ? e->a
								    : e->b };
	char text[TARGET_NAME];
	int code = 0;

	if (of == TRACE_NAME_FUNCTION || !runtime || entry.address == 0 ||
	    addresses_has(&n->known, entry.address))
		return 0;
	if (n->known.count >= MAX_KNOWN) {
		n->more = true;
		return 0;
	}
	if (of == TRACE_NAME_OBJECT)
		code = name_lock(n, target, entry.address, text);
	else if (of == TRACE_NAME_LABEL)
		target_text(target, entry.address, text);
	else
		name_holder(target, runtime, entry.address, text);
	if (!code)
		code = addresses_put(&n->known, &entry);
	if (code || !text[0])
		return code;
	return trace_write_name(writer, of, entry.address, text);
}

void object_names_free(struct object_names *n)
{
	addresses_free(&n->known);
	addresses_free(&n->named);
	*n = (struct object_names){ .reads = 0 };
}
