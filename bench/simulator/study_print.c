/* SPDX-License-Identifier: MIT */
/* study_print.c - print a study as Markdown */
#include "bench/simulator/study.h"
#include "bench/harness/table.h"

static void print_figure(char *cell, const struct figure *figure,
			 unsigned digits)
{
	snprintf(cell, TABLE_CELL_BYTES, "%.*f (%.*f-%.*f)", (int)digits,
		 figure->median, (int)digits, figure->min, (int)digits,
		 figure->max);
}

static void fill_case(struct table_row *row, const void *of, size_t i)
{
	const struct study *study = of;
	const struct sim_case *c = &study->cases[i];
	const struct outcome *o = &c->first;

	snprintf(row->cell[0], TABLE_CELL_BYTES, "%s",
		 i % STUDY_POLICIES == 0
			 ? study_load_name((unsigned)i / STUDY_POLICIES)
			 : "");
	snprintf(row->cell[1], TABLE_CELL_BYTES, "%s", c->plan.policy->name);
	print_figure(row->cell[2], &c->p99_us,
		     c->plan.workload == WORKLOAD_TREE ? 2 : 1);
	print_figure(row->cell[3], &c->away, 3);
	print_figure(row->cell[4], &c->longer, 2);
	snprintf(row->cell[5], TABLE_CELL_BYTES, "%.1f",
		 o->failed.times == 0
			 ? 0
			 : (double)(o->failed.lines + o->failed.queues) /
				   (double)o->failed.times);
	snprintf(row->cell[6], TABLE_CELL_BYTES, "%ju", (uintmax_t)o->wakes);
}

static void print_cases(FILE *file, const struct study *study)
{
	static const char *const head[] = { "load",   "policy",
					    "p99 us", "off their node",
					    "longer", "reads",
					    "wakes" };
	const struct table table = {
		.columns = 7,
		.text = 3,
		.head = head,
		.count = STUDY_CASES,
		.fill = fill_case,
		.of = study,
	};

	table_print(file, &table);
}

static void print_reads(char *cell, const struct reads *reads, bool queues)
{
	uint64_t sum = queues ? reads->queues : reads->lines;

	snprintf(cell, TABLE_CELL_BYTES, "%.1f (%u)",
		 reads->times == 0 ? 0 : (double)sum / (double)reads->times,
		 queues ? reads->most_queues : reads->most_lines);
}

static void fill_cost(struct table_row *row, const void *of, size_t i)
{
	const struct study *study = of;
	const struct outcome *o = &study->costs[i].first;

	snprintf(row->cell[0], TABLE_CELL_BYTES, "%u", study->costs[i].workers);
	snprintf(row->cell[1], TABLE_CELL_BYTES, "%u", study->costs[i].groups);
	print_reads(row->cell[2], &o->failed, false);
	print_reads(row->cell[3], &o->failed, true);
	print_reads(row->cell[4], &o->sleeping, false);
	print_reads(row->cell[5], &o->checked, false);
	print_reads(row->cell[6], &o->woken, false);
	print_reads(row->cell[7], &study->sweeps[i].first.failed, true);
}

static void print_costs(FILE *file, const struct study *study)
{
	static const char *const head[] = { "workers",        "groups",
					    "a failed round", "queues in vain",
					    "before sleep",   "wake look",
					    "wake-up",        "tier: queues" };
	const struct table table = {
		.columns = 8,
		.head = head,
		.count = STUDY_SHAPES,
		.fill = fill_cost,
		.of = study,
	};

	table_print(file, &table);
}

static void print_tiers(FILE *file, const char *what, const uint64_t *ns)
{
	fprintf(file, "- %s:", what);
	for (unsigned tier = 0; tier < TIERS; tier++)
		fprintf(file, " %ju", (uintmax_t)ns[tier]);
	fputc('\n', file);
}

static void print_constants(FILE *file)
{
	fputs("Constants, in ns, from a sibling, in a cache, in a node, in a "
	      "socket, and beyond:\n\n",
	      file);
	print_tiers(file, "a read of a queue, or of two lines of a map",
		    costs_probe_ns);
	print_tiers(file, "a steal, in addition", costs_steal_ns);
	print_tiers(file, "cold caches of a task that only uses memory",
		    costs_cold_ns);
	fprintf(file,
		"- a task that only uses memory takes %u %% longer in another "
		"node of the socket, %u %% beyond; tasks use it for %u %% of "
		"their time\n"
		"- a wake-up: %ju; a round of a search: at least %ju\n\n",
		costs_penalty_percent[1], costs_penalty_percent[2],
		COSTS_MEMORY_PERCENT, (uintmax_t)COSTS_WAKE_NS,
		(uintmax_t)COSTS_ROUND_NS);
}

static void print_policies(FILE *file)
{
	fputs("Policies:\n\n", file);
	for (unsigned i = 0; policies[i] != NULL; i++)
		fprintf(file, "- `%s`: %s\n", policies[i]->name,
			policies[i]->description);
	fputc('\n', file);
}

void study_print(FILE *file, const struct study *study)
{
	fprintf(file,
		"## Simulated: %u workers, %u nodes, %u groups\n\n"
		"Figures are the median, the least and the greatest value of %u "
		"seeds. p99: time from a task's arrival to its end; for the tree, "
		"its time divided by the least possible time. Longer: the time "
		"of tasks divided by their time on the home node. Reads: lines "
		"and queues that a failed round of a search read, and wakes: "
		"the number of wake-ups, both with the first seed.\n\n",
		study->layout.groups.worker_count,
		study->layout.groups.node_count, study->layout.groups.count,
		study->seeds);
	print_cases(file, study);
	fputc('\n', file);
	print_policies(file);
	fputs("Lines that the runtime's policy reads, on average and at most, "
	      "the queues that it reads in vain in a failed round, and the "
	      "queues that `tier` reads in one:\n\n",
	      file);
	print_costs(file, study);
	fputc('\n', file);
	print_constants(file);
}
