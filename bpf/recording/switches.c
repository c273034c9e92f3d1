/* SPDX-License-Identifier: MIT */
/* switches.c - see switches.h */
#include "bpf/recording/switches.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

#include "bpf/cli/clock.h"
#include "bpf/programs/programs.h"
#include "send_switches.skel.h"

#define AT_ONCE 1024u /* switches in a chunk */

struct switches {
	struct send_switches_bpf *bpf;
	struct ring_buffer *ring;
	struct trace_writer *writer;
	struct trace_switch some[AT_ONCE];
	uint32_t count;
	uint64_t from_ns; /* all switches before this time are written */
	uint64_t last_ns; /* time of the newest switch */
	uint64_t written, lost;
	uint64_t bytes; /* read since the copy began */
};

/* Write the switches so far as a chunk that is complete up to a time. */
static int put(struct switches *s, uint64_t until_ns)
{
	int code;

	if (until_ns < s->from_ns)
		until_ns = s->from_ns;
	code = trace_write_switches(s->writer, s->from_ns, until_ns, s->some,
				    s->count);
	s->from_ns = until_ns;
	s->written += s->count;
	s->count = 0;
	return code;
}

static int take(void *context, void *data, size_t bytes)
{
	struct switches *s = context;
	int code = 0;

	if (s->count == AT_ONCE)
		code = put(s, s->last_ns);
	if (code || bytes < sizeof(*s->some))
		return code;
	s->some[s->count] = *(const struct trace_switch *)data;
	s->last_ns = s->some[s->count].ns;
	s->lost += s->some[s->count++].lost;
	/* The buffer has a header of 8 bytes for each. */
	s->bytes += sizeof(*s->some) + 8;
	return 0;
}

static int load(struct switches *s, pid_t pid)
{
	uint32_t target;
	int code = programs_find(pid, &target);

	if (code)
		return code;
	s->bpf = send_switches_bpf__open();
	if (!s->bpf)
		return -errno;
	s->bpf->rodata->target = target;
	s->bpf->rodata->namespace = programs_namespace();
	code = send_switches_bpf__load(s->bpf);
	if (code)
		return code;
	s->ring = ring_buffer__new(bpf_map__fd(s->bpf->maps.switches), take, s,
				   NULL);
	if (!s->ring)
		return -errno;
	return send_switches_bpf__attach(s->bpf);
}

int switches_open(struct switches **out, pid_t pid, struct trace_writer *writer)
{
	struct switches *s = calloc(1, sizeof(*s));
	int code = -ENOMEM;

	*out = NULL;
	if (!s)
		return code;
	programs_begin();
	s->writer = writer;
	code = load(s, pid);
	/* Only once all programs are attached is no switch missing. The first
	 * chunk may hold older ones, which the reader leaves out (offcpu.c). */
	s->from_ns = s->last_ns = now_ns();
	if (code)
		switches_close(s);
	else
		*out = s;
	return code;
}

void switches_close(struct switches *s)
{
	if (!s)
		return;
	ring_buffer__free(s->ring);
	send_switches_bpf__destroy(s->bpf);
	free(s);
}

/* A loss is reported with the next switch that finds room. Until then its time
 * is unknown, so the chunk is complete only up to the newest switch. */
int switches_copy(struct switches *s, double *fullest)
{
	uint64_t now = now_ns();
	double size = bpf_map__max_entries(s->bpf->maps.switches), full;
	int code;

	s->bytes = 0;
	code = ring_buffer__consume(s->ring);
	full = (double)s->bytes / size;
	if (full > *fullest)
		*fullest = full;
	if (code < 0)
		return s->writer->error ? s->writer->error : code;
	return put(s, s->bpf->bss->lost ? s->last_ns : now);
}

uint64_t switches_count(const struct switches *s)
{
	return s->written;
}

uint64_t switches_lost(const struct switches *s)
{
	return s->lost + s->bpf->bss->lost;
}
