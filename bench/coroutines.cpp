// SPDX-License-Identifier: MIT
//
// coroutines.cpp - the cost of a coroutine beside that of a task in C, in the same run
//
// Usage: skua-bench-coroutines. Prints nanoseconds of CPU time of the process for each
// operation: the median of 15 rounds that alternate, the minimum and the maximum.
#include <skua/skua.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

namespace
{

constexpr long count = 1000000;
constexpr size_t batch = 100;

skua::task<long> ready(long n)
{
	co_return n;
}

skua::task<long> await_each()
{
	long sum = 0;
	for (long i = 0; i < count; i++)
		sum += co_await ready(1);
	co_return sum;
}

skua::task<long> join_each(size_t at_once)
{
	std::vector<skua::join_handle<long>> handles(at_once);
	long sum = 0;
	for (long i = 0; i < count; i += static_cast<long>(at_once)) {
		for (auto &handle : handles)
			handle = skua::spawn(skua::current_runtime(), ready(1));
		for (auto &handle : handles)
			sum += co_await handle;
	}
	co_return sum;
}

struct Child {
	skua_task task; // first: the poll casts back
	long result;
};

struct Parent {
	skua_task task; // first
	size_t at_once, joined;
	long done, sum;
	bool joins;
	Child children[batch];
};

skua_poll poll_child(skua_task *self)
{
	reinterpret_cast<Child *>(self)->result = 1;
	return SKUA_DONE;
}

skua_poll poll_parent(skua_task *self)
{
	auto *it = reinterpret_cast<Parent *>(self);
	while (it->done < count) {
		for (size_t i = 0; !it->joins && i < it->at_once; i++) {
			skua_task_init(&it->children[i].task, poll_child);
			skua_task_spawn(skua_task_runtime(self),
					&it->children[i].task);
		}
		it->joins = true;
		for (; it->joined < it->at_once; it->joined++) {
			Child &child = it->children[it->joined];
			if (skua_task_join_poll(self, &child.task) == -EAGAIN)
				return SKUA_PENDING;
			it->sum += child.result;
		}
		it->joins = false;
		it->joined = 0;
		it->done += static_cast<long>(it->at_once);
	}
	return SKUA_DONE;
}

long tasks(skua_runtime *rt, size_t at_once)
{
	Parent parent = {};
	parent.at_once = at_once;
	skua_task_init(&parent.task, poll_parent);
	skua_runtime_block_on(rt, &parent.task);
	return parent.sum;
}

double cpu_ns()
{
	timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return static_cast<double>(now.tv_sec) * 1e9 +
	       static_cast<double>(now.tv_nsec);
}

struct Row {
	const char *name;
	long (*run)(skua_runtime *rt);
	std::vector<double> ns;
};

} // namespace

int main()
{
	skua::runtime rt({ .workers = 1 });
	Row rows[] = {
		{ "co_await of a ready coroutine",
		  [](skua_runtime *r) {
			  return skua::block_on(r, await_each());
		  },
		  {} },
		{ "task in C, spawn and join",
		  [](skua_runtime *r) { return tasks(r, 1); },
		  {} },
		{ "coroutine, spawn and join",
		  [](skua_runtime *r) {
			  return skua::block_on(r, join_each(1));
		  },
		  {} },
		{ "task in C, 100 at once",
		  [](skua_runtime *r) { return tasks(r, batch); },
		  {} },
		{ "coroutine, 100 at once",
		  [](skua_runtime *r) {
			  return skua::block_on(r, join_each(batch));
		  },
		  {} },
	};

	for (int round = 0; round < 15; round++) {
		for (Row &row : rows) {
			const double before = cpu_ns();
			if (row.run(rt) != count)
				return 1;
			row.ns.push_back((cpu_ns() - before) /
					 static_cast<double>(count));
		}
	}
	for (Row &row : rows) {
		std::sort(row.ns.begin(), row.ns.end());
		std::printf("%-30s %6.1f  (%.1f to %.1f)\n", row.name,
			    row.ns[row.ns.size() / 2], row.ns.front(),
			    row.ns.back());
	}
	return 0;
}
