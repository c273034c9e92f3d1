/* SPDX-License-Identifier: MIT */
/**
 * held_timers.c - the timers, with a hook while the lock is held
 *
 * It replaces core/loop/timers.c in hostile_timers. A thread that reads or cancels a timer
 * stops in the hook, where a preemption does the most harm.
 */
#include <pthread.h>

#include "tests/hostile/held_timers.h"

#define pthread_mutex_unlock(lock) (held_timers(), pthread_mutex_unlock(lock))

#include "core/loop/timers.c"
