/* SPDX-License-Identifier: MIT */
/**
 * graves.h - memory that nobody may touch any more
 *
 * Half of it is freed at once, where AddressSanitizer sees an access; half
 * is poisoned and kept for a while, and must not have changed when it is freed.
 */
#ifndef SKUA_TESTS_STRESS_GRAVES_H
#define SKUA_TESTS_STRESS_GRAVES_H

#include <string.h>

#include "tests/stress/stress.h"

#define GRAVES       256u
#define GRAVE_POISON 0xa5

/* All of one size; 0 is empty. Writers: all, by exchange. */
static atomic_u64 graves[GRAVES];

static inline void grave_open(uint64_t grave, size_t size)
{
	unsigned char *bytes = (unsigned char *)(uintptr_t)grave;

	for (size_t i = 0; bytes && i < size; i++) {
		if (bytes[i] != GRAVE_POISON)
			stress_fail("byte %zu of %zu written after the end", i,
				    size);
	}
	free(bytes);
}

/* grave_bury - take memory of malloc() that nobody uses; @random says how */
static inline void grave_bury(void *memory, size_t size, uint32_t random)
{
	atomic_u64 *grave = &graves[random / 2 % GRAVES];

	memset(memory, GRAVE_POISON, size);
	if (random % 2)
		free(memory);
	else
		grave_open(atomic_exchange_acq_rel(grave, (uintptr_t)memory),
			   size);
}

/* graves_close - look at what is left, and free it */
static inline void graves_close(size_t size)
{
	for (unsigned i = 0; i < GRAVES; i++)
		grave_open(atomic_exchange_acq_rel(&graves[i], 0), size);
}

#endif
