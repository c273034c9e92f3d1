/* SPDX-License-Identifier: MIT */
/* target_proc.h - read and parse files of a process in /proc */
#ifndef SKUA_BPF_TARGET_PROC_H
#define SKUA_BPF_TARGET_PROC_H

#include <sys/types.h>

#include "bpf/target/target_memory.h"

#define TARGET_PROC_BYTES (UINT64_C(16) << 20)

/**
 * struct target_status - status of a process or of one of its threads
 * @state: the kernel's letter; 'Z': it has ended
 * @process: the process that it belongs to
 * @parent: the process that has started it
 * @own: its number in its own, innermost namespace
 * @owner: its effective user
 * @has_memory: false: it is a kernel thread, or is ending or has ended
 * @kernel_thread: it belongs to the kernel
 */
struct target_status {
	char state;
	pid_t process;
	pid_t parent;
	uint32_t own;
	uid_t owner;
	bool has_memory;
	bool kernel_thread;
};

/* target_proc_read - read a file, up to TARGET_PROC_BYTES, and append a 0. The
 * caller frees the text. Return: NULL on failure, with errno set */
char *target_proc_read(int folder, const char *name);

/* target_proc_status - read and parse the file `status` in @folder. Return: 0;
 * -errno */
int target_proc_status(int folder, struct target_status *out);

/* target_parse_status - parse the text of a file `status`. Return: 0;
 * -EILSEQ */
int target_parse_status(const char *text, struct target_status *out);

/* target_parse_maps - parse the text of a file `maps`. Changes @text; the paths
 * point into it. The caller frees @out. Return: number of mappings; -ENOMEM */
ssize_t target_parse_maps(char *text, struct target_mapping **out);

/* target_proc_denied - set the complaint to the reason why the process's memory
 * cannot be read */
void target_proc_denied(int folder, pid_t pid,
			struct target_complaint *complaint);

#endif
