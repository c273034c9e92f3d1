/* SPDX-License-Identifier: MIT */
/* ledger_file.h - recordings that are made here, for tests of the ledger */
#ifndef SKUA_TESTS_UNIT_LEDGER_FILE_H
#define SKUA_TESTS_UNIT_LEDGER_FILE_H

#include <sys/mman.h>

#include "tests/unit/support.h"
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

static inline int set_up(void **state)
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

static inline int tear_down(void **state)
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

static inline void note(struct file *f, uint32_t stream, uint64_t ns,
			enum event_kind kind, uint64_t a, uint64_t b,
			uint32_t detail, uint16_t other)
{
	struct event event = { .time = ns, .a = a, .b = b };

	event.what = event_what(kind, detail, other);
	assert_int_equal(trace_write_events(&f->writer, stream,
					    f->first[stream]++, &event, 1),
			 0);
}

/* From there to there the counter is the time. */
static inline void clock_at(struct file *f, uint64_t ns)
{
	for (uint32_t i = 0; i < 2; i++)
		note(f, i, ns, EVENT_CLOCK, ns, 0, 0, 0);
}

static inline void ready(struct file *f, uint32_t stream, uint64_t ns,
			 uint64_t task)
{
	note(f, stream, ns, EVENT_READY, task, 0, 0, 0);
}

static inline void poll(struct file *f, uint32_t stream, uint64_t from_ns,
			uint64_t until_ns, uint64_t task, uint64_t type)
{
	note(f, stream, from_ns, EVENT_BEGIN, task, type, EVENT_NAME_TYPE, 0);
	note(f, stream, until_ns, EVENT_END, task, 0, SKUA_DONE, 0);
}

static inline void switched(struct file *f, uint64_t ns, uint32_t tid,
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
static inline void watched(struct file *f, uint64_t from_ns, uint64_t until_ns)
{
	assert_int_equal(
		trace_write_switches(&f->writer, from_ns, until_ns, NULL, 0),
		0);
}

static inline void open_ledger(struct file *f)
{
	struct skua_error err;

	/* Without an end: its time would be that of now. */
	assert_int_equal(trace_open(&f->trace, f->path, &err), 0);
	assert_int_equal(ledger_open(&f->ledger, f->trace), 0);
}

static inline void judge(struct file *f)
{
	open_ledger(f);
	assert_int_equal(ledger_judge(&f->ledger, 100, 0, &f->verdict), 0);
}

/* The parts of a task's item, and the reason, in a line. */
static inline void is(struct file *f, uint64_t task, const char *text)
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

static inline void record(struct file *f, const struct step *it)
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

static inline void split(void **state)
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

/* run_splits - run the tests of a table, and those that TEST() has added */
static inline int run_splits(const struct split *splits, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add_test(splits[i].name, split, (void *)(uintptr_t)&splits[i]);
	return run_all_tests();
}

#endif
