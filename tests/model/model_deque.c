/* SPDX-License-Identifier: MIT */
/**
 * model_deque.c - core/queue/deque.h in every interleaving
 *
 * An owner that pushes and pops, beside up to two thieves; deques.h says what is
 * checked, plain accesses to buffers among it: see explore_watch(). The ring has four
 * slots, or two that become four and eight. Positions start just below 2^64, except a
 * case at 2^63 and one at 0. Mistakes that must be found are in
 * model_deque_mistakes.c.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      -fsanitize=thread tests/model/model_deque.c tests/model/explore*.c \
 *      -o model_deque
 */
#include "tests/model/deques.h"

/* ---- setups -------------------------------------------------------------- */

static void setup_full(void)
{
	setup(LARGE, WRAP, 4);
}

static void setup_sign(void)
{
	setup(LARGE, INT64_MAX - 1, 3);
}

static void setup_zero_one(void)
{
	setup(LARGE, 0, 1);
}

static void setup_small_one(void)
{
	setup(SMALL, WRAP, 1);
}

static void setup_no_memory(void)
{
	setup(SMALL, WRAP, 2);
	no_memory = true;
}

/* ---- threads ------------------------------------------------------------- */

static void pushes_and_pops(void)
{
	as(1);
	push_more(2);
	pop();
	push_one();
	drain();
}

/* Other items come to the same positions. */
static void pops_all_and_refills(void)
{
	as(1);
	drain();
	push_more(2);
	pop();
	push_one();
}

static void grows(void)
{
	as(1);
	push_one();
	drain();
}

static void grows_twice(void)
{
	as(1);
	push_more(3);
	pop();
}

static void grows_again(void)
{
	as(1);
	push_more(4);
	pop();
}

static void cannot_grow(void)
{
	as(1);
	if (push() == -ENOMEM) {
		pop();
		push_one();
	}
}

static void takes_the_oldest(void)
{
	as(1);
	pop_oldest();
	push_one();
	drain_oldest();
}

static void takes_the_oldest_and_grows(void)
{
	as(1);
	push_one();
	pop_oldest();
	push_more(2);
	pop_oldest();
}

static void takes_either(void)
{
	as(1);
	pop();
	pop_oldest();
	push_one();
	pop();
}

static void second_steals_twice(void)
{
	as(3);
	steal();
	steal();
}

static void measures(void)
{
	explore_assert(deque_length(&deque) <= ITEMS);
}

/* ---- cases --------------------------------------------------------------- */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("push_and_pop__thief", setup_empty, check,
		       pushes_and_pops, steals_twice) },
	{ EXPLORE_PASS("push_and_pop__two_thieves", setup_empty, check,
		       pushes_and_pops, steals, second_steals) },
	{ EXPLORE_PASS("last_item__two_thieves", setup_one, check,
		       pops_and_pushes, steals, second_steals) },
	{ EXPLORE_PASS("last_item__two_thieves__from_0", setup_zero_one, check,
		       pops_and_pushes, steals, second_steals),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("two_items__two_thieves", setup_two, check, pops, steals,
		       second_steals) },
	{ EXPLORE_PASS("three_items__two_thieves", setup_three, check,
		       pops_and_pushes, steals_twice, second_steals),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("sign_changes__two_thieves", setup_sign, check,
		       pops_and_pushes, steals_twice, second_steals),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("positions_reused__thief", setup_full, check,
		       pops_all_and_refills, steals_twice) },
	{ EXPLORE_PASS("slots_reused__two_thieves", setup_three, check,
		       reuses_slots, steals_twice, second_steals),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("grows_from_4__two_thieves", setup_full, check, grows,
		       steals, second_steals),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("grows_from_2__thief", setup_small, check, grows_twice,
		       steals_twice) },
	{ EXPLORE_PASS("grows_from_2__two_thieves", setup_small_one, check,
		       grows_again, steals_twice, second_steals_twice),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("cannot_grow__thief", setup_no_memory, check,
		       cannot_grow, steals_twice) },
	{ EXPLORE_PASS("oldest_first__thief", setup_two, check,
		       takes_the_oldest, steals_twice) },
	{ EXPLORE_PASS("oldest_first__two_thieves", setup_two, check,
		       takes_the_oldest, steals, second_steals) },
	{ EXPLORE_PASS("oldest_first__grows__two_thieves", setup_small, check,
		       takes_the_oldest_and_grows, steals, second_steals),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("newest_and_oldest__two_thieves", setup_three, check,
		       takes_either, steals, second_steals) },
	{ EXPLORE_PASS("length", setup_small, check, grows_twice, steals,
		       measures),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(cases)
