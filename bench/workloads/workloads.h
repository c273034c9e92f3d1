/* SPDX-License-Identifier: MIT */
/* workloads.h - the table of all workloads */
#ifndef SKUA_BENCH_WORKLOADS_WORKLOADS_H
#define SKUA_BENCH_WORKLOADS_WORKLOADS_H

#include "bench/harness/workload.h"

/* All workloads, in the order of the report, ended by NULL. */
extern const struct workload *const workloads[];

/* workload_find - return the workload with this name, or NULL */
const struct workload *workload_find(const char *name);

extern const struct workload workload_spawn_latency;
extern const struct workload workload_barrier;
extern const struct workload workload_broadcast;
extern const struct workload workload_oneshot;
extern const struct workload workload_watch;
extern const struct workload workload_chained_spawn;
extern const struct workload workload_blocking;
extern const struct workload workload_blocking_sleeps;
extern const struct workload workload_channel;
extern const struct workload workload_channel_mpmc;
extern const struct workload workload_channel_round_trip;
extern const struct workload workload_spsc;
extern const struct workload workload_select_1;
extern const struct workload workload_select_2;
extern const struct workload workload_select_8;
extern const struct workload workload_cilksort;
extern const struct workload workload_echo_1;
extern const struct workload workload_echo_10k;
extern const struct workload workload_echo_50;
extern const struct workload workload_fib;
extern const struct workload workload_files;
extern const struct workload workload_find_early;
extern const struct workload workload_for;
extern const struct workload workload_imbalance;
extern const struct workload workload_integrate;
extern const struct workload workload_join_one;
extern const struct workload workload_matmul;
extern const struct workload workload_mutex;
extern const struct workload workload_mutex_contended;
extern const struct workload workload_notify;
extern const struct workload workload_nqueens;
extern const struct workload workload_once;
extern const struct workload workload_parallel_map;
extern const struct workload workload_ping_pong;
extern const struct workload workload_reduce;
extern const struct workload workload_region;
extern const struct workload workload_rpc;
extern const struct workload workload_rwlock;
extern const struct workload workload_scan;
extern const struct workload workload_semaphore;
extern const struct workload workload_skynet;
extern const struct workload workload_sort_by_key;
extern const struct workload workload_sort_stable;
extern const struct workload workload_sort_unstable;
extern const struct workload workload_spawn_many_local;
extern const struct workload workload_spawn_many_remote_busy1;
extern const struct workload workload_spawn_many_remote_busy2;
extern const struct workload workload_spawn_many_remote_idle;
extern const struct workload workload_spawn_many_worker;
extern const struct workload workload_start;
extern const struct workload workload_timers;
extern const struct workload workload_uts;
extern const struct workload workload_uts_tasks;
extern const struct workload workload_wake;
extern const struct workload workload_yield_many;
extern const struct workload workload_fiber_yield;
extern const struct workload workload_fiber_spawn;

#endif
