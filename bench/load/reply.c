/* SPDX-License-Identifier: MIT */
/* reply.c - see reply.h */
#include "bench/load/reply.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Parse an integer of 64 bits, of at most 19 digits. Return: 0; -EPROTO. */
static int parse_integer(const char *text, size_t size, int64_t *out)
{
	bool negative = size > 0 && text[0] == '-';
	uint64_t value = 0;
	size_t i = negative;

	if (size - i < 1 || size - i > 19)
		return -EPROTO;
	for (; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EPROTO;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	if (value > (uint64_t)INT64_MAX + negative)
		return -EPROTO;
	*out = (int64_t)(negative ? -value : value);
	return 0;
}

/* Skip bytes of a bulk string, and check its end. Return: as reply_read() */
static int skip(struct reply_reader *reader, const char **data, size_t *size)
{
	static const char end[] = "\n\r"; /* by the bytes that are left */

	if (reader->left > 2) {
		size_t bytes =
			reader->left - 2 < *size ? reader->left - 2 : *size;

		reader->left -= bytes;
		*data += bytes;
		*size -= bytes;
	}
	while (reader->left && *size) {
		if (**data != end[reader->left - 1])
			return -EPROTO;
		reader->left--;
		(*data)++;
		(*size)--;
	}
	return !reader->left;
}

static int start_bulk(struct reply_reader *reader, const char **data,
		      size_t *size, struct reply *out)
{
	int64_t bytes;

	if (parse_integer(out->text, out->size, &bytes) || bytes < -1 ||
	    bytes > REPLY_BULK_MAX)
		return -EPROTO;
	out->size = 0;
	out->kind = bytes < 0 ? REPLY_NIL : REPLY_BULK;
	if (bytes < 0)
		return 1;
	reader->left = (uint64_t)bytes + 2;
	return skip(reader, data, size);
}

/* A whole line, with its end, was read. Return: as reply_read() */
static int read_line(struct reply_reader *reader, const char *line, size_t used,
		     const char **data, size_t *size, struct reply *out)
{
	int64_t value;

	if (used < 3 || line[used - 2] != '\r')
		return -EPROTO;
	out->text = line + 1;
	out->size = used - 3;
	switch (line[0]) {
	case '+':
		out->kind = REPLY_STATUS;
		return 1;
	case '-':
		out->kind = REPLY_ERROR;
		return 1;
	case ':':
		out->kind = REPLY_INTEGER;
		return parse_integer(out->text, out->size, &value) ? -EPROTO
								   : 1;
	case '$':
		return start_bulk(reader, data, size, out);
	default:
		return -EPROTO;
	}
}

/* Continue a line whose beginning the reader has. Return: as reply_read() */
static int continue_line(struct reply_reader *reader, const char **data,
			 size_t *size, struct reply *out)
{
	const char *end = memchr(*data, '\n', *size);
	size_t bytes = end ? (size_t)(end - *data) + 1 : *size;
	unsigned used;

	if (bytes > REPLY_LINE_MAX - reader->used)
		return -EPROTO;
	memcpy(reader->line + reader->used, *data, bytes);
	reader->used += (unsigned)bytes;
	*data += bytes;
	*size -= bytes;
	if (!end)
		return 0;
	used = reader->used;
	reader->used = 0;
	return read_line(reader, reader->line, used, data, size, out);
}

int reply_read(struct reply_reader *reader, const char **data, size_t *size,
	       struct reply *out)
{
	const char *line = *data, *end;

	if (reader->left) {
		*out = (struct reply){ .kind = REPLY_BULK };
		return skip(reader, data, size);
	}
	if (!*size)
		return 0;
	end = reader->used ? NULL : memchr(line, '\n', *size);
	if (!end)
		return continue_line(reader, data, size, out);
	*data = end + 1;
	*size -= (size_t)(end + 1 - line);
	return read_line(reader, line, (size_t)(end + 1 - line), data, size,
			 out);
}
