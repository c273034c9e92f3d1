/* SPDX-License-Identifier: MIT */
/* why.h - the parts of skua why: where the time of the slowest tasks went */
#ifndef SKUA_BPF_WHY_H
#define SKUA_BPF_WHY_H

#include <stdio.h>
#include <sys/types.h>

#include "bpf/why/ledger.h"

/* The source of the times at which the kernel took CPUs away. */
enum why_source {
	WHY_BPF,       /* each time, and for which thread */
	WHY_SCHEDSTAT, /* how long in all */
	WHY_NOTHING,
};

/* A thread of the process; of times since why_sched_begin() */
struct why_thread {
	pid_t tid;
	uint64_t run_ns;
	uint64_t delay_ns; /* it waited for a CPU */
};

struct why_sched {
	pid_t pid;
	struct why_thread *threads;
	size_t count, room;
};

/* why_sched_begin - what /proc says of the threads of a process. Return: 0; -errno:
 * nothing is known then */
int why_sched_begin(struct why_sched *sched, pid_t pid);

/* why_sched_end - and what since then; threads that have ended are left out */
void why_sched_end(struct why_sched *sched);
void why_sched_free(struct why_sched *sched);

/* why_sched_find - of a thread; NULL: nothing is known of it */
const struct why_thread *why_sched_find(const struct why_sched *sched,
					uint32_t tid);

/**
 * struct why - the results to print
 * @missing: why it is not WHY_BPF
 * @sched: with WHY_SCHEDSTAT
 */
struct why {
	struct trace *trace;
	struct ledger ledger;
	struct ledger_verdict verdict;
	enum why_source source;
	char missing[400];
	const char *type; /* the only one that is shown, or NULL */
	struct why_sched sched;
};

/**
 * why_time - a time as the wall clock had it, in UTC: 2026-01-31T23:59:59.123456Z
 * @ns: a time of the recording
 * @text: of WHY_TIME bytes
 *
 * The clocks are compared once, as the recording starts: a step of the wall clock
 * after that is not seen.
 * Return: @text; it is empty if the recording does not know the time.
 */
#define WHY_TIME 48u
const char *why_time(const struct trace *trace, uint64_t ns, char *text);

/* why_print - lines of at most WHY_WIDTH columns, with @most incidents */
#define WHY_WIDTH 100u
void why_print(FILE *file, const struct why *why, size_t most);

/* why_print_types - a row for each; a name that does not fit stands above its row */
void why_print_types(FILE *file, const struct why *why);

/**
 * struct why_blocked - of what --off-cpu is wanted
 * @pid: 0: of the only process
 * @slower_than_ns: show what blocked for so long or longer; 0: as usual
 * @most: so many places
 * @type: the only one that is shown, or NULL
 */
struct why_blocked {
	uint64_t pid;
	double seconds;
	uint64_t slower_than_ns;
	size_t most;
	const char *type;
	bool json;
};

/* why_blocked - look, and print in which functions polls blocked. Return: an exit code */
int why_blocked(const struct why_blocked *options);

/* why_print_json - a line. Return: false: no memory */
bool why_print_json(FILE *file, const struct why *why);

#endif
