/* SPDX-License-Identifier: MIT */
/**
 * latencies.h - distributions of times, for each round and for all rounds together
 *
 * If the percentiles differ much between rounds, the percentiles of all rounds
 * together are not reliable either.
 */
#ifndef SKUA_BENCH_HARNESS_LATENCIES_H
#define SKUA_BENCH_HARNESS_LATENCIES_H

#include "bench/harness/histogram.h"

/**
 * struct latencies - zero it before use; latencies_free() frees it
 * @all: the times of all rounds
 * @rounds: the percentiles of each round, a JSON array, owned; NULL before the first
 *          round, or if there is no memory
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

/* latencies_rounds - return [{"count":...,"p50":...,"p99":...,"p999":...}, ...], one
 * object for each round, as a new reference */
json_t *latencies_rounds(const struct latencies *latencies);

/* latencies_json - return histogram_json() of all rounds with
 * latencies_rounds() as the member "rounds"; NULL: no memory */
json_t *latencies_json(const struct latencies *latencies);

/* latencies_free - free the rounds */
void latencies_free(struct latencies *latencies);

#endif
