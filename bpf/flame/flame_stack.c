/* SPDX-License-Identifier: MIT */
/* flame_stack.c - see flame_stack.h */
#include "bpf/flame/flame_stack.h"

#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- functions ------------------------------------------------------------- */

/* Return the number of functions from the innermost one to the outermost one
 * called @name; 0: none has this name. */
static unsigned up_to(const struct flame_function *functions, unsigned count,
		      const char *name)
{
	while (count > 0 && strcmp(functions[count - 1].name, name) != 0)
		count--;
	return count;
}

/* Return the number of functions that were called, directly or indirectly, by
 * the library functions that call a poll function; 0: these are not in the
 * stack. A search for the poll function does not suffice: if it ends in a tail
 * call, it is not in the stack. The names are those in core/loop/loop.c, which
 * has poll_task() inlined into loop_run() for most tasks, and in
 * core/telemetry/telemetry_poll.c. */
static unsigned inside_worker(const struct flame_function *functions,
			      unsigned of)
{
	static const char *const between[] = { "poll_flagged", "telemetry_poll",
					       "poll_waited" };
	unsigned count = up_to(functions, of, "poll_task");

	if (count == 0)
		count = up_to(functions, of, "loop_run");
	for (unsigned i = 0; i < sizeof(between) / sizeof(between[0]); i++)
		if (count > 1 &&
		    strcmp(functions[count - 2].name, between[i]) == 0)
			count--;
	return count > 0 ? count - 1 : 0;
}

unsigned flame_stack_read(struct flame_names *names,
			  const struct sample *sample,
			  struct flame_function *out, bool *whole)
{
	const struct flame_thread thread = { .ip = sample->ip,
					     .sp = sample->sp,
					     .fp = sample->fp,
					     .back = sample->back,
					     .stack = sample->stack,
					     .bytes = sample->bytes };
	unsigned count = flame_names_unwind(names, &thread, sample->poll, out,
					    FLAME_FRAMES - 1, whole);
	unsigned inside;

	if (sample->of != SAMPLE_TASK || *whole) {
		*whole = true;
		return count;
	}
	inside = inside_worker(out, count);
	*whole = inside > 0;
	count = inside > 0 ? inside : count;
	if (flame_names_find(names, sample->poll, &out[count]))
		count++;
	return count;
}

/* ---- workers --------------------------------------------------------------- */

unsigned flame_namespace_of(pid_t pid)
{
	struct stat status;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return stat(path, &status) == 0 ? (unsigned)status.st_ino : 0;
}

_Static_assert(SAMPLE_FIBER == AREA_TASK_FIBER, "one flag, two names");

static bool tell_worker(struct target *target,
			const struct target_runtime *runtime, unsigned index,
			int map)
{
	uint64_t worker = runtime->workers[index], tid;
	const struct sample_worker where = {
		.tid = worker + offsetof(struct area_worker, tid),
		.state = worker + offsetof(struct area_worker, times.state),
		.task = worker + offsetof(struct area_worker, task),
		.poll = runtime->task_poll,
		.type = runtime->task_type,
		.flags = runtime->task_flags,
		.fiber = runtime->fiber_fn,
	};
	uint32_t key;

	if (target_read(target, where.tid, &tid, sizeof(tid)) != 0)
		return false;
	key = (uint32_t)tid;
	return key != 0 && bpf_map_update_elem(map, &key, &where, BPF_ANY) == 0;
}

int flame_tell_workers(struct target *target, int map)
{
	int count = 0, err = target_refresh(target);

	if (err != 0)
		return err;
	for (unsigned i = 0; i < target_runtimes(target); i++) {
		const struct target_runtime *runtime =
			target_runtime(target, i);

		for (unsigned k = 0; k < runtime->area.worker_count; k++)
			count += tell_worker(target, runtime, k, map);
	}
	return count;
}
