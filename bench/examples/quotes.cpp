// SPDX-License-Identifier: MIT
//
// quotes.cpp - C++20: coroutines that race, share a channel, and are cancelled
//
//	c++ -std=c++20 -O2 -o quotes quotes.cpp $(pkg-config --cflags --libs skua)
#include <skua/skua.hpp>

#include <cstdio>

using namespace std::chrono_literals;
namespace co = skua::co;

namespace
{

skua::task<int> quote(int price, std::chrono::nanoseconds delay)
{
	co_await co::sleep_for(delay);
	co_return price;
}

skua::task<> produce(skua::channel<int> &prices)
{
	for (int i = 1; i <= 10; i++)
		co_await co::send(prices, i);
	prices.close();
}

skua::task<> trade()
{
	// The first answer counts; the other coroutine is cancelled, and ends.
	const auto first = co_await co::when_any(quote(1, 1h), quote(2, 1ms));
	std::printf("seller %zu was first, with %d\n", first.index() + 1,
		    std::get<1>(first));

	const auto [a, b] = co_await co::when_all(quote(3, 1ms), quote(4, 2ms));
	std::printf("both together: %d\n", a + b);

	// The group ends when its members have ended.
	skua::channel<int> prices(4);
	int sum = 0;
	co_await co::with_group([&](skua::group &group) -> skua::task<> {
		skua::spawn(group, produce(prices));
		while (auto price = co_await co::receive(prices))
			sum += *price;
	});
	std::printf("10 prices, %d in all\n", sum);

	// One of several operations takes effect.
	skua::event never;
	const auto result =
		co_await co::select(co::wait(never), co::sleep_for(1ms));
	std::printf("%s\n", result.index() == 1 ? "late" : "set");
}

} // namespace

int main()
{
	skua::runtime rt;

	skua::block_on(rt, trade());
	return 0;
}
