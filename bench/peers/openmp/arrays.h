/* SPDX-License-Identifier: MIT */
/* arrays.h - functions that run a round of a loop over arrays or of a sort */
#ifndef SKUA_BENCH_PEERS_OPENMP_ARRAYS_H
#define SKUA_BENCH_PEERS_OPENMP_ARRAYS_H

#include "bench/peers/harness/harness.h"

#ifdef __cplusplus
extern "C" {
#endif

void arrays_for(struct harness *h);
void arrays_reduce(struct harness *h);
void arrays_scan(struct harness *h);
void arrays_sort_unstable(struct harness *h);
void arrays_sort_stable(struct harness *h);

#ifdef __cplusplus
}
#endif

#endif
