/* SPDX-License-Identifier: MIT */
/* boundary_report.h - what is said when a function of the program does not return
 * */
#ifndef SKUA_CORE_OS_BOUNDARY_REPORT_H
#define SKUA_CORE_OS_BOUNDARY_REPORT_H

#include <stdint.h>

/*
 * Where the task is noted that the calling thread polls, or 0 there; NULL on a thread
 * that is no worker. Writers: loop_run() and loop_drive(). Initial-exec: as
 * current_worker.
 */
extern _Thread_local const uint64_t *boundary_task
	__attribute__((tls_model("initial-exec")));

#endif
