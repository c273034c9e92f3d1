// SPDX-License-Identifier: MIT
//
// coroutines.cpp - C++20 coroutines as tasks
//
// A Task is a coroutine whose frame holds a skua_task. A poll of that task resumes the
// coroutine, and returns the result that the next co_await or the end of the coroutine
// has set. Exceptions end the program, as in every function that the library calls.
#define SKUA_NOEXCEPT noexcept
#include <skua/skua.h>

#include <atomic>
#include <coroutine>
#include <cstdio>
#include <exception>

namespace
{

struct Task {
	// The promise derives from skua_task, so that a poll can find the coroutine.
	struct promise_type : skua_task {
		skua_poll result = SKUA_DONE;

		promise_type() noexcept
		{
			skua_task_init(this, poll);
			skua_task_detach(this, release);
		}
		Task get_return_object() noexcept
		{
			return { this };
		}
		// The coroutine begins in its first poll, and its frame lives
		// until the task has ended.
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		void return_void() noexcept
		{
			result = SKUA_DONE;
		}
		void unhandled_exception() noexcept
		{
			std::terminate();
		}

		static skua_poll poll(skua_task *self) noexcept
		{
			auto *promise = static_cast<promise_type *>(self);
			promise->handle().resume();
			return promise->result;
		}
		static void release(skua_task *self) noexcept
		{
			static_cast<promise_type *>(self)->handle().destroy();
		}
		std::coroutine_handle<promise_type> handle() noexcept
		{
			return std::coroutine_handle<
				promise_type>::from_promise(*this);
		}
	};

	promise_type *promise;
};

using Handle = std::coroutine_handle<Task::promise_type>;

// co_await Yield{}: let other tasks run.
struct Yield : std::suspend_always {
	void await_suspend(Handle handle) noexcept
	{
		handle.promise().result = SKUA_YIELD;
	}
};

// co_await Sleep{ns}: continue after @ns nanoseconds.
struct Sleep {
	uint64_t ns;
	skua_timer timer = SKUA_TIMER_INIT;

	bool await_ready() noexcept
	{
		return ns == 0;
	}
	void await_suspend(Handle handle) noexcept
	{
		handle.promise().result = SKUA_PENDING;
		skua_timer_add(&handle.promise(), &timer, skua_now_ns() + ns);
	}
	// A task that is cancelled continues before the timer has fired.
	void await_resume() noexcept
	{
		skua_timer_cancel(&timer);
	}
};

std::atomic<int> sum(0);

Task count(int number)
{
	for (int i = 0; i < number; i++) {
		co_await Yield{};
		sum += 1;
	}
	co_await Sleep{ 1000000 };
	sum += 1000;
}

} // namespace

int main()
{
	skua_runtime *rt = nullptr;
	if (skua_runtime_create(&rt, nullptr, nullptr) != 0)
		return 1;
	for (int i = 1; i <= 10; i++) {
		if (skua_task_spawn(rt, count(i).promise) != 0)
			return 1;
	}
	// A timer that has fired or was cancelled is no waker any more: each task has
	// ended and was released when this returns.
	if (skua_runtime_destroy(rt) != 0)
		return 1;
	std::printf("ten coroutines counted to %d\n", sum.load());
	return 0;
}
