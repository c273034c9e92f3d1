/* SPDX-License-Identifier: MIT */
/* realtime.h - what the kernel grants to those who may: a real-time class, memory
 * that stays */
#ifndef SKUA_CORE_OS_REALTIME_H
#define SKUA_CORE_OS_REALTIME_H

#include <pthread.h>

#include "skua/base.h"

/* realtime_ask - for a thread that the caller will create; 0, or a negative errno value
 * */
int realtime_ask(pthread_attr_t *attr);

/* realtime_ask_above - the same, for one that runs before these */
int realtime_ask_above(pthread_attr_t *attr);

/* realtime_refused - the thread was not created: say what may be missing; returns
 * -EPERM */
int realtime_refused(struct skua_error *err);

/* realtime_lock_memory - keep all memory of the process, now and later. On failure,
 * which @err explains, nothing has changed. */
int realtime_lock_memory(struct skua_error *err);

#endif
