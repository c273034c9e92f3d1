/* SPDX-License-Identifier: MIT */
/* test_config_place.c - the CPUs of a configuration, and the placement on them */
#include "tests/unit/refused_config.h"

ALL_TESTS(read_allowed, free_allowed);

/* ---- placements ----------------------------------------------------------- */

TEST(config_placement__out_of_range__refused)
{
	struct skua_config cfg = config_of_size();

	cfg.placement = (enum skua_placement)(SKUA_PLACE_LISTED + 1);
	EXPECT_REFUSED(&cfg, "placement: 6", "SKUA_PLACE_DEFAULT (0)",
		       "SKUA_PLACE_LISTED (5)");
	cfg.placement = (enum skua_placement) - 1;
	EXPECT_REFUSED(&cfg, "placement: 4294967295");
}

TEST(config_placement__listed_without_a_list__refused)
{
	struct skua_config cfg = config_of_size();

	cfg.placement = SKUA_PLACE_LISTED;
	EXPECT_REFUSED(&cfg, "placement: SKUA_PLACE_LISTED", "cpus",
		       "SKUA_CPUS");
}

TEST(config_placement__listed__in_the_order_given)
{
	struct skua_config cfg = config_of_size();
	unsigned first = allowed.cpus[0];
	unsigned last = allowed.cpus[allowed.count - 1];
	enum skua_binding binding;
	unsigned cpus[2] = { 0, 0 };
	char text[64];
	int workers;

	snprintf(text, sizeof(text), "%u,%u", last, first);
	cfg.cpus = text;
	cfg.placement = SKUA_PLACE_LISTED;
	workers = skua_runtime_plan(&cfg, cpus, 2, &binding, NULL);
	assert_int_equal(workers, first == last ? 1 : 2);
	assert_int_equal(cpus[0], last);
	if (workers == 2)
		assert_int_equal(cpus[1], first);
}

/* ---- cpus --------------------------------------------------------------- */

TEST(config_cpus__malformed__refused)
{
	static const char *const wrong[] = { "",   ",",   "x",     "0-",
					     "-1", "1-0", "0,,0",  "0,",
					     " 0", "0 ",  "65536", "0-99999" };
	struct skua_config cfg = config_of_size();

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		char quoted[32];

		snprintf(quoted, sizeof(quoted), "\"%s\"", wrong[i]);
		cfg.cpus = wrong[i];
		EXPECT_REFUSED(&cfg, "cpus: ", quoted, "below 65536",
			       "\"0-3,8\"");
	}
}

TEST(config_cpus__one_not_allowed__refused_by_name)
{
	struct skua_config cfg = config_of_size();
	char text[32];
	char name[32];

	for (unsigned cpu = 0; cpu < CPU_LIST_LIMIT; cpu += 16381) {
		if (cpu_list_contains(&allowed, cpu))
			continue;
		snprintf(text, sizeof(text), "%u,%u", allowed.cpus[0], cpu);
		snprintf(name, sizeof(name), "CPU %u ", cpu);
		cfg.cpus = text;
		EXPECT_REFUSED(&cfg, "cpus: ", text, name);
	}
}

TEST(config_cpus__long_text__error_is_terminated)
{
	struct skua_config cfg = config_of_size();
	char text[4096];

	memset(text, '9', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cfg.cpus = text;
	EXPECT_REFUSED(&cfg, "cpus: \"999", "below 65536");
	/* Well-formed, and as long: the last CPU is not allowed. */
	for (size_t i = 0; i < sizeof(text) - 8; i += 2)
		memcpy(&text[i], "0,", 2);
	memcpy(&text[sizeof(text) - 8], "0,65535", 8);
	EXPECT_REFUSED(&cfg, "cpus: \"", "not among those");
}

TEST(config_cpus__list__sorted_each_once)
{
	struct skua_config cfg = config_of_size();
	unsigned first = allowed.cpus[0];
	unsigned last = allowed.cpus[allowed.count - 1];
	struct config config;
	char text[64];

	snprintf(text, sizeof(text), "%u,%u,%u", last, first, last);
	cfg.cpus = text;
	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	assert_int_equal(config.cpus.count, first == last ? 1 : 2);
	assert_int_equal(config.cpus.cpus[0], first);
	assert_int_equal(config.cpus.cpus[config.cpus.count - 1], last);
	/* As many workers as CPUs were chosen, not as are allowed. */
	assert_int_equal(config.workers, config.cpus.count);
	assert_int_equal(config.tuning.steal_attempts, 32);
	config_free(&config);
}

TEST(config_cpus__narrow_affinity__is_never_widened)
{
	struct skua_config cfg = config_of_size();
	struct config config;
	char text[16];
	cpu_set_t before;
	cpu_set_t one;

	if (sched_getaffinity(0, sizeof(before), &before) != 0 ||
	    allowed.count < 2) {
		skip_aloud("needs two CPUs, and a cpu_set_t that holds them");
		return;
	}
	CPU_ZERO(&one);
	CPU_SET(allowed.cpus[1], &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	assert_int_equal(config.workers, 1);
	assert_int_equal(config.cpus.count, 1);
	assert_int_equal(config.cpus.cpus[0], allowed.cpus[1]);
	config_free(&config);

	snprintf(text, sizeof(text), "%u", allowed.cpus[0]);
	cfg.cpus = text;
	EXPECT_REFUSED(&cfg, "cpus: ", text, "not among those");
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}
