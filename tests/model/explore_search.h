/* SPDX-License-Identifier: MIT */
/**
 * explore_search.h - decide which executions to try, as paths of choices
 *
 * An execution is determined by the choices in it, and asks this file for each of them.
 * The search is depth-first over the tree of all choices, or random, or replays one path.
 */
#ifndef SKUA_TESTS_MODEL_EXPLORE_SEARCH_H
#define SKUA_TESTS_MODEL_EXPLORE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of events whose number in an execution is bounded. */
enum budget {
	BUDGET_PREEMPTIONS,
	BUDGET_STALE,
	BUDGETS,
};

enum search_mode {
	SEARCH_ALL,
	SEARCH_RANDOM,
	SEARCH_REPLAY,
};

/* The number of different digits in a printed path: no choice has more
 * options. */
#define SEARCH_OPTIONS 36

/* search_start - forget the tree; @bounds has the bound of each budget */
void search_start(enum search_mode mode, const unsigned *bounds, uint64_t seed);

/* search_set_path - set the path to replay, as it was printed. Return: false if it is not
 * a path. */
bool search_set_path(const char *digits);

/* search_repeat - let the next execution replay the one that has just ended */
void search_repeat(void);

/* search_begin - begin an execution */
void search_begin(void);

/* search_next - go to the next path. Return: false if there is none. */
bool search_next(void);

/* search_choose - pick one of @options, 0 first; @options is at least 1 */
unsigned search_choose(unsigned options);

/* search_spend - like search_choose(), but any option except 0 costs one of @budget */
unsigned search_spend(enum budget budget, unsigned options);

/* search_can_spend - return whether search_spend() may return anything except 0 */
bool search_can_spend(enum budget budget);

/* search_print_path - print the choices of this execution, without trailing zeros */
void search_print_path(void);

#endif
