/* SPDX-License-Identifier: MIT */
/**
 * stress_local_queue.c - W1 to W3 for the local queue
 *
 * One producer pushes items in order, pops some, and spills when its ring is
 * full; thieves steal from it, one or half, and in every second round from
 * each other as well, so that a thief's own ring is being stolen from while it
 * steals. Each item is taken once. While thieves steal from the producer only,
 * each of them, and the producer's pop, sees the items in ascending order.
 * Small rings, so that they wrap, fill and run empty all the time.
 */
#include <sched.h>
#include <stdalign.h>

#include "core/queue/local_queue.h"
#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define THIEVES 3
#define MEMBERS (THIEVES + 1)

static struct stress_ledger ledger;

struct member {
	unsigned index;
	bool chained; /* thieves steal from each other too */
	struct local_queue *queue;
	struct rng rng;
	uint64_t last; /* newest item taken, for the order */
	uint64_t steals;
	uint64_t spills;
};

static struct member members[MEMBERS];

static void take(struct member *m, void *item)
{
	uint64_t number = (uintptr_t)item;

	stress_take(&ledger, number);
	if (!m->chained && number <= m->last)
		stress_fail("member %u took %" PRIu64 " after %" PRIu64,
			    m->index, number, m->last);
	m->last = number;
}

/* The producer's ring is full: take the older half, or let a thief finish. */
static void spill(struct member *m)
{
	struct local_queue_run run = local_queue_spill_owner(m->queue);

	for (uint32_t i = 0; i < run.count; i++)
		take(m, local_queue_run_item(m->queue, run, i));
	m->spills += run.count > 0;
	if (run.count == 0)
		sched_yield();
}

static void produce(struct member *m)
{
	for (uintptr_t item = 1; item <= STRESS_ROUND; item++) {
		while (!local_queue_push_owner(m->queue, (void *)item))
			spill(m);
		if (rng_below(&m->rng, 4) == 0) {
			void *own = local_queue_pop_owner(m->queue);

			if (own)
				take(m, own);
		}
	}
}

static void drain_own(struct member *m)
{
	void *item;

	while ((item = local_queue_pop_owner(m->queue)) != NULL)
		take(m, item);
}

static void thieve(struct member *m)
{
	while (!stress_ledger_done(&ledger)) {
		unsigned victim = 0;
		struct local_queue_steal got;

		if (m->chained)
			victim = rng_below(&m->rng, MEMBERS);
		if (victim == m->index)
			continue;
		if (rng_below(&m->rng, 8) == 0)
			got = local_queue_steal_one(members[victim].queue);
		else
			got = local_queue_steal_into(members[victim].queue,
						     m->queue, 32);
		if (got.outcome != SKUA_STEAL_SUCCESS) {
			if (rng_below(&m->rng, 64) == 0)
				sched_yield();
			continue;
		}
		m->steals++;
		take(m, got.item);
		/* In a chained round, leave some for others to steal. */
		if (!m->chained || rng_below(&m->rng, 2) == 0)
			drain_own(m);
	}
}

static void *body(void *arg)
{
	struct member *m = arg;

	if (m->index == 0)
		produce(m);
	/* Everybody takes part until the round is over: what a thief has in
	 * its own ring when it is done with stealing is taken here. */
	while (!stress_ledger_done(&ledger)) {
		drain_own(m);
		if (m->index != 0)
			thieve(m);
		else
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	static const uint32_t capacities[] = { 4, 8, 64, 256 };
	uint64_t ops = stress_ops();
	uint64_t done = 0;
	uint64_t steals = 0;
	uint64_t spills = 0;

	/* An operation is a push or a take. */
	for (unsigned round = 0; done < ops; round++) {
		uint32_t capacity = capacities[round % 4];

		for (unsigned i = 0; i < MEMBERS; i++) {
			size_t size = local_queue_size(capacity);

			members[i] = (struct member){
				.index = i,
				.chained = round / 4 % 2,
				.queue = aligned_alloc(CACHE_PAIR, size),
			};
			if (!members[i].queue)
				stress_fail("out of memory");
			/* Just below the wrap of the head. */
			local_queue_init(members[i].queue, capacity,
					 (UINT64_C(1) << 48) - 1000);
			rng_init(&members[i].rng, round * MEMBERS + i);
		}
		stress_threads(MEMBERS, body, members, sizeof(members[0]));
		stress_ledger_close(&ledger);
		for (unsigned i = 0; i < MEMBERS; i++) {
			if (local_queue_length(members[i].queue) != 0)
				stress_fail("queue %u not empty", i);
			steals += members[i].steals;
			spills += members[i].spills;
			free(members[i].queue);
		}
		done += UINT64_C(2) * STRESS_ROUND;
	}
	if (steals == 0 || spills == 0)
		stress_fail("%" PRIu64 " steals and %" PRIu64
			    " spills: nothing was tested",
			    steals, spills);
	printf("local_queue: %" PRIu64 " operations, %" PRIu64
	       " steals, %" PRIu64 " spills, each item taken once\n",
	       done, steals, spills);
	return 0;
}
