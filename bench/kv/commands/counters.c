/* SPDX-License-Identifier: MIT */
/* counters.c - commands on strings that are integers */
#include "bench/kv/commands/command.h"

static void add_to(struct call *call, struct entry *entry, int64_t by)
{
	size_t before = entry_memory(entry);
	int64_t value;

	if (!entry_number(entry, &value)) {
		REPLY_TEXT(call->reply,
			   "-ERR value is not an integer or out of range");
		return;
	}
	if (__builtin_add_overflow(value, by, &value)) {
		REPLY_TEXT(call->reply,
			   "-ERR increment or decrement would overflow");
		return;
	}
	entry_set_number(entry, value);
	store_changed(call->store, &call->key, entry, before);
	reply_number(call->reply, value);
}

static void add_new(struct call *call, int64_t by)
{
	struct entry *entry = entry_create(call->key.bytes, 0);

	if (entry) {
		entry_set_number(entry, by);
		if (store_add(call->store, &call->key, entry)) {
			reply_number(call->reply, by);
			return;
		}
		entry_free(entry);
	}
	call_no_memory(call);
}

static void add(struct call *call, int64_t by)
{
	struct entry **entry = call_find(call);

	if (!entry)
		add_new(call, by);
	else if (!entry_is_string(*entry))
		call_wrong_type(call);
	else
		add_to(call, *entry, by);
}

void run_incr(struct call *call)
{
	add(call, 1);
}

void run_decr(struct call *call)
{
	add(call, -1);
}

void run_incrby(struct call *call)
{
	int64_t by;

	if (call_number(call, 2, &by))
		add(call, by);
}

void run_decrby(struct call *call)
{
	int64_t by;

	if (!call_number(call, 2, &by))
		return;
	if (by == INT64_MIN)
		REPLY_TEXT(call->reply, "-ERR decrement would overflow");
	else
		add(call, -by);
}
