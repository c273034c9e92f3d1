/* SPDX-License-Identifier: MIT */
/**
 * flame_kernel.h - the names of the kernel's functions
 *
 * They come from /proc/kallsyms, which also lists those of modules and BPF programs.
 * Each name gets the suffix "_[k]", which tools that draw folded stacks know.
 */
#ifndef SKUA_BPF_FLAME_KERNEL_H
#define SKUA_BPF_FLAME_KERNEL_H

#include <stdint.h>
#include <stdio.h>

#define FLAME_OF_KERNEL "_[k]" /* suffix of the names */

struct flame_kernel;

/**
 * flame_kernel_read - read a file like /proc/kallsyms
 * @out: receives the names; NULL on failure
 *
 * Return: 0; -ENOMEM; -EACCES: the file has no addresses, or all are 0, because the
 * caller may not see them.
 */
int flame_kernel_read(struct flame_kernel **out, FILE *file);

/* flame_kernel_free - @kernel may be NULL */
void flame_kernel_free(struct flame_kernel *kernel);

/* flame_kernel_find - return the name of the function that contains an address */
const char *flame_kernel_find(const struct flame_kernel *kernel,
			      uint64_t address);

#endif
