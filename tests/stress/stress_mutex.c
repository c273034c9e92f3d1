/* SPDX-License-Identifier: MIT */
/**
 * stress_mutex.c - long histories of a mutex, each checked against its promises
 *
 * Checked, of more than 10^5 calls in each round (takers.h):
 *   - it has one holder at a time;
 *   - waiters lock it in the order in which they began to wait, also those that were woken
 *     in vain;
 *   - no call that begins later locks it before a waiter that has waited for STARVING_NS and
 *     was woken in vain, or that is the first one after such a waiter and has waited as long;
 *   - a call that is refused the mutex finds it held;
 *   - a waiter that was handed the mutex returns 0, whatever its deadline.
 *
 * So a legal order of all calls exists, and it is the order of the holds.
 * The program first checks that it finds planted defects.
 */
#include "tests/stress/takers.h"

/* Short, so that waiters often starve. */
#define STARVES_NS 20000u

static uint64_t starving_ns;
static bool cas_of(atomic_u64 *word, uint64_t *seen, uint64_t wanted,
		   const char *function);
static int await_of(const struct wait_verb *verb, void *object, uint64_t amount,
		    uint64_t deadline_ns);
static void note_choice(struct skua_waiters *waiters, struct skua_wait *wait,
			struct wait_chain *chain);

static void note_arm(struct skua_waiters *waiters, struct skua_wait *wait,
		     bool first)
{
	note_armed(wait, first);
	wait_arm_locked(waiters, wait, first);
}

static void note_withdrawal(struct skua_waiters *waiters,
			    struct skua_wait *wait)
{
	note_left(wait);
	wait_withdraw_locked(waiters, wait);
}

#pragma push_macro("atomic_cas_acquire")
#undef atomic_cas_acquire
#define STARVING_NS          starving_ns
#define wait_arm_locked      note_arm
#define wait_choose_locked   note_choice
#define wait_withdraw_locked note_withdrawal
#define await                await_of
#define atomic_cas_acquire(word, seen, wanted) \
	cas_of(word, seen, wanted, __func__)
#include "core/sync/mutex.c"
#undef wait_choose_locked
#undef await
#pragma pop_macro("atomic_cas_acquire")

/* ---- planted defects ------------------------------------------------------------- */

enum defect {
	NO_DEFECT,
	TWO_HOLDERS, /* a call locks a mutex that is held */
	BARGES,      /* no waiter starves */
	REORDERS,    /* the last waiter is woken */
	REFUSES,     /* a call does not see that the mutex is free */
	GIVES_TWICE, /* a waiter that was handed the mutex returns -ETIMEDOUT */
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

static bool cas_of(atomic_u64 *word, uint64_t *seen, uint64_t wanted,
		   const char *function)
{
	if (strcmp(function, "take") != 0)
		return atomic_cas_acquire(word, seen, wanted);
	if (shows(REFUSES)) {
		*seen = FLAGS + 1;
		return false;
	}
	return atomic_cas_acquire(word, seen, wanted) ||
	       (holder(*seen) && shows(TWO_HOLDERS));
}

static int await_of(const struct wait_verb *verb, void *object, uint64_t amount,
		    uint64_t deadline_ns)
{
	int code = await(verb, object, amount, deadline_ns);

	if (defect == GIVES_TWICE && call_by(await_self())->chosen)
		return -ETIMEDOUT;
	return code;
}

/* Before the object looks at the clock. */
static bool has_waited(const struct skua_wait *wait)
{
	return clock_now_ns() - wait->since_ns >= STARVES_NS;
}

static void note_choice(struct skua_waiters *waiters, struct skua_wait *wait,
			struct wait_chain *chain)
{
	struct skua_wait *next = wait->link[0];

	if (wait->given) {
		call_of(wait)->chosen = true;
		if (next && has_waited(next))
			note_starved(next);
	} else {
		if (defect == REORDERS)
			wait = waiters->last;
		if (has_waited(wait))
			call_of(wait)->late = true;
	}
	wait_choose_locked(waiters, wait, chain);
}

/* ---- takers ---------------------------------------------------------------------- */

static struct skua_mutex mutex;

static uint32_t takers_amount(struct taker *it)
{
	(void)it;
	return 1;
}

static int takers_take(struct taker *it)
{
	if (it->form == TRY)
		return skua_mutex_lock_try(&mutex);
	if (it->form == WAIT)
		return skua_mutex_lock(&mutex, it->deadline_ns);
	return skua_mutex_lock_poll(&it->as.task, &mutex, &it->wait,
				    it->deadline_ns);
}

static int takers_give(struct taker *it, uint32_t amount)
{
	(void)it;
	(void)amount;
	return skua_mutex_unlock(&mutex);
}

/* ---- the check ------------------------------------------------------------------- */

static const char *const two_holders = "two holders";
static const char *const overtaken = "a waiter was overtaken by a later one";
static const char *const barged = "a waiter that starves was overtaken";
static const char *const refused = "refused a mutex that is free";
static const char *const withheld =
	"was handed the mutex, and returned an error";
static const char *const lost = "the mutex is still locked";

static struct {
	const struct call
		*holder; /* its lock has ended, its unlock has not begun */
	unsigned locking, unlocking; /* calls in progress that succeed */
	/* Of the calls in progress that lock nothing: was there a time at which the mutex may
	 * have been held? */
	bool has_cause[TAKERS];
} state;

static bool locked(const struct call *call)
{
	return !call->gives && call->code == 0;
}

/* @call ends now, and has locked the mutex. So another one that is in progress and locks it
 * does so later; another one that gives up still waits, unless it has left the list. */
static const char *check_order(const struct call *call, uint64_t now)
{
	for (unsigned i = 0; i < TAKERS; i++) {
		const struct call *other = in_progress[i];

		if (!other || other == call || !other->armed ||
		    !(locked(other) || now < other->left))
			continue;
		if (other->armed < call->armed)
			return overtaken;
		if (other->starved && other->starved < call->called)
			return barged;
	}
	return NULL;
}

static void find_causes(uint64_t now)
{
	if (!state.holder && !state.locking && !state.unlocking)
		return;
	for (unsigned i = 0; i < TAKERS; i++)
		if (in_progress[i] && now <= refused_until(in_progress[i]))
			state.has_cause[i] = true;
}

static const char *begun(const struct call *call, unsigned taker, uint64_t now)
{
	state.has_cause[taker] = false;
	if (call->gives) {
		state.unlocking++;
		state.holder = NULL;
	} else if (locked(call)) {
		state.locking++;
	}
	find_causes(now);
	return NULL;
}

static const char *ended(const struct call *call, unsigned taker, uint64_t now)
{
	if (call->gives) {
		state.unlocking--;
	} else if (locked(call)) {
		if (state.holder)
			return two_holders;
		state.locking--;
		state.holder = call;
	}
	if (call->chosen && call->code != 0)
		return withheld;
	if (refused_until(call) && !state.has_cause[taker])
		return refused;
	find_causes(now);
	return locked(call) ? check_order(call, now) : NULL;
}

/* Return: what is wrong; NULL: nothing. */
static const char *round_of(struct skua_runtime *rt, unsigned calls)
{
	const char *wrong;

	mutex = (struct skua_mutex)SKUA_MUTEX_INIT;
	memset(&state, 0, sizeof(state));
	takers_run(rt, calls);
	wrong = replay(begun, ended);
	return !wrong && skua_mutex_destroy(&mutex) != 0 ? lost : wrong;
}

/* A defect that is never found would hang here. */
static void find_defect(struct skua_runtime *rt, enum defect planted,
			const char *as)
{
	const char *wrong;

	defect = planted;
	broken = true;
	starving_ns = planted == BARGES ? UINT64_MAX : STARVES_NS;
	do
		wrong = round_of(rt, CALLS / 32);
	while (!wrong || strcmp(wrong, as) != 0);
	defect = NO_DEFECT;
	broken = false;
	starving_ns = STARVES_NS;
}

int main(void)
{
	struct skua_runtime *rt = takers_runtime();

	find_defect(rt, TWO_HOLDERS, two_holders);
	find_defect(rt, BARGES, barged);
	find_defect(rt, REORDERS, overtaken);
	find_defect(rt, REFUSES, refused);
	find_defect(rt, GIVES_TWICE, withheld);
	takers_check(rt, round_of);
	return 0;
}
