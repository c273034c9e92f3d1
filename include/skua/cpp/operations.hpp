// SPDX-License-Identifier: MIT
//
// operations.hpp - what a coroutine can wait for: co_await skua::co::...
//
// Each function below makes an operation, which begins when it is awaited. An operation
// that need not wait does not suspend the coroutine. The objects that an operation refers
// to have to stay in place until the co_await is over. co::select()
// (skua/cpp/combine.hpp) awaits the first of several.
//
// Unless an entry says otherwise: Threads: a coroutine. Blocks: the coroutine, not its
// worker. Allocates: nothing. Throws: cancelled (the task was); ETIMEDOUT (the deadline
// came first). After an exception the operation had no effect.
#ifndef SKUA_CPP_OPERATIONS_HPP
#define SKUA_CPP_OPERATIONS_HPP

#include <mutex>
#include <shared_mutex>

#include <skua/cpp/channel.hpp>
#include <skua/cpp/coroutine.hpp>
#include <skua/cpp/group.hpp>
#include <skua/cpp/io.hpp>
#include <skua/cpp/sync.hpp>
#include <skua/select.h>

namespace skua
{
namespace detail
{

/* An operation on an object that has no other argument. */
template <class Object, auto try_, auto poll_, skua_select_kind kind>
struct object_operation : operation {
	Object *object;
	uint64_t until_ns;

	object_operation(Object *on, deadline until) noexcept
	    : object(on), until_ns(until.ns())
	{
	}
	long attempt() const noexcept
	{
		return try_(object);
	}
	long poll(skua_task *self, skua_wait *wait) const noexcept
	{
		return poll_(self, object, wait, until_ns);
	}
	skua_select_case as_case() const noexcept
	{
		return SKUA_SELECT_CASE(kind, object, nullptr, 0);
	}
};

/* The same for a lock, whose result is its guard. */
template <class Guard, class C, auto try_, auto poll_, skua_select_kind kind>
struct lock_operation : object_operation<C, try_, poll_, kind> {
	typename Guard::mutex_type *mutex;

	lock_operation(typename Guard::mutex_type &on, deadline until) noexcept
	    : object_operation<C, try_, poll_, kind>(on.c(), until), mutex(&on)
	{
	}
	Guard finish(long code) const
	{
		check(code, "skua::co::lock");
		return Guard(*mutex, std::adopt_lock);
	}
};

using mutex_operation =
	lock_operation<std::unique_lock<mutex>, skua_mutex, skua_mutex_lock_try,
		       skua_mutex_lock_poll, SKUA_SELECT_LOCK>;
using write_operation =
	lock_operation<std::unique_lock<shared_mutex>, skua_rwlock,
		       skua_rwlock_write_try, skua_rwlock_write_poll,
		       SKUA_SELECT_WRITE_LOCK>;
using read_operation =
	lock_operation<std::shared_lock<shared_mutex>, skua_rwlock,
		       skua_rwlock_read_try, skua_rwlock_read_poll,
		       SKUA_SELECT_READ_LOCK>;

inline int event_try(skua_event *event) noexcept
{
	return skua_event_is_set(event) ? 0 : -EAGAIN;
}

struct event_operation
    : object_operation<skua_event, event_try, skua_event_wait_poll,
		       SKUA_SELECT_EVENT> {
	using object_operation::object_operation;

	void finish(long code) const
	{
		check(code, "skua::co::wait");
	}
};

struct acquire_operation : operation {
	skua_semaphore *semaphore;
	uint64_t permits, until_ns;

	long attempt() const noexcept
	{
		return skua_semaphore_acquire_try(semaphore, permits);
	}
	long poll(skua_task *self, skua_wait *wait) const noexcept
	{
		return skua_semaphore_acquire_poll(self, semaphore, permits,
						   wait, until_ns);
	}
	skua_select_case as_case() const noexcept
	{
		return SKUA_SELECT_CASE(SKUA_SELECT_PERMITS, semaphore, nullptr,
					permits);
	}
	void finish(long code) const
	{
		check(code, "skua::co::acquire");
	}
};

/* A wait for an event that no one sets, until its deadline. */
struct sleep_operation : operation {
	uint64_t when_ns;
	skua_event never = SKUA_EVENT_INIT;

	long attempt() const noexcept
	{
		return skua_now_ns() >= when_ns ? 0 : -EAGAIN;
	}
	long poll(skua_task *self, skua_wait *wait) noexcept
	{
		const int code =
			skua_event_wait_poll(self, &never, wait, when_ns);
		return code == -ETIMEDOUT ? 0 : code;
	}
	skua_select_case as_case() const noexcept
	{
		return SKUA_SELECT_CASE(SKUA_SELECT_TIME, nullptr, nullptr,
					when_ns);
	}
	void finish(long code) const
	{
		check(code, "skua::co::sleep_until");
	}
};

/* Cancels the members when its task is cancelled, and goes on waiting for them. */
struct members_operation : operation {
	static constexpr bool arms = false;
	skua_group *members;
	bool was_cancelled = false;

	long attempt() const noexcept
	{
		return -EAGAIN;
	}
	long poll(skua_task *self, skua_wait *) noexcept
	{
		if (!was_cancelled && skua_task_cancelled(self)) {
			was_cancelled = true;
			skua_group_cancel(members);
		}
		return skua_group_wait_poll(self, members);
	}
	void finish(long code) const
	{
		check(code, "skua::co::wait");
	}
};

struct group_operation : members_operation {
	group *of;

	explicit group_operation(group &it) noexcept
	    : members_operation{ {}, it.c() }, of(&it)
	{
	}
	void finish(long code) const
	{
		members_operation::finish(code);
		of->waited();
		if (was_cancelled)
			throw cancelled();
	}
};

template <class T> struct send_operation : operation {
	channel<T> *to;
	uint64_t until_ns;
	typename channel<T>::parcel parcel;

	long attempt() const noexcept
	{
		return skua_channel_send_try(to->c(), &parcel.it);
	}
	long poll(skua_task *self, skua_wait *wait) const noexcept
	{
		return skua_channel_send_poll(self, to->c(), &parcel.it, wait,
					      until_ns);
	}
	skua_select_case as_case() noexcept
	{
		return SKUA_SELECT_CASE(SKUA_SELECT_SEND, to->c(), &parcel.it,
					0);
	}
	bool finish(long code)
	{
		return parcel.sent(static_cast<int>(code));
	}
};

template <class T> struct receive_operation : operation {
	channel<T> *from;
	uint64_t until_ns;
	typename channel<T>::item item;

	long attempt() noexcept
	{
		return skua_channel_receive_try(from->c(), &item);
	}
	long poll(skua_task *self, skua_wait *wait) noexcept
	{
		return skua_channel_receive_poll(self, from->c(), &item, wait,
						 until_ns);
	}
	skua_select_case as_case() noexcept
	{
		return SKUA_SELECT_CASE(SKUA_SELECT_RECEIVE, from->c(), &item,
					0);
	}
	std::optional<T> finish(long code)
	{
		return channel<T>::received(item, static_cast<int>(code));
	}
};

/* Calls on a descriptor try first themselves, within the budget of their task. */
struct io_operation : operation {
	skua_io io;
	uint64_t until_ns;

	io_operation(const skua::io &of, deadline until) noexcept
	    : io(of.c()), until_ns(until.ns())
	{
	}
	long attempt() const noexcept
	{
		return -EAGAIN;
	}
	static size_t finish(long code)
	{
		return static_cast<size_t>(check(code, "skua::co: I/O"));
	}
};

template <class Byte, auto poll_> struct some_operation : io_operation {
	Byte *bytes;
	size_t size;

	some_operation(const skua::io &of, Byte *at, size_t count,
		       deadline until) noexcept
	    : io_operation(of, until), bytes(at), size(count)
	{
	}
	long poll(skua_task *self, skua_wait *wait) const noexcept
	{
		return poll_(self, io, bytes, size, wait, until_ns);
	}
};

/* All bytes: -EPIPE at the end of file. */
template <class Byte, auto poll_>
struct all_operation : some_operation<Byte, poll_> {
	using some_operation<Byte, poll_>::some_operation;

	long poll(skua_task *self, skua_wait *wait) noexcept
	{
		while (this->size > 0) {
			const long code =
				some_operation<Byte, poll_>::poll(self, wait);

			if (code <= 0)
				return code == 0 ? -EPIPE : code;
			using char_type =
				std::conditional_t<std::is_const_v<Byte>,
						   const char, char>;
			this->bytes =
				static_cast<char_type *>(this->bytes) + code;
			this->size -= static_cast<size_t>(code);
		}
		return 0;
	}
	static void finish(long code)
	{
		io_operation::finish(code);
	}
};

struct accept_operation : io_operation {
	skua_io out = SKUA_IO_INIT;

	using io_operation::io_operation;
	long poll(skua_task *self, skua_wait *wait) noexcept
	{
		return skua_io_accept_poll(self, io, &out, nullptr, nullptr,
					   wait, until_ns);
	}
	skua::io finish(long code) const
	{
		check(code, "skua::co::accept");
		return skua::io(out);
	}
};

struct ready_operation : io_operation {
	short events;

	ready_operation(const skua::io &of, short which,
			deadline until) noexcept
	    : io_operation(of, until), events(which)
	{
	}
	long poll(skua_task *self, skua_wait *wait) const noexcept
	{
		return skua_io_wait_poll(self, io, events, wait, until_ns);
	}
	skua_select_case as_case() noexcept
	{
		return SKUA_SELECT_CASE(SKUA_SELECT_IO, &io, nullptr,
					static_cast<uint64_t>(events));
	}
	static int finish(long code)
	{
		return static_cast<int>(check(code, "skua::co::ready"));
	}
};

} // namespace detail

namespace co
{

/* yield - let other tasks run first. Throws: nothing. */
inline detail::yield_tag yield() noexcept
{
	return {};
}

/* sleep_until, sleep_for - wait until a time. Return: nothing. */
inline detail::sleep_operation sleep_until(deadline when) noexcept
{
	return { {}, when.ns() };
}
inline detail::sleep_operation
sleep_for(std::chrono::nanoseconds delay) noexcept
{
	return { {}, in(delay).ns() };
}

/* lock - lock a mutex, or a shared_mutex as its writer. Throws also: EDEADLK (the task
 * holds it already). Return: the std::unique_lock that unlocks it. */
inline detail::mutex_operation lock(mutex &it, deadline until = {}) noexcept
{
	return { it, until };
}
inline detail::write_operation lock(shared_mutex &it,
				    deadline until = {}) noexcept
{
	return { it, until };
}

/* lock_shared - lock as a reader. Return: the std::shared_lock that unlocks it. */
inline detail::read_operation lock_shared(shared_mutex &it,
					  deadline until = {}) noexcept
{
	return { it, until };
}

/* acquire - take @n permits of a semaphore. Throws also: ESHUTDOWN (it is closed); EINVAL
 * (@n is 0, or above SKUA_MAX_PERMITS) */
inline detail::acquire_operation acquire(semaphore &it, uint64_t n = 1,
					 deadline until = {}) noexcept
{
	return { {}, it.c(), n, until.ns() };
}

/* wait - wait until an event is set */
inline detail::event_operation wait(event &it, deadline until = {}) noexcept
{
	return { it.c(), until };
}

/* wait - wait until all members of a group have ended. A cancel of the task cancels the
 * members; the wait then throws cancelled after their end. Throws also: what the first
 * member threw. Not in co::select(). */
inline detail::group_operation wait(group &it) noexcept
{
	return detail::group_operation(it);
}

/* send - append an item to a channel, and wait while that is full. Allocates: for an item
 * that the channel does not keep itself. Return: true; false if the channel is closed. The
 * item is then lost, as after an exception. */
template <class T>
detail::send_operation<T> send(channel<T> &to, std::common_type_t<T> value,
			       deadline until = {})
{
	return { {},
		 &to,
		 until.ns(),
		 typename channel<T>::parcel(std::move(value)) };
}

/* receive - take the oldest item of a channel. Return: std::optional<T>; nothing if the
 * channel is closed and empty. */
template <class T>
detail::receive_operation<T> receive(channel<T> &from,
				     deadline until = {}) noexcept
{
	return { {}, &from, until.ns(), typename channel<T>::item() };
}

/* read - read up to @size bytes, and wait for the first one. Throws also: EBADF, EBUSY and
 * errors of read(), as skua::io. Return: their number; 0 at the end of file. */
inline detail::some_operation<void, skua_io_read_poll>
read(const io &it, void *buffer, size_t size, deadline until = {}) noexcept
{
	return { it, buffer, size, until };
}

/* read_exact - read @size bytes; some may have been read after an error. Throws also:
 * EPIPE (end of file before) */
inline detail::all_operation<void, skua_io_read_poll>
read_exact(const io &it, void *buffer, size_t size,
	   deadline until = {}) noexcept
{
	return { it, buffer, size, until };
}

/* write - write up to @size bytes, and wait for room. Return: their number */
inline detail::some_operation<const void, skua_io_write_poll>
write(const io &it, const void *data, size_t size, deadline until = {}) noexcept
{
	return { it, data, size, until };
}

/* write_all - write @size bytes; some may have been written after an error */
inline detail::all_operation<const void, skua_io_write_poll>
write_all(const io &it, const void *data, size_t size,
	  deadline until = {}) noexcept
{
	return { it, data, size, until };
}

/* accept - accept the next connection. Return: its skua::io */
inline detail::accept_operation accept(const io &listener,
				       deadline until = {}) noexcept
{
	return { listener, until };
}

/* ready - wait until a descriptor is ready, for operations of other libraries and for
 * co::select(). @events: POLLIN or POLLOUT. Return: the events of poll() */
inline detail::ready_operation ready(const io &it, short events,
				     deadline until = {}) noexcept
{
	return { it, events, until };
}

} // namespace co
} // namespace skua

#endif
