/* SPDX-License-Identifier: MIT */
/* latencies.c - see latencies.h */
#include "bench/harness/latencies.h"

static json_t *percentile(const struct histogram *round, double percent,
			  uint64_t unit)
{
	uint64_t time = histogram_percentile(round, percent);

	return unit == 1 ? json_integer((json_int_t)time)
			 : json_real((double)time / (double)unit);
}

void latencies_add(struct latencies *latencies, const struct histogram *round,
		   uint64_t unit)
{
	histogram_add(&latencies->all, round);
	if (latencies->rounds == NULL)
		latencies->rounds = json_array();
	json_array_append_new(latencies->rounds,
			      json_pack("{s:I, s:o, s:o, s:o}", "count",
					(json_int_t)round->total, "p50",
					percentile(round, 50, unit), "p99",
					percentile(round, 99, unit), "p999",
					percentile(round, 99.9, unit)));
}

json_t *latencies_rounds(const struct latencies *latencies)
{
	return latencies->rounds != NULL ? json_incref(latencies->rounds)
					 : json_array();
}

json_t *latencies_json(const struct latencies *latencies)
{
	json_t *object = histogram_json(&latencies->all);

	if (object != NULL)
		json_object_set_new(object, "rounds",
				    latencies_rounds(latencies));
	return object;
}

void latencies_free(struct latencies *latencies)
{
	json_decref(latencies->rounds);
	latencies->rounds = NULL;
}
