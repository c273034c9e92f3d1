/* SPDX-License-Identifier: MIT */
/**
 * channel.h - pass items between tasks, fibers and threads
 *
 * Items are copied in and out. A channel and the memory of its items belong to the
 * program, which keeps them in place until every call on the channel has returned.
 * Nothing is allocated, and no runtime is needed. A debug build of the library ends the process
 * when a wait is given up whose object was cleared or initialised again, and names the object.
 *
 * How many threads and tasks may call at the same time:
 *
 *	type        send         receive
 *	channel     any number   any number
 *	spsc        one          one
 *	oneshot     one, once    one, until it has the value
 *	broadcast   any number   one for each subscription
 *	watch       any number   any number
 *
 * Any thread may close any of them. After that, sends return -EPIPE, and receivers get
 * the items that are left, and then -EPIPE. With several senders, the last one closes. A
 * closed object may be initialised again when every call on it has returned.
 *
 * A shutdown with SKUA_SHUTDOWN_CANCEL ends waits as skua/wait.h says. Items that
 * nobody has received stay: if they are pointers, take them with the form _try. Outside
 * threads go on waiting: close the object.
 *
 * skua_sync_set_name() (skua/sync.h) names any of them for the tools.
 *
 * skua/wait.h describes the three forms of the calls that may wait, their deadlines, and
 * how a cancel ends them. The entry of skua_channel_receive() lists the results that all
 * of them have. The other entries list only what differs.
 */
#ifndef SKUA_CHANNEL_H
#define SKUA_CHANNEL_H

#include <skua/wait.h>

SKUA_BEGIN_DECLS

#define SKUA_MAX_CAPACITY   UINT32_C(0x40000000) /* items */
#define SKUA_MAX_ITEM_BYTES UINT32_C(65536)

/* ---- channel -------------------------------------------------------------------- */

/**
 * struct skua_channel - a queue of bounded length, with many senders and receivers
 *
 * Initialise it with skua_channel_init(); the fields are private to the library.
 *
 * A sender or receiver may lose its CPU in the middle of a call. Until it goes on, the
 * items behind its own cannot be received, or the places behind its own cannot be used: a
 * call that does not wait, or whose deadline passes, may then find the channel empty or full
 * although other sends or receives have returned 0. A call that waits gets its turn.
 *
 * Fairness: items leave in the order in which they came. Of the callers that wait, those
 * that came first are served first. A caller that comes when there is an item, or a free
 * place, need not wait behind them.
 */
struct skua_channel {
	/* private: to the library */
	uint64_t tail;
	uint64_t apart_1[15];
	uint64_t head;
	uint64_t apart_2[15];
	void *slots;
	uint32_t mask;
	uint32_t item_bytes;
	uint64_t slot_bytes;
	uint64_t apart_3[13];
	uint32_t receivers_wait;
	uint32_t senders_wait;
	struct skua_waiters receivers;
	struct skua_waiters senders;
	struct skua_wait *receiver;
};

/* SKUA_CHANNEL_BYTES - bytes of memory for skua_channel_init() */
#define SKUA_CHANNEL_BYTES(capacity, item_bytes)            \
	(SKUA_STATIC_CAST(size_t, capacity) *               \
	 (8 + ((SKUA_STATIC_CAST(size_t, item_bytes) + 7) & \
	       ~SKUA_STATIC_CAST(size_t, 7))))

/**
 * skua_channel_init - make an empty channel
 * @channel: memory of the caller
 * @memory: SKUA_CHANNEL_BYTES(@capacity, @item_bytes) bytes for the items, aligned to 8;
 *          borrowed
 * @capacity: the number of items that it can hold: a power of two, 2 to
 *            SKUA_MAX_CAPACITY
 * @item_bytes: size of an item, 1 to SKUA_MAX_ITEM_BYTES
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (a pointer is NULL, @memory is not aligned, or a number is not as
 * above).
 */
SKUA_API int skua_channel_init(struct skua_channel *channel, void *memory,
			       uint32_t capacity, uint32_t item_bytes);

/**
 * skua_channel_receive - take the oldest item, and wait for one
 * @channel: borrowed
 * @item: receives a copy; unchanged after an error
 * @deadline_ns: time of skua_now_ns() at which to give up, or SKUA_FOREVER_NS
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Order: what the sender did before it sent the item is visible after a return of 0.
 * Return: 0; -EPIPE (the channel is closed, and empty); -ETIMEDOUT; -ECANCELED (the fiber
 * was cancelled); -EINVAL (a pointer is NULL); -EDEADLK (the caller must not wait: it is
 * in a poll, in a job, inside skua_run(), or a fiber with a context of skua_task_ctx()).
 */
SKUA_API int skua_channel_receive(struct skua_channel *channel, void *item,
				  uint64_t deadline_ns);

/**
 * skua_channel_receive_poll - take the oldest item, in a poll
 * @self: task that is being polled
 * @channel: borrowed
 * @item: receives a copy. It stays in place while @wait is armed: a sender may write to it
 * @wait: see struct skua_wait
 * @deadline_ns: as for skua_channel_receive()
 *
 * Threads: worker, in the poll of @self. Blocks: never, except for a lock that is held
 * while items are copied for others that wait. Allocates: nothing.
 * Order: as skua_channel_receive().
 * Return: 0; -EAGAIN (@wait is armed: return SKUA_PENDING, and call this again in the
 * next poll); -EPIPE (the channel is closed, and empty); -ETIMEDOUT; -ECANCELED (@self was
 * cancelled); -EINVAL (a pointer is NULL, or @wait is armed for something else); -EPERM
 * (@self is not being polled); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_channel_receive_poll(struct skua_task *self,
				       struct skua_channel *channel, void *item,
				       struct skua_wait *wait,
				       uint64_t deadline_ns);

/**
 * skua_channel_receive_try - take the oldest item, if there is one
 * @channel: borrowed
 * @item: receives a copy
 *
 * While callers on other CPUs take items or room at the same time, a call may spin for some
 * microseconds, as the other forms may.
 *
 * Threads: any. Blocks: never, except for a lock that is held while items are copied
 * for others that wait. Allocates: nothing.
 * Order: as skua_channel_receive().
 * Return: 0; -EAGAIN (there is none); -EPIPE (the channel is closed, and empty); -EINVAL (a
 * pointer is NULL).
 */
SKUA_API int skua_channel_receive_try(struct skua_channel *channel, void *item);

/* skua_channel_send - append a copy of @item, and wait while the channel is full
 *
 * As skua_channel_receive(). Order: what the receiver did before it freed the place that
 * the item takes is visible after a return of 0. -EPIPE: the channel is closed, and does not
 * have the item. */
SKUA_API int skua_channel_send(struct skua_channel *channel, const void *item,
			       uint64_t deadline_ns);

/* skua_channel_send_poll - the same in a poll. As skua_channel_receive_poll() otherwise;
 * @item stays in place while @wait is armed: it is read then. */
SKUA_API int skua_channel_send_poll(struct skua_task *self,
				    struct skua_channel *channel,
				    const void *item, struct skua_wait *wait,
				    uint64_t deadline_ns);

/* skua_channel_send_try - the same without a wait. As skua_channel_receive_try()
 * otherwise; -EAGAIN: the channel is full. */
SKUA_API int skua_channel_send_try(struct skua_channel *channel,
				   const void *item);

/**
 * skua_channel_close - refuse further items
 * @channel: borrowed
 *
 * Senders that wait return -EPIPE. A send that has returned 0 is received, if there are
 * receivers.
 *
 * Threads: any. Blocks: never, except for a lock that is held while items are copied
 * for others that wait. Allocates: nothing.
 * Order: what the caller did before is visible to those that get -EPIPE.
 * Return: 0; -EALREADY (it is closed); -EINVAL (@channel is NULL).
 */
SKUA_API int skua_channel_close(struct skua_channel *channel);

/* skua_channel_length - return the number of items, a snapshot; 0 for NULL
 *
 * Items that are being sent or received at this moment may count.
 *
 * Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API uint32_t skua_channel_length(const struct skua_channel *channel);

/* ---- spsc ------------------------------------------------------------------------ */

/**
 * struct skua_spsc - a queue of bounded length, with a single sender and a single receiver
 *
 * Initialise it with skua_spsc_init(); the fields are private to the library.
 *
 * As a channel, but faster; it is fastest if both sides are fibers or polls that run on the
 * same worker. The roles may pass from one task or thread to another, as long as the calls
 * of the former come before those of the latter, for example because of a join or a lock.
 *
 * Two calls that send at the same time, or two that receive, are a mistake of the program.
 * While the first one waits, the second one returns -EBUSY if it would have to wait too.
 * Otherwise, items may be lost or doubled; a debug build of the library ends the process
 * with a message.
 */
struct skua_spsc {
	/* private: to the library */
	struct skua_spsc_side {
		uint64_t ticket;
		uint64_t seen;
		uint64_t at;
		uint32_t flags;
		uint32_t inside;
		uint32_t calm;
		uint32_t apart_0;
		uint64_t apart[11];
	} sender, receiver;
	void *slots;
	uint32_t mask;
	uint32_t item_bytes;
	uint64_t slot_bytes;
	uint64_t apart[13];
	struct skua_waiters receivers;
	struct skua_waiters senders;
};

/* SKUA_SPSC_BYTES - bytes of memory for skua_spsc_init() */
#define SKUA_SPSC_BYTES(capacity, item_bytes) \
	((size_t)(capacity) * (((size_t)(item_bytes) + 7) & ~(size_t)7))

/**
 * skua_spsc_init - make an empty spsc
 * @spsc: memory of the caller
 * @memory: SKUA_SPSC_BYTES(@capacity, @item_bytes) bytes for the items, aligned to 8;
 *          borrowed
 * @capacity: the number of items that it can hold: a power of two, 2 to
 *            SKUA_MAX_CAPACITY
 * @item_bytes: size of an item, 1 to SKUA_MAX_ITEM_BYTES
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (a pointer is NULL, @memory is not aligned, or a number is not as
 * above).
 */
SKUA_API int skua_spsc_init(struct skua_spsc *spsc, void *memory,
			    uint32_t capacity, uint32_t item_bytes);

/* skua_spsc_receive - take the oldest item, and wait for one
 *
 * As skua_channel_receive(). -EBUSY: another receiver waits. -ENOSYS: a filter of system
 * calls denies membarrier(2), but did not when the runtime of the sender was created. A
 * filter that is there before that does no harm. */
SKUA_API int skua_spsc_receive(struct skua_spsc *spsc, void *item,
			       uint64_t deadline_ns);

/* skua_spsc_receive_poll - the same in a poll. As skua_channel_receive_poll() otherwise;
 * @item is written only in the call that returns 0. */
SKUA_API int skua_spsc_receive_poll(struct skua_task *self,
				    struct skua_spsc *spsc, void *item,
				    struct skua_wait *wait,
				    uint64_t deadline_ns);

/* skua_spsc_receive_try - the same without a wait. As skua_channel_receive_try()
 * otherwise. -ENOSYS: as above; only if the spsc is closed. */
SKUA_API int skua_spsc_receive_try(struct skua_spsc *spsc, void *item);

/* skua_spsc_send - append a copy of @item, and wait while the spsc is full
 *
 * As skua_channel_receive(). Order: what the receiver did before it freed the place that
 * the item takes is visible after a return of 0. -EPIPE: the spsc is closed, and its
 * receiver does not get the item. -EBUSY: another sender waits. -ENOSYS: as above, of the
 * runtime of the receiver. */
SKUA_API int skua_spsc_send(struct skua_spsc *spsc, const void *item,
			    uint64_t deadline_ns);

/* skua_spsc_send_poll - the same in a poll. As skua_channel_receive_poll() otherwise; @item
 * is read only in the call that returns 0. */
SKUA_API int skua_spsc_send_poll(struct skua_task *self, struct skua_spsc *spsc,
				 const void *item, struct skua_wait *wait,
				 uint64_t deadline_ns);

/* skua_spsc_send_try - the same without a wait. As skua_channel_receive_try() otherwise;
 * -EAGAIN: the spsc is full. */
SKUA_API int skua_spsc_send_try(struct skua_spsc *spsc, const void *item);

/* skua_spsc_close - refuse further items. Any thread. As skua_channel_close(). */
SKUA_API int skua_spsc_close(struct skua_spsc *spsc);

/* skua_spsc_length - return the number of items, a snapshot; 0 for NULL
 *
 * Threads: any. Blocks: never. Allocates: nothing. */
SKUA_API uint32_t skua_spsc_length(const struct skua_spsc *spsc);

/* ---- oneshot -------------------------------------------------------------------- */

/**
 * struct skua_oneshot - one value, a number or a pointer, from one sender to one receiver
 *
 * New when zeroed, or set to SKUA_ONESHOT_INIT; the fields are private to the library.
 *
 * The receiver may free the oneshot as soon as its receive has returned 0 or -EPIPE, even
 * if the send or close has not returned, provided that no other call on it follows or is
 * under way.
 *
 * After -ETIMEDOUT and -ECANCELED the sender may still use the oneshot. So a receiver that
 * may give up does not keep it on its stack, but in memory with two references, each
 * dropped after the last call of its owner. It calls skua_oneshot_close(): if that returns
 * 0, the sender gets -EPIPE and keeps its value; if it returns -EALREADY, the value has
 * come, and skua_oneshot_receive_try() takes it.
 */
struct skua_oneshot {
	/* private: to the library */
	uint64_t word;
	uintptr_t value;
	struct skua_waiters waiters;
};

/* clang-format off */
#define SKUA_ONESHOT_INIT { 0, 0, { 0, 0, NULL, NULL } }
/* clang-format on */

/**
 * skua_oneshot_send - send the value
 * @oneshot: borrowed
 * @value: any
 *
 * Threads: any, one at a time. Blocks: never, except for a lock that is held for less than
 * a microsecond. Allocates: nothing.
 * Order: what the caller did before is visible to the receiver.
 * Return: 0; -EALREADY (a value was sent before); -EPIPE (the oneshot is closed);
 * -EINVAL (@oneshot is NULL).
 */
SKUA_API int skua_oneshot_send(struct skua_oneshot *oneshot, uintptr_t value);

/* skua_oneshot_receive - take the value, and wait for it
 *
 * As skua_channel_receive(). -EPIPE: the oneshot is closed, or its value was taken. */
SKUA_API int skua_oneshot_receive(struct skua_oneshot *oneshot,
				  uintptr_t *value, uint64_t deadline_ns);

/* skua_oneshot_receive_poll - the same in a poll. As skua_channel_receive_poll()
 * otherwise. */
SKUA_API int skua_oneshot_receive_poll(struct skua_task *self,
				       struct skua_oneshot *oneshot,
				       uintptr_t *value, struct skua_wait *wait,
				       uint64_t deadline_ns);

/* skua_oneshot_receive_try - the same without a wait. As skua_channel_receive_try()
 * otherwise. */
SKUA_API int skua_oneshot_receive_try(struct skua_oneshot *oneshot,
				      uintptr_t *value);

/* skua_oneshot_close - refuse the value
 *
 * As skua_channel_close(). -EALREADY: the oneshot is closed, or a value was sent, which
 * stays for the receiver. */
SKUA_API int skua_oneshot_close(struct skua_oneshot *oneshot);

/* ---- broadcast ------------------------------------------------------------------ */

/**
 * struct skua_broadcast - the latest items, each of them for all subscriptions
 *
 * Initialise it with skua_broadcast_init(); the fields are private to the library.
 *
 * A send never waits for receivers: it overwrites the oldest item. A subscription that has
 * fallen behind is told how many items it has missed, and goes on at the oldest.
 */
struct skua_broadcast {
	/* private: to the library */
	void *slots;
	uint32_t mask;
	uint32_t item_bytes;
	uint64_t slot_bytes;
	uint64_t apart[13];
	uint64_t tail;
	struct skua_waiters waiters;
};

/**
 * struct skua_subscription - the place of a receiver among the items
 *
 * Memory of the caller, for one task or thread at a time. It may be copied while no call
 * uses it, and needs no cleanup. The fields are private to the library.
 */
struct skua_subscription {
	/* private: to the library */
	struct skua_broadcast *broadcast;
	uint64_t next;
};

/**
 * skua_broadcast_init - make a broadcast without items
 * @broadcast: memory of the caller
 * @memory: SKUA_CHANNEL_BYTES(@capacity, @item_bytes) bytes for the items, aligned to 8;
 *          borrowed
 * @capacity: the number of items that stay: a power of two, 2 to SKUA_MAX_CAPACITY
 * @item_bytes: size of an item, 1 to SKUA_MAX_ITEM_BYTES
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (a pointer is NULL, @memory is not aligned, or a number is not as
 * above).
 */
SKUA_API int skua_broadcast_init(struct skua_broadcast *broadcast, void *memory,
				 uint32_t capacity, uint32_t item_bytes);

/**
 * skua_broadcast_subscribe - begin to receive: the items that are sent from now on
 * @broadcast: borrowed until the last call with @subscription
 * @subscription: set
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (a pointer is NULL).
 */
SKUA_API int skua_broadcast_subscribe(struct skua_broadcast *broadcast,
				      struct skua_subscription *subscription);

/**
 * skua_broadcast_send - append a copy of @item
 * @broadcast: borrowed
 * @item: of the size given to skua_broadcast_init()
 *
 * Threads: any. Blocks: never, except for a lock that is held while an item is copied, and
 * for a few nanoseconds for each receiver that waits. Allocates: nothing.
 * Order: what the caller did before is visible to those that receive the item.
 * Return: 0; -EPIPE (the broadcast is closed); -EINVAL (a pointer is NULL).
 */
SKUA_API int skua_broadcast_send(struct skua_broadcast *broadcast,
				 const void *item);

/* skua_broadcast_close - refuse further items. As skua_channel_close(). */
SKUA_API int skua_broadcast_close(struct skua_broadcast *broadcast);

/**
 * skua_subscription_receive - copy the next item, and wait for it
 * @subscription: of the caller
 * @item: receives a copy. Its content is undefined after an error
 * @missed: receives the number of items that the subscription has missed since the call
 *          before, with -EOVERFLOW; may be NULL
 * @deadline_ns: as for skua_channel_receive()
 *
 * As skua_channel_receive(). -EOVERFLOW: the next item was overwritten; the call has moved
 * the subscription to the oldest item, which the next call receives unless it has been
 * overwritten by then. To go on at the newest item instead, subscribe again. -EINVAL also:
 * skua_broadcast_subscribe() has not set @subscription.
 */
SKUA_API int skua_subscription_receive(struct skua_subscription *subscription,
				       void *item, uint64_t *missed,
				       uint64_t deadline_ns);

/* skua_subscription_receive_poll - the same in a poll. As skua_channel_receive_poll()
 * otherwise; @item is written only during a call, and need not stay in place while @wait is
 * armed. Its content is undefined after a call that does not return 0. */
SKUA_API int
skua_subscription_receive_poll(struct skua_task *self,
			       struct skua_subscription *subscription,
			       void *item, uint64_t *missed,
			       struct skua_wait *wait, uint64_t deadline_ns);

/* skua_subscription_receive_try - the same without a wait.
 * As skua_channel_receive_try() otherwise. */
SKUA_API int
skua_subscription_receive_try(struct skua_subscription *subscription,
			      void *item, uint64_t *missed);

/* ---- watch ---------------------------------------------------------------------- */

/**
 * struct skua_watch - the latest value, with a version
 *
 * Initialise it with skua_watch_init(); the fields are private to the library. The first
 * value has version 1, and each set adds 1. A receiver that is slow misses the values
 * between.
 */
struct skua_watch {
	/* private: to the library */
	uint64_t word;
	void *value;
	uint32_t bytes;
	uint32_t reserved;
	struct skua_waiters waiters;
};

/* SKUA_WATCH_BYTES - bytes of memory for skua_watch_init() */
#define SKUA_WATCH_BYTES(bytes) (((size_t)(bytes) + 7) & ~(size_t)7)

/**
 * skua_watch_init - make a watch
 * @watch: memory of the caller
 * @memory: SKUA_WATCH_BYTES(@bytes) bytes, aligned to 8, with the first value; borrowed
 * @bytes: size of the value, 1 to SKUA_MAX_ITEM_BYTES
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (a pointer is NULL, @memory is not aligned, or @bytes is not as
 * above).
 */
SKUA_API int skua_watch_init(struct skua_watch *watch, void *memory,
			     uint32_t bytes);

/**
 * skua_watch_set - replace the value by a copy of @value
 * @watch: borrowed
 * @value: of the size given to skua_watch_init()
 *
 * All that wait for a change proceed.
 *
 * Threads: any. Blocks: never, except for a lock that is held while a value is copied, and
 * for a few nanoseconds for each caller that waits. Allocates: nothing.
 * Order: what the caller did before is visible to those that get the value or a later one.
 * Return: 0; -EPIPE (the watch is closed); -EINVAL (a pointer is NULL).
 */
SKUA_API int skua_watch_set(struct skua_watch *watch, const void *value);

/**
 * skua_watch_get - copy the value
 * @watch: borrowed; may be closed
 * @value: receives a copy
 *
 * Threads: any. Blocks: never, except for the lock of skua_watch_set() while values are
 * set. Allocates: nothing.
 * Order: as skua_watch_set().
 * Return: the version; 0 (a pointer is NULL).
 */
SKUA_API uint64_t skua_watch_get(struct skua_watch *watch, void *value);

/**
 * skua_watch_changed - copy the value, and wait until it has another version
 * @watch: borrowed
 * @version: the version that the caller has seen, or 0; receives that of the copy
 * @value: receives a copy; unchanged after an error
 * @deadline_ns: as for skua_channel_receive()
 *
 * As skua_channel_receive(). -EPIPE: the watch is closed, and *@version is the last.
 */
SKUA_API int skua_watch_changed(struct skua_watch *watch, uint64_t *version,
				void *value, uint64_t deadline_ns);

/* skua_watch_changed_poll - the same in a poll. As skua_channel_receive_poll()
 * otherwise; @value is written only in the call that returns 0. */
SKUA_API int skua_watch_changed_poll(struct skua_task *self,
				     struct skua_watch *watch,
				     uint64_t *version, void *value,
				     struct skua_wait *wait,
				     uint64_t deadline_ns);

/* skua_watch_changed_try - the same without a wait. As skua_channel_receive_try()
 * otherwise. */
SKUA_API int skua_watch_changed_try(struct skua_watch *watch, uint64_t *version,
				    void *value);

/* skua_watch_close - refuse further values. As skua_channel_close(). */
SKUA_API int skua_watch_close(struct skua_watch *watch);

SKUA_END_DECLS

#endif
