/* SPDX-License-Identifier: MIT */
/* keyspace.c - commands on all keys */
#include "bench/kv/commands/command.h"

#include <skua/fiber.h>

#include "bench/kv/commands/cursor.h"
#include "bench/kv/commands/logged.h"
#include "bench/kv/store/glob.h"

/* In EXEC, the stripes are locked already. */
static void enter(struct call *call, struct stripe *stripe)
{
	if (!(call->session->held & HELD_STRIPES))
		store_lock(stripe);
}

static void leave(struct call *call, struct stripe *stripe)
{
	if (!(call->session->held & HELD_STRIPES))
		store_unlock(stripe);
}

/* Now and then, let other fibers run. @step: counts up or down */
static void let_others_run(struct call *call, size_t step)
{
	if (!call->session->held && step % 64 == 0)
		skua_yield();
}

/* Lock all stripes, unless the session holds them. */
static void enter_all(struct call *call, struct store_set *all)
{
	memset(all, 0xff, sizeof(*all));
	if (!(call->session->held & HELD_STRIPES))
		store_lock_set(call->store, all);
}

static void leave_all(struct call *call, const struct store_set *all)
{
	if (!(call->session->held & HELD_STRIPES))
		store_unlock_set(call->store, all);
}

/* No command is in the middle of its work meanwhile. */
void run_dbsize(struct call *call)
{
	struct store_set all;

	enter_all(call, &all);
	reply_number(call->reply, (int64_t)store_count(call->store));
	leave_all(call, &all);
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
	enter_all(call, &all);
	store_flush(call->store, &call->session->garbage);
	/* In EXEC, it is a part of the record of the transaction. */
	if (call->server->log && !call->session->transaction.active)
		logged_flush(call);
	leave_all(call, &all);
	reply_ok(call->reply);
}

/* ---- SCAN and KEYS -------------------------------------------------------------- */

/* Which keys are wanted, and how many were found. */
struct search {
	struct call *call;
	struct reply *reply;
	struct cursor_options options;
	size_t found, seen;
};

static void visit(void *ctx, struct entry *entry)
{
	struct search *search = ctx;
	struct bytes key = entry_key(entry);

	search->seen++;
	if (!cursor_matches(&search->options, key))
		return;
	if (search->options.type.data &&
	    !bytes_is(search->options.type, entry_type(entry)))
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

	enter(call, stripe);
	while (!table_count(&stripe->table)) {
		leave(call, stripe);
		if (++number == STORE_STRIPES)
			return 0;
		stripe++;
		next = 0;
		enter(call, stripe);
	}
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
				 .options = {
					 .pattern = call->argv[1],
					 .all = glob_is_all(call->argv[1]) } };
	uint64_t cursor = 0;
	size_t place;

	if (!call_pattern(call, 1))
		return;
	place = reply_array_later(call->reply);
	for (unsigned i = 0; i < STORE_STRIPES; i++) {
		struct stripe *stripe = &call->store->stripes[i];

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

void run_scan(struct call *call)
{
	/* The keys come after the cursor, which is known last. */
	struct reply keys = reply_part(call->reply);
	struct search search = { .call = call, .reply = &keys };
	uint64_t cursor;
	int64_t count;
	size_t left;

	if (!cursor_read(call, 1, &cursor) ||
	    !cursor_options(call, 2, true, &search.options))
		return;
	count = search.options.count;
	/* Some buckets are empty. */
	left = count < INT64_MAX / 10 ? (size_t)count * 10 : SIZE_MAX;
	do {
		cursor = visit_bucket(call, cursor, &search);
		let_others_run(call, left);
	} while (cursor && search.seen < (size_t)count && --left);
	reply_array(call->reply, 2);
	reply_bulk_number(call->reply, (int64_t)cursor);
	reply_array(call->reply, search.found);
	reply_join(call->reply, &keys);
}
