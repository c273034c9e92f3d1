/* SPDX-License-Identifier: MIT */
/* work_pool.c - see work_pool.h */
#include "bench/mpi/work_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void work_pool_init(struct work_pool *pool, size_t part_bytes,
		    unsigned searchers, struct skua_event *changed)
{
	*pool = (struct work_pool){
		.part_bytes = part_bytes,
		.searchers = searchers,
		.changed = changed,
	};
}

void work_pool_free(struct work_pool *pool)
{
	free(pool->parts);
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

static bool is_idle_locked(const struct work_pool *pool)
{
	return pool->count == 0 &&
	       (pool->over || pool->waiting == pool->searchers);
}

static void set_missing_locked(struct work_pool *pool)
{
	size_t wanted = (size_t)pool->waiting + pool->asked;
	size_t missing = wanted > pool->count ? wanted - pool->count : 0;

	__atomic_store_n(&pool->missing, (unsigned)missing, __ATOMIC_RELAXED);
}

static int make_room_locked(struct work_pool *pool, size_t count)
{
	size_t capacity = pool->capacity > 0 ? pool->capacity : 64;
	char *parts;

	if (pool->count + count <= pool->capacity)
		return 0;
	while (capacity < pool->count + count)
		capacity *= 2;
	parts = reallocarray(pool->parts, capacity, pool->part_bytes);
	if (!parts)
		return -ENOMEM;
	pool->parts = parts;
	pool->capacity = capacity;
	return 0;
}

int work_pool_put(struct work_pool *pool, const void *parts, size_t count)
{
	int err;

	lock(pool);
	err = make_room_locked(pool, count);
	if (err == 0) {
		memcpy(pool->parts + pool->count * pool->part_bytes, parts,
		       count * pool->part_bytes);
		pool->count += count;
		set_missing_locked(pool);
		if (pool->asked > 0)
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
	pool->waiting++;
	set_missing_locked(pool);
	if (is_idle_locked(pool))
		skua_event_set(pool->changed);
	while (pool->count == 0 && !pool->over)
		(void)skua_condition_wait(&pool->more, &pool->lock,
					  SKUA_FOREVER_NS);
	pool->waiting--;
	found = pool->count > 0;
	if (found)
		memcpy(part, pool->parts + --pool->count * pool->part_bytes,
		       pool->part_bytes);
	set_missing_locked(pool);
	unlock(pool);
	return found;
}

void work_pool_ask(struct work_pool *pool)
{
	lock(pool);
	pool->asked++;
	set_missing_locked(pool);
	unlock(pool);
}

/* Give the oldest parts away: they are the largest. */
static unsigned take_oldest_locked(struct work_pool *pool, void *parts,
				   unsigned max)
{
	size_t count = (pool->count + 1) / 2;
	size_t bytes;

	if (count > max)
		count = max;
	bytes = count * pool->part_bytes;
	memcpy(parts, pool->parts, bytes);
	pool->count -= count;
	memmove(pool->parts, pool->parts + bytes,
		pool->count * pool->part_bytes);
	return (unsigned)count;
}

int work_pool_answer(struct work_pool *pool, void *parts, unsigned max)
{
	int count = -EAGAIN;

	lock(pool);
	if (pool->count > 0)
		count = (int)take_oldest_locked(pool, parts, max);
	else if (is_idle_locked(pool))
		count = 0;
	if (count >= 0)
		pool->asked--;
	set_missing_locked(pool);
	unlock(pool);
	return count;
}

bool work_pool_idle(struct work_pool *pool)
{
	bool idle;

	lock(pool);
	idle = is_idle_locked(pool);
	unlock(pool);
	return idle;
}

void work_pool_end(struct work_pool *pool)
{
	lock(pool);
	pool->over = true;
	skua_condition_broadcast(&pool->more);
	unlock(pool);
}
