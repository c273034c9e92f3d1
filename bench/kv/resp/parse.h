/* SPDX-License-Identifier: MIT */
/**
 * parse.h - takes commands of the Redis protocol out of a buffer
 *
 * A command is an array of bulk strings, or a line of words (an inline command). The
 * bytes of a command may come in any number of pieces: the parser keeps its place, and
 * reads each byte once.
 *
 *	while ((result = resp_parse(&p, data, size, &limits)) == RESP_COMMAND) {
 *		run(p.argc, p.argv);
 *		data += p.used;
 *		size -= p.used;
 *	}
 *
 * To run several commands together, a caller keeps the arguments of one (resp_keep())
 * while it parses the next.
 *
 * The parser accepts and refuses the same input as Redis 7.0, with the same errors. The
 * bytes after a bulk string are therefore not checked: two bytes are skipped.
 */
#ifndef SKUA_BENCH_KV_PARSE_H
#define SKUA_BENCH_KV_PARSE_H

#include "bench/kv/resp/number.h"

/* A line without an end may have this number of bytes. */
#define RESP_MAX_LINE 65536u

/**
 * struct resp_limits - what a client may send
 * @bulk: size of a bulk string in bytes
 * @args: arguments of a command
 * @anonymous: the client must give a password first, and may send only small commands
 */
struct resp_limits {
	size_t bulk;
	size_t args;
	bool anonymous;
};

/* RESP_MORE: the command is not complete. RESP_COMMAND: argc and argv are set; argc is 0
 * if the client sent an empty one. RESP_ERROR: the connection cannot go on; the error is
 * in error. RESP_NO_MEMORY: there is no memory for the arguments. */
enum resp_result { RESP_MORE, RESP_COMMAND, RESP_ERROR, RESP_NO_MEMORY };

/**
 * struct resp_parser - the state of a parser; zeroed at first
 * @used: bytes of the command that was returned last
 * @need: bytes, from the start of the command, without which it cannot be complete
 * @argv: valid until the next call of resp_parse(), and while the buffer is in place.
 *        After resp_keep(), those of the next command follow them
 * @kept: arguments of earlier commands in @argv
 * @error: text after RESP_ERROR
 * @all, @at, @missing, @bulk, @room: private
 *
 * While a command is incomplete, its arguments are offsets from its start instead of
 * addresses, so that the buffer may move. No arguments are kept then.
 */
struct resp_parser {
	size_t used, need;
	size_t argc, kept, room;
	struct bytes *argv;
	struct bytes *all;
	char error[48];
	size_t at;
	size_t missing;
	int64_t bulk;
};

/**
 * resp_parse - take the next command out of a buffer
 * @data: the first byte of the command. Inline commands are changed in place
 * @size: bytes that are there; no fewer than in the call before, if that returned
 *        RESP_MORE
 */
enum resp_result resp_parse(struct resp_parser *p, char *data, size_t size,
			    const struct resp_limits *limits);

/* resp_keep - keep the arguments of the command that was returned last. Return: their place,
 * for resp_kept() */
static inline size_t resp_keep(struct resp_parser *p)
{
	size_t place = p->kept;

	p->kept += p->argc;
	return place;
}

/* resp_kept - return the arguments that were kept */
static inline const struct bytes *resp_kept(const struct resp_parser *p,
					    size_t place)
{
	return p->all + place;
}

/* resp_drop - keep no arguments any more, not even those of a command that is incomplete:
 * it is parsed from its start again */
static inline void resp_drop(struct resp_parser *p)
{
	if (p->kept) {
		p->kept = 0;
		p->at = 0;
	}
}

/* resp_parser_free - free the memory of a parser */
void resp_parser_free(struct resp_parser *p);

/* resp_parser_shrink - free the memory that only a large command needs; call it between
 * commands */
void resp_parser_shrink(struct resp_parser *p);

#endif
