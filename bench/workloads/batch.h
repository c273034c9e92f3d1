/* SPDX-License-Identifier: MIT */
/**
 * batch.h - options of workloads that run batches of tasks
 *
 * One batch is too short to measure: the clock and neighbours would disturb it too
 * much. A round is therefore several batches, one after the other.
 */
#ifndef SKUA_BENCH_WORKLOADS_BATCH_H
#define SKUA_BENCH_WORKLOADS_BATCH_H

#include <argp.h>
#include <jansson.h>
#include <stdint.h>

/**
 * struct batch_options
 * @tasks: tasks in a batch
 * @repeat: batches in a round
 */
struct batch_options {
	uint64_t tasks;
	uint64_t repeat;
};

/* Parses --tasks and --repeat; its input is a struct batch_options. */
extern const struct argp batch_argp;

/* batch_params - the options as a JSON object, or NULL */
json_t *batch_params(const void *options);

/* batch_ops - operations of a round, if each task is one */
static inline uint64_t batch_ops(const struct batch_options *options)
{
	return options->tasks * options->repeat;
}

#endif
