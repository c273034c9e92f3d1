/* SPDX-License-Identifier: MIT */
/* rewrite_parts.h - the parts of a rewrite: its state, its new file (rewrite_file.c) */
#ifndef SKUA_BENCH_KV_REWRITE_PARTS_H
#define SKUA_BENCH_KV_REWRITE_PARTS_H

#include "bench/kv/log/log.h"

static inline void rewrite_lock(struct log *log)
{
	skua_mutex_lock(&log->lock, SKUA_FOREVER_NS);
}

static inline void rewrite_unlock(struct log *log)
{
	skua_mutex_unlock(&log->lock);
}

static inline enum rewrite_state rewrite_state_of(const struct rewrite *rewrite)
{
	/* Relaxed: decisions are made under the lock, or by the CAS of rewrite_ask(). */
	return __atomic_load_n(&rewrite->state, __ATOMIC_RELAXED);
}

static inline void rewrite_set_state(struct rewrite *rewrite,
				     enum rewrite_state state)
{
	/* Relaxed: see rewrite_state_of(). */
	__atomic_store_n(&rewrite->state, state, __ATOMIC_RELAXED);
}

static inline void rewrite_set_number(struct rewrite *rewrite, uint64_t number)
{
	/* Relaxed: see rewrite_number(). */
	__atomic_store_n(&rewrite->number, number, __ATOMIC_RELAXED);
}

static inline void rewrite_set_figure(uint64_t *figure, uint64_t value)
{
	/* Relaxed: a figure for INFO, which the rewriter alone changes. */
	__atomic_store_n(figure, value, __ATOMIC_RELAXED);
}

static inline uint64_t rewrite_figure(const uint64_t *field)
{
	/* Relaxed: see rewrite_set_figure(). */
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

/* rewrite_give_up_locked - give up a rewrite that has begun, unless it has succeeded. The caller
 * holds the lock of the log. Return: whether a rewrite had begun */
bool rewrite_give_up_locked(struct rewrite *rewrite, int error);

/* rewrite_wake_all - end the waits of a list */
void rewrite_wake_all(struct rewrite_waiter *waiter);

/* ---- the new file (rewrite_file.c) ------------------------------------------------ */

/* rewrite_file_create - create it, with the mode of the old one, and lock it for the time when it
 * is the log. Return: 0; a negative errno value, here and below */
int rewrite_file_create(struct log *log);

/* rewrite_file_write_copy - write what the copy has. It fails also if the rewrite is given up */
int rewrite_file_write_copy(struct log *log);

/* rewrite_file_sync - sync it */
int rewrite_file_sync(struct log *log);

/* rewrite_file_replace - write the rest, and give the new file the name of the old one */
int rewrite_file_replace(struct log *log);

#endif
