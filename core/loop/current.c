/* SPDX-License-Identifier: MIT */
/* current.c - see current.h */
#include "core/loop/current.h"

_Thread_local struct worker *current_worker;

bool current_lend(const struct skua_task *task)
{
	struct worker *worker = current_here();

	if (!worker || worker->area.task != (uintptr_t)task || !worker->spare)
		return false;
	worker->spare = false;
	return true;
}
