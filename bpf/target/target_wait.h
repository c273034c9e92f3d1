/* SPDX-License-Identifier: MIT */
/* target_wait.h - wait for the end of a process, or of its program */
#ifndef SKUA_BPF_TARGET_TARGET_WAIT_H
#define SKUA_BPF_TARGET_TARGET_WAIT_H

#include <stdbool.h>

#include "bpf/cli/exits.h"
#include "bpf/target/target.h"

/**
 * target_wait - until that second of CLOCK_MONOTONIC, or what ends it
 *
 * As exits_wait(), and until the process executes another program, which no
 * descriptor reports: this looks now and then. Return: did something end it?
 */
bool target_wait(struct target *target, struct exits *exits, double until);

#endif
