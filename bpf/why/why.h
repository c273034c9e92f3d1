/* SPDX-License-Identifier: MIT */
/* why.h - the parts of skua why: where the time of the slowest tasks went */
#ifndef SKUA_BPF_WHY_H
#define SKUA_BPF_WHY_H

#include <stdio.h>
#include <sys/types.h>

#include "bpf/recording/trace_set.h"
#include "bpf/why/ledger.h"

/* How the tool learned when the kernel took CPUs from threads. */
enum why_source {
	WHY_BPF,       /* each time, and for which thread */
	WHY_SCHEDSTAT, /* only how long in total */
	WHY_NOTHING,
};

/* A thread of the process, and its times since why_sched_begin(). */
struct why_thread {
	pid_t tid;
	uint64_t run_ns;
	uint64_t delay_ns; /* waited for a CPU */
};

struct why_sched {
	pid_t pid;
	struct why_thread *threads;
	size_t count, room;
};

/* why_sched_begin - read the times of a process's threads from /proc. Return:
 * 0, or -errno; then nothing is known */
int why_sched_begin(struct why_sched *sched, pid_t pid);

/* why_sched_end - replace the times by those since why_sched_begin(); ended
 * threads are left out */
void why_sched_end(struct why_sched *sched);
void why_sched_free(struct why_sched *sched);

/* why_sched_find - return the times of a thread; NULL if they are unknown */
const struct why_thread *why_sched_find(const struct why_sched *sched,
					uint32_t tid);

/**
 * struct why - the results to print
 * @missing: why @source is not WHY_BPF
 * @where: what follows the name of a worker: " of rank 3"; or ""
 * @label: "rank 3", or "process 4711"
 * @sched: valid with WHY_SCHEDSTAT
 */
struct why {
	struct trace *trace;
	struct ledger ledger;
	struct ledger_verdict verdict;
	enum why_source source;
	char missing[400];
	const char *type; /* the only type to show; NULL: all */
	char where[TRACE_SET_LABEL + 4];
	const char *label;
	struct why_sched sched;
};

/**
 * why_time - write a time of the recording as wall-clock time in UTC:
 * 2026-01-31T23:59:59.123456Z
 * @ns: a time of the recording
 * @text: WHY_TIME bytes
 *
 * The two clocks are compared only once, when the recording starts: a later step of
 * the wall clock is not noticed.
 * Return: @text; empty if the recording does not contain the wall-clock time.
 */
#define WHY_TIME 48u
const char *why_time(const struct trace *trace, uint64_t ns, char *text);

/* why_when - as why_time(); the time since the start if the wall-clock time is not known */
const char *why_when(const struct why *why, uint64_t ns, char *text);

/* why_print - print the results, in lines of at most WHY_WIDTH columns, with at
 * most @most incidents */
#define WHY_WIDTH 100u
void why_print(FILE *file, const struct why *why, size_t most);

/* why_print_several - likewise, those of several recordings: a row for each, and the
 * incidents of all, the one with the slowest task first */
void why_print_several(FILE *file, const struct why *whys, size_t count,
		       size_t most);

/* why_print_incident - print an incident, with a number; why_print_legend - explain the
 * letters of its bar */
void why_print_incident(FILE *file, const struct why *why, size_t index,
			size_t number);
void why_print_legend(FILE *file);

/* why_wrap - print lines, each broken into several if it is longer than WHY_WIDTH. Changes
 * @text */
void why_wrap(FILE *file, char *text);

/* why_print_types - print a row for each type; a name that does not fit is
 * printed above its row */
void why_print_types(FILE *file, const struct why *why);

/**
 * struct why_blocked - options of why_blocked()
 * @pid: 0: the only process with a runtime
 * @seconds: how long to watch
 * @slower_than_ns: leave out shorter blocks; 0: the default limit
 * @most: show at most this many places
 * @type: the only type to show; NULL: all
 */
struct why_blocked {
	uint64_t pid;
	double seconds;
	uint64_t slower_than_ns;
	size_t most;
	const char *type;
	bool json;
};

/* why_blocked - watch a process and print the functions in which polls blocked.
 * Return: an exit code */
int why_blocked(const struct why_blocked *options);

/* why_print_json - print the results as one line. Return: false if there is no
 * memory */
bool why_print_json(FILE *file, const struct why *why);

#endif
