/* SPDX-License-Identifier: MIT */
/* forkjoin.c - see forkjoin.h */
#include "bench/workloads/fork_join/forkjoin.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bpf/cli/args.h"
#include "bench/harness/clock.h"
#include "bench/harness/measure.h"

/* The ways to make the call: T, T1, Ts, Ti and Th of forkjoin.h. */
enum way { WAY_ROUND, WAY_ONE, WAY_SERIAL, WAY_INLINED, WAY_BY_HAND, WAYS };

/*
 * The times of one round's calls, in ns, by way: wall-clock time, and CPU time of the
 * calling thread. With one worker the CPU time covers the whole call, and other
 * processes that compete for the CPU do not change it.
 */
struct sample {
	double ns[WAYS];
	double cpu_ns[WAYS];
};

struct forkjoin {
	const struct forkjoin_case *what;
	void *of;
	struct skua_runtime *rt;  /* NULL: the round is serial, too */
	struct skua_runtime *one; /* has one worker; may be @rt */
	unsigned workers;
	uint64_t ops;
	uint64_t forks;
	bool alone;
	bool ok; /* every answer except those of rounds was right */
	unsigned samples;
	double round_cpu_ns; /* CPU time of the last round */
	struct sample sample[MEASURE_MAX_ROUNDS];
	double sorted[MEASURE_MAX_ROUNDS];
};

/* ---- the state ------------------------------------------------------------ */

/* Set @one, the runtime on which T1 is measured. */
static int open_one(struct forkjoin *fj, const struct workload_run *run)
{
	const struct skua_config config = { .size = sizeof(config),
					    .workers = 1 };
	struct skua_error error;

	fj->rt = run->rt;
	fj->one = run->rt;
	if (run->workers <= 1 || fj->alone)
		return 0;
	return skua_runtime_create(&fj->one, &config, &error);
}

int forkjoin_open(struct workload_run *run, const struct forkjoin_case *what,
		  void *of, uint64_t forks, bool alone)
{
	struct forkjoin *fj = calloc(1, sizeof(*fj));
	int err;

	if (fj == NULL)
		return -ENOMEM;
	fj->what = what;
	fj->of = of;
	fj->workers = run->workers;
	fj->ops = run->ops;
	fj->forks = forks;
	fj->alone = alone;
	fj->ok = true;
	err = open_one(fj, run);
	if (err != 0)
		free(fj);
	else
		run->state = fj;
	return err;
}

void *forkjoin_of(const struct workload_run *run)
{
	return ((const struct forkjoin *)run->state)->of;
}

void forkjoin_close(struct workload_run *run)
{
	struct forkjoin *fj = run->state;

	if (fj->one != fj->rt)
		skua_runtime_destroy(fj->one);
	free(fj);
}

/* ---- rounds --------------------------------------------------------------- */

static void clear(const struct forkjoin *fj)
{
	if (fj->what->clear != NULL)
		fj->what->clear(fj->of);
}

void forkjoin_prepare(struct workload_run *run)
{
	clear(run->state);
}

static int call(const struct forkjoin *fj, enum way way)
{
	const struct forkjoin_case *what = fj->what;
	struct skua_runtime *rt = way == WAY_ROUND ? fj->rt : fj->one;

	if (way == WAY_BY_HAND)
		what->by_hand(fj->of, fj->workers);
	else if (way == WAY_INLINED && what->inlined != NULL)
		what->inlined(fj->of);
	else if (way >= WAY_SERIAL || rt == NULL)
		what->serial(fj->of);
	else
		return skua_run(rt, what->root, fj->of);
	return 0;
}

static double cpu_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int forkjoin_round(struct workload_run *run)
{
	struct forkjoin *fj = run->state;
	double start_ns = cpu_now_ns();
	int err = call(fj, WAY_ROUND);

	fj->round_cpu_ns = cpu_now_ns() - start_ns;
	return err;
}

/* Check the answer of this round. @ok covers the calls that
 * forkjoin_sample() made after the earlier rounds. */
bool forkjoin_check(struct workload_run *run)
{
	const struct forkjoin *fj = run->state;

	return fj->what->check(fj->of) && fj->ok;
}

static void time_call(struct forkjoin *fj, enum way way, struct sample *sample)
{
	double start_cpu_ns;
	uint64_t start_ns;

	clear(fj);
	start_cpu_ns = cpu_now_ns();
	start_ns = clock_ns();
	if (call(fj, way) != 0)
		fj->ok = false;
	sample->ns[way] = (double)(clock_ns() - start_ns);
	sample->cpu_ns[way] = cpu_now_ns() - start_cpu_ns;
	fj->ok = fj->what->check(fj->of) && fj->ok;
}

/* Return an earlier way whose times this way shares, because it would be the
 * same call or does not exist here; @way itself if it must be timed. */
static enum way same_as(const struct forkjoin *fj, enum way way)
{
	if (fj->rt == NULL && way <= WAY_SERIAL)
		return WAY_ROUND;
	if (way == WAY_ONE && fj->one == fj->rt)
		return WAY_ROUND;
	if (way == WAY_INLINED && fj->what->inlined == NULL)
		return WAY_SERIAL;
	if (way == WAY_BY_HAND && (fj->rt == NULL || fj->what->by_hand == NULL))
		return WAY_ROUND;
	return way;
}

double forkjoin_sample(struct workload_run *run, uint64_t round_ns)
{
	struct forkjoin *fj = run->state;
	struct sample *sample = &fj->sample[fj->samples++];
	double time_ns = (double)round_ns / (double)run->ops;

	if (fj->alone)
		return time_ns;
	sample->ns[WAY_ROUND] = (double)round_ns;
	sample->cpu_ns[WAY_ROUND] = fj->round_cpu_ns;
	for (enum way way = WAY_ONE; way < WAYS; way++) {
		enum way same = same_as(fj, way);

		if (same == way)
			time_call(fj, way, sample);
		sample->ns[way] = sample->ns[same];
		sample->cpu_ns[way] = sample->cpu_ns[same];
	}
	return time_ns;
}

/* ---- figures -------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Return the median of @value over all samples. */
static double median(struct forkjoin *fj,
		     double (*value)(const struct forkjoin *fj,
				     const struct sample *sample))
{
	unsigned n = fj->samples;

	for (unsigned i = 0; i < n; i++)
		fj->sorted[i] = value(fj, &fj->sample[i]);
	qsort(fj->sorted, n, sizeof(double), compare_doubles);
	return (fj->sorted[(n - 1) / 2] + fj->sorted[n / 2]) / 2;
}

static double one_ns(const struct forkjoin *fj, const struct sample *s)
{
	return s->cpu_ns[WAY_ONE] / (double)fj->ops;
}

static double serial_ns(const struct forkjoin *fj, const struct sample *s)
{
	return s->cpu_ns[WAY_SERIAL] / (double)fj->ops;
}

static double inlined_ns(const struct forkjoin *fj, const struct sample *s)
{
	return s->cpu_ns[WAY_INLINED] / (double)fj->ops;
}

static double ns_per_fork(const struct forkjoin *fj, const struct sample *s)
{
	return (s->cpu_ns[WAY_ONE] - s->cpu_ns[WAY_INLINED]) /
	       (double)fj->forks;
}

static double overhead(const struct forkjoin *fj, const struct sample *s)
{
	(void)fj;
	return s->cpu_ns[WAY_ONE] / s->cpu_ns[WAY_SERIAL];
}

static double speedup(const struct forkjoin *fj, const struct sample *s)
{
	(void)fj;
	return s->ns[WAY_SERIAL] / s->ns[WAY_ROUND];
}

static double by_hand_ns(const struct forkjoin *fj, const struct sample *s)
{
	return s->ns[WAY_BY_HAND] / (double)fj->ops;
}

static double by_hand_ratio(const struct forkjoin *fj, const struct sample *s)
{
	(void)fj;
	return s->ns[WAY_BY_HAND] / s->ns[WAY_ROUND];
}

static json_t *rounded(double value)
{
	return json_real(round(value * 1000) / 1000);
}

/* Add a member. Return: @figures; NULL if there is no memory. */
static json_t *add(json_t *figures, const char *name, double value)
{
	if (json_object_set_new(figures, name, rounded(value)) == 0)
		return figures;
	json_decref(figures);
	return NULL;
}

json_t *forkjoin_figures(struct workload_run *run)
{
	struct forkjoin *fj = run->state;
	bool counted = fj->forks != FORKJOIN_ADAPTIVE;
	json_t *figures =
		counted ? json_pack("{s:I}", "forks", (json_int_t)fj->forks)
			: json_object();

	if (fj->alone)
		return figures;
	figures = add(figures, "serial_ns", median(fj, serial_ns));
	figures = add(figures, "serial_inlined_ns", median(fj, inlined_ns));
	if (fj->rt == NULL)
		return figures;
	figures = add(figures, "one_worker_ns", median(fj, one_ns));
	figures = add(figures, "overhead", median(fj, overhead));
	figures = add(figures, "speedup", median(fj, speedup));
	if (counted && fj->forks > 0)
		figures = add(figures, "ns_per_fork", median(fj, ns_per_fork));
	if (fj->what->by_hand != NULL) {
		figures = add(figures, "by_hand_ns", median(fj, by_hand_ns));
		figures = add(figures, "by_hand_ratio",
			      median(fj, by_hand_ratio));
	}
	return figures;
}

/* ---- workloads with struct forkjoin_options ------------------------------- */

static void free_data(const struct forkjoin_case *what, void *of)
{
	if (what->unmake != NULL)
		what->unmake(of);
	free(of);
}

int forkjoin_setup(struct workload_run *run)
{
	const struct forkjoin_options *options = run->options;
	const struct forkjoin_case *what = options->what;
	uint64_t forks = 0;
	void *of = calloc(1, what->bytes);
	int err;

	if (of == NULL)
		return -ENOMEM;
	err = what->make(of, options->n, &forks, &run->ops);
	if (err == 0)
		err = forkjoin_open(run, what, of, forks, options->alone);
	if (err != 0)
		free_data(what, of);
	return err;
}

void forkjoin_teardown(struct workload_run *run)
{
	const struct forkjoin_options *options = run->options;
	void *of = forkjoin_of(run);

	forkjoin_close(run);
	free_data(options->what, of);
}

error_t forkjoin_parse_n(void *input, char *text)
{
	struct forkjoin_options *options = input;

	return args_number("--n", text, options->what->min_n,
			   options->what->max_n, &options->n);
}

json_t *forkjoin_add_params(json_t *params,
			    const struct forkjoin_options *options)
{
	if (params != NULL && options->serial)
		json_object_set_new(params, "serial", json_true());
	if (params != NULL && options->alone)
		json_object_set_new(params, "alone", json_true());
	return params;
}

json_t *forkjoin_params(const void *arg)
{
	const struct forkjoin_options *options = arg;

	return forkjoin_add_params(
		json_pack("{s:I}", "n", (json_int_t)options->n), options);
}

bool forkjoin_serial(const void *options)
{
	return ((const struct forkjoin_options *)options)->serial;
}
