/* SPDX-License-Identifier: MIT */
/* report_diff.c - see report_diff.h */
#include "bench/report/diff/report_diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report/diff/mann_whitney.h"

/* The values of one figure of a row in one file. */
struct sample {
	double *values; /* owned */
	size_t count;
	double *medians; /* median of each run, owned */
	size_t runs;
	bool noisy; /* all runs were noisy */
};

/* ---- samples --------------------------------------------------------------- */

static bool is_quiet(json_t *run)
{
	return !json_is_true(json_object_get(run, "noisy"));
}

/* Return whether the run's result was right. The time of a wrong result has
 * no meaning. */
static bool is_right(json_t *run)
{
	return json_is_true(json_object_get(run, "ok"));
}

static bool is_used(const struct sample *sample, json_t *run)
{
	return is_right(run) && (sample->noisy || is_quiet(run));
}

static json_t *values_of(json_t *run, const char *figure)
{
	return json_object_get(json_object_get(run, "figures"), figure);
}

static void look(struct sample *sample, json_t *runs, const char *figure,
		 size_t *most)
{
	json_t *run;
	size_t i;

	sample->noisy = true;
	*most = 0;
	json_array_foreach(runs, i, run)
	{
		if (is_right(run) && is_quiet(run))
			sample->noisy = false;
		*most += json_array_size(values_of(run, figure));
	}
}

static void take(struct sample *sample, json_t *values)
{
	double *first = sample->values + sample->count;
	json_t *value;
	size_t i;

	if (json_array_size(values) == 0)
		return;
	json_array_foreach(values, i, value)
	{
		first[i] = json_number_value(value);
	}
	sample->count += i;
	sample->medians[sample->runs++] = mann_whitney_median(first, i);
}

/* Collect the values of a figure. Return: 0; -ENOMEM. */
static int make_sample(struct sample *sample, json_t *row, const char *figure)
{
	json_t *runs = json_object_get(row, "runs"), *run;
	size_t most, i;

	*sample = (struct sample){ 0 };
	look(sample, runs, figure, &most);
	sample->values = calloc(most + 1, sizeof(*sample->values));
	sample->medians =
		calloc(json_array_size(runs) + 1, sizeof(*sample->medians));
	if (sample->values == NULL || sample->medians == NULL)
		return -ENOMEM;
	json_array_foreach(runs, i, run)
	{
		if (is_used(sample, run))
			take(sample, values_of(run, figure));
	}
	return 0;
}

static void free_sample(struct sample *sample)
{
	free(sample->values);
	free(sample->medians);
}

/* ---- a figure -------------------------------------------------------------- */

/* Return the verdict on a figure by itself: a change that is large enough is slower or
 * faster. The tests, with the correction for all figures, come later and may turn it into
 * no change. */
static enum change_verdict judge(const struct change *change,
				 const struct sample *a, const struct sample *b,
				 double least)
{
	if (a->count == 0 || b->count == 0)
		return CHANGE_FEW;
	if (a->noisy || b->noisy)
		return CHANGE_NOISY;
	if (fmax(change->by, 1 / (1 + change->by) - 1) < least)
		return CHANGE_SAME;
	return change->by > 0 ? CHANGE_SLOWER : CHANGE_FASTER;
}

static double least_of(const struct change *change, double least)
{
	bool known = strcmp(change->figure, REPORT_DIFF_INSTRUCTIONS) == 0;

	return change->single && !known ? 2 * least : least;
}

static int compare_samples(struct change *change, const struct sample *a,
			   const struct sample *b, double least)
{
	change->values[0] = a->count;
	change->values[1] = b->count;
	change->runs[0] = a->runs;
	change->runs[1] = b->runs;
	change->single = a->runs < 2 || b->runs < 2;
	if (a->count > 0 && b->count > 0) {
		change->median[0] = mann_whitney_median(a->values, a->count);
		change->median[1] = mann_whitney_median(b->values, b->count);
		change->by = change->median[1] / change->median[0] - 1;
		change->p = mann_whitney_test(a->values, a->count, b->values,
					      b->count);
		change->runs_p = mann_whitney_test(a->medians, a->runs,
						   b->medians, b->runs);
	}
	change->verdict = judge(change, a, b, least_of(change, least));
	return change->p < 0 || change->runs_p < 0 ? -ENOMEM : 0;
}

static struct change *add_change(struct report_diff *diff, json_t *row,
				 const char *figure)
{
	struct change *change = &diff->change[diff->count++];

	*change = (struct change){ .row = row,
				   .figure = figure,
				   .p = 1,
				   .corrected = 1,
				   .runs_p = 1 };
	return change;
}

static int compare_figure(struct report_diff *diff, json_t *const rows[2],
			  const char *figure, double least)
{
	struct change *change = add_change(diff, rows[1], figure);
	struct sample samples[2] = { { 0 }, { 0 } };
	int err = make_sample(&samples[0], rows[0], figure);

	if (err == 0)
		err = make_sample(&samples[1], rows[1], figure);
	if (err == 0)
		err = compare_samples(change, &samples[0], &samples[1], least);
	free_sample(&samples[0]);
	free_sample(&samples[1]);
	return err;
}

/* ---- a row ----------------------------------------------------------------- */

static bool is_wrong(json_t *row)
{
	json_t *runs = json_object_get(row, "runs"), *run;
	size_t i;

	json_array_foreach(runs, i, run)
	{
		if (!is_right(run))
			return true;
	}
	return false;
}

static json_t *figures_of(json_t *row)
{
	return json_object_get(row, "figures");
}

/* Add a row with a wrong result as a change, whatever its figures are. */
static void add_wrong(struct report_diff *diff, json_t *row)
{
	add_change(diff, row, REPORT_DIFF_TIME)->verdict = CHANGE_WRONG;
}

/* Note the figures of a row that only one file has. */
static int note_others(struct report_diff *diff, json_t *const rows[2])
{
	const char *figure;
	json_t *unused;
	int err = 0;

	for (unsigned f = 0; f < 2; f++)
		json_object_foreach(figures_of(rows[f]), figure, unused)
		{
			if (json_object_get(figures_of(rows[!f]), figure))
				continue;
			err |= json_object_set_new(diff->figures[f], figure,
						   json_null());
		}
	return err != 0 ? -ENOMEM : 0;
}

static int compare_rows(struct report_diff *diff, json_t *const rows[2],
			double least)
{
	const char *figure;
	json_t *unused;
	int err;

	if (is_wrong(rows[1])) {
		add_wrong(diff, rows[1]);
		return 0;
	}
	err = note_others(diff, rows);
	json_object_foreach(figures_of(rows[1]), figure, unused)
	{
		if (err == 0 && json_object_get(figures_of(rows[0]), figure))
			err = compare_figure(diff, rows, figure, least);
	}
	return err;
}

/* ---- all rows -------------------------------------------------------------- */

static bool was_tested(const struct change *change)
{
	return change->verdict != CHANGE_FEW && change->verdict != CHANGE_WRONG;
}

static double least_p(const struct change *change)
{
	return mann_whitney_min_p(change->values[0], change->values[1]);
}

/* Mark the figures with too few values, and leave them out of the correction: among this
 * many figures, chance would explain even their greatest possible change. */
static int leave_out(struct report_diff *diff)
{
	double *least = calloc(diff->count + 1, sizeof(*least));
	double limit;
	size_t tested = 0;

	if (least == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < diff->count; i++)
		if (was_tested(&diff->change[i]))
			least[tested++] = least_p(&diff->change[i]);
	limit = mann_whitney_tarone(least, tested, REPORT_DIFF_SIGNIFICANCE);
	for (size_t i = 0; i < diff->count; i++) {
		struct change *change = &diff->change[i];

		if (was_tested(change) && least_p(change) > limit)
			change->verdict = CHANGE_FEW;
	}
	free(least);
	return 0;
}

/* Order tested figures first, by ascending probability. */
static int compare_p(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (was_tested(x) != was_tested(y))
		return was_tested(x) ? -1 : 1;
	return (x->p > y->p) - (x->p < y->p);
}

/* Return whether the runs differ by more than chance explains. If there are too few runs to
 * tell, the medians of all runs of one file must be above those of the other file. */
static bool runs_differ(const struct change *change, size_t tested)
{
	double limit =
		fmax(mann_whitney_min_p(change->runs[0], change->runs[1]),
		     REPORT_DIFF_SIGNIFICANCE / (double)tested);

	return change->runs_p <= limit * (1 + 1e-9); /* for rounding */
}

static int correct(struct report_diff *diff)
{
	double *p = calloc(diff->count + 1, sizeof(*p));
	size_t tested = 0;

	if (p == NULL)
		return -ENOMEM;
	qsort(diff->change, diff->count, sizeof(*diff->change), compare_p);
	while (tested < diff->count && was_tested(&diff->change[tested])) {
		p[tested] = diff->change[tested].p;
		tested++;
	}
	mann_whitney_holm(p, tested);
	for (size_t i = 0; i < tested; i++) {
		struct change *change = &diff->change[i];

		change->corrected = p[i];
		/* Keep the verdict of a noisy figure: noise can also hide a
		 * change. */
		if (change->verdict != CHANGE_NOISY &&
		    (p[i] > REPORT_DIFF_SIGNIFICANCE ||
		     !runs_differ(change, tested)))
			change->verdict = CHANGE_SAME;
	}
	free(p);
	return 0;
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	double by_x = fabs(log(1 + x->by)), by_y = fabs(log(1 + y->by));

	if (x->verdict != y->verdict)
		return x->verdict < y->verdict ? -1 : 1;
	return (by_x < by_y) - (by_x > by_y);
}

/* Return the greatest possible number of changes. */
static size_t room_for(json_t *rows)
{
	const char *key;
	size_t room = 1;
	json_t *row;

	json_object_foreach(rows, key, row)
	{
		room += json_object_size(figures_of(row));
	}
	return room;
}

/* Compare the rows that both files have. */
static int compare_all(struct report_diff *out, json_t *const rows[2],
		       double least)
{
	const char *key;
	json_t *row;
	int err = 0;

	json_object_foreach(rows[1], key, row)
	{
		json_t *const both[] = { json_object_get(rows[0], key), row };

		if (both[0] != NULL && err == 0)
			err = compare_rows(out, both, least);
		out->rows += both[0] != NULL;
	}
	return err;
}

/* List the rows that only one file has. A wrong result in the second file is
 * a change even without a counterpart. */
static int list_others(struct report_diff *out, json_t *const rows[2])
{
	const char *key;
	json_t *row;

	for (unsigned f = 0; f < 2; f++)
		json_object_foreach(rows[f], key, row)
		{
			if (json_object_get(rows[!f], key) != NULL)
				continue;
			if (json_array_append(out->only[f], row) != 0)
				return -ENOMEM;
			if (f == 1 && is_wrong(row))
				add_wrong(out, row);
		}
	return 0;
}

int report_diff_find(struct report_diff *out, json_t *const files[2],
		     double least)
{
	json_t *rows[2] = { json_object_get(files[0], "rows"),
			    json_object_get(files[1], "rows") };
	int err;

	*out = (struct report_diff){
		.change = calloc(room_for(rows[1]), sizeof(*out->change)),
		.only = { json_array(), json_array() },
		.figures = { json_object(), json_object() },
	};
	err = out->change != NULL ? compare_all(out, rows, least) : -ENOMEM;
	if (err == 0)
		err = list_others(out, rows);
	if (err == 0)
		err = leave_out(out);
	if (err == 0)
		err = correct(out);
	if (err != 0) {
		report_diff_free(out);
		return err;
	}
	for (size_t i = 0; i < out->count; i++)
		out->counts[out->change[i].verdict]++;
	qsort(out->change, out->count, sizeof(*out->change), compare_changes);
	return 0;
}

void report_diff_free(struct report_diff *diff)
{
	free(diff->change);
	diff->change = NULL;
	for (unsigned f = 0; f < 2; f++) {
		json_decref(diff->only[f]);
		json_decref(diff->figures[f]);
		diff->only[f] = diff->figures[f] = NULL;
	}
}

size_t report_diff_judged(const struct report_diff *diff)
{
	return diff->counts[CHANGE_SLOWER] + diff->counts[CHANGE_FASTER] +
	       diff->counts[CHANGE_SAME];
}

const char *report_diff_word(enum change_verdict verdict)
{
	static const char *const words[CHANGE_VERDICTS] = {
		[CHANGE_SLOWER] = "slower", [CHANGE_FASTER] = "faster",
		[CHANGE_SAME] = "same",     [CHANGE_FEW] = "too few",
		[CHANGE_NOISY] = "noisy",   [CHANGE_WRONG] = "wrong",
	};

	return words[verdict];
}
