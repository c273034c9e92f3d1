/* SPDX-License-Identifier: MIT */
/**
 * clock.h - a clock that stands still until it is moved
 *
 * A program that fuzzes the runtime is linked with --wrap=clock_gettime and
 * --wrap=ppoll. While the clock is stopped, the library's time is the
 * program's, and a caller-driven runtime that waits for a time gets there at
 * once: so what it does depends on the input alone.
 */
#ifndef SKUA_TESTS_FUZZ_CLOCK_H
#define SKUA_TESTS_FUZZ_CLOCK_H

#include <stdint.h>

/* clock_stop - at a time that is the same for each input */
void clock_stop(void);

/* clock_resume - the time is the system's again */
void clock_resume(void);

/* clock_advance - move a clock that is stopped */
void clock_advance(uint64_t by_ns);

/* clock_progress - something happened: a wait is not in vain */
void clock_progress(void);

#endif
