/* SPDX-License-Identifier: MIT */
/**
 * topology.h - the topology of a machine: its CPUs, cores, caches and NUMA nodes
 *
 * The library reads sysfs, within milliseconds; the calling thread stays on its CPU.
 * Where sysfs gives no value, or an impossible one, the library makes a safe guess
 * and adds a remark.
 */
#ifndef SKUA_TOPOLOGY_H
#define SKUA_TOPOLOGY_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

/**
 * struct skua_cpu - a CPU that is online
 * @cpu: number of the CPU; numbers may have gaps
 * @core: number of the first CPU of its core; the CPUs of a core are siblings (SMT)
 * @llc: number of the first CPU that shares its last cache, within a node
 * @node: number of its NUMA node; 0 on a machine without nodes
 * @capacity: its speed, where the fastest CPU has 1024; 0: unknown
 * @isolated: the kernel leaves the CPU to threads that ask for it
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
 * @node: number of the node; numbers may have gaps
 * @cpus: how many of its CPUs are online; may be 0
 * @memory_bytes: size of its memory, in bytes; may be 0
 */
struct skua_numa_node {
	unsigned node;
	unsigned cpus;
	uint64_t memory_bytes;
};

/**
 * enum skua_placement - on which of the allowed CPUs the workers run
 * @SKUA_PLACE_DEFAULT: one worker for each CPU, in the order of the CPU numbers. With
 *         fewer workers than CPUs: one worker for each core where possible, fast
 *         cores before slow ones, and near each other
 * @SKUA_PLACE_COMPACT: fill all CPUs of a core, then those of its last cache, then
 *         those of its node, then the next node
 * @SKUA_PLACE_SCATTER: far from each other: take the nodes in turn, within a node its
 *         caches, within a cache its cores. A core gets a second worker only when
 *         each core has one
 * @SKUA_PLACE_CORES: one worker for each core, on any of its CPUs. With fewer workers
 *         than cores: near each other, fast cores before slow ones
 * @SKUA_PLACE_CACHES: one worker for each last cache, on any of its CPUs
 * @SKUA_PLACE_LISTED: worker i on the i-th CPU of the list, in the order of the list
 *
 * CPUs that the kernel isolates come first, except with SKUA_PLACE_LISTED: a process
 * that may use isolated CPUs was given them on purpose.
 */
enum skua_placement {
	SKUA_PLACE_DEFAULT,
	SKUA_PLACE_COMPACT,
	SKUA_PLACE_SCATTER,
	SKUA_PLACE_CORES,
	SKUA_PLACE_CACHES,
	SKUA_PLACE_LISTED,
};

/* enum skua_binding - what each worker is bound to. SKUA_BOUND_NOT: some or all
 * workers may run on all chosen CPUs. */
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
 * @out: receives the topology, which the caller frees with skua_topology_free(); NULL
 *       on failure
 * @root: NULL or "/" for this machine; a folder that has a copy of the machine's
 *        sysfs; or a file that skua_topology_save() wrote
 * @err: receives a description of the error; may be NULL
 *
 * Threads: any. Blocks: to read files. Allocates: the topology.
 * Return: 0; -ENOENT (no CPU is described there, or there is no such file); -EINVAL
 * (@out is NULL, or the file is malformed); -ENOMEM; another error of opening or
 * reading.
 */
SKUA_API int skua_topology_load(struct skua_topology **out, const char *root,
				struct skua_error *err);

/**
 * skua_topology_free - free a topology
 * @topology: owned by the call; NULL is ignored
 *
 * Threads: any, while no other call on @topology is in progress. Blocks: never.
 * Allocates: nothing.
 */
SKUA_API void skua_topology_free(struct skua_topology *topology);

/**
 * skua_topology_cpus - return the CPUs that are online
 * @topology: borrowed
 * @cpus: receives an array in ascending order, owned by the topology
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the number of CPUs, one or more.
 */
SKUA_API unsigned skua_topology_cpus(const struct skua_topology *topology,
				     const struct skua_cpu **cpus);

/**
 * skua_topology_nodes - return the NUMA nodes
 * @topology: borrowed
 * @nodes: receives an array in ascending order, owned by the topology
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the number of nodes, one or more.
 */
SKUA_API unsigned skua_topology_nodes(const struct skua_topology *topology,
				      const struct skua_numa_node **nodes);

/**
 * skua_topology_distance - return the distance from one node to another
 * @topology: borrowed
 * @from: number of a node
 * @to: number of a node
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: SKUA_DISTANCE_HERE from a node to itself; more for other nodes, as the
 * firmware reports it.
 */
SKUA_API unsigned skua_topology_distance(const struct skua_topology *topology,
					 unsigned from, unsigned to);

/**
 * skua_topology_remarks - return the guesses of the library, with reasons
 * @topology: borrowed
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: lines of text, or an empty text; owned by the topology.
 */
SKUA_API const char *
skua_topology_remarks(const struct skua_topology *topology);

/* The maximum time for a measurement, in nanoseconds. */
#define SKUA_MAX_MEASURE_NS UINT64_C(10000000000)

/**
 * skua_topology_measure - measure how long a cache line takes between cores
 * @topology: topology of this machine. The call changes its latencies, the llc fields
 *            of its CPUs and its remarks; an earlier text of skua_topology_remarks()
 *            becomes invalid
 * @budget_ns: maximum time, in nanoseconds, up to SKUA_MAX_MEASURE_NS; 0 = 50,000,000
 * @err: receives a description of the error; may be NULL
 *
 * The function takes one CPU of each core that the calling thread may use, and
 * measures between each two of them. It pins a thread of its own to each of these
 * CPUs, and the threads keep them busy until it returns. The calling thread keeps its
 * CPU and its affinity.
 *
 * Some hypervisors say that all CPUs share one last cache. If the latencies clearly
 * show several groups, each group then counts as a cache of its own. The remarks list
 * such corrections, pairs that were not measured in time, and the reason if there was
 * nothing to measure: there is only one core, or less CPU time than cores.
 *
 * Threads: any, one at a time, while no other thread uses @topology. Blocks: up to
 * @budget_ns. Allocates: yes.
 * Return: 0; -EINVAL (@topology is NULL or was not loaded from "/", or @budget_ns is
 * out of range); -EAGAIN (two threads could not be created); -ENOMEM.
 */
SKUA_API int skua_topology_measure(struct skua_topology *topology,
				   uint64_t budget_ns, struct skua_error *err);

/**
 * skua_topology_latency - return the measured latency between two CPUs
 * @topology: borrowed
 * @cpu: number of a CPU
 * @other: number of another CPU
 *
 * The latency is half of a round trip. Siblings of a core count as one CPU.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: nanoseconds, 1 or more; 0 if the pair was not measured, or both CPUs are on
 * the same core.
 */
SKUA_API unsigned skua_topology_latency(const struct skua_topology *topology,
					unsigned cpu, unsigned other);

/**
 * skua_topology_steal_order - compute the order in which a worker tries its victims
 * @topology: borrowed
 * @cpus: CPU of each worker; a CPU that is not online counts as the first CPU
 * @workers: number of workers
 * @thief: index of the worker that steals, below @workers
 * @victims: receives the indices of the @workers - 1 other workers: first those that
 *           share the thief's core, then its last cache, then its node; then those of
 *           other nodes, by distance
 *
 * Victims that are equally near are in the order of their indices. A worker of a
 * runtime begins with a random one of them.
 *
 * Threads: any. Blocks: never. Allocates: temporary memory.
 * Return: 0; -EINVAL (a pointer is NULL, or @thief is not below @workers); -ENOMEM.
 */
SKUA_API int skua_topology_steal_order(const struct skua_topology *topology,
				       const unsigned *cpus, unsigned workers,
				       unsigned thief, unsigned *victims);

/**
 * skua_topology_plan - tell on which CPUs workers would run
 * @topology: borrowed
 * @placement: the policy; not SKUA_PLACE_LISTED
 * @cpus: receives the CPUs of the first @room workers; for a worker that may run on
 *        several CPUs, one of these. May be NULL
 * @room: size of @cpus, in elements
 * @binding: receives what each worker would be bound to; may be NULL
 *
 * The plan is that of a runtime with default settings that may use all CPUs of the
 * machine. skua_runtime_plan() tells it for a runtime of this process.
 *
 * Threads: any. Blocks: never. Allocates: temporary memory.
 * Return: the number of workers; -EINVAL (@topology is NULL, or @placement is not
 * allowed); -ENOMEM.
 */
SKUA_API int skua_topology_plan(const struct skua_topology *topology,
				enum skua_placement placement, unsigned *cpus,
				unsigned room, enum skua_binding *binding);

/**
 * skua_topology_save - write the description of a machine to a text file
 * @path: the file, which is overwritten; "-" for standard output. A failed call removes
 *        the file only if it created the file
 * @root: NULL or "/" for this machine, or a folder that has a copy of the machine's
 *        sysfs
 * @err: receives a description of the error; may be NULL
 *
 * The file contains names of files below /sys, with their contents. It says nothing
 * about users, processes or their files.
 *
 * Threads: any. Blocks: to read and write files. Allocates: temporary memory.
 * Return: 0; -EINVAL (@path is NULL); -ENOENT (no CPU is described there); -ENOMEM;
 * another error of opening, reading or writing.
 */
SKUA_API int skua_topology_save(const char *path, const char *root,
				struct skua_error *err);

SKUA_END_DECLS

#endif
