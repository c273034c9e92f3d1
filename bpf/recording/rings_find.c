/* SPDX-License-Identifier: MIT */
/* rings_find.c - finds the rings of the runtimes of a process */
#include <stddef.h>
#include <stdlib.h>

#include "bpf/cli/grow.h"
#include "bpf/recording/rings_parts.h"
#include "probes/area.h"

static struct ring *add_ring(struct rings *r,
			     const struct target_runtime *runtime)
{
	struct ring *ring;

	if (!grow(&r->rings, sizeof(*r->rings), r->count, &r->room))
		return NULL;
	ring = &r->rings[r->count];
	*ring = (struct ring){ .runtime = runtime->address,
			       .started_ns = runtime->area.started_ns,
			       .others_ns = runtime->area.record_until_ns,
			       .old = r->opening };
	ring->what.stream = (struct trace_stream){ .id = r->count++,
						   .runtime = r->runtimes,
						   .index = TRACE_OUTSIDE,
						   .cpu = -1,
						   .node = -1 };
	return ring;
}

static int add_outside(struct rings *r, const struct target_runtime *runtime)
{
	size_t known = offsetof(struct area_runtime, ring_head) +
		       sizeof(runtime->area.ring_head);
	struct ring *ring;

	if (runtime->area.bytes < known)
		return 0;
	ring = add_ring(r, runtime);
	if (!ring)
		return -ENOMEM;
	ring->calls = calloc(1, sizeof(*ring->calls));
	if (!ring->calls)
		return -ENOMEM;
	ring->words = runtime->address + offsetof(struct area_runtime, ring);
	ring->head =
		runtime->address + offsetof(struct area_runtime, ring_head);
	return 0;
}

static int add_worker(struct rings *r, const struct target_runtime *runtime,
		      unsigned index)
{
	uint64_t address = runtime->workers[index];
	struct area_worker area;
	struct ring *ring;
	size_t known = offsetof(struct area_worker, ring_error) +
		       sizeof(area.ring_error);
	int code;

	if (runtime->area.worker_bytes < known)
		return 0;
	code = target_read(r->target, address, &area, known);
	if (code)
		return code == -ESRCH ? code : 0;
	ring = add_ring(r, runtime);
	if (!ring)
		return -ENOMEM;
	ring->what.stream.index = index;
	ring->what.stream.tid =
		(uint32_t)target_thread(r->target, (uint32_t)area.tid);
	ring->what.stream.cpu = area.cpu;
	ring->what.stream.node = area.node;
	ring->words = address + offsetof(struct area_worker, ring);
	ring->head = address + offsetof(struct area_worker, ring_head);
	ring->error = address + offsetof(struct area_worker, ring_error);
	return 0;
}

/* Any ring of a runtime; NULL: the runtime is new. */
static const struct ring *find_ring(const struct rings *r,
				    const struct target_runtime *runtime)
{
	for (unsigned i = 0; i < r->count; i++)
		if (r->rings[i].runtime == runtime->address &&
		    r->rings[i].started_ns == runtime->area.started_ns)
			return &r->rings[i];
	return NULL;
}

static int add_runtime(struct rings *r, const struct target_runtime *runtime)
{
	unsigned first = r->count;
	int code = rings_check_stop(r);

	if (code || find_ring(r, runtime))
		return code;
	if (r->count + runtime->area.worker_count >= TRACE_SOURCES) {
		r->full = true;
		return 0;
	}
	for (unsigned i = 0; code == 0 && i < runtime->area.worker_count; i++) {
		code = add_worker(r, runtime, i);
		if (code == 0)
			code = rings_check_stop(r);
	}
	if (code == 0)
		code = add_outside(r, runtime);
	r->runtimes++;
	for (unsigned i = first; code == 0 && i < r->count; i++)
		code = trace_write_stream(r->writer, &r->rings[i].what.stream);
	return code;
}

bool rings_are_full(const struct rings *r)
{
	return r->full;
}

int rings_refresh(struct rings *r)
{
	int code = target_refresh(r->target);

	if (code)
		return code;
	for (unsigned i = 0; i < r->count; i++)
		r->rings[i].ended |= !ring_runtime(r, &r->rings[i]);
	for (unsigned i = 0; code == 0 && i < target_runtimes(r->target); i++)
		code = add_runtime(r, target_runtime(r->target, i));
	return code;
}
