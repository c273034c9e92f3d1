/* SPDX-License-Identifier: MIT */
/**
 * explore_search.h - which executions to try, as paths of choices
 *
 * An execution is a function of the choices made in it: each is asked for
 * here. The search is depth-first over the tree of all choices, or random, or
 * replays one path.
 */
#ifndef SKUA_TESTS_MODEL_EXPLORE_SEARCH_H
#define SKUA_TESTS_MODEL_EXPLORE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

/* Events that an execution may have only so many of. */
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

/* The digits of a printed path: no choice has more options. */
#define SEARCH_OPTIONS 36

/* search_start - forget the tree; @bounds has one bound a budget */
void search_start(enum search_mode mode, const unsigned *bounds, uint64_t seed);

/* search_set_path - the path to replay, as printed; false if it is none */
bool search_set_path(const char *digits);

/* search_repeat - the next execution replays the one just finished */
void search_repeat(void);

/* search_begin - an execution starts */
void search_begin(void);

/* search_next - go to the next path; false once there is none */
bool search_next(void);

/* search_choose - pick one of @options, 0 first; @options is at least 1 */
unsigned search_choose(unsigned options);

/* search_spend - the same, but any option except 0 costs one of @budget */
unsigned search_spend(enum budget budget, unsigned options);

/* search_can_spend - whether search_spend() may return anything but 0 */
bool search_can_spend(enum budget budget);

/* search_print_path - the choices of this execution, last zeros left out */
void search_print_path(void);

#endif
