/* SPDX-License-Identifier: MIT */
/* watch_report.h - what the user is told of a stalled poll */
#ifndef SKUA_CORE_STALL_WATCH_REPORT_H
#define SKUA_CORE_STALL_WATCH_REPORT_H

#include "core/stall/watch.h"

/* watch_report - to the hook, or else to the log */
void watch_report(const struct watch *watch, const struct watch_worker *w);

/* watch_report_lost_signal - once, if somebody else handles the signal now */
void watch_report_lost_signal(struct watch *watch);

#endif
