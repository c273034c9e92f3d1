/* SPDX-License-Identifier: MIT */
/* signals.h - the signals that a thread blocks while it is a worker */
#ifndef SKUA_CORE_OS_SIGNALS_H
#define SKUA_CORE_OS_SIGNALS_H

#include <pthread.h>
#include <signal.h>

/**
 * signals_block - block all signals except those of faults and profilers
 * @before: receives the previous mask, to restore later
 *
 * A signal for the program should not be handled by a worker: a handler that
 * wakes a task must not run while the worker changes its own queue.
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
