/* SPDX-License-Identifier: MIT */
/**
 * descriptors.h - the descriptors for which tasks and threads of a process wait
 *
 * Read from the table of descriptors that the debug area leads to, so that waits of tasks
 * and threads are found as well as those of fibers. The library knows nothing of kinds and
 * addresses; these come from /proc, at a later moment.
 */
#ifndef SKUA_BPF_WAITS_DESCRIPTORS_H
#define SKUA_BPF_WAITS_DESCRIPTORS_H

#include "bpf/target/target_fibers.h"
#include "bpf/waits/sockets.h"

/* The most descriptors that are shown; the others are left out. */
#define DESCRIPTORS_MAX 32768u

enum { DESCRIPTOR_READ, DESCRIPTOR_WRITE, DESCRIPTOR_WAYS };

/**
 * struct descriptor - a descriptor that is waited for
 * @address: of its struct area_descriptor
 * @wait: for each direction, the wait of a task or thread; its address is 0: none waits
 * @delayed: the waiter will try a failed call again
 * @connecting: the waiter waits to write because the descriptor is being connected
 * @known: the descriptor was open when /proc was read
 * @text: its kind, unless socket.kind has it: "pipe", "eventfd"
 * @socket: the state of a socket; the path of another file is in socket.local
 */
struct descriptor {
	uint64_t address;
	int fd;
	struct target_wait wait[DESCRIPTOR_WAYS];
	bool delayed[DESCRIPTOR_WAYS];
	bool connecting;
	bool known;
	char text[24];
	struct socket_state socket;
};

struct descriptors {
	struct descriptor *list; /* in ascending order of address */
	uint32_t count;
	size_t room;
	bool more;     /* some were left out */
	bool nameless; /* some sockets were not found, as there are too many */
};

/**
 * descriptors_read - read the descriptors of a process
 * @out: release it with descriptors_free(), also after a failure
 *
 * Return: 0; -ENOMEM.
 */
int descriptors_read(struct target *target, struct descriptors *out);
void descriptors_free(struct descriptors *descriptors);

/* descriptors_find - the number of the descriptor at an address; UINT32_MAX: none */
uint32_t descriptors_find(const struct descriptors *descriptors,
			  uint64_t address);

/* descriptor_kind - "TCP", "pipe", "-" */
const char *descriptor_kind(const struct descriptor *descriptor);

/* descriptor_use - what is waited for: "read", "write", "accept", "connect" */
const char *descriptor_use(const struct descriptor *descriptor, unsigned way);

#endif
