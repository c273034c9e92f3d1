/* SPDX-License-Identifier: MIT */
/**
 * stress_semaphore.c - long histories of a semaphore, each checked against its promises
 *
 * Checked, of more than 10^5 calls in each round (takers.h):
 *   - at no time more permits are taken than there can be, and in the end none is lost;
 *   - no call takes permits while another one waits that began to wait before, and waiters
 *     proceed in the order in which they began to wait;
 *   - the first waiter does not wait for permits that are free;
 *   - a call that is refused permits finds too few of them, or others that wait;
 *   - a waiter that was given permits returns 0, whatever its deadline.
 *
 * The program first checks that it finds planted defects.
 */
#include "tests/stress/takers.h"

#define PERMITS 4u

static uint64_t load_of(atomic_u64 *word, const char *function);
static bool cas_to_take(atomic_u64 *word, uint64_t *seen, uint64_t wanted);
static bool cas_to_add(atomic_u64 *word, uint64_t *seen, uint64_t wanted);
static int await_of(const struct wait_verb *verb, void *object, uint64_t amount,
		    uint64_t deadline_ns);

static void note_arm(struct skua_waiters *waiters, struct skua_wait *wait,
		     bool first)
{
	note_armed(wait, first);
	wait_arm_locked(waiters, wait, first);
}

static void note_choice(struct skua_waiters *waiters, struct skua_wait *wait,
			struct wait_chain *chain)
{
	call_of(wait)->chosen = true;
	note_left(wait);
	wait_choose_locked(waiters, wait, chain);
}

static void note_withdrawal(struct skua_waiters *waiters,
			    struct skua_wait *wait)
{
	note_left(wait);
	wait_withdraw_locked(waiters, wait);
}

#pragma push_macro("atomic_load_relaxed")
#pragma push_macro("atomic_cas_acquire")
#pragma push_macro("atomic_cas_release")
#undef atomic_load_relaxed
#undef atomic_cas_acquire
#undef atomic_cas_release
#define wait_arm_locked                        note_arm
#define wait_choose_locked                     note_choice
#define wait_withdraw_locked                   note_withdrawal
#define await                                  await_of
#define atomic_load_relaxed(word)              load_of(word, __func__)
#define atomic_cas_acquire(word, seen, wanted) cas_to_take(word, seen, wanted)
#define atomic_cas_release(word, seen, wanted) cas_to_add(word, seen, wanted)
#include "core/sync/semaphore.c"
#undef await
#pragma pop_macro("atomic_load_relaxed")
#pragma pop_macro("atomic_cas_acquire")
#pragma pop_macro("atomic_cas_release")

/* ---- planted defects ------------------------------------------------------------- */

enum defect {
	NO_DEFECT,
	BARGES,      /* a call does not see that others wait */
	OVERDRAWS,   /* a call that has taken permits does not count them */
	LOSES,       /* a release adds nothing */
	WAKES_NONE,  /* a release does not see that others wait */
	REFUSES,     /* a call does not see the permits */
	GIVES_TWICE, /* a waiter that was given permits returns -ETIMEDOUT */
};

static enum defect defect;

/* A defect shows now and then. */
static bool shows(enum defect planted)
{
	static atomic_u32 turns;

	/* Relaxed: any number will do. */
	return defect == planted &&
	       atomic_fetch_add_relaxed(&turns, 1) % 64 == 0;
}

/* The bits that a function does not see. */
static uint64_t unseen_by(const char *function)
{
	if (strcmp(function, "take") == 0)
		return defect == BARGES ? WAITERS : 0;
	return strcmp(function, "add") == 0 && defect == WAKES_NONE ? WAITERS
								    : 0;
}

static uint64_t load_of(atomic_u64 *word, const char *function)
{
	uint64_t value = atomic_load_relaxed(word) & ~unseen_by(function);

	if (strcmp(function, "take") == 0 && shows(REFUSES))
		return value % PERMIT;
	return value;
}

static bool cas_beside(atomic_u64 *word, uint64_t *seen, uint64_t wanted,
		       uint64_t unseen)
{
	/* Relaxed: a planted defect. */
	uint64_t hidden = atomic_load_relaxed(word) & unseen;
	uint64_t value = *seen | hidden;
	bool done = atomic_cas_acq_rel(word, &value, wanted | hidden);

	*seen = value & ~unseen;
	return done;
}

static bool cas_to_take(atomic_u64 *word, uint64_t *seen, uint64_t wanted)
{
	if (defect == BARGES)
		return cas_beside(word, seen, wanted, WAITERS);
	return shows(OVERDRAWS) || atomic_cas_acquire(word, seen, wanted);
}

static bool cas_to_add(atomic_u64 *word, uint64_t *seen, uint64_t wanted)
{
	if (defect == WAKES_NONE)
		return cas_beside(word, seen, wanted, WAITERS);
	return shows(LOSES) || atomic_cas_release(word, seen, wanted);
}

static int await_of(const struct wait_verb *verb, void *object, uint64_t amount,
		    uint64_t deadline_ns)
{
	int code = await(verb, object, amount, deadline_ns);

	if (defect == GIVES_TWICE && call_by(await_self())->chosen)
		return -ETIMEDOUT;
	return code;
}

/* ---- takers ---------------------------------------------------------------------- */

static struct skua_semaphore semaphore;

static uint32_t takers_amount(struct taker *it)
{
	return 1 + rng_below(&it->rng, PERMITS);
}

static int takers_take(struct taker *it)
{
	uint32_t n = it->call->amount;

	if (it->form == TRY)
		return skua_semaphore_acquire_try(&semaphore, n);
	if (it->form == WAIT)
		return skua_semaphore_acquire(&semaphore, n, it->deadline_ns);
	return skua_semaphore_acquire_poll(&it->as.task, &semaphore, n,
					   &it->wait, it->deadline_ns);
}

static int takers_give(struct taker *it, uint32_t amount)
{
	(void)it;
	return skua_semaphore_release(&semaphore, amount);
}

/* ---- the check ------------------------------------------------------------------- */

static const char *const overdrawn = "more permits are taken than there are";
static const char *const overtaken = "a waiter was overtaken";
static const char *const forgotten =
	"the first waiter waits, with permits free";
static const char *const refused = "refused permits that are free";
static const char *const withheld = "was given permits, and returned an error";
static const char *const lost = "permits are lost or made up";

/* Sums of permits, of calls that have begun or have ended. */
static struct {
	int64_t giving, given, taking, taken;
	/* Of the calls in progress that took nothing: was there a time at which they had to be
	 * refused? */
	bool has_cause[TAKERS];
} sums;

static bool waits_at(const struct call *call, uint64_t now)
{
	return call && call->armed && call->armed < now && now < call->left;
}

static bool took(const struct call *call)
{
	return !call->gives && call->code == 0;
}

/* Does @call come before a waiter that began to wait before it? It ends now. */
static bool overtakes(const struct call *call, uint64_t now)
{
	for (unsigned i = 0; i < TAKERS; i++) {
		const struct call *other = in_progress[i];

		if (other == call || !waits_at(other, now))
			continue;
		if (other->armed < (call->armed ? call->armed : call->called))
			return true;
	}
	return false;
}

/* The permits that are free for certain, and for none of those that wait. */
static int64_t surely_free(uint64_t now)
{
	int64_t permits = PERMITS + sums.given - sums.taking;

	for (unsigned i = 0; i < TAKERS; i++)
		if (waits_at(in_progress[i], now) && took(in_progress[i]))
			permits += in_progress[i]->amount;
	return permits;
}

/* The first one that waits, or has given up and is going to let those behind it proceed, in
 * a call that has not ended. */
static const struct call *first_waiter(uint64_t now)
{
	const struct call *first = NULL;

	for (unsigned i = 0; i < TAKERS; i++) {
		const struct call *call = in_progress[i];

		if (!call || !call->armed || call->armed >= now ||
		    (call->chosen && call->left < now))
			continue;
		if (!first || call->armed < first->armed)
			first = call;
	}
	return first;
}

static bool others_wait(const struct call *but)
{
	for (unsigned i = 0; i < TAKERS; i++)
		if (in_progress[i] && in_progress[i] != but &&
		    in_progress[i]->armed)
			return true;
	return false;
}

/* After each moment. */
static const char *check_rest(uint64_t now)
{
	const struct call *first = first_waiter(now);
	int64_t permits = surely_free(now);

	if (first && waits_at(first, now) && permits >= first->amount)
		return forgotten;
	for (unsigned i = 0; i < TAKERS; i++) {
		const struct call *call = in_progress[i];

		if (call && now <= refused_until(call) &&
		    (permits < call->amount || others_wait(call)))
			sums.has_cause[i] = true;
	}
	return NULL;
}

static const char *begun(const struct call *call, unsigned taker, uint64_t now)
{
	sums.has_cause[taker] = false;
	if (call->gives)
		sums.giving += call->amount;
	else if (took(call))
		sums.taking += call->amount;
	return check_rest(now);
}

static const char *ended(const struct call *call, unsigned taker, uint64_t now)
{
	if (call->gives)
		sums.given += call->amount;
	else if (took(call))
		sums.taken += call->amount;
	if (sums.taken > PERMITS + sums.giving)
		return overdrawn;
	if (took(call) && overtakes(call, now))
		return overtaken;
	if (call->chosen && call->code != 0)
		return withheld;
	if (refused_until(call) && !sums.has_cause[taker])
		return refused;
	return check_rest(now);
}

static bool all_there(void)
{
	return skua_semaphore_permits(&semaphore) == PERMITS &&
	       !semaphore.waiters.first;
}

/* Return: what is wrong; NULL: nothing. */
static const char *round_of(struct skua_runtime *rt, unsigned calls)
{
	const char *wrong;

	stress_check(skua_semaphore_init(&semaphore, PERMITS), "init");
	memset(&sums, 0, sizeof(sums));
	takers_run(rt, calls);
	wrong = replay(begun, ended);
	return !wrong && !all_there() ? lost : wrong;
}

/* A defect that is never found would hang here. */
static void find_defect(struct skua_runtime *rt, enum defect planted,
			const char *as)
{
	const char *wrong;

	defect = planted;
	broken = true;
	do
		wrong = round_of(rt, CALLS / 32);
	while (!wrong || strcmp(wrong, as) != 0);
	defect = NO_DEFECT;
	broken = false;
}

int main(void)
{
	struct skua_runtime *rt = takers_runtime();

	find_defect(rt, BARGES, overtaken);
	find_defect(rt, OVERDRAWS, overdrawn);
	find_defect(rt, LOSES, forgotten);
	if (all_there())
		stress_fail("the lost permits are still there");
	find_defect(rt, WAKES_NONE, forgotten);
	find_defect(rt, REFUSES, refused);
	find_defect(rt, GIVES_TWICE, withheld);
	takers_check(rt, round_of);
	return 0;
}
