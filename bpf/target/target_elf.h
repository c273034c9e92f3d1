/* SPDX-License-Identifier: MIT */
/**
 * target_elf.h - reads an ELF file piece by piece, whatever it says of itself
 *
 * Nothing is kept, and a budget pays for each piece: a file may be sparse, and
 * claim any size.
 *
 * Return, where nothing else is said: 0; -ENOEXEC (no ELF file of this machine's
 * word size and byte order); -EILSEQ (its tables are impossible, or cut); -EFBIG
 * (the budget is spent); -errno of pread().
 */
#ifndef SKUA_BPF_TARGET_ELF_H
#define SKUA_BPF_TARGET_ELF_H

#include <elf.h>
#include <stddef.h>

#include "bpf/target/target_budget.h"

#define TARGET_ELF_SEGMENTS 128u /* a file with more of them is refused */

/**
 * struct target_elf - a file that is being read
 * @budget: borrowed
 */
struct target_elf {
	int fd;
	struct target_budget *budget;
	Elf64_Ehdr header;
};

/* target_elf_begin - read its header. @fd: stays the caller's */
int target_elf_begin(struct target_elf *elf, int fd,
		     struct target_budget *budget);

/* target_elf_read - copy @bytes that are @ahead of @from in the file, or nothing */
int target_elf_read(const struct target_elf *elf, uint64_t from, uint64_t ahead,
		    void *to, size_t bytes);

/* target_elf_segments - the first header.e_phnum of @out receive them */
int target_elf_segments(const struct target_elf *elf,
			Elf64_Phdr out[TARGET_ELF_SEGMENTS]);

/* target_elf_text - a string, cut to @size bytes, from a section of strings.
 * Return: also -ENOENT (it is empty, or not in the section) */
int target_elf_text(const struct target_elf *elf, const Elf64_Shdr *strings,
		    uint32_t at, char *text, size_t size);

typedef int target_elf_with(const struct target_elf *elf,
			    const Elf64_Shdr *section, const char *name,
			    void *context);

/* target_elf_each_section - call @with for each until one returns other than
 * -ENOENT. @names: whether to read their names, of which @with gets the first
 * TARGET_ELF_NAME - 1 bytes; "": it has none. Return: also what @with returned */
#define TARGET_ELF_NAME 16u
int target_elf_each_section(const struct target_elf *elf, bool names,
			    target_elf_with *with, void *context);

/**
 * target_elf_symbol - the function that is at an offset of a file
 * @text: receives its name, which may be cut, in @size bytes
 *
 * Return: also -ENOENT (there is none).
 */
int target_elf_symbol(int fd, struct target_budget *budget, uint64_t offset,
		      char *text, size_t size);

/**
 * target_elf_tables - how many bytes a reader of all symbols of a file keeps, and of the
 * list of functions in its unwind tables
 *
 * Return: UINT64_MAX: more than can be told, or that no reader should try.
 */
uint64_t target_elf_tables(int fd, struct target_budget *budget);

#endif
