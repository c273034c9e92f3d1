// SPDX-License-Identifier: MIT
/*
 * shop.cpp - a task of C++ whose type has no name, which works until a line or the end
 * of the standard input
 */
#include <skua/skua.h>

#include <atomic>
#include <cstdio>

namespace shop
{

struct Cart : skua_task {
	std::atomic<bool> stopping{ false };
	std::atomic<uint64_t> sum{ 0 };

	template <class Item> void add(const Item &item) noexcept;
	static skua_poll check_out(skua_task *self) noexcept;
};

template <class Item>
[[gnu::noinline]] void Cart::add(const Item &item) noexcept
{
	for (int i = 0; i < 100000; i++)
		sum.fetch_add(uint64_t(item), std::memory_order_relaxed);
}

skua_poll Cart::check_out(skua_task *self) noexcept
{
	auto cart = static_cast<Cart *>(self);

	if (cart->stopping.load(std::memory_order_relaxed))
		return SKUA_DONE;
	cart->add<long>(1);
	return SKUA_YIELD;
}

} // namespace shop

int main()
{
	skua_error error{};
	skua_runtime *rt = nullptr;
	shop::Cart cart;

	if (skua_runtime_create(&rt, nullptr, &error) != 0) {
		std::fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	skua_task_init(&cart, shop::Cart::check_out);
	if (skua_task_spawn(rt, &cart) != 0)
		return 1;
	std::puts("ready");
	std::fflush(stdout);
	std::getchar();
	cart.stopping.store(true, std::memory_order_relaxed);
	return skua_task_join(&cart) != 0 || skua_runtime_destroy(rt) != 0;
}
