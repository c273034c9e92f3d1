/* SPDX-License-Identifier: MIT */
/* test_ledger_parts.c - the parts of the time of tasks: queues, sleeps, CPUs, labels */
#include "tests/unit/ledger_file.h"

EACH_TEST(set_up, tear_down);

static void also_cpu_was_taken(const struct file *f)
{
	assert_int_equal(f->verdict.shares[0].reason.kind, LEDGER_PREEMPTED);
	assert_string_equal(f->verdict.shares[0].reason.culprit, "stress");
}

static void also_return_was_not_seen(const struct file *f)
{
	assert_int_equal(trace_offcpu(f->trace)->unseen, 2);
}

static void also_events_lost(const struct file *f)
{
	assert_int_equal(f->ledger.count, 1);
	assert_int_equal(f->ledger.incomplete, 2);
}

static void also_labels(const struct file *f)
{
	char text[LEDGER_WHO];

	assert_string_equal(ledger_task(&f->ledger, f->ledger.items[0].name,
					f->ledger.items[0].label, text),
			    "some (get)");
}

/* Recordings, and the parts of their items. */
static const struct split parts[] = {
	{
		.name = "split__behind_another__is_queued",
		.steps = { CLOCK(100), READY(2, 150, TASK),
			   READY(2, 160, TASK + 1),
			   POLL(0, 200, 900, TASK, OTHER),
			   POLL(0, 910, 950, TASK + 1, TYPE), CLOCK(1000) },
		.items = { { TASK + 1,
			     "queued 710, running 40, unknown 40, waited 700 ns "
			     "behind other on worker 0" },
			   { TASK,
			     "running 700, unknown 50, ran for 700 ns itself" } },
	},
	/* The poll did several things: the longest one is named. */
	{
		.name = "split__behind_a_label__names_the_longest",
		.steps = { CLOCK(100), READY(2, 150, TASK),
			   READY(2, 160, TASK + 1), BEGIN(0, 200, TASK, OTHER),
			   LABEL(0, 210, TASK, GET), LABEL(0, 300, TASK, KEYS),
			   LABEL(0, 800, TASK, GET), LABEL(0, 850, TASK, 0),
			   NOTE(0, 900, EVENT_END, TASK, 0, SKUA_DONE),
			   BEGIN(0, 910, TASK + 1, TYPE),
			   LABEL(0, 920, TASK + 1, GET),
			   NOTE(0, 950, EVENT_END, TASK + 1, 0, SKUA_DONE),
			   CLOCK(1000) },
		.items = { { TASK + 1,
			     "queued 710, running 40, unknown 40, waited 700 ns "
			     "behind other (keys) on worker 0" },
			   { TASK,
			     "running 700, unknown 50, ran for 700 ns itself" } },
		.also = also_labels,
	},
	/* A task that does something waits in the middle of that, for any object; one that
	 * does nothing in particular does not. */
	{
		.name = "split__waits_with_a_label__is_waited",
		.steps = { CLOCK(100), READY(2, 110, TASK + 1),
			   BEGIN(1, 120, TASK + 1, TYPE),
			   LABEL(1, 125, TASK + 1, GET),
			   NOTE(1, 130, EVENT_WAIT, TASK + 1, EVENT_AT,
				AREA_WAITS_EVENT),
			   PENDING(1, 140, TASK + 1), READY(2, 150, TASK),
			   BEGIN(0, 160, TASK, OTHER),
			   LABEL(0, 170, TASK, KEYS), READY(0, 660, TASK + 1),
			   NOTE(0, 670, EVENT_END, TASK, 0, SKUA_DONE),
			   BEGIN(1, 680, TASK + 1, TYPE),
			   LABEL(1, 681, TASK + 1, 0),
			   NOTE(1, 690, EVENT_WAIT, TASK + 1, EVENT_AT,
				AREA_WAITS_EVENT),
			   PENDING(1, 700, TASK + 1), READY(2, 800, TASK + 1),
			   POLL(1, 810, 815, TASK + 1, TYPE), CLOCK(900) },
		.items = { { TASK + 1,
			     "waited 530, queued 20, running 20, waited 530 ns for "
			     "event 0x6010, woken by other (keys), which ran for "
			     "500 ns" } },
	},
	/* The peer is to blame for a wait in the middle of something. */
	{
		.name = "split__waits_for_a_peer_with_a_label__blames_the_peer",
		.steps = { CLOCK(100), READY(2, 110, TASK),
			   BEGIN(0, 120, TASK, TYPE), LABEL(0, 125, TASK, GET),
			   NOTE(0, 130, EVENT_WAIT, TASK, EVENT_AT,
				AREA_WAITS_IO_WRITE),
			   PENDING(0, 140, TASK), READY(1, 640, TASK),
			   POLL(0, 650, 660, TASK, TYPE), CLOCK(900) },
		.items = { { TASK,
			     "waited 510, queued 10, running 10, waited 510 ns for "
			     "descriptor 0x6010, to write, for its peer" } },
	},
	/* The kernel carries out an operation on a file, whichever task takes the result. */
	{
		.name = "split__waits_for_a_file_with_a_label__names_no_task",
		.steps = { CLOCK(100), READY(2, 110, TASK),
			   BEGIN(1, 120, TASK, TYPE), LABEL(1, 125, TASK, GET),
			   NOTE(1, 130, EVENT_WAIT, TASK, EVENT_AT,
				AREA_WAITS_FILE),
			   PENDING(1, 140, TASK), READY(2, 150, TASK + 1),
			   BEGIN(0, 160, TASK + 1, OTHER), READY(0, 640, TASK),
			   NOTE(0, 645, EVENT_END, TASK + 1, 0, SKUA_DONE),
			   POLL(1, 650, 660, TASK, TYPE), CLOCK(900) },
		.items = { { TASK, "waited 510, queued 10, running 10, waited "
				   "510 ns for an operation on a file" } },
	},
	{
		.name = "split__worker_slept__is_parked",
		.steps = { CLOCK(100), NOTE(0, 110, EVENT_PARK, 0, 0, 0),
			   READY(2, 200, TASK),
			   NOTE(0, 500, EVENT_UNPARK, 390, 0, 12),
			   NOTE(0, 510, EVENT_INJECT, 0, 0, 1),
			   POLL(0, 520, 620, TASK, TYPE), CLOCK(1000) },
		.items = { { TASK,
			     "parked 320, running 100, waited 320 ns for worker 0 to "
			     "wake up; ran for 100 ns itself" } },
	},
	{
		.name = "split__stolen__is_the_victims_until_the_thief_looks",
		.steps = { CLOCK(100),
			   NOTE(0, 110, EVENT_BEGIN, TASK, OTHER,
				EVENT_NAME_TYPE),
			   READY(0, 200, TASK + 1), READY(0, 210, TASK + 2),
			   NOTE(0, 900, EVENT_END, TASK, 0, SKUA_DONE),
			   NOTE(1, 120, EVENT_PARK, 0, 0, 0),
			   NOTE(1, 300, EVENT_UNPARK, 180, 0, 10),
			   NOTE(1, 450, EVENT_STEAL, TASK + 1, 50, 2),
			   POLL(1, 460, 560, TASK + 1, TYPE),
			   POLL(1, 570, 580, TASK + 2, TYPE), CLOCK(1000) },
		.items = { { TASK + 1,
			     "queued 200, stolen 60, running 100, waited 200 ns "
			     "behind other on worker 0; ran for 100 ns itself; took "
			     "60 ns to be stolen by worker 1" },
			   { TASK + 2,
			     "queued 300, stolen 60, running 10, waited 190 ns "
			     "behind other on worker 0; waited 100 ns behind some on "
			     "worker 1; took 60 ns to be stolen by worker 1" } },
	},
	/* The worker has taken it from where all do, since it has stolen another. */
	{
		.name = "split__injected_after_a_steal__is_not_stolen",
		.steps = { CLOCK(100), READY(2, 200, TASK),
			   NOTE(1, 300, EVENT_STEAL, TASK + 1, 50, 1),
			   POLL(1, 310, 400, TASK + 1, OTHER),
			   NOTE(1, 410, EVENT_INJECT, 0, 0, 1),
			   POLL(1, 420, 430, TASK, TYPE), CLOCK(1000) },
		.items = { { TASK,
			     "queued 170, running 10, unknown 50, waited 90 ns "
			     "behind other on worker 1; waited 80 ns while worker 1 "
			     "was between polls; it is not known where 50 ns went" } },
	},
	{
		.name = "split__cpu_was_taken__is_preempted",
		.steps = { CLOCK(100), WATCHED(90, 150), READY(2, 200, TASK),
			   POLL(0, 100, 210, TASK + 1, OTHER),
			   POLL(0, 220, 900, TASK, TYPE), CLOCK(1000),
			   WATCHED(150, 300),
			   SWITCHED(300, PREEMPTED, "kworker"),
			   WATCHED(301, 310), SWITCHED(310, INSTEAD, "stress"),
			   WATCHED(311, 700), SWITCHED(700, IN, "stress"),
			   WATCHED(701, 1000) },
		.items = { { TASK,
			     "queued 20, running 280, preempted 400, worker 0 was "
			     "preempted for 390 ns by stress (thread 77); ran for "
			     "280 ns itself" } },
		.also = also_cpu_was_taken,
	},
	{
		.name = "split__call_blocks__is_descheduled",
		.steps = { CLOCK(100), WATCHED(90, 300), READY(2, 110, TASK),
			   READY(2, 120, TASK + 1),
			   POLL(0, 200, 900, TASK, OTHER),
			   POLL(0, 910, 920, TASK + 1, TYPE), CLOCK(1000),
			   SWITCHED(300, ASLEEP, ""), WATCHED(301, 800),
			   SWITCHED(800, WOKEN, "disk"), WATCHED(801, 810),
			   SWITCHED(810, IN, ""), WATCHED(811, 1000) },
		.items = { { TASK + 1,
			     "queued 200, running 10, descheduled 510, unknown 80, a "
			     "poll of other blocked worker 0 for 510 ns, in the "
			     "kernel; waited 190 ns behind other on worker 0" } },
	},
	/* The task's own, and that of its worker as a whole. */
	{
		.name = "split__blocks_itself_or_is_stopped__is_told",
		.steps = { CLOCK(100), WATCHED(90, 300), READY(2, 110, TASK),
			   POLL(0, 120, 900, TASK, TYPE), CLOCK(1000),
			   SWITCHED(300, ASLEEP, ""), WATCHED(301, 500),
			   SWITCHED(500, IN, ""), WATCHED(501, 550),
			   SWITCHED(550, STOPPED, ""), WATCHED(551, 850),
			   SWITCHED(850, IN, ""), WATCHED(851, 1000) },
		.items = { { TASK,
			     "running 280, descheduled 500, unknown 10, worker 0 was "
			     "stopped for 300 ns, by a signal or a debugger; ran for "
			     "280 ns itself; its own poll blocked worker 0 for 200 "
			     "ns, in the kernel" } },
	},
	/* It was back when it did the next thing, at 500; and at 1500, somewhen before 1600:
	 * nobody knows since when. */
	{
		.name = "split__return_was_not_seen__ends_by_what_was_done",
		.steps = { CLOCK(100), WATCHED(90, 300), READY(2, 110, TASK),
			   READY(2, 1000, TASK + 1),
			   POLL(0, 120, 500, TASK, TYPE),
			   POLL(0, 1020, 1900, TASK + 1, TYPE), CLOCK(2000),
			   SWITCHED(300, PREEMPTED, "one"), WATCHED(301, 800),
			   SWITCHED(800, PREEMPTED, "two"), WATCHED(801, 810),
			   SWITCHED(810, IN, "two"), WATCHED(811, 1100),
			   SWITCHED(1100, PREEMPTED, "one"),
			   WATCHED(1101, 1600),
			   SWITCHED(1600, PREEMPTED, "two"),
			   WATCHED(1601, 1700), SWITCHED(1700, IN, "two"),
			   WATCHED(1701, 2000) },
		.items = { { TASK,
			     "running 180, preempted 200, unknown 10, worker 0 was "
			     "preempted for 200 ns by one (thread 77); ran for 180 "
			     "ns itself" },
			   { TASK + 1,
			     "queued 20, running 280, preempted 100, unknown 500, it "
			     "is not known where 500 ns went; ran for 280 ns itself; "
			     "worker 0 was preempted for 100 ns by two (thread 77)" } },
		.also = also_return_was_not_seen,
	},
	{
		.name = "split__events_lost__is_no_item",
		.steps = { CLOCK(100), READY(2, 110, TASK),
			   NOTE(0, 120, EVENT_BEGIN, TASK + 1, OTHER,
				EVENT_NAME_TYPE),
			   LOST(0, 3), NOTE(0, 500, EVENT_PARK, 0, 0, 0),
			   NOTE(0, 600, EVENT_UNPARK, 100, 0, 12),
			   POLL(0, 610, 620, TASK, TYPE),
			   READY(2, 630, TASK + 2),
			   POLL(0, 640, 650, TASK + 2, TYPE), CLOCK(1000) },
		.items = { { TASK + 2,
			     "queued 10, running 10, waited 10 ns while worker 0 was "
			     "between polls; ran for 10 ns itself" } },
		.also = also_events_lost,
	},
};

int main(void)
{
	return run_splits(parts, COUNT_OF(parts));
}
