/* SPDX-License-Identifier: MIT */
/* worker.h - the data of a worker */
#ifndef SKUA_CORE_LOOP_WORKER_H
#define SKUA_CORE_LOOP_WORKER_H

#include "core/fork_join/fork_join.h"
#include "core/queue/lifo_slot.h"
#include "core/queue/local_queue.h"
#include "core/driver/pollers.h"
#include "core/loop/pool.h"
#include "core/base/arithmetic.h"
#include "core/base/rng.h"
#include "core/task/group.h"
#include "core/base/spin.h"
#include "core/task/slab.h"
#include "core/telemetry/telemetry.h"
#include "core/base/tick.h"
#include "core/base/turns.h"
#include "core/loop/timers.h"
#include "core/idle/victims.h"
#include "probes/area.h"

struct fiber_stacks;
struct stacks;

struct worker {
	/* Constant while the workers run; read by thieves. */
	alignas(CACHE_PAIR) struct pool *pool;
	struct local_queue *queue;   /* of struct skua_task */
	struct fork_join *fork_join; /* its jobs */
	struct inject_group *inject; /* what enters at its group */
	struct driver *driver;       /* of its group */
	unsigned index;
	unsigned group; /* its LLC group */
	/* As in the pool. Copied to the other fields that each call from a poll reads. */
	uint32_t generation;
	const uint32_t *generation_here;

	/* Accessed by the worker only. */
	alignas(CACHE_PAIR) struct rng rng;
	struct work_flag flag; /* its bit of the pool's map */
	struct tick tick;
	struct turns turns;       /* of its own tasks and those injected */
	uint64_t batch_end;       /* of the last injected batch, in its queue */
	uint64_t overtaken_end;   /* of the tasks that timers' tasks overtook */
	uint64_t affinity_due_ns; /* pool.recheck_affinity; UINT64_MAX: never */
	uint64_t pollers_due_ns;  /* when its pollers are called although it is
				   * busy, and it checks other groups */
	unsigned group_turn;      /* the other group that it checks next; its
				   * own one if there is no other */
	uint32_t polls_until_inject; /* until the next check (turns.h) */
	uint32_t lifo_streak;        /* consecutive polls from the LIFO slot */
	uint32_t prioritised_streak; /* consecutive polls of urgent or bound
				      * tasks */
	bool inbox_turn;             /* see work_next() */
	/* The index + 1 of another group at which its last search has left tasks
	 * to the searchers of that group; 0: none. */
	unsigned left_at;
	/* The number of tasks that its last search left where it took one; and the
	 * number of which its waker told it, if it was woken since it last parked
	 * (I3). */
	uint32_t left, told;
	struct others {
		uint32_t ticks; /* until the next check */
		uint32_t step;  /* from its own group to the one to check */
		/* When tasks were first seen there; 0: none were. And how many
		 * had been taken from there until then. */
		uint64_t seen_ns, taken;
	} others; /* its checks of other groups (work_check_others()) */
	struct pollers pollers;
	struct slab_cache slab;
	struct stacks *stacks;             /* of its node; constant */
	struct fiber_stacks *fiber_stacks; /* its free ones */
	struct stolen_job job; /* the stolen job that it runs next */
	bool counted; /* it has one of the places for helpers (team.h) */
	bool spare;   /* the polled task's spare reference has not been lent */
	bool finishing; /* it ends a task that is not counted as finished yet */
	bool driven_idle; /* loop_drive() left it parked */
	bool watched; /* it has checked for a sentinel since it last parked (I7) */
	struct group_leaves leaves; /* of members that it has ended */
	uint32_t polls_within;      /* polls within the outermost one */
	/* The control bits of its thread at the last switch into a fiber; and the value of
	 * tasks_polled in a poll that may rely on them; 0: none. (fiber_poll()) */
	struct arithmetic arithmetic;
	uint64_t arithmetic_poll;
	/* Value of tasks_polled when a poll last began to fork. If that poll is
	 * the current one, it may have jobs in the deque, or be in skua_run(). A
	 * poll within it must not fork on top of them, and a fiber must not leave
	 * its worker. */
	uint64_t forked_at;
	/* Value of tasks_polled in the poll of its last call on a descriptor, and the
	 * calls of that poll that did not wait (call.h). */
	uint64_t io_poll;
	uint32_t io_calls;
	/* Value of tasks_polled at which it has polled as many tasks as were in its queue
	 * after its last events. */
	uint64_t round_end;
	struct spin spin;       /* its recent gaps */
	uint64_t idle_since_ns; /* when the current gap began */
	struct worker_telemetry telemetry;

	struct timers timers;

	/* Holds struct skua_task. Writers: any thread, to push; the worker, to
	 * take. */
	struct inject_queue inbox;

	alignas(CACHE_PAIR) struct lifo_slot lifo; /* of struct skua_task */

	/* 1: the worker is in a burst (I10): its pushes behind other tasks do
	 * not fence. Writer: the worker. Readers: thieves that find its queue
	 * empty. */
	atomic_u32 burst;

	/* Writer: the worker. Readers: any thread, and other processes. */
	struct area_worker area;
	/* Number of tasks that the worker finished. Writer: the worker.
	 * Readers: drains. Wraps at 2^64. */
	atomic_u64 finished;
};

/*
 * worker_init - prepare a worker in zeroed memory
 * @queue: its empty local queue
 * @slots: for its timers, as timer_wheel_init()
 *
 * The team already has a member for each worker, or has none at all.
 */
void worker_init(struct worker *worker, struct pool *pool, unsigned index,
		 struct local_queue *queue, struct timer_slot *slots);

void worker_destroy(struct worker *worker);

/* worker_polls_any - is the worker polling a task? Called by the worker
 * itself. */
static inline bool worker_polls_any(const struct worker *worker)
{
	return worker->area.task != 0;
}

#endif
