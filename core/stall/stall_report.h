/* SPDX-License-Identifier: MIT */
/* stall_report.h - what the user is told of a stalled poll */
#ifndef SKUA_CORE_STALL_STALL_REPORT_H
#define SKUA_CORE_STALL_STALL_REPORT_H

#include "core/stall/stall.h"

/* stall_report - to the hook, or else to the log */
void stall_report(const struct stall_watch *watch,
		  const struct stall_worker *w);

/* stall_report_lost_signal - once, if somebody else handles the signal now */
void stall_report_lost_signal(struct stall_watch *watch);

#endif
