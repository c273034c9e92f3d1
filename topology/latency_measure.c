/* SPDX-License-Identifier: MIT */
/* latency_measure.c - see latency_measure.h */
#include "topology/latency_measure.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "topology/latency_pingpong.h"

/* Rounds of a game. With many CPUs there are fewer, so that all games fit into the time. */
#define MIN_ROUNDS 8u
#define MAX_ROUNDS 32u
#define ALL_ROUNDS 2048u
/* The number of checks of the deadline before a player yields its CPU: about a
 * millisecond. */
#define PATIENCE 500u
/* A guess at the time of a round trip, to plan how many games run at once. */
#define ROUGH_TRIP_NS 300u

/* ---- threads --------------------------------------------------------------- */

static void *player_main(void *arg)
{
	struct player *player = arg;
	struct pingpong *c = player->pingpong;

	/* Wait until all players are created. */
	pthread_mutex_lock(&c->mutex);
	pthread_mutex_unlock(&c->mutex);
	pingpong_play(player);
	pthread_mutex_lock(&c->mutex);
	if (--c->left == 0)
		pthread_cond_signal(&c->all_left);
	pthread_mutex_unlock(&c->mutex);
	return NULL;
}

/* set_of - make a set of CPUs, which the caller frees; return NULL if there is no memory */
static cpu_set_t *set_of(const unsigned *cpus, unsigned count, size_t *size)
{
	unsigned limit = cpus[count - 1] + 1;
	cpu_set_t *set = CPU_ALLOC(limit);

	*size = CPU_ALLOC_SIZE(limit);
	if (!set)
		return NULL;
	CPU_ZERO_S(*size, set);
	for (unsigned i = 0; i < count; i++)
		CPU_SET_S(cpus[i], *size, set);
	return set;
}

static bool create_player(struct player *player, const unsigned *cpu)
{
	size_t size;
	cpu_set_t *set = set_of(cpu, 1, &size);
	pthread_attr_t attr;
	bool created = false;

	if (set && pthread_attr_init(&attr) == 0) {
		created = pthread_attr_setaffinity_np(&attr, size, set) == 0 &&
			  pthread_create(&player->thread, &attr, player_main,
					 player) == 0;
		pthread_attr_destroy(&attr);
	}
	CPU_FREE(set);
	return created;
}

/* Each player plays with all players that were created before it. */
static void create_players_locked(struct pingpong *c)
{
	const struct cpu_list *cpus = &c->latency->cpus;
	sigset_t all, before;

	/* No signal handler of the program runs on these threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned i = 0; i < c->count && pingpong_now_ns() < c->deadline_ns;
	     i++) {
		c->players[i].pingpong = c;
		c->players[i].index = i;
		c->players[i].created =
			create_player(&c->players[i], &cpus->cpus[i]);
		if (!c->players[i].created)
			continue;
		c->left++;
		for (unsigned j = 0; j < i; j++)
			if (c->players[j].created)
				pingpong_pair(c, i, j);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void await_players_locked(struct pingpong *c)
{
	const struct timespec deadline = {
		.tv_sec = (time_t)(c->deadline_ns / 1000000000u),
		.tv_nsec = (long)(c->deadline_ns % 1000000000u),
	};
	int code = 0;

	while (c->left > 0 && code != ETIMEDOUT)
		code = pthread_cond_timedwait(&c->all_left, &c->mutex,
					      &deadline);
}

/* free_players - let the players that have not ended end on any allowed CPU
 *
 * A player may get no time on its own CPU, for example beside a real-time thread. */
static void free_players(struct pingpong *c)
{
	struct cpu_list allowed;
	cpu_set_t *set;
	size_t size;

	if (cpu_list_allowed(&allowed))
		return;
	set = set_of(allowed.cpus, allowed.count, &size);
	for (unsigned i = 0; set && i < c->count; i++)
		if (c->players[i].created)
			pthread_setaffinity_np(c->players[i].thread, size, set);
	CPU_FREE(set);
	cpu_list_free(&allowed);
}

/* ---- measuring ------------------------------------------------------------- */

static void plan_games(struct pingpong *c, uint64_t budget_ns)
{
	uint64_t games = (uint64_t)c->count * (c->count - 1) / 2, at_once;

	c->rounds = ALL_ROUNDS / c->count;
	if (c->rounds > MAX_ROUNDS)
		c->rounds = MAX_ROUNDS;
	if (c->rounds < MIN_ROUNDS)
		c->rounds = MIN_ROUNDS;
	c->patience = PATIENCE;
	/* Choose at_once such that the games take half of the time. */
	at_once = 1 + games * c->rounds * (1 + PINGPONG_TRIPS) * ROUGH_TRIP_NS /
			      (budget_ns / 2 + 1);
	c->games_at_once =
		at_once < c->count / 2 ? (unsigned)at_once : c->count / 2;
}

static int play_all(struct latency *latency, uint64_t budget_ns)
{
	uint64_t begin_ns = pingpong_now_ns();
	struct pingpong pingpong;
	unsigned created, left;
	int code = pingpong_init(&pingpong, latency);

	if (code)
		return code;
	plan_games(&pingpong, budget_ns);
	pingpong.deadline_ns = begin_ns + budget_ns;
	pthread_mutex_lock(&pingpong.mutex);
	create_players_locked(&pingpong);
	created = pingpong.left;
	await_players_locked(&pingpong);
	left = pingpong.left;
	pthread_mutex_unlock(&pingpong.mutex);
	if (left > 0)
		free_players(&pingpong);
	for (unsigned i = 0; i < pingpong.count; i++)
		if (pingpong.players[i].created)
			pthread_join(pingpong.players[i].thread, NULL);
	pingpong_free(&pingpong);
	return created < 2 ? -EAGAIN : 0;
}

int latency_measure(struct latency **out, const struct cpu_list *cpus,
		    uint64_t budget_ns)
{
	struct latency *latency = latency_make(cpus);
	int code = latency ? play_all(latency, budget_ns) : -ENOMEM;

	*out = code ? NULL : latency;
	if (code)
		latency_free(latency);
	return code;
}
