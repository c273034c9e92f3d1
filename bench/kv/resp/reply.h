/* SPDX-License-Identifier: MIT */
/**
 * reply.h - writes replies of the Redis protocol, versions 2 and 3
 *
 * Replies collect in one buffer, which the connection sends. Large values are not copied:
 * the buffer has a mark, and the value is sent from its own memory, which is shared and
 * counted (struct blob).
 *
 * If there is no memory, or the replies exceed their limit, the reply is marked as failed,
 * and further calls do nothing: the connection must then be closed.
 */
#ifndef SKUA_BENCH_KV_REPLY_H
#define SKUA_BENCH_KV_REPLY_H

#include "bench/kv/resp/blob.h"
#include "bench/kv/resp/number.h"

/* A large value that follows the first @at bytes of the buffer. */
struct reply_mark {
	size_t at;
	struct blob *blob;
};

/* reply_count_fn - count the memory of large buffers: add @change bytes. Return: whether all
 * together are within their limit */
typedef bool (*reply_count_fn)(void *owner, int64_t change);

/**
 * struct reply - the replies that were not sent yet; zeroed at first
 * @data, @used, @room: the buffer
 * @marks, @marked, @mark_room: the large values, in their order
 * @waiting: bytes that wait to be sent, those of large values included
 * @limit: for @waiting; 0: none
 * @count, @owner: counts the memory of the buffer, if that is large; NULL: it is not counted
 * @counted: bytes that were counted
 * @version: of the protocol, 2 or 3
 * @failed: no more replies can be written
 */
struct reply {
	char *data;
	size_t used, room;
	struct reply_mark *marks;
	size_t marked, mark_room;
	size_t waiting, limit;
	reply_count_fn count;
	void *owner;
	size_t counted;
	int version;
	bool failed;
};

/* reply_grow - make room for @more bytes. Return: the place; NULL: it has failed */
char *reply_grow(struct reply *r, size_t more);

/* reply_raw - add bytes that are a reply, or a part of one. @data may be NULL if @size is 0 */
static inline void reply_raw(struct reply *r, const void *data, size_t size)
{
	char *at;

	if (!size)
		return;
	at = r->room - r->used >= size && !r->failed ? r->data + r->used
						     : reply_grow(r, size);
	if (!at)
		return;
	memcpy(at, data, size);
	r->used += size;
	r->waiting += size;
}

#define REPLY_TEXT(r, text) reply_raw(r, text "\r\n", sizeof(text "\r\n") - 1)
#define reply_ok(r)         REPLY_TEXT(r, "+OK")

/* reply_status - a short text: "+..." */
void reply_status(struct reply *r, const char *text);

/* reply_error - an error: "-...". Line ends in it become spaces. */
void reply_error(struct reply *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* reply_number - an integer */
void reply_number(struct reply *r, int64_t number);

/* reply_bulk - a bulk string */
void reply_bulk(struct reply *r, const void *data, size_t size);
void reply_text(struct reply *r, const char *text);

/* reply_bulk_number - an integer as a bulk string */
void reply_bulk_number(struct reply *r, int64_t number);

/* reply_blob - a large bulk string. Takes a reference to @blob. */
void reply_blob(struct reply *r, struct blob *blob);

/* reply_verbatim - a text for people: in version 2 a bulk string */
void reply_verbatim(struct reply *r, const char *data, size_t size);

/* reply_null - no value; reply_null_array - no array */
void reply_null(struct reply *r);
void reply_null_array(struct reply *r);

/* reply_array, reply_map, reply_set - begin such a reply of @count elements, or pairs */
void reply_array(struct reply *r, size_t count);
void reply_map(struct reply *r, size_t count);
void reply_set(struct reply *r, size_t count);

/* reply_push - begin a message of @count elements that no command has asked for; in version 2
 * an array */
void reply_push(struct reply *r, size_t count);

/* reply_array_later - begin an array whose number of elements is not known. Return: its
 * place, for reply_array_count() */
size_t reply_array_later(struct reply *r);
void reply_array_count(struct reply *r, size_t place, size_t count);

/* reply_part - return an empty reply that is added to another one by reply_join() */
struct reply reply_part(const struct reply *r);

/* reply_join - add a part, and free it */
void reply_join(struct reply *r, struct reply *part);

/* reply_sent - all replies were sent: begin again, and keep little memory */
void reply_sent(struct reply *r);

/* reply_free - drop all replies, and free the memory */
void reply_free(struct reply *r);

#endif
