/* SPDX-License-Identifier: MIT */
/**
 * counted_exchanges.h - count the compare-exchanges of a source that is included after this
 *
 * Include it after all headers, and before the source under test.
 */
#ifndef SKUA_TESTS_COUNTED_EXCHANGES_H
#define SKUA_TESTS_COUNTED_EXCHANGES_H

#include "core/base/atomic.h"

static inline bool real_acquire(atomic_u64 *word, uint64_t *seen,
				uint64_t wanted)
{
	return atomic_cas_acquire(word, seen, wanted);
}

static inline bool real_release(atomic_u64 *word, uint64_t *seen,
				uint64_t wanted)
{
	return atomic_cas_release(word, seen, wanted);
}

static unsigned tries;

#undef atomic_cas_acquire
#undef atomic_cas_release
#define atomic_cas_acquire(word, seen, wanted) \
	(tries++, real_acquire((word), (seen), (wanted)))
#define atomic_cas_release(word, seen, wanted) \
	(tries++, real_release((word), (seen), (wanted)))

#endif
