/* SPDX-License-Identifier: MIT */
/**
 * explore_race.c - races between plain accesses
 *
 * Each access opens a new epoch of its thread. An earlier access of another
 * thread happened before this one if this thread's view has reached that
 * epoch; of each variable it is enough to keep the last write, and each
 * thread's last read.
 */
#include "tests/model/explore_memory.h"

#include <string.h>

#define VARIABLES 128
#define WATCHED   16 /* ranges */
#define FREED     16

struct variable {
	const volatile void *address;
	unsigned writer;
	uint16_t written;       /* epoch of its last write; 0 for none */
	uint16_t read[THREADS]; /* each one's last read; 0 for none */
};

struct range {
	uintptr_t begin;
	uintptr_t end;
};

static struct {
	unsigned count;
	struct variable variables[VARIABLES];
	unsigned watched;
	struct range ranges[WATCHED];
	unsigned freed_count;
	struct range freed[FREED];
} race;

void race_reset(void)
{
	race.count = 0;
	race.watched = 0;
	race.freed_count = 0;
}

static struct variable *find(const volatile void *address)
{
	for (unsigned i = 0; i < race.count; i++)
		if (race.variables[i].address == address)
			return &race.variables[i];
	if (race.count == VARIABLES)
		explore_fail(EXPLORE_SITE("VARIABLES"),
			     "too many plain variables");
	race.variables[race.count] = (struct variable){ .address = address };
	return &race.variables[race.count++];
}

/* Did the epoch of that thread happen before what the current one does? */
static bool happened(unsigned thread, uint16_t epoch)
{
	return memory_view()->epoch[thread] >= epoch;
}

uint16_t explore_race_mark(void)
{
	return memory_tick();
}

struct explore_moment explore_moment(void)
{
	return (struct explore_moment){ thread_current(), memory_tick() };
}

bool explore_happened(struct explore_moment moment)
{
	return happened(moment.thread, moment.epoch);
}

void explore_race_read_at(const volatile void *address, uint16_t mark,
			  const struct explore_site *site)
{
	struct variable *variable = find(address);

	trace(site, "read", address, 0, "plain");
	if (!happened(variable->writer, variable->written))
		explore_fail(site, "data race: a read beside a write");
	variable->read[thread_current()] = mark;
}

void explore_race_read(const volatile void *address,
		       const struct explore_site *site)
{
	explore_race_read_at(address, explore_race_mark(), site);
}

void explore_race_write(const volatile void *address,
			const struct explore_site *site)
{
	struct variable *variable = find(address);

	trace(site, "write", address, 0, "plain");
	if (!happened(variable->writer, variable->written))
		explore_fail(site, "data race: two writes");
	for (unsigned id = 0; id < THREADS; id++)
		if (!happened(id, variable->read[id]))
			explore_fail(site, "data race: a write beside a read");
	variable->writer = thread_current();
	variable->written = memory_tick();
}

/* ---- watched ------------------------------------------------------------- */

void explore_watch(const volatile void *address, size_t size)
{
	uintptr_t begin = (uintptr_t)address;

	if (race.watched == WATCHED)
		explore_fail(EXPLORE_SITE("WATCHED"), "too much to watch");
	race.ranges[race.watched++] = (struct range){ begin, begin + size };
}

static bool within(const struct range *ranges, unsigned count,
		   const volatile void *address)
{
	uintptr_t at = (uintptr_t)address;

	for (unsigned i = 0; i < count; i++)
		if (at >= ranges[i].begin && at < ranges[i].end)
			return true;
	return false;
}

void race_check_freed(const volatile void *address,
		      const struct explore_site *site)
{
	if (within(race.freed, race.freed_count, address))
		explore_fail(site, "access to freed memory");
}

void explore_free(const volatile void *address, size_t size)
{
	uintptr_t begin = (uintptr_t)address;
	struct range range = { begin, begin + size };

	if (race.freed_count == FREED)
		explore_fail(EXPLORE_SITE("FREED"), "too much is freed");
	race_check_freed(address, EXPLORE_SITE("explore_free"));
	for (unsigned i = 0; i < race.count; i++)
		if (within(&range, 1, race.variables[i].address))
			explore_race_write(race.variables[i].address,
					   EXPLORE_SITE("explore_free"));
	race.freed[race.freed_count++] = range;
}

static void watched_read(const void *address)
{
	race_check_freed(address, EXPLORE_SITE("plain"));
	if (within(race.ranges, race.watched, address))
		explore_race_read(address, EXPLORE_SITE("watched"));
}

static void watched_write(const void *address)
{
	race_check_freed(address, EXPLORE_SITE("plain"));
	if (within(race.ranges, race.watched, address))
		explore_race_write(address, EXPLORE_SITE("watched"));
}

/* Called by the compiler; of a larger object its first byte stands for it. */
void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int value, size_t size);

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

void *__tsan_memcpy(void *to, const void *from, size_t size)
{
	watched_read(from);
	watched_write(to);
	return memcpy(to, from, size);
}

void *__tsan_memset(void *to, int value, size_t size)
{
	watched_write(to);
	return memset(to, value, size);
}

#define ACCESSES(SIZE)                                          \
	void __tsan_read##SIZE(const void *address);            \
	void __tsan_write##SIZE(const void *address);           \
	void __tsan_unaligned_read##SIZE(const void *address);  \
	void __tsan_unaligned_write##SIZE(const void *address); \
	void __tsan_read##SIZE(const void *address)             \
	{                                                       \
		watched_read(address);                          \
	}                                                       \
	void __tsan_write##SIZE(const void *address)            \
	{                                                       \
		watched_write(address);                         \
	}                                                       \
	void __tsan_unaligned_read##SIZE(const void *address)   \
	{                                                       \
		watched_read(address);                          \
	}                                                       \
	void __tsan_unaligned_write##SIZE(const void *address)  \
	{                                                       \
		watched_write(address);                         \
	}

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

/* Ranges, as of a struct that is copied. */
void __tsan_read_range(const void *address, size_t size);
void __tsan_write_range(const void *address, size_t size);

void __tsan_read_range(const void *address, size_t size)
{
	(void)size;
	watched_read(address);
}

void __tsan_write_range(const void *address, size_t size)
{
	(void)size;
	watched_write(address);
}
