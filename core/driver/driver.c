/* SPDX-License-Identifier: MIT */
/* driver.c - see driver.h */
#include "core/driver/driver.h"

#include <errno.h>

#include "core/base/hot.h"
#include "core/os/process_generation.h"

void driver_init(struct driver *driver, unsigned group, uint32_t generation,
		 void (*summon)(void *ctx, unsigned group), void *summon_ctx)
{
	driver->group = group;
	driver->generation = generation;
	driver->summon = summon;
	driver->summon_ctx = summon_ctx;
	atomic_init(&driver->opened, 0);
	atomic_init(&driver->attached, 0);
	atomic_init(&driver->leader, 0);
	atomic_init(&driver->summoned, 0);
	atomic_init(&driver->looked_ns, 0);
	atomic_init(&driver->seen_ns, 0);
	atomic_init(&driver->arrivals, 0);
}

static uint64_t pack(const struct epoll_set *set)
{
	return ((uint64_t)set->event_fd + 1) << 32 |
	       ((uint64_t)set->epoll_fd + 1);
}

static struct epoll_set unpack(uint64_t opened)
{
	return (struct epoll_set){ .epoll_fd = (int)(uint32_t)opened - 1,
				   .event_fd = (int)(opened >> 32) - 1 };
}

static struct epoll_set set_of(const struct driver *driver)
{
	/* Acquire: the descriptors were opened. Pairs with the release in
	 * open_once(). */
	return unpack(atomic_load_acquire(&driver->opened));
}

void driver_close(struct driver *driver)
{
	struct epoll_set set = set_of(driver);

	if (driver_used(driver))
		epoll_set_close(&set);
}

/* ---- descriptors --------------------------------------------------------- */

/* Open the epoll if that has not been done. */
static int open_once(struct driver *driver)
{
	struct epoll_set set;
	uint64_t none = 0;
	int code;

	if (driver_used(driver))
		return 0;
	code = epoll_set_open(&set);
	if (code)
		return code;
	if (driver->outer)
		code = epoll_set_nest(&set, driver->outer - 1);
	/* Release: the descriptors were opened. Pairs with the acquire in set_of(). If
	 * another thread was faster, its epoll counts. */
	if (code || !atomic_cas_release(&driver->opened, &none, pack(&set)))
		epoll_set_close(&set);
	return code;
}

static bool alive(const struct driver *driver)
{
	return process_generation() == driver->generation;
}

int driver_attach(struct driver *driver, int fd, uint64_t data)
{
	struct epoll_set set;
	uint32_t before;
	int code;

	if (!alive(driver))
		return -EOWNERDEAD;
	code = open_once(driver);
	if (code)
		return code;
	set = set_of(driver);
	/* Relaxed: ordered by the fence. Counted first, so that no event is passed
	 * over. */
	before = atomic_fetch_add_relaxed(&driver->attached, 1);
	code = epoll_set_add(&set, fd, data);
	if (code) {
		atomic_fetch_sub_relaxed(&driver->attached, 1);
		return code;
	}
	/* I11. Orders the count before the load of the leader, and of the parked bits in
	 * summon(). Pairs with the fence in idle_park_begin(): either a worker that
	 * parks sees the descriptor, or it is summoned. */
	atomic_fence_seq_cst();
	if (!driver->outer &&
	    (before == 0 || atomic_load_relaxed(&driver->leader) == 0))
		driver->summon(driver->summon_ctx, driver->group);
	return 0;
}

int driver_detach(struct driver *driver, int fd)
{
	struct epoll_set set = set_of(driver);
	int code;

	if (!alive(driver))
		return -EOWNERDEAD;
	code = epoll_set_remove(&set, fd);
	/* Relaxed: workers may look once more in vain. */
	if (!code)
		atomic_fetch_sub_relaxed(&driver->attached, 1);
	return code;
}

/* ---- the leader ---------------------------------------------------------- */

bool driver_enter(struct driver *driver, unsigned i)
{
	/* Relaxed: a first guess, which the compare-exchange verifies. */
	uint32_t leader;

	if (!driver_used(driver))
		return false;
	leader = atomic_load_relaxed(&driver->leader);
	return (leader == 0 || leader == i + 1) &&
	       atomic_cas_relaxed(&driver->leader, &leader,
				  (i + 1) | DRIVER_ASLEEP);
}

static void interrupt(void *ctx)
{
	const struct driver *driver = ctx;
	struct epoll_set set = set_of(driver);

	epoll_set_interrupt(&set);
}

static void batch_begin(const struct driver *driver, struct driver_batch *batch,
			bool sleeps)
{
	batch->count = 0;
	batch->slept = sleeps;
	batch->full = false;
	/* Relaxed: for tools. */
	batch->since_ns = atomic_load_relaxed(&driver->seen_ns);
}

/* Take the interruption, if there is one, out of the batch. */
static bool take_interrupt(struct driver_batch *batch)
{
	batch->full = batch->count == DRIVER_BATCH;
	for (unsigned i = 0; i < batch->count; i++) {
		if (batch->events[i].data.u64 == EPOLL_SET_INTERRUPT) {
			batch->count--;
			for (; i < batch->count; i++)
				batch->events[i] = batch->events[i + 1];
			return true;
		}
	}
	return false;
}

void driver_sleep(struct driver *driver, unsigned i, struct parker *parker,
		  uint64_t deadline_ns, struct driver_batch *batch)
{
	struct epoll_set set = set_of(driver);
	bool interrupted;

	batch_begin(driver, batch, true);
	parker->wake = interrupt;
	parker->ctx = driver;
	if (parker_begin(parker)) {
		batch->count = epoll_set_sleep(&set, batch->events,
					       DRIVER_BATCH, deadline_ns);
		interrupted = take_interrupt(batch);
		parker_end(parker);
		if (interrupted)
			epoll_set_clear(&set);
	}
	/* Relaxed: nobody else writes it while it has this worker's index and the bit. */
	atomic_store_relaxed(&driver->leader, i + 1);
}

bool driver_depose(struct driver *driver, unsigned from)
{
	uint32_t leader = from + 1;

	/* Relaxed: ordered by the fence. */
	if (!atomic_cas_relaxed(&driver->leader, &leader, 0))
		return false;
	/* I11. Orders the role before the load of the parked bits in summon(). Pairs with
	 * the fence in idle_park_begin(): either a worker that parks sees that there is
	 * no leader, or it is summoned. */
	atomic_fence_seq_cst();
	driver->summon(driver->summon_ctx, driver->group);
	return true;
}

bool driver_resign(struct driver *driver, unsigned i)
{
	return driver_leads(driver, i) && driver_depose(driver, i);
}

bool driver_vacate(struct driver *driver, unsigned i)
{
	/* Relaxed: a first guess, which the compare-exchange verifies. */
	uint32_t leader = atomic_load_relaxed(&driver->leader);

	/* Relaxed: ordered by the caller's fence. */
	return leader == 0 || (leader == i + 1 &&
			       atomic_cas_relaxed(&driver->leader, &leader, 0));
}

void driver_arrived(struct driver *driver, unsigned i)
{
	/* Relaxed, both: a hint. A vote may be lost to one of another worker. */
	uint32_t word = atomic_load_relaxed(&driver->arrivals);
	uint32_t votes = word >> DRIVER_VOTES_SHIFT;
	uint32_t chosen = word & DRIVER_INDEX;

	if (chosen == i + 1)
		votes += votes < 2 * DRIVER_VOTES;
	else if (votes > 0)
		votes--;
	else
		chosen = i + 1, votes = 1;
	atomic_store_relaxed(&driver->arrivals,
			     votes << DRIVER_VOTES_SHIFT | chosen);
}

bool driver_stuck(const struct driver *driver, uint64_t since_ns,
		  unsigned *leader)
{
	/* Relaxed, both: a guess, which driver_take_over() verifies. */
	uint32_t word = atomic_load_relaxed(&driver->leader);

	*leader = word - 1;
	return word != 0 && !(word & DRIVER_ASLEEP) &&
	       atomic_load_relaxed(&driver->looked_ns) <= since_ns;
}

bool driver_take_over(struct driver *driver, unsigned i, unsigned from)
{
	uint32_t leader = from + 1;

	/* Relaxed: the role guards no data. */
	return atomic_cas_relaxed(&driver->leader, &leader, i + 1);
}

/* ---- events -------------------------------------------------------------- */

HOT bool driver_take(struct driver *driver, uint64_t now_ns, uint64_t age_ns,
		     struct driver_batch *batch)
{
	struct epoll_set set = set_of(driver);
	/* Relaxed, all: a worker that looks too late or too often loses no event. */
	uint64_t looked_ns = atomic_load_relaxed(&driver->looked_ns);

	batch_begin(driver, batch, false);
	if (driver_leader_asleep(driver) || now_ns < looked_ns + age_ns ||
	    !atomic_cas_relaxed(&driver->looked_ns, &looked_ns, now_ns))
		return false;
	driver_seen(driver, now_ns);
	batch->count = epoll_set_take(&set, batch->events, DRIVER_BATCH);
	/* The interruption stays for the leader. */
	take_interrupt(batch);
	return batch->count > 0;
}
