/* SPDX-License-Identifier: MIT */
/**
 * environment.h - the environment variables that configure the library, and misspelt ones
 *
 * The library warns of a variable that looks like one of these, and tools find it in the
 * environment of a process.
 */
#ifndef SKUA_PROBES_ENVIRONMENT_H
#define SKUA_PROBES_ENVIRONMENT_H

#include <stddef.h>

/* environment_variable - return the name of a variable; NULL: there are no more */
const char *environment_variable(size_t index);

/**
 * environment_meant - find the variable whose name was probably meant
 * @entry: "NAME=VALUE", or a name alone
 *
 * Return: NULL if the name is that of a variable, or like none: a program may have variables
 * of its own that begin with SKUA_.
 */
const char *environment_meant(const char *entry);

#endif
