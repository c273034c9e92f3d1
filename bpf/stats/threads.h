/* SPDX-License-Identifier: MIT */
/* threads.h - read from /proc what the workers' threads do */
#ifndef SKUA_BPF_THREADS_H
#define SKUA_BPF_THREADS_H

#include "bpf/target/target.h"

/**
 * struct thread_usage - a worker's thread; zero it before the first read
 * @own: its gettid() in the process's own namespace; 0: the worker has no
 *     thread
 * @tid: its number in this process's namespace; 0: not found
 * @state: the kernel's letter, as in proc(5); 0: not known
 * @in_poll: the thread was in the middle of a poll when @state was read
 * @has_cpu: @cpu_ns and @before_ns are known
 * @cpu_ns, @before_ns: CPU time of the thread at the last read, and at the read
 *     before
 */
struct thread_usage {
	uint64_t own;
	pid_t tid;
	char state;
	bool in_poll;
	bool has_cpu;
	uint64_t cpu_ns, before_ns;
};

/**
 * threads_read - read the threads of all workers of a runtime
 * @threads: an entry for each worker of the runtime
 *
 * What /proc does not show stays unknown.
 */
void threads_read(struct target *target, const struct target_runtime *at,
		  struct thread_usage *threads);

/* thread_state - return "blocked" or "stopped" if the thread is in that state
 * in the middle of a poll; otherwise @otherwise */
const char *thread_state(const struct thread_usage *thread,
			 const char *otherwise);

/* thread_on_cpu - return the share of @ns, the time between the last two reads,
 * for which the thread had a CPU, 0 to 1; below 0: not known */
double thread_on_cpu(const struct thread_usage *thread, uint64_t ns);

#endif
