/* SPDX-License-Identifier: MIT */
/*
 * sockets.c - see sockets.h
 *
 * The files of /proc/PID/net are those of the network namespace of the process. So they also
 * show the sockets of a container. A netlink socket (sock_diag) is faster, but the command
 * would have to enter that namespace, for which it needs CAP_SYS_ADMIN.
 */
#include "bpf/waits/sockets.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/target/target_files.h"
#include "bpf/target/target_memory.h"

/* The most lines of a file that are read, which takes a third of a second. */
#define MAX_LINES (UINT32_C(1) << 18)

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

/* The sockets that are searched for, in ascending order of inode. @left: number of those that
 * were not found yet */
struct search {
	struct socket_state **list;
	size_t count, left;
};

/* Copy a socket of the kernel to each socket of the search that is the same. */
static void note_socket(struct search *search,
			const struct socket_state *socket)
{
	size_t low = 0, high = search->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (search->list[middle]->inode < socket->inode)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < search->count && search->list[low]->inode == socket->inode;
	     low++) {
		search->left -= !search->list[low]->kind;
		*search->list[low] = *socket;
	}
}

/* ---- TCP and UDP ----------------------------------------------------------------- */

/* States of TCP, by the kernel's number. */
static const char *const tcp_states[] = {
	"",
	"established",
	"syn sent",
	"syn received",
	"fin wait 1",
	"fin wait 2",
	"time wait",
	"closed",
	"close wait",
	"last ack",
	"listening",
	"closing",
	"syn received",
};

#define TCP_ESTABLISHED 1u
#define TCP_LISTENING   10u

/* Write an address. @hex: its 32-bit words as hexadecimal numbers, in the byte order of the
 * machine */
static void write_address(const char *hex, unsigned port, char *text)
{
	uint32_t words[4] = { 0 };
	size_t count = strlen(hex) / 8;
	char address[INET6_ADDRSTRLEN] = "";
	bool mapped;

	*text = 0;
	for (size_t i = 0; i < count && i < COUNT_OF(words); i++)
		sscanf(hex + 8 * i, "%8" SCNx32, &words[i]);
	mapped = count == 4 && !words[0] && !words[1] &&
		 words[2] == htonl(0xffff);
	if (count == 1 || mapped)
		inet_ntop(AF_INET, &words[mapped ? 3 : 0], address,
			  sizeof(address));
	else
		inet_ntop(AF_INET6, words, address, sizeof(address));
	/* A port of 0 is none. */
	if (port)
		snprintf(text, TARGET_NAME,
			 strchr(address, ':') ? "[%s]:%u" : "%s:%u", address,
			 port);
}

static bool parse_inet(const char *line, struct socket_state *out)
{
	char local[33], peer[33];
	unsigned local_port, peer_port, state;

	if (sscanf(line,
		   "%*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*x:%*x %*x:%*x "
		   "%*x %*u %*u %" SCNu64,
		   local, &local_port, peer, &peer_port, &state,
		   &out->inode) != 6)
		return false;
	write_address(local, local_port, out->local);
	write_address(peer, peer_port, out->peer);
	out->state = state < COUNT_OF(tcp_states) ? tcp_states[state] : "";
	return true;
}

static bool parse_tcp(const char *line, struct socket_state *out)
{
	out->kind = "TCP";
	if (!parse_inet(line, out))
		return false;
	out->listens = out->state == tcp_states[TCP_LISTENING];
	return true;
}

static bool parse_udp(const char *line, struct socket_state *out)
{
	out->kind = "UDP";
	if (!parse_inet(line, out))
		return false;
	/* The kernel uses two numbers of TCP. */
	out->state =
		out->state == tcp_states[TCP_ESTABLISHED] ? "connected" : "";
	return true;
}

/* ---- Unix sockets ------------------------------------------------------------------ */

#define UNIX_ACCEPTS   0x10000u
#define UNIX_CONNECTED 3u

static bool parse_unix(const char *line, struct socket_state *out)
{
	unsigned flags, type, state;
	int path = 0;

	if (sscanf(line, "%*x: %*x %*x %x %x %x %" SCNu64 " %n", &flags, &type,
		   &state, &out->inode, &path) != 4)
		return false;
	out->kind = type == 2   ? "Unix datagram"
		    : type == 5 ? "Unix seqpacket"
				: "Unix";
	out->listens = flags & UNIX_ACCEPTS;
	out->state = out->listens              ? "listening"
		     : state == UNIX_CONNECTED ? "connected"
					       : "";
	if (path)
		snprintf(out->local, sizeof(out->local), "%.*s",
			 (int)strcspn(line + path, "\n"), line + path);
	target_printable(out->local, sizeof(out->local));
	return true;
}

/* ---- files ------------------------------------------------------------------------ */

/* A file of /proc/PID/net, and the function that parses a line of it. */
struct source {
	const char *name;
	bool (*parse)(const char *line, struct socket_state *out);
};

/* Return: false: the file has too many lines, and some were not read. */
static bool search_file(struct target *target, const struct source *source,
			struct search *search)
{
	int fd = target_open_net(target, source->name);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;
	unsigned lines = 0;

	if (!file) {
		if (fd >= 0)
			close(fd);
		return true; /* a kernel without such sockets */
	}
	while (search->left > 0 && lines < MAX_LINES &&
	       getline(&line, &room, file) > 0) {
		struct socket_state socket = { .inode = 0 };

		lines++;
		if (source->parse(line, &socket) && socket.inode)
			note_socket(search, &socket);
	}
	free(line);
	fclose(file);
	return lines < MAX_LINES;
}

bool sockets_find(struct target *target, struct socket_state **list,
		  size_t count)
{
	static const struct source sources[] = {
		{ "tcp", parse_tcp },   { "tcp6", parse_tcp },
		{ "unix", parse_unix }, { "udp", parse_udp },
		{ "udp6", parse_udp },
	};
	struct search search = { list, count, count };
	bool all = true;

	for (size_t i = 0; i < COUNT_OF(sources) && search.left > 0; i++)
		all &= search_file(target, &sources[i], &search);
	return all;
}
