/* SPDX-License-Identifier: MIT */
/* metrics_rights.h - drop the privileges that skua metrics does not need */
#ifndef SKUA_BPF_METRICS_RIGHTS_H
#define SKUA_BPF_METRICS_RIGHTS_H

#include <stdbool.h>

/**
 * metrics_drop_rights - keep only the capabilities for reading processes
 * @writes: the caller will write files: keep the user, and CAP_DAC_OVERRIDE
 *
 * CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH are kept if the process has them. If
 * nothing will be written, root becomes user 65534, which owns no files, unless
 * the system denies that. The code that parses the memory of other processes
 * can then read everything and write nothing.
 *
 * Threads: call it before other threads are started. Return: 0 or -errno.
 */
int metrics_drop_rights(bool writes);

#endif
