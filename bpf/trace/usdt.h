/* SPDX-License-Identifier: MIT */
/**
 * usdt.h - where the probes of a program or library are, by its ELF notes
 *
 * PROBES.md says what the notes are. The file is hostile: what is impossible is
 * refused, and nothing of it is believed but places that are within it.
 */
#ifndef SKUA_BPF_TRACE_USDT_H
#define SKUA_BPF_TRACE_USDT_H

#include <stdint.h>

#include "bpf/target/target_budget.h"

/* A file with more of them has the rest ignored. */
#define MAX_USDT_PROBES 64u
#define USDT_NAME       32u /* bytes of a name, with the 0 */

/**
 * struct usdt_probe - one place of a probe
 * @name: printable
 * @arguments: how many, all where the calling convention has them
 * @offset: in the file, of what a tracer stops at
 * @semaphore: likewise, of the counter that it raises
 */
struct usdt_probe {
	char name[USDT_NAME];
	unsigned arguments;
	uint64_t offset;
	uint64_t semaphore;
};

struct usdt_probes {
	struct usdt_probe probes[MAX_USDT_PROBES];
	unsigned count;
};

/**
 * usdt_read - the probes of provider skua in an ELF file
 * @fd: any file that can be read
 * @budget: pays for what is read; nothing is kept
 * @out: receives those that have a semaphore, and their arguments in registers
 *
 * Return: 0, and there may be none; -ENOEXEC (no ELF file of this machine's kind);
 * -EILSEQ (its tables are impossible); -EFBIG (the budget is spent); -errno of
 * fstat() or pread().
 */
int usdt_read(int fd, struct target_budget *budget, struct usdt_probes *out);

#endif
