/* SPDX-License-Identifier: MIT */
/**
 * atomic.h - atomic types and operations, with the memory order in the name
 *
 * No other file of core/ includes <stdatomic.h>. No operation here has an
 * implicit order, and only the fences are sequentially consistent: code that
 * must order a store before a later load calls atomic_fence_seq_cst().
 *
 * A model test includes tests/model/explore.h before all other headers. That
 * header defines SKUA_EXPLORE, and replaces the *_explicit operations by
 * operations that a deterministic scheduler drives.
 */
#ifndef SKUA_CORE_BASE_ATOMIC_H
#define SKUA_CORE_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic(uint32_t) atomic_u32;
typedef _Atomic(uint64_t) atomic_u64;
typedef _Atomic(void *) atomic_ptr;

/*
 * Two cache lines of 64 bytes. Processors fetch lines in pairs, so fields with
 * different writers are kept a pair apart.
 */
#define CACHE_PAIR 128

/* clang-format off */
#define atomic_load_relaxed(p)  atomic_load_explicit((p), memory_order_relaxed)
#define atomic_load_acquire(p)  atomic_load_explicit((p), memory_order_acquire)

#define atomic_store_relaxed(p, v) \
	atomic_store_explicit((p), (v), memory_order_relaxed)
#define atomic_store_release(p, v) \
	atomic_store_explicit((p), (v), memory_order_release)

#define atomic_exchange_acquire(p, v) \
	atomic_exchange_explicit((p), (v), memory_order_acquire)
#define atomic_exchange_release(p, v) \
	atomic_exchange_explicit((p), (v), memory_order_release)
#define atomic_exchange_acq_rel(p, v) \
	atomic_exchange_explicit((p), (v), memory_order_acq_rel)

#define atomic_fetch_add_relaxed(p, v) \
	atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define atomic_fetch_add_release(p, v) \
	atomic_fetch_add_explicit((p), (v), memory_order_release)
#define atomic_fetch_add_acq_rel(p, v) \
	atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define atomic_fetch_sub_relaxed(p, v) \
	atomic_fetch_sub_explicit((p), (v), memory_order_relaxed)
#define atomic_fetch_sub_release(p, v) \
	atomic_fetch_sub_explicit((p), (v), memory_order_release)
#define atomic_fetch_sub_acq_rel(p, v) \
	atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel)
#define atomic_fetch_or_relaxed(p, v) \
	atomic_fetch_or_explicit((p), (v), memory_order_relaxed)
#define atomic_fetch_or_acquire(p, v) \
	atomic_fetch_or_explicit((p), (v), memory_order_acquire)
#define atomic_fetch_or_release(p, v) \
	atomic_fetch_or_explicit((p), (v), memory_order_release)
#define atomic_fetch_or_acq_rel(p, v) \
	atomic_fetch_or_explicit((p), (v), memory_order_acq_rel)
#define atomic_fetch_and_relaxed(p, v) \
	atomic_fetch_and_explicit((p), (v), memory_order_relaxed)
#define atomic_fetch_and_acquire(p, v) \
	atomic_fetch_and_explicit((p), (v), memory_order_acquire)
#define atomic_fetch_and_release(p, v) \
	atomic_fetch_and_explicit((p), (v), memory_order_release)
#define atomic_fetch_and_acq_rel(p, v) \
	atomic_fetch_and_explicit((p), (v), memory_order_acq_rel)
#define atomic_fetch_xor_acq_rel(p, v) \
	atomic_fetch_xor_explicit((p), (v), memory_order_acq_rel)

/* Strong compare-exchanges: they fail only if *p differs from *expected. */
#define atomic_cas_acq_rel(p, expected, desired)                              \
	atomic_compare_exchange_strong_explicit(                              \
		(p), (expected), (desired), memory_order_acq_rel,             \
		memory_order_acquire)
#define atomic_cas_acquire(p, expected, desired)                              \
	atomic_compare_exchange_strong_explicit(                              \
		(p), (expected), (desired), memory_order_acquire,             \
		memory_order_relaxed)
#define atomic_cas_release(p, expected, desired)                              \
	atomic_compare_exchange_strong_explicit(                              \
		(p), (expected), (desired), memory_order_release,             \
		memory_order_relaxed)
#define atomic_cas_relaxed(p, expected, desired)                              \
	atomic_compare_exchange_strong_explicit(                              \
		(p), (expected), (desired), memory_order_relaxed,             \
		memory_order_relaxed)
/* clang-format on */

/**
 * atomic_fence_seq_cst - order all earlier stores before all later loads
 *
 * On x86 this is a locked read-modify-write of the stack, which takes 2-3 ns.
 * Some compilers emit mfence for the C11 fence, which takes 20 ns.
 * ThreadSanitizer sees neither of them, and does not need to: a fence orders
 * two words that both sides store and load, and no data is handed over by a
 * fence alone.
 */
static inline void atomic_fence_seq_cst(void)
{
#if defined(__x86_64__) && !defined(SKUA_EXPLORE)
	__asm__ volatile("lock; orl $0,(%%rsp)" ::: "memory", "cc");
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/**
 * atomic_fence_updated_seq_cst - the same fence, directly after a
 * read-modify-write
 *
 * On x86 the read-modify-write is a full fence already; here only the compiler
 * must not reorder.
 */
static inline void atomic_fence_updated_seq_cst(void)
{
#if defined(__x86_64__) && !defined(SKUA_EXPLORE)
	__asm__ volatile("" ::: "memory");
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/**
 * atomic_fence_loads_seq_cst - the same fence, for earlier loads only
 *
 * It need not order earlier stores before later loads. On x86 each load is ordered
 * before all later ones; here only the compiler must not reorder.
 */
static inline void atomic_fence_loads_seq_cst(void)
{
#if defined(__x86_64__) && !defined(SKUA_EXPLORE)
	__asm__ volatile("" ::: "memory");
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/**
 * atomic_fence_compiler - keep the compiler from reordering; costs nothing
 *
 * The processor may still reorder. It is a fence between two accesses of this
 * thread only against a thread that calls membarrier_fence() (core/os/
 * membarrier.h), which makes every thread of the process execute a fence.
 */
static inline void atomic_fence_compiler(void)
{
	__asm__ volatile("" ::: "memory");
}

/* cpu_relax - tell the processor that the caller waits in a loop */
static inline void cpu_relax(void)
{
#if defined(SKUA_EXPLORE)
	explore_relax();
#elif defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

#endif
