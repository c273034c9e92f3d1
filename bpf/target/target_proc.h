/* SPDX-License-Identifier: MIT */
/* target_proc.h - what /proc says of a process */
#ifndef SKUA_BPF_TARGET_PROC_H
#define SKUA_BPF_TARGET_PROC_H

#include <sys/types.h>

#include "bpf/target/target_memory.h"

#define TARGET_PROC_BYTES (UINT64_C(16) << 20)

/**
 * struct target_status - of a process, or of a thread of it
 * @state: the kernel's letter; 'Z': it has ended
 * @process: of which it is a thread
 * @own: its number as it sees itself
 * @owner: the effective user
 * @has_memory: not so: a kernel thread, or it has ended
 */
struct target_status {
	char state;
	pid_t process;
	uint32_t own;
	uid_t owner;
	bool has_memory;
};

/* target_proc_read - a file, as far as TARGET_PROC_BYTES, with a 0 at its end; to be freed.
 * Return: NULL: errno tells why */
char *target_proc_read(int folder, const char *name);

/* target_proc_status - Return: 0; -errno */
int target_proc_status(int folder, struct target_status *out);

/* target_parse_status - the same of a file's text. Return: 0; -EILSEQ */
int target_parse_status(const char *text, struct target_status *out);

/* target_parse_maps - the lines of a maps file; paths point into @text, which is
 * changed. @out: to be freed. Return: how many; -ENOMEM */
ssize_t target_parse_maps(char *text, struct target_mapping **out);

/* target_proc_denied - why memory cannot be read that is somebody's */
void target_proc_denied(int folder, pid_t pid,
			struct target_complaint *complaint);

#endif
