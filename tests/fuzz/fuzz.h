/* SPDX-License-Identifier: MIT */
/**
 * fuzz.h - what the fuzz targets share
 *
 * A target is one function, LLVMFuzzerTestOneInput(). It reads the input as a
 * program: each byte chooses something, and when there are none left, what is
 * read is 0. It runs the program on the library and on a model of it, and
 * aborts when the two differ. Nothing else decides: no clock, no random
 * number, nothing left over from the input before, so that an input does the
 * same each time.
 */
#ifndef SKUA_TESTS_FUZZ_FUZZ_H
#define SKUA_TESTS_FUZZ_FUZZ_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* fuzz_check - the library does as the model says; else say what, and abort */
#define fuzz_check(condition, ...)                                      \
	do {                                                            \
		if (!(condition)) {                                     \
			fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
			fprintf(stderr, __VA_ARGS__);                   \
			fputc('\n', stderr);                            \
			abort();                                        \
		}                                                       \
	} while (0)

/* The rest of the input. */
struct fuzz_input {
	const uint8_t *next;
	const uint8_t *end;
};

static inline bool fuzz_more(const struct fuzz_input *in)
{
	return in->next < in->end;
}

static inline uint8_t fuzz_byte(struct fuzz_input *in)
{
	return fuzz_more(in) ? *in->next++ : 0;
}

/* fuzz_below - a number below @limit, which is 1 to 256 */
static inline unsigned fuzz_below(struct fuzz_input *in, unsigned limit)
{
	return fuzz_byte(in) % limit;
}

/* fuzz_number - @bytes bytes, the lowest first */
static inline uint64_t fuzz_number(struct fuzz_input *in, unsigned bytes)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < bytes; i++)
		number |= (uint64_t)fuzz_byte(in) << 8 * i;
	return number;
}

#endif
