/* SPDX-License-Identifier: MIT */
/**
 * explore_memory.c - atomic operations on histories of stores
 *
 * A thread has three views: what it knows; what its relaxed loads saw, which
 * an acquire fence turns into knowledge; and what it knew at its last release
 * fence, which its relaxed stores publish. A read-modify-write passes on the
 * view of the store it replaces (release sequences are made of
 * read-modify-writes alone, as in C++20). One more view belongs to the SC
 * fences: each learns what those before it knew, by coherence only; it does not
 * put their plain accesses into its past.
 *
 * A store takes its place in the order of its location behind all that its
 * thread knows there, but not always behind all that was executed: so a store
 * that another thread made earlier may come late, as from a store buffer.
 * Nothing comes between a read-modify-write and the store that it read.
 */
#include "tests/model/explore_memory.h"
#include "tests/model/explore_search.h"

#include <string.h>

#define STORES      128  /* of a location, in an execution */
#define STORES_MADE 8192 /* of all locations, in an execution */
#define SLOTS       512  /* of the table of locations, so that most are free */
/* From a store to one behind it: so often the gap can be halved. */
#define GAP 256

_Static_assert(STORES *GAP <= UINT16_MAX, "times of stores");
_Static_assert(STORES_MADE <= UINT16_MAX, "numbers of stores");
_Static_assert(LOCATIONS <= UINT8_MAX && LOCATIONS < SLOTS,
	       "a location fits into a slot, and there is always a free slot");
_Static_assert(SLOTS == 1 << (64 - 55), "the hash of an address is a slot");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "small values are the first bytes of a uint64_t");

struct store {
	uint64_t value;
	uint64_t id;      /* no other store has it, in any execution */
	uint16_t time;    /* its place in the order of its location */
	bool updates;     /* a read-modify-write, of the store before it */
	struct view view; /* for a thread that reads and acquires it */
};

struct location {
	size_t size;
	unsigned count;          /* of its stores */
	uint16_t stores[STORES]; /* their numbers, sorted by time */
};

struct knowledge {
	struct view now;
	struct view acquirable;
	struct view released;
	unsigned last_read; /* a location, for explore_spin(); 0 before any */
	/* Of each location, the store whose view was last joined to @now, and to
	 * @acquirable: that need not be done again. */
	uint64_t known[LOCATIONS];
	uint64_t noted[LOCATIONS];
};

struct slot {
	uint32_t execution; /* if it is not this one, the slot is free */
	uint8_t location;
};

static struct {
	unsigned count;
	const volatile void *addresses[LOCATIONS];
	struct location locations[LOCATIONS];
	/* Of all locations, in the order in which they were made: an execution makes few,
	 * which therefore lie close together. */
	unsigned made;
	struct store stores[STORES_MADE];
	struct knowledge threads[THREADS];
	struct view fences; /* its epochs stay 0 */
	uint64_t last_id;   /* of a store */
	uint32_t execution;
	struct slot slots[SLOTS]; /* by the hash of an address, or behind it */
} memory;

static uint16_t oldest(const struct view *view, unsigned location)
{
	unsigned block = location / LOCATIONS_BLOCK;

	return block < view->blocks
		       ? view->oldest[block][location % LOCATIONS_BLOCK]
		       : 0;
}

static void extend(struct view *view, unsigned blocks)
{
	for (; view->blocks < blocks; view->blocks++)
		memset(view->oldest[view->blocks], 0, sizeof(view->oldest[0]));
}

static void raise_oldest(struct view *view, unsigned location, uint16_t time)
{
	unsigned block = location / LOCATIONS_BLOCK;
	unsigned i = location % LOCATIONS_BLOCK;

	extend(view, block + 1);
	if (view->oldest[block][i] < time)
		view->oldest[block][i] = time;
}

/* To the later of both, one by one. */
static void raise(uint16_t *to, const uint16_t *from, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		to[i] = from[i] > to[i] ? from[i] : to[i];
}

static void join_oldest(struct view *to, const struct view *from)
{
	extend(to, from->blocks);
	for (unsigned b = 0; b < from->blocks; b++)
		raise(to->oldest[b], from->oldest[b], LOCATIONS_BLOCK);
}

static void join(struct view *to, const struct view *from)
{
	join_oldest(to, from);
	raise(to->epoch, from->epoch, THREADS);
}

static void copy(struct view *to, const struct view *from)
{
	memcpy(to->epoch, from->epoch, sizeof(to->epoch));
	to->blocks = from->blocks;
	for (unsigned b = 0; b < from->blocks; b++)
		memcpy(to->oldest[b], from->oldest[b], sizeof(to->oldest[b]));
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

static void forget(struct view *view)
{
	memset(view->epoch, 0, sizeof(view->epoch));
	view->blocks = 0;
}

void memory_reset(void)
{
	memory.count = 0;
	memory.made = 0;
	if (++memory.execution == 0) { /* it has wrapped */
		memset(memory.slots, 0, sizeof(memory.slots));
		memory.execution = 1;
	}
	forget(&memory.fences);
	forget(&memory.threads[0].now);
	forget(&memory.threads[0].acquirable);
	forget(&memory.threads[0].released);
	memory.threads[0].last_read = 0;
}

void memory_start(unsigned id)
{
	struct knowledge *thread = &memory.threads[id];

	copy(&thread->now, &mine()->now);
	copy(&thread->acquirable, &mine()->acquirable);
	copy(&thread->released, &mine()->released);
	thread->last_read = mine()->last_read;
	thread->now.epoch[id] = 1;
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

/* The number of a new store. */
static uint16_t make_store(void)
{
	if (memory.made == STORES_MADE)
		explore_fail(EXPLORE_SITE("STORES_MADE"),
			     "livelock? too many stores");
	memory.stores[memory.made].id = ++memory.last_id;
	return (uint16_t)memory.made++;
}

/* The slot of a location, or the free one that it may have. */
static struct slot *slot_of(const volatile void *address)
{
	uint64_t i = (uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >> 55;
	struct slot *slot = &memory.slots[i];

	while (slot->execution == memory.execution &&
	       memory.addresses[slot->location] != address) {
		i = (i + 1) % SLOTS;
		slot = &memory.slots[i];
	}
	return slot;
}

/* A location's first store is what memory holds when it is first met. */
static unsigned add_location(const volatile void *address, size_t size)
{
	unsigned l = memory.count;
	struct location *location = &memory.locations[l];
	struct store *first;

	if (l == LOCATIONS)
		explore_fail(EXPLORE_SITE("LOCATIONS"), "too many locations");
	memory.count++;
	*slot_of(address) = (struct slot){ memory.execution, (uint8_t)l };
	memory.addresses[l] = address;
	location->size = size;
	location->count = 1;
	location->stores[0] = make_store();
	first = &memory.stores[location->stores[0]];
	first->value = raw_read(address, size);
	first->time = 0;
	first->updates = false;
	forget(&first->view);
	return l;
}

/* The number of a location, or memory.count if it was not met yet. */
static unsigned look_up(const volatile void *address)
{
	const struct slot *slot = slot_of(address);

	return slot->execution == memory.execution ? slot->location
						   : memory.count;
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
	return &memory.stores[memory.locations[l].stores[index]];
}

static uint16_t newest_time(unsigned l)
{
	return store_at(l, newest(l))->time;
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

	raise_oldest(&me->now, l, store->time);
	me->last_read = l;
	if (me->known[l] == store->id)
		return store->value;
	if (acquires(order)) {
		join(&me->now, &store->view);
		me->known[l] = store->id;
	} else if (me->noted[l] != store->id) {
		join(&me->acquirable, &store->view);
		me->noted[l] = store->id;
	}
	return store->value;
}

/* May the current thread's next store follow this one at once? */
static bool can_follow(unsigned l, unsigned index)
{
	const struct store *before = store_at(l, index);
	const struct store *next;

	if (index == newest(l))
		return true;
	next = store_at(l, index + 1);
	return before->time >= oldest(&mine()->now, l) && !next->updates &&
	       next->time - before->time > 1;
}

/* Make room for a store behind @before; its time is set. */
static struct store *insert(unsigned l, unsigned before)
{
	struct location *location = &memory.locations[l];
	uint16_t *at = &location->stores[before + 1];
	unsigned later = newest(l) - before;
	uint16_t time = store_at(l, before)->time;

	if (location->count == STORES)
		explore_fail(EXPLORE_SITE("STORES"),
			     "livelock? too many stores to one location");
	time = later ? (uint16_t)((time + store_at(l, before + 1)->time) / 2)
		     : (uint16_t)(time + GAP);
	memmove(at + 1, at, later * sizeof(*at));
	*at = make_store();
	location->count++;
	memory.stores[*at].time = time;
	return &memory.stores[*at];
}

/* The current thread stores, behind the store @before, which it @updates if
 * this is a read-modify-write. */
static void add(unsigned l, unsigned before, uint64_t value, memory_order order,
		bool updates)
{
	struct knowledge *me = mine();
	struct store *store = insert(l, before);

	raise_oldest(&me->now, l, store->time);
	store->value = value;
	store->updates = updates;
	copy(&store->view, releases(order) ? &me->now : &me->released);
	raise_oldest(&store->view, l, store->time);
	if (updates)
		join(&store->view, &store_at(l, before)->view);
	if (before + 2 == memory.locations[l].count)
		raw_write((volatile void *)(uintptr_t)memory.addresses[l],
			  memory.locations[l].size, value);
	thread_stored();
}

/* The newest store, or for a price an older one that will do. */
static unsigned
pick(unsigned l, bool (*will_do)(unsigned l, unsigned index, uint64_t value),
     uint64_t value)
{
	unsigned indices[SEARCH_OPTIONS];
	unsigned n = 0;

	if (!search_can_spend(BUDGET_STALE))
		return newest(l);
	indices[n++] = newest(l);
	for (unsigned i = newest(l); i > 0 && n < SEARCH_OPTIONS; i--) {
		if (store_at(l, i - 1)->time < oldest(&mine()->now, l))
			break;
		if (will_do(l, i - 1, value))
			indices[n++] = i - 1;
	}
	return indices[search_spend(BUDGET_STALE, n)];
}

/* To load. */
static bool any(unsigned l, unsigned index, uint64_t unused)
{
	(void)l;
	(void)index;
	(void)unused;
	return true;
}

/* To store behind it, or to replace it. */
static bool followed(unsigned l, unsigned index, uint64_t unused)
{
	(void)unused;
	return can_follow(l, index);
}

/* For a strong compare-exchange: it fails on none but a different value. */
static bool compared(unsigned l, unsigned index, uint64_t expected)
{
	return store_at(l, index)->value != expected || can_follow(l, index);
}

/* The content of memory when a location is first met is its first store; later,
 * initialising it is a relaxed store. */
void explore_init(volatile void *address, size_t size, uint64_t value)
{
	unsigned l = look_up(address);

	if (l == memory.count)
		raw_write(address, size, value);
	else
		add(l, newest(l), truncate(value, size), memory_order_relaxed,
		    false);
}

/* The next step of this thread is an operation on what is at @address. */
static unsigned step_at(const volatile void *address, size_t size,
			memory_order order, const struct explore_site *site)
{
	refuse_seq_cst(order, site);
	thread_step(site);
	race_check_freed(address, site);
	return find(address, size);
}

uint64_t explore_load(const volatile void *address, size_t size,
		      memory_order order, const struct explore_site *site)
{
	unsigned l = step_at(address, size, order, site);
	unsigned index = pick(l, any, 0);
	uint64_t value = observe(l, index, order);

	trace(site, "load", address, value, index == newest(l) ? "" : "stale");
	return value;
}

void explore_store(volatile void *address, size_t size, uint64_t value,
		   memory_order order, const struct explore_site *site)
{
	unsigned l = step_at(address, size, order, site);
	unsigned before = pick(l, followed, 0);
	bool early = before != newest(l);

	add(l, before, truncate(value, size), order, false);
	trace(site, "store", address, value, early ? "early" : "");
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
	unsigned l = step_at(address, size, order, site);
	unsigned before = pick(l, followed, 0);
	bool early = before != newest(l);
	uint64_t old = observe(l, before, order);
	uint64_t new = truncate(updated(op, old, operand), size);

	add(l, before, new, order, true);
	trace(site, "update", address, new, early ? "early" : "");
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
	bool early;

	l = step_at(address, size, success, site);
	index = pick(l, compared, want);
	early = index != newest(l);
	if (store_at(l, index)->value == want &&
	    !(weak && search_spend(BUDGET_STALE, 2))) {
		observe(l, index, success);
		add(l, index, truncate(desired, size), success, true);
		trace(site, "cas", address, desired, early ? "early" : "done");
		return true;
	}
	value = observe(l, index, failure);
	raw_write(expected, size, value);
	trace(site, "cas", address, value, early ? "stale" : "failed");
	return false;
}

static void fence(struct knowledge *me, memory_order order)
{
	if (acquires(order))
		join(&me->now, &me->acquirable);
	if (order == memory_order_seq_cst) {
		join_oldest(&me->now, &memory.fences);
		join_oldest(&memory.fences, &me->now);
	}
	if (releases(order))
		copy(&me->released, &me->now);
}

void explore_fence(memory_order order, const struct explore_site *site)
{
	if (order == memory_order_seq_cst)
		thread_step(site);
	fence(mine(), order);
	trace(site, "fence", NULL, 0, "");
}

/*
 * A fence of the caller, then one of each other thread at the place that it has
 * reached, a step each, then another one of the caller. A thread's fence learns
 * what the caller knew at first, and not what another thread's fence has told
 * since: the kernel makes all of them at once, in any order.
 */
bool explore_fence_all(const struct explore_site *site)
{
	struct view before;

	thread_step(site);
	fence(mine(), memory_order_seq_cst);
	trace(site, "fence", NULL, 0, "");
	copy(&before, &memory.fences);
	for (unsigned id = 1; id < thread_count(); id++) {
		struct view told;

		if (id == thread_current())
			continue;
		thread_step(site);
		copy(&told, &memory.fences);
		copy(&memory.fences, &before);
		fence(&memory.threads[id], memory_order_seq_cst);
		join_oldest(&memory.fences, &told);
		trace(site, "fence of thread", NULL, id, "");
	}
	fence(mine(), memory_order_seq_cst);
	return true;
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
	/* Where nothing was accessed yet there is nothing to learn. */
	bool informed =
		memory.count == 0 || oldest(&me->now, l) == newest_time(l);

	trace(site, "spin", NULL, 0, "");
	if (informed && thread_spin())
		for (l = 0; l < memory.count; l++)
			raise_oldest(&me->now, l, newest_time(l));
	else
		raise_oldest(&me->now, l, newest_time(l));
}
