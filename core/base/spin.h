/* SPDX-License-Identifier: MIT */
/**
 * spin.h - how long a worker searches for work before it sleeps
 *
 * The first search lasts as long as a sleep and a wake-up take. Whenever work
 * comes, the worker then spends at most twice the time that it would spend if
 * it knew the future (Karlin et al., "Empirical studies of competitive
 * spinning", SOSP 1991). After a sleep, the worker knows its idle time, from
 * the start of the search until work came. If that was below SPIN_MAX_NS, the
 * next search may last twice as long as before, up to SPIN_MAX_NS. If it was
 * longer, the next search lasts as long as the first one.
 *
 * So calls that come every few microseconds find a worker awake, and rare work
 * costs no more than with a constant limit. The idle time includes the search.
 * Otherwise a worker at the limit would stay there and search in vain while
 * work comes every SPIN_MAX_NS to 2 * SPIN_MAX_NS. The Linux kernel polls for
 * the interrupts of its guests in the same way (halt polling).
 */
#ifndef SKUA_CORE_BASE_SPIN_H
#define SKUA_CORE_BASE_SPIN_H

#include <stdint.h>

/* A guess; the benchmark `rpc` retunes it. With calls of 10 us at 60 % load,
 * the tail latency was 1.7 times that of a queue without overhead while the
 * limit was constant, 1.5 times with 20 us here, and 1.2 times with 50 us. */
#define SPIN_MAX_NS UINT64_C(50000)

/**
 * spin_after_idle - return how long the next search may last, in ns
 * @spin_ns: how long the last search could last; 0 at first
 * @cost_ns: how long a sleep and a wake-up take
 * @idle_ns: time from the start of the search until work came
 */
static inline uint64_t spin_after_idle(uint64_t spin_ns, uint64_t cost_ns,
				       uint64_t idle_ns)
{
	if (idle_ns >= SPIN_MAX_NS || spin_ns < cost_ns)
		spin_ns = cost_ns;
	if (idle_ns < SPIN_MAX_NS)
		spin_ns *= 2;
	return spin_ns < SPIN_MAX_NS ? spin_ns : SPIN_MAX_NS;
}

#endif
