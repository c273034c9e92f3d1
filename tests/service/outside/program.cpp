// SPDX-License-Identifier: MIT
//
// program.cpp - a C++17 program that uses skua: the initialisers, a timer, a
// waker that another thread wakes, and the queue on its own
#include <skua/skua.h>

#include <cstdio>
#include <future>
#include <thread>

namespace
{

struct Sleeper {
	skua_task task = SKUA_TASK_INIT(poll);
	skua_timer timer = SKUA_TIMER_INIT;
	uint64_t until_ns = skua_now_ns() + 1000000;

	static skua_poll poll(skua_task *self)
	{
		auto *sleeper = reinterpret_cast<Sleeper *>(self);
		if (skua_now_ns() >= sleeper->until_ns)
			return SKUA_DONE;
		skua_timer_add(self, &sleeper->timer, sleeper->until_ns);
		return SKUA_PENDING;
	}
};

struct Waiter {
	skua_task task = SKUA_TASK_INIT(poll);
	std::promise<skua_waker> *waker = nullptr;
	int polls = 0;

	static skua_poll poll(skua_task *self)
	{
		auto *waiter = reinterpret_cast<Waiter *>(self);
		if (waiter->polls++ > 0)
			return SKUA_DONE;
		waiter->waker->set_value(skua_task_waker(self));
		return SKUA_PENDING;
	}
};

bool sleeps(skua_runtime *rt)
{
	Sleeper sleeper;
	return skua_runtime_block_on(rt, &sleeper.task) == 0 &&
	       skua_now_ns() >= sleeper.until_ns;
}

bool wakes(skua_runtime *rt)
{
	std::promise<skua_waker> promise;
	auto waker = promise.get_future();
	Waiter waiter;
	waiter.waker = &promise;
	std::thread thread([&] { skua_waker_wake(waker.get()); });
	const int err = skua_runtime_block_on(rt, &waiter.task);
	thread.join();
	return err == 0 && waiter.polls == 2;
}

bool queues()
{
	int item = 0;
	skua_queue *queue = nullptr;
	const bool right = skua_queue_create(&queue, 0) == 0 &&
			   skua_queue_push(queue, &item) == 0 &&
			   skua_queue_pop(queue) == &item;
	skua_queue_destroy(queue);
	return right;
}

} // namespace

int main()
{
	skua_config config = {};
	config.size = sizeof(config);
	config.workers = 2;
	skua_error error;
	skua_runtime *rt = nullptr;
	if (skua_runtime_create(&rt, &config, &error) != 0) {
		std::fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	const bool right = sleeps(rt) && wakes(rt) && queues();
	if (skua_runtime_destroy(rt) != 0 || !right)
		return 1;
	std::puts("right");
	return 0;
}
