/* SPDX-License-Identifier: MIT */
/* flame_kernel.c - see flame_kernel.h */
#include "bpf/cli/grow.h"
#include "bpf/cli/sorted.h"
#include "bpf/flame/flame_kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE "[kernel]" FLAME_OF_KERNEL

struct function {
	uint64_t from;
	char *name;
};

/* Sorted by address. */
struct flame_kernel {
	struct function *functions;
	size_t count, room;
};

/* ---- reading --------------------------------------------------------------- */

/* Parse "ffffffff81000000 T name". Return: false if the symbol is not code. */
static bool parse(const char *line, uint64_t *from, const char **name,
		  int *length)
{
	char type;
	int at = 0, end = 0;

	if (sscanf(line, "%" SCNx64 " %c %n%*s%n", from, &type, &at, &end) <
		    2 ||
	    end <= at)
		return false;
	*name = line + at;
	*length = end - at;
	return *from != 0 && strchr("tTwW", type);
}

/* Of several names at one address the first counts, as in the kernel. */
static int add(struct flame_kernel *kernel, uint64_t from, const char *name,
	       int length)
{
	struct function *more;

	if (kernel->count > 0 &&
	    kernel->functions[kernel->count - 1].from == from)
		return 0;
	if (!grow(&kernel->functions, sizeof(*more), kernel->count,
		  &kernel->room))
		return -ENOMEM;
	more = &kernel->functions[kernel->count];
	more->from = from;
	if (asprintf(&more->name, "%.*s" FLAME_OF_KERNEL, length, name) < 0)
		return -ENOMEM;
	kernel->count++;
	return 0;
}

static int read_all(struct flame_kernel *kernel, FILE *file)
{
	char *line = NULL;
	size_t size = 0;
	int code = 0;

	while (code == 0 && getline(&line, &size, file) > 0) {
		const char *name;
		uint64_t from;
		int length;

		if (parse(line, &from, &name, &length))
			code = add(kernel, from, name, length);
	}
	free(line);
	if (code == 0 && kernel->count == 0)
		code = -EACCES;
	return code;
}

/* The core's functions are sorted in the file, but those of modules are not. */
static int compare(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	return compare_numbers(a->from, b->from);
}

int flame_kernel_read(struct flame_kernel **out, FILE *file)
{
	struct flame_kernel *kernel = calloc(1, sizeof(*kernel));
	int code = kernel ? read_all(kernel, file) : -ENOMEM;

	if (code != 0) {
		flame_kernel_free(kernel);
		kernel = NULL;
	} else {
		qsort(kernel->functions, kernel->count,
		      sizeof(*kernel->functions), compare);
	}
	*out = kernel;
	return code;
}

void flame_kernel_free(struct flame_kernel *kernel)
{
	if (!kernel)
		return;
	for (size_t i = 0; i < kernel->count; i++)
		free(kernel->functions[i].name);
	free(kernel->functions);
	free(kernel);
}

/* ---- lookup ---------------------------------------------------------------- */

const char *flame_kernel_find(const struct flame_kernel *kernel,
			      uint64_t address)
{
	size_t n =
		SORTED_UP_TO(kernel->functions, kernel->count, from, address);

	return n > 0 ? kernel->functions[n - 1].name : NOWHERE;
}
