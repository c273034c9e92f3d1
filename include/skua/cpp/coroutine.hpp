// SPDX-License-Identifier: MIT
//
// coroutine.hpp - coroutines as tasks
//
// A skua::task<T> is a coroutine that has not begun. co_await of it runs it within the
// calling coroutine, on the same task of the scheduler, as a function call does:
//
//	skua::task<int> twice(int n)
//	{
//		co_await skua::co::sleep_for(1ms);
//		co_return 2 * n;
//	}
//
//	skua::task<int> sum()
//	{
//		co_return co_await twice(1) + co_await twice(2);
//	}
//
//	int six = skua::block_on(rt, sum());
//
// spawn() makes it a task of its own. The skua_task is in the frame of the coroutine:
// spawning allocates nothing further. A poll resumes the innermost coroutine of the task,
// which runs until it waits: by an operation of skua/cpp/operations.hpp, by a join, or by
// co::yield(). After a wait the coroutine may go on on another worker, so a pthread mutex
// must not be held across a co_await, nor a thread-local variable be kept.
//
// Cancels. When the task is cancelled (join_handle::cancel(), skua::group, a shutdown),
// the operation that it waits for has no effect and throws skua::cancelled. Each later
// operation that would have to wait throws it as well. The exception unwinds the
// coroutines, which release by destructors what they own. A shutdown reaches a coroutine
// that waits without a deadline only when something else wakes it
// (SKUA_SHUTDOWN_CANCEL).
//
// A wait for children (a group, co::when_all(), ...) cancels these, and goes on until they
// have ended. A wait for a group then throws skua::cancelled; co::when_all() and
// co::when_any() throw what a child threw, or return the results.
//
// Frames come from operator new by way of small stacks of free frames, one for each
// thread and size. The C interface has no function that hands out memory of a worker:
// its allocator serves whole chunks. Builds with AddressSanitizer or ThreadSanitizer use
// operator new alone.
#ifndef SKUA_CPP_COROUTINE_HPP
#define SKUA_CPP_COROUTINE_HPP

#include <coroutine>

#include <skua/cpp/frame.hpp>
#include <skua/cpp/group.hpp>
#include <skua/cpp/runtime.hpp>
#include <skua/cpp/task.hpp>
#include <skua/wait.h>

namespace skua
{

template <class T = void> class task;

namespace detail
{

struct promise_base;
struct task_access;

/* The wait that a task of the scheduler is in. */
struct leaf {
	// True: the wait is over. Called in each poll until then.
	bool (*over)(const leaf *self, skua_task *task) noexcept;
	skua_poll result; // of the poll that begins the wait
};

/* The wait of a task that has ended. */
inline constexpr leaf ended = { nullptr, SKUA_DONE };

/* The part that all coroutines have. The fields of a root count for a root alone. */
struct promise_base {
	node head;
	skua_task self;
	promise_base *root;
	std::coroutine_handle<> caller; // none: this is a root
	// Of a root: the innermost coroutine, which waits, or is resumed next.
	std::coroutine_handle<> next;
	const leaf *wait = nullptr; // of a root; NULL: it runs

	promise_base() noexcept // does not initialise what spawn() and co_await set
	{
		head.watcher = nullptr;
	}
	promise_base(const promise_base &) = delete;

	static void *operator new(size_t bytes)
	{
		return frame_new(bytes);
	}
	static void operator delete(void *memory, size_t bytes) noexcept
	{
		frame_delete(memory, bytes);
	}

	std::suspend_always initial_suspend() const noexcept
	{
		return {};
	}

	void make_root(std::coroutine_handle<> coroutine) noexcept
	{
		root = this;
		next = coroutine;
		self = SKUA_TASK_INIT(poll);
	}

	// A loop, not a symmetric transfer: not every build turns that into a jump.
	static skua_poll poll(skua_task *self) noexcept
	{
		auto *root = reinterpret_cast<promise_base *>(node::of(self));
		const leaf *wait = root->wait;

		if (wait) {
			if (!wait->over(wait, self))
				return SKUA_PENDING;
			root->wait = nullptr;
		}
		do {
			root->next.resume();
			wait = root->wait;
		} while (!wait);
		return wait->result;
	}
};

struct final_awaiter {
	bool await_ready() const noexcept
	{
		return false;
	}
	template <class Promise>
	void await_suspend(std::coroutine_handle<Promise> self) const noexcept
	{
		Promise &it = self.promise();
		if (it.caller) {
			it.root->next = it.caller;
			return;
		}
		it.wait = &ended;
		it.head.tell(it.out.error);
	}
	void await_resume() const noexcept
	{
	}
};

/*
 * co_await of a task: runs it, and goes on when it has returned. The awaiter owns the frame of
 * the task, and destroys it at its own end. A second co_await finds no task.
 */
template <class Promise> struct call_awaiter {
	Promise *callee;

	explicit call_awaiter(Promise *it) noexcept : callee(it)
	{
	}
	call_awaiter(const call_awaiter &) = delete;
	~call_awaiter()
	{
		std::coroutine_handle<Promise>::from_promise(*callee).destroy();
	}
	bool await_ready() const noexcept
	{
		return false;
	}
	template <class Caller>
	void await_suspend(std::coroutine_handle<Caller> caller) const noexcept
	{
		promise_base *root = caller.promise().root;
		callee->root = root;
		callee->caller = caller;
		root->next =
			std::coroutine_handle<Promise>::from_promise(*callee);
	}
	auto await_resume() const -> decltype(callee->out.take())
	{
		return callee->out.take();
	}
};

/* Base of the operations that a coroutine can wait for; operations.hpp has its parts. */
struct operation {
	static constexpr bool arms = true; // poll() uses its struct skua_wait
};

/*
 * co_await of an operation. The operation has attempt(), which returns -EAGAIN if it has
 * to wait; poll(), as the C forms _poll; and finish(), which makes the result of the
 * code, or throws.
 */
template <class Op> struct operation_awaiter : leaf {
	Op op;
	long code = 0;
	union {
		skua_wait armed; // set only if it has to wait
	};

	explicit operation_awaiter(Op &&from) : op(std::move(from))
	{
	}
	operation_awaiter(const operation_awaiter &) = delete;

	bool await_ready()
	{
		code = op.attempt();
		return code != -EAGAIN;
	}
	template <class Promise>
	bool await_suspend(std::coroutine_handle<Promise> self) noexcept
	{
		promise_base *root = self.promise().root;
		if constexpr (Op::arms)
			armed = SKUA_WAIT_INIT;
		code = op.poll(&root->self, &armed);
		if (code != -EAGAIN)
			return false;
		over = again;
		result = SKUA_PENDING;
		root->wait = this;
		return true;
	}
	decltype(auto) await_resume()
	{
		return op.finish(code);
	}
	static bool again(const leaf *self, skua_task *task) noexcept
	{
		auto *it = static_cast<operation_awaiter *>(
			const_cast<leaf *>(self));
		it->code = it->op.poll(task, &it->armed);
		return it->code != -EAGAIN;
	}
};

struct yield_awaiter : leaf {
	bool await_ready() const noexcept
	{
		return false;
	}
	template <class Promise>
	void await_suspend(std::coroutine_handle<Promise> self) noexcept
	{
		over = [](const leaf *, skua_task *) noexcept { return true; };
		result = SKUA_YIELD;
		self.promise().root->wait = this;
	}
	void await_resume() const noexcept
	{
	}
};

struct yield_tag {
};

/* The end of another task. */
template <class T> struct join_operation : operation {
	static constexpr bool arms = false;
	join_handle<T> *handle;

	long attempt() const noexcept
	{
		return -EAGAIN;
	}
	long poll(skua_task *self, skua_wait *) const noexcept
	{
		const int code = skua_task_join_poll(self, handle->task());
		if (code == -EAGAIN && skua_task_cancelled(self) &&
		    skua_task_join_cancel(self, handle->task()) == 0)
			return -ECANCELED;
		return code;
	}
	T finish(long code) const
	{
		check(code, "co_await skua::join_handle");
		return handle->joined();
	}
};

template <class T> struct promise_result {
	outcome<T> out;

	template <class U = T> void return_value(U &&value)
	{
		out.value.emplace(std::forward<U>(value));
	}
};

template <class T> struct promise_result<T &> {
	outcome<T &> out;

	void return_value(T &value) noexcept
	{
		out.value.emplace(std::addressof(value));
	}
};

template <class T> struct promise_result<T &&> {
	outcome<T &&> out;

	void return_value(T &&value) noexcept
	{
		out.value.emplace(std::addressof(value));
	}
};

template <> struct promise_result<void> {
	outcome<void> out;

	void return_void() noexcept
	{
		out.value.emplace();
	}
};

template <class T> struct promise : promise_base, promise_result<T> {
	using coroutine = std::coroutine_handle<promise>;

	task<T> get_return_object() noexcept
	{
		static_assert(alignof(promise) <= frame_stacks::step,
			      "the result of a coroutine can be aligned to at "
			      "most 64 bytes");
		return task<T>(this);
	}
	final_awaiter final_suspend() const noexcept
	{
		return {};
	}
	void unhandled_exception() noexcept
	{
		this->out.error = std::current_exception();
	}
	static void destroy(node *self)
	{
		coroutine::from_promise(
			*static_cast<promise *>(
				reinterpret_cast<promise_base *>(self)))
			.destroy();
	}

	// Nothing else can be awaited: it would resume the coroutine outside of a poll.
	template <class U>
	call_awaiter<promise<U>> await_transform(task<U> &&callee)
	{
		check(callee.promise_ ? 0 : -EINVAL,
		      "co_await skua::task: moved from, or awaited before");
		return call_awaiter<promise<U>>(
			std::exchange(callee.promise_, nullptr));
	}
	template <class U>
	operation_awaiter<join_operation<U>>
	await_transform(join_handle<U> &handle) noexcept
	{
		return operation_awaiter<join_operation<U>>({ {}, &handle });
	}
	template <class U>
	operation_awaiter<join_operation<U>>
	await_transform(join_handle<U> &&handle) noexcept
	{
		return await_transform(handle);
	}
	template <class Op>
	std::enable_if_t<std::is_base_of_v<operation, Op>,
			 operation_awaiter<Op>>
	await_transform(Op op)
	{
		return operation_awaiter<Op>(std::move(op));
	}
	yield_awaiter await_transform(yield_tag) noexcept
	{
		return {};
	}
};

/* Return an address of which the compiler does not know the origin. In a function that spawns a
 * coroutine and then always throws, clang 14 takes the destructor of the task for the only end of
 * the frame, and puts the frame on the stack. */
template <class T> T *unknown(T *it) noexcept
{
	__asm__("" : "+r"(it));
	return it;
}

} // namespace detail

/**
 * class task - a coroutine that returns T, and has not begun
 *
 * It owns the frame of the coroutine, and may be moved. A task that is destroyed before
 * it was awaited or spawned never runs. To await or spawn it a second time, also while it
 * runs, or after it was moved from, throws EINVAL. T may be void, a reference, or any type
 * that can be moved. T and the variables of the coroutine can be aligned to at most 64
 * bytes.
 *
 * Threads: one at a time. Allocates: calling the coroutine allocates its frame.
 */
template <class T> class [[nodiscard]] task
{
      public:
	using promise_type = detail::promise<T>;

	task(task &&from) noexcept
	    : promise_(std::exchange(from.promise_, nullptr))
	{
	}
	task &operator=(task &&from) noexcept
	{
		task other(std::move(from));
		std::swap(promise_, other.promise_);
		return *this;
	}
	~task()
	{
		if (promise_)
			detail::promise<T>::coroutine::from_promise(
				*detail::unknown(promise_))
				.destroy();
	}

      private:
	template <class> friend struct detail::promise;
	friend struct detail::task_access;

	explicit task(promise_type *promise) noexcept : promise_(promise)
	{
	}

	promise_type *promise_;
};

namespace detail
{

/* The operations of spawns and groups on a task. */
struct task_access {
	/* Make it a root, which the caller may spawn. It still owns the frame. */
	template <class T> static promise<T> *root(task<T> &it)
	{
		promise<T> *promise = it.promise_;

		check(may_begin(it),
		      "skua::task: moved from, or awaited before");
		promise->make_root(
			std::coroutine_handle<detail::promise<T>>::from_promise(
				*promise));
		promise->head.destroy = detail::promise<T>::destroy;
		return promise;
	}
	template <class T> static int may_begin(task<T> &it) noexcept
	{
		return it.promise_ ? 0 : -EINVAL;
	}
	template <class T> static promise<T> *promise_of(task<T> &it) noexcept
	{
		return it.promise_;
	}
	template <class T> static void release(task<T> &it) noexcept
	{
		it.promise_ = nullptr;
	}
};

} // namespace detail

/**
 * spawn - run a coroutine as a task of its own
 * @rt: live runtime, borrowed
 * @work: the coroutine
 * @type: type of the task, for the tools; may be NULL
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Order: writes before the call are visible to the coroutine.
 * Throws: ESHUTDOWN, EAGAIN (max_queued tasks are queued), EINVAL; the coroutine is then
 * destroyed without having run.
 * Return: the handle of the task.
 */
template <class T>
join_handle<T> spawn(skua_runtime *rt, task<T> work,
		     const skua_task_type *type = nullptr)
{
	detail::promise<T> *promise = detail::task_access::root(work);

	if (type)
		detail::check(skua_task_set_type(&promise->self, type),
			      "skua::spawn");
	detail::check(skua_task_spawn(rt, &promise->self), "skua::spawn");
	detail::task_access::release(work);
	return { &promise->head, &promise->out };
}

/* spawn - run a coroutine as a member of a group
 *
 * As skua::group::spawn(); the coroutine's result is dropped. */
template <class T>
void spawn(group &members, task<T> work, const skua_task_type *type = nullptr)
{
	detail::promise<T> *promise = detail::task_access::root(work);

	if (type)
		detail::check(skua_task_set_type(&promise->self, type),
			      "skua::spawn");
	members.add(&promise->head);
	detail::task_access::release(work);
}

/**
 * block_on - run a coroutine, and wait for its result
 *
 * As spawn() and a join. With SKUA_CALLER_DRIVEN, the calling thread drives the runtime
 * meanwhile. Fibers use spawn() and join_handle::join() instead.
 *
 * Threads: outside. Blocks: the thread. Allocates: nothing.
 * Throws: as spawn(); what the coroutine throws; EDEADLK on a worker.
 * Return: what the coroutine returns.
 */
template <class T> T block_on(skua_runtime *rt, task<T> work)
{
	detail::promise<T> *promise = detail::task_access::root(work);

	detail::check(skua_runtime_block_on(rt, &promise->self),
		      "skua::block_on");
	return promise->out.take();
}

} // namespace skua

#endif
