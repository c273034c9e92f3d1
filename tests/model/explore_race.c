/* SPDX-License-Identifier: MIT */
/**
 * explore_race.c - races between marked plain accesses
 *
 * Each access opens a new epoch of its thread. An earlier access of another
 * thread happened before this one if this thread's view has reached that
 * epoch; of each variable it is enough to keep the last write, and each
 * thread's last read.
 */
#include "tests/model/explore_memory.h"

#include <string.h>

#define VARIABLES 64

struct variable {
	const volatile void *address;
	unsigned writer;
	uint16_t written;       /* epoch of its last write; 0 for none */
	uint16_t read[THREADS]; /* each one's last read; 0 for none */
};

static struct {
	unsigned count;
	struct variable variables[VARIABLES];
} race;

void race_reset(void)
{
	race.count = 0;
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

void explore_race_read(const volatile void *address,
		       const struct explore_site *site)
{
	struct variable *variable = find(address);

	trace(site, "read", address, 0, "plain");
	if (!happened(variable->writer, variable->written))
		explore_fail(site, "data race: a read beside a write");
	variable->read[thread_current()] = memory_tick();
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
