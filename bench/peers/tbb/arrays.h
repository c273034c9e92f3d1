/* SPDX-License-Identifier: MIT */
/* arrays.h - functions that run a round of a loop over arrays or of a sort, within an
 * arena */
#ifndef SKUA_BENCH_PEERS_TBB_ARRAYS_H
#define SKUA_BENCH_PEERS_TBB_ARRAYS_H

#include "bench/peers/harness/harness.h"

void arrays_for(harness *h);
void arrays_reduce(harness *h);
void arrays_scan(harness *h);
void arrays_sort_unstable(harness *h);

#endif
