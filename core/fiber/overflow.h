/* SPDX-License-Identifier: MIT */
/**
 * overflow.h - say which fiber has overflowed its stack
 *
 * An overflow writes to the guard below the stack, and raises SIGSEGV. There is no stack
 * left to handle it on, so each worker needs an alternate stack for signals.
 */
#ifndef SKUA_CORE_FIBER_OVERFLOW_H
#define SKUA_CORE_FIBER_OVERFLOW_H

#include <stdbool.h>

#include "core/fiber/arena.h"

/* overflow_install - as skua_fiber_report_overflow() */
int overflow_install(void);

/* overflow_wants_stack - must the calling thread, a worker's, have an alternate stack? */
bool overflow_wants_stack(void);

/* overflow_use_stack - make @stack, which stays mapped for as long as the calling thread
 * runs, its alternate stack */
void overflow_use_stack(const struct stack *stack);

#endif
