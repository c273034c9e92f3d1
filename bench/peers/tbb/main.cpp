/* SPDX-License-Identifier: MIT */
/*
 * oneTBB on those workloads of skua-bench that suit a fork-join pool
 *
 *   spawn_many_local   20 times: 10,000 empty tasks put into an arena by a
 *                      thread outside it (enqueue), and the last one tells it
 *   spawn_many_worker  the same from inside, by a task_group, which is waited
 *                      for
 *   chained_spawn      100 times: a chain of 1,000 tasks of a group, each of
 *                      which runs the next one
 *   parallel_map       10,000 tasks of about 1 us, as spawn_many_local
 *   uts                unbalanced tree search, a task a node: a node runs its
 *                      children in a group of their own, and waits for them
 *
 * Counts and checks are those of bench/spawn_many.c, chained_spawn.c,
 * parallel_map.c and uts.c; the constants of the first three come from Tokio's
 * benchmark rt_multi_threaded, and the trees are published ones. Differences
 * that cannot be avoided: where work is done by a task_group, the calling
 * thread is one of the workers; a task cannot be waited for by itself.
 */
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/version.h>

#include "bench/peers/harness.h"

namespace
{

/* T3 is 1,572 nodes deep, and a thread that waits takes on other tasks. */
constexpr std::size_t STACK_BYTES = std::size_t{ 256 } << 20;

/* Live as long as the program. */
std::unique_ptr<tbb::global_control> threads;
std::unique_ptr<tbb::global_control> stacks;
std::unique_ptr<tbb::task_arena> inside;  /* the caller and workers - 1 */
std::unique_ptr<tbb::task_arena> outside; /* without the caller */

void start(harness *h)
{
	using tbb::global_control;

	/* Both arenas are never at work at once; the caller counts, too. */
	threads = std::make_unique<global_control>(
		global_control::max_allowed_parallelism, h->workers + 1);
	stacks = std::make_unique<global_control>(
		global_control::thread_stack_size, STACK_BYTES);
	inside = std::make_unique<tbb::task_arena>((int)h->workers, 1);
	outside = std::make_unique<tbb::task_arena>((int)h->workers, 0);
}

/* Waits for the last of many. */
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
		/* Under the lock: the waiter may then destroy this. */
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

/* What the threads have counted, on cache lines of their own. */
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

} // namespace

int main(int, char **argv)
{
	char version[32];
	harness_peer peer = {};

	snprintf(version, sizeof(version), "%d.%d", TBB_VERSION_MAJOR,
		 TBB_VERSION_MINOR);
	peer.name = "tbb";
	peer.version = version;
	peer.start = start;
	peer.parallel_map = parallel_map;
	peer.uts = uts;
	peer.spawn_many_local = spawn_many_local;
	peer.spawn_many_worker = spawn_many_worker;
	peer.chained_spawn = chained_spawn;
	return harness_main(&peer, argv);
}
