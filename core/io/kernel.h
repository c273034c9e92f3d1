/* SPDX-License-Identifier: MIT */
/**
 * kernel.h - the system calls on descriptors, none of which waits
 *
 * Each returns the result, or the negative errno value, repeats a call that a signal has
 * interrupted, and leaves errno as it is. They are not inlined: a fiber may go on on
 * another thread between two of them, and compilers keep the address of errno.
 *
 * They are not points at which a thread can be cancelled, as recv() and the like are. A
 * sanitizer needs the functions of libc, though: it replaces them to learn of the memory that
 * the kernel writes, and of the order between two threads with a socket.
 */
#ifndef SKUA_CORE_IO_KERNEL_H
#define SKUA_CORE_IO_KERNEL_H

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

_Static_assert(sizeof(socklen_t) == sizeof(uint32_t) && (socklen_t)-1 > 0,
	       "io.h has uint32_t for socklen_t");

/* @socket: does the descriptor belong to a socket? Else it is non-blocking. */
ssize_t kernel_read(int fd, bool socket, void *buffer, size_t size);
ssize_t kernel_readv(int fd, bool socket, const struct iovec *vector,
		     int count);
ssize_t kernel_recvmsg(int fd, struct msghdr *message, int flags);

/* These raise no SIGPIPE. */
ssize_t kernel_write(int fd, bool socket, const void *data, size_t size);
ssize_t kernel_writev(int fd, bool socket, const struct iovec *vector,
		      int count);
ssize_t kernel_sendmsg(int fd, const struct msghdr *message, int flags);

/* kernel_accept - the connection is non-blocking, and closed on exec */
int kernel_accept(int fd, struct sockaddr *address, uint32_t *length);

/* kernel_peer, kernel_local - as getpeername() and getsockname() */
int kernel_peer(int fd, struct sockaddr *address, uint32_t *length);
int kernel_local(int fd, struct sockaddr *address, uint32_t *length);

/* kernel_connect - -EINPROGRESS also if a signal has interrupted it, except on a Unix socket, where
 * nothing has begun then, and the call is made again */
int kernel_connect(int fd, const struct sockaddr *address, uint32_t length);
int kernel_shutdown(int fd, int how);

/* kernel_close - also waits until what was written has arrived, if the socket lingers */
int kernel_close(int fd);

/* kernel_close_at_once - close a socket without that wait; the kernel goes on to send */
int kernel_close_at_once(int fd);

/* kernel_error - return and clear the error that a socket has kept, as a negative errno
 * value */
int kernel_error(int fd);

/* kernel_ready - return which of @events, and of those that are always reported, there
 * are; POLLNVAL: @fd is not open */
int kernel_ready(int fd, int events);

/* kernel_option - return an option of a socket at level SOL_SOCKET */
int kernel_option(int fd, int option);

/* kernel_send_at_once - disable Nagle's algorithm */
int kernel_send_at_once(int fd);

/* kernel_set_nonblocking - for all processes that share the descriptor */
int kernel_set_nonblocking(int fd);

#endif
