/* SPDX-License-Identifier: MIT */
/**
 * fuzz_queues.c - the queues of queue.h beside arrays, on one thread
 *
 * On one thread nobody is ever faster: each result is known, to the number of
 * items that a steal takes. The handles are counted by the model, and a queue
 * that lives too long or too short is seen by the sanitizers. The rings behind
 * the handles are run on their own too, from positions next to where they
 * wrap.
 */
#include <errno.h>
#include <string.h>

#include "core/queue/local_queue.h"
#include "tests/fuzz/fuzz.h"

#define MAX_INPUT 2048u
#define MAX_SLOTS 256u /* slots of the largest queue here */
#define QUEUES    3u
#define STEALERS  8u
#define NODES     64u

/* ---- the model ------------------------------------------------------------ */

/* First in, first out; items are numbers from 1 on. */
struct fifo {
	uintptr_t items[MAX_SLOTS];
	unsigned first;
	unsigned count;
};

static uintptr_t last_item; /* that was pushed anywhere */

static void fifo_push(struct fifo *f, uintptr_t item)
{
	f->items[(f->first + f->count++) % MAX_SLOTS] = item;
}

static uintptr_t fifo_pop(struct fifo *f)
{
	if (f->count == 0)
		return 0;
	f->count--;
	return f->items[f->first++ % MAX_SLOTS];
}

/* The items that a steal of half of @from into @into takes. */
static unsigned model_half(const struct fifo *from, const struct fifo *into,
			   unsigned capacity)
{
	unsigned half = (from->count + 1) / 2;
	unsigned most = capacity - into->count + 1;

	return half < most ? half : most;
}

/* Move @count items except the first, which is returned. */
static uintptr_t model_move(struct fifo *from, struct fifo *into,
			    unsigned count)
{
	uintptr_t item = count ? fifo_pop(from) : 0;

	while (count-- > 1)
		fifo_push(into, fifo_pop(from));
	return item;
}

/* ---- local queues, by their handles --------------------------------------- */

struct model_queue {
	struct skua_queue *owner; /* NULL: dropped */
	struct fifo fifo;
	unsigned capacity;
	unsigned handles; /* of both kinds */
};

static struct model_queue queues[QUEUES];

static struct {
	struct skua_stealer *handle;
	struct model_queue *queue;
} stealers[STEALERS];

static void queue_create(struct fuzz_input *in)
{
	static const uint32_t capacities[] = { 4,   8,     16,        0, 256,
					       1,   2,     3,         5, 12,
					       255, 65536, UINT32_MAX };
	struct model_queue *q = &queues[fuzz_below(in, QUEUES)];
	unsigned choice = fuzz_below(in, COUNT_OF(capacities));
	struct skua_queue *out = (struct skua_queue *)q;
	bool valid = choice < 5;
	int code;

	if (q->handles > 0)
		return;
	code = skua_queue_create(&out, capacities[choice]);
	fuzz_check(code == (valid ? 0 : -EINVAL), "capacity %u: %d",
		   capacities[choice], code);
	fuzz_check((out != NULL) == valid, "capacity %u: out",
		   capacities[choice]);
	if (!valid)
		return;
	*q = (struct model_queue){ .owner = out,
				   .capacity = choice == 3 ? 256
							   : capacities[choice],
				   .handles = 1 };
}

static void queue_push(struct model_queue *q)
{
	bool full = q->fifo.count == q->capacity;
	int code;

	if (!q->owner)
		return;
	code = skua_queue_push(q->owner, (void *)++last_item);
	fuzz_check(code == (full ? -ENOSPC : 0), "push to %u of %u: %d",
		   q->fifo.count, q->capacity, code);
	if (!code)
		fifo_push(&q->fifo, last_item);
}

static void queue_pop(struct model_queue *q)
{
	uintptr_t item, expected;

	if (!q->owner)
		return;
	item = (uintptr_t)skua_queue_pop(q->owner);
	expected = fifo_pop(&q->fifo);
	fuzz_check(item == expected, "popped %" PRIuPTR ", not %" PRIuPTR, item,
		   expected);
}

static void queue_destroy(struct model_queue *q)
{
	skua_queue_destroy(q->owner);
	if (q->owner)
		q->handles--;
	q->owner = NULL;
}

static void stealer_make(struct fuzz_input *in, struct model_queue *q)
{
	unsigned to = fuzz_below(in, STEALERS);
	unsigned from = fuzz_below(in, 2 * STEALERS);

	if (stealers[to].handle)
		return;
	if (from < STEALERS) {
		if (!stealers[from].handle)
			return;
		stealers[to].handle = skua_stealer_clone(stealers[from].handle);
		stealers[to].queue = stealers[from].queue;
	} else if (q->owner) {
		stealers[to].handle = skua_queue_stealer(q->owner);
		stealers[to].queue = q;
	} else {
		return;
	}
	stealers[to].queue->handles++;
	fuzz_check(stealers[to].handle, "no handle");
}

static void stealer_drop(unsigned i)
{
	skua_stealer_drop(stealers[i].handle);
	if (stealers[i].handle)
		stealers[i].queue->handles--;
	stealers[i].handle = NULL;
}

static void steal_one(unsigned i)
{
	struct model_queue *q = stealers[i].queue;
	void *item = &item;
	uintptr_t expected;
	int code;

	if (!stealers[i].handle)
		return;
	code = skua_stealer_steal(stealers[i].handle, &item);
	expected = fifo_pop(&q->fifo);
	fuzz_check(code == (expected ? SKUA_STEAL_SUCCESS : SKUA_STEAL_EMPTY) &&
			   (uintptr_t)item == expected,
		   "stole %p, not %" PRIuPTR ": %d", item, expected, code);
}

static void steal_half(unsigned i, struct model_queue *into)
{
	struct model_queue *q = stealers[i].queue;
	void *item = &item;
	uintptr_t expected = 0;
	int count, code;

	if (!stealers[i].handle || !into->owner)
		return;
	count = q == into ? -EINVAL
			  : (int)model_half(&q->fifo, &into->fifo,
					    into->capacity);
	code = skua_stealer_steal_half(stealers[i].handle, into->owner, &item);
	if (count > 0)
		expected = model_move(&q->fifo, &into->fifo, (unsigned)count);
	fuzz_check(code == count && (uintptr_t)item == expected,
		   "stole %d, not %d; %p, not %" PRIuPTR, code, count, item,
		   expected);
}

static void check_lengths(void)
{
	for (unsigned i = 0; i < QUEUES; i++) {
		const struct model_queue *q = &queues[i];

		fuzz_check(!q->owner ||
				   skua_queue_length(q->owner) == q->fifo.count,
			   "length %u, not %u", skua_queue_length(q->owner),
			   q->fifo.count);
	}
}

/* Those whose owner's handle is gone lose their items. */
static void queues_finish(void)
{
	for (unsigned i = 0; i < QUEUES; i++) {
		while (queues[i].owner && queues[i].fifo.count > 0)
			queue_pop(&queues[i]);
		if (queues[i].owner)
			queue_pop(&queues[i]);
		queue_destroy(&queues[i]);
	}
	for (unsigned i = 0; i < STEALERS; i++) {
		steal_one(i);
		stealer_drop(i);
	}
}

/* ---- the rings, near the wrap --------------------------------------------- */

#define RINGS      2u
#define RING_SLOTS 8u
#define RING_BYTES 1024u

static struct model_ring {
	struct local_queue *ring;
	struct fifo fifo;
} rings[RINGS];

static void rings_init(struct fuzz_input *in)
{
	static alignas(CACHE_PAIR) char memory[RINGS][RING_BYTES];
	/* Shortly before which rings start: where 16, 32, 48 and all 64 bits
	 * of a position are used up. */
	static const uint64_t wraps[] = { UINT64_C(1) << 16, UINT64_C(1) << 32,
					  UINT64_C(1) << 48, 0 };

	for (unsigned i = 0; i < RINGS; i++) {
		uint64_t wrap = wraps[fuzz_below(in, COUNT_OF(wraps))];

		rings[i].ring = (struct local_queue *)memory[i];
		rings[i].fifo.count = 0;
		fuzz_check(local_queue_size(RING_SLOTS) <= sizeof(memory[i]),
			   "no room");
		local_queue_init(rings[i].ring, RING_SLOTS,
				 wrap - fuzz_byte(in));
	}
}

/* Push; to a full ring after its older half was taken out. */
static void ring_push(struct model_ring *r)
{
	bool pushed = local_queue_push_owner(r->ring, (void *)++last_item);
	struct local_queue_run run;

	fuzz_check(pushed == (r->fifo.count < RING_SLOTS), "pushed to %u",
		   r->fifo.count);
	run = pushed ? (struct local_queue_run){ 0, 0 }
		     : local_queue_spill_owner(r->ring);
	fuzz_check(run.count == (pushed ? 0 : RING_SLOTS / 2), "spilt %u",
		   run.count);
	for (uint32_t i = 0; i < run.count; i++) {
		void *item = local_queue_run_item(r->ring, run, i);

		fuzz_check((uintptr_t)item == fifo_pop(&r->fifo), "spilt %p",
			   item);
	}
	if (!pushed)
		pushed = local_queue_push_owner(r->ring, (void *)last_item);
	fuzz_check(pushed, "no room after a spill");
	fifo_push(&r->fifo, last_item);
}

static void ring_take(struct model_ring *r, bool steal)
{
	uintptr_t expected = fifo_pop(&r->fifo);
	struct local_queue_steal got = { SKUA_STEAL_SUCCESS, NULL, 1 };

	if (steal)
		got = local_queue_steal_one(r->ring);
	else
		got.item = local_queue_pop_owner(r->ring);
	if (got.outcome == SKUA_STEAL_EMPTY)
		got.item = NULL;
	fuzz_check((uintptr_t)got.item == expected &&
			   got.outcome != SKUA_STEAL_RETRY,
		   "took %p, not %" PRIuPTR, got.item, expected);
}

static void ring_steal_into(struct fuzz_input *in, struct model_ring *from,
			    struct model_ring *into)
{
	uint32_t limit = 1 + fuzz_below(in, RING_SLOTS);
	unsigned count = model_half(&from->fifo, &into->fifo, RING_SLOTS);
	struct local_queue_steal got;
	uintptr_t expected;

	if (count > limit)
		count = limit;
	expected = model_move(&from->fifo, &into->fifo, count);
	got = local_queue_steal_into(from->ring, into->ring, limit);
	fuzz_check(got.outcome ==
			   (count ? SKUA_STEAL_SUCCESS : SKUA_STEAL_EMPTY),
		   "outcome %d of %u", (int)got.outcome, count);
	fuzz_check(!count || (got.count == count &&
			      (uintptr_t)got.item == expected),
		   "stole %u, not %u", got.count, count);
}

static void ring_step(struct fuzz_input *in)
{
	struct model_ring *r = &rings[fuzz_below(in, RINGS)];

	switch (fuzz_below(in, 8)) {
	case 0:
		ring_take(r, false);
		break;
	case 1:
		ring_take(r, true);
		break;
	case 2:
		ring_steal_into(in, r, r == rings ? rings + 1 : rings);
		break;
	default:
		ring_push(r);
	}
	for (unsigned i = 0; i < RINGS; i++)
		fuzz_check(local_queue_length(rings[i].ring) ==
					   rings[i].fifo.count &&
				   local_queue_room_owner(rings[i].ring) ==
					   RING_SLOTS - rings[i].fifo.count,
			   "length %u, not %u",
			   local_queue_length(rings[i].ring),
			   rings[i].fifo.count);
}

/* ---- the injector --------------------------------------------------------- */

static struct {
	struct skua_injector *injector;
	struct skua_node nodes[NODES];
	bool queued[NODES];
	struct fifo fifo; /* of indices + 1 */
} inject;

/* Some nodes that are in no queue; returns how many. */
static size_t free_nodes(struct skua_node **nodes, size_t most)
{
	size_t count = 0;

	for (unsigned i = 0; i < NODES && count < most; i++) {
		if (!inject.queued[i])
			nodes[count++] = &inject.nodes[i];
	}
	return count;
}

static void model_inject(struct skua_node **nodes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ptrdiff_t index = nodes[i] - inject.nodes;

		inject.queued[index] = true;
		fifo_push(&inject.fifo, (uintptr_t)index + 1);
	}
}

/* One by the call for one; several by that for several, of which a NULL
 * among them has nothing pushed. */
static void injector_push(struct fuzz_input *in)
{
	struct skua_node *nodes[NODES] = { NULL };
	size_t count = free_nodes(nodes, fuzz_below(in, NODES));
	bool null = fuzz_below(in, 8) == 7 && count > 1;
	int code;

	if (null)
		nodes[count / 2] = NULL;
	code = count == 1 ? skua_injector_push(inject.injector, nodes[0])
			  : skua_injector_push_batch(inject.injector, nodes,
						     count);
	fuzz_check(code == (null ? -EINVAL : 0), "push of %zu: %d", count,
		   code);
	if (!null)
		model_inject(nodes, count);
}

static void injector_take(size_t most)
{
	struct skua_node *nodes[NODES + 1];
	size_t count = skua_injector_take(inject.injector, nodes, most);
	size_t expected = inject.fifo.count < most ? inject.fifo.count : most;

	fuzz_check(count == expected, "took %zu, not %zu", count, expected);
	for (size_t i = 0; i < count; i++) {
		uintptr_t index = fifo_pop(&inject.fifo) - 1;

		fuzz_check(nodes[i] == &inject.nodes[index],
			   "took another node than %" PRIuPTR, index);
		inject.queued[index] = false;
		/* It is the taker's, to do with what it wants. */
		memset(nodes[i], 0xa5, sizeof(*nodes[i]));
	}
}

/* ---- misuse --------------------------------------------------------------- */

static void refuse_null(void)
{
	struct skua_node *node = NULL;
	struct skua_stealer *stealer = stealers[0].handle;
	struct skua_queue *queue = queues[0].owner;
	void *item = &item;
	bool refused =
		skua_queue_create(NULL, 4) == -EINVAL &&
		skua_queue_push(NULL, &item) == -EINVAL &&
		skua_queue_push(queue, NULL) == -EINVAL &&
		!skua_queue_pop(NULL) && skua_queue_length(NULL) == 0 &&
		!skua_queue_stealer(NULL) && !skua_stealer_clone(NULL) &&
		skua_stealer_steal(stealer, NULL) == -EINVAL &&
		skua_stealer_steal(NULL, &item) == -EINVAL && !item &&
		skua_stealer_steal_half(NULL, queue, &item) == -EINVAL &&
		skua_stealer_steal_half(stealer, NULL, &item) == -EINVAL &&
		skua_stealer_steal_half(stealer, queue, NULL) == -EINVAL &&
		skua_injector_create(NULL) == -EINVAL &&
		skua_injector_push(inject.injector, NULL) == -EINVAL &&
		skua_injector_push_batch(NULL, &node, 1) == -EINVAL &&
		skua_injector_push_batch(inject.injector, NULL, 1) == -EINVAL &&
		skua_injector_push_batch(inject.injector, NULL, 0) == 0 &&
		skua_injector_take(NULL, &node, 1) == 0 &&
		skua_injector_take(inject.injector, NULL, 1) == 0 &&
		skua_injector_length(NULL) == 0;

	skua_queue_destroy(NULL);
	skua_stealer_drop(NULL);
	skua_injector_destroy(NULL);
	fuzz_check(refused, "NULL is not refused as it has to be");
}

/* ---- the program ---------------------------------------------------------- */

static void step(struct fuzz_input *in)
{
	unsigned what = fuzz_below(in, 16);
	struct model_queue *q = &queues[fuzz_below(in, QUEUES)];

	switch (what) {
	case 0:
		queue_create(in);
		break;
	case 1:
		queue_pop(q);
		break;
	case 2:
		queue_destroy(q);
		break;
	case 3:
		stealer_make(in, q);
		break;
	case 4:
		stealer_drop(fuzz_below(in, STEALERS));
		break;
	case 5:
		steal_one(fuzz_below(in, STEALERS));
		break;
	case 6:
		steal_half(fuzz_below(in, STEALERS), q);
		break;
	case 7:
		injector_push(in);
		break;
	case 8:
		injector_take(fuzz_below(in, NODES + 2));
		break;
	case 9:
		refuse_null();
		break;
	case 10: /* many at once, to fill what is large */
		for (unsigned n = fuzz_byte(in); n > 0; n--)
			queue_push(q);
		break;
	case 11:
	case 12:
	case 13:
		ring_step(in);
		break;
	default:
		queue_push(q);
	}
	check_lengths();
	fuzz_check(skua_injector_length(inject.injector) == inject.fifo.count,
		   "injector of %u", inject.fifo.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };

	if (size > MAX_INPUT)
		return -1; /* longer ones say nothing new */
	last_item = 0;
	memset(queues, 0, sizeof(queues));
	memset(&inject, 0, sizeof(inject));
	fuzz_check(skua_injector_create(&inject.injector) == 0, "no memory");
	rings_init(&in);

	while (fuzz_more(&in))
		step(&in);
	queues_finish();
	injector_take(NODES + 1);
	skua_injector_destroy(inject.injector);
	return 0;
}
