/* SPDX-License-Identifier: MIT */
/* target_folder.c - the folder of a process in /proc, its memory and its mappings */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/cli/descriptors.h"
#include "bpf/target/target_parts.h"
#include "bpf/target/target_proc.h"

/* Cost of reading a byte of maps, in units of target_budget.h. */
#define MAPS_COST 64u

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

int target_open_folder(struct target *target)
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

int target_open_memory(struct target *target)
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

int target_read_maps(struct target *target)
{
	struct target_mapping *list;
	ssize_t count;
	char *text;

	/* The kernel needs more time for a line of maps than for as many bytes
	 * of memory. */
	if (!target_budget_spend(&target->budget,
				 MAPS_COST * target->maps_bytes))
		return target_judge(target, -EFBIG);
	text = target_proc_read(target->memory_folder, "maps");
	if (!text && errno == EMFILE)
		return fail_descriptors(target);
	if (!text && (errno == EACCES || errno == EPERM)) {
		target_proc_denied(target->folder, target->pid,
				   &target->complaint);
		return -EACCES;
	}
	if (!text)
		return target_judge(target, errno == ENOMEM ? -ENOMEM : -ESRCH);
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
		return target_judge(target, -ENOMEM);
	}
	free(target->maps_text);
	free(target->maps);
	target->maps_text = text;
	target->maps = list;
	target->map_count = (size_t)count;
	if (count == 0)
		return target_judge(target, -ESRCH);
	target->anywhere = list[0].start;
	return 0;
}
