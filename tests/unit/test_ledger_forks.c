/* SPDX-License-Identifier: MIT */
/* test_ledger_forks.c - where the time of calls of skua_run() went */
#include "tests/unit/ledger_file.h"

EACH_TEST(set_up, tear_down);

#define CALLER \
	20u /* a thread that is no worker, in the first place after two workers */
#define PLACE 2u
#define ROOT  0x3000u
#define FORK  0x3001u

static void fork_note(struct file *f, uint64_t ns, enum event_kind kind)
{
	bool helps = kind == EVENT_HELP_BEGIN || kind == EVENT_HELP_END;

	note(f, 2, ns, kind, ROOT, helps ? 0 : PLACE, CALLER, 0);
}

static void job(struct file *f, uint32_t stream, uint64_t from_ns,
		uint64_t until_ns, uint16_t victim)
{
	note(f, stream, from_ns, EVENT_JOB_BEGIN, FORK, 0, 0, victim);
	note(f, stream, until_ns, EVENT_JOB_END, 0, 0, 0, 0);
}

static void park(struct file *f, uint32_t stream, uint64_t from_ns,
		 uint64_t until_ns)
{
	note(f, stream, from_ns, EVENT_PARK, 0, 0, 0, 0);
	note(f, stream, until_ns, EVENT_UNPARK, until_ns - from_ns, 0, CALLER,
	     0);
}

#define SWITCH(at, thread, how, who)                                     \
	{                                                                \
		.ns = (at), .tid = (thread), .kind = TRACE_SWITCH_##how, \
		.other = (who)[0] ? 77 : 0, .comm = (who)                \
	}

/* All that is known of CPUs from the begin to 5000. */
static void switches(struct file *f, const struct trace_switch *list,
		     uint32_t count)
{
	assert_int_equal(trace_write_switches(&f->writer, 1, 5000, list, count),
			 0);
}

static const struct ledger_forks *forks(struct file *f)
{
	open_ledger(f);
	return &f->ledger.forks;
}

static void parts_are(const struct ledger_forks *f, uint64_t alone,
		      uint64_t together, uint64_t join, uint64_t preempted,
		      uint64_t blocked)
{
	assert_int_equal(f->parts[LEDGER_FORK_ALONE], alone);
	assert_int_equal(f->parts[LEDGER_FORK_TOGETHER], together);
	assert_int_equal(f->parts[LEDGER_FORK_JOIN], join);
	assert_int_equal(f->parts[LEDGER_FORK_PREEMPTED], preempted);
	assert_int_equal(f->parts[LEDGER_FORK_BLOCKED], blocked);
	assert_int_equal(f->parts[LEDGER_FORK_UNKNOWN], 0);
}

TEST(forks__no_calls__have_no_time)
{
	struct file *f = *state;

	clock_at(f, 100);
	poll(f, 0, 200, 300, TASK, TYPE);
	assert_int_equal(forks(f)->calls.count, 0);
	parts_are(&f->ledger.forks, 0, 0, 0, 0, 0);
}

/* A worker sleeps, is woken, and takes a job; the caller waits for it, and helps. */
TEST(forks__job_is_taken__time_of_call_is_split)
{
	struct file *f = *state;
	const struct ledger_forks *it;

	clock_at(f, 100);
	park(f, 1, 110, 9000);
	fork_note(f, 1000, EVENT_RUN_BEGIN);
	park(f, 0, 120, 1500);
	job(f, 0, 1700, 4000, PLACE);
	fork_note(f, 2000, EVENT_JOIN_BEGIN);
	fork_note(f, 2500, EVENT_HELP_BEGIN);
	fork_note(f, 2900, EVENT_HELP_END);
	fork_note(f, 4100, EVENT_JOIN_END);
	note(f, 0, 4200, EVENT_PARK, 0, 0, 0, 0);
	fork_note(f, 6000, EVENT_RUN_END);
	clock_at(f, 9100);
	it = forks(f);
	assert_int_equal(it->calls.count, 1);
	assert_int_equal(it->calls.ns, 5000);
	assert_int_equal(it->unseen, 0);
	/* Alone: 1000 to 1700, 4100 to 6000; at joins: 2000 to 2500, 2900 to 4100. */
	parts_are(it, 700 + 1900, 300 + 400, 500 + 1200, 0, 0);
	assert_int_equal(it->joins.count, 2);
	assert_int_equal(it->joins.longest_ns, 1200);
	assert_int_equal(it->jobs.count, 1);
	assert_int_equal(it->jobs.ns, 2300);
	assert_int_equal(it->took.count, 1);
	assert_int_equal(it->took.ns, 200);
	assert_int_equal(it->in_vain, 0);
	/* Worker 0: asleep to 1500, searching to 1700, from 4100 to 4200; then asleep. */
	assert_int_equal(it->alone[LEDGER_FORK_SEARCH], 200 + 100);
	assert_int_equal(it->alone[LEDGER_FORK_ASLEEP],
			 500 + 1800 + 700 + 1900);
	assert_int_equal(it->rest[LEDGER_FORK_JOB], 2300);
}

/* The first job taken from a place tells that a thread is there; its thread is known later. */
TEST(forks__call_before_recording__known_from_first_job)
{
	static const struct trace_switch list[] = {
		SWITCH(4000, CALLER, PREEMPTED, "cat"),
	};
	struct file *f = *state;
	const struct ledger_forks *it;

	clock_at(f, 100);
	job(f, 0, 1000, 2000, PLACE);
	job(f, 1, 1500, 2000, 0); /* not of an outside thread */
	fork_note(f, 3000, EVENT_JOIN_BEGIN);
	fork_note(f, 3500, EVENT_JOIN_END);
	clock_at(f, 5000);
	switches(f, list, 1);
	it = forks(f);
	assert_int_equal(it->calls.count, 1);
	assert_int_equal(it->unseen, 1);
	assert_int_equal(it->caller_count, 1);
	/* Preempted from 4000 on; the recording began at 1. */
	parts_are(it, 999 + 1000 + 500, 1000, 500, 1000, 0);
}

/* A place in which a call was seen is not taken for that of an earlier call. */
TEST(forks__two_calls_before_recording__each_known_from_its_first_job)
{
	struct file *f = *state;
	const struct ledger_forks *it;

	clock_at(f, 100);
	job(f, 0, 1000, 2000, PLACE);
	job(f, 1, 1200, 2500, PLACE + 1);
	fork_note(f, 3000, EVENT_RUN_END);
	note(f, 2, 4000, EVENT_RUN_END, ROOT, PLACE + 1, CALLER + 1, 0);
	it = forks(f);
	assert_int_equal(it->calls.count, 2);
	assert_int_equal(it->unseen, 2);
	assert_int_equal(it->caller_count, 2);
	/* The recording began at 1. Each time is counted once. */
	assert_int_equal(it->calls.ns, 2999 + 3999);
	assert_int_equal(it->parts[LEDGER_FORK_ALONE] +
				 it->parts[LEDGER_FORK_TOGETHER],
			 2999 + 3999);
}

TEST(forks__job_after_call__no_other_call)
{
	struct file *f = *state;

	clock_at(f, 100);
	fork_note(f, 1000, EVENT_RUN_BEGIN);
	fork_note(f, 2000, EVENT_RUN_END);
	job(f, 0, 2001, 3000,
	    PLACE); /* the clocks of streams differ a little */
	clock_at(f, 4000);
	assert_int_equal(forks(f)->calls.count, 1);
	parts_are(&f->ledger.forks, 1000, 0, 0, 0, 0);
}

TEST(forks__caller_sleeps__blocked_but_not_in_join)
{
	static const struct trace_switch list[] = {
		SWITCH(1100, CALLER, ASLEEP, ""),
		SWITCH(1400, CALLER, IN, ""),
		SWITCH(2100, CALLER, ASLEEP, ""),
		SWITCH(2400, CALLER, IN, ""),
	};
	struct file *f = *state;

	clock_at(f, 100);
	fork_note(f, 1000, EVENT_RUN_BEGIN);
	fork_note(f, 2000, EVENT_JOIN_BEGIN);
	fork_note(f, 2500, EVENT_JOIN_END);
	fork_note(f, 3000, EVENT_RUN_END);
	switches(f, list, 4);
	clock_at(f, 5000);
	(void)forks(f);
	parts_are(&f->ledger.forks, 1200, 0, 500, 0, 300);
}

/* From the wake-up by the kernel on; then woken for a job that its owner has taken back. */
TEST(forks__worker_lacks_cpu__slow_to_wake)
{
	static const struct trace_switch list[] = {
		SWITCH(310, 10, ASLEEP, ""),
		SWITCH(1000, 10, WOKEN, ""),
		SWITCH(1990, 10, IN, "cat"),
	};
	struct file *f = *state;
	const struct ledger_forks *it;

	clock_at(f, 100);
	fork_note(f, 200, EVENT_RUN_BEGIN);
	park(f, 0, 300, 2000);
	job(f, 0, 2100, 2200, PLACE);
	park(f, 0, 2300, 2500);
	note(f, 0, 2600, EVENT_PARK, 0, 0, 0, 0);
	fork_note(f, 3000, EVENT_RUN_END);
	switches(f, list, 3);
	clock_at(f, 4000);
	it = forks(f);
	assert_int_equal(it->took.count, 1);
	assert_int_equal(it->took.ns, 2100 - 1000);
	assert_int_equal(it->in_vain, 1);
	assert_int_equal(it->alone[LEDGER_FORK_WAKING], 990);
}

/* A call ends where events are missing; the next evidence begins another one. */
TEST(forks__events_lost__figures_not_exact)
{
	struct file *f = *state;

	clock_at(f, 100);
	fork_note(f, 1000, EVENT_RUN_BEGIN);
	fork_note(f, 1500, EVENT_JOIN_BEGIN);
	f->first[2] += 3;
	fork_note(f, 3000, EVENT_RUN_END);
	clock_at(f, 5000);
	assert_true(forks(f)->lost);
	assert_int_equal(f->ledger.forks.calls.count, 2);
	assert_int_equal(f->ledger.forks.unseen, 1);
}

static const struct ledger_fork_caller *caller(const struct ledger_forks *f,
					       uint32_t thread)
{
	for (size_t i = 0; i < f->caller_count; i++)
		if (f->callers[i].thread == thread)
			return &f->callers[i];
	fail_msg("thread %u is no caller", thread);
	return NULL;
}

static void caller_is(const struct ledger_fork_caller *caller, uint64_t alone,
		      uint64_t together, uint64_t join, uint64_t jobs)
{
	assert_int_equal(caller->parts[LEDGER_FORK_ALONE], alone);
	assert_int_equal(caller->parts[LEDGER_FORK_TOGETHER], together);
	assert_int_equal(caller->parts[LEDGER_FORK_JOIN], join);
	assert_int_equal(caller->jobs.count, jobs);
}

/* A second caller, in the place after that of the first one. */
#define SECOND (CALLER + 1)
static void second_notes(struct file *f, uint64_t ns, enum event_kind kind)
{
	note(f, 2, ns, kind, ROOT + 8, PLACE + 1, SECOND, 0);
}

/* Workers run jobs of the first caller only; one of them took its job from the other one. */
TEST(forks__two_callers__each_has_its_own_times)
{
	struct file *f = *state;
	const struct ledger_forks *it;

	trace_write_name(&f->writer, TRACE_NAME_FUNCTION, ROOT + 8, "second");
	clock_at(f, 100);
	fork_note(f, 1000, EVENT_RUN_BEGIN);
	second_notes(f, 1500, EVENT_RUN_BEGIN);
	note(f, 0, 2000, EVENT_JOB_BEGIN, FORK, 0, 0, PLACE);
	job(f, 1, 2500, 4000, 0);
	note(f, 0, 3000, EVENT_JOB_END, 0, 0, 0, 0);
	fork_note(f, 3500, EVENT_JOIN_BEGIN);
	fork_note(f, 4100, EVENT_JOIN_END);
	fork_note(f, 5000, EVENT_RUN_END);
	second_notes(f, 6000, EVENT_RUN_END);
	it = forks(f);
	assert_int_equal(it->calls.count, 2);
	caller_is(caller(it, CALLER), 1000 + 900, 1500, 600, 2);
	caller_is(caller(it, SECOND), 4500, 0, 0, 0);
	assert_int_equal(caller(it, CALLER)->calls.ns, 4000);
	assert_int_equal(caller(it, CALLER)->joins.ns, 600);
	assert_int_equal(caller(it, SECOND)->calls.ns, 4500);
	assert_string_equal(f->ledger.names[caller(it, SECOND)->root],
			    "second");
}

/* While it waits in a join, a caller runs a job of the other one, of which a worker takes a
 * part from it. */
TEST(forks__caller_helps_another__job_belongs_to_that)
{
	struct file *f = *state;
	const struct ledger_forks *it;

	clock_at(f, 100);
	fork_note(f, 1000, EVENT_RUN_BEGIN);
	second_notes(f, 1000, EVENT_RUN_BEGIN);
	fork_note(f, 2000, EVENT_JOIN_BEGIN);
	note(f, 2, 2100, EVENT_HELP_BEGIN, ROOT, PLACE + 1, CALLER, 0);
	job(f, 0, 2500, 2700, PLACE);
	note(f, 2, 3000, EVENT_HELP_END, 0, PLACE + 1, CALLER, 0);
	fork_note(f, 3100, EVENT_JOIN_END);
	job(f, 0, 3500, 3600, PLACE);
	fork_note(f, 5000, EVENT_RUN_END);
	second_notes(f, 5000, EVENT_RUN_END);
	it = forks(f);
	caller_is(caller(it, CALLER), 1000 + 900 + 1900 - 100, 100, 200, 1);
	caller_is(caller(it, SECOND), 4000 - 200, 200, 0, 1);
}

static void seen(struct file *f, uint32_t thread, uint32_t place,
		 uint64_t until_ns)
{
	const struct trace_call call = { .until_ns = until_ns,
					 .root = ROOT,
					 .tid = thread,
					 .place = place,
					 .stream = 2 };

	assert_int_equal(trace_write_call(&f->writer, &call), 0);
}

/* A caller that takes no job and does not end: only the debug area shows it. */
TEST(forks__call_without_events__counts_while_it_was_seen)
{
	struct file *f = *state;
	const struct ledger_forks *it;

	clock_at(f, 100);
	fork_note(f, 1000, EVENT_RUN_BEGIN);
	fork_note(f, 2000, EVENT_RUN_END);
	clock_at(f, 5000);
	seen(f, SECOND, PLACE + 1, 4000);
	it = forks(f);
	assert_int_equal(it->calls.count, 2);
	assert_int_equal(it->unseen, 1);
	/* From the start of the recording, at 1, on. */
	caller_is(caller(it, CALLER), 1000, 0, 0, 0);
	caller_is(caller(it, SECOND), 3999, 0, 0, 0);
	assert_int_equal(caller(it, SECOND)->calls.ns, 3999);
}

TEST(forks__seen_call_ends__event_counts)
{
	struct file *f = *state;
	const struct ledger_forks *it;

	clock_at(f, 100);
	fork_note(f, 4500, EVENT_RUN_END);
	clock_at(f, 5000);
	seen(f, CALLER, PLACE, 4000);
	it = forks(f);
	assert_int_equal(it->calls.count, 1);
	assert_int_equal(it->unseen, 1);
	caller_is(caller(it, CALLER), 4499, 0, 0, 0);
}

/* It is known that the call goes on where events are missing. */
TEST(forks__events_lost__seen_call_goes_on)
{
	struct file *f = *state;
	const struct ledger_forks *it;

	clock_at(f, 100);
	job(f, 0, 500, 600, PLACE);
	f->first[0] += 3;
	note(f, 0, 3000, EVENT_PARK, 0, 0, 0, 0);
	clock_at(f, 5000);
	seen(f, CALLER, PLACE, 5000);
	it = forks(f);
	assert_true(it->lost);
	assert_int_equal(it->calls.count, 1);
	assert_int_equal(it->calls.ns, 4999);
	caller_is(caller(it, CALLER), 4899, 100, 0, 1);
}

/* Events of a hostile program, in any order. */
TEST(forks__nonsense__bounded)
{
	struct file *f = *state;
	uint64_t all = 0;

	clock_at(f, 100);
	for (unsigned i = 0; i < 6000; i++)
		note(f, i % 3, 200 + i,
		     (enum event_kind)(EVENT_RUN_BEGIN + i * 7 % 6), ROOT,
		     i * 2654435761u % 70, 30 + i * 40503u % 1500, 0);
	clock_at(f, 9000);
	assert_in_range(forks(f)->caller_count, 1, 1024);
	for (unsigned i = 0; i < LEDGER_FORK_PARTS; i++)
		all += f->ledger.forks.parts[i];
	assert_true(all > 0);
}
