/* SPDX-License-Identifier: MIT */
/* error.h - say what was wrong, for a person */
#ifndef SKUA_TOPOLOGY_ERROR_H
#define SKUA_TOPOLOGY_ERROR_H

#include "skua/base.h"

/* error_set - fill @err, which may be NULL, in one line that can be printed;
 * returns @code */
int error_set(struct skua_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
