/* SPDX-License-Identifier: MIT */
/* sockets.h - the addresses and states of sockets, from /proc/PID/net */
#ifndef SKUA_BPF_WAITS_SOCKETS_H
#define SKUA_BPF_WAITS_SOCKETS_H

#include <stdbool.h>

#include "bpf/target/target.h"

/**
 * struct socket_state - a socket
 * @inode: its number
 * @kind: "TCP", "Unix datagram"; NULL: it was not found
 * @state: "established"; "": it has none
 * @listens: it accepts connections
 * @local, @peer: addresses, or the path of a Unix socket; "": none
 */
struct socket_state {
	uint64_t inode;
	const char *kind, *state;
	bool listens;
	char local[TARGET_NAME], peer[TARGET_NAME];
};

/* sockets_find - fill in the state of sockets. @list: @count pointers, in ascending order of
 * inode; several may have the same inode. Return: false: there are too many sockets in the
 * network namespace to read all */
bool sockets_find(struct target *target, struct socket_state **list,
		  size_t count);

#endif
