/* SPDX-License-Identifier: MIT */
/**
 * usdt.h - find the probes of a program or library, by its ELF notes
 *
 * PROBES.md describes the notes. The file may be hostile: impossible values are
 * refused, and only offsets that lie within the file are used.
 */
#ifndef SKUA_BPF_TRACE_USDT_H
#define SKUA_BPF_TRACE_USDT_H

#include <stdint.h>

#include "bpf/target/target_budget.h"

/* Further probes of a file are ignored. */
#define MAX_USDT_PROBES 64u
#define USDT_NAME       32u /* bytes of a name, with the final 0 */

/**
 * struct usdt_probe - one location of a probe
 * @name: printable
 * @arguments: how many; each is where the calling convention puts it
 * @offset: of the instruction to trace, in the file
 * @semaphore: of the counter that a tracer raises, in the file
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
 * usdt_read - read the probes of provider skua in an ELF file
 * @fd: any readable file
 * @budget: pays for the reads; nothing is kept
 * @out: receives the probes that have a semaphore, and their arguments in
 *     registers
 *
 * Return: 0, even if there are none; -ENOEXEC (no ELF file for this machine);
 * -EILSEQ (its tables are impossible); -EFBIG (the budget is spent); -errno of
 * fstat() or pread().
 */
int usdt_read(int fd, struct target_budget *budget, struct usdt_probes *out);

#endif
