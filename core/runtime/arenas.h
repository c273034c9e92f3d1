/* SPDX-License-Identifier: MIT */
/**
 * arenas.h - which memory the workers of a runtime have
 *
 * Those that are pinned to CPUs of one NUMA node share an arena of that node; all
 * others share one of none. So do all on a machine with one node. The memory of a
 * worker stays where it is when the worker has to move.
 */
#ifndef SKUA_CORE_RUNTIME_ARENAS_H
#define SKUA_CORE_RUNTIME_ARENAS_H

#include "core/os/arena.h"
#include "core/config/config.h"
#include "core/task/slab.h"

/* What workers of a node share. */
struct arenas_node {
	struct arena arena;
	struct slab slab;
};

struct arenas {
	const struct skua_allocator *allocator;
	struct arenas_node *nodes; /* the first is none; one piece with @of */
	uint32_t *of;              /* each worker: an index */
	unsigned count;
	size_t bytes; /* of nodes and of */
};

/* arenas_by_node - does it matter on which nodes the workers are? */
bool arenas_by_node(const struct config *config);

/**
 * arenas_make - decide
 * @out: receives them, to be given to arenas_free(), also on failure
 * @machine: NULL: nothing is known
 *
 * Return: 0; -ENOMEM. What the kernel does not tell is no failure.
 */
int arenas_make(struct arenas *out, const struct config *config,
		const struct machine *machine);

/* arenas_free - give back all that was cut, blocks of the slabs included */
void arenas_free(struct arenas *arenas);

static inline struct arena *arenas_of(const struct arenas *arenas,
				      unsigned worker)
{
	return &arenas->nodes[arenas->of[worker]].arena;
}

/* arenas_slab_of - that of a worker's node */
static inline struct slab *arenas_slab_of(const struct arenas *arenas,
					  unsigned worker)
{
	return &arenas->nodes[arenas->of[worker]].slab;
}

/* arenas_slab_here - one for the calling thread, which is no worker: of its node,
 * if there are workers */
struct slab *arenas_slab_here(const struct arenas *arenas);

#endif
