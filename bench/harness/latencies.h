/* SPDX-License-Identifier: MIT */
/**
 * latencies.h - distributions of times, of each round and of all
 *
 * The differences between the percentiles of the rounds show how far to trust those
 * of all rounds together.
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
 * latencies_add - add the times of a round that has ended
 * @unit: divisor of the percentiles; 1 keeps the counted unit
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
