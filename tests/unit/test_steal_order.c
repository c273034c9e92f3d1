/* SPDX-License-Identifier: MIT */
/* test_steal_order.c - which victims a worker tries first, on machines of
 * tests/topology */
#include "tests/unit/machines.h"

#include <glob.h>

#include "topology/steal_order.h"

/* A worker a CPU, in the order of their numbers. */
static unsigned *all_cpus(const struct machine *machine)
{
	unsigned *cpus = calloc(machine->cpu_count, sizeof(*cpus));

	for (unsigned i = 0; i < machine->cpu_count; i++)
		cpus[i] = machine->cpus[i].cpu;
	return cpus;
}

struct expected_tier {
	enum steal_tier kind;
	unsigned distance;
	const char
		*victims; /* as a list of CPUs: here a worker is on its own */
};

static void expect_order(const char *name, unsigned thief,
			 const struct expected_tier *tiers, unsigned count)
{
	struct machine *machine = machine_from(name);
	unsigned *cpus = all_cpus(machine), at = 0;
	struct steal_order order;

	assert_int_equal(steal_order_make(&order, machine, cpus,
					  machine->cpu_count, thief),
			 0);
	assert_int_equal(order.tier_count, count);
	for (unsigned i = 0; i < count; i++) {
		struct cpu_list list;

		assert_int_equal(cpu_list_parse(&list, tiers[i].victims), 0);
		assert_int_equal(order.tiers[i].kind, tiers[i].kind);
		assert_int_equal(order.tiers[i].distance, tiers[i].distance);
		assert_int_equal(order.tiers[i].end - at, list.count);
		for (unsigned k = 0; k < list.count; k++)
			assert_int_equal(order.victims[at++], list.cpus[k]);
		cpu_list_free(&list);
	}
	assert_int_equal(order.count, at);
	steal_order_free(&order);
	free(cpus);
	machine_free(machine);
}

TEST(steal_order__nodes_of_caches_of_cores__nearest_first)
{
	static const struct expected_tier tiers[] = {
		{ STEAL_TIER_CORE, 10, "69" },
		{ STEAL_TIER_LLC, 10, "4,6,7,68,70,71" },
		{ STEAL_TIER_NODE, 10, "0-3,8-15,64-67,72-79" },
		{ STEAL_TIER_REMOTE, 12, "16-63,80-127" },
	};

	expect_order(MACHINES "nps4_16_llcs.snapshot", 5, tiers,
		     COUNT_OF(tiers));
}

TEST(steal_order__nodes_near_and_far__by_distance)
{
	static const struct expected_tier tiers[] = {
		{ STEAL_TIER_LLC, 10, "641-671" },
		{ STEAL_TIER_NODE, 10, "672-767" },
		{ STEAL_TIER_REMOTE, 12, "512-639,768-1023" },
		{ STEAL_TIER_REMOTE, 32, "0-511" },
	};

	expect_order(MACHINES "eight_nodes_1024.snapshot", 640, tiers,
		     COUNT_OF(tiers));
}

TEST(steal_order__cache_across_nodes__within_the_node)
{
	static const struct expected_tier tiers[] = {
		{ STEAL_TIER_CORE, 10, "16" },
		{ STEAL_TIER_LLC, 10, "1-3,17-19" },
		{ STEAL_TIER_REMOTE, 20, "4-15,20-31" },
	};

	expect_order(MACHINES "cache_across_nodes.snapshot", 0, tiers,
		     COUNT_OF(tiers));
}

/* ---- on any machine -------------------------------------------------------- */

/* Each other worker once, and no farther one before a nearer one. */
static void check_order(const struct machine *machine, const unsigned *cpus,
			unsigned workers, unsigned thief)
{
	const struct skua_cpu *own = machine_cpu(machine, cpus[thief]);
	unsigned char *seen = calloc(workers, 1);
	unsigned at = 0, far = 0;
	struct steal_order order;

	assert_int_equal(
		steal_order_make(&order, machine, cpus, workers, thief), 0);
	assert_int_equal(order.count, workers - 1);
	seen[thief] = 1;
	for (unsigned i = 0; i < order.tier_count; i++) {
		assert_true(order.tiers[i].distance >= far);
		far = order.tiers[i].distance;
		assert_true(order.tiers[i].end > at);
		for (; at < order.tiers[i].end; at++) {
			const struct skua_cpu *it =
				machine_cpu(machine, cpus[order.victims[at]]);

			assert_int_equal(seen[order.victims[at]]++, 0);
			assert_int_equal(
				machine_distance(machine, own->node, it->node),
				far);
			assert_int_equal(it->core == own->core,
					 order.tiers[i].kind ==
						 STEAL_TIER_CORE);
		}
	}
	assert_int_equal(at, workers - 1);
	steal_order_free(&order);
	free(seen);
}

TEST(steal_order__each_machine__each_worker_once)
{
	glob_t found;

	assert_int_equal(glob(MACHINES "*.snapshot", 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 12);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct machine *machine = machine_from(found.gl_pathv[i]);
		unsigned *cpus = all_cpus(machine);
		unsigned step = machine->cpu_count / 7 + 1;

		for (unsigned thief = 0; thief < machine->cpu_count;
		     thief += step)
			check_order(machine, cpus, machine->cpu_count, thief);
		free(cpus);
		machine_free(machine);
	}
	globfree(&found);
}

TEST(steal_order__one_worker__nobody)
{
	struct machine *machine = machine_named("bare");
	struct steal_order order;
	unsigned cpu = 2;

	assert_int_equal(steal_order_make(&order, machine, &cpu, 1, 0), 0);
	assert_int_equal(order.count, 0);
	assert_int_equal(order.tier_count, 0);
	steal_order_free(&order);
	machine_free(machine);
}

/* Two workers on a CPU, and one on a CPU that is not described. */
TEST(steal_order__odd_places__each_worker_once)
{
	static const unsigned cpus[] = { 1, 1, 77, 3 };
	struct machine *machine = machine_named("no_numa");
	struct steal_order order;

	assert_int_equal(steal_order_make(&order, machine, cpus, 4, 0), 0);
	assert_int_equal(order.tier_count, 2);
	assert_int_equal(order.tiers[0].kind, STEAL_TIER_CORE);
	assert_int_equal(order.tiers[0].end, 1);
	assert_int_equal(order.victims[0], 1);
	assert_int_equal(order.tiers[1].kind, STEAL_TIER_LLC);
	assert_int_equal(order.tiers[1].end, 3);
	steal_order_free(&order);
	machine_free(machine);
}
