/* SPDX-License-Identifier: MIT */
/* test_stacks.c - the pool of stacks, with a kernel that refuses some calls */
#include <stdarg.h>
#include <sys/mman.h>

#include "core/fiber/stacks.h"
#include "core/runtime/runtime.h"
#include "skua/fiber.h"
#include "skua/sync.h"
#include "tests/unit/tasks.h"
#include "topology/node_memory.h"

#define GUARD_INSTALL 102

static bool old_kernel;      /* without MADV_GUARD_INSTALL */
static atomic_u32 no_memory; /* for mmap() */
static atomic_u32 lines;     /* of the log */

int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd,
		  off_t offset);

int __wrap_madvise(void *at, size_t bytes, int advice)
{
	if (advice != GUARD_INSTALL || !old_kernel)
		return __real_madvise(at, bytes, advice);
	errno = EINVAL;
	return -1;
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd,
		  off_t offset)
{
	if (!atomic_load_relaxed(&no_memory))
		return __real_mmap(at, bytes, protection, flags, fd, offset);
	errno = ENOMEM;
	return MAP_FAILED;
}

static struct stacks stacks;
static struct stack_cache cache;

static int begin(void **state)
{
	(void)state;
	memset(&stacks, 0, sizeof(stacks));
	memset(&cache, 0, sizeof(cache));
	stacks_init(&stacks, NODE_MEMORY_ANY, STACK_ORDER_MIN);
	cache.stacks = &stacks;
	return 0;
}

static int end(void **state)
{
	(void)state;
	stacks_destroy(&stacks);
	return 0;
}

EACH_TEST(begin, end);

static struct stack *take(unsigned order)
{
	errno = 0;
	return stacks_take(&stacks, &cache, order);
}

/* ---- take and give -------------------------------------------------------- */

TEST(take__each_size__large_enough)
{
	for (unsigned order = STACK_ORDER_MIN; order <= STACK_ORDER_MAX;
	     order++) {
		struct stack *stack = take(order);

		assert_non_null(stack);
		assert_int_equal(errno, 0);
		assert_true(stack_bytes(stack) >= (size_t)1 << order);
		assert_int_equal((uintptr_t)stack % 16, 0);
		stack->low[0] = 1;
		((char *)stack)[-1] = 1;
		stacks_give(&cache, stack);
		assert_ptr_equal(take(order), stack);
		stacks_give(&cache, stack);
	}
}

#define MANY 1000u

TEST(take__many__apart_and_all_reused)
{
	static struct stack *all[MANY];
	unsigned colours = 0;

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < MANY; i++) {
			all[i] = take(STACK_ORDER_MIN);
			assert_non_null(all[i]);
			*(unsigned *)all[i]->low = i;
			colours |= 1u << (uintptr_t)all[i] % 4096 / 128;
		}
		for (unsigned i = 0; i < MANY; i++)
			assert_int_equal(*(unsigned *)all[i]->low, i);
		for (unsigned i = 0; i < MANY; i++)
			stacks_give(i % 2 ? &cache : NULL, all[i]);
	}
	assert_int_equal(colours, UINT32_MAX);
}

TEST(take__by_outside_threads__of_the_node)
{
	struct stack *stack = stacks_take(&stacks, NULL, STACK_ORDER_MIN);
	struct stack *other = stacks_take(&stacks, NULL, STACK_ORDER_MIN);

	assert_ptr_not_equal(stack, other);
	stacks_give(NULL, stack);
	assert_ptr_equal(take(STACK_ORDER_MIN), stack);
}

TEST(take__no_memory__null_and_later_a_stack)
{
	struct stack *stack;

	atomic_store_relaxed(&no_memory, 1);
	assert_null(take(STACK_ORDER_MIN));
	assert_int_equal(errno, 0);
	atomic_store_relaxed(&no_memory, 0);
	stack = take(STACK_ORDER_MIN);
	assert_non_null(stack);
	stacks_give(&cache, stack);
}

/* ---- memory that goes back ------------------------------------------------- */

static bool has_arena(unsigned order)
{
	const struct stacks_size *size = &stacks.sizes[order - STACK_ORDER_MIN];

	return size->arenas || size->full;
}

TEST(trim__used_since__kept)
{
	uint64_t now_ns = skua_now_ns();
	struct stack *stack;

	stacks_give(&cache, take(STACK_ORDER_MIN));
	for (unsigned n = 0; n < 3; n++) {
		stack = take(STACK_ORDER_MIN);
		stacks_give(&cache, stack);
		assert_true(stacks_trim(&cache, now_ns));
	}
	assert_ptr_equal(take(STACK_ORDER_MIN), stack);
	stacks_give(&cache, stack);
}

TEST(trim__idle__returned)
{
	static struct stack *all[MANY];
	uint64_t now_ns;
	unsigned trims = 0;

	for (unsigned i = 0; i < MANY; i++)
		all[i] = take(STACK_ORDER_MIN);
	/* The first of its arena stays in use. */
	for (unsigned i = 1; i < MANY; i++)
		stacks_give(&cache, all[i]);
	now_ns = skua_now_ns();
	while (stacks_trim(&cache, now_ns)) {
		now_ns += STACKS_IDLE_NS;
		trims++;
	}
	/* STACKS_TRIM at a time. */
	assert_true(trims < MANY / STACKS_TRIM + 4);
	assert_true(has_arena(STACK_ORDER_MIN));
	all[0]->low[0] = 1;
	stacks_give(&cache, all[0]);
	while (stacks_trim(&cache, now_ns))
		now_ns += STACKS_IDLE_NS;
	assert_false(has_arena(STACK_ORDER_MIN));
}

TEST(used__pages_that_were_written)
{
	struct stack *stack = take(20);
	volatile char *top = (char *)stack;

	top[-1] = 1;
	top[-300000] = 1;
	assert_in_range(stack_used(stack), 300000, 300000 + 3 * 4096);
	stacks_give(&cache, stack);
}

/* ---- fibers without a stack -------------------------------------------------- */

static void on_log(void *ctx, enum skua_log_level level, const char *line)
{
	(void)ctx, (void)level;
	if (strstr(line, "no memory for the stack of a fiber"))
		atomic_fetch_add_release(&lines, 1);
}

static void do_nothing(struct skua_fiber *self)
{
	(void)self;
}

static void call_nothing(void *arg)
{
	(void)arg;
}

TEST(fiber__no_memory_for_its_stack__runs_later)
{
	struct skua_hooks hooks = { .log = on_log };
	struct skua_runtime *rt = RUNTIME(.workers = 1, .hooks = &hooks);
	struct skua_fiber fibers[10];

	atomic_store_relaxed(&no_memory, 1);
	assert_int_equal(skua_fiber_spawn(rt, NULL, call_nothing, NULL),
			 -ENOMEM);
	for (unsigned i = 0; i < COUNT_OF(fibers); i++) {
		assert_int_equal(skua_fiber_init(&fibers[i], do_nothing, 0), 0);
		spawn(rt, &fibers[i].task);
	}
	while (atomic_load_acquire(&lines) == 0)
		sched_yield();
	wait_until_waiting(&fibers[0].task);
	atomic_store_relaxed(&no_memory, 0);
	for (unsigned i = 0; i < COUNT_OF(fibers); i++)
		join(&fibers[i].task);
	destroy(rt);
}

static struct skua_event event;

static void wait_for_event(struct skua_fiber *self)
{
	(void)self;
	assert_int_equal(skua_event_wait(&event, SKUA_FOREVER_NS), 0);
}

/* The last arena is unmapped when its stacks are cold. */
static void wait_until_cold(struct skua_runtime *rt)
{
	struct stacks *own = rt->pool.workers[0]->stacks;

	while (atomic_load_acquire((atomic_u64 *)&own->area.arenas))
		sched_yield();
}

/* That worker has never polled a fiber before. */
TEST(fiber__ends_on_another_worker__its_stack_is_returned)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct holder first = HOLDER_INIT, second = HOLDER_INIT;
	struct skua_fiber fiber;

	event = (struct skua_event)SKUA_EVENT_INIT;
	holder_hold(rt, &first);
	assert_int_equal(skua_fiber_init(&fiber, wait_for_event, 0), 0);
	spawn(rt, &fiber.task);
	wait_until_waiting(&fiber.task);
	holder_hold(rt, &second);
	holder_end(&first);
	skua_event_set(&event);
	join(&fiber.task);
	holder_end(&second);
	wait_until_cold(rt);
	destroy(rt);
}

/* ---- guards ------------------------------------------------------------------- */

#if !SANITIZED
static void expect_guard(void)
{
	struct stack *stack = take(STACK_ORDER_MIN);
	pid_t child;

	stacks_give(&cache, take(STACK_ORDER_MIN));
	child = without_core();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)(stack->low - 1) = 1;
		_exit(0);
	}
	assert_int_equal(WTERMSIG(status_of(child)), SIGSEGV);
	stack->low[0] = 1;
	stacks_give(&cache, stack);
}

TEST(guard__written__sigsegv)
{
	expect_guard();
}

/* The tests from here on have the process use mappings as guards for good. */
TEST(guard__old_kernel__a_mapping)
{
	old_kernel = true;
	expect_guard();
}

static unsigned take_all(void)
{
	unsigned count = 0;

	while (take(STACK_ORDER_MIN))
		count++;
	assert_int_equal(errno, 0);
	return count;
}

TEST(guard__too_many_mappings__no_stack_and_no_failure)
{
	unsigned count = take_all();
	void *others[100];

	/* Mappings are left for the program. */
	for (unsigned i = 0; i < COUNT_OF(others); i++) {
		others[i] = mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(others[i] != MAP_FAILED);
	}
	for (unsigned i = 0; i < COUNT_OF(others); i++)
		munmap(others[i], 4096);
	stacks_destroy(&stacks);
	begin(NULL);
	assert_int_equal(take_all(), count);
	assert_true(count > 1000);
}
#endif
