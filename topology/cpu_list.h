/* SPDX-License-Identifier: MIT */
/* cpu_list.h - CPU numbers, ascending, as in "0-3,8" */
#ifndef SKUA_TOPOLOGY_CPU_LIST_H
#define SKUA_TOPOLOGY_CPU_LIST_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than the kernel's largest number of CPUs. */
#define CPU_LIST_LIMIT 65536u

struct cpu_list {
	unsigned *
		cpus; /* each once; ascending, unless a function says otherwise */
	unsigned count;
};

/**
 * cpu_list_parse - read a list in the kernel's form
 * @out: receives the list; the caller releases it with cpu_list_free()
 * @text: numbers and ranges, separated by commas: "0-3,8"
 *
 * Return: 0; -EINVAL (empty, malformed, a range that goes down, or a number
 * of CPU_LIST_LIMIT or more); -ENOMEM.
 */
int cpu_list_parse(struct cpu_list *out, const char *text);

/* cpu_list_parse_ordered - as cpu_list_parse(), but keep the order of @text; a CPU that
 * is named twice counts where it is named first */
int cpu_list_parse_ordered(struct cpu_list *out, const char *text);

/**
 * cpu_list_parse_mask - read a mask in the kernel's form
 * @text: hexadecimal digits; the last digit stands for the first four CPUs; commas may be
 *        anywhere: "1,0000000f"
 *
 * Return: 0, also for an empty list; -EINVAL (empty, malformed, more than
 * CPU_LIST_LIMIT bits); -ENOMEM.
 */
int cpu_list_parse_mask(struct cpu_list *out, const char *text);

#define CPU_BITS_WORDS (CPU_LIST_LIMIT / 64)

/* A bit for each CPU, to build a list from. */
struct cpu_bits {
	uint64_t words[CPU_BITS_WORDS];
};

/* cpu_bits_add - add @cpu, which is below CPU_LIST_LIMIT */
void cpu_bits_add(struct cpu_bits *bits, unsigned cpu);

/* cpu_list_of_bits - make a list, which may be empty. Return: 0 or -ENOMEM */
int cpu_list_of_bits(struct cpu_list *out, const struct cpu_bits *bits);

/**
 * cpu_list_allowed_set - as cpu_list_allowed(), but in the form of the kernel
 * @set: receives the set; the caller releases it with CPU_FREE()
 * @size: receives its size in bytes, which suffices for each CPU set of this kernel
 */
int cpu_list_allowed_set(cpu_set_t **set, size_t *size);

/* cpu_list_allowed - list the CPUs that the calling thread may run on. Return: 0 or a
 * negative errno */
int cpu_list_allowed(struct cpu_list *out);

/* cpu_list_contains - tell whether @cpu is in the list */
bool cpu_list_contains(const struct cpu_list *list, unsigned cpu);

void cpu_list_free(struct cpu_list *list);

#endif
