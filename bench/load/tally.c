/* SPDX-License-Identifier: MIT */
/* tally.c - see tally.h */
#include "bench/load/tally.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Find the place of an error, or take a new one. */
static struct tally_error *find(struct tally *tally, const char *name)
{
	struct tally_error *error;

	for (unsigned i = 0; i < tally->errors; i++)
		if (!strcmp(tally->error[i].name, name))
			return &tally->error[i];
	if (tally->errors == TALLY_ERRORS)
		return &tally->error[TALLY_ERRORS - 1];
	if (tally->errors == TALLY_ERRORS - 1)
		name = "other errors";
	error = &tally->error[tally->errors++];
	snprintf(error->name, sizeof(error->name), "%s", name);
	return error;
}

void tally_error(struct tally *tally, const char *name, uint64_t count)
{
	if (count)
		find(tally, name)->count += count;
}

/* Copy a text of the server, without bytes that a terminal may not print. */
static void copy(char *to, size_t room, const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size && i < room - 1; i++)
		to[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	to[i] = '\0';
}

static void count_error(struct tally *tally, const struct reply *reply)
{
	const char *space = memchr(reply->text, ' ', reply->size);
	char name[TALLY_NAME_BYTES];
	struct tally_error *error;

	copy(name, sizeof(name), reply->text,
	     space ? (size_t)(space - reply->text) : reply->size);
	error = find(tally, name);
	if (!error->count++)
		copy(error->line, sizeof(error->line), reply->text,
		     reply->size);
}

static bool is_text(const struct reply *reply, const char *text)
{
	return reply->kind == REPLY_STATUS && reply->size == strlen(text) &&
	       !memcmp(reply->text, text, reply->size);
}

static bool is_right(enum request_kind kind, const struct reply *reply)
{
	switch (kind) {
	case REQUEST_GET:
		return reply->kind == REPLY_BULK || reply->kind == REPLY_NIL;
	case REQUEST_SET:
		return is_text(reply, "OK");
	case REQUEST_INCR:
		return reply->kind == REPLY_INTEGER;
	default:
		return is_text(reply, "PONG");
	}
}

void tally_reply(struct tally *tally, enum request_kind kind,
		 const struct reply *reply)
{
	char name[TALLY_NAME_BYTES];

	if (is_right(kind, reply)) {
		tally->replies[kind]++;
		tally->nils += reply->kind == REPLY_NIL;
		return;
	}
	if (reply->kind == REPLY_ERROR) {
		count_error(tally, reply);
		return;
	}
	snprintf(name, sizeof(name), "wrong reply to %s", request_names[kind]);
	tally_error(tally, name, 1);
}

uint64_t tally_failed(const struct tally *tally)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < tally->errors; i++)
		sum += tally->error[i].count;
	return sum;
}
