/* SPDX-License-Identifier: MIT */
/* test_version_api.c - what the library says of itself at run time */
#include "tests/unit/support.h"

TEST(version__asked__that_of_the_headers)
{
	char text[32];

	assert_int_equal(skua_version(), SKUA_VERSION);
	snprintf(text, sizeof(text), "%d.%d.%d", skua_version() / 1000000,
		 skua_version() / 1000 % 1000, skua_version() % 1000);
	assert_string_equal(skua_version_string(), text);
}

TEST(sizeof__public_struct__its_size)
{
	assert_int_equal(skua_sizeof("skua_task"), sizeof(struct skua_task));
	assert_int_equal(skua_sizeof("skua_config"),
			 sizeof(struct skua_config));
	assert_int_equal(skua_sizeof("skua_waker"), sizeof(struct skua_waker));
	assert_int_equal(skua_sizeof("skua_worker_stats"),
			 sizeof(struct skua_worker_stats));
}

TEST(sizeof__no_such_struct__zero)
{
	assert_int_equal(skua_sizeof(NULL), 0);
	assert_int_equal(skua_sizeof(""), 0);
	assert_int_equal(skua_sizeof("struct skua_task"), 0);
	assert_int_equal(skua_sizeof("skua_runtime"), 0);
}
