/* SPDX-License-Identifier: MIT */
/*
 * target.c - a process, its memory and its debug areas: see target.h
 *
 * Memory is read through /proc/PID/mem, which belongs to the address space that
 * the process had when the file was opened. With process_vm_readv(), the tool
 * could read another process that has received the same number, or another
 * program that the process has executed.
 */
#include "bpf/target/target.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bpf/cli/clock.h"
#include "bpf/target/target_area.h"
#include "bpf/target/target_find.h"
#include "bpf/target/target_parts.h"
#include "bpf/target/target_proc.h"
#include "bpf/target/target_rank.h"

#define MAX_READ (UINT64_C(64) << 20)

/* Cost of reading a thread's status, in units of target_budget.h. */
#define STATUS_COST (UINT64_C(64) << 10)

/* ---- memory ---------------------------------------------------------------- */

static int read_unpaid(struct target *target, uint64_t address, void *to,
		       size_t bytes)
{
	while (bytes > 0) {
		ssize_t got;

		if (address > INT64_MAX - bytes)
			return -EFAULT;
		got = pread(target->memory_fd, to, bytes, (off_t)address);
		if (got == 0) /* the address space is gone */
			return -ESRCH;
		if (got < 0 && errno != EINTR)
			return -EFAULT;
		if (got < 0)
			continue;
		to = (char *)to + got;
		address += (uint64_t)got;
		bytes -= (size_t)got;
	}
	return 0;
}

static int read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
	struct target *target = context;

	if (!target_budget_spend(&target->budget, TARGET_READ_COST + bytes))
		return -EFBIG;
	return read_unpaid(target, address, to, bytes);
}

static void pause_reading(void *context)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	(void)context;
	nanosleep(&pause, NULL);
}

static int fail_ended(struct target *target)
{
	struct target_status status;

	if (target_proc_status(target->folder, &status) == 0 &&
	    status.has_memory)
		return target_fail(&target->complaint, -ESRCH,
				   "process %d has executed another program "
				   "meanwhile",
				   target->pid);
	return target_fail(&target->complaint, -ESRCH,
			   "process %d has ended meanwhile", target->pid);
}

int target_judge(struct target *target, int code)
{
	if (code == -ESRCH)
		return fail_ended(target);
	if (code == -ENOMEM)
		return target_fail(&target->complaint, code, "no memory");
	if (code == -EFBIG)
		return target_fail(
			&target->complaint, code,
			"process %d costs too much to read; allowed: "
			"%ju MiB at once, and %ju MiB more each second",
			target->pid, (uintmax_t)(TARGET_WORK >> 20),
			(uintmax_t)(TARGET_WORK_SECOND >> 20));
	if (code == -EFAULT)
		return target_fail(&target->complaint, code,
				   "process %d has no memory at that address",
				   target->pid);
	return code;
}

int target_read(struct target *target, uint64_t address, void *to, size_t bytes)
{
	uint64_t end;

	/* Reads of callers do not use up the budget: callers limit them
	 * themselves. */
	if (bytes > MAX_READ || !target_add(address, bytes, &end))
		return target_judge(target, -EFAULT);
	return target_judge(target, read_unpaid(target, address, to, bytes));
}

bool target_alive(struct target *target)
{
	char byte;

	return read_unpaid(target, target->anywhere, &byte, 1) != -ESRCH;
}

/* ---- opening --------------------------------------------------------------- */

static int find_roots(struct target *target)
{
	int code = target_read_maps(target);

	if (code)
		return code;
	return target_judge(target,
			    target_find_roots(&target->memory, target->maps,
					      target->map_count, target->roots,
					      TARGET_MAX_ROOTS,
					      &target->root_count));
}

/* ---- runtimes -------------------------------------------------------------- */

/* Drop runtimes that are copies of the parent's. fork() copies a process's
 * debug area, but not its workers. */
static int leave_out_copies(struct target *target)
{
	struct target_list *list = &target->list;
	uint32_t parent = 0;
	unsigned kept = 0;

	for (unsigned i = 0; i < list->count; i++) {
		struct target_runtime *runtime = &list->runtimes[i];

		if (runtime->area.pid == target->status.own) {
			list->runtimes[kept++] = *runtime;
			continue;
		}
		parent = runtime->area.pid;
		free(runtime->workers);
	}
	list->count = kept;
	if (kept > 0 || parent == 0)
		return 0;
	return target_fail(&target->complaint, -ECHILD,
			   "process %d has no workers: it is a child that "
			   "process %u forked; the workers are in that process",
			   target->pid, parent);
}

/* Read the runtimes of all roots. Any failure ends the reading, except -ENOENT:
 * then the note was in a file that is mapped only to be read, and there is no
 * root. */
static int read_roots(struct target *target)
{
	for (unsigned i = 0; i < target->root_count; i++) {
		struct target_complaint said = { "" };
		int code = target_list_add(&target->list, &target->memory,
					   target->roots[i], &said);

		if (code == 0 || code == -ENOENT)
			continue;
		if (said.text[0])
			return target_fail(&target->complaint, code,
					   "process %d: %.250s", target->pid,
					   said.text);
		return target_judge(target, code);
	}
	if (target->list.areas > 0)
		return leave_out_copies(target);
	return target_fail(&target->complaint, -ENOENT,
			   "process %d is not a skua process: no file that "
			   "it has mapped has a debug area",
			   target->pid);
}

int target_refresh(struct target *target)
{
	target_list_free(&target->list);
	return read_roots(target);
}

int target_open(struct target **out, pid_t pid)
{
	struct target *target = calloc(1, sizeof(*target));
	int code;

	*out = target;
	if (!target)
		return -ENOMEM;
	*target = (struct target){
		.pid = pid,
		.folder = -1,
		.memory_folder = -1,
		.memory_fd = -1,
		.written_fd = -1,
		.rank = TARGET_NO_RANK,
		.memory = { .read = read_memory,
			    .pause = pause_reading,
			    .context = target },
	};
	target_budget_begin(&target->budget);
	code = target_open_folder(target);
	if (!code)
		target_comm(target, target->comm);
	if (!code)
		code = target_open_memory(target);
	if (!code)
		code = find_roots(target);
	if (!code)
		code = read_roots(target);
	if (!code)
		target->rank = target_rank_read(target->folder);
	return code;
}

void target_close(struct target *target)
{
	if (!target)
		return;
	target_list_free(&target->list);
	target_free_symbols(target);
	free(target->maps);
	free(target->maps_text);
	if (target->memory_fd >= 0)
		close(target->memory_fd);
	if (target->written_fd >= 0)
		close(target->written_fd);
	if (target->memory_folder != target->folder)
		close(target->memory_folder);
	if (target->folder >= 0)
		close(target->folder);
	free(target);
}

/* ---- what is asked --------------------------------------------------------- */

const char *target_reason(const struct target *target)
{
	return target ? target->complaint.text : "no memory";
}

pid_t target_pid(const struct target *target)
{
	return target->pid;
}

uint32_t target_rank(const struct target *target)
{
	return target->rank;
}

struct target_budget *target_budget_of(struct target *target)
{
	return &target->budget;
}

unsigned target_runtimes(const struct target *target)
{
	return target->list.count;
}

const struct target_runtime *target_runtime(const struct target *target,
					    unsigned index)
{
	return &target->list.runtimes[index];
}

const struct target_runtime *target_find_runtime(const struct target *target,
						 uint64_t address,
						 uint64_t started_ns)
{
	for (unsigned i = 0; i < target->list.count; i++) {
		const struct target_runtime *runtime =
			&target->list.runtimes[i];

		if (runtime->address == address &&
		    runtime->area.started_ns == started_ns)
			return runtime;
	}
	return NULL;
}

int target_take_snapshot(struct target *target,
			 const struct target_runtime *runtime,
			 struct target_snapshot *out)
{
	int code = target_area_snapshot(&target->memory, runtime, now_ns, out,
					&target->complaint);

	return target_is_over(code) ? target_judge(target, code) : code;
}

int target_look(struct target *target, const struct target_runtime *runtime,
		unsigned worker, struct target_now *out)
{
	out->at_ns = now_ns();
	return target_judge(target, target_area_look(&target->memory, runtime,
						     worker, out));
}

void target_task(struct target *target, const struct target_runtime *runtime,
		 uint64_t task, uint64_t *type, uint64_t *poll)
{
	target_area_task(&target->memory, runtime, task, type, poll);
}

/* Write the time to a root. The root stays in place as long as its library is
 * loaded. If the library was unloaded, other data may be there, which must not
 * be changed: hence the check of the magic number. */
static int put_until(struct target *target, uint64_t root, uint64_t ns)
{
	uint64_t address = root + offsetof(struct area_root, record_until_ns);
	uint64_t magic;
	ssize_t put;
	int code;

	if (address > INT64_MAX - sizeof(ns))
		return target_judge(target, -EFAULT);
	code = target_read(target, root, &magic, sizeof(magic));
	if (code || magic != AREA_ROOT_MAGIC)
		return code ? code : -EFAULT;
	put = pwrite(target->written_fd, &ns, sizeof(ns), (off_t)address);
	if (put == (ssize_t)sizeof(ns))
		return 0;
	return target_judge(target, put == 0 ? -ESRCH : -EFAULT);
}

int target_record_until(struct target *target, uint64_t ns)
{
	int code = 0;

	/* Opened for writing only now, so that verbs that only read cannot
	 * write by mistake. */
	if (target->written_fd < 0)
		target->written_fd = openat(target->memory_folder, "mem",
					    O_WRONLY | O_CLOEXEC);
	if (target->written_fd < 0 && errno != EACCES && errno != EPERM)
		return target_judge(target, -ESRCH);
	if (target->written_fd < 0)
		return target_fail(&target->complaint, -EACCES,
				   "process %d may be read, but not written; "
				   "to begin a recording, this command writes "
				   "a time to its memory",
				   target->pid);
	for (unsigned i = 0; code == 0 && i < target->root_count; i++) {
		code = put_until(target, target->roots[i], ns);
		if (code == -EFAULT) /* the library was unloaded */
			code = 0;
	}
	return code;
}

static bool is_thread(int threads, const char *name, uint32_t own)
{
	struct target_status status;
	char path[300];
	char *text;
	bool is;

	snprintf(path, sizeof(path), "%s/status", name);
	text = target_proc_read(threads, path);
	is = text && target_parse_status(text, &status) == 0 &&
	     status.own == own;
	free(text);
	return is;
}

/* Search all threads for the one with the number @own in its innermost
 * namespace. Needed if the process is in a container. */
static pid_t search_threads(struct target *target, int threads, uint32_t own)
{
	DIR *list = fdopendir(dup(threads));
	pid_t found = 0;

	for (struct dirent *entry; list && !found && (entry = readdir(list));)
		if (!target_budget_spend(&target->budget, STATUS_COST))
			break;
		else if (entry->d_name[0] != '.' &&
			 is_thread(threads, entry->d_name, own))
			found = (pid_t)atoi(entry->d_name);
	if (list)
		closedir(list);
	return found;
}

pid_t target_thread(struct target *target, uint32_t tid)
{
	int threads = openat(target->folder, "task",
			     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[16];
	pid_t found;

	if (threads < 0)
		return 0;
	snprintf(name, sizeof(name), "%u", tid);
	found = is_thread(threads, name, tid)
			? (pid_t)tid
			: search_threads(target, threads, tid);
	close(threads);
	return found;
}

bool target_has_leader(const struct target *target)
{
	return target->status.has_memory;
}

void target_comm(const struct target *target, char *text)
{
	char *comm = target_proc_read(target->folder, "comm");

	/* If the process has ended, use the name from the open. */
	if (comm)
		snprintf(text, TARGET_NAME, "%.*s", (int)strcspn(comm, "\n"),
			 comm);
	else if (text != target->comm)
		strcpy(text, target->comm);
	target_printable(text, TARGET_NAME);
	free(comm);
}
