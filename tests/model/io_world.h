/* SPDX-License-Identifier: MIT */
/**
 * io_world.h - a descriptor and its kernel, for models of core/io/
 *
 * The kernel is a few words: a queue of bytes, whose end may be closed, and an epoll. A send
 * adds a byte, and then an event; a read takes what is there. The descriptor is a plain
 * variable: a system call after its close, or beside it, is a race.
 */
#ifndef SKUA_TESTS_MODEL_IO_WORLD_H
#define SKUA_TESTS_MODEL_IO_WORLD_H

#include "tests/model/waiter.h"

#include <string.h>
#include <sys/epoll.h>

#include "core/io/attach.h"
#include "core/io/call.h"
#include "core/io/kernel.h"
#include "core/os/process_generation.h"

#define FD       0
#define PEER     UINT64_C(0x10000) /* of the queue: the other side has closed */
#define EVENT    UINT32_C(0x10000) /* of the epoll: a count, beside the events */
#define OF(word) ((word)&0xffff)

static struct io_slot the_slot;
static struct pool pool;
static struct skua_io io;
static atomic_u64 queue; /* bytes, and PEER */
static atomic_u32 events;
static atomic_u64 missing; /* attempts to accept that fail */
static unsigned open_fd;   /* plain: 1 while the descriptor is open */
static unsigned driver;    /* plain: 1 while there is a driver */
static unsigned letter;    /* plain: from the sender to the reader */
static uint64_t sent, got;
static unsigned closes;
static int codes[4];

/* ---- the kernel --------------------------------------------------------------- */

/* Each step is a read-modify-write, which sees the latest state: the kernel has locks. */
static inline ssize_t model_read(size_t size)
{
	uint64_t word, taken;

	explore_assert(explore_read(open_fd) == 1);
	word = atomic_fetch_add_acq_rel(&queue, 0);
	do {
		taken = OF(word) < size ? OF(word) : size;
		if (taken == 0)
			return word & PEER ? 0 : -EAGAIN;
	} while (!atomic_cas_acq_rel(&queue, &word, word - taken));
	return (ssize_t)taken;
}

static inline void model_detach(void)
{
	explore_assert(explore_read(driver) == 1);
}

static inline int model_close(void)
{
	explore_assert(explore_read(open_fd) == 1);
	explore_write(open_fd, 0);
	closes++;
	return 0;
}

static inline void happen(uint32_t what)
{
	uint32_t word = atomic_load_acquire(&events);

	while (!atomic_cas_acq_rel(&events, &word, (word + EVENT) | what))
		;
	futex_wake(&events, 1);
}

static inline int model_accept(void)
{
	uint64_t left = atomic_fetch_add_acq_rel(&missing, 0);

	explore_assert(explore_read(open_fd) == 1);
	if (left == 0)
		return (int)model_read(1);
	atomic_fetch_sub_acq_rel(&missing, 1);
	return -EMFILE;
}

/* The generations of this process, and of the process that has forked it. */
#define GENERATION        1u
#define GENERATION_BEFORE 7u

#define process_generation()                  GENERATION
#define table_find(fd)                        ((void)(fd), &the_slot)
#define table_next(fd)                        ((fd) == 0 ? 0 : -1)
#define table_make(fd)                        ((void)(fd), &the_slot)
#define driver_attach(in, fd, data)           ((void)(in), (void)(data), 0)
#define driver_detach(in, fd)                 ((void)(in), model_detach())
#define kernel_read(fd, socket, buffer, size) ((void)(buffer), model_read(size))
#define kernel_close(fd)                      ((void)(fd), model_close())
#define kernel_close_at_once(fd)              kernel_close(fd)
#define kernel_shutdown(fd, how)              (happen((uint32_t)(how)), 0)
#include "core/io/attach.c"
#include "core/io/bytes.c"
#include "core/io/call.c"

/* ---- threads ------------------------------------------------------------------ */

static inline void attach_fd(void)
{
	explore_write(open_fd, 1);
	codes[3] = attach_kind(&pool, FD, IO_SOCKET | IO_TCP, 0, &io);
	explore_assert(codes[3] == 0);
}

/* Begin a setup. The caller watches the slot. */
static inline void world_reset(void)
{
	waiters_reset();
	memset((void *)&the_slot, 0, sizeof(the_slot));
	for (enum io_direction way = IO_READ; way <= IO_WRITE; way++)
		atomic_init(&the_slot.word[way], 0);
	atomic_init(&the_slot.pool, NULL);
	atomic_init(&the_slot.generation, 0);
	atomic_init(&the_slot.holders, 0);
	memset((void *)&pool, 0, sizeof(pool));
	pool.generation = GENERATION;
	atomic_init(&resetting, 0);
	atomic_init(&pool.accepts_delayed, 0);
	atomic_init(&pool.delay_logged_ns, 0);
	atomic_init(&queue, 0);
	atomic_init(&events, 0);
	atomic_init(&missing, 0);
	open_fd = letter = closes = 0;
	driver = 1;
	sent = got = 0;
	memset(codes, 0, sizeof(codes));
	attach_fd();
}

/* The state after a read that has found nothing: the first call waits at once. */
static inline void world_empty(void)
{
	atomic_init(&the_slot.word[IO_READ], slot_serial_word(io.serial));
}

static inline void send_byte(uint32_t what)
{
	atomic_fetch_add_acq_rel(&queue, what & EPOLLRDHUP ? PEER | 1 : 1);
	happen(what);
}

static inline void sends(void)
{
	explore_write(letter, 1);
	send_byte(EPOLLIN);
	sent = 1;
}

/* Deliver @n events, or as many as the epoll has made one of. */
static inline void reap(unsigned n)
{
	struct skua_io first = io;
	uint64_t data = slot_serial_word(first.serial) | FD;

	while (n > 0) {
		uint32_t word = atomic_exchange_acq_rel(&events, 0);

		if (word == 0)
			futex_wait(&events, 0);
		else
			attach_deliver(NULL, data, OF(word));
		n -= word / EVENT;
	}
}

static inline void reaps(void)
{
	reap(1);
}

static inline ssize_t read_by(unsigned i, size_t size, uint64_t deadline_ns)
{
	char bytes[2];
	ssize_t n;

	waiter_begin(i);
	n = skua_io_read(io, bytes, size, deadline_ns);
	if (n > 0)
		got += (uint64_t)n;
	return n;
}

#endif
