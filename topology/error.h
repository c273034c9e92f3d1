/* SPDX-License-Identifier: MIT */
/* error.h - fill a struct skua_error */
#ifndef SKUA_TOPOLOGY_ERROR_H
#define SKUA_TOPOLOGY_ERROR_H

#include "skua/base.h"

/* error_set - fill @err, which may be NULL, with one printable line; returns @code */
int error_set(struct skua_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
