/* SPDX-License-Identifier: MIT */
/* team.c - see team.h, and core/idle/IDLE.md for the protocol */
#include "core/fork_join/team.h"

#include "core/fork_join/fork_join.h"

void team_init(struct team *team, struct fork_join **members, struct idle *idle,
	       struct work_map *map, const struct tuning *tuning, bool pinned)
{
	team->members = members;
	team->groups = idle->groups;
	team->idle = idle;
	team->map = map;
	team->tuning = tuning;
	team->workers = idle->groups->worker_count;
	team->pinned = pinned;
	atomic_init(&team->forking, 0);
	atomic_init(&team->externals, 0);
	atomic_init(&team->helpers, 0);
	atomic_init(&team->sleeping, 0);
	for (unsigned w = 0; w < TEAM_WORDS; w++)
		atomic_init(&team->asleep[w], 0);
}

void team_begin_forking(struct team *team)
{
	/* A single worker has no thief, and neither has an external thread in
	 * its place, so no thread needs to search for jobs. Relaxed, both: a
	 * thread that sees a published job, and then reads forking, reads 1,
	 * because forking is set first (F2). */
	if (team->workers > 1 && !atomic_load_relaxed(&team->forking))
		atomic_store_relaxed(&team->forking, 1);
}

/* ---- external threads --------------------------------------------------------------- */

struct fork_join *team_enter(struct team *team, unsigned group)
{
	for (unsigned i = 0; i < TEAM_EXTERNALS; i++) {
		struct fork_join *external = team->members[team->workers + i];
		uint32_t vacant = 0;

		/* Acquire: the fields as the previous thread left them. Pairs
		 * with team_leave(). */
		if (atomic_load_relaxed(&external->taken) == 0 &&
		    atomic_cas_acquire(&external->taken, &vacant, 1)) {
			/* Relaxed: a thread that sees a job of this thread also
			 * sees the count, because it is counted before the
			 * first job, as with team->forking. */
			atomic_fetch_add_relaxed(&team->externals, 1);
			external->group = group;
			return external;
		}
	}
	return NULL;
}

void team_leave(struct team *team, struct fork_join *external)
{
	work_flag_lower_owner(&external->flag, WORK_JOBS);
	/* Relaxed: ordered by the fence. */
	atomic_fetch_sub_relaxed(&team->externals, 1);
	/* Orders the count before the caller's check of the jobs of other
	 * external threads (F3). Pairs with the fences in team_notify() and
	 * idle_park_begin(). */
	atomic_fence_updated_seq_cst();
	/* Release: the empty queue of jobs, and the other fields. Pairs with
	 * team_enter(). */
	atomic_store_release(&external->taken, 0);
}

/* May one more worker take jobs, while @helpers do? */
static bool may_help(const struct team *team, uint32_t helpers)
{
	/* Relaxed: with an external thread that enters now, one thread too many
	 * works for a while. */
	uint32_t externals = atomic_load_relaxed(&team->externals);

	return externals == 0 || externals + helpers < team->workers;
}

bool team_sign_on(struct team *team)
{
	/* Relaxed, both: ordered by the fences of F3. The check and the count
	 * are one step, because a worker that is refused leaves the jobs to the
	 * helpers. The loop repeats when another helper signed on or off. */
	uint32_t helpers = atomic_load_relaxed(&team->helpers);

	while (may_help(team, helpers)) {
		if (atomic_cas_relaxed(&team->helpers, &helpers, helpers + 1))
			return true;
	}
	return false;
}

void team_sign_off(struct team *team)
{
	/* Relaxed: ordered by the fence. */
	atomic_fetch_sub_relaxed(&team->helpers, 1);
	/* Orders the count before the caller's next check of the jobs (F3).
	 * Pairs with the fences in team_notify() and idle_park_begin(). */
	atomic_fence_updated_seq_cst();
}

/* ---- sleepers -------------------------------------------------------------- */

static atomic_u64 *word_of(struct team *team, unsigned i)
{
	return &team->asleep[i / IDLE_WORD_BITS];
}

static uint64_t bit_of(unsigned i)
{
	return UINT64_C(1) << i % IDLE_WORD_BITS;
}

void team_sleep_begin(struct team *team, unsigned i)
{
	/* Relaxed, both: ordered by the fence. */
	atomic_fetch_or_relaxed(word_of(team, i), bit_of(i));
	atomic_fetch_add_relaxed(&team->sleeping, 1);
	/* Orders the bit and the count before the caller's check of the jobs.
	 * Pairs with the fence in team_notify(). */
	atomic_fence_seq_cst();
}

bool team_sleep_end(struct team *team, unsigned i)
{
	uint64_t bit = bit_of(i);

	/* Relaxed: a waker that still sees the count checks the bits in
	 * vain. */
	atomic_fetch_sub_relaxed(&team->sleeping, 1);
	/* Acquire: the jobs that it was woken for (F4). Pairs with the waker's
	 * fence before team_wake(). */
	return !(atomic_fetch_and_acquire(word_of(team, i), ~bit) & bit);
}

bool team_asleep(const struct team *team, unsigned i)
{
	/* Relaxed: team_sleep_end() decides. */
	return atomic_load_relaxed(&team->asleep[i / IDLE_WORD_BITS]) &
	       bit_of(i);
}

bool team_visible(const struct team *team)
{
	if (!team_forking(team))
		return false;
	for (unsigned line = 0; line < team->map->count; line++) {
		uint64_t bits = work_map_read(team->map, line, WORK_JOBS);

		for (; bits != 0; bits &= bits - 1) {
			unsigned i = team_member_of(
				team, line, (unsigned)__builtin_ctzll(bits));

			if (split_deque_visible(&team->members[i]->deque))
				return true;
		}
	}
	return false;
}

/* Wake one thread that sleeps in a join; false if there is none. */
static bool wake_asleep(struct team *team)
{
	unsigned words = (team->workers + TEAM_EXTERNALS + IDLE_WORD_BITS - 1) /
			 IDLE_WORD_BITS;

	/* Relaxed: ordered by the caller's fence. */
	if (atomic_load_relaxed(&team->sleeping) == 0)
		return false;
	for (unsigned w = 0; w < words; w++) {
		/* Relaxed: ordered by the caller's fence; the read-modify-write
		 * decides. */
		uint64_t word = atomic_load_relaxed(&team->asleep[w]);

		/* The loop repeats when another thread has cleared the bit
		 * first. */
		for (; word != 0; word &= word - 1) {
			uint64_t bit = word & -word;

			/* Relaxed: the waker's fence before team_wake()
			 * publishes the jobs. */
			if (!(atomic_fetch_and_relaxed(&team->asleep[w], ~bit) &
			      bit))
				continue;
			fork_join_unpark(
				team->members[w * IDLE_WORD_BITS +
					      (unsigned)__builtin_ctzll(bit)]);
			return true;
		}
	}
	return false;
}

void team_wake(struct team *team, unsigned group)
{
	if (wake_asleep(team))
		return;
	/* Relaxed: ordered by the caller's fence. */
	if (may_help(team, atomic_load_relaxed(&team->helpers)) &&
	    (!team->pinned || idle_sleeps_elsewhere(team->idle)))
		idle_wake(team->idle, group);
}
