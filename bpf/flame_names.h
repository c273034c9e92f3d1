/* SPDX-License-Identifier: MIT */
/**
 * flame_names.h - names of the functions and task types of a process
 *
 * Each file is read once, when the first of its functions is asked for. All that is
 * read is hostile; names may have any bytes.
 */
#ifndef SKUA_BPF_FLAME_NAMES_H
#define SKUA_BPF_FLAME_NAMES_H

#include "bpf/target.h"

struct flame_names;

/* A function: its name, or where it is, as "[libc.so.6+0x27230]" or "[libc.so.6]"; and
 * where it begins in memory, or 0 if that is not known. */
struct flame_function {
	const char *name;
	uint64_t start;
};

/* flame_names_new - NULL: no memory. @target: borrowed */
struct flame_names *flame_names_new(struct target *target);
void flame_names_free(struct flame_names *names);

/* flame_names_look_again - what is not mapped is looked for once more, one time */
void flame_names_look_again(struct flame_names *names);

/* flame_names_find - the function that has that address in it. Return: false:
 * nothing that can be executed is there */
bool flame_names_find(struct flame_names *names, uint64_t address,
		      struct flame_function *out);

/* flame_names_type - what to call tasks: target_name(), remembered */
const char *flame_names_type(struct flame_names *names, uint64_t type,
			     uint64_t poll);

#endif
