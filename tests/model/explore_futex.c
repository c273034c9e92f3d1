/* SPDX-License-Identifier: MIT */
/**
 * explore_futex.c - the kernel's side of a futex
 *
 * The kernel compares the word with its newest value, and no wake-up of the
 * word comes between that and the sleep. Neither call orders or publishes
 * anything: the system calls do, but no contract says so. A sleep may end
 * without cause, which costs as much as a stale load; a deadline that comes at
 * once costs the same.
 */
#include <errno.h>

#include "tests/model/explore_memory.h"
#include "tests/model/explore_search.h"

void explore_sleep(const volatile void *word, uint32_t expected,
		   uint64_t deadline_ns, const struct explore_site *site)
{
	bool limited = deadline_ns < EXPLORE_FAR_NS;
	unsigned early;

	thread_step(site);
	race_check_freed(word, site);
	if (memory_newest(word, sizeof(uint32_t)) != expected) {
		trace(site, "sleep", word, expected, "refused: another value");
		return;
	}
	if (deadline_ns <= explore_now_ns()) {
		trace(site, "sleep", word, expected, "refused: too late");
		return;
	}
	early = search_spend(BUDGET_STALE, limited ? 3 : 2);
	if (early == 1) {
		trace(site, "sleep", word, expected, "ends without cause");
	} else if (early) {
		trace(site, "sleep", word, expected, "until its deadline");
		thread_pass_time(deadline_ns);
	} else {
		trace(site, "sleep", word, expected, limited ? "limited" : "");
		thread_sleep(word, deadline_ns);
	}
}

void explore_wake(const volatile void *word, int count,
		  const struct explore_site *site)
{
	int woken = 0;

	thread_step(site);
	while (woken < count && thread_wake(word))
		woken++;
	trace(site, "wake", word, (uint64_t)woken, "");
}

int explore_mutex_init(pthread_mutex_t *mutex)
{
	explore_init(mutex, sizeof(uint32_t), 0);
	return 0;
}

/* A strong compare-exchange of the mutex, which may fail for an older value. */
int explore_mutex_trylock(pthread_mutex_t *mutex,
			  const struct explore_site *site)
{
	uint32_t free = 0;

	return explore_compare_exchange(mutex, sizeof(free), &free, 1, false,
					memory_order_acquire,
					memory_order_relaxed, site)
		       ? 0
		       : EBUSY;
}

void explore_mutex_lock(pthread_mutex_t *mutex, const struct explore_site *site)
{
	while (explore_mutex_trylock(mutex, site) != 0)
		explore_sleep(mutex, 1, EXPLORE_NEVER, site);
}

void explore_mutex_unlock(pthread_mutex_t *mutex,
			  const struct explore_site *site)
{
	explore_store(mutex, sizeof(uint32_t), 0, memory_order_release, site);
	explore_wake(mutex, 1, site);
}
