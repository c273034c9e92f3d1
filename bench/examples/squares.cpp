// SPDX-License-Identifier: MIT
//
// squares.cpp - C++17: fork-join, tasks, fibers and a channel of skua.hpp
#include <skua/skua.hpp>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

int main()
{
	skua::runtime rt;

	// Fork-join: the calling thread works, and idle workers help.
	std::vector<long> numbers(1000);
	std::iota(numbers.begin(), numbers.end(), 1L);
	const long sum = rt.run([&](skua_ctx ctx) {
		skua::for_each(ctx, numbers.begin(), numbers.end(),
			       [](long &n) { n *= n; });
		return skua::reduce(ctx, numbers.begin(), numbers.end(), 0L);
	});
	std::printf("the sum of 1000 squares is %ld\n", sum);

	// Fibers wait for each other; the group waits for the fibers.
	skua::channel<std::string> lines(4);
	skua::group group(rt);
	size_t bytes = 0;
	group.spawn_fiber([&] {
		while (auto line = lines.receive())
			bytes += line->size();
	});
	group.spawn_fiber([&] {
		for (int i = 0; i < 10; i++)
			lines.send("a line");
		lines.close();
	});
	group.wait();
	std::printf("%zu bytes in 10 lines\n", bytes);

	// A join returns the value, or rethrows the exception.
	auto task = skua::spawn(rt, [] { return std::string("1234x"); });
	auto fails = skua::spawn(rt, [] { return std::stoi("x"); });
	try {
		std::printf("%s\n", task.join().c_str());
		fails.join();
	} catch (const std::invalid_argument &) {
		std::printf("x is no number\n");
	}
	return 0;
}
