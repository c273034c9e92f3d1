/* SPDX-License-Identifier: MIT */
/**
 * reply.h - find the ends of replies in a stream of bytes
 *
 * Only the replies that the requests of requests.h can have: a status, an error, an
 * integer, and a bulk string, which may be nil. All others are malformed. The bytes of
 * bulk strings are skipped.
 */
#ifndef SKUA_BENCH_LOAD_REPLY_H
#define SKUA_BENCH_LOAD_REPLY_H

#include <stddef.h>
#include <stdint.h>

/* The longest line: a status, an error, an integer, or the size of a bulk string. */
#define REPLY_LINE_MAX 512

/* The largest bulk string that Redis allows. */
#define REPLY_BULK_MAX (INT64_C(512) << 20)

enum reply_kind {
	REPLY_STATUS,
	REPLY_ERROR,
	REPLY_INTEGER,
	REPLY_BULK,
	REPLY_NIL
};

/**
 * struct reply_reader - a reply that is not complete; all 0 between two replies
 * @left: bytes of a bulk string that have not come, with those of its end
 * @used: bytes in @line
 * @line: the beginning of a line
 */
struct reply_reader {
	uint64_t left;
	unsigned used;
	char line[REPLY_LINE_MAX];
};

/**
 * struct reply - a complete reply
 * @text, @size: the line without its first byte and its end, valid until more bytes are
 *               read; of a bulk string, nothing
 */
struct reply {
	enum reply_kind kind;
	const char *text;
	size_t size;
};

/**
 * reply_read - take the bytes of one reply
 * @data, @size: the bytes; changed to those that come after
 *
 * Return: 1: a reply is complete; 0: all bytes are taken, and the reply needs more;
 * -EPROTO: the bytes are no reply.
 */
int reply_read(struct reply_reader *reader, const char **data, size_t *size,
	       struct reply *out);

#endif
