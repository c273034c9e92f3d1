/* SPDX-License-Identifier: MIT */
/*
 * integrate.c - compute the area below x^3 + x, from 0 to n
 *
 * Halves an interval until the trapezoids of its halves together are as large as the
 * trapezoid of the whole, within INTEGRATE_EPSILON. The function decides the number of
 * forks; there is no cut-off. An operation is a fork. (One of the examples that came
 * with Cilk 5.)
 */
#include <math.h>
#include <stdio.h>

#include "bench/workloads/fork_join/forkjoin.h"
#include "bench/kernels/kernels.h"

struct integral {
	double to, y, trapezoid; /* the interval begins at 0 */
	double area;
	double expected; /* computed serially, added in the same order */
	uint64_t forks;
};

struct integrate_job {
	struct skua_job job; /* first: it is cast back */
	double x0, y0, x1, y1, trapezoid;
	double area;
};

/*
 * The functions below differ only in what they call. Each takes an interval, the
 * function's values at its ends, and the trapezoid between these values. They are
 * separate arguments, because a struct of this size would be passed through memory.
 */

static inline double function(double x)
{
	return (x * x + 1) * x;
}

static inline double trapezoid_of(double x0, double y0, double x1, double y1)
{
	return (y0 + y1) * (x1 - x0) / 2;
}

/* ---- three ways ----------------------------------------------------------- */

static double fork_halves(struct skua_ctx ctx, double x0, double y0, double x,
			  double y, double x1, double y1, double left,
			  double right);

/* Handle a leaf in the caller, as fib.c does, because a call would cost as
 * much as a fork. */
static inline double integrate_forked(struct skua_ctx ctx, double x0, double y0,
				      double x1, double y1, double trapezoid)
{
	double x = x0 + (x1 - x0) / 2, y = function(x);
	double left = trapezoid_of(x0, y0, x, y);
	double right = trapezoid_of(x, y, x1, y1);

	if (fabs(left + right - trapezoid) < INTEGRATE_EPSILON)
		return left + right;
	return fork_halves(ctx, x0, y0, x, y, x1, y1, left, right);
}

static void run_integrate(struct skua_ctx ctx, struct skua_job *job)
{
	struct integrate_job *fork = (struct integrate_job *)job;

	fork->area = integrate_forked(ctx, fork->x0, fork->y0, fork->x1,
				      fork->y1, fork->trapezoid);
}

static double fork_halves(struct skua_ctx ctx, double x0, double y0, double x,
			  double y, double x1, double y1, double left,
			  double right)
{
	struct integrate_job fork = { .job.run = run_integrate,
				      .x0 = x0,
				      .y0 = y0,
				      .x1 = x,
				      .y1 = y,
				      .trapezoid = left };
	struct skua_ctx inner = skua_fork(ctx, &fork.job);
	double area = integrate_forked(inner, x, y, x1, y1, right);

	if (skua_reclaim(inner, &fork.job))
		return area + integrate_forked(ctx, x0, y0, x, y, left);
	return area + fork.area;
}

FORKJOIN_CALL static double integrate_serial(double x0, double y0, double x1,
					     double y1, double trapezoid)
{
	double x = x0 + (x1 - x0) / 2, y = function(x);
	double left = trapezoid_of(x0, y0, x, y);
	double right = trapezoid_of(x, y, x1, y1);

	if (fabs(left + right - trapezoid) < INTEGRATE_EPSILON)
		return left + right;
	return integrate_serial(x, y, x1, y1, right) +
	       integrate_serial(x0, y0, x, y, left);
}

static double integrate_inlined(double x0, double y0, double x1, double y1,
				double trapezoid)
{
	double x = x0 + (x1 - x0) / 2, y = function(x);
	double left = trapezoid_of(x0, y0, x, y);
	double right = trapezoid_of(x, y, x1, y1);

	if (fabs(left + right - trapezoid) < INTEGRATE_EPSILON)
		return left + right;
	return integrate_inlined(x, y, x1, y1, right) +
	       integrate_inlined(x0, y0, x, y, left);
}

/* ---- the case ------------------------------------------------------------- */

static double integrate_counted(double x0, double y0, double x1, double y1,
				double trapezoid, uint64_t *forks)
{
	double x = x0 + (x1 - x0) / 2, y = function(x);
	double left = trapezoid_of(x0, y0, x, y);
	double right = trapezoid_of(x, y, x1, y1);
	double area;

	if (fabs(left + right - trapezoid) < INTEGRATE_EPSILON)
		return left + right;
	++*forks;
	area = integrate_counted(x, y, x1, y1, right, forks);
	return area + integrate_counted(x0, y0, x, y, left, forks);
}

static int make(void *of, uint64_t n, uint64_t *forks, uint64_t *ops)
{
	struct integral *integral = of;

	*forks = 0;
	integral->to = (double)n;
	integral->y = function(integral->to);
	integral->trapezoid = trapezoid_of(0, 0, integral->to, integral->y);
	integral->expected = integrate_counted(0, 0, integral->to, integral->y,
					       integral->trapezoid, forks);
	*ops = *forks;
	return 0;
}

static void clear(void *of)
{
	((struct integral *)of)->area = -1;
}

static void root(struct skua_ctx ctx, void *of)
{
	struct integral *integral = of;

	integral->area = integrate_forked(ctx, 0, 0, integral->to, integral->y,
					  integral->trapezoid);
}

static void serial(void *of)
{
	struct integral *integral = of;

	integral->area = integrate_serial(0, 0, integral->to, integral->y,
					  integral->trapezoid);
}

static void inlined(void *of)
{
	struct integral *integral = of;

	integral->area = integrate_inlined(0, 0, integral->to, integral->y,
					   integral->trapezoid);
}

/* The area must equal the serially computed one to the last bit, and be
 * close to the exact integral. */
static bool check(const void *of)
{
	const struct integral *integral = of;
	double square = integral->to * integral->to;
	double area = square * square / 4 + square / 2;

	if (integral->area == integral->expected &&
	    fabs(integral->area - area) < area * 1e-6)
		return true;
	fprintf(stderr, "integrate: %.17g, not %.17g; in truth %.17g\n",
		integral->area, integral->expected, area);
	return false;
}

FORKJOIN_WORKLOAD(integrate,
		  "Integrate x^3 + x by halving intervals, one fork for each",
		  "From 0 to where (default 500)", INTEGRATE_N, .min_n = 1,
		  .max_n = 1000000, .make = make,
		  .bytes = sizeof(struct integral), .clear = clear,
		  .root = root, .serial = serial, .inlined = inlined,
		  .check = check);
