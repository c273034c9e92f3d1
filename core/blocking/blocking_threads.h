/* SPDX-License-Identifier: MIT */
/* blocking_threads.h - creates the threads of the pool for calls that block */
#ifndef SKUA_CORE_BLOCKING_BLOCKING_THREADS_H
#define SKUA_CORE_BLOCKING_BLOCKING_THREADS_H

#include "core/config/config.h"

/* blocking_threads_create - create a thread, which the caller joins later or lets
 * another one join. It blocks the signals that workers block, may run on all CPUs of the
 * runtime, and is no real-time thread. Return: 0 or a negative errno. */
int blocking_threads_create(const struct config *config, void *(*run)(void *),
			    void *arg);

/* blocking_threads_refused - log that a thread could not be created, and what to check */
void blocking_threads_refused(const struct config *config, int code);

#endif
