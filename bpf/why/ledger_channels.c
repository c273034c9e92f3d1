/* SPDX-License-Identifier: MIT */
/*
 * ledger_channels.c - waits for channels: how long a channel was full or empty for a task,
 * and which task ended that
 *
 * A send and a receive write no event. A task that has to wait does, and the poll that makes
 * it runnable again is that of the task that received from the channel, or sent to it. So
 * these are the servers that are known: tasks that serve nobody who waits are not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/sorted.h"
#include "bpf/target/wait_kind.h"
#include "bpf/why/ledger.h"
#include "bpf/why/ledger_parts.h"

/* Receivers wake those that wait to send, and senders all others. The key of a side of a
 * channel, whose address is a multiple of 8. */
static uint64_t side_of(const struct ledger_wait *wait)
{
	return wait->object | wait_kind_is_send(wait->kind);
}

/* ---- collecting ------------------------------------------------------------ */

static const struct ledger_server nobody = { 0, LEDGER_NOBODY, LEDGER_NOBODY };

/* The task that the thread of a track polls, as a server. Between polls there is none. */
static struct ledger_server server_on(struct ledger *l, unsigned track)
{
	const struct ledger_steps *s = &l->tracks[track];

	for (size_t i = s->depth; i > 0; i--)
		if (s->open[i - 1].step.doing == LEDGER_POLL)
			return (struct ledger_server){
				.task = s->open[i - 1].task,
				.name = s->open[i - 1].step.name,
				.label = s->open[i - 1].labels.now
			};
	if (trace_source(l->trace, track)->stream.index != TRACE_OUTSIDE)
		return nobody;
	return (struct ledger_server){ .task = AREA_HOLDER_THREAD,
				       .name = ledger_name(l,
							   "an outside thread"),
				       .label = LEDGER_NOBODY };
}

void ledger_on_woken(struct ledger *l, const struct trace_mark *mark)
{
	struct ledger_wait *wait;
	struct address entry;

	if (!addresses_find(&l->suspended, mark->args[0].number, &entry))
		return;
	wait = &l->waits[entry.number - 1];
	if (wait_kind_is_lock(wait->kind) || wait_kind_is_io(wait->kind))
		return;
	/* A timer wakes between polls: it serves nobody. */
	wait->server = server_on(l, mark->track);
}

/* Set the last server of the channel, which should have ended the wait. */
static void set_last_server(struct ledger *l, struct ledger_wait *wait)
{
	struct address last;

	wait->server = addresses_find(&l->servers, side_of(wait), &last)
			       ? l->waits[last.number - 1].server
			       : nobody;
}

void ledger_served(struct ledger *l, struct ledger_wait *wait,
		   uint64_t ready_ns, bool gave_up)
{
	const struct address last = { .address = side_of(wait),
				      .number = (size_t)(wait - l->waits) + 1 };

	wait->until_ns = ready_ns > wait->from_ns ? ready_ns : wait->from_ns;
	/* A task that gave up was woken by a timer, or cancelled. */
	if (gave_up || !wait->server.task)
		set_last_server(l, wait);
	else if (addresses_put(&l->servers, &last))
		l->failed = -ENOMEM;
}

void ledger_still_waits(struct ledger *l, struct ledger_wait *wait)
{
	wait->until_ns =
		l->stop_ns > wait->from_ns ? l->stop_ns : wait->from_ns;
	wait->still = true;
	set_last_server(l, wait);
}

/* ---- after the last event --------------------------------------------------- */

/* The waits of a channel, of one kind. Oneshots without a name come and go: those for which
 * tasks of one type wait are as one. */
struct key {
	uint64_t object;
	uint32_t kind, name;
};

static struct key key_of(const struct ledger *l, const struct ledger_wait *wait)
{
	struct key key = { .object = wait->object,
			   .kind = wait->kind,
			   .name = LEDGER_NOBODY };

	if (wait->kind == AREA_WAITS_ONESHOT &&
	    !trace_name(l->trace, TRACE_NAME_OBJECT, wait->object)) {
		key.object = 0;
		key.name = wait->name;
	}
	return key;
}

/* A wait with its key, for sorting. */
struct keyed {
	struct key key;
	size_t wait;
};

static int compare_keys(const struct key *a, const struct key *b)
{
	if (a->object != b->object)
		return compare_numbers(a->object, b->object);
	if (a->kind != b->kind)
		return compare_numbers(a->kind, b->kind);
	return compare_numbers(a->name, b->name);
}

static int compare_keyed(const void *left, const void *right)
{
	const struct keyed *a = left, *b = right;
	int order = compare_keys(&a->key, &b->key);

	return order ? order : compare_numbers(a->wait, b->wait);
}

/* Add a wait to a channel. */
static void add_wait(struct ledger_channel *channel,
		     const struct ledger_wait *wait, size_t index)
{
	uint64_t ns = wait->until_ns - wait->from_ns;

	channel->times++;
	channel->still += wait->still;
	channel->ns += ns;
	if (wait->still && channel->still_ns < ns)
		channel->still_ns = ns;
	if (channel->longest && ns <= channel->longest_ns)
		return;
	channel->longest_ns = ns;
	channel->longest = index + 1;
}

/* Keep a channel if it has one of the longest waits. The array is sorted by them. */
static void keep(struct ledger *l, const struct ledger_channel *channel)
{
	size_t at = l->channel_count;

	while (at > 0 && l->channels[at - 1].longest_ns < channel->longest_ns)
		at--;
	if (at == LEDGER_CHANNELS)
		return;
	if (l->channel_count < LEDGER_CHANNELS)
		l->channel_count++;
	memmove(&l->channels[at + 1], &l->channels[at],
		(l->channel_count - 1 - at) * sizeof(*channel));
	l->channels[at] = *channel;
}

static void group(struct ledger *l, const struct keyed *list, size_t count)
{
	for (size_t i = 0; i < count;) {
		struct key key = list[i].key;
		struct ledger_channel channel = { .object = key.object,
						  .kind = key.kind };

		for (; i < count && compare_keys(&list[i].key, &key) == 0; i++)
			add_wait(&channel, &l->waits[list[i].wait],
				 list[i].wait);
		keep(l, &channel);
	}
}

int ledger_find_channels(struct ledger *l)
{
	struct keyed *list;
	size_t count = 0;

	if (l->wait_count == 0)
		return 0;
	list = calloc(l->wait_count, sizeof(*list));
	l->channels = calloc(LEDGER_CHANNELS, sizeof(*l->channels));
	if (!list || !l->channels) {
		free(list);
		return -ENOMEM;
	}
	for (size_t i = 0; i < l->wait_count; i++)
		if (wait_kind_is_channel(l->waits[i].kind) &&
		    l->waits[i].until_ns > 0)
			list[count++] =
				(struct keyed){ key_of(l, &l->waits[i]), i };
	if (count > 0)
		qsort(list, count, sizeof(*list), compare_keyed);
	group(l, list, count);
	free(list);
	return 0;
}

int ledger_add_servers(const struct ledger *l, struct addresses *holders)
{
	int code = 0;

	/* Those that a part of an item may name, and those of the longest waits. */
	for (size_t i = 0; !code && i < l->wait_count; i++) {
		const struct address entry = {
			.address = l->waits[i].server.task
		};

		if (wait_kind_is_send(l->waits[i].kind) || l->waits[i].labelled)
			code = addresses_put(holders, &entry);
	}
	for (size_t i = 0; !code && i < l->channel_count; i++) {
		const struct ledger_wait *wait =
			&l->waits[l->channels[i].longest - 1];
		const struct address entry = { .address = wait->server.task };

		code = addresses_put(holders, &entry);
	}
	return code;
}

void ledger_settle_channels(struct ledger *l)
{
	for (size_t i = 0; i < l->channel_count; i++) {
		struct ledger_channel *channel = &l->channels[i];
		const struct ledger_wait *wait =
			&l->waits[channel->longest - 1];

		ledger_did(l, wait->server.task, wait->from_ns, wait->until_ns,
			   channel->did);
	}
}
