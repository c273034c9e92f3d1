/* SPDX-License-Identifier: MIT */
/**
 * pick_process.h - choose the process that a verb works on
 *
 * Errors are reported on stderr, in one line that names the verb.
 */
#ifndef SKUA_BPF_TARGET_PICK_PROCESS_H
#define SKUA_BPF_TARGET_PICK_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/target/target.h"

/* The help text of --pid. */
#define PICK_PROCESS_HELP "The process (default: the only one that uses skua)"

/**
 * pick_process - open the given process, or the only one with a runtime
 * @out: receives the target, which the caller closes; or NULL
 * @verb: for messages
 * @pid: the argument of --pid; 0: none was given
 *
 * Return: an exit code: EXIT_OK; EXIT_FAILED (the process cannot be read, or
 * none has a runtime); EXIT_USAGE (several have one).
 */
int pick_process(struct target **out, const char *verb, uint64_t pid);

/* pick_process_remark - if the process has no runtime now, say so on stderr */
void pick_process_remark(const struct target *target, const char *verb);

/**
 * pick_process_or_list - like pick_process(), but list several processes on
 * stdout
 * @json: list them as JSON, one object per line
 *
 * Return: as pick_process(), except that EXIT_OK with @out NULL means that
 * several processes were listed.
 */
int pick_process_or_list(struct target **out, const char *verb, uint64_t pid,
			 bool json);

#endif
