/* SPDX-License-Identifier: MIT */
/* reply.c - writes replies of the Redis protocol, versions 2 and 3 */
#include "bench/kv/resp/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_ROOM 4096u
/* A larger buffer is freed when its replies were sent. */
#define KEPT_ROOM 65536u
/* A buffer of more bytes is counted among the large ones. */
#define LARGE_ROOM 131072u
/* The place of a header whose number comes later: "*" and up to 10 digits. */
#define HEADER_ROOM 13

static char *fail(struct reply *r)
{
	r->failed = true;
	return NULL;
}

/* The buffer will have @room bytes. Return: false: all clients together have too many. */
static bool count(struct reply *r, size_t room)
{
	size_t counted = room > LARGE_ROOM && r->count ? room : 0;
	int64_t change = (int64_t)counted - (int64_t)r->counted;
	bool fits = true;

	if (change)
		fits = r->count(r->owner, change);
	r->counted = counted;
	return fits || change < 0;
}

char *reply_grow(struct reply *r, size_t more)
{
	size_t room = r->room ? r->room : FIRST_ROOM;
	char *data;

	if (r->failed)
		return NULL;
	if (r->limit && r->waiting + more > r->limit)
		return fail(r);
	while (room - r->used < more)
		room *= 2;
	if (room > r->room) {
		data = count(r, room) ? realloc(r->data, room) : NULL;
		if (!data) {
			count(r, r->room);
			return fail(r);
		}
		r->data = data;
		r->room = room;
	}
	return r->data + r->used;
}

/* A type, a number and the end of the line. */
static void header(struct reply *r, char type, int64_t number)
{
	char line[NUMBER_ROOM + 3] = { type };
	size_t size = 1 + number_format(line + 1, number);

	line[size++] = '\r';
	line[size++] = '\n';
	reply_raw(r, line, size);
}

void reply_status(struct reply *r, const char *text)
{
	reply_raw(r, "+", 1);
	reply_raw(r, text, strlen(text));
	reply_raw(r, "\r\n", 2);
}

void reply_error(struct reply *r, const char *format, ...)
{
	char text[512];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (size >= (int)sizeof(text))
		size = sizeof(text) - 1;
	for (int i = 0; i < size; i++)
		if (text[i] == '\r' || text[i] == '\n')
			text[i] = ' ';
	reply_raw(r, "-", 1);
	reply_raw(r, text, (size_t)size);
	reply_raw(r, "\r\n", 2);
}

void reply_number(struct reply *r, int64_t number)
{
	if (number == 0)
		reply_raw(r, ":0\r\n", 4);
	else if (number == 1)
		reply_raw(r, ":1\r\n", 4);
	else
		header(r, ':', number);
}

void reply_bulk(struct reply *r, const void *data, size_t size)
{
	char line[NUMBER_ROOM + 3] = "$";
	size_t used = 1 + number_format(line + 1, (int64_t)size);
	char *at;

	line[used++] = '\r';
	line[used++] = '\n';
	at = r->room - r->used >= used + size + 2 && !r->failed
		     ? r->data + r->used
		     : reply_grow(r, used + size + 2);
	if (!at)
		return;
	memcpy(at, line, used);
	if (size)
		memcpy(at + used, data, size);
	memcpy(at + used + size, "\r\n", 2);
	r->used += used + size + 2;
	r->waiting += used + size + 2;
}

void reply_text(struct reply *r, const char *text)
{
	reply_bulk(r, text, strlen(text));
}

void reply_bulk_number(struct reply *r, int64_t number)
{
	char text[NUMBER_ROOM];

	reply_bulk(r, text, number_format(text, number));
}

static bool make_mark_room(struct reply *r)
{
	size_t room = r->mark_room ? r->mark_room * 2 : 4;
	struct reply_mark *marks;

	if (r->failed)
		return false;
	if (r->marked < r->mark_room)
		return true;
	marks = realloc(r->marks, room * sizeof(*marks));
	if (!marks)
		return false;
	r->marks = marks;
	r->mark_room = room;
	return true;
}

void reply_blob(struct reply *r, struct blob *blob)
{
	header(r, '$', (int64_t)blob->size);
	if (!make_mark_room(r) ||
	    (r->limit && r->waiting + blob->size > r->limit)) {
		fail(r);
		return;
	}
	blob_take(blob);
	r->marks[r->marked++] = (struct reply_mark){ r->used, blob };
	r->waiting += blob->size;
	reply_raw(r, "\r\n", 2);
}

void reply_verbatim(struct reply *r, const char *data, size_t size)
{
	if (r->version < 3) {
		reply_bulk(r, data, size);
		return;
	}
	header(r, '=', (int64_t)size + 4);
	reply_raw(r, "txt:", 4);
	reply_raw(r, data, size);
	reply_raw(r, "\r\n", 2);
}

void reply_null(struct reply *r)
{
	if (r->version < 3)
		REPLY_TEXT(r, "$-1");
	else
		REPLY_TEXT(r, "_");
}

void reply_null_array(struct reply *r)
{
	if (r->version < 3)
		REPLY_TEXT(r, "*-1");
	else
		REPLY_TEXT(r, "_");
}

void reply_array(struct reply *r, size_t count)
{
	header(r, '*', (int64_t)count);
}

void reply_map(struct reply *r, size_t count)
{
	if (r->version < 3)
		header(r, '*', (int64_t)count * 2);
	else
		header(r, '%', (int64_t)count);
}

void reply_set(struct reply *r, size_t count)
{
	header(r, r->version < 3 ? '*' : '~', (int64_t)count);
}

void reply_push(struct reply *r, size_t count)
{
	header(r, r->version < 3 ? '*' : '>', (int64_t)count);
}

size_t reply_array_later(struct reply *r)
{
	size_t place = r->used;

	reply_raw(r, "*0000000000\r\n", HEADER_ROOM);
	return place;
}

void reply_array_count(struct reply *r, size_t place, size_t count)
{
	char line[NUMBER_ROOM + 3] = "*";
	size_t size = 1 + number_format(line + 1, (int64_t)count), spare;

	if (r->failed)
		return;
	line[size++] = '\r';
	line[size++] = '\n';
	spare = HEADER_ROOM - size;
	memcpy(r->data + place, line, size);
	memmove(r->data + place + size, r->data + place + HEADER_ROOM,
		r->used - place - HEADER_ROOM);
	r->used -= spare;
	r->waiting -= spare;
	for (size_t i = 0; i < r->marked; i++)
		if (r->marks[i].at > place)
			r->marks[i].at -= spare;
}

struct reply reply_part(const struct reply *r)
{
	return (struct reply){ .limit = r->limit,
			       .count = r->count,
			       .owner = r->owner,
			       .version = r->version };
}

void reply_join(struct reply *r, struct reply *part)
{
	size_t base = r->used;

	if (part->used)
		reply_raw(r, part->data, part->used);
	for (size_t i = 0; i < part->marked; i++) {
		struct reply_mark mark = part->marks[i];

		if (!make_mark_room(r)) {
			r->failed = true;
			break;
		}
		blob_take(mark.blob);
		r->marks[r->marked++] =
			(struct reply_mark){ base + mark.at, mark.blob };
		r->waiting += mark.blob->size;
	}
	r->failed |= part->failed;
	reply_free(part);
}

void reply_sent(struct reply *r)
{
	for (size_t i = 0; i < r->marked; i++)
		blob_drop(r->marks[i].blob);
	r->marked = 0;
	r->used = 0;
	r->waiting = 0;
	if (r->room > KEPT_ROOM) {
		free(r->data);
		r->data = NULL;
		r->room = 0;
		count(r, 0);
	}
	if (r->mark_room > 64) {
		free(r->marks);
		r->marks = NULL;
		r->mark_room = 0;
	}
}

void reply_free(struct reply *r)
{
	reply_sent(r);
	free(r->data);
	free(r->marks);
	r->data = NULL;
	r->marks = NULL;
	r->room = r->mark_room = 0;
}
