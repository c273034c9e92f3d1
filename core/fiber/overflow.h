/* SPDX-License-Identifier: MIT */
/**
 * overflow.h - say which fiber has overflowed its stack
 *
 * An overflow writes to the guard below the stack, and raises SIGSEGV. There is no stack
 * left to handle it on, so each worker needs an alternate stack for signals.
 */
#ifndef SKUA_CORE_FIBER_OVERFLOW_H
#define SKUA_CORE_FIBER_OVERFLOW_H

struct worker;

/* overflow_install - as skua_fiber_report_overflow() */
int overflow_install(void);

/* overflow_prepare_thread - give the calling thread, which the runtime has created for
 * @worker, an alternate stack, if the handler is installed. The stack is one of fibers, and
 * stays with the thread. */
void overflow_prepare_thread(struct worker *worker);

#endif
