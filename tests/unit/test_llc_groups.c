/* SPDX-License-Identifier: MIT */
/* test_llc_groups.c - which workers are near each other, on machines of
 * tests/topology */
#define SUPPORT_FAIL_ALLOCATIONS
#include "tests/unit/machines.h"

#include "topology/llc_groups.h"

/* A worker a CPU, in the order of their numbers. */
static struct llc_groups groups_on(struct machine *machine)
{
	unsigned *cpus = calloc(machine->cpu_count, sizeof(*cpus));
	struct llc_groups groups;

	assert_non_null(cpus);
	for (unsigned i = 0; i < machine->cpu_count; i++)
		cpus[i] = machine->cpus[i].cpu;
	assert_int_equal(
		llc_groups_make(&groups, machine, cpus, machine->cpu_count), 0);
	free(cpus);
	return groups;
}

/* True of all: each worker is where its place says, once. */
static void expect_whole(const struct llc_groups *groups)
{
	unsigned workers = 0, in_nodes = 0;

	for (unsigned g = 0; g < groups->count; g++) {
		const struct llc_group *group = &groups->groups[g];
		const struct llc_node *node = &groups->nodes[group->node];

		assert_in_range(group->count, 1, LLC_GROUP_WORKERS);
		assert_in_range(g, node->first, node->first + node->count - 1);
		for (unsigned bit = 0; bit < group->count; bit++) {
			const struct llc_place *place =
				&groups->places[group->workers[bit]];

			assert_int_equal(place->group, g);
			assert_int_equal(place->bit, bit);
			assert_false(place->siblings >> bit & 1);
		}
		workers += group->count;
	}
	for (unsigned n = 0; n < groups->node_count; n++)
		in_nodes += groups->nodes[n].count;
	assert_int_equal(workers, groups->worker_count);
	assert_int_equal(in_nodes, groups->count);
}

TEST(llc_groups__two_nodes_of_several_caches__a_group_each)
{
	struct machine *machine = machine_named("nps4_16_llcs");
	struct llc_groups groups = groups_on(machine);

	expect_whole(&groups);
	assert_int_equal(groups.count, 16);
	assert_int_equal(groups.node_count, machine->node_count);
	for (unsigned i = 0; i < machine->cpu_count; i++) {
		for (unsigned k = 0; k < machine->cpu_count; k++) {
			bool same =
				machine->cpus[i].llc == machine->cpus[k].llc;

			assert_int_equal(groups.places[i].group ==
						 groups.places[k].group,
					 same);
		}
		assert_int_equal(
			llc_groups_of_cpu(&groups, machine->cpus[i].cpu),
			groups.places[i].group);
	}
	llc_groups_free(&groups);
	machine_free(machine);
}

TEST(llc_groups__siblings__each_others_bits)
{
	struct machine *machine = machine_named("two_sockets_smt");
	struct llc_groups groups = groups_on(machine);

	expect_whole(&groups);
	for (unsigned i = 0; i < machine->cpu_count; i++) {
		uint64_t expected = 0;

		for (unsigned k = 0; k < machine->cpu_count; k++) {
			if (k != i &&
			    machine->cpus[i].core == machine->cpus[k].core)
				expected |= UINT64_C(1) << groups.places[k].bit;
		}
		assert_true(expected != 0);
		assert_true(groups.places[i].siblings == expected);
	}
	llc_groups_free(&groups);
	machine_free(machine);
}

TEST(llc_groups__eight_nodes__others_by_distance)
{
	struct machine *machine = machine_named("eight_nodes_1024");
	struct llc_groups groups = groups_on(machine);

	expect_whole(&groups);
	assert_int_equal(groups.worker_count, 1024);
	assert_int_equal(groups.node_count, 8);
	for (unsigned n = 0; n < 8; n++) {
		const struct llc_node *node = &groups.nodes[n];
		unsigned before = 0, nearest = 0, seen = 0;

		for (unsigned k = 0; k < 7; k++) {
			unsigned there = machine_distance(
				machine, machine->nodes[n].node,
				machine->nodes[node->others[k]].node);

			assert_true(there >= before);
			if (k == 0)
				nearest = there;
			seen += there == nearest;
			before = there;
		}
		assert_int_equal(node->nearest, seen);
	}
	llc_groups_free(&groups);
	machine_free(machine);
}

/* Several groups, where more than a word's bits share a cache; but one core's
 * cache is no group. */
TEST(llc_groups__too_many_or_too_few__by_64_or_by_node)
{
	struct skua_cpu cpus[130];
	struct skua_numa_node node = { 0, 130, 1 };
	unsigned here = SKUA_DISTANCE_HERE, numbers[130];
	struct machine machine = { .cpus = cpus,
				   .cpu_count = 130,
				   .nodes = &node,
				   .node_count = 1,
				   .distances = &here };

	for (unsigned own = 0; own < 2; own++) {
		struct llc_groups groups;

		for (unsigned i = 0; i < 130; i++) {
			numbers[i] = i;
			cpus[i] = (struct skua_cpu){ .cpu = i,
						     .core = i,
						     .llc = own ? i : 0 };
		}
		assert_int_equal(
			llc_groups_make(&groups, &machine, numbers, 130), 0);
		expect_whole(&groups);
		assert_int_equal(groups.count, 3);
		assert_int_equal(groups.groups[0].count, 64);
		assert_int_equal(groups.groups[2].count, 2);
		llc_groups_free(&groups);
	}
}

TEST(llc_groups__nothing_known__by_number)
{
	struct llc_groups groups;

	assert_int_equal(llc_groups_make(&groups, NULL, NULL, 65), 0);
	expect_whole(&groups);
	assert_int_equal(groups.count, 2);
	assert_int_equal(groups.node_count, 1);
	assert_int_equal(groups.places[64].group, 1);
	assert_int_equal(llc_groups_of_cpu(&groups, 5000), 0);
	llc_groups_free(&groups);
}

/* Workers on some CPUs alone, two on one, one on a CPU that is not there. */
TEST(llc_groups__few_workers__no_empty_group)
{
	struct machine *machine = machine_named("nps4_16_llcs");
	unsigned last = machine->cpus[machine->cpu_count - 1].cpu;
	unsigned cpus[] = { last, 0, last, 9999 };
	struct llc_groups groups;

	assert_int_equal(llc_groups_make(&groups, machine, cpus, 4), 0);
	expect_whole(&groups);
	assert_int_equal(groups.count, 2);
	assert_int_equal(groups.places[0].group, groups.places[2].group);
	assert_int_equal(groups.places[1].group, groups.places[3].group);
	assert_int_equal(llc_groups_of_cpu(&groups, last),
			 groups.places[0].group);
	llc_groups_free(&groups);
	machine_free(machine);
}

TEST(llc_groups__no_memory__nothing_left)
{
	unsigned cpus[] = { 0, 1, 2, 3 };
	struct machine *machine;
	int code = -ENOMEM;

	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	machine = machine_named("nps4_16_llcs");
	for (unsigned nth = 1; code; nth++) {
		struct llc_groups groups;

		allocations_begin(nth);
		code = llc_groups_make(&groups, machine, cpus, 4);
		if (code == 0)
			llc_groups_free(&groups);
		assert_int_equal(allocations_end(), 0);
		assert_true(code == 0 || code == -ENOMEM);
	}
	machine_free(machine);
}
