/* SPDX-License-Identifier: MIT */
/**
 * io_address.h - addresses of sockets as texts
 *
 *	address = "unix:" path | "unix:@" name | [ host ] ":" port
 *	host    = IPv4 | "[" IPv6 "]" | name
 *
 * Without a host, the address is that of the loopback interface, 127.0.0.1. An IPv4
 * address has four parts. A host whose last part consists of digits is one, and never a
 * name. A name has letters, digits, "-", "_" and ".". A port is a number up to 65535.
 */
#ifndef SKUA_CORE_IO_IO_ADDRESS_H
#define SKUA_CORE_IO_IO_ADDRESS_H

#include "core/io/socket.h"
#include "skua/base.h"

#define IO_ADDRESS_NAME 253 /* characters of a name of a host, at most */

/* Part of a message: the allowed addresses; its argument is io_address_host(). */
#define IO_ADDRESS_ALLOWED                                     \
	"allowed are %s:PORT, [IPV6]:PORT, :PORT (loopback), " \
	"unix:PATH, unix:@NAME"

/* io_address_host - return how IO_ADDRESS_ALLOWED calls a host without brackets */
static inline const char *io_address_host(bool remote)
{
	return remote ? "HOST" : "IPV4";
}

struct io_address {
	struct socket_address at;       /* unused if there is a name */
	uint16_t port;                  /* 0 if there is none */
	char name[IO_ADDRESS_NAME + 1]; /* of a host; empty: none */
};

/**
 * io_address_parse - read an address
 * @text: the address; NULL is refused
 * @remote: true: of another socket, which may have a name, and needs a port; false: of
 *          a socket to make, where port 0 means a free one
 * @out: receives the address; undefined after an error
 * @err: receives what was wrong, and what is allowed; may be NULL
 *
 * Return: 0; -EINVAL.
 */
int io_address_parse(const char *text, bool remote, struct io_address *out,
		     struct skua_error *err);

/**
 * io_address_format - write the address of a socket as a text
 * @text, @room: as for skua_io_local_address()
 *
 * io_address_parse() reads the text, with the exceptions of skua_io_local_address().
 *
 * Return: 0; -ENOSPC; -EAFNOSUPPORT. After an error the text is "".
 */
int io_address_format(const struct socket_address *address, char *text,
		      size_t room);

#endif
