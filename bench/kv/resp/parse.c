/* SPDX-License-Identifier: MIT */
/* parse.c - takes commands of the Redis protocol out of a buffer */
#include "bench/kv/resp/parse.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/kv/resp/words.h"

/* The room for arguments that is kept between commands. */
#define KEPT_ARGS 64

/* The limits for a client without a password, as in Redis. */
#define ANONYMOUS_ARGS 10
#define ANONYMOUS_BULK 16384

static enum resp_result refuse(struct resp_parser *p, const char *error)
{
	snprintf(p->error, sizeof(p->error), "%s", error);
	return RESP_ERROR;
}

/* Make room for one more argument. It grows with those that have come, not with those
 * that were announced. */
static bool make_room(struct resp_parser *p)
{
	size_t room = p->room ? p->room * 2 : 8;
	struct bytes *argv;

	if (p->kept + p->argc < p->room)
		return true;
	argv = realloc(p->all, room * sizeof(*argv));
	if (!argv)
		return false;
	p->all = argv;
	p->argv = argv + p->kept;
	p->room = room;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Read a line such as "$5\r\n" or "$16\r\n", as most lines are. Return: its size; 0: it is
 * another one */
static size_t short_header(const char *line, size_t left, int64_t *out)
{
	if (left < 5 || !is_digit(line[1]))
		return 0;
	if (line[2] == '\r') {
		*out = line[1] - '0';
		return 4;
	}
	if (line[1] == '0' || !is_digit(line[2]) || line[3] != '\r')
		return 0;
	*out = (line[1] - '0') * 10 + line[2] - '0';
	return 5;
}

/* Read the number of a line that begins at p->at with one character. Return:
 * RESP_COMMAND: @out is set, and @valid tells whether it is a number; RESP_MORE;
 * RESP_ERROR: the line is too long. */
static enum resp_result header(struct resp_parser *p, const char *data,
			       size_t size, int64_t *out, bool *valid)
{
	const char *line = data + p->at, *end;
	size_t left = size - p->at;
	size_t short_size = short_header(line, left, out);

	if (short_size) {
		*valid = true;
		p->at += short_size;
		return RESP_COMMAND;
	}
	end = memchr(line, '\r', left);
	if (!end)
		return left > RESP_MAX_LINE ? RESP_ERROR : RESP_MORE;
	if ((size_t)(end - line) + 2 > left)
		return RESP_MORE;
	*valid = end > line &&
		 number_parse(
			 (struct bytes){ line + 1, (size_t)(end - line) - 1 },
			 out);
	p->at += (size_t)(end - line) + 2;
	return RESP_COMMAND;
}

/* The command is complete: turn offsets into addresses. */
static enum resp_result complete(struct resp_parser *p, const char *data)
{
	for (size_t i = 0; i < p->argc; i++)
		p->argv[i].data = data + (uintptr_t)p->argv[i].data;
	p->used = p->at;
	p->at = 0;
	return RESP_COMMAND;
}

static enum resp_result begin_array(struct resp_parser *p, const char *data,
				    size_t size,
				    const struct resp_limits *limits)
{
	int64_t count = 0;
	bool valid = false;
	enum resp_result result = header(p, data, size, &count, &valid);

	if (result == RESP_ERROR)
		return refuse(p, "too big mbulk count string");
	if (result != RESP_COMMAND)
		return result;
	if (!valid || count > (int64_t)limits->args)
		return refuse(p, "invalid multibulk length");
	if (count > ANONYMOUS_ARGS && limits->anonymous)
		return refuse(p, "unauthenticated multibulk length");
	p->missing = count > 0 ? (size_t)count : 0;
	p->bulk = -1;
	return RESP_COMMAND;
}

static enum resp_result begin_bulk(struct resp_parser *p, const char *data,
				   size_t size,
				   const struct resp_limits *limits)
{
	bool valid = false;
	size_t start = p->at;
	enum resp_result result = header(p, data, size, &p->bulk, &valid);

	if (result == RESP_ERROR)
		return refuse(p, "too big bulk count string");
	if (result != RESP_COMMAND) {
		p->bulk = -1;
		return result;
	}
	if (data[start] != '$') {
		snprintf(p->error, sizeof(p->error), "expected '$', got '%c'",
			 data[start]);
		return RESP_ERROR;
	}
	if (!valid || p->bulk < 0 || p->bulk > (int64_t)limits->bulk)
		return refuse(p, "invalid bulk length");
	if (p->bulk > ANONYMOUS_BULK && limits->anonymous)
		return refuse(p, "unauthenticated bulk length");
	return RESP_COMMAND;
}

/* Take the arguments of less than 100 bytes that have come, as most have, while there are places
 * for them. */
static void take_short(struct resp_parser *p, const char *data, size_t size)
{
	size_t places = p->room - p->kept - p->argc, at = p->at, taken;

	if (places > p->missing)
		places = p->missing;
	for (taken = 0; taken < places; taken++) {
		const char *line = data + at;
		size_t left = size - at, header;
		int64_t bytes;

		header = left && *line == '$' ? short_header(line, left, &bytes)
					      : 0;
		if (!header || left < header + (size_t)bytes + 2)
			break;
		p->argv[p->argc++] =
			(struct bytes){ (const char *)(uintptr_t)(at + header),
					(size_t)bytes };
		at += header + (size_t)bytes + 2;
	}
	p->at = at;
	p->missing -= taken;
}

static enum resp_result parse_array(struct resp_parser *p, const char *data,
				    size_t size,
				    const struct resp_limits *limits)
{
	enum resp_result result;

	if (p->bulk < 0)
		take_short(p, data, size);
	while (p->missing > 0) {
		if (p->bulk < 0) {
			p->need = p->at + 1;
			if (p->at >= size)
				return RESP_MORE;
			result = begin_bulk(p, data, size, limits);
			if (result != RESP_COMMAND)
				return result;
		}
		p->need = p->at + (size_t)p->bulk + 2;
		if (size < p->need)
			return RESP_MORE;
		if (!make_room(p))
			return RESP_NO_MEMORY;
		p->argv[p->argc].data = (const char *)(uintptr_t)p->at;
		p->argv[p->argc++].size = (size_t)p->bulk;
		p->at = p->need;
		p->bulk = -1;
		p->missing--;
	}
	return complete(p, data);
}

/* A line of words. @data: the line is changed where a word has quotes. */
static enum resp_result parse_line(struct resp_parser *p, char *data,
				   size_t size)
{
	/* The bytes before p->at have no end of line. */
	char *end = memchr(data + p->at, '\n', size - p->at);
	struct words words;
	int got;

	if (!end) {
		if (size > RESP_MAX_LINE)
			return refuse(p, "too big inline request");
		p->at = size;
		p->need = size + 1;
		return RESP_MORE;
	}
	p->at = (size_t)(end - data) + 1;
	words = (struct words){ data, end };
	if (end > data && end[-1] == '\r')
		words.end--;
	do {
		struct bytes word;

		got = words_next(&words, &word);
		if (got < 0)
			return refuse(p, "unbalanced quotes in request");
		if (got == 0)
			break;
		if (!make_room(p))
			return RESP_NO_MEMORY;
		p->argv[p->argc++] = (struct bytes){
			(const char *)(uintptr_t)(word.data - data), word.size
		};
	} while (true);
	return complete(p, data);
}

static enum resp_result parse(struct resp_parser *p, char *data, size_t size,
			      const struct resp_limits *limits)
{
	if (p->at == 0) {
		enum resp_result result;

		p->argc = 0;
		p->argv = p->all ? p->all + p->kept : NULL;
		p->missing = 0;
		p->used = 0;
		p->need = 1;
		if (size == 0)
			return RESP_MORE;
		if (*data != '*')
			return parse_line(p, data, size);
		result = begin_array(p, data, size, limits);
		if (result != RESP_COMMAND)
			return result;
	} else if (*data != '*') {
		return parse_line(p, data, size);
	}
	return parse_array(p, data, size, limits);
}

enum resp_result resp_parse(struct resp_parser *p, char *data, size_t size,
			    const struct resp_limits *limits)
{
	enum resp_result result = parse(p, data, size, limits);

	/* In the middle of a line. */
	if (result == RESP_MORE && p->need <= size)
		p->need = size + 1;
	return result;
}

void resp_parser_free(struct resp_parser *p)
{
	free(p->all);
	p->all = p->argv = NULL;
	p->room = p->argc = p->kept = 0;
}

void resp_parser_shrink(struct resp_parser *p)
{
	if (p->room > KEPT_ARGS && p->at == 0)
		resp_parser_free(p);
}
