/* SPDX-License-Identifier: MIT */
/**
 * target_demangle.h - names of C++ functions, as their source has them
 *
 * What compilers make of a name is turned back: _ZN3foo4pollEP9skua_task is foo::poll.
 * Parameters and the type of the result are left out, and where there is no room for them
 * also the arguments of templates. Names are hostile: a short one
 * may stand for one that is longer than any memory, or that takes as long to write.
 */
#ifndef SKUA_BPF_TARGET_DEMANGLE_H
#define SKUA_BPF_TARGET_DEMANGLE_H

#include <stddef.h>

#include "bpf/target/target_budget.h"

/* Longer names, as the file has them, stay as they are. */
#define TARGET_MANGLED 1024u

/**
 * target_demangle - the name of a function as its source has it
 * @budget: pays for the work
 * @name: as a file has it
 * @text: receives what came of it, which may be cut, in @size bytes
 *
 * Return: true, or false: it is not one of C++, or too costly; @text has @name then.
 */
bool target_demangle(struct target_budget *budget, const char *name, char *text,
		     size_t size);

#endif
