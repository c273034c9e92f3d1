/* SPDX-License-Identifier: MIT */
/* test_select_order.c - which of several cases that are ready takes effect */
#include "skua/select.h"
#include "tests/unit/users.h"

#define CASES    3u
#define CAPACITY 2u
#define CALLS    48u

/* A select of objects of one kind. */
struct choice {
	bool events; /* or channels */
	struct skua_event event[CASES];
	struct skua_channel channel[CASES];
	uint64_t memory[CASES][SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
	uint64_t got[CASES];
	struct skua_select_case cases[CASES];
	unsigned flags;
	bool tries;
};

static void choice_init(struct choice *it, bool events, unsigned flags)
{
	*it = (struct choice){ .events = events, .flags = flags };
	for (unsigned i = 0; i < CASES; i++) {
		it->event[i] = (struct skua_event)SKUA_EVENT_INIT;
		assert_int_equal(skua_channel_init(&it->channel[i],
						   it->memory[i], CAPACITY, 8),
				 0);
		it->cases[i] =
			events ? (struct skua_select_case)SKUA_SELECT_CASE(
					 SKUA_SELECT_EVENT, &it->event[i], NULL,
					 0)
			       : (struct skua_select_case)SKUA_SELECT_CASE(
					 SKUA_SELECT_RECEIVE, &it->channel[i],
					 &it->got[i], 0);
	}
}

/* The case of the lowest index is the last one to be ready. */
static void make_all_ready(struct choice *it)
{
	for (unsigned i = CASES; i-- > 0;) {
		uint64_t item = i;

		if (it->events)
			assert_int_equal(skua_event_set(&it->event[i]), 0);
		else
			assert_int_equal(
				skua_channel_send_try(&it->channel[i], &item),
				0);
	}
}

/* One case has had an effect: the next receives find the items of the others. */
static void check_effects(struct choice *it, int at)
{
	if (!it->events)
		assert_int_equal(it->got[at], at);
	for (int i = 0; i < (int)CASES && !it->events; i++)
		assert_int_equal(skua_channel_length(&it->channel[i]),
				 i == at ? 0 : 1);
}

static int choose(struct user *user)
{
	struct choice *it = user->object;
	int at = it->tries ? skua_select_try(it->cases, CASES, it->flags)
			   : skua_select(it->cases, CASES, it->flags,
					 SKUA_FOREVER_NS);

	check_effects(it, at);
	return at;
}

static int make_ready_by(struct user *user)
{
	make_all_ready(user->object);
	return 0;
}

/* ---- ready before ------------------------------------------------------------ */

TEST(select_order__in_order__lowest_index)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < CALLS; i++) {
		struct choice it;

		choice_init(&it, i % 2, SKUA_SELECT_IN_ORDER);
		it.tries = i / 2 % 2;
		make_all_ready(&it);
		assert_int_equal(user_run(rt, i / 4 % 2, choose, &it), 0);
	}
	destroy(rt);
}

TEST(select_order__by_turns__each_case_its_share)
{
	unsigned taken[CASES] = { 0 };

	for (unsigned i = 0; i < CALLS; i++) {
		struct user user = { .number = 0 };
		struct choice it;

		choice_init(&it, i / 2 % 2, 0);
		it.tries = i % 2;
		make_all_ready(&it);
		user.object = &it;
		taken[choose(&user)]++;
	}
	/* Half of an equal share. */
	for (unsigned i = 0; i < CASES; i++)
		assert_true(taken[i] >= CALLS / CASES / 2);
}

/* ---- ready while waiting ----------------------------------------------------- */

/* All become ready before the waiter runs: both are fibers of one worker. */
static int choose_after_all(struct skua_runtime *rt, struct choice *it)
{
	struct user waiter = { .number = 0 };

	user_start(&waiter, rt, true, choose, it);
	for (unsigned i = 0; i < CASES; i++)
		wait_for_waiters(it->events ? &it->event[i].waiters
					    : &it->channel[i].receivers,
				 1);
	assert_int_equal(user_run(rt, true, make_ready_by, it), 0);
	return user_end(&waiter);
}

TEST(select_order__in_order__ready_while_waiting__lowest_index)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < CALLS; i++) {
		struct choice it;

		choice_init(&it, i % 2, SKUA_SELECT_IN_ORDER);
		assert_int_equal(choose_after_all(rt, &it), 0);
	}
	destroy(rt);
}

TEST(select_order__by_turns__ready_while_waiting__each_case_its_share)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	unsigned taken[CASES] = { 0 };

	for (unsigned i = 0; i < CALLS; i++) {
		struct choice it;

		choice_init(&it, i % 2, 0);
		taken[choose_after_all(rt, &it)]++;
	}
	for (unsigned i = 0; i < CASES; i++)
		assert_true(taken[i] >= CALLS / CASES / 2);
	destroy(rt);
}
