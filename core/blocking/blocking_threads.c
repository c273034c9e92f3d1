/* SPDX-License-Identifier: MIT */
/* blocking_threads.c - see blocking_threads.h */
#include "core/blocking/blocking_threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "core/os/log.h"
#include "core/os/signals.h"

/* Let a thread run on all CPUs of the runtime: it would inherit those of the caller, which
 * may be a worker. */
static int place(const struct config *config, pthread_attr_t *attr)
{
	const struct cpu_list *cpus = &config->cpus;
	unsigned limit = cpus->cpus[cpus->count - 1] + 1;
	size_t size = CPU_ALLOC_SIZE(limit);
	cpu_set_t *set = CPU_ALLOC(limit);
	int code;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	for (unsigned i = 0; i < cpus->count; i++)
		CPU_SET_S(cpus->cpus[i], size, set);
	code = -pthread_attr_setaffinity_np(attr, size, set);
	CPU_FREE(set);
	return code;
}

/* Create a thread, on the CPUs of the runtime if @placed, else on those of the caller. Its
 * class is the ordinary one, also if a real-time worker calls. */
static int create(const struct config *config, void *(*run)(void *), void *arg,
		  bool placed)
{
	pthread_attr_t attr;
	pthread_t thread;
	int code = -pthread_attr_init(&attr);

	if (code)
		return code;
	if (placed)
		code = place(config, &attr);
	if (!code && config->realtime)
		code = -pthread_attr_setinheritsched(&attr,
						     PTHREAD_EXPLICIT_SCHED);
	if (!code)
		code = -pthread_create(&thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return code;
}

int blocking_threads_create(const struct config *config, void *(*run)(void *),
			    void *arg)
{
	sigset_t before;
	int code;

	signals_block(&before); /* the new thread inherits the mask */
	code = create(config, run, arg, true);
	/* The CPUs may have gone away since the runtime was created, or a filter of
	 * system calls denies sched_setaffinity(). */
	if (code == -EINVAL || code == -EPERM)
		code = create(config, run, arg, false);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

void blocking_threads_refused(const struct config *config, int code)
{
	log_say(&config->hooks, SKUA_LOG_WARNING,
		"blocking pool: no further thread: %s%s", strerror(-code),
		code == -EAGAIN
			? "; a limit on threads (ulimit -u, pids.max "
			  "of the control group) or on memory is reached"
			: "");
}
