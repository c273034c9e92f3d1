/* SPDX-License-Identifier: MIT */
/* metrics_rights.h - what skua metrics keeps of the rights it was started with */
#ifndef SKUA_BPF_METRICS_RIGHTS_H
#define SKUA_BPF_METRICS_RIGHTS_H

#include <stdbool.h>

/**
 * metrics_drop_rights - keep what reading processes takes, and no more
 * @writes: files are going to be written: stay the user, and keep CAP_DAC_OVERRIDE
 *
 * Kept are CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, if they are there; root becomes
 * user 65534, which owns no files, unless that is denied. The parser of other
 * processes' memory can then read all, and write nothing.
 *
 * Threads: before others are started. Return: 0 or -errno.
 */
int metrics_drop_rights(bool writes);

#endif
