/* SPDX-License-Identifier: MIT */
/**
 * held_timers.c - the timers, with a place to stop with the lock held
 *
 * It stands in for core/loop/timers.c in hostile_timers: a thread that looks at a
 * timer, or cancels one, stops where a preemption hurts most.
 */
#include <pthread.h>

#include "tests/hostile/held_timers.h"

#define pthread_mutex_unlock(lock) (held_timers(), pthread_mutex_unlock(lock))

#include "core/loop/timers.c"
