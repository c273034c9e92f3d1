// SPDX-License-Identifier: MIT
//
// test_coroutines.cpp - skua::task and skua::co: values, exceptions, cancels at each wait
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
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
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

// --- values and exceptions ----------------------------------------------------------

skua::task<int> number(int n)
{
	co_await co::yield();
	co_return n;
}

skua::task<std::unique_ptr<int>> move_only(int n)
{
	co_await co::yield();
	co_return std::make_unique<int>(n);
}

skua::task<int &> reference(int &n)
{
	co_return n;
}

skua::task<> nothing()
{
	co_await co::yield();
}

struct Fault : std::runtime_error {
	Alive alive;

	using std::runtime_error::runtime_error;
};

skua::task<int> throws(const char *text)
{
	Alive here;
	co_await co::yield();
	throw Fault(text);
}

skua::task<int> passes_on(const char *text)
{
	Alive here;
	co_return co_await throws(text);
}

skua::task<> await_values(skua_runtime *rt)
{
	int n = 5;
	int &same = co_await reference(n);
	CHECK(&same == &n);
	CHECK(co_await number(1) + co_await number(2) == 3);
	CHECK(*co_await move_only(4) == 4);
	co_await nothing();

	skua::join_handle<std::unique_ptr<int>> handle =
		skua::spawn(rt, move_only(6));
	CHECK(handle.joinable());
	CHECK(*co_await handle == 6);
	CHECK(!handle.joinable());
	skua::join_handle<int &> other = skua::spawn(rt, reference(n));
	CHECK(&co_await other == &n);
	co_await skua::spawn(rt, nothing());
	CHECK(co_await skua::spawn(rt, [] { return 7; }) == 7);
	CHECK(co_await skua::spawn_fiber(rt, [] {
		      skua_yield();
		      return 8;
	      }) == 8);
}

// Of all sizes of frames, so that one of them would be at a wrong place.
template <size_t size> skua::task<Wide> wide(long n)
{
	volatile char room[size];
	Wide here;

	room[0] = 1;
	here.n = n;
	co_await co::yield();
	CHECK(here.aligned() && room[0] == 1);
	co_return here;
}

template <size_t... i>
skua::task<> await_wide(skua_runtime *rt, std::index_sequence<i...>)
{
	for (int turn = 0; turn < 4; turn++) {
		const auto all = co_await co::when_all(wide<1 + 80 * i>(i)...);
		CHECK((std::get<i>(all).n + ... + 0) == 28);
	}
	const Wide spawned = co_await skua::spawn(rt, wide<8>(3));
	const Wide large = co_await wide<2000>(4);
	CHECK(spawned.n == 3 && large.n == 4);
}

// A reference refers to what it is given: no other type, and no temporary.
template <class T, class U>
concept returns = requires(skua::detail::promise<T> promise, U &&value)
{
	promise.return_value(std::forward<U>(value));
};
static_assert(returns<int &, int &> && returns<const int &, int &>);
static_assert(!returns<int &, int> && !returns<int &, short &>);
static_assert(returns<int &&, int> && !returns<int &&, int &>);

skua::task<int> late(int n, std::chrono::nanoseconds delay)
{
	Alive here;
	co_await co::sleep_for(delay);
	co_return n;
}

// A task that has run, or was moved from.
skua::task<> await_again(skua_runtime *rt)
{
	int refused = 0;
	for (int i = 0; i < 6; i++) {
		skua::task<int> once = number(1);
		skua::task<int> other = number(2);
		if (i < 3)
			other = std::move(once);
		else
			CHECK(co_await std::move(once) == 1);
		try {
			if (i % 3 == 0)
				co_await std::move(once);
			else if (i % 3 == 1)
				co_await skua::spawn(rt, std::move(once));
			else
				co_await co::when_all(late(1, 1h),
						      std::move(once));
		} catch (const std::system_error &e) {
			refused += e.code() == std::errc::invalid_argument;
		}
	}
	CHECK(refused == 6 && live == 0);
}

void values(skua_runtime *rt)
{
	skua::block_on(rt, await_again(rt));
	skua::block_on(rt, await_values(rt));
	skua::block_on(rt, await_wide(rt, std::make_index_sequence<8>()));
	CHECK(skua::spawn(rt, number(9)).join() == 9);
	CHECK(skua::spawn_fiber(rt, [rt] {
		      return skua::spawn(rt, number(10)).join();
	      }).join() == 10);
}

skua::task<> await_exceptions(skua_runtime *rt)
{
	try {
		co_await passes_on("inline");
		CHECK(false);
	} catch (const Fault &e) {
		CHECK(e.what() == std::string("inline"));
	}
	skua::join_handle<int> handle = skua::spawn(rt, passes_on("spawned"));
	try {
		co_await handle;
		CHECK(false);
	} catch (const Fault &e) {
		CHECK(e.what() == std::string("spawned"));
	}
	CHECK(!handle.joinable());
	throw Fault("out");
}

void exceptions(skua_runtime *rt)
{
	try {
		skua::block_on(rt, await_exceptions(rt));
		CHECK(false);
	} catch (const Fault &e) {
		CHECK(e.what() == std::string("out"));
	}
	CHECK(live == 0);
}

// --- frames -------------------------------------------------------------------------

skua::task<int> deep(int depth)
{
	if (depth == 0)
		co_return 0;
	co_return 1 + co_await deep(depth - 1);
}

skua::task<long> in_a_row(long count)
{
	long sum = 0;
	for (long i = 0; i < count; i++)
		sum += co_await deep(1);
	co_return sum;
}

// Neither depth nor repetition uses up the stack of a worker.
void stack(skua_runtime *rt)
{
	CHECK(skua::block_on(rt, deep(100000)) == 100000);
	CHECK(skua::block_on(rt, in_a_row(300000)) == 300000);
}

skua::task<> waits_for(skua::event &event, bool *seen)
{
	Alive here;
	try {
		co_await co::wait(event);
	} catch (const skua::cancelled &) {
		*seen = true;
		throw;
	}
}

skua::task<> never_begins(Alive)
{
	co_return;
}

void dropped(skua_runtime *rt)
{
	skua::event event;
	bool cancelled = false;
	{
		skua::task<> never = never_begins(Alive());
		CHECK(live == 1);
	}
	CHECK(live == 0);
	{
		auto handle = skua::spawn(rt, waits_for(event, &cancelled));
	}
	skua_runtime_drain(rt);
	CHECK(cancelled);
	CHECK(live == 0);

	cancelled = false;
	auto handle = skua::spawn(rt, waits_for(event, &cancelled));
	handle.detach();
	CHECK(!handle.joinable());
	event.set();
	skua_runtime_drain(rt);
	CHECK(!cancelled);
	CHECK(live == 0);
}

// Some of the tasks were spawned before: their cancel is not the reason.
skua::task<> await_refused()
{
	std::vector<skua::task<int>> tasks;
	for (int i = 0; i < 1000; i++)
		tasks.push_back(late(i, 1h));
	try {
		co_await co::when_all(std::move(tasks));
		CHECK(false);
	} catch (const std::system_error &e) {
		CHECK(e.code() == std::errc(EAGAIN));
	}
	CHECK(live == 0);
}

void refused()
{
	skua::block_on(skua::runtime({ .workers = 1, .max_queued = 2 }),
		       await_refused());
	skua::runtime rt({ .workers = 1 });
	CHECK(rt.shutdown(10s));
	try {
		skua::spawn(rt, never_begins(Alive())).join();
		CHECK(false);
	} catch (const std::system_error &e) {
		CHECK(e.code() == std::errc(ESHUTDOWN));
	}
	CHECK(live == 0);
}

// --- cancels ------------------------------------------------------------------------

// Objects that never let a waiter proceed.
struct Stuck {
	skua::mutex mutex;
	skua::shared_mutex shared;
	skua::semaphore semaphore{ 0 };
	skua::event event;
	skua::channel<int> empty{ 2 };
	skua::channel<std::string> full{ 2 };
	skua::io idle, other_side, listener, filled, unread;
	skua_runtime *rt;

	explicit Stuck(skua_runtime *of) : rt(of)
	{
		const int small = 1;
		int ends[4];
		char bytes[4096] = {};

		full.send("one");
		full.send("two");
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends + 2) == 0);
		setsockopt(ends[2], SOL_SOCKET, SO_SNDBUF, &small,
			   sizeof(small));
		idle = skua::io(rt, ends[0]);
		other_side = skua::io(rt, ends[1]);
		filled = skua::io(rt, ends[2]);
		unread = skua::io(rt, ends[3]);
		listener = skua::listen(rt, "127.0.0.1:0");
		while (skua_io_write_try(filled.c(), bytes, sizeof(bytes)) > 0)
			;
	}
};

using Case = skua::task<> (*)(Stuck &);

skua::task<> sleeps(Stuck &)
{
	co_await co::sleep_for(1h);
}
skua::task<> locks(Stuck &it)
{
	auto guard = co_await co::lock(it.mutex);
}
skua::task<> locks_to_write(Stuck &it)
{
	auto guard = co_await co::lock(it.shared);
}
skua::task<> locks_to_read(Stuck &it)
{
	auto guard = co_await co::lock_shared(it.shared);
}
skua::task<> acquires(Stuck &it)
{
	co_await co::acquire(it.semaphore, 1);
}
skua::task<> waits(Stuck &it)
{
	co_await co::wait(it.event);
}
skua::task<> receives(Stuck &it)
{
	co_await co::receive(it.empty);
}
skua::task<> sends(Stuck &it)
{
	co_await co::send(it.full, "three");
}
skua::task<> reads(Stuck &it)
{
	char byte;
	co_await co::read(it.idle, &byte, 1);
}
skua::task<> reads_exactly(Stuck &it)
{
	char bytes[2];
	// Read by this call, or left by the cancel: no other case reads here.
	CHECK(skua_io_write_try(it.idle.c(), "x", 1) == 1);
	co_await co::read_exact(it.other_side, bytes, 2);
}
skua::task<> writes(Stuck &it)
{
	char bytes[4096] = {};
	co_await co::write_all(it.filled, bytes, sizeof(bytes));
}
skua::task<> accepts(Stuck &it)
{
	co_await co::accept(it.listener);
}
skua::task<> awaits_readiness(Stuck &it)
{
	co_await co::ready(it.idle, POLLIN);
}
skua::task<> selects(Stuck &it)
{
	co_await co::select(co::wait(it.event), co::receive(it.empty),
			    co::send(it.full, "three"), co::lock(it.mutex),
			    co::acquire(it.semaphore), co::sleep_for(1h),
			    co::ready(it.idle, POLLIN));
}
skua::task<> joins(Stuck &it)
{
	Alive here;
	co_await skua::spawn(it.rt, waits(it));
}
skua::task<> waits_for_all(Stuck &it)
{
	co_await co::when_all(waits(it), sleeps(it), receives(it));
}
skua::task<> waits_for_any(Stuck &it)
{
	co_await co::when_any(waits(it), sleeps(it), receives(it));
}
skua::task<> waits_for_group(Stuck &it)
{
	co_await co::with_group([&](skua::group &group) -> skua::task<> {
		skua::spawn(group, waits(it));
		skua::spawn(group, reads(it));
		co_await receives(it);
	});
}
skua::task<> waits_for_fibers(Stuck &it)
{
	co_await co::with_group([&](skua::group &group) -> skua::task<> {
		group.spawn_fiber([&] { it.event.wait(); });
		co_return;
	});
}

const struct {
	const char *name;
	Case begin;
} cases[] = {
	{ "sleep_for", sleeps },
	{ "lock", locks },
	{ "lock, writer", locks_to_write },
	{ "lock_shared", locks_to_read },
	{ "acquire", acquires },
	{ "wait", waits },
	{ "receive", receives },
	{ "send", sends },
	{ "read", reads },
	{ "read_exact", reads_exactly },
	{ "write_all", writes },
	{ "accept", accepts },
	{ "ready", awaits_readiness },
	{ "select", selects },
	{ "join", joins },
	{ "when_all", waits_for_all },
	{ "when_any", waits_for_any },
	{ "with_group", waits_for_group },
	{ "with_group, fiber", waits_for_fibers },
};

// Ends by the exception, unwinds, and says that it was there.
skua::task<int> ends_by_cancel(Case begin, Stuck &it, std::atomic<int> *at)
{
	Alive here;
	bool caught = false;
	(*at)++;
	try {
		co_await begin(it);
	} catch (const skua::cancelled &e) {
		caught = e.code() == std::errc::operation_canceled;
	}
	CHECK(caught);
	// A wait after the cancel ends at once, too; what need not wait goes on.
	try {
		co_await co::wait(it.event);
		caught = false;
	} catch (const skua::cancelled &) {
	}
	co_await co::yield();
	co_return caught;
}

// @wait: cancel it while it waits, not before its first poll.
void cancel_each(skua_runtime *rt, bool wait)
{
	Stuck it(rt);
	std::lock_guard<skua::mutex> held(it.mutex);
	std::lock_guard<skua::shared_mutex> also(it.shared);

	for (const auto &one : cases) {
		std::atomic<int> at(0);
		auto handle =
			skua::spawn(rt, ends_by_cancel(one.begin, it, &at));
		while (wait && at == 0)
			std::this_thread::yield();
		if (wait)
			std::this_thread::sleep_for(1ms);
		handle.cancel();
		const int caught = handle.join();
		CHECK(caught == 1);
		if (caught != 1)
			std::printf("%s\n", one.name);
	}
	skua_runtime_drain(rt);
	CHECK(live == 0);
	CHECK(!it.mutex.try_lock());
	CHECK(!it.semaphore.try_acquire());
	CHECK(skua_channel_length(it.full.c()) == 2);
	CHECK(!it.empty.try_receive());
}

skua::task<int> ignores_cancel(skua::event &event)
{
	Alive here;
	try {
		co_await co::wait(event);
	} catch (const skua::cancelled &) {
	}
	co_await co::yield();
	co_return 1;
}

skua::task<int> waits_for_both(skua::event &event)
{
	const auto [one, other] = co_await co::when_all(ignores_cancel(event),
							ignores_cancel(event));
	co_return one + other;
}

skua::task<int> waits_for_either(skua::event &event)
{
	const auto first = co_await co::when_any(ignores_cancel(event),
						 ignores_cancel(event));
	CHECK(live == 0);
	co_return first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
}

// The results of coroutines that ignore the cancel are not lost.
void results_after_cancel(skua_runtime *rt)
{
	skua::event never;
	auto both = skua::spawn(rt, waits_for_both(never));
	both.cancel();
	CHECK(both.join() == 2);
	auto either = skua::spawn(rt, waits_for_either(never));
	std::this_thread::sleep_for(1ms);
	either.cancel();
	CHECK(either.join() == 1);
}

void shutdown()
{
	skua::runtime rt({ .workers = 2 });
	Stuck it(rt);
	auto handle = skua::spawn(rt, sleeps(it));
	CHECK(!rt.shutdown(1ms));
	CHECK(rt.shutdown(10s, SKUA_SHUTDOWN_CANCEL));
	try {
		handle.join();
		CHECK(false);
	} catch (const skua::cancelled &) {
	}
}

// --- deadlines ----------------------------------------------------------------------

template <class Op> skua::task<> is_late(Op op)
{
	try {
		co_await std::move(op);
		CHECK(false);
	} catch (const std::system_error &e) {
		CHECK(e.code() == std::errc::timed_out);
	}
}

skua::task<> await_deadlines(Stuck &it)
{
	char byte;
	co_await is_late(co::lock(it.mutex, skua::in(1ms)));
	co_await is_late(co::acquire(it.semaphore, 1, skua::in(1ms)));
	co_await is_late(co::wait(it.event, skua::in(1ms)));
	co_await is_late(co::receive(it.empty, skua::in(1ms)));
	co_await is_late(co::send(it.full, "three", skua::in(1ms)));
	co_await is_late(co::read(it.idle, &byte, 1, skua::in(1ms)));
	co_await is_late(co::select(skua::in(1ms), co::wait(it.event),
				    co::receive(it.empty)));
	const auto before = skua::deadline::clock::now();
	co_await co::sleep_for(2ms);
	CHECK(skua::deadline::clock::now() - before >= 2ms);
	co_await co::sleep_for(-1s);
	co_await co::sleep_until(before);
}

void deadlines(skua_runtime *rt)
{
	Stuck it(rt);
	std::lock_guard<skua::mutex> held(it.mutex);
	skua::block_on(rt, await_deadlines(it));
}

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
		values(rt);
		exceptions(rt);
		stack(rt);
		dropped(rt);
		cancel_each(rt, true);
		cancel_each(rt, false);
		results_after_cancel(rt);
		deadlines(rt);
		several(rt);
		select_once(rt);
		thousands(rt);
		outside_threads(rt);
		sockets(rt);
	}
	refused();
	shutdown();
	driven_by_caller();
	std::printf("%d wrong\n", wrong.load());
	return wrong != 0;
}

#endif
