/* SPDX-License-Identifier: MIT */
/* topo_json.c - print a machine as JSON */
#include <jansson.h>
#include <stdlib.h>

#include "bpf/cli/json.h"
#include "bpf/topo/topo.h"

/* CPUs that share a core or a last-level cache. Groups are in the order of
 * their first CPUs. */
enum group { GROUP_CORE, GROUP_LLC };

static unsigned group_of(const struct skua_cpu *cpu, enum group group)
{
	return group == GROUP_CORE ? cpu->core : cpu->llc;
}

static json_t *numbers(const unsigned *values, unsigned count)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(array, json_count(values[i]));
	return array;
}

static json_t *cpus_json(const struct topo *topo)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < topo->cpu_count; i++) {
		const struct skua_cpu *cpu = &topo->cpus[i];

		json_array_append_new(
			array, json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}",
					 "cpu", json_count(cpu->cpu), "core",
					 json_count(cpu->core), "llc",
					 json_count(cpu->llc), "node",
					 json_count(cpu->node), "capacity",
					 json_count(cpu->capacity), "isolated",
					 cpu->isolated));
	}
	return array;
}

static json_t *groups_json(const struct topo *topo, enum group group,
			   const char *name)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < topo->cpu_count; i++) {
		unsigned first = topo->cpus[i].cpu;
		json_t *members;

		if (group_of(&topo->cpus[i], group) != first)
			continue;
		members = json_array();
		for (unsigned k = i; k < topo->cpu_count; k++)
			if (group_of(&topo->cpus[k], group) == first)
				json_array_append_new(
					members, json_count(topo->cpus[k].cpu));
		json_array_append_new(array,
				      json_pack("{s:o, s:o, s:o}", name,
						json_count(first), "node",
						json_count(topo->cpus[i].node),
						"cpus", members));
	}
	return array;
}

static json_t *nodes_json(const struct topo *topo)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < topo->node_count; i++)
		json_array_append_new(
			array,
			json_pack("{s:o, s:o, s:o}", "node",
				  json_count(topo->nodes[i].node), "cpus",
				  json_count(topo->nodes[i].cpus),
				  "memory_bytes",
				  json_count(topo->nodes[i].memory_bytes)));
	return array;
}

/* A square of @count rows and columns. */
static json_t *matrix_json(const struct topo *topo, unsigned count,
			   unsigned (*cell)(const struct topo *, unsigned row,
					    unsigned column))
{
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++) {
		json_t *row = json_array();

		for (unsigned k = 0; k < count; k++)
			json_array_append_new(row,
					      json_count(cell(topo, i, k)));
		json_array_append_new(array, row);
	}
	return array;
}

static unsigned distance(const struct topo *topo, unsigned from, unsigned to)
{
	return skua_topology_distance(topo->topology, topo->nodes[from].node,
				      topo->nodes[to].node);
}

/* Half of a round trip in ns, the same in both directions; 0: not measured. */
static unsigned latency(const struct topo *topo, unsigned from, unsigned to)
{
	return skua_topology_latency(topo->topology, topo->cpus[from].cpu,
				     topo->cpus[to].cpu);
}

static json_t *workers_json(const struct topo *topo)
{
	unsigned *order = calloc(topo->worker_count, sizeof(*order));
	json_t *array = json_array();

	for (unsigned i = 0; order && i < topo->worker_count; i++) {
		const struct skua_cpu *cpu = topo_cpu(topo, topo->workers[i]);

		if (skua_topology_steal_order(topo->topology, topo->workers,
					      topo->worker_count, i, order))
			break;
		json_array_append_new(
			array,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "index",
				  json_count(i), "cpu", json_count(cpu->cpu),
				  "core", json_count(cpu->core), "llc",
				  json_count(cpu->llc), "node",
				  json_count(cpu->node), "steal_order",
				  numbers(order, topo->worker_count - 1)));
	}
	free(order);
	if (json_array_size(array) == topo->worker_count)
		return array;
	json_decref(array);
	return NULL;
}

/* Indexed by enum skua_binding. */
static const char *const bindings[] = { "nothing", "cpu", "core", "cache" };

bool topo_json(FILE *file, const struct topo *topo)
{
	json_t *object = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:s, s:o}", "cpus",
		cpus_json(topo), "cores", groups_json(topo, GROUP_CORE, "core"),
		"llc_groups", groups_json(topo, GROUP_LLC, "llc"), "nodes",
		nodes_json(topo), "distances",
		matrix_json(topo, topo->node_count, distance), "allowed",
		numbers(topo->allowed, topo->allowed_count), "pinned",
		topo->binding == SKUA_BOUND_CPU, "bound_to",
		bindings[topo->binding], "workers", workers_json(topo));
	bool written;

	if (object && topo->measured)
		json_object_set_new(
			object, "latency_ns",
			matrix_json(topo, topo->cpu_count, latency));
	written = object && json_dumpf(object, file, JSON_COMPACT) == 0;

	fputc('\n', file);
	json_decref(object);
	return written;
}
