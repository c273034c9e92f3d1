/* SPDX-License-Identifier: MIT */
/**
 * target_elf.h - read an ELF file piece by piece, without trusting it
 *
 * Nothing is kept, and a budget pays for each piece: a file may be sparse and
 * claim any size.
 *
 * Return, unless stated otherwise: 0; -ENOEXEC (no ELF file of this machine's
 * word size and byte order); -EILSEQ (its tables are impossible or cut); -EFBIG
 * (the budget is spent); -errno of pread().
 */
#ifndef SKUA_BPF_TARGET_ELF_H
#define SKUA_BPF_TARGET_ELF_H

#include <elf.h>
#include <stddef.h>

#include "bpf/target/target_budget.h"

#define TARGET_ELF_SEGMENTS 128u /* a file with more segments is refused */

/**
 * struct target_elf - a file that is being read
 * @fd: borrowed
 * @budget: borrowed
 * @header: its ELF header
 */
struct target_elf {
	int fd;
	struct target_budget *budget;
	Elf64_Ehdr header;
};

/* target_elf_begin - read and check the header. The caller keeps @fd and closes
 * it */
int target_elf_begin(struct target_elf *elf, int fd,
		     struct target_budget *budget);

/* target_elf_read - copy @bytes bytes from offset @from + @ahead of the file;
 * all or nothing */
int target_elf_read(const struct target_elf *elf, uint64_t from, uint64_t ahead,
		    void *to, size_t bytes);

/* target_elf_segments - read the program headers into the first header.e_phnum
 * entries of @out */
int target_elf_segments(const struct target_elf *elf,
			Elf64_Phdr out[TARGET_ELF_SEGMENTS]);

/* target_elf_text - copy a string from a string section, cut to @size bytes.
 * Return: also -ENOENT (it is empty, or not in the section) */
int target_elf_text(const struct target_elf *elf, const Elf64_Shdr *strings,
		    uint32_t at, char *text, size_t size);

typedef int target_elf_with(const struct target_elf *elf,
			    const Elf64_Shdr *section, const char *name,
			    void *context);

/* target_elf_each_section - call @with for each section until it returns a
 * value other than -ENOENT. @names: also read the sections' names, of which
 * @with receives the first TARGET_ELF_NAME - 1 bytes; "" if there is none.
 * Return: also what @with returned */
#define TARGET_ELF_NAME 16u
int target_elf_each_section(const struct target_elf *elf, bool names,
			    target_elf_with *with, void *context);

/**
 * target_elf_symbol - find the function at an offset of a file
 * @text: receives its name, cut to @size bytes
 *
 * Return: also -ENOENT (there is none).
 */
int target_elf_symbol(int fd, struct target_budget *budget, uint64_t offset,
		      char *text, size_t size);

/**
 * target_elf_tables - return how many bytes a reader of a file's symbols, and
 * of the list of functions in its unwind tables, would keep
 *
 * Return: UINT64_MAX if the size is unknown, or too much for any reader.
 */
uint64_t target_elf_tables(int fd, struct target_budget *budget);

#endif
