/* SPDX-License-Identifier: MIT */
/**
 * flame_kernel.h - what the functions of the kernel are called
 *
 * As it says in /proc/kallsyms, with "_[k]" behind each, as tools that draw folded
 * stacks know them; of modules and BPF programs as well.
 */
#ifndef SKUA_BPF_FLAME_KERNEL_H
#define SKUA_BPF_FLAME_KERNEL_H

#include <stdint.h>
#include <stdio.h>

#define FLAME_OF_KERNEL "_[k]" /* ends the names of its functions */

struct flame_kernel;

/**
 * flame_kernel_read - from a file like /proc/kallsyms
 * @out: receives it; NULL on failure
 *
 * Return: 0; -ENOMEM; -EACCES: it has no addresses, or all are 0, as for those who may
 * not see them.
 */
int flame_kernel_read(struct flame_kernel **out, FILE *file);

/* flame_kernel_free - @kernel may be NULL */
void flame_kernel_free(struct flame_kernel *kernel);

/* flame_kernel_find - the function that has that address in it */
const char *flame_kernel_find(const struct flame_kernel *kernel,
			      uint64_t address);

#endif
