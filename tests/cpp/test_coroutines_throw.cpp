// SPDX-License-Identifier: MIT
//
// test_coroutines_throw.cpp - exceptions at each stage of a coroutine, and of groups
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "../sanitized.h"
#include "coroutines.hpp"

#ifdef __cpp_impl_coroutine

namespace
{

// --- each move of a value -----------------------------------------------------------

std::atomic<int> moves_left(0);

// The move for which none is left throws.
struct Moody {
	Alive alive;
	int n;

	explicit Moody(int value) : n(value)
	{
	}
	Moody(Moody &&from) : n(from.n)
	{
		if (moves_left-- == 0)
			throw Fault("move");
	}
};

skua::task<Moody> moody(int n)
{
	co_await co::yield();
	co_return Moody(n);
}

skua::task<Moody> takes_moody(Moody it)
{
	co_await co::yield();
	co_return std::move(it);
}

skua::task<> awaits_one()
{
	Alive here;
	CHECK((co_await moody(1)).n == 1);
	CHECK((co_await takes_moody(Moody(2))).n == 2);
}

skua::task<> joins_one()
{
	Alive here;
	auto rt = skua::current_runtime();
	auto handle = skua::spawn(rt, moody(1));
	CHECK((co_await handle).n == 1);
	CHECK((co_await skua::spawn(rt, [] { return Moody(2); })).n == 2);
}

skua::task<> awaits_all()
{
	Alive here;
	const auto both = co_await co::when_all(moody(1), moody(2));
	CHECK(std::get<0>(both).n + std::get<1>(both).n == 3);
}

skua::task<> awaits_any()
{
	Alive here;
	const auto one = co_await co::when_any(moody(1), late(2, 1h));
	CHECK(std::get<0>(one).n == 1);
}

skua::task<> awaits_members()
{
	Alive here;
	co_await co::with_group([](skua::group &group) -> skua::task<> {
		skua::spawn(group, moody(1));
		skua::spawn(group, takes_moody(Moody(2)));
		co_await takes_moody(Moody(3));
	});
}

skua::task<> sends()
{
	Alive here;
	skua::channel<Moody> items(2);
	CHECK(co_await co::send(items, Moody(1)));
	CHECK(co_await co::send(items, Moody(2)));
	auto first = co_await co::receive(items);
	CHECK(first && first->n == 1);
	auto next = co_await co::select(co::receive(items), co::sleep_for(1h));
	CHECK(next.index() == 0 && std::get<0>(next)->n == 2);
}

skua::task<> (*const stages[])() = { awaits_one, joins_one,      awaits_all,
				     awaits_any, awaits_members, sends };

// The first move throws, then the second, and so on until none does.
void each_move(skua_runtime *rt)
{
	for (auto stage : stages) {
		int thrown = 0;
		for (bool ended = false; !ended; thrown += !ended) {
			moves_left = thrown;
			try {
				skua::block_on(rt, stage());
				ended = true;
			} catch (const Fault &e) {
				CHECK(e.what() == std::string("move"));
			}
			skua_runtime_drain(rt);
			CHECK(live == 0);
		}
		CHECK(thrown > 1);
	}
}

// --- locals and handlers ------------------------------------------------------------

struct Slams {
	Alive alive;

	~Slams() noexcept(false)
	{
		throw Fault("destructor");
	}
};

skua::task<int> slams(int n)
{
	Alive here;
	Slams it;
	co_await co::yield();
	co_return n;
}

skua::task<std::string> await_slams()
{
	std::string seen;
	try {
		co_await slams(1);
	} catch (const Fault &e) {
		seen = e.what();
	}
	try {
		co_await skua::spawn(skua::current_runtime(), slams(2));
	} catch (const Fault &e) {
		seen += e.what();
	}
	co_return seen;
}

skua::task<int> catches()
{
	CHECK(std::uncaught_exceptions() == 0);
	CHECK(!std::current_exception());
	try {
		co_await slams(1);
	} catch (const Fault &) {
		co_return 1;
	}
	co_return 0;
}

struct Drives {
	skua_runtime *rt;

	~Drives()
	{
		CHECK(std::uncaught_exceptions() == 1);
		CHECK(skua::block_on(rt, catches()) == 1);
		CHECK(std::uncaught_exceptions() == 1);
	}
};

// A thread that handles an exception, or throws one, polls coroutines.
void in_handlers()
{
	skua::runtime rt({ .flags = SKUA_CALLER_DRIVEN });
	std::string seen;
	try {
		try {
			Drives it{ rt };
			throw Fault("outer");
		} catch (const Fault &) {
			CHECK(skua::block_on(rt, catches()) == 1);
			throw;
		}
	} catch (const Fault &e) {
		seen = e.what();
	}
	CHECK(seen == "outer" && live == 0);
}

// --- groups -------------------------------------------------------------------------

// Not coroutines: they throw when they are called.
skua::task<> body_throws(skua::group &)
{
	throw Fault("body");
}

skua::task<> body_throws_late(skua::group &group)
{
	skua::spawn(group, late(1, 1h));
	group.spawn_fiber([] { skua::sleep_for(1h); });
	throw Fault("body");
}

// The queue has no room for the body itself.
skua::task<> body_fills(skua::group &group)
{
	try {
		for (int i = 0; i < 1000; i++)
			skua::spawn(group, late(i, 1h));
		CHECK(false);
	} catch (const std::system_error &) {
	}
	return nothing();
}

skua::task<std::string> awaits_group(skua::task<> (*body)(skua::group &))
{
	Alive here;
	try {
		co_await co::with_group(body);
	} catch (const Fault &e) {
		co_return e.what();
	} catch (const std::system_error &e) {
		co_return e.code() == std::errc(EAGAIN) ? "refused" : "other";
	}
	co_return "nothing";
}

void bodies(skua_runtime *rt)
{
	CHECK(skua::block_on(rt, awaits_group(body_throws)) == "body");
	CHECK(skua::block_on(rt, awaits_group(body_throws_late)) == "body");
	skua::runtime small({ .workers = 1, .max_queued = 2 });
	CHECK(skua::block_on(small, awaits_group(body_fills)) == "refused");
	skua_runtime_drain(rt);
	CHECK(live == 0);
}

// Members that have ended, of a group that nothing has waited for.
skua::task<> leaves_ended()
{
	int seen = 0;
	{
		skua::group group(skua::current_runtime());
		group.spawn([&] { seen = 1; });
		while (skua_group_live(group.c()) > 0)
			co_await co::yield();
	}
	CHECK(seen == 1);
}

// Members that end while the group is destroyed, on a thread and in a fiber.
void unfinished(skua_runtime *rt)
{
	auto leave = [rt] {
		for (int i = 0; i < 100; i++) {
			skua::group group(rt);
			skua::spawn(group, number(i));
			skua::spawn(group, late(i, 1h));
			skua::spawn(group, slams(i));
			if (i % 2)
				skua_yield();
		}
		CHECK(live == 0);
	};
	leave();
	skua::spawn_fiber(rt, leave).join();
	auto cancelled = skua::spawn_fiber(rt, leave);
	cancelled.cancel();
	cancelled.join();
	skua::block_on(rt, leaves_ended());
}

skua::task<> leaves_members()
{
	skua::group group(skua::current_runtime());
	skua::spawn(group, late(1, 1h));
	co_return;
}

// In a coroutine it ends the program.
void unfinished_in_coroutine()
{
	// The sanitizer starts no threads in the child.
	if (THREAD_SANITIZED)
		return;
	const pid_t child = fork();
	if (child == 0) {
		std::set_terminate([] { _exit(42); });
		skua::block_on(skua::runtime({ .workers = 1 }),
			       leaves_members());
		_exit(0);
	}
	int status = 0;
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

// A group that a C function nests in another one is a member of it.
void nested(skua_runtime *rt)
{
	std::atomic<bool> waits(false);
	std::thread waiter;
	skua_group child;
	CHECK(skua_group_init(&child, rt) == 0);
	{
		skua::group parent(rt);
		CHECK(skua_group_nest(&child, parent.c()) == 0);
		waiter = std::thread([&] {
			usleep(2000);
			waits = true;
			CHECK(skua_group_wait(&child) == 0);
		});
	}
	CHECK(waits);
	waiter.join();
}

// Members end, and are freed, before the spawn that made them has returned.
void quick_members(skua_runtime *rt)
{
	std::atomic<int> ended(0);
	auto quick = [&](int n) -> skua::task<int> {
		ended++;
		co_return n;
	};
	skua::group group(rt);
	for (int i = 0; i < 20000; i++)
		skua::spawn(group, quick(i));
	group.wait();
	for (int i = 0; i < 20000; i++)
		skua::spawn(rt, quick(i)).detach();
	skua_runtime_drain(rt);
	CHECK(ended == 40000);
}

} // namespace

int main()
{
	unfinished_in_coroutine(); // first: the child has one thread
	for (unsigned workers = 1; workers <= 3; workers++) {
		skua::runtime rt({ .workers = workers });
		each_move(rt);
		CHECK(skua::block_on(rt, await_slams()) ==
		      "destructordestructor");
		bodies(rt);
		unfinished(rt);
		nested(rt);
		quick_members(rt);
	}
	in_handlers();
	std::printf("%d wrong\n", wrong.load());
	return wrong != 0;
}

#endif
