/* SPDX-License-Identifier: MIT */
/**
 * frozen_queue.c - the local queue, with a place to freeze in a steal
 *
 * It stands in for core/queue/local_queue.c in hostile_frozen. The release of a claim
 * is the one fetch-and there is; the hook runs before it, when the thief holds
 * @steal.count items and nobody else can steal from the same queue.
 */
#include "core/base/atomic.h"
#include "tests/hostile/frozen_queue.h"

/* Stronger than the original: no matter for what is tested with it. */
#undef atomic_fetch_and_release
#define atomic_fetch_and_release(p, v) \
	(frozen_in_steal(steal.count), atomic_fetch_and_acq_rel((p), (v)))

#include "core/queue/local_queue.c"
