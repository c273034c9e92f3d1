/* SPDX-License-Identifier: MIT */
/* test_ledger_io.c - late events of descriptors, and late calls of pollers */
#include "tests/unit/ledger_file.h"

EACH_TEST(set_up, tear_down);

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
