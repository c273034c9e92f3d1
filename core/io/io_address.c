/* SPDX-License-Identifier: MIT */
/* io_address.c - see io_address.h */
#include "core/io/io_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "topology/error.h"

#define DIGITS "0123456789"
#define NAME_CHARACTERS                                      \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX" \
	"YZ" DIGITS "-_."

/* The text that is read, for messages. */
struct reading {
	const char *text;
	bool remote;
	struct skua_error *err;
};

static int refuse(const struct reading *it, const char *what)
{
	return error_set(it->err, -EINVAL,
			 "address \"%.50s\": %s; " IO_ADDRESS_ALLOWED, it->text,
			 what, io_address_host(it->remote));
}

/* ---- Unix sockets ----------------------------------------------------------- */

static int read_unix(const struct reading *it, const char *path,
		     struct io_address *out)
{
	struct sockaddr_un *address = (struct sockaddr_un *)&out->at.socket;
	size_t length = strlen(path);
	bool abstract = *path == '@';

	if (length <= abstract)
		return refuse(it, "no path or name after \"unix:\"");
	if (length >= sizeof(address->sun_path))
		return refuse(it, "the path has more than 107 bytes");
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, path, length);
	/* The kernel's mark of a name that is no path. That of a path ends with a zero
	 * byte. */
	if (abstract)
		address->sun_path[0] = '\0';
	out->at.length = (uint32_t)(offsetof(struct sockaddr_un, sun_path) +
				    length + !abstract);
	return 0;
}

/* ---- hosts ------------------------------------------------------------------ */

static int read_port(const struct reading *it, const char *text,
		     struct io_address *out)
{
	size_t digits = strspn(text, DIGITS);
	unsigned port = 0;

	if (digits == 0 || text[digits] != '\0' || digits > 5)
		return refuse(it, "the port is no number up to 65535");
	while (*text)
		port = port * 10 + (unsigned)(*text++ - '0');
	if (port > UINT16_MAX)
		return refuse(it, "the port is no number up to 65535");
	if (port == 0 && it->remote)
		return refuse(it, "the port is 0");
	out->port = (uint16_t)port;
	return 0;
}

static bool read_ipv4(const char *host, struct io_address *out)
{
	struct sockaddr_in *address = (struct sockaddr_in *)&out->at.socket;

	address->sin_family = AF_INET;
	address->sin_port = htons(out->port);
	out->at.length = sizeof(*address);
	return inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

static bool read_ipv6(const char *host, struct io_address *out)
{
	struct sockaddr_in6 *address = (struct sockaddr_in6 *)&out->at.socket;

	address->sin6_family = AF_INET6;
	address->sin6_port = htons(out->port);
	out->at.length = sizeof(*address);
	return inet_pton(AF_INET6, host, &address->sin6_addr) == 1;
}

/* Does the last part of a name, before a final ".", consist of digits? */
static bool looks_like_ipv4(const char *host)
{
	size_t length = strlen(host);
	size_t digits = 0;

	if (length > 0 && host[length - 1] == '.')
		length--;
	while (digits < length && strchr(DIGITS, host[length - digits - 1]))
		digits++;
	return digits > 0 &&
	       (digits == length || host[length - digits - 1] == '.');
}

static int read_name(const struct reading *it, const char *host,
		     struct io_address *out)
{
	if (!it->remote)
		return refuse(it, "the host is no IPv4 address");
	if (host[strspn(host, NAME_CHARACTERS)] != '\0')
		return refuse(it, "the host is neither an address nor a name");
	memcpy(out->name, host, strlen(host) + 1);
	return 0;
}

/* Read a host of up to IO_ADDRESS_NAME characters, after the port. */
static int read_host(const struct reading *it, const char *host, size_t length,
		     struct io_address *out)
{
	char copy[IO_ADDRESS_NAME + 1];

	memcpy(copy, host, length);
	copy[length] = '\0';
	if (*copy == '[') {
		copy[length - 1] = '\0'; /* the bracket */
		return read_ipv6(copy + 1, out)
			       ? 0
			       : refuse(it, "no IPv6 address in the brackets");
	}
	if (length == 0)
		memcpy(copy, "127.0.0.1", sizeof("127.0.0.1"));
	if (read_ipv4(copy, out))
		return 0;
	if (looks_like_ipv4(copy))
		return refuse(it, "the host is no IPv4 address of four parts");
	return read_name(it, copy, out);
}

int io_address_parse(const char *text, bool remote, struct io_address *out,
		     struct skua_error *err)
{
	struct reading it = { text, remote, err };
	const char *colon;
	size_t length;
	int code;

	if (!text)
		return error_set(err, -EINVAL,
				 "address: NULL, needed is a text");
	memset(out, 0, sizeof(*out));
	if (strncmp(text, "unix:", 5) == 0)
		return read_unix(&it, text + 5, out);
	colon = strrchr(text, ':');
	length = colon ? (size_t)(colon - text) : 0;
	if (!colon || strchr(colon, ']'))
		return refuse(&it, "no port");
	if (*text == '[' && colon[-1] != ']')
		return refuse(&it, "no \"]\" before the port");
	if (*text != '[' && memchr(text, ':', length))
		return refuse(&it, "an IPv6 address needs brackets");
	if (length > IO_ADDRESS_NAME)
		return refuse(&it, "the host has more than 253 characters");
	code = read_port(&it, colon + 1, out);
	return code ? code : read_host(&it, text, length, out);
}

/* ---- writing ---------------------------------------------------------------- */

static int format_unix(const struct socket_address *address, char *text,
		       size_t room)
{
	const struct sockaddr_un *at = (const void *)&address->socket;
	size_t start = offsetof(struct sockaddr_un, sun_path);
	size_t length = address->length > start ? address->length - start : 0;
	char path[sizeof(at->sun_path) + 1];
	bool abstract = length > 0 && at->sun_path[0] == '\0';

	if (length > sizeof(at->sun_path))
		length = sizeof(at->sun_path);
	/* A name without a file has all bytes. A path ends with a zero. */
	if (!abstract)
		length = strnlen(at->sun_path, length);
	for (size_t i = 0; i < length; i++) {
		char byte = at->sun_path[i];

		path[i] = byte >= ' ' && byte <= '~' ? byte : '?';
	}
	if (abstract)
		path[0] = '@';
	path[length] = '\0';
	/* A path that begins like an abstract name. */
	return snprintf(text, room, "unix:%s%s",
			!abstract && path[0] == '@' ? "./" : "", path);
}

static int format_ipv6(const struct sockaddr_in6 *at, char *text, size_t room)
{
	char host[INET6_ADDRSTRLEN], scope[16] = "";

	inet_ntop(AF_INET6, &at->sin6_addr, host, sizeof(host));
	if (at->sin6_scope_id)
		snprintf(scope, sizeof(scope), "%%%u", at->sin6_scope_id);
	return snprintf(text, room, "[%s%s]:%u", host, scope,
			ntohs(at->sin6_port));
}

static int format_ipv4(const struct sockaddr_in *at, char *text, size_t room)
{
	char host[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &at->sin_addr, host, sizeof(host));
	return snprintf(text, room, "%s:%u", host, ntohs(at->sin_port));
}

int io_address_format(const struct socket_address *address, char *text,
		      size_t room)
{
	const void *at = &address->socket;
	int length;

	text[0] = '\0';
	switch (address->socket.ss_family) {
	case AF_UNIX:
		length = format_unix(address, text, room);
		break;
	case AF_INET6:
		length = format_ipv6(at, text, room);
		break;
	case AF_INET:
		length = format_ipv4(at, text, room);
		break;
	default:
		return -EAFNOSUPPORT;
	}
	if ((size_t)length < room)
		return 0;
	text[0] = '\0';
	return -ENOSPC;
}
