/* SPDX-License-Identifier: MIT */
/* batch.c - see batch.h */
#include "bench/workloads/batch.h"

json_t *batch_params(const void *arg)
{
	const struct batch_options *options = arg;

	return json_pack("{s:I, s:I}", "tasks", (json_int_t)options->tasks,
			 "repeat", (json_int_t)options->repeat);
}
