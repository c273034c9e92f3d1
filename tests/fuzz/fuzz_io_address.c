/* SPDX-License-Identifier: MIT */
/**
 * fuzz_io_address.c - any text as the address of a socket
 *
 * The model is a reader of its own, which takes the text apart from the front. Where
 * both accept, the host and the port are those that the model has found, and numeric
 * addresses, written out, are read as the same address again.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "core/io/io_address.h"
#include "skua/io.h"
#include "tests/fuzz/fuzz.h"

#define MAX_TEXT 600u

/* Does the model accept a port? */
static bool model_port(const char *text, bool remote, unsigned *port)
{
	unsigned long value = 0;
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
		value = value * 10 + (unsigned long)(text[i] - '0');
	}
	*port = (unsigned)value;
	return length >= 1 && length <= 5 && value <= 65535 &&
	       !(remote && value == 0);
}

/* Is the host four numbers up to 255, without leading zeros? */
static bool model_ipv4(const char *host)
{
	unsigned parts = 0;

	for (;;) {
		unsigned value = 0, digits = 0;

		while (isdigit((unsigned char)*host) && digits < 4) {
			value = value * 10 + (unsigned)(*host++ - '0');
			digits++;
		}
		if (digits == 0 || digits > 3 || value > 255 ||
		    (digits > 1 && host[-(int)digits] == '0'))
			return false;
		if (++parts == 4)
			return *host == '\0';
		if (*host++ != '.')
			return false;
	}
}

static bool model_name(const char *host)
{
	const char *part = host, *last = host;
	size_t length = strlen(host);
	bool digits = false;

	if (length == 0)
		return false;
	for (size_t i = 0; i < length; i++) {
		char c = host[i];

		if (!isalnum((unsigned char)c) && c != '-' && c != '_' &&
		    c != '.')
			return false;
		if (c == '.' && i + 1 < length)
			part = host + i + 1;
	}
	for (last = part; isdigit((unsigned char)*last); last++)
		digits = true;
	return !(digits && (*last == '\0' || strcmp(last, ".") == 0));
}

static bool model_inet(char *text, bool remote, char *host, unsigned *port)
{
	struct in6_addr ipv6;
	char *end;

	if (*text == '[') {
		end = strchr(text, ']');
		if (!end || end[1] != ':')
			return false;
		*end = '\0';
		strcpy(host, text + 1);
		return end - text <= IO_ADDRESS_NAME &&
		       inet_pton(AF_INET6, host, &ipv6) == 1 &&
		       model_port(end + 2, remote, port);
	}
	end = strchr(text, ':');
	if (!end || end - text > IO_ADDRESS_NAME)
		return false;
	*end = '\0';
	strcpy(host, *text ? text : "127.0.0.1");
	return model_port(end + 1, remote, port) &&
	       (model_ipv4(host) || (remote && model_name(host)));
}

/* The name is written as it was read, except for bytes that cannot be printed. */
static void check_unix_text(const char *path, const struct io_address *address)
{
	char text[SKUA_IO_ADDRESS_ROOM];
	int code = io_address_format(&address->at, text, sizeof(text));

	fuzz_check(code == 0 && strlen(text) == 5 + strlen(path),
		   "another length");
	for (size_t i = 0; path[i]; i++)
		fuzz_check(text[5 + i] == (isprint((unsigned char)path[i])
						   ? path[i]
						   : '?'),
			   "another byte %zu", i);
}

static void check_unix(const char *path, const struct io_address *address)
{
	const struct sockaddr_un *un = (const void *)&address->at.socket;
	bool abstract = *path == '@';

	fuzz_check(un->sun_family == AF_UNIX && address->name[0] == '\0',
		   "no Unix socket");
	fuzz_check(address->at.length ==
			   offsetof(struct sockaddr_un, sun_path) +
				   strlen(path) + !abstract,
		   "length %" PRIu32, address->at.length);
	check_unix_text(path, address);
	fuzz_check(abstract ? un->sun_path[0] == '\0' &&
				      memcmp(un->sun_path + 1, path + 1,
					     strlen(path + 1)) == 0
			    : strcmp(un->sun_path, path) == 0,
		   "another path");
}

/* The address, written out, is read as the same. */
static void check_numeric(const struct io_address *address)
{
	char text[SKUA_IO_ADDRESS_ROOM];
	struct io_address again;
	int code = io_address_format(&address->at, text, sizeof(text));

	fuzz_check(code == 0, "the address cannot be written: %d", code);
	fuzz_check(io_address_parse(text, false, &again, NULL) == 0,
		   "\"%s\" is refused", text);
	fuzz_check(memcmp(&again, address, sizeof(again)) == 0,
		   "\"%s\" is another address", text);
}

static void check(const char *text, bool remote)
{
	char copy[MAX_TEXT + 1], host[MAX_TEXT + 1] = "";
	struct skua_error err = { 0, "" };
	struct io_address address;
	unsigned port = 0;
	int code = io_address_parse(text, remote, &address, &err);
	bool accepts;

	fuzz_check(code == 0 || code == -EINVAL, "code %d", code);
	fuzz_check(code == 0 || (err.code == code && err.text[0]), "no text");
	strcpy(copy, text);
	if (strncmp(text, "unix:", 5) == 0) {
		size_t length = strlen(text + 5);

		accepts = length > (text[5] == '@') && length < 108;
		fuzz_check((code == 0) == accepts, "\"%s\": %d", text, code);
		if (code == 0)
			check_unix(text + 5, &address);
		return;
	}
	accepts = model_inet(copy, remote, host, &port);
	fuzz_check((code == 0) == accepts, "\"%s\": %d", text, code);
	if (code)
		return;
	fuzz_check(address.port == port, "port %u", address.port);
	if (address.name[0])
		fuzz_check(strcmp(address.name, host) == 0, "another name");
	else
		check_numeric(&address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[MAX_TEXT + 1];

	if (size > MAX_TEXT)
		size = MAX_TEXT;
	memcpy(text, data, size);
	text[size] = '\0';
	check(text, false);
	check(text, true);
	return 0;
}
