/* SPDX-License-Identifier: MIT */
/**
 * target.h - read a process that runs skua, from outside
 *
 * Finds the debug areas (probes/area.h) in the memory of a process and copies
 * them. The process is not stopped. Its files are needed only for the names of
 * functions. All data from the process may be hostile: impossible values are
 * refused, and any number that is copied may have any value.
 *
 * All reads are of the address space that the process had at the open. When it
 * has ended, or executed another program, they return -ESRCH.
 *
 * Threads: a target belongs to one thread at a time. Return, unless stated
 * otherwise: 0, or -errno: -ESRCH as above; -EFAULT (nothing is mapped at the
 * address); -EFBIG (the process costs more than target_budget.h allows);
 * -ENOMEM. target_reason() explains it in words.
 */
#ifndef SKUA_BPF_TARGET_H
#define SKUA_BPF_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes/area.h"

/* Limits; a process that exceeds them is refused, or its surplus is left
 * out. */
#define TARGET_MAX_ROOTS    16u
#define TARGET_MAX_RUNTIMES 256u
#define TARGET_MAX_WORKERS  2048u /* of all runtimes together */

#define TARGET_NAME 64u /* bytes of a name, with the final 0 */

struct target;
struct target_budget;

/**
 * struct target_runtime - the constants of a runtime
 * @address: of its struct area_runtime; with started_ns it identifies the
 *     runtime
 * @root: address of the debug area's root that lists it
 * @changes: the root's count of changes when the runtime was found
 * @version: of the library; printable
 * @task_poll, @task_type, @task_state: offsets in a task; the last one is 0 if
 *     the library does not give it
 * @fiber_fn, @fiber_context, @fiber_wait, @fiber_label: offsets in a fiber; 0: likewise
 * @task_flags: offset in a task; 0: likewise
 * @area: copy; words that are not constant are from the last target_refresh()
 * @workers: area.worker_count addresses of struct area_worker
 */
struct target_runtime {
	uint64_t address;
	uint64_t root;
	uint64_t changes;
	char version[16];
	uint64_t task_poll;
	uint64_t task_type;
	uint64_t task_state;
	uint64_t fiber_fn, fiber_context, fiber_wait, fiber_label;
	uint64_t task_flags;
	struct area_runtime area;
	uint64_t *workers;
};

/* target_groups - return the number of groups of workers that have words of their
 * own (area_runtime.group_count); no more than there are workers */
static inline uint32_t target_groups(const struct area_runtime *area)
{
	if (area->group_count == 0)
		return 1;
	return area->group_count < area->worker_count ? area->group_count
						      : area->worker_count;
}

/**
 * struct target_worker - a worker at one moment
 * @area: copy; the words of area.times belong together
 * @samples: copy of the samples that area.samples points to; zeros if it is 0
 * @queue_depth: tasks in its local queue
 */
struct target_worker {
	struct area_worker area;
	struct area_samples samples;
	uint64_t queue_depth;
};

/**
 * struct target_snapshot - a runtime at one moment; zero it before the first
 * use
 * @at_ns: that moment, by CLOCK_MONOTONIC
 * @worker_count: entries of @workers
 * @total: sums of the workers' counters, as in skua_runtime_stats()
 * @tasks_spawned: by workers and by other threads
 * @queue_depth: tasks in all local queues
 * @injection_depth, @urgent_depth: tasks in the shared queues
 * @jobs_stolen_outside: jobs taken by external threads
 * @accepts_delayed: accepts that were tried again after a delay
 * @workers: freed by target_free_snapshot()
 */
struct target_snapshot {
	uint64_t at_ns;
	uint32_t worker_count;
	struct area_counters total;
	uint64_t tasks_spawned;
	uint64_t queue_depth;
	uint64_t injection_depth;
	uint64_t urgent_depth;
	uint64_t jobs_stolen_outside;
	uint64_t accepts_delayed;
	struct target_worker *workers;
};

/**
 * struct target_now - what a worker does at one moment
 * @at_ns: CLOCK_MONOTONIC, just before the read
 * @state: enum area_state, or any other number
 * @since_ns: when that state began
 * @tasks_polled: tasks polled so far, which identifies the current poll
 * @task: the task being polled; 0: none
 * @poll: its poll function, or the function of a fiber; 0: not known
 * @type: its struct skua_task_type; 0: none, or not known
 * @label: address of the label of the task, a text; 0: none, or not known
 */
struct target_now {
	uint64_t at_ns;
	uint64_t state;
	uint64_t since_ns;
	uint64_t tasks_polled;
	uint64_t task;
	uint64_t poll;
	uint64_t type;
	uint64_t label;
};

/**
 * target_open - find the runtimes of a process
 * @out: receives the target, also on failure, for target_reason(); NULL if
 *     memory is short. The caller must call target_close() in either case
 * @pid: number in this process's namespace
 *
 * Return: 0, even if there is no runtime at the moment; -ESRCH (no such
 * process, or a zombie or kernel thread); -EACCES (no permission); -ENOENT (the
 * process does not contain skua); -EPROTO (another ABI); -ECHILD (a forked
 * child: the workers are in its parent); -EILSEQ (its data is impossible).
 */
int target_open(struct target **out, pid_t pid);

/* target_close - free the target; @target may be NULL */
void target_close(struct target *target);

/* target_reason - return why the last call failed, as a line without a
 * newline */
const char *target_reason(const struct target *target);

/* target_pid - return the number that target_open() was given */
pid_t target_pid(const struct target *target);

/* target_rank - return the rank of the process in its MPI job, which target_open() has read
 * from its environment (target_rank.h); TARGET_NO_RANK if there is none */
#define TARGET_NO_RANK UINT32_MAX
uint32_t target_rank(const struct target *target);

/**
 * target_refresh - search for runtimes again
 *
 * Pointers that target_runtime() returned before are no longer valid.
 */
int target_refresh(struct target *target);

/* target_budget_of - return the budget of the process (target_budget.h), for
 * code that reads its files; it lives as long as @target */
struct target_budget *target_budget_of(struct target *target);

/* target_runtimes - return the number of runtimes; target_runtime - return one
 * of them */
unsigned target_runtimes(const struct target *target);
const struct target_runtime *target_runtime(const struct target *target,
					    unsigned index);

/* target_find_runtime - return the runtime with that address and start time, or
 * NULL */
const struct target_runtime *target_find_runtime(const struct target *target,
						 uint64_t address,
						 uint64_t started_ns);

/**
 * target_take_snapshot - copy all counts of a runtime and its workers
 * @out: release it with target_free_snapshot(). It may be used again for a
 *     runtime
 *
 * Return: also -EAGAIN (runtimes came or went meanwhile: call target_refresh()
 * and check whether this one still exists).
 */
int target_take_snapshot(struct target *target,
			 const struct target_runtime *runtime,
			 struct target_snapshot *out);
void target_free_snapshot(struct target_snapshot *snapshot);

/**
 * target_look - read what one worker does now; takes some microseconds
 * @worker: below area.worker_count
 *
 * Return: also -EAGAIN, as target_take_snapshot().
 */
int target_look(struct target *target, const struct target_runtime *runtime,
		unsigned worker, struct target_now *out);

/**
 * target_task - read what describes a task: its type, and the function that it runs
 * @type, @poll: as in struct target_now; 0 if they cannot be read
 */
void target_task(struct target *target, const struct target_runtime *runtime,
		 uint64_t task, uint64_t *type, uint64_t *poll);

/**
 * target_name - find a name for the tasks of a type, or with a poll function
 * @type: address of the type; 0: use the name of the poll function in its ELF
 *     file, or "FILE+0xOFFSET" if it has none
 * @poll: address of the poll function
 * @text: TARGET_NAME bytes; always receives printable ASCII
 *
 * Return: true if @text is a name; false if it is only a place.
 */
bool target_name(struct target *target, uint64_t type, uint64_t poll,
		 char *text);

/* target_symbol - find the name of the function at @address; otherwise as
 * target_name() */
bool target_symbol(struct target *target, uint64_t address, char *text);

/* target_symbols_missing - return a line that explains why some names are
 * missing, or "" */
const char *target_symbols_missing(const struct target *target);

/**
 * target_open_file - open the file of a program or library that contains skua
 * @index: number of the file, from 0; the same file may occur several times
 *
 * Opens the file that is mapped, even if it has been removed or is in a
 * container.
 * Return: a descriptor for reading; -ENOENT (there are fewer files); -EACCES
 * (target_reason() says why it cannot be opened).
 */
int target_open_file(struct target *target, unsigned index);

/**
 * target_record_until - let all runtimes record until @ns, a time of
 * CLOCK_MONOTONIC
 *
 * Return: also -EACCES (the process may be read, but not written).
 */
int target_record_until(struct target *target, uint64_t ns);

/**
 * target_read - copy memory of the process
 *
 * Copies everything or fails: -EFAULT if any part is missing. At most 64 MiB.
 */
int target_read(struct target *target, uint64_t address, void *to,
		size_t bytes);

/* target_thread - return the thread whose gettid() is @tid in the process's own
 * namespace, as numbered in this process's namespace; 0: it does not exist (any
 * more) */
pid_t target_thread(struct target *target, uint32_t tid);

/* target_alive - return whether the process exists and still runs the same
 * program */
bool target_alive(struct target *target);

/* target_has_leader - return whether the first thread of the process still
 * existed at the open */
bool target_has_leader(const struct target *target);

/* target_comm - copy the kernel's name of the process, made printable;
 * TARGET_NAME bytes */
void target_comm(const struct target *target, char *text);

#endif
