/* SPDX-License-Identifier: MIT */
/**
 * io.h - sockets, pipes and other descriptors that can be waited for
 *
 * A program attaches a descriptor to a runtime once. From then on tasks, fibers and
 * outside threads use it through the calls below. Each call tries the operation first, and
 * waits only if it has to. The kernel holds no buffer of these calls between two tries.
 *
 * A handle (struct skua_io) is a value: the number of the descriptor, and the serial number
 * of its attachment. Each call refuses the handle of a descriptor that was closed or
 * detached with -EBADF, even if the kernel uses the number again. The program may pass
 * io.fd to calls that do not close it, such as setsockopt() and getpeername().
 *
 * One task or thread at a time may read, and one may write; a second one gets -EBUSY.
 * skua_io_accept(), skua_io_recvmsg() and a wait for POLLIN count as reading,
 * skua_io_connect(), skua_io_sendmsg() and a wait for POLLOUT as writing.
 *
 * Any thread may close a descriptor at any time. Calls that wait for it then return
 * -EBADF.
 *
 * skua/wait.h describes the three forms of the calls, their deadlines, and how a cancel
 * ends them. A call never returns -EINTR, and -EAGAIN only from the forms _poll and _try.
 * It never raises SIGPIPE. After -ETIMEDOUT, -ECANCELED, -EBUSY and -EAGAIN it has moved
 * no bytes; skua_io_read_exact(), skua_io_write_all() and skua_io_writev_all() report those
 * that they moved.
 *
 * Budget: after 128 calls in one poll that did not have to wait (each accept counts as
 * 8), the next call lets others run. A fiber yields in it. The form _poll makes the task
 * runnable and returns -EAGAIN without arming its wait: return SKUA_PENDING, as always. A
 * select counts as such a call if a case for a descriptor takes effect.
 *
 * Buffers, vectors and messages belong to the caller, and stay in place until the call
 * returns; for the form _poll, until it returns anything but -EAGAIN. Sizes are in bytes.
 *
 * A program closes or detaches the descriptors of a runtime before skua_runtime_destroy().
 * That closes the ones that are left, and logs their number; in a debug build of the
 * library it names them, and ends the process. In the child of a fork(), all calls on a
 * handle of the parent return -EOWNERDEAD; the child may close() the descriptor, or attach it
 * to a runtime of its own.
 */
#ifndef SKUA_IO_H
#define SKUA_IO_H

#include <skua/wait.h>
#include <sys/types.h>

/* Of <sys/socket.h> and <sys/uio.h>, which a program includes if it needs them. Lengths of
 * addresses are uint32_t here, which is the type of socklen_t. */
struct iovec;
struct msghdr;
struct sockaddr;

SKUA_BEGIN_DECLS

struct skua_runtime;

/**
 * struct skua_io - the handle of an attached descriptor
 * @fd: number of the descriptor
 * @serial: serial number of the attachment; 0: no handle
 */
struct skua_io {
	int fd;
	uint32_t serial;
};

/* SKUA_IO_INIT - a handle of no descriptor, which all calls refuse with -EBADF */
/* clang-format off */
#define SKUA_IO_INIT { -1, 0 }
/* clang-format on */

/* Flag of skua_io_attach(): leave Nagle's algorithm of a TCP socket as it is. */
#define SKUA_IO_KEEP_DELAY (1u << 0)

/**
 * skua_io_attach - hand a descriptor to a runtime, which can then wait for it
 * @rt: live runtime, borrowed
 * @fd: a socket, pipe, FIFO, eventfd, timerfd, signalfd, pidfd, terminal or the like.
 *      After a return of 0 it belongs to the runtime. It is made non-blocking, for all
 *      processes that share it, and must stay so: if one of them makes it blocking, a call
 *      blocks its thread, whatever the deadline (except to read, write, send and receive
 *      on a socket)
 * @flags: 0 or SKUA_IO_KEEP_DELAY. Without the flag, TCP_NODELAY is set on a TCP socket.
 *         Connections that are accepted later inherit the setting of their listener
 * @out: receives the handle; unchanged after an error
 *
 * Threads: any. Blocks: never, except for a few system calls. Allocates: nothing from
 * the allocator of the runtime. For each 1,024 numbers of descriptors, the process maps
 * 64 KB once, and keeps them.
 * Return: 0; -EPERM (@fd is a file or a directory, which is always ready: use read() and
 * write(), on a thread that may block); -EBADF (@fd is not open); -EEXIST (@fd is attached
 * to a runtime of this process); -EINVAL (a pointer is NULL, or a flag is unknown);
 * -ENOMEM; -ENOSPC (the user has reached fs.epoll.max_user_watches); -EMFILE (the runtime
 * has no descriptor for itself left, or @fd is 33,554,432 or more); -ESHUTDOWN (the runtime
 * is shutting down, and the caller is no worker of it); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_io_attach(struct skua_runtime *rt, int fd, unsigned flags,
			    struct skua_io *out);

/**
 * skua_io_detach - take a descriptor back from its runtime
 * @io: handle
 *
 * Waits for the descriptor end with -EBADF. From the start of the call, other calls with
 * this handle return -EBADF.
 *
 * Threads: any. Blocks: until calls that are in progress in other threads have left the
 * kernel; these do not wait in it. Allocates: nothing.
 * Return: the number of the descriptor, which belongs to the caller again and is still
 * non-blocking; -EBADF; -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_io_detach(struct skua_io io);

/**
 * skua_io_close - close a descriptor
 * @io: handle
 *
 * Waits for the descriptor end with -EBADF. From the start of the call, other calls with
 * this handle return -EBADF. If calls are in progress in other threads, the last of them
 * closes the descriptor, and this one returns 0 at once.
 *
 * A socket with SO_LINGER and a time that is not 0 lingers: as close(), the call waits until
 * the peer has received what was written, or that time is over. On a worker, this holds up
 * the other tasks of the worker. To avoid that, call skua_io_detach(), and close() in
 * skua_blocking_call(). If a call in another thread closes the descriptor, no thread
 * lingers: the kernel goes on to send in the background.
 *
 * Threads: any. Blocks: never, unless the socket lingers. Allocates: nothing.
 * Return: 0; -EBADF; -EOWNERDEAD (in a forked child); an error of close(), after which the
 * descriptor is closed nevertheless.
 */
SKUA_API int skua_io_close(struct skua_io io);

/**
 * skua_io_shutdown - end one or both directions of a connection, as shutdown() does
 * @io: handle of a socket
 * @how: SHUT_RD, SHUT_WR or SHUT_RDWR
 *
 * Calls of other tasks that wait for the socket go on: a read then returns 0, a write
 * -EPIPE. It is allowed beside all other calls.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EBADF; -EINVAL (@how is unknown); -ENOTCONN; -ENOTSOCK; -EOWNERDEAD (in a
 * forked child).
 */
SKUA_API int skua_io_shutdown(struct skua_io io, int how);

/* ---- bytes ---------------------------------------------------------------------- */

/**
 * skua_io_read - read up to @size bytes, and wait for the first one
 * @io: handle
 * @buffer: receives the bytes
 * @size: 1 or more
 * @deadline_ns: time of skua_now_ns() at which to give up, or SKUA_FOREVER_NS
 *
 * After a read of fewer than @size bytes from a TCP socket, the next read waits for the
 * next packet without trying first. For TLS in the kernel (TCP_ULP), use skua_io_recvmsg(),
 * which always tries.
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: the number of bytes; 0 (end of file); -ETIMEDOUT; -ECANCELED (the fiber was
 * cancelled); -EBADF (the handle was closed, also meanwhile); -EBUSY (another task or
 * thread reads); -EINVAL (@buffer is NULL, or @size is 0); -EDEADLK (the caller must not
 * wait: it is in a poll, in a job, inside skua_run(), or a fiber with a context of
 * skua_task_ctx()); -EOWNERDEAD (in a forked child); other errors of read(), such as
 * -ECONNRESET.
 */
SKUA_API ssize_t skua_io_read(struct skua_io io, void *buffer, size_t size,
			      uint64_t deadline_ns);

/**
 * skua_io_read_poll - read up to @size bytes, in a poll
 * @self: task that is being polled
 * @io: handle
 * @buffer: receives the bytes
 * @size: 1 or more
 * @wait: see struct skua_wait
 * @deadline_ns: as for skua_io_read()
 *
 * Threads: worker, in the poll of @self. Blocks: never. Allocates: nothing.
 * Return: as skua_io_read(), but not -EDEADLK; -EAGAIN (@wait is armed, or @self has used
 * up its budget and is runnable: return SKUA_PENDING, and call this again in the next
 * poll); -EINVAL (also if @self or @wait is NULL, or @wait is armed for something else);
 * -EPERM (@self is not being polled).
 */
SKUA_API ssize_t skua_io_read_poll(struct skua_task *self, struct skua_io io,
				   void *buffer, size_t size,
				   struct skua_wait *wait,
				   uint64_t deadline_ns);

/**
 * skua_io_read_try - read up to @size bytes, if there are any
 * @io: handle
 * @buffer: receives the bytes
 * @size: 1 or more
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the number of bytes; 0 (end of file); -EAGAIN (there are none yet); -EBADF;
 * -EBUSY; -EINVAL; -EOWNERDEAD (in a forked child); other errors of read().
 */
SKUA_API ssize_t skua_io_read_try(struct skua_io io, void *buffer, size_t size);

/**
 * skua_io_write - write up to @size bytes, and wait until the first one can be written
 * @io: handle
 * @data: the bytes
 * @size: 1 or more
 * @deadline_ns: as for skua_io_read()
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: the number of bytes, which may be less than @size; -EPIPE (the other side does
 * not read any more); else as skua_io_read(), with "writes" for "reads".
 */
SKUA_API ssize_t skua_io_write(struct skua_io io, const void *data, size_t size,
			       uint64_t deadline_ns);

/* skua_io_write_poll - write up to @size bytes, in a poll. As skua_io_read_poll(). */
SKUA_API ssize_t skua_io_write_poll(struct skua_task *self, struct skua_io io,
				    const void *data, size_t size,
				    struct skua_wait *wait,
				    uint64_t deadline_ns);

/* skua_io_write_try - write up to @size bytes, if there is room.
 * As skua_io_read_try(). */
SKUA_API ssize_t skua_io_write_try(struct skua_io io, const void *data,
				   size_t size);

/**
 * skua_io_readv - read into several buffers, as readv() does
 * @io: handle
 * @vector: the buffers, in their order
 * @count: number of buffers, 1 to 1,024, with at least one byte together
 * @deadline_ns: as for skua_io_read()
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: as skua_io_read(). -EINVAL if @vector is NULL, or a number is not as above.
 */
SKUA_API ssize_t skua_io_readv(struct skua_io io, const struct iovec *vector,
			       int count, uint64_t deadline_ns);

/* skua_io_readv_poll - read into several buffers, in a poll. As skua_io_read_poll(). */
SKUA_API ssize_t skua_io_readv_poll(struct skua_task *self, struct skua_io io,
				    const struct iovec *vector, int count,
				    struct skua_wait *wait,
				    uint64_t deadline_ns);

/* skua_io_readv_try - read into several buffers, if there are any bytes.
 * As skua_io_read_try(). */
SKUA_API ssize_t skua_io_readv_try(struct skua_io io,
				   const struct iovec *vector, int count);

/**
 * skua_io_writev - write several buffers, as writev() does
 * @io: handle
 * @vector: the buffers, in their order
 * @count: number of buffers, 1 to 1,024, with at least one byte together
 * @deadline_ns: as for skua_io_read()
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: as skua_io_write(). -EINVAL if @vector is NULL, or a number is not as above.
 */
SKUA_API ssize_t skua_io_writev(struct skua_io io, const struct iovec *vector,
				int count, uint64_t deadline_ns);

/* skua_io_writev_poll - write several buffers, in a poll. As skua_io_read_poll(). */
SKUA_API ssize_t skua_io_writev_poll(struct skua_task *self, struct skua_io io,
				     const struct iovec *vector, int count,
				     struct skua_wait *wait,
				     uint64_t deadline_ns);

/* skua_io_writev_try - write several buffers, if there is room.
 * As skua_io_read_try(). */
SKUA_API ssize_t skua_io_writev_try(struct skua_io io,
				    const struct iovec *vector, int count);

/**
 * skua_io_recvmsg - receive a message, as recvmsg() does
 * @io: handle of a socket
 * @message: borrowed; receives the sender's address, control messages and flags
 * @flags: of recvmsg(), such as MSG_PEEK
 * @deadline_ns: as for skua_io_read()
 *
 * If a call with MSG_ERRQUEUE, MSG_OOB or MSG_PEEK finds nothing, the next read still tries at
 * once, and gets other bytes that are there.
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: as skua_io_read(); 0 may also be an empty datagram. -EINVAL if @message is NULL.
 * -ENOTSOCK.
 */
SKUA_API ssize_t skua_io_recvmsg(struct skua_io io, struct msghdr *message,
				 int flags, uint64_t deadline_ns);

/* skua_io_recvmsg_poll - receive a message, in a poll. As skua_io_read_poll(). */
SKUA_API ssize_t skua_io_recvmsg_poll(struct skua_task *self, struct skua_io io,
				      struct msghdr *message, int flags,
				      struct skua_wait *wait,
				      uint64_t deadline_ns);

/* skua_io_recvmsg_try - receive a message, if there is one. As skua_io_read_try(). */
SKUA_API ssize_t skua_io_recvmsg_try(struct skua_io io, struct msghdr *message,
				     int flags);

/**
 * skua_io_sendmsg - send a message, as sendmsg() does
 * @io: handle of a socket
 * @message: borrowed
 * @flags: of sendmsg(), such as MSG_MORE
 * @deadline_ns: as for skua_io_read()
 *
 * If @message names a receiver that is full, such as a Unix socket of datagrams, no event
 * tells when it has room. The call then tries again after 1 ms, then after twice as long each
 * time, up to 100 ms. The next call begins with 1 ms again.
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: as skua_io_write(); 0 (a message without bytes). -EINVAL if @message is NULL.
 * -ENOTSOCK; -EMSGSIZE.
 */
SKUA_API ssize_t skua_io_sendmsg(struct skua_io io,
				 const struct msghdr *message, int flags,
				 uint64_t deadline_ns);

/* skua_io_sendmsg_poll - send a message, in a poll. As skua_io_read_poll(). */
SKUA_API ssize_t skua_io_sendmsg_poll(struct skua_task *self, struct skua_io io,
				      const struct msghdr *message, int flags,
				      struct skua_wait *wait,
				      uint64_t deadline_ns);

/* skua_io_sendmsg_try - send a message, if there is room. As skua_io_read_try(). */
SKUA_API ssize_t skua_io_sendmsg_try(struct skua_io io,
				     const struct msghdr *message, int flags);

/**
 * skua_io_read_exact - read exactly @size bytes
 * @io: handle
 * @buffer: receives the bytes
 * @size: 0 or more
 * @moved: receives the number of bytes read, also after an error; may be NULL
 * @deadline_ns: for all bytes together; as for skua_io_read()
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: 0; -EPIPE (end of file before @size bytes); else as skua_io_read().
 */
SKUA_API int skua_io_read_exact(struct skua_io io, void *buffer, size_t size,
				size_t *moved, uint64_t deadline_ns);

/**
 * skua_io_write_all - write exactly @size bytes
 * @io: handle
 * @data: the bytes
 * @size: 0 or more
 * @moved: receives the number of bytes written, also after an error; may be NULL
 * @deadline_ns: for all bytes together; as for skua_io_read()
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: 0; -EIO (a write wrote nothing, without an error); else as skua_io_write().
 */
SKUA_API int skua_io_write_all(struct skua_io io, const void *data, size_t size,
			       size_t *moved, uint64_t deadline_ns);

/**
 * skua_io_writev_all - write exactly the bytes of several buffers
 * @io: handle
 * @vector: the buffers, borrowed for the call and unchanged; buffers may be empty. May be
 *          NULL if @count is 0
 * @count: buffers in @vector, 0 or more
 * @moved: receives the number of bytes written, also after an error; may be NULL
 * @deadline_ns: for all bytes together; as for skua_io_read()
 *
 * On a datagram socket, up to 64 buffers become one message, and more become several.
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: 0; -EIO (a write wrote nothing, without an error); else as skua_io_writev().
 */
SKUA_API int skua_io_writev_all(struct skua_io io, const struct iovec *vector,
				int count, size_t *moved, uint64_t deadline_ns);

/* ---- connections ---------------------------------------------------------------- */

/**
 * skua_io_accept - accept the next connection, and attach it to the listener's runtime
 * @listener: handle of a listening socket
 * @out: receives the handle of the connection; unchanged after an error
 * @address, @length: receive the address of the other side, as for accept4(); or both NULL
 * @deadline_ns: as for skua_io_read()
 *
 * Skips connections that were aborted before. If descriptors or memory are exhausted
 * (-EMFILE, -ENFILE, -ENOBUFS, -ENOMEM, -ENOSPC), the call does not fail: it tries again
 * after 1 ms, then after twice as long each time, up to 100 ms. The runtime counts each
 * such delay in accepts_delayed of struct skua_stats, and logs at most one line a second.
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: as skua_io_attach().
 * Return: 0; -EINVAL (@out is NULL, only one of @address and @length is NULL, or the
 * socket does not listen); -ENOTSOCK; -EOPNOTSUPP; -ETIMEDOUT; -ECANCELED; -EBADF; -EBUSY
 * (another task or thread accepts); -EDEADLK; -EOWNERDEAD, all as for skua_io_read().
 */
SKUA_API int skua_io_accept(struct skua_io listener, struct skua_io *out,
			    struct sockaddr *address, uint32_t *length,
			    uint64_t deadline_ns);

/**
 * skua_io_accept_poll - accept the next connection, in a poll
 * @self: task that is being polled
 * @listener: handle of a listening socket
 * @out: receives the handle of the connection; unchanged after an error
 * @address, @length: as for skua_io_accept()
 * @wait: see struct skua_wait
 * @deadline_ns: as for skua_io_read()
 *
 * Threads: worker, in the poll of @self. Blocks: never. Allocates: as skua_io_attach().
 * Return: as skua_io_accept(), but not -EDEADLK; -EAGAIN (as for skua_io_read_poll());
 * -EINVAL (also if @self or @wait is NULL, or @wait is armed for something else); -EPERM
 * (@self is not being polled).
 */
SKUA_API int skua_io_accept_poll(struct skua_task *self,
				 struct skua_io listener, struct skua_io *out,
				 struct sockaddr *address, uint32_t *length,
				 struct skua_wait *wait, uint64_t deadline_ns);

/**
 * skua_io_accept_try - accept a connection, if there is one
 * @listener: handle of a listening socket
 * @out: receives the handle of the connection; unchanged after an error
 * @address, @length: as for skua_io_accept()
 *
 * Threads: any. Blocks: never. Allocates: as skua_io_attach().
 * Return: 0; -EAGAIN (there is none, or descriptors or memory are exhausted, which is
 * counted as a delay); -EINVAL; -ENOTSOCK; -EOPNOTSUPP; -EBADF; -EBUSY; -EOWNERDEAD, as for
 * skua_io_accept().
 */
SKUA_API int skua_io_accept_try(struct skua_io listener, struct skua_io *out,
				struct sockaddr *address, uint32_t *length);

/**
 * skua_io_connect - connect an attached socket
 * @io: handle of a socket
 * @address, @length: address of the other side, as for connect(); borrowed
 * @deadline_ns: as for skua_io_read()
 *
 * Once for each socket: after an error, the socket can only be closed. If the listener is a
 * Unix socket whose queue is full, the call tries again after the delays of
 * skua_io_sendmsg().
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: 0; -EINVAL (@address is NULL, or @length is wrong); -EBUSY (another task or
 * thread writes or connects); -ETIMEDOUT (also if the kernel gave up); -ECANCELED; -EBADF;
 * -EDEADLK; -EOWNERDEAD, all as for skua_io_read(); other errors of connect(), such as
 * -ECONNREFUSED.
 */
SKUA_API int skua_io_connect(struct skua_io io, const struct sockaddr *address,
			     uint32_t length, uint64_t deadline_ns);

/**
 * skua_io_connect_poll - connect an attached socket, in a poll
 * @self: task that is being polled
 * @io: handle of a socket
 * @address, @length: as for skua_io_connect()
 * @wait: see struct skua_wait
 * @deadline_ns: as for skua_io_read()
 *
 * Threads: worker, in the poll of @self. Blocks: never. Allocates: nothing.
 * Return: as skua_io_connect(), but not -EDEADLK; -EAGAIN (as for skua_io_read_poll());
 * -EINVAL (also if @self or @wait is NULL, or @wait is armed for something else); -EPERM
 * (@self is not being polled).
 */
SKUA_API int skua_io_connect_poll(struct skua_task *self, struct skua_io io,
				  const struct sockaddr *address,
				  uint32_t length, struct skua_wait *wait,
				  uint64_t deadline_ns);

/* ---- other libraries ------------------------------------------------------------ */

/**
 * skua_io_wait - wait until a descriptor is ready, for operations of other libraries
 * @io: handle
 * @events: POLLIN or POLLOUT
 * @deadline_ns: as for skua_io_read()
 *
 * Asks the kernel first, as poll() does: it returns at once while the descriptor is ready,
 * whatever the program has read or written before. A library that makes its own calls on
 * io.fd (TLS, databases) needs nothing else.
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: nothing.
 * Return: the events that poll() reports: @events, with POLLHUP, POLLERR and POLLRDHUP, or
 * some of these alone; -EINVAL (@events is anything else); or an error as for
 * skua_io_read().
 */
SKUA_API int skua_io_wait(struct skua_io io, short events,
			  uint64_t deadline_ns);

/* skua_io_wait_poll - wait until a descriptor is ready, in a poll.
 * As skua_io_read_poll(), with the results of skua_io_wait(). */
SKUA_API int skua_io_wait_poll(struct skua_task *self, struct skua_io io,
			       short events, struct skua_wait *wait,
			       uint64_t deadline_ns);

/* skua_io_wait_try - tell whether a descriptor is ready.
 * As skua_io_read_try(), with the results of skua_io_wait(). */
SKUA_API int skua_io_wait_try(struct skua_io io, short events);

/* ---- addresses ------------------------------------------------------------------ */

/* Flag of skua_listen(): other sockets may listen at the same address (SO_REUSEPORT). */
#define SKUA_LISTEN_REUSEPORT (1u << 8)

/**
 * skua_listen - create a socket that listens at an address, and attach it
 * @rt: live runtime, borrowed
 * @address: "127.0.0.1:6379", "[::1]:6379", ":6379" (127.0.0.1), "0.0.0.0:6379" (all
 *           interfaces, IPv4), "[::]:6379" (all, IPv6 alone), "unix:/run/x" or
 *           "unix:@name" (a name without a file). Port 0 means a free one, which
 *           skua_io_local_address() tells
 * @backlog: connections that wait to be accepted, at most; 0 = 1,024
 * @flags: any of SKUA_LISTEN_REUSEPORT and SKUA_IO_KEEP_DELAY
 * @out: receives the handle; unchanged after an error
 * @err: receives what was wrong with which value, and what is allowed; may be NULL
 *
 * The file of a Unix socket stays when the socket is closed: remove it before the next
 * call.
 *
 * Threads: any. Blocks: never, except for a few system calls. Allocates: as
 * skua_io_attach().
 * Return: 0; -EINVAL (the address cannot be read, a flag is unknown, @backlog is
 * negative, or @rt or @out is NULL); -EADDRINUSE (the port is in use, or the path
 * exists); -EADDRNOTAVAIL (the machine has no such address); -EACCES; -EAFNOSUPPORT;
 * other errors of socket(), bind(), listen() and skua_io_attach().
 */
SKUA_API int skua_listen(struct skua_runtime *rt, const char *address,
			 int backlog, unsigned flags, struct skua_io *out,
			 struct skua_error *err);

/**
 * skua_dial - connect to an address, and attach the socket
 * @rt: live runtime, borrowed
 * @address: as for skua_listen(), or with the name of a host: "example.org:80"
 * @flags: 0 or SKUA_IO_KEEP_DELAY
 * @out: receives the handle; unchanged after an error
 * @deadline_ns: time of skua_now_ns() at which to give up, or SKUA_FOREVER_NS
 * @err: receives what was wrong with which value, and what is allowed; may be NULL
 *
 * Looks up a name on the blocking pool (skua/blocking.h), where lookups have at most half
 * of the threads. A lookup that has begun is waited for, whatever the deadline. Then it
 * connects to up to 16 addresses of the name, IPv6 and IPv4 in turn, each time after
 * 250 ms or when an attempt has failed. The first one that answers is used, and the others
 * are closed. If the queue of a Unix socket is full, the call tries again as
 * skua_io_connect() does.
 *
 * Threads: fibers and outside threads. Blocks: the fiber or thread, until the call
 * succeeds or gives up. Allocates: as skua_io_attach(); a lookup allocates with malloc().
 * Return: 0; -EINVAL (as for skua_listen(), or the port is 0); -ENOENT (there is no such
 * name); -EHOSTUNREACH (no server answers the lookup; also an error of connect());
 * -ETIMEDOUT (also if the kernel gave up); -ECANCELED; -EDEADLK (the caller must not wait:
 * skua/wait.h); errors of skua_blocking_call(); of several attempts, the error of the one
 * that failed last, such as -ECONNREFUSED.
 */
SKUA_API int skua_dial(struct skua_runtime *rt, const char *address,
		       unsigned flags, struct skua_io *out,
		       uint64_t deadline_ns, struct skua_error *err);

/* Bytes for the text of any address, with its final zero. */
#define SKUA_IO_ADDRESS_ROOM 128u

/**
 * skua_io_local_address - write the address of a socket as a text
 * @io: handle of a socket
 * @text: receives the address, as skua_listen() and skua_dial() read it; "" after an error
 * @room: bytes of @text; SKUA_IO_ADDRESS_ROOM is enough for all addresses
 *
 * A path that begins with "@" has "./" before it, because "unix:@" stands for an abstract name.
 * skua_listen() and skua_dial() cannot read these texts back: "unix:", of a Unix socket without
 * a name; "unix:@", of one whose name is a single zero byte; a name with "?", which stands for
 * a byte that cannot be printed; a path of 108 bytes, which is too long; and a link-local IPv6
 * address, which has the number of its interface, as in "[fe80::1%2]:80".
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EBADF; -ENOTSOCK; -EINVAL (@text is NULL, or @room is 0); -ENOSPC (the text
 * needs more room); -EAFNOSUPPORT (the address is neither of IPv4, nor of IPv6, nor of a
 * Unix socket); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_io_local_address(struct skua_io io, char *text, size_t room);

/**
 * skua_io_peer_address - write the address of the other side of a connection as a text
 * @io, @text, @room: as for skua_io_local_address()
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: as skua_io_local_address(); -ENOTCONN.
 */
SKUA_API int skua_io_peer_address(struct skua_io io, char *text, size_t room);

SKUA_END_DECLS

#endif
