/* SPDX-License-Identifier: MIT */
/* keys.c - commands on keys of any type */
#include "bench/kv/commands/command.h"

#include "bench/kv/commands/expiry.h"

void run_del(struct call *call)
{
	struct session *session = call->session;
	int64_t count = 0;

	for (size_t i = 1; i < call->argc; i++) {
		struct key key = call_key(call, i);

		if (store_find(call->store, &key, &session->clock) &&
		    store_remove(call->store, &key, &session->garbage))
			count++;
	}
	reply_number(call->reply, count);
}

void run_exists(struct call *call)
{
	int64_t count = 0;

	for (size_t i = 1; i < call->argc; i++) {
		struct key key = call_key(call, i);

		count += store_find(call->store, &key, &call->session->clock) !=
			 NULL;
	}
	reply_number(call->reply, count);
}

void run_type(struct call *call)
{
	struct entry **entry = call_find(call);

	reply_status(call->reply, entry ? entry_type(*entry) : "none");
}

/* ---- times -------------------------------------------------------------------- */

/* Conditions of EXPIRE. */
enum { NX = 1, XX = 2, GT = 4, LT = 8 };

/* Read the conditions. Return: false: the reply is an error. */
static bool conditions(struct call *call, unsigned *out)
{
	static const char *const names[] = { "nx", "xx", "gt", "lt" };

	*out = 0;
	for (size_t i = 3; i < call->argc; i++) {
		struct bytes word = call->argv[i];
		unsigned bit = 0;

		while (bit < 4 && !bytes_is(word, names[bit]))
			bit++;
		if (bit == 4) {
			reply_error(call->reply, "ERR Unsupported option %.*s",
				    word.size > 400 ? 400 : (int)word.size,
				    word.data);
			return false;
		}
		*out |= 1u << bit;
	}
	if (*out & NX && *out & (XX | GT | LT))
		REPLY_TEXT(call->reply,
			   "-ERR NX and XX, GT or LT options at the same time "
			   "are not compatible");
	else if (*out & GT && *out & LT)
		REPLY_TEXT(call->reply,
			   "-ERR GT and LT options at the same time are not "
			   "compatible");
	else
		return true;
	return false;
}

/* Do the conditions allow the time @when? An entry without a time has an infinite one. */
static bool allowed(const struct entry *entry, unsigned conditions,
		    int64_t when)
{
	int64_t now = entry->expires_ms;

	if (conditions & NX && now)
		return false;
	if (conditions & XX && !now)
		return false;
	if (conditions & GT && (!now || when <= now))
		return false;
	return !(conditions & LT && now && when >= now);
}

static void expire(struct call *call, bool seconds)
{
	struct session *session = call->session;
	struct entry **entry;
	unsigned unless;
	int64_t when;

	if (!conditions(call, &unless) || !call_number(call, 2, &when) ||
	    !expiry_from_now(call, when, seconds, &when))
		return;
	entry = call_find(call);
	if (!entry || !allowed(*entry, unless, when)) {
		reply_number(call->reply, 0);
		return;
	}
	if (when <= store_now_ms(&session->clock))
		store_remove(call->store, &call->key, &session->garbage);
	else
		store_expire(call->store, &call->key, *entry, when);
	reply_number(call->reply, 1);
}

void run_expire(struct call *call)
{
	expire(call, true);
}

void run_pexpire(struct call *call)
{
	expire(call, false);
}

/* Return the time that is left in milliseconds; -1: for ever; -2: there is no key. */
static int64_t time_left(struct call *call)
{
	struct entry **entry = call_find(call);
	int64_t left;

	if (!entry)
		return -2;
	if (!(*entry)->expires_ms)
		return -1;
	left = (*entry)->expires_ms - store_now_ms(&call->session->clock);
	return left < 0 ? 0 : left;
}

void run_pttl(struct call *call)
{
	reply_number(call->reply, time_left(call));
}

void run_ttl(struct call *call)
{
	int64_t left = time_left(call);

	reply_number(call->reply, left < 0 ? left : (left + 500) / 1000);
}

void run_persist(struct call *call)
{
	struct entry **entry = call_find(call);

	if (!entry || !(*entry)->expires_ms) {
		reply_number(call->reply, 0);
		return;
	}
	store_expire(call->store, &call->key, *entry, 0);
	reply_number(call->reply, 1);
}
