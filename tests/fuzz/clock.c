/* SPDX-License-Identifier: MIT */
/* clock.c - see clock.h */
#include "tests/fuzz/clock.h"

#include <poll.h>
#include <signal.h>
#include <time.h>

#include "core/base/atomic.h"
#include "tests/fuzz/fuzz.h"

#define NS_PER_S UINT64_C(1000000000)
/* Not 0, so that there are times that have passed. */
#define START_NS (1000 * NS_PER_S)
/* A wait without a deadline begins with this. */
#define UNTOLD_NS UINT64_C(10000000)
/* Each wait without progress takes twice as long: this many are 300 years. */
#define WAITS_IN_VAIN 64u

/* Threads of a runtime read it too; they run only while it is 0: real time. */
static atomic_u64 stopped_ns;
static unsigned waits;

int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);
int __real_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *wait,
		 const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *wait,
		 const sigset_t *mask);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
	/* Relaxed: changes while there is one thread. */
	uint64_t now_ns = atomic_load_relaxed(&stopped_ns);

	if (id != CLOCK_MONOTONIC || now_ns == 0)
		return __real_clock_gettime(id, now);
	now->tv_sec = (time_t)(now_ns / NS_PER_S);
	now->tv_nsec = (long)(now_ns % NS_PER_S);
	return 0;
}

int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *wait,
		 const sigset_t *mask)
{
	uint64_t wait_ns;

	if (atomic_load_relaxed(&stopped_ns) == 0)
		return __real_ppoll(fds, count, wait, mask);
	fuzz_check(waits < WAITS_IN_VAIN, "waits for what does not come");
	/* Without end is until the next timer, which time comes to. */
	wait_ns = !wait ? UNTOLD_NS
			: (uint64_t)wait->tv_sec * NS_PER_S +
				  (uint64_t)wait->tv_nsec;
	clock_advance((wait_ns > 0 ? wait_ns : 1) << waits / 2);
	waits++;
	return 0;
}

void clock_stop(void)
{
	atomic_store_relaxed(&stopped_ns, START_NS);
	waits = 0;
}

void clock_resume(void)
{
	atomic_store_relaxed(&stopped_ns, 0);
}

void clock_advance(uint64_t by_ns)
{
	atomic_store_relaxed(&stopped_ns,
			     atomic_load_relaxed(&stopped_ns) + by_ns);
}

void clock_progress(void)
{
	waits = 0;
}
