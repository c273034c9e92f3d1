/* SPDX-License-Identifier: MIT */
/* attach.h - attach descriptors to a runtime, deliver their events, and close them */
#ifndef SKUA_CORE_IO_ATTACH_H
#define SKUA_CORE_IO_ATTACH_H

#include "core/io/table.h"
#include "core/loop/pool.h"
#include "skua/io.h"

/* attach - as skua_io_attach(), after the checks of its arguments. Return: as there. */
int attach(struct pool *pool, int fd, unsigned flags, struct skua_io *out);

/* attach_accepted - attach a connection that @listener has accepted. Return: as attach() */
int attach_accepted(const struct io_slot *listener, int fd,
		    struct skua_io *out);

/* attach_find - return the slot of a handle, which may be stale; NULL, with the error in
 * @code: there is none */
struct io_slot *attach_find(struct skua_io io, int *code);

/* attach_hold - keep the descriptor of a handle open. Return: 0; -EBADF. */
int attach_hold(struct io_slot *slot, uint32_t serial);

/* attach_drop - drop the holder of attach_hold(), or of a call that has left a slot that is
 * being closed */
void attach_drop(struct io_slot *slot);

/* attach_deliver - act on an event of the driver. Implements driver_deliver_fn. */
void attach_deliver(struct driver *driver, uint64_t data, uint32_t events);

/* attach_cpu_of - return the CPU on which the kernel has last handled a packet for the socket of
 * an event; a negative value: it is no socket, or there was none */
int attach_cpu_of(uint64_t data);

/* attach_close_all - close the descriptors that are still attached to a pool without
 * tasks, and wait for the calls of other threads. Return: how many there were; @first
 * receives the lowest number. */
unsigned attach_close_all(struct pool *pool, int *first);

#endif
