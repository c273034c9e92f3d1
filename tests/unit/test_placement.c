/* SPDX-License-Identifier: MIT */
/* test_placement.c - where workers are put, on machines of tests/topology */
#include "topology/placement.h"

#define SUPPORT_FAIL_ALLOCATIONS
#include "tests/unit/machines.h"

#include <glob.h>

static struct cpu_list list_of(const char *text)
{
	struct cpu_list list;

	assert_int_equal(cpu_list_parse_ordered(&list, text), 0);
	return list;
}

static struct cpu_list all_cpus(const struct machine *machine)
{
	struct cpu_list all = { calloc(machine->cpu_count, sizeof(unsigned)),
				machine->cpu_count };

	for (unsigned i = 0; i < all.count; i++)
		all.cpus[i] = machine->cpus[i].cpu;
	return all;
}

/* The CPUs of a range, ascending: as text would name them. */
static void expect_range(const struct placement *made,
			 struct placement_range range, const char *text)
{
	struct cpu_bits bits = { { 0 } };
	struct cpu_list expected = list_of(text), got;

	for (unsigned n = 0; n < range.count; n++)
		cpu_bits_add(&bits, made->cpus[range.first + n]);
	assert_int_equal(cpu_list_of_bits(&got, &bits), 0);
	assert_int_equal(got.count, expected.count);
	assert_memory_equal(got.cpus, expected.cpus,
			    got.count * sizeof(*got.cpus));
	cpu_list_free(&expected);
	cpu_list_free(&got);
}

/* A request, and each worker's place then. */
struct expected {
	const char *machine; /* NULL: unknown */
	const char *cpus;    /* NULL: all */
	enum skua_placement policy;
	unsigned workers, max_workers;
	bool unpinned, limited;
	unsigned start;
	enum skua_binding binding;
	const char *at;     /* the CPU of each worker, or of the first ones */
	const char *own[3]; /* the CPUs of the first ones */
	unsigned count;     /* of workers; 0: as many as in @at */
};

static void expect(const struct expected *e)
{
	struct machine *machine = e->machine ? machine_named(e->machine) : NULL;
	struct cpu_list cpus = e->cpus ? list_of(e->cpus) : all_cpus(machine);
	struct cpu_list at = list_of(e->at);
	const struct placement_request request = { .machine = machine,
						   .cpus = &cpus,
						   .policy = e->policy,
						   .workers = e->workers,
						   .max_workers =
							   e->max_workers,
						   .unpinned = e->unpinned,
						   .limited = e->limited,
						   .start = e->start };
	struct placement made;

	assert_int_equal(placement_make(&made, &request), 0);
	assert_int_equal(made.worker_count, e->count ? e->count : at.count);
	assert_int_equal(made.cpu_count, cpus.count);
	for (unsigned i = 0; i < at.count; i++) {
		if (made.workers[i].cpu != at.cpus[i])
			fail_msg("worker %u: CPU %u, not %u", i,
				 made.workers[i].cpu, at.cpus[i]);
	}
	for (unsigned i = 0; i < COUNT_OF(e->own) && e->own[i]; i++)
		expect_range(&made, placement_range(&made, i, e->limited),
			     e->own[i]);
	assert_int_equal(made.binding, e->binding);
	placement_free(&made);
	cpu_list_free(&at);
	cpu_list_free(&cpus);
	machine_free(machine);
}

#define EXPECT(...) expect(&(const struct expected){ __VA_ARGS__ })

/* ---- by default ------------------------------------------------------------ */

TEST(placement_default__a_worker_a_cpu__in_their_order)
{
	EXPECT(.machine = "two_sockets_smt", .at = "0-63",
	       .own = { "0", "1", "2" }, .binding = SKUA_BOUND_CPU);
	EXPECT(.machine = "gaps_and_offline", .cpus = "3,6,15,60",
	       .at = "3,6,15,60", .binding = SKUA_BOUND_CPU);
}

TEST(placement_default__fewer__cores_first_and_near)
{
	/* Siblings are 16 to 31. */
	EXPECT(.machine = "cache_across_nodes", .workers = 3, .at = "0-2",
	       .binding = SKUA_BOUND_CPU);
	/* The third would share a core with the first. */
	EXPECT(.machine = "cache_across_nodes", .cpus = "0,1,16,17,5",
	       .workers = 3, .at = "0,1,5", .binding = SKUA_BOUND_CPU);
	/* And the fourth does. */
	EXPECT(.machine = "cache_across_nodes", .cpus = "0,1,16,17,5",
	       .workers = 4, .at = "0,1,5,16", .binding = SKUA_BOUND_CPU);
}

TEST(placement_default__hybrid__fast_cores_first)
{
	/* 7 has 1024, 4 to 6 have 871, the others 446. */
	EXPECT(.machine = "hybrid_arm", .workers = 2, .at = "4,7",
	       .binding = SKUA_BOUND_CPU);
	EXPECT(.machine = "hybrid_arm", .workers = 5, .at = "0,4-7",
	       .binding = SKUA_BOUND_CPU);
	/* Slow cores before siblings of fast ones, which are the odd ones. */
	EXPECT(.machine = "hybrid_x86", .workers = 8,
	       .at = "0,2,4,6,8,10,12,13", .binding = SKUA_BOUND_CPU);
}

TEST(placement_default__more_workers__the_rest_is_everywhere)
{
	EXPECT(.machine = "no_numa", .cpus = "1,2", .workers = 3, .count = 3,
	       .at = "1,2", .own = { "1", "2", "1,2" },
	       .binding = SKUA_BOUND_NOT);
}

/* ---- other policies -------------------------------------------------------- */

TEST(placement_compact__any__core_cache_node)
{
	EXPECT(.machine = "cache_across_nodes", .policy = SKUA_PLACE_COMPACT,
	       .workers = 10, .at = "0,16,1,17,2,18,3,19,4,20",
	       .binding = SKUA_BOUND_CPU);
}

TEST(placement_scatter__any__nodes_caches_cores)
{
	/* Four nodes of four caches of four cores; siblings are 64 to 127. */
	EXPECT(.machine = "nps4_16_llcs", .policy = SKUA_PLACE_SCATTER,
	       .workers = 20,
	       .at = "0,16,32,48,4,20,36,52,8,24,40,56,12,28,44,60,1,17,33,49",
	       .binding = SKUA_BOUND_CPU);
	EXPECT(.machine = "nps4_16_llcs", .policy = SKUA_PLACE_SCATTER,
	       .cpus = "0-7,16,64-71", .workers = 10,
	       .at = "0,16,4,1,5,2,6,3,7,64", .binding = SKUA_BOUND_CPU);
}

TEST(placement_cores__any__a_worker_on_all_of_each)
{
	EXPECT(.machine = "hybrid_x86", .policy = SKUA_PLACE_CORES,
	       .at = "0,2,4,6,8,10,12-19", .own = { "0,1", "2,3", "4,5" },
	       .binding = SKUA_BOUND_CORE);
	/* The allowed CPUs of each. */
	EXPECT(.machine = "hybrid_x86", .policy = SKUA_PLACE_CORES,
	       .cpus = "1,3,4-5", .at = "1,3,4", .own = { "1", "3", "4,5" },
	       .binding = SKUA_BOUND_CORE);
	EXPECT(.machine = "hybrid_x86", .policy = SKUA_PLACE_CORES,
	       .workers = 15, .count = 15, .at = "0,2,4,6,8,10,12-19",
	       .binding = SKUA_BOUND_NOT);
}

TEST(placement_caches__any__a_worker_on_all_of_each)
{
	/* A cache that two nodes share is two. */
	EXPECT(.machine = "cache_across_nodes", .policy = SKUA_PLACE_CACHES,
	       .at = "0,4,8,12", .own = { "0-3,16-19", "4-7,20-23" },
	       .binding = SKUA_BOUND_CACHE);
	EXPECT(.machine = "nps4_16_llcs", .policy = SKUA_PLACE_CACHES,
	       .workers = 2, .at = "0,4", .own = { "0-3,64-67", "4-7,68-71" },
	       .binding = SKUA_BOUND_CACHE);
}

TEST(placement_listed__any__in_the_order_given)
{
	EXPECT(.machine = "no_numa", .policy = SKUA_PLACE_LISTED,
	       .cpus = "3,0-2,3", .at = "3,0-2", .own = { "3", "0", "1" },
	       .binding = SKUA_BOUND_CPU);
	EXPECT(.machine = "no_numa", .policy = SKUA_PLACE_LISTED,
	       .cpus = "3,0-2", .workers = 2, .at = "3,0",
	       .binding = SKUA_BOUND_CPU);
}

TEST(placement__isolated_cpus__come_first)
{
	/* 15 and 18 are. */
	EXPECT(.machine = "gaps_and_offline", .workers = 2, .at = "15,18",
	       .binding = SKUA_BOUND_CPU);
	EXPECT(.machine = "gaps_and_offline", .policy = SKUA_PLACE_COMPACT,
	       .workers = 3, .at = "15,18,0", .binding = SKUA_BOUND_CPU);
	EXPECT(.machine = "gaps_and_offline", .policy = SKUA_PLACE_SCATTER,
	       .workers = 2, .at = "15,18", .binding = SKUA_BOUND_CPU);
	EXPECT(.machine = "gaps_and_offline", .policy = SKUA_PLACE_CORES,
	       .workers = 2, .at = "15,18", .binding = SKUA_BOUND_CORE);
}

/* ---- what does not pin ----------------------------------------------------- */

TEST(placement__unpinned__all_on_all)
{
	EXPECT(.machine = "no_numa", .unpinned = true, .workers = 2,
	       .at = "0,1", .own = { "0-3", "0-3" }, .binding = SKUA_BOUND_NOT);
	/* The policy still says how many. */
	EXPECT(.machine = "hybrid_x86", .policy = SKUA_PLACE_CORES,
	       .unpinned = true, .at = "0,2,4,6,8,10,12-19", .own = { "0-19" },
	       .binding = SKUA_BOUND_NOT);
}

TEST(placement__limited_time__each_on_a_cache_from_here)
{
	EXPECT(.machine = "nps4_16_llcs", .limited = true, .max_workers = 3,
	       .start = 37, .at = "36-38",
	       .own = { "36-39,100-103", "36-39,100-103" },
	       .binding = SKUA_BOUND_CACHE);
	/* Then others of the node, and of the nearest. */
	EXPECT(.machine = "nps4_16_llcs", .limited = true, .max_workers = 6,
	       .start = 37, .at = "32,33,36-39",
	       .own = { "32-35,96-99", "32-35,96-99", "36-39,100-103" },
	       .binding = SKUA_BOUND_CACHE);
	EXPECT(.machine = "eight_nodes_1024", .limited = true, .workers = 129,
	       .start = 1023, .count = 129, .at = "512,896-1023",
	       .binding = SKUA_BOUND_CACHE);
	/* A requested number is not cut to the CPU time. */
	EXPECT(.machine = "no_numa", .limited = true, .max_workers = 2,
	       .workers = 4, .at = "0-3", .own = { "0-3" },
	       .binding = SKUA_BOUND_CACHE);
}

TEST(placement__machine_unknown__cpus_are_cores_of_one_cache)
{
	EXPECT(.cpus = "2-5", .workers = 3, .at = "2-4", .own = { "2", "3" },
	       .binding = SKUA_BOUND_CPU);
	EXPECT(.cpus = "2-5", .policy = SKUA_PLACE_CACHES, .at = "2",
	       .own = { "2-5" }, .binding = SKUA_BOUND_CACHE);
	EXPECT(.cpus = "2-5", .policy = SKUA_PLACE_SCATTER, .workers = 2,
	       .limited = true, .at = "2,3", .own = { "2-5" },
	       .binding = SKUA_BOUND_CACHE);
	/* Those that it does not have. */
	EXPECT(.machine = "no_numa", .cpus = "2,3,900", .at = "2,3,900",
	       .binding = SKUA_BOUND_CPU);
}

/* ---- on any machine -------------------------------------------------------- */

static bool alike(const struct skua_cpu *a, const struct skua_cpu *b,
		  enum skua_placement policy)
{
	return policy == SKUA_PLACE_CACHES  ? a->llc == b->llc
	       : policy == SKUA_PLACE_CORES ? a->core == b->core
					    : a == b;
}

static unsigned count_places(const struct machine *machine,
			     enum skua_placement policy)
{
	unsigned places = 0;

	for (unsigned i = 0; i < machine->cpu_count; i++) {
		unsigned k = 0;

		while (!alike(&machine->cpus[k], &machine->cpus[i], policy))
			k++;
		places += k == i;
	}
	return places;
}

/* No CPU is in two workers' ranges; each has its own; all of a group. */
static void check(const struct machine *machine, enum skua_placement policy,
		  unsigned workers)
{
	struct cpu_list cpus = all_cpus(machine);
	const struct placement_request request = { .machine = machine,
						   .cpus = &cpus,
						   .policy = policy,
						   .workers = workers };
	unsigned places = count_places(machine, policy);
	unsigned char *seen = calloc(cpus.count, 1);
	struct placement made;

	assert_int_equal(placement_make(&made, &request), 0);
	assert_int_equal(made.worker_count, workers ? workers : places);
	for (unsigned i = 0; i < made.worker_count; i++) {
		const struct placement_worker *it = &made.workers[i];
		const struct skua_cpu *own = machine_cpu(machine, it->cpu);
		unsigned has = 0, members = 0;

		for (unsigned n = 0; n < it->own.count; n++) {
			unsigned at = it->own.first + n;

			assert_int_equal(seen[at]++, 0);
			has += made.cpus[at] == it->cpu;
			assert_true(alike(machine_cpu(machine, made.cpus[at]),
					  own, policy));
		}
		assert_int_equal(has, 1);
		for (unsigned k = 0; k < machine->cpu_count; k++)
			members += alike(&machine->cpus[k], own, policy);
		assert_int_equal(it->own.count, members);
	}
	free(seen);
	placement_free(&made);
	cpu_list_free(&cpus);
}

TEST(placement__each_machine_and_policy__no_cpu_twice)
{
	glob_t found;

	assert_int_equal(glob(MACHINES "*.snapshot", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct machine *machine = machine_named(found.gl_pathv[i]);

		for (unsigned policy = 0; policy <= SKUA_PLACE_LISTED;
		     policy++) {
			unsigned places = count_places(
				machine, (enum skua_placement)policy);

			for (unsigned workers = 0; workers <= places;
			     workers = workers * 3 + 1)
				check(machine, (enum skua_placement)policy,
				      workers);
		}
		machine_free(machine);
	}
	assert_true(found.gl_pathc >= 12);
	globfree(&found);
}

TEST(placement__no_memory__enomem_and_nothing_left)
{
	struct cpu_list cpus;
	const struct placement_request request = { .cpus = &cpus };
	struct placement made;
	unsigned nth = 0;

	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	cpus = list_of("0-3");
	for (;;) {
		int code;

		allocations_begin(++nth);
		code = placement_make(&made, &request);
		if (!allocations_failed()) {
			placement_free(&made);
			assert_int_equal(allocations_end(), 0);
			break;
		}
		assert_int_equal(code, -ENOMEM);
		assert_int_equal(allocations_end(), 0);
	}
	assert_true(nth > 3);
	cpu_list_free(&cpus);
}

/* ---- the public plan ------------------------------------------------------- */

TEST(topology_plan__any__as_placed)
{
	struct skua_topology *topology;
	enum skua_binding binding;
	unsigned cpus[4];

	assert_int_equal(skua_topology_load(&topology,
					    MACHINES "nps4_16_llcs.snapshot",
					    NULL),
			 0);
	assert_int_equal(skua_topology_plan(topology, SKUA_PLACE_SCATTER, cpus,
					    4, &binding),
			 128);
	assert_int_equal(binding, SKUA_BOUND_CPU);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(cpus[i], 16 * i);
	assert_int_equal(
		skua_topology_plan(topology, SKUA_PLACE_CACHES, NULL, 0, NULL),
		16);
	assert_int_equal(
		skua_topology_plan(topology, SKUA_PLACE_LISTED, NULL, 0, NULL),
		-EINVAL);
	assert_int_equal(
		skua_topology_plan(NULL, SKUA_PLACE_DEFAULT, NULL, 0, NULL),
		-EINVAL);
	skua_topology_free(topology);
}
