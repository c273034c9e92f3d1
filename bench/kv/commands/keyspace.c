/* SPDX-License-Identifier: MIT */
/* keyspace.c - commands on all keys */
#include "bench/kv/commands/command.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include <skua/fiber.h>

#include "bench/kv/store/glob.h"

/* In EXEC, the stripes are locked already. */
static void enter(struct call *call, struct stripe *stripe)
{
	if (!call->session->locked)
		store_lock(stripe);
}

static void leave(struct call *call, struct stripe *stripe)
{
	if (!call->session->locked)
		store_unlock(stripe);
}

/* Now and then, let other fibers run. @step: counts up or down */
static void let_others_run(struct call *call, size_t step)
{
	if (!call->session->locked && step % 64 == 0)
		skua_yield();
}

void run_dbsize(struct call *call)
{
	reply_number(call->reply, (int64_t)store_count(call->store));
}

void run_flush(struct call *call)
{
	struct store_set all;

	if (call->argc > 2 ||
	    (call->argc == 2 && !bytes_is(call->argv[1], "async") &&
	     !bytes_is(call->argv[1], "sync"))) {
		call_syntax_error(call);
		return;
	}
	memset(&all, 0xff, sizeof(all));
	if (!call->session->locked)
		store_lock_set(call->store, &all);
	store_flush(call->store, &call->session->garbage);
	if (!call->session->locked)
		store_unlock_set(call->store, &all);
	reply_ok(call->reply);
}

/* ---- SCAN and KEYS -------------------------------------------------------------- */

/* Which keys are wanted, and how many were found. */
struct search {
	struct call *call;
	struct reply *reply;
	struct bytes pattern, type;
	bool all;
	size_t found, seen;
};

static void visit(void *ctx, struct entry *entry)
{
	struct search *search = ctx;
	struct bytes key = entry_key(entry);

	search->seen++;
	if (!search->all && !glob_match(search->pattern, key, false))
		return;
	if (search->type.data && !bytes_is(search->type, entry_type(entry)))
		return;
	if (entry->expires_ms &&
	    entry->expires_ms <= store_now_ms(&search->call->session->clock))
		return;
	reply_bulk(search->reply, key.data, key.size);
	search->found++;
}

/* Visit a bucket of the first stripe from the cursor on that has keys. A cursor has the
 * number of the stripe in its lowest bits. Return: the next cursor; 0: that was the last
 * bucket. */
static uint64_t visit_bucket(struct call *call, uint64_t cursor,
			     struct search *search)
{
	uint64_t number = cursor % STORE_STRIPES, next = cursor / STORE_STRIPES;
	struct stripe *stripe = &call->store->stripes[number];

	while (!table_count(&stripe->table)) {
		if (++number == STORE_STRIPES)
			return 0;
		stripe++;
		next = 0;
	}
	enter(call, stripe);
	next = table_scan(&stripe->table, next, visit, search);
	leave(call, stripe);
	if (next)
		return next * STORE_STRIPES + number;
	return number + 1 < STORE_STRIPES ? number + 1 : 0;
}

/* KEYS visits one stripe after the other. A key that is there all the time is found, and
 * the other clients wait for one stripe at most. */
void run_keys(struct call *call)
{
	struct search search = { .call = call,
				 .reply = call->reply,
				 .pattern = call->argv[1],
				 .all = glob_is_all(call->argv[1]) };
	size_t place = reply_array_later(call->reply);
	uint64_t cursor = 0;

	for (unsigned i = 0; i < STORE_STRIPES; i++) {
		struct stripe *stripe = &call->store->stripes[i];

		if (!table_count(&stripe->table))
			continue;
		enter(call, stripe);
		do {
			cursor = table_scan(&stripe->table, cursor, visit,
					    &search);
		} while (cursor);
		leave(call, stripe);
		let_others_run(call, i);
	}
	reply_array_count(call->reply, place, search.found);
}

/* Read the cursor. Return: false: the reply is an error. */
static bool read_cursor(struct call *call, uint64_t *out)
{
	char text[32], *end;
	size_t size = call->argv[1].size;

	if (size > 0 && size < sizeof(text)) {
		memcpy(text, call->argv[1].data, size);
		text[size] = '\0';
		errno = 0;
		*out = strtoul(text, &end, 10);
		if (!isspace((unsigned char)text[0]) && !*end && !errno)
			return true;
	}
	REPLY_TEXT(call->reply, "-ERR invalid cursor");
	return false;
}

/* Read the options. Return: false: the reply is an error. */
static bool scan_options(struct call *call, struct search *search,
			 int64_t *count)
{
	for (size_t i = 2; i < call->argc; i += 2) {
		bool more = i + 1 < call->argc;

		if (bytes_is(call->argv[i], "count") && more) {
			if (!call_number(call, i + 1, count))
				return false;
			if (*count > 0)
				continue;
		} else if (bytes_is(call->argv[i], "match") && more) {
			search->pattern = call->argv[i + 1];
			search->all = glob_is_all(search->pattern);
			continue;
		} else if (bytes_is(call->argv[i], "type") && more) {
			search->type = call->argv[i + 1];
			continue;
		}
		call_syntax_error(call);
		return false;
	}
	return true;
}

void run_scan(struct call *call)
{
	/* The keys come after the cursor, which is known last. */
	struct reply keys = { .limit = call->reply->limit };
	struct search search = { .call = call, .reply = &keys, .all = true };
	int64_t count = 10;
	uint64_t cursor;
	size_t left;

	if (!read_cursor(call, &cursor) || !scan_options(call, &search, &count))
		return;
	/* Some buckets are empty. */
	left = count < INT64_MAX / 10 ? (size_t)count * 10 : SIZE_MAX;
	do {
		cursor = visit_bucket(call, cursor, &search);
		let_others_run(call, left);
	} while (cursor && search.seen < (size_t)count && --left);
	reply_array(call->reply, 2);
	reply_bulk_number(call->reply, (int64_t)cursor);
	reply_array(call->reply, search.found);
	reply_raw(call->reply, keys.data, keys.used);
	call->reply->failed |= keys.failed;
	reply_free(&keys);
}
