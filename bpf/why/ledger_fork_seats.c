/* SPDX-License-Identifier: MIT */
/*
 * ledger_fork_seats.c - finds the call of skua_run() to which a job belongs (ledger_forks.h)
 *
 * A job that is taken from a thread belongs to the call whose job that thread runs: thieves take
 * the oldest job first, so if the thread waits in a join for a job that was taken, none of its
 * older jobs is left either.
 */
#include <errno.h>
#include <stdlib.h>

#include "bpf/why/ledger_parts.h"

/* Places of outside threads that are told apart. */
#define OUTSIDE 64u

int ledger_fork_seats_open(struct ledger *l)
{
	struct ledger_forks *f = &l->forks;

	for (unsigned i = 0; i < LEDGER_FORK_RUNTIMES; i++) {
		f->seats[i] =
			calloc(f->workers[i] + OUTSIDE, sizeof(*f->seats[i]));
		if (!f->seats[i])
			return -ENOMEM;
	}
	for (unsigned i = 0; i < trace_sources(l->trace); i++) {
		const struct trace_stream *stream =
			&trace_source(l->trace, i)->stream;

		if (stream->runtime < LEDGER_FORK_RUNTIMES &&
		    stream->index < f->workers[stream->runtime])
			f->seats[stream->runtime][stream->index].track = i;
	}
	return 0;
}

void ledger_fork_seats_close(struct ledger *l)
{
	for (unsigned i = 0; i < LEDGER_FORK_RUNTIMES; i++)
		free(l->forks.seats[i]);
}

struct ledger_fork_seat *ledger_fork_seat(const struct ledger *l,
					  uint32_t runtime, uint32_t place)
{
	return place < l->forks.workers[runtime] + OUTSIDE
		       ? &l->forks.seats[runtime][place]
		       : NULL;
}

/* The only caller of a runtime that is in a call now; 0: there are none, or several. */
static uint32_t only_caller(const struct ledger *l, uint32_t runtime)
{
	const struct ledger_forks *f = &l->forks;
	uint32_t found = 0;

	for (uint32_t i = 0; i < f->caller_count; i++) {
		if (f->callers[i].depth == 0 ||
		    f->callers[i].runtime != runtime)
			continue;
		if (found)
			return 0;
		found = i + 1;
	}
	return found;
}

static uint32_t caller_in(const struct ledger *l, uint32_t runtime,
			  uint32_t place)
{
	const struct ledger_forks *f = &l->forks;
	uint64_t bit = UINT64_C(1) << (place - f->workers[runtime]);

	for (uint32_t i = 0; i < f->caller_count; i++)
		if (f->callers[i].depth > 0 &&
		    f->callers[i].runtime == runtime &&
		    (f->callers[i].here & bit))
			return i + 1;
	return 0;
}

uint32_t ledger_fork_owner(const struct ledger *l, uint32_t runtime,
			   uint32_t place)
{
	const struct ledger_fork_seat *seat =
		ledger_fork_seat(l, runtime, place);

	if (!seat || seat->depth > LEDGER_FORK_DEEPEST)
		return only_caller(l, runtime);
	if (seat->depth > 0)
		return seat->owners[seat->depth - 1];
	if (place >= l->forks.workers[runtime])
		return caller_in(l, runtime, place);
	/* A worker in a poll forks jobs of its task. Otherwise it runs a job that began before
	 * the recording. */
	return l->tracks[seat->track].depth > 0 ? 0 : only_caller(l, runtime);
}

uint32_t ledger_fork_push(struct ledger_fork_seat *seat, uint32_t owner)
{
	if (!seat || seat->depth++ >= LEDGER_FORK_DEEPEST)
		return 0;
	return seat->owners[seat->depth - 1] = owner;
}

uint32_t ledger_fork_pop(struct ledger_fork_seat *seat)
{
	if (!seat || seat->depth == 0)
		return 0;
	seat->depth--;
	return seat->depth < LEDGER_FORK_DEEPEST ? seat->owners[seat->depth]
						 : 0;
}
