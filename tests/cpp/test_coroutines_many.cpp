// SPDX-License-Identifier: MIT
//
// test_coroutines_many.cpp - skua::co: several coroutines, thousands, and outside threads
#include "coroutines.hpp"

#ifdef __cpp_impl_coroutine

namespace
{

// --- several ------------------------------------------------------------------------

skua::task<int> fails_late(const char *text)
{
	co_await co::sleep_for(1ms);
	throw Fault(text);
}

skua::task<> await_several()
{
	const auto [one, text, none] =
		co_await co::when_all(late(1, 2ms), move_only(2), nothing());
	CHECK(one == 1 && *text == 2);
	static_cast<void>(none);

	std::vector<skua::task<int>> tasks;
	for (int i = 0; i < 100; i++)
		tasks.push_back(late(i, std::chrono::microseconds(i)));
	const std::vector<int> numbers =
		co_await co::when_all(std::move(tasks));
	for (int i = 0; i < 100; i++)
		CHECK(numbers[static_cast<size_t>(i)] == i);

	const auto first =
		co_await co::when_any(late(1, 1h), late(2, 1ms), move_only(3));
	CHECK(first.index() == 2 && *std::get<2>(first) == 3);
	CHECK(live == 0);
	try {
		co_await co::when_all(late(1, 1h), fails_late("all"),
				      late(2, 1h));
		CHECK(false);
	} catch (const Fault &e) {
		CHECK(e.what() == std::string("all"));
	}
	try {
		co_await co::when_any(late(1, 1h), fails_late("any"));
		CHECK(false);
	} catch (const Fault &e) {
		CHECK(e.what() == std::string("any"));
	}
	CHECK(live == 0);

	std::atomic<int> ended(0);
	try {
		co_await co::with_group(
			[&](skua::group &group) -> skua::task<> {
				for (int i = 0; i < 10; i++)
					skua::spawn(group, late(i, 1h));
				group.spawn([&] { ended++; });
				group.spawn_fiber([&] { ended++; });
				skua::spawn(group, fails_late("member"));
				co_await co::sleep_for(1h);
			});
		CHECK(false);
	} catch (const Fault &e) {
		CHECK(e.what() == std::string("member"));
	}
	CHECK(ended == 2);
	CHECK(live == 0);

	// Members that end because the group was cancelled have not failed.
	co_await co::with_group([&](skua::group &group) -> skua::task<> {
		skua::spawn(group, late(1, 1h));
		group.spawn_fiber([] { skua::sleep_for(1h); });
		group.cancel();
		co_await co::sleep_for(1h);
	});
	CHECK(live == 0);
}

void several(skua_runtime *rt)
{
	skua::block_on(rt, await_several());
}

// Each item goes to one select, whichever case it takes.
skua::task<long> takes_from_both(skua::channel<int> &a,
				 skua::channel<std::unique_ptr<int>> &b)
{
	long sum = 0;
	for (;;) {
		auto item = co_await co::select(co::receive(a), co::receive(b));
		if (item.index() == 0) {
			if (!std::get<0>(item))
				break;
			sum += *std::get<0>(item);
		} else {
			if (!std::get<1>(item))
				break;
			sum += **std::get<1>(item);
		}
	}
	while (auto left = co_await co::receive(a))
		sum += *left;
	while (auto left = co_await co::receive(b))
		sum += **left;
	co_return sum;
}

void select_once(skua_runtime *rt)
{
	const int count = 2000;
	skua::channel<int> a(4);
	skua::channel<std::unique_ptr<int>> b(4);
	std::vector<skua::join_handle<long>> takers;
	for (int i = 0; i < 4; i++)
		takers.push_back(skua::spawn(rt, takes_from_both(a, b)));
	std::thread other([&] {
		for (int i = 0; i < count; i++)
			CHECK(b.send(std::make_unique<int>(i)));
	});
	for (int i = 0; i < count; i++)
		CHECK(a.send(i));
	other.join();
	a.close();
	b.close();
	CHECK(!a.send(1));
	long sum = 0;
	for (auto &taker : takers)
		sum += taker.join();
	CHECK(sum == 2L * count * (count - 1) / 2);
}

// --- many ---------------------------------------------------------------------------

struct Count {
	skua::mutex mutex;
	skua::semaphore semaphore{ 3 };
	long sum = 0; // under the mutex
};

skua::task<int> counts(Count &it, int number)
{
	Alive here;
	for (int i = 0; i < 3; i++) {
		co_await co::yield();
		co_await co::acquire(it.semaphore);
		{
			auto guard = co_await co::lock(it.mutex);
			const long sum = it.sum;
			co_await co::yield();
			it.sum = sum + 1;
		}
		it.semaphore.release();
	}
	co_return number;
}

void thousands(skua_runtime *rt)
{
	const int count = 3000;
	Count it;
	std::vector<skua::join_handle<int>> handles;
	for (int i = 0; i < count; i++)
		handles.push_back(skua::spawn(rt, counts(it, i)));
	for (int i = 0; i < count; i++)
		CHECK(handles[static_cast<size_t>(i)].join() == i);
	CHECK(it.sum == 3 * count);
	CHECK(live == 0);
}

// Threads spawn, join, cancel and send to the coroutines at the same time.
void outside_threads(skua_runtime *rt)
{
	skua::channel<int> channel(8);
	std::vector<std::thread> threads;
	std::atomic<long> sum(0);
	auto receiver = [&]() -> skua::task<> {
		while (auto item = co_await co::receive(channel))
			sum += *item;
	};
	auto first = skua::spawn(rt, receiver());
	auto second = skua::spawn(rt, receiver());
	for (int i = 0; i < 4; i++) {
		threads.emplace_back([&] {
			for (int n = 0; n < 300; n++) {
				CHECK(channel.send(1));
				auto handle = skua::spawn(rt, number(n));
				CHECK(handle.join() == n);
				auto other = skua::spawn(rt, late(n, 1h));
				other.cancel();
			}
		});
	}
	for (std::thread &thread : threads)
		thread.join();
	channel.close();
	first.join();
	second.join();
	CHECK(sum == 4 * 300);
	skua_runtime_drain(rt);
	CHECK(live == 0);
}

skua::task<> answers(skua::io connection)
{
	char bytes[16];
	while (const size_t got =
		       co_await co::read(connection, bytes, sizeof(bytes)))
		co_await co::write_all(connection, bytes, got);
}

void sockets(skua_runtime *rt)
{
	skua::io listener = skua::listen(rt, "127.0.0.1:0");
	char address[SKUA_IO_ADDRESS_ROOM], bytes[6] = {};
	auto server = [&]() -> skua::task<> {
		co_await co::with_group(
			[&](skua::group &group) -> skua::task<> {
				for (int i = 0; i < 10; i++)
					skua::spawn(group,
						    answers(co_await co::accept(
							    listener)));
			});
	};
	CHECK(skua_io_local_address(listener.c(), address, sizeof(address)) ==
	      0);
	auto handle = skua::spawn(rt, server());
	for (int i = 0; i < 10; i++) {
		skua::io client = skua::dial(rt, address, skua::in(10s));
		client.write_all("hello", 5);
		client.read_exact(bytes, 5, skua::in(10s));
		CHECK(bytes == std::string("hello"));
	}
	handle.join();
}

void driven_by_caller()
{
	skua::runtime rt({ .flags = SKUA_CALLER_DRIVEN });
	CHECK(skua::block_on(rt, late(3, 1ms)) == 3);
	skua::block_on(rt, await_several());
}

} // namespace

int main()
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		skua::runtime rt({ .workers = workers });
		several(rt);
		select_once(rt);
		thousands(rt);
		outside_threads(rt);
		sockets(rt);
	}
	driven_by_caller();
	std::printf("%d wrong\n", wrong.load());
	return wrong != 0;
}

#endif
