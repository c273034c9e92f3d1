/* SPDX-License-Identifier: MIT */
/* words.h - splits a line into words, which may have quotes */
#ifndef SKUA_BENCH_KV_WORDS_H
#define SKUA_BENCH_KV_WORDS_H

#include "bench/kv/resp/number.h"

/* The rest of a line. */
struct words {
	char *next;
	char *end;
};

/**
 * words_next - take the next word of a line
 * @words: the rest of the line, which is changed in place
 * @word: receives the word, which is in the line
 *
 * Words are separated by white space. "..." may have \n, \r, \t, \b, \a, \xHH and \ before
 * any other character; '...' may have \'. A closing quote must end the word.
 * Return: 1; 0: there is none left; -1: quotes are not closed.
 */
int words_next(struct words *words, struct bytes *word);

#endif
