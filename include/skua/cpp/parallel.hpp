// SPDX-License-Identifier: MIT
//
// parallel.hpp - fork-join with functions of C++
//
// A context comes from skua::runtime::run(), or from skua_task_ctx() in a task. A function
// that runs in parallel gets a context of its own, with which it may fork again:
//
//	long fib(skua_ctx ctx, long n)
//	{
//		if (n < 2)
//			return n;
//		auto [a, b] = skua::invoke(
//			ctx, [=](skua_ctx c) { return fib(c, n - 1); },
//			[=](skua_ctx c) { return fib(c, n - 2); });
//		return a + b;
//	}
//
//	long result = rt.run([](skua_ctx ctx) { return fib(ctx, 30); });
//
// skua/fork.h has the rules: a function must not wait for another job except by a join.
//
// Unless an entry says otherwise: Threads: the thread of the context. Blocks: until the
// parts that other threads took are done. Allocates: nothing. Exceptions reach the caller
// when nothing runs any more; of several, the one that the program would throw on one
// thread.
#ifndef SKUA_CPP_PARALLEL_HPP
#define SKUA_CPP_PARALLEL_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include <skua/cpp/error.hpp>
#include <skua/parallel.h>
#include <skua/sort.h>

namespace skua
{
namespace detail
{

template <class F> struct fork_job : skua_job {
	F &f;
	outcome<std::invoke_result_t<F &, skua_ctx>> out;

	explicit fork_job(F &function) noexcept
	    : skua_job{ run_job }, f(function)
	{
	}
	static void run_job(skua_ctx ctx, skua_job *job) noexcept
	{
		auto *self = static_cast<fork_job *>(job);
		self->out.run(self->f, ctx);
	}
};

/* The exception of the first part of a loop that threw one. */
class first_error
{
      public:
	/* Call @f; 0, or 1 if it threw. */
	template <class F> int run(size_t at, F &&f) noexcept
	{
		try {
			f();
			return 0;
		} catch (...) {
			std::lock_guard<std::mutex> lock(mutex_);
			if (!error_ || at < at_) {
				at_ = at;
				error_ = std::current_exception();
			}
			return 1;
		}
	}
	/* Throw it if the loop ended with 1. */
	void end(int code, const char *what)
	{
		if (code == 1)
			std::rethrow_exception(error_);
		check(code, what);
	}

      private:
	std::mutex mutex_;
	size_t at_ = 0;
	std::exception_ptr error_;
};

/* A value of a reduction: none, its bytes, or the address of one that bytes cannot move. */
template <class T> struct reduced {
	static constexpr bool flat = detail::flat<T>;
	bool some;
	std::conditional_t<flat, T, T *> it;

	T &value() noexcept
	{
		if constexpr (flat)
			return it;
		else
			return *it;
	}
	template <class U> void set(U &&from)
	{
		if constexpr (flat)
			it = std::forward<U>(from);
		else
			it = new T(std::forward<U>(from));
		some = true;
	}
	void drop() noexcept
	{
		if constexpr (!flat) {
			if (some)
				delete it;
		}
		some = false;
	}
};

} // namespace detail

/**
 * invoke - call two functions, which may run at the same time
 * @a: called with a context, here or on another thread
 * @b: called with a context, here
 *
 * If both throw, the exception of @a counts.
 * Return: std::pair of their results; for void, std::monostate; for a reference, a pointer.
 */
template <class A, class B> auto invoke(skua_ctx ctx, A &&a, B &&b)
{
	using result_a = std::invoke_result_t<A &, skua_ctx>;
	using result_b = std::invoke_result_t<B &, skua_ctx>;
	using results =
		std::pair<detail::stored<result_a>, detail::stored<result_b>>;

	detail::fork_job<std::remove_reference_t<A>> left(a);
	const skua_ctx inner = skua_fork(ctx, &left);
	detail::outcome<result_b> right;

	right.run(b, inner);
	if (skua_reclaim(inner, &left))
		left.out.run(a, ctx);
	if (left.out.error)
		std::rethrow_exception(left.out.error);
	if (right.error)
		std::rethrow_exception(right.error);
	return results(std::move(*left.out.value), std::move(*right.value));
}

/**
 * class scope - forks whose number is not known beforehand
 *
 * Belongs to the function that makes it, as struct skua_scope. While it has jobs, that
 * function passes on ctx() instead of its own context. The destructor joins, and drops
 * exceptions.
 */
class scope
{
      public:
	explicit scope(skua_ctx ctx) noexcept : it_(skua_scope_begin(ctx))
	{
	}
	scope(const scope &) = delete;
	~scope()
	{
		finish();
	}

	/* ctx - the context for functions that fork while the scope has jobs */
	skua_ctx ctx() const noexcept
	{
		return it_.ctx;
	}

	/* fork - offer a call of @f with a context to other threads. Allocates: the job,
	 * by new. Blocks: never, unless there is no room, and @f runs at once. */
	template <class F> void fork(F &&f)
	{
		struct forked : member {
			std::decay_t<F> f;

			explicit forked(F &&from) : f(std::forward<F>(from))
			{
			}
			void run(skua_ctx ctx) override
			{
				f(ctx);
			}
		};

		jobs_.push_back(std::make_unique<forked>(std::forward<F>(f)));
		skua_scope_fork(&it_, jobs_.back().get());
	}

	/* join - run or wait for all jobs. Throws: the exception of the first job that
	 * threw, in the order of the forks. */
	void join()
	{
		const std::exception_ptr error = finish();

		if (error)
			std::rethrow_exception(error);
	}

      private:
	struct member : skua_job {
		std::exception_ptr error;

		member() noexcept : skua_job{ call }
		{
		}
		virtual ~member() = default;
		virtual void run(skua_ctx ctx) = 0;
		static void call(skua_ctx ctx, skua_job *job) noexcept
		{
			auto *self = static_cast<member *>(job);

			try {
				self->run(ctx);
			} catch (...) {
				self->error = std::current_exception();
			}
		}
	};

	std::exception_ptr finish() noexcept
	{
		std::exception_ptr error;

		skua_scope_join(&it_);
		for (const auto &job : jobs_) {
			if (!error)
				error = job->error;
		}
		jobs_.clear();
		return error;
	}

	skua_scope it_;
	std::vector<std::unique_ptr<member>> jobs_;
};

/**
 * for_range - call a function for all parts of a range of numbers
 * @begin, @end: the range [@begin, @end)
 * @f: called with a context and the begin and end of each part
 * @grain: numbers in a part; 0 = adaptive (skua/parallel.h)
 *
 * An exception ends the loop; parts after it may have run or not.
 * Throws also: EINVAL (@begin is above @end).
 */
template <class F>
void for_range(skua_ctx ctx, size_t begin, size_t end, F &&f, size_t grain = 0)
{
	struct loop {
		std::remove_reference_t<F> &f;
		detail::first_error error;
	} loop = { f, {} };

	loop.error.end(skua_for(
			       ctx, begin, end, grain,
			       [](skua_ctx c, size_t from, size_t to,
				  void *arg) noexcept {
				       auto &it =
					       *static_cast<struct loop *>(arg);
				       return it.error.run(from, [&] {
					       it.f(c, from, to);
				       });
			       },
			       &loop),
		       "skua::for_range");
}

/**
 * for_each - call a function for each item of a range
 * @first, @last: random-access iterators
 * @f: called with each item; several calls may run at the same time
 * @grain: items in a part; 0 = adaptive
 *
 * As for_range().
 */
template <class Iterator, class F>
void for_each(skua_ctx ctx, Iterator first, Iterator last, F &&f,
	      size_t grain = 0)
{
	using step = typename std::iterator_traits<Iterator>::difference_type;

	for_range(
		ctx, 0, static_cast<size_t>(last - first),
		[&](skua_ctx, size_t from, size_t to) {
			Iterator end = first + static_cast<step>(to);
			for (Iterator it = first + static_cast<step>(from);
			     it != end; ++it)
				f(*it);
		},
		grain);
}

/**
 * reduce - combine all items of a range
 * @first, @last: random-access iterators
 * @init: the first operand; T is the type of the result, which an item converts to
 * @join: called with two T: returns their combination. It must be associative, and need not
 *        be commutative
 * @grain: items in a part; 0 = adaptive
 *
 * Allocates: by new, a value for each part if T is not trivially copyable, or is large or
 * aligned to more than 16.
 * Throws also: std::bad_alloc.
 * Return: @init, combined with the items in their order.
 */
template <class Iterator, class T, class Join = std::plus<>>
T reduce(skua_ctx ctx, Iterator first, Iterator last, T init,
	 Join &&join = Join(), size_t grain = 0)
{
	using step = typename std::iterator_traits<Iterator>::difference_type;
	using value = detail::reduced<T>;
	struct loop {
		Iterator first;
		std::remove_reference_t<Join> &join;
		size_t end;
		detail::first_error error;
	} loop = { first, join, static_cast<size_t>(last - first), {} };
	skua_reduction how = {
		sizeof(value), nullptr,
		[](skua_ctx, size_t from, size_t to, void *to_value,
		   void *arg) noexcept {
			auto &it = *static_cast<struct loop *>(arg);
			auto &sum = *static_cast<value *>(to_value);
			return it.error.run(from, [&] {
				Iterator at =
					it.first + static_cast<step>(from);
				size_t left = to - from;
				if (!sum.some) {
					sum.set(T(*at));
					++at;
					left--;
				}
				T &all = sum.value();
				for (; left > 0; left--, ++at)
					all = it.join(std::move(all), T(*at));
			});
		},
		[](void *left, void *right, void *arg) noexcept {
			auto &it = *static_cast<struct loop *>(arg);
			auto &a = *static_cast<value *>(left);
			auto &b = *static_cast<value *>(right);
			if (!b.some)
				return 0;
			if (!a.some) {
				std::swap(a, b);
				return 0;
			}
			// After the exceptions of items.
			const int code = it.error.run(it.end, [&] {
				a.value() = it.join(std::move(a.value()),
						    std::move(b.value()));
			});
			b.drop();
			return code;
		},
		[](void *it, void *) noexcept {
			static_cast<value *>(it)->drop();
		}
	};
	value sum = {};

	loop.error.end(skua_reduce(ctx, 0, loop.end, grain, &how, &sum, &loop),
		       "skua::reduce");
	struct owner {
		value &it;
		~owner()
		{
			it.drop();
		}
	} owner = { sum };
	return sum.some ? join(std::move(init), std::move(sum.value()))
			: std::move(init);
}

namespace detail
{

/* A comparison for the C sorts. Once it has thrown, all items count as equal. */
template <class T, class Less> struct comparison {
	Less &less;
	std::atomic<bool> failed{ false };
	first_error error;

	static int compare(const void *left, const void *right,
			   void *arg) noexcept
	{
		auto &self = *static_cast<comparison *>(arg);
		const T &a = *static_cast<const T *>(left);
		const T &b = *static_cast<const T *>(right);
		if constexpr (std::is_nothrow_invocable_v<Less &, const T &,
							  const T &>) {
			return self.less(b, a) - self.less(a, b);
		} else {
			int order = 0;
			// Relaxed: a hint, to end sooner.
			if (self.failed.load(std::memory_order_relaxed))
				return 0;
			if (self.error.run(0, [&] {
				    order = self.less(b, a) - self.less(a, b);
			    }))
				self.failed.store(true,
						  std::memory_order_relaxed);
			return order;
		}
	}
};

// Whether the items of an iterator follow each other in memory. C++17 has no way to ask,
// so that it accepts only well-known iterators.
#if defined(__cpp_lib_concepts)
template <class Iterator>
inline constexpr bool contiguous_v = std::contiguous_iterator<Iterator>;
#else
template <class Iterator,
	  class Item = typename std::iterator_traits<Iterator>::value_type>
inline constexpr bool contiguous_v =
	std::is_pointer_v<Iterator> ||
	std::is_same_v<Iterator, typename std::array<Item, 1>::iterator> ||
	(!std::is_same_v<Item, bool> &&
	 std::is_same_v<Iterator, typename std::vector<Item>::iterator>);
#endif

template <auto sort, class Iterator, class Less>
void sort_with(skua_ctx ctx, Iterator first, Iterator last, Less &less)
{
	using item = typename std::iterator_traits<Iterator>::value_type;
	static_assert(
		contiguous_v<Iterator>,
		"the sorts need items that follow each other in memory: pass "
		"pointers, or iterators of a std::vector or std::array");
	static_assert(std::is_trivially_copyable_v<item>,
		      "the sorts move items as bytes: sort pointers or indices "
		      "of items that are not trivially copyable");
	comparison<item, Less> how{ less, {}, {} };

	if (first == last)
		return;
	const int code = sort(ctx, std::addressof(*first),
			      static_cast<size_t>(last - first), sizeof(item),
			      comparison<item, Less>::compare, &how);
	how.error.end(how.failed.load() ? 1 : code, "skua::sort");
}

} // namespace detail

/**
 * sort - sort an array; equal items end up in any order
 * @first, @last: pointers, or iterators of a std::array or std::vector (in C++20: any
 *                contiguous iterators); the items are trivially copyable
 * @less: true if its first argument belongs before its second; called on several threads
 *
 * If @less throws, the items are in an unspecified order, and the first exception in time
 * reaches the caller.
 * Allocates: as skua_sort(). Throws also: ENOMEM.
 */
template <class Iterator, class Less = std::less<>>
void sort(skua_ctx ctx, Iterator first, Iterator last, Less less = Less())
{
	detail::sort_with<skua_sort>(ctx, first, last, less);
}

/* stable_sort - sort an array; equal items keep their order. As sort() otherwise.
 * Allocates: as skua_sort_stable(). */
template <class Iterator, class Less = std::less<>>
void stable_sort(skua_ctx ctx, Iterator first, Iterator last,
		 Less less = Less())
{
	detail::sort_with<skua_sort_stable>(ctx, first, last, less);
}

} // namespace skua

#endif
