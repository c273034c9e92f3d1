/* SPDX-License-Identifier: MIT */
/**
 * stress_inject_queue.c - W1, W2 and order for the injection queue
 *
 * Producers push lists of one to eight nodes; takers take batches. Each node
 * is taken once, a list stays together, and every taker sees the nodes of one
 * producer in the order in which they were pushed.
 */
#include <sched.h>

#include "core/queue/inject_queue.h"
#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define PRODUCERS 3u
#define TAKERS    2u
#define MEMBERS   (PRODUCERS + TAKERS)

struct item {
	struct inject_node node;
	uint32_t number; /* its place in the ledger */
};

static struct stress_ledger ledger;
static struct inject_queue queue;
static struct item items[STRESS_ROUND];

struct member {
	unsigned index;
	struct rng rng;
	uint64_t batches;
};

/* Producer p owns items [p * share, (p + 1) * share). */
static uint32_t share_begin(uint32_t producer)
{
	return (uint32_t)((uint64_t)STRESS_ROUND * producer / PRODUCERS);
}

static void produce(struct member *m)
{
	uint32_t next = share_begin(m->index);
	uint32_t end = share_begin(m->index + 1);

	while (next < end) {
		struct inject_list list = { NULL, NULL, 0 };
		uint32_t count = 1 + rng_below(&m->rng, 8);

		for (; count > 0 && next < end; count--, next++) {
			items[next].number = next + 1;
			inject_list_append(&list, &items[next].node);
		}
		inject_queue_push(&queue, &list);
	}
}

static uint32_t producer_of(uint32_t number)
{
	uint32_t producer = 0;

	while (number - 1 >= share_begin(producer + 1))
		producer++;
	return producer;
}

static void consume(struct member *m)
{
	uint32_t last[PRODUCERS] = { 0 };

	while (!stress_ledger_done(&ledger)) {
		struct inject_list list =
			inject_queue_take(&queue, 1 + rng_below(&m->rng, 64))
				.list;
		struct inject_node *node;

		if (list.count == 0) {
			sched_yield();
			continue;
		}
		m->batches++;
		while ((node = inject_list_pop(&list)) != NULL) {
			uint32_t number = ((struct item *)node)->number;
			uint32_t producer = producer_of(number);

			stress_take(&ledger, number);
			if (number <= last[producer])
				stress_fail("%" PRIu32 " after %" PRIu32,
					    number, last[producer]);
			last[producer] = number;
		}
	}
}

static void *body(void *arg)
{
	struct member *m = arg;

	if (m->index < PRODUCERS)
		produce(m);
	else
		consume(m);
	return NULL;
}

int main(void)
{
	static struct member members[MEMBERS];
	uint64_t ops = stress_ops();
	uint64_t done = 0;
	uint64_t batches = 0;

	inject_queue_init(&queue);
	/* An operation is a push or a take of one node. */
	for (unsigned round = 0; done < ops; round++) {
		for (unsigned i = 0; i < MEMBERS; i++) {
			members[i] = (struct member){ .index = i };
			rng_init(&members[i].rng, round * MEMBERS + i);
		}
		stress_threads(MEMBERS, body, members, sizeof(members[0]));
		stress_ledger_close(&ledger);
		if (inject_queue_visible(&queue) ||
		    inject_queue_length(&queue) != 0)
			stress_fail("not empty at the end of a round");
		for (unsigned i = 0; i < MEMBERS; i++)
			batches += members[i].batches;
		done += UINT64_C(2) * STRESS_ROUND;
	}
	printf("inject_queue: %" PRIu64 " operations, %" PRIu64
	       " batches, each node taken once\n",
	       done, batches);
	return 0;
}
