/* SPDX-License-Identifier: MIT */
/**
 * version.h - which library a program runs with
 *
 * The macros of skua/base.h are those of the headers that a program was compiled
 * with; these functions answer for the library that it has loaded. They also serve
 * programs in languages that do not read the headers.
 */
#ifndef SKUA_VERSION_H
#define SKUA_VERSION_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

/* One number that grows from version to version, as skua_version() returns it. */
#define SKUA_VERSION                                                \
	(SKUA_VERSION_MAJOR * 1000000 + SKUA_VERSION_MINOR * 1000 + \
	 SKUA_VERSION_PATCH)

/**
 * skua_version - the version of the library, as a number
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Return: major * 1,000,000 + minor * 1,000 + patch.
 */
SKUA_API int skua_version(void);

/**
 * skua_version_string - the version of the library, for people
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Return: such as "0.1.0"; a constant.
 */
SKUA_API const char *skua_version_string(void);

/**
 * skua_sizeof - the size of a public struct, for callers without a C compiler
 * @type: its name without "struct", as "skua_task"
 *
 * A binding allocates so many zeroed bytes, aligned as malloc() aligns, and has the
 * library initialise them. Of "skua_config", zeros but in the field @size are all
 * defaults. Every struct has a size that the headers of this folder lay out and
 * document.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Return: bytes; 0 if @type is NULL, or no such struct.
 */
SKUA_API size_t skua_sizeof(const char *type);

SKUA_END_DECLS

#endif
