/* SPDX-License-Identifier: MIT */
/**
 * latency_contest.h - those who measure latencies meet, two at a time
 *
 * Each CPU has a player, a thread. Players that have nothing to do are idle, and
 * who ends a game lets idle ones begin others, until each has played with each.
 * So nobody waits for a CPU that is busy with something else: its player is not
 * idle yet. A fixed order of games, as of a tournament, would wait for it in each
 * round; and a thread that leads would be on one of the CPUs itself.
 *
 * As long as the time suffices, one game is played at a time: others take their
 * part of what connects the cores.
 */
#ifndef SKUA_TOPOLOGY_LATENCY_CONTEST_H
#define SKUA_TOPOLOGY_LATENCY_CONTEST_H

#include <pthread.h>
#include <stdalign.h>

#include "topology/latency.h"

#define CONTEST_LINES \
	8u /* a game takes turns with them: not all are alike near */
#define CONTEST_THROWS 16u /* round trips between two looks at the clock */

#define CONTEST_PAGE  4096
#define CONTEST_PAIR  128 /* of cache lines, as in core/base/atomic.h */
#define CONTEST_WORDS (LATENCY_MAX_CPUS / 64)

/* A page, so that it is in the memory of the player who throws, and writes to it
 * first. */
struct court {
	alignas(CONTEST_PAGE) struct line {
		/* Even: the thrower has it. Written by who has it; wraps. */
		alignas(CONTEST_PAIR) uint32_t ball;
	} lines[CONTEST_LINES];
};

struct player {
	/* Written by whoever starts a game with it, and emptied by itself, when
	 * it is not idle. */
	alignas(CONTEST_PAIR) uint32_t mail;
	struct contest *contest;
	unsigned index;
	bool created;
	pthread_t thread;
	uint64_t todo[CONTEST_WORDS]; /* with whom; under the contest's lock */
};

struct contest {
	struct latency *latency;
	unsigned count, rounds;
	/* Looks at whether time is over before a player leaves its CPU to others.
	 * A game needs both at a time, which on a busy machine is rare. */
	unsigned patience;
	uint64_t deadline_ns;
	struct player *players;
	struct court *courts;

	pthread_spinlock_t lock; /* of what follows, and of each todo */
	uint64_t idle[CONTEST_WORDS];
	unsigned games, games_at_once;

	/* Held while players are created, who begin when it is not. */
	pthread_mutex_t mutex;
	pthread_cond_t all_left;
	unsigned left; /* threads that have not ended; under the mutex */
};

/* contest_init - for @latency; all but the players and times; 0 or -ENOMEM */
int contest_init(struct contest *contest, struct latency *latency);

void contest_free(struct contest *contest);

/* contest_now_ns - the clock of deadline_ns */
uint64_t contest_now_ns(void);

/* contest_pair - @i and @j have a game to play; or, if they had, have none. Before
 * anybody plays, or with the lock held. */
void contest_pair(struct contest *contest, unsigned i, unsigned j);

/* contest_play - the whole life of a player; returns after its last game, or when
 * time is over */
void contest_play(struct player *player);

#endif
