/* SPDX-License-Identifier: MIT */
/**
 * target_demangle.h - turn mangled names of C++ functions into source names
 *
 * For example, _ZN3foo4pollEP9skua_task becomes foo::poll. Parameters and the
 * result type are left out, and also the arguments of templates if there is no
 * room for them. Names may be hostile: a short name may stand for a name that
 * fills any memory, or that takes very long to write.
 */
#ifndef SKUA_BPF_TARGET_DEMANGLE_H
#define SKUA_BPF_TARGET_DEMANGLE_H

#include <stddef.h>

#include "bpf/target/target_budget.h"

/* Longer mangled names are not demangled. */
#define TARGET_MANGLED 1024u

/**
 * target_demangle - write the name of a function as its source has it
 * @budget: pays for the work
 * @name: as the file has it
 * @text: receives the name, cut to @size bytes
 *
 * Return: true; false if @name is no mangled C++ name or costs too much. @text
 * receives @name then.
 */
bool target_demangle(struct target_budget *budget, const char *name, char *text,
		     size_t size);

#endif
