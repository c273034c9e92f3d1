/* SPDX-License-Identifier: MIT */
/* stall_report.h - tell the program about stalled polls */
#ifndef SKUA_CORE_STALL_STALL_REPORT_H
#define SKUA_CORE_STALL_STALL_REPORT_H

#include "core/stall/stall.h"

/* stall_report - pass a stall to the program's stall hook or, without one, to its log */
void stall_report(const struct stall_watch *watch,
		  const struct stall_worker *w);

/* stall_report_lost_signal - warn, once, if our handler of the signal was replaced */
void stall_report_lost_signal(struct stall_watch *watch);

#endif
