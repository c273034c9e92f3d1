/* SPDX-License-Identifier: MIT */
/* team.c - see team.h, and core/idle/IDLE.md for the protocol */
#include "core/fork_join/team.h"

#include "core/base/clock.h"
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
	for (unsigned w = 0; w < TEAM_WORDS; w++)
		atomic_init(&team->sleepy[w], 0);
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
			/* Relaxed: a hint. */
			atomic_store_relaxed(&external->taken_ns,
					     clock_now_ns());
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

static uint32_t count_externals(const struct team *team)
{
	/* Relaxed: with an external thread that enters now, a few threads too
	 * many work for a while. It is counted before its jobs are public. */
	return atomic_load_relaxed(&team->externals);
}

bool team_sign_on(struct team *team, bool *counted)
{
	uint32_t externals = count_externals(team);
	uint32_t helpers;

	*counted = false;
	if (externals == 0)
		return true;
	/* Relaxed, both: ordered by the fences of F3. The check and the count
	 * are one step, because a worker that is refused leaves the jobs to the
	 * helpers. The loop repeats when another helper signed on or off. */
	helpers = atomic_load_relaxed(&team->helpers);
	while (externals + helpers < team->workers) {
		if (atomic_cas_relaxed(&team->helpers, &helpers, helpers + 1))
			return *counted = true;
	}
	return false;
}

bool team_sign_off(struct team *team, bool *counted)
{
	if (!*counted)
		return false;
	*counted = false;
	/* Relaxed: ordered by the fence. */
	atomic_fetch_sub_relaxed(&team->helpers, 1);
	/* Orders the count before the caller's next check of the jobs (F3).
	 * Pairs with the fences in team_notify() and idle_park_begin(). */
	atomic_fence_updated_seq_cst();
	return true;
}

/* ---- sleepers -------------------------------------------------------------- */

/* The place of a member's bit in the map. */
struct place {
	unsigned line;
	uint64_t bit;
};

static struct place place_of(const struct team *team, unsigned i)
{
	const struct llc_groups *groups = team->groups;

	if (i >= team->workers)
		return (struct place){ groups->count,
				       UINT64_C(1) << (i - team->workers) };
	return (struct place){ groups->places[i].group,
			       UINT64_C(1) << groups->places[i].bit };
}

static atomic_u64 *asleep_of(const struct team *team, unsigned line)
{
	return &team->map->lines[line].asleep;
}

void team_sleep_begin(struct team *team, unsigned i)
{
	struct place place = place_of(team, i);

	/* Relaxed: ordered by the fences. */
	atomic_fetch_or_relaxed(asleep_of(team, place.line), place.bit);
	summary_raise(team->sleepy, place.line); /* I8 */
	/* Orders both bits before the caller's check of the jobs. Pairs with
	 * the fence in team_notify(). */
	atomic_fence_seq_cst();
}

bool team_sleep_end(struct team *team, unsigned i)
{
	struct place place = place_of(team, i);

	/* Acquire: the jobs that it was woken for (F4). Pairs with the waker's
	 * fence before team_wake(). */
	return !(atomic_fetch_and_acquire(asleep_of(team, place.line),
					  ~place.bit) &
		 place.bit);
}

bool team_asleep(const struct team *team, unsigned i)
{
	struct place place = place_of(team, i);

	/* Relaxed: team_sleep_end() decides. */
	return atomic_load_relaxed(asleep_of(team, place.line)) & place.bit;
}

static bool line_visible(const struct team *team, unsigned line)
{
	uint64_t bits = work_map_read(team->map, line, WORK_JOBS);

	for (; bits != 0; bits &= bits - 1) {
		unsigned i = team_member_of(team, line,
					    (unsigned)__builtin_ctzll(bits));

		if (split_deque_visible(&team->members[i]->deque))
			return true;
	}
	return false;
}

bool team_visible(const struct team *team, unsigned group)
{
	if (!team_forking(team))
		return false;
	/* The caller's own group first: the jobs are most likely there. */
	for (unsigned n = 0; n < team->map->count; n++) {
		if (line_visible(team, (group + n) % team->map->count))
			return true;
	}
	return false;
}

/* Wake one thread of that line that sleeps in a join; false if there is none. */
static bool wake_line(struct team *team, unsigned line)
{
	/* Relaxed: ordered by the caller's fence; the read-modify-write
	 * decides. */
	uint64_t word = atomic_load_relaxed(asleep_of(team, line));

	if (word == 0) {
		summary_lower(team->sleepy, line); /* I8 */
		/* Relaxed: ordered by the fence in there. */
		word = atomic_load_relaxed(asleep_of(team, line));
		if (word != 0)
			summary_return(team->sleepy, line);
	}
	/* The loop repeats when another thread has cleared the bit first. */
	for (; word != 0; word &= word - 1) {
		uint64_t bit = word & -word;

		/* Relaxed: the waker's fence before team_wake() publishes the
		 * jobs. */
		if (!(atomic_fetch_and_relaxed(asleep_of(team, line), ~bit) &
		      bit))
			continue;
		fork_join_unpark(team->members[team_member_of(
			team, line, (unsigned)__builtin_ctzll(bit))]);
		return true;
	}
	return false;
}

static bool wake_lines(struct team *team, unsigned from, unsigned to)
{
	for (; (from = summary_next(team->sleepy, from, to)) < to; from++) {
		if (wake_line(team, from))
			return true;
	}
	return false;
}

void team_wake(struct team *team, unsigned group)
{
	uint32_t externals;

	/* In a circle from the caller's group. */
	if (wake_lines(team, group, team->map->count) ||
	    wake_lines(team, 0, group))
		return;
	externals = count_externals(team);
	/* Relaxed: ordered by the caller's fence. */
	if ((externals == 0 ||
	     externals + atomic_load_relaxed(&team->helpers) < team->workers) &&
	    (!team->pinned || idle_sleeps_elsewhere(team->idle)))
		idle_wake(team->idle, group);
}
