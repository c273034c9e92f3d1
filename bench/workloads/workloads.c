/* SPDX-License-Identifier: MIT */
/* workloads.c - the table of workloads */
#include "bench/workloads/workloads.h"

#include <string.h>

const struct workload *const workloads[] = {
	&workload_parallel_map,
	&workload_uts_tasks,
	&workload_spawn_many_local,
	&workload_spawn_many_worker,
	&workload_spawn_many_remote_idle,
	&workload_spawn_many_remote_busy1,
	&workload_spawn_many_remote_busy2,
	&workload_yield_many,
	&workload_fiber_yield,
	&workload_fiber_spawn,
	&workload_ping_pong,
	&workload_chained_spawn,
	&workload_join_one,
	&workload_mutex,
	&workload_mutex_contended,
	&workload_rwlock,
	&workload_semaphore,
	&workload_notify,
	&workload_barrier,
	&workload_once,
	&workload_channel,
	&workload_channel_mpmc,
	&workload_channel_round_trip,
	&workload_spsc,
	&workload_select_1,
	&workload_select_2,
	&workload_select_8,
	&workload_oneshot,
	&workload_broadcast,
	&workload_watch,
	&workload_blocking,
	&workload_blocking_sleeps,
	&workload_files,
	&workload_wake,
	&workload_timers,
	&workload_rpc,
	&workload_echo_1,
	&workload_echo_50,
	&workload_echo_10k,
	&workload_start,
	&workload_imbalance,
	&workload_uts,
	&workload_fib,
	&workload_integrate,
	&workload_nqueens,
	&workload_skynet,
	&workload_matmul,
	&workload_cilksort,
	&workload_region,
	&workload_spawn_latency,
	&workload_for,
	&workload_reduce,
	&workload_scan,
	&workload_find_early,
	&workload_sort_unstable,
	&workload_sort_stable,
	&workload_sort_by_key,
	NULL,
};

const struct workload *workload_find(const char *name)
{
	for (unsigned i = 0; workloads[i] != NULL; i++)
		if (strcmp(workloads[i]->name, name) == 0)
			return workloads[i];
	return NULL;
}
