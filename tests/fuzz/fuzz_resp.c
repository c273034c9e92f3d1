/* SPDX-License-Identifier: MIT */
/**
 * fuzz_resp.c - any bytes as requests to skua-kv
 *
 * The bytes are parsed at once, and once more in pieces, each time in another buffer of
 * exactly their size, as a connection does: both must give the same commands and the same
 * end. The model is another reader, of arrays with plain headers alone, which checks the
 * commands until the first byte that it does not understand. Arguments that are integers
 * are also read as such.
 */
#include <string.h>

#include "bench/kv/resp/parse.h"
#include "tests/fuzz/fuzz.h"

#define MAX_INPUT 4096u
#define MAX_ARGS  64u

static const struct resp_limits limits = { 512, MAX_ARGS, false };

/* A hash of all that a parse has given. */
struct outcome {
	uint64_t hash;
	enum resp_result end;
	char error[48];
};

static void note(struct outcome *outcome, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	outcome->hash = (outcome->hash ^ size) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < size; i++)
		outcome->hash =
			(outcome->hash ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static void check_number(struct bytes argument)
{
	char text[NUMBER_ROOM];
	int64_t number;

	if (number_parse(argument, &number))
		fuzz_check(bytes_equal(
				   argument,
				   (struct bytes){
					   text, number_format(text, number) }),
			   "%" PRId64 " is written in another way", number);
}

static void note_command(struct outcome *outcome, const struct resp_parser *p)
{
	fuzz_check(p->argc <= MAX_ARGS + MAX_INPUT, "%zu arguments", p->argc);
	note(outcome, &p->argc, sizeof(p->argc));
	for (size_t i = 0; i < p->argc; i++) {
		note(outcome, p->argv[i].data, p->argv[i].size);
		check_number(p->argv[i]);
	}
}

/* ---- the model ------------------------------------------------------------------ */

/* Read "*3\r\n" or "$3\r\n" with up to three digits. False: it is something else. */
static bool model_header(const char **at, const char *end, char type,
			 size_t *number)
{
	const char *next = *at;
	size_t digits = 0;

	if (next == end || *next++ != type)
		return false;
	*number = 0;
	while (digits < 3 && next < end && *next >= '0' && *next <= '9') {
		*number = *number * 10 + (size_t)(*next++ - '0');
		digits++;
	}
	if (!digits || (digits > 1 && (*at)[1] == '0') || end - next < 2 ||
	    memcmp(next, "\r\n", 2) != 0)
		return false;
	*at = next + 2;
	return true;
}

/* The command that the parser has returned is the one of the model, if the model knows
 * the command. */
static void check_command(const struct resp_parser *p, const char *data,
			  const char *end)
{
	const char *at = data;
	size_t count, size;

	if (!model_header(&at, end, '*', &count))
		return;
	fuzz_check(p->argc == count, "%zu arguments, not %zu", p->argc, count);
	for (size_t i = 0; i < count; i++) {
		if (!model_header(&at, end, '$', &size))
			return;
		fuzz_check(p->argv[i].data == at && p->argv[i].size == size,
			   "argument %zu", i);
		at += size + 2;
	}
	fuzz_check(p->used == (size_t)(at - data), "%zu bytes used, not %zu",
		   p->used, (size_t)(at - data));
}

/* ---- both ways ------------------------------------------------------------------ */

static struct outcome parse_at_once(const uint8_t *data, size_t size)
{
	struct outcome outcome = { .hash = 1 };
	struct resp_parser p = { .used = 0 };
	char *copy = malloc(size + 1), *next = copy;

	memcpy(copy, data, size);
	while ((outcome.end = resp_parse(&p, next, size, &limits)) ==
	       RESP_COMMAND) {
		fuzz_check(p.used > 0 && p.used <= size, "%zu bytes used",
			   p.used);
		check_command(&p, next, next + size);
		note_command(&outcome, &p);
		next += p.used;
		size -= p.used;
	}
	fuzz_check(outcome.end != RESP_MORE || p.need > size,
		   "needs %zu bytes, and has %zu", p.need, size);
	if (outcome.end == RESP_ERROR)
		memcpy(outcome.error, p.error, sizeof(p.error));
	resp_parser_free(&p);
	free(copy);
	return outcome;
}

static struct outcome parse_in_pieces(const uint8_t *data, size_t size,
				      size_t piece)
{
	struct outcome outcome = { .hash = 1, .end = RESP_MORE };
	struct resp_parser p = { .used = 0 };
	size_t held = 0;
	char *buffer = malloc(1);

	while (outcome.end == RESP_MORE && size > 0) {
		size_t step = piece < size ? piece : size;
		char *moved = malloc(held + step);

		memcpy(moved, buffer, held);
		memcpy(moved + held, data, step);
		free(buffer);
		buffer = moved;
		held += step;
		data += step;
		size -= step;
		while ((outcome.end = resp_parse(&p, buffer, held, &limits)) ==
		       RESP_COMMAND) {
			note_command(&outcome, &p);
			held -= p.used;
			memmove(buffer, buffer + p.used, held);
		}
	}
	if (outcome.end == RESP_ERROR)
		memcpy(outcome.error, p.error, sizeof(p.error));
	resp_parser_free(&p);
	free(buffer);
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome once, pieces;
	size_t piece;

	if (size < 1 || size > MAX_INPUT)
		return -1; /* says nothing new */
	piece = 1 + data[0] % 16u;
	data++;
	size--;
	once = parse_at_once(data, size);
	pieces = parse_in_pieces(data, size, piece);
	fuzz_check(once.end == pieces.end, "ends with %d, in pieces with %d",
		   once.end, pieces.end);
	fuzz_check(once.hash == pieces.hash, "other commands in pieces");
	fuzz_check(strcmp(once.error, pieces.error) == 0,
		   "error \"%s\", in pieces \"%s\"", once.error, pieces.error);
	return 0;
}
