/* SPDX-License-Identifier: MIT */
/* node_memory.c - see node_memory.h */
#include "topology/node_memory.h"

#include <errno.h>
#include <numaif.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BITS (8 * sizeof(unsigned long))

/* The kernel subtracts one from the number of bits. */
#define MASK_BITS ((unsigned long)NODE_MEMORY_LIMIT + 1)

/* Flags of a policy; Debian 12's numaif.h has only some of them. */
#define POLICY_STATIC_NODES (1 << 15)
#define POLICY_FLAGS        (7 << 13)

/* ---- which nodes ----------------------------------------------------------- */

bool node_set_has(const struct node_set *set, unsigned node)
{
	return node < NODE_MEMORY_LIMIT &&
	       (set->words[node / BITS] >> node % BITS & 1);
}

unsigned node_set_count(const struct node_set *set)
{
	unsigned count = 0;

	for (size_t i = 0; i < NODE_MEMORY_LIMIT / BITS; i++)
		count += (unsigned)__builtin_popcountl(set->words[i]);
	return count;
}

int node_memory_allowed(struct node_set *out)
{
	struct node_set bound;
	int mode;

	memset(out, 0, sizeof(*out));
	memset(&bound, 0, sizeof(bound));
	if (get_mempolicy(NULL, out->words, MASK_BITS, NULL,
			  MPOL_F_MEMS_ALLOWED) != 0 ||
	    get_mempolicy(&mode, bound.words, MASK_BITS, NULL, 0) != 0) {
		int code = -errno;

		memset(out, 0, sizeof(*out));
		return code;
	}
	for (size_t i = 0; i < NODE_MEMORY_LIMIT / BITS; i++)
		if ((mode & ~POLICY_FLAGS) == MPOL_BIND)
			out->words[i] &= bound.words[i];
	return 0;
}

int node_memory_nearest(const struct machine *machine, unsigned cpu,
			const struct node_set *allowed)
{
	const struct skua_cpu *from = machine_cpu(machine, cpu);
	unsigned least = UINT32_MAX;
	int nearest = NODE_MEMORY_ANY;

	for (unsigned i = 0; from && i < machine->node_count; i++) {
		unsigned node = machine->nodes[i].node;
		unsigned distance = machine_distance(machine, from->node, node);

		if (machine->nodes[i].memory_bytes == 0 ||
		    !node_set_has(allowed, node) || distance >= least)
			continue;
		least = distance;
		nearest = (int)node;
	}
	return nearest;
}

/* ---- ranges ---------------------------------------------------------------- */

int node_memory_prefer(void *at, size_t bytes, int node)
{
	struct node_set set = { { 0 } };

	if (node < 0 || node >= NODE_MEMORY_LIMIT)
		return -EINVAL;
	set.words[(unsigned)node / BITS] = 1ul << (unsigned)node % BITS;
	/* Static: the kernel keeps the node when the cpuset changes. */
	return mbind(at, bytes, MPOL_PREFERRED | POLICY_STATIC_NODES, set.words,
		     MASK_BITS, 0) == 0
		       ? 0
		       : -errno;
}

static char *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* map_aligned - map memory that begins at a large page: map more, and unmap both ends */
static char *map_aligned(size_t bytes, size_t align)
{
	char *at = map(bytes + align);
	size_t before;

	if (!at)
		return NULL;
	before = -(uintptr_t)at % align;
	if (before > 0)
		munmap(at, before);
	munmap(at + before + bytes, align - before);
	return at + before;
}

static size_t round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/*
 * Large pages are requested by madvise(), not reserved. Rejected: MAP_HUGETLB. An
 * administrator must set such pages aside, and the first write ends the process if its
 * cpuset has none left.
 */
static char *map_huge(size_t *bytes, struct node_memory *memory)
{
	size_t whole = round_up(*bytes, NODE_MEMORY_HUGE_BYTES);
	char *at = map_aligned(whole, NODE_MEMORY_HUGE_BYTES);

	if (!at) {
		memory->huge_code = -ENOMEM;
		return NULL;
	}
	*bytes = whole;
	if (madvise(at, whole, MADV_HUGEPAGE) != 0)
		memory->huge_code = -errno;
	return at;
}

void *node_memory_map(size_t *bytes, struct node_memory *memory)
{
	char *at = NULL;
	int saved = errno; /* the library never sets it */

	memory->node_code = 0;
	memory->huge_code = 0;
	if (memory->huge)
		at = map_huge(bytes, memory);
	if (!at) {
		*bytes = round_up(*bytes, (size_t)sysconf(_SC_PAGESIZE));
		at = map(*bytes);
	}
	if (at && memory->node != NODE_MEMORY_ANY)
		memory->node_code =
			node_memory_prefer(at, *bytes, memory->node);
	errno = saved;
	return at;
}

void node_memory_unmap(void *at, size_t bytes)
{
	if (at)
		munmap(at, bytes);
}
