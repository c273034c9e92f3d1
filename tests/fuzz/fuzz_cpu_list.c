/* SPDX-License-Identifier: MIT */
/**
 * fuzz_cpu_list.c - any text as a list of CPUs
 *
 * The model is a reader of its own, written from the grammar
 *
 *	list  = range { "," range }
 *	range = number [ "-" number ]
 *
 * What is accepted is ascending, each CPU once, the set that the model has,
 * and the same again when it is written out and read.
 */
#include <errno.h>
#include <string.h>

#include "topology/cpu_list.h"
#include "tests/fuzz/fuzz.h"

#define MAX_TEXT 512u

/* "65535," for each CPU, and the end. */
static char written[CPU_LIST_LIMIT * 6 + 1];

/* A number and where it ends; the digits are at least one. False: none, or
 * one that is too large. */
static bool model_number(const char **text, unsigned long *number)
{
	size_t digits = strspn(*text, "0123456789");
	size_t zeros = strspn(*text, "0");
	char value[8] = "";

	if (digits == 0 || (digits > zeros && digits - zeros > 5))
		return false;
	if (digits > zeros)
		memcpy(value, *text + zeros, digits - zeros);
	*number = strtoul(value, NULL, 10);
	*text += digits;
	return *number < CPU_LIST_LIMIT;
}

/* Mark what the text names in @set; false if it is no list. */
static bool model_parse(const char *text, bool *set)
{
	unsigned long first, last;

	do {
		if (!model_number(&text, &first))
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!model_number(&text, &last))
				return false;
		}
		if (last < first)
			return false;
		memset(set + first, true, last - first + 1);
	} while (*text++ == ',');
	return text[-1] == '\0';
}

/* As the set of the model, in ascending order. */
static void check_list(const struct cpu_list *list, const bool *set)
{
	unsigned found = 0;

	for (unsigned cpu = 0; cpu < CPU_LIST_LIMIT; cpu++) {
		if (!set[cpu])
			continue;
		fuzz_check(found < list->count && list->cpus[found] == cpu,
			   "CPU %u is not the %u-th of the list", cpu, found);
		found++;
	}
	fuzz_check(found == list->count, "%u CPUs, not %u", list->count, found);
}

static void check_contains(const struct cpu_list *list, const bool *set)
{
	const unsigned around[] = { 0, list->cpus[0] + 1,
				    list->cpus[list->count - 1],
				    list->cpus[list->count - 1] + 1 };

	for (size_t i = 0; i < COUNT_OF(around); i++) {
		unsigned cpu = around[i];

		fuzz_check(cpu_list_contains(list, cpu) ==
				   (cpu < CPU_LIST_LIMIT && set[cpu]),
			   "CPU %u", cpu);
	}
}

static void check_round_trip(const struct cpu_list *list)
{
	struct cpu_list again = { NULL, 0 };
	size_t length = 0;

	for (unsigned i = 0; i < list->count; i++)
		length += (size_t)sprintf(written + length, i ? ",%u" : "%u",
					  list->cpus[i]);
	fuzz_check(cpu_list_parse(&again, written) == 0,
		   "what was written is refused");
	fuzz_check(again.count == list->count &&
			   memcmp(again.cpus, list->cpus,
				  list->count * sizeof(*list->cpus)) == 0,
		   "not the same when read again");
	cpu_list_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool set[CPU_LIST_LIMIT];
	struct cpu_list list = { NULL, 0 };
	char text[MAX_TEXT + 1];
	bool valid;
	int code;

	if (size > MAX_TEXT)
		return -1; /* says nothing new */
	memcpy(text, data, size);
	text[size] = '\0';
	memset(set, false, sizeof(set));

	valid = model_parse(text, set);
	code = cpu_list_parse(&list, text);
	fuzz_check(code == (valid ? 0 : -EINVAL), "\"%s\": %d, %s", text, code,
		   valid ? "but it is a list" : "but it is none");
	if (!valid)
		return 0;
	check_list(&list, set);
	check_contains(&list, set);
	check_round_trip(&list);
	cpu_list_free(&list);
	fuzz_check(!list.cpus && list.count == 0, "not empty when freed");
	return 0;
}
