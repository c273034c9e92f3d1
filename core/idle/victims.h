/* SPDX-License-Identifier: MIT */
/**
 * victims.h - the order in which a thief tries its victims
 *
 * Near victims come first: those of the thief's core, of its group, and of its
 * node. Each tier begins with a random victim, so that thieves do not follow
 * each other. Other nodes come after that: either a few random groups, in turn
 * of the nearest nodes and of all nodes; or, before a thief sleeps, all groups
 * by distance. A search reads one line for each group, and returns only the
 * workers whose bits are set there (core/queue/work_map.h). In other groups than
 * the thief's own, the queues of the group come before its workers.
 *
 * Sampling far groups, and only after some patience, did best in simulation of
 * up to 1,024 workers (bench/simulator). A search of all far groups at once
 * made a skewed load slower, and a search of random workers took four times as
 * many tasks from far away.
 */
#ifndef SKUA_CORE_IDLE_VICTIMS_H
#define SKUA_CORE_IDLE_VICTIMS_H

#include "core/base/rng.h"
#include "core/queue/work_map.h"
#include "topology/llc_groups.h"

#define VICTIMS_FAR_SAMPLES_MAX 64u

/* How far a search goes. Each reach includes the one before. */
enum victims_reach {
	VICTIMS_NODE,   /* the thief's node */
	VICTIMS_SAMPLE, /* and some groups of other nodes */
	VICTIMS_ALL,
};

struct victims {
	const struct llc_groups *groups;
	const struct work_map *map;
	struct rng *rng;
	enum work_kind kind;
	enum victims_reach reach;
	unsigned samples;  /* number of groups to try on other nodes */
	unsigned own_line; /* the thief's group */
	uint64_t own_bit;  /* the thief's bit in own_line; 0: it has none */
	uint64_t siblings; /* bits of the other workers on its core */

	/* The position of the search. */
	unsigned stage;
	unsigned step;      /* within the stage */
	unsigned start;     /* random first step of the stage */
	unsigned node_step; /* for VICTIMS_ALL: index of the other node */
	unsigned rotation;  /* random first bit of each line */
	unsigned line;      /* the current one */
	bool injected;      /* tasks may wait at its group */
	uint64_t left;      /* its bits that were not returned yet */
};

/* One victim: the worker with bit @bit of line @line, or the queues of the group
 * of that line (core/queue/inject_group.h). */
struct victim {
	unsigned line, bit;
	bool far;      /* on another node */
	bool injected; /* the queues of the group */
};

/**
 * victims_begin - begin a search
 * @v: the caller has set the members up to @siblings; the others are set here
 */
void victims_begin(struct victims *v);

/* victims_next - get the next victim to try; false if none is left */
bool victims_next(struct victims *v, struct victim *victim);

#endif
