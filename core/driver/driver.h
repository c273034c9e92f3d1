/* SPDX-License-Identifier: MIT */
/**
 * driver.h - events of descriptors, and the worker that waits for them
 *
 * Each group of workers has a driver with an epoll, which is opened when the first
 * descriptor is attached to it. From then on one worker of the group at a time is its
 * leader. If the leader has nothing to do, it sleeps in the epoll; all other workers of the
 * group sleep on their futexes. A leader that an event has woken keeps the role while it
 * runs tasks, and looks for further events between them. So an event costs no wake-up of
 * another worker. If the leader gets into a long poll, the sentinel takes the role, or
 * passes it to a parked worker of the group (core/loop/sentinel.h). Rules I11 and I12 of
 * core/idle/IDLE.md say so exactly, with the proof.
 *
 * Any worker may take events. They are handed to a callback, which makes tasks runnable.
 */
#ifndef SKUA_CORE_DRIVER_DRIVER_H
#define SKUA_CORE_DRIVER_DRIVER_H

#include <stdalign.h>

#include "core/base/atomic.h"
#include "core/driver/epoll_set.h"
#include "core/idle/parker.h"

/* Events taken at once. More would keep the tasks of the first ones waiting. */
#ifdef SKUA_EXPLORE
#define DRIVER_BATCH 2u
#else
#define DRIVER_BATCH 64u
#endif
/* How old the last look must be before a leader that has other work, or a searcher that
 * does not lead, looks again; and before other workers look. They look only if the leader
 * does not, as they would take its events away from it. A guess: an empty look takes 0.1 us
 * to 0.3 us, and a leader with short polls looks once in 25 us and a tick; but see
 * DRIVER_ROUND_NS. */
#ifdef SKUA_EXPLORE
#define DRIVER_LOOK_NS UINT64_C(0)
#define DRIVER_HELP_NS UINT64_C(0)
#ifndef DRIVER_ROUND_NS /* a model may set it */
#define DRIVER_ROUND_NS UINT64_C(0)
#endif
#else
#define DRIVER_LOOK_NS  UINT64_C(25000)
#define DRIVER_HELP_NS  UINT64_C(100000)
/* The same for a worker that has not yet polled as many tasks as it had after its last
 * events. A guess. With 25 us, a server of 50 busy connections (echo_50) looked once for three
 * requests instead of once for twelve, and took 6 % more time. */
#define DRIVER_ROUND_NS UINT64_C(400000)
#endif
/* A leader whose polls take longer, on average, gives the role up before it polls. A
 * guess: a wake-up of another worker takes 5 us to 20 us. */
#define DRIVER_KEEP_NS UINT64_C(20000)

/* One in so many events votes for the worker on whose CPU it arrived. A guess: a vote costs a
 * system call. */
#define DRIVER_VOTE_EVENTS 64u
/* The votes that make a worker the preferred leader. It has at most twice as many, and a vote for
 * another worker takes one away. A guess: 128 events in a row choose a worker, and 384 choose
 * another one after that. The benchmarks echo_1 and echo_50 retune both. */
#define DRIVER_VOTES       2u
#define DRIVER_VOTES_SHIFT 24
#define DRIVER_INDEX       ((UINT32_C(1) << DRIVER_VOTES_SHIFT) - 1)
/* Its index + 1 is 0, which stands for no worker. */
#define DRIVER_NOBODY UINT32_MAX

/* The index + 1 of the leader, and this bit while it sleeps in the driver. */
#define DRIVER_ASLEEP (UINT32_C(1) << 31)

struct driver;

/**
 * driver_deliver_fn - act on an event, for example by making a task runnable
 * @data: that of driver_attach(); the descriptor may have been detached since
 * @events: as of epoll_wait(2)
 *
 * Called on a worker that runs no task, and holds no lock. It must not block.
 */
typedef void driver_deliver_fn(struct driver *driver, uint64_t data,
			       uint32_t events);

/* Events that a worker has taken, and is about to deliver. */
struct driver_batch {
	unsigned count;
	bool slept; /* the worker was going to sleep until they came */
	bool full;  /* there may be more */
	/* Since when they may have waited: driver.seen_ns before that; 0: it is not known. */
	uint64_t since_ns;
	struct epoll_event events[DRIVER_BATCH];
};

struct driver {
	/* Set before the workers run; constant from then on. All drivers of a pool have the
	 * same deliver and owner: a worker passes its own driver to deliver, also with events
	 * of other groups. */
	driver_deliver_fn *deliver;
	void *owner; /* of deliver */
	/* Returns the CPU on which the kernel has handled what an event announces, or a
	 * negative value if it does not tell. The same in all drivers. NULL: it never does. */
	int (*cpu_of)(uint64_t data);
	/* Makes a parked worker of @group check whether there is a leader, and whether the
	 * leader is watched. Called after a fence. */
	void (*summon)(void *ctx, unsigned group);
	void *summon_ctx;
	unsigned group;
	/* The epoll in which the caller of a driven runtime waits, + 1; 0: the workers
	 * have threads. */
	int outer;
	/* The generation of the process that attached: see process_generation.h. */
	uint32_t generation;

	/*
	 * The two descriptors of the epoll_set, + 1 each; 0: no descriptor was ever
	 * attached. Writer: the first thread that attaches. Readers: any, at each end of
	 * a tick; so it is on a line that nobody writes later.
	 */
	atomic_u64 opened;

	/* The number of attached descriptors. Writers: threads that attach or detach.
	 * Readers: workers. */
	alignas(CACHE_PAIR) atomic_u32 attached;
	/* The leader; 0: there is none. Writers: a parked worker, from 0; the leader; a
	 * sentinel of any group, which takes the role from a leader that is awake. Readers:
	 * any. */
	alignas(CACHE_PAIR) atomic_u32 leader;
	/* Index + 1 of the worker of the group that was last asked to take the role of
	 * leader, or of sentinel; 0: it took one, or passed the summons on. Writers: the
	 * thread that summons; the summoned worker; a new sentinel of the group. Readers:
	 * workers of the group. */
	atomic_u32 summoned;
	/* When a worker last looked for events. Writers: workers, which look after they
	 * have changed it. Readers: workers. */
	atomic_u64 looked_ns;
	/* For tools: the same, but a sleep in the driver that ends without events counts as a
	 * look. Writers and readers: workers. */
	atomic_u64 seen_ns;
	/* The worker on whose CPU most events arrive: index + 1, or 0; in the upper 8 bits,
	 * its votes. A hint. Writers and readers: workers. */
	atomic_u32 arrivals;
};

/* driver_init - @driver is zeroed; the generation of the process is known */
void driver_init(struct driver *driver, unsigned group, uint32_t generation,
		 void (*summon)(void *ctx, unsigned group), void *summon_ctx);

void driver_close(struct driver *driver);

/**
 * driver_attach - watch a descriptor, edge-triggered, to read and to write
 * @data: handed to the callback; not EPOLL_SET_INTERRUPT
 *
 * Opens the epoll at the first call.
 *
 * Threads: any. Return: 0; -EPERM (a file or directory); -EBADF; -EEXIST; -EMFILE,
 * -ENFILE (the driver needs two descriptors itself); -ENOMEM; -ENOSPC; -EOWNERDEAD (in a
 * child of fork()).
 */
int driver_attach(struct driver *driver, int fd, uint64_t data);

/* driver_detach - watch a descriptor no longer. Events that were taken before may still be
 * delivered. Threads: any. Return: 0; -ENOENT, -EBADF; -EOWNERDEAD. */
int driver_detach(struct driver *driver, int fd);

/* driver_used - was a descriptor ever attached? */
static inline bool driver_used(const struct driver *driver)
{
	/* Relaxed: a thread that must not miss it has fenced, or is summoned (I11). */
	return atomic_load_relaxed(&driver->opened) != 0;
}

/* driver_attached - are descriptors attached? */
static inline bool driver_attached(const struct driver *driver)
{
	/* Relaxed: as in driver_used(). */
	return driver_used(driver) &&
	       atomic_load_relaxed(&driver->attached) != 0;
}

/* ---- the leader ---------------------------------------------------------- */

/* driver_leads - is worker @i the leader? Called by that worker. */
static inline bool driver_leads(const struct driver *driver, unsigned i)
{
	/* Relaxed: only this worker writes its index there, and only a sentinel takes it
	 * away, after which the worker need not know at once. */
	return atomic_load_relaxed(&driver->leader) == i + 1;
}

/* driver_led - is there a leader? */
static inline bool driver_led(const struct driver *driver)
{
	/* Relaxed: the caller has fenced, or takes it as a hint. */
	return atomic_load_relaxed(&driver->leader) != 0;
}

/* driver_leader_asleep - does the leader sleep in the driver? A hint. */
static inline bool driver_leader_asleep(const struct driver *driver)
{
	/* Relaxed: a hint. */
	return atomic_load_relaxed(&driver->leader) & DRIVER_ASLEEP;
}

/* driver_enter - take the role, or keep it, in order to sleep in the driver. Called by
 * worker @i, whose parked bit is set, after a fence. Return: false if another worker
 * leads, or no descriptor was ever attached. */
bool driver_enter(struct driver *driver, unsigned i);

/**
 * driver_sleep - sleep until there are events, a notification, or the deadline
 * @parker: of worker @i, which has entered
 * @deadline_ns: as epoll_set_sleep()
 * @batch: receives the events
 *
 * The worker leads, and is awake, afterwards.
 */
void driver_sleep(struct driver *driver, unsigned i, struct parker *parker,
		  uint64_t deadline_ns, struct driver_batch *batch);

/* driver_resign - give the role up if worker @i, which calls this, has it, and make
 * another worker take it. Return: true if it did. */
bool driver_resign(struct driver *driver, unsigned i);

/* driver_vacate - make the role free if worker @i, which calls this, has it. The caller then
 * fences, and summons another worker. Return: false if another worker has the role. */
bool driver_vacate(struct driver *driver, unsigned i);

/* driver_arrived - vote for worker @i: an event has arrived on its CPU; DRIVER_NOBODY: against
 * all workers */
void driver_arrived(struct driver *driver, unsigned i);

/* driver_candidate - return index + 1 of the worker with the votes; 0: none */
static inline unsigned driver_candidate(const struct driver *driver)
{
	/* Relaxed: a hint. */
	return atomic_load_relaxed(&driver->arrivals) & DRIVER_INDEX;
}

/* driver_preferred - the same if the worker has enough votes to be the better leader, else 0 */
static inline unsigned driver_preferred(const struct driver *driver)
{
	/* Relaxed: a hint. */
	uint32_t word = atomic_load_relaxed(&driver->arrivals);

	return word >> DRIVER_VOTES_SHIFT >= DRIVER_VOTES ? word & DRIVER_INDEX
							  : 0;
}

/* driver_stuck - is the leader awake, although no worker has looked for events since
 * @since_ns? @leader: receives its index */
bool driver_stuck(const struct driver *driver, uint64_t since_ns,
		  unsigned *leader);

/* driver_depose - take the role from worker @from, which is awake, and make another worker
 * of the group take it. Return: false if that worker does not lead, or sleeps. */
bool driver_depose(struct driver *driver, unsigned from);

/* driver_take_over - take the role from worker @from, which is awake, as worker @i, the
 * sentinel. Return: false if that worker does not lead, or sleeps. */
bool driver_take_over(struct driver *driver, unsigned i, unsigned from);

/* ---- events -------------------------------------------------------------- */

/* driver_seen - note for tools that no event waited at @now_ns: the caller looked then, or
 * slept until then */
static inline void driver_seen(struct driver *driver, uint64_t now_ns)
{
	/* Relaxed: for tools. */
	atomic_store_relaxed(&driver->seen_ns, now_ns);
}

/* driver_looked - note that the caller has slept in the driver until @now_ns */
static inline void driver_looked(struct driver *driver, uint64_t now_ns)
{
	/* Relaxed: as in driver_take(). */
	atomic_store_relaxed(&driver->looked_ns, now_ns);
	driver_seen(driver, now_ns);
}

/**
 * driver_take - take events, unless the leader sleeps or the last look is recent
 * @age_ns: the least age of the last look
 *
 * Threads: workers. Return: are there any events in @batch?
 */
bool driver_take(struct driver *driver, uint64_t now_ns, uint64_t age_ns,
		 struct driver_batch *batch);

#endif
