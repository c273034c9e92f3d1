/* SPDX-License-Identifier: MIT */
/* boundary_report.c - see boundary_report.h */
#include "core/os/boundary_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

#include "core/os/address.h"
#include "skua/fiber.h"

_Thread_local const uint64_t *boundary_task;

/* Print which task the calling thread polls; an empty text if there is none. */
static void print_task(char *text, size_t room)
{
	char poll[ADDRESS_TEXT];
	const struct skua_task *task = NULL;

	text[0] = '\0';
	if (boundary_task)
		task = (const struct skua_task *)(uintptr_t)*boundary_task;
	if (!task)
		return;
	address_print(poll, task->flags & BOUNDARY_FIBER
				    ? ((const struct skua_fiber *)task)->shown
				    : (const void *)(uintptr_t)task->poll);
	snprintf(text, room, ", in the poll of a task of type %.*s, by %s",
		 SKUA_TASK_TYPE_NAME, task->type ? task->type->name : "(none)",
		 poll);
}

/* The unwinder has found a frame of the program that it must not pass: report
 * it. */
static _Unwind_Reason_Code refuse(_Unwind_Action actions, const char *what)
{
	bool forced = actions & _UA_FORCE_UNWIND;
	char task[ADDRESS_TEXT + SKUA_TASK_TYPE_NAME + 50];

	print_task(task, sizeof(task));
	fprintf(stderr, "skua: %s leaves %s%s: it has to return\n",
		forced ? "pthread_exit() or a cancellation" : "an exception",
		what, task);
	/* Forced unwinding ignores the result, so abort here. In the search for
	 * a handler, the C++ runtime acts on the result, and says which
	 * exception it is. */
	if (forced)
		abort();
	return _URC_FATAL_PHASE1_ERROR;
}

/* Only assembly, in the frames, names these functions. */
#define KIND(kind, what)                                                      \
	__attribute__((used)) _Unwind_Reason_Code boundary_##kind(            \
		int version, _Unwind_Action actions,                          \
		_Unwind_Exception_Class thrown_by,                            \
		struct _Unwind_Exception *exception,                          \
		struct _Unwind_Context *frame);                               \
	_Unwind_Reason_Code boundary_##kind(                                  \
		int version, _Unwind_Action actions,                          \
		_Unwind_Exception_Class thrown_by,                            \
		struct _Unwind_Exception *exception,                          \
		struct _Unwind_Context *frame)                                \
	{                                                                     \
		(void)version, (void)thrown_by, (void)exception, (void)frame; \
		return refuse(actions, what);                                 \
	}

KIND(allocator, "a function of struct skua_allocator")
KIND(blocking, "a function that skua_blocking_call() or _start() was given")
KIND(call, "a function that skua_call() was given")
KIND(fiber, "the function of a fiber")
KIND(hook, "a function of struct skua_hooks")
KIND(job, "the function of a job")
KIND(loop, "a function that a parallel loop or sort was given")
KIND(poll, "a poll function")
KIND(poller, "a function of struct skua_poller")
KIND(release, "a release function")
KIND(root, "a function that skua_run() was given")
