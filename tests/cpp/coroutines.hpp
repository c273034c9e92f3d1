// SPDX-License-Identifier: MIT
//
// coroutines.hpp - what the tests of coroutines have in common: frames that are counted, short
// coroutines, and a main() that skips the test if the compiler has no coroutines
#ifndef TESTS_CPP_COROUTINES_HPP
#define TESTS_CPP_COROUTINES_HPP

#include <skua/skua.hpp>

#include <cstdio>

#ifndef __cpp_impl_coroutine

int main()
{
	std::puts("skipped: the compiler has no coroutines (C++20)");
	return 77;
}

#else

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

using namespace std::chrono_literals;
namespace co = skua::co;

namespace
{

// Lives as long as the frame that has it.
std::atomic<int> live(0);

struct Alive {
	Alive()
	{
		live++;
	}
	Alive(const Alive &)
	{
		live++;
	}
	~Alive()
	{
		live--;
	}
};

struct Fault : std::runtime_error {
	Alive alive;

	using std::runtime_error::runtime_error;
};

[[maybe_unused]] skua::task<int> number(int n)
{
	co_await co::yield();
	co_return n;
}

[[maybe_unused]] skua::task<std::unique_ptr<int>> move_only(int n)
{
	co_await co::yield();
	co_return std::make_unique<int>(n);
}

[[maybe_unused]] skua::task<> nothing()
{
	co_await co::yield();
}

[[maybe_unused]] skua::task<int> late(int n, std::chrono::nanoseconds delay)
{
	Alive here;
	co_await co::sleep_for(delay);
	co_return n;
}

} // namespace

#endif

#endif
