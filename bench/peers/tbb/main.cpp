/* SPDX-License-Identifier: MIT */
/*
 * main.cpp - oneTBB on those workloads of skua-bench that suit a fork-join pool
 *
 *   spawn_many_local   20 times: a thread outside an arena adds 10,000 empty
 *                      tasks to it (enqueue); the last task wakes the thread
 *   spawn_many_worker  the same from inside the arena, with a task_group for
 *                      which the thread waits
 *   chained_spawn      100 times: a chain of 1,000 tasks of a group, each of
 *                      which spawns the next one
 *   parallel_map       10,000 tasks of about 1 us, like spawn_many_local
 *   uts                unbalanced tree search with a task for each node: a node
 *                      runs its children in a group, and waits for them
 *   fib, integrate, nqueens, skynet, matmul, cilksort
 *                      two calls at once are a parallel_invoke, more are a
 *                      group
 *   for, reduce, scan, sort_unstable
 *                      see arrays.cpp
 *
 * Counts and checks are those of skua's workloads with the same names (bench/workloads/).
 * The constants of the first three come from Tokio's benchmark rt_multi_threaded; the
 * trees are published ones. Differences that cannot be avoided: unless work is enqueued
 * from outside, the calling thread is one of the workers; a single task cannot be waited
 * for.
 */
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/version.h>

#include "bench/peers/tbb/arrays.h"

namespace
{

/* The tree T3 is 1,572 nodes deep, and a waiting thread runs other tasks on
 * its stack. */
constexpr std::size_t STACK_BYTES = std::size_t{ 256 } << 20;

/* These exist as long as the program. */
std::unique_ptr<tbb::global_control> threads;
std::unique_ptr<tbb::global_control> stacks;
std::unique_ptr<tbb::task_arena> inside;  /* the caller and workers - 1 */
std::unique_ptr<tbb::task_arena> outside; /* without the caller */

void start(harness *h)
{
	using tbb::global_control;

	/* The arenas are never busy at the same time. One more than the
	 * workers, because the calling thread counts, too. */
	threads = std::make_unique<global_control>(
		global_control::max_allowed_parallelism, h->workers + 1);
	stacks = std::make_unique<global_control>(
		global_control::thread_stack_size, STACK_BYTES);
	inside = std::make_unique<tbb::task_arena>((int)h->workers, 1);
	outside = std::make_unique<tbb::task_arena>((int)h->workers, 0);
}

/* Lets a thread wait for the last of many tasks. */
class Countdown
{
      public:
	explicit Countdown(unsigned count) : left(count)
	{
	}

	void one()
	{
		if (left.fetch_sub(1) > 1)
			return;
		/* Notify under the lock, because the waiting thread may
		 * destroy this object once it has the lock. */
		std::lock_guard<std::mutex> guard(mutex);
		done = true;
		changed.notify_one();
	}

	void wait()
	{
		std::unique_lock<std::mutex> guard(mutex);

		changed.wait(guard, [this] { return done; });
	}

      private:
	std::atomic<unsigned> left;
	bool done = false;
	std::mutex mutex;
	std::condition_variable changed;
};

void spawn_many_local(harness *h)
{
	for (unsigned i = 0; i < SPAWN_REPEAT; i++) {
		Countdown countdown(SPAWN_TASKS);

		for (harness_runs &own : h->runs)
			outside->enqueue([&own, &countdown] {
				own.runs++;
				countdown.one();
			});
		countdown.wait();
	}
}

void spawn_many_worker(harness *h)
{
	inside->execute([h] {
		for (unsigned i = 0; i < SPAWN_REPEAT; i++) {
			tbb::task_group group;

			for (harness_runs &own : h->runs)
				group.run([&own] { own.runs++; });
			group.wait();
		}
	});
}

void run_link(tbb::task_group &group, harness *h, unsigned i)
{
	group.run([&group, h, i] {
		h->runs[i].runs++;
		if (i + 1 < CHAIN_TASKS)
			run_link(group, h, i + 1);
	});
}

void chained_spawn(harness *h)
{
	for (unsigned i = 0; i < CHAIN_REPEAT; i++)
		inside->execute([h] {
			tbb::task_group group;

			run_link(group, h, 0);
			group.wait();
		});
}

void parallel_map(harness *h)
{
	Countdown countdown(MAP_ITEMS);

	for (std::uint64_t i = 0; i < MAP_ITEMS; i++)
		outside->enqueue([h, i, &countdown] {
			harness_map_item(h, i);
			countdown.one();
		});
	countdown.wait();
}

/* The counts of each thread, each on cache lines of its own. */
struct alignas(128) tally {
	harness_counts counts;
};
tally tallies[HARNESS_WORKERS_MAX];

void visit(const uts_tree *tree, const uts_node &node)
{
	std::uint32_t children = uts_tree_children(tree, &node);
	harness_counts counts = harness_count(&node, children);
	int self = tbb::this_task_arena::current_thread_index();

	harness_add(&tallies[self].counts, &counts);
	if (children == 0)
		return;

	tbb::task_group group;

	for (std::uint32_t i = 0; i < children; i++)
		group.run([tree, child = uts_tree_child(&node, i)] {
			visit(tree, child);
		});
	group.wait();
}

void uts(harness *h)
{
	for (tally &t : tallies)
		t.counts = {};
	inside->execute([h] { visit(h->tree, uts_tree_root(h->tree)); });
	for (const tally &t : tallies)
		harness_add(&h->counts, &t.counts);
}

/* ---- forks ---------------------------------------------------------------- */

std::uint64_t fork_fib(unsigned n);

/* Handle a leaf in the caller, as in bench/workloads/fork_join/fib.c. */
inline std::uint64_t count_fib(unsigned n)
{
	return n < 2 ? n : fork_fib(n);
}

std::uint64_t fork_fib(unsigned n)
{
	std::uint64_t left, right;

	tbb::parallel_invoke([&left, n] { left = count_fib(n - 1); },
			     [&right, n] { right = count_fib(n - 2); });
	return left + right;
}

void fib(harness *h)
{
	inside->execute([h] { h->answer = count_fib(h->n); });
}

double integrate_from(double x0, double y0, double x1, double y1,
		      double trapezoid)
{
	double x = x0 + (x1 - x0) / 2, y = harness_function(x);
	double left = harness_trapezoid(x0, y0, x, y);
	double right = harness_trapezoid(x, y, x1, y1);
	double left_area, right_area;

	if (std::fabs(left + right - trapezoid) < INTEGRATE_EPSILON)
		return left + right;
	tbb::parallel_invoke(
		[&] { left_area = integrate_from(x0, y0, x, y, left); },
		[&] { right_area = integrate_from(x, y, x1, y1, right); });
	return left_area + right_area;
}

void integrate(harness *h)
{
	double y = harness_function(INTEGRATE_N);
	double trapezoid = harness_trapezoid(0, 0, INTEGRATE_N, y);

	inside->execute([=] {
		h->area = integrate_from(0, 0, INTEGRATE_N, y, trapezoid);
	});
}

std::uint64_t place(std::uint32_t columns, std::uint32_t left,
		    std::uint32_t right)
{
	constexpr std::uint32_t all = (1u << NQUEENS_N) - 1;
	std::uint32_t safe = all & ~(columns | left | right);
	std::uint64_t ways[NQUEENS_N], sum = 0;
	unsigned count = 0;

	if (columns == all)
		return 1;
	if (safe == 0)
		return 0;

	tbb::task_group group;

	for (; safe != 0; safe &= safe - 1, count++)
		group.run([=, bit = safe & -safe, own = &ways[count]] {
			*own = place(columns | bit, (left | bit) << 1,
				     (right | bit) >> 1);
		});
	group.wait();
	for (unsigned i = 0; i < count; i++)
		sum += ways[i];
	return sum;
}

void nqueens(harness *h)
{
	inside->execute([h] { h->answer = place(0, 0, 0); });
}

std::uint64_t add_up(std::uint64_t first, std::uint64_t leaves)
{
	std::uint64_t sums[SKYNET_CHILDREN], sum = 0;

	if (leaves == 1)
		return first;
	leaves /= SKYNET_CHILDREN;

	tbb::task_group group;

	for (unsigned i = 0; i < SKYNET_CHILDREN; i++)
		group.run([=, own = &sums[i]] {
			*own = add_up(first + i * leaves, leaves);
		});
	group.wait();
	for (std::uint64_t one : sums)
		sum += one;
	return sum;
}

void skynet(harness *h)
{
	inside->execute([h] { h->answer = add_up(0, SKYNET_LEAVES); });
}

void multiply(const matmul_product &p)
{
	if (p.size == MATMUL_BLOCK) {
		matmul_block(&p);
		return;
	}
	for (std::uint32_t k = 0; k < 2; k++) {
		tbb::task_group group;

		for (std::uint32_t i = 0; i < 3; i++)
			group.run([part = matmul_part(&p, i / 2, i % 2, k)] {
				multiply(part);
			});
		multiply(matmul_part(&p, 1, 1, k));
		group.wait();
	}
}

void matmul(harness *h)
{
	inside->execute([h] { multiply(h->product); });
}

void merge(const cilksort_merge &m)
{
	cilksort_merge low, high;

	if (!cilksort_cut(&m, &low, &high)) {
		cilksort_merge_runs(&m);
		return;
	}
	tbb::parallel_invoke([&low] { merge(low); }, [&high] { merge(high); });
}

void sort(std::uint32_t *numbers, std::uint32_t *spare, std::uint64_t count)
{
	std::uint64_t from[5];

	if (count <= CILKSORT_RUN) {
		cilksort_run(numbers, count);
		return;
	}
	for (unsigned i = 0; i < 5; i++)
		from[i] = cilksort_quarter(count, i);

	auto quarter = [=](unsigned i) {
		sort(numbers + from[i], spare + from[i], from[i + 1] - from[i]);
	};

	tbb::parallel_invoke([=] { quarter(0); }, [=] { quarter(1); },
			     [=] { quarter(2); }, [=] { quarter(3); });
	tbb::parallel_invoke(
		[=] {
			merge(cilksort_runs(numbers, 0, from[1], from[2],
					    spare));
		},
		[=] {
			merge(cilksort_runs(numbers, from[2], from[3], count,
					    spare));
		});
	merge(cilksort_runs(spare, 0, from[2], count, numbers));
}

void cilksort(harness *h)
{
	inside->execute([h] { sort(h->numbers, h->spare, CILKSORT_N); });
}

/* ---- loops and sorts ------------------------------------------------------ */

template <void (*run)(harness *h)> void within(harness *h)
{
	inside->execute([h] { run(h); });
}

const harness_round rounds[] = {
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
	{ "for", within<arrays_for> },
	{ "reduce", within<arrays_reduce> },
	{ "scan", within<arrays_scan> },
	{ "sort_unstable", within<arrays_sort_unstable> },
	{ nullptr, nullptr },
};

} // namespace

int main(int, char **argv)
{
	char version[32];
	harness_peer peer = {};

	std::snprintf(version, sizeof(version), "%d.%d", TBB_VERSION_MAJOR,
		      TBB_VERSION_MINOR);
	peer.name = "tbb";
	peer.version = version;
	peer.start = start;
	peer.rounds = rounds;
	return harness_main(&peer, argv);
}
