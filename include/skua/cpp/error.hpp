// SPDX-License-Identifier: MIT
//
// error.hpp - errors as exceptions, results of calls, and deadlines
#ifndef SKUA_CPP_ERROR_HPP
#define SKUA_CPP_ERROR_HPP

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include <skua/base.h>

namespace skua
{

/**
 * class cancelled - exception of a wait in a task or fiber that was cancelled
 *
 * Its code is ECANCELED. It unwinds the task like any exception; a task that ends
 * with it has ended, and a join rethrows it.
 *
 * All other errors of the library are plain std::system_error, with the errno value of
 * the C function that failed.
 */
class cancelled : public std::system_error
{
      public:
	cancelled()
	    : std::system_error(ECANCELED, std::generic_category(),
				"the task was cancelled")
	{
	}
};

/**
 * class deadline - time at which a wait gives up, by throwing ETIMEDOUT
 *
 * The default is never. A time_point of std::chrono::steady_clock and in() convert to
 * it.
 */
class deadline
{
      public:
	using clock = std::chrono::steady_clock;

	constexpr deadline() noexcept = default;
	deadline(clock::time_point when) noexcept
	    : ns_(to_ns(when.time_since_epoch()))
	{
	}

	/* ns - the same time for the C functions */
	constexpr uint64_t ns() const noexcept
	{
		return ns_;
	}

      private:
	static uint64_t to_ns(clock::duration since) noexcept
	{
		const auto ns = std::chrono::nanoseconds(since).count();
		return ns < 0 ? 0 : static_cast<uint64_t>(ns);
	}

	uint64_t ns_ = SKUA_FOREVER_NS;
};

/* in - return the deadline that is @delay from now; never, if that is above the range of the
 * clock
 *
 * Threads: any. Blocks: never. Allocates: nothing. */
inline deadline in(std::chrono::nanoseconds delay) noexcept
{
	using point = deadline::clock::time_point;
	const point now = deadline::clock::now();

	return delay > point::max() - now ? deadline() : deadline(now + delay);
}

namespace detail
{

[[noreturn]] inline void fail(long code, const char *what)
{
	if (code == -ECANCELED)
		throw cancelled();
	throw std::system_error(static_cast<int>(-code),
				std::generic_category(), what);
}

/* The result of a C function; an error is thrown. */
template <class Number> Number check(Number code, const char *what)
{
	if (code < 0)
		fail(static_cast<long>(code), what);
	return code;
}

// How a result is kept: a reference as a pointer, void as std::monostate.
template <class T>
using stored = std::conditional_t<
	std::is_void_v<T>, std::monostate,
	std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T> *,
			   std::remove_cv_t<T>>>;

template <class T> T unstore(stored<T> &&value)
{
	if constexpr (std::is_reference_v<T>)
		return static_cast<T>(*value);
	else if constexpr (!std::is_void_v<T>)
		return std::move(value);
}

/* Whether a C function may move values of T as bytes; otherwise it moves their addresses. */
template <class T>
inline constexpr bool flat =
	std::conjunction_v<
		std::is_trivially_copyable<T>, std::is_default_constructible<T>,
		std::is_copy_constructible<T>, std::is_copy_assignable<T>> &&
	sizeof(T) <= 256 && alignof(T) <= alignof(std::max_align_t);

/* The result of a call: a value, an exception, or nothing yet. */
template <class T> struct outcome {
	std::exception_ptr error;
	std::optional<stored<T>> value;

	template <class F, class... Args>
	void run(F &&f, Args &&...args) noexcept
	{
		try {
			if constexpr (std::is_void_v<T>) {
				std::forward<F>(f)(std::forward<Args>(args)...);
				value.emplace();
			} else if constexpr (std::is_reference_v<T>) {
				auto &&result = std::forward<F>(f)(
					std::forward<Args>(args)...);
				value.emplace(std::addressof(result));
			} else {
				value.emplace(std::forward<F>(f)(
					std::forward<Args>(args)...));
			}
		} catch (...) {
			error = std::current_exception();
		}
	}

	T take()
	{
		if (error)
			std::rethrow_exception(std::move(error));
		return unstore<T>(std::move(*value));
	}
};

} // namespace detail
} // namespace skua

#endif
