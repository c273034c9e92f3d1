/* SPDX-License-Identifier: MIT */
/**
 * compare.h - skua and its peers, run in turn
 *
 * All sides of a case are alike: each run is a separate process with the same
 * options. They alternate, skua, go, ..., tokio, skua, go, ..., so that a change on
 * the machine affects all of them, and a ratio compares two runs of the same
 * alternation. A noisy run (calibrate.h) is repeated.
 */
#ifndef SKUA_BENCH_REPORT_COMPARE_H
#define SKUA_BENCH_REPORT_COMPARE_H

#include "bench/harness/calibrate.h"
#include "bench/report/peers.h"
#include "bench/harness/workload.h"

#define COMPARE_ALTERNATIONS 5

/* After so many runs that stayed noisy, repeating does not help: it stops. */
#define COMPARE_NOISY_MAX 10

/* The sides of a case: skua, and then the peers. */
enum { COMPARE_SKUA, COMPARE_SIDES = 1 + PEERS_MAX };

enum compare_state {
	COMPARE_ABSENT, /* it does not have the workload */
	COMPARE_RAN,
	COMPARE_SKIPPED, /* it said that it cannot run it here */
	COMPARE_FAILED,
};

/**
 * struct compare_side
 * @state: of all its runs
 * @reason: if skipped or failed
 * @runs: the objects that it printed, a JSON array, owned; with two members
 *        more, "alternation" and "noisy"
 */
struct compare_side {
	enum compare_state state;
	char reason[200];
	json_t *runs;
};

/**
 * struct compare_case - a workload with some options and workers
 * @params: its options as a JSON object, owned
 * @changed: those that are not the defaults, owned
 * @alternations: their number
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
 * struct comparison
 * @self: path of this program, owned
 * @quick: fewer alternations, and one round each
 * @cases: array, owned; @count of them
 * @runs, @repeated: number of all runs, and of those that were repeated
 * @noisy: number of runs that stayed noisy
 * @failed: number of sides of a case that failed, and of peers without a list
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
 * @folder: with their programs; NULL: "peers" beside this program
 *
 * Return: 0, also without peers; -errno, and why is printed. Call compare_close()
 * in either case.
 */
int compare_open(struct comparison *comparison, const char *folder, bool quick);

/**
 * compare_case - run a case on skua and on the peers that have it, if any
 *
 * Return: 0, also if a side failed; -ENOMEM.
 */
int compare_case(struct comparison *comparison, const struct workload *workload,
		 const void *options, unsigned workers);

void compare_close(struct comparison *comparison);

/* compare_name - the program on a side: "skua", "tokio" */
const char *compare_name(const struct comparison *comparison, unsigned side);

#endif
