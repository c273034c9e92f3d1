/* SPDX-License-Identifier: MIT */
/* workload.c - the table of workloads */
#include "bench/workload.h"

#include <string.h>

const struct workload *const workloads[] = {
	&workload_parallel_map,
	&workload_uts,
	NULL,
};

const struct workload *workload_find(const char *name)
{
	for (unsigned i = 0; workloads[i] != NULL; i++)
		if (strcmp(workloads[i]->name, name) == 0)
			return workloads[i];
	return NULL;
}
