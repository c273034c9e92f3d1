/* SPDX-License-Identifier: MIT */
/* ranks_policies.c - see ranks_policies.h */
#include "bench/mpi/ranks_policies.h"

#include <string.h>

/* The ranks of a rack, and how many of them are asked before others. */
#define RACK_RANKS 64
#define RACK_TRIES 2

/* A random rank of @count ranks from @first on, except the own one, which is one of
 * them. */
static int random_of(struct protocol *protocol, int first, int count)
{
	int rank = first +
		   (int)(protocol_random(protocol) % (unsigned)(count - 1));

	return rank >= protocol->rank ? rank + 1 : rank;
}

static int random_victim(struct protocol *protocol)
{
	return random_of(protocol, 0, protocol->ranks);
}

static int near_victim(struct protocol *protocol)
{
	int first = protocol->rank / RACK_RANKS * RACK_RANKS;
	int count = protocol->ranks - first;

	if (count > RACK_RANKS)
		count = RACK_RANKS;
	return protocol->issued < RACK_TRIES && count > 1
		       ? random_of(protocol, first, count)
		       : random_victim(protocol);
}

/* The most parts of a message. */
#define MANY 64

const struct ranks_policy ranks_policies[] = {
	{ "one",
	  "a part from all others in turn",
	  { protocol_victim_in_turn, 1, 1, 0 } },
	{ "few", "4 parts", { protocol_victim_in_turn, 1, 4, 0 } },
	{ "turn",
	  "a part for each searcher",
	  { protocol_victim_in_turn, 1, MANY, 0 } },
	{ "random",
	  "as turn, from random ranks",
	  { random_victim, 1, MANY, 0 } },
	{ "near",
	  "as random, but 2 of the rack first",
	  { near_victim, 1, MANY, 0 } },
	{ "two", "as random, 2 ASKs under way", { random_victim, 2, MANY, 0 } },
	{ "four",
	  "as random, 4 ASKs under way",
	  { random_victim, 4, MANY, 0 } },
	{ "eight",
	  "as random, 8 ASKs under way",
	  { random_victim, 8, MANY, 0 } },
	{ "lifeline",
	  "as random; lifelines after 4 ASKs",
	  { random_victim, 1, MANY, 4 } },
	{ NULL, NULL, { NULL, 0, 0, 0 } },
};

const struct ranks_policy *ranks_policy_find(const char *name)
{
	for (const struct ranks_policy *p = ranks_policies; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}
