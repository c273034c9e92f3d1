/* SPDX-License-Identifier: MIT */
/* latency_measure.c - see latency_measure.h */
#include "topology/latency_measure.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "topology/latency_contest.h"

/* Looks at the clock in a game, fewer with many CPUs, so that all come in time. */
#define MIN_ROUNDS 8u
#define MAX_ROUNDS 32u
#define ALL_ROUNDS 2048u
/* About a millisecond. */
#define PATIENCE 500u
/* For how many games at once are needed: what a round trip may take. */
#define ROUGH_TRIP_NS 300u

/* ---- threads --------------------------------------------------------------- */

static void *player_main(void *arg)
{
	struct player *player = arg;
	struct contest *c = player->contest;

	/* Until all are created. */
	pthread_mutex_lock(&c->mutex);
	pthread_mutex_unlock(&c->mutex);
	contest_play(player);
	pthread_mutex_lock(&c->mutex);
	if (--c->left == 0)
		pthread_cond_signal(&c->all_left);
	pthread_mutex_unlock(&c->mutex);
	return NULL;
}

/* A set of CPUs, to be freed; NULL: no memory. */
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

/* Each plays with all that were created before it. */
static void create_players_locked(struct contest *c)
{
	const struct cpu_list *cpus = &c->latency->cpus;
	sigset_t all, before;

	/* No handler of the program's runs on these threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned i = 0; i < c->count && contest_now_ns() < c->deadline_ns;
	     i++) {
		c->players[i].contest = c;
		c->players[i].index = i;
		c->players[i].created =
			create_player(&c->players[i], &cpus->cpus[i]);
		if (!c->players[i].created)
			continue;
		c->left++;
		for (unsigned j = 0; j < i; j++)
			if (c->players[j].created)
				contest_pair(c, i, j);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void await_players_locked(struct contest *c)
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

/* A player whose CPU has no time for it, as beside a real-time thread, ends on any
 * other that is allowed. */
static void free_players(struct contest *c)
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

static void plan_games(struct contest *c, uint64_t budget_ns)
{
	uint64_t games = (uint64_t)c->count * (c->count - 1) / 2, at_once;

	c->rounds = ALL_ROUNDS / c->count;
	if (c->rounds > MAX_ROUNDS)
		c->rounds = MAX_ROUNDS;
	if (c->rounds < MIN_ROUNDS)
		c->rounds = MIN_ROUNDS;
	c->patience = PATIENCE;
	/* So that half of the time suffices. */
	at_once = 1 + games * c->rounds * (1 + CONTEST_THROWS) * ROUGH_TRIP_NS /
			      (budget_ns / 2 + 1);
	c->games_at_once =
		at_once < c->count / 2 ? (unsigned)at_once : c->count / 2;
}

static int hold_contest(struct latency *latency, uint64_t budget_ns)
{
	uint64_t begin_ns = contest_now_ns();
	struct contest contest;
	unsigned created, left;
	int code = contest_init(&contest, latency);

	if (code)
		return code;
	plan_games(&contest, budget_ns);
	contest.deadline_ns = begin_ns + budget_ns;
	pthread_mutex_lock(&contest.mutex);
	create_players_locked(&contest);
	created = contest.left;
	await_players_locked(&contest);
	left = contest.left;
	pthread_mutex_unlock(&contest.mutex);
	if (left > 0)
		free_players(&contest);
	for (unsigned i = 0; i < contest.count; i++)
		if (contest.players[i].created)
			pthread_join(contest.players[i].thread, NULL);
	contest_free(&contest);
	return created < 2 ? -EAGAIN : 0;
}

int latency_measure(struct latency **out, const struct cpu_list *cpus,
		    uint64_t budget_ns)
{
	struct latency *latency = latency_make(cpus);
	int code = latency ? hold_contest(latency, budget_ns) : -ENOMEM;

	*out = code ? NULL : latency;
	if (code)
		latency_free(latency);
	return code;
}
