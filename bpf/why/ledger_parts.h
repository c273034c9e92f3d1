/* SPDX-License-Identifier: MIT */
/* ledger_parts.h - the steps of a worker: what it did, in the order of time */
#ifndef SKUA_BPF_LEDGER_PARTS_H
#define SKUA_BPF_LEDGER_PARTS_H

#include "bpf/why/ledger.h"

enum ledger_doing {
	LEDGER_LOST, /* unknown: events are missing */
	LEDGER_BETWEEN,
	LEDGER_ON_WAY, /* just waking up */
	LEDGER_POLL,
	LEDGER_JOB,
	LEDGER_PARK,
	LEDGER_SEARCH, /* a search that found work */
};

/* The activity of a worker from @from_ns until the next step. @decides: index of the last
 * step, this one included, that tells where a task came from: it has taken injected tasks,
 * or follows a search; 0: none. @work: index of the first poll or job, this step included;
 * the last index if there is none. */
struct ledger_step {
	uint64_t from_ns;
	size_t decides, work;
	uint8_t doing;  /* enum ledger_doing */
	bool injected;  /* it has just taken tasks from the injection queue */
	bool unseen;    /* it began before the recording */
	uint32_t name;  /* of a poll or job; of a search: the victim's track */
	uint32_t label; /* of a poll; LEDGER_NOBODY: none */
};

/* The labels of a poll so far. @now: the last one, since @since_ns; @most: the one that it had
 * longest without a break, for @most_ns. LEDGER_NOBODY: none. */
struct ledger_labels {
	uint32_t now, most;
	uint64_t since_ns, most_ns;
};

/* A slice that has not ended. Of a poll: @wait: index + 1 of the wait for a lock or channel
 * that its task had begun before; 0: none. @first: index of its first step. @goes_on: it waits
 * for that again. @gave_up: it waits no longer, and has not got it. */
struct ledger_open {
	struct ledger_step step;
	uint64_t task;
	size_t wait, first;
	struct ledger_labels labels;
	bool goes_on, gave_up;
};

/* A look of a worker that found events of descriptors at @ns; 0: there was none in this step.
 * The kernel got them between @from_ns and @until_ns. @since_ns: the time of the look before,
 * which tells looks apart */
struct ledger_reap {
	uint64_t from_ns, until_ns, ns;
	uint64_t since_ns;
};

/* The steps of a track. Slices are nested; @open has one of each depth. @wait_ns: the last
 * time when a task of the track began to wait. */
struct ledger_steps {
	struct ledger_step *steps;
	size_t count, room;
	struct ledger_open *open;
	size_t depth, open_room;
	uint64_t wait_ns;
	size_t search; /* step of the last search */
	size_t late; /* 1 + index in ledger.lates of the one in progress; 0: none */
	struct ledger_reap reap; /* the last look that found events */
	/* Of the first track of a runtime. If the last look of the runtime left events:
	 * they came at this time or later. Else 0. */
	uint64_t io_full_ns;
	uint32_t tid;
};

/* ledger_name - return the index of a name, which is added if it is new */
uint32_t ledger_name(struct ledger *ledger, const char *text);

/* ---- labels (ledger_labels.c) ------------------------------------------------ */

/* ledger_on_label - the task that is polled has another label from now on */
void ledger_on_label(struct ledger *ledger, const struct trace_mark *mark);

/* ledger_label - return the label that an open poll had longest until @ns */
uint32_t ledger_label(const struct ledger_open *open, uint64_t ns);

/* ledger_find_poll - return the open poll of a task on a track; NULL: there is none */
struct ledger_open *ledger_find_poll(struct ledger_steps *steps, uint64_t task);

/* ---- waits for locks and channels (ledger_waits.c) --------------------------- */

void ledger_on_wait(struct ledger *ledger, const struct trace_mark *mark);
void ledger_on_held(struct ledger *ledger, const struct trace_mark *mark);
void ledger_on_give_up(struct ledger *ledger, const struct trace_mark *mark);

/* ledger_begin_poll - note the wait for a lock that the task of a poll had begun */
void ledger_begin_poll(struct ledger *ledger, struct ledger_open *open,
		       const struct trace_mark *mark);

/* ledger_waited - add the wait of a poll, which ended it, to the item of that poll */
void ledger_waited(struct ledger *ledger, struct ledger_item *item,
		   const struct ledger_open *open);

/* ledger_count_stuck - count the waits that go on at the end */
void ledger_count_stuck(struct ledger *ledger);

/* ledger_settle_waits - after the last event, prepare ledger_split_wait(). Return: 0;
 * -ENOMEM */
int ledger_settle_waits(struct ledger *ledger);

/* ledger_split_wait - find the causes of an item's wait */
void ledger_split_wait(const struct ledger *ledger,
		       const struct ledger_item *item,
		       struct ledger_split *split);

/* ledger_did - add to @did, by parts, what a holder or server did in a time. @holder: 0: it
 * is not known */
void ledger_did(const struct ledger *ledger, uint64_t holder, uint64_t from_ns,
		uint64_t until_ns, uint64_t *did);

/* ---- waits for channels (ledger_channels.c) ---------------------------------- */

/* ledger_on_woken - note the task that wakes a task that waits for a channel */
void ledger_on_woken(struct ledger *ledger, const struct trace_mark *mark);

/* ledger_served, ledger_still_waits - a wait for a channel was over at @ready_ns, or goes
 * on at the end. @gave_up: in vain */
void ledger_served(struct ledger *ledger, struct ledger_wait *wait,
		   uint64_t ready_ns, bool gave_up);
void ledger_still_waits(struct ledger *ledger, struct ledger_wait *wait);

/* ledger_find_channels - after the last event, find the channels with the longest waits.
 * Return: 0; -ENOMEM */
int ledger_find_channels(struct ledger *ledger);

/* ledger_add_servers - add the servers whose polls are needed. Return: 0; -ENOMEM */
int ledger_add_servers(const struct ledger *ledger, struct addresses *holders);

/* ledger_settle_channels - find out what the servers of the longest waits did */
void ledger_settle_channels(struct ledger *ledger);

/* ---- waits for descriptors (ledger_io.c) -------------------------------------- */

void ledger_on_io_wait(struct ledger *ledger, const struct trace_mark *mark);
void ledger_on_reap(struct ledger *ledger, const struct trace_mark *mark);

/* ledger_on_io_woken - a task was made runnable, perhaps by an event of the last look */
void ledger_on_io_woken(struct ledger *ledger, const struct trace_mark *mark);

/* ledger_io_polled - the poll of a task begins, so that it does not wait any more */
void ledger_io_polled(struct ledger *ledger, uint64_t task);

/* ledger_io_stop - after the last event */
void ledger_io_stop(struct ledger *ledger);

/* ---- calls of skua_run() (ledger_fork_seats.c, ledger_forks*.c) ----------------- */

/* ledger_fork_seats_open - make the seats of all runtimes. Return: 0; -ENOMEM. The caller
 * closes them in any case */
int ledger_fork_seats_open(struct ledger *ledger);
void ledger_fork_seats_close(struct ledger *ledger);

/* ledger_fork_seat - return the seat of a place; NULL: the place is impossible */
struct ledger_fork_seat *ledger_fork_seat(const struct ledger *ledger,
					  uint32_t runtime, uint32_t place);

/* ledger_fork_owner - return index + 1 of the caller to whose call a job belongs that is taken
 * from a place now; 0: it is not known, or the job is of a task */
uint32_t ledger_fork_owner(const struct ledger *ledger, uint32_t runtime,
			   uint32_t place);

/* ledger_fork_push - note that the thread in @seat begins a job of @owner. @seat may be NULL.
 * Return: the owner; 0: it is not known, or there is no room to note it */
uint32_t ledger_fork_push(struct ledger_fork_seat *seat, uint32_t owner);

/* ledger_fork_pop - note that the thread in @seat ends its newest job. Return: as
 * ledger_fork_push() */
uint32_t ledger_fork_pop(struct ledger_fork_seat *seat);

void ledger_on_fork(struct ledger *ledger, const struct trace_mark *mark);

/* ledger_fork_job - a job of a worker @begins or ends */
void ledger_fork_job(struct ledger *ledger, const struct trace_mark *mark,
		     bool begins);

/* ledger_fork_start - before the first event */
void ledger_fork_start(struct ledger *ledger);

/* ledger_fork_gap - events are missing before @ns */
void ledger_fork_gap(struct ledger *ledger, uint64_t ns);

/* ledger_fork_stop - after the last event */
void ledger_fork_stop(struct ledger *ledger, uint64_t ns);

/* ledger_judge_forks - after that, find out what callers and workers did */
void ledger_judge_forks(struct ledger *ledger);

/* ledger_add_late - note a late call or look. Return: its index + 1; 0: no memory */
size_t ledger_add_late(struct ledger *ledger, const struct ledger_late *late);

/* ledger_settle_steps - after the last event, prepare ledger_split() */
void ledger_settle_steps(struct ledger *ledger);

/* ---- parts (ledger_split.c) -------------------------------------------------- */

/* ledger_split_between - add the parts of an item from one time to another, both of them
 * between its ready_ns and end_ns, to @parts */
void ledger_split_between(const struct ledger *ledger,
			  const struct ledger_item *item, uint64_t from_ns,
			  uint64_t until_ns, uint64_t *parts);

/* ledger_add_cause - add @ns of a cause to an item's causes */
void ledger_add_cause(struct ledger_split *split,
		      const struct ledger_cause *what, uint64_t ns);

#endif
