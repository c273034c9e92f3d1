/* SPDX-License-Identifier: MIT */
/**
 * version.h - the version of the library that a program runs with
 *
 * The macros of skua/base.h describe the headers that a program was compiled with.
 * These functions describe the library that it has loaded. They also serve programs
 * in languages that cannot read the headers.
 */
#ifndef SKUA_VERSION_H
#define SKUA_VERSION_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

/* The version as one number, which grows from version to version; skua_version()
 * returns the same form. */
#define SKUA_VERSION                                                \
	(SKUA_VERSION_MAJOR * 1000000 + SKUA_VERSION_MINOR * 1000 + \
	 SKUA_VERSION_PATCH)

/**
 * skua_version - return the version of the loaded library, as a number
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Return: major * 1,000,000 + minor * 1,000 + patch.
 */
SKUA_API int skua_version(void);

/**
 * skua_version_string - return the version of the loaded library, as text
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Return: a constant string such as "0.1.0".
 */
SKUA_API const char *skua_version_string(void);

/**
 * skua_sizeof - return the size of a public struct, for callers without a C compiler
 * @type: name of the struct without "struct", for example "skua_task"
 *
 * A binding to another language allocates this number of zeroed bytes, aligned as
 * malloc() aligns, and calls the library to initialise them. A "skua_config" of
 * zeros, with only its field size set, has all defaults. Every struct whose layout
 * the public headers define has a size.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Return: the size in bytes; 0 if @type is NULL or there is no such struct.
 */
SKUA_API size_t skua_sizeof(const char *type);

SKUA_END_DECLS

#endif
