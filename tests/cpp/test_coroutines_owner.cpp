// SPDX-License-Identifier: MIT
//
// test_coroutines_owner.cpp - skua::task: the owner of a frame, and calls that are refused it
#include <cstdlib>
#include <memory>
#include <new>

#include "../sanitized.h"
#include "coroutines.hpp"

#ifdef __cpp_impl_coroutine

// Frames that operator new has handed out. Builds with a sanitizer count their own.
namespace
{
std::atomic<long> frames_out(0);
}

#if !SANITIZED
void *operator new(size_t bytes, std::align_val_t alignment)
{
	const size_t step = static_cast<size_t>(alignment);
	void *it = std::aligned_alloc(step, (bytes + step - 1) / step * step);
	if (!it)
		throw std::bad_alloc();
	frames_out++;
	return it;
}

void operator delete(void *memory, std::align_val_t) noexcept
{
	frames_out--;
	std::free(memory);
}
#endif

namespace
{

// A sanitizer's frames are larger, and slower.
constexpr int depth = SANITIZED ? 100000 : 1000000;

// --- one co_await or spawn ----------------------------------------------------------

skua::task<int> waits(skua::event &event, int *begun)
{
	Alive here;
	++*begun;
	co_await co::wait(event);
	co_return 1;
}

skua::task<int> awaits(skua::task<int> &shared)
{
	try {
		co_return co_await std::move(shared);
	} catch (const std::system_error &e) {
		co_return -e.code().value();
	}
}

// The second of two that await a task comes while the first one waits in it.
skua::task<> await_at_once()
{
	skua::event event;
	int begun = 0;
	skua::task<int> shared = waits(event, &begun);
	auto rt = skua::current_runtime();
	auto first = skua::spawn(rt, awaits(shared));
	while (begun == 0)
		co_await co::yield();
	CHECK(co_await awaits(shared) == -EINVAL);
	CHECK(error_of([&] { skua::spawn(rt, std::move(shared)).detach(); }) ==
	      EINVAL);
	{
		skua::task<int> dropped = std::move(shared);
	}
	event.set();
	CHECK(co_await first == 1);
	CHECK(begun == 1 && live == 0);
}

skua::task<int> awaits_itself(skua::task<int> &own)
{
	co_return co_await awaits(own);
}

skua::task<> await_itself()
{
	skua::task<int> own = number(0);
	own = awaits_itself(own);
	CHECK(co_await std::move(own) == -EINVAL);
}

// --- moves --------------------------------------------------------------------------

template <class T> void move_to_itself(T &it)
{
	T &same = it;
	it = std::move(same);
}

void moves(skua_runtime *rt)
{
	skua::event event;
	int begun = 0;
	skua::task<int> work = waits(event, &begun);
	move_to_itself(work);
	auto handle = skua::spawn(rt, std::move(work));
	move_to_itself(handle);
	CHECK(handle.joinable());
	std::swap(handle, handle);
	auto other = skua::spawn(rt, number(2));
	std::swap(handle, other);
	event.set();
	CHECK(handle.join() == 2 && other.join() == 1);

	// The task that was in the handle is cancelled.
	skua::event never;
	handle = skua::spawn(rt, waits(never, &begun));
	handle = skua::spawn(rt, number(3));
	CHECK(handle.join() == 3);
	handle = skua::join_handle<int>();
	CHECK(!handle.joinable());
	CHECK(error_of([&] { handle.join(); }) == EINVAL);
	skua_runtime_drain(rt);
	CHECK(live == 0);
}

// --- chains -------------------------------------------------------------------------

skua::task<int> deep(int levels)
{
	if (levels == 0)
		co_return 0;
	co_return 1 + co_await deep(levels - 1);
}

skua::task<int> throws_below(int levels)
{
	Alive here;
	if (levels == 0)
		throw Fault("bottom");
	co_return co_await throws_below(levels - 1);
}

// The frame of each level is a variable of the next.
skua::task<int> holds(skua::task<int> inner)
{
	co_return 1 + co_await std::move(inner);
}

skua::task<int> joins(skua_runtime *rt, int levels)
{
	if (levels == 0)
		co_return 0;
	co_return 1 + co_await skua::spawn(rt, joins(rt, levels - 1));
}

// None of them uses up a stack.
void chains(skua_runtime *rt)
{
	CHECK(skua::block_on(rt, deep(depth)) == depth);
	skua::task<int> chain = number(0);
	for (int i = 0; i < depth; i++)
		chain = holds(std::move(chain));
	CHECK(skua::block_on(rt, std::move(chain)) == depth);
	CHECK(skua::block_on(rt, joins(rt, depth / 10)) == depth / 10);
	try {
		skua::block_on(rt, throws_below(depth / 100));
		CHECK(false);
	} catch (const Fault &e) {
		CHECK(e.what() == std::string("bottom"));
	}
	CHECK(live == 0);
}

// --- frames of threads --------------------------------------------------------------

// Destroyed after the frames that the thread keeps, if it was constructed before.
struct Last {
	std::vector<skua::task<int>> tasks;
};

void use_late()
{
	static thread_local Last last;
	for (int i = 0; i < 3; i++)
		last.tasks.push_back(number(i));
	{
		skua::task<int> dropped = number(4);
	}
	for (int i = 0; i < 3; i++)
		last.tasks.push_back(number(i));
}

// More than a thread keeps; a part of them comes from another thread.
void use_many(skua_runtime *rt)
{
	std::vector<skua::task<int>> tasks;
	std::vector<skua::join_handle<int>> handles;
	for (int i = 0; i < 2000; i++) {
		tasks.push_back(number(i));
		handles.push_back(skua::spawn(rt, number(i)));
	}
	tasks.clear();
	for (auto &handle : handles)
		handle.join();
}

// A thread keeps some frames, uses them again, and frees all of them at its end.
void threads()
{
	const long before = frames_out;
	std::thread([] {
		for (int turn = 0; turn < 3; turn++) {
			std::vector<skua::task<int>> tasks;
			for (int i = 0; i < 100; i++)
				tasks.push_back(number(i));
		}
		const long kept = frames_out;
		skua::task<int> again = number(1);
		CHECK(frames_out == kept);
	}).join();
	CHECK(frames_out == before);
	{
		skua::runtime rt({ .workers = 2 });
		std::vector<std::thread> all;
		for (int i = 0; i < 3; i++) {
			all.emplace_back([&rt] {
				use_late();
				use_many(rt);
			});
		}
		for (std::thread &thread : all)
			thread.join();
	}
	CHECK(frames_out == before);
}

// --- a group that a frame owns -------------------------------------------------------

skua::task<> owns(std::shared_ptr<skua::group> group)
{
	skua::spawn(*group, number(1));
	while (skua_group_live(group->c()) > 0)
		co_await co::yield();
}

// Memory that a runtime has from this program.
std::atomic<long> runtime_bytes(0);

void *runtime_alloc(void *, size_t align, size_t size) noexcept
{
	runtime_bytes += static_cast<long>(size);
	return std::aligned_alloc(align, size);
}

void runtime_free(void *, void *memory, size_t size) noexcept
{
	runtime_bytes -= static_cast<long>(size);
	std::free(memory);
}

// A parameter lives as long as the frame, which the release of the task destroys: no poll is
// under way then.
void group_of_a_frame()
{
	const skua_allocator allocator = { runtime_alloc, runtime_free,
					   nullptr };
	skua::runtime rt({ .workers = 1, .allocator = &allocator });
	const long before = runtime_bytes;
	std::weak_ptr<skua::group> seen;
	{
		auto group = std::make_shared<skua::group>(rt);
		seen = group;
		skua::spawn(rt, owns(std::move(group))).detach();
	}
	rt.drain();
	CHECK(seen.expired());
	CHECK(runtime_bytes == before);
}

} // namespace

int main()
{
	threads(); // first: the main thread keeps its frames
	for (unsigned workers = 1; workers <= 3; workers++) {
		skua::runtime rt({ .workers = workers });
		skua::block_on(rt, await_itself());
		moves(rt);
		chains(rt);
	}
	skua::runtime rt({ .workers = 1 });
	skua::block_on(rt, await_at_once());
	group_of_a_frame();
	std::printf("%d wrong\n", wrong.load());
	return wrong != 0;
}

#endif
