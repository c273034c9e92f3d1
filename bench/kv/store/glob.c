/* SPDX-License-Identifier: MIT */
/* glob.c - patterns of keys and options, as in Redis */
#include "bench/kv/store/glob.h"

#include <ctype.h>

static unsigned char folded(char c, bool any_case)
{
	return (unsigned char)(any_case ? tolower((unsigned char)c) : c);
}

/* Match one character with the set that begins at @at, after "[". @at receives the
 * place after the set. As in Redis, a set without "]" ends with the pattern. */
static bool match_set(struct bytes pattern, size_t *at, char c, bool any_case)
{
	unsigned char wanted = folded(c, any_case);
	size_t i = *at;
	bool negated = i < pattern.size && pattern.data[i] == '^';
	bool match = false;

	for (i += negated; i < pattern.size && pattern.data[i] != ']'; i++) {
		unsigned char first, last;

		if (pattern.data[i] == '\\' && i + 1 < pattern.size) {
			i++;
			match |= pattern.data[i] == c;
			continue;
		}
		first = last = folded(pattern.data[i], any_case);
		if (i + 2 < pattern.size && pattern.data[i + 1] == '-') {
			last = folded(pattern.data[i + 2], any_case);
			i += 2;
		}
		match |= first <= last ? wanted >= first && wanted <= last
				       : wanted >= last && wanted <= first;
	}
	*at = i < pattern.size ? i + 1 : i;
	return match != negated;
}

/* Match one character with the pattern at @at, which is not "*". */
static bool match_one(struct bytes pattern, size_t *at, char c, bool any_case)
{
	char p = pattern.data[(*at)++];

	if (p == '?')
		return true;
	if (p == '[')
		return match_set(pattern, at, c, any_case);
	if (p == '\\' && *at < pattern.size)
		p = pattern.data[(*at)++];
	return folded(p, any_case) == folded(c, any_case);
}

bool glob_match(struct bytes pattern, struct bytes text, bool any_case)
{
	/* After a mismatch, the last "*" takes one character more. */
	size_t at = 0, star = SIZE_MAX, taken = 0;

	for (size_t i = 0; i < text.size;) {
		if (at < pattern.size && pattern.data[at] == '*') {
			star = ++at;
			taken = i;
			continue;
		}
		if (at < pattern.size &&
		    match_one(pattern, &at, text.data[i], any_case)) {
			i++;
			continue;
		}
		if (star == SIZE_MAX)
			return false;
		at = star;
		i = ++taken;
	}
	while (at < pattern.size && pattern.data[at] == '*')
		at++;
	return at == pattern.size;
}
