/* SPDX-License-Identifier: MIT */
/* target_area.c - find the runtimes of a debug area: see target_area.h */
#include "bpf/cli/grow.h"
#include "bpf/target/target_area.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The size of each struct in the first version of this ABI, and the largest
 * accepted. */
#define END_OF(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define ROOT_MIN           END_OF(struct area_root, task_type)
#define RUNTIME_MIN        END_OF(struct area_runtime, external_jobs_stolen)
#define WORKER_MIN         END_OF(struct area_worker, times)
#define MAX_BYTES          (UINT32_C(1) << 20)

/* A change of the list takes microseconds, but the process may be stopped
 * during one. */
#define MAX_ATTEMPTS 50

int target_fail(struct target_complaint *complaint, int code,
		const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(complaint->text, sizeof(complaint->text), format, list);
	va_end(list);
	return code;
}

void target_printable(char *text, size_t size)
{
	size_t i = 0;

	for (; i + 1 < size && text[i]; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '?';
	text[i] = 0;
}

/* ---- a root ---------------------------------------------------------------- */

static int read_root(const struct target_memory *memory, uint64_t address,
		     struct area_root *out, struct target_complaint *complaint)
{
	int code;

	memset(out, 0, sizeof(*out));
	code = target_copy(memory, address, out,
			   offsetof(struct area_root, changes));
	if (code)
		return target_is_over(code) ? code : -ENOENT;
	if (out->magic != AREA_ROOT_MAGIC)
		return -ENOENT;
	if (out->abi != AREA_ABI)
		return target_fail(complaint, -EPROTO,
				   "its skua has a debug area of ABI version "
				   "%u; this command reads version %u",
				   out->abi, AREA_ABI);
	if (out->bytes < ROOT_MIN || out->bytes > MAX_BYTES)
		return target_fail(complaint, -EILSEQ,
				   "its debug area claims an impossible size "
				   "of %u bytes",
				   out->bytes);
	code = target_copy(memory, address, out, sizeof(*out));
	target_printable(out->version, sizeof(out->version));
	return code == -EFAULT ? -ENOENT : code;
}

/* Read the count of changes, which is odd during a change. @out is unchanged on
 * failure. */
static int read_changes(const struct target_memory *memory, uint64_t root,
			uint64_t *out)
{
	return target_copy(memory, root + offsetof(struct area_root, changes),
			   out, sizeof(*out));
}

/* Check that the list of runtimes has not changed since @runtime was found.
 * Otherwise the data may belong to a runtime that is gone. Return: 0; -EAGAIN
 * if it has; another -errno. */
static int check_changes(const struct target_memory *memory,
			 const struct target_runtime *runtime)
{
	uint64_t changes = 0;
	int code = read_changes(memory, runtime->root, &changes);

	if (code)
		return code;
	return changes == runtime->changes ? 0 : -EAGAIN;
}

/* ---- runtimes -------------------------------------------------------------- */

static int judge_runtime(const struct area_runtime *area,
			 struct target_complaint *complaint)
{
	if (area->magic != AREA_RUNTIME_MAGIC || area->abi != AREA_ABI ||
	    area->bytes < RUNTIME_MIN || area->bytes > MAX_BYTES)
		return target_fail(
			complaint, -EILSEQ,
			"its list of runtimes has an entry that is not a "
			"runtime");
	if (area->worker_count == 0 || area->worker_count > TARGET_MAX_WORKERS)
		return target_fail(complaint, -EILSEQ,
				   "a runtime says that it has %u workers; "
				   "allowed: 1 to %u",
				   area->worker_count, TARGET_MAX_WORKERS);
	if (area->worker_bytes < WORKER_MIN || area->worker_bytes > MAX_BYTES)
		return target_fail(complaint, -EILSEQ,
				   "a runtime says that a worker has %u bytes; "
				   "allowed: %zu to %u",
				   area->worker_bytes, WORKER_MIN, MAX_BYTES);
	return 0;
}

static int read_runtime(const struct target_memory *memory, uint64_t address,
			struct target_runtime *out,
			struct target_complaint *complaint)
{
	struct area_runtime *area = &out->area;
	int code = target_copy(memory, address, area, sizeof(*area));

	if (!code)
		code = judge_runtime(area, complaint);
	if (code)
		return code;
	/* An older library has a smaller struct: clear the fields that it does
	 * not have. */
	if (area->bytes < sizeof(*area))
		memset((char *)area + area->bytes, 0,
		       sizeof(*area) - area->bytes);
	out->address = address;
	out->workers = calloc(area->worker_count, sizeof(*out->workers));
	if (!out->workers)
		return -ENOMEM;
	code = target_copy(memory, area->workers, out->workers,
			   area->worker_count * sizeof(*out->workers));
	for (uint32_t i = 0; i < area->worker_count; i++)
		out->workers[i] += area->worker_offset;
	return code;
}

static void drop_after(struct target_list *list, unsigned count)
{
	while (list->count > count)
		free(list->runtimes[--list->count].workers);
}

void target_list_free(struct target_list *list)
{
	drop_after(list, 0);
	free(list->runtimes);
	*list = (struct target_list){ .runtimes = NULL };
}

static struct target_runtime *append(struct target_list *list)
{
	struct target_runtime *more;

	if (!grow(&list->runtimes, sizeof(*more), list->count, &list->room))
		return NULL;
	more = &list->runtimes[list->count++];
	memset(more, 0, sizeof(*more));
	return more;
}

/* Count the workers of all runtimes. Hostile runtimes may share their workers,
 * so that a small process claims very many; a snapshot copies each one. */
static uint64_t count_workers(const struct target_list *list)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < list->count; i++)
		count += list->runtimes[i].area.worker_count;
	return count;
}

static int fail_workers(struct target_complaint *complaint)
{
	return target_fail(complaint, -EFBIG,
			   "its runtimes have more than %u workers in all, "
			   "the most that this command reads",
			   TARGET_MAX_WORKERS);
}

/* Read the list as it is now. If it changes meanwhile, the result may be
 * anything. */
static int walk(struct target_list *list, const struct target_memory *memory,
		uint64_t address, const struct area_root *root,
		struct target_complaint *complaint)
{
	uint64_t next = root->runtimes;
	uint64_t workers = count_workers(list);

	if (root->count > TARGET_MAX_RUNTIMES)
		return target_fail(complaint, -EILSEQ,
				   "its debug area says that there are %ju "
				   "runtimes; allowed: 0 to %u",
				   (uintmax_t)root->count, TARGET_MAX_RUNTIMES);
	/* Bounded by the count, so that a circular list ends. */
	for (uint64_t i = 0; i < root->count; i++) {
		struct target_runtime *runtime = append(list);
		int code;

		if (!runtime)
			return -ENOMEM;
		code = read_runtime(memory, next, runtime, complaint);
		workers += runtime->area.worker_count;
		if (code == 0 && workers > TARGET_MAX_WORKERS)
			code = fail_workers(complaint);
		if (code)
			return code;
		runtime->root = address;
		runtime->changes = root->changes;
		runtime->task_poll = root->task_poll;
		runtime->task_type = root->task_type;
		if (root->bytes >= END_OF(struct area_root, task_state))
			runtime->task_state = root->task_state;
		if (root->bytes >= END_OF(struct area_root, fiber_wait)) {
			runtime->fiber_fn = root->fiber_fn;
			runtime->fiber_context = root->fiber_context;
			runtime->fiber_wait = root->fiber_wait;
		}
		if (root->bytes >= END_OF(struct area_root, task_flags))
			runtime->task_flags = root->task_flags;
		if (root->bytes >= END_OF(struct area_root, fiber_label))
			runtime->fiber_label = root->fiber_label;
		memcpy(runtime->version, root->version, sizeof(root->version));
		next = runtime->area.next;
	}
	return next ? target_fail(complaint, -EILSEQ,
				  "its list of runtimes is longer than its "
				  "count, %ju",
				  (uintmax_t)root->count)
		    : 0;
}

/* Read the list once. Return: also -EAGAIN if it changed meanwhile. */
static int try_add(struct target_list *list, const struct target_memory *memory,
		   uint64_t address, struct target_complaint *complaint)
{
	struct area_root root;
	uint64_t after = 0;
	int code = read_root(memory, address, &root, complaint);

	if (code)
		return code;
	if (root.changes % 2)
		return -EAGAIN;
	code = walk(list, memory, address, &root, complaint);
	if (target_is_over(code) || code == -ENOMEM)
		return code;
	if (read_changes(memory, address, &after) == 0 && after != root.changes)
		return -EAGAIN;
	if (code == -EFAULT)
		return target_fail(complaint, -EILSEQ,
				   "its list of runtimes has a pointer to an "
				   "address without memory");
	return code;
}

int target_list_add(struct target_list *list,
		    const struct target_memory *memory, uint64_t root,
		    struct target_complaint *complaint)
{
	unsigned before = list->count;

	for (unsigned i = 0; i < MAX_ATTEMPTS; i++) {
		int code = try_add(list, memory, root, complaint);

		if (!code)
			list->areas++;
		else
			drop_after(list, before);
		if (code != -EAGAIN)
			return code;
		if (i > 1)
			memory->pause(memory->context);
	}
	return target_fail(complaint, -EBUSY,
			   "its list of runtimes changed at each attempt to "
			   "read it, or is being changed by a stopped thread");
}

/* ---- now ------------------------------------------------------------------- */

/* The part of struct area_worker that target_look() reads, in the same
 * order. */
struct head {
	uint64_t task;
	struct area_counters counters;
	alignas(128) struct area_times times;
	uint64_t not_used[3]; /* finished to inbox_taken */
	uint64_t label, label_poll;
};

#define HEAD_FROM offsetof(struct area_worker, task)

_Static_assert(offsetof(struct area_worker, counters) - HEAD_FROM ==
			       offsetof(struct head, counters) &&
		       offsetof(struct area_worker, times) - HEAD_FROM ==
			       offsetof(struct head, times) &&
		       offsetof(struct area_worker, label) - HEAD_FROM ==
			       offsetof(struct head, label) &&
		       offsetof(struct area_worker, label_poll) - HEAD_FROM ==
			       offsetof(struct head, label_poll),
	       "a head is a part of a worker");

/* Read a field of a task, at the offset that the root gives. */
static bool read_field(const struct target_memory *memory, uint64_t task,
		       uint64_t offset, void *out, size_t bytes)
{
	uint64_t address;

	return target_add(task, offset, &address) &&
	       target_copy(memory, address, out, bytes) == 0;
}

static bool is_fiber(const struct target_memory *memory,
		     const struct target_runtime *runtime, uint64_t task)
{
	uint32_t flags = 0;

	return runtime->task_flags &&
	       read_field(memory, task, runtime->task_flags, &flags,
			  sizeof(flags)) &&
	       (flags & AREA_TASK_FIBER);
}

/* Return the address of the label of the task; 0: none, or not known. */
static uint64_t read_label(const struct target_memory *memory,
			   const struct target_runtime *runtime,
			   const struct head *head)
{
	uint64_t label = 0;

	if (!is_fiber(memory, runtime, head->task))
		return head->label_poll == head->counters.tasks_polled
			       ? head->label
			       : 0;
	if (!runtime->fiber_label ||
	    !read_field(memory, head->task, runtime->fiber_label, &label,
			sizeof(label)))
		return 0;
	return label;
}

void target_area_task(const struct target_memory *memory,
		      const struct target_runtime *runtime, uint64_t task,
		      uint64_t *type, uint64_t *poll)
{
	uint64_t at = runtime->task_poll;

	if (is_fiber(memory, runtime, task))
		at = runtime->fiber_fn;
	if (!read_field(memory, task, at, poll, sizeof(*poll)) ||
	    !read_field(memory, task, runtime->task_type, type, sizeof(*type)))
		*poll = *type = 0;
}

/* Copy the part of a worker that the library has. */
static int read_head(const struct target_memory *memory,
		     const struct target_runtime *runtime, uint64_t address,
		     struct head *out)
{
	size_t bytes = runtime->area.worker_bytes >=
				       END_OF(struct area_worker, label_poll)
			       ? END_OF(struct head, label_poll)
			       : END_OF(struct head, times);

	memset(out, 0, sizeof(*out));
	return target_copy(memory, address, out, bytes);
}

/* Read what the worker does. @poll, @type and @label are valid only if the same poll was under way
 * before and after they were read; otherwise they become 0. */
static int look(const struct target_memory *memory,
		const struct target_runtime *runtime, uint64_t address,
		struct target_now *out)
{
	struct head head, after;
	int code = read_head(memory, runtime, address, &head);

	if (code)
		return code;
	out->state = head.times.state;
	out->since_ns = head.times.since_ns;
	out->tasks_polled = head.counters.tasks_polled;
	out->task = head.task;
	if (!head.task)
		return 0;
	target_area_task(memory, runtime, head.task, &out->type, &out->poll);
	out->label = read_label(memory, runtime, &head);
	code = read_head(memory, runtime, address, &after);
	if (code || after.task != head.task ||
	    after.counters.tasks_polled != head.counters.tasks_polled)
		out->poll = out->type = out->label = 0;
	if (after.label != head.label || after.label_poll != head.label_poll)
		out->label = 0;
	return code;
}

int target_area_look(const struct target_memory *memory,
		     const struct target_runtime *runtime, unsigned worker,
		     struct target_now *out)
{
	uint64_t address;
	int code, changed;

	if (worker >= runtime->area.worker_count ||
	    !target_add(runtime->workers[worker], HEAD_FROM, &address))
		return -EFAULT;
	out->poll = out->type = out->label = 0;
	code = look(memory, runtime, address, out);
	if (target_is_over(code))
		return code;
	changed = check_changes(memory, runtime);
	return changed ? changed : code;
}
