/* SPDX-License-Identifier: MIT */
/**
 * topology.h - what a machine is: its CPUs, cores, caches and nodes
 *
 * The library reads sysfs, within milliseconds, and the calling thread stays on its
 * CPU. Where sysfs tells nothing, or something impossible, the library makes a safe
 * guess and adds a remark.
 */
#ifndef SKUA_TOPOLOGY_H
#define SKUA_TOPOLOGY_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

/**
 * struct skua_cpu - a CPU that is online
 * @cpu: its number; numbers may have gaps
 * @core: the first CPU of its core; the CPUs of a core are siblings (SMT)
 * @llc: the first CPU that shares its last cache, within a node
 * @node: the number of its NUMA node; 0 on a machine without nodes
 * @capacity: its speed; the fastest CPU has 1024; 0: unknown
 * @isolated: the kernel leaves it to threads that ask for it
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
 * @node: its number; numbers may have gaps
 * @cpus: the number of its CPUs that are online; may be 0
 * @memory_bytes: the size of its memory; may be 0
 */
struct skua_numa_node {
	unsigned node;
	unsigned cpus;
	uint64_t memory_bytes;
};

/**
 * enum skua_placement - on which of the allowed CPUs the workers run
 * @SKUA_PLACE_DEFAULT: one worker a CPU, in the order of the CPUs' numbers. With
 *      fewer workers than CPUs: one worker a core where possible, fast cores before
 *      slow ones, and near each other
 * @SKUA_PLACE_COMPACT: fill all CPUs of a core, then of its last cache, then of its
 *      node; then of the next node
 * @SKUA_PLACE_SCATTER: far from each other: take nodes in turn, within a node its
 *      caches, within a cache its cores. A core gets a second worker only when each
 *      core has one
 * @SKUA_PLACE_CORES: one worker a core, on any of its CPUs. With fewer workers than
 *      cores: near each other, fast cores before slow ones
 * @SKUA_PLACE_CACHES: one worker a last cache, on any of its CPUs
 * @SKUA_PLACE_LISTED: worker i on the i-th CPU of the list, as it is written
 *
 * CPUs that the kernel isolates come first, except with SKUA_PLACE_LISTED: a process
 * that may use them was given them on purpose.
 */
enum skua_placement {
	SKUA_PLACE_DEFAULT,
	SKUA_PLACE_COMPACT,
	SKUA_PLACE_SCATTER,
	SKUA_PLACE_CORES,
	SKUA_PLACE_CACHES,
	SKUA_PLACE_LISTED,
};

/* The CPUs to which each worker is bound. SKUA_BOUND_NOT: some or all workers may
 * run on all chosen CPUs. */
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
 * skua_topology_load - read the topology of a machine
 * @out: receives the topology; NULL on failure
 * @root: NULL or "/" for this machine; a folder that has a copy of its sysfs; or a
 *        file of skua_topology_save()
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
 * skua_topology_free - free a topology; does nothing to NULL
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 */
SKUA_API void skua_topology_free(struct skua_topology *topology);

/**
 * skua_topology_cpus - list the CPUs that are online
 * @cpus: receives an array, ascending; the topology owns it
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the number of CPUs; one or more.
 */
SKUA_API unsigned skua_topology_cpus(const struct skua_topology *topology,
				     const struct skua_cpu **cpus);

/**
 * skua_topology_nodes - list the NUMA nodes
 * @nodes: receives an array, ascending; the topology owns it
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the number of nodes; one or more.
 */
SKUA_API unsigned skua_topology_nodes(const struct skua_topology *topology,
				      const struct skua_numa_node **nodes);

/**
 * skua_topology_distance - the distance from a node to another, by their numbers
 *
 * It is SKUA_DISTANCE_HERE from a node to itself, and more to other nodes, as the
 * firmware tells.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 */
SKUA_API unsigned skua_topology_distance(const struct skua_topology *topology,
					 unsigned from, unsigned to);

/**
 * skua_topology_remarks - list the library's guesses, with reasons
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: lines of text, or an empty text. The topology owns it.
 */
SKUA_API const char *
skua_topology_remarks(const struct skua_topology *topology);

/* The longest time for a measurement. */
#define SKUA_MAX_MEASURE_NS UINT64_C(10000000000)

/**
 * skua_topology_measure - measure how long a cache line takes between cores
 * @topology: of this machine. Its latencies, the llc fields of its CPUs and its
 *            remarks change; the text of skua_topology_remarks() becomes invalid
 * @budget_ns: the longest time, up to SKUA_MAX_MEASURE_NS; 0 = 50,000,000
 * @err: receives what was wrong; may be NULL
 *
 * The function takes one CPU of each core that the calling thread may use, and
 * measures between each two of them. It pins a thread of its own to each of these
 * CPUs, and the threads keep them busy until it returns. The calling thread keeps its
 * CPU and its affinity.
 *
 * Some hypervisors say that all CPUs share one last cache. If the latencies clearly
 * show several groups, each group counts as a cache of its own. The remarks list such
 * corrections, pairs that were not measured in time, and the reason if there was
 * nothing to measure: one core, or less CPU time than cores.
 *
 * Threads: one at a time, while no other uses @topology. Blocks: up to @budget_ns.
 * Allocates: yes.
 * Return: 0; -EINVAL (@topology is NULL, or was not loaded from "/"; @budget_ns is
 * out of range); -EAGAIN (no two threads could be created); -ENOMEM.
 */
SKUA_API int skua_topology_measure(struct skua_topology *topology,
				   uint64_t budget_ns, struct skua_error *err);

/**
 * skua_topology_latency - the measured latency between two CPUs, by their numbers
 *
 * It is half of a round trip, in nanoseconds. Siblings of a core count as one CPU.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 1 or more; 0: not measured, or both are of the same core.
 */
SKUA_API unsigned skua_topology_latency(const struct skua_topology *topology,
					unsigned cpu, unsigned other);

/**
 * skua_topology_steal_order - the order in which a worker tries its victims
 * @cpus: the CPU of each worker; one that is not online counts as the first CPU
 * @workers: the number of workers
 * @thief: the index of the worker; below @workers
 * @victims: receives the indices of the @workers - 1 others: those that share the
 *           thief's core, then its last cache, then its node; then those of other
 *           nodes, by distance
 *
 * Victims that are equally near are in the order of their indices here. A worker
 * begins with a random one of them.
 *
 * Threads: any. Blocks: never. Allocates: yes.
 * Return: 0; -EINVAL (a pointer is NULL, or @thief is not below @workers);
 * -ENOMEM.
 */
SKUA_API int skua_topology_steal_order(const struct skua_topology *topology,
				       const unsigned *cpus, unsigned workers,
				       unsigned thief, unsigned *victims);

/**
 * skua_topology_plan - plan on which CPUs workers would run
 * @placement: the policy; not SKUA_PLACE_LISTED
 * @cpus: receives the CPUs of the first @room workers; one of them, for a worker that
 *        may run on several; may be NULL
 * @binding: receives what each worker is bound to; may be NULL
 *
 * The plan is that of a runtime with default settings that may use all CPUs of the
 * machine. For runtimes of this process there is skua_runtime_plan().
 *
 * Threads: any. Blocks: never. Allocates: yes.
 * Return: the number of workers; -EINVAL (@topology is NULL, or @placement is not
 * one of the allowed policies); -ENOMEM.
 */
SKUA_API int skua_topology_plan(const struct skua_topology *topology,
				enum skua_placement placement, unsigned *cpus,
				unsigned room, enum skua_binding *binding);

/**
 * skua_topology_save - write the description of a machine to a text file
 * @path: the file, which is overwritten; "-" for standard output
 * @root: NULL or "/" for this machine, or a folder that has a copy of its sysfs
 * @err: receives what was wrong; may be NULL
 *
 * The file has names of files below /sys, with their contents. It says nothing about
 * users, processes or their files.
 *
 * Threads: any. Blocks: for files. Allocates: yes.
 * Return: 0; -EINVAL (@path is NULL); -ENOENT (nothing is described there);
 * -ENOMEM; another error of opening, reading or writing.
 */
SKUA_API int skua_topology_save(const char *path, const char *root,
				struct skua_error *err);

SKUA_END_DECLS

#endif
