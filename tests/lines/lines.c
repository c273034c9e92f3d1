/* SPDX-License-Identifier: MIT */
/* lines.c - see lines.h */
#include "tests/lines/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_LINES = 1 << 20, TOUCHED_MAX = 1 << 16 };

struct line {
	uint8_t owner; /* enum lines_owner */
	bool written;
	bool touched; /* by this operation */
	uint16_t index;
};

static struct {
	uintptr_t from;
	size_t count; /* lines */
	bool watches;
	bool acts;
	bool shows;
	unsigned touched_count;
	uint32_t touched[TOUCHED_MAX];
	struct line lines[MEMORY_LINES];
	uint64_t now_ns;
} all;

void lines_reset(const void *memory, size_t bytes)
{
	all.from = (uintptr_t)memory;
	all.count = bytes / LINE_BYTES;
	if (all.from % LINE_BYTES != 0 || all.count > MEMORY_LINES)
		abort();
	memset(all.lines, 0, all.count * sizeof(all.lines[0]));
	all.now_ns = NS_PER_S;
}

void lines_own(const void *memory, size_t bytes, enum lines_owner owner,
	       unsigned index)
{
	size_t first = ((uintptr_t)memory - all.from) / LINE_BYTES;
	size_t last = ((uintptr_t)memory + bytes - 1 - all.from) / LINE_BYTES;

	if (last >= all.count)
		abort();
	for (size_t i = first; i <= last; i++) {
		all.lines[i].owner = (uint8_t)owner;
		all.lines[i].index = (uint16_t)index;
	}
}

void lines_watch(bool on)
{
	all.watches = on;
}

void lines_show(bool on)
{
	all.shows = on;
}

void lines_begin(void)
{
	for (unsigned i = 0; i < all.touched_count; i++)
		all.lines[all.touched[i]].touched = false;
	all.touched_count = 0;
	all.acts = true;
}

static void show(unsigned i)
{
	static const char *const owners[] = { "-", "worker", "group", "all" };

	if (all.shows)
		printf("  line %#x of %s %u\n", i * LINE_BYTES,
		       owners[all.lines[i].owner], all.lines[i].index);
}

struct lines lines_end(int worker, unsigned group,
		       unsigned (*group_of)(unsigned worker))
{
	struct lines count = { 0, 0, 0 };

	all.acts = false;
	for (unsigned i = 0; i < all.touched_count; i++) {
		const struct line *line = &all.lines[all.touched[i]];
		unsigned of = line->owner == LINES_WORKER
				      ? group_of(line->index)
				      : line->index;

		if (!line->written || line->owner == LINES_NOBODY ||
		    (line->owner == LINES_WORKER && line->index == worker))
			continue;
		show(all.touched[i]);
		count.all += line->owner == LINES_ALL;
		count.group += line->owner != LINES_ALL && of == group;
		count.other += line->owner != LINES_ALL && of != group;
	}
	return count;
}

static void touch(const volatile void *memory, size_t bytes, bool write)
{
	uintptr_t from = (uintptr_t)memory - all.from;
	size_t last = (from + bytes - 1) / LINE_BYTES;

	if ((uintptr_t)memory < all.from || last >= all.count || !all.watches)
		return;
	for (size_t i = from / LINE_BYTES; i <= last; i++) {
		struct line *line = &all.lines[i];

		line->written |= write;
		if (!all.acts || line->touched)
			continue;
		line->touched = true;
		if (all.touched_count == TOUCHED_MAX)
			abort();
		all.touched[all.touched_count++] = (uint32_t)i;
	}
}

uint64_t clock_now_ns(void)
{
	return all.now_ns += 50;
}

/* ---- what the compiler calls -------------------------------------------------- */

/* The names are the compiler's. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

void __tsan_init(void)
{
}
void __tsan_func_entry(void *caller)
{
	(void)caller;
}
void __tsan_func_exit(void)
{
}

#define PLAIN(bytes)                                \
	void __tsan_read##bytes(void *p)            \
	{                                           \
		touch(p, (bytes), false);           \
	}                                           \
	void __tsan_write##bytes(void *p)           \
	{                                           \
		touch(p, (bytes), true);            \
	}                                           \
	void __tsan_unaligned_read##bytes(void *p)  \
	{                                           \
		touch(p, (bytes), false);           \
	}                                           \
	void __tsan_unaligned_write##bytes(void *p) \
	{                                           \
		touch(p, (bytes), true);            \
	}                                           \
	void __tsan_volatile_read##bytes(void *p)   \
	{                                           \
		touch(p, (bytes), false);           \
	}                                           \
	void __tsan_volatile_write##bytes(void *p)  \
	{                                           \
		touch(p, (bytes), true);            \
	}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *p, size_t bytes)
{
	touch(p, bytes, false);
}

void __tsan_write_range(void *p, size_t bytes)
{
	touch(p, bytes, true);
}

/* An order that is stronger than asked for: there is one thread. */
#define UPDATE(bits, name)                                                   \
	uint##bits##_t __tsan_atomic##bits##_##name(                         \
		volatile uint##bits##_t *p, uint##bits##_t value, int order) \
	{                                                                    \
		(void)order;                                                 \
		touch(p, sizeof(*p), true);                                  \
		return __atomic_##name(p, value, __ATOMIC_SEQ_CST);          \
	}

#define EXCHANGE(bits, strength)                                              \
	int __tsan_atomic##bits##_compare_exchange_##strength(                \
		volatile uint##bits##_t *p, uint##bits##_t *expected,         \
		uint##bits##_t value, int success, int failure)               \
	{                                                                     \
		(void)success;                                                \
		(void)failure;                                                \
		touch(p, sizeof(*p), true);                                   \
		return __atomic_compare_exchange_n(p, expected, value, false, \
						   __ATOMIC_SEQ_CST,          \
						   __ATOMIC_SEQ_CST);         \
	}

/* clang's form: returns what was there. */
#define EXCHANGE_VALUE(bits)                                         \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(   \
		volatile uint##bits##_t *p, uint##bits##_t expected, \
		uint##bits##_t value, int success, int failure)      \
	{                                                            \
		__tsan_atomic##bits##_compare_exchange_strong(       \
			p, &expected, value, success, failure);      \
		return expected;                                     \
	}

#define ATOMIC(bits)                                                         \
	uint##bits##_t __tsan_atomic##bits##_load(                           \
		const volatile uint##bits##_t *p, int order)                 \
	{                                                                    \
		(void)order;                                                 \
		touch(p, sizeof(*p), false);                                 \
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);                 \
	}                                                                    \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *p,         \
					 uint##bits##_t value, int order)    \
	{                                                                    \
		(void)order;                                                 \
		touch(p, sizeof(*p), true);                                  \
		__atomic_store_n(p, value, __ATOMIC_SEQ_CST);                \
	}                                                                    \
	uint##bits##_t __tsan_atomic##bits##_exchange(                       \
		volatile uint##bits##_t *p, uint##bits##_t value, int order) \
	{                                                                    \
		(void)order;                                                 \
		touch(p, sizeof(*p), true);                                  \
		return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);      \
	}                                                                    \
	UPDATE(bits, fetch_add)                                              \
	UPDATE(bits, fetch_sub)                                              \
	UPDATE(bits, fetch_or)                                               \
	UPDATE(bits, fetch_and)                                              \
	UPDATE(bits, fetch_xor)                                              \
	EXCHANGE(bits, strong)                                               \
	EXCHANGE(bits, weak)                                                 \
	EXCHANGE_VALUE(bits)

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

/* clang calls these for large copies. */
void *__tsan_memset(void *p, int value, size_t bytes)
{
	touch(p, bytes, true);
	return memset(p, value, bytes);
}

void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
	touch(from, bytes, false);
	touch(to, bytes, true);
	return memcpy(to, from, bytes);
}

void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
	touch(from, bytes, false);
	touch(to, bytes, true);
	return memmove(to, from, bytes);
}

void __tsan_atomic_thread_fence(int order)
{
	(void)order;
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}
