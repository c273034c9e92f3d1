/* SPDX-License-Identifier: MIT */
/**
 * stress_lifo_slot.c - W1 and W2 for the LIFO slot
 *
 * The owner fills the slot with one item after another and sometimes takes;
 * thieves take. Each item comes out once: displaced, or taken. In every other
 * round the thieves fence for the owner, if the kernel lets them.
 */
#include <sched.h>

#include "core/base/rng.h"
#include "tests/lifo_thief.h"
#include "tests/stress/stress.h"

#define MEMBERS 3

static struct stress_ledger ledger;
static struct lifo_slot slot;

struct member {
	unsigned index;
	struct rng rng;
	uint64_t taken;
};

static void take(struct member *m, void *item)
{
	if (!item)
		return;
	stress_take(&ledger, (uintptr_t)item);
	m->taken++;
}

/* Leave the item to a thief for a while: a thief that fences for all threads
 * needs some microseconds. */
static void wait_for_thief(void)
{
	for (unsigned i = 0; i < 200 && lifo_slot_peek(&slot); i++)
		cpu_relax();
}

static void *body(void *arg)
{
	struct member *m = arg;

	if (m->index == 0) {
		for (uintptr_t item = 1; item <= STRESS_ROUND; item++) {
			take(m, lifo_slot_put_owner(&slot, (void *)item));
			if (rng_below(&m->rng, 64) == 0)
				wait_for_thief();
			if (rng_below(&m->rng, 4) == 0)
				take(m, lifo_slot_take_owner(&slot));
		}
		take(m, lifo_slot_take_owner(&slot));
		return NULL;
	}
	while (!stress_ledger_done(&ledger)) {
		take(m, lifo_thief_take(&slot, m->index));
		if (rng_below(&m->rng, 64) == 0)
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	static struct member members[MEMBERS];
	uint64_t ops = stress_ops();
	uint64_t done = 0;
	uint64_t stolen = 0;
	bool heavy = membarrier_register();

	/* An operation is a put or a take. */
	for (unsigned round = 0; done < ops; round++) {
		lifo_slot_init(&slot, heavy && round % 2 == 0);
		for (unsigned i = 0; i < MEMBERS; i++) {
			members[i] = (struct member){ .index = i };
			rng_init(&members[i].rng, round * MEMBERS + i);
		}
		stress_threads(MEMBERS, body, members, sizeof(members[0]));
		stress_ledger_close(&ledger);
		for (unsigned i = 1; i < MEMBERS; i++)
			stolen += members[i].taken;
		done += UINT64_C(2) * STRESS_ROUND;
	}
	if (stolen == 0)
		stress_fail("nothing was stolen: nothing was tested");
	printf("lifo_slot: %" PRIu64 " operations, %" PRIu64
	       " stolen, each item taken once%s\n",
	       done, stolen, heavy ? "" : "; no membarrier");
	return 0;
}
