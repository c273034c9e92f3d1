/* SPDX-License-Identifier: MIT */
/* attach.c - see attach.h */
#include "core/io/attach.h"

#include <sys/epoll.h>

#include "core/base/hot.h"
#include "core/io/kernel.h"
#include "core/loop/current.h"
#include "core/os/futex.h"
#include "core/os/process_generation.h"
#include "core/wait/wait.h"

/* ---- attach ----------------------------------------------------------------- */

/* The process that resets slots of its parent at this moment, by its generation; 0: none.
 * Writers: threads of forked children. */
static atomic_u32 resetting;

/* Reset a slot that a parent process had attached before it forked this one. */
static void reset(struct io_slot *slot, uint32_t generation)
{
	/* Relaxed: decides nothing. */
	uint32_t holder = atomic_load_relaxed(&resetting);

	/* Acquire: what the thread before did. Pairs with the release below. A
	 * thread of the parent that has held the lock is not in this process. The
	 * loop repeats while another thread of this one holds it. */
	while (holder == generation ||
	       !atomic_cas_acquire(&resetting, &holder, generation)) {
		cpu_relax();
		holder = atomic_load_relaxed(&resetting);
	}
	/* Relaxed: under the lock. */
	if (atomic_load_relaxed(&slot->generation) != generation) {
		slot->accepted = 0;
		slot_end(slot);
		/* Release: the reset. Pairs with begin(). */
		atomic_store_release(&slot->generation, generation);
	}
	atomic_store_release(&resetting, 0);
}

/* Take a free slot. Return: 0; -EEXIST. */
static int begin(struct io_slot *slot)
{
	uint32_t generation = process_generation();
	/* Relaxed: the compare-exchange decides. */
	uint32_t holders = atomic_load_relaxed(&slot->holders);

	/* Acquire: the reset. Pairs with reset(). */
	if (holders && atomic_load_acquire(&slot->generation) != generation)
		reset(slot, generation);
	holders = 0;
	/* Acquire: what the attachment before did. Pairs with slot_end(). */
	return atomic_cas_acquire(&slot->holders, &holders, IO_ATTACHING)
		       ? 0
		       : -EEXIST;
}

static unsigned next_group(struct pool *pool)
{
	if (pool->idle.group_count <= 1)
		return 0;
	/* Relaxed: decides only the order. */
	return atomic_fetch_add_relaxed(&pool->attach_turn, 1) %
	       pool->idle.group_count;
}

/* Return the group to whose driver the caller attaches: its own, if it is a worker. Another
 * thread may attach the descriptors of all workers, so it takes the groups in turn. */
static unsigned group_here(struct pool *pool)
{
	const struct worker *worker = current_worker;

	return worker && worker->pool == pool ? worker->group
					      : next_group(pool);
}

/*
 * Return the group for a connection. One acceptor may serve the whole machine, so its
 * connections take the groups in turn, and the worker that an event wakes is in the group of
 * the connection. A program that binds an acceptor to a worker keeps its connections there.
 *
 * Rejected: the group of the worker that first waits for the connection. A task that is
 * spawned for it mostly runs where it was accepted, so most connections would stay there.
 */
static unsigned group_for_connection(struct pool *pool)
{
	const struct worker *worker = current_worker;
	const struct skua_task *task =
		worker ? (const struct skua_task *)worker->area.task : NULL;

	return task && task->home != 0 ? group_here(pool) : next_group(pool);
}

/* Attach a descriptor of a known kind to the driver of @group. */
static int attach_kind(struct pool *pool, int fd, unsigned kind, unsigned group,
		       struct skua_io *out)
{
	struct io_slot *slot;
	uint32_t serial;
	int code;

	if ((unsigned)fd >= TABLE_NUMBERS)
		return -EMFILE;
	slot = table_make(fd);
	if (!slot)
		return -ENOMEM;
	code = begin(slot);
	if (code)
		return code;
	slot->fd = fd;
	slot->kind = (uint8_t)kind;
	slot->delays[IO_READ] = slot->delays[IO_WRITE] = 0;
	slot->connecting = false;
	slot->accepted = 0;
	slot->group = (uint16_t)group;
	/* Relaxed, both: slot_init() releases. */
	atomic_store_relaxed(&slot->pool, pool);
	atomic_store_relaxed(&slot->generation, pool->generation);
	serial = slot_init(slot);
	code = driver_attach(&pool->drivers[slot->group], fd,
			     slot_serial_word(serial) | (uint32_t)fd);
	if (code) {
		slot_end(slot);
		return code;
	}
	/* Release: the fields of the slot. Pairs with attach_hold(). */
	atomic_store_release(&slot->holders, IO_LIVE | 3);
	*out = (struct skua_io){ fd, serial };
	return 0;
}

static unsigned kind_of(int fd, int type)
{
	if (type < 0)
		return 0;
	return type == SOCK_STREAM &&
			       kernel_option(fd, SO_PROTOCOL) == IPPROTO_TCP
		       ? IO_SOCKET | IO_TCP
		       : IO_SOCKET;
}

int attach(struct pool *pool, int fd, unsigned flags, struct skua_io *out)
{
	int type = kernel_option(fd, SO_TYPE);
	unsigned kind = kind_of(fd, type);
	struct skua_io io;
	int code;

	if (type == -EBADF)
		return type;
	code = attach_kind(pool, fd, kind, group_here(pool), &io);
	if (code)
		return code;
	code = kernel_set_nonblocking(fd);
	/* A socket that is connected to nobody may refuse the option. */
	if (!code && (kind & IO_TCP) && !(flags & SKUA_IO_KEEP_DELAY))
		kernel_send_at_once(fd);
	if (code)
		skua_io_detach(io);
	else
		*out = io;
	return code;
}

/* ---- the end ---------------------------------------------------------------- */

HOT struct io_slot *attach_find(struct skua_io io, int *code)
{
	struct io_slot *slot = io.serial ? table_find(io.fd) : NULL;

	*code = -EBADF;
	if (!slot)
		return NULL;
	/* Relaxed: not older than the attachment that returned the handle. If it
	 * is newer, the serial number differs. */
	if (atomic_load_relaxed(&slot->generation) == process_generation())
		return slot;
	*code = -EOWNERDEAD;
	return NULL;
}

HOT int attach_hold(struct io_slot *slot, uint32_t serial)
{
	/* Relaxed: the compare-exchange decides. */
	uint32_t holders = atomic_load_relaxed(&slot->holders);

	/* Acquire: the fields of the slot. Pairs with attach_kind(). The loop
	 * repeats when another thread changed the word. */
	do {
		if (!(holders & IO_LIVE) || !(holders & IO_HOLDERS))
			return -EBADF;
	} while (!atomic_cas_acquire(&slot->holders, &holders, holders + 1));
	/* Relaxed: the holder keeps the serial number as it is. */
	if (slot_open(atomic_load_relaxed(&slot->word[IO_READ]), serial))
		return 0;
	attach_drop(slot);
	return -EBADF;
}

/* The caller is the last holder: end the attachment. Return: the number of the descriptor,
 * which is the caller's. */
static int finish(struct io_slot *slot)
{
	struct pool *pool = atomic_load_relaxed(&slot->pool);
	int accepted = slot->accepted - 1;
	int fd = slot->fd;

	driver_detach(&pool->drivers[slot->group], fd);
	slot->accepted = 0;
	/* The kernel may give the number to another thread once it is closed, and
	 * that may attach it. So the slot is free before. */
	slot_end(slot);
	/* The accepted socket has the options of its listener, also SO_LINGER. */
	if (accepted >= 0)
		kernel_close_at_once(accepted);
	return fd;
}

/* Drop @n holders. Return: was the last one among them? */
static bool drop(struct io_slot *slot, uint32_t n)
{
	/* Acquire and release: what all holders did. Pair with each other, and with
	 * drop_last(). */
	uint32_t holders = atomic_fetch_sub_acq_rel(&slot->holders, n);

	/* One is left, which may be a thread that sleeps. Slots are never
	 * freed. */
	if ((holders & IO_AWAITED) && (holders & IO_HOLDERS) == n + 1)
		futex_wake(&slot->holders, 1);
	return (holders & IO_HOLDERS) == n;
}

/* End the attachment for a thread that has closed it, and has returned already. The caller is
 * in a call of another task or thread, or delivers an event, and must not linger. */
static __attribute__((noinline, cold)) void
close_for_other(struct io_slot *slot)
{
	bool socket = slot->kind & IO_SOCKET;
	int fd = finish(slot);

	if (socket)
		kernel_close_at_once(fd);
	else
		kernel_close(fd);
}

HOT void attach_drop(struct io_slot *slot)
{
	if (drop(slot, 1))
		close_for_other(slot);
}

/* Wait until the caller is the only holder, and drop it. The others are in system calls that
 * do not wait. */
static void drop_last(struct io_slot *slot)
{
	uint32_t holders = atomic_fetch_or_relaxed(&slot->holders, IO_AWAITED) |
			   IO_AWAITED;

	/* Acquire: what the holders did. Pairs with drop(). The loop repeats when a
	 * holder has come or left, or the sleep ended without a cause. */
	while ((holders & IO_HOLDERS) != 1 ||
	       !atomic_cas_acquire(&slot->holders, &holders, holders - 1)) {
		if ((holders & IO_HOLDERS) != 1)
			futex_wait(&slot->holders, holders);
		/* Relaxed: the compare-exchange decides. */
		holders = atomic_load_relaxed(&slot->holders);
	}
}

/* Close both directions, and choose their waits. Return: the number of calls in progress;
 * -EBADF. */
static int close_both(struct io_slot *slot, uint32_t serial,
		      struct wait_chain *chain)
{
	int calls = 0;

	for (enum io_direction way = IO_READ; way <= IO_WRITE; way++) {
		struct skua_wait *wait;
		int code = slot_close(slot, way, serial, &wait);

		/* Only in the first round: the thread that closes one direction
		 * closes the other one. */
		if (code < 0)
			return code;
		calls += code;
		if (wait)
			wait_choose_alone(wait, true, chain);
	}
	return calls;
}

static int close_slot(struct io_slot *slot, uint32_t serial, bool keep_fd)
{
	struct wait_chain chain = { NULL, NULL };
	int calls = close_both(slot, serial, &chain);
	int code = 0, fd = -1;

	if (calls < 0)
		return calls;
	if (keep_fd) {
		/* Those of the directions without a call. */
		if (calls < 2)
			drop(slot, 2 - (uint32_t)calls);
		drop_last(slot);
		code = finish(slot);
	} else if (drop(slot, 3 - (uint32_t)calls)) {
		fd = finish(slot);
	}
	/* Before the close, which may linger. */
	wait_grant(&chain);
	return fd >= 0 ? kernel_close(fd) : code;
}

int skua_io_detach(struct skua_io io)
{
	int code;
	struct io_slot *slot = attach_find(io, &code);

	return slot ? close_slot(slot, io.serial, true) : code;
}

int skua_io_close(struct skua_io io)
{
	int code;
	struct io_slot *slot = attach_find(io, &code);

	return slot ? close_slot(slot, io.serial, false) : code;
}

int skua_io_shutdown(struct skua_io io, int how)
{
	int code;
	struct io_slot *slot = attach_find(io, &code);

	if (!slot)
		return code;
	code = attach_hold(slot, io.serial);
	if (code)
		return code;
	code = kernel_shutdown(io.fd, how);
	attach_drop(slot);
	return code;
}

/* ---- descriptors of others ---------------------------------------------------- */

static uint32_t serial_of(const struct io_slot *slot)
{
	/* Relaxed: the caller knows that it stays, or checks it again. */
	return slot_serial(atomic_load_relaxed(&slot->word[IO_READ]));
}

int attach_accepted(const struct io_slot *listener, int fd, struct skua_io *out)
{
	/* Relaxed: the caller has claimed the listener. */
	struct pool *pool = atomic_load_relaxed(&listener->pool);
	unsigned group = group_for_connection(pool);
	int code = attach_kind(pool, fd, listener->kind, group, out);

	if (code != -EEXIST)
		return code;
	/* The number is new, so the program has closed the one that is attached by
	 * close(). */
	close_slot(table_find(fd), serial_of(table_find(fd)), true);
	return attach_kind(pool, fd, listener->kind, group, out);
}

/* Close a descriptor of a pool that is being destroyed, or wait until another thread has
 * closed it. */
static void close_left(struct io_slot *slot)
{
	uint32_t serial = serial_of(slot);
	int fd = close_slot(slot, serial, true);

	if (fd >= 0)
		kernel_close_at_once(fd);
	/* Acquire: what the other thread did. Pairs with slot_end(). It is in
	 * system calls that do not wait. */
	while ((atomic_load_acquire(&slot->holders) & IO_LIVE) &&
	       serial_of(slot) == serial)
		cpu_relax();
}

unsigned attach_close_all(struct pool *pool, int *first)
{
	unsigned count = 0;

	for (int fd = table_next(0); fd >= 0; fd = table_next(fd + 1)) {
		struct io_slot *slot = table_find(fd);

		/* Acquire: what a thread did that has closed it just now. Pairs with
		 * slot_end(). Relaxed: the pool attaches no descriptor any
		 * more. */
		if (!(atomic_load_acquire(&slot->holders) & IO_LIVE) ||
		    atomic_load_relaxed(&slot->pool) != pool)
			continue;
		if (count++ == 0)
			*first = fd;
		close_left(slot);
	}
	return count;
}

/* ---- events ----------------------------------------------------------------- */

static HOT void event(struct io_slot *slot, enum io_direction way,
		      uint32_t serial, uint64_t bits, struct wait_chain *chain)
{
	struct skua_wait *wait;
	bool held = false;

	/* The loop repeats once, as a holder, if a wait is armed. If the caller cannot
	 * become one, a close takes care of the wait. */
	while (slot_event(slot, way, serial, bits, held, &wait) == -EBUSY) {
		if (attach_hold(slot, serial))
			return;
		held = true;
	}
	if (wait)
		wait_choose_alone(wait, false, chain);
	if (held)
		attach_drop(slot);
}

int attach_cpu_of(uint64_t data)
{
	/* The number may be that of another descriptor by now: only a vote depends on it. */
	return kernel_option((int)(uint32_t)data, SO_INCOMING_CPU);
}

HOT void attach_deliver(struct driver *driver, uint64_t data, uint32_t events)
{
	struct io_slot *slot = table_find((int)(uint32_t)data);
	uint32_t broken = events & (EPOLLHUP | EPOLLERR);
	uint32_t ending = events & (EPOLLRDHUP | EPOLLPRI);
	struct wait_chain chain = { NULL, NULL };

	(void)driver;
	if ((events & EPOLLIN) || broken || ending)
		event(slot, IO_READ, slot_serial(data),
		      broken || ending ? IO_READY | IO_ENDING : IO_READY,
		      &chain);
	if ((events & EPOLLOUT) || broken)
		event(slot, IO_WRITE, slot_serial(data), IO_READY, &chain);
	wait_grant(&chain);
}
