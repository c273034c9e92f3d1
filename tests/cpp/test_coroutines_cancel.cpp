// SPDX-License-Identifier: MIT
//
// test_coroutines_cancel.cpp - cancels and deadlines at each wait of a coroutine
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "coroutines.hpp"

#ifdef __cpp_impl_coroutine

namespace
{

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

} // namespace

int main()
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		skua::runtime rt({ .workers = workers });
		cancel_each(rt, true);
		cancel_each(rt, false);
		results_after_cancel(rt);
		deadlines(rt);
	}
	shutdown();
	std::printf("%d wrong\n", wrong.load());
	return wrong != 0;
}

#endif
