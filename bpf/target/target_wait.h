/* SPDX-License-Identifier: MIT */
/* target_wait.h - wait for the end of a process, or of its program */
#ifndef SKUA_BPF_TARGET_TARGET_WAIT_H
#define SKUA_BPF_TARGET_TARGET_WAIT_H

#include <stdbool.h>

#include "bpf/cli/exits.h"
#include "bpf/target/target.h"

/**
 * target_wait - wait until second @until of CLOCK_MONOTONIC, or for an end
 *
 * Ends early as exits_wait() does, and also when the process executes another
 * program. No descriptor reports that, so it is polled.
 *
 * Return: true if something ended the wait early.
 */
bool target_wait(struct target *target, struct exits *exits, double until);

#endif
