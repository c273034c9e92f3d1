/* SPDX-License-Identifier: MIT */
/**
 * pages.h - on which NUMA node memory is
 *
 * As the kernel tells, for each page, by move_pages(2) without a move. Nothing here
 * needs cmocka.
 */
#ifndef SKUA_TESTS_UNIT_PAGES_H
#define SKUA_TESTS_UNIT_PAGES_H

#include <errno.h>
#include <numaif.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "core/runtime/runtime.h"

/* pages_node - of the page at that address; -ENOENT: it is none yet; another
 * negative errno value, as -ENOSYS on a kernel without NUMA */
static inline int pages_node(const void *at)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *pages[1] = { (void *)((uintptr_t)at / page * page) };
	int status = -EFAULT;

	if (move_pages(0, 1, pages, NULL, &status, 0) != 0)
		return -errno;
	/* Pages that were never written to, too. */
	return status == -EFAULT ? -ENOENT : status;
}

/* How many pages there are, and of them on a certain node; and what was wrong
 * with the others, if the kernel does not tell: a negative errno value. */
struct pages {
	unsigned count;
	unsigned there;
	int code;
};

/* pages_add - those of a range that are memory already */
static inline void pages_add(struct pages *pages, const void *at, size_t bytes,
			     int node)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t end = (uintptr_t)at + bytes;

	for (uintptr_t p = (uintptr_t)at / page * page; p < end; p += page) {
		int got = pages_node((const void *)p);

		if (got == -ENOENT)
			continue;
		pages->count++;
		pages->there += got == node;
		if (got < 0)
			pages->code = got;
	}
}

/* pages_of_worker - the state, queue, jobs, samples, timer slots
 * and free blocks of a worker. Of a
 * runtime in which no task runs. */
static inline struct pages pages_of_worker(const struct skua_runtime *rt,
					   unsigned i, int node)
{
	const struct worker *worker = rt->pool.workers[i];
	const struct job_slots *slots = &rt->worker_memory.job_slots;
	const struct slab_block *block = worker->slab.free;
	struct pages pages = { 0, 0, 0 };

	pages_add(&pages, worker, sizeof(*worker), node);
	pages_add(&pages, worker->queue, sizeof(*worker->queue), node);
	pages_add(&pages, worker->queue->slots,
		  rt->config.queue_capacity * sizeof(atomic_ptr), node);
	pages_add(&pages, worker->fork_join, sizeof(*worker->fork_join), node);
	pages_add(&pages, job_slots_of(slots, i), job_slots_place_bytes(slots),
		  node);
	pages_add(&pages, (const void *)(uintptr_t)worker->area.samples,
		  sizeof(struct area_samples), node);
	pages_add(&pages, worker->timers.wheel.slots,
		  TIMER_WHEEL_SLOTS_TOTAL * sizeof(struct timer_slot), node);
	for (; block; block = block->next)
		pages_add(&pages, block, SLAB_BLOCK_BYTES, node);
	return pages;
}

#endif
