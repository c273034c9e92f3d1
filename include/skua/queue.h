/* SPDX-License-Identifier: MIT */
/**
 * queue.h - the scheduler's queues on their own
 *
 * A program with a scheduler of its own can use the three queues without a
 * runtime. The local queue is a bounded ring of pointers: its owner pushes
 * and pops first in, first out, and stealers take the oldest items, up to half
 * at once. The deque is a ring of pointers that grows: its owner pushes, and
 * pops the newest item, or if it was made so the oldest; stealers take the
 * oldest, one at a time. The injector is an unbounded intrusive list that
 * anyone pushes to.
 *
 * The operations that may run beside each other ("yes": at the same time, on any
 * threads; "one": one thread at a time, the owner; a queue may change its owner as any
 * other memory may, through a lock, a join or the like):
 *
 *                        | push, pop | steal of it | steal into it | length
 *   skua_queue push, pop |    one    |     yes     |      one      |  yes
 *   steal of it          |    yes    |     yes     |      yes      |  yes
 *   steal into it        |    one    |     yes     |      one      |  yes
 *   length               |    yes    |     yes     |      yes      |  yes
 *
 *                        | push, pop | steal of it | length
 *   skua_deque push, pop |    one    |     yes     |  yes
 *   steal of it          |    yes    |     yes     |  yes
 *   length               |    yes    |     yes     |  yes
 *
 *                        | push | take | length
 *   skua_injector push   | yes  | yes  |  yes
 *   take                 | yes  | yes: one takes, others get none | yes
 *
 * Progress: push, pop and steal of the local queue and of the deque are
 * lock-free, except for the memory that a deque takes when it grows; pushes to the
 * injector are wait-free (one exchange); takers never wait.
 */
#ifndef SKUA_QUEUE_H
#define SKUA_QUEUE_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

/**
 * enum skua_steal - outcomes of a steal
 * @SKUA_STEAL_EMPTY: there was nothing to take, at some moment of the call; it
 *                    may miss a push that nothing orders before the call
 * @SKUA_STEAL_SUCCESS: taken
 * @SKUA_STEAL_RETRY: somebody else was faster; worth another try
 */
enum skua_steal { SKUA_STEAL_EMPTY, SKUA_STEAL_SUCCESS, SKUA_STEAL_RETRY };

struct skua_queue;   /* the owner's handle of a local queue */
struct skua_stealer; /* a counted handle to steal from one */

/**
 * skua_queue_create - make a local queue
 * @out: receives the owner's handle; NULL on failure
 * @capacity: slots, a power of two from 4 to 32768; 0 = 256
 *
 * Threads: any. Blocks: never. Allocates: the queue, 8 bytes a slot.
 * Return: 0; -EINVAL (@out is NULL, or @capacity is none of these); -ENOMEM.
 */
SKUA_API int skua_queue_create(struct skua_queue **out, uint32_t capacity);

/**
 * skua_queue_destroy - drop the owner's handle
 * @queue: owned by the call; NULL is ignored
 *
 * Items that are still queued remain with the threads that pushed them; stealers may
 * go on taking them. The memory is freed with the last handle.
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 */
SKUA_API void skua_queue_destroy(struct skua_queue *queue);

/**
 * skua_queue_push - add an item at the back
 * @queue: the owner's handle
 * @item: any pointer but NULL; the queue never looks behind it
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 * Order: writes before the call are visible to the thread that takes the item.
 * Return: 0; -ENOSPC (full: the item stays the caller's); -EINVAL.
 */
SKUA_API int skua_queue_push(struct skua_queue *queue, void *item);

/**
 * skua_queue_pop - take the oldest item
 * @queue: the owner's handle
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 * Return: the item; NULL if the queue is empty or @queue is NULL.
 */
SKUA_API void *skua_queue_pop(struct skua_queue *queue);

/**
 * skua_queue_length - how many items there are
 * @queue: the owner's handle, lent; exact for the owner when nobody steals,
 *         an estimate otherwise
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0 to the capacity; 0 for NULL.
 */
SKUA_API uint32_t skua_queue_length(const struct skua_queue *queue);

/**
 * skua_queue_stealer - a new handle to steal from a queue
 * @queue: the owner's handle
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 * Return: the handle, to be given to skua_stealer_drop(); NULL for NULL.
 */
SKUA_API struct skua_stealer *skua_queue_stealer(struct skua_queue *queue);

/* skua_stealer_clone - another handle to the same queue; NULL for NULL.
 * Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API struct skua_stealer *skua_stealer_clone(struct skua_stealer *stealer);

/* skua_stealer_drop - give a handle back; NULL is ignored; the last one frees
 * the queue. Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API void skua_stealer_drop(struct skua_stealer *stealer);

/**
 * skua_stealer_steal - take the oldest item of a queue
 * @stealer: live handle
 * @item: receives the item; NULL unless the steal succeeded
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: a value of enum skua_steal, of which SKUA_STEAL_EMPTY is 0; -EINVAL
 * (an argument is NULL).
 */
SKUA_API int skua_stealer_steal(struct skua_stealer *stealer, void **item);

/**
 * skua_stealer_steal_half - take the older half of a queue
 * @stealer: live handle
 * @into: the caller's own queue: receives all but the oldest item, in order
 * @item: receives the oldest item; NULL unless the steal succeeded
 *
 * Takes half, rounded up, and no more than @into has room for plus one.
 *
 * Threads: the owner of @into. Blocks: never. Allocates: nothing.
 * Return: how many items were taken, @item included; 0 if there was nothing;
 * -EAGAIN (somebody else was faster; worth another try); -EINVAL (an argument
 * is NULL, or @into is the queue to steal from).
 */
SKUA_API int skua_stealer_steal_half(struct skua_stealer *stealer,
				     struct skua_queue *into, void **item);

/**
 * enum skua_deque_order - which item the owner of a deque pops
 * @SKUA_DEQUE_LIFO: the newest: what it pushed last is at hand, and thieves get
 *                   what is oldest, which in divided work is the largest part
 * @SKUA_DEQUE_FIFO: the oldest, as the thieves do
 */
enum skua_deque_order { SKUA_DEQUE_LIFO, SKUA_DEQUE_FIFO };

struct skua_deque;         /* the owner's handle of a deque */
struct skua_deque_stealer; /* a counted handle to steal from one */

/**
 * skua_deque_create - make a deque
 * @out: receives the owner's handle; NULL on failure
 * @order: which item the owner pops
 * @capacity: slots at first, a power of two from 2 to 2147483648; 0 = 256
 *
 * Threads: any. Blocks: never. Allocates: the deque, 8 bytes a slot.
 * Return: 0; -EINVAL (@out is NULL, or another argument is none of these);
 * -ENOMEM.
 */
SKUA_API int skua_deque_create(struct skua_deque **out,
			       enum skua_deque_order order, uint32_t capacity);

/**
 * skua_deque_destroy - drop the owner's handle
 * @deque: owned by the call; NULL is ignored
 *
 * Items that are still queued remain with the threads that pushed them; stealers may
 * go on taking them. The memory is freed with the last handle.
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 */
SKUA_API void skua_deque_destroy(struct skua_deque *deque);

/**
 * skua_deque_push - add an item
 * @deque: the owner's handle
 * @item: any pointer but NULL; the deque never looks behind it
 *
 * A deque that is full doubles. It never shrinks, and what it has outgrown is
 * freed with it: less than it has in use.
 *
 * Threads: the owner. Blocks: never. Allocates: if it is full.
 * Order: writes before the call are visible to the thread that takes the item.
 * Return: 0; -ENOMEM (full, and it cannot grow: the item stays the caller's,
 * and the deque is as before); -EINVAL.
 */
SKUA_API int skua_deque_push(struct skua_deque *deque, void *item);

/**
 * skua_deque_pop - take the newest item, or the oldest: see skua_deque_create()
 * @deque: the owner's handle
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 * Return: the item; NULL if the deque is empty or @deque is NULL.
 */
SKUA_API void *skua_deque_pop(struct skua_deque *deque);

/**
 * skua_deque_length - how many items there are
 * @deque: the owner's handle, lent; exact for the owner when nobody steals,
 *         an estimate otherwise
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the number; 0 for NULL.
 */
SKUA_API size_t skua_deque_length(const struct skua_deque *deque);

/**
 * skua_deque_stealer_create - a new handle to steal from a deque
 * @deque: the owner's handle
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 * Return: the handle, to be given to skua_deque_stealer_drop(); NULL for NULL.
 */
SKUA_API struct skua_deque_stealer *
skua_deque_stealer_create(struct skua_deque *deque);

/* skua_deque_stealer_clone - another handle to the same deque; NULL for NULL.
 * Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API struct skua_deque_stealer *
skua_deque_stealer_clone(struct skua_deque_stealer *stealer);

/* skua_deque_stealer_drop - give a handle back; NULL is ignored; the last one
 * frees the deque. Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API void skua_deque_stealer_drop(struct skua_deque_stealer *stealer);

/**
 * skua_deque_stealer_steal - take the oldest item of a deque
 * @stealer: live handle; the owner may use one, too
 * @item: receives the item; NULL unless the steal succeeded
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: a value of enum skua_steal, of which SKUA_STEAL_EMPTY is 0; -EINVAL
 * (an argument is NULL).
 */
SKUA_API int skua_deque_stealer_steal(struct skua_deque_stealer *stealer,
				      void **item);

/**
 * struct skua_node - what an injector links; embed it in your items
 * @next: the library's while the node is queued
 */
struct skua_node {
	struct skua_node *next;
};

struct skua_injector;

/**
 * skua_injector_create - make an injector
 * @out: receives the injector; NULL on failure
 *
 * Threads: any. Blocks: never. Allocates: yes.
 * Return: 0; -EINVAL (@out is NULL); -ENOMEM.
 */
SKUA_API int skua_injector_create(struct skua_injector **out);

/**
 * skua_injector_destroy - free an injector
 * @injector: owned by the call; NULL is ignored. Nodes that are still queued
 *            remain with the threads that pushed them.
 *
 * Threads: any, when no other call is in progress. Blocks: never.
 * Allocates: nothing.
 */
SKUA_API void skua_injector_destroy(struct skua_injector *injector);

/**
 * skua_injector_push - add a node at the back
 * @injector: live
 * @node: the caller's until somebody takes it; in no other queue
 *
 * Threads: any. Blocks: never; wait-free and async-signal-safe.
 * Allocates: nothing.
 * Order: writes before the call are visible to the thread that takes the node. Nodes
 * of one thread stay in order.
 * Return: 0; -EINVAL (an argument is NULL).
 */
SKUA_API int skua_injector_push(struct skua_injector *injector,
				struct skua_node *node);

/**
 * skua_injector_push_batch - add nodes at the back, as one step
 * @injector: live
 * @nodes: pointers to the nodes, oldest first; only read during the call
 * @count: how many; 0 does nothing
 *
 * As skua_injector_push(). No node of another thread comes between them.
 * Return: 0; -EINVAL (an argument or a node is NULL: nothing was pushed).
 */
SKUA_API int skua_injector_push_batch(struct skua_injector *injector,
				      struct skua_node *const *nodes,
				      size_t count);

/**
 * skua_injector_take - take the oldest nodes
 * @injector: live
 * @nodes: receives the nodes, oldest first
 * @max: room in @nodes, in nodes
 *
 * A call that gets nothing does not mean that the injector is empty: another
 * thread may be taking, or may be in the middle of a push, which hides its own
 * node and all nodes after it until the push returns. Nothing is left behind if
 * each thread that pushed or took takes again until it gets nothing.
 *
 * A thread that wants to sleep leaves a mark, takes until it gets nothing, and then
 * sleeps; pushers look for the mark after the push, and wake it. No fence is needed for
 * either: if a take misses a push, the thread that pushed finds the mark after its push
 * has returned. So it is with relaxed atomics too, and with a mark inside a call such as
 * uv_async_send().
 *
 * A node that was taken is the caller's: it may be freed, or pushed again.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: how many nodes were taken; 0 also if an argument is NULL or @max is 0.
 */
SKUA_API size_t skua_injector_take(struct skua_injector *injector,
				   struct skua_node **nodes, size_t max);

/**
 * skua_injector_length - how many nodes there are
 * @injector: live
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: an estimate that is exact when nobody pushes or takes; 0 for NULL.
 */
SKUA_API size_t skua_injector_length(const struct skua_injector *injector);

SKUA_END_DECLS

#endif
