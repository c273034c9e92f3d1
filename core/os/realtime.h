/* SPDX-License-Identifier: MIT */
/* realtime.h - ask the kernel for a real-time class, or to lock memory; both
 * need a privilege, or a limit of the process */
#ifndef SKUA_CORE_OS_REALTIME_H
#define SKUA_CORE_OS_REALTIME_H

#include <pthread.h>

#include "skua/base.h"

/* realtime_ask - ask for the real-time class for a thread that the caller will
 * create with @attr. Return: 0, or a negative errno value */
int realtime_ask(pthread_attr_t *attr);

/* realtime_ask_above - as realtime_ask(), with a higher priority */
int realtime_ask_above(pthread_attr_t *attr);

/* realtime_refused - set @err to say why a real-time thread may be refused.
 * Return: -EPERM */
int realtime_refused(struct skua_error *err);

/* realtime_lock_memory - lock all memory of the process, now and in future.
 * Return: 0, or a negative errno value: @err says why, and nothing has
 * changed */
int realtime_lock_memory(struct skua_error *err);

#endif
