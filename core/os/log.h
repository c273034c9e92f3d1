/* SPDX-License-Identifier: MIT */
/* log.h - write to the log of the program */
#ifndef SKUA_CORE_OS_LOG_H
#define SKUA_CORE_OS_LOG_H

#include "skua/runtime.h"

/* log_say - log one line by the program's hook; does nothing if there is no
 * hook */
__attribute__((format(printf, 3, 4))) void
log_say(const struct skua_hooks *hooks, enum skua_log_level level,
	const char *format, ...);

#endif
