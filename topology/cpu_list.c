/* SPDX-License-Identifier: MIT */
/* cpu_list.c - see cpu_list.h */
#include "topology/cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

/* A set bit for each CPU while a list is put together. */
struct bits {
	uint64_t *words;
};

static int bits_init(struct bits *bits)
{
	bits->words = calloc(CPU_LIST_LIMIT / 64, sizeof(*bits->words));
	return bits->words ? 0 : -ENOMEM;
}

static void bits_set(struct bits *bits, unsigned cpu)
{
	bits->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

/* Turn the set into a list; frees the set. */
static int bits_to_list(struct bits *bits, struct cpu_list *out)
{
	unsigned count = 0;

	for (unsigned w = 0; w < CPU_LIST_LIMIT / 64; w++)
		count += (unsigned)__builtin_popcountll(bits->words[w]);
	out->count = 0;
	out->cpus = malloc(count * sizeof(*out->cpus));
	for (unsigned cpu = 0; out->cpus && cpu < CPU_LIST_LIMIT; cpu++) {
		if (bits->words[cpu / 64] >> cpu % 64 & 1)
			out->cpus[out->count++] = cpu;
	}
	free(bits->words);
	return out->cpus ? 0 : -ENOMEM;
}

/* Read a number below CPU_LIST_LIMIT; moves *text behind it. */
static int parse_number(const char **text, unsigned *number)
{
	unsigned value = 0;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	while (isdigit((unsigned char)**text)) {
		value = value * 10 + (unsigned)(*(*text)++ - '0');
		if (value >= CPU_LIST_LIMIT)
			return -EINVAL;
	}
	*number = value;
	return 0;
}

/* Read "3" or "3-5"; moves *text behind it. */
static int parse_range(const char **text, struct bits *bits)
{
	unsigned first;
	unsigned last;

	if (parse_number(text, &first))
		return -EINVAL;
	last = first;
	if (**text == '-') {
		(*text)++;
		if (parse_number(text, &last) || last < first)
			return -EINVAL;
	}
	for (unsigned cpu = first; cpu <= last; cpu++)
		bits_set(bits, cpu);
	return 0;
}

int cpu_list_parse(struct cpu_list *out, const char *text)
{
	struct bits bits;
	int err = bits_init(&bits);

	if (err)
		return err;
	for (;;) {
		err = parse_range(&text, &bits);
		if (err || *text != ',')
			break;
		text++;
	}
	if (!err && *text != '\0')
		err = -EINVAL;
	if (!err)
		return bits_to_list(&bits, out);
	free(bits.words);
	return err;
}

/* The kernel refuses a set smaller than its own; its size is not told. */
static int allowed_set(cpu_set_t **set, size_t *size)
{
	for (unsigned cpus = 1024; cpus <= CPU_LIST_LIMIT; cpus *= 2) {
		*set = CPU_ALLOC(cpus);
		*size = CPU_ALLOC_SIZE(cpus);
		if (!*set)
			return -ENOMEM;
		if (sched_getaffinity(0, *size, *set) == 0)
			return 0;
		CPU_FREE(*set);
		if (errno != EINVAL)
			return -errno;
	}
	return -EINVAL;
}

int cpu_list_allowed(struct cpu_list *out)
{
	cpu_set_t *set;
	size_t size;
	struct bits bits;
	int err = allowed_set(&set, &size);

	if (err)
		return err;
	err = bits_init(&bits);
	for (unsigned cpu = 0; !err && cpu < size * 8; cpu++) {
		if (CPU_ISSET_S(cpu, size, set))
			bits_set(&bits, cpu);
	}
	CPU_FREE(set);
	return err ? err : bits_to_list(&bits, out);
}

bool cpu_list_contains(const struct cpu_list *list, unsigned cpu)
{
	for (unsigned i = 0; i < list->count; i++) {
		if (list->cpus[i] == cpu)
			return true;
	}
	return false;
}

void cpu_list_free(struct cpu_list *list)
{
	free(list->cpus);
	list->cpus = NULL;
	list->count = 0;
}
