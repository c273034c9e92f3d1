// SPDX-License-Identifier: MIT
//
// sync.hpp - locks and signals, for the guards of the standard library
//
// Fibers, coroutines and threads may share an object. The members wait as fibers and
// outside threads do. In a poll, a coroutine or a job, each member that may wait throws
// EDEADLK, even if it need not wait now. Coroutines use skua/cpp/operations.hpp: co_await
// skua::co::lock(mutex).
//
// An object neither allocates nor needs a runtime, and cannot be copied or moved. Unless
// an entry says otherwise: Threads: fibers and outside threads. Blocks: the fiber or
// thread. Allocates: nothing. Throws: cancelled (the fiber was cancelled); EDEADLK (the
// caller must not wait, or holds the lock already). Members whose names begin with try_,
// except try_lock_until(), and members that let waiters proceed may be called by any
// thread, and never block.
#ifndef SKUA_CPP_SYNC_HPP
#define SKUA_CPP_SYNC_HPP

#include <skua/cpp/error.hpp>
#include <skua/sync.h>

namespace skua
{
namespace detail
{

/* True: done; false: not now. */
inline bool tried(int code, const char *what)
{
	return code != -EAGAIN && code != -ETIMEDOUT &&
	       (check(code, what), true);
}

} // namespace detail

/* class mutex - mutual exclusion: Lockable; std::unique_lock also takes it with a time of
 * std::chrono::steady_clock
 *
 * The holder is the fiber, coroutine or thread, on whichever worker it runs. */
class mutex
{
      public:
	mutex() noexcept = default;
	mutex(const mutex &) = delete;

	/* lock - as skua_mutex_lock() */
	void lock()
	{
		detail::check(skua_mutex_lock(&it_, SKUA_FOREVER_NS),
			      "skua::mutex::lock");
	}
	/* try_lock_until - false if the deadline came first */
	bool try_lock_until(deadline until)
	{
		return detail::tried(skua_mutex_lock(&it_, until.ns()),
				     "skua::mutex::try_lock_until");
	}
	/* try_lock - false if it is held, also by the caller */
	bool try_lock() noexcept
	{
		return skua_mutex_lock_try(&it_) == 0;
	}
	/* unlock - by the holder; anything else ends the program */
	void unlock() noexcept
	{
		if (skua_mutex_unlock(&it_) != 0)
			std::terminate();
	}
	/* c - the mutex, for the C functions */
	skua_mutex *c() noexcept
	{
		return &it_;
	}

      private:
	skua_mutex it_ = SKUA_MUTEX_INIT;
};

/* class shared_mutex - many readers or one writer, for std::shared_lock and
 * std::unique_lock. First come, first served, as struct skua_rwlock. */
class shared_mutex
{
      public:
	shared_mutex() noexcept = default;
	shared_mutex(const shared_mutex &) = delete;

	/* lock - as the writer */
	void lock()
	{
		detail::check(skua_rwlock_write(&it_, SKUA_FOREVER_NS),
			      "skua::shared_mutex::lock");
	}
	/* try_lock - false if it is not free */
	bool try_lock() noexcept
	{
		return skua_rwlock_write_try(&it_) == 0;
	}
	/* unlock - by the writer; anything else ends the program */
	void unlock() noexcept
	{
		if (skua_rwlock_write_unlock(&it_) != 0)
			std::terminate();
	}
	/* lock_shared - as a reader */
	void lock_shared()
	{
		detail::check(skua_rwlock_read(&it_, SKUA_FOREVER_NS),
			      "skua::shared_mutex::lock_shared");
	}
	/* try_lock_shared - false if a writer has it or waits */
	bool try_lock_shared() noexcept
	{
		return skua_rwlock_read_try(&it_) == 0;
	}
	/* unlock_shared - by a reader; without one it ends the program */
	void unlock_shared() noexcept
	{
		if (skua_rwlock_read_unlock(&it_) != 0)
			std::terminate();
	}
	/* c - the lock, for the C functions */
	skua_rwlock *c() noexcept
	{
		return &it_;
	}

      private:
	skua_rwlock it_ = SKUA_RWLOCK_INIT;
};

/* class semaphore - a number of permits, first come, first served */
class semaphore
{
      public:
	/* semaphore - with @permits; throws EINVAL above SKUA_MAX_PERMITS */
	explicit semaphore(uint64_t permits)
	{
		detail::check(skua_semaphore_init(&it_, permits),
			      "skua::semaphore");
	}
	semaphore(const semaphore &) = delete;

	/* acquire - take @n permits at once. Throws also: ESHUTDOWN (it is closed);
	 * ETIMEDOUT; EINVAL */
	void acquire(uint64_t n = 1, deadline until = {})
	{
		detail::check(skua_semaphore_acquire(&it_, n, until.ns()),
			      "skua::semaphore::acquire");
	}
	/* try_acquire - false if they are not there now, or others wait. Throws: ESHUTDOWN;
	 * EINVAL */
	bool try_acquire(uint64_t n = 1)
	{
		return detail::tried(skua_semaphore_acquire_try(&it_, n),
				     "skua::semaphore::try_acquire");
	}
	/* release - add @n permits. Throws: EOVERFLOW (as skua_semaphore_release()) */
	void release(uint64_t n = 1)
	{
		detail::check(skua_semaphore_release(&it_, n),
			      "skua::semaphore::release");
	}
	/* close - make present and later waits throw ESHUTDOWN */
	void close() noexcept
	{
		skua_semaphore_close(&it_);
	}
	/* c - the semaphore, for the C functions */
	skua_semaphore *c() noexcept
	{
		return &it_;
	}

      private:
	skua_semaphore it_ = {};
};

/* class event - a flag; while it is set, waits return at once */
class event
{
      public:
	event() noexcept = default;
	event(const event &) = delete;

	/* wait - until the flag is set. Throws also: ETIMEDOUT */
	void wait(deadline until = {})
	{
		detail::check(skua_event_wait(&it_, until.ns()),
			      "skua::event::wait");
	}
	/* set - set the flag, and let all waiters proceed */
	void set() noexcept
	{
		skua_event_set(&it_);
	}
	/* reset - clear the flag */
	void reset() noexcept
	{
		skua_event_reset(&it_);
	}
	/* is_set - tell whether the flag is set */
	bool is_set() const noexcept
	{
		return skua_event_is_set(&it_);
	}
	/* c - the event, for the C functions */
	skua_event *c() noexcept
	{
		return &it_;
	}

      private:
	skua_event it_ = SKUA_EVENT_INIT;
};

/* sleep_until, sleep_for - sleep, in a fiber or an outside thread. Throws: cancelled;
 * EDEADLK in a poll, a coroutine or a job. */
inline void sleep_until(deadline when)
{
	detail::check(skua_sleep_until(when.ns()), "skua::sleep_until");
}
inline void sleep_for(std::chrono::nanoseconds delay)
{
	sleep_until(in(delay));
}

} // namespace skua

#endif
