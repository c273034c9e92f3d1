/* SPDX-License-Identifier: MIT */
/**
 * explore_futex.c - the kernel's side of a futex
 *
 * The kernel compares the word with its newest value, and no wake-up of the
 * word comes between that and the sleep. Neither call orders or publishes
 * anything: the system calls do, but no contract says so. A sleep may end
 * without cause, which costs as much as a stale load.
 */
#include "tests/model/explore_memory.h"
#include "tests/model/explore_search.h"

void explore_sleep(const volatile void *word, uint32_t expected,
		   const struct explore_site *site)
{
	thread_step(site);
	if (memory_newest(word, sizeof(uint32_t)) != expected) {
		trace(site, "sleep", word, expected, "refused: another value");
	} else if (search_spend(BUDGET_STALE, 2)) {
		trace(site, "sleep", word, expected, "ends without cause");
	} else {
		trace(site, "sleep", word, expected, "");
		thread_sleep(word);
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
