/* SPDX-License-Identifier: MIT */
/**
 * ledger.h - splits the time of tasks, from ready to the end of the poll, into parts
 *
 * An item is one wait of a task and the poll that ends it: from the moment at which the
 * task became runnable to the end of that poll. If the task waited for a lock before,
 * or for a place in a full channel, and has got it in that poll, the item begins with that
 * wait, which is its first part: waited. Polls in between, in which the task did not get
 * it, belong to it. Other waits may be the normal state of a task: those for an empty
 * channel are in no item, but in ledger.channels. A task that has a label when it begins to
 * wait is in the middle of something, so such a wait counts as one for a lock does.
 *
 * Each other nanosecond of an item belongs to exactly one part, chosen by the activity
 * of the worker that held the task at that time. The worker that counts is:
 *
 * 	worker		from			to
 * 	the victim	ready			the thief begins to search
 * 	the thief	it begins to search	it has the task: stolen
 * 	the poller	that, or ready		the end of the poll
 *
 * The first two rows apply only to a stolen task: one that became runnable on another
 * thread, if its poller has stolen after that, and has taken nothing from the injection
 * queue since. The victim is that of the last steal before the poll. So the parts are
 * disjoint, and their sum is the time of the item, to the nanosecond.
 */
#ifndef SKUA_BPF_LEDGER_H
#define SKUA_BPF_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/recording/addresses.h"
#include "bpf/recording/trace_play.h"
#include "bpf/why/ledger_forks.h"

enum ledger_part {
	LEDGER_WAITED,      /* for a lock, or while a channel was full */
	LEDGER_QUEUED,      /* the worker polled others, or was between polls */
	LEDGER_PARKED,      /* the worker slept, or was just waking up */
	LEDGER_STOLEN,      /* a thief was about to take the task */
	LEDGER_RUNNING,     /* in its own poll, on a CPU */
	LEDGER_PREEMPTED,   /* the worker was runnable, but had no CPU */
	LEDGER_DESCHEDULED, /* the worker slept in the kernel, in a poll */
	LEDGER_UNKNOWN,     /* events or switches are missing */
	LEDGER_PARTS,
	/* The following are reasons, but no parts. */
	LEDGER_BURST = LEDGER_PARTS,
	LEDGER_BACKLOG,
	LEDGER_UNFINISHED,
	LEDGER_REASONS
};

/* ledger_word - return the word for a part or a reason, such as "queued" */
const char *ledger_word(unsigned part);

/* @from_ns: ready_ns, or the beginning of the wait before. @wait: index + 1 of that wait
 * in ledger.waits; 0: there is none. */
struct ledger_item {
	uint64_t from_ns, ready_ns, begin_ns, end_ns;
	uint64_t task;
	size_t wait;
	uint32_t track; /* the worker that polled the task */
	uint32_t home;  /* the thread that made the task runnable */
	uint32_t name;
	uint32_t
		label; /* the one that its poll had longest; LEDGER_NOBODY: none */
};

static inline uint64_t ledger_took(const struct ledger_item *item)
{
	return item->end_ns - item->from_ns;
}

/* A poll that was still going on when the recording ended. */
struct ledger_unfinished {
	uint32_t track;
	uint32_t name, label;
	uint64_t ns;        /* how long it had taken */
	bool unseen;        /* it began before the recording */
	uint64_t behind;    /* waiting tasks that its worker made runnable */
	uint64_t oldest_ns; /* the longest wait of these tasks */
};

/**
 * struct ledger_late - a worker called its pollers late: events waited for that call
 * before they made any task ready
 * @io: instead, no worker looked for events of descriptors; one may have come at any time
 *      between @from_ns and @until_ns
 * @from_ns, @until_ns: the worker did not call its pollers, or no worker looked, between
 *                      these times
 * @woken: number of tasks that the late call or look made runnable, the last at @last_ns
 */
struct ledger_late {
	uint32_t track;
	bool io;
	uint64_t from_ns, until_ns;
	uint64_t woken, last_ns;
};

static inline uint64_t ledger_late_by(const struct ledger_late *late)
{
	return late->until_ns - late->from_ns;
}

/* A task that lets waiting tasks go on, or a thread. @task: AREA_HOLDER_THREAD: an outside
 * thread; 0: not known. @name: its type; @label: the one that it had then. LEDGER_NOBODY: none,
 * or not known */
struct ledger_server {
	uint64_t task;
	uint32_t name, label;
};

/**
 * struct ledger_wait - a task began to wait for a lock or a channel, or for anything while
 * it had a label
 * @kind: enum area_wait_kind; @name: of the task; @labelled: it had a label
 * @until_ns: of a channel: when the wait was over, or the recording if the task @still
 *            waits; 0: not known
 * @server: of a channel: the last one that let a task go on that waited at the same side. Of
 *          objects other than locks, channels and descriptors: the task that woke this one
 */
struct ledger_wait {
	uint64_t object;
	uint64_t from_ns, until_ns;
	struct ledger_server server;
	uint32_t kind;
	uint32_t name;
	bool labelled;
	bool still;
};

/**
 * struct ledger_channel - the waits for a channel, of one kind
 * @object: 0: oneshots without a name, for which tasks of one type wait
 * @times: number of waits, of @ns altogether
 * @still: number of tasks that wait at the end, for up to @still_ns
 * @longest: index + 1 of the longest wait in ledger.waits, of @longest_ns
 * @did: what its server did meanwhile, as parts
 */
struct ledger_channel {
	uint64_t object;
	uint32_t kind;
	uint64_t times, ns;
	uint64_t still, still_ns;
	size_t longest;
	uint64_t longest_ns;
	uint64_t did[LEDGER_PARTS];
};

#define LEDGER_CHANNELS 16u

/**
 * struct ledger_io - the waits of tasks of one type for descriptors, in one direction
 * @name: of the tasks; @kind: AREA_WAITS_IO_READ or AREA_WAITS_IO_WRITE
 * @times: number of waits, of @ns altogether
 * @unseen_ns: the part of it after the kernel had the event, at most
 * @longest_ns, @longest_unseen_ns: the most of one wait; of one part of it, if events that
 *                                  were of no use divide it
 * @still: number of tasks that wait at the end, for up to @still_ns
 */
struct ledger_io {
	uint32_t name, kind;
	uint64_t times, ns, unseen_ns;
	uint64_t longest_ns, longest_unseen_ns;
	uint64_t still, still_ns;
};

/* From @ns on, @holder held the lock, as EVENT_HELD names it. */
struct ledger_hold {
	uint64_t object, ns;
	uint64_t holder;
	uint32_t name, label;
};

struct ledger_steps;

/**
 * struct ledger - the items of a trace, and what its workers did
 * @items: one for each poll whose beginning, end and wait are known
 * @names: names of task types; item.name is an index
 * @ready: times at which tasks became runnable, in order
 * @lates: late calls of pollers, and late looks for events, in order
 * @others: polls that are in no item, or within the wait of one, as items whose wait is
 *          not known
 * @waits: all waits for locks and channels; @suspended: those that go on, by task
 * @servers: for each side of a channel, index + 1 of the last wait that ended there because of
 *           its server (ledger_channels.c)
 * @channels: those with the longest waits, at most LEDGER_CHANNELS, the longest first
 * @io: waits for descriptors, the longest first; @io_open: those that go on, by task
 * @forks: calls of skua_run()
 * @stuck: index + 1 of the longest wait for a lock that still goes on at the end; 0: none;
 *         @stuck_count: their number
 * @holds: what is known about the holders of locks, sorted by lock and time
 * @held: the polls of these holders, sorted by task and time
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
	void *by_name; /* a tree of indices, sorted by name */
	uint64_t *ready;
	size_t ready_count, ready_room;
	struct ledger_late *lates;
	size_t late_count, late_room;
	struct ledger_item *others;
	size_t other_count, other_room;
	struct ledger_wait *waits;
	size_t wait_count, wait_room;
	struct addresses suspended, servers;
	struct ledger_channel *channels;
	size_t channel_count;
	struct ledger_io *io;
	size_t io_count, io_room;
	struct addresses io_open;
	struct ledger_forks forks;
	size_t stuck, stuck_count;
	struct ledger_hold *holds;
	size_t hold_count, hold_room;
	struct ledger_item *held;
	size_t held_count;
	struct ledger_steps *tracks; /* what each worker did, by track */
	unsigned workers;
	uint64_t incomplete;
	uint64_t waiting, oldest_ns;
	struct ledger_unfinished *unfinished;
	unsigned unfinished_count;
	uint64_t stop_ns;
	uint64_t taken; /* arrow of the last TRACE_STOLEN, and its track */
	unsigned victim;
	int failed;
};

/* ledger_open - read all events of a newly opened trace. Return: 0; -ENOMEM;
 * trace_failed(). The caller closes it with ledger_close() in any case */
int ledger_open(struct ledger *ledger, struct trace *trace);
void ledger_close(struct ledger *ledger);

enum { LEDGER_CAUSES = 32, LEDGER_NAMED = 3 };

/* Why a worker slept in the kernel, or was stopped. */
enum ledger_how {
	LEDGER_OTHERS, /* the poll of another task blocked */
	LEDGER_ITSELF, /* the task's own poll blocked */
	LEDGER_STOP,   /* a signal or a debugger stopped it */
};

/* A holder of the worker or of its CPU: the tasks of type @name (LEDGER_NOBODY:
 * the worker itself) with @label (LEDGER_NOBODY: none), or the threads named @comm, of
 * which @thread held it longest. With LEDGER_WAITED: the holders of the lock @lock, of
 * @lock_kind, named @name (LEDGER_NOBODY: not known), of which @holder held it longest;
 * @did: what they did meanwhile, as parts, where LEDGER_WAITED is a wait for anything. If
 * @lock is no lock, the server of the wait is meant instead of the holder. */
#define LEDGER_NOBODY UINT32_MAX
struct ledger_cause {
	enum ledger_part part;
	uint32_t track; /* the worker */
	uint32_t name, label;
	uint32_t thread;
	enum ledger_how how;
	char comm[16];
	uint64_t ns;
	uint64_t times;
	uint64_t longest_ns;
	uint64_t lock, holder;
	uint32_t lock_kind;
	uint64_t did[LEDGER_PARTS];
};

/* An item in its parts. @victim: if @stolen, the track of the worker it was
 * stolen from. @ahead: number of polls and jobs it waited for. Beyond
 * LEDGER_CAUSES, small causes are only in the parts. */
struct ledger_split {
	uint64_t parts[LEDGER_PARTS];
	bool stolen;
	uint32_t victim;
	uint64_t ahead;
	uint64_t longest_ns; /* the longest of these polls and jobs */
	unsigned cause_count;
	struct ledger_cause causes[LEDGER_CAUSES];
};

/* ledger_split - split an item into its parts */
void ledger_split(const struct ledger *ledger, const struct ledger_item *item,
		  struct ledger_split *split);

/**
 * struct ledger_reason - the cause of a share of an item's time
 * @kind: enum ledger_part; LEDGER_BURST; or LEDGER_BACKLOG: many polls, none of them
 *        long. In a verdict also LEDGER_UNFINISHED: a poll that has not ended, and has
 *        taken longer than any item
 * @culprit: a type of tasks or the name of a thread; empty: none. With LEDGER_BACKLOG,
 *           the item's own type if most of the polls were of it
 * @label: the label of the culprit, if that is a type; empty: none, or not known
 * @track: the worker; @thread: as in struct ledger_cause
 * @ns: the time; @times: in how many pieces; @longest_ns: the longest of them
 * @burst: number of tasks that became runnable within @burst_ns before it. With
 *         LEDGER_UNFINISHED: number of tasks that wait for the poll, the oldest for
 *         @burst_ns
 * @unseen: as in struct ledger_unfinished
 * @lock, @holder, @lock_kind, @did: as in struct ledger_cause
 * @others: in a verdict: other types held the lock for a good part of that time as well
 */
struct ledger_reason {
	unsigned kind;
	enum ledger_how how;
	char culprit[TRACE_TEXT];
	char label[TRACE_TEXT];
	uint32_t track;
	uint32_t thread;
	uint64_t ns, times, longest_ns;
	uint64_t burst, burst_ns;
	bool unseen;
	bool others;
	uint64_t lock, holder;
	uint32_t lock_kind;
	uint64_t did[LEDGER_PARTS];
};

/* ledger_who - write the culprit of a reason, as "serve (keys)", to @text, of LEDGER_WHO
 * bytes. Return: @text */
#define LEDGER_WHO (2 * TRACE_TEXT + 4)
const char *ledger_who(const struct ledger_reason *reason, char *text);

/* ledger_task - write a type and a label in the same way */
const char *ledger_task(const struct ledger *ledger, uint32_t name,
			uint32_t label, char *text);

/* ledger_is_alike - were both waits for the same object, or for objects of one kind that come
 * and go, such as an event or a oneshot of each request? The two sides of a channel are not
 * the same */
bool ledger_is_alike(const struct ledger_reason *a,
		     const struct ledger_reason *b);

/* ledger_part_of - return the part that contains a reason's time */
unsigned ledger_part_of(const struct ledger_reason *reason);

/**
 * ledger_reasons - find the main reasons for an item's time
 * @out: LEDGER_NAMED entries. The first is the main reason in the largest part; the
 *       others are those with more than a tenth of the whole, the largest first
 *
 * Return: the number of reasons, at least one.
 */
unsigned ledger_reasons(const struct ledger *ledger,
			const struct ledger_item *item,
			const struct ledger_split *split,
			struct ledger_reason *out);

/* ledger_say - write reasons as a sentence to @text, of @bytes */
#define LEDGER_TEXT 768u
void ledger_say(const struct ledger *ledger,
		const struct ledger_reason *reasons, unsigned count, char *text,
		size_t bytes);

/* ledger_say_channel - the same about the waits for a channel */
void ledger_say_channel(const struct ledger *ledger,
			const struct ledger_channel *channel, char *text,
			size_t bytes);

/* ledger_say_io - the same about waits for descriptors */
void ledger_say_io(const struct ledger *ledger, const struct ledger_io *io,
		   char *text, size_t bytes);

/**
 * struct ledger_type - figures of the items of one type, or of all
 * @p999: the parts of the item at that rank
 * @slow: number of the slowest items that were split
 * @means: means of the parts of these items
 */
struct ledger_type {
	uint32_t name; /* LEDGER_NOBODY: all types */
	uint64_t count;
	uint64_t p50_ns, p99_ns, p999_ns, longest_ns;
	uint64_t p999[LEDGER_PARTS];
	uint64_t slow;
	uint64_t means[LEDGER_PARTS];
};

/* One of the slowest items. */
struct ledger_slow {
	struct ledger_item item;
	struct ledger_split split;
	struct ledger_reason reasons[LEDGER_NAMED];
	unsigned reason_count;
};

/* Number of items of one type in an incident. */
struct ledger_hit {
	uint32_t name;
	uint64_t count;
};

/**
 * struct ledger_incident - slow items that overlap in time and have the same culprit
 * @from_ns, @to_ns: from the first that became ready to the last that ended
 * @worst: index of the slowest of them in verdict.slow
 * @tasks: number of items
 * @hits: the types of the items, the most frequent first; items of types beyond
 *        LEDGER_HITS count only in @tasks
 */
enum { LEDGER_HITS = 16 };
struct ledger_incident {
	uint64_t from_ns, to_ns;
	size_t worst;
	uint64_t tasks;
	unsigned hit_count;
	struct ledger_hit hits[LEDGER_HITS];
};

/* A late call of pollers or a late look for events, and the reasons why the worker was
 * late. */
struct ledger_delay {
	struct ledger_late late;
	struct ledger_reason reasons[LEDGER_NAMED];
	unsigned reason_count;
};

/* The longest of these delays. @times: number of all that woke tasks and exceeded the limit */
struct ledger_delays {
	struct ledger_delay list[LEDGER_NAMED];
	unsigned count;
	uint64_t times;
};

/* A part of the judged items' time and its main cause. @share: the fraction of
 * all their time that the cause took. @part_share: the fraction that the part
 * took. @several: the cause has so little of the part that others must be
 * blamed as well. */
struct ledger_share {
	struct ledger_reason reason;
	double share;
	double part_share;
	bool several;
};

/**
 * struct ledger_verdict - the results over all items
 * @slow, @slow_count: the slowest items, the very slowest first
 * @looked: number of the slowest items that were grouped into incidents
 * @incidents: these groups, the one with the slowest item first
 * @types: all types together, then each type, the one with the slowest item first
 * @judged: number of the slowest items that the verdict is about: 1 %, and 10 to 1,000;
 *          or with a limit, up to 1,000 of the @slower ones
 * @slower_than_ns: the limit that ledger_judge() was given, or 0
 * @slower: number of items that took longer than this limit
 * @pollers: calls of pollers; @events: looks for events of descriptors: late by more than
 *           @late_ns
 * @shares: first an unfinished poll, if one is the main cause; then the largest part of
 *          the judged time, and others that have more than a tenth
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
	struct ledger_delays pollers, events;
	uint64_t late_ns;
	struct ledger_share shares[1 + LEDGER_NAMED];
	unsigned share_count;
};

/* ledger_keep_type - drop the items of all other types, but keep what workers
 * did. @name: of a type or a label, or both, as "type (label)". Return: 0; -ENOENT
 * if no task has them: nothing is dropped */
int ledger_keep_type(struct ledger *ledger, const char *name);

/* ledger_list_types - write the names of the types of polled tasks, in the
 * order in which they were seen, and then their labels, to @text of @bytes, as many as fit */
void ledger_list_types(const struct ledger *ledger, char *text, size_t bytes);

/**
 * ledger_judge - find the slowest items and what their time went to; sorts the items
 * @most: @out holds at most this many of the slowest items
 * @slower_than_ns: judge only items that took longer; types still count all
 *
 * Return: 0, -ENOMEM. The caller frees @out with ledger_free() in any case.
 */
int ledger_judge(struct ledger *ledger, size_t most, uint64_t slower_than_ns,
		 struct ledger_verdict *out);
void ledger_free(struct ledger_verdict *verdict);

/* ledger_find_incidents - group the first @count of verdict.slow into
 * incidents. Return: 0, -ENOMEM */
int ledger_find_incidents(struct ledger_verdict *verdict, size_t count);

/* ledger_find_delays - find the late calls and looks that woke tasks; part of
 * ledger_judge() */
void ledger_find_delays(const struct ledger *ledger,
			struct ledger_verdict *verdict);

/* ledger_last_holder - return the name of the last known holder of a lock, or NULL */
const char *ledger_last_holder(const struct ledger *ledger, uint64_t lock);

/* ledger_late_of - return the late call of pollers, or the late look, that made an item's
 * task runnable, or NULL */
const struct ledger_late *ledger_late_of(const struct ledger *ledger,
					 const struct ledger_item *item);

/* ledger_said - return the share of all time that the verdict mentions */
double ledger_said(const struct ledger_share *share);

/* ledger_say_verdict - write the verdict to @text, of @bytes, as one line
 * without its end */
void ledger_say_verdict(const struct ledger *ledger,
			const struct ledger_verdict *verdict, char *text,
			size_t bytes);

#endif
