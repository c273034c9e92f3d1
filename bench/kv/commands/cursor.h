/* SPDX-License-Identifier: MIT */
/* cursor.h - the arguments of SCAN and HSCAN */
#ifndef SKUA_BENCH_KV_CURSOR_H
#define SKUA_BENCH_KV_CURSOR_H

#include "bench/kv/commands/command.h"

/**
 * struct cursor_options - what a scan looks for
 * @pattern: of the keys or fields; not used if @all
 * @type: of the values; without bytes: any
 * @count: about how many are visited
 */
struct cursor_options {
	struct bytes pattern, type;
	bool all;
	int64_t count;
};

/* cursor_read - read argument @i as a cursor. Return: false: the reply is an error */
bool cursor_read(struct call *call, size_t i, uint64_t *out);

/* cursor_options - read the options from argument @i on. @typed: TYPE is one of them.
 * Return: false: the reply is an error */
bool cursor_options(struct call *call, size_t i, bool typed,
		    struct cursor_options *out);

/* cursor_matches - tell whether the name of a key or field fits the pattern */
bool cursor_matches(const struct cursor_options *options, struct bytes name);

#endif
