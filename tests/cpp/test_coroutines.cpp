// SPDX-License-Identifier: MIT
//
// test_coroutines.cpp - skua::task: values, exceptions, frames that are dropped or refused
#include "coroutines.hpp"

#ifdef __cpp_impl_coroutine

namespace
{

// --- values and exceptions ----------------------------------------------------------

skua::task<int &> reference(int &n)
{
	co_return n;
}

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

} // namespace

int main()
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		skua::runtime rt({ .workers = workers });
		values(rt);
		exceptions(rt);
		stack(rt);
		dropped(rt);
	}
	refused();
	std::printf("%d wrong\n", wrong.load());
	return wrong != 0;
}

#endif
