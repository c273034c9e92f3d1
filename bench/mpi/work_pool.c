/* SPDX-License-Identifier: MIT */
/* work_pool.c - see work_pool.h */
#include "bench/mpi/work_pool.h"

void work_pool_init(struct work_pool *pool, size_t part_bytes,
		    unsigned searchers, struct skua_event *changed)
{
	*pool = (struct work_pool){
		.list = { .part_bytes = part_bytes, .searchers = searchers },
		.changed = changed,
	};
}

void work_pool_free(struct work_pool *pool)
{
	part_list_free(&pool->list);
}

/* The waits below have no deadline, and no caller is cancelled: they return 0. */
static void lock(struct work_pool *pool)
{
	(void)skua_mutex_lock(&pool->lock, SKUA_FOREVER_NS);
}

static void unlock(struct work_pool *pool)
{
	(void)skua_mutex_unlock(&pool->lock);
}

static void set_missing_locked(struct work_pool *pool)
{
	__atomic_store_n(&pool->missing,
			 (unsigned)part_list_missing(&pool->list),
			 __ATOMIC_RELAXED);
}

int work_pool_put(struct work_pool *pool, const void *parts, size_t count)
{
	int err;

	lock(pool);
	err = part_list_put(&pool->list, parts, count);
	if (err == 0) {
		set_missing_locked(pool);
		if (pool->list.asked > 0)
			skua_event_set(pool->changed);
		if (count > 1)
			skua_condition_broadcast(&pool->more);
		else
			skua_condition_signal(&pool->more);
	}
	unlock(pool);
	return err;
}

bool work_pool_take(struct work_pool *pool, void *part)
{
	bool found;

	lock(pool);
	pool->list.waiting++;
	set_missing_locked(pool);
	if (part_list_idle(&pool->list))
		skua_event_set(pool->changed);
	while (pool->list.count == 0 && !pool->list.over)
		(void)skua_condition_wait(&pool->more, &pool->lock,
					  SKUA_FOREVER_NS);
	pool->list.waiting--;
	found = part_list_take(&pool->list, part);
	set_missing_locked(pool);
	unlock(pool);
	return found;
}

void work_pool_ask(struct work_pool *pool, unsigned parts)
{
	lock(pool);
	pool->list.asked += parts;
	set_missing_locked(pool);
	unlock(pool);
}

int work_pool_answer(struct work_pool *pool, void *parts, unsigned wanted,
		     unsigned max)
{
	int count;

	lock(pool);
	count = part_list_answer(&pool->list, parts, wanted, max);
	set_missing_locked(pool);
	unlock(pool);
	return count;
}

unsigned work_pool_waiting(struct work_pool *pool)
{
	unsigned waiting;

	lock(pool);
	waiting = pool->list.waiting;
	unlock(pool);
	return waiting;
}

bool work_pool_idle(struct work_pool *pool)
{
	bool idle;

	lock(pool);
	idle = part_list_idle(&pool->list);
	unlock(pool);
	return idle;
}

void work_pool_end(struct work_pool *pool)
{
	lock(pool);
	pool->list.over = true;
	skua_condition_broadcast(&pool->more);
	unlock(pool);
}
