/* SPDX-License-Identifier: MIT */
/**
 * unit.h - how a unit test is written
 *
 *	TEST(queue_push__full__refused)
 *	{
 *		assert_int_equal(...);
 *	}
 *
 * TEST() defines a test and enters it; the tests of a file run in their order
 * there. A file without main() gets one that runs them all. EACH_TEST() and
 * ALL_TESTS() name the functions that run around each test and around all of
 * them; what the first of them stores in *state is the test's *state, as cmocka
 * has it.
 */
#ifndef SKUA_TESTS_UNIT_UNIT_H
#define SKUA_TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Before main(), in the order of the file. */
#define UNIT_ENTER static void __attribute__((constructor))

#define TEST(name)                           \
	static void name(void **state);      \
	UNIT_ENTER enter_##name(void)        \
	{                                    \
		add_test(#name, name, NULL); \
	}                                    \
	static void name(__attribute__((unused)) void **state)

/* EACH_TEST - run @before and @after around each test of the file; NULL: none */
#define EACH_TEST(before, after)          \
	UNIT_ENTER enter_each_test(void)  \
	{                                 \
		each_test(before, after); \
	}                                 \
	struct unit_needs_a_semicolon

/* ALL_TESTS - run @before and @after around all tests of the file; NULL: none */
#define ALL_TESTS(before, after)          \
	UNIT_ENTER enter_all_tests(void)  \
	{                                 \
		all_tests(before, after); \
	}                                 \
	struct unit_needs_a_semicolon

/* add_test - one more test, whose *state is @initial before it is set up */
void add_test(const char *name, CMUnitTestFunction test, void *initial);

void each_test(CMFixtureFunction before, CMFixtureFunction after);
void all_tests(CMFixtureFunction before, CMFixtureFunction after);

/* skipped_in_part - the program ends as skipped for that reason if no test fails */
void skipped_in_part(const char *reason);

/* run_all_tests - run all that was added. Return: the exit code of the program. */
int run_all_tests(void);

#endif
