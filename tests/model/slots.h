/* SPDX-License-Identifier: MIT */
/**
 * slots.h - report each access of a queue's slots to a model
 *
 * Include it before the file of core/ that has the queue. The model defines slot_loaded(),
 * slot_stored() and slot_claimed(). They are called for each access of an atomic word, and
 * must select those of slots.
 */
#ifndef SKUA_TESTS_MODEL_SLOTS_H
#define SKUA_TESTS_MODEL_SLOTS_H

#include "core/base/atomic.h"

static void slot_loaded(const volatile void *slot, const char *function);
static void slot_stored(const volatile void *slot, const char *function);
static bool slot_claimed(bool success);

#undef atomic_load_relaxed
#undef atomic_store_relaxed
#undef atomic_compare_exchange_strong_explicit
#define atomic_load_relaxed(p)       \
	(slot_loaded((p), __func__), \
	 atomic_load_explicit((p), memory_order_relaxed))
#define atomic_store_relaxed(p, v)   \
	(slot_stored((p), __func__), \
	 atomic_store_explicit((p), (v), memory_order_relaxed))
#define atomic_compare_exchange_strong_explicit(p, e, d, success, failure) \
	slot_claimed(EXPLORE_CAS(p, e, d, false, success, failure))

#endif
