/* SPDX-License-Identifier: MIT */
/* ranks_policies.c - see ranks_policies.h */
#include "bench/mpi/ranks_policies.h"

#include <limits.h>
#include <string.h>

/* The ranks of a rack, and how many of them are asked before others. */
#define RACK_RANKS 64
#define RACK_TRIES 2

/* Return a random rank of the @count ranks from @first on, except this one, which is one of
 * them. */
static int random_of(struct protocol *protocol, int first, int count)
{
	int rank = first +
		   (int)(protocol_random(protocol) % (unsigned)(count - 1));

	return rank >= protocol->rank ? rank + 1 : rank;
}

/* Return all other ranks in turn, from a random one on. */
static int victim_in_turn(struct protocol *protocol)
{
	int others = protocol->ranks - 1;

	if (protocol->issued == 0)
		protocol->first =
			(int)(protocol_random(protocol) % (unsigned)others);
	return (protocol->rank + 1 +
		(protocol->first + protocol->issued) % others) %
	       protocol->ranks;
}

static int near_victim(struct protocol *protocol)
{
	int first = protocol->rank / RACK_RANKS * RACK_RANKS;
	int count = protocol->ranks - first;

	if (count > RACK_RANKS)
		count = RACK_RANKS;
	return protocol->issued < RACK_TRIES && count > 1
		       ? random_of(protocol, first, count)
		       : protocol_random_victim(protocol);
}

const struct ranks_policy ranks_policies[] = {
	{ "one", "a part of all others in turn", { victim_in_turn, 1, 1, 0 } },
	{ "few", "4 parts", { victim_in_turn, 1, 4, 0 } },
	{ "turn",
	  "a part for each searcher",
	  { victim_in_turn, 1, UINT_MAX, 0 } },
	{ "random",
	  "of random ranks",
	  { protocol_random_victim, 1, UINT_MAX, 0 } },
	{ "near", "2 ASKs in the rack first", { near_victim, 1, UINT_MAX, 0 } },
	{ "lifeline",
	  "lifelines after 4 ASKs",
	  { protocol_random_victim, 1, UINT_MAX, 4 } },
	{ "two",
	  "random, 2 ASKs at once",
	  { protocol_random_victim, 2, UINT_MAX, 0 } },
	{ "four",
	  "random, 4 ASKs at once",
	  { protocol_random_victim, 4, UINT_MAX, 0 } },
	{ "eight",
	  "random, 8 ASKs at once",
	  { protocol_random_victim, 8, UINT_MAX, 0 } },
	{ "near4", "near, 4 ASKs at once", { near_victim, 4, UINT_MAX, 0 } },
	{ NULL, NULL, { NULL, 0, 0, 0 } },
};

const struct ranks_policy *ranks_policy_find(const char *name)
{
	for (const struct ranks_policy *p = ranks_policies; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}
