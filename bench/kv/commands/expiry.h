/* SPDX-License-Identifier: MIT */
/* expiry.h - times of keys, as clients write them */
#ifndef SKUA_BENCH_KV_EXPIRY_H
#define SKUA_BENCH_KV_EXPIRY_H

#include "bench/kv/commands/command.h"

enum expiry_unit {
	EXPIRY_NONE,
	EXPIRY_SECONDS = 1,
	EXPIRY_AT = 2, /* since 1970, not from now on */
	EXPIRY_MS = 4,
};

/* A unit, and the argument with the number. */
struct expiry {
	unsigned unit;
	size_t arg;
};

/* expiry_unit - set the unit if the word is EX, PX, EXAT or PXAT. Return: whether it is */
bool expiry_unit(struct bytes word, struct expiry *expiry);

/* expiry_time - convert to a time of CLOCK_REALTIME in milliseconds. @out: receives it; 0
 * without a unit. Return: false: the number is none, is not positive, or is too large, and the
 * reply is an error. */
bool expiry_time(struct call *call, const struct expiry *expiry, int64_t *out);

/* expiry_from_now - add a number of seconds, or else of milliseconds, to the time. @out:
 * receives a time of CLOCK_REALTIME in milliseconds. Return: false: the result does not fit,
 * and the reply is an error. */
bool expiry_from_now(struct call *call, int64_t number, bool seconds,
		     int64_t *out);

#endif
