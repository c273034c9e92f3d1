/* SPDX-License-Identifier: MIT */
/* target_files.h - the open files of a process, and the sockets of its network namespace, as
 * /proc shows them */
#ifndef SKUA_BPF_TARGET_TARGET_FILES_H
#define SKUA_BPF_TARGET_TARGET_FILES_H

#include <sys/types.h>

#include "bpf/target/target.h"

/* target_link - write the target of the link of descriptor @fd, such as "socket:[123]", made
 * printable and cut to @size bytes. @type: receives the file type, as in st_mode, which may be
 * 0. Return: false: the descriptor is closed, or may not be read */
bool target_link(struct target *target, int fd, char *text, size_t size,
		 mode_t *type);

/* target_open_net - open a file of /proc/PID/net, such as "tcp". Return: a descriptor; -1 */
int target_open_net(struct target *target, const char *name);

#endif
