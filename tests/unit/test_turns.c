/* SPDX-License-Identifier: MIT */
/* test_turns.c - how a worker divides its time between its own tasks and those from
 * outside */
#include "core/base/turns.h"

#include "tests/unit/tasks.h"

/* ---- the plan alone --------------------------------------------------------- */

struct plan {
	struct turns turns;
	uint64_t now_ns;
};

static struct plan plan_new(void)
{
	struct plan plan = { .now_ns = 1 };

	turns_init(&plan.turns);
	return plan;
}

/* Let @took_ns pass until the next check. Returns whose turn it is then. */
static enum turns_turn check(struct plan *plan, bool waiting, uint64_t took_ns)
{
	plan->now_ns += took_ns;
	return turns_check(&plan->turns, waiting, plan->now_ns);
}

TEST(turns_check__short_polls__doubles_up_to_the_limit)
{
	struct plan plan = plan_new();

	for (uint32_t polls = 2; polls < TURNS_POLLS_MAX; polls *= 2) {
		assert_int_equal(check(&plan, false, 1), TURN_ALONE);
		assert_int_equal(plan.turns.polls, polls);
	}
	for (unsigned n = 0; n < 3; n++) {
		check(&plan, false, 1);
		assert_int_equal(plan.turns.polls, TURNS_POLLS_MAX);
	}
}

TEST(turns_check__polls_become_long__fits_at_once)
{
	struct plan plan = plan_new();

	for (unsigned n = 0; n < 10; n++)
		check(&plan, false, 1);
	check(&plan, false, TURNS_POLLS_MAX * (TURNS_NS / 2));
	assert_int_equal(plan.turns.polls, 2);
	check(&plan, false, 2 * (2 * TURNS_NS));
	assert_int_equal(plan.turns.polls, 1);
	check(&plan, false, 2 * TURNS_NS);
	assert_int_equal(plan.turns.polls, 1);
}

TEST(turns_check__tasks_wait__outside_first_then_in_turns)
{
	struct plan plan = plan_new();

	for (unsigned n = 0; n < 10; n++)
		check(&plan, false, 1);
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(check(&plan, true, 1), TURN_OUTSIDE);
		assert_true(n > 0 || plan.turns.polls == 1);
		assert_int_equal(check(&plan, true, 1), TURN_OUTSIDE);
		assert_true(n > 0 || plan.turns.polls == 2);
		assert_int_equal(check(&plan, true, TURNS_NS - 1), TURN_OWN);
		assert_int_equal(plan.turns.polls, 1);
		assert_int_equal(check(&plan, true, TURNS_NS - 1), TURN_OWN);
	}
}

TEST(turns_check__no_task_waits_any_more__restarts_at_one_poll)
{
	struct plan plan = plan_new();

	for (unsigned n = 0; n < 10; n++)
		check(&plan, true, 1);
	assert_int_equal(check(&plan, false, 1), TURN_ALONE);
	assert_int_equal(plan.turns.polls, 1);
}

TEST(turns_check__long_polls__every_check_ends_the_turn)
{
	struct plan plan = plan_new();

	for (unsigned n = 0; n < 4; n++) {
		assert_int_equal(check(&plan, true, TURNS_NS),
				 n % 2 ? TURN_OWN : TURN_OUTSIDE);
		assert_int_equal(plan.turns.polls, 1);
	}
}

TEST(turns_check__outside_polls_long_before__begins_with_few)
{
	struct plan plan = plan_new();

	check(&plan, true, 1);
	check(&plan, false, TURNS_NS / 4);
	for (unsigned n = 0; n < 6; n++)
		check(&plan, false, 1);
	assert_int_equal(check(&plan, true, 1), TURN_OUTSIDE);
	assert_int_equal(plan.turns.polls, 4);
}

TEST(turns_check__outside_polls_short_before__begins_with_a_batch)
{
	struct plan plan = plan_new();

	check(&plan, true, 1);
	check(&plan, false, 1);
	assert_int_equal(check(&plan, true, 1), TURN_OUTSIDE);
	assert_int_equal(plan.turns.polls, TURNS_FIRST_MAX);
}

TEST(turns_check__one_long_poll__is_not_taken_for_the_mean)
{
	struct plan plan = plan_new();

	check(&plan, false, 100);
	check(&plan, false, 10 * TURNS_NS);
	assert_true(plan.turns.own_ns < TURNS_NS);
	check(&plan, false, 10 * TURNS_NS);
	assert_true(plan.turns.own_ns >= TURNS_NS);
}

/* ---- a worker --------------------------------------------------------------- */

#define OUTSIDERS 50u
#define OWN_MAX   40u

/* All of one worker, except the gates. */
static struct {
	struct skua_task parent, own[OWN_MAX], outsiders[OUTSIDERS];
	unsigned own_count;
	struct gate running, go_on;
	unsigned outside_polls;
	unsigned since_outside; /* own polls since the last one outside */
	unsigned most_own;      /* of these, the most */
	unsigned in_a_row;      /* polls outside with no own one between */
	bool in_order;
} all;

/* Take longer than a turn. */
static void take_long(void)
{
	uint64_t end_ns = skua_now_ns() + 2 * TURNS_NS;

	while (skua_now_ns() < end_ns)
		;
}

static enum skua_poll poll_own(struct skua_task *self)
{
	(void)self;
	take_long();
	all.since_outside++;
	return all.outside_polls < OUTSIDERS ? SKUA_YIELD : SKUA_DONE;
}

static enum skua_poll poll_outsider(struct skua_task *self)
{
	take_long();
	all.in_order &= self == &all.outsiders[all.outside_polls];
	if (all.outside_polls++ > 0) {
		all.in_a_row += all.since_outside == 0;
		if (all.since_outside > all.most_own)
			all.most_own = all.since_outside;
	}
	all.since_outside = 0;
	return SKUA_DONE;
}

static enum skua_poll poll_parent(struct skua_task *self)
{
	for (unsigned i = 0; i < all.own_count; i++)
		skua_task_spawn(runtime_of_task(self), &all.own[i]);
	gate_open(&all.running);
	gate_wait(&all.go_on);
	take_long(); /* so that the turn in which it was taken is over */
	return SKUA_DONE;
}

/* Let one worker run tasks of its own that yield, beside tasks from outside, all
 * with long polls. */
static void run_beside(unsigned own_count)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	memset(&all, 0, sizeof(all));
	all.own_count = own_count;
	all.in_order = true;
	skua_task_init(&all.parent, poll_parent);
	for (unsigned i = 0; i < own_count; i++)
		skua_task_init(&all.own[i], poll_own);
	spawn(rt, &all.parent);
	gate_wait(&all.running);
	for (unsigned i = 0; i < OUTSIDERS; i++) {
		skua_task_init(&all.outsiders[i], poll_outsider);
		spawn(rt, &all.outsiders[i]);
	}
	gate_open(&all.go_on);
	destroy(rt);
	assert_int_equal(all.outside_polls, OUTSIDERS);
	assert_true(all.in_order);
}

TEST(turns__few_own_tasks_with_long_polls__one_poll_each)
{
	run_beside(2);
	assert_int_equal(all.in_a_row, 0);
	assert_int_equal(all.most_own, 1);
}

/* More than a worker moves behind a batch. */
TEST(turns__many_own_tasks_with_long_polls__one_poll_each)
{
	run_beside(OWN_MAX);
	assert_int_equal(all.in_a_row, 0);
	assert_int_equal(all.most_own, 1);
}

#define BURST 2000u

static struct {
	struct counter tasks[BURST];
	unsigned ended; /* of them */
	struct skua_task own, late;
	struct gate end;
	atomic_u32 long_polls; /* of own */
	uint32_t seen;         /* of these, by late */
} burst;

static enum skua_poll poll_in_burst(struct skua_task *self)
{
	burst.ended++;
	return count_poll(self);
}

static enum skua_poll poll_long_after_burst(struct skua_task *self)
{
	(void)self;
	if (burst.ended == BURST) {
		take_long();
		atomic_fetch_add_release(&burst.long_polls, 1);
	}
	return gate_is_open(&burst.end) ? SKUA_DONE : SKUA_YIELD;
}

static enum skua_poll poll_late(struct skua_task *self)
{
	(void)self;
	burst.seen = atomic_load_relaxed(&burst.long_polls);
	gate_open(&burst.end);
	return SKUA_DONE;
}

/* With an interval from the mean poll time, 255 long polls came first. */
TEST(turns__polls_become_long_after_a_burst__outsider_waits_for_few)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	uint32_t before;

	memset(&burst, 0, sizeof(burst));
	holder_hold(rt, &holder);
	skua_task_init(&burst.own, poll_long_after_burst);
	spawn(rt, &burst.own);
	for (unsigned i = 0; i < BURST; i++) {
		skua_task_init(&burst.tasks[i].task, poll_in_burst);
		spawn(rt, &burst.tasks[i].task);
	}
	holder_end(&holder);
	while (atomic_load_acquire(&burst.long_polls) == 0)
		sched_yield();
	skua_task_init(&burst.late, poll_late);
	spawn(rt, &burst.late);
	before = atomic_load_acquire(&burst.long_polls);
	destroy(rt);
	assert_true(burst.seen <= before + 4);
}
