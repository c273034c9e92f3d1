/* SPDX-License-Identifier: MIT */
/* test_version_api.c - what the library says of itself at run time */
#include "tests/unit/support.h"

static void version__asked__that_of_the_headers(void **state)
{
	char text[32];

	(void)state;
	assert_int_equal(skua_version(), SKUA_VERSION);
	snprintf(text, sizeof(text), "%d.%d.%d", skua_version() / 1000000,
		 skua_version() / 1000 % 1000, skua_version() % 1000);
	assert_string_equal(skua_version_string(), text);
}

static void sizeof__public_struct__its_size(void **state)
{
	(void)state;
	assert_int_equal(skua_sizeof("skua_task"), sizeof(struct skua_task));
	assert_int_equal(skua_sizeof("skua_config"),
			 sizeof(struct skua_config));
	assert_int_equal(skua_sizeof("skua_waker"), sizeof(struct skua_waker));
	assert_int_equal(skua_sizeof("skua_worker_stats"),
			 sizeof(struct skua_worker_stats));
}

static void sizeof__no_such_struct__zero(void **state)
{
	(void)state;
	assert_int_equal(skua_sizeof(NULL), 0);
	assert_int_equal(skua_sizeof(""), 0);
	assert_int_equal(skua_sizeof("struct skua_task"), 0);
	assert_int_equal(skua_sizeof("skua_runtime"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version__asked__that_of_the_headers),
		cmocka_unit_test(sizeof__public_struct__its_size),
		cmocka_unit_test(sizeof__no_such_struct__zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
