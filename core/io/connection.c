/* SPDX-License-Identifier: MIT */
/* connection.c - accept and connect */
#include <poll.h>

#include "core/io/attach.h"
#include "core/io/call.h"
#include "core/io/kernel.h"

/* Of the budget of calls: each makes several system calls, and a connection is work. */
#define ACCEPT_COST (CALL_BUDGET / 16)

/* ---- accept ----------------------------------------------------------------- */

/* Is a descriptor or memory missing, which may be there later? */
static bool exhausted(int code)
{
	return code == -EMFILE || code == -ENFILE || code == -ENOBUFS ||
	       code == -ENOMEM || code == -ENOSPC;
}

/* Is it the error of a connection that has ended before it was accepted? See accept(2). */
static bool is_aborted(int code)
{
	return code == -ECONNABORTED || code == -EPROTO || code == -ENETDOWN ||
	       code == -ENOPROTOOPT || code == -EHOSTDOWN || code == -ENONET ||
	       code == -EHOSTUNREACH || code == -ENETUNREACH;
}

/* Return a connection; or an error. */
static int next_connection(struct io_call *call)
{
	int fd = call->slot->accepted - 1;

	if (fd >= 0 && call->buffer)
		kernel_peer(fd, call->buffer, call->length_out);
	/* The loop repeats for each connection that was aborted. */
	while (fd < 0) {
		fd = kernel_accept(call->io.fd, call->buffer, call->length_out);
		if (fd < 0 && !is_aborted(fd))
			return fd;
	}
	return fd;
}

static ssize_t accept_now(struct io_call *call)
{
	int fd = next_connection(call);
	int code = fd < 0 ? fd : attach_accepted(call->slot, fd, call->out);

	/* Keep a connection that could not be attached. */
	call->slot->accepted = code && fd >= 0 ? fd + 1 : 0;
	if (exhausted(code))
		return call_delay(call, code);
	if (!code)
		call_no_delay(call);
	return code;
}

static struct io_call accept_call(struct skua_io listener, struct skua_io *out,
				  struct sockaddr *address, uint32_t *length)
{
	return (struct io_call){
		.operation = out && !address == !length ? accept_now : NULL,
		.io = listener,
		.way = IO_READ,
		.cost = ACCEPT_COST,
		.buffer = address,
		.length_out = length,
		.out = out,
	};
}

int skua_io_accept(struct skua_io listener, struct skua_io *out,
		   struct sockaddr *address, uint32_t *length,
		   uint64_t deadline_ns)
{
	struct io_call call = accept_call(listener, out, address, length);

	return call.operation ? (int)call_await(&call, deadline_ns) : -EINVAL;
}

int skua_io_accept_poll(struct skua_task *self, struct skua_io listener,
			struct skua_io *out, struct sockaddr *address,
			uint32_t *length, struct skua_wait *wait,
			uint64_t deadline_ns)
{
	struct io_call call = accept_call(listener, out, address, length);

	return call.operation ? (int)call_poll(&call, self, wait, deadline_ns)
			      : -EINVAL;
}

int skua_io_accept_try(struct skua_io listener, struct skua_io *out,
		       struct sockaddr *address, uint32_t *length)
{
	struct io_call call = accept_call(listener, out, address, length);

	return call.operation ? (int)call_try(&call) : -EINVAL;
}

/* ---- connect ---------------------------------------------------------------- */

static ssize_t connect_now(struct io_call *call)
{
	struct io_slot *slot = call->slot;
	int code;

	if (slot->connecting) {
		if (!kernel_ready(call->io.fd, POLLOUT))
			return -EAGAIN;
		slot->connecting = false;
		return kernel_error(call->io.fd);
	}
	/* A socket that is not connected yet has an event that looks like the end
	 * of its connection. */
	slot_expect_more(slot);
	code = kernel_connect(call->io.fd, call->data, call->length);
	/* The queue of a Unix socket is full, and no event says when it has room. */
	if (code == -EAGAIN)
		return call_delay(call, -EBUSY);
	slot->connecting = code == -EINPROGRESS;
	call_no_delay(call);
	return slot->connecting ? -EAGAIN : code;
}

static struct io_call
connect_call(struct skua_io io, const struct sockaddr *address, uint32_t length)
{
	return (struct io_call){
		.operation = address ? connect_now : NULL,
		.io = io,
		.way = IO_WRITE,
		.cost = 1,
		.data = address,
		.length = length,
	};
}

int skua_io_connect(struct skua_io io, const struct sockaddr *address,
		    uint32_t length, uint64_t deadline_ns)
{
	struct io_call call = connect_call(io, address, length);

	return call.operation ? (int)call_await(&call, deadline_ns) : -EINVAL;
}

int skua_io_connect_poll(struct skua_task *self, struct skua_io io,
			 const struct sockaddr *address, uint32_t length,
			 struct skua_wait *wait, uint64_t deadline_ns)
{
	struct io_call call = connect_call(io, address, length);

	return call.operation ? (int)call_poll(&call, self, wait, deadline_ns)
			      : -EINVAL;
}
