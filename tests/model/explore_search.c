/* SPDX-License-Identifier: MIT */
/* explore_search.c - depth-first, random and replayed paths */
#include "tests/model/explore_search.h"
#include "tests/model/explore.h"

#include <stdio.h>
#include <string.h>

#define PATH_CHOICES 8192

/* The first random execution spends on one in so many occasions. */
#define FIRST_ONE_IN 16

static const char digits[SEARCH_OPTIONS + 1] =
	"0123456789abcdefghijklmnopqrstuvwxyz";

struct choice {
	unsigned taken;
	unsigned options; /* 0: not known, the path came from outside */
};

static struct {
	enum search_mode mode;
	unsigned bounds[BUDGETS];
	unsigned spent[BUDGETS]; /* in this execution */
	uint64_t random;
	/*
	 * A random execution spends on one in so many occasions: any number up
	 * to how many the one before had. So what is spent falls anywhere, and
	 * is close together in some executions and far apart in others.
	 */
	unsigned one_in[BUDGETS];
	unsigned occasions[BUDGETS]; /* in this execution, spent or not */
	unsigned depth;              /* choices made in this execution */
	unsigned length; /* choices prescribed: path[0] to path[length - 1] */
	struct choice path[PATH_CHOICES];
} search;

void search_start(enum search_mode mode, const unsigned *bounds, uint64_t seed)
{
	search.mode = mode;
	search.random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	search.length = 0;
	memcpy(search.bounds, bounds, sizeof(search.bounds));
	for (unsigned i = 0; i < BUDGETS; i++)
		search.occasions[i] = FIRST_ONE_IN;
}

bool search_set_path(const char *path)
{
	search.length = 0;
	for (; *path; path++) {
		const char *digit = strchr(digits, *path);

		if (!digit || search.length == PATH_CHOICES)
			return false;
		search.path[search.length++] = (struct choice){
			.taken = (unsigned)(digit - digits),
		};
	}
	return true;
}

void search_repeat(void)
{
	search.mode = SEARCH_REPLAY;
	search.length = search.depth;
}

static unsigned random_below(unsigned bound)
{
	search.random ^= search.random << 13;
	search.random ^= search.random >> 7;
	search.random ^= search.random << 17;
	return (unsigned)((search.random >> 32) * bound >> 32);
}

void search_begin(void)
{
	search.depth = 0;
	memset(search.spent, 0, sizeof(search.spent));
	if (search.mode != SEARCH_RANDOM)
		return;
	search.length = 0;
	for (unsigned i = 0; i < BUDGETS; i++) {
		search.one_in[i] = 1 + random_below(search.occasions[i]);
		search.occasions[i] = 0;
	}
}

bool search_next(void)
{
	struct choice *last;

	if (search.mode != SEARCH_ALL)
		return search.mode == SEARCH_RANDOM;
	while (search.length) {
		last = &search.path[search.length - 1];
		if (++last->taken < last->options)
			return true;
		search.length--;
	}
	return false;
}

static unsigned follow(unsigned options, unsigned fresh)
{
	struct choice *choice = &search.path[search.depth];

	if (search.depth == PATH_CHOICES)
		explore_fail(EXPLORE_SITE("path"), "too many choices");
	if (search.depth == search.length) {
		*choice = (struct choice){ fresh, options };
		search.length++;
	}
	if (!choice->options)
		choice->options = options;
	if (choice->options != options || choice->taken >= options)
		explore_fail(EXPLORE_SITE("path"),
			     "not deterministic: setup leaves state behind, "
			     "or the path belongs to another case or bound");
	search.depth++;
	return choice->taken;
}

unsigned search_choose(unsigned options)
{
	if (options <= 1)
		return 0;
	return follow(options,
		      search.mode == SEARCH_RANDOM ? random_below(options) : 0);
}

static bool any_left(enum budget budget)
{
	return search.spent[budget] < search.bounds[budget];
}

bool search_can_spend(enum budget budget)
{
	search.occasions[budget]++;
	return any_left(budget);
}

unsigned search_spend(enum budget budget, unsigned options)
{
	unsigned fresh = 0;
	unsigned taken;

	if (options <= 1 || !any_left(budget))
		return 0;
	if (search.mode == SEARCH_RANDOM &&
	    random_below(search.one_in[budget]) == 0)
		fresh = random_below(options);
	taken = follow(options, fresh);
	if (taken)
		search.spent[budget]++;
	return taken;
}

bool explore_sequential(void)
{
	return search.spent[BUDGET_STALE] == 0;
}

void search_print_path(void)
{
	unsigned end = search.depth;

	while (end && !search.path[end - 1].taken)
		end--;
	for (unsigned i = 0; i < end; i++)
		putchar(digits[search.path[i].taken]);
	if (!end)
		putchar('0');
}
