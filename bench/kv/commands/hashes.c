/* SPDX-License-Identifier: MIT */
/* hashes.c - commands on hashes */
#include "bench/kv/commands/command.h"

#include "bench/kv/commands/cursor.h"
#include "bench/kv/store/map.h"

/* Find the hash of the first key. Return: false: it is no hash, and the reply is an error.
 * *@out: NULL: there is no key. */
static bool find_map(struct call *call, struct entry **out)
{
	struct entry **entry = call_find(call);

	*out = entry ? *entry : NULL;
	if (!entry || (*entry)->kind == ENTRY_MAP)
		return true;
	call_wrong_type(call);
	return false;
}

/* Find a field. NULL: there is no such field, or no hash. */
static struct entry *find_field(struct call *call, const struct entry *entry,
				struct bytes name)
{
	return entry ? map_find(entry->map, &call->store->secret, name) : NULL;
}

/* ---- changes ------------------------------------------------------------------ */

/**
 * struct change - a change of a hash, which may be new
 * @entry: the hash
 * @before: its memory
 * @made: it is not in the store yet
 */
struct change {
	struct entry *entry;
	size_t before;
	bool made;
};

/* Find the hash, or make one. Return: false: the reply is an error. */
static bool change_begin(struct call *call, struct change *change)
{
	if (!find_map(call, &change->entry))
		return false;
	change->made = !change->entry;
	if (change->made)
		change->entry = entry_create_map(call->key.bytes);
	if (change->entry) {
		change->before = entry_memory(change->entry);
		return true;
	}
	call_no_memory(call);
	return false;
}

/* Put the hash into the store, or account for its change. Return: false: no memory. */
static bool change_end(struct call *call, const struct change *change)
{
	if (!change->made) {
		store_changed(call->store, &call->key, change->entry,
			      change->before);
		return true;
	}
	if (map_count(change->entry->map) &&
	    store_add(call->store, &call->key, change->entry))
		return true;
	entry_free(change->entry);
	return false;
}

/* Return: fields that were added; -1: the reply is an error. */
static int64_t set_fields(struct call *call)
{
	struct change change;
	int64_t added = 0;
	int code = 0;

	if (call->argc % 2) {
		call_arity_error(call->reply, call->command);
		return -1;
	}
	if (!change_begin(call, &change))
		return -1;
	for (size_t i = 2; i < call->argc && code >= 0; i += 2) {
		code = map_set(change.entry->map, &call->store->secret,
			       call->argv[i], call->argv[i + 1]);
		added += code > 0;
	}
	if (change_end(call, &change) && code >= 0)
		return added;
	call_no_memory(call);
	return -1;
}

void run_hset(struct call *call)
{
	int64_t added = set_fields(call);

	if (added >= 0)
		reply_number(call->reply, added);
}

void run_hmset(struct call *call)
{
	if (set_fields(call) >= 0)
		reply_ok(call->reply);
}

void run_hsetnx(struct call *call)
{
	struct entry *entry;

	if (!find_map(call, &entry))
		return;
	if (find_field(call, entry, call->argv[2]))
		reply_number(call->reply, 0);
	else
		run_hset(call);
}

void run_hincrby(struct call *call)
{
	struct change change;
	struct entry *entry;
	int64_t by, value = 0;
	int code;

	if (!call_number(call, 3, &by) || !find_map(call, &entry))
		return;
	entry = find_field(call, entry, call->argv[2]);
	if (entry && !entry_number(entry, &value)) {
		REPLY_TEXT(call->reply, "-ERR hash value is not an integer");
		return;
	}
	if (__builtin_add_overflow(value, by, &value)) {
		REPLY_TEXT(call->reply,
			   "-ERR increment or decrement would overflow");
		return;
	}
	if (!change_begin(call, &change))
		return;
	code = map_set_number(change.entry->map, &call->store->secret,
			      call->argv[2], value);
	if (change_end(call, &change) && code >= 0)
		reply_number(call->reply, value);
	else
		call_no_memory(call);
}

void run_hdel(struct call *call)
{
	struct entry *entry;
	int64_t count = 0;
	size_t before;

	if (!find_map(call, &entry))
		return;
	if (entry) {
		before = entry_memory(entry);
		for (size_t i = 2; i < call->argc; i++)
			count += map_remove(entry->map, &call->store->secret,
					    call->argv[i]);
		if (count)
			store_changed(call->store, &call->key, entry, before);
		if (!map_count(entry->map))
			store_remove(call->store, &call->key, NULL);
	}
	reply_number(call->reply, count);
}

/* ---- one field, or some ------------------------------------------------------- */

/* Reply with the value of a field; NULL: there is none. */
static void reply_field(struct call *call, const struct entry *field)
{
	if (field)
		reply_string(call->reply, field);
	else
		reply_null(call->reply);
}

void run_hget(struct call *call)
{
	struct entry *entry;

	if (find_map(call, &entry))
		reply_field(call, find_field(call, entry, call->argv[2]));
}

void run_hmget(struct call *call)
{
	struct entry *entry;

	if (!find_map(call, &entry))
		return;
	reply_array(call->reply, call->argc - 2);
	for (size_t i = 2; i < call->argc; i++)
		reply_field(call, find_field(call, entry, call->argv[i]));
}

void run_hexists(struct call *call)
{
	struct entry *entry;

	if (find_map(call, &entry))
		reply_number(call->reply,
			     find_field(call, entry, call->argv[2]) != NULL);
}

void run_hstrlen(struct call *call)
{
	struct entry *entry, *field;
	char scratch[NUMBER_ROOM];

	if (!find_map(call, &entry))
		return;
	field = find_field(call, entry, call->argv[2]);
	reply_number(call->reply,
		     field ? (int64_t)entry_string(field, scratch).size : 0);
}

void run_hlen(struct call *call)
{
	struct entry *entry;

	if (find_map(call, &entry))
		reply_number(call->reply,
			     entry ? (int64_t)map_count(entry->map) : 0);
}

/* ---- all fields --------------------------------------------------------------- */

static void add_name(void *ctx, struct entry *field)
{
	struct bytes name = entry_key(field);

	reply_bulk(ctx, name.data, name.size);
}

static void add_value(void *ctx, struct entry *field)
{
	reply_string(ctx, field);
}

static void add_both(void *ctx, struct entry *field)
{
	add_name(ctx, field);
	add_value(ctx, field);
}

static void all_fields(struct call *call,
		       void (*begin)(struct reply *r, size_t count),
		       void (*add)(void *ctx, struct entry *field))
{
	struct entry *entry;

	if (!find_map(call, &entry))
		return;
	begin(call->reply, entry ? map_count(entry->map) : 0);
	if (entry)
		map_visit(entry->map, add, call->reply);
}

void run_hgetall(struct call *call)
{
	all_fields(call, reply_map, add_both);
}

void run_hkeys(struct call *call)
{
	all_fields(call, reply_array, add_name);
}

void run_hvals(struct call *call)
{
	all_fields(call, reply_array, add_value);
}

/* ---- HSCAN -------------------------------------------------------------------- */

struct search {
	struct reply *reply;
	struct cursor_options options;
	size_t seen, found;
};

static void visit(void *ctx, struct entry *field)
{
	struct search *search = ctx;

	search->seen++;
	if (!cursor_matches(&search->options, entry_key(field)))
		return;
	add_both(search->reply, field);
	search->found++;
}

/* Visit about as many fields as are wanted. Return: the next cursor. */
static uint64_t scan(const struct map *map, uint64_t cursor,
		     struct search *search)
{
	uint64_t count = (uint64_t)search->options.count;
	/* Some buckets are empty. */
	uint64_t left = count < INT64_MAX / 10 ? count * 10 : UINT64_MAX;

	do {
		cursor = map_scan(map, cursor, visit, search);
	} while (cursor && search->seen < count && --left);
	return cursor;
}

void run_hscan(struct call *call)
{
	/* The fields come after the cursor, which is known last. */
	struct reply fields = reply_part(call->reply);
	struct search search = { .reply = &fields };
	struct entry *entry;
	uint64_t cursor;

	if (!cursor_read(call, 2, &cursor) || !find_map(call, &entry))
		return;
	if (!entry) {
		REPLY_TEXT(call->reply, "*2\r\n$1\r\n0\r\n*0");
		return;
	}
	if (!cursor_options(call, 3, false, &search.options))
		return;
	cursor = scan(entry->map, cursor, &search);
	reply_array(call->reply, 2);
	reply_bulk_number(call->reply, (int64_t)cursor);
	reply_array(call->reply, search.found * 2);
	reply_join(call->reply, &fields);
}
