/* SPDX-License-Identifier: MIT */
/* unit.c - the tests of a program, and running them */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_TESTS 200

static struct CMUnitTest tests[MAX_TESTS];
static size_t test_count;
static char skipped[256]; /* in part: why; or empty */
static CMFixtureFunction before_each, after_each, before_all, after_all;

void add_test(const char *name, CMUnitTestFunction test, void *initial)
{
	if (test_count == MAX_TESTS) {
		fputs("tests/unit/unit.c: more tests than MAX_TESTS\n", stderr);
		abort();
	}
	tests[test_count++] = (struct CMUnitTest){ .name = name,
						   .test_func = test,
						   .initial_state = initial };
}

void each_test(CMFixtureFunction before, CMFixtureFunction after)
{
	before_each = before;
	after_each = after;
}

void all_tests(CMFixtureFunction before, CMFixtureFunction after)
{
	before_all = before;
	after_all = after;
}

void skipped_in_part(const char *reason)
{
	snprintf(skipped, sizeof(skipped), "%s", reason);
}

int run_all_tests(void)
{
	int failed;

	for (size_t i = 0; i < test_count; i++) {
		tests[i].setup_func = before_each;
		tests[i].teardown_func = after_each;
	}
	failed = _cmocka_run_group_tests(program_invocation_short_name, tests,
					 test_count, before_all, after_all);
	if (failed != 0)
		return 1;
	if (skipped[0] == '\0')
		return 0;
	printf("skipped in part: %s\n", skipped);
	return 77;
}
