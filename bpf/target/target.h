/* SPDX-License-Identifier: MIT */
/**
 * target.h - a process that skua runs in, as seen from outside
 *
 * Finds the debug areas (probes/area.h) of a process in its memory, and copies
 * what they say. The process is not stopped, and no file of it is needed, except for
 * names of functions. All that is read is hostile: what is impossible is refused, and a
 * number that is copied from there may be any.
 *
 * All reads are of the address space that the process had at the open. When it
 * has ended, or executed another program, they return -ESRCH.
 *
 * Threads: a target belongs to one thread at a time.
 * Return, where nothing else is said: 0, or -errno: -ESRCH as above; -EFAULT
 * (nothing is at that address); -EFBIG (the process costs more than it may:
 * target_budget.h); -ENOMEM. target_reason() says it in words.
 */
#ifndef SKUA_BPF_TARGET_H
#define SKUA_BPF_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes/area.h"

/* Things beyond these are refused, or left out. */
#define TARGET_MAX_ROOTS    16u
#define TARGET_MAX_RUNTIMES 256u
#define TARGET_MAX_WORKERS  2048u /* of all runtimes together */

#define TARGET_NAME 64u /* bytes of a name, with the 0 at the end */

struct target;
struct target_budget;

/**
 * struct target_runtime - what is constant of a runtime
 * @address: of its struct area_runtime; with started_ns it tells runtimes apart
 * @root: of the area that it was found in
 * @changes: of that area, when it was found
 * @version: of the library: printable
 * @task_poll, @task_type, @task_state: where in a task those are; the last is 0 if the
 *     library does not tell
 * @area: a copy: of words that are not constant as of the last target_refresh()
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
	struct area_runtime area;
	uint64_t *workers;
};

/**
 * struct target_worker - a worker at some moment
 * @area: a copy; the words of area.times belong together
 * @samples: a copy of what area.samples leads to; zeros if that is 0
 * @queue_depth: tasks in its local queue
 */
struct target_worker {
	struct area_worker area;
	struct area_samples samples;
	uint64_t queue_depth;
};

/**
 * struct target_snapshot - a runtime at some moment; zero it before the first use
 * @at_ns: CLOCK_MONOTONIC
 * @total: the sums of the workers' counters, and so on, as skua_runtime_stats() has them
 */
struct target_snapshot {
	uint64_t at_ns;
	uint32_t worker_count;
	struct area_counters total;
	uint64_t tasks_spawned; /* from inside and outside */
	uint64_t queue_depth;
	uint64_t injection_depth;
	uint64_t urgent_depth;
	uint64_t jobs_stolen_outside;
	struct target_worker *workers;
};

/**
 * struct target_now - what a worker does at some moment
 * @at_ns: CLOCK_MONOTONIC, just before
 * @state: enum area_state, or any other number
 * @since_ns: when that state began
 * @tasks_polled: the number of the poll
 * @task: 0: none is being polled
 * @poll: its poll function; 0: it could not be told
 * @type: its struct skua_task_type; 0: it has none
 */
struct target_now {
	uint64_t at_ns;
	uint64_t state;
	uint64_t since_ns;
	uint64_t tasks_polled;
	uint64_t task;
	uint64_t poll;
	uint64_t type;
};

/**
 * target_open - find the runtimes of a process
 * @out: receives the target, also on failure, for target_reason(); NULL if there
 *       is no memory. To be closed in any case
 * @pid: as this process sees it
 *
 * Return: 0, and there may be no runtime at the moment; -ESRCH (no such process,
 * or a zombie or kernel thread); -EACCES (no permission); -ENOENT (skua is not in
 * it); -EPROTO (another ABI); -ECHILD (it was forked by one that has the workers);
 * -EILSEQ (what it says is impossible).
 */
int target_open(struct target **out, pid_t pid);

/* target_close - @target may be NULL */
void target_close(struct target *target);

/* target_reason - a line without its end: why the last call has failed */
const char *target_reason(const struct target *target);

/* target_pid - as it was given to target_open() */
pid_t target_pid(const struct target *target);

/**
 * target_refresh - look for runtimes once more
 *
 * What target_runtime() returned before is no longer valid.
 */
int target_refresh(struct target *target);

/* target_budget_of - the budget of the process (target_budget.h), for what reads its
 * files; it lives as long as @target */
struct target_budget *target_budget_of(struct target *target);

/* target_runtimes - how many there are; target_runtime - the one of that index */
unsigned target_runtimes(const struct target *target);
const struct target_runtime *target_runtime(const struct target *target,
					    unsigned index);

/* target_find_runtime - the one with that address and beginning; or NULL */
const struct target_runtime *target_find_runtime(const struct target *target,
						 uint64_t address,
						 uint64_t started_ns);

/**
 * target_take_snapshot - copy all that a runtime says
 * @out: to be given back by target_free_snapshot(); may be used again for a
 *       runtime
 *
 * Return: also -EAGAIN (runtimes came or went meanwhile: refresh, and see whether
 * this one is left).
 */
int target_take_snapshot(struct target *target,
			 const struct target_runtime *runtime,
			 struct target_snapshot *out);
void target_free_snapshot(struct target_snapshot *snapshot);

/**
 * target_look - see what one worker does now; some microseconds
 * @worker: below area.worker_count
 *
 * Return: also -EAGAIN, as above.
 */
int target_look(struct target *target, const struct target_runtime *runtime,
		unsigned worker, struct target_now *out);

/**
 * target_name - what to call the tasks of a type, or with a poll function
 * @type: its address, or 0: the name is the function's, as the ELF file has it,
 *        or else "FILE+0xOFFSET"
 * @text: TARGET_NAME bytes; receives printable ASCII in any case
 *
 * Return: whether it is a name, and not a place.
 */
bool target_name(struct target *target, uint64_t type, uint64_t poll,
		 char *text);

/* target_symbol - the same for the function at that address */
bool target_symbol(struct target *target, uint64_t address, char *text);

/* target_symbols_missing - a line: why some names were not found, or "" */
const char *target_symbols_missing(const struct target *target);

/**
 * target_open_file - the file of a program or library that skua is in
 * @index: which, from 0: a file may come several times
 *
 * It is the one that is mapped there, also if that was removed, or is in a container.
 * Return: a descriptor, for reading; -ENOENT (there are not so many); -EACCES
 * (target_reason() says why it cannot be had).
 */
int target_open_file(struct target *target, unsigned index);

/**
 * target_record_until - have all runtimes record until that time of CLOCK_MONOTONIC
 *
 * Return: also -EACCES (it may be read, but not written).
 */
int target_record_until(struct target *target, uint64_t ns);

/**
 * target_read - copy memory of the process
 *
 * All or nothing: -EFAULT also if a part is missing. At most 64 MiB.
 */
int target_read(struct target *target, uint64_t address, void *to,
		size_t bytes);

/* target_thread - the thread with that gettid(), as this process sees it; 0: it is
 * not there (any more). As for a process in a container. */
pid_t target_thread(struct target *target, uint32_t tid);

/* target_alive - is the process there, and its program the same? */
bool target_alive(struct target *target);

/* target_has_leader - has the first thread of the process not ended before others? */
bool target_has_leader(const struct target *target);

/* target_comm - what the kernel calls the process, printable; TARGET_NAME bytes */
void target_comm(const struct target *target, char *text);

#endif
