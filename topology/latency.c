/* SPDX-License-Identifier: MIT */
/* latency.c - see latency.h */
#include "topology/latency.h"

#include <stdlib.h>
#include <string.h>

struct latency *latency_make(const struct cpu_list *cpus)
{
	struct latency *latency = calloc(1, sizeof(*latency));
	size_t count = cpus->count;

	if (!latency)
		return NULL;
	latency->cpus.count = cpus->count;
	latency->cpus.cpus = malloc(count * sizeof(*cpus->cpus));
	latency->ns = calloc(count * count, sizeof(*latency->ns));
	if (!latency->cpus.cpus || !latency->ns) {
		latency_free(latency);
		return NULL;
	}
	memcpy(latency->cpus.cpus, cpus->cpus, count * sizeof(*cpus->cpus));
	return latency;
}

void latency_free(struct latency *latency)
{
	if (!latency)
		return;
	cpu_list_free(&latency->cpus);
	free(latency->ns);
	free(latency);
}

uint32_t latency_between(const struct latency *latency, unsigned i, unsigned j)
{
	return latency->ns[(size_t)i * latency->cpus.count + j];
}

void latency_set(struct latency *latency, unsigned i, unsigned j, uint32_t ns)
{
	size_t count = latency->cpus.count;

	latency->ns[i * count + j] = ns;
	latency->ns[j * count + i] = ns;
}
