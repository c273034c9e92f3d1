/* SPDX-License-Identifier: MIT */
/**
 * sync.h - locks and signals between tasks, fibers and threads
 *
 * Polls and fibers of any runtimes and outside threads may share an object. An object
 * needs no runtime and no memory but its own. It is ready for use when it is zeroed or
 * set to its SKUA_..._INIT; a semaphore and a barrier have an init function. The fields
 * are private to the library.
 *
 * skua/wait.h describes the three forms of the calls that may wait, their deadlines,
 * and how a cancel ends them. The entry of skua_mutex_lock() lists the results that all
 * of them have. The other entries list only what differs.
 *
 * An object may be freed as soon as no thread and no task is in a call on it or waits
 * for it. A waiter that a call lets proceed may free the object at once, even if that
 * call has not returned. For example, a thread that drops the last reference to a struct
 * under the mutex of the struct may unlock the mutex, and free the struct.
 *
 * In the child of a fork(), an object may be used only if no other thread of the parent
 * held it, waited for it or was in a call on it at the fork. In the child of a poll or a
 * fiber, the calls wait as those of a thread do.
 */
#ifndef SKUA_SYNC_H
#define SKUA_SYNC_H

#include <skua/wait.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/* ---- mutex -------------------------------------------------------------------- */

/**
 * struct skua_mutex - mutual exclusion
 *
 * The holder is a task or fiber, which any worker may poll, or a thread. A task that
 * waits for something else keeps its mutexes. It must not end while it holds one: the
 * mutex then stays locked, or seems to be held by a later task or thread. Inside a job,
 * the holder is the task whose poll is below the job on the stack of the thread, or else
 * the thread.
 *
 * Fairness: a caller that finds the mutex free takes it, even if others wait. Waiters
 * lock it in the order in which they began to wait; one that was woken in vain keeps its
 * place. If the first waiter has waited for a millisecond and was woken in vain, the mutex
 * is handed to the waiters in their order, until the first one has waited for less.
 */
struct skua_mutex {
	/* private: to the library */
	uint64_t word;
	struct skua_waiters waiters;
};

/* clang-format off */
#define SKUA_MUTEX_INIT { 0, { 0, 0, NULL, NULL } }
/* clang-format on */

/**
 * skua_mutex_lock - lock a mutex, and wait for it
 * @mutex: borrowed
 * @deadline_ns: time of skua_now_ns() at which to give up, or SKUA_FOREVER_NS
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Order: what the last holder did is visible after a return of 0.
 * Return: 0; -ETIMEDOUT; -ECANCELED (the fiber was cancelled); -EINVAL (@mutex is NULL);
 * -EDEADLK (the caller holds the mutex already; or it must not wait: it is in a poll, in
 * a job, inside skua_run(), or a fiber with a context of skua_task_ctx()).
 */
SKUA_API int skua_mutex_lock(struct skua_mutex *mutex, uint64_t deadline_ns);

/**
 * skua_mutex_lock_poll - lock a mutex, in a poll
 * @self: task that is being polled
 * @mutex: borrowed
 * @wait: see struct skua_wait
 * @deadline_ns: as for skua_mutex_lock()
 *
 * Threads: worker, in the poll of @self. Blocks: never, except for a lock that is held
 * for less than a microsecond. Allocates: nothing.
 * Order: as skua_mutex_lock().
 * Return: 0; -EAGAIN (@wait is armed: return SKUA_PENDING, and call this again in the
 * next poll); -ETIMEDOUT; -ECANCELED (@self was cancelled); -EINVAL (an argument is NULL,
 * or @wait is armed for something else); -EDEADLK (@self holds the mutex already); -EPERM
 * (@self is not being polled); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_mutex_lock_poll(struct skua_task *self,
				  struct skua_mutex *mutex,
				  struct skua_wait *wait, uint64_t deadline_ns);

/**
 * skua_mutex_lock_try - lock a mutex if it is free
 * @mutex: borrowed
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Order: as skua_mutex_lock().
 * Return: 0; -EAGAIN (it is not free); -EDEADLK (the caller holds it already); -EINVAL
 * (@mutex is NULL).
 */
SKUA_API int skua_mutex_lock_try(struct skua_mutex *mutex);

/**
 * skua_mutex_unlock - unlock a mutex
 * @mutex: held by the caller
 *
 * Not async-signal-safe, as no call that lets waiters proceed: a signal handler uses a
 * waker (skua/waker.h).
 *
 * Threads: any; the holder. Blocks: never, except for a lock that is held for less than a
 * microsecond. Allocates: nothing.
 * Order: what the caller did before is visible to the next holder.
 * Return: 0; -EPERM (the caller does not hold it); -EINVAL (@mutex is NULL).
 */
SKUA_API int skua_mutex_unlock(struct skua_mutex *mutex);

/**
 * skua_mutex_destroy - check that a mutex can be freed
 * @mutex: borrowed
 *
 * A mutex need not be destroyed. A program that calls this before it frees a mutex
 * learns of its mistakes.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EBUSY (it is held, or tasks or threads wait for it); -EINVAL (@mutex is
 * NULL).
 */
SKUA_API int skua_mutex_destroy(struct skua_mutex *mutex);

/* ---- rwlock ------------------------------------------------------------------- */

/**
 * struct skua_rwlock - many readers, or one writer
 *
 * Fairness: first come, first served. Readers that wait one after the other are
 * admitted together. A writer that waits keeps later readers out: a reader must not
 * lock again before it has unlocked.
 */
struct skua_rwlock {
	/* private: to the library */
	uint64_t word;
	uint64_t writer;
	struct skua_waiters waiters;
};

/* clang-format off */
#define SKUA_RWLOCK_INIT { 0, 0, { 0, 0, NULL, NULL } }
/* clang-format on */

/* skua_rwlock_read - lock as one of many readers
 *
 * As skua_mutex_lock(). Order: what the last writer did is visible after a return of 0.
 * -EDEADLK also if the caller is the writer; a caller that is a reader is not known. */
SKUA_API int skua_rwlock_read(struct skua_rwlock *lock, uint64_t deadline_ns);

/* skua_rwlock_read_poll - the same in a poll. As skua_mutex_lock_poll() otherwise. */
SKUA_API int skua_rwlock_read_poll(struct skua_task *self,
				   struct skua_rwlock *lock,
				   struct skua_wait *wait,
				   uint64_t deadline_ns);

/* skua_rwlock_read_try - the same without a wait. As skua_mutex_lock_try() otherwise. */
SKUA_API int skua_rwlock_read_try(struct skua_rwlock *lock);

/* skua_rwlock_write - lock as the only writer
 *
 * As skua_mutex_lock(). Order: what all earlier holders did is visible after a return of
 * 0. */
SKUA_API int skua_rwlock_write(struct skua_rwlock *lock, uint64_t deadline_ns);

/* skua_rwlock_write_poll - the same in a poll. As skua_mutex_lock_poll() otherwise. */
SKUA_API int skua_rwlock_write_poll(struct skua_task *self,
				    struct skua_rwlock *lock,
				    struct skua_wait *wait,
				    uint64_t deadline_ns);

/* skua_rwlock_write_try - the same without a wait. As skua_mutex_lock_try() otherwise. */
SKUA_API int skua_rwlock_write_try(struct skua_rwlock *lock);

/* skua_rwlock_read_unlock - unlock, by a reader. As skua_mutex_unlock() otherwise;
 * -EPERM: there is no reader. */
SKUA_API int skua_rwlock_read_unlock(struct skua_rwlock *lock);

/* skua_rwlock_write_unlock - unlock, by the writer. As skua_mutex_unlock() otherwise. */
SKUA_API int skua_rwlock_write_unlock(struct skua_rwlock *lock);

/* skua_rwlock_downgrade - make the writer a reader, without a moment in which the lock
 * is free
 *
 * Readers that wait before all writers are admitted as well.
 *
 * As skua_mutex_unlock() in all other respects. */
SKUA_API int skua_rwlock_downgrade(struct skua_rwlock *lock);

/* skua_rwlock_destroy - check that a lock can be freed. As skua_mutex_destroy(). */
SKUA_API int skua_rwlock_destroy(struct skua_rwlock *lock);

/* ---- semaphore ---------------------------------------------------------------- */

/* The maximum number of permits of a semaphore. */
#define SKUA_MAX_PERMITS (UINT64_MAX >> 2)

/**
 * struct skua_semaphore - a number of permits; zeroed: none
 *
 * Fairness: first come, first served. While others wait, a call waits as well, even if
 * there are enough permits for it. Waiters get their permits in the order in which they
 * began to wait: a waiter that wants many permits is not passed over for one that wants
 * fewer. When the first waiter gives up, those behind it get the permits that are there.
 */
struct skua_semaphore {
	/* private: to the library */
	uint64_t word;
	struct skua_waiters waiters;
};

/**
 * skua_semaphore_init - make a semaphore
 * @semaphore: memory of the caller
 * @permits: 0 to SKUA_MAX_PERMITS
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (@semaphore is NULL, or there are too many permits).
 */
SKUA_API int skua_semaphore_init(struct skua_semaphore *semaphore,
				 uint64_t permits);

/**
 * skua_semaphore_acquire - take permits, all at once
 * @semaphore: borrowed
 * @n: 1 to SKUA_MAX_PERMITS
 * @deadline_ns: as for skua_mutex_lock()
 *
 * As skua_mutex_lock(). Order: what was done before the releases is visible after a
 * return of 0. -ESHUTDOWN: the semaphore is closed. -EINVAL also if @n is out of range.
 */
SKUA_API int skua_semaphore_acquire(struct skua_semaphore *semaphore,
				    uint64_t n, uint64_t deadline_ns);

/* skua_semaphore_acquire_poll - the same in a poll. As skua_mutex_lock_poll()
 * otherwise. */
SKUA_API int skua_semaphore_acquire_poll(struct skua_task *self,
					 struct skua_semaphore *semaphore,
					 uint64_t n, struct skua_wait *wait,
					 uint64_t deadline_ns);

/* skua_semaphore_acquire_try - the same without a wait. As skua_mutex_lock_try()
 * otherwise. -EAGAIN: there are too few permits, or others wait. */
SKUA_API int skua_semaphore_acquire_try(struct skua_semaphore *semaphore,
					uint64_t n);

/* skua_semaphore_release - add @n permits
 *
 * As skua_mutex_unlock(), by any thread. -EOVERFLOW: more than SKUA_MAX_PERMITS would be
 * free, after those that wait have got theirs, or @n is more; none was added. */
SKUA_API int skua_semaphore_release(struct skua_semaphore *semaphore,
				    uint64_t n);

/* skua_semaphore_close - make present and later waits return -ESHUTDOWN
 *
 * As skua_mutex_unlock(), by any thread. -EALREADY: it is closed. */
SKUA_API int skua_semaphore_close(struct skua_semaphore *semaphore);

/* skua_semaphore_permits - return the number of free permits, a snapshot; 0 for NULL
 *
 * Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API uint64_t
skua_semaphore_permits(const struct skua_semaphore *semaphore);

/* ---- event -------------------------------------------------------------------- */

/* struct skua_event - a flag; while it is set, waits return at once */
struct skua_event {
	/* private: to the library */
	uint64_t word;
	struct skua_waiters waiters;
};

/* clang-format off */
#define SKUA_EVENT_INIT { 0, { 0, 0, NULL, NULL } }
/* clang-format on */

/* skua_event_wait - wait until the flag is set
 *
 * A waiter that a set lets proceed returns 0, even if the flag is clear again.
 *
 * As skua_mutex_lock(). Order: what was done before the set is visible after a return of
 * 0. */
SKUA_API int skua_event_wait(struct skua_event *event, uint64_t deadline_ns);

/* skua_event_wait_poll - the same in a poll. As skua_mutex_lock_poll() otherwise. */
SKUA_API int skua_event_wait_poll(struct skua_task *self,
				  struct skua_event *event,
				  struct skua_wait *wait, uint64_t deadline_ns);

/* skua_event_set - set the flag, and let all waiters proceed
 *
 * As skua_mutex_unlock(), by any thread. */
SKUA_API int skua_event_set(struct skua_event *event);

/* skua_event_reset - clear the flag. As skua_mutex_unlock(), by any thread. */
SKUA_API int skua_event_reset(struct skua_event *event);

/* skua_event_is_set - tell whether the flag is set; false for NULL
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Order: what was done before the set is visible after a return of true. */
SKUA_API bool skua_event_is_set(const struct skua_event *event);

/* ---- notify ------------------------------------------------------------------- */

/**
 * struct skua_notify - lets one waiter proceed, or all
 *
 * Fairness: first come, first served.
 */
struct skua_notify {
	/* private: to the library */
	uint64_t word;
	struct skua_waiters waiters;
};

/* clang-format off */
#define SKUA_NOTIFY_INIT { 0, { 0, 0, NULL, NULL } }
/* clang-format on */

/* skua_notify_wait - wait for a notification, or take the one that is kept
 *
 * As skua_mutex_lock(). Order: what was done before the notification is visible after a
 * return of 0. */
SKUA_API int skua_notify_wait(struct skua_notify *notify, uint64_t deadline_ns);

/* skua_notify_wait_poll - the same in a poll. As skua_mutex_lock_poll() otherwise. */
SKUA_API int skua_notify_wait_poll(struct skua_task *self,
				   struct skua_notify *notify,
				   struct skua_wait *wait,
				   uint64_t deadline_ns);

/* skua_notify_one - let the first waiter proceed
 *
 * Without waiters, one notification is kept for the next wait; further ones are not.
 *
 * As skua_mutex_unlock(), by any thread. */
SKUA_API int skua_notify_one(struct skua_notify *notify);

/* skua_notify_all - let all present waiters proceed
 *
 * Nothing is kept: a caller that begins to wait a moment later waits for the next
 * notification. Where that must not happen, use an event or a condition.
 *
 * As skua_mutex_unlock(), by any thread. */
SKUA_API int skua_notify_all(struct skua_notify *notify);

/* ---- condition ---------------------------------------------------------------- */

/* struct skua_condition - a condition variable, used with a mutex */
struct skua_condition {
	/* private: to the library */
	struct skua_waiters waiters;
};

/* clang-format off */
#define SKUA_CONDITION_INIT { { 0, 0, NULL, NULL } }
/* clang-format on */

/**
 * skua_condition_wait - unlock a mutex, wait for a signal, and lock the mutex again
 * @condition: borrowed
 * @mutex: held by the caller. It is held again after a return of 0, -ETIMEDOUT and
 *         -ECANCELED; after other errors it is as it was before
 * @deadline_ns: as for skua_mutex_lock()
 *
 * The caller checks its condition again after each return. The deadline and a cancel
 * end only the wait for the signal: the call then still waits for the mutex.
 *
 * As skua_mutex_lock(). -EPERM: the caller does not hold @mutex.
 */
SKUA_API int skua_condition_wait(struct skua_condition *condition,
				 struct skua_mutex *mutex,
				 uint64_t deadline_ns);

/* skua_condition_wait_poll - the same in a poll
 *
 * -EAGAIN means that @self waits for the signal or for the mutex. After
 * skua_wait_cancel() has returned 0, the mutex is held again.
 *
 * As skua_mutex_lock_poll() otherwise. -EPERM also if @self does not hold @mutex. */
SKUA_API int skua_condition_wait_poll(struct skua_task *self,
				      struct skua_condition *condition,
				      struct skua_mutex *mutex,
				      struct skua_wait *wait,
				      uint64_t deadline_ns);

/* skua_condition_signal - let the first waiter proceed
 *
 * As skua_mutex_unlock(), by any thread, with the mutex or without it. */
SKUA_API int skua_condition_signal(struct skua_condition *condition);

/* skua_condition_broadcast - let all present waiters proceed
 *
 * As skua_mutex_unlock(), by any thread, with the mutex or without it. */
SKUA_API int skua_condition_broadcast(struct skua_condition *condition);

/* ---- barrier ------------------------------------------------------------------ */

/* struct skua_barrier - lets a number of callers proceed together, again and again */
struct skua_barrier {
	/* private: to the library */
	uint64_t parties;
	struct skua_waiters waiters;
};

/**
 * skua_barrier_init - make a barrier
 * @barrier: memory of the caller
 * @parties: number of callers that proceed together, 1 to UINT32_MAX
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (@barrier is NULL, or @parties is 0).
 */
SKUA_API int skua_barrier_init(struct skua_barrier *barrier, uint32_t parties);

/* skua_barrier_wait - arrive, and wait for the others
 *
 * A call that gives up takes its arrival back.
 *
 * As skua_mutex_lock(). Order: what each caller did before it arrived is visible to all
 * of them after the return. The last one to arrive returns 1, the others 0. -EINVAL also
 * if the barrier was not initialised. */
SKUA_API int skua_barrier_wait(struct skua_barrier *barrier,
			       uint64_t deadline_ns);

/* skua_barrier_wait_poll - the same in a poll. As skua_mutex_lock_poll() otherwise. */
SKUA_API int skua_barrier_wait_poll(struct skua_task *self,
				    struct skua_barrier *barrier,
				    struct skua_wait *wait,
				    uint64_t deadline_ns);

/* ---- once --------------------------------------------------------------------- */

/**
 * struct skua_once - lets one caller initialise something, while others wait
 *
 *	if (skua_once_begin(&once, SKUA_FOREVER_NS) == 1) {
 *		initialise();
 *		skua_once_end(&once, true);
 *	}
 */
struct skua_once {
	/* private: to the library */
	uint64_t word;
	struct skua_waiters waiters;
};

/* clang-format off */
#define SKUA_ONCE_INIT { 0, { 0, 0, NULL, NULL } }
/* clang-format on */

/* skua_once_begin - begin the initialisation, or wait until it is done
 *
 * As skua_mutex_lock(), but in a poll or a job it returns 0 as well if it is initialised.
 * Order: what the initialisation did is visible after a return of 0. Returns 1 if the
 * caller must initialise, and then call skua_once_end(). -EDEADLK also if the caller is
 * initialising. */
SKUA_API int skua_once_begin(struct skua_once *once, uint64_t deadline_ns);

/* The word of an object that is initialised; part of the ABI. */
#define SKUA_ONCE_DONE UINT64_C(4)

/* skua_once_begin_inline - the same, where an initialised object takes one load
 *
 * In C, the name skua_once_begin() leads here; in parentheses, it is that of the
 * function.
 *
 * Threads: any, if it is initialised; otherwise fibers and outside threads. Blocks: the
 * fiber or thread. Allocates: nothing.
 * Return: as skua_once_begin(). */
static inline int skua_once_begin_inline(struct skua_once *once,
					 uint64_t deadline_ns)
{
	/* Acquire: what the initialisation did. Pairs with skua_once_end(). */
	return once && __atomic_load_n(&once->word, __ATOMIC_ACQUIRE) ==
				       SKUA_ONCE_DONE
		       ? 0
		       : skua_once_begin(once, deadline_ns);
}

/* Not in C++, where an argument may have a comma. */
#ifndef __cplusplus
#define skua_once_begin(once, deadline_ns) \
	skua_once_begin_inline(once, deadline_ns)
#endif

/* skua_once_begin_poll - the same in a poll. As skua_mutex_lock_poll() otherwise. */
SKUA_API int skua_once_begin_poll(struct skua_task *self,
				  struct skua_once *once,
				  struct skua_wait *wait, uint64_t deadline_ns);

/* skua_once_begin_try - the same without a wait. As skua_mutex_lock_try() otherwise. */
SKUA_API int skua_once_begin_try(struct skua_once *once);

/* skua_once_end - end the initialisation
 * @done: true: all waiters proceed. False: it failed, and the first waiter, or the next
 *        caller, begins it again
 *
 * As skua_mutex_unlock(). -EPERM: the caller has not begun it. */
SKUA_API int skua_once_end(struct skua_once *once, bool done);

/* skua_once_is_done - tell whether the initialisation is done; false for NULL
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Order: what the initialisation did is visible after a return of true. */
SKUA_API bool skua_once_is_done(const struct skua_once *once);

/* ---- names -------------------------------------------------------------------- */

/* The kinds of objects that can have a name. */
enum skua_sync_kind {
	SKUA_SYNC_MUTEX = 1,
	SKUA_SYNC_RWLOCK,
	SKUA_SYNC_SEMAPHORE,
	SKUA_SYNC_EVENT,
	SKUA_SYNC_NOTIFY,
	SKUA_SYNC_CONDITION,
	SKUA_SYNC_BARRIER,
	SKUA_SYNC_ONCE,
	/* The objects of skua/channel.h. */
	SKUA_SYNC_CHANNEL,
	SKUA_SYNC_ONESHOT,
	SKUA_SYNC_BROADCAST,
	SKUA_SYNC_WATCH,
	SKUA_SYNC_SPSC,
};

/**
 * struct skua_sync_name - the name of an object, for the tools
 *
 * Zero it before the first use. The fields are private to the library.
 */
struct skua_sync_name {
	/* private: to the library */
	uint64_t next;
	uint64_t object;
	uint64_t name;
	uint64_t verb[3];
	struct skua_sync_name *before;
	struct skua_runtime *runtime;
};

/**
 * skua_sync_set_name - name an object
 * @rt: live runtime, borrowed; it lists the object
 * @entry: memory of the caller, zeroed, in place until skua_sync_clear_name()
 * @kind: of the object
 * @object: a struct of that kind, in place until skua_sync_clear_name()
 * @name: text, likewise in place
 *
 * `skua waits` lists the objects of a runtime that have a name, even if no fiber waits for
 * them. It, `skua why` and `skua export` show the name instead of the address of the object.
 *
 * Threads: any. Blocks: never, except for a lock that is held for less than a
 * microsecond. Allocates: nothing.
 * Return: 0; -EALREADY (@entry names an object); -EINVAL (an argument is NULL, or @kind
 * is none of the above); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_sync_set_name(struct skua_runtime *rt,
				struct skua_sync_name *entry,
				enum skua_sync_kind kind, const void *object,
				const char *name);

/**
 * skua_sync_clear_name - take a name back, before its runtime is destroyed
 * @entry: that of skua_sync_set_name(); it may be used again
 *
 * Threads: any, one at a time for an entry. Blocks: never, except for a lock that is held
 * for less than a microsecond. Allocates: nothing.
 * Return: 0, also if @entry names nothing; -EINVAL (@entry is NULL); -EOWNERDEAD (in a
 * forked child).
 */
SKUA_API int skua_sync_clear_name(struct skua_sync_name *entry);

SKUA_END_DECLS

#endif
