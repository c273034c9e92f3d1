/* SPDX-License-Identifier: MIT */
/* cursor.c - the arguments of SCAN and HSCAN */
#include "bench/kv/commands/cursor.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "bench/kv/store/glob.h"

bool cursor_read(struct call *call, size_t i, uint64_t *out)
{
	char text[32], *end;
	size_t size = call->argv[i].size;

	if (size < sizeof(text)) {
		memcpy(text, call->argv[i].data, size);
		text[size] = '\0';
		errno = 0;
		*out = strtoul(text, &end, 10);
		if (!isspace((unsigned char)text[0]) && !*end && !errno)
			return true;
	}
	REPLY_TEXT(call->reply, "-ERR invalid cursor");
	return false;
}

bool cursor_options(struct call *call, size_t i, bool typed,
		    struct cursor_options *out)
{
	*out = (struct cursor_options){ .all = true, .count = 10 };
	for (; i < call->argc; i += 2) {
		bool more = i + 1 < call->argc;

		if (bytes_is(call->argv[i], "count") && more) {
			if (!call_number(call, i + 1, &out->count))
				return false;
			if (out->count > 0)
				continue;
		} else if (bytes_is(call->argv[i], "match") && more) {
			if (!call_pattern(call, i + 1))
				return false;
			out->pattern = call->argv[i + 1];
			out->all = glob_is_all(out->pattern);
			continue;
		} else if (typed && bytes_is(call->argv[i], "type") && more) {
			out->type = call->argv[i + 1];
			continue;
		}
		call_syntax_error(call);
		return false;
	}
	return true;
}

bool cursor_matches(const struct cursor_options *options, struct bytes name)
{
	return options->all || glob_match(options->pattern, name, false);
}
