/* SPDX-License-Identifier: MIT */
/* log.h - tell the user's log */
#ifndef SKUA_CORE_OS_LOG_H
#define SKUA_CORE_OS_LOG_H

#include "skua/runtime.h"

/* log_say - one line, if there is a log */
__attribute__((format(printf, 3, 4))) void
log_say(const struct skua_hooks *hooks, enum skua_log_level level,
	const char *format, ...);

#endif
