/* SPDX-License-Identifier: MIT */
/**
 * simulation.h - workers that run tasks, steal, search and sleep, in events
 *
 * A worker acts at the end of a task, of a round of its search, or of a wake-up.
 * It does all of a step at once, while time moves on for it alone: other workers see
 * the result from the beginning of the step. A policy (policy.h) chooses the victims
 * that it tries, and the workers that it wakes.
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

/* Of the policy of the runtime, and the runtime's defaults; a test compares them. */
#define TUNING_DEFAULT                                                     \
	{                                                                  \
		.steal_attempts = 32, .steal_max = 32, .steal_max_far = 1, \
		.far_samples = 2, .far_delay_ns = 5000                     \
	}

/**
 * struct plan - the parameters of a simulation
 * @wake_by_group: for policies other than the runtime's: one worker of each group may
 *	search for work without keeping others asleep, instead of one of all
 * @depth: of a tree: it has 2^(depth + 1) - 1 tasks
 * @duration_ns: of anything else. Tasks that arrive in its first fifth are not measured.
 */
struct plan {
	const struct layout *layout;
	const struct policy *policy;
	struct tuning tuning;
	bool wake_by_group;
	enum workload_kind workload;
	unsigned percent;
	unsigned depth;
	uint64_t service_ns;
	uint64_t duration_ns;
	uint64_t seed;
};

/* Numbers of lines and queues read. */
struct reads {
	uint64_t times;
	uint64_t lines, queues;
	unsigned most_lines, most_queues; /* of one time */
};

enum sim_state { SIM_RUNS, SIM_SEARCHES, SIM_PARKED, SIM_WAKES, SIM_STATES };

struct outcome {
	uint64_t arrived, done, left; /* tasks; left: in queues and running */
	uint64_t arrived_sum, done_sum, left_sum; /* of their serial numbers */
	uint64_t done_away;                       /* on another node */
	uint64_t steals[TIERS];
	uint64_t moved[TIERS]; /* tasks */
	uint64_t parks, wakes;
	unsigned in_state[SIM_STATES]; /* workers, at the end */
	uint64_t work_ns, home_ns;     /* tasks took, and would have at home */
	uint64_t end_ns;
	struct reads failed;   /* rounds of a search that found nothing */
	struct reads sleeping; /* and those before a worker slept */
	struct reads
		handed; /* checks for work by a worker that ends the last search */
	struct reads checked; /* checks for a worker to wake */
	struct reads woken;   /* of them, those that woke a worker */
	struct histogram latencies;
};

struct sim_worker {
	struct task_ring tasks;
	enum sim_state state;
	struct sim_task running; /* while it is SIM_RUNS */
	uint64_t contended_ns;   /* until then a thief has its queue */
	uint64_t search_ns;      /* when it began to search, */
	unsigned rounds;         /* and how many it did */
};

struct simulation {
	struct plan plan;
	const struct layout *layout;
	struct sim_worker *workers;
	unsigned in_state[SIM_STATES]; /* workers */
	struct events events;
	struct arrivals arrivals;
	uint64_t serial;        /* of the last task */
	unsigned lines, queues; /* that the current round has read */
	void *policy;           /* its own */
	struct outcome *outcome;
};

/**
 * simulation_run - simulate
 * @outcome: receives the results
 *
 * The same plan has the same outcome. Return: 0; -ENOMEM.
 */
int simulation_run(const struct plan *plan, struct outcome *outcome);

/* ---- for policies ------------------------------------------------------------------ */

/* simulation_enter - worker @i is in that state now */
void simulation_enter(struct simulation *sim, unsigned i, enum sim_state state);

/* simulation_claim - worker @i, which is parked, was woken */
void simulation_claim(struct simulation *sim, unsigned i);

/* simulation_spend - add @ns to the time of the worker's step */
void simulation_spend(uint64_t ns);

/* simulation_read_line - worker @i reads the line of a group */
void simulation_read_line(struct simulation *sim, unsigned i, unsigned group);

/* simulation_probe - worker @i reads worker @victim's queue: does it have tasks? */
bool simulation_probe(struct simulation *sim, unsigned i, unsigned victim);

/**
 * simulation_steal - worker @i reads worker @victim's queue, and takes half of
 * it, up to @most; it runs the first of them
 */
bool simulation_steal(struct simulation *sim, unsigned i, unsigned victim,
		      unsigned most);

/* simulation_round - worker @i begins a round of its search, now */
void simulation_round(struct simulation *sim);

/* simulation_failed - it found nothing; the next begins now, or when it has taken
 * COSTS_ROUND_NS */
void simulation_failed(struct simulation *sim, unsigned i, uint64_t began_ns);

/* simulation_count - that is what it read */
void simulation_count(struct reads *reads, unsigned lines, unsigned queues);

#endif
