/* SPDX-License-Identifier: MIT */
/**
 * simulation.h - simulate workers that run tasks, steal, search and park
 *
 * A worker acts at the end of a task, of a round of its search, or of a wake-up. It does
 * a whole step at once, and time moves on for this worker alone: other workers see the
 * result as if it had been there from the beginning of the step. A policy (policy.h)
 * chooses the victims that the worker tries, and the workers that it wakes.
 */
#ifndef SKUA_BENCH_SIMULATOR_SIMULATION_H
#define SKUA_BENCH_SIMULATOR_SIMULATION_H

#include <stdbool.h>

#include "bench/harness/histogram.h"
#include "bench/simulator/arrivals.h"
#include "bench/simulator/events.h"
#include "bench/simulator/layout.h"
#include "bench/simulator/task_ring.h"
#include "core/base/tuning.h"

struct policy;

/* The tuning of the policy `runtime`. It equals the defaults of the library;
 * a test compares them. */
#define TUNING_DEFAULT                                                     \
	{                                                                  \
		.steal_attempts = 32, .steal_max = 32, .steal_max_far = 1, \
		.far_samples = 2, .far_delay_ns = 5000                     \
	}

/**
 * struct plan - the parameters of a simulation
 * @wake_by_group: for policies other than `runtime`: a searching worker suppresses
 *	wake-ups for its own group only, and not for all workers
 * @one_queue: all tasks from outside wait in one queue, and not at a group. Other
 *	policies than `runtime` put them into the queue of a worker
 * @percent, @service_ns: see struct arrivals
 * @depth: levels of a tree below its root; it has 2^(depth + 1) - 1 tasks. 1 for `once`
 * @children: how many tasks a task spawns at its end, if it has levels below it
 * @duration_ns: simulated time of any workload except a tree. Tasks that arrive in its
 *	first fifth are not measured; the task of `once` arrives then
 */
struct plan {
	const struct layout *layout;
	const struct policy *policy;
	struct tuning tuning;
	bool wake_by_group;
	bool one_queue;
	enum workload_kind workload;
	unsigned percent;
	unsigned depth;
	unsigned children;
	uint64_t service_ns;
	uint64_t duration_ns;
	uint64_t seed;
};

/* Numbers of lines and queues that a kind of step has read. */
struct reads {
	uint64_t times; /* number of steps */
	uint64_t lines, queues;
	unsigned most_lines, most_queues; /* in one step */
};

/* The steps of a wake chain that are told apart; the last one stands for all from
 * there on. */
enum { SIM_STEPS = 256 };

/* Groups that a step of the wake chain of `once` has reached. */
struct sim_step {
	unsigned groups;
	uint64_t
		last_ns; /* when the last of them began a task, from the burst on */
};

enum sim_state { SIM_RUNS, SIM_SEARCHES, SIM_PARKED, SIM_WAKES, SIM_STATES };

struct outcome {
	uint64_t arrived, done, left; /* tasks; left: in queues and running */
	uint64_t arrived_sum, done_sum, left_sum; /* of their serial numbers */
	uint64_t done_away; /* tasks that ran off their home node */
	uint64_t steals[TIERS];
	uint64_t moved[TIERS]; /* tasks */
	uint64_t injected; /* tasks pushed to queues of groups, or to the one */
	/* Lines of other groups than the acting thread's that all pushes to these
	 * queues, wake-ups after them, and takes used. The lines of the one queue
	 * belong to the group of the thread that used them last. */
	uint64_t lines_elsewhere;
	uint64_t parks, wakes;
	unsigned in_state[SIM_STATES]; /* workers, at the end */
	uint64_t work_ns, home_ns;     /* time of tasks; the same at home */
	uint64_t end_ns;
	struct reads failed; /* rounds of a search that found nothing */
	struct reads
		told; /* first rounds of workers that were told of many tasks
			    * (I3), and found none */
	struct reads sleeping; /* the final scans of workers that parked */
	struct reads
		handed; /* checks for more work when the last search ends */
	struct reads checked; /* checks for a worker to wake */
	struct reads woken;   /* those of @checked that woke a worker */
	struct histogram latencies;
	/* Of `once`, by step: the worker that spawns the tasks is at step 0, and a
	 * worker that is woken is one step after the one that wakes it. */
	struct sim_step chain[SIM_STEPS];
	uint64_t burst_ns; /* when the tasks of `once` were spawned */
};

/* An injection queue. The groups are those of the threads that used its lines
 * last. */
struct sim_queue {
	struct task_ring tasks;
	unsigned calls_at, tail_at, head_at, lock_at;
	uint64_t locked_ns; /* until then, a taker holds the lock */
};

struct sim_worker {
	struct task_ring tasks;
	enum sim_state state;
	struct sim_task running; /* the task, in state SIM_RUNS */
	uint64_t contended_ns;   /* until then, a thief occupies its queue */
	uint64_t search_ns;      /* when its search began */
	unsigned rounds;         /* rounds of this search */
	unsigned step;           /* of the wake chain */
};

struct simulation {
	struct plan plan;
	const struct layout *layout;
	struct sim_worker *workers;
	struct sim_queue
		*queues_of; /* by group; of plan.one_queue, the first */
	unsigned in_state[SIM_STATES]; /* numbers of workers */
	struct events events;
	struct arrivals arrivals;
	uint64_t serial;        /* serial number of the last task */
	unsigned acting;        /* index + 1 of the worker that acts; 0: none */
	bool *reached;          /* by group: it has begun a task of `once` */
	unsigned lines, queues; /* read by the current round */
	void *policy;           /* the policy's data */
	struct outcome *outcome;
};

/**
 * simulation_run - run a simulation
 * @outcome: receives the results
 *
 * The same plan always has the same outcome. Return: 0; -ENOMEM.
 */
int simulation_run(const struct plan *plan, struct outcome *outcome);

/* ---- for policies ------------------------------------------------------------------ */

/* simulation_enter - set the state of worker @i */
void simulation_enter(struct simulation *sim, unsigned i, enum sim_state state);

/* simulation_claim - wake worker @i, which is parked */
void simulation_claim(struct simulation *sim, unsigned i);

/* simulation_spend - add @ns to the time that the current step takes */
void simulation_spend(uint64_t ns);

/* simulation_read_line - let worker @i read a group's line of the work map */
void simulation_read_line(struct simulation *sim, unsigned i, unsigned group);

/* simulation_probe - let worker @i read worker @victim's queue. Return: whether it has
 * tasks */
bool simulation_probe(struct simulation *sim, unsigned i, unsigned victim);

/**
 * simulation_steal - let worker @i steal half of worker @victim's queue
 * @most: maximum number of tasks to take
 *
 * The thief begins to run the first of the tasks. Return: false if the queue was empty.
 */
bool simulation_steal(struct simulation *sim, unsigned i, unsigned victim,
		      unsigned most);

/* simulation_queue - return the queue of the tasks that come from outside at @group */
struct sim_queue *simulation_queue(struct simulation *sim, unsigned group);

/**
 * simulation_take - let worker @i take from the queue at @group
 * @most: maximum number of tasks to take
 *
 * The worker puts them into its own queue. Return: how many; 0 if the queue is empty, or
 * if another worker takes from it.
 */
unsigned simulation_take(struct simulation *sim, unsigned i, unsigned group,
			 unsigned most);

/* simulation_begin - let worker @i begin the oldest task of its queue */
void simulation_begin(struct simulation *sim, unsigned i);

/* simulation_round - begin a round of a search: reset the counts of lines and queues */
void simulation_round(struct simulation *sim);

/* simulation_failed - end a round of worker @i's search that found nothing
 *
 * The next round begins now, but no earlier than COSTS_ROUND_NS after @began_ns. */
void simulation_failed(struct simulation *sim, unsigned i, uint64_t began_ns);

/* simulation_count - add a step that read @lines and @queues to @reads */
void simulation_count(struct reads *reads, unsigned lines, unsigned queues);

#endif
