/* SPDX-License-Identifier: MIT */
/* trace_names.c - see trace_names.h */
#include "bpf/recording/trace_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bpf/target/wait_kind.h"
#include "probes/area.h"

static char *name_wait(const struct trace *trace, uint32_t kind,
		       uint64_t object, bool whole, char *text)
{
	const char *name = trace_name(trace, TRACE_NAME_OBJECT, object);
	bool known = kind != AREA_WAITS_NOTHING && kind < AREA_WAITS_COUNT;
	const char *of = known ? wait_kind_name(kind) : "something";
	int noun = known ? wait_kind_noun(kind) : (int)strlen(of);
	const char *how = whole ? of + noun : "";

	if (name && name[0])
		snprintf(text, TRACE_WAIT_TEXT, "%.*s %s%s", noun, of, name,
			 how);
	else if (object)
		snprintf(text, TRACE_WAIT_TEXT, "%.*s 0x%" PRIx64 "%s", noun,
			 of, object, how);
	else
		snprintf(text, TRACE_WAIT_TEXT, "%.*s%s", noun, of, how);
	return text;
}

char *trace_wait_name(const struct trace *trace, uint32_t kind, uint64_t object,
		      char *text)
{
	return name_wait(trace, kind, object, true, text);
}

char *trace_object_name(const struct trace *trace, uint32_t kind,
			uint64_t object, char *text)
{
	return name_wait(trace, kind, object, false, text);
}
