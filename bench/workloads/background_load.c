/* SPDX-License-Identifier: MIT */
/* background_load.c - see background_load.h */
#include "bench/workloads/background_load.h"

#include <errno.h>
#include <sched.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/clock.h"

/*
 * Number of tasks (links) of a chain, which are reused in turn. Two are mostly enough:
 * one runs while its predecessor has not been released yet. More are needed when a
 * worker's thread loses its CPU between a link's last poll and its release.
 */
#define LINKS 8

struct link {
	alignas(64) struct skua_task task; /* first: it is cast back */
	struct background_load *load;
	struct link *chain; /* first of the LINKS links of this chain */
	/* Writers: spawn_link() in the poll of the preceding link, to 0; release_link(),
	 * to 1. Readers: free_link(). */
	uint32_t free;
};

struct background_load {
	struct skua_runtime *rt;
	uint32_t stop; /* writer: background_load_stop(), to 1 */
	unsigned count;
	struct link *links;
};

/* Use BACKGROUND_LOAD_POLL_NS of time. Return: false if the load must stop. */
static bool stall(const struct background_load *load)
{
	uint64_t end = clock_ns() + BACKGROUND_LOAD_POLL_NS;

	/* Relaxed: the flag publishes no other data. */
	if (__atomic_load_n(&load->stop, __ATOMIC_RELAXED))
		return false;
	while (clock_ns() < end)
		sched_yield();
	return true;
}

static enum skua_poll poll_yielding(struct skua_task *self)
{
	const struct link *link = (struct link *)self;

	return stall(link->load) ? SKUA_YIELD : SKUA_DONE;
}

/* ---- chains -------------------------------------------------------------- */

static void release_link(struct skua_task *self)
{
	/* Release: the task has ended. Pairs with the acquire in free_link(). */
	__atomic_store_n(&((struct link *)self)->free, 1, __ATOMIC_RELEASE);
}

/* Return a link of the chain whose task has ended, or NULL. Acquire: pairs
 * with the release in release_link(). */
static struct link *free_link(struct link *chain)
{
	for (unsigned i = 0; i < LINKS; i++)
		if (__atomic_load_n(&chain[i].free, __ATOMIC_ACQUIRE))
			return &chain[i];
	return NULL;
}

static enum skua_poll poll_link(struct skua_task *self);

static int spawn_link(struct link *link)
{
	/* Relaxed: until the link is spawned, only its spawner uses it. */
	__atomic_store_n(&link->free, 0, __ATOMIC_RELAXED);
	skua_task_init(&link->task, poll_link);
	skua_task_detach(&link->task, release_link);
	return skua_task_spawn(link->load->rt, &link->task);
}

static enum skua_poll poll_link(struct skua_task *self)
{
	const struct link *link = (struct link *)self;
	struct link *next;

	if (!stall(link->load))
		return SKUA_DONE;
	next = free_link(link->chain);
	if (next == NULL)
		return SKUA_YIELD; /* stay busy until a link is free */
	/* The spawn cannot fail: background_load_stop() comes before the end
	 * of the runtime. */
	spawn_link(next);
	return SKUA_DONE;
}

/* ---- both ---------------------------------------------------------------- */

static struct background_load *make(struct skua_runtime *rt, unsigned count)
{
	size_t bytes = count * sizeof(struct link);
	struct background_load *load = calloc(1, sizeof(*load));

	if (load == NULL)
		return NULL;
	load->rt = rt;
	load->count = count;
	load->links = aligned_alloc(alignof(struct link), bytes);
	if (load->links == NULL) {
		free(load);
		return NULL;
	}
	memset(load->links, 0, bytes);
	for (unsigned i = 0; i < count; i++) {
		load->links[i].load = load;
		load->links[i].chain = &load->links[i - i % LINKS];
		load->links[i].free = 1;
	}
	return load;
}

void background_load_stop(struct background_load *load)
{
	if (load == NULL)
		return;
	__atomic_store_n(&load->stop, 1, __ATOMIC_RELAXED);
	skua_runtime_drain(load->rt);
	free(load->links);
	free(load);
}

static int start_yielding_link(struct link *link)
{
	skua_task_init(&link->task, poll_yielding);
	return skua_task_spawn(link->load->rt, &link->task);
}

/* Make a load of @count links, and start every @step-th of them with @start. */
static int start(struct background_load **out, struct skua_runtime *rt,
		 unsigned count, unsigned step,
		 int (*start_link)(struct link *))
{
	struct background_load *load = make(rt, count);
	int err = load == NULL ? -ENOMEM : 0;

	for (unsigned i = 0; err == 0 && i < count; i += step)
		err = start_link(&load->links[i]);
	if (err != 0) {
		background_load_stop(load);
		load = NULL;
	}
	*out = load;
	return err;
}

int background_load_start_yielding(struct background_load **out,
				   struct skua_runtime *rt)
{
	return start(out, rt, 2 * skua_runtime_workers(rt), 1,
		     start_yielding_link);
}

int background_load_start_chains(struct background_load **out,
				 struct skua_runtime *rt)
{
	return start(out, rt, LINKS * skua_runtime_workers(rt), LINKS,
		     spawn_link);
}
