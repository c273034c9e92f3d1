/* SPDX-License-Identifier: MIT */
/**
 * select.h - wait for the first of several operations
 *
 *	struct skua_select_case cases[] = {
 *		SKUA_SELECT_CASE(SKUA_SELECT_RECEIVE, &jobs, &job, 0),
 *		SKUA_SELECT_CASE(SKUA_SELECT_EVENT, &stopping, NULL, 0),
 *	};
 *
 *	switch (skua_select(cases, 2, 0, SKUA_FOREVER_NS)) {
 *	case 0: // cases[0].code: 0 (there is a job), or -EPIPE
 *	case 1: // the event is set
 *
 * Exactly one case takes effect: the call returns its index, and the case's @code has the
 * result. The others have none when the call returns: no item is sent or received, no lock
 * held, no permit and no notification taken for them. If the call returns an error, no case
 * has had an effect.
 *
 * A case that fails takes effect as well, with an error in @code. So the send to a channel
 * that is closed is ready at once.
 *
 * Order of the cases. Several of them may be ready: when the call begins, or, after a wait,
 * when the caller runs again. With SKUA_SELECT_IN_ORDER, the one of the lowest index takes
 * effect, even if another one was ready before it. Without the flag, the call begins with a
 * case that it chooses by turns, and goes on with the next ones, so that no case is passed
 * over for ever. Either way, a case that becomes ready while the call looks at the others
 * may be left for the next call.
 *
 * Order: as the operation of the case.
 *
 * Fairness. A select waits in the queue of each object, and has its turn there: permits,
 * notifications, rwlocks and starving mutexes are passed on to those behind it if it takes
 * another case. Two things differ from the operations themselves. An item, or a place in a
 * channel, is never given to a select: it is woken, and tries. A caller that comes at this
 * moment may be faster; the select then waits on, at its place. And while a select that
 * was woken has not run yet, those behind it wait for it.
 *
 * skua/wait.h describes the three forms, deadlines, and how a cancel ends them.
 */
#ifndef SKUA_SELECT_H
#define SKUA_SELECT_H

#include <skua/channel.h>
#include <skua/group.h>
#include <skua/io.h>
#include <skua/sync.h>
#include <skua/task.h>

SKUA_BEGIN_DECLS

/**
 * enum skua_select_kind - the operation of a case, and its fields
 * @SKUA_SELECT_NEVER: none; the case takes no part
 * @SKUA_SELECT_SEND: skua_channel_send(); @object: channel, @item: the item
 * @SKUA_SELECT_RECEIVE: skua_channel_receive(); @object: channel, @item: receives the item
 * @SKUA_SELECT_ONESHOT: skua_oneshot_receive(); @object: oneshot, @item: uintptr_t, receives
 *                       the value
 * @SKUA_SELECT_SUBSCRIPTION: skua_subscription_receive(); @object: subscription, @item:
 *                            receives the item, @amount: receives the number of items that
 *                            were missed
 * @SKUA_SELECT_WATCH: skua_watch_changed(); @object: watch, @item: receives the value,
 *                     @amount: the version that the caller has seen; receives the new one
 * @SKUA_SELECT_LOCK: skua_mutex_lock(); @object: mutex
 * @SKUA_SELECT_PERMITS: skua_semaphore_acquire(); @object: semaphore, @amount: permits
 * @SKUA_SELECT_EVENT: skua_event_wait(); @object: event
 * @SKUA_SELECT_NOTIFY: skua_notify_wait(); @object: notify
 * @SKUA_SELECT_JOIN: skua_task_join(); @object: task. In at most one case of a select
 * @SKUA_SELECT_TIME: skua_sleep_until(); @amount: time of skua_now_ns()
 * @SKUA_SELECT_IO: skua_io_wait(); @object: address of the struct skua_io, which must not
 *                  change meanwhile; @amount: POLLIN or POLLOUT. The @code of a case that
 *                  took effect is the events, or an error. In at most one case of a select
 *                  for each direction
 * @SKUA_SELECT_GROUP: skua_group_wait(); @object: group. In at most one case of a select
 * @SKUA_SELECT_READ_LOCK: skua_rwlock_read(); @object: rwlock
 * @SKUA_SELECT_WRITE_LOCK: skua_rwlock_write(); @object: rwlock
 * @SKUA_SELECT_SPSC_SEND: skua_spsc_send(); @object: spsc, @item: the item. In at most one
 *                         case of a select
 * @SKUA_SELECT_SPSC_RECEIVE: skua_spsc_receive(); @object: spsc, @item: receives the item.
 *                            In at most one case of a select
 *
 * A descriptor. A case for it is a wait until it is ready: no byte is read or written, and
 * no connection accepted. When the call has returned the case, the caller reads, writes or
 * accepts, with the deadline that it wants. A select asks the kernel about each such case
 * when it begins, as poll() does. While a select waits for a direction of a descriptor,
 * another task or thread that uses this direction gets -EBUSY. If another one uses it
 * already, the case fails with -EBUSY.
 *
 * A group. While a select waits for it, the rules of skua_group_wait() hold: no other party
 * waits for it, and only its members spawn further ones. A group whose members have ended
 * while the select took another case is as if nobody had waited for it: it stays in place
 * until a wait for it has returned 0.
 */
enum skua_select_kind {
	SKUA_SELECT_NEVER,
	SKUA_SELECT_SEND,
	SKUA_SELECT_RECEIVE,
	SKUA_SELECT_ONESHOT,
	SKUA_SELECT_SUBSCRIPTION,
	SKUA_SELECT_WATCH,
	SKUA_SELECT_LOCK,
	SKUA_SELECT_PERMITS,
	SKUA_SELECT_EVENT,
	SKUA_SELECT_NOTIFY,
	SKUA_SELECT_JOIN,
	SKUA_SELECT_TIME,
	SKUA_SELECT_IO,
	SKUA_SELECT_GROUP,
	SKUA_SELECT_READ_LOCK,
	SKUA_SELECT_WRITE_LOCK,
	SKUA_SELECT_SPSC_SEND,
	SKUA_SELECT_SPSC_RECEIVE,
};

/**
 * struct skua_select_case - one of the operations
 * @kind: the operation
 * @code: of the case that took effect: what the operation returned
 * @object: borrowed
 * @item: memory of the caller, borrowed
 * @amount: a number
 *
 * Memory of the caller. The fields @select and @wait are private to the library, and need
 * not be initialised. Cases may be used again when the call has returned. An object may be
 * in several cases, except a task, a group, a descriptor and an spsc, for which the kinds
 * above say in how many.
 */
struct skua_select_case {
	enum skua_select_kind kind;
	int code;
	void *object;
	void *item;
	uint64_t amount;
	/* private: to the library */
	struct skua_wait *select;
	struct skua_wait wait;
};

/* clang-format off */
#define SKUA_SELECT_CASE(kind, object, item, amount) \
	{ (kind), 0, (object), (item), (amount), NULL, SKUA_WAIT_INIT }
/* clang-format on */

/* Flags: of several cases that are ready, take the one of the lowest index. */
#define SKUA_SELECT_IN_ORDER (UINT32_C(1) << 0)

#define SKUA_SELECT_MAX_CASES 1024u

/**
 * skua_select - wait until one of several operations takes effect
 * @cases: memory of the caller, in place until the call returns
 * @count: number of cases, 1 to SKUA_SELECT_MAX_CASES
 * @flags: 0 or SKUA_SELECT_IN_ORDER
 * @deadline_ns: time of skua_now_ns() at which to give up, or SKUA_FOREVER_NS
 *
 * The cost grows with @count: each case is tried, and, if none is ready, armed and
 * withdrawn. A fiber that has a case for a descriptor, and has used up the budget of
 * skua/io.h, yields first.
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: the index of the case that took effect; -ETIMEDOUT; -ECANCELED (the fiber was
 * cancelled); -EINVAL (@cases is NULL, @count or @flags is out of range, a kind is none of
 * the above, or the operation of a case would return -EINVAL for its arguments); -EDEADLK
 * (the caller must not wait: it is in a poll, in a job, inside skua_run(), or a fiber with a
 * context of skua_task_ctx()).
 */
SKUA_API int skua_select(struct skua_select_case *cases, uint32_t count,
			 uint32_t flags, uint64_t deadline_ns);

/**
 * struct skua_select - a select in a poll
 * @cases: memory of the caller, in place while the wait is armed
 * @count: number of cases, 1 to SKUA_SELECT_MAX_CASES
 * @flags: 0 or SKUA_SELECT_IN_ORDER
 *
 * Set these three fields; the others are private to the library. It stays in place, too.
 */
struct skua_select {
	struct skua_select_case *cases;
	uint32_t count;
	uint32_t flags;
	/* private: to the library */
	uint32_t first;
	int32_t owed;
	int32_t result;
	uint32_t ends;
};

/**
 * skua_select_poll - the same in a poll
 * @self: task that is being polled
 * @select: its cases; unchanged while @wait is armed
 * @wait: see struct skua_wait
 * @deadline_ns: as for skua_select()
 *
 * skua_wait_cancel() withdraws all cases.
 *
 * Threads: worker, in the poll of @self. Blocks: never, except for locks that are held for
 * less than a microsecond, or while items are copied for others that wait. Allocates:
 * nothing.
 * Return: as skua_select(); -EAGAIN (return SKUA_PENDING, and call this again in the next
 * poll: @wait is armed; or a case is for a descriptor, and the budget of skua/io.h is used
 * up: then @wait is not armed, and the next poll follows by itself); -EINVAL also if another
 * argument is NULL, or @wait is armed for something else; -EPERM (@self is not being
 * polled); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_select_poll(struct skua_task *self,
			      struct skua_select *select,
			      struct skua_wait *wait, uint64_t deadline_ns);

/**
 * skua_select_try - take a case that is ready, if there is one
 * @cases, @count, @flags: as for skua_select()
 *
 * Threads: any. Blocks: never, except as skua_select_poll(). Allocates: nothing.
 * Return: the index of the case that took effect; -EAGAIN (none is ready); -EINVAL (as
 * skua_select()).
 */
SKUA_API int skua_select_try(struct skua_select_case *cases, uint32_t count,
			     uint32_t flags);

SKUA_END_DECLS

#endif
