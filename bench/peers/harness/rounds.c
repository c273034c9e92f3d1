/* SPDX-License-Identifier: MIT */
/* rounds.c - run the rounds of a case, and print their times */
#include <stdio.h>
#include <stdlib.h>

#include "bench/harness/clock.h"
#include "bench/peers/harness/case.h"

/* ---- for the cases -------------------------------------------------------- */

void *harness_memory(size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (memory == NULL) {
		fputs("no memory\n", stderr);
		exit(1);
	}
	return memory;
}

bool harness_is_right(const char *name, uint64_t answer, uint64_t expected)
{
	if (answer == expected)
		return true;
	fprintf(stderr, "%s: %ju, not %ju\n", name, (uintmax_t)answer,
		(uintmax_t)expected);
	return false;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void harness_sort(double *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), compare);
}

/* ---- printing ------------------------------------------------------------- */

/* The results of the rounds. @times are the times of an operation in each
 * round, sorted. */
struct result {
	const struct harness_run *run;
	const struct harness *h;
	uint64_t ops;
	const double *times;
	bool ok;
};

static double median(const struct result *r)
{
	unsigned n = r->run->rounds;

	return (r->times[(n - 1) / 2] + r->times[n / 2]) / 2;
}

static void print_params(const struct result *r)
{
	const struct harness_case *what = r->run->what;

	if (what->params != NULL)
		what->params(r->h, stdout);
	else
		printf("{\"n\":%u}", r->h->n);
}

static void print_text(const struct result *r)
{
	const struct harness_run *run = r->run;
	unsigned n = run->rounds;

	printf("%s %s: %s ", run->peer->name, run->peer->version,
	       run->what->name);
	print_params(r);
	printf(", %u workers: %.1f ns/op (%.1f to %.1f in %u rounds of %ju "
	       "ops), %s\n",
	       r->h->workers, median(r), r->times[0], r->times[n - 1], n,
	       (uintmax_t)r->ops, r->ok ? "ok" : "WRONG RESULT");
}

static void print_json(const struct result *r)
{
	const struct harness_run *run = r->run;
	unsigned n = run->rounds;

	printf("{\"peer\":\"%s\",\"version\":\"%s\",\"workload\":\"%s\","
	       "\"params\":",
	       run->peer->name, run->peer->version, run->what->name);
	print_params(r);
	printf(",\"workers\":%u,\"rounds\":%u,\"ops\":%ju,\"ns_per_op\":%.2f,"
	       "\"min\":%.2f,\"max\":%.2f,\"ok\":%s",
	       r->h->workers, n, (uintmax_t)r->ops, median(r), r->times[0],
	       r->times[n - 1], r->ok ? "true" : "false");
	if (run->what->figures != NULL)
		run->what->figures(stdout);
	puts("}");
}

/* ---- rounds --------------------------------------------------------------- */

/* Run one round. Return: the time of an operation, in ns. */
static double time_round(const struct harness_run *run, struct harness *h,
			 uint64_t ops, bool timed)
{
	uint64_t start;

	if (run->what->time != NULL)
		return run->what->time(h, run->run, timed);
	start = clock_ns();
	run->run(h);
	return (double)(clock_ns() - start) / (double)ops;
}

bool harness_measure(const struct harness_run *run, struct harness *h)
{
	static double times[HARNESS_ROUNDS_MAX];
	const struct harness_case *what = run->what;
	struct result result = {
		.run = run,
		.h = h,
		.ops = what->count != NULL ? what->count(h) : what->ops,
		.times = times,
		.ok = true,
	};

	if (run->peer->start != NULL)
		run->peer->start(h);
	for (unsigned round = 0; round <= run->rounds; round++) {
		bool timed = round > 0;
		double time;

		what->prepare(h);
		time = time_round(run, h, result.ops, timed);
		result.ok = what->check(h) && result.ok;
		if (timed)
			times[round - 1] = time;
	}
	harness_sort(times, run->rounds);
	if (run->json)
		print_json(&result);
	else
		print_text(&result);
	return result.ok;
}
