/* SPDX-License-Identifier: MIT */
/**
 * compare.h - run skua and its peers (the sides) in turn
 *
 * All sides of a case are treated alike: each run is a separate process with the same
 * options. The sides alternate: skua, go, ..., tokio, skua, go, ... A change on the
 * machine therefore affects all of them, and a ratio compares two runs of the same
 * alternation. A noisy run (calibrate.h) is repeated.
 */
#ifndef SKUA_BENCH_REPORT_COMPARE_H
#define SKUA_BENCH_REPORT_COMPARE_H

#include "bench/harness/calibrate.h"
#include "bench/report/peers.h"
#include "bench/harness/workload.h"

#define COMPARE_ALTERNATIONS 5

/* After this many runs that stayed noisy, no more runs are repeated, because
 * it does not help. */
#define COMPARE_NOISY_MAX 10

/* The sides of a case: skua, and then the peers. */
enum { COMPARE_SKUA, COMPARE_SIDES = 1 + PEERS_MAX };

enum compare_state {
	COMPARE_ABSENT, /* the program does not have the workload */
	COMPARE_RAN,
	COMPARE_SKIPPED, /* the program cannot run the workload here */
	COMPARE_FAILED,
};

/**
 * struct compare_side - one program in one case
 * @state: the state over all its runs
 * @reason: why it was skipped or failed
 * @runs: the objects that it printed, each with the additional members "alternation" and
 *        "noisy"; a JSON array, owned
 */
struct compare_side {
	enum compare_state state;
	char reason[200];
	json_t *runs;
};

/**
 * struct compare_case - a workload with some options and workers
 * @params: options of the workload as a JSON object, owned
 * @changed: the options that differ from the defaults, owned
 * @alternations: number of alternations so far
 */
struct compare_case {
	const struct workload *workload;
	json_t *params;
	json_t *changed;
	unsigned workers;
	unsigned alternations;
	struct compare_side side[COMPARE_SIDES];
};

/**
 * struct comparison - all cases, and the programs
 * @self: path of this program, owned
 * @quick: fewer alternations, and one round in each run
 * @cases: array of @count cases, owned
 * @runs: number of all runs
 * @repeated: number of runs that were repeated because they were noisy
 * @noisy: number of runs that stayed noisy
 * @failed: number of sides of a case that failed, plus peers that could not list their
 *          workloads
 */
struct comparison {
	struct peers peers;
	char *self;
	bool quick;
	struct calibration calibration;
	struct compare_case *cases;
	size_t count;
	unsigned runs;
	unsigned repeated;
	unsigned noisy;
	unsigned failed;
};

/**
 * compare_open - find the peers
 * @folder: folder of their programs; NULL: "peers" beside this program
 *
 * Return: 0, also if there are no peers; -errno, with the reason printed. The caller
 * calls compare_close() in either case.
 */
int compare_open(struct comparison *comparison, const char *folder, bool quick);

/**
 * compare_case - run a case on skua and on the peers that have it; not at all if no peer
 *                has it
 *
 * Return: 0, also if a side failed; -ENOMEM.
 */
int compare_case(struct comparison *comparison, const struct workload *workload,
		 const void *options, unsigned workers);

void compare_close(struct comparison *comparison);

/* compare_name - return the name of a side, such as "skua" or "tokio" */
const char *compare_name(const struct comparison *comparison, unsigned side);

#endif
