/* SPDX-License-Identifier: MIT */
/* latency_contest.c - see latency_contest.h */
#include "topology/latency_contest.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Reads of a word before a look at whether time is over. */
#define SPINS 1000u
/* What a mail says: who the other is, and whether one throws or returns. */
#define MAIL_NONE  0u
#define MAIL_THROW 0x10000u
#define MAIL_CATCH 0x20000u
#define MAIL_OTHER 0xffffu

uint64_t contest_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_over(const struct contest *c)
{
	return contest_now_ns() >= c->deadline_ns;
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

/* The word's value once it is not @old; or @old: time is over. Without a pause,
 * which takes longer than what is measured. */
static uint32_t await_change(const struct contest *c, const uint32_t *word,
			     uint32_t old)
{
	for (unsigned looks = 1;; looks++) {
		for (unsigned i = 0; i < SPINS; i++) {
			/* Relaxed: the ball alone is handed over. Its partner
			 * is the store of the other in throw_balls() or
			 * return_balls(). */
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

/* So many round trips; false: time is over. */
static bool throw_balls(const struct contest *c, uint32_t *ball, unsigned count)
{
	/* Relaxed: its own store, or one that it has seen. */
	uint32_t at = __atomic_load_n(ball, __ATOMIC_RELAXED);

	for (unsigned i = 0; i < count; i++, at += 2) {
		/* Relaxed: see await_change(). */
		__atomic_store_n(ball, at + 1, __ATOMIC_RELAXED);
		if (await_change(c, ball, at + 1) == at + 1)
			return false;
	}
	return true;
}

/* The other side of that. */
static bool return_balls(const struct contest *c, uint32_t *ball,
			 unsigned count)
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
		__atomic_store_n(ball, at + 1, __ATOMIC_RELAXED); /* likewise */
	}
	return true;
}

/* The fastest of all rounds: whatever disturbs one makes it slower. */
static void lead_game(struct contest *c, unsigned me, unsigned other)
{
	uint64_t best = UINT64_MAX;
	unsigned round;

	for (round = 0; round < c->rounds; round++) {
		uint32_t *ball =
			&c->courts[me].lines[round % CONTEST_LINES].ball;
		uint64_t begin, took;

		if (!throw_balls(c, ball, 1)) /* brings the line here */
			break;
		begin = contest_now_ns();
		if (!throw_balls(c, ball, CONTEST_THROWS))
			break;
		took = contest_now_ns() - begin;
		best = took < best ? took : best;
	}
	/* One that was cut short counts, too, if there were some. */
	if (round >= c->rounds / 4 &&
	    best / (2ul * CONTEST_THROWS) < UINT32_MAX)
		latency_set(c->latency, me, other,
			    (uint32_t)(best / (2ul * CONTEST_THROWS)) + 1);
}

static void follow_game(struct contest *c, unsigned other)
{
	for (unsigned round = 0; round < c->rounds; round++)
		if (!return_balls(
			    c,
			    &c->courts[other].lines[round % CONTEST_LINES].ball,
			    1 + CONTEST_THROWS))
			return;
}

/* ---- who plays with whom --------------------------------------------------- */

static void send_mail(struct contest *c, unsigned to, uint32_t mail)
{
	/* Release: what the other has written to its court, before it was idle
	 * under the lock. Pairs with await_mail(). */
	__atomic_store_n(&c->players[to].mail, mail, __ATOMIC_RELEASE);
}

/* Another idle player that @i has not played with; LATENCY_MAX_CPUS: none. */
static unsigned find_other_locked(const struct contest *c, unsigned i)
{
	const uint64_t *todo = c->players[i].todo;

	for (unsigned w = 0; w < CONTEST_WORDS; w++)
		if (c->idle[w] & todo[w])
			return w * 64 +
			       (unsigned)__builtin_ctzll(c->idle[w] & todo[w]);
	return LATENCY_MAX_CPUS;
}

static void begin_game_locked(struct contest *c, unsigned i, unsigned j)
{
	flip_bit(c->idle, i);
	flip_bit(c->idle, j);
	contest_pair(c, i, j); /* which takes it back */
	c->games++;
	send_mail(c, i, j | MAIL_THROW);
	send_mail(c, j, i | MAIL_CATCH);
}

static void begin_games_locked(struct contest *c)
{
	for (unsigned i = 0; i < c->count && c->games < c->games_at_once; i++) {
		unsigned other = LATENCY_MAX_CPUS;

		if (has_bit(c->idle, i))
			other = find_other_locked(c, i);
		if (other < LATENCY_MAX_CPUS)
			begin_game_locked(c, i, other);
	}
}

/* Become idle, after a game or before the first; false: no game is left. */
static bool become_idle(struct contest *c, unsigned me, bool led)
{
	bool more = false;

	pthread_spin_lock(&c->lock);
	if (led)
		c->games--;
	for (unsigned w = 0; w < CONTEST_WORDS; w++)
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

/* MAIL_NONE: time is over. */
static uint32_t await_mail(struct contest *c, struct player *player)
{
	for (unsigned i = 1;; i++) {
		/* Acquire: pairs with send_mail(). */
		uint32_t mail =
			__atomic_load_n(&player->mail, __ATOMIC_ACQUIRE);

		if (mail != MAIL_NONE) {
			/* Relaxed: the next is sent under the lock, after this
			 * player has become idle under it. */
			__atomic_store_n(&player->mail, MAIL_NONE,
					 __ATOMIC_RELAXED);
			return mail;
		}
		relax();
		if (i % 16 == 0) {
			if (is_over(c))
				return MAIL_NONE;
			sched_yield();
		}
	}
}

void contest_play(struct player *player)
{
	struct contest *c = player->contest;
	unsigned me = player->index;
	uint32_t mail = MAIL_NONE;

	memset(&c->courts[me], 0, sizeof(c->courts[me]));
	while (become_idle(c, me, mail & MAIL_THROW)) {
		mail = await_mail(c, player);
		if (mail == MAIL_NONE)
			return;
		if (mail & MAIL_THROW)
			lead_game(c, me, mail & MAIL_OTHER);
		else
			follow_game(c, mail & MAIL_OTHER);
		if (is_over(c))
			return;
	}
}

/* ---------------------------------------------------------------------------- */

int contest_init(struct contest *c, struct latency *latency)
{
	pthread_condattr_t attr;

	*c = (struct contest){ .latency = latency,
			       .count = latency->cpus.count };
	c->players =
		aligned_alloc(CONTEST_PAIR, c->count * sizeof(*c->players));
	c->courts = aligned_alloc(CONTEST_PAGE, c->count * sizeof(*c->courts));
	if (!c->players || !c->courts) {
		free(c->players);
		free(c->courts);
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

void contest_free(struct contest *c)
{
	pthread_cond_destroy(&c->all_left);
	pthread_mutex_destroy(&c->mutex);
	pthread_spin_destroy(&c->lock);
	free(c->courts);
	free(c->players);
}

void contest_pair(struct contest *c, unsigned i, unsigned j)
{
	flip_bit(c->players[i].todo, j);
	flip_bit(c->players[j].todo, i);
}
