/* SPDX-License-Identifier: MIT */
/* wait_sample.c - see wait_sample.h */
#include "core/telemetry/wait_sample.h"

#include "core/base/clock.h"
#include "core/base/hot.h"

static unsigned place_of(const struct skua_task *task)
{
	/* Fibonacci hashing: the upper bits depend on all lower ones. */
	uint64_t hash = (uintptr_t)task * UINT64_C(0x9e3779b97f4a7c15);

	return (unsigned)(hash >> (64 - WAIT_SAMPLES_LOG));
}

HOT void wait_sample_put(struct wait_samples *samples, struct skua_task *task,
			 uint32_t weight, skua_task_fn instead)
{
	struct wait_sample *sample;
	uint32_t free = 0;

	if (!samples)
		return;
	sample = &samples->samples[place_of(task)];
	/* Acquire: the earlier reader of the sample has finished. Pairs with
	 * the release in wait_sample_take(). The task's queue publishes the
	 * fields that are written here. */
	if (!atomic_cas_acquire(&sample->taken, &free, 1))
		return;
	sample->weight = weight;
	sample->poll = task->poll;
	sample->since_ns = clock_now_ns();
	task->poll = instead;
}

HOT skua_task_fn wait_sample_take(struct wait_samples *samples,
				  struct skua_task *task, uint64_t *since_ns,
				  uint32_t *weight)
{
	struct wait_sample *sample = &samples->samples[place_of(task)];
	skua_task_fn poll = sample->poll;

	*since_ns = sample->since_ns;
	*weight = sample->weight;
	task->poll = poll;
	/* Release: this thread has finished reading the sample. Pairs with the
	 * acquire in wait_sample_put(). */
	atomic_store_release(&sample->taken, 0);
	return poll;
}

HOT skua_task_fn wait_sample_poll(const struct wait_samples *samples,
				  const struct skua_task *task)
{
	return samples->samples[place_of(task)].poll;
}
