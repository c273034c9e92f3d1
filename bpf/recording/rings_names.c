/* SPDX-License-Identifier: MIT */
/* rings_names.c - writes the names that events need */
#include "bpf/recording/rings_parts.h"

#define MAX_NAMES 65536u

int rings_write_name(struct rings *r, enum trace_name_of of, uint64_t address)
{
	/* An address has one name, even if events claim two kinds for it. */
	const struct address entry = { .address = address };
	char text[TARGET_NAME];

	if (address == 0 || addresses_has(&r->names, address) ||
	    r->names.count >= MAX_NAMES)
		return 0;
	if (rings_check_stop(r))
		return -EINTR;
	if (of == TRACE_NAME_TYPE)
		target_name(r->target, address, 0, text);
	else
		target_symbol(r->target, address, text);
	if (addresses_put(&r->names, &entry))
		return -ENOMEM;
	return trace_write_name(r->writer, of, address, text);
}

int ring_write_names(struct rings *r, const struct ring *ring,
		     const struct event *events, uint64_t count)
{
	int code = 0;

	for (uint64_t i = 0; code == 0 && i < count; i++) {
		const struct event *e = &events[i];

		if (e->kind == EVENT_BEGIN)
			code = rings_write_name(r, rings_name_kind(e->detail),
						e->b);
		else if (e->kind == EVENT_JOB_BEGIN ||
			 e->kind == EVENT_RUN_BEGIN ||
			 e->kind == EVENT_RUN_END ||
			 e->kind == EVENT_HELP_BEGIN)
			code = rings_write_name(r, TRACE_NAME_FUNCTION, e->a);
		else if (e->kind == EVENT_WAIT || e->kind == EVENT_HELD ||
			 e->kind == EVENT_LABEL)
			code = object_names_write(&r->objects, r->target,
						  ring_runtime(r, ring),
						  r->writer, e);
	}
	return code;
}
