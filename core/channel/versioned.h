/* SPDX-License-Identifier: MIT */
/**
 * versioned.h - memory that one thread changes while others copy it (a seqlock)
 *
 * A version stands beside the memory. A writer, of which there is one at a time, gives it
 * another value before and after the change. A reader looks at it before and after its
 * copy: if it was the same, and not that of a change, the copy is good.
 *
 * The memory consists of atomic words. A word is stored with release, and loaded with
 * acquire: so a reader that copies a word of a later change sees the version from before
 * that change, or a later one, in its second look. Fences would do the same for less on
 * processors where they cost less than the words' orders, but not where a sanitizer looks
 * on; on x86 neither costs anything.
 */
#ifndef SKUA_CORE_CHANNEL_VERSIONED_H
#define SKUA_CORE_CHANNEL_VERSIONED_H

#include <string.h>

#include "core/base/atomic.h"

/* Copy a word, or only @left bytes if fewer than a word are left. The copy of a whole word
 * needs no call. */
static inline void part_copy(void *to, const void *from, uint32_t left)
{
	if (__builtin_expect(left >= 8, true))
		memcpy(to, from, 8);
	else
		memcpy(to, from, left);
}

/*
 * versioned_set_locked - change the memory
 * @words: room for @bytes, rounded up to whole words
 * @changing, @done: versions during the change and after it
 */
static inline void versioned_set_locked(atomic_u64 *version, uint64_t changing,
					uint64_t done, atomic_u64 *words,
					const void *item, uint32_t bytes)
{
	const char *from = item;

	/* Relaxed: the words' releases order it. */
	atomic_store_relaxed(version, changing);
	for (uint32_t at = 0; at < bytes; at += 8) {
		uint64_t word = 0;

		part_copy(&word, from + at, bytes - at);
		/* Release: the version before it. Pairs with
		 * versioned_copy(). */
		atomic_store_release(words++, word);
	}
	/* Release: the words, and what the caller did before. Pairs with the
	 * readers' first look. */
	atomic_store_release(version, done);
}

/*
 * versioned_copy - copy the memory, after a look at its version with acquire
 * @seen: the version then, which was that of no change
 *
 * Return: is the copy good?
 */
static inline bool versioned_copy(void *item, atomic_u64 *words, uint32_t bytes,
				  atomic_u64 *version, uint64_t seen)
{
	char *to = item;

	for (uint32_t at = 0; at < bytes; at += 8) {
		/* Acquire: the version before a change. Pairs with
		 * versioned_set_locked(). */
		uint64_t word = atomic_load_acquire(words++);

		part_copy(to + at, &word, bytes - at);
	}
	/* Relaxed: the words' acquires order it. */
	return atomic_load_relaxed(version) == seen;
}

#endif
