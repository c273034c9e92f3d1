/* SPDX-License-Identifier: MIT */
/* llc_groups.c - see llc_groups.h */
#include "topology/llc_groups.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define WHOLE_NODE UINT32_MAX /* instead of a last-level cache */

/* A worker with its sort keys. */
struct member {
	unsigned node, llc, core, cpu, worker;
};

/* ---- order ------------------------------------------------------------------ */

static const struct skua_cpu *cpu_of(const struct machine *machine,
				     unsigned number)
{
	const struct skua_cpu *cpu = machine_cpu(machine, number);

	return cpu ? cpu : &machine->cpus[0];
}

/* shared_llc - return the cache that @cpu shares with other cores, or WHOLE_NODE */
static unsigned shared_llc(const struct machine *machine,
			   const struct skua_cpu *cpu)
{
	for (unsigned i = 0; i < machine->cpu_count; i++) {
		const struct skua_cpu *other = &machine->cpus[i];

		if (other->llc == cpu->llc && other->node == cpu->node &&
		    other->core != cpu->core)
			return cpu->llc;
	}
	return WHOLE_NODE;
}

static int compare(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->llc != b->llc)
		return a->llc < b->llc ? -1 : 1;
	if (a->core != b->core)
		return a->core < b->core ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->worker < b->worker ? -1 : 1;
}

/* find_members - sort the workers, so that the workers of a group are adjacent */
static void find_members(struct member *members, const struct machine *machine,
			 const unsigned *cpus, unsigned workers)
{
	for (unsigned i = 0; i < workers; i++) {
		const struct skua_cpu *cpu =
			machine ? cpu_of(machine, cpus[i]) : NULL;

		members[i] = (struct member){ 0, WHOLE_NODE, i, i, i };
		if (cpu)
			members[i] = (struct member){ cpu->node,
						      shared_llc(machine, cpu),
						      cpu->core, cpu->cpu, i };
	}
	qsort(members, workers, sizeof(*members), compare);
}

/* ---- groups and nodes -------------------------------------------------------- */

static void add_member(struct llc_groups *g, const struct member *member)
{
	struct llc_group *group = &g->groups[g->count - 1];
	struct llc_place *place = &g->places[member->worker];

	place->group = (uint16_t)(g->count - 1);
	place->bit = (uint16_t)group->count;
	group->workers[group->count++] = (uint16_t)member->worker;
}

/* add_siblings - record @member and the members before it as siblings of each other, as
 * far as they are on the same core and in the same group */
static void add_siblings(struct llc_groups *g, const struct member *members,
			 const struct member *member)
{
	struct llc_place *own = &g->places[member->worker];

	for (const struct member *m = member; m-- > members;) {
		struct llc_place *other = &g->places[m->worker];

		if (m->core != member->core || other->group != own->group)
			return;
		other->siblings |= UINT64_C(1) << own->bit;
		own->siblings |= UINT64_C(1) << other->bit;
	}
}

static void cut(struct llc_groups *g, const struct member *members)
{
	for (unsigned i = 0; i < g->worker_count; i++) {
		const struct member *m = &members[i];
		bool node = i == 0 || m->node != m[-1].node;

		if (node)
			g->nodes[g->node_count++].first = g->count;
		if (node || m->llc != m[-1].llc ||
		    g->groups[g->count - 1].count == LLC_GROUP_WORKERS) {
			g->groups[g->count++].node = g->node_count - 1;
			g->nodes[g->node_count - 1].count++;
		}
		add_member(g, m);
		if (i > 0)
			add_siblings(g, members, m);
	}
}

/* node_number - return the kernel's number of a node, from the CPU of one of its workers */
static unsigned node_number(const struct llc_groups *g, unsigned node,
			    const struct machine *machine, const unsigned *cpus)
{
	const struct llc_group *group = &g->groups[g->nodes[node].first];

	return cpu_of(machine, cpus[group->workers[0]])->node;
}

static void order_others(struct llc_groups *g, unsigned node,
			 const struct machine *machine, const unsigned *cpus)
{
	struct llc_node *own = &g->nodes[node];
	unsigned from = node_number(g, node, machine, cpus), count = 0;
	unsigned nearest = 0;

	/* An insertion sort: nodes are few, and equally far nodes keep their order. */
	for (unsigned i = 0; i < g->node_count; i++) {
		unsigned there = machine_distance(
			machine, from, node_number(g, i, machine, cpus));
		unsigned at = count;

		if (i == node)
			continue;
		while (at > 0 &&
		       machine_distance(machine, from,
					node_number(g, own->others[at - 1],
						    machine, cpus)) > there) {
			own->others[at] = own->others[at - 1];
			at--;
		}
		own->others[at] = (uint16_t)i;
		count++;
		if (count == 1 || there < nearest) {
			nearest = there;
			own->nearest = 0;
		}
		own->nearest += there == nearest;
	}
}

/* ---- CPUs -------------------------------------------------------------------- */

/* nearest_group - return the group of @cpu's cache; if there is none, the first group of
 * its node, or else the first group */
static unsigned nearest_group(const struct llc_groups *g,
			      const struct machine *machine,
			      const unsigned *cpus, const struct skua_cpu *cpu)
{
	unsigned found = 0;
	bool same_node = false;

	for (unsigned i = 0; i < g->count; i++) {
		const struct skua_cpu *other =
			cpu_of(machine, cpus[g->groups[i].workers[0]]);

		if (other->node != cpu->node)
			continue;
		if (other->llc == cpu->llc)
			return i;
		if (!same_node)
			found = i;
		same_node = true;
	}
	return found;
}

static int find_cpus(struct llc_groups *g, const struct machine *machine,
		     const unsigned *cpus)
{
	unsigned last = machine->cpus[machine->cpu_count - 1].cpu;

	g->of_cpu = calloc(last + 1, sizeof(*g->of_cpu));
	if (!g->of_cpu)
		return -ENOMEM;
	g->cpu_count = last + 1;
	for (unsigned i = 0; i < machine->cpu_count; i++)
		g->of_cpu[machine->cpus[i].cpu] = (uint16_t)nearest_group(
			g, machine, cpus, &machine->cpus[i]);
	return 0;
}

/* ---- life --------------------------------------------------------------------- */

/* There are at most as many groups, and as many nodes, as workers. */
static int allocate(struct llc_groups *g, unsigned workers)
{
	*g = (struct llc_groups){
		.worker_count = workers,
		.places = calloc(workers, sizeof(*g->places)),
		.groups = calloc(workers, sizeof(*g->groups)),
		.nodes = calloc(workers, sizeof(*g->nodes)),
	};
	return g->places && g->groups && g->nodes ? 0 : -ENOMEM;
}

static int order_nodes(struct llc_groups *g, const struct machine *machine,
		       const unsigned *cpus)
{
	for (unsigned i = 0; i < g->node_count; i++) {
		g->nodes[i].others =
			calloc(g->node_count, sizeof(*g->nodes[i].others));
		if (!g->nodes[i].others)
			return -ENOMEM;
		if (machine)
			order_others(g, i, machine, cpus);
	}
	return 0;
}

int llc_groups_make(struct llc_groups *out, const struct machine *machine,
		    const unsigned *cpus, unsigned workers)
{
	struct member *members = calloc(workers, sizeof(*members));
	int code = allocate(out, workers);

	if (!members)
		code = -ENOMEM;
	if (!code) {
		find_members(members, machine, cpus, workers);
		cut(out, members);
		code = order_nodes(out, machine, cpus);
	}
	if (!code && machine)
		code = find_cpus(out, machine, cpus);
	free(members);
	if (code)
		llc_groups_free(out);
	return code;
}

void llc_groups_free(struct llc_groups *groups)
{
	for (unsigned i = 0; i < groups->node_count; i++)
		free(groups->nodes[i].others);
	free(groups->places);
	free(groups->groups);
	free(groups->nodes);
	free(groups->of_cpu);
	*groups = (struct llc_groups){ .places = NULL };
}
