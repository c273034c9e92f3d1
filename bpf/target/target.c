/* SPDX-License-Identifier: MIT */
/*
 * target.c - a process, its memory and its debug areas: see target.h
 *
 * Memory is read through /proc/PID/mem, which belongs to the address space that
 * the process had when the file was opened. With process_vm_readv(), the tool
 * could read another process that has received the same number, or another
 * program that the process has executed.
 */
#include "bpf/cli/descriptors.h"
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

#define MAX_READ  (UINT64_C(64) << 20)
#define MAPS_COST 64u

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

/* Set the complaint for those errors whose source has not set one. Return:
 * @code. */
static int judge(struct target *target, int code)
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
		return judge(target, -EFAULT);
	return judge(target, read_unpaid(target, address, to, bytes));
}

bool target_alive(struct target *target)
{
	char byte;

	return read_unpaid(target, target->anywhere, &byte, 1) != -ESRCH;
}

/* ---- opening --------------------------------------------------------------- */

static int fail_nothing(struct target *target)
{
	return target_fail(&target->complaint, -ESRCH, "no process %d",
			   target->pid);
}

/* If only the first thread of the process has ended, its folder in /proc no
 * longer leads to its memory. Use the folder of another thread. */
static bool use_other_thread(struct target *target)
{
	int threads = openat(target->folder, "task", O_RDONLY | O_DIRECTORY);
	DIR *list = threads < 0 ? NULL : fdopendir(threads);
	bool found = false;

	for (struct dirent *entry; list && !found && (entry = readdir(list));) {
		struct target_status status;
		int folder = openat(threads, entry->d_name,
				    O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (entry->d_name[0] == '.' || folder < 0 ||
		    target_proc_status(folder, &status) != 0 ||
		    !status.has_memory) {
			if (folder >= 0)
				close(folder);
			continue;
		}
		target->memory_folder = folder;
		found = true;
	}
	if (list)
		closedir(list);
	else if (threads >= 0)
		close(threads);
	return found;
}

static int fail_descriptors(struct target *target)
{
	return target_fail(&target->complaint, -EMFILE,
			   "process %d cannot be read: this command may open "
			   "only %ju files; raise the hard limit: ulimit -Hn",
			   target->pid, descriptors_limit());
}

static int open_folder(struct target *target)
{
	char path[32];
	int code;

	snprintf(path, sizeof(path), "/proc/%d", target->pid);
	target->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target->folder < 0 && errno == EMFILE)
		return fail_descriptors(target);
	if (target->folder < 0 && errno != ENOENT)
		return target_fail(&target->complaint, -errno, "%s: %s", path,
				   strerror(errno));
	if (target->folder < 0)
		return fail_nothing(target);
	target->memory_folder = target->folder;
	code = target_proc_status(target->folder, &target->status);
	if (code == -EMFILE)
		return fail_descriptors(target);
	if (code == -EILSEQ)
		return target_fail(&target->complaint, -ESRCH,
				   "%s/status has an unknown format", path);
	if (code)
		return fail_nothing(target);
	if (target->status.has_memory || use_other_thread(target))
		return 0;
	if (target->status.kernel_thread)
		return target_fail(&target->complaint, -ESRCH,
				   "process %d is a thread of the kernel",
				   target->pid);
	/* A process that is ending has no memory before it is a zombie. */
	return target_fail(&target->complaint, -ESRCH,
			   target->status.state == 'Z'
				   ? "process %d has ended (a zombie)"
				   : "process %d has ended",
			   target->pid);
}

static int open_memory(struct target *target)
{
	target->memory_fd =
		openat(target->memory_folder, "mem", O_RDONLY | O_CLOEXEC);
	if (target->memory_fd >= 0)
		return 0;
	if (errno == EMFILE)
		return fail_descriptors(target);
	if (errno != EACCES && errno != EPERM)
		return fail_nothing(target);
	target_proc_denied(target->folder, target->pid, &target->complaint);
	return -EACCES;
}

/* Read the mappings. They are kept until the next call, to find names. */
int target_read_maps(struct target *target)
{
	struct target_mapping *list;
	ssize_t count;
	char *text;

	/* The kernel needs more time for a line of maps than for as many bytes
	 * of memory. */
	if (!target_budget_spend(&target->budget,
				 MAPS_COST * target->maps_bytes))
		return judge(target, -EFBIG);
	text = target_proc_read(target->memory_folder, "maps");
	if (!text && errno == EMFILE)
		return fail_descriptors(target);
	if (!text && (errno == EACCES || errno == EPERM)) {
		target_proc_denied(target->folder, target->pid,
				   &target->complaint);
		return -EACCES;
	}
	if (!text)
		return judge(target, errno == ENOMEM ? -ENOMEM : -ESRCH);
	target->maps_bytes = strlen(text);
	if (target->maps_bytes >= TARGET_PROC_BYTES - 1) {
		free(text);
		return target_fail(&target->complaint, -EFBIG,
				   "process %d has too many mappings; allowed: "
				   "%ju MiB of /proc/%d/maps",
				   target->pid,
				   (uintmax_t)(TARGET_PROC_BYTES >> 20),
				   target->pid);
	}
	count = target_parse_maps(text, &list);
	if (count < 0) {
		free(text);
		return judge(target, -ENOMEM);
	}
	free(target->maps_text);
	free(target->maps);
	target->maps_text = text;
	target->maps = list;
	target->map_count = (size_t)count;
	if (count == 0)
		return judge(target, -ESRCH);
	target->anywhere = list[0].start;
	return 0;
}

static int find_roots(struct target *target)
{
	int code = target_read_maps(target);

	if (code)
		return code;
	return judge(target,
		     target_find_roots(&target->memory, target->maps,
				       target->map_count, target->roots,
				       TARGET_MAX_ROOTS, &target->root_count));
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
		return judge(target, code);
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
	code = open_folder(target);
	if (!code)
		target_comm(target, target->comm);
	if (!code)
		code = open_memory(target);
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

	return target_is_over(code) ? judge(target, code) : code;
}

int target_look(struct target *target, const struct target_runtime *runtime,
		unsigned worker, struct target_now *out)
{
	out->at_ns = now_ns();
	return judge(target,
		     target_area_look(&target->memory, runtime, worker, out));
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
		return judge(target, -EFAULT);
	code = target_read(target, root, &magic, sizeof(magic));
	if (code || magic != AREA_ROOT_MAGIC)
		return code ? code : -EFAULT;
	put = pwrite(target->written_fd, &ns, sizeof(ns), (off_t)address);
	if (put == (ssize_t)sizeof(ns))
		return 0;
	return judge(target, put == 0 ? -ESRCH : -EFAULT);
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
		return judge(target, -ESRCH);
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
