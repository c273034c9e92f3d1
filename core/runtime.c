/* SPDX-License-Identifier: MIT */
/* runtime.c - the life of a runtime */
#include "core/runtime.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Zeroed memory of @count elements, aligned as @align asks; for free(). */
static void *allocate(size_t align, size_t count, size_t size)
{
	size_t bytes = count * size;
	void *memory;

	bytes = (bytes + align - 1) / align * align;
	memory = aligned_alloc(align, bytes);
	return memory ? memset(memory, 0, bytes) : NULL;
}

static void free_memory(struct skua_runtime *rt)
{
	struct worker *workers = rt->pool.workers;

	for (unsigned i = 0; workers && i < rt->config.workers; i++)
		free(workers[i].queue);
	free(workers);
	free(rt->pool.idle.sleepers);
	free(rt->threads);
	config_free(&rt->config);
	free(rt);
}

static int init_workers(struct skua_runtime *rt)
{
	struct pool *pool = &rt->pool;
	uint32_t capacity = rt->config.queue_capacity;

	for (unsigned i = 0; i < rt->config.workers; i++) {
		struct local_queue *queue =
			allocate(CACHE_PAIR, 1, local_queue_size(capacity));

		if (!queue)
			return -ENOMEM;
		local_queue_init(queue, capacity, 0);
		worker_init(&pool->workers[i], pool, i, queue);
	}
	return 0;
}

/* All the memory that the runtime ever uses. */
static int init_memory(struct skua_runtime *rt)
{
	struct pool *pool = &rt->pool;
	unsigned count = rt->config.workers;
	struct idle_sleeper *sleepers =
		allocate(CACHE_PAIR, count, sizeof(*sleepers));

	pool->workers = allocate(CACHE_PAIR, count, sizeof(*pool->workers));
	pool->idle.sleepers = sleepers;
	rt->threads = calloc(count, sizeof(*rt->threads));
	if (!sleepers || !pool->workers || !rt->threads)
		return -ENOMEM;

	pool->worker_count = count;
	pool->steal_attempts = rt->config.steal_attempts;
	inject_queue_init(&pool->inject);
	idle_init(&pool->idle, count, sleepers);
	atomic_init(&pool->spawned_outside, 0);
	atomic_init(&pool->refused, 0);
	atomic_init(&pool->closing, 0);
	atomic_init(&pool->stopping, 0);
	atomic_init(&pool->drainers, 0);
	atomic_init(&pool->drain_epoch, 0);
	return init_workers(rt);
}

static void *thread_main(void *arg)
{
	struct worker *worker = arg;
	char name[16];

	snprintf(name, sizeof(name), "skua-%u", worker->index);
	pthread_setname_np(pthread_self(), name);
	worker_run(worker);
	return NULL;
}

/* The CPUs of worker @i: one each, and the whole list for the surplus. */
static int place(const struct config *config, unsigned i, pthread_attr_t *attr)
{
	const struct cpu_list *cpus = &config->cpus;
	unsigned limit = cpus->cpus[cpus->count - 1] + 1;
	size_t size = CPU_ALLOC_SIZE(limit);
	cpu_set_t *set = CPU_ALLOC(limit);
	int code;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	for (unsigned n = 0; n < cpus->count; n++) {
		if (!config->pinned || i >= cpus->count || n == i)
			CPU_SET_S(cpus->cpus[n], size, set);
	}
	code = -pthread_attr_setaffinity_np(attr, size, set);
	CPU_FREE(set);
	return code;
}

static int start_thread(struct skua_runtime *rt, unsigned i)
{
	pthread_attr_t attr;
	int code = -pthread_attr_init(&attr);

	if (code)
		return code;
	code = place(&rt->config, i, &attr);
	if (!code)
		code = -pthread_create(&rt->threads[i], &attr, thread_main,
				       &rt->pool.workers[i]);
	pthread_attr_destroy(&attr);
	return code;
}

/* Start the workers with all signals blocked: a signal that is meant for the
 * program is none of theirs. */
static int start_threads(struct skua_runtime *rt, struct skua_error *err)
{
	sigset_t all;
	sigset_t before;
	int code = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!code && rt->thread_count < rt->config.workers) {
		code = start_thread(rt, rt->thread_count);
		if (code)
			error_set(err, code,
				  "workers: thread %u of %u not created: %s",
				  rt->thread_count + 1, rt->config.workers,
				  strerror(-code));
		else
			rt->thread_count++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

static void stop_threads(struct skua_runtime *rt)
{
	pool_stop(&rt->pool);
	for (unsigned i = 0; i < rt->thread_count; i++)
		pthread_join(rt->threads[i], NULL);
}

int skua_runtime_create(struct skua_runtime **out,
			const struct skua_config *cfg, struct skua_error *err)
{
	struct skua_runtime *rt;
	int code;

	if (!out)
		return error_set(err, -EINVAL,
				 "out: NULL, needed is a place "
				 "for the runtime");
	*out = NULL;
	rt = allocate(CACHE_PAIR, 1, sizeof(*rt));
	if (!rt)
		return error_set(err, -ENOMEM, "out of memory");
	code = config_resolve(&rt->config, cfg, err);
	if (code) {
		free(rt);
		return code;
	}
	code = init_memory(rt);
	if (code)
		error_set(err, code, "out of memory for %u workers",
			  rt->config.workers);
	else
		code = start_threads(rt, err);
	if (code) {
		stop_threads(rt);
		free_memory(rt);
		return code;
	}
	*out = rt;
	return 0;
}

int skua_runtime_drain(struct skua_runtime *rt)
{
	if (!rt)
		return -EINVAL;
	if (worker_current)
		return -EDEADLK;
	pool_wait_drained(&rt->pool);
	return 0;
}

int skua_runtime_destroy(struct skua_runtime *rt)
{
	if (!rt)
		return -EINVAL;
	if (worker_current)
		return -EDEADLK;
	pool_close(&rt->pool);
	pool_wait_drained(&rt->pool);
	stop_threads(rt);
	free_memory(rt);
	return 0;
}

unsigned skua_runtime_workers(const struct skua_runtime *rt)
{
	return rt ? rt->pool.worker_count : 0;
}

int skua_worker_index(const struct skua_runtime *rt)
{
	const struct worker *worker;

	if (!rt)
		return -EINVAL;
	worker = runtime_worker(rt);
	return worker ? (int)worker->index : -ENOENT;
}
