/* SPDX-License-Identifier: MIT */
/* output.c - see output.h */
#include "bench/harness/output.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/table.h"

/* ---- JSON ---------------------------------------------------------------- */

static json_t *rounded(double value)
{
	return json_real(round(value * 100) / 100);
}

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* The jobs stolen by workers and by external threads. */
static uint64_t jobs_stolen(const struct skua_stats *stats)
{
	return stats->total.jobs_stolen + stats->jobs_stolen_outside;
}

/* clang-format off: one name and its value on each line. */

static json_t *stats_json(const struct skua_stats *stats)
{
	const struct skua_worker_stats *t = &stats->total;

	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "spawned",
		integer(stats->tasks_spawned), "polled",
		integer(t->tasks_polled), "stolen", integer(t->tasks_stolen),
		"jobs_stolen", integer(jobs_stolen(stats)), "parked",
		integer(t->times_parked), "lifo_hits", integer(t->lifo_hits),
		"global_batch_fetches", integer(t->global_batch_fetches),
		"steal_attempts", integer(t->steal_attempts), "overflows",
		integer(t->overflows));
}

/* A hardware counter for each operation; null if it was not counted. */
static json_t *event_json(const struct measurement *m, unsigned event)
{
	const struct perf_group_event *e = &m->counters.event[event];

	return e->counted ? integer(e->value) : json_null();
}

/* Each requested event with its count and the time during which it had a
 * counter. */
static json_t *events_json(const struct measurement *m)
{
	json_t *events = json_array();

	for (unsigned i = 0; i < m->counters.count; i++) {
		const struct perf_group_event *e = &m->counters.event[i];

		json_array_append_new(
			events, json_pack("{s:s, s:o, s:o, s:o, s:f}", "name",
					  e->name, "value", event_json(m, i),
					  "enabled_ns", integer(e->enabled_ns),
					  "running_ns", integer(e->running_ns),
					  "run_ratio", e->run_ratio));
	}
	return events;
}

static json_t *counters_json(const struct measurement *m)
{
	if (!m->counted)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:f, s:o}", "cycles",
			 event_json(m, MEASURE_CYCLES), "instructions",
			 event_json(m, MEASURE_INSTRUCTIONS), "cache_misses",
			 event_json(m, MEASURE_CACHE_MISSES), "branch_misses",
			 event_json(m, MEASURE_BRANCH_MISSES), "run_ratio",
			 m->counters.run_ratio, "events", events_json(m));
}

static json_t *usage_json(const struct measure_usage *usage)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "cpu_ns",
			 integer(usage->cpu_ns), "voluntary_switches",
			 integer(usage->voluntary), "involuntary_switches",
			 integer(usage->involuntary), "page_faults",
			 integer(usage->page_faults));
}

static json_t *rounds_json(const struct measurement *m, const double *values)
{
	json_t *rounds = json_array();

	for (unsigned i = 0; i < m->rounds; i++)
		json_array_append_new(rounds, rounded(values[i]));
	return rounds;
}

/* The instructions of each round; null unless they were counted in every
 * round. */
static json_t *instructions_json(const struct measurement *m)
{
	for (unsigned i = 0; i < m->rounds; i++)
		if (m->rounds_instructions[i] == 0)
			return json_null();
	return rounds_json(m, m->rounds_instructions);
}

static json_t *measurement_json(const struct measurement *m)
{
	const char *reason = m->counters_reason;

	return json_pack("{s:s, s:O, s:i, s:i, s:o, s:o, s:o, s:o, s:o, "
			 "s:b, s:o, s:o, s:o, s:o, s:s?}",
			 "workload", m->workload->name, "params", m->params,
			 "workers", (int)m->workers, "rounds", (int)m->rounds,
			 "ops", integer(m->ops), "ns_per_op",
			 rounded(m->median_ns), "min", rounded(m->min_ns),
			 "max", rounded(m->max_ns), "rounds_ns",
			 rounds_json(m, m->rounds_ns), "ok", (int)m->ok,
			 "stats", stats_json(&m->stats), "usage",
			 usage_json(&m->usage), "counters", counters_json(m),
			 "rounds_instructions", instructions_json(m),
			 "counters_reason", reason[0] != '\0' ? reason : NULL);
}

/* clang-format on */

json_t *output_json(const struct measurement *m)
{
	json_t *object = measurement_json(m);

	if (object != NULL && m->figures != NULL &&
	    json_object_update(object, m->figures) != 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* ---- text ---------------------------------------------------------------- */

/* Append " key=value", or " key" for true. */
static size_t add_param(char *text, size_t size, const char *key,
			const json_t *value)
{
	int used;

	if (json_is_string(value))
		used = snprintf(text, size, " %s=%s", key,
				json_string_value(value));
	else if (json_is_integer(value))
		used = snprintf(text, size, " %s=%" JSON_INTEGER_FORMAT, key,
				json_integer_value(value));
	else
		used = snprintf(text, size, " %s", key);
	return used < 0 ? 0 : (size_t)used < size ? (size_t)used : size - 1;
}

const char *output_label(const char *name, json_t *params, char *text,
			 size_t size)
{
	const char *key;
	json_t *value;
	size_t used;

	snprintf(text, size, "%s", name);
	used = strlen(text);
	json_object_foreach(params, key, value)
	{
		used += add_param(text + used, size - used, key, value);
	}
	return text;
}

json_t *output_changed(const struct workload *workload, json_t *params)
{
	json_t *defaults = workload->params(workload->defaults);
	json_t *changed = json_object(), *value;
	const char *key;

	json_object_foreach(params, key, value)
	{
		if (!json_equal(json_object_get(defaults, key), value))
			json_object_set(changed, key, value);
	}
	json_decref(defaults);
	return changed;
}

/* Print each figure on a line: "  latency_ns: p50 5310, p90 ...". */
static void print_figures(FILE *file, json_t *figures)
{
	const char *key, *inner;
	json_t *value, *number;

	json_object_foreach(figures, key, value)
	{
		const char *separator = "";

		fprintf(file, "  %s: ", key);
		if (json_is_integer(value))
			fprintf(file, "%" JSON_INTEGER_FORMAT,
				json_integer_value(value));
		else if (json_is_real(value))
			fprintf(file, "%.2f", json_real_value(value));
		json_object_foreach(value, inner, number)
		{
			if (!json_is_number(number))
				continue;
			fprintf(file, "%s%s %.0f", separator, inner,
				json_number_value(number));
			separator = ", ";
		}
		fputc('\n', file);
	}
}

static void print_counters(FILE *file, const struct measurement *m)
{
	double ops = (double)m->ops * m->rounds;
	const char *separator = "  an operation took ";

	for (unsigned i = 0; i < m->counters.count; i++) {
		const struct perf_group_event *e = &m->counters.event[i];

		if (!e->counted)
			continue;
		fprintf(file, "%s%.2f %s", separator, (double)e->value / ops,
			e->name);
		separator = ", ";
	}
	if (m->counted)
		fprintf(file, "; counted %.0f %% of the time\n",
			m->counters.run_ratio * 100);
	if (m->counters_reason[0] != '\0')
		fprintf(file, "  %s\n", m->counters_reason);
}

void output_text(FILE *file, const struct measurement *m)
{
	const struct skua_worker_stats *t = &m->stats.total;
	char label[200];

	fprintf(file,
		"%s, %u worker%s: %.1f ns/op (%.1f to %.1f in %u round%s of "
		"%" PRIu64 " ops), %s\n",
		output_label(m->workload->name, m->params, label,
			     sizeof(label)),
		m->workers, m->workers == 1 ? "" : "s", m->median_ns, m->min_ns,
		m->max_ns, m->rounds, m->rounds == 1 ? "" : "s", m->ops,
		m->ok ? "ok" : "WRONG RESULT");
	if (m->workers > 0)
		fprintf(file,
			"  spawned %" PRIu64 ", polled %" PRIu64
			", stolen %" PRIu64 " and %" PRIu64
			" jobs, parked %" PRIu64 ", LIFO hits %" PRIu64
			", global batch fetches %" PRIu64 "\n",
			m->stats.tasks_spawned, t->tasks_polled,
			t->tasks_stolen, jobs_stolen(&m->stats),
			t->times_parked, t->lifo_hits, t->global_batch_fetches);
	print_figures(file, m->figures);
	print_counters(file, m);
}

/* ---- table --------------------------------------------------------------- */

static void put_number(char *cell, double value)
{
	snprintf(cell, TABLE_CELL_BYTES, "%.*f", value < 1000 ? 1 : 0, value);
}

/* Write @count for each thousand operations; "-" if there are no workers. */
static void put_rate(char *cell, const struct measurement *m, uint64_t count)
{
	if (m->workers == 0)
		strcpy(cell, "-");
	else
		snprintf(cell, TABLE_CELL_BYTES, "%.2f",
			 1000.0 * (double)count / ((double)m->ops * m->rounds));
}

static void fill_row(struct table_row *row, const void *of, size_t i)
{
	const struct measurement *m = (const struct measurement *)of + i;
	const struct perf_group_event *e =
		&m->counters.event[MEASURE_INSTRUCTIONS];

	output_label(m->workload->name, m->params, row->cell[0],
		     TABLE_CELL_BYTES);
	snprintf(row->cell[1], TABLE_CELL_BYTES, "%u", m->workers);
	put_number(row->cell[2], m->median_ns);
	put_number(row->cell[3], m->min_ns);
	put_number(row->cell[4], m->max_ns);
	if (e->counted)
		put_number(row->cell[5],
			   (double)e->value / ((double)m->ops * m->rounds));
	else
		strcpy(row->cell[5], "-");
	put_rate(row->cell[6], m,
		 m->stats.total.tasks_stolen + jobs_stolen(&m->stats));
	put_rate(row->cell[7], m, m->stats.total.times_parked);
	put_rate(row->cell[8], m, m->stats.total.lifo_hits);
	strcpy(row->cell[9], m->ok ? "yes" : "NO");
}

void output_table(FILE *file, const struct measurement *m, size_t count)
{
	static const char *const head[] = {
		"workload", "workers",    "ns/op",      "min",      "max",
		"instr/op", "stolen/kop", "parked/kop", "LIFO/kop", "ok",
	};
	const struct table table = { .columns = 10,
				     .text = 1u << 0 | 1u << 9,
				     .head = head,
				     .count = count,
				     .fill = fill_row,
				     .of = m };

	table_print(file, &table);
}

/* ---- table of forks ------------------------------------------------------- */

#define FORKJOIN_LEGEND                                                           \
	"\nForks and joins, compared with the same calls made serially. T: time " \
	"with this number of workers; T1: with one worker; Ts: serial, without "  \
	"inlining; Ti: serial, with as much inlining as the compiler chooses. "   \
	"Times are in ns for each operation. ns/fork: T1 - Ti for each fork. "    \
	"T1, Ts and Ti are CPU time; T is wall-clock time, which other load on "  \
	"the machine lengthens. Each round measures all four; the figures are "   \
	"medians over the rounds.\n\n"

/* Has the workload also been measured against serial calls (forkjoin.h)? */
static bool is_forkjoin(const struct measurement *m)
{
	return json_object_get(m->figures, "speedup") != NULL;
}

static double figure(const struct measurement *m, const char *name)
{
	return json_number_value(json_object_get(m->figures, name));
}

static void fill_forkjoin(struct table_row *row, const void *of, size_t i)
{
	const struct measurement *m =
		((const struct measurement *const *)of)[i];

	output_label(m->workload->name, m->params, row->cell[0],
		     TABLE_CELL_BYTES);
	snprintf(row->cell[1], TABLE_CELL_BYTES, "%u", m->workers);
	snprintf(row->cell[2], TABLE_CELL_BYTES, "%.2f", figure(m, "overhead"));
	snprintf(row->cell[3], TABLE_CELL_BYTES, "%.2f", figure(m, "speedup"));
	/* A loop has no ns_per_fork: its number of forks depends on how
	 * often idle workers ask for a part. */
	if (json_object_get(m->figures, "ns_per_fork"))
		snprintf(row->cell[4], TABLE_CELL_BYTES, "%.1f",
			 figure(m, "ns_per_fork"));
	else
		strcpy(row->cell[4], "-");
	put_number(row->cell[5], figure(m, "one_worker_ns"));
	put_number(row->cell[6], figure(m, "serial_ns"));
	put_number(row->cell[7], figure(m, "serial_inlined_ns"));
}

void output_forkjoin_table(FILE *file, const struct measurement *m,
			   size_t count)
{
	static const char *const head[] = {
		"workload", "workers", "T1/Ts", "Ts/T",
		"ns/fork",  "T1/op",   "Ts/op", "Ti/op",
	};
	const struct measurement **rows = calloc(count + 1, sizeof(*rows));
	struct table table = { .columns = 8,
			       .text = 1u << 0,
			       .head = head,
			       .fill = fill_forkjoin,
			       .of = rows };

	for (size_t i = 0; rows != NULL && i < count; i++)
		if (is_forkjoin(&m[i]))
			rows[table.count++] = &m[i];
	if (table.count > 0) {
		fputs(FORKJOIN_LEGEND, file);
		table_print(file, &table);
	}
	free(rows);
}
