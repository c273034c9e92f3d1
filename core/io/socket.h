/* SPDX-License-Identifier: MIT */
/**
 * socket.h - the kernel's calls for sockets that are not attached yet, beside those of
 * kernel.h
 *
 * They return a negative errno value instead of errno, which they leave as it is. None is
 * inlined: a fiber goes on in another thread after a wait, so the address of errno must
 * not be kept.
 */
#ifndef SKUA_CORE_IO_SOCKET_H
#define SKUA_CORE_IO_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* The address of a socket. */
struct socket_address {
	struct sockaddr_storage socket;
	uint32_t length;
};

/**
 * socket_listen - create a socket that listens
 * @reuse_port: others may listen at the same address
 *
 * An IPv6 address is one of IPv6 alone, whatever the default of the system is.
 *
 * Return: a descriptor, non-blocking, or a negative errno value.
 */
int socket_listen(const struct socket_address *address, int backlog,
		  bool reuse_port);

/* socket_open - create a socket. Return: as socket_listen() */
int socket_open(int family);

/* socket_events - create a descriptor that is readable when one of some sockets can be
 * written. Return: as socket_listen() */
int socket_events(void);

/* socket_events_add - add the socket @fd, as number @i. Return: 0 or a negative errno */
int socket_events_add(int events, int fd, uint32_t i);

/* socket_events_remove - take a socket out, before it is closed: a child process may have
 * a copy of it */
void socket_events_remove(int events, int fd);

/* socket_events_take - return the number of a socket that can be written, or -1 */
int socket_events_take(int events);

#endif
