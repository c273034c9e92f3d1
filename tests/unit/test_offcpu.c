/* SPDX-License-Identifier: MIT */
/* test_offcpu.c - when threads had no CPU, of switches */
#include "tests/unit/support.h"

#include "bpf/recording/offcpu.h"

#define THREAD 10u

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct offcpu));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	offcpu_free(*state);
	free(*state);
	return 0;
}

EACH_TEST(set_up, tear_down);

static void span(struct offcpu *o, uint64_t from_ns, uint64_t until_ns)
{
	const struct trace_switches head = { .from_ns = from_ns,
					     .until_ns = until_ns };

	assert_int_equal(offcpu_span(o, &head), 0);
}

static void add(struct offcpu *o, uint64_t ns, uint32_t tid,
		enum trace_switch_kind kind, const char *comm, uint32_t lost)
{
	struct trace_switch what = { .ns = ns,
				     .tid = tid,
				     .other = comm[0] ? 77 : 0,
				     .kind = kind,
				     .lost = lost };

	snprintf(what.comm, sizeof(what.comm), "%s", comm);
	assert_int_equal(offcpu_add(o, &what), 0);
}

/* The states of the thread, from time to time, in a line. */
static void are(struct offcpu *o, uint32_t tid, const char *text)
{
	static const char *const words[] = { "on",    "asleep",  "waking",
					     "waits", "stopped", "?" };
	struct offcpu_look look = offcpu_look(o, tid, 0);
	char all[512] = "";
	size_t length = 0;
	uint64_t until;

	for (uint64_t ns = 0; ns < UINT64_MAX; ns = until) {
		const struct offcpu_span *off = NULL;
		enum offcpu_kind kind = offcpu_at(&look, ns, &until, &off);

		assert_true(until > ns);
		length += (size_t)snprintf(
			all + length, sizeof(all) - length, "%s%u %s%s%s%s",
			ns ? ", " : "", (unsigned)ns, words[kind],
			off && off->again_ns ? "?" : "",
			off && off->comm[0] ? " " : "",
			off && off->comm[0] ? off->comm : "");
	}
	assert_string_equal(all, text);
}

static void settle(struct offcpu *o)
{
	assert_int_equal(offcpu_settle(o), 0);
}

/* As some recordings have it: the thread itself comes instead of it. */
TEST(at__it_comes_itself__nobody_instead)
{
	struct offcpu *o = *state;
	const struct trace_switch itself = { .ns = 290,
					     .tid = THREAD,
					     .other = THREAD,
					     .kind = TRACE_SWITCH_INSTEAD,
					     .comm = "itself" };

	span(o, 100, 400);
	add(o, 200, THREAD, TRACE_SWITCH_PREEMPTED, "one", 0);
	assert_int_equal(offcpu_add(o, &itself), 0);
	add(o, 300, THREAD, TRACE_SWITCH_IN, "one", 0);
	settle(o);
	are(o, THREAD, "0 ?, 100 on, 200 waits one, 300 on, 400 ?");
}

TEST(at__nobody_was_watched__all_run)
{
	settle(*state);
	assert_false(offcpu_any(*state));
	are(*state, THREAD, "0 on");
}

TEST(at__each_kind__is_told)
{
	struct offcpu *o = *state;

	span(o, 100, 1000);
	add(o, 200, THREAD, TRACE_SWITCH_PREEMPTED, "one", 0);
	add(o, 230, THREAD, TRACE_SWITCH_INSTEAD, "two", 0);
	add(o, 250, THREAD, TRACE_SWITCH_IN, "two", 0);
	add(o, 300, THREAD, TRACE_SWITCH_ASLEEP, "", 0);
	add(o, 350, THREAD, TRACE_SWITCH_WOKEN, "waker", 0);
	add(o, 360, THREAD, TRACE_SWITCH_IN, "", 0);
	add(o, 400, THREAD, TRACE_SWITCH_ASLEEP, "", 0);
	add(o, 450, THREAD, TRACE_SWITCH_WOKEN, "waker", 0);
	add(o, 460, THREAD, TRACE_SWITCH_IN, "three", 0);
	add(o, 470, THREAD, TRACE_SWITCH_WOKEN, "waker", 0); /* it is awake */
	settle(o);
	assert_true(offcpu_any(o));
	are(o, THREAD,
	    "0 ?, 100 on, 200 waits one, 230 waits two, 250 on, 300 asleep, "
	    "350 waking, 360 on, 400 asleep, 450 waits three, 460 on, 1000 ?");
	are(o, THREAD + 1, "0 ?, 100 on, 1000 ?");
}

TEST(at__first_of_a_thread__tells_what_was_before)
{
	struct offcpu *o = *state;

	span(o, 100, 1000);
	add(o, 200, 1, TRACE_SWITCH_IN, "one", 0);
	add(o, 200, 2, TRACE_SWITCH_WOKEN, "one", 0);
	add(o, 300, 2, TRACE_SWITCH_IN, "", 0);
	add(o, 200, 3, TRACE_SWITCH_ASLEEP, "one", 0);
	settle(o);
	are(o, 1, "0 ?, 100 ?, 200 on, 1000 ?");
	are(o, 2, "0 ?, 100 asleep, 200 waking, 300 on, 1000 ?");
	are(o, 3, "0 ?, 100 on, 200 asleep, 1000 ?");
}

/* The recorder has such switches, from before all programs were attached. */
TEST(add__older_than_its_span__is_left_out)
{
	struct offcpu *o = *state;

	span(o, 100, 1000);
	add(o, 90, THREAD, TRACE_SWITCH_PREEMPTED, "one", 1);
	add(o, 200, THREAD, TRACE_SWITCH_IN, "one", 0);
	settle(o);
	are(o, THREAD, "0 ?, 100 ?, 200 on, 1000 ?");
}

/* A thread that leaves twice was back meanwhile; when is not known. */
TEST(at__left_twice__is_not_sure_between)
{
	struct offcpu *o = *state;

	span(o, 100, 1000);
	add(o, 200, THREAD, TRACE_SWITCH_PREEMPTED, "one", 0);
	add(o, 250, THREAD, TRACE_SWITCH_INSTEAD, "two", 0);
	add(o, 300, THREAD, TRACE_SWITCH_PREEMPTED, "three", 0);
	add(o, 350, THREAD, TRACE_SWITCH_IN, "three", 0);
	add(o, 400, THREAD, TRACE_SWITCH_ASLEEP, "", 0);
	add(o, 450, THREAD, TRACE_SWITCH_WOKEN, "waker", 0);
	add(o, 500, THREAD, TRACE_SWITCH_ASLEEP, "", 0);
	settle(o);
	assert_int_equal(o->unseen, 2);
	are(o, THREAD,
	    "0 ?, 100 on, 200 waits? one, 250 waits? two, 300 waits three, "
	    "350 on, 400 asleep, 450 waking?, 500 asleep, 1000 ?");
}

TEST(at__stopped__is_no_sleep)
{
	struct offcpu *o = *state;

	span(o, 100, 1000);
	add(o, 200, THREAD, TRACE_SWITCH_STOPPED, "", 0);
	add(o, 800, THREAD, TRACE_SWITCH_WOKEN, "bash", 0);
	add(o, 810, THREAD, TRACE_SWITCH_IN, "", 0);
	settle(o);
	assert_int_equal(o->unseen, 0);
	are(o, THREAD, "0 ?, 100 on, 200 stopped, 800 waking, 810 on, 1000 ?");
}

TEST(at__switches_lost__is_not_known_meanwhile)
{
	struct offcpu *o = *state;

	span(o, 100, 500);
	add(o, 200, THREAD, TRACE_SWITCH_ASLEEP, "", 0);
	add(o, 300, THREAD + 1, TRACE_SWITCH_ASLEEP, "", 0);
	add(o, 400, THREAD, TRACE_SWITCH_PREEMPTED, "one", 5);
	span(o, 500, 1000);
	add(o, 600, THREAD, TRACE_SWITCH_IN, "one", 0);
	settle(o);
	assert_int_equal(o->lost, 5);
	are(o, THREAD,
	    "0 ?, 100 on, 200 asleep, 300 ?, 400 waits one, 600 on, 1000 ?");
}

TEST(at__spans_with_a_gap__is_not_known_between)
{
	struct offcpu *o = *state;
	const struct trace_switches before = { .from_ns = 50, .until_ns = 60 };
	const struct trace_switches negative = { .from_ns = 99,
						 .until_ns = 98 };

	span(o, 100, 200);
	add(o, 150, THREAD, TRACE_SWITCH_ASLEEP, "", 0);
	span(o, 300, 400);
	add(o, 350, THREAD, TRACE_SWITCH_ASLEEP, "", 0);
	assert_int_equal(offcpu_span(o, &before), -EINVAL);
	assert_int_equal(offcpu_span(o, &negative), -EINVAL);
	settle(o);
	are(o, THREAD,
	    "0 ?, 100 on, 150 asleep, 200 ?, 300 on, 350 asleep, 400 ?");
}

TEST(add__disorder_and_any_text__is_put_right)
{
	struct offcpu *o = *state;

	span(o, 100, 1000);
	add(o, 300, THREAD, TRACE_SWITCH_IN, "a\nb", 0);
	add(o, 200, THREAD, TRACE_SWITCH_PREEMPTED, "a\nb", 0);
	add(o, 1, THREAD, TRACE_SWITCH_PREEMPTED, "early", 0);
	add(o, 5000, THREAD, TRACE_SWITCH_PREEMPTED, "late", 0);
	add(o, 500, THREAD, (enum trace_switch_kind)99, "strange", 0);
	settle(o);
	are(o, THREAD, "0 ?, 100 on, 200 waits a?b, 300 on, 1000 ?");
}
