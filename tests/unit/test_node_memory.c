/* SPDX-License-Identifier: MIT */
/**
 * test_node_memory.c - memory of a NUMA node, on this machine
 *
 * And what is asked of the kernel where it tells of other nodes, or refuses: the
 * program is linked with --wrap for the calls below.
 */
#include <sys/mman.h>

#include "tests/unit/pages.h"
#include "tests/unit/policy_calls.h"
#include "tests/unit/machines.h"
#include "topology/node_memory.h"

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))

/* ---- a kernel that says otherwise ------------------------------------------- */

static int refused; /* what calls return; 0: as the kernel does */
static bool told;   /* the kernel says what is here: */
static unsigned long told_allowed;   /* nodes of the cpuset */
static unsigned long told_policy[2]; /* mode, nodes */
static bool maps_fail;               /* large ranges */

int __real_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice);

static long refuse(void)
{
	errno = refused;
	return -1;
}

long __wrap_get_mempolicy(int *mode, unsigned long *nodes, unsigned long bits,
			  void *at, unsigned flags)
{
	if (refused)
		return refuse();
	if (!told)
		return __real_get_mempolicy(mode, nodes, bits, at, flags);
	if (!(flags & MPOL_F_MEMS_ALLOWED))
		*mode = (int)told_policy[0];
	nodes[0] = flags & MPOL_F_MEMS_ALLOWED ? told_allowed : told_policy[1];
	return 0;
}

long __wrap_mbind(void *at, unsigned long size, int mode,
		  const unsigned long *nodes, unsigned long bits,
		  unsigned flags)
{
	return refused ? refuse()
		       : __real_mbind(at, size, mode, nodes, bits, flags);
}

int __wrap_madvise(void *at, size_t size, int advice)
{
	return refused ? (int)refuse() : __real_madvise(at, size, advice);
}

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t o)
{
	if (maps_fail && size > NODE_MEMORY_HUGE_BYTES) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(at, size, prot, flags, fd, o);
}

/* ---- this machine ----------------------------------------------------------- */

struct policy {
	int mode;
	struct node_set nodes;
};

/* The calling thread's; or that of an address. */
static struct policy policy_of(void *at)
{
	struct policy policy;

	memset(&policy, 0, sizeof(policy));
	assert_int_equal(__real_get_mempolicy(&policy.mode, policy.nodes.words,
					      NODE_MEMORY_LIMIT + 1, at,
					      at ? MPOL_F_ADDR : 0),
			 0);
	return policy;
}

/* A node that this thread may have memory on; -1: the kernel knows none, and the
 * test is skipped. */
static int any_node(void)
{
	struct node_set allowed;
	int code = node_memory_allowed(&allowed);

	if (code)
		return -1;
	for (unsigned node = 0; node < NODE_MEMORY_LIMIT; node++) {
		if (node_set_has(&allowed, node))
			return (int)node;
	}
	fail_msg("no node is allowed");
	return -1;
}

#define NO_NUMA "the kernel knows no nodes"

static void expect_all_on(const void *at, size_t bytes, int node)
{
	struct pages pages = { 0, 0, 0 };

	pages_add(&pages, at, bytes, node);
	assert_int_equal(pages.code, 0);
	assert_int_equal(pages.count, (bytes + PAGE - 1) / PAGE);
	assert_int_equal(pages.there, pages.count);
}

TEST(map__of_a_node__each_page_is_there)
{
	int node = any_node();
	struct node_memory memory = { .node = node };
	size_t bytes = 9 * PAGE + 1;
	struct policy policy;
	char *at;

	if (node < 0) {
		skip_aloud(NO_NUMA);
		return;
	}
	errno = 123;
	at = node_memory_map(&bytes, &memory);
	assert_int_equal(errno, 123);
	assert_non_null(at);
	assert_int_equal(bytes, 10 * PAGE);
	assert_int_equal(memory.node_code, 0);
	assert_int_equal(pages_node(at), -ENOENT);
	policy = policy_of(at + bytes - 1);
	assert_int_equal(policy.mode & 0xff, MPOL_PREFERRED);
	assert_true(node_set_has(&policy.nodes, (unsigned)node));
	assert_int_equal(node_set_count(&policy.nodes), 1);
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(at[i], 0);
	memset(at, 1, bytes);
	expect_all_on(at, bytes, node);
	node_memory_unmap(at, bytes);
}

/* Before anything was asked of the library. */
static struct policy at_start;
static bool started;

static int start(void **state)
{
	(void)state;
	memset(&at_start, 0, sizeof(at_start));
	started = __real_get_mempolicy(&at_start.mode, at_start.nodes.words,
				       NODE_MEMORY_LIMIT + 1, NULL, 0) == 0;
	return 0;
}

ALL_TESTS(start, NULL);

/* In all of the other tests, too. */
TEST(map__of_a_node__thread_keeps_its_policy)
{
	struct node_memory memory = { .node = any_node() };
	struct policy after;
	size_t bytes = PAGE;
	char *at;

	if (!started || memory.node < 0) {
		skip_aloud(NO_NUMA);
		return;
	}
	at = node_memory_map(&bytes, &memory);
	assert_non_null(at);
	*at = 1;
	node_memory_unmap(at, bytes);
	after = policy_of(NULL);
	assert_memory_equal(&at_start, &after, sizeof(after));
}

/* A field of /proc/self/smaps of the mapping at @at; empty if there is none. */
static void smaps_of(const void *at, const char *field, char line[200])
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char start[20];
	bool found = false;

	assert_non_null(file);
	snprintf(start, sizeof(start), "%lx-", (unsigned long)(uintptr_t)at);
	while (fgets(line, 200, file)) {
		found |= strncmp(line, start, strlen(start)) == 0;
		if (found && strncmp(line, field, strlen(field)) == 0)
			break;
		line[0] = '\0';
	}
	fclose(file);
}

TEST(map__huge__aligned_and_the_kernel_is_asked)
{
	struct node_memory memory = { .node = NODE_MEMORY_ANY, .huge = true };
	size_t bytes = 3 * PAGE;
	char *at = node_memory_map(&bytes, &memory);
	char flags[200];

	assert_non_null(at);
	assert_int_equal((uintptr_t)at % NODE_MEMORY_HUGE_BYTES, 0);
	assert_int_equal(bytes, NODE_MEMORY_HUGE_BYTES);
	if (memory.huge_code == 0) {
		smaps_of(at, "VmFlags:", flags);
		assert_non_null(strstr(flags, " hg"));
	}
	memset(at, 1, bytes);
	node_memory_unmap(at, bytes);
	if (memory.huge_code)
		skip_aloud("the kernel has no large pages");
}

/* ---- refusals --------------------------------------------------------------- */

TEST(map__kernel_refuses__ordinary_memory_and_why)
{
	static const int codes[] = { EPERM, ENOSYS, EINVAL };

	for (size_t i = 0; i < COUNT_OF(codes); i++) {
		struct node_memory memory = { .node = 0, .huge = true };
		size_t bytes = PAGE;
		char *at;

		refused = codes[i];
		errno = 123;
		at = node_memory_map(&bytes, &memory);
		assert_int_equal(errno, 123);
		refused = 0;
		assert_non_null(at);
		assert_int_equal(memory.node_code, -codes[i]);
		assert_int_equal(memory.huge_code, -codes[i]);
		memset(at, 1, bytes);
		node_memory_unmap(at, bytes);
	}
}

TEST(map__node_does_not_exist__ordinary_memory_and_why)
{
	static const int nodes[] = { NODE_MEMORY_LIMIT - 1, NODE_MEMORY_LIMIT,
				     INT32_MAX };

	for (size_t i = 0; i < COUNT_OF(nodes); i++) {
		struct node_memory memory = { .node = nodes[i] };
		size_t bytes = PAGE;
		char *at = node_memory_map(&bytes, &memory);

		assert_non_null(at);
		assert_true(memory.node_code < 0);
		memset(at, 1, bytes);
		node_memory_unmap(at, bytes);
	}
}

TEST(map__no_room_for_large_pages__small_ones)
{
	struct node_memory memory = { .node = NODE_MEMORY_ANY, .huge = true };
	size_t bytes = PAGE - 1;
	char *at;

	maps_fail = true;
	at = node_memory_map(&bytes, &memory);
	maps_fail = false;
	assert_non_null(at);
	assert_int_equal(bytes, PAGE);
	assert_int_equal(memory.huge_code, -ENOMEM);
	node_memory_unmap(at, bytes);
}

TEST(map__no_memory__null)
{
	struct node_memory memory = { .node = 0 };
	size_t bytes = SIZE_MAX / 4;

	errno = 123;
	assert_null(node_memory_map(&bytes, &memory));
	assert_int_equal(errno, 123);
	node_memory_unmap(NULL, 0);
}

/* ---- which nodes ------------------------------------------------------------ */

TEST(allowed__cpuset_and_binding__both_hold)
{
	static const struct {
		int mode;
		unsigned long nodes, allowed;
	} cases[] = {
		{ MPOL_DEFAULT, 0, 0xe },         { MPOL_PREFERRED, 0x1, 0xe },
		{ MPOL_INTERLEAVE, 0x6, 0xe },    { MPOL_BIND, 0x6, 0x6 },
		{ MPOL_BIND | 1 << 15, 0x11, 0 }, { MPOL_BIND, 0x9, 0x8 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct node_set allowed;

		told = true;
		told_allowed = 0xe;
		told_policy[0] = (unsigned long)cases[i].mode;
		told_policy[1] = cases[i].nodes;
		assert_int_equal(node_memory_allowed(&allowed), 0);
		told = false;
		assert_int_equal(allowed.words[0], cases[i].allowed);
		assert_int_equal(node_set_count(&allowed),
				 __builtin_popcountl(cases[i].allowed));
	}
}

TEST(allowed__kernel_does_not_tell__none)
{
	struct node_set allowed;

	refused = ENOSYS;
	assert_int_equal(node_memory_allowed(&allowed), -ENOSYS);
	refused = 0;
	assert_int_equal(node_set_count(&allowed), 0);
	assert_false(node_set_has(&allowed, 0));
	assert_false(node_set_has(&allowed, NODE_MEMORY_LIMIT));
}

/* Of all nodes that the machine has; but @without. */
static struct node_set nodes_of(const struct machine *machine, int without)
{
	struct node_set set = { { 0 } };

	for (unsigned i = 0; i < machine->node_count; i++) {
		unsigned node = machine->nodes[i].node;

		if ((int)node != without)
			set.words[node / (8 * sizeof(long))] |=
				1ul << node % (8 * sizeof(long));
	}
	return set;
}

TEST(nearest__any_cpu__least_distance_with_memory)
{
	static const char *const names[] = { "memory_nodes", "two_sockets_smt",
					     "nps4_16_llcs", "no_numa",
					     "gaps_and_offline" };
	unsigned foreign = 0;

	for (size_t n = 0; n < COUNT_OF(names); n++) {
		struct machine *machine = machine_named(names[n]);
		struct node_set all = nodes_of(machine, -1);

		for (unsigned i = 0; i < machine->cpu_count; i++) {
			const struct skua_cpu *cpu = &machine->cpus[i];
			int node = node_memory_nearest(machine, cpu->cpu, &all);
			unsigned least = UINT32_MAX;

			for (unsigned j = 0; j < machine->node_count; j++) {
				unsigned distance = machine_distance(
					machine, cpu->node,
					machine->nodes[j].node);

				if (machine->nodes[j].memory_bytes > 0 &&
				    distance < least)
					least = distance;
			}
			if (least == UINT32_MAX) {
				assert_int_equal(node, NODE_MEMORY_ANY);
				continue;
			}
			assert_int_equal(machine_distance(machine, cpu->node,
							  (unsigned)node),
					 least);
			foreign += (unsigned)node != cpu->node;
		}
		machine_free(machine);
	}
	/* One of them has a node with CPUs and no memory. */
	assert_true(foreign > 0);
}

TEST(nearest__not_allowed_or_no_such_cpu__another_or_any)
{
	struct machine *machine = machine_named("two_sockets_smt");
	const struct skua_cpu *cpu = &machine->cpus[0];
	struct node_set rest = nodes_of(machine, (int)cpu->node);
	struct node_set none = { { 0 } };
	int node = node_memory_nearest(machine, cpu->cpu, &rest);

	assert_true(node >= 0 && node != (int)cpu->node);
	assert_int_equal(node_memory_nearest(machine, cpu->cpu, &none),
			 NODE_MEMORY_ANY);
	assert_int_equal(node_memory_nearest(machine, 60000, &rest),
			 NODE_MEMORY_ANY);
	machine_free(machine);
}
