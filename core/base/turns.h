/* SPDX-License-Identifier: MIT */
/**
 * turns.h - how a worker divides its time between its own tasks and others
 *
 * Tasks that threads from outside spawn or wake wait in the injection queue. The
 * tasks that full local queues have spilled wait there, too. A worker that has
 * tasks of its own checks that queue after some polls. While tasks wait there,
 * they and the worker's own tasks take turns of TURNS_NS each, or of one poll
 * if that is longer. So neither starves the other, however many they are and
 * however long their polls take.
 *
 * The worker reads the clock at each check. The first check in a turn of its own
 * tasks comes after one poll. Each further check comes after at most twice as many
 * polls as the one before, and after no more than fit into TURNS_NS. A turn of the
 * others begins with as many polls as fitted into the last one, up to
 * TURNS_FIRST_MAX. So a worker with
 * short polls does not pay for frequent checks. A worker whose polls become
 * long is late once, by at most TURNS_POLLS_MAX polls. Polls become long most
 * often at the end of a burst of injected tasks, and there the first check comes
 * after one poll again.
 *
 * Rejected: an interval that is computed from the mean poll time. A burst of
 * short injected tasks makes the mean small; after it, the worker did not check
 * for 255 polls, which took 2.5 ms in `spawn_many_remote_busy1`. Also rejected:
 * a batch of injected tasks behind each round of the worker's own tasks. The
 * share of the injected tasks then depends on the number of the worker's own
 * tasks and on the length of their polls.
 */
#ifndef SKUA_CORE_BASE_TURNS_H
#define SKUA_CORE_BASE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

/* How long injected work waits for a busy worker. A guess: a check costs a
 * reading of the clock, and a cache miss if another thread has pushed. The
 * benchmarks `spawn_many_remote_busy1`, `spawn_many_remote_busy2` and `rpc`
 * retune it. */
#define TURNS_NS        UINT64_C(20000)
#define TURNS_POLLS_MAX 255u
/* The most injected tasks to begin a turn with. A guess: a take costs a few cache
 * misses, so that fewer tasks at once are slow, as `ping_pong` shows. */
#define TURNS_FIRST_MAX 32u

enum turns_turn {
	TURN_ALONE,   /* no task waited at the last check */
	TURN_OUTSIDE, /* the turn of the tasks in the injection queue */
	TURN_OWN, /* the turn of the worker's own tasks, while others wait */
};

struct turns {
	uint64_t checked_ns; /* the time of the last check */
	uint64_t start_ns;   /* when the turn began; unused while ALONE */
	/* The mean poll time between the last two checks in a turn of its own
	 * tasks, and in one of the others. own_ns: the smaller of the last two
	 * such times, because one long poll says little about the others. */
	uint64_t own_last_ns, own_ns, outside_ns;
	uint32_t polls; /* from the last check to the next one */
	enum turns_turn turn;
};

/* turns_init - no task waits outside; the first check comes after one poll */
static inline void turns_init(struct turns *turns)
{
	*turns = (struct turns){ .own_last_ns = UINT64_MAX,
				 .own_ns = UINT64_MAX,
				 .outside_ns = UINT64_MAX,
				 .polls = 1,
				 .turn = TURN_ALONE };
}

/* Return the number of polls until the next check, if the last @polls took
 * @took_ns. */
static inline uint32_t turns_fit(uint32_t polls, uint64_t took_ns)
{
	uint64_t fit = took_ns > TURNS_NS ? polls * TURNS_NS / took_ns
					  : 2 * (uint64_t)polls;

	if (fit < 1)
		return 1;
	return fit > TURNS_POLLS_MAX ? TURNS_POLLS_MAX : (uint32_t)fit;
}

static inline void turns_learn(struct turns *turns, uint64_t poll_ns)
{
	if (turns->turn == TURN_OUTSIDE) {
		turns->outside_ns = poll_ns;
	} else {
		turns->own_ns = poll_ns < turns->own_last_ns
					? poll_ns
					: turns->own_last_ns;
		turns->own_last_ns = poll_ns;
	}
}

/* Return the number of polls with which a turn of the tasks in the injection queue
 * begins, if their polls took @mean_ns before. */
static inline uint32_t turns_first(uint64_t mean_ns)
{
	uint64_t fit = TURNS_NS / (mean_ns ? mean_ns : 1);

	if (fit < 1)
		return 1;
	return fit > TURNS_FIRST_MAX ? TURNS_FIRST_MAX : (uint32_t)fit;
}

/**
 * turns_check - decide at a check whose turn it is, and how long it lasts
 * @waiting: whether tasks wait in the injection queue
 *
 * Sets turns->polls. Return: whose turn it is.
 */
static inline enum turns_turn turns_check(struct turns *turns, bool waiting,
					  uint64_t now_ns)
{
	uint64_t took_ns = now_ns - turns->checked_ns;
	enum turns_turn before = turns->turn;

	turns->checked_ns = now_ns;
	turns_learn(turns, took_ns / turns->polls);
	if (!waiting) {
		turns->turn = TURN_ALONE;
	} else if (before == TURN_ALONE ||
		   now_ns - turns->start_ns >= TURNS_NS) {
		turns->turn = before == TURN_OUTSIDE ? TURN_OWN : TURN_OUTSIDE;
		turns->start_ns = now_ns;
	}
	if (turns->turn == before)
		turns->polls = turns_fit(turns->polls, took_ns);
	else
		turns->polls = turns->turn == TURN_OUTSIDE
				       ? turns_first(turns->outside_ns)
				       : 1;
	return turns->turn;
}

#endif
