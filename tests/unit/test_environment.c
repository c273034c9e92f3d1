/* SPDX-License-Identifier: MIT */
/* test_environment.c - the SKUA_* variables that are known, and those that are misspelt */
#include "core/config/config.h"
#include "probes/environment.h"
#include "tests/unit/support.h"

static const char *meant(const char *entry)
{
	const char *name = environment_meant(entry);

	return name ? name : "none";
}

TEST(environment__like_a_variable__meant)
{
	(void)state;
	assert_string_equal(meant("SKUA_WORKRES=2"), "SKUA_WORKERS");
	assert_string_equal(meant("SKUA_WORKER"), "SKUA_WORKERS");
	assert_string_equal(meant("SKUA_CPU=0"), "SKUA_CPUS");
	assert_string_equal(meant("SKUA_STALL_LIMIT=1"), "SKUA_STALL_LIMIT_NS");
	assert_string_equal(meant("SKUA_SPIN=1"), "SKUA_SPIN_NS");
	assert_string_equal(meant("SKUA_TRACKTASKS=1"), "SKUA_TRACK_TASKS");
}

/* Those of tools and tests among them. */
TEST(environment__known_or_unlike__not_meant)
{
	static const char *const others[] = {
		"SKUA",
		"SKUA_=1",
		"SKUA_CC",
		"SKUA_CHAOS",
		"SKUA_JOBS",
		"SKUA_TREE",
		"SKUA_ROOT",
		"SKUA_SANITIZE",
		"SKUA_TEST_SET",
		"SKUA_STRESS_OPS",
		"SKUA_KV_OPTIONS",
		"SKUA_SOAK_SECONDS",
		"SKUA_ECHO_CLIENT",
		"SKUA_BUILD_DIR",
		"SKUA_NEEDS",
		"SKUA_MPI_NEEDS",
		"SKUA_FUZZ_SEED",
		"SKUA_IO_FAULTS",
		"WORKRES",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_string_equal(meant(others[i]), "none");
	for (size_t i = 0; environment_variable(i); i++)
		assert_null(environment_meant(environment_variable(i)));
}

/* The list has variables that the library reads, and no others. */
TEST(environment__each_variable__read)
{
	struct skua_config cfg = { .size = sizeof(cfg) };
	struct skua_error err;
	struct config config;

	(void)state;
	for (size_t i = 0; environment_variable(i); i++) {
		const char *name = environment_variable(i);

		assert_int_equal(setenv(name, "?", 1), 0);
		assert_int_equal(config_resolve(&config, &cfg, &err), -EINVAL);
		assert_non_null(strstr(err.text, name));
		unsetenv(name);
	}
}

static unsigned warnings;
static char warning[280];

static void note_warning(void *ctx, enum skua_log_level level, const char *text)
{
	(void)ctx;
	warnings += level == SKUA_LOG_WARNING;
	snprintf(warning, sizeof(warning), "%s", text);
}

TEST(environment__misspelt__one_warning_in_a_process)
{
	static const struct skua_hooks hooks = { .log = note_warning };
	struct skua_config cfg = { .size = sizeof(cfg) };
	struct config config;

	(void)state;
	cfg.hooks = &hooks;
	assert_int_equal(setenv("SKUA_WORKRES", "2", 1), 0);
	cfg.flags = SKUA_NO_ENV;
	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	config_free(&config);
	assert_int_equal(warnings, 0);
	cfg.flags = 0;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
		config_free(&config);
	}
	unsetenv("SKUA_WORKRES");
	assert_int_equal(warnings, 1);
	assert_string_equal(warning,
			    "environment variable SKUA_WORKRES is not known, "
			    "and is ignored: did you mean SKUA_WORKERS?");
}
