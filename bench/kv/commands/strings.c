/* SPDX-License-Identifier: MIT */
/* strings.c - commands on strings */
#include "bench/kv/commands/command.h"

#include "bench/kv/commands/expiry.h"

void reply_string(struct reply *reply, const struct entry *entry)
{
	char scratch[NUMBER_ROOM];
	struct bytes value;

	if (entry->kind == ENTRY_BLOB) {
		reply_blob(reply, entry->blob);
		return;
	}
	value = entry_string(entry, scratch);
	reply_bulk(reply, value.data, value.size);
}

/* Reply with the value of the first key. Return: its entry; NULL: it has no string. */
static struct entry *reply_value(struct call *call)
{
	struct entry **entry = call_find(call);

	if (!entry) {
		reply_null(call->reply);
		return NULL;
	}
	if (!entry_is_string(*entry)) {
		call_wrong_type(call);
		return NULL;
	}
	reply_string(call->reply, *entry);
	return *entry;
}

void run_get(struct call *call)
{
	reply_value(call);
}

void run_getdel(struct call *call)
{
	if (reply_value(call))
		store_remove(call->store, &call->key, NULL);
}

void run_strlen(struct call *call)
{
	struct entry **entry = call_find(call);
	char scratch[NUMBER_ROOM];

	if (!entry)
		reply_number(call->reply, 0);
	else if (!entry_is_string(*entry))
		call_wrong_type(call);
	else
		reply_number(call->reply,
			     (int64_t)entry_string(*entry, scratch).size);
}

void run_mget(struct call *call)
{
	reply_array(call->reply, call->argc - 1);
	for (size_t i = 1; i < call->argc; i++) {
		struct key key = call_key(call, i);
		struct entry **entry =
			store_find(call->store, &key, &call->session->clock);

		if (entry && entry_is_string(*entry))
			reply_string(call->reply, *entry);
		else
			reply_null(call->reply);
	}
}

void run_mset(struct call *call)
{
	if (call->argc % 2 == 0) {
		call_arity_error(call->reply, call->command);
		return;
	}
	for (size_t i = 1; i < call->argc; i += 2) {
		struct key key = call_key(call, i);

		if (!store_put(call->store, &key, call->argv[i + 1], 0,
			       &call->session->clock)) {
			call_no_memory(call);
			return;
		}
	}
	reply_ok(call->reply);
}

void run_setnx(struct call *call)
{
	if (call_find(call))
		reply_number(call->reply, 0);
	else if (store_put(call->store, &call->key, call->argv[2], 0,
			   &call->session->clock))
		reply_number(call->reply, 1);
	else
		call_no_memory(call);
}

/* ---- SET ---------------------------------------------------------------------- */

struct set_options {
	bool if_missing, if_present, keep_time, get;
	struct expiry expiry;
};

/* Read the options. Return: false: the reply is an error. */
static bool set_options(struct call *call, struct set_options *options)
{
	for (size_t i = 3; i < call->argc; i++) {
		struct bytes word = call->argv[i];
		/* Of the options before. */
		unsigned unit = options->expiry.unit;

		if (bytes_is(word, "nx") && !options->if_present)
			options->if_missing = true;
		else if (bytes_is(word, "xx") && !options->if_missing)
			options->if_present = true;
		else if (bytes_is(word, "get"))
			options->get = true;
		else if (bytes_is(word, "keepttl") && !unit)
			options->keep_time = true;
		else if (i + 1 < call->argc && !options->keep_time &&
			 expiry_unit(word, &options->expiry) &&
			 (!unit || unit == options->expiry.unit))
			options->expiry.arg = ++i;
		else {
			call_syntax_error(call);
			return false;
		}
	}
	return true;
}

static void set(struct call *call, const struct set_options *options,
		int64_t expires_ms)
{
	if (options->keep_time)
		expires_ms = -1;
	if (!store_put(call->store, &call->key, call->argv[2], expires_ms,
		       &call->session->clock))
		call_no_memory(call);
	else if (!options->get)
		reply_ok(call->reply);
	/* The old value is a reply already: a second one would belong to the next command. */
	if (call->no_memory && options->get)
		call->reply->failed = true;
}

static void set_with_options(struct call *call)
{
	struct set_options options = { .expiry.unit = EXPIRY_NONE };
	struct entry **entry;
	int64_t expires_ms = 0;

	if (!set_options(call, &options) ||
	    !expiry_time(call, &options.expiry, &expires_ms))
		return;
	entry = call_find(call);
	if (options.get) {
		if (entry && !entry_is_string(*entry)) {
			call_wrong_type(call);
			return;
		}
		reply_value(call);
	}
	if (entry ? options.if_missing : options.if_present) {
		if (!options.get)
			reply_null(call->reply);
		return;
	}
	set(call, &options, expires_ms);
}

void run_set(struct call *call)
{
	if (call->argc > 3)
		set_with_options(call);
	else if (store_put(call->store, &call->key, call->argv[2], 0,
			   &call->session->clock))
		reply_ok(call->reply);
	else
		call_no_memory(call);
}

/* ---- APPEND ------------------------------------------------------------------- */

static void append_to(struct call *call, struct entry **entry)
{
	char scratch[NUMBER_ROOM];
	size_t size = entry_string(*entry, scratch).size + call->argv[2].size;
	size_t before = entry_memory(*entry);

	if (size > setting(&call->server->settings.max_bulk)) {
		REPLY_TEXT(call->reply,
			   "-ERR string exceeds maximum allowed size "
			   "(proto-max-bulk-len)");
		return;
	}
	if (!entry_append(entry, call->argv[2])) {
		call_no_memory(call);
		return;
	}
	store_changed(call->store, &call->key, *entry, before);
	reply_number(call->reply, (int64_t)size);
}

void run_append(struct call *call)
{
	struct entry **entry = call_find(call);

	if (entry && !entry_is_string(*entry))
		call_wrong_type(call);
	else if (entry)
		append_to(call, entry);
	else if (store_put(call->store, &call->key, call->argv[2], 0,
			   &call->session->clock))
		reply_number(call->reply, (int64_t)call->argv[2].size);
	else
		call_no_memory(call);
}
