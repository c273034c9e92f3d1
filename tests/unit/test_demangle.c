/* SPDX-License-Identifier: MIT */
/* test_demangle.c - names of C++ functions, honest and hostile ones */
#include <string.h>

#include "bpf/target/target_demangle.h"
#include "tests/unit/support.h"

enum { ROOM = 64 };

static void check(const char *name, bool known, const char *shown)
{
	struct target_budget budget;
	char text[ROOM];

	target_budget_begin(&budget);
	assert_int_equal(target_demangle(&budget, name, text, sizeof(text)),
			 known);
	assert_string_equal(text, shown);
}

TEST(demangle__name_of_a_function__as_the_source_has_it)
{
	check("_ZL4pollP9skua_task", true, "poll");
	check("_ZN3foo3Bar4pollEP9skua_task", true, "foo::Bar::poll");
	check("_Z3runI3FooE10skua_pollP9skua_task", true, "run<Foo>");
	check("_ZN12_GLOBAL__N_14pollEP9skua_task.constprop.0", true,
	      "(anonymous namespace)::poll");
	check("_ZZ4mainENKUlP9skua_taskE_clES0_", true,
	      "main::{lambda(skua_task*)#1}::operator()");
}

TEST(demangle__not_cpp__as_it_is)
{
	check("db_query", false, "db_query");
	check("_Z", false, "_Z");
	check("_ZN3foo", false, "_ZN3foo");
	check("", false, "");
}

/* In 63 characters: without the arguments of templates, whose brackets are no
 * operators. */
TEST(demangle__no_room__templates_lose_their_arguments)
{
	check("_ZN3foo3BarISt6vectorIiSaIiEES3_S3_E4pollEP9skua_task", true,
	      "foo::Bar<>::poll");
	check("_ZN3foo3BarISt6vectorIiSaIiEES3_S3_ElsI1YEEvi", true,
	      "foo::Bar<>::operator<< <>");
	check("_ZN3foo3BarISt6vectorIiSaIiEES3_S3_EptEv", true,
	      "foo::Bar<>::operator->");
}

TEST(demangle__name_too_long__cut)
{
	char name[TARGET_MANGLED + 2] = "_Z900";
	char text[ROOM];
	struct target_budget budget;

	memset(name + 5, 'a', 900);
	strcpy(name + 905, "v");
	target_budget_begin(&budget);
	assert_true(target_demangle(&budget, name, text, sizeof(text)));
	assert_int_equal(strlen(text), ROOM - 1);
	assert_int_equal(strspn(text, "a"), ROOM - 1);
	memset(name, 'a', TARGET_MANGLED + 1);
	memcpy(name, "_Z", 2);
	assert_false(target_demangle(&budget, name, text, sizeof(text)));
	assert_int_equal(strlen(text), ROOM - 1);
}

/* ---- hostile --------------------------------------------------------------- */

/* "S0_", "S1_", ...: what was named so far, from the second thing on. */
static void refer(char *name, unsigned index)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t used = strlen(name);

	if (index < 36)
		sprintf(name + used, "S%c_", digits[index]);
	else
		sprintf(name + used, "S%c%c_", digits[index / 36],
			digits[index % 36]);
}

/* A pair of pairs of pairs: written out, it has 2^@depth parts. */
static void nest_pairs(char *name, unsigned depth)
{
	strcat(name, "St4pairIiiE");
	for (unsigned i = 0; i < depth; i++) {
		strcat(name, "S_I");
		refer(name, i);
		refer(name, i);
		strcat(name, "E");
	}
}

/* These would take until the end of time. */
TEST(demangle__grows_without_end__left_when_full)
{
	struct target_budget budget;
	char name[TARGET_MANGLED] = "_Z1fI", text[ROOM];

	nest_pairs(name, 60);
	strcat(name, "Evv");
	target_budget_begin(&budget);
	assert_true(target_demangle(&budget, name, text, sizeof(text)));
	assert_string_equal(text, "f<>");
}

TEST(demangle__searched_without_end__not_begun)
{
	struct target_budget budget;
	char name[TARGET_MANGLED] = "_Z1fIJiEEvDp", text[TARGET_MANGLED];

	nest_pairs(name, 60);
	target_budget_begin(&budget);
	assert_false(target_demangle(&budget, name, text, sizeof(text)));
	assert_string_equal(text, name);
}

TEST(demangle__budget_spent__as_it_is)
{
	struct target_budget budget;
	char text[ROOM];

	target_budget_begin(&budget);
	budget.left = 0;
	assert_false(target_demangle(&budget, "_Z1fv", text, sizeof(text)));
	assert_string_equal(text, "_Z1fv");
}
