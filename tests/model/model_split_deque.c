/* SPDX-License-Identifier: MIT */
/**
 * model_split_deque.c - core/queue/split_deque.h, and the inlined half of it, in every interleaving
 *
 * An owner that forks and joins, as nested calls do, beside thieves. Checked in
 * each case: each job is run once, by the owner or by a thief, and its runner
 * sees what the owner wrote; a join of a stolen job ends when its thief is
 * done, and sees what the thief wrote, also if it sleeps until then; in the end
 * nothing is public, and the owner's state is as in the beginning.
 *
 * The core file is included, not linked: the variants reach its inner parts.
 */
#define SKUA_FORK_CHECKS 0
#include "core/queue/split_deque.c"

#include <string.h>

#include "core/idle/parker.h"

#define DEPTH 4
#define JOBS  8

struct model_job {
	struct skua_job job; /* first: a job is its model_job */
	unsigned number;
	unsigned result;
	unsigned runs;
};

static struct split_deque deque;
static struct parker parker;
static atomic_ptr slots[DEPTH];
static struct model_job made[JOBS];
static struct model_job *newest[DEPTH]; /* of each depth; the owner's */
static unsigned forked;
static bool sleeps; /* the owner, for stolen jobs */
static atomic_u32 thief_ended;

/* ---- the rest of fork.h -------------------------------------------------- */

void skua_fork_wanted(struct skua_ctx inner)
{
	split_deque_publish_owner(&deque, inner.head);
}

bool skua_reclaim_shared(struct skua_ctx inner)
{
	atomic_ptr *slot = (atomic_ptr *)inner.head - 1;

	if (split_deque_reclaim_owner(&deque, slot))
		return true;
	while (!split_deque_is_done_owner(slot)) {
		if (!sleeps)
			explore_relax();
		else if (split_deque_await_owner(slot))
			parker_park(&parker);
	}
	return false;
}

/* ---- steps --------------------------------------------------------------- */

static void run(struct model_job *job)
{
	explore_assert(job && job->runs == 0);
	job->runs++;
	explore_write(job->result, explore_read(job->number) + 1);
}

static struct skua_ctx begin(void)
{
	return (struct skua_ctx){ &deque.inlined,
				  split_deque_head_owner(&deque) };
}

static struct skua_ctx fork_one(struct skua_ctx ctx)
{
	struct model_job *job = &made[forked++];

	explore_assert(ctx.head < (void **)slots + DEPTH);
	explore_write(job->number, forked);
	newest[ctx.head - (void **)slots] = job;
	return skua_fork(ctx, &job->job);
}

/* Join the newest. */
static struct skua_ctx join_one(struct skua_ctx inner)
{
	struct skua_ctx ctx = { inner.forks, inner.head - 1 };
	struct model_job *job = newest[ctx.head - (void **)slots];

	if (skua_reclaim(inner, &job->job))
		run(job);
	explore_assert(explore_read(job->result) ==
		       explore_read(job->number) + 1);
	return ctx;
}

static void steal(unsigned thief)
{
	struct split_deque_steal got = split_deque_steal(&deque, thief);

	if (got.outcome != SKUA_STEAL_SUCCESS)
		return;
	run((struct model_job *)got.job);
	if (split_deque_done(got.slot))
		parker_unpark(&parker);
}

/* ---- fixtures and checks ------------------------------------------------- */

static void setup(void)
{
	memset(slots, 0, sizeof(slots));
	memset(made, 0, sizeof(made));
	forked = 0;
	sleeps = false;
	atomic_init(&thief_ended, 0);
	parker_init(&parker);
	split_deque_init(&deque, slots, DEPTH, true);
}

static void setup_sleeps(void)
{
	setup();
	sleeps = true;
}

static void setup_alone(void)
{
	setup();
	split_deque_init(&deque, slots, DEPTH, false);
}

static void check(void)
{
	explore_assert(!split_deque_visible(&deque));
	for (unsigned i = 0; i < forked; i++)
		explore_assert(made[i].runs == 1);
	explore_assert(deque.all_stolen);
	explore_assert(deque.inlined.wanted == 1);
}

static void check_alone(void)
{
	for (unsigned i = 0; i < forked; i++)
		explore_assert(made[i].runs == 1);
	explore_assert(deque.inlined.wanted == 0);
}

/* ---- threads ------------------------------------------------------------- */

static void forks_one(void)
{
	join_one(fork_one(begin()));
}

static void forks_one_twice(void)
{
	forks_one();
	forks_one();
}

static void forks_two(void)
{
	join_one(join_one(fork_one(fork_one(begin()))));
}

static void forks_three(void)
{
	join_one(join_one(join_one(fork_one(fork_one(fork_one(begin()))))));
}

static void forks_four(void)
{
	struct skua_ctx ctx = fork_one(fork_one(fork_one(fork_one(begin()))));

	join_one(join_one(join_one(join_one(ctx))));
}

/* All are public, as if somebody had asked each time. */
static void forks_four_public(void)
{
	struct skua_ctx ctx = begin();

	for (unsigned i = 0; i < 4; i++) {
		__atomic_store_n(&deque.inlined.wanted, 1, __ATOMIC_RELAXED);
		ctx = fork_one(ctx);
	}
	join_one(join_one(join_one(join_one(ctx))));
}

/* The newest of three public jobs is taken back beside a thief that has time to
 * ask for more, and does not take part any longer: J4. */
static void forks_three_public(void)
{
	struct skua_ctx ctx = begin();

	for (unsigned i = 0; i < 3; i++) {
		__atomic_store_n(&deque.inlined.wanted, 1, __ATOMIC_RELAXED);
		ctx = fork_one(ctx);
	}
	ctx = join_one(ctx);
	/* Acquire: what the thief has asked for. Pairs with steals_once(). */
	if (atomic_load_acquire(&thief_ended))
		explore_assert(split_deque_visible(&deque) || skua_wanted(ctx));
	join_one(join_one(ctx));
}

static void steals_once(void)
{
	steal(1);
	/* Release: pairs with forks_three_public(). */
	atomic_store_release(&thief_ended, 1);
}

/* As two calls, each of which forks, and the first of which calls itself. */
static void forks_a_tree(void)
{
	struct skua_ctx ctx = fork_one(fork_one(begin()));

	ctx = join_one(fork_one(join_one(ctx)));
	join_one(fork_one(join_one(ctx)));
}

static void steals(void)
{
	steal(1);
}

static void steals_twice(void)
{
	steal(1);
	steal(1);
}

static void steals_twice_too(void)
{
	steal(2);
	steal(2);
}

static void steals_three_times(void)
{
	steals_twice();
	steals();
}

/* ---- variants that are wrong --------------------------------------------- */

/* Moves split by a load and a store: a claim between the two is forgotten. */
static void forks_two_storing(void)
{
	uint64_t shared;

	fork_one(fork_one(begin()));
	atomic_fetch_add_release(&deque.shared, UINT64_C(1) << SPLIT_SHIFT);
	shared = atomic_load_relaxed(&deque.shared);
	if (tail_of(shared) <= 1) {
		atomic_store_release(&deque.shared,
				     shared - (UINT64_C(1) << SPLIT_SHIFT));
		run(&made[1]);
	}
}

/* Reads the slot before its claim, which an alike word lets it make later. */
static void steals_early(void)
{
	uint64_t shared = atomic_load_acquire(&deque.shared);
	atomic_ptr *slot = &slots[tail_of(shared)];
	struct model_job *job = atomic_load_relaxed(slot);

	if (job && tail_of(shared) < split_of(shared) &&
	    atomic_cas_acquire(&deque.shared, &shared, shared + 1)) {
		run(job);
		split_deque_done(slot);
	}
}

/* Names the thief of the job by a store: the owner's wish to be woken is gone. */
static void steals_by_store(void)
{
	uint64_t shared = atomic_load_acquire(&deque.shared);
	atomic_ptr *slot = &slots[tail_of(shared)];
	void *job;

	if (tail_of(shared) >= split_of(shared) ||
	    !atomic_cas_acquire(&deque.shared, &shared, shared + 1))
		return;
	job = (void *)((uintptr_t)atomic_load_relaxed(slot) &
		       ~(uintptr_t)AWAITED);
	atomic_store_relaxed(slot, (void *)(uintptr_t)TAKEN);
	run(job);
	if (split_deque_done(slot))
		parker_unpark(&parker);
}

/* Says that it sleeps by a store: that the job is done is gone. */
static void awaits_by_store(void)
{
	struct skua_ctx inner = fork_one(begin());
	atomic_ptr *slot = (atomic_ptr *)inner.head - 1;
	void *value;

	if (split_deque_reclaim_owner(&deque, slot)) {
		run(&made[0]);
		return;
	}
	value = atomic_load_relaxed(slot);
	if (value != NULL)
		atomic_store_relaxed(slot,
				     (void *)((uintptr_t)value | AWAITED));
	while (!split_deque_is_done_owner(slot))
		parker_park(&parker);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("one__thief", setup, check, forks_one, steals) },
	{ EXPLORE_PASS("one__two_thieves", setup, check, forks_one, steals,
		       steals_twice_too) },
	{ EXPLORE_PASS("one_twice__thief", setup, check, forks_one_twice,
		       steals_twice) },
	{ EXPLORE_PASS("two__thief", setup, check, forks_two, steals_twice) },
	{ EXPLORE_PASS("two__two_thieves", setup, check, forks_two,
		       steals_twice, steals_twice_too) },
	{ EXPLORE_PASS("three__thief", setup, check, forks_three,
		       steals_three_times) },
	{ EXPLORE_PASS("four__two_thieves", setup, check, forks_four,
		       steals_three_times, steals_twice_too),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("four_public__thief", setup, check, forks_four_public,
		       steals_three_times) },
	{ EXPLORE_PASS("three_public__asks_again", setup, check,
		       forks_three_public, steals_once) },
	{ EXPLORE_PASS("tree__thief", setup, check, forks_a_tree,
		       steals_three_times) },
	{ EXPLORE_PASS("tree__two_thieves", setup, check, forks_a_tree,
		       steals_twice, steals_twice_too),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("one_sleeps__thief", setup_sleeps, check, forks_one,
		       steals) },
	{ EXPLORE_PASS("one_twice_sleeps__two_thieves", setup_sleeps, check,
		       forks_one_twice, steals_twice, steals_twice_too) },
	{ EXPLORE_PASS("two_sleeps__two_thieves", setup_sleeps, check,
		       forks_two, steals_twice, steals_twice_too) },
	{ EXPLORE_PASS("alone", setup_alone, check_alone, forks_a_tree) },

	{ EXPLORE_BUG("split_stored", "job->runs == 0", setup, NULL,
		      forks_two_storing, steals_twice) },
	{ EXPLORE_BUG("slot_read_before_the_claim", "job->runs == 0", setup,
		      NULL, forks_one_twice, steals_early) },
	{ EXPLORE_BUG("thief_stored", "all asleep", setup_sleeps, NULL,
		      forks_one, steals_by_store) },
	{ EXPLORE_BUG("awaited_stored", "all asleep", setup_sleeps, NULL,
		      awaits_by_store, steals) },
};

EXPLORE_MAIN(cases)
