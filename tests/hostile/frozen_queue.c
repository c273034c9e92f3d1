/* SPDX-License-Identifier: MIT */
/**
 * frozen_queue.c - the local queue, with a hook in the middle of a steal
 *
 * It replaces core/queue/local_queue.c in hostile_frozen. The release of a claim is the
 * only fetch-and in that file. The hook runs before it, when the thief holds @steal.count
 * items and no other thief can steal from the same queue.
 */
#include "core/base/atomic.h"
#include "tests/hostile/frozen_queue.h"

/* The order is stronger than the original's, which does not matter for this
 * test. */
#undef atomic_fetch_and_release
#define atomic_fetch_and_release(p, v) \
	(frozen_in_steal(steal.count), atomic_fetch_and_acq_rel((p), (v)))

#include "core/queue/local_queue.c"
