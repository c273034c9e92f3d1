// SPDX-License-Identifier: MIT
//
// runtime.hpp - a runtime that its scope owns
#ifndef SKUA_CPP_RUNTIME_HPP
#define SKUA_CPP_RUNTIME_HPP

#include <skua/cpp/error.hpp>
#include <skua/fork.h>
#include <skua/runtime.h>
#include <skua/task.h>

namespace skua
{

/**
 * struct config - the fields of struct skua_config, for initialisers by name
 *
 * C++20: skua::runtime rt({ .workers = 2 }). As in struct skua_config, 0 stands for the
 * default of a field.
 */
struct config {
	unsigned workers = 0;
	uint32_t queue_capacity = 0;
	uint32_t steal_attempts = 0;
	uint32_t max_queued = 0;
	uint64_t spin_ns = 0;
	uint64_t lifo_steal_delay_ns = 0;
	const char *cpus = nullptr;
	const skua_allocator *allocator = nullptr;
	const skua_hooks *hooks = nullptr;
	unsigned flags = 0;
	uint32_t steal_max = 0;
	uint32_t steal_max_far = 0;
	uint64_t far_delay_ns = 0;
	uint32_t far_samples = 0;
	skua_placement placement = SKUA_PLACE_DEFAULT;
	uint64_t stall_limit_ns = 0;
	int stall_signal = 0;
	uint32_t fiber_stack = 0;
	uint32_t blocking_threads = 0;
	uint32_t blocking_queued = 0;
	uint64_t blocking_idle_ns = 0;

	/* c - return the same as a struct skua_config */
	skua_config c() const noexcept
	{
		return { sizeof(skua_config),
			 workers,
			 queue_capacity,
			 steal_attempts,
			 max_queued,
			 spin_ns,
			 lifo_steal_delay_ns,
			 cpus,
			 allocator,
			 hooks,
			 flags,
			 0,
			 steal_max,
			 steal_max_far,
			 far_delay_ns,
			 far_samples,
			 placement,
			 stall_limit_ns,
			 stall_signal,
			 fiber_stack,
			 blocking_threads,
			 blocking_queued,
			 blocking_idle_ns };
	}
};

/**
 * class runtime - owner of a struct skua_runtime
 *
 * It converts to skua_runtime *, which all other functions take. It may be moved, also
 * while its tasks run.
 */
class runtime
{
      public:
	/**
	 * runtime - create a runtime and start its workers
	 * @cfg: as for skua_runtime_create()
	 *
	 * Threads: any. Blocks: while threads are created. Allocates: yes.
	 * Throws: std::system_error, whose text names the value that was wrong.
	 */
	explicit runtime(const config &cfg = config())
	{
		const skua_config c = cfg.c();
		skua_error error;
		const int code = skua_runtime_create(&rt_, &c, &error);

		if (code < 0)
			throw std::system_error(-code, std::generic_category(),
						error.text);
	}

	runtime(runtime &&from) noexcept : rt_(std::exchange(from.rt_, nullptr))
	{
	}

	runtime &operator=(runtime &&from) noexcept
	{
		runtime(std::move(from)).swap(*this);
		return *this;
	}

	/* ~runtime - wait until the last task is done, and free the runtime
	 *
	 * Threads: outside; on a worker, and inside run(), the program ends by
	 * std::terminate(). Blocks: until the last task is done. */
	~runtime()
	{
		if (rt_ && skua_runtime_destroy(rt_) != 0)
			std::terminate();
	}

	/* swap - exchange the runtimes of two owners */
	void swap(runtime &other) noexcept
	{
		std::swap(rt_, other.rt_);
	}

	operator skua_runtime *() const noexcept
	{
		return rt_;
	}

	/* workers - the number of workers. Threads: any. Blocks: never. */
	unsigned workers() const noexcept
	{
		return skua_runtime_workers(rt_);
	}

	/* drain - wait until all tasks are done, as skua_runtime_drain()
	 *
	 * Threads: outside. Blocks: yes. Allocates: nothing. Throws: EDEADLK. */
	void drain()
	{
		detail::check(skua_runtime_drain(rt_), "skua::runtime::drain");
	}

	/**
	 * shutdown - finish all tasks and end the workers, within a time
	 * @timeout: how long to wait at most; below 0: as 0
	 * @how: SKUA_SHUTDOWN_RUN, or SKUA_SHUTDOWN_CANCEL to cancel the tasks
	 *
	 * As skua_runtime_shutdown().
	 * Throws: EDEADLK on a worker, and inside run().
	 * Return: true; false if tasks are left.
	 */
	bool shutdown(std::chrono::nanoseconds timeout,
		      skua_shutdown how = SKUA_SHUTDOWN_RUN)
	{
		const auto ns = timeout.count();
		const int code = skua_runtime_shutdown(
			rt_, ns < 0 ? 0 : static_cast<uint64_t>(ns), how);
		if (code == -ETIMEDOUT)
			return false;
		detail::check(code, "skua::runtime::shutdown");
		return true;
	}

	/**
	 * run - call a function that forks, and wait until it returns
	 * @f: called with a skua_ctx, on the calling thread
	 *
	 * As skua_run(). skua/cpp/parallel.hpp has the functions that take a context.
	 * Threads: any; in a task of this runtime, use skua_task_ctx() instead. Blocks:
	 * until @f has returned. Allocates: as skua_run().
	 * Throws: what @f throws; ESHUTDOWN and ENOMEM.
	 * Return: what @f returns.
	 */
	template <class F> std::invoke_result_t<F &, skua_ctx> run(F &&f)
	{
		using result = std::invoke_result_t<F &, skua_ctx>;
		struct call {
			std::remove_reference_t<F> &f;
			detail::outcome<result> out;
		} call = { f, {} };

		detail::check(
			skua_run(
				rt_,
				[](skua_ctx ctx, void *arg) noexcept {
					auto &it = *static_cast<struct call *>(
						arg);
					it.out.run(it.f, ctx);
				},
				&call),
			"skua::runtime::run");
		return call.out.take();
	}

      private:
	skua_runtime *rt_ = nullptr;
};

/* current_runtime - the runtime of the task that the calling thread polls; NULL if none
 *
 * Threads: any. Blocks: never. Allocates: nothing. */
inline skua_runtime *current_runtime() noexcept
{
	return skua_task_runtime(skua_task_self());
}

} // namespace skua

#endif
