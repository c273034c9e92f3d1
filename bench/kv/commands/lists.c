/* SPDX-License-Identifier: MIT */
/* lists.c - commands on lists */
#include "bench/kv/commands/command.h"

#include <stdlib.h>

/* Find the list of the first key. Return: false: it is no list, and the reply is an
 * error. *@out: NULL: there is no key. */
static bool find_list(struct call *call, struct entry **out)
{
	struct entry **entry = call_find(call);

	*out = entry ? *entry : NULL;
	if (!entry || (*entry)->kind == ENTRY_LIST)
		return true;
	call_wrong_type(call);
	return false;
}

/* ---- LPUSH and RPUSH -------------------------------------------------------------- */

static void push(struct call *call, bool head)
{
	struct entry *entry, *made = NULL;
	size_t before = 0;
	bool pushed = true;

	if (!find_list(call, &entry))
		return;
	if (entry)
		before = entry_memory(entry);
	else
		entry = made = entry_create_list(call->key.bytes);
	for (size_t i = 2; i < call->argc && entry && pushed; i++)
		pushed = list_push(entry->list, head, call->argv[i]);
	if (made && (!pushed || !store_add(call->store, &call->key, made))) {
		entry_free(made);
		entry = NULL;
	}
	if (entry && !made)
		store_changed(call->store, &call->key, entry, before);
	if (entry && pushed)
		reply_number(call->reply, (int64_t)entry->list->count);
	else
		call_no_memory(call);
}

void run_lpush(struct call *call)
{
	push(call, true);
}

void run_rpush(struct call *call)
{
	push(call, false);
}

/* ---- LPOP and RPOP ---------------------------------------------------------------- */

static void pop_some(struct call *call, struct entry *entry, bool head,
		     size_t count)
{
	size_t before = entry_memory(entry);

	while (count--) {
		struct list_item *item = list_pop(entry->list, head);

		reply_bulk(call->reply, item->data, item->size);
		free(item);
	}
	store_changed(call->store, &call->key, entry, before);
	if (!entry->list->count)
		store_remove(call->store, &call->key, NULL);
}

static void pop(struct call *call, bool head)
{
	struct entry *entry;
	int64_t count = 1;

	if (call->argc > 3) {
		call_arity_error(call->reply, call->command);
		return;
	}
	if (call->argc == 3 &&
	    (!number_parse(call->argv[2], &count) || count < 0)) {
		REPLY_TEXT(call->reply,
			   "-ERR value is out of range, must be positive");
		return;
	}
	if (!find_list(call, &entry))
		return;
	if (!entry && call->argc == 2) {
		reply_null(call->reply);
	} else if (!entry) {
		reply_null_array(call->reply);
	} else {
		if ((uint64_t)count > entry->list->count)
			count = (int64_t)entry->list->count;
		if (call->argc == 3)
			reply_array(call->reply, (size_t)count);
		if (count)
			pop_some(call, entry, head, (size_t)count);
	}
}

void run_lpop(struct call *call)
{
	pop(call, true);
}

void run_rpop(struct call *call)
{
	pop(call, false);
}

/* ---- LLEN and LRANGE -------------------------------------------------------------- */

void run_llen(struct call *call)
{
	struct entry *entry;

	if (find_list(call, &entry))
		reply_number(call->reply,
			     entry ? (int64_t)entry->list->count : 0);
}

void run_lrange(struct call *call)
{
	int64_t first, last, count;
	struct list_place place;
	struct entry *entry;

	if (!call_number(call, 2, &first) || !call_number(call, 3, &last) ||
	    !find_list(call, &entry))
		return;
	count = entry ? (int64_t)entry->list->count : 0;
	if (first < 0)
		first = first + count < 0 ? 0 : first + count;
	if (last < 0)
		last += count;
	if (last >= count)
		last = count - 1;
	if (first > last || first >= count) {
		reply_array(call->reply, 0);
		return;
	}
	reply_array(call->reply, (size_t)(last - first + 1));
	place = list_seek(entry->list, (size_t)first);
	for (; first <= last; first++) {
		const struct list_item *item = list_next(&place);

		reply_bulk(call->reply, item->data, item->size);
	}
}
