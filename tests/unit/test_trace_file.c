/* SPDX-License-Identifier: MIT */
/* test_trace_file.c - files of events, written and read */
#include "tests/unit/support.h"

#include <sys/mman.h>

#include "bpf/recording/trace_play.h"

#define TASK 0x7000u
#define TYPE 0x5000u

/* A file in memory; counter and time are the same. */
struct file {
	int fd;
	char path[32];
	struct trace_writer writer;
	struct event events[64];
	uint32_t count;
	uint64_t first;
};

static void stream(struct file *f, uint32_t id, uint32_t index, uint32_t tid)
{
	const struct trace_stream stream = { .id = id,
					     .index = index,
					     .tid = tid };

	assert_int_equal(trace_write_stream(&f->writer, &stream), 0);
}

static int set_up(void **state)
{
	const struct trace_meta meta = { .pid = 7,
					 .start = { 1, 1 },
					 .program = "some" };
	struct file *f = calloc(1, sizeof(*f));

	f->fd = memfd_create("trace", MFD_CLOEXEC);
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
	assert_int_equal(trace_write_start(&f->writer, f->fd, &meta), 0);
	stream(f, 0, 0, 10);
	stream(f, 1, 1, 11);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct file *f = *state;

	close(f->fd);
	free(f);
	return 0;
}

EACH_TEST(set_up, tear_down);

static void note(struct file *f, uint64_t ns, enum event_kind kind, uint64_t a,
		 uint32_t detail, uint16_t other)
{
	struct event event = { .time = ns, .a = a };

	event.what = event_what(kind, detail, other);
	if (kind == EVENT_BEGIN)
		event.b = TYPE;
	f->events[f->count++] = event;
}

static void clock_at(struct file *f, uint64_t ns)
{
	note(f, ns, EVENT_CLOCK, ns, 0, 0);
}

/* The notes, as events of a stream. */
static void put(struct file *f, uint32_t id)
{
	assert_int_equal(trace_write_events(&f->writer, id, f->first, f->events,
					    f->count),
			 0);
	f->first += f->count;
	f->count = 0;
}

static struct trace *open_trace(struct file *f)
{
	struct skua_error err;
	struct trace *trace;

	assert_int_equal(trace_open(&trace, f->path, &err), 0);
	return trace;
}

/* ---- the reader ------------------------------------------------------------ */

TEST(origin__in_the_file_or_not__is_shown)
{
	struct trace_origin origin = { .rank = 3 };
	struct file *f = *state;
	struct trace *trace = open_trace(f);

	assert_int_equal(trace_about(trace)->origin.rank, TRACE_NO_RANK);
	assert_string_equal(trace_about(trace)->origin.clock, "");
	trace_close(trace);
	memset(origin.host, 'h', sizeof(origin.host));
	strcpy(origin.clock, "boot\n1");
	assert_int_equal(trace_write_origin(&f->writer, &origin), 0);
	trace = open_trace(f);
	assert_int_equal(trace_about(trace)->origin.rank, 3);
	assert_int_equal(strlen(trace_about(trace)->origin.host), 63);
	assert_string_equal(trace_about(trace)->origin.clock, "boot?1");
	trace_close(trace);
}

TEST(next__two_streams__in_the_order_of_time)
{
	struct file *f = *state;
	struct trace_event event;
	struct trace *trace;
	uint64_t sum = 0;

	for (unsigned i = 0; i < 2; i++) {
		f->first = 0;
		clock_at(f, 100 + i);
		for (uint64_t ns = 200; ns < 250; ns++)
			note(f, 2 * ns + i, EVENT_READY, 2 * ns + i, 0, 0);
		clock_at(f, 1000 + i);
		put(f, i);
	}
	trace_write_end(&f->writer, TRACE_FINISHED);
	trace = open_trace(f);
	assert_int_equal(trace_about(trace)->events, 104);
	assert_int_equal(trace_about(trace)->lost, 0);
	assert_false(trace_about(trace)->cut);
	for (uint64_t ns = 0; trace_next(trace, &event); ns = event.ns) {
		assert_true(ns <= event.ns);
		assert_int_equal(event.ns, event.event.a);
		sum++;
	}
	assert_int_equal(trace_failed(trace), 0);
	assert_int_equal(sum, 104);
	trace_close(trace);
}

TEST(next__time_goes_back__stands_still)
{
	struct file *f = *state;
	struct trace_event event;
	struct trace *trace;

	clock_at(f, 100);
	clock_at(f, 200);
	note(f, 500, EVENT_READY, TASK, 0, 0);
	note(f, 300, EVENT_READY, TASK, 0, 0);
	put(f, 0);
	trace = open_trace(f);
	for (unsigned i = 0; i < 4; i++)
		assert_true(trace_next(trace, &event));
	assert_int_equal(event.ns, 500);
	assert_false(trace_next(trace, &event));
	trace_close(trace);
}

TEST(next__numbers_are_missing__are_lost)
{
	struct file *f = *state;
	struct trace_event event;
	struct trace *trace;

	f->first = 1000; /* what was before is not lost */
	clock_at(f, 100);
	put(f, 0);
	f->first += 7;
	note(f, 110, EVENT_READY, TASK, 0, 0);
	note(f, 120, EVENT_NONE, TASK, 0, 0);
	note(f, 130, EVENT_READY, TASK, 0, 0);
	put(f, 0);
	f->first -= 2; /* told twice */
	note(f, 140, EVENT_READY, TASK, 0, 0);
	put(f, 0);
	trace = open_trace(f);
	assert_int_equal(trace_about(trace)->lost, 8);
	assert_int_equal(trace_source(trace, 0)->events, 3);
	assert_true(trace_next(trace, &event));
	assert_true(event.gap && event.lost == 0);
	assert_true(trace_next(trace, &event));
	assert_true(!event.gap && event.lost == 7);
	assert_true(trace_next(trace, &event));
	assert_true(!event.gap && event.lost == 1);
	assert_int_equal(event.event.time, 130);
	assert_false(trace_next(trace, &event));
	trace_close(trace);
}

/* A gap without events before or after it is in the file, too. */
TEST(next__gaps_at_the_ends__are_lost)
{
	struct file *f = *state;
	struct trace_event event;
	struct trace *trace;

	assert_int_equal(trace_write_gap(&f->writer, 0, 1000, 5), 0);
	f->first = 1005;
	clock_at(f, 100);
	put(f, 0);
	assert_int_equal(trace_write_gap(&f->writer, 0, 1006, 3), 0);
	assert_int_equal(trace_write_gap(&f->writer, 0, 1000, 9), 0);
	assert_int_equal(trace_write_gap(&f->writer, 1, 0, UINT64_MAX), 0);
	assert_int_equal(trace_write_gap(&f->writer, 1, 0, UINT64_MAX), 0);
	assert_int_equal(trace_write_gap(&f->writer, 70000, 0, 1), 0);
	trace = open_trace(f);
	assert_int_equal(trace_source(trace, 0)->lost, 8);
	assert_int_equal(trace_source(trace, 0)->events, 1);
	assert_true(trace_source(trace, 1)->lost == UINT64_MAX);
	assert_int_equal(trace_source(trace, 1)->events, 0);
	assert_true(trace_about(trace)->lost == UINT64_MAX);
	assert_true(trace_next(trace, &event));
	assert_true(!event.gap && event.lost == 5);
	assert_false(trace_next(trace, &event));
	assert_int_equal(trace_failed(trace), 0);
	trace_close(trace);
}

TEST(name__control_characters__are_replaced)
{
	struct file *f = *state;
	struct trace *trace;

	trace_write_name(&f->writer, TRACE_NAME_TYPE, 1, "a\n\"b\xff");
	trace_write_name(&f->writer, TRACE_NAME_FUNCTION, 1,
			 "a name that is longer than what there is room for in "
			 "a chunk of a file of events");
	trace = open_trace(f);
	assert_string_equal(trace_name(trace, TRACE_NAME_TYPE, 1), "a?\"b?");
	assert_int_equal(strlen(trace_name(trace, TRACE_NAME_FUNCTION, 1)), 63);
	assert_null(trace_name(trace, TRACE_NAME_FUNCTION, 2));
	assert_string_equal(trace_about(trace)->meta.program, "some");
	trace_close(trace);
}

TEST(source__thread_of_two_workers__is_no_thread)
{
	struct file *f = *state;
	struct trace *trace;
	char label[TRACE_LABEL];

	stream(f, 2, TRACE_OUTSIDE, 0);
	stream(f, 3, 2, 10);
	stream(f, 3, 3, 10); /* again */
	stream(f, TRACE_STREAMS, 4, 12);
	trace = open_trace(f);
	assert_int_equal(trace_sources(trace), 4);
	assert_int_equal(trace_source(trace, 0)->thread, 0);
	assert_int_equal(trace_source(trace, 1)->thread, 11);
	assert_int_equal(trace_source(trace, 2)->thread, 0);
	assert_int_equal(trace_source(trace, 3)->thread, 0);
	trace_label(trace, 3, label);
	assert_string_equal(label, "worker 3");
	trace_label(trace, 2, label);
	assert_string_equal(label, "other threads");
	trace_close(trace);
}

/* ---- what is drawn --------------------------------------------------------- */

/* The sink writes down what it gets, in a line each. */
struct lines {
	struct trace_sink sink;
	char text[4096];
	size_t length;
};

static void add_line(struct lines *lines, const char *what,
		     const struct trace_mark *mark, uint64_t ns)
{
	lines->length += (size_t)snprintf(lines->text + lines->length,
					  sizeof(lines->text) - lines->length,
					  "%u %s %s %u%s\n", mark->track, what,
					  mark->name, (unsigned)ns,
					  mark->partial ? "?" : "");
}

static void on_begin(struct trace_sink *sink, const struct trace_mark *mark)
{
	add_line((struct lines *)sink, "+", mark, mark->ns);
}

static void on_end(struct trace_sink *sink, const struct trace_mark *mark)
{
	add_line((struct lines *)sink, "-", mark, mark->end_ns);
	if (mark->waited)
		add_line((struct lines *)sink, "waited", mark, mark->waited_ns);
}

static void on_instant(struct trace_sink *sink, const struct trace_mark *mark)
{
	add_line((struct lines *)sink, "!", mark, mark->ns);
}

static void draws(struct file *f, const char *text)
{
	struct lines lines = { .sink = { .begin = on_begin,
					 .end = on_end,
					 .instant = on_instant } };
	struct trace *trace;

	trace_write_name(&f->writer, TRACE_NAME_TYPE, TYPE, "some");
	trace = open_trace(f);
	assert_int_equal(trace_play(trace, &lines.sink), 0);
	trace_close(trace);
	assert_string_equal(lines.text, text);
}

TEST(play__task_is_stolen__is_seen_to_wait)
{
	struct file *f = *state;

	clock_at(f, 100);
	note(f, 110, EVENT_BEGIN, TASK, EVENT_NAME_TYPE, 0);
	note(f, 120, EVENT_READY, TASK + 1, 0, 0);
	note(f, 200, EVENT_END, TASK, SKUA_DONE, 0);
	clock_at(f, 1000);
	put(f, 0);
	f->first = 0;
	clock_at(f, 101);
	note(f, 150, EVENT_STEAL, TASK + 1, 1, 0);
	f->events[1].b = 30;
	note(f, 160, EVENT_BEGIN, TASK + 1, EVENT_NAME_TYPE, 0);
	note(f, 180, EVENT_END, TASK + 1, SKUA_YIELD, 0);
	note(f, 185, EVENT_BEGIN, TASK + 1, EVENT_NAME_TYPE, 0);
	note(f, 190, EVENT_END, TASK + 1, SKUA_PENDING, 0);
	clock_at(f, 1001);
	put(f, 1);
	draws(f, "0 + some 110\n"
		 "0 ! ready 120\n"
		 "1 + search 120\n"
		 "1 - search 150\n"
		 "0 ! stolen 150\n"
		 "1 ! steal 150\n"
		 "1 + some 160\n"
		 "1 - some 180\n"
		 "1 waited some 40\n"
		 "1 + some 185\n"
		 "1 - some 190\n"
		 "1 waited some 5\n"
		 "0 - some 200\n");
}

TEST(play__begun_before_or_not_ended__as_long_as_is_known)
{
	struct file *f = *state;

	f->first = 50;
	clock_at(f, 100);
	note(f, 110, EVENT_JOB_BEGIN, 0x99, 0, 0);
	note(f, 120, EVENT_JOB_END, 0, 0, 0);
	note(f, 130, EVENT_JOB_END, 0, 0, 0);
	note(f, 140, EVENT_END, TASK, SKUA_DONE, 0);
	note(f, 150, EVENT_BEGIN, TASK, EVENT_NAME_TYPE, 0);
	note(f, 160, EVENT_PARK, 0, 0, 0);
	clock_at(f, 1000);
	put(f, 0);
	draws(f, "0 + job 0x99 110\n"
		 "0 - job 0x99 120\n"
		 "0 + a job 99?\n"
		 "0 - a job 130?\n"
		 "0 + a poll 98?\n"
		 "0 - a poll 140?\n"
		 "0 + some 150\n"
		 "0 + parked 160\n"
		 "0 - parked 1000?\n"
		 "0 - some 1000?\n");
}

static void before(struct file *f, uint32_t id, uint64_t from, uint64_t until)
{
	const struct trace_before before = { .from_ns = from,
					     .until_ns = until,
					     .task = TASK,
					     .name = TYPE,
					     .detail = EVENT_NAME_TYPE,
					     .stream = id };

	assert_int_equal(trace_write_before(&f->writer, &before), 0);
}

/* The first worker notices later; the second never does. */
TEST(play__begun_before_and_seen__is_drawn)
{
	struct file *f = *state;

	clock_at(f, 100);
	note(f, 101, EVENT_START, 10, 0, 0);
	note(f, 110, EVENT_BEGIN, TASK + 1, EVENT_NAME_TYPE, 0);
	note(f, 120, EVENT_END, TASK + 1, SKUA_DONE, 0);
	clock_at(f, 1000);
	put(f, 0);
	before(f, 0, 50, 60);
	before(f, 0, 50, 90); /* that counts */
	before(f, 1, 55, 900);
	before(f, 1, 60, 60);
	before(f, TRACE_STREAMS, 1, 2);
	draws(f, "0 + some 50?\n"
		 "0 - some 90?\n"
		 "0 + some 110\n"
		 "0 - some 120\n"
		 "1 + some 55?\n"
		 "1 - some 900?\n");
}

/* It was recorded before: its end is an event, the only one of it. */
TEST(play__begun_before_and_its_end__is_one)
{
	struct file *f = *state;

	clock_at(f, 100);
	note(f, 110, EVENT_END, TASK, SKUA_DONE, 0);
	note(f, 120, EVENT_BEGIN, TASK + 1, EVENT_NAME_TYPE, 0);
	note(f, 130, EVENT_END, TASK + 1, SKUA_DONE, 0);
	clock_at(f, 1000);
	put(f, 0);
	before(f, 0, 50, 90);
	draws(f, "0 + some 50?\n"
		 "0 - some 110?\n"
		 "0 + some 120\n"
		 "0 - some 130\n");
}

/* With any content of a file. */
TEST(play__begun_before_but_later__does_not_go_back)
{
	struct file *f = *state;

	clock_at(f, 100);
	note(f, 101, EVENT_START, 10, 0, 0);
	clock_at(f, 1000);
	put(f, 0);
	before(f, 0, 500, 900);
	draws(f, "0 + some 100?\n"
		 "0 - some 101?\n");
}

TEST(play__unpark_alone__has_slept_as_it_says)
{
	struct file *f = *state;

	clock_at(f, 500);
	note(f, 500, EVENT_START, 10, 0, 0);
	note(f, 501, EVENT_UNPARK, 300, 0, 0);
	note(f, 600, EVENT_BEGIN, TASK, EVENT_NAME_TYPE, 0);
	note(f, 610, EVENT_END, TASK, 0, 0);
	clock_at(f, 1000);
	put(f, 0);
	draws(f, "0 + parked 201?\n"
		 "0 - parked 501?\n"
		 "0 + some 600\n"
		 "0 - some 610\n");
}

/* The poll from before may have ended in the gap: it ends where it was last seen. */
TEST(play__events_lost_before_the_first__a_poll_from_before_ends)
{
	struct file *f = *state;

	before(f, 0, 50, 90);
	assert_int_equal(trace_write_gap(&f->writer, 0, 3, 4), 0);
	f->first = 7;
	clock_at(f, 100);
	note(f, 110, EVENT_END, TASK + 1, SKUA_DONE, 0);
	note(f, 120, EVENT_BEGIN, TASK + 1, EVENT_NAME_TYPE, 0);
	note(f, 130, EVENT_END, TASK + 1, 0, 0);
	clock_at(f, 1000);
	put(f, 0);
	draws(f, "0 + some 50?\n"
		 "0 - some 90?\n"
		 "0 ! events lost 90\n"
		 "0 + a poll 99?\n"
		 "0 - a poll 110?\n"
		 "0 + some 120\n"
		 "0 - some 130\n");
}

/* A task that was ready before some are missing may have been polled meanwhile. */
TEST(play__events_lost__nothing_is_made_up)
{
	struct file *f = *state;

	clock_at(f, 100);
	note(f, 105, EVENT_READY, TASK + 2, 0, 0);
	note(f, 110, EVENT_BEGIN, TASK, EVENT_NAME_TYPE, 0);
	note(f, 115, EVENT_READY, TASK + 1, 0, 0);
	put(f, 0);
	f->first += 5;
	note(f, 200, EVENT_END, TASK + 3, SKUA_DONE, 0);
	note(f, 210, EVENT_BEGIN, TASK + 1, EVENT_NAME_TYPE, 0);
	note(f, 220, EVENT_END, TASK + 1, 0, 0);
	clock_at(f, 1000);
	put(f, 0);
	f->first = 0;
	clock_at(f, 101);
	note(f, 150, EVENT_READY, TASK + 4, 0, 0);
	note(f, 160, EVENT_BEGIN, TASK + 2, EVENT_NAME_TYPE, 0);
	note(f, 170, EVENT_END, TASK + 2, 0, 0);
	note(f, 230, EVENT_BEGIN, TASK + 4, EVENT_NAME_TYPE, 0);
	note(f, 240, EVENT_END, TASK + 4, 0, 0);
	clock_at(f, 1001);
	put(f, 1);
	draws(f, "0 ! ready 105\n"
		 "0 + some 110\n"
		 "0 ! ready 115\n"
		 "1 ! ready 150\n"
		 "1 + some 160\n"
		 "1 - some 170\n"
		 "0 - some 115?\n"
		 "0 ! events lost 115\n"
		 "0 + a poll 199?\n"
		 "0 - a poll 200?\n"
		 "0 + some 210\n"
		 "0 - some 220\n"
		 "1 + some 230\n"
		 "1 - some 240\n");
}

TEST(play__stopped_and_started__slices_do_not_cross_it)
{
	struct file *f = *state;

	clock_at(f, 100);
	note(f, 110, EVENT_BEGIN, TASK, EVENT_NAME_TYPE, 0);
	note(f, 120, EVENT_STOP, 0, 0, 0);
	note(f, 300, EVENT_START, 10, 0, 0);
	note(f, 310, EVENT_END, TASK, 0, 0);
	clock_at(f, 1000);
	put(f, 0);
	draws(f, "0 + some 110\n"
		 "0 - some 120?\n"
		 "0 + a poll 299?\n"
		 "0 - a poll 310?\n");
}

TEST(play__deeper_than_is_drawn__rest_is_whole)
{
	struct file *f = *state;
	struct trace *trace;
	struct lines lines = { .sink = { .end = on_end } };

	clock_at(f, 1);
	for (unsigned i = 0; i < 3 * 60; i++) {
		unsigned depth = i / 60 == 1 ? 0 : 1; /* 60 deeper, or not */

		note(f, 2 + i, i < 90 ? EVENT_JOB_BEGIN : EVENT_JOB_END,
		     0x10 + depth, 0, 0);
		if (f->count == 60)
			put(f, 0);
	}
	put(f, 0);
	clock_at(f, 1000);
	put(f, 0);
	trace = open_trace(f);
	assert_int_equal(trace_play(trace, &lines.sink), 0);
	trace_close(trace);
	assert_null(strstr(lines.text, "?"));
}
