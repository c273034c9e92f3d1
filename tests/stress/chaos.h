/* SPDX-License-Identifier: MIT */
/**
 * chaos.h - a delay at every atomic operation, now and then
 *
 * Compiled in front of the core and of a stress program, it has each thread
 * pause before some of its atomic operations and fences: mostly for a moment,
 * at times so long that others overtake it, or that the kernel runs somebody
 * else. So windows of a few instructions, which a plain run hardly ever hits,
 * are hit often. SKUA_CHAOS is the seed of the pauses (1); what is run between
 * them is up to the machine, so that a seed is no replay.
 */
#ifndef SKUA_TESTS_STRESS_CHAOS_H
#define SKUA_TESTS_STRESS_CHAOS_H

#include "core/base/atomic.h"

/* chaos_point - perhaps pause; errno stays */
void chaos_point(void);

#if defined(__clang__)
#define CHAOS_LOAD(p, o)          __c11_atomic_load((p), (o))
#define CHAOS_STORE(p, v, o)      __c11_atomic_store((p), (v), (o))
#define CHAOS_UPDATE(op, p, v, o) __c11_atomic_##op((p), (v), (o))
#define CHAOS_EXCHANGE(p, v, o)   __c11_atomic_exchange((p), (v), (o))
#define CHAOS_CAS(p, e, d, s, f) \
	__c11_atomic_compare_exchange_strong((p), (e), (d), (s), (f))
#else
#define CHAOS_LOAD(p, o)          __atomic_load_n((p), (o))
#define CHAOS_STORE(p, v, o)      __atomic_store_n((p), (v), (o))
#define CHAOS_UPDATE(op, p, v, o) __atomic_##op((p), (v), (o))
#define CHAOS_EXCHANGE(p, v, o)   __atomic_exchange_n((p), (v), (o))
#define CHAOS_CAS(p, e, d, s, f) \
	__atomic_compare_exchange_n((p), (e), (d), false, (s), (f))
#endif

/* clang-format off */
#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and_explicit
#undef atomic_fetch_xor_explicit
#undef atomic_compare_exchange_strong_explicit

#define atomic_load_explicit(p, o)     (chaos_point(), CHAOS_LOAD(p, o))
#define atomic_store_explicit(p, v, o) (chaos_point(), CHAOS_STORE(p, v, o))
#define atomic_exchange_explicit(p, v, o) \
	(chaos_point(), CHAOS_EXCHANGE(p, v, o))
#define atomic_fetch_add_explicit(p, v, o) \
	(chaos_point(), CHAOS_UPDATE(fetch_add, p, v, o))
#define atomic_fetch_sub_explicit(p, v, o) \
	(chaos_point(), CHAOS_UPDATE(fetch_sub, p, v, o))
#define atomic_fetch_or_explicit(p, v, o) \
	(chaos_point(), CHAOS_UPDATE(fetch_or, p, v, o))
#define atomic_fetch_and_explicit(p, v, o) \
	(chaos_point(), CHAOS_UPDATE(fetch_and, p, v, o))
#define atomic_fetch_xor_explicit(p, v, o) \
	(chaos_point(), CHAOS_UPDATE(fetch_xor, p, v, o))
#define atomic_compare_exchange_strong_explicit(p, e, d, s, f) \
	(chaos_point(), CHAOS_CAS(p, e, d, s, f))
#define atomic_fence_seq_cst() (chaos_point(), (atomic_fence_seq_cst)())
#define atomic_fence_updated_seq_cst() \
	(chaos_point(), (atomic_fence_updated_seq_cst)())
/* clang-format on */

#endif
