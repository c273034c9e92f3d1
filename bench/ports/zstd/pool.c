/* SPDX-License-Identifier: MIT */
/**
 * pool.c - the thread pool of zstd, as a runtime of skua
 *
 * Replaces lib/common/pool.c of zstd, and keeps its interface (pool.h). A pool is a
 * runtime. A job of zstd waits until the one before it has read its part, so jobs have
 * to begin in the order in which they were added. Tasks do not promise that: the jobs
 * are in a queue, and a task is a ticket, which runs the oldest job. The runtime has the
 * threads, their sleep and their end. This file adds the queue and its limit, by which
 * zstd bounds its memory.
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
	struct job *oldest, **end;
};

/* @uses: 2; one ends with the ticket, one with the job. The pool's lock guards it. */
struct job {
	struct skua_task ticket;
	struct POOL_ctx_s *pool;
	POOL_function run;
	void *arg;
	struct job *next;
	unsigned uses;
};

static const struct skua_task_type ticket_type = SKUA_TASK_TYPE("zstd_job");

static void drop(struct job *job)
{
	struct POOL_ctx_s *pool = job->pool;
	bool last;

	pthread_mutex_lock(&pool->lock);
	last = --job->uses == 0;
	pthread_mutex_unlock(&pool->lock);
	if (last)
		ZSTD_customFree(job, pool->mem);
}

/* There is a job for each ticket. */
static struct job *take_oldest(struct POOL_ctx_s *pool)
{
	struct job *job;

	pthread_mutex_lock(&pool->lock);
	job = pool->oldest;
	pool->oldest = job->next;
	if (!pool->oldest)
		pool->end = &pool->oldest;
	pthread_mutex_unlock(&pool->lock);
	return job;
}

static enum skua_poll poll_ticket(struct skua_task *task)
{
	struct POOL_ctx_s *pool =
		SKUA_CONTAINER_OF(task, struct job, ticket)->pool;
	struct job *job = take_oldest(pool);

	job->run(job->arg);
	pthread_mutex_lock(&pool->lock);
	pool->jobs--;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	drop(job);
	return SKUA_DONE;
}

static void release_ticket(struct skua_task *task)
{
	drop(SKUA_CONTAINER_OF(task, struct job, ticket));
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
	pool->end = &pool->oldest;
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

/* The caller holds the lock. */
static bool has_room(const POOL_ctx *pool)
{
	return pool->jobs < pool->threads + pool->queue;
}

/* Append a job if there is room, or if the caller waits until there is. Return: whether
 * it did. */
static bool append(struct job *job, bool wait)
{
	POOL_ctx *pool = job->pool;
	bool room;

	pthread_mutex_lock(&pool->lock);
	while (!has_room(pool) && wait)
		pthread_cond_wait(&pool->changed, &pool->lock);
	room = has_room(pool);
	if (room) {
		pool->jobs++;
		*pool->end = job;
		pool->end = &job->next;
	}
	pthread_mutex_unlock(&pool->lock);
	return room;
}

static int add(POOL_ctx *pool, POOL_function run, void *arg, bool wait)
{
	struct job *job = ZSTD_customCalloc(sizeof(*job), pool->mem);

	if (!job)
		abort(); /* POOL_add() cannot fail */
	job->pool = pool;
	job->run = run;
	job->arg = arg;
	job->uses = 2;
	if (!append(job, wait)) {
		ZSTD_customFree(job, pool->mem);
		return 0;
	}
	skua_task_init(&job->ticket, poll_ticket);
	skua_task_set_type(&job->ticket, &ticket_type);
	skua_task_detach(&job->ticket, release_ticket);
	if (skua_task_spawn(pool->rt, &job->ticket) < 0)
		abort();
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
