/* SPDX-License-Identifier: MIT */
/**
 * stress.h - what the stress programs share
 *
 * A stress program counts operations and checks that each item was taken once.
 * SKUA_STRESS_OPS sets how many operations it makes at least; the default is
 * 5 10^7. With the pauses of chaos.h it is SKUA_CHAOS_OPS, and 200,000. It exits
 * 0 or 1 and prints one line that says what it did.
 */
#ifndef SKUA_TESTS_STRESS_H
#define SKUA_TESTS_STRESS_H

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/atomic.h"

#if defined(SKUA_TESTS_STRESS_CHAOS_H)
#define STRESS_OPS         "SKUA_CHAOS_OPS"
#define STRESS_DEFAULT_OPS UINT64_C(200000)
#define STRESS_ROUND       (1u << 15)
#else
#define STRESS_OPS         "SKUA_STRESS_OPS"
#define STRESS_DEFAULT_OPS UINT64_C(50000000)
#define STRESS_ROUND       (1u << 18)
#endif

/* stress_fail - say what went wrong and end the program */
__attribute__((noreturn, format(printf, 1, 2))) static inline void
stress_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("FAIL: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

/* stress_check - of a call that has to succeed, named @what */
static inline void stress_check(int code, const char *what)
{
	if (code != 0)
		stress_fail("%s: %d", what, code);
}

/* stress_ops - how many operations to make */
static inline uint64_t stress_ops(void)
{
	const char *text = getenv(STRESS_OPS);
	char *end;
	unsigned long long ops;

	if (!text || !*text)
		return STRESS_DEFAULT_OPS;
	ops = strtoull(text, &end, 10);
	if (*end || ops == 0)
		stress_fail(STRESS_OPS ": \"%s\", allowed is a number of "
				       "1 or more",
			    text);
	return ops;
}

/*
 * The taken items of a round, of items 1 to STRESS_ROUND: each is marked once
 * by its taker.
 */
struct stress_ledger {
	atomic_u32 taken[STRESS_ROUND + 1];
	atomic_u64 total;
};

/* stress_take - mark an item as taken; fails if it was taken before */
static inline void stress_take(struct stress_ledger *ledger, uint64_t item)
{
	if (item < 1 || item > STRESS_ROUND)
		stress_fail("took %" PRIu64 ", which nobody pushed", item);
	/* Relaxed, both: counts; the end of the round is a join. */
	if (atomic_fetch_add_relaxed(&ledger->taken[item], 1) != 0)
		stress_fail("item %" PRIu64 " taken twice", item);
	atomic_fetch_add_relaxed(&ledger->total, 1);
}

/* stress_ledger_done - have all items of the round been taken? */
static inline bool stress_ledger_done(struct stress_ledger *ledger)
{
	return atomic_load_relaxed(&ledger->total) >= STRESS_ROUND;
}

/* stress_ledger_close - check that each item was taken, and start again */
static inline void stress_ledger_close(struct stress_ledger *ledger)
{
	for (uint32_t i = 1; i <= STRESS_ROUND; i++) {
		if (atomic_load_relaxed(&ledger->taken[i]) != 1)
			stress_fail("item %" PRIu32 " lost", i);
		atomic_store_relaxed(&ledger->taken[i], 0);
	}
	if (atomic_load_relaxed(&ledger->total) != STRESS_ROUND)
		stress_fail("%" PRIu64 " items taken of %u",
			    atomic_load_relaxed(&ledger->total), STRESS_ROUND);
	atomic_store_relaxed(&ledger->total, 0);
}

/* stress_threads - run @count threads of @body on elements of @args */
static inline void stress_threads(unsigned count, void *(*body)(void *),
				  void *args, size_t size)
{
	pthread_t threads[64];

	for (unsigned i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, body,
				   (char *)args + i * size) != 0)
			stress_fail("cannot create thread %u", i);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

#endif
