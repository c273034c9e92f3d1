/* SPDX-License-Identifier: MIT */
/* test_team.c - which thread that sleeps in a join is woken for jobs */
#include "core/fork_join/fork_join.h"
#include "tests/near.h"
#include "tests/unit/support.h"

#define WORKERS  6u
#define GROUPS   3u
#define MEMBERS  (WORKERS + TEAM_EXTERNALS)
#define EXTERNAL WORKERS /* the first place of an external thread */

static struct idle idle;
static struct idle_group by_group[GROUPS];
static struct idle_sleeper sleepers[WORKERS];
static struct work_line lines[GROUPS + 1];
static struct work_map map;
static struct fork_join members[MEMBERS];
static struct fork_join *places[MEMBERS];
static struct team team;

/* Worker i is of group i % GROUPS. All are awake. */
static int begin(void **state)
{
	static const struct tuning tuning;

	(void)state;
	idle_init(&idle, near_groups(WORKERS, GROUPS), by_group, sleepers);
	work_map_init(&map, lines, GROUPS + 1);
	for (unsigned i = 0; i < MEMBERS; i++) {
		parker_init(&members[i].parker);
		places[i] = &members[i];
	}
	team_init(&team, places, &idle, &map, &tuning, false);
	return 0;
}

EACH_TEST(begin, NULL);

TEST(team_wake__one_sleeps__woken_from_each_group)
{
	for (unsigned i = 0; i <= EXTERNAL; i++) {
		for (unsigned group = 0; group < GROUPS; group++) {
			team_sleep_begin(&team, i);
			assert_true(team_asleep(&team, i));
			team_wake(&team, group);
			assert_false(team_asleep(&team, i));
			assert_true(team_sleep_end(&team, i));
		}
	}
}

TEST(team_wake__one_sleeps_in_each_group__nearest_in_a_circle)
{
	for (unsigned group = 0; group < GROUPS; group++) {
		for (unsigned i = 0; i < GROUPS; i++)
			team_sleep_begin(&team, i);
		team_sleep_begin(&team, EXTERNAL);
		for (unsigned line = group; line < GROUPS; line++) {
			team_wake(&team, group);
			assert_true(team_sleep_end(&team, line));
		}
		team_wake(&team, group);
		assert_true(team_sleep_end(&team, EXTERNAL));
		for (unsigned line = 0; line < group; line++) {
			team_wake(&team, group);
			assert_true(team_sleep_end(&team, line));
		}
	}
}
