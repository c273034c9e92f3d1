/* SPDX-License-Identifier: MIT */
/* glob.h - patterns of keys and options, as in Redis */
#ifndef SKUA_BENCH_KV_GLOB_H
#define SKUA_BENCH_KV_GLOB_H

#include "bench/kv/resp/number.h"

#define GLOB_MAX 1024

/**
 * glob_match - tell whether a text matches a pattern
 * @pattern: *, ?, [abc], [^abc], [a-z], and \ before any character
 * @any_case: letters match in upper and lower case
 *
 * Takes time in proportion to the product of both sizes at most. A pattern of a client that is
 * matched under a lock has at most GLOB_MAX bytes.
 */
bool glob_match(struct bytes pattern, struct bytes text, bool any_case);

/* glob_is_all - tell whether a pattern matches each text */
static inline bool glob_is_all(struct bytes pattern)
{
	return pattern.size == 1 && pattern.data[0] == '*';
}

#endif
