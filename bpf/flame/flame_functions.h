/* SPDX-License-Identifier: MIT */
/**
 * flame_functions.h - finds the functions of an ELF file and their names
 *
 * Addresses are those of the file. Everything read from the file is hostile.
 */
#ifndef SKUA_BPF_FLAME_FUNCTIONS_H
#define SKUA_BPF_FLAME_FUNCTIONS_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct functions;
struct target_budget;

/* functions_read - read the tables of a file; @elf and @budget are borrowed.
 * Return: NULL if there is no memory */
struct functions *functions_read(Elf *elf, struct target_budget *budget);

/* functions_free - @functions may be NULL */
void functions_free(struct functions *functions);

/**
 * functions_find - find the function that contains an address
 * @file: "[file]"; a function without a name is called "[file+0x1230]"
 * @name: receives its demangled name, valid until functions_free()
 * @from: receives its first address
 *
 * Return: false if there is none.
 */
bool functions_find(struct functions *functions, uint64_t address,
		    const char *file, const char **name, uint64_t *from);

#endif
