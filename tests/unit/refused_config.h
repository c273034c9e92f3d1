/* SPDX-License-Identifier: MIT */
/* refused_config.h - configurations of allowed CPUs, and what is said of a wrong one */
#ifndef SKUA_TESTS_UNIT_REFUSED_CONFIG_H
#define SKUA_TESTS_UNIT_REFUSED_CONFIG_H

#include "core/config/config.h"
#include "tests/unit/support.h"

static struct cpu_list allowed;

static inline int read_allowed(void **state)
{
	(void)state;
	return cpu_list_allowed(&allowed);
}

static inline int free_allowed(void **state)
{
	(void)state;
	cpu_list_free(&allowed);
	return 0;
}

static inline struct skua_config config_of_size(void)
{
	return (struct skua_config){ .size = sizeof(struct skua_config) };
}

/* @cfg is refused by config_resolve() and by skua_runtime_create(), with and
 * without a place for the error, whose text has each of the parts in it. */
static inline void expect_refused(const struct skua_config *cfg,
				  const char *const *parts, size_t count)
{
	struct skua_runtime *rt = (struct skua_runtime *)&allowed;
	struct skua_error err = { 0, "" };
	struct config config;

	assert_int_equal(config_resolve(&config, cfg, &err), -EINVAL);
	assert_int_equal(err.code, -EINVAL);
	for (size_t p = 0; p < count; p++) {
		if (!strstr(err.text, parts[p]))
			fail_msg("no \"%s\" in \"%s\"", parts[p], err.text);
	}
	assert_null(strchr(err.text, '\n'));
	assert_int_equal(config_resolve(&config, cfg, NULL), -EINVAL);

	memset(&err, 0, sizeof(err));
	assert_int_equal(skua_runtime_create(&rt, cfg, &err), -EINVAL);
	assert_null(rt);
	assert_int_equal(err.code, -EINVAL);
	for (size_t p = 0; p < count; p++)
		assert_non_null(strstr(err.text, parts[p]));
	rt = (struct skua_runtime *)&allowed;
	assert_int_equal(skua_runtime_create(&rt, cfg, NULL), -EINVAL);
	assert_null(rt);
}

#define EXPECT_REFUSED(cfg, ...)                                 \
	do {                                                     \
		const char *const parts_[] = { __VA_ARGS__ };    \
		expect_refused((cfg), parts_, COUNT_OF(parts_)); \
	} while (0)

#endif
