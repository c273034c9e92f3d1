/* SPDX-License-Identifier: MIT */
/* target_files.c - see target_files.h */
#include "bpf/target/target_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/target/target_parts.h"

bool target_link(struct target *target, int fd, char *text, size_t size,
		 mode_t *type)
{
	struct statx file;
	char name[32];
	ssize_t length;

	snprintf(name, sizeof(name), "fd/%d", fd);
	/* memory_folder may be that of a thread, which has the same files. */
	length = readlinkat(target->memory_folder, name, text, size - 1);
	text[length > 0 ? length : 0] = 0;
	target_printable(text, size);
	/* Without a question to a file system that may not answer. */
	if (length <= 0 ||
	    statx(target->memory_folder, name,
		  AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &file) != 0)
		return false;
	*type = file.stx_mode & S_IFMT;
	return true;
}

int target_open_net(struct target *target, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "net/%s", name);
	return openat(target->memory_folder, path, O_RDONLY | O_CLOEXEC);
}
