/* SPDX-License-Identifier: MIT */
/**
 * topology.h - what a machine is: its CPUs, cores, caches and nodes
 *
 * It is read from sysfs, in milliseconds, and the calling thread stays where it
 * is. What a machine does not tell, or tells in a way that cannot be, is replaced
 * by a guess that does no harm, and there is a remark about it.
 */
#ifndef SKUA_TOPOLOGY_H
#define SKUA_TOPOLOGY_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

/**
 * struct skua_cpu - a CPU that is online
 * @cpu: its number: there may be gaps
 * @core: the first CPU of its core; those that share one are siblings (SMT)
 * @llc: the first CPU of those that share its last cache, within a node
 * @node: the number of its NUMA node; 0 on a machine that has none
 * @capacity: its speed, of which the fastest has 1024; 0: unknown
 * @isolated: the kernel leaves it to who asks for it
 */
struct skua_cpu {
	unsigned cpu;
	unsigned core;
	unsigned llc;
	unsigned node;
	unsigned capacity;
	bool isolated;
};

/**
 * struct skua_numa_node - a NUMA node
 * @node: its number: there may be gaps
 * @cpus: how many it has that are online; may be 0
 * @memory_bytes: how much memory it has; may be 0
 */
struct skua_numa_node {
	unsigned node;
	unsigned cpus;
	uint64_t memory_bytes;
};

/**
 * enum skua_placement - which CPUs the workers are on, of those there are for us
 * @SKUA_PLACE_DEFAULT: a worker a CPU, in the order of their numbers. Fewer are on
 *      as many cores as there can be, on fast ones before slow ones, and else
 *      near each other
 * @SKUA_PLACE_COMPACT: on all CPUs of a core, then of its last cache, then of its
 *      node; then on the next
 * @SKUA_PLACE_SCATTER: far from each other: the nodes take turns, then the caches
 *      of each, then the cores of these. A second CPU of a core is taken only
 *      when each core has a worker
 * @SKUA_PLACE_CORES: a worker a core, on any of its CPUs; fewer are near each
 *      other, on fast cores before slow ones
 * @SKUA_PLACE_CACHES: a worker for the CPUs of each last cache, on any of them
 * @SKUA_PLACE_LISTED: worker i on the i-th CPU of the list, as it is written
 *
 * CPUs that the kernel isolates come first, but with SKUA_PLACE_LISTED: who is
 * allowed to use them was given them on purpose.
 */
enum skua_placement {
	SKUA_PLACE_DEFAULT,
	SKUA_PLACE_COMPACT,
	SKUA_PLACE_SCATTER,
	SKUA_PLACE_CORES,
	SKUA_PLACE_CACHES,
	SKUA_PLACE_LISTED,
};

/* What each worker is bound to; SKUA_BOUND_NOT: it may run on all CPUs chosen, or
 * there are workers that may. */
enum skua_binding {
	SKUA_BOUND_NOT,
	SKUA_BOUND_CPU,
	SKUA_BOUND_CORE,
	SKUA_BOUND_CACHE,
};

/* The distance of a node from itself. */
#define SKUA_DISTANCE_HERE 10u

struct skua_topology;

/**
 * skua_topology_load - read what there is
 * @out: receives it; NULL on failure
 * @root: NULL or "/" for this machine; a folder with a tree as there; or a file
 *        that skua_topology_save() has written
 * @err: receives what was wrong; may be NULL
 *
 * Threads: any. Blocks: for files. Allocates: yes.
 * Return: 0; -ENOENT (no CPU is described there, or there is no such file);
 * -EINVAL (@out is NULL, or the file is malformed); -ENOMEM; another error of
 * opening or reading.
 */
SKUA_API int skua_topology_load(struct skua_topology **out, const char *root,
				struct skua_error *err);

/**
 * skua_topology_free - end with it; NULL: nothing to do
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 */
SKUA_API void skua_topology_free(struct skua_topology *topology);

/**
 * skua_topology_cpus - the CPUs
 * @cpus: receives them, ascending; the topology's
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: how many; one or more.
 */
SKUA_API unsigned skua_topology_cpus(const struct skua_topology *topology,
				     const struct skua_cpu **cpus);

/**
 * skua_topology_nodes - the nodes
 * @nodes: receives them, ascending; the topology's
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: how many; one or more.
 */
SKUA_API unsigned skua_topology_nodes(const struct skua_topology *topology,
				      const struct skua_numa_node **nodes);

/**
 * skua_topology_distance - from a node to another, by their numbers
 *
 * SKUA_DISTANCE_HERE from a node to itself; to others more, as the firmware tells.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 */
SKUA_API unsigned skua_topology_distance(const struct skua_topology *topology,
					 unsigned from, unsigned to);

/**
 * skua_topology_remarks - what was guessed, and why
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: lines; empty if there is nothing to remark. The topology's.
 */
SKUA_API const char *
skua_topology_remarks(const struct skua_topology *topology);

/* The longest time to measure for. */
#define SKUA_MAX_MEASURE_NS UINT64_C(10000000000)

/**
 * skua_topology_measure - measure how long a cache line takes between cores
 * @topology: of this machine; its latencies, the llc fields of its CPUs and its
 *            remarks change: what skua_topology_remarks() has returned is no more
 * @budget_ns: for how long at most, up to SKUA_MAX_MEASURE_NS; 0 = 50,000,000
 * @err: receives what was wrong; may be NULL
 *
 * Between a CPU of each core that the calling thread may use and of each other such
 * core, by threads of its own that are pinned there: for that time they use these
 * CPUs. All have ended on return; the calling thread stays where it is, and its
 * affinity as it is.
 *
 * Where CPUs are told to share a last cache, as a hypervisor may say of all, but
 * the latencies show clearly that they are groups, each group is taken to have a
 * cache of its own. What was corrected, what could not be measured in time, and
 * that there is nothing to measure, as with one core, or with less CPU time than
 * cores, is in the remarks.
 *
 * Threads: one at a time, while nobody else uses @topology. Blocks: for that time.
 * Allocates: yes.
 * Return: 0; -EINVAL (@topology is NULL, or was not loaded from "/"; @budget_ns is
 * out of range); -EAGAIN (no two threads could be created); -ENOMEM.
 */
SKUA_API int skua_topology_measure(struct skua_topology *topology,
				   uint64_t budget_ns, struct skua_error *err);

/**
 * skua_topology_latency - what was measured between two CPUs, by their numbers
 *
 * Half of a round trip, in nanoseconds. Siblings of a core count as one CPU.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 1 or more; 0: not measured, or both are of the same core.
 */
SKUA_API unsigned skua_topology_latency(const struct skua_topology *topology,
					unsigned cpu, unsigned other);

/**
 * skua_topology_steal_order - whom a worker steals from first
 * @cpus: that of each worker; one that is not online counts as the first
 * @workers: how many
 * @thief: which; below @workers
 * @victims: receives the @workers - 1 others: who shares the thief's core, last
 *           cache, node; then those on other nodes, by distance
 *
 * Those that are equally near are in the order of their numbers here; a worker
 * begins with any of them.
 *
 * Threads: any. Blocks: never. Allocates: yes.
 * Return: 0; -EINVAL (a pointer is NULL, or @thief is not below @workers);
 * -ENOMEM.
 */
SKUA_API int skua_topology_steal_order(const struct skua_topology *topology,
				       const unsigned *cpus, unsigned workers,
				       unsigned thief, unsigned *victims);

/**
 * skua_topology_plan - where workers would be on it
 * @placement: how; not SKUA_PLACE_LISTED
 * @cpus: receives the CPUs of the first @room workers; of one that may run on
 *        several, one of these. NULL: not wanted
 * @binding: receives to what each is bound; NULL: not wanted
 *
 * As of a runtime with the defaults that may use all of its CPUs:
 * skua_runtime_plan() tells of one here.
 *
 * Threads: any. Blocks: never. Allocates: yes.
 * Return: how many workers; -EINVAL (@topology is NULL, or @placement is none of
 * these); -ENOMEM.
 */
SKUA_API int skua_topology_plan(const struct skua_topology *topology,
				enum skua_placement placement, unsigned *cpus,
				unsigned room, enum skua_binding *binding);

/**
 * skua_topology_save - write down what describes a machine, as one text file
 * @path: of the file, which is overwritten; "-" for standard output
 * @root: NULL or "/" for this machine, or a folder with a tree as there
 * @err: receives what was wrong; may be NULL
 *
 * It has names of files below /sys and what is in them: nothing about users,
 * processes or files of theirs.
 *
 * Threads: any. Blocks: for files. Allocates: yes.
 * Return: 0; -EINVAL (@path is NULL); -ENOENT (nothing is described there);
 * -ENOMEM; another error of opening, reading or writing.
 */
SKUA_API int skua_topology_save(const char *path, const char *root,
				struct skua_error *err);

SKUA_END_DECLS

#endif
