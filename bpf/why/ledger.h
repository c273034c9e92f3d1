/* SPDX-License-Identifier: MIT */
/**
 * ledger.h - where the time of tasks went, between ready and polled
 *
 * An item is a wait of a task and the poll that ends it: from the moment at which
 * the task became runnable to the end of that poll. Each nanosecond of it is in
 * one part, by what the worker did then that had the task, or took it in the end:
 *
 *	whose worker	from			to
 *	the victim's	ready			the thief begins to look
 *	the thief's	it begins to look	it has found something: stolen
 *	the poller's	then, or ready		the end of the poll
 *
 * The victim is that of the last steal before the poll, if the task became runnable
 * elsewhere and the worker has taken nothing from the injection queue since. So the
 * parts are disjoint, and their sum is the item's time, to the nanosecond.
 */
#ifndef SKUA_BPF_LEDGER_H
#define SKUA_BPF_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/recording/trace_play.h"

enum ledger_part {
	LEDGER_QUEUED,      /* the worker polled others, or was between polls */
	LEDGER_PARKED,      /* it slept, or was on its way from there */
	LEDGER_STOLEN,      /* a thief was about to take it */
	LEDGER_RUNNING,     /* in its poll, on a CPU */
	LEDGER_PREEMPTED,   /* the worker would have gone on, without a CPU */
	LEDGER_DESCHEDULED, /* it slept in the kernel, in a poll */
	LEDGER_UNKNOWN,     /* events, or switches, are missing */
	LEDGER_PARTS,
	LEDGER_BURST = LEDGER_PARTS, /* reasons, but no parts */
	LEDGER_BACKLOG,
	LEDGER_UNFINISHED,
	LEDGER_REASONS
};

/* ledger_word - "queued", and so on; also of reasons that are no parts */
const char *ledger_word(unsigned part);

struct ledger_item {
	uint64_t ready_ns, begin_ns, end_ns;
	uint64_t task;
	uint32_t track; /* the worker that polled it */
	uint32_t home;  /* the thread that made it runnable */
	uint32_t name;
};

static inline uint64_t ledger_took(const struct ledger_item *item)
{
	return item->end_ns - item->ready_ns;
}

/* A poll that had not ended when the recording did. */
struct ledger_unfinished {
	uint32_t track;
	uint32_t name;
	uint64_t ns;        /* so far, as was seen */
	bool unseen;        /* its beginning was before the recording */
	uint64_t behind;    /* waiting tasks that its worker made runnable */
	uint64_t oldest_ns; /* the longest time that one of these waited */
};

/**
 * struct ledger_late - a worker called its pollers late: events waited for that call
 * before they made any task ready
 * @from_ns, @until_ns: the worker did not call its pollers between these times
 * @woken: number of tasks that the late call made runnable, the last at @last_ns
 */
struct ledger_late {
	uint32_t track;
	uint64_t from_ns, until_ns;
	uint64_t woken, last_ns;
};

static inline uint64_t ledger_late_by(const struct ledger_late *late)
{
	return late->until_ns - late->from_ns;
}

struct ledger_steps;

/**
 * struct ledger - where the time of a trace's tasks went
 * @items: one for each poll whose beginning, end and wait are known
 * @names: names of task types; item.name is an index
 * @ready: times at which tasks became runnable, in order
 * @lates: late calls of pollers, in order
 * @incomplete: number of polls without an item
 * @waiting: number of tasks that waited when the trace ended
 * @oldest_ns: the longest time that one of these had waited
 * @unfinished: polls that had not ended when the trace did
 */
struct ledger {
	struct trace_sink sink;
	struct trace *trace;
	struct ledger_item *items;
	size_t count, room;
	char (*names)[TRACE_TEXT];
	size_t name_count, name_room;
	void *by_name; /* a tree of indices */
	uint64_t *ready;
	size_t ready_count, ready_room;
	struct ledger_late *lates;
	size_t late_count, late_room;
	struct ledger_steps *tracks; /* what each did */
	unsigned workers;
	uint64_t incomplete;
	uint64_t waiting, oldest_ns;
	struct ledger_unfinished *unfinished;
	unsigned unfinished_count;
	uint64_t stop_ns;
	uint64_t taken; /* of the arrow from the last victim */
	unsigned victim;
	int failed;
};

/* ledger_open - of all events of a trace that was just opened. Return: 0; -ENOMEM;
 * trace_failed(). To be closed in any case */
int ledger_open(struct ledger *ledger, struct trace *trace);
void ledger_close(struct ledger *ledger);

enum { LEDGER_CAUSES = 16, LEDGER_NAMED = 3 };

/* The activity of a worker that slept in the kernel. */
enum ledger_how {
	LEDGER_OTHERS, /* a call of another's poll */
	LEDGER_ITSELF, /* one of the task's own poll */
	LEDGER_STOP,   /* a signal, or a debugger, had stopped it */
};

/* The holders of the worker meanwhile: tasks of that name (LEDGER_NOBODY: itself), or
 * threads of that one, of which @thread had it longest. */
#define LEDGER_NOBODY UINT32_MAX
struct ledger_cause {
	enum ledger_part part;
	uint32_t track; /* which worker */
	uint32_t name;
	uint32_t thread;
	enum ledger_how how;
	char comm[16];
	uint64_t ns;
	uint64_t times;
	uint64_t longest_ns;
};

/* @ahead: polls and jobs that it waited for. Causes beyond the first few are in the
 * parts alone. @victim: from whose worker's track it was, if @stolen */
struct ledger_split {
	uint64_t parts[LEDGER_PARTS];
	bool stolen;
	uint32_t victim;
	uint64_t ahead;
	uint64_t longest_ns; /* of those */
	unsigned cause_count;
	struct ledger_cause causes[LEDGER_CAUSES];
};

/* ledger_split - an item in its parts */
void ledger_split(const struct ledger *ledger, const struct ledger_item *item,
		  struct ledger_split *split);

/**
 * struct ledger_reason - what some of an item's time went to
 * @kind: enum ledger_part, or LEDGER_BURST, or LEDGER_BACKLOG: of many polls, none
 *        long, most of them of its own type; of a verdict also LEDGER_UNFINISHED: of a poll
 *        that took longer than all of them, and has not ended
 * @culprit: a type of tasks or a thread's name; empty: there is none
 * @track: which worker; @thread: as in struct ledger_cause
 * @ns: how much of it; @times: in how many pieces; @longest_ns: of those
 * @burst: so many tasks became runnable, within @burst_ns before it; behind a poll
 *         that has not ended: so many wait, the oldest for @burst_ns
 * @unseen: as of struct ledger_unfinished
 */
struct ledger_reason {
	unsigned kind;
	enum ledger_how how;
	char culprit[TRACE_TEXT];
	uint32_t track;
	uint32_t thread;
	uint64_t ns, times, longest_ns;
	uint64_t burst, burst_ns;
	bool unseen;
};

/* ledger_part_of - the part that a reason's time is in */
unsigned ledger_part_of(const struct ledger_reason *reason);

/**
 * ledger_reasons - what had most of an item's time
 * @out: LEDGER_NAMED; first what had most of its largest part, then what had a
 *       tenth of all, or more, the most first
 *
 * Return: how many: at least one.
 */
unsigned ledger_reasons(const struct ledger *ledger,
			const struct ledger_item *item,
			const struct ledger_split *split,
			struct ledger_reason *out);

/* ledger_say - reasons in words, to @text of @bytes */
#define LEDGER_TEXT 768u
void ledger_say(const struct ledger *ledger,
		const struct ledger_reason *reasons, unsigned count, char *text,
		size_t bytes);

/**
 * struct ledger_type - the items of a name, or all
 * @p999: the item of that rank, in its parts
 * @slow: how many of the slowest were split
 * @means: of their parts
 */
struct ledger_type {
	uint32_t name; /* LEDGER_NOBODY: all */
	uint64_t count;
	uint64_t p50_ns, p99_ns, p999_ns, longest_ns;
	uint64_t p999[LEDGER_PARTS];
	uint64_t slow;
	uint64_t means[LEDGER_PARTS];
};

/* One of the slowest. */
struct ledger_slow {
	struct ledger_item item;
	struct ledger_split split;
	struct ledger_reason reasons[LEDGER_NAMED];
	unsigned reason_count;
};

/* How many items of a type an incident has. */
struct ledger_hit {
	uint32_t name;
	uint64_t count;
};

/**
 * struct ledger_incident - slow items that overlap in time and went to the same culprit
 * @from_ns, @to_ns: from the first that became ready to the last that ended
 * @worst: the slowest of them, in verdict.slow
 * @tasks: how many they are
 * @hits: of which types, the most first; types beyond LEDGER_HITS are in @tasks alone
 */
enum { LEDGER_HITS = 16 };
struct ledger_incident {
	uint64_t from_ns, to_ns;
	size_t worst;
	uint64_t tasks;
	unsigned hit_count;
	struct ledger_hit hits[LEDGER_HITS];
};

/* One of the latest, and the holder of the worker meanwhile. */
struct ledger_delay {
	struct ledger_late late;
	struct ledger_reason reasons[LEDGER_NAMED];
	unsigned reason_count;
};

/* The cause of most of a part of all: @share of all; and the part, @part_share;
 * @several: that one had so little of the part that it goes to others as well. */
struct ledger_share {
	struct ledger_reason reason;
	double share;
	double part_share;
	bool several;
};

/**
 * struct ledger_verdict - the result for all
 * @slow, @slow_count: the slowest, the very slowest first
 * @looked: so many of the slowest were told apart in incidents
 * @incidents: of those, that with the slowest first
 * @types: all, and then each, that with the slowest first
 * @judged: so many of the slowest were looked at: 1 %, 10 to 1,000; or up to 1,000 of
 *          the @slower ones
 * @slower_than_ns: the limit that ledger_judge() was given, or 0
 * @slower: how many items took longer than that
 * @delays: of the pollers that were called late and woke tasks, those that were called
 *          latest; @late_times of them were late by more than @late_ns
 * @shares: perhaps that of an unfinished poll; of the part that most of their time went
 *          to; and of others that had a tenth or more
 */
struct ledger_verdict {
	struct ledger_slow *slow;
	size_t slow_count, looked;
	struct ledger_incident *incidents;
	size_t incident_count;
	struct ledger_type *types;
	size_t type_count;
	uint64_t judged;
	uint64_t slower_than_ns, slower;
	struct ledger_delay delays[LEDGER_NAMED];
	unsigned delay_count;
	uint64_t late_times, late_ns;
	struct ledger_share shares[1 + LEDGER_NAMED];
	unsigned share_count;
};

/* ledger_keep_type - drop the items of all other types; what their workers did meanwhile
 * stays known. Return: 0; -ENOENT: no task has a type of that name, nothing is dropped */
int ledger_keep_type(struct ledger *ledger, const char *name);

/* ledger_list_types - the names of the types of tasks that were polled, in the order in
 * which they were seen, to @text of @bytes: as many as there is room for */
void ledger_list_types(const struct ledger *ledger, char *text, size_t bytes);

/**
 * ledger_judge - find the slowest items and what their time went to; sorts the items
 * @most: how many of the slowest @out holds at most
 * @slower_than_ns: look only at items that took longer; types still count all
 *
 * Return: 0, -ENOMEM. To be freed in any case.
 */
int ledger_judge(struct ledger *ledger, size_t most, uint64_t slower_than_ns,
		 struct ledger_verdict *out);
void ledger_free(struct ledger_verdict *verdict);

/* ledger_find_incidents - of the first @count of verdict.slow. Return: 0, -ENOMEM */
int ledger_find_incidents(struct ledger_verdict *verdict, size_t count);

/* ledger_find_delays - of what woke tasks, for ledger_judge() */
void ledger_find_delays(const struct ledger *ledger,
			struct ledger_verdict *verdict);

/* ledger_late_of - the late call of pollers that made an item's task runnable, or NULL */
const struct ledger_late *ledger_late_of(const struct ledger *ledger,
					 const struct ledger_item *item);

/* ledger_said - how much of all is told of it */
double ledger_said(const struct ledger_share *share);

/* ledger_say_verdict - a line without its end, to @text of @bytes */
void ledger_say_verdict(const struct ledger *ledger,
			const struct ledger_verdict *verdict, char *text,
			size_t bytes);

#endif
