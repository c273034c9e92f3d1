/* SPDX-License-Identifier: MIT */
/* test_config.c - each field checked, and what is said of a wrong one */
#include "core/loop/pool.h"
#include "topology/machine_cache.h"

#define SUPPORT_FAIL_ALLOCATIONS
#include "tests/unit/refused_config.h"

#define MIN_SIZE (offsetof(struct skua_config, reserved) + sizeof(unsigned))

ALL_TESTS(read_allowed, free_allowed);

static const char *number(uint64_t n)
{
	static char texts[4][24];
	static unsigned next;
	char *text = texts[next++ % COUNT_OF(texts)];

	snprintf(text, sizeof(texts[0]), "%llu", (unsigned long long)n);
	return text;
}

/* ---- defaults ----------------------------------------------------------- */

static void expect_defaults(const struct skua_config *cfg)
{
	struct skua_error err = { 1, "untouched" };
	struct config config;

	assert_int_equal(config_resolve(&config, cfg, &err), 0);
	assert_int_equal(config.workers, allowed.count);
	assert_int_equal(config.queue_capacity, 256);
	assert_int_equal(config.tuning.steal_attempts, 32);
	assert_true(config.pinned);
	assert_int_equal(config.cpus.count, allowed.count);
	for (unsigned i = 0; i < allowed.count; i++)
		assert_int_equal(config.cpus.cpus[i], allowed.cpus[i]);
	config_free(&config);
	assert_int_equal(err.code, 1);
	assert_string_equal(err.text, "untouched");
}

TEST(config__null_or_zero__has_the_defaults)
{
	const struct skua_config cfg = config_of_size();

	expect_defaults(NULL);
	expect_defaults(&cfg);
}

TEST(config__more_workers_than_cpus__one_steal_attempt)
{
	struct skua_config cfg = config_of_size();
	struct config config;

	cfg.workers = allowed.count + 1;
	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	assert_int_equal(config.workers, allowed.count + 1);
	assert_int_equal(config.tuning.steal_attempts, 1);
	config_free(&config);

	cfg.steal_attempts = 7;
	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	assert_int_equal(config.tuning.steal_attempts, 7);
	config_free(&config);
}

TEST(config__values_at_their_limits__accepted)
{
	struct skua_config cfg = config_of_size();
	struct config config;

	cfg.workers = SKUA_MAX_WORKERS;
	cfg.queue_capacity = SKUA_MAX_QUEUE_CAPACITY;
	cfg.steal_attempts = SKUA_MAX_STEAL_ATTEMPTS;
	cfg.flags = SKUA_UNPINNED;
	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	assert_int_equal(config.workers, SKUA_MAX_WORKERS);
	assert_int_equal(config.queue_capacity, SKUA_MAX_QUEUE_CAPACITY);
	assert_int_equal(config.tuning.steal_attempts, SKUA_MAX_STEAL_ATTEMPTS);
	assert_false(config.pinned);
	config_free(&config);

	cfg.workers = 1;
	cfg.queue_capacity = SKUA_MIN_QUEUE_CAPACITY;
	cfg.steal_attempts = 1;
	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	assert_int_equal(config.workers, 1);
	assert_int_equal(config.queue_capacity, SKUA_MIN_QUEUE_CAPACITY);
	assert_int_equal(config.tuning.steal_attempts, 1);
	config_free(&config);
}

/* ---- size --------------------------------------------------------------- */

TEST(config_size__too_small__refused)
{
	struct skua_config cfg = config_of_size();

	for (size_t size = 0; size < MIN_SIZE; size++) {
		cfg.size = size;
		EXPECT_REFUSED(&cfg, "size: ", number(size),
			       number(sizeof(struct skua_config)));
	}
}

TEST(config_size__larger_than_a_page__refused)
{
	struct skua_config cfg = config_of_size();

	cfg.size = 4097;
	EXPECT_REFUSED(&cfg, "size: 4097", "4096");
	cfg.size = SIZE_MAX;
	EXPECT_REFUSED(&cfg, "size: ", "4096");
}

TEST(config_reserved__set__refused)
{
	struct skua_config cfg = config_of_size();

	cfg.reserved = 7;
	EXPECT_REFUSED(&cfg, "reserved: 7", "0");
}

TEST(config_size__of_the_first_version__accepted)
{
	struct skua_config cfg = config_of_size();
	struct config config;

	cfg.workers = 3;
	cfg.flags = SKUA_UNPINNED;
	for (cfg.size = MIN_SIZE; cfg.size <= sizeof(cfg); cfg.size++) {
		assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
		assert_int_equal(config.workers, 3);
		assert_false(config.pinned);
		config_free(&config);
	}
}

/* As of a later version of the library. */
struct newer_config {
	struct skua_config known;
	unsigned char tail[24];
};

TEST(config_size__newer_with_zero_tail__accepted)
{
	struct newer_config cfg = { .known = { .size = sizeof(cfg),
					       .workers = 2 } };
	struct config config;

	assert_int_equal(config_resolve(&config, &cfg.known, NULL), 0);
	assert_int_equal(config.workers, 2);
	config_free(&config);
}

TEST(config_size__newer_with_a_field_set__refused)
{
	for (size_t i = 0; i < sizeof(((struct newer_config *)0)->tail); i++) {
		struct newer_config cfg = { .known = { .size = sizeof(cfg) } };

		cfg.tail[i] = 1;
		EXPECT_REFUSED(&cfg.known, "size: ", number(sizeof(cfg)),
			       number(sizeof(cfg.known)));
	}
}

/* ---- numbers ------------------------------------------------------------ */

TEST(config_workers__out_of_range__refused)
{
	static const unsigned wrong[] = { 4097, 65536, INT32_MAX, UINT32_MAX };
	struct skua_config cfg = config_of_size();

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		cfg.workers = wrong[i];
		EXPECT_REFUSED(&cfg, "workers: ", number(wrong[i]), "1 to 4096",
			       "0 ");
	}
}

TEST(config_queue_capacity__out_of_range__refused)
{
	static const uint32_t wrong[] = { 1,         2,     3,     5,
					  6,         255,   257,   32767,
					  32769,     49152, 65536, 1u << 31,
					  UINT32_MAX };
	struct skua_config cfg = config_of_size();

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		cfg.queue_capacity = wrong[i];
		EXPECT_REFUSED(&cfg, "queue_capacity: ", number(wrong[i]),
			       "powers of two from 4 to 32768", "256");
	}
}

TEST(config_steal_attempts__out_of_range__refused)
{
	static const uint32_t wrong[] = { 1000001, UINT32_MAX };
	struct skua_config cfg = config_of_size();

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		cfg.steal_attempts = wrong[i];
		EXPECT_REFUSED(&cfg, "steal_attempts: ", number(wrong[i]),
			       "1 to 1000000");
	}
}

TEST(config_flags__unknown__refused)
{
	struct skua_config cfg = config_of_size();

	for (unsigned bit = 9; bit < 32; bit++) {
		char value[16];

		cfg.flags = 1u << bit | (bit % 2 ? SKUA_UNPINNED : 0);
		snprintf(value, sizeof(value), "0x%x", cfg.flags);
		EXPECT_REFUSED(&cfg, "flags: ", value, "SKUA_UNPINNED, _NO_ENV",
			       "_TRACK_TASKS (0x1 to 0x100)");
	}
	cfg.flags = SKUA_MEASURE_TOPOLOGY | SKUA_TRUST_TOPOLOGY;
	EXPECT_REFUSED(&cfg, "flags: ", "0xc0", "SKUA_MEASURE_TOPOLOGY (0x40)",
		       "SKUA_TRUST_TOPOLOGY (0x80)");
}

TEST(config_flags__realtime_and_driven__refused)
{
	struct skua_config cfg = config_of_size();

	cfg.flags = SKUA_REALTIME | SKUA_CALLER_DRIVEN;
	EXPECT_REFUSED(&cfg, "SKUA_REALTIME", "SKUA_CALLER_DRIVEN");
}

/* ---- delays -------------------------------------------------------------- */

TEST(config_spin_ns__out_of_range__refused)
{
	static const uint64_t wrong[] = { SKUA_MAX_DELAY_NS + 1,
					  UINT64_MAX - 2 };
	struct skua_config cfg = config_of_size();

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		char value[32];

		cfg.spin_ns = wrong[i];
		snprintf(value, sizeof(value), "spin_ns: %llu,",
			 (unsigned long long)wrong[i]);
		EXPECT_REFUSED(&cfg, value, "1 to 1000000000",
			       "SKUA_SPIN_NEVER", "SKUA_SPIN_FOREVER");
	}
}

TEST(config_lifo_steal_delay_ns__out_of_range__refused)
{
	static const uint64_t wrong[] = { 1, SKUA_MIN_LIFO_DELAY_NS - 1,
					  SKUA_MAX_DELAY_NS + 1,
					  UINT64_MAX - 1 };
	struct skua_config cfg = config_of_size();

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		char value[64];

		cfg.lifo_steal_delay_ns = wrong[i];
		snprintf(value, sizeof(value), "lifo_steal_delay_ns: %llu,",
			 (unsigned long long)wrong[i]);
		EXPECT_REFUSED(&cfg, value, "1000 to 1000000000",
			       "SKUA_LIFO_PRIVATE");
	}
}

TEST(config_delays__limits_and_sentinels__accepted)
{
	static const struct {
		uint64_t given;
		uint64_t meant;
	} spins[] = { { 1, 1 },
		      { SKUA_MAX_DELAY_NS, SKUA_MAX_DELAY_NS },
		      { SKUA_SPIN_NEVER, 0 },
		      { SKUA_SPIN_FOREVER, TUNING_SPIN_FOREVER } },
	  delays[] = { { 0, 100000 },
		       { SKUA_MIN_LIFO_DELAY_NS, SKUA_MIN_LIFO_DELAY_NS },
		       { SKUA_MAX_DELAY_NS, SKUA_MAX_DELAY_NS },
		       { SKUA_LIFO_PRIVATE, SENTINEL_NEVER } };
	struct skua_config cfg = config_of_size();
	struct config config;

	cfg.workers = 2; /* a single one has no thief to delay */
	for (size_t i = 0; i < COUNT_OF(spins); i++) {
		cfg.spin_ns = spins[i].given;
		cfg.lifo_steal_delay_ns = delays[i].given;
		assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
		assert_int_equal(config.tuning.spin_ns, spins[i].meant);
		assert_int_equal(config.tuning.lifo_delay_ns, delays[i].meant);
		config_free(&config);
	}
}

TEST(config_spin_ns__default__by_the_number_of_cpus)
{
	struct skua_config cfg = config_of_size();
	struct config config;

	cfg.workers = allowed.count;
	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	assert_int_equal(config.tuning.spin_ns, TUNING_SPIN_MEASURED);
	config_free(&config);
	cfg.workers = allowed.count + 1;
	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	assert_int_equal(config.tuning.spin_ns, 0);
	config_free(&config);
}

TEST(config_max_queued__default_or_set__taken)
{
	struct skua_config cfg = config_of_size();
	struct config config;

	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	assert_int_equal(config.tuning.max_queued, UINT32_MAX);
	config_free(&config);
	cfg.max_queued = 7;
	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	assert_int_equal(config.tuning.max_queued, 7);
	config_free(&config);
}

/* ---- callbacks ----------------------------------------------------------- */

static void *no_alloc(void *ctx, size_t align, size_t size)
{
	(void)ctx;
	(void)align;
	(void)size;
	return NULL;
}

static void no_free(void *ctx, void *memory, size_t size)
{
	(void)ctx;
	(void)memory;
	(void)size;
}

TEST(config_allocator__half_of_one__refused)
{
	const struct skua_allocator without_free = { no_alloc, NULL, NULL };
	const struct skua_allocator without_alloc = { NULL, no_free, NULL };
	struct skua_config cfg = config_of_size();

	cfg.allocator = &without_free;
	EXPECT_REFUSED(&cfg, "allocator: ", "NULL", "both");
	cfg.allocator = &without_alloc;
	EXPECT_REFUSED(&cfg, "allocator: ", "NULL", "both");
}

/* ---- errors ------------------------------------------------------------- */

TEST(error_set__any__returns_the_code)
{
	struct skua_error err;

	assert_int_equal(error_set(&err, -ENOMEM, "%s: %d", "key", 5), -ENOMEM);
	assert_int_equal(err.code, -ENOMEM);
	assert_string_equal(err.text, "key: 5");
	assert_int_equal(error_set(NULL, -EAGAIN, "%d", 1), -EAGAIN);
}

TEST(error_set__text_too_long__cut_and_terminated)
{
	struct skua_error err;
	char text[500];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(&err, 'y', sizeof(err));
	error_set(&err, -EINVAL, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_memory_equal(err.text, text, sizeof(err.text) - 1);
}

TEST(config__no_memory__enomem_and_nothing_left)
{
	struct skua_config cfg = config_of_size();
	struct config config;
	unsigned nth = 0;
	char text[16];
	long left;
	int code;

	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	snprintf(text, sizeof(text), "%u", allowed.cpus[0]);
	cfg.cpus = text;
	for (;;) {
		struct skua_error err = { 0, "" };

		machine_here_forget(); /* or it is not read */
		allocations_begin(++nth);
		code = config_resolve(&config, &cfg, &err);
		machine_here_forget(); /* the process keeps it otherwise */
		left = allocations_end();
		if (!allocations_failed())
			break;
		if (code == 0) { /* of qsort(), which does without */
			config_free(&config);
			continue;
		}
		assert_int_equal(code, -ENOMEM);
		assert_int_equal(err.code, -ENOMEM);
		assert_true(strlen(err.text) > 0);
		assert_int_equal(left, 0);
	}
	assert_true(nth > 2);
	assert_int_equal(code, 0);
	allocations_begin(0);
	config_free(&config);
	assert_int_equal(left + allocations_end(), 0);
}
