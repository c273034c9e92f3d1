/* SPDX-License-Identifier: MIT */
/* boundary_report.h - the message when an exception or pthread_exit() leaves a
 * function of the program */
#ifndef SKUA_CORE_OS_BOUNDARY_REPORT_H
#define SKUA_CORE_OS_BOUNDARY_REPORT_H

#include <stdint.h>

/*
 * The word that has the address of the task that the calling thread polls, or 0
 * while it polls none. NULL on a thread that is no worker. Writers: loop_run()
 * and loop_drive(). Initial-exec, like current_worker.
 */
#define BOUNDARY_FIBER (1u << 1) /* of skua_task.flags: see core/task/task.h */

extern _Thread_local const uint64_t *boundary_task
	__attribute__((tls_model("initial-exec")));

#endif
