/* SPDX-License-Identifier: MIT */
/* protocol.c - see protocol.h */
#include "bench/mpi/protocol.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The pause of an idle rank after as many ASKs in vain as there are other ranks: doubled each
 * time, within these limits. Guesses. */
#define MIN_PAUSE_NS UINT64_C(50000)
#define MAX_PAUSE_NS UINT64_C(1000000)

/* Each other rank has at most @requests ASKs under way, and a lifeline. */
static int most_askers(const struct protocol *protocol)
{
	return 2 * protocol->ranks * (int)protocol->policy->requests;
}

int protocol_init(struct protocol *protocol, uint64_t seed)
{
	protocol->max_parts =
		(unsigned)(PROTOCOL_MAX_BYTES / protocol->part_bytes);
	protocol->pause_ns = MIN_PAUSE_NS;
	/* Different for each rank, and never 0. */
	protocol->random = (seed * (uint64_t)protocol->ranks +
			    (uint64_t)protocol->rank + 1) *
			   UINT64_C(0x9E3779B97F4A7C15);
	protocol->askers = calloc((size_t)most_askers(protocol),
				  sizeof(*protocol->askers));
	return protocol->askers ? 0 : -ENOMEM;
}

void protocol_free(struct protocol *protocol)
{
	free(protocol->askers);
}

static int send(struct protocol *protocol, int to, enum protocol_tag tag,
		const void *data, size_t bytes)
{
	return protocol->host->send(protocol->of, to, (int)tag, data, bytes);
}

/* ---- ASK and GIVE --------------------------------------------------------------- */

/* Answer an asker. Return: 1: answered; 0: there is no answer yet; -ENOMEM. */
static int answer(struct protocol *protocol, const struct protocol_asker *asker)
{
	char bytes[PROTOCOL_MAX_BYTES];
	int parts, err;

	if (asker->ask.keep && !protocol->over &&
	    protocol->host->idle(protocol->of))
		return 0;
	parts = protocol->host->answer(protocol->of, bytes, asker->ask.parts,
				       protocol->max_parts);
	if (parts < 0)
		return 0;
	if (parts > 0) {
		protocol->sent++;
		protocol->counts->gives++;
		protocol->counts->parts_given += (unsigned)parts;
	}
	err = send(protocol, asker->rank, PROTOCOL_GIVE, bytes,
		   (size_t)parts * protocol->part_bytes);
	return err != 0 ? err : 1;
}

/* Answer the ranks that have asked, as long as there is an answer. */
static int answer_askers(struct protocol *protocol)
{
	int kept = 0, err = 0;

	for (int i = 0; i < protocol->asker_count; i++) {
		int answered =
			err < 0 ? 0 : answer(protocol, &protocol->askers[i]);

		if (answered < 0)
			err = answered;
		if (answered <= 0)
			protocol->askers[kept++] = protocol->askers[i];
	}
	protocol->asker_count = kept;
	return err;
}

uint64_t protocol_random(struct protocol *protocol)
{
	/* Marsaglia's xorshift. */
	protocol->random ^= protocol->random << 13;
	protocol->random ^= protocol->random >> 7;
	protocol->random ^= protocol->random << 17;
	return protocol->random;
}

int protocol_random_victim(struct protocol *protocol)
{
	const unsigned others = (unsigned)protocol->ranks - 1;
	int rank = (int)(protocol_random(protocol) % others);

	return rank < protocol->rank ? rank : rank + 1;
}

/* Guesses that skua-simulate-ranks retunes. */
const struct protocol_policy protocol_default = {
	.victim = protocol_random_victim,
	.requests = 4,
	.parts = UINT_MAX,
};

static int ask(struct protocol *protocol, int to, bool keep)
{
	unsigned waiting = protocol->host->waiting(protocol->of);
	struct protocol_ask message = {
		.parts = protocol->policy->parts,
		.keep = keep,
	};

	if (message.parts > protocol->max_parts)
		message.parts = protocol->max_parts;
	if (message.parts > waiting)
		message.parts = waiting > 0 ? waiting : 1;
	protocol->counts->asks++;
	protocol->asking++;
	return send(protocol, to, PROTOCOL_ASK, &message, sizeof(message));
}

/* Whether @to keeps a lifeline of this rank. It gets no second ASK: answers are told
 * apart by their sender alone. */
static bool has_lifeline(const struct protocol *protocol, int to)
{
	unsigned distance = (unsigned)(to ^ protocol->rank);

	return __builtin_popcount(distance) == 1 && protocol->kept & distance;
}

static int ask_lifelines(struct protocol *protocol)
{
	int err = 0;

	for (int i = 0; err == 0 && 1 << i < protocol->ranks; i++) {
		int to = protocol->rank ^ 1 << i;

		if (to >= protocol->ranks || protocol->kept & 1u << i)
			continue;
		protocol->kept |= 1u << i;
		err = ask(protocol, to, true);
	}
	return err;
}

static int ask_if_idle(struct protocol *protocol, uint64_t now_ns)
{
	const struct protocol_policy *policy = protocol->policy;
	unsigned kept = (unsigned)__builtin_popcount(protocol->kept);
	int err = 0;

	protocol->pauses = false;
	if (protocol->over || protocol->ranks == 1 ||
	    !protocol->host->idle(protocol->of))
		return 0;
	if (policy->lifelines_after > 0 &&
	    protocol->issued >= (int)policy->lifelines_after)
		return protocol->asking == kept ? ask_lifelines(protocol) : 0;
	if (now_ns < protocol->next_ask_ns) {
		protocol->pauses = protocol->asking == 0;
		return 0;
	}
	while (err == 0 && protocol->asking - kept < policy->requests &&
	       protocol->issued < protocol->ranks - 1) {
		int to = policy->victim(protocol);

		protocol->issued++;
		if (!has_lifeline(protocol, to))
			err = ask(protocol, to, false);
	}
	return err;
}

static void was_refused(struct protocol *protocol, uint64_t now_ns)
{
	if (protocol->issued < protocol->ranks - 1 || protocol->asking > 0)
		return;
	protocol->issued = 0;
	protocol->next_ask_ns = now_ns + protocol->pause_ns;
	if (protocol->pause_ns < MAX_PAUSE_NS)
		protocol->pause_ns *= 2;
}

static int on_give(struct protocol *protocol, int from, const void *data,
		   size_t bytes, uint64_t now_ns)
{
	size_t parts = bytes / protocol->part_bytes;
	int distance = from ^ protocol->rank;

	protocol->asking--;
	if (__builtin_popcount((unsigned)distance) == 1)
		protocol->kept &= ~(unsigned)distance;
	if (parts == 0) {
		was_refused(protocol, now_ns);
		return 0;
	}
	protocol->issued = 0;
	protocol->pause_ns = MIN_PAUSE_NS;
	protocol->sent--;
	protocol->received_parts = true;
	protocol->counts->parts_received += parts;
	return protocol->host->put(protocol->of, data, parts);
}

/* ---- the end -------------------------------------------------------------------- */

static int join_sum_if_idle(struct protocol *protocol)
{
	struct protocol_sum own = {
		.sent = protocol->sent,
		.received = protocol->received_parts,
	};

	if (protocol->summing || protocol->over ||
	    !protocol->host->idle(protocol->of))
		return 0;
	protocol->received_parts = false;
	protocol->summing = true;
	protocol->counts->sums++;
	return protocol->host->sum(protocol->of, &own);
}

void protocol_summed(struct protocol *protocol,
		     const struct protocol_sum *total)
{
	protocol->summing = false;
	protocol->over = total->sent == 0 && total->received == 0;
}

/* ---- a step --------------------------------------------------------------------- */

int protocol_receive(struct protocol *protocol, int from, int tag,
		     const void *data, size_t bytes, uint64_t now_ns)
{
	struct protocol_asker *asker;

	if (tag == PROTOCOL_GIVE)
		return on_give(protocol, from, data, bytes, now_ns);
	if (protocol->asker_count == most_askers(protocol))
		return -EPROTO;
	asker = &protocol->askers[protocol->asker_count++];
	asker->rank = from;
	memcpy(&asker->ask, data, sizeof(asker->ask));
	protocol->host->ask(protocol->of, asker->ask.parts);
	return 0;
}

int protocol_step(struct protocol *protocol, uint64_t now_ns)
{
	int err = answer_askers(protocol);

	if (err == 0)
		err = ask_if_idle(protocol, now_ns);
	if (err == 0)
		err = join_sum_if_idle(protocol);
	return err;
}
