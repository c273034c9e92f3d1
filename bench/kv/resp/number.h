/* SPDX-License-Identifier: MIT */
/* number.h - integers as text, and sequences of bytes */
#ifndef SKUA_BENCH_KV_NUMBER_H
#define SKUA_BENCH_KV_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Bytes of another owner, without an end mark. */
struct bytes {
	const char *data;
	size_t size;
};

/* The room that number_format() needs. */
#define NUMBER_ROOM 20

/* bytes_is - tell whether the bytes are a word, in upper or lower case */
static inline bool bytes_is(struct bytes bytes, const char *word)
{
	return bytes.size == strlen(word) &&
	       strncasecmp(bytes.data, word, bytes.size) == 0;
}

/* The most bytes of an argument that an error shows, as in Redis. */
#define BYTES_SHOWN 128

/* bytes_shown - return the precision with which printf() shows an argument */
static inline int bytes_shown(struct bytes bytes)
{
	return bytes.size > BYTES_SHOWN ? BYTES_SHOWN : (int)bytes.size;
}

/* bytes_equal - tell whether two sequences of bytes are the same */
static inline bool bytes_equal(struct bytes a, struct bytes b)
{
	return a.size == b.size &&
	       (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/**
 * number_parse - read a decimal integer of 64 bits
 *
 * Accepts only the text that number_format() writes: no sign "+", no leading zero, no
 * space. Return: true; false: it is none, and @out is unchanged.
 */
bool number_parse(struct bytes text, int64_t *out);

/* number_format - write a decimal integer. Return: the number of bytes */
size_t number_format(char out[NUMBER_ROOM], int64_t number);

#endif
