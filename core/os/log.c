/* SPDX-License-Identifier: MIT */
/* log.c - see log.h */
#include "core/os/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/boundary.h"

void log_say(const struct skua_hooks *hooks, enum skua_log_level level,
	     const char *format, ...)
{
	int saved = errno; /* the library never sets it */
	char text[280];
	va_list args;

	if (!hooks->log)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	hooks->log(hooks->ctx, level, text);
	BOUNDARY(hook);
	errno = saved;
}
