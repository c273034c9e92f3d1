/* SPDX-License-Identifier: MIT */
/**
 * node_memory.h - allocate memory on a NUMA node, if the node has room
 *
 * node_memory sets the policy of a range before anything is written to it, so that
 * its pages are on the node whichever thread writes to them first. The policy is a
 * preference (MPOL_PREFERRED): the kernel takes pages of other nodes when the node
 * is full.
 *
 * These functions never change the policy of the process or of a thread. They use
 * the calls of numaif.h alone. libnuma's constructor, which runs when a program
 * loads the library, sets and restores the policy of the loading thread.
 */
#ifndef SKUA_TOPOLOGY_NODE_MEMORY_H
#define SKUA_TOPOLOGY_NODE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/machine.h"

/* No preference. */
#define NODE_MEMORY_ANY (-1)
/* Above the kernel's largest number of nodes. */
#define NODE_MEMORY_LIMIT 1024

/* A large page of x86-64, and of aarch64 with small pages of 4 KiB. */
#define NODE_MEMORY_HUGE_BYTES ((size_t)2 << 20)

/* A bit for each node. */
struct node_set {
	/* A set in the form of the kernel, which asks for one bit more than
	 * there are nodes. */
	unsigned long words[NODE_MEMORY_LIMIT / (8 * sizeof(long)) + 1];
};

bool node_set_has(const struct node_set *set, unsigned node);

unsigned node_set_count(const struct node_set *set);

/**
 * node_memory_allowed - find the nodes with memory that the calling thread may use
 *
 * They follow from the cpuset of the thread and, if its policy binds it to nodes
 * (MPOL_BIND), from that policy. Return: 0; or a negative errno, for example on a kernel
 * without NUMA: then the set is empty.
 */
int node_memory_allowed(struct node_set *out);

/**
 * node_memory_nearest - return the allowed node with memory that is nearest to a CPU
 *
 * This is the CPU's own node if it is allowed and has memory. Return: the node;
 * NODE_MEMORY_ANY if no node is allowed, or if the machine has no such CPU.
 */
int node_memory_nearest(const struct machine *machine, unsigned cpu,
			const struct node_set *allowed);

/**
 * node_memory_prefer - prefer a node for the pages of a range
 * @at: begin of a page; nothing may have been written to the range
 *
 * Return: 0; a negative errno: the kernel refused, and the range is unchanged.
 */
int node_memory_prefer(void *at, size_t bytes, int node);

/* A request for a range of memory, and which parts of it failed. */
struct node_memory {
	int node; /* or NODE_MEMORY_ANY */
	bool huge;
	/* Why the kernel does not prefer the node, and why there are no large pages:
	 * negative errno values, or 0. */
	int node_code;
	int huge_code;
};

/**
 * node_memory_map - map zeroed memory
 * @bytes: the size; receives the size, rounded up to whole pages
 * @memory: the request; receives which parts of it failed
 *
 * Return: the begin of a page; NULL: there is no memory.
 */
void *node_memory_map(size_t *bytes, struct node_memory *memory);

/* node_memory_unmap - unmap all of a mapping; @at may be NULL */
void node_memory_unmap(void *at, size_t bytes);

#endif
