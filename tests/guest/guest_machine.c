/* SPDX-License-Identifier: MIT */
/**
 * guest_machine.c - is what is read of the machine what was asked for?
 *
 * The file /machine of the guest says what was:
 *
 *   cpu NUMBER core NUMBER llc NUMBER node NUMBER
 *   node NUMBER cpus COUNT mib COUNT distances NUMBER...
 */
#include "tests/guest/guest.h"

#include <string.h>

struct reading {
	struct skua_topology *topology;
	const struct skua_numa_node *nodes;
	unsigned cpu_count;
	unsigned node_count;
	unsigned cpus_asked;
	unsigned nodes_asked;
};

static void check_cpu(struct reading *r, const char *line)
{
	const struct skua_cpu *cpu;
	unsigned number, core, llc, node;

	if (sscanf(line, "cpu %u core %u llc %u node %u", &number, &core, &llc,
		   &node) != 4)
		stress_fail("/machine: \"%s\"", line);
	cpu = guest_cpu(r->topology, number);
	if (cpu->core != core || cpu->llc != llc || cpu->node != node)
		stress_fail("asked: %s; read: core %u llc %u node %u", line,
			    cpu->core, cpu->llc, cpu->node);
	r->cpus_asked++;
}

static void check_distances(struct reading *r, unsigned from, const char *text)
{
	for (unsigned i = 0; i < r->node_count; i++) {
		unsigned to = r->nodes[i].node;
		char *end;
		unsigned long asked = strtoul(text, &end, 10);
		unsigned read = skua_topology_distance(r->topology, from, to);

		if (end == text || asked != read)
			stress_fail("from node %u to %u: asked: %lu, read: %u",
				    from, to, asked, read);
		text = end;
	}
}

static void check_node(struct reading *r, const char *line)
{
	const struct skua_numa_node *node;
	unsigned number, cpus, mib, read;
	int end = 0;

	if (sscanf(line, "node %u cpus %u mib %u distances%n", &number, &cpus,
		   &mib, &end) != 3 ||
	    end == 0 || r->nodes_asked == r->node_count)
		stress_fail("/machine: \"%s\", of %u nodes", line,
			    r->node_count);
	node = &r->nodes[r->nodes_asked++];
	read = (unsigned)(node->memory_bytes >> 20);
	/* The kernel keeps some of it to itself. */
	if (node->node != number || node->cpus != cpus || read > mib ||
	    read < mib / 2)
		stress_fail("asked: %s; read: node %u cpus %u mib %u", line,
			    node->node, node->cpus, read);
	check_distances(r, number, line + end);
}

void guest_machine(void)
{
	struct reading r = { .topology = guest_topology() };
	const struct skua_cpu *cpus;
	char line[200];
	FILE *file = fopen("/machine", "r");

	r.cpu_count = skua_topology_cpus(r.topology, &cpus);
	r.node_count = skua_topology_nodes(r.topology, &r.nodes);
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "cpu", 3) == 0)
			check_cpu(&r, line);
		else
			check_node(&r, line);
	}
	if (r.cpus_asked == 0 || r.cpus_asked != r.cpu_count ||
	    r.nodes_asked != r.node_count)
		stress_fail("asked: %u CPUs, %u nodes; read: %u, %u",
			    r.cpus_asked, r.nodes_asked, r.cpu_count,
			    r.node_count);
	printf("machine: %u CPUs in %u nodes, as asked\n%s", r.cpu_count,
	       r.node_count, skua_topology_remarks(r.topology));
	fclose(file);
	skua_topology_free(r.topology);
}
