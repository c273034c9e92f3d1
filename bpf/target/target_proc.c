/* SPDX-License-Identifier: MIT */
/* target_proc.c - see target_proc.h */
#include "bpf/target/target_proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Read a file to its end, up to TARGET_PROC_BYTES. stat() does not give the
 * size of files in /proc. */
static char *read_all(int fd)
{
	size_t room = 1 << 14, used = 0;
	char *text = malloc(room);
	ssize_t got = 1;

	while (text && got > 0 && used < TARGET_PROC_BYTES) {
		if (room - used < 2) {
			char *more = realloc(text, room *= 2);

			if (!more)
				break;
			text = more;
		}
		got = read(fd, text + used, room - used - 1);
		used += got > 0 ? (size_t)got : 0;
	}
	if (!text || got < 0) {
		free(text);
		return NULL;
	}
	text[used] = 0;
	return text;
}

char *target_proc_read(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	char *text;
	int error;

	if (fd < 0)
		return NULL;
	text = read_all(fd);
	error = errno;
	close(fd);
	errno = error;
	return text;
}

/* Return the text after @label, which must be at the beginning of a line; NULL
 * if it is not found. */
static const char *find_line(const char *text, const char *label)
{
	size_t length = strlen(label);

	while (text && strncmp(text, label, length) != 0) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + length : NULL;
}

/* Return the last number of a line, which is that of the innermost
 * namespace. */
static uint32_t last_number(const char *line)
{
	unsigned long number = 0;
	char *end;

	while (*line == '\t' || *line == ' ') {
		number = strtoul(line, &end, 10);
		if (end == line)
			break;
		line = end;
	}
	return (uint32_t)number;
}

/* Return: whether the text of a file `status` is that of a kernel thread. Kernels
 * before 6.11 do not have the line Kthread: on these, a kernel thread is kthreadd,
 * number 2, or has it as its parent. */
static bool is_kernel_thread(const char *text)
{
	const char *kthread = find_line(text, "Kthread:");
	const char *pid = find_line(text, "Pid:");
	const char *parent = find_line(text, "PPid:");

	if (kthread)
		return last_number(kthread) == 1;
	return (parent && last_number(parent) == 2) ||
	       (pid && last_number(pid) == 2);
}

int target_parse_status(const char *text, struct target_status *out)
{
	const char *state = find_line(text, "State:\t");
	const char *process = find_line(text, "Tgid:");
	const char *uid = find_line(text, "Uid:");
	const char *own = find_line(text, "NSpid:");
	const char *parent = find_line(text, "PPid:");
	unsigned owner = 0;

	if (!state || !process || !uid || sscanf(uid, "%*u %u", &owner) != 1)
		return -EILSEQ;
	*out = (struct target_status){
		.state = *state,
		.process = (pid_t)strtol(process, NULL, 10),
		.parent = parent ? (pid_t)strtol(parent, NULL, 10) : 0,
		.owner = owner,
		.has_memory = find_line(text, "VmSize:") != NULL,
		.kernel_thread = is_kernel_thread(text),
	};
	/* Kernels without PID namespaces do not have the line NSpid. */
	out->own = own ? last_number(own) : (uint32_t)out->process;
	return 0;
}

int target_proc_status(int folder, struct target_status *out)
{
	char *text = target_proc_read(folder, "status");
	int code;

	if (!text)
		return -errno;
	code = target_parse_status(text, out);
	free(text);
	return code;
}

/* Parse a line: "start-end rwxp offset major:minor inode   path". Return: false
 * if it has another form. */
static bool parse_mapping(char *line, struct target_mapping *out)
{
	int path = 0;
	char read, execute;
	unsigned major, minor;

	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %c%*c%c%*c %" SCNx64
		   " %x:%x %" SCNu64 " %n",
		   &out->start, &out->end, &read, &execute, &out->offset,
		   &major, &minor, &out->inode, &path) != 8)
		return false;
	out->device = makedev(major, minor);
	out->readable = read == 'r';
	out->executable = execute == 'x';
	out->path = line + path;
	return path > 0 && out->start < out->end;
}

ssize_t target_parse_maps(char *text, struct target_mapping **out)
{
	struct target_mapping *list;
	size_t lines = 0, count = 0;
	char *line, *rest = text;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	list = calloc(lines + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	while (count <= lines && (line = strsep(&rest, "\n")) != NULL)
		count += parse_mapping(line, &list[count]);
	*out = list;
	return (ssize_t)count;
}

/* ---- permission ------------------------------------------------------------ */

/* Return the ptrace_scope of Yama, which restricts tracing; 0 if there is no
 * Yama. */
static int ptrace_scope(void)
{
	char *text = target_proc_read(AT_FDCWD,
				      "/proc/sys/kernel/yama/ptrace_scope");
	int scope = text ? atoi(text) : 0;

	free(text);
	return scope;
}

void target_proc_denied(int folder, pid_t pid,
			struct target_complaint *complaint)
{
	struct target_status status = { .owner = 0 };
	struct stat files;
	int scope = ptrace_scope();

	if (target_proc_status(folder, &status) == 0 &&
	    status.owner != geteuid())
		target_fail(complaint, 0,
			    "no permission to read process %d: it belongs to "
			    "user %u, and this command runs as user %u; run "
			    "it as that user or root, or with CAP_SYS_PTRACE",
			    pid, status.owner, geteuid());
	else if (scope > 0)
		target_fail(complaint, 0,
			    "no permission to read process %d: "
			    "kernel.yama.ptrace_scope is %d; %s",
			    pid, scope,
			    scope >= 3   ? "only a reboot can lower it"
			    : scope == 2 ? "run this command with "
					   "CAP_SYS_PTRACE"
					 : "run this command with "
					   "CAP_SYS_PTRACE, or set it to 0");
	else if (fstatat(folder, "mem", &files, 0) == 0 &&
		 files.st_uid != status.owner)
		target_fail(complaint, 0,
			    "no permission to read process %d: it is not "
			    "dumpable, as its program is not readable or has "
			    "changed its user; run this command with "
			    "CAP_SYS_PTRACE",
			    pid);
	else
		target_fail(complaint, 0,
			    "no permission to read process %d: it has a "
			    "capability or a namespace that this command "
			    "does not have, or a security module forbids it; "
			    "run this command with CAP_SYS_PTRACE",
			    pid);
}
