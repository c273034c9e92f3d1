// SPDX-License-Identifier: MIT
//
// channel.hpp - pass items of any type between tasks, fibers and threads
#ifndef SKUA_CPP_CHANNEL_HPP
#define SKUA_CPP_CHANNEL_HPP

#include <memory>

#include <skua/channel.h>
#include <skua/cpp/sync.hpp>

namespace skua
{

/**
 * class channel - a queue of bounded length, with many senders and receivers
 *
 * If T is trivially copyable and default-constructible, and has at most 256 bytes and the
 * alignment of malloc(), the channel itself keeps the items. Otherwise each item is moved
 * into memory of its own, by new, and the channel keeps its address. Items that are left are
 * destroyed with the channel.
 *
 * Threads: any number send and receive. Blocks: send() and receive() wait as those of
 * struct skua_channel: fibers and outside threads. Coroutines use co::send() and
 * co::receive() (skua/cpp/operations.hpp).
 * Throws: cancelled, ETIMEDOUT and EDEADLK, as skua/cpp/sync.hpp says; std::bad_alloc.
 */
template <class T> class channel
{
      public:
	/* The item of the C channel, and an item on its way to it, which the parcel owns
	 * until it is sent; private to the library. */
	static constexpr bool flat = detail::flat<T>;
	using item = std::conditional_t<flat, T, T *>;
	struct parcel {
		item it;

		explicit parcel(T &&value) : it(pack(std::move(value)))
		{
		}
		parcel(parcel &&from) noexcept
		    : it(std::exchange(from.it, item()))
		{
		}
		~parcel()
		{
			if constexpr (!flat)
				delete it;
		}
		/* The result of a send with @code. */
		bool sent(int code)
		{
			if (code == -EPIPE)
				return false;
			detail::check(code, "skua::channel::send");
			it = item();
			return true;
		}
	};

	/* channel - for at least @capacity items, rounded up to a power of two
	 *
	 * Allocates: memory for the items. Throws: EINVAL (@capacity is 0, or above
	 * SKUA_MAX_CAPACITY). */
	explicit channel(uint32_t capacity)
	{
		uint32_t rounded = 2;

		while (rounded < capacity && rounded < SKUA_MAX_CAPACITY)
			rounded *= 2;
		if (capacity == 0 || capacity > rounded)
			detail::fail(-EINVAL, "skua::channel: the capacity has "
					      "to be 1 to 1073741824");
		memory_.reset(
			new uint64_t[SKUA_CHANNEL_BYTES(rounded, sizeof(item)) /
				     sizeof(uint64_t)]);
		detail::check(skua_channel_init(&it_, memory_.get(), rounded,
						sizeof(item)),
			      "skua::channel");
	}
	channel(const channel &) = delete;
	~channel()
	{
		if constexpr (!flat) {
			item left;

			while (skua_channel_receive_try(&it_, &left) == 0)
				delete left;
		}
	}

	/* send - append an item, and wait while the channel is full
	 *
	 * Return: true; false if the channel is closed. @value is then lost, as after an
	 * exception. */
	bool send(T value, deadline until = {})
	{
		parcel it(std::move(value));

		return it.sent(skua_channel_send(&it_, &it.it, until.ns()));
	}
	/* try_send - append an item, if there is room
	 *
	 * Return: true; false if the channel is full or closed: @value is unchanged. */
	bool try_send(T &value)
	{
		parcel it(std::move(value));
		const int code = skua_channel_send_try(&it_, &it.it);

		if (code == 0)
			return it.sent(code);
		if constexpr (!flat)
			value = std::move(*it.it);
		return false;
	}
	/* receive - take the oldest item, and wait for one
	 *
	 * Return: the item; nothing if the channel is closed and empty. */
	std::optional<T> receive(deadline until = {})
	{
		item it = item();
		const int code = skua_channel_receive(&it_, &it, until.ns());

		return received(it, code);
	}
	/* try_receive - take the oldest item, if there is one */
	std::optional<T> try_receive()
	{
		item it = item();
		const int code = skua_channel_receive_try(&it_, &it);

		return received(it, code == -EAGAIN ? -EPIPE : code);
	}
	/* close - refuse further items; those that are left can be received */
	void close() noexcept
	{
		skua_channel_close(&it_);
	}
	/* c - the channel, for the C functions */
	skua_channel *c() noexcept
	{
		return &it_;
	}

	/* Private to the library: items, and the result of a receive. */
	static item pack(T &&value)
	{
		if constexpr (flat)
			return value;
		else
			return new T(std::move(value));
	}
	static T unpack(item it)
	{
		if constexpr (flat)
			return it;
		else
			return std::move(*std::unique_ptr<T>(it));
	}
	static std::optional<T> received(item it, int code)
	{
		if (code == -EPIPE)
			return std::nullopt;
		detail::check(code, "skua::channel::receive");
		return unpack(it);
	}

      private:
	std::unique_ptr<uint64_t[]> memory_;
	skua_channel it_;
};

} // namespace skua

#endif
