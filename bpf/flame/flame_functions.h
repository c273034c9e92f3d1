/* SPDX-License-Identifier: MIT */
/**
 * flame_functions.h - where the functions of an ELF file are, and what they are called
 *
 * Addresses are those of the file. All that is read is hostile.
 */
#ifndef SKUA_BPF_FLAME_FUNCTIONS_H
#define SKUA_BPF_FLAME_FUNCTIONS_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct functions;
struct target_budget;

/* functions_read - of a file, which is borrowed, as is @budget. Return: NULL: no
 * memory */
struct functions *functions_read(Elf *elf, struct target_budget *budget);

/* functions_free - @functions may be NULL */
void functions_free(struct functions *functions);

/**
 * functions_find - the function that has that address in it, named as its source does
 * @file: "[file]": where it has no name, it is called "[file+0x1230]"
 * @name: receives it, good until functions_free()
 * @from: receives where it begins
 *
 * Return: false: there is none.
 */
bool functions_find(struct functions *functions, uint64_t address,
		    const char *file, const char **name, uint64_t *from);

#endif
