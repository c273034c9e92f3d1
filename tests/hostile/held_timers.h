/* SPDX-License-Identifier: MIT */
/* held_timers.h - see held_timers.c */
#ifndef SKUA_TESTS_HELD_TIMERS_H
#define SKUA_TESTS_HELD_TIMERS_H

/* held_timers - the hook: called before each unlock of a wheel, with the lock held */
void held_timers(void);

#endif
