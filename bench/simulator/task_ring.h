/* SPDX-License-Identifier: MIT */
/* task_ring.h - the queue of a simulated worker, which grows without a bound */
#ifndef SKUA_BENCH_SIMULATOR_TASK_RING_H
#define SKUA_BENCH_SIMULATOR_TASK_RING_H

#include <stdint.h>
#include <stdlib.h>

struct sim_task {
	uint64_t arrived_ns;
	uint64_t serial;
	uint32_t service_ns;
	uint16_t home;  /* the node on which it arrived or was forked */
	uint16_t depth; /* levels of a tree below it */
};

struct task_ring {
	struct sim_task *tasks;
	uint32_t capacity; /* a power of two, or 0 */
	uint32_t head, tail;
};

static inline uint32_t task_ring_length(const struct task_ring *ring)
{
	return ring->tail - ring->head;
}

/* Double the capacity. Ends the program if there is no memory, because the
 * simulation cannot go on without it. */
static inline void task_ring_grow(struct task_ring *ring)
{
	uint32_t capacity = ring->capacity ? 2 * ring->capacity : 16;
	struct sim_task *tasks = malloc(capacity * sizeof(*tasks));

	if (!tasks)
		abort();
	for (uint32_t i = ring->head; i != ring->tail; i++)
		tasks[i & (capacity - 1)] =
			ring->tasks[i & (ring->capacity - 1)];
	free(ring->tasks);
	ring->tasks = tasks;
	ring->capacity = capacity;
}

static inline void task_ring_push(struct task_ring *ring, struct sim_task task)
{
	if (task_ring_length(ring) == ring->capacity)
		task_ring_grow(ring);
	ring->tasks[ring->tail++ & (ring->capacity - 1)] = task;
}

static inline struct sim_task task_ring_oldest(struct task_ring *ring)
{
	return ring->tasks[ring->head++ & (ring->capacity - 1)];
}

static inline struct sim_task task_ring_newest(struct task_ring *ring)
{
	return ring->tasks[--ring->tail & (ring->capacity - 1)];
}

#endif
