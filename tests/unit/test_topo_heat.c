/* SPDX-License-Identifier: MIT */
/* test_topo_heat.c - how skua topo shows latencies of machines that are larger than
 * this one */
#include "tests/unit/support.h"

#include "bpf/topo/topo.h"
#include "topology/machine.h"

#define WIDTH 80u

/* So many cores, of which groups share a cache and larger ones a node; a pair that
 * shares neither is the farthest. Each pair is measured, except the last core's. */
static struct machine *machine_new(unsigned cores, unsigned a_cache,
				   unsigned a_node)
{
	struct machine *machine = calloc(1, sizeof(*machine));
	unsigned *numbers = calloc(cores, sizeof(*numbers));
	struct cpu_list list = { numbers, cores };

	machine->cpus = calloc(cores, sizeof(*machine->cpus));
	machine->rows = calloc(cores, sizeof(*machine->rows));
	machine->cpu_count = cores;
	for (unsigned i = 0; i < cores; i++) {
		numbers[i] = machine->rows[i] = i;
		machine->cpus[i] =
			(struct skua_cpu){ .cpu = i,
					   .core = i,
					   .llc = i / a_cache * a_cache,
					   .node = i / a_node };
	}
	machine->latency = latency_make(&list);
	for (unsigned i = 0; i + 1 < cores; i++)
		for (unsigned k = 0; k < i; k++)
			latency_set(machine->latency, i, k,
				    i / a_cache == k / a_cache ? 20
				    : i / a_node == k / a_node ? 90
							       : 200);
	free(numbers);
	return machine;
}

static char *heat_of(struct machine *machine, unsigned width, bool line_art,
		     bool colour)
{
	struct topo topo = { .topology = (struct skua_topology *)machine,
			     .cpus = machine->cpus,
			     .cpu_count = machine->cpu_count,
			     .measured = true };
	size_t size;
	char *text;
	FILE *file = open_memstream(&text, &size);

	topo_heat(file, &topo, width, line_art, colour);
	fclose(file);
	machine_free(machine);
	return text;
}

static void check_width(const char *text, size_t width)
{
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= width);
}

TEST(heat__few_cores__numbers)
{
	char *text = heat_of(machine_new(5, 2, 5), WIDTH, true, false);

	assert_string_equal(
		text, "\nns for a cache line between cores, by their first "
		      "CPUs\n"
		      "         0   1   2   3\n"
		      "    0       20  90  90\n"
		      "    1   20      90  90\n"
		      "    2   90  90      20\n"
		      "    3   90  90  20    \n");
	free(text);
}

TEST(heat__in_colour__near_and_far_differ)
{
	char *text = heat_of(machine_new(5, 2, 5), WIDTH, true, true);
	struct machine *alike = machine_new(5, 5, 5);

	assert_non_null(strstr(text, "\033[38;5;231;48;5;28m  20\033[0m"));
	assert_non_null(strstr(text, "\033[38;5;231;48;5;124m  90\033[0m"));
	free(text);
	/* All alike: near. */
	latency_set(alike->latency, 0, 1, 25);
	text = heat_of(alike, WIDTH, true, true);
	assert_non_null(strstr(text, "\033[38;5;231;48;5;28m  20\033[0m"));
	assert_null(strstr(text, ";124m"));
	free(text);
}

TEST(heat__32_cores__shades_within_the_width)
{
	char *text = heat_of(machine_new(33, 8, 16), WIDTH, false, false);

	check_width(text, WIDTH);
	assert_non_null(strstr(text, "between cores"));
	/* The numbers stand on end. */
	assert_non_null(strstr(text, "1 1 1 1 1 1 1 1 1 1 2 2"));
	assert_non_null(strstr(text, "\n    0   ..............----"));
	assert_non_null(strstr(text, "  .. 20-56 ns\n"));
	assert_non_null(strstr(text, "  @@ 165-200 ns\n"));
	free(text);
}

TEST(heat__more_cores__caches)
{
	struct machine *machine = machine_new(129, 16, 64);
	char *text;

	latency_set(machine->latency, 0, 1, 500);
	text = heat_of(machine, WIDTH, true, false);
	check_width(text, WIDTH);
	assert_non_null(strstr(text, "between caches, by their first CPUs"));
	assert_non_null(strstr(text, "\n    0   20  90  90  90 200 200 200 "
				     "200\n"));
	assert_non_null(strstr(text, "\n  112  200 200 200 200  90  90  90  "
				     "20\n"));
	free(text);
}

TEST(heat__more_caches__nodes_and_then_some)
{
	char *text = heat_of(machine_new(161, 4, 40), WIDTH, false, false);

	assert_non_null(strstr(text, "between nodes"));
	assert_non_null(strstr(text, "\n    0   90 200 200 200\n"));
	free(text);
	text = heat_of(machine_new(161, 2, 4), WIDTH, false, false);
	check_width(text, WIDTH);
	assert_non_null(strstr(text, "\n  and 8 more\n"));
	free(text);
}

TEST(heat__nothing_measured__says_so)
{
	char *text = heat_of(machine_new(2, 1, 2), WIDTH, true, false);

	assert_string_equal(text, "\nno latency was measured\n");
	free(text);
}
