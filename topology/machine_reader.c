/* SPDX-License-Identifier: MIT */
/* machine_reader.c - see machine_reader.h */
#include "topology/machine_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REMARKS 30u

void machine_reader_remark(struct machine_reader *r, const char *format, ...)
{
	va_list args;

	if (r->remarks++ > MAX_REMARKS)
		return;
	if (r->remarks > MAX_REMARKS)
		format = "further remarks are left out";
	va_start(args, format);
	if (machine_vremark(r->machine, format, args))
		r->no_memory = true;
	va_end(args);
}

bool machine_reader_text(struct machine_reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->path, sizeof(r->path), format, args);
	va_end(args);
	return sysfs_read(&r->sysfs, r->path, r->text) == 0 &&
	       r->text[0] != '\0';
}

static bool parsed(struct machine_reader *r, int code, const char *what)
{
	if (code == -ENOMEM)
		r->no_memory = true;
	else if (code)
		machine_reader_remark(r, "%s is no %s: ignored", r->path, what);
	return code == 0;
}

bool machine_reader_list(struct machine_reader *r, struct cpu_list *out,
			 const char *folder, const char *list, const char *mask)
{
	if (machine_reader_text(r, "%s/%s", folder, list) &&
	    parsed(r, cpu_list_parse(out, r->text), "list of CPUs"))
		return true;
	return mask && machine_reader_text(r, "%s/%s", folder, mask) &&
	       parsed(r, cpu_list_parse_mask(out, r->text), "mask of CPUs");
}

unsigned machine_reader_index(const struct machine_reader *r, unsigned cpu)
{
	return r->index[cpu];
}
