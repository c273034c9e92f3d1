/* SPDX-License-Identifier: MIT */
/* signals.h - what a thread blocks while it is a worker */
#ifndef SKUA_CORE_OS_SIGNALS_H
#define SKUA_CORE_OS_SIGNALS_H

#include <pthread.h>
#include <signal.h>

/**
 * signals_block - block all signals but those that a fault or a profiler raises
 * @before: receives the mask to go back to
 *
 * A signal that is meant for the program is none of a worker's; and a handler
 * that wakes a task must not run in the middle of what the worker does with
 * its own queue.
 */
static inline void signals_block(sigset_t *before)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL,
				   SIGTRAP, SIGSYS, SIGPROF };
	sigset_t foreign;

	sigfillset(&foreign);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(&foreign, own[i]);
	pthread_sigmask(SIG_SETMASK, &foreign, before);
}

#endif
