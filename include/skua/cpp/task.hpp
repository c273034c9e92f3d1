// SPDX-License-Identifier: MIT
//
// task.hpp - functions as tasks and fibers, and the handle that joins them
#ifndef SKUA_CPP_TASK_HPP
#define SKUA_CPP_TASK_HPP

#include <memory>

#include <skua/cpp/error.hpp>
#include <skua/fiber.h>
#include <skua/task.h>

namespace skua
{
namespace detail
{

struct node;

/* Learns of the end of a task: a group, or a coroutine that waits for several. */
struct observer {
	void (*ended)(observer *self, node *task,
		      const std::exception_ptr &error) noexcept;
};

/*
 * In front of each skua_task of this interface, so that one release function serves all
 * of them.
 */
struct node {
	void (*destroy)(node *self); // throws nothing
	observer *watcher;

	static node *of(skua_task *task) noexcept
	{
		return reinterpret_cast<node *>(reinterpret_cast<char *>(task) -
						sizeof(node));
	}
	static void release(skua_task *task) noexcept
	{
		node *self = of(task);
		self->destroy(self);
	}
	skua_task *task() noexcept
	{
		return reinterpret_cast<skua_task *>(this + 1);
	}
	void tell(const std::exception_ptr &error) noexcept
	{
		if (watcher)
			watcher->ended(watcher, this, error);
	}
};

static_assert(sizeof(node) % alignof(skua_fiber) == 0 &&
	      offsetof(skua_fiber, task) == 0);

/* A function with its task or fiber. */
template <class F, class Task> struct function_node {
	using result = std::invoke_result_t<F &>;

	node head;
	Task task;
	F f;
	outcome<result> out;

	template <class G>
	explicit function_node(G &&g)
	    : head{ destroy, nullptr }, task(), f(std::forward<G>(g))
	{
	}
	static void destroy(node *self) noexcept
	{
		delete reinterpret_cast<function_node *>(self);
	}
	static void run(Task *task) noexcept
	{
		auto *self = reinterpret_cast<function_node *>(
			reinterpret_cast<char *>(task) - sizeof(node));
		self->out.run(self->f);
		self->head.tell(self->out.error);
	}
	static skua_poll poll(skua_task *task) noexcept
	{
		run(task);
		return SKUA_DONE;
	}
};

template <class F> using task_node = function_node<std::decay_t<F>, skua_task>;
template <class F>
using fiber_node = function_node<std::decay_t<F>, skua_fiber>;

template <class F> std::unique_ptr<task_node<F>> make_task(F &&f)
{
	auto it = std::make_unique<task_node<F>>(std::forward<F>(f));
	skua_task_init(&it->task, task_node<F>::poll);
	return it;
}

template <class F>
std::unique_ptr<fiber_node<F>> make_fiber(F &&f, size_t stack_bytes)
{
	auto it = std::make_unique<fiber_node<F>>(std::forward<F>(f));
	check(skua_fiber_init(&it->task, fiber_node<F>::run, stack_bytes),
	      "skua::spawn_fiber");
	return it;
}

} // namespace detail

/**
 * class join_handle - the right to join a task that was spawned, and to its result
 *
 * It may be moved. A handle that is destroyed without a join or a detach() cancels its
 * task and lets it go: the task ends by itself, its memory is freed then, and its result
 * or exception is lost. Nothing waits for it, so a task must not use what its spawner
 * owns unless it is joined; a group (skua/cpp/group.hpp) waits.
 *
 * A coroutine joins by co_await handle (skua/cpp/coroutine.hpp).
 */
template <class T> class [[nodiscard]] join_handle
{
      public:
	join_handle() noexcept = default;
	/* Private to the library. */
	join_handle(detail::node *node, detail::outcome<T> *out) noexcept
	    : node_(node), out_(out)
	{
	}
	join_handle(join_handle &&from) noexcept
	    : node_(std::exchange(from.node_, nullptr)), out_(from.out_)
	{
	}
	join_handle &operator=(join_handle &&from) noexcept
	{
		join_handle other(std::move(from));
		std::swap(node_, other.node_);
		out_ = other.out_;
		return *this;
	}
	~join_handle()
	{
		if (!node_)
			return;
		skua_task_cancel(node_->task());
		detach();
	}

	/* joinable - tell whether there is a task to join. Blocks: never. */
	bool joinable() const noexcept
	{
		return node_ != nullptr;
	}

	/* task - the task, for the C functions; NULL if there is none */
	skua_task *task() const noexcept
	{
		return node_ ? node_->task() : nullptr;
	}

	/**
	 * join - wait until the task has ended, and take its result
	 * @until: when to give up; the handle then stays joinable
	 *
	 * Threads: fibers and outside threads. Blocks: the fiber or thread.
	 * Allocates: nothing.
	 * Throws: what the task threw; ETIMEDOUT; cancelled (the calling fiber was);
	 * EDEADLK in a poll; EINVAL without a task.
	 * Return: what the task returned.
	 */
	T join(deadline until = {})
	{
		detail::check(skua_task_join_until(task(), until.ns()),
			      "skua::join_handle::join");
		return joined();
	}

	/* cancel - ask the task to end, as skua_task_cancel()
	 *
	 * Threads: any. Blocks: never. Allocates: nothing. */
	void cancel() noexcept
	{
		if (node_)
			skua_task_cancel(node_->task());
	}

	/* detach - let the task go on; its result or exception is lost
	 *
	 * Threads: any. Blocks: never. Allocates: nothing. */
	void detach() noexcept
	{
		if (node_)
			skua_task_detach(std::exchange(node_, nullptr)->task(),
					 detail::node::release);
	}

	/* joined - take the result of the task, which the caller has joined by a C
	 * function. As join(); private to the library. */
	T joined()
	{
		struct free {
			detail::node *node;
			~free()
			{
				node->destroy(node);
			}
		} memory = { std::exchange(node_, nullptr) };
		return out_->take();
	}

      private:
	detail::node *node_ = nullptr;
	detail::outcome<T> *out_ = nullptr;
};

/**
 * spawn - run a function as a task
 * @rt: live runtime, borrowed
 * @f: called once, without arguments, in the only poll of the task: it must not wait.
 *     Moved or copied into the task
 * @type: type of the task, for the tools; may be NULL
 *
 * Threads: any. Blocks: never. Allocates: the task, by new.
 * Order: writes before the call are visible to @f.
 * Throws: ESHUTDOWN, EAGAIN (max_queued tasks are queued), EINVAL; std::bad_alloc.
 * Return: the handle of the task.
 */
template <class F, class R = std::invoke_result_t<std::decay_t<F> &>>
join_handle<R> spawn(skua_runtime *rt, F &&f,
		     const skua_task_type *type = nullptr)
{
	auto it = detail::make_task(std::forward<F>(f));

	detail::check(skua_task_set_type(&it->task, type), "skua::spawn");
	detail::check(skua_task_spawn(rt, &it->task), "skua::spawn");
	auto *node = it.release();
	return { &node->head, &node->out };
}

/**
 * spawn_fiber - run a function as a fiber
 * @f: as for spawn(), but on a stack of its own: it may wait, by all calls that are
 *     allowed in fibers
 * @stack_bytes: as for skua_fiber_init(); 0 = the default of the runtime
 *
 * As spawn() in all other respects. Throws also: ENOTSUP (as skua_fiber_init()).
 */
template <class F, class R = std::invoke_result_t<std::decay_t<F> &>>
join_handle<R> spawn_fiber(skua_runtime *rt, F &&f,
			   const skua_task_type *type = nullptr,
			   size_t stack_bytes = 0)
{
	auto it = detail::make_fiber(std::forward<F>(f), stack_bytes);

	detail::check(skua_task_set_type(&it->task.task, type),
		      "skua::spawn_fiber");
	detail::check(skua_task_spawn(rt, &it->task.task), "skua::spawn_fiber");
	auto *node = it.release();
	return { &node->head, &node->out };
}

} // namespace skua

#endif
