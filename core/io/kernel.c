/* SPDX-License-Identifier: MIT */
/* kernel.c - see kernel.h */
#include "core/io/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/hot.h"
#include "core/loop/current.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define BY_LIBC true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || \
	__has_feature(memory_sanitizer)
#define BY_LIBC true
#endif
#endif
#ifndef BY_LIBC
#define BY_LIBC false
#endif

/* Call until no signal interrupts the call, and leave errno as it was. */
#define CALL(libc, ...)                                                        \
	({                                                                     \
		int saved_ = errno;                                            \
		long result_;                                                  \
                                                                               \
		do                                                             \
			result_ =                                              \
				BY_LIBC ? (long)(libc) : syscall(__VA_ARGS__); \
		while (result_ < 0 && errno == EINTR);                         \
		if (result_ < 0) {                                             \
			result_ = -errno;                                      \
			errno = saved_;                                        \
		}                                                              \
		result_;                                                       \
	})

/* ---- bytes ------------------------------------------------------------------ */

/* Call a function that may raise SIGPIPE, which workers block. */
struct no_sigpipe {
	bool outside;
	bool was_pending;
	sigset_t before;
};

static void sigpipe_block(struct no_sigpipe *no)
{
	sigset_t pipe, pending;

	no->outside = !current_here();
	if (!no->outside)
		return;
	sigpending(&pending);
	no->was_pending = sigismember(&pending, SIGPIPE);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &no->before);
}

static void sigpipe_restore(const struct no_sigpipe *no, ssize_t result)
{
	static const struct timespec now = { 0, 0 };
	int saved = errno;
	sigset_t pipe;

	if (!no->outside)
		return;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	if (result == -EPIPE && !no->was_pending)
		while (sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &no->before, NULL);
	errno = saved;
}

HOT ssize_t kernel_read(int fd, bool socket, void *buffer, size_t size)
{
	return socket ? CALL(recv(fd, buffer, size, MSG_DONTWAIT), SYS_recvfrom,
			     fd, buffer, size, MSG_DONTWAIT, NULL, NULL)
		      : CALL(read(fd, buffer, size), SYS_read, fd, buffer,
			     size);
}

ssize_t kernel_readv(int fd, bool socket, const struct iovec *vector, int count)
{
	struct msghdr message = { .msg_iov = (struct iovec *)vector,
				  .msg_iovlen = (size_t)count };

	return socket ? kernel_recvmsg(fd, &message, 0)
		      : CALL(readv(fd, vector, count), SYS_readv, fd, vector,
			     count);
}

ssize_t kernel_recvmsg(int fd, struct msghdr *message, int flags)
{
	flags |= MSG_DONTWAIT;
	return CALL(recvmsg(fd, message, flags), SYS_recvmsg, fd, message,
		    flags);
}

HOT ssize_t kernel_write(int fd, bool socket, const void *data, size_t size)
{
	struct no_sigpipe no;
	ssize_t written;

	if (socket)
		return CALL(send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL),
			    SYS_sendto, fd, data, size,
			    MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
	sigpipe_block(&no);
	written = CALL(write(fd, data, size), SYS_write, fd, data, size);
	sigpipe_restore(&no, written);
	return written;
}

ssize_t kernel_writev(int fd, bool socket, const struct iovec *vector,
		      int count)
{
	struct msghdr message = { .msg_iov = (struct iovec *)vector,
				  .msg_iovlen = (size_t)count };
	struct no_sigpipe no;
	ssize_t written;

	if (socket)
		return kernel_sendmsg(fd, &message, 0);
	sigpipe_block(&no);
	written =
		CALL(writev(fd, vector, count), SYS_writev, fd, vector, count);
	sigpipe_restore(&no, written);
	return written;
}

ssize_t kernel_sendmsg(int fd, const struct msghdr *message, int flags)
{
	flags |= MSG_DONTWAIT | MSG_NOSIGNAL;
	return CALL(sendmsg(fd, message, flags), SYS_sendmsg, fd, message,
		    flags);
}

/* ---- connections ------------------------------------------------------------ */

int kernel_accept(int fd, struct sockaddr *address, uint32_t *length)
{
	return (int)CALL(
		accept4(fd, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC),
		SYS_accept4, fd, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int kernel_peer(int fd, struct sockaddr *address, uint32_t *length)
{
	return (int)CALL(getpeername(fd, address, length), SYS_getpeername, fd,
			 address, length);
}

int kernel_local(int fd, struct sockaddr *address, uint32_t *length)
{
	return (int)CALL(getsockname(fd, address, length), SYS_getsockname, fd,
			 address, length);
}

/* Has a call that a signal interrupted begun nothing? On other sockets, the attempt to connect
 * goes on. */
static bool connects_at_once(const struct sockaddr *address, uint32_t length)
{
	return length >= sizeof(address->sa_family) &&
	       address->sa_family == AF_UNIX;
}

int kernel_connect(int fd, const struct sockaddr *address, uint32_t length)
{
	int saved = errno;
	int code;

	do
		code = (int)(BY_LIBC ? (long)connect(fd, address, length)
				     : syscall(SYS_connect, fd, address,
					       length));
	while (code < 0 && errno == EINTR && connects_at_once(address, length));
	if (code < 0)
		code = errno == EINTR ? -EINPROGRESS : -errno;
	errno = saved;
	return code;
}

int kernel_shutdown(int fd, int how)
{
	return (int)CALL(shutdown(fd, how), SYS_shutdown, fd, how);
}

int kernel_close(int fd)
{
	int saved = errno;
	/* The descriptor is closed also if a signal interrupts the call. */
	int code = (int)(BY_LIBC ? (long)close(fd) : syscall(SYS_close, fd));

	if (code < 0)
		code = errno == EINTR ? 0 : -errno;
	errno = saved;
	return code;
}

/* A time of 0 stays: it discards what was written, and resets the connection. The kernel gives
 * a time without end as any number, also as a negative one. */
int kernel_close_at_once(int fd)
{
	struct linger linger = { 0, 0 };
	socklen_t length = sizeof(linger);
	int code = (int)CALL(
		getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &length),
		SYS_getsockopt, fd, SOL_SOCKET, SO_LINGER, &linger, &length);

	if (code == 0 && linger.l_onoff && linger.l_linger != 0) {
		linger = (struct linger){ 0, 0 };
		code = (int)CALL(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger,
					    sizeof(linger)),
				 SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER,
				 &linger, sizeof(linger));
	}
	(void)code;
	return kernel_close(fd);
}

int kernel_option(int fd, int option)
{
	socklen_t length = sizeof(int);
	int value = 0;
	int code = (int)CALL(
		getsockopt(fd, SOL_SOCKET, option, &value, &length),
		SYS_getsockopt, fd, SOL_SOCKET, option, &value, &length);

	return code < 0 ? code : value;
}

int kernel_error(int fd)
{
	int error = kernel_option(fd, SO_ERROR);

	return error > 0 ? -error : error;
}

int kernel_ready(int fd, int events)
{
	struct pollfd entry = { .fd = fd, .events = (short)events };
	struct timespec now = { 0, 0 };
	int code = (int)CALL(ppoll(&entry, 1, &now, NULL), SYS_ppoll, &entry, 1,
			     &now, NULL, 8);

	return code < 0 ? code : entry.revents;
}

int kernel_send_at_once(int fd)
{
	int one = 1;

	return (int)CALL(
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)),
		SYS_setsockopt, fd, IPPROTO_TCP, TCP_NODELAY, &one,
		sizeof(one));
}

int kernel_set_nonblocking(int fd)
{
	int flags = (int)CALL(fcntl(fd, F_GETFL), SYS_fcntl, fd, F_GETFL);

	if (flags < 0 || (flags & O_NONBLOCK))
		return flags < 0 ? flags : 0;
	flags |= O_NONBLOCK;
	return (int)CALL(fcntl(fd, F_SETFL, flags), SYS_fcntl, fd, F_SETFL,
			 flags);
}
