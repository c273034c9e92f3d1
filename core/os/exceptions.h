/* SPDX-License-Identifier: MIT */
/**
 * exceptions.h - the C++ exceptions that the calling thread handles
 *
 * The C++ runtime keeps them in a thread-local variable: a list of those that are in a
 * catch block, and the number of those that look for one. A fiber that waits in a catch
 * block, or in a destructor that runs because of an exception, takes them along. So code
 * that suspends a fiber asks whether there are any. A program without C++ pays a test of
 * an address.
 *
 * A program counts as one without C++ if it loads its C++ runtime later than this library,
 * as a plugin, or links it statically and hides its symbols from a shared libskua.
 */
#ifndef SKUA_CORE_OS_EXCEPTIONS_H
#define SKUA_CORE_OS_EXCEPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* As the C++ ABI for Itanium, 2.2.2, lays them out; all compilers of x86-64 and aarch64 on
 * Linux follow it. */
struct exceptions {
	void *caught;
	unsigned uncaught;
};

extern struct exceptions *__cxa_get_globals(void) __attribute__((weak));

/* exceptions_possible - is there a C++ runtime? */
static inline bool exceptions_possible(void)
{
	return __builtin_expect(__cxa_get_globals != NULL, false);
}

/* exceptions_set - replace those of the calling thread. Return: the ones before. Not
 * inlined: a caller that is a fiber may have moved to another thread. */
static __attribute__((noinline, unused)) struct exceptions
exceptions_set(struct exceptions now)
{
	struct exceptions *here, before = { NULL, 0 };

	if (!exceptions_possible())
		return before;
	here = __cxa_get_globals();
	before = *here;
	*here = now;
	return before;
}

/* exceptions_any - does the calling thread handle any? */
static inline bool exceptions_any(void)
{
	const struct exceptions *here;

	if (!exceptions_possible())
		return false;
	here = __cxa_get_globals();
	return here->caught || here->uncaught;
}

#endif
