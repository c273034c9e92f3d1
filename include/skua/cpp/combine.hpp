// SPDX-License-Identifier: MIT
//
// combine.hpp - wait for several: co::select, co::when_all, co::when_any, co::with_group
//
// select() awaits operations of the library, of which exactly one takes effect. The others
// run coroutines as tasks of their own, at the same time, and wait for all of them; so the
// coroutines may use what their caller owns. A cancel of the caller cancels them.
#ifndef SKUA_CPP_COMBINE_HPP
#define SKUA_CPP_COMBINE_HPP

#include <tuple>
#include <vector>

#include <skua/cpp/operations.hpp>

namespace skua
{
namespace detail
{

template <class Op> using result_of = decltype(std::declval<Op &>().finish(0L));

template <class... Ops> struct select_operation : operation {
	using result = std::variant<stored<result_of<Ops>>...>;

	std::tuple<Ops...> ops;
	uint64_t until_ns;
	skua_select_case cases[sizeof...(Ops)];
	struct skua_select select = {};

	select_operation(deadline until, Ops &&...from)
	    : ops(std::move(from)...), until_ns(until.ns())
	{
	}
	// From here on this stays in place: the cases point into ops.
	long attempt() noexcept
	{
		std::apply(
			[this](auto &...op) {
				size_t i = 0;
				((cases[i++] = op.as_case()), ...);
			},
			ops);
		select.cases = cases;
		select.count = sizeof...(Ops);
		return -EAGAIN;
	}
	long poll(skua_task *self, skua_wait *wait) noexcept
	{
		return skua_select_poll(self, &select, wait, until_ns);
	}
	result finish(long code)
	{
		check(code, "skua::co::select");
		return pick<0>(static_cast<size_t>(code));
	}
	template <size_t i> result pick(size_t index)
	{
		if constexpr (i + 1 < sizeof...(Ops)) {
			if (index != i)
				return pick<i + 1>(index);
		}
		auto &op = std::get<i>(ops);
		if constexpr (std::is_void_v<decltype(op.finish(0L))>) {
			op.finish(cases[i].code);
			return result(std::in_place_index<i>);
		} else {
			return result(std::in_place_index<i>,
				      op.finish(cases[i].code));
		}
	}
};

/* Coroutines that run as tasks; their frames stay with the task objects. */
class members : private observer
{
      public:
	enum class until { all_ended, first_ended };

	explicit members(until when) : observer{ ended }, when_(when)
	{
		check(skua_group_init(&group_, current_runtime()),
		      "skua::co: not in a task");
	}
	members(const members &) = delete;

	/* A spawn that fails makes the wait fail, and further tasks are not spawned. */
	template <class T> void spawn(task<T> &work) noexcept
	{
		if (refused_ != 0)
			return;
		refused_ = task_access::may_begin(work);
		if (refused_ == 0) {
			promise<T> *it = task_access::root(work);

			it->head.watcher = this;
			refused_ = skua_group_spawn(&group_, &it->self);
		}
		if (refused_ != 0)
			skua_group_cancel(&group_);
	}
	members_operation wait() noexcept
	{
		return { {}, &group_ };
	}
	/* After the wait: throw what a spawn or the first failed member threw. After a
	 * failed spawn, the members throw because it cancelled them. */
	void rethrow()
	{
		check(refused_, "skua::co: spawn");
		if (error_)
			std::rethrow_exception(std::move(error_));
	}
	template <class T> bool is_first(task<T> &work) noexcept
	{
		return first_ == &task_access::promise_of(work)->head;
	}

      private:
	static void ended(observer *self, node *task,
			  const std::exception_ptr &error) noexcept
	{
		auto *it = static_cast<members *>(self);

		// Returns 0 once, and a wait comes after the end of this member.
		if ((error || it->when_ == until::first_ended) &&
		    skua_group_fail(&it->group_, -ECANCELED) == 0) {
			it->first_ = task;
			if (it->when_ == until::all_ended)
				it->error_ = error;
		}
	}

	until when_;
	int refused_ = 0;
	node *first_ = nullptr;
	std::exception_ptr error_;
	skua_group group_;
};

template <class T> stored<T> taken(task<T> &work)
{
	return std::move(*task_access::promise_of(work)->out.value);
}

template <class Result, size_t i, class... T>
Result first_of(members &all, std::tuple<task<T> &...> tasks)
{
	auto &work = std::get<i>(tasks);

	if constexpr (i + 1 < sizeof...(T)) {
		if (!all.is_first(work))
			return first_of<Result, i + 1>(all, tasks);
	}
	auto &out = task_access::promise_of(work)->out;
	if (out.error)
		std::rethrow_exception(std::move(out.error));
	return Result(std::in_place_index<i>, taken(work));
}

} // namespace detail

namespace co
{

/**
 * select - wait until one of several operations takes effect
 * @until: when to give up, by ETIMEDOUT
 * @ops: operations of skua/cpp/operations.hpp: locks, permits, events, times, channels and
 *       ready(). Only @until counts as a deadline, not deadlines of the operations
 *
 * As skua_select_poll(): exactly one operation takes effect. An operation that fails takes
 * effect as well, and its exception is thrown.
 *
 * Return: std::variant with the result of that operation, at its index; for one that has
 * no result, std::monostate.
 */
template <class... Ops> auto select(deadline until, Ops... ops)
{
	return detail::select_operation<Ops...>(until, std::move(ops)...);
}

/* select - the same without a deadline */
template <class Op, class... Ops>
std::enable_if_t<std::is_base_of_v<detail::operation, Op>,
		 detail::select_operation<Op, Ops...>>
select(Op op, Ops... ops)
{
	return { deadline(), std::move(op), std::move(ops)... };
}

/**
 * when_all - run coroutines at the same time, and wait for all
 *
 * The first one that throws cancels the others.
 *
 * Allocates: a frame. Throws: what the first failed coroutine threw, after all have
 * ended; as skua::spawn().
 * Return: std::tuple of their results; for void, std::monostate; for a reference, a pointer.
 */
template <class... T>
task<std::tuple<detail::stored<T>...>> when_all(task<T>... tasks)
{
	detail::members all(detail::members::until::all_ended);

	(all.spawn(tasks), ...);
	co_await all.wait();
	all.rethrow();
	co_return std::tuple<detail::stored<T>...>(detail::taken(tasks)...);
}

/* when_all - the same for any number of coroutines. Allocates also: the vector. Return:
 * std::vector of their results, in order. */
template <class T>
task<std::vector<detail::stored<T>>> when_all(std::vector<task<T>> tasks)
{
	detail::members all(detail::members::until::all_ended);
	std::vector<detail::stored<T>> results;

	results.reserve(tasks.size());
	for (task<T> &work : tasks)
		all.spawn(work);
	co_await all.wait();
	all.rethrow();
	for (task<T> &work : tasks)
		results.push_back(detail::taken(work));
	co_return results;
}

/**
 * when_any - run coroutines at the same time until the first one ends
 *
 * The others are then cancelled, and waited for. Their effects until then stay; where
 * at most one may have an effect, use select().
 *
 * Allocates: a frame. Throws: what the first coroutine threw; as skua::spawn().
 * Return: std::variant with the result of the first one, at its index; for void,
 * std::monostate; for a reference, a pointer.
 */
template <class... T>
task<std::variant<detail::stored<T>...>> when_any(task<T>... tasks)
{
	using result = std::variant<detail::stored<T>...>;
	detail::members all(detail::members::until::first_ended);

	(all.spawn(tasks), ...);
	co_await all.wait();
	all.rethrow();
	co_return detail::first_of<result, 0, T...>(all, { tasks... });
}

/**
 * with_group - run a coroutine that spawns members of a group, and wait for all
 * @body: called with the group; returns a skua::task<>, which runs as a member. It may
 *        spawn members itself
 *
 *	co_await skua::co::with_group([&](skua::group &group) -> skua::task<> {
 *		while (auto job = co_await skua::co::receive(jobs))
 *			skua::spawn(group, work(std::move(*job)));
 *	});
 *
 * The first member that throws cancels the others. A call of @body that throws cancels
 * them as well, and a spawn of its task that fails.
 *
 * Allocates: a frame. Throws: what the first failed member or the call of @body threw, or
 * as skua::spawn(), after all have ended.
 */
template <class F> task<> with_group(F body)
{
	group all(current_runtime());

	std::exception_ptr refused;

	try {
		spawn(all, body(all));
	} catch (...) {
		refused = std::current_exception();
	}
	if (refused) { // a handler may not wait
		all.cancel();
		co_await detail::members_operation{ {}, all.c() };
		std::rethrow_exception(std::move(refused));
	}
	co_await wait(all);
}

} // namespace co
} // namespace skua

#endif
