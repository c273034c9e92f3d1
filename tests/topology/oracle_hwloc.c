/* SPDX-License-Identifier: MIT */
/*
 * oracle_hwloc.c - does hwloc find the same in a description of a machine?
 *
 * usage: oracle_hwloc SNAPSHOT
 *
 * The snapshot is laid out as a tree for hwloc. Compared are the CPUs, and for
 * each its core, its last cache within its node, and its node. hwloc leaves out
 * what the kernel does not tell, which is not compared then; it is said.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topology/machine.h"
#include "topology/sysfs.h"

static unsigned long differences;

/* ---- the tree -------------------------------------------------------------- */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void make_folders(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			die(path);
		*at = '/';
	}
}

static void write_file(const char *root, const struct sysfs_line *line)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, line->path);
	make_folders(path);
	file = fopen(path, "w");
	if (!file || fprintf(file, "%s\n", line->value) < 0 || fclose(file))
		die(path);
}

static void lay_out(const char *root, const char *snapshot)
{
	struct sysfs sysfs;
	struct skua_error err;

	if (sysfs_open(&sysfs, snapshot, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	for (size_t i = 0; i < sysfs.count; i++)
		write_file(root, &sysfs.lines[i]);
	sysfs_close(&sysfs);
}

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *at)
{
	(void)status;
	(void)type;
	(void)at;
	return remove(path);
}

static hwloc_topology_t load_tree(const char *root)
{
	hwloc_topology_t topology;

	setenv("HWLOC_FSROOT", root, 1);
	setenv("HWLOC_COMPONENTS", "linux,stop", 1);
	setenv("HWLOC_THISSYSTEM", "0", 1);
	if (hwloc_topology_init(&topology) ||
	    hwloc_topology_set_flags(topology,
				     HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
	    hwloc_topology_load(topology)) {
		printf("hwloc cannot load it\n");
		exit(77);
	}
	return topology;
}

/* ---- what is compared ------------------------------------------------------ */

static void compare(unsigned cpu, const char *what, unsigned ours, int theirs)
{
	if (theirs < 0 || ours == (unsigned)theirs)
		return;
	printf("CPU %u: %s %u, and by hwloc %d\n", cpu, what, ours, theirs);
	differences++;
}

/* The first CPU of the object of that type that has a CPU, within @within if
 * that is given; -1: there is none. */
static int first_cpu(hwloc_topology_t topology, hwloc_obj_t pu,
		     hwloc_obj_type_t type, hwloc_const_cpuset_t within)
{
	hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, pu);
	hwloc_bitmap_t both;
	int first;

	if (!found)
		return -1;
	both = hwloc_bitmap_dup(found->cpuset);
	if (within)
		hwloc_bitmap_and(both, both, within);
	first = hwloc_bitmap_first(both);
	hwloc_bitmap_free(both);
	return first;
}

/* The node that has a CPU; NULL: none. */
static hwloc_obj_t node_of(hwloc_topology_t topology, hwloc_obj_t pu)
{
	hwloc_obj_t node = NULL;

	while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE,
						  node)) != NULL)
		if (hwloc_bitmap_isset(node->cpuset, pu->os_index))
			return node;
	return NULL;
}

static unsigned compare_cpus(hwloc_topology_t topology,
			     const struct machine *machine)
{
	hwloc_obj_t pu = NULL;
	unsigned count = 0;

	while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) !=
	       NULL) {
		const struct skua_cpu *cpu = machine_cpu(machine, pu->os_index);
		hwloc_obj_t node = node_of(topology, pu);

		if (!cpu) {
			printf("CPU %u is found by hwloc alone\n",
			       pu->os_index);
			differences++;
			continue;
		}
		count++;
		compare(cpu->cpu, "core", cpu->core,
			first_cpu(topology, pu, HWLOC_OBJ_CORE, NULL));
		compare(cpu->cpu, "last cache", cpu->llc,
			first_cpu(topology, pu, HWLOC_OBJ_L3CACHE,
				  node ? node->cpuset : NULL));
		if (node)
			compare(cpu->cpu, "node", cpu->node,
				(int)node->os_index);
	}
	return count;
}

int main(int argc, char **argv)
{
	char root[] = "/tmp/skua-hwloc-XXXXXX";
	struct machine *machine;
	struct skua_error err;
	hwloc_topology_t topology;
	unsigned count;

	if (argc != 2 || !mkdtemp(root))
		die("usage: oracle_hwloc SNAPSHOT");
	lay_out(root, argv[1]);
	topology = load_tree(root);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (machine_load(&machine, argv[1], &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	count = compare_cpus(topology, machine);
	if (count != machine->cpu_count) {
		printf("%u CPUs, and by hwloc %u\n", machine->cpu_count, count);
		differences++;
	}
	printf("%u CPUs, %d cores, %d caches, %d nodes by hwloc; %lu "
	       "differences\n",
	       count, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE),
	       hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L3CACHE),
	       hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE),
	       differences);
	machine_free(machine);
	hwloc_topology_destroy(topology);
	return count == 0 || differences > 0;
}
