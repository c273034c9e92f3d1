/* SPDX-License-Identifier: MIT */
/* top_process.c - observe all runtimes of a process for an interval: see top.h */
#include <errno.h>
#include <stdlib.h>

#include "bpf/cli/grow.h"
#include "bpf/stats/top.h"

static struct top_runtime *find(struct top_process *process,
				const struct target_runtime *at)
{
	for (unsigned i = 0; i < process->count; i++)
		if (process->runtimes[i].address == at->address &&
		    process->runtimes[i].started_ns == at->area.started_ns)
			return &process->runtimes[i];
	return NULL;
}

static const struct target_runtime *
runtime_of(const struct top_process *process, unsigned index)
{
	const struct top_runtime *runtime = &process->runtimes[index];

	return target_find_runtime(process->target, runtime->address,
				   runtime->started_ns);
}

static int take(struct target *target, const struct target_runtime *at,
		struct top_runtime *runtime)
{
	int code = target_take_snapshot(target, at, &runtime->after);

	if (code == 0)
		threads_read(target, at, runtime->threads);
	return code;
}

static int add(struct top_process *process, const struct target_runtime *at)
{
	unsigned workers = at->area.worker_count;
	struct top_runtime *more;

	if (!grow(&process->runtimes, sizeof(*more), process->count,
		  &process->room))
		return -ENOMEM;
	more = &process->runtimes[process->count];
	*more = (struct top_runtime){
		.address = at->address,
		.started_ns = at->area.started_ns,
		.worker_count = workers,
		.polls = calloc(workers, sizeof(*more->polls)),
		.threads = calloc(workers, sizeof(*more->threads)),
	};
	process->count++;
	if (!more->polls || !more->threads)
		return -ENOMEM;
	return take(process->target, at, more);
}

/* Drop runtimes that are gone, add new ones. */
static int match(struct top_process *process)
{
	unsigned kept = 0;
	int code = target_refresh(process->target);

	for (unsigned i = 0; i < process->count; i++) {
		if (!code && runtime_of(process, i))
			process->runtimes[kept++] = process->runtimes[i];
		else
			top_free(&process->runtimes[i]);
	}
	process->count = kept;
	for (unsigned i = 0; !code && i < target_runtimes(process->target);
	     i++) {
		const struct target_runtime *at =
			target_runtime(process->target, i);

		if (!find(process, at))
			code = add(process, at);
	}
	return code;
}

/* Repeat match() until no runtime comes or goes during it. */
int top_process_match(struct top_process *process)
{
	int code;

	do
		code = match(process);
	while (code == -EAGAIN && target_alive(process->target));
	return code == -EAGAIN ? -ESRCH : code;
}

static int for_each(struct top_process *process,
		    int (*what)(struct target *, const struct target_runtime *,
				struct top_runtime *))
{
	for (unsigned i = 0; i < process->count; i++) {
		const struct target_runtime *at = runtime_of(process, i);
		int code = at ? what(process->target, at, &process->runtimes[i])
			      : 0;

		if (code)
			return code;
	}
	return 0;
}

void top_process_begin(struct top_process *process)
{
	for (unsigned i = 0; i < process->count; i++)
		top_begin(&process->runtimes[i]);
}

int top_process_look(struct top_process *process)
{
	int code = for_each(process, top_look);

	return code == -EAGAIN ? top_process_match(process) : code;
}

static int end_one(struct target *target, const struct target_runtime *at,
		   struct top_runtime *runtime)
{
	int code = 0;

	/* A runtime that is new in this interval has only the snapshot of its
	 * start. */
	if (runtime->before.worker_count == 0)
		return 0;
	code = take(target, at, runtime);
	if (!code)
		top_end(runtime);
	return code;
}

int top_process_end(struct top_process *process)
{
	return for_each(process, end_one);
}

const struct target_runtime *
top_process_whole(const struct top_process *process, unsigned index)
{
	const struct top_runtime *runtime = &process->runtimes[index];

	return runtime->before.worker_count != 0 &&
			       runtime->before.at_ns < runtime->after.at_ns
		       ? runtime_of(process, index)
		       : NULL;
}

void top_process_free(struct top_process *process)
{
	for (unsigned i = 0; i < process->count; i++)
		top_free(&process->runtimes[i]);
	free(process->runtimes);
}
