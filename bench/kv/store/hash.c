/* SPDX-License-Identifier: MIT */
/* hash.c - SipHash-1-3 (Aumasson and Bernstein; the variant of Rust's and Python's maps) */
#include "bench/kv/store/hash.h"

#include <string.h>

struct state {
	uint64_t a, b, c, d;
};

static inline uint64_t rotate(uint64_t word, int by)
{
	return word << by | word >> (64 - by);
}

static inline void turn(struct state *s)
{
	s->a += s->b;
	s->c += s->d;
	s->b = rotate(s->b, 13) ^ s->a;
	s->d = rotate(s->d, 16) ^ s->c;
	s->a = rotate(s->a, 32);
	s->c += s->b;
	s->a += s->d;
	s->b = rotate(s->b, 17) ^ s->c;
	s->d = rotate(s->d, 21) ^ s->a;
	s->c = rotate(s->c, 32);
}

static inline void take(struct state *s, uint64_t word)
{
	s->d ^= word;
	turn(s);
	s->a ^= word;
}

uint64_t hash_bytes(const struct hash_secret *secret, const void *data,
		    size_t size)
{
	struct state s = { secret->words[0] ^ UINT64_C(0x736f6d6570736575),
			   secret->words[1] ^ UINT64_C(0x646f72616e646f6d),
			   secret->words[0] ^ UINT64_C(0x6c7967656e657261),
			   secret->words[1] ^ UINT64_C(0x7465646279746573) };
	const char *next = data;
	uint64_t word, last = (uint64_t)size << 56;

	for (size_t left = size / 8; left; left--, next += 8) {
		memcpy(&word, next, 8);
		take(&s, word);
	}
	for (size_t i = 0; i < size % 8; i++)
		last |= (uint64_t)(unsigned char)next[i] << 8 * i;
	take(&s, last);
	s.c ^= 0xff;
	turn(&s);
	turn(&s);
	turn(&s);
	return s.a ^ s.b ^ s.c ^ s.d;
}
