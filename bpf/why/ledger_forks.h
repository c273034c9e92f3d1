/* SPDX-License-Identifier: MIT */
/**
 * ledger_forks.h - where the time of calls of skua_run() went
 *
 * Events tell when a thread calls skua_run(), when it waits in a join for a job that another
 * thread has taken, and when workers run jobs that they have taken. No event tells that a job
 * was forked: a fork that nobody notices costs a few instructions. So a caller is alone in the
 * time in which no worker runs a job of its call, whether there were jobs to take or not.
 *
 * A job belongs to the call in which it was forked. Its victim tells which one: the thread that
 * called, or a thread that runs a job of that call itself (ledger_fork_seats.c).
 *
 * A call that began before the recording is known because the recorder saw it from outside
 * (bpf/recording/open_calls.h). If it did not, the call is known from the first job that was
 * taken from its thread, from the first join that waited, or from its end.
 */
#ifndef SKUA_BPF_LEDGER_FORKS_H
#define SKUA_BPF_LEDGER_FORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each nanosecond of a call belongs to one part. */
enum ledger_fork_part {
	LEDGER_FORK_ALONE, /* the caller ran, and no worker ran a job of it */
	LEDGER_FORK_TOGETHER, /* the caller ran, and workers ran jobs of it */
	LEDGER_FORK_JOIN, /* the caller waited in a join, and helped nobody */
	LEDGER_FORK_PREEMPTED, /* it could have run on, but another thread had its CPU */
	LEDGER_FORK_BLOCKED, /* it slept in the kernel outside of a join, or was stopped */
	LEDGER_FORK_UNKNOWN, /* switches are missing */
	LEDGER_FORK_PARTS
};

/* The activities of a worker meanwhile. */
enum ledger_fork_worker {
	LEDGER_FORK_JOB,
	LEDGER_FORK_POLL,
	LEDGER_FORK_ASLEEP,
	LEDGER_FORK_WAKING, /* it was woken, and did not run yet */
	LEDGER_FORK_SEARCH,
	LEDGER_FORK_LACKS, /* it could have run on, but another thread had its CPU */
	LEDGER_FORK_SLEPT, /* it slept in the kernel, in a job or a poll */
	LEDGER_FORK_UNSEEN,
	LEDGER_FORK_WORKERS
};

/* A number of pieces of time. */
struct ledger_fork_times {
	uint64_t count, ns, longest_ns;
};

/**
 * struct ledger_fork_caller - a thread that calls skua_run()
 * @thread: 0: not known yet
 * @root: name of the function that it called last; LEDGER_NOBODY: not known
 * @places: bits of the places in which it has been, from the first one of outside threads;
 * @here: of those in which it is
 * @depth: number of calls, within each other, that go on
 * @waits, @helps: number of joins that wait, and of jobs that it runs meanwhile
 * @seen_ns: the call was seen from outside until then, and no event tells of its end; 0: no
 *           such call
 * @since_ns: its time is counted up to then; @began_ns: when the outermost call began;
 * @join_ns: since when it has waited without a break
 * @busy: number of jobs of its call that workers run
 * @calls, @joins, @jobs, @parts: as in struct ledger_forks, of this caller alone
 */
struct ledger_fork_caller {
	uint32_t runtime, thread, place, root;
	uint64_t places, here;
	unsigned depth, waits, helps, busy;
	uint64_t since_ns, began_ns, join_ns, seen_ns;
	struct ledger_fork_times calls, jobs, joins;
	uint64_t parts[LEDGER_FORK_PARTS];
};

/* A time of a call. @part: LEDGER_FORK_ALONE, TOGETHER or JOIN, before switches are regarded. */
struct ledger_fork_span {
	uint64_t from_ns, until_ns;
	uint32_t caller; /* its index */
	uint32_t part;
};

/**
 * struct ledger_fork_seat - a place of the team, and the jobs that its thread runs
 * @owners: index + 1 of the callers to whose calls these belong, the innermost last; 0: not
 *          known
 * @depth: number of these jobs; of those beyond LEDGER_FORK_DEEPEST no owner is known
 * @track: of a worker
 */
#define LEDGER_FORK_DEEPEST 16u
struct ledger_fork_seat {
	uint32_t owners[LEDGER_FORK_DEEPEST];
	uint32_t depth, track;
};

/**
 * struct ledger_forks - the calls of skua_run() of a recording
 * @workers: number of workers of each runtime; @seats: of these, by index
 * @known_ns: events are whole from this time on
 * @calls: those that ended or go on at the end, without calls within calls; @unseen: how many
 *         of them began before the recording; @apart: how many had no place in the team
 * @jobs: those that workers have taken from others; @joins: the times in which callers waited
 * @parts: of the time of the calls
 * @alone, @rest: what all workers did while callers were alone, and in the rest of the time
 * @took: wake-ups of workers during calls after which the worker ran a job: the times from
 *        the wake-up to the job; @in_vain: number of wake-ups after which it slept again
 * @lost: events are missing
 */
#define LEDGER_FORK_RUNTIMES 16u /* further ones are left out */
struct ledger_forks {
	struct ledger_fork_caller *callers;
	size_t caller_count, caller_room;
	struct ledger_fork_span *spans;
	size_t span_count, span_room;
	uint32_t workers[LEDGER_FORK_RUNTIMES];
	struct ledger_fork_seat *seats[LEDGER_FORK_RUNTIMES];
	uint64_t known_ns;

	struct ledger_fork_times calls, jobs, joins, took;
	uint64_t unseen, apart, in_vain;
	uint64_t parts[LEDGER_FORK_PARTS];
	uint64_t alone[LEDGER_FORK_WORKERS], rest[LEDGER_FORK_WORKERS];
	bool lost;
};

/* ledger_fork_add - count a piece of time */
void ledger_fork_add(struct ledger_fork_times *times, uint64_t ns);

/* ledger_fork_part_name, ledger_fork_worker_name - return the name of a part, such as "alone" */
const char *ledger_fork_part_name(unsigned part);
const char *ledger_fork_worker_name(unsigned part);

#endif
