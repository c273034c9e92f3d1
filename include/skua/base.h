/* SPDX-License-Identifier: MIT */
/**
 * base.h - definitions that every public header needs
 *
 * These conventions hold for the whole interface:
 *
 * - Functions return 0 or a negative value of <errno.h>, and never set errno. The
 *   program includes <errno.h> itself.
 * - Times are nanoseconds of CLOCK_MONOTONIC.
 * - The library prints nothing, with one exception: before it ends a program because
 *   one of its functions did not return (SKUA_NOEXCEPT) or because its forks are
 *   wrong (skua/fork.h), it prints one line to stderr.
 *
 * The entry of each function says under "Threads" which threads may call it:
 *
 * - any: any thread
 * - worker: a thread of a worker of any runtime, from inside a poll, a release
 *   function or a poller
 * - outside: a thread that is no worker
 *
 * Workers block all signals, SIGPIPE included: a write to a closed socket from a poll
 * fails with EPIPE. A function that is async-signal-safe may be called from a signal
 * handler that interrupts an outside thread. A handler that interrupts a worker
 * nevertheless must not call the library.
 */
#ifndef SKUA_BASE_H
#define SKUA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a deadline or timeout for "never". */
#define SKUA_FOREVER_NS UINT64_MAX

#ifdef __cplusplus
#define SKUA_BEGIN_DECLS extern "C" {
#define SKUA_END_DECLS   }
#else
#define SKUA_BEGIN_DECLS
#define SKUA_END_DECLS
#endif

/*
 * SKUA_NOEXCEPT - the last word in the type of each function that a program passes to
 * the library
 *
 * Such a function must return: no exception, no pthread_exit() and no cancellation of
 * its thread may leave it. Otherwise the library ends the program, by std::terminate
 * or abort(), at the place where the exception is thrown. A line on stderr then names
 * the function, and the type of the task that was being polled.
 *
 * A C++17 program may define this macro as noexcept, in all of its files, before it
 * includes a header. The compiler then checks the rule as well: the library accepts
 * only functions and lambdas that are noexcept. The declarations of functions in C
 * headers need the macro for that.
 */
#ifndef SKUA_NOEXCEPT
#define SKUA_NOEXCEPT
#endif

/* Private to the library: the last word of inline functions that call functions of
 * the program, and casts without warnings of C++ compilers. */
#ifdef __cplusplus
#define SKUA_NOTHROW                       noexcept
#define SKUA_STATIC_CAST(type, value)      (static_cast<type>(value))
#define SKUA_REINTERPRET_CAST(type, value) (reinterpret_cast<type>(value))
#else
#define SKUA_NOTHROW
#define SKUA_STATIC_CAST(type, value)      ((type)(value))
#define SKUA_REINTERPRET_CAST(type, value) ((type)(value))
#endif

/* Exported by the shared library. All other symbols of the library are hidden. */
#define SKUA_API __attribute__((visibility("default")))

/**
 * SKUA_CONTAINER_OF - return the struct that embeds a task, a timer or the like
 * @ptr: pointer to the member, not const. It may be any expression, and is evaluated
 *       once
 * @type: type of the struct
 * @member: name of the member in @type. If @ptr has another type than the member, C++
 *          compilers report an error, and C compilers warn
 *
 *	struct conn {
 *		int fd;
 *		struct skua_task task;
 *	};
 *
 *	struct conn *conn = SKUA_CONTAINER_OF(self, struct conn, task);
 *
 * In C++ the struct must have standard layout, as for offsetof(). A class that has a
 * base with fields, or private fields beside public ones, derives from skua_task
 * instead, and uses static_cast.
 */
#ifdef __cplusplus
#define SKUA_CONTAINER_OF(ptr, type, member)                             \
	reinterpret_cast<type *>(                                        \
		reinterpret_cast<char *>(ptr) - offsetof(type, member) - \
		0 * sizeof((ptr) == &static_cast<type *>(nullptr)->member))
#else
#define SKUA_CONTAINER_OF(ptr, type, member)                     \
	((type *)(void *)((char *)(ptr)-offsetof(type, member) - \
			  0 * sizeof((ptr) == &((type *)0)->member)))
#endif

#define SKUA_VERSION_MAJOR 0
#define SKUA_VERSION_MINOR 1
#define SKUA_VERSION_PATCH 0

/**
 * struct skua_error - an error, described for a person
 * @code: the negative errno value that the function returned
 * @text: one line that names the key, its value and the accepted range; always ends
 *        with a zero byte
 */
struct skua_error {
	int code;
	char text[200];
};

#endif
