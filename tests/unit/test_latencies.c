/* SPDX-License-Identifier: MIT */
/* test_latencies.c - percentiles of all rounds, and of each */
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "bench/harness/latencies.h"
#include "tests/unit/unit.h"

static struct latencies latencies;
static struct histogram round_of;

static int empty(void **state)
{
	(void)state;
	memset(&latencies, 0, sizeof(latencies));
	memset(&round_of, 0, sizeof(round_of));
	return 0;
}

static int let_go(void **state)
{
	(void)state;
	latencies_free(&latencies);
	return 0;
}

EACH_TEST(empty, let_go);

/* A round of a hundred times, two of which are long. */
static void add_round(uint64_t ns, uint64_t unit)
{
	memset(&round_of, 0, sizeof(round_of));
	for (unsigned i = 0; i < 100; i++)
		histogram_record(&round_of, i < 98 ? ns : 4 * ns);
	latencies_add(&latencies, &round_of, unit);
}

static double number(json_t *object, const char *member)
{
	return json_number_value(json_object_get(object, member));
}

TEST(latencies_json__two_rounds__each_and_all)
{
	json_t *object, *rounds;

	add_round(32, 1);
	add_round(64, 1);
	object = latencies_json(&latencies);
	rounds = json_object_get(object, "rounds");
	assert_int_equal(json_array_size(rounds), 2);
	for (size_t i = 0; i < 2; i++) {
		json_t *round = json_array_get(rounds, i);

		assert_true(number(round, "count") == 100);
		assert_true(number(round, "p50") == (i == 0 ? 32 : 64));
		assert_true(number(round, "p99") == (i == 0 ? 128 : 256));
		assert_true(number(round, "p999") == (i == 0 ? 128 : 256));
	}
	assert_true(number(object, "count") == 200);
	assert_true(number(object, "p99") == 128);
	json_decref(object);
}

TEST(latencies_add__unit__divided)
{
	json_t *rounds;

	add_round(50, 100);
	rounds = latencies_rounds(&latencies);
	assert_true(number(json_array_get(rounds, 0), "p50") == 0.5);
	json_decref(rounds);
	assert_int_equal(latencies.all.total, 100);
}

TEST(latencies_json__no_round__empty)
{
	json_t *object = latencies_json(&latencies);

	assert_true(json_is_array(json_object_get(object, "rounds")));
	assert_int_equal(json_array_size(json_object_get(object, "rounds")), 0);
	json_decref(object);
}
