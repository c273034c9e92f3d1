/* SPDX-License-Identifier: MIT */
/* top_find.h - which processes skua runs in */
#ifndef SKUA_BPF_TOP_FIND_H
#define SKUA_BPF_TOP_FIND_H

#include "bpf/target.h"

/**
 * top_find - the one process that has runtimes, or a list of them
 * @out: receives that process, or NULL
 * @json: the list has an object a line
 *
 * Return: 0: there is one; 1: there are several, and the list was printed;
 * -ENOENT: there is none, and that was said.
 */
int top_find(struct target **out, bool json);

#endif
