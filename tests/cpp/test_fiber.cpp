// SPDX-License-Identifier: MIT
//
// test_fiber.cpp - exceptions in fibers: thrown, caught, and handled across waits
#include <skua/skua.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

std::atomic<int> wrong(0);

#define CHECK(condition)                                                    \
	do {                                                                \
		if (!(condition) && wrong.fetch_add(1) < 10)                \
			std::printf("line %d: %s\n", __LINE__, #condition); \
	} while (0)

struct Fiber {
	skua_fiber fiber; // first: the function casts back
	skua_runtime *rt;
	int number;
	int caught;
};

void wait()
{
	for (int n = 0; n < 3; n++)
		CHECK(skua_yield() == 0);
}

int number_of(const std::exception &e)
{
	return std::stoi(e.what());
}

// Throws through some frames, and some of them wait before.
void throw_deep(int depth, int number)
{
	if (depth == 0)
		throw std::runtime_error(std::to_string(number));
	if (depth % 3 == 0)
		CHECK(skua_yield() == 0);
	throw_deep(depth - 1, number);
}

void throw_and_catch(skua_fiber *self)
{
	Fiber *it = reinterpret_cast<Fiber *>(self);
	for (int n = 0; n < 20; n++) {
		try {
			throw_deep(10, it->number);
		} catch (const std::exception &e) {
			it->caught += number_of(e) == it->number;
		}
		CHECK(std::uncaught_exceptions() == 0);
	}
}

// Each exception is the fiber's own, on whichever thread it goes on.
void wait_in_catch(skua_fiber *self)
{
	Fiber *it = reinterpret_cast<Fiber *>(self);
	for (int n = 0; n < 20; n++) {
		try {
			try {
				throw_deep(4, it->number);
			} catch (const std::exception &) {
				wait();
				CHECK(std::current_exception() != nullptr);
				try {
					throw_deep(4, -1);
				} catch (const std::exception &e) {
					wait();
					CHECK(number_of(e) == -1);
				}
				wait();
				throw;
			}
		} catch (const std::exception &e) {
			it->caught += number_of(e) == it->number;
		}
		CHECK(std::current_exception() == nullptr);
		CHECK(skua_yield() == 0);
	}
}

struct Waits {
	~Waits()
	{
		CHECK(std::uncaught_exceptions() == 1);
		wait();
		CHECK(std::uncaught_exceptions() == 1);
	}
};

void wait_in_destructor(skua_fiber *self)
{
	Fiber *it = reinterpret_cast<Fiber *>(self);
	for (int n = 0; n < 20; n++) {
		try {
			Waits here;
			throw_deep(4, it->number);
		} catch (const std::exception &e) {
			it->caught += number_of(e) == it->number;
		}
		CHECK(std::uncaught_exceptions() == 0);
	}
}

// A poll runs within the join, if that is not in a catch block; and the child waits in a
// catch block as well.
void join_in_catch(skua_fiber *self)
{
	Fiber *it = reinterpret_cast<Fiber *>(self);
	for (int n = 0; n < 20; n++) {
		Fiber child = {};
		child.number = it->number + 1000;
		skua_fiber_init(&child.fiber, wait_in_catch, 0);
		try {
			throw_deep(2, it->number);
		} catch (const std::exception &e) {
			CHECK(skua_task_spawn(it->rt, &child.fiber.task) == 0);
			CHECK(skua_task_join(&child.fiber.task) == 0);
			CHECK(std::current_exception() != nullptr);
			it->caught += number_of(e) == it->number &&
				      child.caught == 20;
		}
	}
}

skua_runtime *create(unsigned workers, unsigned flags)
{
	skua_config config = SKUA_CONFIG_INIT;
	skua_runtime *rt = nullptr;
	config.workers = workers;
	config.flags = flags;
	CHECK(skua_runtime_create(&rt, &config, nullptr) == 0);
	return rt;
}

void run(skua_runtime *rt, skua_fiber_fn fn)
{
	std::vector<Fiber> fibers(50);
	for (size_t i = 0; i < fibers.size(); i++) {
		fibers[i].rt = rt;
		fibers[i].number = static_cast<int>(i);
		CHECK(skua_fiber_init(&fibers[i].fiber, fn, 0) == 0);
		CHECK(skua_task_spawn(rt, &fibers[i].fiber.task) == 0);
	}
	CHECK(skua_runtime_drain(rt) == 0);
	for (const Fiber &it : fibers)
		CHECK(it.caught == 20);
}

const skua_fiber_fn functions[] = { throw_and_catch, wait_in_catch,
				    wait_in_destructor, join_in_catch };

// The caller drives the runtime from a catch block.
void drive_in_catch()
{
	skua_runtime *rt = create(1, SKUA_CALLER_DRIVEN);
	try {
		throw std::runtime_error("7");
	} catch (const std::exception &e) {
		for (skua_fiber_fn fn : functions)
			run(rt, fn);
		CHECK(std::current_exception() != nullptr);
		CHECK(number_of(e) == 7);
	}
	CHECK(std::current_exception() == nullptr);
	CHECK(skua_runtime_destroy(rt) == 0);
}

} // namespace

int main()
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		skua_runtime *rt = create(workers, 0);
		for (skua_fiber_fn fn : functions)
			run(rt, fn);
		CHECK(skua_runtime_destroy(rt) == 0);
	}
	drive_in_catch();
	std::printf("%d wrong\n", wrong.load());
	return wrong != 0;
}
