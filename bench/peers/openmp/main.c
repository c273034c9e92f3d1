/* SPDX-License-Identifier: MIT */
/*
 * main.c - OpenMP tasks on those workloads of skua-bench that suit a fork-join pool
 *
 *   spawn_many_local   20 parallel regions: in each, one thread makes 10,000
 *                      empty tasks; the end of the region waits for them
 *   spawn_many_worker  one region: one thread makes 10,000 empty tasks and
 *                      waits for them (taskwait), 20 times
 *   chained_spawn      100 regions: in each, a chain of 1,000 tasks, each of
 *                      which makes the next one
 *   parallel_map       one region with 10,000 tasks of about 1 us
 *   uts                unbalanced tree search with a task for each node: a node
 *                      makes tasks for its children, and waits for them
 *   fib, integrate, nqueens, skynet, matmul, cilksort
 *                      a fork is a task, a join is a taskwait
 *   for, reduce, scan, sort_unstable, sort_stable
 *                      see arrays.c and sorts.cpp
 *
 * Counts and checks are those of skua's workloads with the same names (bench/workloads/).
 * The constants of the first three come from Tokio's benchmark rt_multi_threaded; the
 * trees are published ones.
 *
 * Differences that cannot be avoided: Tasks exist only within a parallel region; a round
 * that starts "from outside" therefore begins a region. The calling thread is one of the
 * workers. A single task cannot be waited for. gcc's runtime makes no task, but calls the
 * function at once, if the region has one thread or if 64 tasks for each thread wait.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "bench/peers/openmp/arrays.h"

/* The OpenMP runtime is that of the compiler. */
#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void start(struct harness *h)
{
	omp_set_dynamic(0);
	omp_set_num_threads((int)h->workers);
}

static void spawn_all(struct harness *h)
{
	for (unsigned i = 0; i < SPAWN_TASKS; i++) {
#pragma omp task firstprivate(i)
		h->runs[i].runs++;
	}
}

static void spawn_many_local(struct harness *h)
{
	for (unsigned i = 0; i < SPAWN_REPEAT; i++) {
#pragma omp parallel
#pragma omp single
		spawn_all(h);
	}
}

static void spawn_many_worker(struct harness *h)
{
#pragma omp parallel
#pragma omp single
	for (unsigned i = 0; i < SPAWN_REPEAT; i++) {
		spawn_all(h);
#pragma omp taskwait
	}
}

static void make_link(struct harness *h, unsigned i)
{
#pragma omp task
	{
		h->runs[i].runs++;
		if (i + 1 < CHAIN_TASKS)
			make_link(h, i + 1);
	}
}

static void chained_spawn(struct harness *h)
{
	for (unsigned i = 0; i < CHAIN_REPEAT; i++) {
#pragma omp parallel
#pragma omp single
		make_link(h, 0);
	}
}

static void parallel_map(struct harness *h)
{
#pragma omp parallel
#pragma omp single
	for (uint64_t i = 0; i < MAP_ITEMS; i++) {
#pragma omp task firstprivate(i)
		harness_map_item(h, i);
	}
}

/* The counts of each thread, each on cache lines of its own. */
static struct {
	struct harness_counts counts;
	char padding[128 - sizeof(struct harness_counts)];
} tallies[HARNESS_WORKERS_MAX];

static void visit(const struct uts_tree *tree, struct uts_node node)
{
	uint32_t children = uts_tree_children(tree, &node);
	struct harness_counts counts = harness_count(&node, children);

	harness_add(&tallies[omp_get_thread_num()].counts, &counts);
	for (uint32_t i = 0; i < children; i++) {
		struct uts_node child = uts_tree_child(&node, i);
#pragma omp task firstprivate(child)
		visit(tree, child);
	}
	if (children > 0) {
#pragma omp taskwait
	}
}

static void uts(struct harness *h)
{
	memset(tallies, 0, sizeof(tallies));
#pragma omp parallel
#pragma omp single
	visit(h->tree, uts_tree_root(h->tree));
	for (unsigned i = 0; i < h->workers; i++)
		harness_add(&h->counts, &tallies[i].counts);
}

/* ---- forks: a task, and a call meanwhile ---------------------------------- */

static uint64_t fork_fib(unsigned n);

/* Handle a leaf in the caller, as in bench/workloads/fork_join/fib.c. */
static inline uint64_t count_fib(unsigned n)
{
	return n < 2 ? n : fork_fib(n);
}

static uint64_t fork_fib(unsigned n)
{
	uint64_t left, right;

#pragma omp task shared(left)
	left = count_fib(n - 1);
	right = count_fib(n - 2);
#pragma omp taskwait
	return left + right;
}

static void fib(struct harness *h)
{
#pragma omp parallel
#pragma omp single
	h->answer = count_fib(h->n);
}

static double integrate_from(double x0, double y0, double x1, double y1,
			     double trapezoid)
{
	double x = x0 + (x1 - x0) / 2, y = harness_function(x);
	double left = harness_trapezoid(x0, y0, x, y);
	double right = harness_trapezoid(x, y, x1, y1);
	double left_area, right_area;

	if (fabs(left + right - trapezoid) < INTEGRATE_EPSILON)
		return left + right;
#pragma omp task shared(left_area)
	left_area = integrate_from(x0, y0, x, y, left);
	right_area = integrate_from(x, y, x1, y1, right);
#pragma omp taskwait
	return left_area + right_area;
}

static void integrate(struct harness *h)
{
	double y = harness_function(INTEGRATE_N);

#pragma omp parallel
#pragma omp single
	h->area = integrate_from(0, 0, INTEGRATE_N, y,
				 harness_trapezoid(0, 0, INTEGRATE_N, y));
}

static uint64_t place(uint32_t columns, uint32_t left, uint32_t right)
{
	uint32_t all = (1u << NQUEENS_N) - 1;
	uint32_t safe = all & ~(columns | left | right);
	uint64_t ways[NQUEENS_N], sum = 0;
	unsigned count = 0;

	if (columns == all)
		return 1;
	for (; safe != 0; safe &= safe - 1, count++) {
		uint32_t bit = safe & -safe;

#pragma omp task shared(ways) firstprivate(bit, count)
		ways[count] = place(columns | bit, (left | bit) << 1,
				    (right | bit) >> 1);
	}
#pragma omp taskwait
	for (unsigned i = 0; i < count; i++)
		sum += ways[i];
	return sum;
}

static void nqueens(struct harness *h)
{
#pragma omp parallel
#pragma omp single
	h->answer = place(0, 0, 0);
}

static uint64_t add_up(uint64_t first, uint64_t leaves)
{
	uint64_t sums[SKYNET_CHILDREN], sum = 0;

	if (leaves == 1)
		return first;
	leaves /= SKYNET_CHILDREN;
	for (unsigned i = 0; i < SKYNET_CHILDREN; i++) {
#pragma omp task shared(sums) firstprivate(i)
		sums[i] = add_up(first + i * leaves, leaves);
	}
#pragma omp taskwait
	for (unsigned i = 0; i < SKYNET_CHILDREN; i++)
		sum += sums[i];
	return sum;
}

static void skynet(struct harness *h)
{
#pragma omp parallel
#pragma omp single
	h->answer = add_up(0, SKYNET_LEAVES);
}

static void multiply(const struct matmul_product *p)
{
	if (p->size == MATMUL_BLOCK) {
		matmul_block(p);
		return;
	}
	for (uint32_t k = 0; k < 2; k++) {
		struct matmul_product last = matmul_part(p, 1, 1, k);

		for (uint32_t i = 0; i < 3; i++) {
			struct matmul_product part =
				matmul_part(p, i / 2, i % 2, k);
#pragma omp task firstprivate(part)
			multiply(&part);
		}
		multiply(&last);
#pragma omp taskwait
	}
}

static void matmul(struct harness *h)
{
#pragma omp parallel
#pragma omp single
	multiply(&h->product);
}

static void merge(const struct cilksort_merge *m)
{
	struct cilksort_merge low, high;

	if (!cilksort_cut(m, &low, &high)) {
		cilksort_merge_runs(m);
		return;
	}
#pragma omp task shared(low)
	merge(&low);
	merge(&high);
#pragma omp taskwait
}

static void sort(uint32_t *numbers, uint32_t *spare, uint64_t count)
{
	uint64_t from[5];
	struct cilksort_merge low, high, all;

	if (count <= CILKSORT_RUN) {
		cilksort_run(numbers, count);
		return;
	}
	for (unsigned i = 0; i < 5; i++)
		from[i] = cilksort_quarter(count, i);
	for (unsigned i = 0; i < 3; i++) {
#pragma omp task shared(from) firstprivate(i)
		sort(numbers + from[i], spare + from[i], from[i + 1] - from[i]);
	}
	sort(numbers + from[3], spare + from[3], from[4] - from[3]);
#pragma omp taskwait
	low = cilksort_runs(numbers, 0, from[1], from[2], spare);
	high = cilksort_runs(numbers, from[2], from[3], count, spare);
#pragma omp task shared(low)
	merge(&low);
	merge(&high);
#pragma omp taskwait
	all = cilksort_runs(spare, 0, from[2], count, numbers);
	merge(&all);
}

static void cilksort(struct harness *h)
{
#pragma omp parallel
#pragma omp single
	sort(h->numbers, h->spare, CILKSORT_N);
}

int main(int argc, char **argv)
{
	static const struct harness_round rounds[] = {
		{ "parallel_map", parallel_map },
		{ "uts", uts },
		{ "spawn_many_local", spawn_many_local },
		{ "spawn_many_worker", spawn_many_worker },
		{ "chained_spawn", chained_spawn },
		{ "fib", fib },
		{ "integrate", integrate },
		{ "nqueens", nqueens },
		{ "skynet", skynet },
		{ "matmul", matmul },
		{ "cilksort", cilksort },
		{ "region", fib },
		{ "for", arrays_for },
		{ "reduce", arrays_reduce },
#ifndef __clang__ /* clang puts a sum for each item on the stack, which overflows */
		{ "scan", arrays_scan },
#endif
		{ "sort_unstable", arrays_sort_unstable },
		{ "sort_stable", arrays_sort_stable },
		{ NULL, NULL },
	};
	char version[80];
	const struct harness_peer peer = {
		.name = "openmp",
		.version = version,
		.start = start,
		.rounds = rounds,
	};

	(void)argc;
	snprintf(version, sizeof(version), "%d (" COMPILER ")", _OPENMP);
	return harness_main(&peer, argv);
}
