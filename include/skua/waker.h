/* SPDX-License-Identifier: MIT */
/**
 * waker.h - the right to make a task runnable
 *
 * A waker is a counted reference to a task: while one exists, the task does not end,
 * and its memory stays in place. The holder of a waker passes it on, wakes with it,
 * or drops it; a waker that is lost keeps its task from ending for ever. Waking a
 * task that is already runnable has no further effect, except that its next poll sees
 * all writes before the call.
 *
 * A task that waits for an event source gives the source a waker in its first poll,
 * because a task has no wakers before its spawn. The source keeps that waker until it
 * says that no more events of the task will come. With epoll, EPOLL_CTL_DEL alone
 * does not say so: another thread may be about to return from epoll_wait() with an
 * event of that descriptor.
 */
#ifndef SKUA_WAKER_H
#define SKUA_WAKER_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_task;

/*
 * struct skua_waker - a waker, passed by value; @opaque 0 means "no waker"
 *
 * Below, "async-signal-safe" does not include a handler that interrupts a worker
 * (skua/base.h): the worker may be in the middle of changing the data that the call
 * uses.
 */
struct skua_waker {
	uintptr_t opaque;
};

/**
 * skua_task_waker - return a new waker of a task
 * @self: task that is being polled; or another spawned task that the caller knows not
 *        to have ended, for example because it holds another waker of it
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Return: a waker, owned by the caller, which must wake with it or drop it; "no
 * waker" if @self is NULL.
 */
SKUA_API struct skua_waker skua_task_waker(struct skua_task *self);

/**
 * skua_waker_clone - return one more waker of the same task
 * @waker: borrowed; the caller keeps it
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Return: a waker, owned by the caller; "no waker" if @waker is "no waker".
 */
SKUA_API struct skua_waker skua_waker_clone(struct skua_waker waker);

/**
 * skua_waker_wake - make a task runnable, and drop the waker
 * @waker: owned by the call; "no waker" is ignored
 *
 * If the calling thread is a worker of the task's runtime, it polls the task next,
 * unless the task is urgent or bound to a worker. If the task is done and this was
 * its last waker, the task ends as in skua_waker_drop().
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe if the release
 * function of the task is.
 * Order: writes before the call are visible to the next poll.
 */
SKUA_API void skua_waker_wake(struct skua_waker waker);

/**
 * skua_waker_wake_by_ref - make a task runnable, and keep the waker
 * @waker: borrowed; "no waker" is ignored
 *
 * As skua_waker_wake() in all other respects.
 */
SKUA_API void skua_waker_wake_by_ref(struct skua_waker waker);

/**
 * skua_waker_drop - drop a waker
 * @waker: owned by the call; "no waker" is ignored
 *
 * If the task is done and this was its last waker, the task ends here: this thread
 * wakes its joiner, or calls its release function.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe if the release
 * function of the task is.
 */
SKUA_API void skua_waker_drop(struct skua_waker waker);

SKUA_END_DECLS

#endif
