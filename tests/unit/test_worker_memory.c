/* SPDX-License-Identifier: MIT */
/**
 * test_worker_memory.c - on which node the memory of which worker is
 *
 * As this machine has it; and, with calls that are wrapped, as one has it whose
 * every CPU is a node: what the library asks of the kernel is written down, and
 * not passed on. Where pages then are, tests/external thread shows.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "tests/unit/pages.h"
#include "tests/unit/policy_calls.h"
#include "tests/unit/process.h"
#include "tests/unit/tasks.h"

/* ---- a machine with nodes ----------------------------------------------------- */

#define FIRST_NODE 3u /* of CPU 0 */

static bool with_nodes;
static int refused; /* what mbind() returns; 0: it does as it is told */
static unsigned machine_loads;
static unsigned fail_at, mmaps; /* which mmap() fails; 0: none */
static long mapped;             /* bytes */

/* Requests to the kernel. */
static struct wish {
	const char *at, *end;
	int node;
} wishes[200];
static unsigned wish_count;
static unsigned late_wishes; /* of ranges that were written to already */

int __real_machine_load(struct machine **out, const char *root,
			struct skua_error *err);
int __wrap_machine_load(struct machine **out, const char *root,
			struct skua_error *err);
int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);

long __wrap_get_mempolicy(int *mode, unsigned long *nodes, unsigned long bits,
			  void *at, unsigned flags)
{
	if (!with_nodes)
		return __real_get_mempolicy(mode, nodes, bits, at, flags);
	if (mode)
		*mode = MPOL_DEFAULT;
	nodes[0] = flags & MPOL_F_MEMS_ALLOWED ? ~0ul : 0;
	return 0;
}

static bool is_written(const char *at, size_t size)
{
	unsigned char resident;

	for (size_t i = 0; i < size; i += (size_t)sysconf(_SC_PAGESIZE)) {
		assert_int_equal(mincore((void *)(at + i), 1, &resident), 0);
		if (resident & 1)
			return true;
	}
	return false;
}

long __wrap_mbind(void *at, unsigned long size, int mode,
		  const unsigned long *nodes, unsigned long bits,
		  unsigned flags)
{
	assert_int_equal(mode & 0xff, MPOL_PREFERRED);
	assert_int_equal(flags, 0);
	assert_true(bits > 64 && __builtin_popcountl(nodes[0]) == 1);
	if (refused) {
		errno = refused;
		return -1;
	}
	late_wishes += is_written(at, size);
	assert_true(wish_count < COUNT_OF(wishes));
	wishes[wish_count++] = (struct wish){ at, (char *)at + size,
					      __builtin_ctzl(nodes[0]) };
	return 0;
}

/* Each CPU of this machine is a node of its own. */
int __wrap_machine_load(struct machine **out, const char *root,
			struct skua_error *err)
{
	struct machine *machine;
	unsigned count;
	int code = __real_machine_load(out, root, err);

	machine_loads++;
	if (code)
		return code;
	machine = *out;
	count = machine->cpu_count;
	free(machine->nodes);
	free(machine->distances);
	machine->node_count = count;
	machine->nodes = calloc(count, sizeof(*machine->nodes));
	machine->distances = calloc((size_t)count * count, sizeof(unsigned));
	for (unsigned i = 0; i < count; i++) {
		unsigned node = FIRST_NODE + i;

		machine->cpus[i].node = node;
		machine->nodes[i] = (struct skua_numa_node){ node, 1, 1 << 30 };
		for (unsigned j = 0; j < count; j++)
			machine->distances[i * count + j] = i == j ? 10 : 20;
	}
	return 0;
}

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t o)
{
	void *memory;

	if (fail_at > 0 && ++mmaps == fail_at) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	memory = __real_mmap(at, size, prot, flags, fd, o);
	if (memory != MAP_FAILED)
		mapped += (long)size;
	return memory;
}

int __wrap_munmap(void *at, size_t size)
{
	mapped -= (long)size;
	return __real_munmap(at, size);
}

static int begin(void **state)
{
	(void)state;
	with_nodes = true;
	refused = 0;
	machine_loads = 0;
	wish_count = 0;
	late_wishes = 0;
	fail_at = 0;
	return 0;
}

EACH_TEST(begin, NULL);

/* The advice for all of a range, the newest first; -1: none. */
static int wished(const void *at, size_t bytes)
{
	const char *first = at;

	for (unsigned i = wish_count; i-- > 0;) {
		if (wishes[i].at <= first && first + bytes <= wishes[i].end)
			return wishes[i].node;
	}
	return -1;
}

/* ---- runtimes --------------------------------------------------------------- */

static unsigned log_lines;

static void count_warnings(void *ctx, enum skua_log_level level,
			   const char *text)
{
	(void)ctx;
	log_lines += level == SKUA_LOG_WARNING && strstr(text, "node") != NULL;
}

static const struct skua_hooks hooks = { .log = count_warnings };

static struct skua_runtime *make(struct skua_config cfg)
{
	struct skua_runtime *rt;
	struct skua_error err = { 0, "" };

	cfg.size = sizeof(cfg);
	cfg.flags |= SKUA_NO_ENV;
	cfg.hooks = &hooks;
	log_lines = 0;
	if (skua_runtime_create(&rt, &cfg, &err) != 0)
		fail_msg("%s", err.text);
	return rt;
}

/* The workers of @rt that have a CPU of their own; 0: none has. */
static unsigned pinned(const struct skua_runtime *rt)
{
	if (!rt->config.pinned)
		return 0;
	return rt->config.workers < rt->config.cpus.count
		       ? rt->config.workers
		       : rt->config.cpus.count;
}

static void nothing(void *arg)
{
	(void)arg;
}

static void leaf(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	(void)job;
}

/* On a worker: forks, and takes blocks. */
static enum skua_poll use_poll(struct skua_task *self)
{
	struct skua_ctx ctx = skua_task_ctx(self), inner;
	struct skua_job job = { .run = leaf };
	struct skua_runtime *rt = runtime_of_task(self);

	inner = skua_fork(ctx, &job);
	if (skua_reclaim(inner, &job))
		leaf(ctx, &job);
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(skua_call(rt, nothing, NULL), 0);
	return SKUA_DONE;
}

/* Each worker forks, and takes blocks. */
static void use(struct skua_runtime *rt)
{
	for (unsigned i = 0; i < skua_runtime_workers(rt); i++) {
		struct skua_task task = SKUA_TASK_INIT(use_poll);

		assert_int_equal(skua_task_spawn_on(rt, i, &task), 0);
		join(&task);
	}
	assert_int_equal(skua_runtime_drain(rt), 0);
}

/* ---- a machine with nodes, asked ----------------------------------------------- */

static int node_of(const struct skua_runtime *rt, unsigned i)
{
	struct machine *machine;
	int node;

	assert_int_equal(machine_load(&machine, "/", NULL), 0);
	node = (int)machine_cpu(machine, rt->config.cpus.cpus[i])->node;
	machine_free(machine);
	return node;
}

static void expect_wishes(const struct skua_runtime *rt, unsigned i, int node)
{
	const struct worker *w = rt->pool.workers[i];
	const struct job_slots *slots = &rt->worker_memory.job_slots;

	assert_int_equal(wished(w, sizeof(*w)), node);
	assert_int_equal(wished(w->queue, sizeof(*w->queue)), node);
	assert_int_equal(wished(w->queue->slots,
				rt->config.queue_capacity * sizeof(atomic_ptr)),
			 node);
	assert_int_equal(wished(w->fork_join, sizeof(*w->fork_join)), node);
	assert_int_equal(
		wished(job_slots_of(slots, i), job_slots_place_bytes(slots)),
		node);
	assert_int_equal(wished((const void *)(uintptr_t)w->area.samples,
				sizeof(struct area_samples)),
			 node);
	assert_int_equal(
		wished(w->timers.wheel.slots,
		       TIMER_WHEEL_SLOTS_TOTAL * sizeof(struct timer_slot)),
		node);
	for (const struct slab_block *b = w->slab.free; b; b = b->next)
		assert_int_equal(wished(b, SLAB_BLOCK_BYTES), node);
}
ALL_TESTS(process_settle, NULL);

TEST(worker_memory__pinned__each_of_its_node_before_a_write)
{
	struct skua_runtime *rt = make((struct skua_config){ 0 });

	if (pinned(rt) == 0) {
		destroy(rt);
		skip_aloud("a quota: workers are not pinned here");
		return;
	}
	use(rt);
	for (unsigned i = 0; i < pinned(rt); i++)
		expect_wishes(rt, i, node_of(rt, i));
	assert_int_equal(late_wishes, 0);
	assert_int_equal(log_lines, 0);
	destroy(rt);
}

TEST(worker_memory__surplus__of_no_node)
{
	struct skua_runtime *rt = make((struct skua_config){ 0 });
	unsigned cpus = rt->config.cpus.count;

	destroy(rt);
	begin(NULL);
	rt = make((struct skua_config){ .workers = cpus + 2 });
	use(rt);
	/* With one CPU, each worker is near the only node. */
	for (unsigned i = 0; i < cpus + 2; i++)
		expect_wishes(rt, i,
			      i < pinned(rt) ? node_of(rt, i)
			      : cpus == 1    ? node_of(rt, 0)
					     : -1);
	destroy(rt);
}

TEST(worker_memory__no_cpu_of_their_own__nothing_is_asked)
{
	static const unsigned flags[] = { SKUA_UNPINNED, SKUA_CALLER_DRIVEN };

	for (size_t i = 0; i < COUNT_OF(flags); i++) {
		struct skua_runtime *rt =
			make((struct skua_config){ .flags = flags[i] });

		assert_int_equal(wish_count, 0);
		destroy(rt);
	}
}

static unsigned allocations;

static void *give(void *ctx, size_t align, size_t size)
{
	(void)ctx;
	atomic_fetch_add_relaxed((atomic_u32 *)&allocations, 1);
	return aligned_alloc(align, size);
}

static void take(void *ctx, void *memory, size_t size)
{
	(void)ctx;
	(void)size;
	atomic_fetch_sub_relaxed((atomic_u32 *)&allocations, 1);
	free(memory);
}

TEST(worker_memory__allocator__has_all_and_nothing_is_asked)
{
	const struct skua_allocator allocator = { give, take, NULL };
	struct skua_runtime *rt;

	allocations = 0;
	rt = make((struct skua_config){ .allocator = &allocator,
					.flags = SKUA_HUGE_PAGES });
	use(rt);
	assert_int_equal(wish_count, 0);
	for (unsigned i = 0; i < skua_runtime_workers(rt); i++)
		assert_null(
			node_allocs_of(&rt->worker_memory.allocs, i)->extents);
	assert_true(allocations > 0);
	destroy(rt);
	assert_int_equal(allocations, 0);
}

TEST(worker_memory__kernel_refuses__ordinary_memory_and_a_warning)
{
	struct skua_runtime *rt;

	refused = EPERM;
	rt = make((struct skua_config){ 0 });
	use(rt);
	assert_int_equal(log_lines, pinned(rt));
	destroy(rt);
}

/* ---- memory that cannot be had ------------------------------------------------ */

TEST(worker_memory__nth_mmap_fails__enomem_and_nothing_left)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .flags = SKUA_NO_ENV };
	struct skua_error err = { 0, "" };
	unsigned n, enomem = 0, nodes;
	struct skua_runtime *first = make(cfg);

	nodes = pinned(first);
	destroy(first); /* but a page that stays, for fork() */
	for (n = 1;; n++) {
		struct skua_runtime *rt = NULL;
		long before = mapped;
		int code;

		begin(NULL);
		mmaps = 0;
		fail_at = n;
		code = skua_runtime_create(&rt, &cfg, &err);
		fail_at = 0;
		if (code == 0) {
			assert_int_equal(skua_runtime_destroy(rt), 0);
			assert_int_equal(mapped, before);
			break;
		}
		assert_int_equal(code, -ENOMEM);
		assert_null(rt);
		assert_int_equal(mapped, before);
		enomem++;
	}
	/* Job slots, with what is behind them, and an extent for each node. */
	assert_int_equal(enomem, 1 + nodes);
}

/* ---- this machine ------------------------------------------------------------- */

/* Of each pinned worker, each page is on the node of its CPU, if that has memory;
 * and the calling thread's policy is what it was. */
static void expect_pages(unsigned flags)
{
	struct node_set allowed, before, after;
	struct skua_runtime *rt;
	struct machine *machine;
	int mode_before = 0, mode_after = 0;
	unsigned checked = 0;

	with_nodes = false;
	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	assert_int_equal(node_memory_allowed(&allowed), 0);
	assert_int_equal(__real_machine_load(&machine, "/", NULL), 0);
	__real_get_mempolicy(&mode_before, before.words, NODE_MEMORY_LIMIT + 1,
			     NULL, 0);
	rt = make((struct skua_config){ .flags = flags });
	__real_get_mempolicy(&mode_after, after.words, NODE_MEMORY_LIMIT + 1,
			     NULL, 0);
	assert_int_equal(mode_before, mode_after);
	assert_memory_equal(&before, &after, sizeof(before));
	use(rt);
	for (unsigned i = 0; i < pinned(rt); i++) {
		int node = node_memory_nearest(machine, rt->config.cpus.cpus[i],
					       &allowed);
		struct pages pages = pages_of_worker(rt, i, node);

		assert_int_equal(pages.code, 0);
		assert_true(pages.count > 0);
		assert_int_equal(pages.there, pages.count);
		checked++;
	}
	machine_free(machine);
	destroy(rt);
	if (checked == 0)
		skip_aloud("a quota: workers are not pinned here");
}

TEST(worker_memory__here__each_page_is_on_its_node)
{
	struct node_set allowed;

	with_nodes = false;
	if (node_memory_allowed(&allowed) != 0) {
		skip_aloud("the kernel knows no nodes");
		return;
	}
	expect_pages(0);
}

TEST(worker_memory__huge_pages_here__each_page_is_on_its_node)
{
	struct node_set allowed;

	with_nodes = false;
	if (node_memory_allowed(&allowed) != 0) {
		skip_aloud("the kernel knows no nodes");
		return;
	}
	expect_pages(SKUA_HUGE_PAGES);
}

TEST(worker_memory__huge_pages__aligned_and_all_of_the_workers)
{
	struct skua_runtime *rt;
	long before = mapped;

	with_nodes = false;
	rt = make((struct skua_config){ .flags = SKUA_HUGE_PAGES });
	for (unsigned i = 0; i < skua_runtime_workers(rt); i++) {
		const struct node_alloc *alloc =
			node_allocs_of(&rt->worker_memory.allocs, i);
		uintptr_t extent = (uintptr_t)alloc->extents;
		uintptr_t worker = (uintptr_t)rt->pool.workers[i];

		assert_int_equal(extent % NODE_MEMORY_HUGE_BYTES, 0);
		assert_true(worker > extent && worker < extent + alloc->bytes);
	}
	use(rt);
	destroy(rt);
	assert_int_equal(mapped, before);
}
