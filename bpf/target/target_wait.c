/* SPDX-License-Identifier: MIT */
/* target_wait.c - see target_wait.h */
#include "bpf/target/target_wait.h"

/* How often to check whether the process still runs the same program. */
#define CHECK_SECONDS 0.5

bool target_wait(struct target *target, struct exits *exits, double until)
{
	for (;;) {
		double now = exits_now(), next = now + CHECK_SECONDS;

		if (exits_wait(exits, next < until ? next : until) ||
		    !target_alive(target))
			return true;
		if (next >= until)
			return false;
	}
}
