/* SPDX-License-Identifier: MIT */
/* words.c - splits a line into words, which may have quotes */
#include "bench/kv/resp/words.h"

#include <ctype.h>

static bool is_space(char c)
{
	return isspace((unsigned char)c);
}

/* As in Redis: other white space is a part of the word in which it comes. */
static bool ends_word(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read the character after a backslash in "...". */
static char escaped(struct words *words)
{
	char c = *words->next++;

	switch (c) {
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'a':
		return '\a';
	case 'x':
		if (words->end - words->next >= 2 &&
		    hex_digit(words->next[0]) >= 0 &&
		    hex_digit(words->next[1]) >= 0) {
			int value = hex_digit(words->next[0]) * 16 +
				    hex_digit(words->next[1]);

			words->next += 2;
			return (char)value;
		}
		return c;
	default:
		return c;
	}
}

/* Copy a part in quotes to @out. Return: its end; NULL: the quotes are not closed. */
static char *quoted(struct words *words, char *out, char quote)
{
	while (words->next < words->end) {
		char c = *words->next++;
		bool more = words->next < words->end;

		if (c == quote) {
			if (more && *words->next && !is_space(*words->next))
				return NULL;
			return out;
		}
		if (c == '\\' && more && quote == '"')
			c = escaped(words);
		else if (c == '\\' && more && *words->next == '\'')
			c = *words->next++;
		*out++ = c;
	}
	return NULL;
}

int words_next(struct words *words, struct bytes *word)
{
	char *out;

	while (words->next < words->end && is_space(*words->next))
		words->next++;
	/* As in Redis, a zero byte ends the line. */
	if (words->next == words->end || *words->next == '\0')
		return 0;
	out = words->next;
	word->data = out;
	while (words->next < words->end && !ends_word(*words->next)) {
		char c = *words->next++;

		if (c == '"' || c == '\'') {
			out = quoted(words, out, c);
			if (!out)
				return -1;
			break;
		}
		*out++ = c;
	}
	word->size = (size_t)(out - word->data);
	return 1;
}
