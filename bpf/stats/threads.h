/* SPDX-License-Identifier: MIT */
/* threads.h - what the kernel says of the threads of the workers */
#ifndef SKUA_BPF_THREADS_H
#define SKUA_BPF_THREADS_H

#include "bpf/target/target.h"

/**
 * struct thread_usage - of one worker's thread; zero it before the first read
 * @own: its gettid(), as the process sees it; 0: it has none
 * @tid: the same as this process sees it; 0: it is not there
 * @state: the kernel's letter, as in proc(5); 0: not known
 * @in_poll: @state is of a thread in the middle of a poll
 * @cpu_ns, @before_ns: how long it had had a CPU at the last read, and at the
 *       one before; if @has_cpu
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
 * threads_read - of each worker of a runtime
 * @threads: as many as the runtime has workers
 *
 * What /proc does not say is not known.
 */
void threads_read(struct target *target, const struct target_runtime *at,
		  struct thread_usage *threads);

/* thread_state - "blocked" or "stopped" in the middle of a poll, or @otherwise */
const char *thread_state(const struct thread_usage *thread,
			 const char *otherwise);

/* thread_on_cpu - the part of the time between both reads, @ns, for which it had a
 * CPU, 0 to 1; below 0: not known */
double thread_on_cpu(const struct thread_usage *thread, uint64_t ns);

#endif
