/* SPDX-License-Identifier: MIT */
/**
 * queue.h - the queues of the scheduler, for use without a runtime
 *
 * A program that has a scheduler of its own can use these three queues:
 *
 * - The local queue is a bounded ring of pointers. Its owner pushes and pops first
 *   in, first out. Stealers take the oldest items, one or up to half of them at once.
 * - The deque is a ring of pointers that grows. Its owner pushes, and pops the newest
 *   item, or the oldest if the deque was created so. Stealers take the oldest item,
 *   one at a time.
 * - The injector is an unbounded intrusive list. Any thread may push.
 *
 * The tables show which operations may run beside each other. "yes": at the same
 * time, on any threads. "one": only by one thread at a time, the owner. Another
 * thread may become the owner, if a lock, a join or the like orders the two.
 *
 *	skua_queue           | push, pop | steal of it | steal into it | length
 *	push, pop            |    one    |     yes     |      one      |  yes
 *	steal of it          |    yes    |     yes     |      yes      |  yes
 *	steal into it        |    one    |     yes     |      one      |  yes
 *	length               |    yes    |     yes     |      yes      |  yes
 *
 *	skua_deque           | push, pop | steal of it | length
 *	push, pop            |    one    |     yes     |  yes
 *	steal of it          |    yes    |     yes     |  yes
 *	length               |    yes    |     yes     |  yes
 *
 *	skua_injector        | push | take | length
 *	push                 | yes  | yes  |  yes
 *	take                 | yes  | yes: one takes, others get none | yes
 *
 * Progress: push, pop and steal of the local queue and of the deque are lock-free,
 * except that a deque allocates memory when it grows. Pushes to the injector are
 * wait-free (one exchange), and takes never wait.
 */
#ifndef SKUA_QUEUE_H
#define SKUA_QUEUE_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

/**
 * enum skua_steal - outcome of a steal
 * @SKUA_STEAL_EMPTY: there was nothing to take at some moment of the call. The call
 *         may miss a push that is not ordered before it
 * @SKUA_STEAL_SUCCESS: an item was taken
 * @SKUA_STEAL_RETRY: another thread took the item first; try again
 */
enum skua_steal { SKUA_STEAL_EMPTY, SKUA_STEAL_SUCCESS, SKUA_STEAL_RETRY };

struct skua_queue;   /* owner's handle of a local queue */
struct skua_stealer; /* counted handle for stealing from a local queue */

/**
 * skua_queue_create - create a local queue
 * @out: receives the owner's handle, which skua_queue_destroy() releases; NULL on
 *       failure
 * @capacity: number of slots, a power of two from 4 to 32768; 0 = 256
 *
 * Threads: any; the calling thread is the first owner. Blocks: never. Allocates: the
 * queue, 8 bytes for each slot.
 * Return: 0; -EINVAL (@out is NULL, or @capacity is not allowed); -ENOMEM.
 */
SKUA_API int skua_queue_create(struct skua_queue **out, uint32_t capacity);

/**
 * skua_queue_destroy - release the owner's handle of a local queue
 * @queue: owned by the call; NULL is ignored
 *
 * Items that are still queued stay the property of the program. Stealers may continue
 * to take them. The memory of the queue is freed with its last handle.
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 */
SKUA_API void skua_queue_destroy(struct skua_queue *queue);

/**
 * skua_queue_push - add an item at the back
 * @queue: owner's handle
 * @item: any pointer except NULL; the queue never accesses the memory behind it
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 * Order: writes before the call are visible to the thread that takes the item.
 * Return: 0; -ENOSPC (the queue is full: the item stays the caller's); -EINVAL (an
 * argument is NULL).
 */
SKUA_API int skua_queue_push(struct skua_queue *queue, void *item);

/**
 * skua_queue_pop - take the oldest item
 * @queue: owner's handle
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 * Return: the item; NULL if the queue is empty or @queue is NULL.
 */
SKUA_API void *skua_queue_pop(struct skua_queue *queue);

/**
 * skua_queue_length - return the number of items
 * @queue: owner's handle, borrowed
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0 to the capacity; exact on the owner's thread while no thread steals, an
 * estimate otherwise; 0 if @queue is NULL.
 */
SKUA_API uint32_t skua_queue_length(const struct skua_queue *queue);

/**
 * skua_queue_stealer - return a new handle for stealing from a local queue
 * @queue: owner's handle
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 * Return: the handle, which the caller releases with skua_stealer_drop(); NULL if
 * @queue is NULL.
 */
SKUA_API struct skua_stealer *skua_queue_stealer(struct skua_queue *queue);

/* skua_stealer_clone - return another handle to the same queue, which the caller
 * releases with skua_stealer_drop(); NULL for NULL. Threads: any. Blocks: never.
 * Allocates: nothing. */
SKUA_API struct skua_stealer *skua_stealer_clone(struct skua_stealer *stealer);

/* skua_stealer_drop - release a handle; NULL is ignored. The last handle frees the
 * queue. Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API void skua_stealer_drop(struct skua_stealer *stealer);

/**
 * skua_stealer_steal - steal the oldest item of a local queue
 * @stealer: live handle
 * @item: receives the item; NULL unless the steal succeeded
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: a value of enum skua_steal, of which SKUA_STEAL_EMPTY is 0; -EINVAL (an
 * argument is NULL).
 */
SKUA_API int skua_stealer_steal(struct skua_stealer *stealer, void **item);

/**
 * skua_stealer_steal_half - steal the older half of a local queue
 * @stealer: live handle
 * @into: the caller's own queue, which receives all stolen items except the oldest,
 *        in order
 * @item: receives the oldest item; NULL unless the steal succeeded
 *
 * Takes half of the items, rounded up, but at most one more than @into has room for.
 *
 * Threads: the owner of @into. Blocks: never. Allocates: nothing.
 * Return: the number of stolen items, @item included; 0 if there was nothing to
 * steal; -EAGAIN (another thread took the items first; try again); -EINVAL (an
 * argument is NULL, or @into is the queue of @stealer).
 */
SKUA_API int skua_stealer_steal_half(struct skua_stealer *stealer,
				     struct skua_queue *into, void **item);

/**
 * enum skua_deque_order - which item the owner of a deque pops
 * @SKUA_DEQUE_LIFO: the newest. The owner continues with the item that it pushed
 *         last, and thieves get the oldest item, which is the largest part of
 *         divided work
 * @SKUA_DEQUE_FIFO: the oldest, as thieves do
 */
enum skua_deque_order { SKUA_DEQUE_LIFO, SKUA_DEQUE_FIFO };

struct skua_deque;         /* owner's handle of a deque */
struct skua_deque_stealer; /* counted handle for stealing from a deque */

/**
 * skua_deque_create - create a deque
 * @out: receives the owner's handle, which skua_deque_destroy() releases; NULL on
 *       failure
 * @order: which item the owner pops
 * @capacity: initial number of slots, a power of two from 2 to 2147483648; 0 = 256
 *
 * Threads: any; the calling thread is the first owner. Blocks: never. Allocates: the
 * deque, 8 bytes for each slot.
 * Return: 0; -EINVAL (@out is NULL, or another argument is not allowed); -ENOMEM.
 */
SKUA_API int skua_deque_create(struct skua_deque **out,
			       enum skua_deque_order order, uint32_t capacity);

/**
 * skua_deque_destroy - release the owner's handle of a deque
 * @deque: owned by the call; NULL is ignored
 *
 * Items that are still queued stay the property of the program. Stealers may continue
 * to take them. The memory of the deque is freed with its last handle.
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 */
SKUA_API void skua_deque_destroy(struct skua_deque *deque);

/**
 * skua_deque_push - add an item
 * @deque: owner's handle
 * @item: any pointer except NULL; the deque never accesses the memory behind it
 *
 * A full deque doubles its ring. It never shrinks. It keeps its earlier rings, which
 * together are smaller than the current one, and frees them at its end.
 *
 * Threads: the owner. Blocks: never. Allocates: a ring, if the deque is full.
 * Order: writes before the call are visible to the thread that takes the item.
 * Return: 0; -ENOMEM (the deque is full and cannot grow: it is unchanged, and the
 * item stays the caller's); -EINVAL (an argument is NULL).
 */
SKUA_API int skua_deque_push(struct skua_deque *deque, void *item);

/**
 * skua_deque_pop - take the newest item, or the oldest, as skua_deque_create() was
 * told
 * @deque: owner's handle
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 * Return: the item; NULL if the deque is empty or @deque is NULL.
 */
SKUA_API void *skua_deque_pop(struct skua_deque *deque);

/**
 * skua_deque_length - return the number of items
 * @deque: owner's handle, borrowed
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the number; exact on the owner's thread while no thread steals, an estimate
 * otherwise; 0 if @deque is NULL.
 */
SKUA_API size_t skua_deque_length(const struct skua_deque *deque);

/**
 * skua_deque_stealer_create - return a new handle for stealing from a deque
 * @deque: owner's handle
 *
 * Threads: the owner. Blocks: never. Allocates: nothing.
 * Return: the handle, which the caller releases with skua_deque_stealer_drop(); NULL
 * if @deque is NULL.
 */
SKUA_API struct skua_deque_stealer *
skua_deque_stealer_create(struct skua_deque *deque);

/* skua_deque_stealer_clone - return another handle to the same deque, which the
 * caller releases with skua_deque_stealer_drop(); NULL for NULL. Threads: any.
 * Blocks: never. Allocates: nothing. */
SKUA_API struct skua_deque_stealer *
skua_deque_stealer_clone(struct skua_deque_stealer *stealer);

/* skua_deque_stealer_drop - release a handle; NULL is ignored. The last handle
 * frees the deque. Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API void skua_deque_stealer_drop(struct skua_deque_stealer *stealer);

/**
 * skua_deque_stealer_steal - steal the oldest item of a deque
 * @stealer: live handle; the owner may use one, too
 * @item: receives the item; NULL unless the steal succeeded
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: a value of enum skua_steal, of which SKUA_STEAL_EMPTY is 0; -EINVAL (an
 * argument is NULL).
 */
SKUA_API int skua_deque_stealer_steal(struct skua_deque_stealer *stealer,
				      void **item);

/**
 * struct skua_node - link of an injector; embed it in your items
 * @next: private to the library while the node is queued
 */
struct skua_node {
	struct skua_node *next;
};

struct skua_injector;

/**
 * skua_injector_create - create an injector
 * @out: receives the injector, which skua_injector_destroy() frees; NULL on failure
 *
 * Threads: any. Blocks: never. Allocates: the injector.
 * Return: 0; -EINVAL (@out is NULL); -ENOMEM.
 */
SKUA_API int skua_injector_create(struct skua_injector **out);

/**
 * skua_injector_destroy - free an injector
 * @injector: owned by the call; NULL is ignored
 *
 * Nodes that are still queued stay the property of the program.
 *
 * Threads: any, while no other call on @injector is in progress. Blocks: never.
 * Allocates: nothing.
 */
SKUA_API void skua_injector_destroy(struct skua_injector *injector);

/**
 * skua_injector_push - add a node at the back
 * @injector: live injector, borrowed
 * @node: node that is in no queue; borrowed until a thread takes it
 *
 * Threads: any. Blocks: never; wait-free and async-signal-safe. Allocates: nothing.
 * Order: writes before the call are visible to the thread that takes the node. Nodes
 * that one thread pushes stay in order.
 * Return: 0; -EINVAL (an argument is NULL).
 */
SKUA_API int skua_injector_push(struct skua_injector *injector,
				struct skua_node *node);

/**
 * skua_injector_push_batch - add several nodes at the back, as one step
 * @injector: live injector, borrowed
 * @nodes: pointers to the nodes, oldest first; the array is only read during the call
 * @count: number of nodes; 0 does nothing
 *
 * As skua_injector_push(). No node of another thread comes between these nodes.
 * Return: 0; -EINVAL (an argument or a node is NULL: nothing was pushed).
 */
SKUA_API int skua_injector_push_batch(struct skua_injector *injector,
				      struct skua_node *const *nodes,
				      size_t count);

/**
 * skua_injector_take - take the oldest nodes
 * @injector: live injector, borrowed
 * @nodes: receives the nodes, oldest first
 * @max: size of @nodes, in elements
 *
 * A call that gets nothing does not mean that the injector is empty. Another thread
 * may be taking; or another thread may be in the middle of a push, which hides its
 * own node and all nodes after it until the push returns. No node is forgotten if
 * each thread that has pushed or taken takes again until it gets nothing.
 *
 * A thread that wants to sleep sets a flag, takes until it gets nothing, and then
 * sleeps. A thread that pushes reads the flag after its push, and wakes the sleeper.
 * Neither needs a fence: if a take misses a push, the pushing thread finds the flag
 * set after its push has returned. This holds for a flag with relaxed atomics too,
 * and for a flag inside a call such as uv_async_send().
 *
 * A node that was taken belongs to the caller, which may free it or push it again.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the number of nodes that were taken; 0 also if an argument is NULL or @max
 * is 0.
 */
SKUA_API size_t skua_injector_take(struct skua_injector *injector,
				   struct skua_node **nodes, size_t max);

/**
 * skua_injector_length - return the number of nodes
 * @injector: live injector, borrowed
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the number; exact while no thread pushes or takes, an estimate otherwise; 0
 * if @injector is NULL.
 */
SKUA_API size_t skua_injector_length(const struct skua_injector *injector);

SKUA_END_DECLS

#endif
