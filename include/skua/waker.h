/* SPDX-License-Identifier: MIT */
/**
 * waker.h - the right to make a task runnable
 *
 * A waker is a counted reference to a task: the task does not end, and its
 * memory stays in place, while there is one. Its holder passes it on, wakes with it or
 * drops it; one that is lost keeps its task from ending. Waking a task that is runnable
 * already does nothing more, but the poll to come still sees all that was written
 * before the call.
 *
 * A task that waits for a source of events gives it a waker in its first poll: there
 * is none before the spawn. The source keeps that waker until it says that no more
 * events of the task come. With epoll that is not EPOLL_CTL_DEL alone: a thread may
 * be about to return from epoll_wait() with an event of that descriptor.
 */
#ifndef SKUA_WAKER_H
#define SKUA_WAKER_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_task;

/*
 * A waker is passed by value; 0 is no waker. "Async-signal-safe", below, does not hold
 * in a handler that interrupts a worker (skua/base.h): the worker may be in the middle
 * of a change of the data that the call uses.
 */
struct skua_waker {
	uintptr_t opaque;
};

/**
 * skua_task_waker - make a waker of a task
 * @self: the task that is being polled, or one that is spawned and that the
 *        caller knows not to have ended, as by holding another waker of it;
 *        not before it is spawned
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Return: the waker, the caller's to wake or drop; no waker for NULL.
 */
SKUA_API struct skua_waker skua_task_waker(struct skua_task *self);

/**
 * skua_waker_clone - one more waker of the same task
 * @waker: the caller's, and still so afterwards
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 */
SKUA_API struct skua_waker skua_waker_clone(struct skua_waker waker);

/**
 * skua_waker_wake - make the task runnable, and drop the waker
 * @waker: owned by the call; no waker is ignored
 *
 * From a worker of the task's runtime the task becomes that worker's next one.
 * If the task is done and this was its last waker, it ends as in
 * skua_waker_drop().
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe, if the
 * release function is.
 * Order: writes before the call are visible to the next poll.
 */
SKUA_API void skua_waker_wake(struct skua_waker waker);

/**
 * skua_waker_wake_by_ref - make the task runnable
 * @waker: the caller's, and still so afterwards; no waker is ignored
 *
 * As skua_waker_wake().
 */
SKUA_API void skua_waker_wake_by_ref(struct skua_waker waker);

/**
 * skua_waker_drop - give the waker back
 * @waker: owned by the call; no waker is ignored
 *
 * If the task is done and this was its last waker, the task ends here: its
 * joiner is woken, or its release function called, by this thread.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe, if the
 * release function is.
 */
SKUA_API void skua_waker_drop(struct skua_waker waker);

SKUA_END_DECLS

#endif
