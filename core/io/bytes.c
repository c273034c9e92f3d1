/* SPDX-License-Identifier: MIT */
/* bytes.c - read and write */
#include <string.h>

#include "core/io/call.h"
#include "core/base/hot.h"
#include "core/io/kernel.h"

/* A read of fewer bytes than asked for has emptied a TCP socket. (A pipe may pass on one
 * packet, a Unix socket what came with descriptors, and datagrams come one by one.) */
static bool emptied(const struct io_call *call, ssize_t bytes)
{
	return bytes > 0 && (size_t)bytes < call->size &&
	       (call->slot->kind & IO_TCP);
}

static bool is_socket(const struct io_call *call)
{
	return call->slot->kind & IO_SOCKET;
}

static HOT ssize_t read_now(struct io_call *call)
{
	ssize_t bytes = kernel_read(call->io.fd, is_socket(call), call->buffer,
				    call->size);

	call->empty = emptied(call, bytes);
	return bytes;
}

static ssize_t readv_now(struct io_call *call)
{
	ssize_t bytes = kernel_readv(call->io.fd, is_socket(call), call->data,
				     call->flags);

	call->empty = emptied(call, bytes);
	return bytes;
}

static ssize_t recvmsg_now(struct io_call *call)
{
	return kernel_recvmsg(call->io.fd, call->buffer, call->flags);
}

static HOT ssize_t write_now(struct io_call *call)
{
	return kernel_write(call->io.fd, is_socket(call), call->data,
			    call->size);
}

static ssize_t writev_now(struct io_call *call)
{
	return kernel_writev(call->io.fd, is_socket(call), call->data,
			     call->flags);
}

/* Is the socket itself ready, although a send has found no room? */
static bool receiver_is_full(const struct io_call *call)
{
	const struct msghdr *message = call->data;

	return message->msg_name && kernel_ready(call->io.fd, POLLOUT) > 0;
}

/* If the receiver that a message names is full, the wait for an event would end at once, again
 * and again: the socket of the caller is ready. The second try is for a socket that has become
 * ready meanwhile. */
static ssize_t sendmsg_now(struct io_call *call)
{
	ssize_t bytes = kernel_sendmsg(call->io.fd, call->data, call->flags);

	if (bytes == -EAGAIN && receiver_is_full(call)) {
		bytes = kernel_sendmsg(call->io.fd, call->data, call->flags);
		if (bytes == -EAGAIN)
			return call_delay(call, -EBUSY);
	}
	if (bytes != -EAGAIN)
		call_no_delay(call);
	return bytes;
}

/* ---- calls ------------------------------------------------------------------ */

/* Make the call of an operation. An argument that is missing leaves it without one. */

static struct io_call read_call(struct skua_io io, void *buffer, size_t size)
{
	return (struct io_call){
		.operation = buffer && size > 0 ? read_now : NULL,
		.io = io,
		.way = IO_READ,
		.cost = 1,
		.buffer = buffer,
		.size = size,
	};
}

static struct io_call write_call(struct skua_io io, const void *data,
				 size_t size)
{
	return (struct io_call){
		.operation = data && size > 0 ? write_now : NULL,
		.io = io,
		.way = IO_WRITE,
		.cost = 1,
		.data = data,
		.size = size,
	};
}

/* Return the bytes of all buffers; 0 if the number of them is wrong. */
static size_t bytes_of(const struct iovec *vector, int count)
{
	size_t bytes = 0;

	if (!vector || count < 1 || count > 1024)
		return 0;
	for (int i = 0; i < count; i++)
		bytes += vector[i].iov_len;
	return bytes;
}

static struct io_call vector_call(struct skua_io io, enum io_direction way,
				  io_operation *operation,
				  const struct iovec *vector, int count)
{
	size_t size = bytes_of(vector, count);

	return (struct io_call){
		.operation = size > 0 ? operation : NULL,
		.io = io,
		.way = way,
		.cost = 1,
		.data = vector,
		.flags = count,
		.size = size,
	};
}

static struct io_call receive_call(struct skua_io io, struct msghdr *message,
				   int flags)
{
	return (struct io_call){
		.operation = message ? recvmsg_now : NULL,
		.io = io,
		.way = IO_READ,
		.cost = 1,
		.aside = flags & (MSG_ERRQUEUE | MSG_OOB | MSG_PEEK),
		.buffer = message,
		.flags = flags,
	};
}

static struct io_call send_call(struct skua_io io, const struct msghdr *message,
				int flags)
{
	return (struct io_call){
		.operation = message ? sendmsg_now : NULL,
		.io = io,
		.way = IO_WRITE,
		.cost = 1,
		.data = message,
		.flags = flags,
	};
}

static inline ssize_t await_call(struct io_call call, uint64_t deadline_ns)
{
	return call.operation ? call_await(&call, deadline_ns) : -EINVAL;
}

static inline ssize_t poll_call(struct io_call call, struct skua_task *self,
				struct skua_wait *wait, uint64_t deadline_ns)
{
	return call.operation ? call_poll(&call, self, wait, deadline_ns)
			      : -EINVAL;
}

static inline ssize_t try_call(struct io_call call)
{
	return call.operation ? call_try(&call) : -EINVAL;
}

/* ---- read ------------------------------------------------------------------- */

HOT ssize_t skua_io_read(struct skua_io io, void *buffer, size_t size,
			 uint64_t deadline_ns)
{
	return await_call(read_call(io, buffer, size), deadline_ns);
}

HOT ssize_t skua_io_read_poll(struct skua_task *self, struct skua_io io,
			      void *buffer, size_t size, struct skua_wait *wait,
			      uint64_t deadline_ns)
{
	return poll_call(read_call(io, buffer, size), self, wait, deadline_ns);
}

ssize_t skua_io_read_try(struct skua_io io, void *buffer, size_t size)
{
	return try_call(read_call(io, buffer, size));
}

ssize_t skua_io_readv(struct skua_io io, const struct iovec *vector, int count,
		      uint64_t deadline_ns)
{
	return await_call(vector_call(io, IO_READ, readv_now, vector, count),
			  deadline_ns);
}

ssize_t skua_io_readv_poll(struct skua_task *self, struct skua_io io,
			   const struct iovec *vector, int count,
			   struct skua_wait *wait, uint64_t deadline_ns)
{
	return poll_call(vector_call(io, IO_READ, readv_now, vector, count),
			 self, wait, deadline_ns);
}

ssize_t skua_io_readv_try(struct skua_io io, const struct iovec *vector,
			  int count)
{
	return try_call(vector_call(io, IO_READ, readv_now, vector, count));
}

ssize_t skua_io_recvmsg(struct skua_io io, struct msghdr *message, int flags,
			uint64_t deadline_ns)
{
	return await_call(receive_call(io, message, flags), deadline_ns);
}

ssize_t skua_io_recvmsg_poll(struct skua_task *self, struct skua_io io,
			     struct msghdr *message, int flags,
			     struct skua_wait *wait, uint64_t deadline_ns)
{
	return poll_call(receive_call(io, message, flags), self, wait,
			 deadline_ns);
}

ssize_t skua_io_recvmsg_try(struct skua_io io, struct msghdr *message,
			    int flags)
{
	return try_call(receive_call(io, message, flags));
}

/* ---- write ------------------------------------------------------------------ */

HOT ssize_t skua_io_write(struct skua_io io, const void *data, size_t size,
			  uint64_t deadline_ns)
{
	return await_call(write_call(io, data, size), deadline_ns);
}

HOT ssize_t skua_io_write_poll(struct skua_task *self, struct skua_io io,
			       const void *data, size_t size,
			       struct skua_wait *wait, uint64_t deadline_ns)
{
	return poll_call(write_call(io, data, size), self, wait, deadline_ns);
}

ssize_t skua_io_write_try(struct skua_io io, const void *data, size_t size)
{
	return try_call(write_call(io, data, size));
}

ssize_t skua_io_writev(struct skua_io io, const struct iovec *vector, int count,
		       uint64_t deadline_ns)
{
	return await_call(vector_call(io, IO_WRITE, writev_now, vector, count),
			  deadline_ns);
}

ssize_t skua_io_writev_poll(struct skua_task *self, struct skua_io io,
			    const struct iovec *vector, int count,
			    struct skua_wait *wait, uint64_t deadline_ns)
{
	return poll_call(vector_call(io, IO_WRITE, writev_now, vector, count),
			 self, wait, deadline_ns);
}

ssize_t skua_io_writev_try(struct skua_io io, const struct iovec *vector,
			   int count)
{
	return try_call(vector_call(io, IO_WRITE, writev_now, vector, count));
}

ssize_t skua_io_sendmsg(struct skua_io io, const struct msghdr *message,
			int flags, uint64_t deadline_ns)
{
	return await_call(send_call(io, message, flags), deadline_ns);
}

ssize_t skua_io_sendmsg_poll(struct skua_task *self, struct skua_io io,
			     const struct msghdr *message, int flags,
			     struct skua_wait *wait, uint64_t deadline_ns)
{
	return poll_call(send_call(io, message, flags), self, wait,
			 deadline_ns);
}

ssize_t skua_io_sendmsg_try(struct skua_io io, const struct msghdr *message,
			    int flags)
{
	return try_call(send_call(io, message, flags));
}

/* ---- all of it -------------------------------------------------------------- */

int skua_io_read_exact(struct skua_io io, void *buffer, size_t size,
		       size_t *moved, uint64_t deadline_ns)
{
	ssize_t bytes = buffer || size == 0 ? 1 : -EINVAL;
	size_t done = 0;

	while (bytes > 0 && done < size) {
		bytes = skua_io_read(io, (char *)buffer + done, size - done,
				     deadline_ns);
		if (bytes > 0)
			done += (size_t)bytes;
	}
	if (moved)
		*moved = done;
	if (bytes < 0)
		return (int)bytes;
	return done < size ? -EPIPE : 0;
}

HOT int skua_io_write_all(struct skua_io io, const void *data, size_t size,
			  size_t *moved, uint64_t deadline_ns)
{
	ssize_t bytes = data || size == 0 ? 1 : -EINVAL;
	size_t done = 0;

	while (bytes >= 0 && done < size) {
		bytes = skua_io_write(io, (const char *)data + done,
				      size - done, deadline_ns);
		if (bytes == 0)
			bytes = -EIO; /* no progress: do not repeat it */
		if (bytes > 0)
			done += (size_t)bytes;
	}
	if (moved)
		*moved = done;
	return bytes < 0 ? (int)bytes : 0;
}

/* The part of several buffers that is not written yet: all from byte @inside of the first one. */
struct rest {
	const struct iovec *vector;
	int count;
	size_t inside;
};

/* Skip @bytes, and empty buffers after them. */
static void pass(struct rest *rest, size_t bytes)
{
	rest->inside += bytes;
	while (rest->count > 0 && rest->inside >= rest->vector->iov_len) {
		rest->inside -= rest->vector->iov_len;
		rest->vector++;
		rest->count--;
	}
}

/* Buffers of one call of skua_io_writev(): they are copied to the stack. */
#define PIECES 64

static ssize_t write_rest(struct skua_io io, const struct rest *rest,
			  uint64_t deadline_ns)
{
	struct iovec pieces[PIECES];
	int count = rest->count < PIECES ? rest->count : PIECES;

	memcpy(pieces, rest->vector, (size_t)count * sizeof(*pieces));
	pieces->iov_base = (char *)pieces->iov_base + rest->inside;
	pieces->iov_len -= rest->inside;
	return skua_io_writev(io, pieces, count, deadline_ns);
}

int skua_io_writev_all(struct skua_io io, const struct iovec *vector, int count,
		       size_t *moved, uint64_t deadline_ns)
{
	struct rest rest = { vector, count, 0 };
	bool valid = vector ? count >= 0 : count == 0;
	ssize_t bytes = valid ? 0 : -EINVAL;
	size_t done = 0;

	while (bytes >= 0) {
		done += (size_t)bytes;
		pass(&rest, (size_t)bytes);
		if (rest.count == 0)
			break;
		bytes = write_rest(io, &rest, deadline_ns);
		if (bytes == 0)
			bytes = -EIO; /* as in skua_io_write_all() */
	}
	if (moved)
		*moved = done;
	return bytes < 0 ? (int)bytes : 0;
}
