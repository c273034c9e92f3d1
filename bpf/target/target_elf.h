/* SPDX-License-Identifier: MIT */
/**
 * target_elf.h - reads an ELF file piece by piece, whatever it says of itself
 *
 * Nothing is kept, and a budget pays for each piece: a file may be sparse, and
 * claim any size.
 */
#ifndef SKUA_BPF_TARGET_ELF_H
#define SKUA_BPF_TARGET_ELF_H

#include <stddef.h>

#include "bpf/target/target_budget.h"

/**
 * target_elf_symbol - the function that is at an offset of a file
 * @text: receives its name, which may be cut, in @size bytes
 *
 * Return: 0; -ENOENT (there is none); -EFBIG (the budget is spent); -EILSEQ.
 */
int target_elf_symbol(int fd, struct target_budget *budget, uint64_t offset,
		      char *text, size_t size);

/* target_elf_tables - the bytes of all symbols, their names and unwind tables, or
 * UINT64_MAX if that is too many to add up */
uint64_t target_elf_tables(int fd, struct target_budget *budget);

#endif
