/* SPDX-License-Identifier: MIT */
/**
 * model_stats.c - core/api/stats.c: a snapshot beside a spawn that is refused
 *
 * Such a spawn is counted first, and then taken back in another word: a
 * snapshot may see it come, but never only see it go.
 */
#include <errno.h>
#include <string.h>

#include "core/runtime/runtime.h"
#include "skua/stats.h"
#include "tests/model/explore.h"

static struct skua_runtime rt;
static const uint32_t generation = 1;
static struct skua_stats stats;
static struct inject_group inject;
static struct llc_groups none = { .count = 1 };
static struct fork_join externals[TEAM_EXTERNALS];
static struct fork_join *external_list[TEAM_EXTERNALS];

static void setup(void)
{
	memset(&rt, 0, sizeof(rt));
	rt.pool.generation_here = &generation;
	rt.pool.generation = generation;
	for (unsigned i = 0; i < TEAM_EXTERNALS; i++)
		external_list[i] = &externals[i];
	rt.pool.idle.groups = &none;
	rt.pool.groups = &none;
	rt.pool.inject = &inject;
	inject_group_init(&inject);
	team_init(&rt.pool.team, external_list, &rt.pool.idle, NULL,
		  &rt.pool.tuning, true);
	atomic_init(&rt.pool.closing, 1);
}

static void is_refused(void)
{
	explore_assert(pool_enter_spawn(&rt.pool, 0) == -ESHUTDOWN);
	pool_leave(&rt.pool, 0);
}

static void looks(void)
{
	explore_assert(skua_runtime_stats(&rt, &stats) == 0);
	explore_assert(stats.tasks_spawned <= 2);
}

static void check(void)
{
	looks();
	explore_assert(stats.tasks_spawned == 0);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("one_refused", setup, check, is_refused, looks) },
	{ EXPLORE_PASS("two_refused", setup, check, is_refused, is_refused,
		       looks) },
};

EXPLORE_MAIN(cases)
