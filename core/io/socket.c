/* SPDX-License-Identifier: MIT */
/* socket.c - see socket.h */
#include "core/io/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>

#include "core/io/kernel.h"

/* The result of a system call, which is negative if it failed. */
static int result(int code, int saved)
{
	int error = errno;

	errno = saved;
	return code < 0 ? -error : code;
}

__attribute__((noinline)) int socket_open(int family)
{
	int saved = errno;

	return result(
		socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
		saved);
}

/* ---- listen ----------------------------------------------------------------- */

static int set_option(int fd, int level, int name)
{
	const int one = 1;

	return setsockopt(fd, level, name, &one, sizeof(one));
}

/* Repeat a call that a signal has interrupted, while the kernel looked up the path of a Unix
 * socket. */
static int bind_to(int fd, const struct socket_address *address)
{
	int code;

	do
		code = bind(fd, (const struct sockaddr *)&address->socket,
			    address->length);
	while (code && errno == EINTR);
	return code;
}

static int bind_and_listen(int fd, const struct socket_address *address,
			   int backlog, bool reuse_port)
{
	int family = address->socket.ss_family;
	int code = 0;

	if (family != AF_UNIX)
		code = set_option(fd, SOL_SOCKET, SO_REUSEADDR);
	if (!code && family == AF_INET6)
		code = set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY);
	if (!code && reuse_port)
		code = set_option(fd, SOL_SOCKET, SO_REUSEPORT);
	if (!code)
		code = bind_to(fd, address);
	return code ? code : listen(fd, backlog);
}

__attribute__((noinline)) int
socket_listen(const struct socket_address *address, int backlog,
	      bool reuse_port)
{
	int saved = errno;
	int fd = socket_open(address->socket.ss_family);
	int code;

	if (fd < 0)
		return fd;
	code = result(bind_and_listen(fd, address, backlog, reuse_port), saved);
	if (!code)
		return fd;
	kernel_close(fd);
	return code;
}

/* ---- events ----------------------------------------------------------------- */

__attribute__((noinline)) int socket_events(void)
{
	int saved = errno;

	return result(epoll_create1(EPOLL_CLOEXEC), saved);
}

__attribute__((noinline)) int socket_events_add(int events, int fd, uint32_t i)
{
	struct epoll_event event = { .events = EPOLLOUT, .data.u32 = i };
	int saved = errno;

	return result(epoll_ctl(events, EPOLL_CTL_ADD, fd, &event), saved);
}

__attribute__((noinline)) void socket_events_remove(int events, int fd)
{
	int saved = errno;

	epoll_ctl(events, EPOLL_CTL_DEL, fd, NULL);
	errno = saved;
}

__attribute__((noinline)) int socket_events_take(int events)
{
	struct epoll_event event;
	int saved = errno;
	int count = result(epoll_wait(events, &event, 1, 0), saved);

	return count == 1 ? (int)event.data.u32 : -1;
}
