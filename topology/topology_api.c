/* SPDX-License-Identifier: MIT */
/* topology_api.c - the functions of skua/topology.h */
#include "skua/topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skua/runtime.h"
#include "topology/error.h"
#include "topology/machine.h"
#include "topology/machine_measure.h"
#include "topology/placement.h"
#include "topology/snapshot.h"
#include "topology/steal_order.h"

/* struct skua_topology is the public name of struct machine. */
static const struct machine *machine_of(const struct skua_topology *topology)
{
	return (const struct machine *)topology;
}

int skua_topology_load(struct skua_topology **out, const char *root,
		       struct skua_error *err)
{
	int saved = errno; /* the library never sets it */
	struct machine *machine;
	int code;

	if (!out)
		return error_set(err, -EINVAL, "out is NULL");
	code = machine_load(&machine, root ? root : "/", err);
	*out = (struct skua_topology *)machine;
	errno = saved;
	return code;
}

void skua_topology_free(struct skua_topology *topology)
{
	machine_free((struct machine *)topology);
}

unsigned skua_topology_cpus(const struct skua_topology *topology,
			    const struct skua_cpu **cpus)
{
	*cpus = machine_of(topology)->cpus;
	return machine_of(topology)->cpu_count;
}

unsigned skua_topology_nodes(const struct skua_topology *topology,
			     const struct skua_numa_node **nodes)
{
	*nodes = machine_of(topology)->nodes;
	return machine_of(topology)->node_count;
}

unsigned skua_topology_distance(const struct skua_topology *topology,
				unsigned from, unsigned to)
{
	return machine_distance(machine_of(topology), from, to);
}

const char *skua_topology_remarks(const struct skua_topology *topology)
{
	return machine_of(topology)->remarks;
}

int skua_topology_measure(struct skua_topology *topology, uint64_t budget_ns,
			  struct skua_error *err)
{
	int saved = errno;
	int code;

	if (!topology)
		return error_set(err, -EINVAL, "topology is NULL");
	if (budget_ns > SKUA_MAX_MEASURE_NS)
		return error_set(err, -EINVAL,
				 "budget_ns: %" PRIu64 ", allowed are 1 to "
				 "%" PRIu64 ", or 0 for %" PRIu64,
				 budget_ns, SKUA_MAX_MEASURE_NS,
				 MACHINE_MEASURE_NS);
	code = machine_measure((struct machine *)topology, NULL,
			       budget_ns ? budget_ns : MACHINE_MEASURE_NS, err);
	errno = saved;
	return code;
}

unsigned skua_topology_latency(const struct skua_topology *topology,
			       unsigned cpu, unsigned other)
{
	return machine_latency(machine_of(topology), cpu, other);
}

int skua_topology_steal_order(const struct skua_topology *topology,
			      const unsigned *cpus, unsigned workers,
			      unsigned thief, unsigned *victims)
{
	int saved = errno;
	struct steal_order order;
	int code;

	if (!topology || !cpus || !victims || thief >= workers)
		return -EINVAL;
	code = steal_order_make(&order, machine_of(topology), cpus, workers,
				thief);
	if (!code) {
		memcpy(victims, order.victims, order.count * sizeof(*victims));
		steal_order_free(&order);
	}
	errno = saved;
	return code;
}

/* plan - place one worker on each place of the policy */
static int plan(struct placement *out, const struct machine *machine,
		enum skua_placement placement)
{
	struct cpu_list all = { .cpus = malloc(machine->cpu_count *
					       sizeof(*all.cpus)),
				.count = machine->cpu_count };
	const struct placement_request request = { .machine = machine,
						   .cpus = &all,
						   .policy = placement,
						   .max_workers =
							   SKUA_MAX_WORKERS };
	int code;

	for (unsigned i = 0; all.cpus && i < all.count; i++)
		all.cpus[i] = machine->cpus[i].cpu;
	code = all.cpus ? placement_make(out, &request) : -ENOMEM;
	cpu_list_free(&all);
	return code;
}

int skua_topology_plan(const struct skua_topology *topology,
		       enum skua_placement placement, unsigned *cpus,
		       unsigned room, enum skua_binding *binding)
{
	int saved = errno;
	struct placement made;
	int code;

	if (!topology || (unsigned)placement >= SKUA_PLACE_LISTED)
		return -EINVAL;
	code = plan(&made, machine_of(topology), placement);
	if (!code) {
		code = (int)placement_tell(&made, cpus, room);
		if (binding)
			*binding = made.binding;
		placement_free(&made);
	}
	errno = saved;
	return code;
}

static int save(const char *path, const char *root, struct skua_error *err)
{
	FILE *file = fopen(path, "wxe");
	bool created = file != NULL;
	int code;

	if (!file && errno == EEXIST)
		file = fopen(path, "we");
	if (!file)
		return error_set(err, -errno, "%s: %s", path, strerror(errno));
	code = snapshot_save(file, root, err);
	if (fclose(file) && !code)
		code = error_set(err, -EIO, "%s: not all of it was written",
				 path);
	/* A path that existed before may be a link or a device: keep it. */
	if (code && created)
		remove(path);
	return code;
}

int skua_topology_save(const char *path, const char *root,
		       struct skua_error *err)
{
	int saved = errno;
	int code;

	if (!path)
		return error_set(err, -EINVAL, "path is NULL");
	if (!root)
		root = "/";
	code = strcmp(path, "-") == 0 ? snapshot_save(stdout, root, err)
				      : save(path, root, err);
	errno = saved;
	return code;
}
