/* SPDX-License-Identifier: MIT */
/* latency_pingpong.c - see latency_pingpong.h */
#include "topology/latency_pingpong.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The number of reads of a word between two checks of the deadline. */
#define SPINS 1000u
/* An invite has the index of the other player, and which of the two begins. */
#define INVITE_NONE  0u
#define INVITE_PING  0x10000u
#define INVITE_PONG  0x20000u
#define INVITE_OTHER 0xffffu

uint64_t pingpong_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_over(const struct pingpong *c)
{
	return pingpong_now_ns() >= c->deadline_ns;
}

static bool has_bit(const uint64_t *words, unsigned i)
{
	return words[i / 64] >> i % 64 & 1;
}

static void flip_bit(uint64_t *words, unsigned i)
{
	words[i / 64] ^= UINT64_C(1) << i % 64;
}

/* ---- a game ---------------------------------------------------------------- */

/* await_change - wait until the word differs from @old, or until the deadline
 *
 * Return: the value of the word; @old after the deadline. The loop has no pause
 * instruction, because that would take longer than a trip. */
static uint32_t await_change(const struct pingpong *c, const uint32_t *word,
			     uint32_t old)
{
	for (unsigned looks = 1;; looks++) {
		for (unsigned i = 0; i < SPINS; i++) {
			/* Relaxed: only the ball itself is handed over, by the
			 * store in ping() or pong(). */
			uint32_t value =
				__atomic_load_n(word, __ATOMIC_RELAXED);

			if (value != old)
				return value;
		}
		if (is_over(c))
			return old;
		if (looks % c->patience == 0)
			sched_yield();
	}
}

/* ping - make @count round trips; return false after the deadline */
static bool ping(const struct pingpong *c, uint32_t *ball, unsigned count)
{
	/* Relaxed: this player stored this value itself or has loaded it before. */
	uint32_t at = __atomic_load_n(ball, __ATOMIC_RELAXED);

	for (unsigned i = 0; i < count; i++, at += 2) {
		/* Relaxed: see await_change(). */
		__atomic_store_n(ball, at + 1, __ATOMIC_RELAXED);
		if (await_change(c, ball, at + 1) == at + 1)
			return false;
	}
	return true;
}

/* pong - answer a ping() with the same @count; return false after the deadline */
static bool pong(const struct pingpong *c, uint32_t *ball, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		/* Relaxed: see await_change(). */
		uint32_t at = __atomic_load_n(ball, __ATOMIC_RELAXED);

		if (at % 2 == 0) {
			uint32_t old = at;

			at = await_change(c, ball, old);
			if (at == old)
				return false;
		}
		/* Relaxed: see await_change(). */
		__atomic_store_n(ball, at + 1, __ATOMIC_RELAXED);
	}
	return true;
}

/* The fastest round counts: each disturbance makes a round slower. */
static void lead_game(struct pingpong *c, unsigned me, unsigned other)
{
	uint64_t best = UINT64_MAX;
	unsigned round;

	for (round = 0; round < c->rounds; round++) {
		uint32_t *ball =
			&c->pages[me].lines[round % PINGPONG_LINES].ball;
		uint64_t begin, took;

		if (!ping(c, ball,
			  1)) /* brings the line into this CPU's cache */
			break;
		begin = pingpong_now_ns();
		if (!ping(c, ball, PINGPONG_TRIPS))
			break;
		took = pingpong_now_ns() - begin;
		best = took < best ? took : best;
	}
	/* A game that the deadline cut short counts if it had enough rounds. */
	if (round >= c->rounds / 4 &&
	    best / (2ul * PINGPONG_TRIPS) < UINT32_MAX)
		latency_set(c->latency, me, other,
			    (uint32_t)(best / (2ul * PINGPONG_TRIPS)) + 1);
}

static void answer_game(struct pingpong *c, unsigned other)
{
	for (unsigned round = 0; round < c->rounds; round++)
		if (!pong(c,
			  &c->pages[other].lines[round % PINGPONG_LINES].ball,
			  1 + PINGPONG_TRIPS))
			return;
}

/* ---- pairing ---------------------------------------------------------------- */

static void send_invite(struct pingpong *c, unsigned to, uint32_t invite)
{
	/* Release: hands over the other player's page, which that player cleared
	 * before it became idle under the lock. Pairs with the acquire in
	 * await_invite(). */
	__atomic_store_n(&c->players[to].invite, invite, __ATOMIC_RELEASE);
}

/* find_other_locked - return an idle player with which @i has not played;
 * LATENCY_MAX_CPUS: none */
static unsigned find_other_locked(const struct pingpong *c, unsigned i)
{
	const uint64_t *todo = c->players[i].todo;

	for (unsigned w = 0; w < PINGPONG_WORDS; w++)
		if (c->idle[w] & todo[w])
			return w * 64 +
			       (unsigned)__builtin_ctzll(c->idle[w] & todo[w]);
	return LATENCY_MAX_CPUS;
}

static void begin_game_locked(struct pingpong *c, unsigned i, unsigned j)
{
	flip_bit(c->idle, i);
	flip_bit(c->idle, j);
	pingpong_pair(c, i, j); /* they no longer have a game to play */
	c->games++;
	send_invite(c, i, j | INVITE_PING);
	send_invite(c, j, i | INVITE_PONG);
}

static void begin_games_locked(struct pingpong *c)
{
	for (unsigned i = 0; i < c->count && c->games < c->games_at_once; i++) {
		unsigned other = LATENCY_MAX_CPUS;

		if (has_bit(c->idle, i))
			other = find_other_locked(c, i);
		if (other < LATENCY_MAX_CPUS)
			begin_game_locked(c, i, other);
	}
}

/* become_idle - become idle, before the first game or after one; return false if no game
 * is left for this player */
static bool become_idle(struct pingpong *c, unsigned me, bool led)
{
	bool more = false;

	pthread_spin_lock(&c->lock);
	if (led)
		c->games--;
	for (unsigned w = 0; w < PINGPONG_WORDS; w++)
		more |= c->players[me].todo[w] != 0;
	if (more)
		flip_bit(c->idle, me);
	begin_games_locked(c);
	pthread_spin_unlock(&c->lock);
	return more;
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

/* await_invite - wait for an invite; return INVITE_NONE after the deadline */
static uint32_t await_invite(struct pingpong *c, struct player *player)
{
	for (unsigned i = 1;; i++) {
		/* Acquire: pairs with the release in send_invite(). */
		uint32_t invite =
			__atomic_load_n(&player->invite, __ATOMIC_ACQUIRE);

		if (invite != INVITE_NONE) {
			/* Relaxed: the next invite is sent under the lock, after
			 * this player has become idle under it. */
			__atomic_store_n(&player->invite, INVITE_NONE,
					 __ATOMIC_RELAXED);
			return invite;
		}
		relax();
		if (i % 16 == 0) {
			if (is_over(c))
				return INVITE_NONE;
			sched_yield();
		}
	}
}

void pingpong_play(struct player *player)
{
	struct pingpong *c = player->pingpong;
	unsigned me = player->index;
	uint32_t invite = INVITE_NONE;

	memset(&c->pages[me], 0, sizeof(c->pages[me]));
	while (become_idle(c, me, invite & INVITE_PING)) {
		invite = await_invite(c, player);
		if (invite == INVITE_NONE)
			return;
		if (invite & INVITE_PING)
			lead_game(c, me, invite & INVITE_OTHER);
		else
			answer_game(c, invite & INVITE_OTHER);
		if (is_over(c))
			return;
	}
}

/* ---- life ------------------------------------------------------------------ */

int pingpong_init(struct pingpong *c, struct latency *latency)
{
	pthread_condattr_t attr;

	*c = (struct pingpong){ .latency = latency,
				.count = latency->cpus.count };
	c->players =
		aligned_alloc(PINGPONG_PAIR, c->count * sizeof(*c->players));
	c->pages = aligned_alloc(PINGPONG_PAGE, c->count * sizeof(*c->pages));
	if (!c->players || !c->pages) {
		free(c->players);
		free(c->pages);
		return -ENOMEM;
	}
	memset(c->players, 0, c->count * sizeof(*c->players));
	pthread_spin_init(&c->lock, PTHREAD_PROCESS_PRIVATE);
	pthread_mutex_init(&c->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->all_left, &attr);
	pthread_condattr_destroy(&attr);
	return 0;
}

void pingpong_free(struct pingpong *c)
{
	pthread_cond_destroy(&c->all_left);
	pthread_mutex_destroy(&c->mutex);
	pthread_spin_destroy(&c->lock);
	free(c->pages);
	free(c->players);
}

void pingpong_pair(struct pingpong *c, unsigned i, unsigned j)
{
	flip_bit(c->players[i].todo, j);
	flip_bit(c->players[j].todo, i);
}
