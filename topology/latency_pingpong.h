/* SPDX-License-Identifier: MIT */
/**
 * latency_pingpong.h - threads that measure latencies, two at a time
 *
 * Each CPU has a player, a thread. Two players measure the latency between their CPUs by a
 * game: they pass a ball, a word of memory, to and fro. Players without a game are idle.
 * The player that ends a game pairs idle players for new games, until each player has
 * played with each other player.
 *
 * So no player waits for a CPU that is busy with something else, because the player of
 * that CPU is not idle. Rejected: a fixed schedule of games, which would wait for such a
 * CPU in each round; and a coordinating thread, which would itself run on one of the CPUs.
 *
 * While time suffices, only one game runs at once: games disturb each other on the
 * interconnect.
 */
#ifndef SKUA_TOPOLOGY_LATENCY_PINGPONG_H
#define SKUA_TOPOLOGY_LATENCY_PINGPONG_H

#include <pthread.h>
#include <stdalign.h>

#include "topology/latency.h"

#define PINGPONG_LINES \
	8u /* a game uses them in turn, as lines are not equally near */
#define PINGPONG_TRIPS 16u /* round trips between two readings of the clock */

#define PINGPONG_PAGE  4096
#define PINGPONG_PAIR  128 /* two cache lines, as in core/base/atomic.h */
#define PINGPONG_WORDS (LATENCY_MAX_CPUS / 64)

/* A page of memory for each player. The player writes to it first, so that it is on the
 * node of the player's CPU. */
struct pingpong_page {
	alignas(PINGPONG_PAGE) struct line {
		/* Even: the player that pings has the ball; odd: the other one. Only
		 * the player that has the ball writes it. Wraps. */
		alignas(PINGPONG_PAIR) uint32_t ball;
	} lines[PINGPONG_LINES];
};

struct player {
	/* The next game of this player, or INVITE_NONE. Writers: a player that begins a game
	 * for this player, while this one is idle; this player, to clear it. */
	alignas(PINGPONG_PAIR) uint32_t invite;
	struct pingpong *pingpong;
	unsigned index;
	bool created;
	pthread_t thread;
	uint64_t todo[PINGPONG_WORDS]; /* players to play; under the lock */
};

struct pingpong {
	struct latency *latency;
	unsigned count, rounds;
	/* Checks of the deadline before a player yields its CPU. A game needs both
	 * players on their CPUs at once, which is rare on a busy machine. */
	unsigned patience;
	uint64_t deadline_ns;
	struct player *players;
	struct pingpong_page *pages;

	pthread_spinlock_t lock; /* guards idle, games and each todo */
	uint64_t idle[PINGPONG_WORDS];
	unsigned games, games_at_once;

	/* Held while players are created: they begin when it is released. */
	pthread_mutex_t mutex;
	pthread_cond_t all_left;
	unsigned left; /* threads that have not ended; under the mutex */
};

/* pingpong_init - prepare for @latency; the caller creates the players and sets the times.
 * Return: 0 or -ENOMEM */
int pingpong_init(struct pingpong *pingpong, struct latency *latency);

void pingpong_free(struct pingpong *pingpong);

/* pingpong_now_ns - return the time of the clock of deadline_ns, CLOCK_MONOTONIC */
uint64_t pingpong_now_ns(void);

/* pingpong_pair - flip whether @i and @j still have a game to play. Call it before the
 * first game, or with the lock held. */
void pingpong_pair(struct pingpong *pingpong, unsigned i, unsigned j);

/* pingpong_play - run a player; returns after its last game or at the deadline */
void pingpong_play(struct player *player);

#endif
