/* SPDX-License-Identifier: MIT */
/* pools.h - the threads for calls that block, read from outside */
#ifndef SKUA_BPF_WAITS_POOLS_H
#define SKUA_BPF_WAITS_POOLS_H

#include "bpf/target/target.h"

/* The pool of a runtime that has threads or calls. */
struct blocking_pool {
	uint64_t address; /* the object of waits for it */
	struct area_blocking area;
};

struct pools {
	struct blocking_pool *list;
	size_t count, room;
};

/* pools_read - read the pools of a process; @out: release it with pools_free(), also after a
 * failure. Return: 0; -ENOMEM */
int pools_read(struct target *target, struct pools *out);
void pools_free(struct pools *pools);

#endif
