/* SPDX-License-Identifier: MIT */
/**
 * base.h - what every public header needs
 *
 * Conventions of the whole interface: functions return 0 or a negative value of
 * <errno.h>, which the caller includes, and never set errno; times are
 * nanoseconds of CLOCK_MONOTONIC; the library never prints, except the line
 * with which it ends a program whose functions do not return (SKUA_NOEXCEPT) or
 * whose forks are wrong (skua/fork.h). Under "Threads", "any" is any
 * thread, "worker" a call from inside a poll, a release function or a poller, on
 * the thread of a worker of any runtime, and "outside" a thread that is no
 * worker. Functions that are async-signal-safe may be called from a signal handler that
 * interrupts an outside thread. Workers block all signals, SIGPIPE too: a write to a
 * closed socket from a poll fails with EPIPE. A handler that interrupts a worker all
 * the same must not call the library.
 */
#ifndef SKUA_BASE_H
#define SKUA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Value of a deadline or timeout: none. */
#define SKUA_FOREVER_NS UINT64_MAX

#ifdef __cplusplus
#define SKUA_BEGIN_DECLS extern "C" {
#define SKUA_END_DECLS   }
#else
#define SKUA_BEGIN_DECLS
#define SKUA_END_DECLS
#endif

/*
 * SKUA_NOEXCEPT - what the types of a program's functions end with
 *
 * A function that a program gives to the library returns: no exception leaves it,
 * nor pthread_exit() or a cancellation of its thread. Otherwise the program ends by
 * std::terminate or abort(), where the exception is thrown, with a line on stderr
 * that says which function it was, and the type of the task that was polled.
 *
 * A C++17 program that defines this as noexcept before it includes a header, and in
 * all of its files, has that checked by the compiler as well: then the library takes
 * functions and lambdas that are noexcept, and no others. Functions of C headers
 * need the macro in their declaration for that.
 */
#ifndef SKUA_NOEXCEPT
#define SKUA_NOEXCEPT
#endif

/* The library's: what its inline functions that call the program's end with, and
 * casts of which C++ compilers do not warn. */
#ifdef __cplusplus
#define SKUA_NOTHROW                       noexcept
#define SKUA_STATIC_CAST(type, value)      (static_cast<type>(value))
#define SKUA_REINTERPRET_CAST(type, value) (reinterpret_cast<type>(value))
#else
#define SKUA_NOTHROW
#define SKUA_STATIC_CAST(type, value)      ((type)(value))
#define SKUA_REINTERPRET_CAST(type, value) ((type)(value))
#endif

/* Exported by the shared library; all else in it is hidden. */
#define SKUA_API __attribute__((visibility("default")))

/**
 * SKUA_CONTAINER_OF - the struct that a task, timer or the like is a member of
 * @ptr: to the member; not const. It may be any expression, and is evaluated once
 * @type: of the struct
 * @member: its name there; a @ptr to another type is an error, in C a warning
 *
 *	struct conn {
 *		int fd;
 *		struct skua_task task;
 *	};
 *
 *	struct conn *conn = SKUA_CONTAINER_OF(self, struct conn, task);
 *
 * In C++ it is for types of standard layout, as offsetof() is. A class with a base
 * that has fields, or with private fields beside public ones, derives from
 * skua_task instead, and uses static_cast.
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
 * struct skua_error - what was wrong, for a person
 * @code: the negative errno value that the function returned
 * @text: one line that names the key, the value it had and the accepted
 *        range; always terminated
 */
struct skua_error {
	int code;
	char text[200];
};

#endif
