/* SPDX-License-Identifier: MIT */
/* test_ledger_judge.c - the verdict over all tasks of a recording */
#include "tests/unit/ledger_file.h"

EACH_TEST(set_up, tear_down);

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

/* ---- events of descriptors ---------------------------------------------- */

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

/* ---- a choice of tasks -------------------------------------------------- */

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

/* The label says what a task of the type did. */
TEST(judge__label_chosen__only_its_tasks_are_judged)
{
	static const struct {
		const char *name;
		size_t kept;
	} cases[] = { { "get", 1 },
		      { "some (get)", 1 },
		      { "some", 2 },
		      { "some (keys)", 0 },
		      { "other (get)", 0 } };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		void *fresh = NULL;
		struct file *f;
		char text[64];

		set_up(&fresh);
		f = fresh;
		clock_at(f, 100);
		ready(f, 2, 150, TASK);
		note(f, 0, 200, EVENT_BEGIN, TASK, TYPE, EVENT_NAME_TYPE, 0);
		note(f, 0, 201, EVENT_LABEL, TASK, GET, 0, 0);
		note(f, 0, 300, EVENT_END, TASK, 0, SKUA_DONE, 0);
		ready(f, 2, 310, TASK + 1);
		poll(f, 0, 400, 500, TASK + 1, TYPE);
		clock_at(f, 600);
		open_ledger(f);
		ledger_list_types(&f->ledger, text, sizeof(text));
		assert_string_equal(text, "some; labels: get");
		assert_int_equal(ledger_keep_type(&f->ledger, cases[i].name),
				 cases[i].kept ? 0 : -ENOENT);
		assert_int_equal(f->ledger.count,
				 cases[i].kept ? cases[i].kept : 2);
		tear_down(&fresh);
	}
}
