/* SPDX-License-Identifier: MIT */
/* open_calls.c - see open_calls.h */
#include "bpf/recording/open_calls.h"

#include <string.h>

#include "bpf/cli/clock.h"

/* Read the call of a place. Return: false if there is none, or it changes now. */
static bool read_call(struct target *target,
		      const struct target_runtime *runtime, unsigned place,
		      struct area_call *call)
{
	const struct area_runtime *area = &runtime->area;
	size_t known = offsetof(struct area_runtime, calls_bytes) +
		       sizeof(area->calls_bytes);
	uint64_t address = area->calls + (uint64_t)place * area->calls_bytes;
	struct area_call again;

	if (area->bytes < known || place >= area->calls_count)
		return false;
	return target_read(target, address, call, sizeof(*call)) == 0 &&
	       target_read(target, address, &again, sizeof(again)) == 0 &&
	       memcmp(call, &again, sizeof(again)) == 0 && call->tid != 0;
}

static void note_call(struct open_call *it,
		      const struct target_runtime *runtime,
		      const struct area_call *call, unsigned place,
		      uint32_t stream)
{
	*it = (struct open_call){
		.seen = { .from_ns = call->since_ns,
			  .root = call->root,
			  .tid = (uint32_t)call->tid,
			  .place = runtime->area.worker_count + place,
			  .stream = stream },
		.open = true,
	};
}

void open_calls_begin(struct open_calls *calls, struct target *target,
		      const struct target_runtime *runtime, uint32_t stream)
{
	struct area_call call;

	for (unsigned i = 0; i < AREA_EXTERNALS; i++)
		if (read_call(target, runtime, i, &call))
			note_call(&calls->calls[i], runtime, &call, i, stream);
}

static void check_call(struct open_call *it, struct target *target,
		       const struct target_runtime *runtime, unsigned place,
		       uint32_t stream, bool last)
{
	uint64_t ns = now_ns();
	struct area_call call;
	bool here = runtime && read_call(target, runtime, place, &call);

	it->open = it->open && here && call.since_ns == it->seen.from_ns &&
		   (uint32_t)call.tid == it->seen.tid;
	if (here && last && !it->open && it->seen.until_ns == 0)
		note_call(it, runtime, &call, place, stream);
	if (it->open && ns > it->seen.from_ns)
		it->seen.until_ns = ns;
}

void open_calls_check(struct open_calls *calls, struct target *target,
		      const struct target_runtime *runtime, uint32_t stream,
		      bool last)
{
	for (unsigned i = 0; i < AREA_EXTERNALS; i++)
		if (calls->calls[i].open || last)
			check_call(&calls->calls[i], target, runtime, i, stream,
				   last);
}
