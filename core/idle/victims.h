/* SPDX-License-Identifier: MIT */
/**
 * victims.h - the order in which a thief tries its victims
 *
 * Near ones first: those that share its core, its group, its node; each tier from a
 * random one on, so that thieves do not follow each other. Then other nodes: a
 * few groups by chance, of the nearest nodes and of all, or, before a thief
 * sleeps, all of them by distance. A search reads a line for each group that it
 * passes, and names those workers alone that the line does (core/queue/work_map.h).
 *
 * Sampling far groups, and only after some patience, is what did best in
 * simulation for up to 1,024 workers (bench/simulator): trying all of them at once
 * made a skewed load slower, and trying anybody at random took four times as much
 * from far away.
 */
#ifndef SKUA_CORE_IDLE_VICTIMS_H
#define SKUA_CORE_IDLE_VICTIMS_H

#include "core/base/rng.h"
#include "core/queue/work_map.h"
#include "topology/llc_groups.h"

#define VICTIMS_FAR_SAMPLES_MAX 64u

/* How far a search goes. */
enum victims_reach {
	VICTIMS_NODE,   /* the thief's */
	VICTIMS_SAMPLE, /* and some groups elsewhere */
	VICTIMS_ALL,
};

struct victims {
	const struct llc_groups *groups;
	const struct work_map *map;
	struct rng *rng;
	enum work_kind kind;
	enum victims_reach reach;
	unsigned samples;  /* of groups on other nodes */
	unsigned own_line; /* the thief's group; */
	uint64_t own_bit;  /* its bit there; 0: it has none, */
	uint64_t siblings; /* and those of who shares its core */

	/* How far it has come. */
	unsigned stage;
	unsigned step;      /* of the stage */
	unsigned start;     /* random; of the stage */
	unsigned node_step; /* of VICTIMS_ALL: which of the other nodes */
	unsigned rotation;  /* random; of the bits of a line */
	unsigned line;      /* now */
	uint64_t left;      /* its bits that were not named yet */
};

/* The result of a search: bit @bit of @line. */
struct victim {
	unsigned line, bit;
	bool far; /* on another node */
};

/**
 * victims_begin - begin a search
 * @v: receives it, with its members up to @siblings set by the caller
 */
void victims_begin(struct victims *v);

/* victims_next - the next victim to try; false: none is left */
bool victims_next(struct victims *v, struct victim *victim);

#endif
