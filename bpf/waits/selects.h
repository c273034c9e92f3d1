/* SPDX-License-Identifier: MIT */
/* selects.h - the cases of a select, read from outside */
#ifndef SKUA_BPF_WAITS_SELECTS_H
#define SKUA_BPF_WAITS_SELECTS_H

#include "bpf/target/target_fibers.h"

/* The most cases of a select that are read. */
#define SELECT_CASES 16u

/**
 * select_read - read the waits of the cases of a select
 * @whole: the wait of the select
 * @out: receives at most SELECT_CASES waits. The wait of a join, a group or a time has the
 *       address 0
 *
 * Return: their number; cases that never take effect, and those that are not armed, are left
 * out.
 */
unsigned select_read(struct target *target, const struct target_wait *whole,
		     struct target_wait *out);

#endif
