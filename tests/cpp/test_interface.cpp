// SPDX-License-Identifier: MIT
//
// test_interface.cpp - the C++17 part of skua.hpp: runtimes, tasks, fibers, locks,
// channels, fork-join
#include <skua/skua.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <deque>
#include <numeric>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "check.hpp"

namespace
{

using namespace std::chrono_literals;

struct Fault : std::runtime_error {
	using std::runtime_error::runtime_error;
};

[[noreturn]] void fault(const char *text)
{
	throw Fault(text);
}

template <class F> std::string text_of(F &&f)
{
	try {
		f();
	} catch (const Fault &e) {
		return e.what();
	}
	return "";
}

// It does not wait.
bool negative_shutdown(skua::runtime &rt)
{
	skua::event event;
	auto handle = skua::spawn_fiber(rt, [&] { event.wait(); });
	const bool ended = rt.shutdown(-1s);
	event.set();
	handle.join();
	return ended;
}

void deadlines()
{
	CHECK(skua::deadline().ns() == SKUA_FOREVER_NS);
	CHECK(skua::in(std::chrono::nanoseconds::max()).ns() ==
	      SKUA_FOREVER_NS);
	CHECK(skua::in(std::chrono::nanoseconds::min()).ns() == 0);
	CHECK(skua::in(1h).ns() > skua_now_ns());
}

void runtimes()
{
	skua::config config;
	config.workers = SKUA_MAX_WORKERS + 1;
	try {
		skua::runtime rt(config);
		CHECK(false);
	} catch (const std::system_error &e) {
		CHECK(e.code() == std::errc::invalid_argument);
		CHECK(std::string(e.what()).find("4097") != std::string::npos);
	}
	config.workers = 2;
	skua::runtime first(config), other(std::move(first));
	CHECK(static_cast<skua_runtime *>(first) == nullptr);
	CHECK(other.workers() == 2);
	first = std::move(other);
	CHECK(first.workers() == 2);
	CHECK(first.run([](skua_ctx) { return 3; }) == 3);
	CHECK(text_of([&] { first.run([](skua_ctx) { fault("run"); }); }) ==
	      "run");
	CHECK(skua::current_runtime() == nullptr);
	CHECK(!negative_shutdown(first));
	CHECK(first.shutdown(10s));
	CHECK(error_of([&] { skua::spawn(first, [] {}).join(); }) == ESHUTDOWN);
}

void tasks(skua::runtime &rt)
{
	CHECK(skua::spawn(rt, [] { return 1; }).join() == 1);
	CHECK(*skua::spawn(rt, [] {
		       return std::make_unique<int>(2);
	       }).join() == 2);
	int n = 3;
	CHECK(&skua::spawn(rt, [&]() -> int & { return n; }).join() == &n);
	CHECK(skua::spawn(rt, [&]() -> int && {
		      return std::move(n);
	      }).join() == 3);
	CHECK(skua::spawn(rt, [&] {
		      return skua::current_runtime() == rt;
	      }).join());
	CHECK(text_of([&] { skua::spawn(rt, [] { fault("task"); }).join(); }) ==
	      "task");
	CHECK(text_of([&] {
		      skua::spawn_fiber(rt, [] { fault("fiber"); }).join();
	      }) == "fiber");
	CHECK(error_of([] { skua::join_handle<int>().join(); }) == EINVAL);
	auto only_moves = [p = std::make_unique<int>(4)] { return *p; };
	CHECK(skua::spawn(rt, std::move(only_moves)).join() == 4);

	// A deadline leaves the handle as it is; a dropped handle cancels its task.
	skua::event event;
	bool cancelled = false;
	auto waits = [&] {
		try {
			event.wait();
		} catch (const skua::cancelled &) {
			cancelled = true;
		}
	};
	auto handle = skua::spawn_fiber(rt, waits);
	CHECK(error_of([&] { handle.join(skua::in(1ms)); }) == ETIMEDOUT);
	CHECK(handle.joinable());
	handle = {};
	rt.drain();
	CHECK(cancelled);
	cancelled = false;
	skua::spawn_fiber(rt, waits).detach();
	event.set();
	rt.drain();
	CHECK(!cancelled);
	// No wait in a poll.
	CHECK(skua::spawn(rt, [&] {
		      return error_of([] { skua::sleep_for(1ms); });
	      }).join() == EDEADLK);
}

// A member that was cancelled, and ends by the exception for that, has not failed.
void cancelled_members(skua::group &group)
{
	skua::event never;
	for (int turn = 0; turn < 2; turn++) {
		group.spawn_fiber([&] { never.wait(); });
		group.spawn_fiber([&] { never.wait(); });
		group.cancel();
		group.wait();
	}
	// An exception of another kind counts, also after a cancel.
	group.spawn_fiber([&] { never.wait(); });
	group.spawn_fiber([&] {
		CHECK(error_of([&] { never.wait(); }) == ECANCELED);
		fault("cleaning up");
	});
	group.cancel();
	CHECK(text_of([&] { group.wait(); }) == "cleaning up");
	// The end of another task that was cancelled is a failure as well.
	group.spawn([] { throw skua::cancelled(); });
	CHECK(error_of([&] { group.wait(); }) == ECANCELED);
}

// The waiting fiber was cancelled: its wait fails, and the members go on.
void cancelled_wait(skua::runtime &rt)
{
	skua::group group(rt);
	skua::event end;
	std::atomic<int> ended(0);
	group.spawn_fiber([&] {
		end.wait();
		ended++;
	});
	auto waits = skua::spawn_fiber(
		rt, [&] { return error_of([&] { group.wait(); }); });
	waits.cancel();
	CHECK(waits.join() == ECANCELED);
	end.set();
	group.wait();
	CHECK(ended == 1);
}

void groups(skua::runtime &rt)
{
	skua::group group(rt);
	std::atomic<int> ended(0);
	for (int i = 0; i < 100; i++) {
		group.spawn([&] {
			group.spawn_fiber([&] {
				skua_yield();
				ended++;
			});
			ended++;
		});
	}
	group.wait();
	CHECK(ended == 200);

	// The first exception cancels the others, and the group can be used again.
	for (int turn = 0; turn < 2; turn++) {
		skua::event never;
		group.spawn_fiber([&] { never.wait(); });
		group.spawn_fiber([&] { fault("member"); });
		CHECK(text_of([&] { group.wait(); }) == "member");
		group.spawn([&] { ended++; });
		group.wait();
	}
	CHECK(ended == 202);
	cancelled_members(group);
	skua::event never;
	group.spawn_fiber([&] { never.wait(); });
	CHECK(error_of([&] { group.wait(skua::in(1ms)); }) == ETIMEDOUT);
	// Its end cancels and waits.
}

void locks(skua::runtime &rt)
{
	skua::mutex mutex;
	skua::shared_mutex shared;
	skua::semaphore semaphore(2);
	skua::group group(rt);
	long sum = 0, read = 0;
	for (int i = 0; i < 20; i++) {
		group.spawn_fiber([&] {
			for (int n = 0; n < 50; n++) {
				std::lock_guard<skua::mutex> guard(mutex);
				const long before = sum;
				skua_yield();
				sum = before + 1;
			}
			{
				std::unique_lock<skua::shared_mutex> guard(
					shared);
				read++;
			}
			std::shared_lock<skua::shared_mutex> guard(shared);
			semaphore.acquire();
			skua_yield();
			semaphore.release();
			CHECK(read > 0);
		});
	}
	group.wait();
	CHECK(sum == 1000 && read == 20);

	std::lock_guard<skua::mutex> guard(mutex);
	CHECK(error_of([&] { mutex.lock(); }) == EDEADLK);
	CHECK(!mutex.try_lock());
	std::thread([&] {
		CHECK(!mutex.try_lock());
		CHECK(!mutex.try_lock_until(skua::in(1ms)));
		CHECK(semaphore.try_acquire(2));
		CHECK(!semaphore.try_acquire());
		semaphore.close();
		CHECK(error_of([&] { semaphore.acquire(); }) == ESHUTDOWN);
	}).join();
	CHECK(error_of([] { skua::semaphore(SKUA_MAX_PERMITS + 1); }) ==
	      EINVAL);
}

struct Fixed {
	const int n = 0;
};

struct OnlyMoves {
	int n = 0;

	explicit OnlyMoves() = default;
	explicit OnlyMoves(int number) : n(number)
	{
	}
	OnlyMoves(OnlyMoves &&) = default;
	OnlyMoves(const OnlyMoves &) = delete;
	OnlyMoves &operator=(OnlyMoves &&) = default;
};

// Its way into a channel is one move, to the parcel.
struct MovesOnce {
	static inline int live = 0;
	int moves = 0;

	MovesOnce()
	{
		live++;
	}
	MovesOnce(MovesOnce &&from) : moves(from.moves + 1)
	{
		if (moves > 1)
			fault("moved too often");
		live++;
	}
	~MovesOnce()
	{
		live--;
	}
};

template <class T> void pass(skua::runtime &rt, T (*make)(int), int (*read)(T))
{
	skua::channel<T> channel(3);
	long sum = 0;
	auto sender = skua::spawn_fiber(rt, [&] {
		for (int i = 0; i < 100; i++)
			CHECK(channel.send(make(i)));
		channel.close();
	});
	while (std::optional<T> item = channel.receive())
		sum += read(std::move(*item));
	CHECK(sum == 99 * 100 / 2);
	CHECK(!channel.send(make(1)));
	sender.join();
}

void channels(skua::runtime &rt)
{
	pass<int>(
		rt, [](int i) { return i; }, [](int i) { return i; });
	pass<std::string>(
		rt, [](int i) { return std::to_string(i); },
		[](std::string s) { return std::stoi(s); });
	pass<std::unique_ptr<int>>(
		rt, [](int i) { return std::make_unique<int>(i); },
		[](std::unique_ptr<int> p) { return *p; });

	// Types that bytes could copy, but assignments or conversions could not make.
	pass<Fixed>(
		rt, [](int i) { return Fixed{ i }; },
		[](Fixed item) { return item.n; });
	pass<OnlyMoves>(
		rt, [](int i) { return OnlyMoves(i); },
		[](OnlyMoves item) { return item.n; });
	pass<Wide>(
		rt, [](int i) { return Wide{ i }; },
		[](Wide item) {
			CHECK(item.aligned());
			return static_cast<int>(item.n);
		});
	{
		// The channel frees what is left, and moves nothing.
		skua::channel<MovesOnce> left(2);
		left.send(MovesOnce());
	}
	CHECK(MovesOnce::live == 0);

	skua::channel<std::string> channel(2);
	std::string text = "a text that needs memory of its own";
	CHECK(channel.try_send(text));
	text = "another text that needs memory of its own";
	CHECK(channel.try_send(text));
	text = "kept";
	CHECK(!channel.try_send(text));
	CHECK(text == "kept");
	CHECK(error_of([&] { channel.send("late", skua::in(1ms)); }) ==
	      ETIMEDOUT);
	CHECK(channel.try_receive()->front() == 'a');
	CHECK(error_of([] { skua::channel<int>(0); }) == EINVAL);
	// One item is left: the channel frees it.
}

void descriptors(skua::runtime &rt)
{
	int ends[2];
	char bytes[6] = {};
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	skua::io a(rt, ends[0]), b(rt, ends[1]);
	a.write_all("hello", 5);
	b.read_exact(bytes, 5);
	CHECK(bytes == std::string("hello"));
	CHECK(error_of([&] { b.read(bytes, 1, skua::in(1ms)); }) == ETIMEDOUT);
	skua::io moved(std::move(a));
	CHECK(a.fd() == -1 && moved.fd() == ends[0]);
	CHECK(error_of([&] { a.read(bytes, 1); }) == EBADF);
	moved.close();
	CHECK(b.read(bytes, 1) == 0);
	moved.close();
	CHECK(error_of([&] { moved.read(bytes, 1); }) == EBADF);

	// A close writes nothing that calls in other threads read.
	skua::io listener = skua::listen(rt, "127.0.0.1:0");
	const skua_io handle = listener.c();
	auto acceptor = skua::spawn_fiber(
		rt, [&] { return error_of([&] { listener.accept(); }); });
	listener.close();
	CHECK(acceptor.join() == EBADF);
	CHECK(listener.c().serial == handle.serial);
	CHECK(error_of([&] { skua::listen(rt, "nowhere"); }) == EINVAL);
	CHECK(error_of([&] { skua::io(rt, -1); }) == EBADF);
}

long fib(skua_ctx ctx, long n)
{
	if (n < 2)
		return n;
	const auto both = skua::invoke(
		ctx, [=](skua_ctx c) { return fib(c, n - 1); },
		[=](skua_ctx c) { return fib(c, n - 2); });
	return both.first + both.second;
}

void forks(skua::runtime &rt)
{
	CHECK(rt.run([](skua_ctx ctx) { return fib(ctx, 20); }) == 6765);
	const auto throws = [](const char *text) {
		return [text](skua_ctx) {
			if (text)
				fault(text);
		};
	};
	const char *texts[][2] = { { "a", nullptr },
				   { nullptr, "b" },
				   { "a", "b" } };
	for (const auto &it : texts) {
		CHECK(text_of([&] {
			      rt.run([&](skua_ctx ctx) {
				      skua::invoke(ctx, throws(it[0]),
						   throws(it[1]));
			      });
		      }) == (it[0] ? it[0] : it[1]));
	}

	static int number = 1;
	const auto both = rt.run([](skua_ctx ctx) {
		return skua::invoke(
			ctx, [](skua_ctx) -> int & { return number; },
			[](skua_ctx) { return std::ref(number); });
	});
	CHECK(both.first == &number && &both.second.get() == &number);

	std::atomic<int> calls(0);
	CHECK(text_of([&] {
		      rt.run([&](skua_ctx ctx) {
			      skua::scope scope(ctx);
			      for (int i = 0; i < 1000; i++) {
				      scope.fork([&, i](skua_ctx) {
					      calls++;
					      if (i >= 500)
						      fault(i == 500 ? "500"
								     : "later");
				      });
			      }
			      scope.join();
		      });
	      }) == "500");
	CHECK(calls == 1000);
}

void loops(skua::runtime &rt)
{
	std::vector<long> items(100000);
	std::iota(items.begin(), items.end(), 0L);
	CHECK(text_of([&] {
		      rt.run([&](skua_ctx ctx) {
			      skua::for_each(
				      ctx, items.begin(), items.end(),
				      [](long &item) {
					      if (item >= 70000)
						      fault(std::to_string(item)
								    .c_str());
				      });
		      });
	      }) == "70000");
	std::vector<std::string> texts;
	std::string expected = "begin";
	for (int i = 0; i < 5000; i++) {
		texts.push_back(std::to_string(i));
		expected += texts.back();
	}
	rt.run([&](skua_ctx ctx) {
		skua::for_each(ctx, items.begin(), items.end(), [](long &item) {
			item = (item * 7919) % 100003;
		});
		CHECK(skua::reduce(ctx, items.begin(), items.end(), 1L) ==
		      std::accumulate(items.begin(), items.end(), 1L));
		CHECK(skua::reduce(ctx, items.begin(), items.begin(), 5L) == 5);
		const auto append = [](std::string a, std::string b) {
			return a + b;
		};
		for (size_t grain : { size_t(0), size_t(7) })
			CHECK(skua::reduce(ctx, texts.begin(), texts.end(),
					   std::string("begin"), append,
					   grain) == expected);
		const std::vector<Wide> wide(5000, Wide{ 1 });
		const auto add = [](const Wide &a, const Wide &b) {
			CHECK(a.aligned() && b.aligned());
			return Wide{ a.n + b.n };
		};
		for (size_t grain : { size_t(0), size_t(7) })
			CHECK(skua::reduce(ctx, wide.begin(), wide.end(),
					   Wide(), add, grain)
				      .n == 5000);
		skua::sort(ctx, items.begin(), items.end());
		CHECK(std::is_sorted(items.begin(), items.end()));
		skua::stable_sort(
			ctx, items.begin(), items.end(),
			[](long a, long b) { return a % 10 > b % 10; });
		for (size_t i = 1; i < items.size(); i++)
			CHECK(items[i - 1] % 10 > items[i] % 10 ||
			      (items[i - 1] % 10 == items[i] % 10 &&
			       items[i - 1] < items[i]));
	});
	static_assert(skua::detail::contiguous_v<long *>);
	static_assert(skua::detail::contiguous_v<std::vector<long>::iterator>);
	static_assert(
		skua::detail::contiguous_v<std::array<long, 3>::iterator>);
	static_assert(!skua::detail::contiguous_v<std::deque<long>::iterator>);
	static_assert(!skua::detail::contiguous_v<std::vector<bool>::iterator>);
	static_assert(!skua::detail::contiguous_v<
		      std::vector<long>::reverse_iterator>);
	CHECK(text_of([&] {
		      rt.run([&](skua_ctx ctx) {
			      skua::sort(ctx, items.begin(), items.end(),
					 [](long, long) -> bool {
						 fault("less");
					 });
		      });
	      }) == "less");
	CHECK(text_of([&] {
		      rt.run([&](skua_ctx ctx) {
			      skua::reduce(ctx, texts.begin(), texts.end(),
					   std::string(),
					   [](std::string,
					      std::string) -> std::string {
						   fault("join");
					   });
		      });
	      }) == "join");
}

} // namespace

int main()
{
	deadlines();
	runtimes();
	for (unsigned workers = 1; workers <= 3; workers++) {
		skua::config config;
		config.workers = workers;
		skua::runtime rt(config);
		tasks(rt);
		groups(rt);
		cancelled_wait(rt);
		locks(rt);
		channels(rt);
		descriptors(rt);
		forks(rt);
		loops(rt);
	}
	std::printf("%d wrong\n", wrong.load());
	return wrong != 0;
}
