/* SPDX-License-Identifier: MIT */
/* cpu_list.c - see cpu_list.h */
#include "topology/cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void cpu_bits_add(struct cpu_bits *bits, unsigned cpu)
{
	bits->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

int cpu_list_of_bits(struct cpu_list *out, const struct cpu_bits *bits)
{
	unsigned count = 0;

	for (unsigned w = 0; w < CPU_BITS_WORDS; w++)
		count += (unsigned)__builtin_popcountll(bits->words[w]);
	out->count = 0;
	out->cpus = malloc((count ? count : 1) * sizeof(*out->cpus));
	if (!out->cpus)
		return -ENOMEM;
	for (unsigned w = 0; w < CPU_BITS_WORDS; w++)
		for (uint64_t word = bits->words[w]; word; word &= word - 1)
			out->cpus[out->count++] =
				w * 64 + (unsigned)__builtin_ctzll(word);
	return 0;
}

/* Read a number below CPU_LIST_LIMIT; moves *text past it. */
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

/* Read "3" or "3-5"; moves *text past it. */
static int parse_range(const char **text, struct cpu_bits *bits)
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
		cpu_bits_add(bits, cpu);
	return 0;
}

int cpu_list_parse(struct cpu_list *out, const char *text)
{
	struct cpu_bits bits = { { 0 } };

	for (;; text++) {
		int err = parse_range(&text, &bits);

		if (err)
			return err;
		if (*text != ',')
			break;
	}
	return *text == '\0' ? cpu_list_of_bits(out, &bits) : -EINVAL;
}

int cpu_list_parse_ordered(struct cpu_list *out, const char *text)
{
	struct cpu_bits left = { { 0 } };
	int err = cpu_list_parse(out, text);
	unsigned count = 0;

	for (unsigned i = 0; !err && i < out->count; i++)
		cpu_bits_add(&left, out->cpus[i]);
	for (; !err && *text; text += *text == ',') {
		struct cpu_bits range = { { 0 } };

		/* cpu_list_parse() has accepted it. */
		(void)parse_range(&text, &range);
		for (unsigned w = 0; w < CPU_BITS_WORDS; w++) {
			uint64_t word = range.words[w] & left.words[w];

			left.words[w] &= ~word;
			for (; word; word &= word - 1)
				out->cpus[count++] =
					w * 64 +
					(unsigned)__builtin_ctzll(word);
		}
	}
	return err;
}

static int digit_of(char c)
{
	if (!isxdigit((unsigned char)c))
		return -1;
	return isdigit((unsigned char)c) ? c - '0'
					 : tolower((unsigned char)c) - 'a' + 10;
}

int cpu_list_parse_mask(struct cpu_list *out, const char *text)
{
	struct cpu_bits bits = { { 0 } };
	unsigned cpu = 0;

	/* The last digit stands for the first four CPUs. */
	for (size_t i = strlen(text); i > 0; i--) {
		int digit = digit_of(text[i - 1]);

		if (text[i - 1] == ',')
			continue;
		if (digit < 0 || cpu >= CPU_LIST_LIMIT)
			return -EINVAL;
		bits.words[cpu / 64] |= (uint64_t)digit << cpu % 64;
		cpu += 4;
	}
	return cpu > 0 ? cpu_list_of_bits(out, &bits) : -EINVAL;
}

/* The kernel refuses a set that is smaller than its own, and does not tell its size. */
int cpu_list_allowed_set(cpu_set_t **set, size_t *size)
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
	unsigned count;
	int err = cpu_list_allowed_set(&set, &size);

	if (err)
		return err;
	count = (unsigned)CPU_COUNT_S(size, set);
	out->count = 0;
	out->cpus = malloc(count * sizeof(*out->cpus));
	for (unsigned cpu = 0; out->cpus && out->count < count; cpu++) {
		if (CPU_ISSET_S(cpu, size, set))
			out->cpus[out->count++] = cpu;
	}
	CPU_FREE(set);
	return out->cpus ? 0 : -ENOMEM;
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
