/* SPDX-License-Identifier: MIT */
/**
 * latencies.h - how long many things took, round by round
 *
 * Of all rounds together one knows the distribution; how much its percentiles mean
 * is told by how much those of the rounds differ.
 */
#ifndef SKUA_BENCH_HARNESS_LATENCIES_H
#define SKUA_BENCH_HARNESS_LATENCIES_H

#include "bench/harness/histogram.h"

/**
 * struct latencies - zero it to begin; latencies_free() it
 * @all: of all rounds
 * @rounds: JSON array, owned; NULL before the first round, and without memory
 */
struct latencies {
	struct histogram all;
	json_t *rounds;
};

/**
 * latencies_add - a round has ended
 * @unit: what the percentiles are divided by: 1 leaves them as they were counted
 */
void latencies_add(struct latencies *latencies, const struct histogram *round,
		   uint64_t unit);

/* latencies_rounds - [{"count":...,"p50":...,"p99":...,"p999":...}, ...], a round
 * each, as a new reference */
json_t *latencies_rounds(const struct latencies *latencies);

/* latencies_json - histogram_json(), and "rounds". NULL: no memory */
json_t *latencies_json(const struct latencies *latencies);

void latencies_free(struct latencies *latencies);

#endif
