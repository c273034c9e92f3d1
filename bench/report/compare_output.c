/* SPDX-License-Identifier: MIT */
/*
 * compare_output.c - see compare_output.h
 *
 * A figure is the median over the alternations of a case, with the least and the greatest
 * value. A ratio divides the figure of skua's run by that of the peer's run in the same
 * alternation; its median, least and greatest value are also over the alternations.
 */
#include "bench/report/compare_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/output.h"
#include "bench/harness/table.h"
#include "bench/report/published.h"

/* Each kind has a table of its own. */
enum kind { KIND_TIME, KIND_LATENCY, KIND_SLOWDOWN, KINDS };

enum {
	METRIC_TIME,
	METRIC_SLOWDOWN = 4,
	METRICS,
	/* References that skua's own runs contain. */
	METRIC_QUEUE = METRICS,
	METRIC_BARE,
	METRICS_ALL
};

/* Where a result contains each figure. @object is the member that contains
 * it; NULL: the result itself does. */
static const struct metric {
	const char *name;
	enum kind kind;
	const char *object;
	const char *member;
} metrics[METRICS_ALL] = {
	[METRIC_TIME] = { "ns_per_op", KIND_TIME, NULL, "ns_per_op" },
	{ "p50", KIND_LATENCY, "latency_ns", "p50" },
	{ "p99", KIND_LATENCY, "latency_ns", "p99" },
	{ "p999", KIND_LATENCY, "latency_ns", "p999" },
	[METRIC_SLOWDOWN] = { "slowdown_p999", KIND_SLOWDOWN, "slowdown",
			      "p999" },
	[METRIC_QUEUE] = { "queue", KIND_SLOWDOWN, "queue_slowdown", "p999" },
	[METRIC_BARE] = { "bare", KIND_SLOWDOWN, "bare_slowdown", "p999" },
};

struct spread {
	double median;
	double min;
	double max;
};

/* A row of a table: one figure of a case, for skua and for a peer or for a reference in
 * skua's own runs. */
struct pair {
	const struct compare_case *c;
	const char *peer;
	unsigned metric;
	unsigned of_other; /* as @metric, or METRIC_QUEUE, METRIC_BARE */
	struct spread skua;
	struct spread other;
	struct spread ratio;
	unsigned noisy; /* alternations with a noisy run on either side */
};

struct pairs {
	struct pair *pair;
	size_t count;
};

/* ---- figures --------------------------------------------------------------- */

/* Return a figure of run @i; 0 if the run does not have it. */
static double figure(const struct compare_side *side, unsigned metric, size_t i)
{
	const struct metric *m = &metrics[metric];
	json_t *run = json_array_get(side->runs, i);

	if (m->object != NULL)
		run = json_object_get(run, m->object);
	return json_number_value(json_object_get(run, m->member));
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct spread spread(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_doubles);
	return (struct spread){
		.median = (values[(n - 1) / 2] + values[n / 2]) / 2,
		.min = values[0],
		.max = values[n - 1],
	};
}

static bool noisy(const struct compare_side *side, size_t i)
{
	return json_is_true(
		json_object_get(json_array_get(side->runs, i), "noisy"));
}

/* Fill in the figures of a row. Return: false if either side lacks the figure. */
static bool fill_pair(struct pair *pair, const struct compare_side *skua,
		      const struct compare_side *other)
{
	size_t n = json_array_size(other->runs);
	double values[3][COMPARE_ALTERNATIONS];

	pair->noisy = 0;
	for (size_t i = 0; i < n; i++) {
		values[0][i] = figure(skua, pair->metric, i);
		values[1][i] = figure(other, pair->of_other, i);
		if (!(values[0][i] > 0 && values[1][i] > 0))
			return false;
		values[2][i] = values[0][i] / values[1][i];
		pair->noisy += noisy(skua, i) || noisy(other, i);
	}
	pair->skua = spread(values[0], n);
	pair->other = spread(values[1], n);
	pair->ratio = spread(values[2], n);
	return true;
}

static void add_pair(struct pairs *pairs, const struct pair *pair,
		     const struct compare_side *other)
{
	struct pair *place = &pairs->pair[pairs->count];

	*place = *pair;
	pairs->count += fill_pair(place, &place->c->side[COMPARE_SKUA], other);
}

static void add_pairs(struct pairs *pairs, const struct comparison *cmp,
		      const struct compare_case *c, unsigned side)
{
	const struct compare_side *other = &c->side[side];
	struct pair pair = { .c = c, .peer = compare_name(cmp, side) };

	if (other->state != COMPARE_RAN ||
	    c->side[COMPARE_SKUA].state != COMPARE_RAN)
		return;
	for (; pair.metric < METRICS; pair.metric++) {
		pair.of_other = pair.metric;
		if (pair.metric != METRIC_TIME || !c->workload->latency)
			add_pair(pairs, &pair, other);
	}
}

static void add_own(struct pairs *pairs, const struct compare_case *c)
{
	const struct compare_side *skua = &c->side[COMPARE_SKUA];
	struct pair pair = { .c = c, .metric = METRIC_SLOWDOWN };

	if (skua->state != COMPARE_RAN)
		return;
	for (unsigned i = METRICS; i < METRICS_ALL; i++) {
		pair.peer = metrics[i].name;
		pair.of_other = i;
		add_pair(pairs, &pair, skua);
	}
}

static enum kind kind_of(const struct pair *pair)
{
	return metrics[pair->metric].kind;
}

/* Order rows by kind: times, latencies, slowdowns. Within a kind, the greatest ratio
 * comes first; the slowdowns of a case stay together. */
static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int kind = (int)kind_of(x) - (int)kind_of(y);

	if (kind != 0)
		return kind;
	if (kind_of(x) == KIND_SLOWDOWN && x->c != y->c)
		return x->c < y->c ? -1 : 1;
	return (x->ratio.median < y->ratio.median) -
	       (x->ratio.median > y->ratio.median);
}

/* Make the rows of all tables. The caller frees pairs->pair. Return: 0;
 * -ENOMEM. */
static int make_pairs(struct pairs *pairs, const struct comparison *cmp)
{
	size_t most =
		cmp->count * (cmp->peers.count * METRICS + METRICS_ALL) + 1;

	*pairs = (struct pairs){ .pair = calloc(most, sizeof(*pairs->pair)) };
	if (pairs->pair == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < cmp->count; i++) {
		add_own(pairs, &cmp->cases[i]);
		for (unsigned side = 1; side <= cmp->peers.count; side++)
			add_pairs(pairs, cmp, &cmp->cases[i], side);
	}
	qsort(pairs->pair, pairs->count, sizeof(*pairs->pair), compare_pairs);
	return 0;
}

/* Return whether a row is against a peer, and not against a reference in
 * skua's own runs. */
static bool with_peer(const struct pair *pair)
{
	return pair->of_other < METRICS;
}

static bool loses(const struct pair *pair)
{
	return with_peer(pair) && pair->ratio.median > 1;
}

/* ---- tables ---------------------------------------------------------------- */

/* Return the digits after the point: three significant ones, or all before
 * the point. */
static int digits(double value)
{
	return value < 10 ? 2 : value < 100 ? 1 : 0;
}

static int ratio_digits(double value)
{
	return value < 0.1 ? 3 : 2;
}

/* Write median, least and greatest value over @runs runs, divided by @unit.
 * @places returns the digits after the point. */
static void put_spread(char *cell, const struct spread *s, size_t runs,
		       double unit, int (*places)(double value))
{
	double median = s->median / unit, min = s->min / unit,
	       max = s->max / unit;

	if (runs == 1)
		snprintf(cell, TABLE_CELL_BYTES, "%.*f (once)", places(median),
			 median);
	else
		snprintf(cell, TABLE_CELL_BYTES, "%.*f (%.*f-%.*f)",
			 places(median), median, places(min), min, places(max),
			 max);
}

static void fill_row(struct table_row *row, const void *of, size_t i)
{
	const struct pair *pair = (const struct pair *)of + i;
	size_t runs = pair->c->alternations;
	const char *metric = metrics[pair->metric].name;
	bool time = pair->metric == METRIC_TIME;
	double unit = kind_of(pair) == KIND_LATENCY ? 1000 : 1;
	char label[200];

	output_label(pair->c->workload->name, pair->c->changed, label,
		     sizeof(label));
	snprintf(row->cell[0], TABLE_CELL_BYTES, "%.50s%s%s", label,
		 time ? "" : " ", time ? "" : metric);
	snprintf(row->cell[1], TABLE_CELL_BYTES, "%u", pair->c->workers);
	snprintf(row->cell[2], TABLE_CELL_BYTES, "%s", pair->peer);
	put_spread(row->cell[3], &pair->skua, runs, unit, digits);
	put_spread(row->cell[4], &pair->other, runs, unit, digits);
	put_spread(row->cell[5], &pair->ratio, runs, 1, ratio_digits);
	strcpy(row->cell[6], loses(pair) ? "slower" : "");
	if (pair->noisy > 0)
		snprintf(row->cell[7], TABLE_CELL_BYTES, "%u of %zu",
			 pair->noisy, runs);
	else
		row->cell[7][0] = '\0';
}

static void print_pairs(FILE *file, const struct pair *pair, size_t count,
			const char *unit)
{
	char skua[32], other[32];
	const char *const head[] = {
		"workload", "workers", "peer",    skua,
		other,      "ratio",   "skua is", "noisy"
	};
	const struct table table = { .columns = 8,
				     .text = 1u << 0 | 1u << 2 | 1u << 6,
				     .head = head,
				     .count = count,
				     .fill = fill_row,
				     .of = pair };

	if (count == 0)
		return;
	snprintf(skua, sizeof(skua), "skua, %s", unit);
	snprintf(other, sizeof(other), "peer, %s", unit);
	table_print(file, &table);
	fputc('\n', file);
}

static void print_tables(FILE *file, const struct pairs *pairs)
{
	static const char *const units[KINDS] = { "ns/op", "us", "times" };
	size_t count[KINDS] = { 0 }, with_peers = 0, lost = 0;
	const struct pair *pair = pairs->pair;

	for (size_t i = 0; i < pairs->count; i++) {
		count[kind_of(&pair[i])]++;
		with_peers += with_peer(&pair[i]);
		lost += loses(&pair[i]);
	}
	fprintf(file,
		"skua is slower in %zu of %zu comparisons. Figures are medians "
		"(least-greatest) over alternations, in which processes ran "
		"in turn; a ratio is skua's time divided by the peer's; noisy "
		"is the number of alternations in which the machine was busy.",
		lost, with_peers);
	if (count[KIND_SLOWDOWN] > 0)
		fputs(" A slowdown is a call's time from its arrival to its "
		      "end, divided by its service time. `queue` is a queue "
		      "without any overhead that serves the same calls; `bare` "
		      "is threads without a scheduler, the best that is "
		      "possible on this machine.",
		      file);
	fputs("\n\n", file);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		print_pairs(file, pair, count[kind], units[kind]);
		pair += count[kind];
	}
}

/* ---- missing sides and noise ----------------------------------------------- */

static void print_side(FILE *file, const struct comparison *cmp,
		       const struct compare_case *c, unsigned side)
{
	const struct compare_side *s = &c->side[side];
	const char *name = compare_name(cmp, side);
	char label[200];

	output_label(c->workload->name, c->changed, label, sizeof(label));
	if (s->state == COMPARE_FAILED)
		fprintf(file, "- FAILED: %s: %s, %u worker%s: %s\n", name,
			label, c->workers, c->workers == 1 ? "" : "s",
			s->reason);
	else if (s->state == COMPARE_SKIPPED)
		fprintf(file, "- left out: %s: %s: %s\n", name, label,
			s->reason);
}

static void print_missing(FILE *file, const struct comparison *cmp)
{
	bool any = false;

	for (unsigned i = 0; i < cmp->peers.count; i++)
		if (cmp->peers.peer[i].workloads == NULL) {
			fprintf(file, "- FAILED: %s: does not list workloads\n",
				cmp->peers.peer[i].name);
			any = true;
		}
	for (size_t i = 0; i < cmp->count; i++)
		for (unsigned side = 0; side <= cmp->peers.count; side++) {
			print_side(file, cmp, &cmp->cases[i], side);
			any |= cmp->cases[i].side[side].reason[0] != '\0';
		}
	if (any)
		fputc('\n', file);
	peers_print_missing(file, &cmp->peers);
}

static void print_noise(FILE *file, const struct comparison *cmp)
{
	if (cmp->runs == 0)
		return;
	if (cmp->calibration.cpus == 0)
		fputs("The CPUs are unknown: noise was not checked.\n\n", file);
	fprintf(file,
		"%u runs; %u of them were repeated, because a loop of constant "
		"length before or after them took %u %% longer than its best "
		"time; %u stayed noisy%s.\n\n",
		cmp->runs, cmp->repeated, CALIBRATE_PERCENT, cmp->noisy,
		cmp->noisy >= COMPARE_NOISY_MAX
			? ". After so many noisy runs, no more were repeated: "
			  "this machine is too busy for exact figures"
			: "");
}

/* ---- versions --------------------------------------------------------------- */

/* The version that a run of the side printed; NULL: none of the cases ran. */
static const char *version_of(const struct comparison *cmp, unsigned side)
{
	for (size_t i = 0; i < cmp->count; i++) {
		json_t *run = json_array_get(cmp->cases[i].side[side].runs, 0);
		json_t *version = json_object_get(run, "version");

		if (version)
			return json_string_value(version);
	}
	return NULL;
}

/* The versions of the peers, which are those of the packages. */
static void print_versions(FILE *file, const struct comparison *cmp)
{
	const char *before = "Versions, those of the installed packages: ";

	for (unsigned side = 1; side <= cmp->peers.count; side++) {
		const char *version = version_of(cmp, side);

		if (!version)
			continue;
		fprintf(file, "%s%s %s", before, compare_name(cmp, side),
			version);
		before = ", ";
	}
	if (*before == ',')
		fputs(". Newer ones may be faster.\n\n", file);
}

/* Does @of, a comparison, have the workload? */
static bool has_case(const void *of, const char *workload)
{
	const struct comparison *cmp = of;

	for (size_t i = 0; i < cmp->count; i++) {
		if (strcmp(cmp->cases[i].workload->name, workload) == 0)
			return true;
	}
	return false;
}

void compare_print(FILE *file, const struct comparison *cmp)
{
	struct pairs pairs;

	if (make_pairs(&pairs, cmp) != 0) {
		fputs("no memory for the comparison\n\n", file);
		return;
	}
	if (pairs.count > 0)
		print_tables(file, &pairs);
	free(pairs.pair);
	print_versions(file, cmp);
	published_print(file, has_case, cmp);
	print_missing(file, cmp);
	print_noise(file, cmp);
}

/* ---- JSON ------------------------------------------------------------------ */

static json_t *spread_json(const struct spread *s)
{
	return json_pack("{s:f, s:f, s:f}", "median", s->median, "min", s->min,
			 "max", s->max);
}

static json_t *pair_json(const struct pair *pair)
{
	const struct compare_case *c = pair->c;
	bool slowdown = kind_of(pair) == KIND_SLOWDOWN;

	return json_pack("{s:s, s:O, s:i, s:s, s:s, s:i, s:i, s:o, s:o, s:o, "
			 "s:b}",
			 "workload", c->workload->name, "params", c->params,
			 "workers", (int)c->workers, "peer", pair->peer,
			 "metric", metrics[pair->metric].name, "alternations",
			 (int)c->alternations, "noisy", (int)pair->noisy,
			 slowdown ? "skua_slowdown" : "skua_ns",
			 spread_json(&pair->skua),
			 slowdown ? "peer_slowdown" : "peer_ns",
			 spread_json(&pair->other), "ratio",
			 spread_json(&pair->ratio), "slower", (int)loses(pair));
}

/* Return the row of a side that was skipped or failed. */
static json_t *side_json(const struct comparison *cmp,
			 const struct compare_case *c, unsigned side)
{
	return json_pack("{s:s, s:O, s:i, s:s, s:s}", "workload",
			 c->workload->name, "params", c->params, "workers",
			 (int)c->workers, "peer", compare_name(cmp, side),
			 c->side[side].state == COMPARE_FAILED ? "failed"
							       : "left_out",
			 c->side[side].reason);
}

static json_t *pairs_json(const struct pairs *pairs)
{
	json_t *array = json_array();

	for (size_t i = 0; i < pairs->count; i++)
		json_array_append_new(array, pair_json(&pairs->pair[i]));
	return array;
}

int compare_add_json(json_t *report, const struct comparison *cmp)
{
	json_t *comparisons, *skua = json_array(), *peers = json_array();
	struct pairs pairs;
	int err = make_pairs(&pairs, cmp);

	if (err != 0)
		return err;
	comparisons = pairs_json(&pairs);
	free(pairs.pair);
	for (size_t i = 0; i < cmp->count; i++)
		for (unsigned side = 0; side <= cmp->peers.count; side++) {
			const struct compare_case *c = &cmp->cases[i];

			json_array_extend(side == COMPARE_SKUA ? skua : peers,
					  c->side[side].runs);
			if (c->side[side].state == COMPARE_SKIPPED ||
			    c->side[side].state == COMPARE_FAILED)
				json_array_append_new(comparisons,
						      side_json(cmp, c, side));
		}
	err |= json_object_set_new(report, "peers", peers);
	err |= json_object_set_new(report, "skua_runs", skua);
	err |= json_object_set_new(report, "comparisons", comparisons);
	if (cmp->runs > 0) /* otherwise keep the calibration of skua's own
			    * measurements */
		err |= json_object_set_new(
			report, "calibration",
			json_pack("{s:I, s:i, s:i, s:i}", "best_ns",
				  (json_int_t)cmp->calibration.best_ns[0],
				  "runs", (int)cmp->runs, "repeated",
				  (int)cmp->repeated, "noisy",
				  (int)cmp->noisy));
	return err == 0 ? 0 : -ENOMEM;
}
