/* SPDX-License-Identifier: MIT */
/* machine.c - see machine.h */
#include "topology/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine *machine_share(struct machine *machine)
{
	/* Relaxed: the caller is a user, so that the machine stays. */
	__atomic_fetch_add(&machine->sharers, 1, __ATOMIC_RELAXED);
	return machine;
}

void machine_free(struct machine *machine)
{
	/* Release: the reads of this user. Acquire, by the last user: the reads of all
	 * others. Pairs with itself. */
	if (!machine ||
	    __atomic_fetch_sub(&machine->sharers, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	free(machine->cpus);
	free(machine->nodes);
	free(machine->distances);
	free(machine->remarks);
	latency_free(machine->latency);
	free(machine->rows);
	free(machine);
}

int machine_vremark(struct machine *machine, const char *format, va_list args)
{
	char *old = machine->remarks, *longer, line[500];
	size_t length = old ? strlen(old) : 0;

	vsnprintf(line, sizeof(line), format, args);
	longer = realloc(old, length + strlen(line) + 2);
	if (!longer)
		return -ENOMEM;
	sprintf(longer + length, "%s\n", line);
	machine->remarks = longer;
	return 0;
}

int machine_remark(struct machine *machine, const char *format, ...)
{
	va_list args;
	int code;

	va_start(args, format);
	code = machine_vremark(machine, format, args);
	va_end(args);
	return code;
}

static int by_cpu(const void *a, const void *b)
{
	const struct skua_cpu *left = a, *right = b;

	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

const struct skua_cpu *machine_cpu(const struct machine *machine, unsigned cpu)
{
	struct skua_cpu wanted = { .cpu = cpu };

	return bsearch(&wanted, machine->cpus, machine->cpu_count,
		       sizeof(*machine->cpus), by_cpu);
}

static unsigned node_index(const struct machine *machine, unsigned node)
{
	unsigned i = 0;

	while (i + 1 < machine->node_count && machine->nodes[i].node != node)
		i++;
	return i;
}

unsigned machine_distance(const struct machine *machine, unsigned from,
			  unsigned to)
{
	return machine
		->distances[node_index(machine, from) * machine->node_count +
			    node_index(machine, to)];
}
