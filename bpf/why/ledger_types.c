/* SPDX-License-Identifier: MIT */
/* ledger_types.c - chooses tasks by their types and labels */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/why/ledger_parts.h"

/* Is a name that of the type of a task or, with @labels, of the label of one? Jobs have names as
 * well. */
static bool is_of_task(const struct ledger *l, uint32_t name, bool labels)
{
	for (size_t i = 0; i < l->count; i++)
		if ((labels ? l->items[i].label : l->items[i].name) == name)
			return true;
	for (unsigned i = 0; i < l->unfinished_count; i++)
		if ((labels ? l->unfinished[i].label : l->unfinished[i].name) ==
		    name)
			return true;
	return false;
}

/* Is @text the type of a task, its label, or both as "type (label)"? */
static bool is_chosen(const struct ledger *l, uint32_t name, uint32_t label,
		      const char *text)
{
	char both[LEDGER_WHO];

	if (name < l->name_count && strcmp(l->names[name], text) == 0)
		return true;
	return label < l->name_count &&
	       (strcmp(l->names[label], text) == 0 ||
		strcmp(ledger_task(l, name, label, both), text) == 0);
}

int ledger_keep_type(struct ledger *l, const char *text)
{
	size_t kept = 0;
	bool found = false;

	for (unsigned i = 0; i < l->unfinished_count; i++)
		found |= is_chosen(l, l->unfinished[i].name,
				   l->unfinished[i].label, text);
	for (size_t i = 0; i < l->count; i++)
		kept += is_chosen(l, l->items[i].name, l->items[i].label, text);
	if (kept == 0 && !found)
		return -ENOENT;
	kept = 0;
	for (size_t i = 0; i < l->count; i++)
		if (is_chosen(l, l->items[i].name, l->items[i].label, text))
			l->items[kept++] = l->items[i];
	l->count = kept;
	return 0;
}

/* Add the names of types, or labels, to a text; @before: what precedes the first. */
static void list_names(const struct ledger *l, bool labels, const char *before,
		       char *text, size_t bytes)
{
	size_t used = strlen(text);

	for (uint32_t i = 0; i < l->name_count; i++) {
		size_t needed =
			strlen(before) + strlen(l->names[i]) + sizeof(", ...");

		if (!is_of_task(l, i, labels))
			continue;
		if (used + needed > bytes) {
			snprintf(text + used, bytes - used, ", ...");
			return;
		}
		used += (size_t)snprintf(text + used, bytes - used, "%s%s",
					 before, l->names[i]);
		before = ", ";
	}
}

void ledger_list_types(const struct ledger *l, char *text, size_t bytes)
{
	text[0] = '\0';
	list_names(l, false, "", text, bytes);
	list_names(l, true, "; labels: ", text, bytes);
}
