/* SPDX-License-Identifier: MIT */
/* test_ledger_waits.c - the part of the time in which tasks waited for locks and channels */
#include "tests/unit/ledger_file.h"

EACH_TEST(set_up, tear_down);

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

/* Recordings, and the parts of their items. */
static const struct split waits[] = {
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

int main(void)
{
	return run_splits(waits, COUNT_OF(waits));
}
