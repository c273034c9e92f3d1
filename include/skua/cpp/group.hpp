// SPDX-License-Identifier: MIT
//
// group.hpp - tasks that a program waits for, or cancels, together
#ifndef SKUA_CPP_GROUP_HPP
#define SKUA_CPP_GROUP_HPP

#include <atomic>

#include <skua/cpp/task.hpp>
#include <skua/group.h>

namespace skua
{

/**
 * class group - tasks, fibers and coroutines that end before a wait returns
 *
 * Each member is freed when it has ended, and its result is dropped. The first member
 * that throws cancels the others, and the wait rethrows its exception. A member that was
 * cancelled may end with skua::cancelled: that is no failure. Members may spawn further
 * members. After a wait the group may be used again.
 *
 * A coroutine waits by co_await co::wait(group), or lets co::with_group() own the group
 * (skua/cpp/combine.hpp), which also waits if the coroutine throws.
 */
class group : private detail::observer
{
      public:
	/* group - without members, in the runtime @rt
	 *
	 * Threads: any. Blocks: never. Allocates: nothing. Throws: EINVAL. */
	explicit group(skua_runtime *rt) : observer{ ended }, rt_(rt)
	{
		detail::check(skua_group_init(&it_, rt), "skua::group");
		skua_group_set_release(&it_, detail::node::release);
	}
	group(const group &) = delete;

	/* ~group - cancel the members that are left, and wait for them
	 *
	 * Threads: any, if no members are left; else fibers and outside threads: in a
	 * coroutine or a poll the program then ends by std::terminate(). Blocks: the
	 * fiber or thread. */
	~group()
	{
		// A nested group is a member, too.
		if (skua_group_live(&it_) == 0) {
			// Relaxed: the program orders the spawns before the end of the group.
			// The wait returns at once, on any thread. After it, the writes of the
			// members are visible, and the group has no memory for them any more.
			if (unwaited_.load(std::memory_order_relaxed))
				skua_group_wait(&it_);
			return;
		}
		skua_group_cancel(&it_);
		int code = skua_group_wait(&it_);
		if (code == -ECANCELED && skua_cancel_mask() == 0) {
			code = skua_group_wait(&it_);
			skua_cancel_unmask();
		}
		if (code != 0)
			std::terminate();
	}

	/**
	 * spawn - run a function as a member, as skua::spawn()
	 *
	 * skua/cpp/coroutine.hpp has the same for a coroutine: spawn(group, task).
	 *
	 * Threads: any; while a wait is under way, members. Blocks: never. Allocates:
	 * the task, by new, and as skua_group_set_release() says.
	 * Throws: as skua::spawn().
	 */
	template <class F>
	void spawn(F &&f, const skua_task_type *type = nullptr)
	{
		auto it = detail::make_task(std::forward<F>(f));

		detail::check(skua_task_set_type(&it->task, type),
			      "skua::group::spawn");
		add(&it->head);
		it.release();
	}

	/* spawn_fiber - run a function as a fiber that is a member
	 *
	 * As spawn() and skua::spawn_fiber(). */
	template <class F>
	void spawn_fiber(F &&f, const skua_task_type *type = nullptr,
			 size_t stack_bytes = 0)
	{
		auto it = detail::make_fiber(std::forward<F>(f), stack_bytes);

		detail::check(skua_task_set_type(&it->task.task, type),
			      "skua::group::spawn_fiber");
		add(&it->head);
		it.release();
	}

	/* cancel - cancel all members, also later ones, until a wait has returned
	 *
	 * As skua_group_cancel(). A wait then returns as if the members had ended by
	 * themselves. */
	void cancel() noexcept
	{
		skua_group_cancel(&it_);
	}

	/**
	 * wait - wait until all members have ended
	 * @until: when to give up; the group is then as before
	 *
	 * Threads: fibers and outside threads, one at a time. Blocks: the fiber or
	 * thread. Allocates: nothing.
	 * Throws: what the first member threw; ETIMEDOUT; cancelled (the calling fiber
	 * was: the members go on); EDEADLK in a poll or a coroutine.
	 */
	void wait(deadline until = {})
	{
		detail::check(skua_group_wait_until(&it_, until.ns()),
			      "skua::group::wait");
		waited();
	}

	/* c - the group, for the C functions */
	skua_group *c() noexcept
	{
		return &it_;
	}

	/* Private to the library: a wait by a C function has returned 0. */
	void waited()
	{
		unwaited_.store(false,
				std::memory_order_relaxed); // as in ~group()
		if (!error_)
			return;
		std::exception_ptr error = std::exchange(error_, nullptr);
		skua_group_init(&it_, rt_);
		skua_group_set_release(&it_, detail::node::release);
		std::rethrow_exception(std::move(error));
	}
	/* Private to the library: spawn a member whose memory is then the group's. */
	void add(detail::node *member)
	{
		member->watcher = this;
		// The test keeps members that spawn from writing the same line in turn.
		if (!unwaited_.load(std::memory_order_relaxed))
			unwaited_.store(true, std::memory_order_relaxed);
		detail::check(skua_group_spawn(&it_, member->task()),
			      "skua::group::spawn");
	}

      private:
	static bool is_cancelled(const std::exception_ptr &error) noexcept
	{
		try {
			std::rethrow_exception(error);
		} catch (const cancelled &) {
			return true;
		} catch (...) {
			return false;
		}
	}
	static void ended(observer *self, detail::node *member,
			  const std::exception_ptr &error) noexcept
	{
		auto *it = static_cast<group *>(self);

		if (!error || (skua_task_cancelled(member->task()) &&
			       is_cancelled(error)))
			return;
		// Only the first call returns 0, and a wait comes after the member's end.
		if (skua_group_fail(&it->it_, -ECANCELED) == 0)
			it->error_ = error;
	}

	skua_runtime *rt_;
	// Members were spawned since the last wait.
	std::atomic<bool> unwaited_{ false };
	skua_group it_;
	std::exception_ptr error_;
};

} // namespace skua

#endif
