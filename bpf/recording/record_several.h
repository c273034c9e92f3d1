/* SPDX-License-Identifier: MIT */
/* record_several.h - records several processes at the same time */
#ifndef SKUA_BPF_RECORD_SEVERAL_H
#define SKUA_BPF_RECORD_SEVERAL_H

#include <signal.h>
#include <stdbool.h>

#include "bpf/target/pick_several.h"

#define RECORD_STOP SIGUSR1

/**
 * record_several - record each process in a child process of its own, until all have ended
 * @record: called in the child; returns its exit code. SIGINT, SIGTERM and SIGHUP are blocked
 *          there, and arrive when this command receives them
 * @together: when a child ends with success, send RECORD_STOP to the others
 *
 * RECORD_STOP is blocked in the children, whose struct recording has it as @stop_signal. A
 * child that is already ending ignores it; a second SIGTERM would cut its last copy off.
 * The stderr of a child appears when it ends, below a line with its process. The signals
 * stay blocked. Return: EXIT_OK if all children succeeded; otherwise an exit code.
 */
int record_several(const struct picked *picked,
		   int (*record)(void *context, struct target *target),
		   void *context, bool together);

#endif
