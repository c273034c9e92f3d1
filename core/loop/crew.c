/* SPDX-License-Identifier: MIT */
/* crew.c - see crew.h, and core/idle/IDLE.md for the protocol */
#include "core/loop/crew.h"

#include "core/loop/forks.h"

void crew_init(struct crew *crew, struct forks **forks,
	       const struct llc_groups *groups, struct work_map *map,
	       bool pinned)
{
	crew->forks = forks;
	crew->groups = groups;
	crew->map = map;
	crew->workers = groups->worker_count;
	crew->pinned = pinned;
	atomic_init(&crew->forking, 0);
	atomic_init(&crew->guests, 0);
	atomic_init(&crew->helpers, 0);
	atomic_init(&crew->sleeping, 0);
	for (unsigned w = 0; w < CREW_WORDS; w++)
		atomic_init(&crew->asleep[w], 0);
}

void crew_begin_forking(struct crew *crew)
{
	/* The only worker has nobody to take jobs from it, or from a guest in
	 * its place: nobody is to look for any. Relaxed, both: whoever sees a
	 * job's publication and then looks sees this, as it comes first (F2). */
	if (crew->workers > 1 && !atomic_load_relaxed(&crew->forking))
		atomic_store_relaxed(&crew->forking, 1);
}

/* ---- guests --------------------------------------------------------------- */

struct forks *crew_enter(struct crew *crew, unsigned group)
{
	for (unsigned i = 0; i < CREW_GUESTS; i++) {
		struct forks *guest = crew->forks[crew->workers + i];
		uint32_t vacant = 0;

		/* Acquire: all that the last one left behind. Pairs with
		 * crew_leave(). */
		if (atomic_load_relaxed(&guest->taken) == 0 &&
		    atomic_cas_acquire(&guest->taken, &vacant, 1)) {
			/* Relaxed: before the first job, as forking. */
			atomic_fetch_add_relaxed(&crew->guests, 1);
			guest->group = group;
			return guest;
		}
	}
	return NULL;
}

void crew_leave(struct crew *crew, struct forks *guest)
{
	work_flag_lower_owner(&guest->flag, WORK_JOBS);
	/* Relaxed: ordered by the fence. */
	atomic_fetch_sub_relaxed(&crew->guests, 1);
	/* Orders it before the caller's look at the jobs of other guests (F3).
	 * Pairs with the fences in crew_notify() and idle_park_begin(). */
	atomic_fence_updated_seq_cst();
	/* Release: its jobs, none, and the rest. Pairs with crew_enter(). */
	atomic_store_release(&guest->taken, 0);
}

/* May one worker more take jobs, with so many that do? */
static bool may_help(const struct crew *crew, uint32_t helpers)
{
	/* Relaxed: a guest that comes now is one too many for a while. */
	uint32_t guests = atomic_load_relaxed(&crew->guests);

	return guests == 0 || guests + helpers < crew->workers;
}

bool crew_sign_on(struct crew *crew)
{
	/* Relaxed, both: ordered by the fences of F3. In one step, as whoever
	 * is refused leaves the jobs to those that have a seat. */
	uint32_t helpers = atomic_load_relaxed(&crew->helpers);

	while (may_help(crew, helpers)) {
		if (atomic_cas_relaxed(&crew->helpers, &helpers, helpers + 1))
			return true;
	}
	return false;
}

void crew_sign_off(struct crew *crew)
{
	/* Relaxed: ordered by the fence. */
	atomic_fetch_sub_relaxed(&crew->helpers, 1);
	/* Orders it before the caller's next look at the jobs (F3). Pairs with
	 * the fences in crew_notify() and idle_park_begin(). */
	atomic_fence_updated_seq_cst();
}

/* ---- who sleeps ----------------------------------------------------------- */

static atomic_u64 *word_of(struct crew *crew, unsigned i)
{
	return &crew->asleep[i / IDLE_WORD_BITS];
}

static uint64_t bit_of(unsigned i)
{
	return UINT64_C(1) << i % IDLE_WORD_BITS;
}

void crew_sleep_begin(struct crew *crew, unsigned i)
{
	/* Relaxed, both: ordered by the fence. */
	atomic_fetch_or_relaxed(word_of(crew, i), bit_of(i));
	atomic_fetch_add_relaxed(&crew->sleeping, 1);
	/* Orders the two before the caller's look at the jobs. Pairs with the
	 * fence in crew_notify(). */
	atomic_fence_seq_cst();
}

bool crew_sleep_end(struct crew *crew, unsigned i)
{
	uint64_t bit = bit_of(i);

	/* Relaxed: who sees the count still looks at the bits in vain. */
	atomic_fetch_sub_relaxed(&crew->sleeping, 1);
	/* Acquire: the jobs that it was woken for (F4). Pairs with the fence
	 * before crew_wake(). */
	return !(atomic_fetch_and_acquire(word_of(crew, i), ~bit) & bit);
}

bool crew_asleep(const struct crew *crew, unsigned i)
{
	/* Relaxed: crew_sleep_end() decides. */
	return atomic_load_relaxed(&crew->asleep[i / IDLE_WORD_BITS]) &
	       bit_of(i);
}

bool crew_visible(const struct crew *crew)
{
	if (!crew_forking(crew))
		return false;
	for (unsigned line = 0; line < crew->map->count; line++) {
		uint64_t bits = work_map_read(crew->map, line, WORK_JOBS);

		for (; bits != 0; bits &= bits - 1) {
			unsigned i = crew_place_of(
				crew, line, (unsigned)__builtin_ctzll(bits));

			if (jobs_visible(&crew->forks[i]->jobs))
				return true;
		}
	}
	return false;
}

/* Wake one that waits for a job of its own; false if there is none. */
static bool wake_asleep(struct crew *crew)
{
	unsigned words = (crew->workers + CREW_GUESTS + IDLE_WORD_BITS - 1) /
			 IDLE_WORD_BITS;

	/* Relaxed: ordered by the caller's fence. */
	if (atomic_load_relaxed(&crew->sleeping) == 0)
		return false;
	for (unsigned w = 0; w < words; w++) {
		/* Relaxed: as above; the read-modify-write decides. */
		uint64_t word = atomic_load_relaxed(&crew->asleep[w]);

		/* A further round means that somebody else cleared the bit. */
		for (; word != 0; word &= word - 1) {
			uint64_t bit = word & -word;

			/* Relaxed: as crew_sleep_end(). */
			if (!(atomic_fetch_and_relaxed(&crew->asleep[w], ~bit) &
			      bit))
				continue;
			forks_unpark(
				crew->forks[w * IDLE_WORD_BITS +
					    (unsigned)__builtin_ctzll(bit)]);
			return true;
		}
	}
	return false;
}

void crew_wake(struct crew *crew, struct idle *idle, unsigned group)
{
	if (wake_asleep(crew))
		return;
	/* Relaxed: ordered by the caller's fence. */
	if (may_help(crew, atomic_load_relaxed(&crew->helpers)) &&
	    (!crew->pinned || idle_sleeps_elsewhere(idle)))
		idle_wake(idle, group);
}
