/* SPDX-License-Identifier: MIT */
/**
 * stress_deque.c - W1 to W3 for the deque, in both orders
 *
 * One owner pushes items in order and pops some; thieves steal from it. Each
 * item is taken once. Each thief sees the items in ascending order, and an owner
 * that pops the oldest does too; one that pops the newest gets what it has pushed
 * last, unless that was the only one left and a thief was faster. A deque starts
 * with two slots and grows under the thieves' hands; a round has many deques, so
 * that this is often. Now and then the owner pops all, or waits until the
 * thieves have left next to nothing, so that they meet at the last item.
 */
#include <sched.h>

#include "core/queue/deque.h"
#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define THIEVES 3
#define MEMBERS (THIEVES + 1)
#define DEQUES  64u /* of a round, one after another */
#define SHARE   (STRESS_ROUND / DEQUES)

static struct stress_ledger ledger;
static struct deque deques[DEQUES];
static atomic_u32 current; /* the deque that the owner has come to */
static atomic_u32 over;    /* all have been pushed, and popped or stolen */

struct member {
	unsigned index;
	bool oldest; /* the owner pops the oldest */
	struct rng rng;
	uint64_t last; /* item taken, for the order */
	uint64_t steals;
	uint64_t retries;
	uint64_t pops;
};

static struct member members[MEMBERS];

static void take_in_order(struct member *m, void *item)
{
	uint64_t number = (uintptr_t)item;

	stress_take(&ledger, number);
	if (number <= m->last)
		stress_fail("member %u took %" PRIu64 " after %" PRIu64,
			    m->index, number, m->last);
	m->last = number;
}

/* The newest that the owner has not popped yet is on top of its own stack. */
struct stack {
	uint64_t items[SHARE];
	unsigned count;
};

static bool pop(struct member *m, struct deque *d, struct stack *stack)
{
	void *item = m->oldest ? deque_pop_oldest_owner(d) : deque_pop_owner(d);

	if (!item) {
		stack->count = 0; /* thieves have it all */
		return false;
	}
	m->pops++;
	if (m->oldest) {
		take_in_order(m, item);
		return true;
	}
	stress_take(&ledger, (uintptr_t)item);
	if (stack->count == 0 ||
	    stack->items[--stack->count] != (uintptr_t)item)
		stress_fail("popped %" PRIuPTR ", which is not the newest",
			    (uintptr_t)item);
	return true;
}

static void produce_in(struct member *m, struct deque *d, uintptr_t first)
{
	static struct stack stack;

	stack.count = 0;
	for (uintptr_t item = first; item < first + SHARE; item++) {
		uint64_t dice = rng_below(&m->rng, 64);

		if (deque_push_owner(d, (void *)item) != 0)
			stress_fail("out of memory");
		stack.items[stack.count++] = item;
		if (dice < 24)
			pop(m, d, &stack);
		while (dice == 63 && pop(m, d, &stack))
			;
		while (dice == 62 && deque_length(d) > 2)
			sched_yield();
	}
	while (pop(m, d, &stack))
		;
}

static void produce(struct member *m)
{
	for (uint32_t i = 0; i < DEQUES; i++) {
		/* Relaxed: all deques are there from the start. */
		atomic_store_relaxed(&current, i);
		produce_in(m, &deques[i], 1 + (uintptr_t)i * SHARE);
	}
	/* Relaxed: it says when to stop, and nothing else. */
	atomic_store_relaxed(&over, 1);
}

static void thieve(struct member *m)
{
	/* Relaxed, both: as in produce(). */
	while (!atomic_load_relaxed(&over)) {
		struct deque *d = &deques[atomic_load_relaxed(&current)];
		struct deque_steal got = deque_steal(d);

		m->retries += got.outcome == SKUA_STEAL_RETRY;
		if (got.outcome == SKUA_STEAL_SUCCESS) {
			m->steals++;
			take_in_order(m, got.item);
		} else if (rng_below(&m->rng, 64) == 0) {
			sched_yield();
		}
	}
}

static void *body(void *arg)
{
	struct member *m = arg;

	if (m->index == 0)
		produce(m);
	else
		thieve(m);
	return NULL;
}

static void round_of(unsigned round, struct member *sum)
{
	/* Just below where positions change their sign, and wrap. */
	uint64_t start = (round / 2 % 2 ? UINT64_MAX : INT64_MAX) - SHARE / 2;

	atomic_store_relaxed(&current, 0);
	atomic_store_relaxed(&over, 0);
	for (unsigned i = 0; i < DEQUES; i++)
		if (deque_init(&deques[i], 2, start, NULL) != 0)
			stress_fail("out of memory");
	for (unsigned i = 0; i < MEMBERS; i++) {
		members[i] = (struct member){ .index = i, .oldest = round % 2 };
		rng_init(&members[i].rng, round * MEMBERS + i);
	}
	stress_threads(MEMBERS, body, members, sizeof(members[0]));
	stress_ledger_close(&ledger);
	for (unsigned i = 0; i < DEQUES; i++) {
		if (deque_length(&deques[i]) != 0)
			stress_fail("deque %u not empty", i);
		deque_destroy(&deques[i]);
	}
	for (unsigned i = 0; i < MEMBERS; i++) {
		sum->steals += members[i].steals;
		sum->retries += members[i].retries;
		sum->pops += members[i].pops;
	}
}

int main(void)
{
	uint64_t ops = stress_ops();
	uint64_t done = 0;
	struct member sum = { .index = 0 };

	/* An operation is a push or a take. */
	for (unsigned round = 0; done < ops; round++) {
		round_of(round, &sum);
		done += UINT64_C(2) * STRESS_ROUND;
	}
	if (sum.steals == 0 || sum.pops == 0)
		stress_fail("%" PRIu64 " steals and %" PRIu64
			    " pops: nothing was tested",
			    sum.steals, sum.pops);
	printf("deque: %" PRIu64 " operations, %" PRIu64 " steals, %" PRIu64
	       " pops, %" PRIu64 " steals overtaken, each item taken once\n",
	       done, sum.steals, sum.pops, sum.retries);
	return 0;
}
