/* SPDX-License-Identifier: MIT */
/*
 * OpenMP tasks on those workloads of skua-bench that suit a fork-join pool
 *
 *   spawn_many_local   20 times: a parallel region, in which one thread makes
 *                      10,000 empty tasks; its end waits for them
 *   spawn_many_worker  one region, in which that happens 20 times (taskwait)
 *   chained_spawn      100 regions: a chain of 1,000 tasks, each of which makes
 *                      the next one
 *   parallel_map       a region, and 10,000 tasks of about 1 us
 *   uts                unbalanced tree search, a task a node: a node makes its
 *                      children, and waits for them
 *
 * Counts and checks are those of bench/spawn_many.c, chained_spawn.c,
 * parallel_map.c and uts.c; the constants of the first three come from Tokio's
 * benchmark rt_multi_threaded, and the trees are published ones. Differences
 * that cannot be avoided: tasks exist within a region only, so that "outside"
 * begins one; the calling thread is one of the workers; a task cannot be
 * waited for by itself; and gcc's runtime makes no task, but calls its function
 * at once, where a region has one thread or 64 tasks a thread wait.
 */
#include <omp.h>

#include "bench/peers/harness.h"

/* The runtime is the compiler's. */
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

/* What the threads have counted, on cache lines of their own. */
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

int main(int argc, char **argv)
{
	char version[80];
	const struct harness_peer peer = {
		.name = "openmp",
		.version = version,
		.start = start,
		.parallel_map = parallel_map,
		.uts = uts,
		.spawn_many_local = spawn_many_local,
		.spawn_many_worker = spawn_many_worker,
		.chained_spawn = chained_spawn,
	};

	(void)argc;
	snprintf(version, sizeof(version), "%d (" COMPILER ")", _OPENMP);
	return harness_main(&peer, argv);
}
