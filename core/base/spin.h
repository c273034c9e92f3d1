/* SPDX-License-Identifier: MIT */
/**
 * spin.h - how long a worker looks for work before it sleeps
 *
 * At first for as long as a sleep and a wake-up take: whenever work comes, that
 * costs at most twice what it would have cost to know (Karlin et al., "Empirical
 * studies of competitive spinning", SOSP 1991). After a sleep that began and
 * ended within SPIN_MAX_NS of the search before it, twice as long as before, up
 * to that; after a longer one, as at first. So calls that come every few
 * microseconds meet a worker that is awake, and what comes rarely costs no more
 * than it did. The search counts: else one that is at the limit would stay
 * there, in vain, while work comes every SPIN_MAX_NS to twice that. The kernel
 * polls for the interrupts of its guests in this way (halt polling).
 */
#ifndef SKUA_CORE_BASE_SPIN_H
#define SKUA_CORE_BASE_SPIN_H

#include <stdint.h>

/* A guess; `rpc` retunes it: with calls of 10 us at 60 % load, the tail was 1.7
 * times that of a queue without overhead before, 1.5 with 20 us, 1.2 with 50. */
#define SPIN_MAX_NS UINT64_C(50000)

/**
 * spin_after_idle - how long to look next time
 * @spin_ns: how long it was before this sleep; 0 at first
 * @cost_ns: what a sleep and a wake-up take
 * @idle_ns: from the begin of the search until work came
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
