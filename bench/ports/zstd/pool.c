/* SPDX-License-Identifier: MIT */
/**
 * pool.c - the thread pool of zstd, as a runtime of skua
 *
 * Replaces lib/common/pool.c of zstd, and keeps its interface (pool.h). A pool is a
 * runtime, a job is a task. The runtime has the queue, the threads, their sleep and
 * their end. This file adds the limit on the jobs that are not done, by which zstd
 * bounds its memory.
 */
#include <zstd_deps.h>
#include <zstd_internal.h>
#include <pool.h>

#include <pthread.h>
#include <skua/skua.h>

struct POOL_ctx_s {
	ZSTD_customMem mem;
	struct skua_runtime *rt;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a job is done, or the limit has changed */
	/* @lock guards the rest. */
	size_t threads, queue; /* the limit: threads + queue jobs */
	size_t jobs;           /* added, not done */
};

struct job {
	struct skua_task task;
	struct POOL_ctx_s *pool;
	POOL_function run;
	void *arg;
};

static const struct skua_task_type compress = SKUA_TASK_TYPE("zstd_job");

static enum skua_poll poll_job(struct skua_task *task)
{
	struct job *job = SKUA_CONTAINER_OF(task, struct job, task);

	job->run(job->arg);
	return SKUA_DONE;
}

static void release_job(struct skua_task *task)
{
	struct job *job = SKUA_CONTAINER_OF(task, struct job, task);
	struct POOL_ctx_s *pool = job->pool;

	ZSTD_customFree(job, pool->mem);
	pthread_mutex_lock(&pool->lock);
	pool->jobs--;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
}

POOL_ctx *POOL_create_advanced(size_t threads, size_t queue, ZSTD_customMem mem)
{
	struct skua_config cfg = SKUA_CONFIG_INIT;
	POOL_ctx *pool = threads ? ZSTD_customCalloc(sizeof(*pool), mem) : NULL;

	if (!pool)
		return NULL;
	/* Unpinned: zstd has a pool each for compression, reads and writes. */
	cfg.workers = (unsigned)threads;
	cfg.flags = SKUA_UNPINNED;
	if (skua_runtime_create(&pool->rt, &cfg, NULL) < 0) {
		ZSTD_customFree(pool, mem);
		return NULL;
	}
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	pool->mem = mem;
	pool->threads = threads;
	pool->queue = queue;
	return pool;
}

POOL_ctx *POOL_create(size_t threads, size_t queue)
{
	return POOL_create_advanced(threads, queue, ZSTD_defaultCMem);
}

ZSTD_threadPool *ZSTD_createThreadPool(size_t threads)
{
	return POOL_create(threads, 0);
}

void POOL_joinJobs(POOL_ctx *pool)
{
	skua_runtime_drain(pool->rt);
}

void POOL_free(POOL_ctx *pool)
{
	if (!pool)
		return;
	skua_runtime_destroy(pool->rt);
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->changed);
	ZSTD_customFree(pool, pool->mem);
}

void ZSTD_freeThreadPool(ZSTD_threadPool *pool)
{
	POOL_free(pool);
}

size_t POOL_sizeof(const POOL_ctx *pool)
{
	return pool ? sizeof(*pool) : 0;
}

/* A pool can shrink, and grow again. Beyond its first size it would need another
 * runtime: only programs that change the number of threads of a context ask for
 * that, and zstd then fails with an error. Return: 0, or 1 on failure. */
int POOL_resize(POOL_ctx *pool, size_t threads)
{
	if (!pool || !threads || threads > skua_runtime_workers(pool->rt))
		return 1;
	pthread_mutex_lock(&pool->lock);
	pool->threads = threads;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

/* Spawn a job if there is room, or if the caller waits until there is. */
static int add(POOL_ctx *pool, POOL_function run, void *arg, bool wait)
{
	struct job *job;
	bool room;

	pthread_mutex_lock(&pool->lock);
	while (!(room = pool->jobs < pool->threads + pool->queue) && wait)
		pthread_cond_wait(&pool->changed, &pool->lock);
	pool->jobs += room;
	pthread_mutex_unlock(&pool->lock);
	if (!room)
		return 0;
	job = ZSTD_customCalloc(sizeof(*job), pool->mem);
	if (!job)
		abort(); /* POOL_add() cannot fail */
	job->pool = pool;
	job->run = run;
	job->arg = arg;
	skua_task_init(&job->task, poll_job);
	skua_task_set_type(&job->task, &compress);
	skua_task_detach(&job->task, release_job);
	skua_task_spawn(pool->rt, &job->task);
	return 1;
}

void POOL_add(POOL_ctx *pool, POOL_function run, void *arg)
{
	add(pool, run, arg, true);
}

int POOL_tryAdd(POOL_ctx *pool, POOL_function run, void *arg)
{
	return add(pool, run, arg, false);
}
