/* SPDX-License-Identifier: MIT */
/* test_env.c - the SKUA_* variables fill in what the caller left out */
#include "core/config/config.h"
#include "core/loop/pool.h"

#include "tests/unit/support.h"

static const char *const names[] = {
	"SKUA_WORKERS",        "SKUA_QUEUE_CAPACITY",
	"SKUA_STEAL_ATTEMPTS", "SKUA_MAX_QUEUED",
	"SKUA_SPIN_NS",        "SKUA_LIFO_STEAL_DELAY_NS",
	"SKUA_CPUS",           "SKUA_UNPINNED",
	"SKUA_HUGE_PAGES",     "SKUA_MEASURE_TOPOLOGY",
	"SKUA_PLACEMENT",      "SKUA_TRACK_TASKS",
};

static int clear(void **state)
{
	(void)state;
	for (size_t n = 0; n < COUNT_OF(names); n++)
		unsetenv(names[n]);
	return 0;
}

EACH_TEST(clear, NULL);

/* A flag, which a variable may only add. */
static bool is_flag(const char *name)
{
	return strcmp(name, "SKUA_UNPINNED") == 0 ||
	       strcmp(name, "SKUA_HUGE_PAGES") == 0 ||
	       strcmp(name, "SKUA_TRACK_TASKS") == 0 ||
	       strcmp(name, "SKUA_MEASURE_TOPOLOGY") == 0;
}

static void set(const char *name, const char *value)
{
	assert_int_equal(setenv(name, value, 1), 0);
}

static struct cpu_list allowed;

/* The first CPU that is allowed, as text. */
static const char *first_cpu(void)
{
	static char text[16];

	assert_int_equal(cpu_list_allowed(&allowed), 0);
	snprintf(text, sizeof(text), "%u", allowed.cpus[0]);
	cpu_list_free(&allowed);
	return text;
}

static void set_all(void)
{
	set("SKUA_WORKERS", "3");
	set("SKUA_QUEUE_CAPACITY", "64");
	set("SKUA_STEAL_ATTEMPTS", "5");
	set("SKUA_MAX_QUEUED", "4294967294");
	set("SKUA_SPIN_NS", "777");
	set("SKUA_LIFO_STEAL_DELAY_NS", "5000");
	set("SKUA_CPUS", first_cpu());
	set("SKUA_UNPINNED", "1");
	set("SKUA_HUGE_PAGES", "1");
	set("SKUA_MEASURE_TOPOLOGY", "1");
	set("SKUA_TRACK_TASKS", "1");
}

/* resolve - what becomes of @cfg, which is right */
static struct config resolve(const struct skua_config *cfg)
{
	struct config config;
	struct skua_error err = { 0, "" };

	if (config_resolve(&config, cfg, &err) != 0)
		fail_msg("%s", err.text);
	return config;
}

/* ---- filling in ------------------------------------------------------------ */

static void expect_environment(const struct skua_config *cfg)
{
	struct config config = resolve(cfg);

	assert_int_equal(config.workers, 3);
	assert_int_equal(config.queue_capacity, 64);
	assert_int_equal(config.tuning.steal_attempts, 5);
	assert_int_equal(config.tuning.max_queued, 4294967294u);
	assert_int_equal(config.tuning.spin_ns, 777);
	assert_int_equal(config.tuning.lifo_delay_ns, 5000);
	assert_int_equal(config.cpus.count, 1);
	assert_false(config.pinned);
	assert_true(config.huge_pages);
	assert_int_equal(config.measure_topology, MEASURE_ALWAYS);
	assert_true(config.track_tasks);
	config_free(&config);
}

TEST(env__all_set__fills_in_the_defaults)
{
	const struct skua_config cfg = { .size = sizeof(cfg) };

	set_all();
	expect_environment(&cfg);
	expect_environment(NULL);
}

TEST(env__fields_set_by_the_caller__are_kept)
{
	struct skua_config cfg = { .size = sizeof(cfg),
				   .workers = 2,
				   .queue_capacity = 128,
				   .steal_attempts = 9,
				   .max_queued = 10,
				   .spin_ns = SKUA_SPIN_NEVER,
				   .lifo_steal_delay_ns = SKUA_LIFO_PRIVATE,
				   .cpus = first_cpu(),
				   .placement = SKUA_PLACE_COMPACT };
	struct config config;

	/* Not even looked at. */
	for (size_t n = 0; n < COUNT_OF(names); n++)
		set(names[n], is_flag(names[n]) ? "" : "wrong");
	config = resolve(&cfg);
	assert_int_equal(config.workers, 2);
	assert_int_equal(config.queue_capacity, 128);
	assert_int_equal(config.tuning.steal_attempts, 9);
	assert_int_equal(config.tuning.max_queued, 10);
	assert_int_equal(config.tuning.spin_ns, 0);
	assert_int_equal(config.tuning.lifo_delay_ns, SENTINEL_NEVER);
	assert_true(config.pinned);
	config_free(&config);
}

TEST(env__no_env__is_not_looked_at)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .workers = 2,
					 .flags = SKUA_NO_ENV };
	struct config config;

	set_all();
	config = resolve(&cfg);
	assert_int_equal(config.queue_capacity, 256);
	assert_int_equal(config.tuning.max_queued, UINT32_MAX);
	assert_int_equal(config.tuning.lifo_delay_ns, 100000);
	assert_true(config.pinned);
	config_free(&config);
	for (size_t n = 0; n < COUNT_OF(names); n++)
		set(names[n], "wrong");
	config = resolve(&cfg);
	config_free(&config);
}

TEST(env__empty__counts_as_not_set)
{
	const struct skua_config cfg = { .size = sizeof(cfg) };
	const struct skua_config no_env = { .size = sizeof(no_env),
					    .flags = SKUA_NO_ENV };
	struct config config;
	struct config defaults;

	for (size_t n = 0; n < COUNT_OF(names); n++)
		set(names[n], "");
	config = resolve(&cfg);
	defaults = resolve(&no_env);
	assert_int_equal(config.workers, defaults.workers);
	assert_int_equal(config.queue_capacity, defaults.queue_capacity);
	assert_int_equal(config.tuning.steal_attempts,
			 defaults.tuning.steal_attempts);
	assert_int_equal(config.tuning.max_queued, defaults.tuning.max_queued);
	assert_int_equal(config.tuning.spin_ns, defaults.tuning.spin_ns);
	assert_int_equal(config.tuning.lifo_delay_ns,
			 defaults.tuning.lifo_delay_ns);
	assert_int_equal(config.cpus.count, defaults.cpus.count);
	assert_true(config.pinned);
	config_free(&config);
	config_free(&defaults);
}

TEST(env__words__are_the_sentinels)
{
	const struct skua_config cfg = { .size = sizeof(cfg) };
	struct config config;

	set("SKUA_SPIN_NS", "never");
	set("SKUA_LIFO_STEAL_DELAY_NS", "private");
	config = resolve(&cfg);
	assert_int_equal(config.tuning.spin_ns, 0);
	assert_int_equal(config.tuning.lifo_delay_ns, SENTINEL_NEVER);
	config_free(&config);
	set("SKUA_SPIN_NS", "forever");
	config = resolve(&cfg);
	assert_int_equal(config.tuning.spin_ns, TUNING_SPIN_FOREVER);
	config_free(&config);
}

TEST(env__unpinned_0__is_pinned_unless_the_caller_says)
{
	struct skua_config cfg = { .size = sizeof(cfg) };
	struct config config;

	set("SKUA_UNPINNED", "0");
	config = resolve(&cfg);
	assert_true(config.pinned);
	config_free(&config);
	cfg.flags = SKUA_UNPINNED;
	config = resolve(&cfg);
	assert_false(config.pinned);
	config_free(&config);
}

static void expect_topology(const struct skua_config *cfg,
			    enum measure_when when)
{
	struct config config = resolve(cfg);

	assert_int_equal(config.measure_topology, when);
	config_free(&config);
}

TEST(env__measure_topology__unless_the_caller_says)
{
	struct skua_config cfg = { .size = sizeof(cfg) };

	expect_topology(&cfg, MEASURE_IF_DOUBTFUL);
	set("SKUA_MEASURE_TOPOLOGY", "1");
	expect_topology(&cfg, MEASURE_ALWAYS);
	set("SKUA_MEASURE_TOPOLOGY", "0");
	expect_topology(&cfg, MEASURE_NEVER);
	cfg.flags = SKUA_MEASURE_TOPOLOGY;
	expect_topology(&cfg, MEASURE_ALWAYS);
	set("SKUA_MEASURE_TOPOLOGY", "1");
	cfg.flags = SKUA_TRUST_TOPOLOGY;
	expect_topology(&cfg, MEASURE_NEVER);
}

static bool tracks(const char *value, unsigned flags)
{
	const struct skua_config cfg = { .size = sizeof(cfg), .flags = flags };
	struct config config;

	set("SKUA_TRACK_TASKS", value);
	config = resolve(&cfg);
	config_free(&config);
	return config.track_tasks;
}

TEST(env__track_tasks__not_set_means_in_a_debug_build)
{
#ifdef NDEBUG
	const bool debug = false;
#else
	const bool debug = true;
#endif

	assert_int_equal(tracks("", 0), debug);
	assert_false(tracks("0", 0));
	assert_true(tracks("1", 0));
	assert_true(tracks("0", SKUA_TRACK_TASKS));
	assert_false(tracks("1", SKUA_NO_ENV));
}

TEST(env__runtime__has_that_many_workers)
{
	struct skua_runtime *rt;

	set("SKUA_WORKERS", "5");
	assert_int_equal(skua_runtime_create(&rt, NULL, NULL), 0);
	assert_int_equal(skua_runtime_workers(rt), 5);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* With any variable set; the program's own number is an error with and without. */
TEST(env__caller_driven__one_worker_or_refused)
{
	static const uint32_t flags[] = { SKUA_CALLER_DRIVEN,
					  SKUA_CALLER_DRIVEN | SKUA_NO_ENV };
	struct skua_runtime *rt;

	set("SKUA_WORKERS", "5");
	for (size_t i = 0; i < COUNT_OF(flags); i++) {
		struct skua_config cfg = { .size = sizeof(cfg),
					   .flags = flags[i] };

		assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), 0);
		assert_int_equal(skua_runtime_workers(rt), 1);
		assert_int_equal(skua_runtime_destroy(rt), 0);
		cfg.workers = 3;
		assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), -EINVAL);
	}
}

TEST(env__placement__by_its_name)
{
	static const struct {
		const char *name;
		enum skua_binding binding;
	} placements[] = {
		{ "default", SKUA_BOUND_CPU },  { "compact", SKUA_BOUND_CPU },
		{ "scatter", SKUA_BOUND_CPU },  { "cores", SKUA_BOUND_CORE },
		{ "caches", SKUA_BOUND_CACHE }, { "listed", SKUA_BOUND_CPU }
	};
	struct skua_config cfg = { .size = sizeof(cfg) };
	struct config config;

	set("SKUA_CPUS", first_cpu());
	for (size_t i = 0; i < COUNT_OF(placements); i++) {
		set("SKUA_PLACEMENT", placements[i].name);
		config = resolve(&cfg);
		assert_int_equal(config.workers, 1);
		if (!config.limited)
			assert_int_equal(config.placement.binding,
					 placements[i].binding);
		config_free(&config);
	}
	cfg.placement = SKUA_PLACE_CACHES;
	config = resolve(&cfg);
	assert_int_equal(config.placement.binding, SKUA_BOUND_CACHE);
	config_free(&config);
}

/* ---- bad values -------------------------------------------------------------- */

/* Is refused, with a text that has all the parts in it; also without @err. */
static void expect_refused(const char *name, const char *value,
			   const char *range)
{
	const struct skua_config cfg = { .size = sizeof(cfg) };
	struct skua_runtime *rt = (struct skua_runtime *)&allowed;
	struct skua_error err = { 0, "" };
	char quoted[64];

	clear(NULL);
	set(name, value);
	assert_int_equal(skua_runtime_create(&rt, &cfg, &err), -EINVAL);
	assert_null(rt);
	assert_int_equal(err.code, -EINVAL);
	snprintf(quoted, sizeof(quoted), "\"%.40s\"", value);
	if (!strstr(err.text, name) || !strstr(err.text, quoted) ||
	    !strstr(err.text, range))
		fail_msg("%s=%s: no %s, %s or %s in \"%s\"", name, value, name,
			 quoted, range, err.text);
	assert_null(strchr(err.text, '\n'));
	assert_int_equal(skua_runtime_create(&rt, NULL, NULL), -EINVAL);
}

static const struct {
	const char *name;
	const char *range;
	const char *wrong[4]; /* beside those that no number is */
} numbers[] = {
	{ "SKUA_WORKERS", "1 to 4096", { "0", "4097", "4294967297", NULL } },
	{ "SKUA_QUEUE_CAPACITY", "4 to 32768", { "0", "3", "32769", NULL } },
	{ "SKUA_STEAL_ATTEMPTS", "1 to 1000000", { "0", "1000001", NULL } },
	{ "SKUA_MAX_QUEUED", "1 to 4294967295", { "0", "4294967296", NULL } },
	{ "SKUA_SPIN_NS",
	  "1 to 1000000000",
	  { "0", "1000000001", "Never", "private" } },
	{ "SKUA_LIFO_STEAL_DELAY_NS",
	  "1000 to 1000000000",
	  { "0", "999", "1000000001", "never" } },
};

TEST(env__number_out_of_range__refused_by_name)
{
	for (size_t n = 0; n < COUNT_OF(numbers); n++) {
		for (size_t w = 0; w < 4 && numbers[n].wrong[w]; w++)
			expect_refused(numbers[n].name, numbers[n].wrong[w],
				       numbers[n].range);
	}
}

TEST(env__no_number__refused_by_name)
{
	static const char *const wrong[] = {
		"x",   "-1",  "+4",  " 4",      "4 ",
		"4x",  "0x4", "4.0", "1e3",     "99999999999999999999999",
		"4,4", "0 4", "--",  "million", "-18446744073709551612",
	};

	for (size_t n = 0; n < COUNT_OF(numbers); n++) {
		for (size_t w = 0; w < COUNT_OF(wrong); w++) {
			expect_refused(numbers[n].name, wrong[w],
				       numbers[n].range);
		}
	}
}

TEST(env__words_of_the_range__are_named)
{
	expect_refused("SKUA_SPIN_NS", "x", "\"never\"");
	expect_refused("SKUA_SPIN_NS", "x", "\"forever\"");
	expect_refused("SKUA_LIFO_STEAL_DELAY_NS", "x", "\"private\"");
}

TEST(env__unpinned__refused_by_name)
{
	static const char *const wrong[] = { "2", "yes", "01", "-1", " 1" };

	for (size_t w = 0; w < COUNT_OF(wrong); w++)
		expect_refused("SKUA_UNPINNED", wrong[w], "0 and 1");
	for (size_t w = 0; w < COUNT_OF(wrong); w++)
		expect_refused("SKUA_MEASURE_TOPOLOGY", wrong[w], "0 and 1");
}

TEST(env__huge_pages__refused_by_name)
{
	static const char *const wrong[] = { "2", "yes", "01", "-1", " 1" };

	for (size_t w = 0; w < COUNT_OF(wrong); w++)
		expect_refused("SKUA_HUGE_PAGES", wrong[w], "0 and 1");
}

TEST(env__placement__refused_by_name)
{
	static const char *const wrong[] = { "1", "Compact", "cores ", "core" };

	for (size_t w = 0; w < COUNT_OF(wrong); w++)
		expect_refused("SKUA_PLACEMENT", wrong[w],
			       "default, compact, "
			       "scatter, cores, caches and listed");
}

TEST(env__value_with_a_newline__text_is_one_line)
{
	const struct skua_config cfg = { .size = sizeof(cfg) };
	struct skua_error err = { 0, "" };
	struct config config;

	set("SKUA_WORKERS", "4\n5");
	assert_int_equal(config_resolve(&config, &cfg, &err), -EINVAL);
	assert_non_null(strstr(err.text, "SKUA_WORKERS"));
	assert_null(strchr(err.text, '\n'));
}

/* ---- bad values that only the whole shows -------------------------------------- */

TEST(env__capacity_no_power_of_two__refused_by_name)
{
	expect_refused("SKUA_QUEUE_CAPACITY", "5", "4 to 32768");
	expect_refused("SKUA_QUEUE_CAPACITY", "100", "powers of two");
}

TEST(env__cpus__refused_by_name)
{
	static const char *const wrong[] = { "x", "0-", "1-0", "65536" };

	for (size_t w = 0; w < COUNT_OF(wrong); w++)
		expect_refused("SKUA_CPUS", wrong[w], "0-3,8");
	expect_refused("SKUA_CPUS", "65535", "65535");
}
