/* SPDX-License-Identifier: MIT */
/* futex.h - sleep on a word, and wake its sleepers, within this process */
#ifndef SKUA_CORE_OS_FUTEX_H
#define SKUA_CORE_OS_FUTEX_H

#include "core/base/atomic.h"

#ifdef SKUA_EXPLORE

#define futex_wait(word, expected) explore_futex_wait((word), (expected))
#define futex_wake(word, count)    explore_futex_wake((word), (count))
#define futex_wait_until(word, expected, deadline_ns) \
	explore_futex_wait_until((word), (expected), (deadline_ns))

#else

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/**
 * futex_wait - sleep while *word is @expected
 *
 * May return without a wake-up: after a signal, after a wake-up for an earlier
 * sleeper, or because *word differed. The caller checks the word again in a
 * loop. There is no timeout.
 */
static inline void futex_wait(atomic_u32 *word, uint32_t expected)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
	errno = saved; /* the library never sets it */
}

/**
 * futex_wait_until - as futex_wait(), but no longer than until @deadline_ns of
 * CLOCK_MONOTONIC
 */
static inline void futex_wait_until(atomic_u32 *word, uint32_t expected,
				    uint64_t deadline_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / 1000000000u),
		.tv_nsec = (long)(deadline_ns % 1000000000u),
	};

	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, &deadline,
		NULL, FUTEX_BITSET_MATCH_ANY);
	errno = saved;
}

/**
 * futex_wake - wake up to @count sleepers on @word
 *
 * The memory of the word may be freed already: the kernel uses only its
 * address. If another word has that address by then, its sleeper sees a wake-up
 * without cause.
 */
static inline void futex_wake(atomic_u32 *word, int count)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
	errno = saved;
}

#endif
#endif
