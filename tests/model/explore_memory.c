/* SPDX-License-Identifier: MIT */
/**
 * explore_memory.c - atomic operations on histories of stores
 *
 * A thread has three views: what it knows; what its relaxed loads saw, which
 * an acquire fence turns into knowledge; and what it knew at its last release
 * fence, which its relaxed stores publish. A read-modify-write reads the newest
 * store and passes on the view of the store it replaces (release sequences are
 * made of read-modify-writes alone, as in C++20). One more view belongs to the
 * SC fences: each learns what those before it knew, by coherence only; it does
 * not put their plain accesses into its past.
 */
#include "tests/model/explore_memory.h"
#include "tests/model/explore_search.h"

#include <string.h>

#define STORES 128 /* of a location, in an execution */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "small values are the first bytes of a uint64_t");

struct store {
	uint64_t value;
	struct view view; /* for whoever reads and acquires it */
};

struct location {
	size_t size;
	unsigned count;
	struct store stores[STORES];
};

struct knowledge {
	struct view now;
	struct view acquirable;
	struct view released;
	unsigned last_read; /* a location, for explore_spin(); 0 before any */
};

static struct {
	unsigned count;
	const volatile void *addresses[LOCATIONS];
	struct location locations[LOCATIONS];
	struct knowledge threads[THREADS];
	struct view fences; /* its epochs stay 0 */
} memory;

static void join_oldest(struct view *to, const struct view *from)
{
	for (unsigned i = 0; i < LOCATIONS; i++)
		to->oldest[i] = from->oldest[i] > to->oldest[i]
					? from->oldest[i]
					: to->oldest[i];
}

static void join(struct view *to, const struct view *from)
{
	join_oldest(to, from);
	for (unsigned i = 0; i < THREADS; i++)
		to->epoch[i] = from->epoch[i] > to->epoch[i] ? from->epoch[i]
							     : to->epoch[i];
}

static void raise_oldest(struct view *view, unsigned location, unsigned store)
{
	if (view->oldest[location] < store)
		view->oldest[location] = (uint16_t)store;
}

static struct knowledge *mine(void)
{
	return &memory.threads[thread_current()];
}

const struct view *memory_view(void)
{
	return &mine()->now;
}

uint16_t memory_tick(void)
{
	return ++mine()->now.epoch[thread_current()];
}

void memory_reset(void)
{
	memory.count = 0;
	memset(&memory.threads[0], 0, sizeof(memory.threads[0]));
	memset(&memory.fences, 0, sizeof(memory.fences));
}

void memory_start(unsigned id)
{
	memory.threads[id] = *mine();
	memory.threads[id].now.epoch[id] = 1;
}

void memory_join(unsigned id)
{
	join(&mine()->now, &memory.threads[id].now);
}

static uint64_t raw_read(const volatile void *address, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)(uintptr_t)address, size);
	return value;
}

static void raw_write(volatile void *address, size_t size, uint64_t value)
{
	memcpy((void *)(uintptr_t)address, &value, size);
}

static uint64_t truncate(uint64_t value, size_t size)
{
	return size < 8 ? value & ((UINT64_C(1) << (8 * size)) - 1) : value;
}

/* A location's first store is what memory holds when it is first met. */
static unsigned add_location(const volatile void *address, size_t size)
{
	unsigned l = memory.count;
	struct location *location = &memory.locations[l];

	if (l == LOCATIONS)
		explore_fail(EXPLORE_SITE("LOCATIONS"), "too many locations");
	memory.count++;
	memory.addresses[l] = address;
	location->size = size;
	location->count = 1;
	location->stores[0].value = raw_read(address, size);
	memset(&location->stores[0].view, 0, sizeof(struct view));
	return l;
}

/* The number of a location, or memory.count if it was not met yet. */
static unsigned look_up(const volatile void *address)
{
	unsigned l = 0;

	while (l < memory.count && memory.addresses[l] != address)
		l++;
	return l;
}

static unsigned find(const volatile void *address, size_t size)
{
	unsigned l = look_up(address);

	if (l == memory.count)
		return add_location(address, size);
	if (memory.locations[l].size != size)
		explore_fail(EXPLORE_SITE("size"), "one location, two sizes");
	return l;
}

static unsigned newest(unsigned l)
{
	return memory.locations[l].count - 1;
}

static struct store *store_at(unsigned l, unsigned index)
{
	return &memory.locations[l].stores[index];
}

uint64_t memory_newest(const volatile void *address, size_t size)
{
	unsigned l = find(address, size);

	return store_at(l, newest(l))->value;
}

static bool acquires(memory_order order)
{
	return order == memory_order_acquire || order == memory_order_acq_rel ||
	       order == memory_order_seq_cst || order == memory_order_consume;
}

static bool releases(memory_order order)
{
	return order == memory_order_release || order == memory_order_acq_rel ||
	       order == memory_order_seq_cst;
}

static void refuse_seq_cst(memory_order order, const struct explore_site *site)
{
	if (order == memory_order_seq_cst)
		explore_fail(site,
			     "a seq_cst access: only fences are modelled");
}

/* The current thread reads a store. */
static uint64_t observe(unsigned l, unsigned index, memory_order order)
{
	struct knowledge *me = mine();
	const struct store *store = store_at(l, index);

	raise_oldest(&me->now, l, index);
	me->last_read = l;
	join(acquires(order) ? &me->now : &me->acquirable, &store->view);
	return store->value;
}

/* The current thread stores; @replaces is the store that a read-modify-write
 * read, NULL for a plain store. */
static void append(unsigned l, uint64_t value, memory_order order,
		   const struct store *replaces)
{
	struct knowledge *me = mine();
	struct location *location = &memory.locations[l];
	unsigned index = location->count;
	struct store *store = &location->stores[index];

	if (index == STORES)
		explore_fail(EXPLORE_SITE("STORES"),
			     "livelock? too many stores to one location");
	location->count++;
	raise_oldest(&me->now, l, index);
	store->value = value;
	store->view = releases(order) ? me->now : me->released;
	raise_oldest(&store->view, l, index);
	if (replaces)
		join(&store->view, &replaces->view);
	raw_write((volatile void *)(uintptr_t)memory.addresses[l],
		  location->size, value);
	thread_stored();
}

/* Which store a load returns: the newest, or for a price an older one. */
static unsigned pick(unsigned l)
{
	unsigned options = newest(l) - mine()->now.oldest[l] + 1;

	if (options > SEARCH_OPTIONS)
		options = SEARCH_OPTIONS;
	return newest(l) - search_spend(BUDGET_STALE, options);
}

/* The same for a strong compare-exchange: it fails on none but a different
 * value, an older one included. */
static unsigned pick_for_compare(unsigned l, uint64_t expected)
{
	unsigned indices[SEARCH_OPTIONS] = { newest(l) };
	unsigned n = 1;

	if (!search_can_spend(BUDGET_STALE))
		return newest(l);
	for (unsigned i = newest(l); i > mine()->now.oldest[l]; i--)
		if (store_at(l, i - 1)->value != expected && n < SEARCH_OPTIONS)
			indices[n++] = i - 1;
	return indices[search_spend(BUDGET_STALE, n)];
}

/* What memory holds when a location is first met is its first store; later,
 * initialising it is a relaxed store. */
void explore_init(volatile void *address, size_t size, uint64_t value)
{
	unsigned l = look_up(address);

	if (l == memory.count)
		raw_write(address, size, value);
	else
		append(l, truncate(value, size), memory_order_relaxed, NULL);
}

uint64_t explore_load(const volatile void *address, size_t size,
		      memory_order order, const struct explore_site *site)
{
	unsigned l, index;
	uint64_t value;

	refuse_seq_cst(order, site);
	thread_step(site);
	l = find(address, size);
	index = pick(l);
	value = observe(l, index, order);
	trace(site, "load", address, value, index == newest(l) ? "" : "stale");
	return value;
}

void explore_store(volatile void *address, size_t size, uint64_t value,
		   memory_order order, const struct explore_site *site)
{
	refuse_seq_cst(order, site);
	thread_step(site);
	append(find(address, size), truncate(value, size), order, NULL);
	trace(site, "store", address, value, "");
}

static uint64_t updated(enum explore_update_op op, uint64_t old, uint64_t x)
{
	switch (op) {
	case EXPLORE_ADD:
		return old + x;
	case EXPLORE_SUB:
		return old - x;
	case EXPLORE_OR:
		return old | x;
	case EXPLORE_AND:
		return old & x;
	case EXPLORE_XOR:
		return old ^ x;
	case EXPLORE_EXCHANGE:
	default:
		return x;
	}
}

uint64_t explore_update(enum explore_update_op op, volatile void *address,
			size_t size, uint64_t operand, memory_order order,
			const struct explore_site *site)
{
	unsigned l, last;
	uint64_t old, new;

	refuse_seq_cst(order, site);
	thread_step(site);
	l = find(address, size);
	last = newest(l);
	old = observe(l, last, order);
	new = truncate(updated(op, old, operand), size);
	append(l, new, order, store_at(l, last));
	trace(site, "update", address, new, "");
	return old;
}

bool explore_compare_exchange(volatile void *address, size_t size,
			      void *expected, uint64_t desired, bool weak,
			      memory_order success, memory_order failure,
			      const struct explore_site *site)
{
	uint64_t want = raw_read(expected, size);
	uint64_t value;
	unsigned l, index;

	refuse_seq_cst(success, site);
	thread_step(site);
	l = find(address, size);
	index = pick_for_compare(l, want);
	if (store_at(l, index)->value == want &&
	    !(weak && search_spend(BUDGET_STALE, 2))) {
		observe(l, index, success);
		append(l, truncate(desired, size), success, store_at(l, index));
		trace(site, "cas", address, desired, "done");
		return true;
	}
	value = observe(l, index, failure);
	raw_write(expected, size, value);
	trace(site, "cas", address, value,
	      index == newest(l) ? "failed" : "stale");
	return false;
}

void explore_fence(memory_order order, const struct explore_site *site)
{
	struct knowledge *me = mine();

	if (order == memory_order_seq_cst)
		thread_step(site);
	if (acquires(order))
		join(&me->now, &me->acquirable);
	if (order == memory_order_seq_cst) {
		join_oldest(&me->now, &memory.fences);
		join_oldest(&memory.fences, &me->now);
	}
	if (releases(order))
		me->released = me->now;
	trace(site, "fence", NULL, 0, "");
}

/*
 * A spinner that read an old store learns the newest at once: stores reach
 * everybody in the end. One that read the newest waits for a store; if nobody
 * is left to make one, it must be an older store of another location that
 * holds it up, so that it learns them all.
 */
void explore_spin(const struct explore_site *site)
{
	struct knowledge *me = mine();
	unsigned l = me->last_read;
	bool informed = me->now.oldest[l] == newest(l);

	trace(site, "spin", NULL, 0, "");
	if (informed && thread_spin())
		for (l = 0; l < memory.count; l++)
			raise_oldest(&me->now, l, newest(l));
	else
		raise_oldest(&me->now, l, newest(l));
}
