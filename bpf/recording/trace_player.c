/* SPDX-License-Identifier: MIT */
/* trace_player.c - see trace_player.h */
#include "bpf/recording/trace_player.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/cli/sorted.h"

static int compare_places(const void *left, const void *right)
{
	const struct player_place *a = left, *b = right;
	int order = compare_numbers(a->runtime, b->runtime);

	return order ? order : compare_numbers(a->index, b->index);
}

int player_open(struct player *p, struct trace *trace, struct trace_sink *sink)
{
	unsigned count = trace_sources(trace);

	*p = (struct player){ .trace = trace, .sink = sink };
	p->tracks = calloc(count + 1, sizeof(*p->tracks));
	p->places = calloc(count + 1, sizeof(*p->places));
	if (!p->tracks || !p->places)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		const struct trace_stream *stream =
			&trace_source(trace, i)->stream;

		p->places[i] = (struct player_place){ stream->runtime,
						      stream->index, i };
		p->tracks[i].slices.sink = sink;
	}
	qsort(p->places, count, sizeof(*p->places), compare_places);
	return 0;
}

void player_close(struct player *p)
{
	for (unsigned i = 0; p->tracks && i < trace_sources(p->trace); i++)
		slices_free(&p->tracks[i].slices);
	free(p->tracks);
	free(p->places);
	addresses_free(&p->waits);
}

const struct player_place *player_find_worker(const struct player *p,
					      const struct trace_event *e,
					      uint32_t index)
{
	struct player_place key = {
		.runtime = trace_source(p->trace, e->source)->stream.runtime,
		.index = index
	};

	return bsearch(&key, p->places, trace_sources(p->trace), sizeof(key),
		       compare_places);
}

void player_set_name(const struct player *p, struct trace_mark *mark,
		     const char *before, enum trace_name_of of,
		     uint64_t address)
{
	const char *name = trace_name(p->trace, of, address);

	if (name && name[0])
		snprintf(mark->name, sizeof(mark->name), "%s%s", before, name);
	else
		snprintf(mark->name, sizeof(mark->name), "%s0x%" PRIx64, before,
			 address);
}

void player_begin(struct player *p, struct trace_mark *mark, uint64_t key)
{
	int code = slices_begin(&p->tracks[mark->track].slices, mark, key);

	if (code)
		p->failed = code;
}
