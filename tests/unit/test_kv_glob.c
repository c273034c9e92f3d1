/* SPDX-License-Identifier: MIT */
/* test_kv_glob.c - the patterns of skua-kv */
#include "bench/kv/store/glob.h"
#include "tests/unit/unit.h"

static struct bytes text(const char *text)
{
	return (struct bytes){ text, strlen(text) };
}

static bool match(const char *pattern, const char *string)
{
	return glob_match(text(pattern), text(string), false);
}

TEST(glob_match__patterns__as_in_redis)
{
	assert_true(match("*", ""));
	assert_true(match("", ""));
	assert_false(match("", "a"));
	assert_true(match("a*b*c", "aXbXbXc"));
	assert_false(match("a*b*c", "aXbXbX"));
	assert_true(match("a?c", "abc"));
	assert_false(match("a?c", "ac"));
	assert_true(match("[a-c]x", "bx"));
	assert_true(match("[c-a]x", "bx"));
	assert_false(match("[^a-c]x", "bx"));
	assert_true(match("[^a-c]x", "dx"));
	assert_true(match("\\*", "*"));
	assert_false(match("\\*", "a"));
	assert_true(match("[\\]]", "]"));
	assert_true(match("**a", "bba"));
	assert_true(glob_match(text("A[B-C]"), text("ab"), true));
	assert_false(match("A", "a"));
}

/* Each "*" could take any number: without care, this takes for ever. */
TEST(glob_match__many_stars__soon)
{
	char pattern[101], string[2001];

	memset(string, 'a', sizeof(string) - 1);
	string[2000] = '\0';
	for (int i = 0; i < 100; i += 2)
		memcpy(pattern + i, "*a", 2);
	pattern[100] = '\0';
	assert_true(match(pattern, string));
	pattern[99] = 'b';
	assert_false(match(pattern, string));
}
