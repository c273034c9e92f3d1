/* SPDX-License-Identifier: MIT */
/**
 * held_timers.c - the timers, with a hook while the lock is held
 *
 * It replaces core/loop/timers.c in hostile_timers. A thread that reads or cancels a timer
 * stops in the hook, where a preemption does the most harm.
 */
#include "tests/hostile/held_timers.h"

#include "core/os/pi_lock.h"

#define pi_lock_release(lock) (held_timers(), pi_lock_release(lock))

#include "core/loop/timers.c"
