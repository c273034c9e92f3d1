/* SPDX-License-Identifier: MIT */
/* changes.c - see changes.h */
#include "bench/changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ranks.h"

/* The values of a row in one file. */
struct sample {
	double *values; /* owned */
	size_t count;
	size_t runs;
	double least, most; /* of the medians of runs */
	bool noisy;         /* beside all */
	bool wrong;         /* one of them */
};

/* ---- samples --------------------------------------------------------------- */

static bool is_quiet(json_t *run)
{
	return !json_is_true(json_object_get(run, "noisy"));
}

/* A wrong result's time says nothing. */
static bool is_right(json_t *run)
{
	return json_is_true(json_object_get(run, "ok"));
}

static bool is_used(const struct sample *sample, json_t *run)
{
	return is_right(run) && (sample->noisy || is_quiet(run));
}

static void look(struct sample *sample, json_t *runs, size_t *values)
{
	json_t *run;
	size_t i;

	sample->noisy = true;
	*values = 0;
	json_array_foreach(runs, i, run)
	{
		sample->wrong |= !is_right(run);
		if (is_right(run) && is_quiet(run))
			sample->noisy = false;
		*values += json_array_size(json_object_get(run, "values"));
	}
}

static void take(struct sample *sample, json_t *run)
{
	double median = json_number_value(json_object_get(run, "median"));
	json_t *value;
	size_t i;

	json_array_foreach(json_object_get(run, "values"), i, value)
	{
		sample->values[sample->count++] = json_number_value(value);
	}
	if (sample->runs == 0 || median < sample->least)
		sample->least = median;
	if (sample->runs == 0 || median > sample->most)
		sample->most = median;
	sample->runs++;
}

/* Return: 0; -ENOMEM. */
static int make_sample(struct sample *sample, json_t *row)
{
	json_t *runs = json_object_get(row, "runs"), *run;
	size_t values, i;

	*sample = (struct sample){ 0 };
	look(sample, runs, &values);
	sample->values = calloc(values + 1, sizeof(*sample->values));
	if (sample->values == NULL)
		return -ENOMEM;
	json_array_foreach(runs, i, run)
	{
		if (is_used(sample, run))
			take(sample, run);
	}
	return 0;
}

/* ---- a row ----------------------------------------------------------------- */

static bool overlap(const struct sample *a, const struct sample *b)
{
	return a->least <= b->most && b->least <= a->most;
}

/* But for the correction, which wants all rows; until then a change that there may
 * be is told by its direction. */
static enum change_verdict judge(const struct change *change,
				 const struct sample *a, const struct sample *b,
				 double least)
{
	if (b->wrong)
		return CHANGE_WRONG;
	if (a->count == 0 ||
	    ranks_least(a->count, b->count) > CHANGES_SIGNIFICANCE)
		return CHANGE_FEW;
	if (fmax(change->by, 1 / (1 + change->by) - 1) <
		    (change->single ? 2 * least : least) ||
	    overlap(a, b))
		return CHANGE_SAME;
	if (a->noisy || b->noisy)
		return CHANGE_NOISY;
	return change->by > 0 ? CHANGE_SLOWER : CHANGE_FASTER;
}

static int compare_samples(struct change *change, const struct sample *a,
			   const struct sample *b, double least)
{
	change->values[0] = a->count;
	change->values[1] = b->count;
	change->single = a->runs < 2 || b->runs < 2;
	change->p = change->corrected = 1;
	if (a->count > 0 && b->count > 0) {
		change->ns[0] = ranks_median(a->values, a->count);
		change->ns[1] = ranks_median(b->values, b->count);
		change->by = change->ns[1] / change->ns[0] - 1;
		change->p =
			ranks_test(a->values, a->count, b->values, b->count);
	}
	change->verdict = judge(change, a, b, least);
	return change->p < 0 ? -ENOMEM : 0;
}

static int compare_rows(struct change *change, json_t *a, json_t *b,
			double least)
{
	struct sample samples[2] = { { 0 }, { 0 } };
	int err = make_sample(&samples[0], a);

	change->row = b;
	if (err == 0)
		err = make_sample(&samples[1], b);
	if (err == 0)
		err = compare_samples(change, &samples[0], &samples[1], least);
	free(samples[0].values);
	free(samples[1].values);
	return err;
}

/* ---- all rows -------------------------------------------------------------- */

static bool was_tested(const struct change *change)
{
	return change->verdict != CHANGE_FEW && change->verdict != CHANGE_WRONG;
}

/* Those that were tested first, the less likely ones before. */
static int compare_p(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (was_tested(x) != was_tested(y))
		return was_tested(x) ? -1 : 1;
	return (x->p > y->p) - (x->p < y->p);
}

static int correct(struct changes *changes)
{
	double *p = calloc(changes->count + 1, sizeof(*p));
	size_t tested = 0;

	if (p == NULL)
		return -ENOMEM;
	qsort(changes->change, changes->count, sizeof(*changes->change),
	      compare_p);
	while (tested < changes->count &&
	       was_tested(&changes->change[tested])) {
		p[tested] = changes->change[tested].p;
		tested++;
	}
	ranks_correct(p, tested);
	for (size_t i = 0; i < tested; i++) {
		struct change *change = &changes->change[i];

		change->corrected = p[i];
		if (p[i] > CHANGES_SIGNIFICANCE)
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

int changes_find(struct changes *out, json_t *const files[2], double least)
{
	json_t *rows[2] = { json_object_get(files[0], "rows"),
			    json_object_get(files[1], "rows") };
	const char *key;
	json_t *row;
	int err = 0;

	*out = (struct changes){
		.change = calloc(json_object_size(rows[1]) + 1,
				 sizeof(*out->change)),
	};
	if (out->change == NULL)
		return -ENOMEM;
	json_object_foreach(rows[1], key, row)
	{
		json_t *before = json_object_get(rows[0], key);

		if (before != NULL && err == 0)
			err = compare_rows(&out->change[out->count++], before,
					   row, least);
	}
	out->only[0] = json_object_size(rows[0]) - out->count;
	out->only[1] = json_object_size(rows[1]) - out->count;
	if (err == 0)
		err = correct(out);
	for (size_t i = 0; i < out->count; i++)
		out->counts[out->change[i].verdict]++;
	if (err == 0)
		qsort(out->change, out->count, sizeof(*out->change),
		      compare_changes);
	else
		changes_free(out);
	return err;
}

void changes_free(struct changes *changes)
{
	free(changes->change);
	changes->change = NULL;
}

const char *changes_word(enum change_verdict verdict)
{
	static const char *const words[CHANGE_VERDICTS] = {
		[CHANGE_SLOWER] = "slower", [CHANGE_FASTER] = "faster",
		[CHANGE_SAME] = "same",     [CHANGE_FEW] = "too few",
		[CHANGE_NOISY] = "noisy",   [CHANGE_WRONG] = "wrong",
	};

	return words[verdict];
}
