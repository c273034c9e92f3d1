/* SPDX-License-Identifier: MIT */
/* test_ledger.c - where time went, of recordings that are made here */
#include "tests/unit/support.h"

#include <sys/mman.h>

#include "bpf/cli/clock.h"
#include "bpf/recording/offcpu.h"
#include "bpf/why/ledger.h"
#include "probes/area.h"
#include "probes/events.h"

#define THREAD (AREA_HOLDER_THREAD | 0x8000u)

#define TASK     0x7000u
#define TYPE     0x5000u
#define OTHER    0x5001u
#define LOCK     0x6000u
#define QUEUE    0x6008u
#define EVENT_AT 0x6010u
#define KEYS     0x4000u
#define GET      0x4001u

/* A file in memory; counter and time are the same. Streams 0 and 1 are workers, with
 * threads 10 and 11; 2 is outside. A test may add 3, of another runtime. */
struct file {
	int fd;
	char path[32];
	struct trace_writer writer;
	uint64_t first[4];

	struct trace *trace;
	struct ledger ledger;
	struct ledger_verdict verdict;
	const struct split *split; /* that is tested, or NULL */
};

static int set_up(void **state)
{
	const struct trace_meta meta = { .pid = 7,
					 .start = { 1, 1 },
					 .program = "some" };
	struct file *f = calloc(1, sizeof(*f));

	f->split = *state;
	f->fd = memfd_create("trace", MFD_CLOEXEC);
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
	assert_int_equal(trace_write_start(&f->writer, f->fd, &meta), 0);
	for (uint32_t i = 0; i < 3; i++) {
		const struct trace_stream stream = {
			.id = i,
			.index = i < 2 ? i : TRACE_OUTSIDE,
			.tid = i < 2 ? 10 + i : 0
		};

		trace_write_stream(&f->writer, &stream);
	}
	trace_write_name(&f->writer, TRACE_NAME_TYPE, TYPE, "some");
	trace_write_name(&f->writer, TRACE_NAME_TYPE, OTHER, "other");
	trace_write_name(&f->writer, TRACE_NAME_OBJECT, LOCK, "accounts");
	trace_write_name(&f->writer, TRACE_NAME_OBJECT, QUEUE, "orders");
	trace_write_name(&f->writer, TRACE_NAME_HOLDER, THREAD, "thread 10");
	trace_write_name(&f->writer, TRACE_NAME_LABEL, KEYS, "keys");
	trace_write_name(&f->writer, TRACE_NAME_LABEL, GET, "get");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct file *f = *state;

	ledger_free(&f->verdict);
	if (f->trace)
		ledger_close(&f->ledger);
	trace_close(f->trace);
	close(f->fd);
	free(f);
	return 0;
}

EACH_TEST(set_up, tear_down);

static void note(struct file *f, uint32_t stream, uint64_t ns,
		 enum event_kind kind, uint64_t a, uint64_t b, uint32_t detail,
		 uint16_t other)
{
	struct event event = { .time = ns, .a = a, .b = b };

	event.what = event_what(kind, detail, other);
	assert_int_equal(trace_write_events(&f->writer, stream,
					    f->first[stream]++, &event, 1),
			 0);
}

/* From there to there the counter is the time. */
static void clock_at(struct file *f, uint64_t ns)
{
	for (uint32_t i = 0; i < 2; i++)
		note(f, i, ns, EVENT_CLOCK, ns, 0, 0, 0);
}

static void ready(struct file *f, uint32_t stream, uint64_t ns, uint64_t task)
{
	note(f, stream, ns, EVENT_READY, task, 0, 0, 0);
}

static void poll(struct file *f, uint32_t stream, uint64_t from_ns,
		 uint64_t until_ns, uint64_t task, uint64_t type)
{
	note(f, stream, from_ns, EVENT_BEGIN, task, type, EVENT_NAME_TYPE, 0);
	note(f, stream, until_ns, EVENT_END, task, 0, SKUA_DONE, 0);
}

static void switched(struct file *f, uint64_t ns, uint32_t tid,
		     enum trace_switch_kind kind, const char *comm)
{
	struct trace_switch what = {
		.ns = ns, .tid = tid, .other = comm[0] ? 77 : 0, .kind = kind
	};

	snprintf(what.comm, sizeof(what.comm), "%s", comm);
	assert_int_equal(trace_write_switches(&f->writer, ns, ns + 1, &what, 1),
			 0);
}

/* All is known of CPUs up to then. */
static void watched(struct file *f, uint64_t from_ns, uint64_t until_ns)
{
	assert_int_equal(
		trace_write_switches(&f->writer, from_ns, until_ns, NULL, 0),
		0);
}

static void open_ledger(struct file *f)
{
	struct skua_error err;

	/* Without an end: its time would be that of now. */
	assert_int_equal(trace_open(&f->trace, f->path, &err), 0);
	assert_int_equal(ledger_open(&f->ledger, f->trace), 0);
}

static void judge(struct file *f)
{
	open_ledger(f);
	assert_int_equal(ledger_judge(&f->ledger, 100, 0, &f->verdict), 0);
}

/* The parts of a task's item, and the reason, in a line. */
static void is(struct file *f, uint64_t task, const char *text)
{
	for (size_t i = 0; i < f->verdict.slow_count; i++) {
		const struct ledger_slow *slow = &f->verdict.slow[i];
		char all[1024] = "", words[LEDGER_TEXT];
		size_t length = 0;
		uint64_t sum = 0;

		if (slow->item.task != task)
			continue;
		for (unsigned k = 0; k < LEDGER_PARTS; k++) {
			sum += slow->split.parts[k];
			if (slow->split.parts[k] > 0)
				length += (size_t)snprintf(
					all + length, sizeof(all) - length,
					"%s %u, ", ledger_word(k),
					(unsigned)slow->split.parts[k]);
		}
		assert_int_equal(sum, ledger_took(&slow->item));
		ledger_say(&f->ledger, slow->reasons, slow->reason_count, words,
			   sizeof(words));
		snprintf(all + length, sizeof(all) - length, "%s", words);
		assert_string_equal(all, text);
		return;
	}
	fail_msg("no item of that task");
}

/* A step of a recording; the other fields depend on @what. */
struct step {
	enum {
		END,
		AT,
		BECOMES_READY,
		IS_POLLED,
		NOTES,
		LOSES,
		KNOWS,
		LEAVES
	} what;
	uint32_t stream;
	uint64_t from_ns, until_ns;
	uint64_t a, b; /* the task, and its type */
	uint32_t kind, detail;
	uint16_t other;
	const char *comm;
};

static void record(struct file *f, const struct step *it)
{
	switch (it->what) {
	case END:
		break;
	case AT:
		clock_at(f, it->from_ns);
		break;
	case BECOMES_READY:
		ready(f, it->stream, it->from_ns, it->a);
		break;
	case IS_POLLED:
		poll(f, it->stream, it->from_ns, it->until_ns, it->a, it->b);
		break;
	case NOTES:
		note(f, it->stream, it->from_ns, (enum event_kind)it->kind,
		     it->a, it->b, it->detail, it->other);
		break;
	case LOSES:
		f->first[it->stream] += it->a;
		break;
	case KNOWS:
		watched(f, it->from_ns, it->until_ns);
		break;
	case LEAVES:
		switched(f, it->from_ns, 10, (enum trace_switch_kind)it->kind,
			 it->comm);
		break;
	}
}

/* clang-format off */
#define STEP(done, ...) { .what = done, __VA_ARGS__ }
#define CLOCK(ns) STEP(AT, .from_ns = (ns))
#define READY(on, ns, task) \
	STEP(BECOMES_READY, .stream = (on), .from_ns = (ns), .a = (task))
#define POLL(on, from, until, task, type)                              \
	STEP(IS_POLLED, .stream = (on), .from_ns = (from),             \
	     .until_ns = (until), .a = (task), .b = (type))
#define NOTE(on, ns, what_kind, first, second, more)                   \
	STEP(NOTES, .stream = (on), .from_ns = (ns), .a = (first),     \
	     .b = (second), .kind = (what_kind), .detail = (more))
#define BEGIN(on, ns, task, type) \
	NOTE(on, ns, EVENT_BEGIN, task, type, EVENT_NAME_TYPE)
#define LABEL(on, ns, task, text) NOTE(on, ns, EVENT_LABEL, task, text, 0)
#define PENDING(on, ns, task) NOTE(on, ns, EVENT_END, task, 0, SKUA_PENDING)
/* It has to wait for the lock, which @holder holds. */
#define WAIT(on, ns, task, holder)                                     \
	NOTE(on, ns, EVENT_WAIT, task, LOCK, AREA_WAITS_MUTEX),        \
	NOTE(on, ns, EVENT_HELD, holder, LOCK, 0)
#define AGAIN(on, ns, task, holder)                                    \
	STEP(NOTES, .stream = (on), .from_ns = (ns), .a = (task),      \
	     .b = LOCK, .kind = EVENT_WAIT,                            \
	     .detail = AREA_WAITS_MUTEX, .other = 1),                  \
	NOTE(on, ns, EVENT_HELD, holder, LOCK, 0)
#define SENDS(on, ns, task) NOTE(on, ns, EVENT_WAIT, task, QUEUE, AREA_WAITS_SEND)
#define RECEIVES(on, ns, task) \
	NOTE(on, ns, EVENT_WAIT, task, QUEUE, AREA_WAITS_RECEIVE)
#define LOST(on, count) STEP(LOSES, .stream = (on), .a = (count))
#define WATCHED(from, until) STEP(KNOWS, .from_ns = (from), .until_ns = (until))
#define SWITCHED(ns, how, other)                                       \
	STEP(LEAVES, .from_ns = (ns), .kind = TRACE_SWITCH_##how, .comm = (other))
/* clang-format on */

/* A recording, and the texts of the items of some tasks. */
struct split {
	const char *name;
	struct step steps[28];
	struct {
		uint64_t task;
		const char *text;
	} items[2];
	void (*also)(const struct file *f);
};

static void split(void **state)
{
	struct file *f = *state;
	const struct split *it = f->split;

	for (const struct step *step = it->steps; step->what != END; step++)
		record(f, step);
	judge(f);
	for (unsigned i = 0; i < 2 && it->items[i].text; i++)
		is(f, it->items[i].task, it->items[i].text);
	if (it->also)
		it->also(f);
}

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

static void also_lock_taken_again(const struct file *f)
{
	assert_int_equal(f->verdict.slow_count, 3);
	assert_int_equal(ledger_took(&f->verdict.slow[0].item), 170);
	assert_int_equal(ledger_took(&f->verdict.slow[1].item), 160);
}

static void also_still_waits(const struct file *f)
{
	assert_int_equal(f->ledger.stuck_count, 1);
	assert_int_equal(f->ledger.waits[f->ledger.stuck - 1].from_ns, 160);
	assert_string_equal(ledger_last_holder(&f->ledger, LOCK), "other");
}

/* The texts about the channels are these, a line each. */
static void channels_are(const struct file *f, const char *text)
{
	char all[4 * LEDGER_TEXT] = "", one[LEDGER_TEXT];
	size_t used = 0;

	for (size_t i = 0; i < f->ledger.channel_count; i++) {
		ledger_say_channel(&f->ledger, &f->ledger.channels[i], one,
				   sizeof(one));
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s\n",
					 one);
	}
	assert_string_equal(all, text);
}

static void also_channel_was_full(const struct file *f)
{
	assert_int_equal(f->verdict.shares[0].reason.kind, LEDGER_WAITED);
	assert_string_equal(f->verdict.shares[0].reason.culprit, "other");
	channels_are(f,
		     "full channel orders: 1 wait, 680 ns on average, longest "
		     "680 ns of some, last receiver other, which was "
		     "preempted for 400 ns and ran for 280 ns\n");
}

static void also_channel_stayed_full(const struct file *f)
{
	channels_are(f, "full channel orders: 3 waits, 633 ns on average, "
			"longest 800 ns of some, last receiver other, which "
			"waited itself for 795 ns; 1 task waits at the end, up "
			"to 800 ns so far\n");
}

static void also_receiver_had_a_label(const struct file *f)
{
	channels_are(f, "full channel orders: 2 waits, 650 ns on average, "
			"longest 800 ns of some, last receiver other (keys), "
			"which waited itself for 795 ns; 1 task waits at the "
			"end, up to 800 ns so far\n");
}

static void also_channel_was_empty(const struct file *f)
{
	assert_int_equal(f->ledger.stuck_count, 0);
	channels_are(f, "empty channel orders: 2 waits, 410 ns on average, "
			"longest 690 ns of some, last sender other, which ran "
			"for 690 ns\n");
}

static void also_thread_sent(const struct file *f)
{
	channels_are(f, "empty channel orders: 1 wait, 700 ns on average, "
			"longest 700 ns of some, last sender an outside "
			"thread\n");
}

static void also_oneshots(const struct file *f)
{
	channels_are(f,
		     "empty oneshot: 2 waits, 150 ns on average, longest 200 "
		     "ns of some, last sender other, which ran for 200 ns\n"
		     "empty oneshot: 1 wait, 110 ns on average, longest 110 "
		     "ns of other, last sender other, which ran for 110 "
		     "ns\n");
}

static void also_labels(const struct file *f)
{
	char text[LEDGER_WHO];

	assert_string_equal(ledger_task(&f->ledger, f->ledger.items[0].name,
					f->ledger.items[0].label, text),
			    "some (get)");
}

/* Recordings, and the parts of their items. */
static const struct split splits[] = {
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
	/* The holder was polled on worker 0, and lost its CPU. */
	{
		.name = "split__waits_for_a_lock__tells_what_its_holder_did",
		.steps = { CLOCK(100), WATCHED(90, 300), READY(2, 110, TASK),
			   READY(2, 110, TASK + 1), BEGIN(0, 120, TASK, OTHER),
			   BEGIN(1, 130, TASK + 1, TYPE),
			   WAIT(1, 200, TASK + 1, TASK),
			   PENDING(1, 210, TASK + 1), READY(0, 880, TASK + 1),
			   NOTE(0, 900, EVENT_END, TASK, 0, SKUA_DONE),
			   POLL(1, 920, 990, TASK + 1, TYPE), CLOCK(1000),
			   SWITCHED(300, PREEMPTED, "one"), WATCHED(301, 700),
			   SWITCHED(700, IN, "one"), WATCHED(701, 1000) },
		.items = { { TASK + 1,
			     "waited 680, queued 40, running 70, waited 680 ns for "
			     "mutex accounts, held by other, which was preempted for "
			     "400 ns and ran for 280 ns" } },
	},
	/* It was woken at 400, but another task took the lock. */
	{
		.name = "split__lock_was_taken_by_another__waits_on",
		.steps = { CLOCK(100), READY(2, 110, TASK + 1),
			   BEGIN(0, 120, TASK + 1, TYPE),
			   WAIT(0, 200, TASK + 1, TASK),
			   PENDING(0, 210, TASK + 1), READY(1, 400, TASK + 1),
			   BEGIN(0, 410, TASK + 1, TYPE),
			   AGAIN(0, 420, TASK + 1, TASK + 2),
			   PENDING(0, 430, TASK + 1), READY(2, 900, TASK + 1),
			   POLL(0, 910, 990, TASK + 1, TYPE),
			   POLL(1, 950, 960, TASK, OTHER),
			   POLL(1, 970, 980, TASK + 2, TYPE), CLOCK(1000) },
		.items = { { TASK + 1,
			     "waited 700, queued 10, running 80, waited 480 ns for "
			     "mutex accounts, held by some, which waited itself for "
			     "480 ns; waited 220 ns for mutex accounts, held by "
			     "other, which waited itself for 220 ns; ran for 80 ns "
			     "itself" } },
	},
	{
		.name = "split__lock_taken_again__is_another_wait",
		.steps = { CLOCK(100), READY(2, 110, TASK),
			   BEGIN(0, 120, TASK, TYPE), WAIT(0, 200, TASK, 0),
			   PENDING(0, 210, TASK), READY(2, 300, TASK),
			   BEGIN(0, 310, TASK, TYPE), WAIT(0, 350, TASK, 0),
			   PENDING(0, 360, TASK), READY(2, 500, TASK),
			   POLL(0, 510, 520, TASK, TYPE), CLOCK(1000) },
		.items = { { TASK,
			     "waited 150, queued 10, running 10, waited 150 ns for "
			     "mutex accounts, held by nobody that is known" } },
		.also = also_lock_taken_again,
	},
	/* The first of two waiters gets the lock, and keeps the second waiting. */
	{
		.name = "split__lock_is_handed_on__blames_both_holders",
		.steps = { CLOCK(100), READY(2, 110, TASK),
			   READY(2, 111, TASK + 1), READY(2, 112, TASK + 2),
			   BEGIN(1, 120, TASK, OTHER),
			   POLL(0, 125, 130, TASK + 3, OTHER),
			   BEGIN(0, 140, TASK + 1, TYPE),
			   WAIT(0, 150, TASK + 1, TASK),
			   PENDING(0, 160, TASK + 1),
			   BEGIN(0, 170, TASK + 2, TYPE),
			   WAIT(0, 200, TASK + 2, TASK),
			   PENDING(0, 210, TASK + 2), READY(1, 500, TASK + 1),
			   NOTE(1, 510, EVENT_END, TASK, 0, SKUA_DONE),
			   BEGIN(0, 600, TASK + 1, TYPE),
			   READY(0, 890, TASK + 2),
			   NOTE(0, 900, EVENT_END, TASK + 1, 0, SKUA_DONE),
			   POLL(0, 910, 920, TASK + 2, TYPE), CLOCK(1000) },
		.items = { { TASK + 2,
			     "waited 690, queued 20, running 10, waited 390 ns for "
			     "mutex accounts, held by some, which ran for 290 ns and "
			     "was queued for 100 ns; waited 300 ns for mutex "
			     "accounts, held by other, which ran for 300 ns" } },
	},
	/* The first of two waiters gives up: the lock stays where it is. */
	{
		.name = "split__another_gives_up__has_not_held_the_lock",
		.steps = { CLOCK(100), READY(2, 111, TASK + 1),
			   READY(2, 112, TASK + 2),
			   BEGIN(0, 140, TASK + 1, TYPE),
			   WAIT(0, 150, TASK + 1, THREAD),
			   PENDING(0, 160, TASK + 1),
			   BEGIN(0, 170, TASK + 2, TYPE),
			   WAIT(0, 200, TASK + 2, THREAD),
			   PENDING(0, 210, TASK + 2), READY(0, 500, TASK + 1),
			   BEGIN(0, 600, TASK + 1, TYPE),
			   NOTE(0, 610, EVENT_GIVE_UP, TASK + 1, LOCK, 110),
			   NOTE(0, 650, EVENT_END, TASK + 1, 0, SKUA_DONE),
			   READY(2, 900, TASK + 2),
			   POLL(0, 910, 920, TASK + 2, TYPE), CLOCK(1000) },
		.items = { { TASK + 2,
			     "waited 700, queued 10, running 10, waited 700 ns for "
			     "mutex accounts, held by thread 10" },
			   { TASK + 1,
			     "waited 350, queued 100, running 50, waited 350 ns for "
			     "mutex accounts, held by thread 10; waited 100 ns "
			     "while worker 0 was between polls" } },
	},
	/* Of a thread, the kernel knows. */
	{
		.name = "split__a_thread_has_the_lock__tells_what_it_did",
		.steps = { CLOCK(100), WATCHED(90, 300),
			   READY(2, 110, TASK + 1),
			   BEGIN(1, 120, TASK + 1, TYPE),
			   WAIT(1, 200, TASK + 1, THREAD),
			   PENDING(1, 210, TASK + 1), READY(2, 900, TASK + 1),
			   POLL(1, 920, 990, TASK + 1, TYPE), CLOCK(1000),
			   SWITCHED(300, ASLEEP, ""), WATCHED(301, 800),
			   SWITCHED(800, IN, ""), WATCHED(801, 1000) },
		.items = { { TASK + 1,
			     "waited 700, queued 20, running 70, waited 700 ns for "
			     "mutex accounts, held by thread 10, which was blocked in "
			     "the kernel for 500 ns and ran for 200 ns" } },
	},
	{
		.name = "split__events_lost__forgets_waits_for_locks",
		.steps = { CLOCK(100), READY(2, 110, TASK),
			   BEGIN(0, 120, TASK, TYPE), WAIT(0, 200, TASK, 0),
			   PENDING(0, 210, TASK), LOST(1, 3),
			   NOTE(1, 300, EVENT_PARK, 0, 0, 0),
			   READY(2, 900, TASK), POLL(0, 910, 920, TASK, TYPE),
			   CLOCK(1000) },
		.items = { { TASK,
			     "queued 10, running 10, waited 10 ns while worker 0 was "
			     "between polls; ran for 10 ns itself" } },
	},
	/* The receiver was polled on worker 0, and lost its CPU. */
	{
		.name = "split__channel_is_full__tells_what_its_receiver_did",
		.steps = { CLOCK(100), WATCHED(90, 300), READY(2, 110, TASK),
			   READY(2, 110, TASK + 1), BEGIN(0, 120, TASK, OTHER),
			   BEGIN(1, 130, TASK + 1, TYPE),
			   SENDS(1, 200, TASK + 1), PENDING(1, 210, TASK + 1),
			   READY(0, 880, TASK + 1),
			   NOTE(0, 900, EVENT_END, TASK, 0, SKUA_DONE),
			   POLL(1, 920, 990, TASK + 1, TYPE), CLOCK(1000),
			   SWITCHED(300, PREEMPTED, "one"), WATCHED(301, 700),
			   SWITCHED(700, IN, "one"), WATCHED(701, 1000) },
		.items = { { TASK + 1,
			     "waited 680, queued 40, running 70, waited 680 ns for "
			     "full channel orders, last receiver other, which was "
			     "preempted for 400 ns and ran for 280 ns" } },
		.also = also_channel_was_full,
	},
	/* The second wait is in vain, because of a timer; the third one goes on. */
	{
		.name = "split__channel_stays_full__blames_its_last_receiver",
		.steps = { CLOCK(100),
			   READY(2, 110, TASK + 1),
			   READY(2, 110, TASK + 2),
			   BEGIN(0, 120, TASK + 1, TYPE),
			   SENDS(0, 130, TASK + 1),
			   PENDING(0, 140, TASK + 1),
			   BEGIN(1, 150, TASK, OTHER),
			   READY(1, 630, TASK + 1),
			   NOTE(1, 640, EVENT_END, TASK, 0, SKUA_PENDING),
			   POLL(0, 650, 660, TASK + 1, TYPE),
			   BEGIN(0, 700, TASK + 2, TYPE),
			   SENDS(0, 710, TASK + 2),
			   PENDING(0, 720, TASK + 2),
			   READY(0, 1310, TASK + 2),
			   BEGIN(0, 1320, TASK + 2, TYPE),
			   NOTE(0, 1330, EVENT_GIVE_UP, TASK + 2, QUEUE, 110),
			   SENDS(0, 1340, TASK + 2),
			   PENDING(0, 1350, TASK + 2),
			   POLL(1, 2130, 2135, TASK, OTHER),
			   CLOCK(2140) },
		.items = { { TASK + 1,
			     "waited 500, queued 20, running 10, waited 500 ns for "
			     "full channel orders, last receiver other, which ran "
			     "for 480 ns" },
			   { TASK + 2,
			     "waited 600, queued 10, running 30, waited 600 ns for "
			     "full channel orders, last receiver other, which "
			     "waited itself for 600 ns" } },
		.also = also_channel_stayed_full,
	},
	/* The receiver is named with what it did when it received last. */
	{
		.name = "split__channel_stays_full__names_the_label_of_its_receiver",
		.steps = { CLOCK(100), READY(2, 110, TASK + 1),
			   READY(2, 110, TASK + 2),
			   BEGIN(0, 120, TASK + 1, TYPE),
			   SENDS(0, 130, TASK + 1), PENDING(0, 140, TASK + 1),
			   BEGIN(1, 150, TASK, OTHER),
			   LABEL(1, 160, TASK, KEYS), READY(1, 630, TASK + 1),
			   LABEL(1, 635, TASK, 0),
			   NOTE(1, 640, EVENT_END, TASK, 0, SKUA_PENDING),
			   POLL(0, 650, 660, TASK + 1, TYPE),
			   BEGIN(0, 1320, TASK + 2, TYPE),
			   SENDS(0, 1340, TASK + 2), PENDING(0, 1350, TASK + 2),
			   POLL(1, 2130, 2135, TASK, OTHER), CLOCK(2140) },
		.also = also_receiver_had_a_label,
	},
	/* To wait for work is no delay: the item begins when there is some. */
	{
		.name = "split__channel_is_empty__is_in_no_part",
		.steps = { CLOCK(100), READY(2, 110, TASK + 1),
			   BEGIN(1, 120, TASK + 1, TYPE),
			   RECEIVES(1, 130, TASK + 1),
			   PENDING(1, 140, TASK + 1), READY(2, 150, TASK),
			   BEGIN(0, 160, TASK, OTHER), READY(0, 260, TASK + 1),
			   BEGIN(1, 270, TASK + 1, TYPE),
			   RECEIVES(1, 280, TASK + 1),
			   PENDING(1, 290, TASK + 1), READY(0, 970, TASK + 1),
			   POLL(1, 980, 990, TASK + 1, TYPE),
			   NOTE(0, 995, EVENT_END, TASK, 0, SKUA_DONE),
			   CLOCK(1000) },
		.items = { { TASK,
			     "running 835, unknown 10, ran for 835 ns itself" } },
		.also = also_channel_was_empty,
	},
	{
		.name = "split__outside_thread_sends__is_named_as_such",
		.steps = { CLOCK(100), READY(2, 110, TASK + 1),
			   BEGIN(1, 120, TASK + 1, TYPE),
			   RECEIVES(1, 130, TASK + 1),
			   PENDING(1, 140, TASK + 1), READY(2, 830, TASK + 1),
			   POLL(1, 840, 850, TASK + 1, TYPE), CLOCK(1000) },
		.also = also_thread_sent,
	},
	/* Each request has a oneshot: they are counted by the type of the task. */
	{
		.name = "split__oneshots_without_names__are_one_for_each_type",
		.steps = { CLOCK(100),
			   READY(2, 110, TASK),
			   READY(2, 110, TASK + 1),
			   BEGIN(0, 120, TASK, OTHER),
			   BEGIN(1, 130, TASK + 1, TYPE),
			   NOTE(1, 140, EVENT_WAIT, TASK + 1, 0x6100,
				AREA_WAITS_ONESHOT),
			   PENDING(1, 150, TASK + 1),
			   READY(0, 240, TASK + 1),
			   BEGIN(1, 250, TASK + 1, TYPE),
			   NOTE(1, 260, EVENT_WAIT, TASK + 1, 0x6110,
				AREA_WAITS_ONESHOT),
			   PENDING(1, 270, TASK + 1),
			   READY(0, 460, TASK + 1),
			   POLL(1, 470, 480, TASK + 1, TYPE),
			   BEGIN(1, 490, TASK + 2, OTHER),
			   NOTE(1, 500, EVENT_WAIT, TASK + 2, 0x6100,
				AREA_WAITS_ONESHOT),
			   PENDING(1, 510, TASK + 2),
			   READY(0, 610, TASK + 2),
			   POLL(1, 620, 630, TASK + 2, OTHER),
			   NOTE(0, 900, EVENT_END, TASK, 0, SKUA_DONE),
			   CLOCK(1000) },
		.also = also_oneshots,
	},
	{
		.name = "split__lock_never_granted__is_counted_at_the_end",
		.steps = { CLOCK(100), READY(2, 110, TASK),
			   POLL(1, 120, 130, TASK + 1, OTHER),
			   BEGIN(0, 140, TASK, TYPE),
			   WAIT(0, 160, TASK, TASK + 1), PENDING(0, 200, TASK),
			   CLOCK(1000) },
		.also = also_still_waits,
	},
};

/* Each of many waiters names the same holder. */
TEST(judge__many_wait_behind_one_holder__it_is_named)
{
	enum { WAITERS = 3000 };
	struct file *f = *state;
	uint64_t ns = 130;

	clock_at(f, 100);
	note(f, 0, 120, EVENT_BEGIN, TASK, OTHER, EVENT_NAME_TYPE, 0);
	for (uint64_t i = 1; i <= WAITERS; i++, ns += 10) {
		note(f, 1, ns, EVENT_BEGIN, TASK + i, TYPE, EVENT_NAME_TYPE, 0);
		note(f, 1, ns + 2, EVENT_WAIT, TASK + i, LOCK, AREA_WAITS_MUTEX,
		     0);
		note(f, 1, ns + 2, EVENT_HELD, TASK, LOCK, 0, 0);
		note(f, 1, ns + 4, EVENT_END, TASK + i, 0, SKUA_PENDING, 0);
	}
	ready(f, 0, 40132, TASK + 1);
	note(f, 0, 40142, EVENT_END, TASK, 0, SKUA_DONE, 0);
	poll(f, 0, 40152, 40162, TASK + 1, TYPE);
	clock_at(f, 50000);
	judge(f);
	is(f, TASK + 1,
	   "waited 40000, queued 20, running 10, waited 40 us for mutex "
	   "accounts, held by other, which ran for 40 us");
}

static uint64_t cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Two tasks have the lock in turns, and are queued behind many polls. The time to judge must
 * not be that of all polls for each turn, which would be hundreds of times longer than the
 * time to read them. */
TEST(judge__holders_alternate_behind_many_polls__takes_no_longer_than_reading)
{
	enum { POLLS = 200000, TURNS = 2000 };
	struct file *f = *state;
	uint64_t ns = 130, from;

	clock_at(f, 100);
	ready(f, 2, 110, TASK + 1);
	ready(f, 2, 110, TASK + 2);
	note(f, 1, 120, EVENT_BEGIN, TASK, TYPE, EVENT_NAME_TYPE, 0);
	note(f, 1, 121, EVENT_WAIT, TASK, LOCK, AREA_WAITS_MUTEX, 0);
	note(f, 1, 121, EVENT_HELD, TASK + 1, LOCK, 0, 0);
	note(f, 1, 122, EVENT_END, TASK, 0, SKUA_PENDING, 0);
	for (uint64_t i = 0; i < POLLS; i++, ns += 10) {
		poll(f, 0, ns, ns + 5, TASK + 10, OTHER);
		if (i % (POLLS / TURNS) == 0)
			note(f, 0, ns + 6, EVENT_HELD,
			     TASK + 1 + i / (POLLS / TURNS) % 2, LOCK, 0, 0);
	}
	poll(f, 0, ns, ns + 1, TASK + 1, OTHER);
	poll(f, 0, ns + 2, ns + 3, TASK + 2, OTHER);
	ready(f, 2, ns + 4, TASK);
	poll(f, 1, ns + 5, ns + 6, TASK, TYPE);
	clock_at(f, ns + 100);
	from = cpu_ns();
	open_ledger(f);
	ns = cpu_ns();
	assert_int_equal(ledger_judge(&f->ledger, 100, 0, &f->verdict), 0);
	assert_true(cpu_ns() - ns < 4 * (ns - from));
	is(f, TASK,
	   "waited 2000013, queued 1, running 1, waited 2.0 ms for mutex accounts, "
	   "held by other, which was queued for 2.0 ms");
}

/* The wait behind others is longer than any one of them had its CPU, and shorter
 * than all of them together. */
TEST(judge__several_had_the_cpu__adds_them_up)
{
	static const char *const others[] = { "one", "two", "three" };
	struct file *f = *state;
	char text[LEDGER_TEXT];

	clock_at(f, 100);
	watched(f, 90, 150);
	for (uint64_t i = 0; i < 3; i++)
		ready(f, 2, 1000 * i + 200, TASK + i);
	for (uint64_t i = 0; i < 3; i++) {
		poll(f, 0, 1000 * i + 210, 1000 * i + 400, TASK + 10 + i,
		     OTHER);
		poll(f, 0, 1000 * i + 410, 1000 * i + 900, TASK + i, TYPE);
	}
	clock_at(f, 4000);
	for (uint64_t i = 0; i < 3; i++) {
		watched(f, 1000 * i + 151, 1000 * i + 500);
		switched(f, 1000 * i + 500, 10, TRACE_SWITCH_PREEMPTED,
			 others[i]);
		watched(f, 1000 * i + 501, 1000 * i + 800 + i);
		switched(f, 1000 * i + 800 + i, 10, TRACE_SWITCH_IN, others[i]);
		watched(f, 1000 * i + 801 + i, 1000 * i + 1150);
	}
	judge(f);
	assert_int_equal(f->verdict.shares[0].reason.kind, LEDGER_PREEMPTED);
	assert_string_equal(f->verdict.shares[0].reason.culprit, "three");
	ledger_say_verdict(&f->ledger, &f->verdict, text, sizeof(text));
	assert_string_equal(
		text,
		"43 % of the time of the slowest 3 went to waiting for a "
		"CPU that others had; the most of it, 14 %, to three; 27 % "
		"to waiting behind other; 27 % to their own polls");
}

/* A connection waited for the poller; of what it woke, no time tells. */
TEST(judge__poller_called_late__tells_behind_whom)
{
	struct file *f = *state;
	const struct ledger_delay *delay;
	char text[LEDGER_TEXT];

	clock_at(f, 100);
	ready(f, 2, 150, TASK);
	poll(f, 0, 200, 3000200, TASK, OTHER);
	note(f, 0, 3000300, EVENT_LATE, 3000150, 0, 0, 0);
	ready(f, 0, 3000400, TASK + 1);
	ready(f, 0, 3000410, TASK + 2);
	poll(f, 0, 3000500, 3000600, TASK + 1, TYPE);
	ready(f, 0, 3000610, TASK + 3); /* by that poll, or later */
	poll(f, 0, 3000620, 3000630, TASK + 2, TYPE);
	poll(f, 0, 3000640, 3000650, TASK + 3, TYPE);
	clock_at(f, 4000000);
	judge(f);
	assert_int_equal(f->verdict.pollers.times, 1);
	assert_int_equal(f->verdict.pollers.count, 1);
	delay = &f->verdict.pollers.list[0];
	assert_int_equal(delay->late.from_ns, 150);
	assert_int_equal(delay->late.until_ns, 3000300);
	assert_int_equal(delay->late.woken, 2);
	assert_int_equal(delay->reason_count, 1);
	assert_string_equal(delay->reasons[0].culprit, "other");
	ledger_say_verdict(&f->ledger, &f->verdict, text, sizeof(text));
	assert_non_null(strstr(text, "; before tasks were ready, pollers were "
				     "called late, behind other"));
	for (size_t i = 0; i < f->verdict.slow_count; i++) {
		const struct ledger_item *item = &f->verdict.slow[i].item;
		bool late = item->task == TASK + 1 || item->task == TASK + 2;

		assert_int_equal(ledger_late_of(&f->ledger, item) != NULL,
				 late);
	}
}

/* More causes than are kept. */
TEST(judge__behind_many_types__blames_the_longest_poll)
{
	struct file *f = *state;

	clock_at(f, 100);
	ready(f, 2, 150, TASK);
	for (uint64_t i = 0; i < 2 * LEDGER_CAUSES; i++)
		poll(f, 0, 200 + 20 * i, 210 + 20 * i, TASK + 1,
		     0x7000 + 16 * i);
	poll(f, 0, 3000, 103000, TASK + 1, OTHER);
	poll(f, 0, 103010, 103020, TASK, TYPE);
	clock_at(f, 110000);
	judge(f);
	assert_string_equal(f->verdict.slow[0].reasons[0].culprit, "other");
}

/* ---- events of descriptors ------------------------------------------------- */

/* A poll of a task, on worker 0, that ends because it has to wait for a descriptor. */
static void reads(struct file *f, uint64_t ns, uint64_t task)
{
	note(f, 0, ns, EVENT_BEGIN, task, TYPE, EVENT_NAME_TYPE, 0);
	note(f, 0, ns + 10, EVENT_WAIT, task, LOCK, AREA_WAITS_IO_READ, 0);
	note(f, 0, ns + 20, EVENT_END, task, 0, SKUA_PENDING, 0);
}

/* A worker takes an event, which makes a task runnable. */
static void reaps(struct file *f, uint32_t stream, uint64_t ns,
		  uint64_t looked_ns, unsigned how, uint64_t task)
{
	note(f, stream, ns, EVENT_REAP, 7, looked_ns, 1, (uint16_t)how);
	ready(f, stream, ns + 10, task);
	poll(f, stream, ns + 20, ns + 30, task, TYPE);
}

static void io_is(const struct file *f, uint64_t ns, uint64_t unseen_ns)
{
	assert_int_equal(f->ledger.io_count, 1);
	assert_int_equal(f->ledger.io[0].kind, AREA_WAITS_IO_READ);
	assert_int_equal(f->ledger.io[0].ns, ns);
	assert_int_equal(f->ledger.io[0].unseen_ns, unseen_ns);
	assert_string_equal(f->ledger.names[f->ledger.io[0].name], "some");
}

/* The event came after the look at 900, and the poll hid it. */
TEST(judge__event_behind_a_poll__tells_behind_whom)
{
	struct file *f = *state;
	char text[LEDGER_TEXT];

	clock_at(f, 100);
	ready(f, 2, 150, TASK);
	reads(f, 500, TASK + 1);
	poll(f, 0, 1000, 3001000, TASK, OTHER);
	reaps(f, 0, 3001100, 900, 0, TASK + 1);
	clock_at(f, 4000000);
	judge(f);
	io_is(f, 3001110 - 510, 3001100 - 900);
	assert_int_equal(f->verdict.pollers.times, 0);
	assert_int_equal(f->verdict.events.times, 1);
	assert_int_equal(f->verdict.events.list[0].late.from_ns, 900);
	assert_int_equal(f->verdict.events.list[0].late.until_ns, 3001100);
	assert_int_equal(f->verdict.events.list[0].late.woken, 1);
	assert_string_equal(f->verdict.events.list[0].reasons[0].culprit,
			    "other");
	ledger_say_verdict(&f->ledger, &f->verdict, text, sizeof(text));
	assert_non_null(strstr(text, "events of descriptors were seen late, "
				     "behind other"));
}

/* The worker that had to look was in a poll; the one that did was not. */
TEST(judge__event_taken_by_another_worker__blames_the_busy_one)
{
	struct file *f = *state;

	clock_at(f, 100);
	ready(f, 2, 150, TASK);
	reads(f, 500, TASK + 1);
	note(f, 1, 600, EVENT_PARK, 0, 0, 0, 0);
	note(f, 0, 1000, EVENT_BEGIN, TASK, OTHER, EVENT_NAME_TYPE, 0);
	note(f, 1, 1500000, EVENT_UNPARK, 0, 0, 0, 0);
	reaps(f, 1, 1501000, 900, 0, TASK + 1);
	note(f, 0, 3001000, EVENT_END, TASK, 0, SKUA_DONE, 0);
	clock_at(f, 4000000);
	judge(f);
	assert_int_equal(f->verdict.events.times, 1);
	assert_int_equal(f->verdict.events.list[0].late.track, 0);
	assert_string_equal(f->verdict.events.list[0].reasons[0].culprit,
			    "other");
}

/* A worker that sleeps in the driver sees an event at once, except that it has to wake up. */
TEST(judge__worker_slept_until_the_event__blames_the_peer)
{
	struct file *f = *state;

	clock_at(f, 100);
	reads(f, 500, TASK + 1);
	note(f, 0, 700, EVENT_PARK, 0, 0, 0, 0);
	reaps(f, 0, 3001100, 600, EVENT_REAP_SLEPT, TASK + 1);
	clock_at(f, 4000000);
	judge(f);
	io_is(f, 3001110 - 510, 10);
	assert_int_equal(f->verdict.events.times, 0);
}

TEST(judge__worker_is_slow_to_wake_up__is_known_by_its_switches)
{
	struct file *f = *state;

	clock_at(f, 100);
	reads(f, 500, TASK + 1);
	watched(f, 600, 800);
	note(f, 0, 700, EVENT_PARK, 0, 0, 0, 0);
	switched(f, 800, 10, TRACE_SWITCH_ASLEEP, "");
	watched(f, 801, 2000000);
	switched(f, 2000000, 10, TRACE_SWITCH_WOKEN, "one");
	watched(f, 2000001, 3001000);
	switched(f, 3001000, 10, TRACE_SWITCH_IN, "one");
	watched(f, 3001001, 4000000);
	reaps(f, 0, 3001100, 600, EVENT_REAP_SLEPT, TASK + 1);
	clock_at(f, 4000000);
	judge(f);
	io_is(f, 3001110 - 510, 3001110 - 2000000);
}

/* It found the event there already, and did not sleep. */
TEST(judge__worker_had_no_need_to_sleep__was_late)
{
	struct file *f = *state;

	clock_at(f, 100);
	ready(f, 2, 150, TASK);
	reads(f, 500, TASK + 1);
	poll(f, 0, 1000, 3001000, TASK, OTHER);
	note(f, 0, 3001050, EVENT_PARK, 0, 0, 0, 0);
	reaps(f, 0, 3001100, 900, EVENT_REAP_SLEPT, TASK + 1);
	clock_at(f, 4000000);
	judge(f);
	io_is(f, 3001110 - 510, 3001050 - 900);
	assert_int_equal(f->verdict.events.times, 1);
}

/* A look that takes as many as it can leaves others, which are as old. */
TEST(judge__look_leaves_events__next_one_is_later)
{
	struct file *f = *state;

	clock_at(f, 100);
	reads(f, 200, TASK + 2);
	reads(f, 500, TASK + 1);
	reaps(f, 0, 1000, 900, EVENT_REAP_FULL, TASK + 2);
	reaps(f, 0, 3001100, 1000, 0, TASK + 1);
	clock_at(f, 4000000);
	judge(f);
	assert_int_equal(f->ledger.io[0].unseen_ns, 100 + (3001100 - 900));
}

/* But not of another runtime, whose look leaves nothing. */
TEST(judge__another_runtime_looks_meanwhile__it_leaves_nothing)
{
	const struct trace_stream other = { .id = 3, .runtime = 1, .tid = 12 };
	struct file *f = *state;

	trace_write_stream(&f->writer, &other);
	clock_at(f, 100);
	reads(f, 200, TASK + 2);
	reads(f, 500, TASK + 1);
	reaps(f, 0, 1000, 900, EVENT_REAP_FULL, TASK + 2);
	note(f, 3, 2000, EVENT_REAP, 7, 1900, 1, 0);
	reaps(f, 0, 3001100, 1000, 0, TASK + 1);
	clock_at(f, 4000000);
	judge(f);
	assert_int_equal(f->ledger.io[0].unseen_ns, 100 + (3001100 - 900));
}

/* A timer ends a wait without an event, and one wait goes on. */
TEST(judge__no_event_comes__is_for_the_peer)
{
	struct file *f = *state;

	clock_at(f, 100);
	reads(f, 200, TASK + 2);
	reads(f, 500, TASK + 1);
	ready(f, 0, 5000, TASK + 1);
	poll(f, 0, 5010, 5020, TASK + 1, TYPE);
	clock_at(f, 10000);
	judge(f);
	io_is(f, (5000 - 510) + (10000 - 210), 0);
	assert_int_equal(f->ledger.io[0].times, 2);
	assert_int_equal(f->ledger.io[0].still, 1);
	assert_int_equal(f->ledger.io[0].still_ns, 10000 - 210);
}

/* The latest of them are told; what woke nobody, or was on time, is not. */
TEST(judge__pollers_often_late__tells_of_the_latest)
{
	struct file *f = *state;
	uint64_t ns = 1000;

	clock_at(f, 100);
	for (uint64_t i = 0; i < 8; i++) {
		uint64_t by = 500000 + 300000 * (i * 5 % 8);

		ns += by + 1000;
		note(f, 0, ns, EVENT_LATE, by, 0, 0, 0);
		if (i != 3) /* by the most */
			ready(f, 0, ns + 10, TASK + i);
		poll(f, 0, ns + 20, ns + 30, TASK + i, TYPE);
	}
	clock_at(f, ns + 1000);
	judge(f);
	assert_int_equal(f->verdict.pollers.times, 5);
	assert_int_equal(f->verdict.pollers.count, LEDGER_NAMED);
	for (uint64_t i = 0; i < LEDGER_NAMED; i++)
		assert_int_equal(
			ledger_late_by(&f->verdict.pollers.list[i].late),
			500000 + 300000 * (6 - i));
}

TEST(judge__many_at_once__is_a_burst)
{
	struct file *f = *state;
	char text[LEDGER_TEXT];

	clock_at(f, 100);
	for (uint64_t i = 0; i < 200; i++)
		ready(f, 2, 110 + i, TASK + i);
	for (uint64_t i = 0; i < 200; i++)
		poll(f, 0, 1000 + i * 100, 1090 + i * 100, TASK + i, TYPE);
	clock_at(f, 30000);
	judge(f);
	assert_int_equal(f->verdict.shares[0].reason.kind, LEDGER_BURST);
	assert_string_equal(f->verdict.shares[0].reason.culprit, "burst");
	assert_in_range(f->verdict.shares[0].reason.burst, 190, 200);
	ledger_say_verdict(&f->ledger, &f->verdict, text, sizeof(text));
	assert_non_null(strstr(text, "when up to 200 tasks came at once"));
}

/* As many wait, but they have come one by one. */
TEST(judge__more_than_can_be_served__is_overload)
{
	struct file *f = *state;
	char text[LEDGER_TEXT];

	clock_at(f, 100);
	poll(f, 0, 100, 101, TASK - 1, TYPE);
	for (uint64_t i = 0; i < 400; i++)
		ready(f, 2, 110 + i * 50, TASK + i);
	for (uint64_t i = 0; i < 400; i++)
		poll(f, 0, 120 + i * 100, 210 + i * 100, TASK + i, TYPE);
	clock_at(f, 50000);
	judge(f);
	assert_int_equal(f->verdict.shares[0].reason.kind, LEDGER_BACKLOG);
	assert_string_equal(f->verdict.shares[0].reason.culprit, "some");
	is(f, TASK + 399,
	   "queued 19960, running 90, overload: 400 tasks became runnable "
	   "within 20 us before it, and it waited 20 us behind 200 polls, "
	   "up to 0.090 us, most of some");
	ledger_say_verdict(&f->ledger, &f->verdict, text, sizeof(text));
	assert_string_equal(
		text, "overload: 100 % of the time of the slowest 10 went to "
		      "waiting in queues of more polls than could be made, "
		      "most of some");
}

/* No label has more than half of the time, but the type has all. */
TEST(judge__behind_a_type_with_many_labels__blames_the_type)
{
	static const uint64_t labels[] = { KEYS, GET, 0 };
	struct file *f = *state;

	clock_at(f, 100);
	ready(f, 2, 110, TASK);
	for (uint64_t i = 0, ns = 120; i < 60; i++, ns += 10) {
		note(f, 0, ns, EVENT_BEGIN, TASK + 1, OTHER, EVENT_NAME_TYPE,
		     0);
		note(f, 0, ns, EVENT_LABEL, TASK + 1, labels[i % 3], 0, 0);
		note(f, 0, ns + 9, EVENT_END, TASK + 1, 0, SKUA_YIELD, 0);
	}
	poll(f, 0, 800, 801, TASK, TYPE);
	clock_at(f, 1000);
	judge(f);
	assert_int_equal(f->verdict.slow[0].item.task, TASK);
	assert_int_equal(f->verdict.slow[0].reasons[0].kind, LEDGER_QUEUED);
	assert_string_equal(f->verdict.slow[0].reasons[0].culprit, "other");
}

/* Two waits, for these objects. */
static bool is_alike(uint64_t one, uint32_t kind, uint64_t other,
		     uint32_t other_kind)
{
	const struct ledger_reason a = { .lock = one, .lock_kind = kind };
	const struct ledger_reason b = { .lock = other,
					 .lock_kind = other_kind };

	return ledger_is_alike(&a, &b);
}

TEST(is_alike__same_object_or_of_each_request__is)
{
	assert_true(is_alike(8, AREA_WAITS_MUTEX, 8, AREA_WAITS_MUTEX));
	assert_true(is_alike(8, AREA_WAITS_READ, 8, AREA_WAITS_WRITE));
	assert_true(is_alike(8, AREA_WAITS_EVENT, 16, AREA_WAITS_EVENT));
	assert_true(is_alike(8, AREA_WAITS_ONESHOT, 16, AREA_WAITS_ONESHOT));
	assert_true(is_alike(0, AREA_WAITS_NOTHING, 0, AREA_WAITS_NOTHING));
}

TEST(is_alike__other_lock_or_side_of_a_channel__is_not)
{
	assert_false(is_alike(8, AREA_WAITS_MUTEX, 16, AREA_WAITS_MUTEX));
	assert_false(is_alike(8, AREA_WAITS_SEND, 16, AREA_WAITS_SEND));
	assert_false(is_alike(8, AREA_WAITS_SEND, 8, AREA_WAITS_RECEIVE));
	assert_false(is_alike(8, AREA_WAITS_EVENT, 16, AREA_WAITS_ONESHOT));
	assert_false(is_alike(8, AREA_WAITS_MUTEX, 0, AREA_WAITS_NOTHING));
}

TEST(judge__quiet__names_nobody)
{
	struct file *f = *state;
	char text[LEDGER_TEXT];

	clock_at(f, 100);
	for (uint64_t i = 0; i < 2000; i++) {
		ready(f, 2, 1000 + i * 100, TASK + i);
		poll(f, 0, 1001 + i * 100, 1010 + i * 100 + i % 2, TASK + i,
		     i % 2 ? OTHER : TYPE);
	}
	clock_at(f, 300000);
	judge(f);
	assert_int_equal(f->verdict.judged, 20);
	assert_int_equal(f->verdict.shares[0].reason.kind, LEDGER_RUNNING);
	assert_string_equal(f->verdict.shares[0].reason.culprit, "");
	ledger_say_verdict(&f->ledger, &f->verdict, text, sizeof(text));
	assert_string_equal(text, "nobody is to blame: 91 % of the time of the "
				  "slowest 20 went to their own polls");
	assert_int_equal(f->verdict.type_count, 3);
	assert_int_equal(f->verdict.types[0].count, 2000);
	assert_int_equal(f->verdict.types[0].p50_ns, 10);
	assert_int_equal(f->verdict.types[0].p99_ns, 11);
	assert_int_equal(f->verdict.types[0].slow, 20);
	assert_int_equal(f->verdict.types[1].count, 1000);
	assert_string_equal(f->ledger.names[f->verdict.types[1].name], "other");
}

/* It was there before the recording was, and longer than what others took. */
TEST(judge__poll_does_not_end__is_named)
{
	struct file *f = *state;
	char text[LEDGER_TEXT];
	const struct trace_before before = { .from_ns = 110,
					     .until_ns = 1000,
					     .task = TASK,
					     .name = OTHER,
					     .detail = EVENT_NAME_TYPE };

	clock_at(f, 110);
	trace_write_before(&f->writer, &before);
	ready(f, 0, 200, TASK + 1);
	ready(f, 0, 300, TASK + 2);
	ready(f, 2, 400, TASK + 3);
	poll(f, 1, 410, 500, TASK + 3, TYPE);
	clock_at(f, 1000);
	judge(f);
	assert_int_equal(f->ledger.waiting, 2);
	assert_int_equal(f->ledger.oldest_ns, 800);
	assert_int_equal(f->verdict.shares[0].reason.kind, LEDGER_UNFINISHED);
	assert_string_equal(f->verdict.shares[0].reason.culprit, "other");
	ledger_say_verdict(&f->ledger, &f->verdict, text, sizeof(text));
	assert_string_equal(
		text,
		"worker 0 is in one poll of other, that has taken 890 ns and "
		"more, since before the recording, and has not ended: 2 tasks "
		"wait behind it, the oldest for 800 ns; "
		"90 % of the time of the slowest 1 went to their own polls");
}

/* Both have tasks that wait, and the oldest one does not wait for the poll. */
TEST(judge__older_task_of_another_worker__is_not_behind_the_poll)
{
	struct file *f = *state;
	char text[LEDGER_TEXT];

	clock_at(f, 100);
	note(f, 0, 110, EVENT_BEGIN, TASK, OTHER, EVENT_NAME_TYPE, 0);
	ready(f, 1, 150, TASK + 1);
	ready(f, 0, 300, TASK + 2);
	clock_at(f, 1000);
	judge(f);
	assert_int_equal(f->ledger.oldest_ns, 850);
	ledger_say_verdict(&f->ledger, &f->verdict, text, sizeof(text));
	assert_non_null(strstr(text, ": 1 task waits behind it, "
				     "the oldest for 700 ns"));
}

/* It is longer than others, but less than an eighth of all. */
TEST(judge__poll_has_begun__names_nobody)
{
	struct file *f = *state;

	clock_at(f, 100);
	ready(f, 2, 200, TASK);
	poll(f, 0, 210, 220, TASK, TYPE);
	note(f, 0, 900, EVENT_BEGIN, TASK + 1, OTHER, EVENT_NAME_TYPE, 0);
	clock_at(f, 1000);
	judge(f);
	assert_int_equal(f->ledger.unfinished_count, 1);
	assert_int_equal(f->verdict.shares[0].reason.kind, LEDGER_RUNNING);
}

TEST(judge__nothing__says_so)
{
	struct file *f = *state;
	char text[LEDGER_TEXT];

	judge(f);
	assert_int_equal(f->verdict.judged, 0);
	ledger_say_verdict(&f->ledger, &f->verdict, text, sizeof(text));
	assert_string_equal(text, "no task was seen to wait and be polled");
}

/* ---- a choice of tasks --------------------------------------------------- */

/* Items of 100, 200 and 300 ns, the last of them of another type. */
static void three(struct file *f)
{
	clock_at(f, 1000);
	for (uint64_t i = 1; i <= 3; i++) {
		ready(f, 2, 1000 * i + 10, TASK + i);
		poll(f, 0, 1000 * i + 20, 1100 * i + 10, TASK + i,
		     i < 3 ? TYPE : OTHER);
	}
	clock_at(f, 9000);
	open_ledger(f);
}

TEST(judge__slower_than__leaves_out_the_faster)
{
	struct file *f = *state;

	three(f);
	assert_int_equal(ledger_judge(&f->ledger, 100, 200, &f->verdict), 0);
	assert_int_equal(f->verdict.slower, 1);
	assert_int_equal(f->verdict.judged, 1);
	assert_int_equal(f->verdict.slow_count, 1);
	assert_int_equal(f->verdict.slow[0].item.task, TASK + 3);
	assert_int_equal(f->verdict.types[0].count, 3);
}

TEST(judge__none_is_slower__says_so)
{
	struct file *f = *state;
	char text[LEDGER_TEXT];

	three(f);
	assert_int_equal(ledger_judge(&f->ledger, 100, 300, &f->verdict), 0);
	assert_int_equal(f->verdict.slow_count, 0);
	ledger_say_verdict(&f->ledger, &f->verdict, text, sizeof(text));
	assert_string_equal(text, "no task took longer than 300 ns");
}

TEST(keep_type__known__drops_the_others)
{
	struct file *f = *state;

	three(f);
	assert_int_equal(ledger_keep_type(&f->ledger, "some"), 0);
	assert_int_equal(ledger_judge(&f->ledger, 100, 0, &f->verdict), 0);
	assert_int_equal(f->verdict.slow_count, 2);
	assert_int_equal(f->verdict.slow[0].item.task, TASK + 2);
	assert_int_equal(f->verdict.type_count, 2);
}

TEST(keep_type__unknown__keeps_all_and_lists_them)
{
	struct file *f = *state;
	char text[64];

	three(f);
	assert_int_equal(ledger_keep_type(&f->ledger, "som"), -ENOENT);
	assert_int_equal(f->ledger.count, 3);
	ledger_list_types(&f->ledger, text, sizeof(text));
	assert_string_equal(text, "some, other");
	ledger_list_types(&f->ledger, text, 14);
	assert_string_equal(text, "some, ...");
}

int main(void)
{
	for (size_t i = 0; i < COUNT_OF(splits); i++)
		add_test(splits[i].name, split, (void *)(uintptr_t)&splits[i]);
	return run_all_tests();
}
