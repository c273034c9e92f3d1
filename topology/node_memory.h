/* SPDX-License-Identifier: MIT */
/**
 * node_memory.h - memory that is on a NUMA node, if there is room
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
	/* As the kernel has it, which asks for one bit more. */
	unsigned long words[NODE_MEMORY_LIMIT / (8 * sizeof(long)) + 1];
};

bool node_set_has(const struct node_set *set, unsigned node);

unsigned node_set_count(const struct node_set *set);

/**
 * node_memory_allowed - the nodes with memory that the calling thread may use
 *
 * Its cpuset decides, and its policy if that binds it to nodes (MPOL_BIND). Return: 0;
 * or a negative errno value, as on a kernel without NUMA: the set is empty.
 */
int node_memory_allowed(struct node_set *out);

/**
 * node_memory_nearest - the nearest allowed node that has memory, from a CPU
 *
 * It is the CPU's own node, if that has memory. Return: the node; NODE_MEMORY_ANY if
 * none is allowed, or the machine has no such CPU.
 */
int node_memory_nearest(const struct machine *machine, unsigned cpu,
			const struct node_set *allowed);

/**
 * node_memory_prefer - prefer a node for the pages of a range
 * @at: beginning of a page; nothing was written to the range
 *
 * Return: 0; a negative errno value (the kernel refuses, and the range is unchanged).
 */
int node_memory_prefer(void *at, size_t bytes, int node);

/* The wishes for a range, and which of them failed. */
struct node_memory {
	int node; /* or NODE_MEMORY_ANY */
	bool huge;
	/* Why the kernel prefers no node, and why there are no large pages:
	 * negative errno values, or 0. */
	int node_code;
	int huge_code;
};

/**
 * node_memory_map - map zeroed memory
 * @bytes: the size; receives the size in whole pages
 * @memory: the wishes; receives which of them failed
 *
 * Return: the beginning of a page; NULL: there is no memory.
 */
void *node_memory_map(size_t *bytes, struct node_memory *memory);

/* node_memory_unmap - unmap it all; does nothing to NULL */
void node_memory_unmap(void *at, size_t bytes);

#endif
