/* SPDX-License-Identifier: MIT */
/**
 * fuzz_machine.c - any snapshot as a machine
 *
 * The first byte says whether the rest is a snapshot as it is; or else a program
 * that writes one, of files that are read and of values that may be in them. The
 * result has to be a machine, if it is not refused with an error that says
 * something: the model is what holds for each.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "topology/machine.h"
#include "topology/quota.h"
#include "topology/steal_order.h"

#define CPUS      "sys/devices/system/cpu/"
#define NODES     "sys/devices/system/node/"
#define MAX_LINES 64u
#define MAX_TEXT  16384u

/* ---- the program ----------------------------------------------------------- */

/* %u is a number below 8. */
static const char *const paths[] = {
	CPUS "online",
	CPUS "isolated",
	CPUS "cpu%u/online",
	CPUS "cpu%u/topology/core_cpus_list",
	CPUS "cpu%u/topology/core_cpus",
	CPUS "cpu%u/topology/thread_siblings_list",
	CPUS "cpu%u/topology/thread_siblings",
	CPUS "cpu%u/cache/index0/level",
	CPUS "cpu%u/cache/index0/type",
	CPUS "cpu%u/cache/index0/shared_cpu_list",
	CPUS "cpu%u/cache/index0/shared_cpu_map",
	CPUS "cpu%u/cache/index1/level",
	CPUS "cpu%u/cache/index1/shared_cpu_list",
	CPUS "cpu%u/cpu_capacity",
	CPUS "cpu%u/acpi_cppc/highest_perf",
	NODES "node%u/cpulist",
	NODES "node%u/cpumap",
	NODES "node%u/distance",
	NODES "node%u/meminfo",
	"sys/devices/cpu_atom/cpus",
	"proc/self/cgroup",
	"proc/self/mountinfo",
	"sys/fs/cgroup/cpu.max",
	"sys/fs/cgroup/a/cpu.max",
	"sys/fs/cgroup/a/cpu.cfs_quota_us",
	"sys/fs/cgroup/a/cpu.cfs_period_us",
};

static const char *const values[] = {
	"0-7",
	"Instruction",
	"0::/a",
	"4:cpu,cpuacct:/a",
	"3 2 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw",
	"3 2 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw,cpu",
	"max 100000",
	"150000 100000",
	"10 20",
	"20 10",
	"10 21 31 41",
	"Node 0 MemTotal:        9396804 kB",
	"-1",
	"65535",
};

static size_t put_value(char *to, size_t room, struct fuzz_input *in)
{
	unsigned kind = fuzz_below(in, 6);

	switch (kind) {
	case 0:
		return (size_t)snprintf(to, room, "%u", fuzz_below(in, 8));
	case 1: {
		unsigned first = fuzz_below(in, 8);

		return (size_t)snprintf(to, room, "%u-%u", first,
					first + fuzz_below(in, 4));
	}
	case 2:
		return (size_t)snprintf(to, room, "%u,%u", fuzz_below(in, 8),
					fuzz_below(in, 8));
	case 3:
		return (size_t)snprintf(to, room, "%02x", fuzz_byte(in));
	case 4:
		return (size_t)snprintf(
			to, room, "%s",
			values[fuzz_below(in, (unsigned)COUNT_OF(values))]);
	default:
		/* Whatever: a line may be cut, or have no tab. */
		to[0] = (char)fuzz_byte(in);
		to[1] = (char)fuzz_byte(in);
		return 2;
	}
}

static size_t write_snapshot(char *text, struct fuzz_input *in)
{
	size_t length = 0;

	for (unsigned n = 0; n < MAX_LINES && fuzz_more(in); n++) {
		const char *path =
			paths[fuzz_below(in, (unsigned)COUNT_OF(paths))];
		char line[128];

		snprintf(line, sizeof(line), path, fuzz_below(in, 8));
		length += (size_t)sprintf(text + length, "%s\t", line);
		length += put_value(text + length, MAX_TEXT - length, in);
		text[length++] = '\n';
	}
	return length;
}

/* ---- what holds ------------------------------------------------------------ */

static const struct skua_cpu *must_have(const struct machine *machine,
					unsigned cpu)
{
	const struct skua_cpu *found = machine_cpu(machine, cpu);

	fuzz_check(found && found->cpu == cpu, "CPU %u is named, and not there",
		   cpu);
	return found;
}

static void check_cpus(const struct machine *machine)
{
	fuzz_check(machine->cpu_count > 0, "no CPU");
	for (unsigned i = 0; i < machine->cpu_count; i++) {
		const struct skua_cpu *cpu = &machine->cpus[i];
		const struct skua_cpu *core = must_have(machine, cpu->core);
		const struct skua_cpu *llc = must_have(machine, cpu->llc);

		fuzz_check(i == 0 || cpu[-1].cpu < cpu->cpu, "CPU %u twice",
			   cpu->cpu);
		fuzz_check(core->core == core->cpu && core->cpu <= cpu->cpu &&
				   core->llc == cpu->llc,
			   "CPU %u: core %u", cpu->cpu, cpu->core);
		fuzz_check(llc->llc == llc->cpu && llc->cpu <= cpu->cpu &&
				   llc->node == cpu->node,
			   "CPU %u: last cache %u", cpu->cpu, cpu->llc);
		fuzz_check(cpu->capacity <= 1024, "CPU %u: capacity %u",
			   cpu->cpu, cpu->capacity);
	}
}

static void check_nodes(const struct machine *machine)
{
	unsigned count = machine->node_count, cpus = 0;

	fuzz_check(count > 0, "no node");
	for (unsigned i = 0; i < count; i++) {
		const struct skua_numa_node *node = &machine->nodes[i];
		unsigned own = 0;

		fuzz_check(i == 0 || node[-1].node < node->node,
			   "node %u twice", node->node);
		for (unsigned k = 0; k < machine->cpu_count; k++)
			own += machine->cpus[k].node == node->node;
		fuzz_check(own == node->cpus, "node %u: %u CPUs, not %u",
			   node->node, node->cpus, own);
		cpus += own;
		for (unsigned k = 0; k < count; k++) {
			unsigned distance = machine->distances[i * count + k];

			fuzz_check(
				(i == k) == (distance == SKUA_DISTANCE_HERE) &&
					distance >= SKUA_DISTANCE_HERE,
				"nodes %u and %u: distance %u", i, k, distance);
		}
	}
	fuzz_check(cpus == machine->cpu_count, "%u CPUs are in no node",
		   machine->cpu_count - cpus);
}

static void check_steal_order(const struct machine *machine)
{
	unsigned cpus[8];
	unsigned count = machine->cpu_count < 8 ? machine->cpu_count : 8;
	struct steal_order order;

	for (unsigned i = 0; i < count; i++)
		cpus[i] = machine->cpus[i].cpu;
	for (unsigned i = 0; i < count; i++) {
		unsigned seen = 1u << i;

		if (steal_order_make(&order, machine, cpus, count, i))
			abort();
		for (unsigned k = 0; k < order.count; k++)
			seen ^= 1u << order.victims[k];
		fuzz_check(seen == (1u << count) - 1, "worker %u: %x of %u", i,
			   seen, count);
		steal_order_free(&order);
	}
}

static void check_machine(const char *file)
{
	struct skua_error err = { 0, "" };
	struct machine *machine;
	int code = machine_load(&machine, file, &err);
	size_t length;

	if (code) {
		fuzz_check((code == -EINVAL || code == -ENOENT) && !machine &&
				   err.code == code && err.text[0],
			   "%d: \"%s\"", code, err.text);
		return;
	}
	check_cpus(machine);
	check_nodes(machine);
	check_steal_order(machine);
	length = strlen(machine->remarks);
	fuzz_check(length == 0 || machine->remarks[length - 1] == '\n',
		   "half a line: %s", machine->remarks);
	machine_free(machine);
}

static void check_quota(const char *file)
{
	struct quota quota;
	int code = quota_read(&quota, file, NULL);
	unsigned cpus = code ? 0 : quota_cpus(&quota);

	fuzz_check(code == 0 || code == -EINVAL, "%d", code);
	if (code)
		return;
	fuzz_check((quota.period_us == 0) == (quota.runtime_us == 0) &&
			   (quota.period_us == 0) == (cpus == 0),
		   "%" PRIu64 " of %" PRIu64 " us: %u CPUs", quota.runtime_us,
		   quota.period_us, cpus);
	fuzz_check(!quota_below(&quota, 1) || cpus == 1, "%u CPUs", cpus);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	static char text[MAX_TEXT];
	char name[64];
	int file = memfd_create("snapshot", MFD_CLOEXEC);
	bool raw = fuzz_byte(&in) == '#';
	size_t length = raw ? size : write_snapshot(text, &in);

	if (file < 0 || write(file, raw ? (const char *)data : text, length) !=
				(ssize_t)length)
		abort();
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	check_machine(name);
	check_quota(name);
	close(file);
	return 0;
}
