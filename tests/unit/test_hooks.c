/* SPDX-License-Identifier: MIT */
/* test_hooks.c - what a runtime tells its user, and where its memory is from */
#include <pthread.h>

#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

#define WORKERS 3u

/* ---- worker hooks ------------------------------------------------------------ */

/* Calls of a worker's hooks; each on its own thread. */
struct told {
	pthread_t thread;
	atomic_u32 starts;
	atomic_u32 stops;
	atomic_u32 parks;
	atomic_u32 unparks;
	atomic_u32 wrong; /* not in turn, or not on its thread */
};

static void note(atomic_u32 *count)
{
	atomic_fetch_add_release(count, 1);
}

static uint32_t told(atomic_u32 *count)
{
	return atomic_load_acquire(count);
}

static void on_start(void *ctx, unsigned worker)
{
	struct told *it = (struct told *)ctx + worker;

	it->thread = pthread_self();
	if (told(&it->starts) != 0)
		note(&it->wrong);
	note(&it->starts);
}

static void check_thread(struct told *it)
{
	if (told(&it->starts) == 0)
		return; /* it has no such hook */
	if (!pthread_equal(it->thread, pthread_self()) || told(&it->stops) != 0)
		note(&it->wrong);
}

/* Its last park, if any, has ended. */
static struct told *awake(void *ctx, unsigned worker)
{
	struct told *it = (struct told *)ctx + worker;

	check_thread(it);
	if (told(&it->parks) != told(&it->unparks))
		note(&it->wrong);
	return it;
}

static void on_stop(void *ctx, unsigned worker)
{
	note(&awake(ctx, worker)->stops);
}

static void on_park(void *ctx, unsigned worker)
{
	note(&awake(ctx, worker)->parks);
}

static void on_unpark(void *ctx, unsigned worker)
{
	struct told *it = (struct told *)ctx + worker;

	check_thread(it);
	note(&it->unparks);
	if (told(&it->parks) != told(&it->unparks))
		note(&it->wrong);
}

static struct skua_runtime *runtime_with(const struct skua_hooks *hooks)
{
	return RUNTIME(.workers = WORKERS, .hooks = hooks);
}

TEST(hooks__a_life__in_turn_and_counts_match)
{
	struct told all[WORKERS];
	struct skua_hooks hooks = { .worker_start = on_start,
				    .worker_stop = on_stop,
				    .worker_park = on_park,
				    .worker_unpark = on_unpark,
				    .ctx = all };
	struct counter counter = COUNTER_INIT;
	struct skua_worker_stats stats;
	struct skua_runtime *rt;

	memset(all, 0, sizeof(all));
	rt = runtime_with(&hooks);
	for (unsigned n = 0; n < 500; n++) {
		spawn(rt, &counter.task);
		join(&counter.task);
	}
	while (!idle_all_parked(&rt->pool.idle))
		sched_yield();
	for (unsigned i = 0; i < WORKERS; i++) {
		/* Said just after the bit is set. */
		while (told(&all[i].parks) != told(&all[i].unparks) + 1)
			sched_yield();
		assert_int_equal(skua_runtime_worker_stats(rt, i, &stats), 0);
		assert_int_equal(told(&all[i].starts), 1);
		assert_int_equal(told(&all[i].stops), 0);
		assert_int_equal(told(&all[i].parks), stats.times_parked);
	}
	destroy(rt);
	for (unsigned i = 0; i < WORKERS; i++) {
		assert_int_equal(told(&all[i].starts), 1);
		assert_int_equal(told(&all[i].stops), 1);
		assert_int_equal(told(&all[i].parks), told(&all[i].unparks));
		assert_int_equal(told(&all[i].wrong), 0);
	}
}

TEST(hooks__each_alone__others_may_be_null)
{
	struct told all[WORKERS];

	for (unsigned which = 0; which < 5; which++) {
		struct skua_hooks hooks = { .ctx = all };
		struct counter counter = COUNTER_INIT;
		struct skua_runtime *rt;
		uint32_t starts = 0;

		memset(all, 0, sizeof(all));
		if (which == 0)
			hooks.worker_start = on_start;
		else if (which == 1)
			hooks.worker_stop = on_stop;
		else if (which == 2)
			hooks.worker_park = on_park;
		else if (which == 3)
			hooks.worker_unpark = on_unpark;
		rt = runtime_with(&hooks);
		spawn(rt, &counter.task);
		join(&counter.task);
		destroy(rt);
		for (unsigned i = 0; i < WORKERS; i++)
			starts += told(&all[i].starts);
		assert_int_equal(starts, which == 0 ? WORKERS : 0);
	}
}

static atomic_ptr indexed_rt; /* a struct skua_runtime */

/* The one function that hooks may call. */
static void ask_index(void *ctx, unsigned worker)
{
	struct skua_runtime *rt = atomic_load_acquire(&indexed_rt);

	if (rt && skua_worker_index(rt) != (int)worker)
		note(ctx);
}

TEST(hooks__worker_index__is_their_own)
{
	atomic_u32 wrong;
	struct skua_hooks hooks = { .worker_park = ask_index,
				    .worker_unpark = ask_index,
				    .ctx = &wrong };
	struct counter counter = COUNTER_INIT;
	struct skua_runtime *rt;

	atomic_init(&wrong, 0);
	rt = runtime_with(&hooks);
	atomic_store_release(&indexed_rt, rt);
	for (unsigned n = 0; n < 200; n++) {
		spawn(rt, &counter.task);
		join(&counter.task);
	}
	destroy(rt);
	atomic_store_release(&indexed_rt, NULL);
	assert_int_equal(told(&wrong), 0);
}

/* ---- the log ------------------------------------------------------------------ */

struct messages {
	unsigned infos;
	unsigned warnings;
	unsigned others;
	char last[200];
};

static void keep_message(void *ctx, enum skua_log_level level, const char *text)
{
	struct messages *it = ctx;

	it->infos += level == SKUA_LOG_INFO;
	it->warnings += level == SKUA_LOG_WARNING;
	it->others += level == SKUA_LOG_ERROR;
	snprintf(it->last, sizeof(it->last), "%s", text);
}

TEST(log__create_and_late_shutdown__one_line_each)
{
	struct messages messages = { .infos = 0 };
	struct skua_hooks hooks = { .log = keep_message, .ctx = &messages };
	struct skua_runtime *rt;
	struct waiter waiter = WAITER_INIT;

	/* A debug build would give a hint for the task that nothing wakes. */
	assert_int_equal(setenv("SKUA_TRACK_TASKS", "0", 1), 0);
	rt = runtime_with(&hooks);
	assert_int_equal(messages.infos, 1);
	assert_non_null(strstr(messages.last, "3 workers"));
	assert_null(strchr(messages.last, '\n'));
	waiter_start(rt, &waiter);
	assert_int_equal(skua_runtime_shutdown(rt, 0, SKUA_SHUTDOWN_RUN),
			 -ETIMEDOUT);
	assert_int_equal(messages.warnings, 1);
	assert_non_null(strstr(messages.last, "shutdown"));
	assert_int_equal(skua_task_cancel(&waiter.task), 0);
	join(&waiter.task);
	destroy(rt);
	assert_int_equal(messages.infos, 1);
	assert_int_equal(messages.warnings, 1);
	assert_int_equal(messages.others, 0);
}

static void fail_to_write(void *ctx, enum skua_log_level level,
			  const char *text)
{
	(void)level;
	(void)text;
	++*(unsigned *)ctx;
	errno = EPIPE;
}

TEST(log__sets_errno__errno_is_left_alone)
{
	unsigned lines = 0;
	const struct skua_hooks hooks = { .log = fail_to_write, .ctx = &lines };
	struct skua_runtime *rt =
		RUNTIME(.flags = SKUA_UNPINNED, .workers = 1, .hooks = &hooks);
	struct waiter waiter = WAITER_INIT;
	unsigned before = lines;

	waiter_start(rt, &waiter);
	errno = 123;
	assert_int_equal(skua_runtime_shutdown(rt, 0, SKUA_SHUTDOWN_RUN),
			 -ETIMEDOUT);
	assert_int_equal(errno, 123);
	assert_true(lines > before);
	skua_task_cancel(&waiter.task);
	join(&waiter.task);
	destroy(rt);
}

/* ---- the allocator ------------------------------------------------------------- */

#define BLOCKS_MAX 64u

/* Keeps account of each block; one thread at a time. */
struct account {
	struct {
		void *memory;
		size_t size;
	} blocks[BLOCKS_MAX];
	unsigned calls;
	unsigned live;
	unsigned fail_at; /* the n-th call returns NULL; 0: none */
	unsigned wrong;
};

static void *account_alloc(void *ctx, size_t align, size_t size)
{
	struct account *it = ctx;
	void *memory;

	if (++it->calls == it->fail_at)
		return NULL;
	if (align == 0 || (align & (align - 1)) != 0 || size == 0 ||
	    size % align != 0)
		it->wrong++;
	memory = aligned_alloc(align, size);
	for (unsigned n = 0; memory && n < BLOCKS_MAX; n++) {
		if (it->blocks[n].memory)
			continue;
		memset(memory, 0xa5, size); /* not zeroed */
		it->blocks[n].memory = memory;
		it->blocks[n].size = size;
		it->live++;
		return memory;
	}
	it->wrong++;
	return memory;
}

static void account_free(void *ctx, void *memory, size_t size)
{
	struct account *it = ctx;

	for (unsigned n = 0; n < BLOCKS_MAX; n++) {
		if (it->blocks[n].memory != memory)
			continue;
		it->wrong += it->blocks[n].size != size;
		it->blocks[n].memory = NULL;
		it->live--;
		free(memory);
		errno = EAGAIN;
		return;
	}
	it->wrong++; /* not one of its blocks, or NULL */
}

static int create_with(struct account *account, struct skua_runtime **rt,
		       const struct skua_allocator *allocator)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .workers = WORKERS,
					 .allocator = allocator };
	struct skua_error err = { 0, "" };
	int code = skua_runtime_create(rt, &cfg, &err);

	assert_int_equal(err.code, code);
	assert_int_equal(account->wrong, 0);
	return code;
}

TEST(allocator__a_life__every_byte_is_given_back)
{
	struct account account = { .calls = 0 };
	const struct skua_allocator allocator = { account_alloc, account_free,
						  &account };
	struct counter counter = COUNTER_INIT;
	struct skua_runtime *rt;
	unsigned calls;

	assert_int_equal(create_with(&account, &rt, &allocator), 0);
	calls = account.calls;
	assert_true(calls > 0 && account.live == calls);
	for (unsigned n = 0; n < 500; n++) {
		spawn(rt, &counter.task);
		join(&counter.task);
	}
	/* Tasks need no memory of the runtime. */
	assert_int_equal(account.calls, calls);
	errno = 123;
	destroy(rt);
	assert_int_equal(errno, 123);
	assert_int_equal(account.calls, calls);
	assert_int_equal(account.live, 0);
	assert_int_equal(account.wrong, 0);
}

TEST(allocator__nth_call_fails__enomem_nothing_left)
{
	for (unsigned nth = 1;; nth++) {
		struct account account = { .fail_at = nth };
		const struct skua_allocator allocator = { account_alloc,
							  account_free,
							  &account };
		struct skua_runtime *rt = (struct skua_runtime *)&account;
		int code = create_with(&account, &rt, &allocator);

		if (account.calls < nth) {
			assert_int_equal(code, 0);
			destroy(rt);
			assert_int_equal(account.live, 0);
			/* Itself, some arrays and the queues, at least. */
			assert_true(nth > 1 + WORKERS);
			break;
		}
		assert_int_equal(code, -ENOMEM);
		assert_null(rt);
		assert_true(account.calls >= nth);
		assert_int_equal(account.live, 0);
		assert_int_equal(account.wrong, 0);
	}
}
