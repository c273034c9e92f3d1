/* SPDX-License-Identifier: MIT */
/**
 * pick_process.h - which process a verb is about
 *
 * What cannot be done is said on stderr, by one line that begins with the verb.
 */
#ifndef SKUA_BPF_TARGET_PICK_PROCESS_H
#define SKUA_BPF_TARGET_PICK_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/target/target.h"

/* What --help says of --pid. */
#define PICK_PROCESS_HELP \
	"Of that process (default: the only one with skua in it)"

/**
 * pick_process - the one of that number, or the only one with a runtime
 * @out: receives it, to be closed; or NULL
 * @pid: as of --pid; 0: none was given
 *
 * Return: an exit code: EXIT_FAILED: it cannot be looked at, or there is none;
 * EXIT_USAGE: there are several.
 */
int pick_process(struct target **out, const char *verb, uint64_t pid);

/* pick_process_remark - say on stderr that the process has no runtime now, if so */
void pick_process_remark(const struct target *target, const char *verb);

/**
 * pick_process_or_list - likewise; if there are several, list them on stdout
 * @json: an object a line
 *
 * Return: also EXIT_OK without a process: they were listed.
 */
int pick_process_or_list(struct target **out, const char *verb, uint64_t pid,
			 bool json);

#endif
