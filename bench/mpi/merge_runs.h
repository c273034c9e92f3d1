/* SPDX-License-Identifier: MIT */
/* merge_runs.h - merges sorted runs of numbers, with all workers */
#ifndef SKUA_BENCH_MPI_MERGE_RUNS_H
#define SKUA_BENCH_MPI_MERGE_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include <skua/skua.h>

/**
 * merge_runs - merge neighbouring runs, each of which is in order
 * @numbers: all runs, one behind the other
 * @spare: space for as many numbers; its content does not matter
 * @ends: the index after the last number of each run; overwritten
 * @runs: at least 1
 *
 * Return: @numbers or @spare, whichever has the result.
 */
uint64_t *merge_runs(struct skua_ctx ctx, uint64_t *numbers, uint64_t *spare,
		     size_t *ends, size_t runs);

#endif
