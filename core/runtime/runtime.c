/* SPDX-License-Identifier: MIT */
/* runtime.c - create, drain, shut down and destroy a runtime */
#include "core/runtime/runtime.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/hot.h"
#include "core/loop/current.h"
#include "core/base/clock.h"
#include "core/fiber/fiber.h"
#include "core/fiber/fiber_cancel.h"
#include "core/io/attach.h"
#include "core/runtime/left.h"
#include "core/os/log.h"
#include "core/base/memory.h"
#include "core/runtime/publish.h"
#include "core/os/realtime.h"
#include "core/os/signals.h"
#include "skua/task.h"
#include "topology/llc_groups.h"
#include "topology/machine.h"

/* ---- memory --------------------------------------------------------------- */

static void free_memory(struct skua_runtime *rt)
{
	const struct skua_allocator *a = rt->config.allocator;
	struct pool *pool = &rt->pool;

	publish_end(rt);
	files_close(&rt->files);
	worker_memory_free(&rt->worker_memory, pool, &rt->config);
	recorder_unshare(&pool->telemetry.area);
	pool_free(pool, &rt->config, &rt->groups);
	stall_free(&rt->watch, &rt->config);
	affinity_destroy(&rt->affinity);
	worker_threads_free(&rt->threads, &rt->config);
	drive_close(&rt->drive);
	llc_groups_free(&rt->groups);
	config_free(&rt->config);
	memory_free(a, rt, CACHE_PAIR, 1, sizeof(*rt));
}

/* init_groups - find out which workers are near each other */
static int init_groups(struct skua_runtime *rt, const struct machine *machine)
{
	const struct config *config = &rt->config;
	unsigned *cpus = calloc(config->workers, sizeof(*cpus));
	int code = cpus ? 0 : -ENOMEM;

	if (!code) {
		placement_tell(&config->placement, cpus, config->workers);
		code = llc_groups_make(&rt->groups, machine, cpus,
				       config->workers);
	}
	free(cpus);
	return code;
}

static int allocate_all(struct skua_runtime *rt, const struct machine *machine)
{
	struct pool *pool = &rt->pool;

	if (init_groups(rt, machine) != 0)
		return -ENOMEM;
	if (pool_allocate(pool, &rt->config, &rt->groups) != 0 ||
	    worker_threads_allocate(&rt->threads, &rt->config) != 0)
		return -ENOMEM;
	if (stall_allocate(&rt->watch, &rt->config) != 0)
		return -ENOMEM;
	return worker_memory_allocate(&rt->worker_memory, pool, &rt->config,
				      machine);
}

/* deliver - act on an event of a descriptor that is attached to the driver */
static HOT void deliver(struct driver *driver, uint64_t data, uint32_t events)
{
	struct skua_runtime *rt = driver->owner;

	if (data == FILES_EVENTS)
		files_reap(&rt->files);
	else
		attach_deliver(driver, data, events);
}

/* cpu_of - the callback driver.cpu_of */
static int cpu_of(uint64_t data)
{
	return data == FILES_EVENTS ? -1 : attach_cpu_of(data);
}

/* submit - the callback pool.submit */
static void submit(struct pool *pool)
{
	files_submit(
		&SKUA_CONTAINER_OF(pool, struct skua_runtime, pool)->files);
}

/* init_memory - allocate and initialise all memory that the runtime keeps */
static int init_memory(struct skua_runtime *rt)
{
	int code = allocate_all(rt, rt->config.machine);

	config_forget_machine(&rt->config);
	if (code)
		return code;
	pi_lock_init(&rt->nesting);
	code = pool_init(&rt->pool, &rt->config, &rt->groups,
			 &rt->wait_samples);
	worker_memory_init(&rt->worker_memory, &rt->pool, &rt->config);
	stall_init(&rt->watch, &rt->pool, &rt->config);
	blocking_init(&rt->blocking, &rt->pool, &rt->config);
	files_init(&rt->files, &rt->pool.drivers[0], &rt->pool.submit_due_ns,
		   &rt->config);
	rt->pool.submit = submit;
	for (unsigned g = 0; g < rt->groups.count; g++) {
		rt->pool.drivers[g].deliver = deliver;
		rt->pool.drivers[g].owner = rt;
		rt->pool.drivers[g].cpu_of = cpu_of;
	}
	return code;
}

/* init_affinity - prepare the affinity checks, unless the caller's thread is the worker */
static int init_affinity(struct skua_runtime *rt, struct skua_error *err)
{
	int code;

	if (rt->config.caller_driven)
		return 0;
	code = affinity_init(&rt->affinity, &rt->pool, &rt->config);
	return code ? error_set(err, code,
				"cannot prepare the CPU affinity of %u "
				"workers: %s",
				rt->config.workers, strerror(-code))
		    : 0;
}

/* ---- threads -------------------------------------------------------------- */

static int start_threads(struct skua_runtime *rt, struct skua_error *err)
{
	sigset_t before;
	int code;

	signals_block(&before); /* the new threads inherit the mask */
	code = worker_threads_start(&rt->threads, &rt->pool, &rt->config, err);
	if (!code) {
		code = stall_start(&rt->watch, &rt->config);
		if (code)
			error_set(err, code,
				  "stall_limit_ns: cannot create the thread "
				  "that watches the workers: %s",
				  strerror(-code));
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

static void stop_threads(struct skua_runtime *rt)
{
	/* Stop the watcher first, because it sends signals to the workers'
	 * threads. */
	stall_stop(&rt->watch);
	blocking_stop(&rt->blocking);
	pool_stop(&rt->pool);
	worker_threads_join(&rt->threads, &rt->config);
	rt->stopped = true;
	/* Tasks that are done but have a timer left end when it fires. */
	timers_fire_all(&rt->pool);
}

/* start - start the workers' threads, or open the descriptors of a caller-driven runtime */
static int start(struct skua_runtime *rt, struct skua_error *err)
{
	int code;

	if (!rt->config.caller_driven)
		return start_threads(rt, err);
	code = drive_init(&rt->drive, &rt->pool);
	if (code)
		error_set(err, code,
			  "cannot open the descriptors of a caller-driven "
			  "runtime: %s",
			  strerror(-code));
	return code;
}

/* wait_until - wait or drive until no task is left. Return: false at the deadline */
static bool wait_until(struct skua_runtime *rt, uint64_t deadline_ns)
{
	if (rt->config.caller_driven)
		return drive_until_drained(&rt->drive, &rt->pool, deadline_ns);
	return pool_wait_drained(&rt->pool, deadline_ns);
}

/* wait_drained - as wait_until(), and log a warning, once, if nothing happens meanwhile */
static bool wait_drained(struct skua_runtime *rt, uint64_t deadline_ns)
{
	struct left_watch watch;

	left_watch_begin(&watch, rt);
	while (!wait_until(rt, left_watch_next_ns(&watch, deadline_ns))) {
		if (clock_now_ns() >= deadline_ns)
			return false;
		left_watch_check(&watch, rt);
	}
	return true;
}

/* report_memory - log which requests for a node or for large pages failed */
static void report_memory(const struct skua_runtime *rt)
{
	const struct node_allocs *allocs = &rt->worker_memory.allocs;

	for (unsigned i = 0; i < allocs->count; i++) {
		const struct node_memory *wanted =
			&allocs->nodes[i].alloc.wanted;

		if (wanted->node_code)
			log_say(&rt->config.hooks, SKUA_LOG_WARNING,
				"memory of the workers on node %d may be on "
				"other nodes: %s",
				wanted->node, strerror(-wanted->node_code));
		if (wanted->huge_code)
			log_say(&rt->config.hooks, SKUA_LOG_WARNING,
				"no large pages: %s",
				strerror(-wanted->huge_code));
	}
}

/* ---- life ----------------------------------------------------------------- */

/* allocate - make a runtime that has only its configuration */
static int allocate(struct skua_runtime **out, const struct skua_config *cfg,
		    struct skua_error *err)
{
	struct config config = { 0 };
	int code = config_resolve(&config, cfg, err);

	if (code)
		return code;
	*out = memory_alloc(config.allocator, CACHE_PAIR, 1, sizeof(**out));
	if (!*out) {
		config_free(&config);
		return error_set(err, -ENOMEM, "out of memory");
	}
	(*out)->config = config;
	drive_reset(&(*out)->drive);
	return 0;
}

static int create(struct skua_runtime **out, const struct skua_config *cfg,
		  struct skua_error *err)
{
	struct skua_runtime *rt;
	int code;

	if (!out)
		return error_set(err, -EINVAL,
				 "out: NULL, needed is the address of a "
				 "struct skua_runtime pointer");
	*out = NULL;
	code = allocate(&rt, cfg, err);
	if (code)
		return code;
	code = init_memory(rt);
	if (code) {
		if (code == -ENOMEM)
			error_set(err, code, "no memory for %u workers",
				  rt->config.workers);
		else
			error_set(
				err, code,
				"madvise(MADV_WIPEONFORK): %s; it lets a "
				"forked child detect that it has no workers; "
				"if a filter of system calls denies it, allow it",
				strerror(-code));
		free_memory(rt);
		return code;
	}
	code = init_affinity(rt, err);
	if (!code)
		code = start(rt, err);
	/* Lock the memory last, because it stays locked even if a later step
	 * fails. */
	if (!code && rt->config.lock_memory)
		code = realtime_lock_memory(err);
	if (code) {
		stop_threads(rt);
		free_memory(rt);
		return code;
	}
	log_say(&rt->config.hooks, SKUA_LOG_INFO,
		"%u workers on %u CPUs, local queues of %u", rt->config.workers,
		rt->config.cpus.count, rt->config.queue_capacity);
	report_memory(rt);
	publish(rt);
	*out = rt;
	return 0;
}

int skua_runtime_create(struct skua_runtime **out,
			const struct skua_config *cfg, struct skua_error *err)
{
	int saved = errno; /* the library never sets it */
	int code = create(out, cfg, err);

	errno = saved;
	return code;
}

/* may_wait - check that the calling thread may wait for @rt: 0 or a negative errno */
static int may_wait(const struct skua_runtime *rt)
{
	if (!rt)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	fiber_check_stack();
	return current_here() || stall_here(&rt->watch) ||
			       blocking_here == &rt->blocking
		       ? -EDEADLK
		       : 0;
}

/* may_drain - as may_wait(), for a wait that also covers the caller's own fork region */
static int may_drain(const struct skua_runtime *rt)
{
	int code = may_wait(rt);

	return !code && fork_region_here(&rt->pool.team) ? -EDEADLK : code;
}

int skua_runtime_block_on(struct skua_runtime *rt, struct skua_task *task)
{
	const void *caller = __builtin_return_address(0);
	int code = may_wait(rt);
	uint64_t state;

	if (code)
		return code;
	if (!task || !task->poll)
		return -EINVAL;
	/* Relaxed: until it is spawned, the task belongs to the caller. */
	state = atomic_load_relaxed(task_state(task));
	if ((state & TASK_CLAIMED) || task_state_spawned(state))
		return -EALREADY;
	if (rt->config.caller_driven)
		return drive_block_on(rt, task, caller);
	code = runtime_spawn(rt, task, 0, caller);
	return code ? code : skua_task_join(task);
}

int skua_runtime_drain(struct skua_runtime *rt)
{
	int code = may_drain(rt);

	if (!code)
		wait_drained(rt, UINT64_MAX);
	return code;
}

/* Cancel all tasks, and wake the fibers, and the tasks that wait for a time. */
static void cancel_all(struct skua_runtime *rt)
{
	const struct node_allocs *allocs = &rt->worker_memory.allocs;

	pool_cancel(&rt->pool);
	timers_fire_all(&rt->pool);
	if (!fiber_cancel_begin(&rt->pool)) {
		log_say(&rt->config.hooks, SKUA_LOG_WARNING,
			"shutdown: membarrier() is denied since the runtime was "
			"created, so fibers that wait without a deadline go on "
			"waiting. Allow it, or cancel these fibers");
		return;
	}
	for (unsigned i = 0; i < allocs->count; i++)
		fiber_cancel_all(&allocs->nodes[i].stacks);
	fiber_cancel_end(&rt->pool);
}

int skua_runtime_shutdown(struct skua_runtime *rt, uint64_t timeout_ns,
			  enum skua_shutdown how)
{
	int code = may_drain(rt);
	uint64_t now_ns = clock_now_ns();
	uint64_t deadline_ns = now_ns + timeout_ns;

	if (code)
		return code;
	if (how != SKUA_SHUTDOWN_RUN && how != SKUA_SHUTDOWN_CANCEL)
		return -EINVAL;
	if (rt->stopped)
		return 0;
	if (deadline_ns < now_ns)
		deadline_ns = UINT64_MAX;
	pool_close(&rt->pool);
	if (how == SKUA_SHUTDOWN_CANCEL)
		cancel_all(rt);
	if (!wait_drained(rt, deadline_ns)) {
		struct skua_error what;

		skua_runtime_left(rt, &what);
		log_say(&rt->config.hooks, SKUA_LOG_WARNING,
			"shutdown: timed out; %s", what.text);
		return -ETIMEDOUT;
	}
	stop_threads(rt);
	return 0;
}

/* refusal - explain why skua_runtime_shutdown() returned @code, and what to do */
static const char *refusal(int code)
{
	switch (code) {
	case -EDEADLK:
		return "called from a worker or within skua_run(); call it "
		       "from a thread outside";
	case -EOWNERDEAD:
		return "the runtime belongs to the process that forked this "
		       "one; create another here";
	default:
		return "the runtime is NULL, or how is neither "
		       "SKUA_SHUTDOWN_RUN nor SKUA_SHUTDOWN_CANCEL";
	}
}

/* close_descriptors - close those that the program has not closed. It is a mistake: a debug
 * build ends the process. */
static void close_descriptors(struct skua_runtime *rt)
{
	int first = -1;
	unsigned count = attach_close_all(&rt->pool, &first);

	if (count == 0)
		return;
	log_say(&rt->config.hooks, SKUA_LOG_WARNING,
		"destroy: %u descriptors were still attached, and are closed; "
		"the lowest is %d. Call skua_io_close() or skua_io_detach() first",
		count, first);
#ifndef NDEBUG
	fprintf(stderr,
		"skua: a runtime is destroyed with %u attached descriptors; the "
		"lowest is %d. Call skua_io_close() or skua_io_detach() first\n",
		count, first);
	abort();
#endif
}

int skua_runtime_destroy_until(struct skua_runtime *rt, uint64_t deadline_ns,
			       enum skua_shutdown how, struct skua_error *err)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	int code = skua_runtime_shutdown(
		rt, deadline_ns == SKUA_FOREVER_NS ? SKUA_FOREVER_NS : left_ns,
		how);

	if (code == -ETIMEDOUT) {
		skua_runtime_left(rt, err);
		/* Set the code even if the last task has ended since the
		 * timeout. */
		if (err)
			err->code = code;
		return code;
	}
	if (code)
		return error_set(err, code, "destroy: %s (how: %d)",
				 refusal(code), (int)how);
	pool_wait_calls(&rt->pool);
	close_descriptors(rt);
	free_memory(rt);
	return 0;
}

int skua_runtime_destroy(struct skua_runtime *rt)
{
	return skua_runtime_destroy_until(rt, SKUA_FOREVER_NS,
					  SKUA_SHUTDOWN_RUN, NULL);
}

int skua_runtime_poll(struct skua_runtime *rt, uint64_t deadline_ns)
{
	int code = may_wait(rt);

	if (code)
		return code;
	if (!rt->config.caller_driven)
		return -EPERM;
	return drive_poll(&rt->drive, &rt->pool, deadline_ns);
}

int skua_runtime_eventfd(struct skua_runtime *rt)
{
	if (!rt)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	return rt->config.caller_driven ? rt->drive.epoll_fd : -EPERM;
}

int skua_runtime_add_poller(struct skua_runtime *rt, unsigned worker,
			    struct skua_poller *poller)
{
	struct pool *pool;

	if (!rt || !poller || !poller->poll ||
	    (poller->park && !poller->unpark) ||
	    worker >= rt->pool.worker_count)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	pool = &rt->pool;
	/* Relaxed: a call that runs beside a shutdown may miss it. */
	if (atomic_load_relaxed(&pool->closing))
		return -ESHUTDOWN;
	return pool_add_poller(pool, worker, poller);
}

unsigned skua_runtime_workers(const struct skua_runtime *rt)
{
	return rt ? rt->pool.worker_count : 0;
}

int skua_worker_index(const struct skua_runtime *rt)
{
	const struct worker *worker;

	if (!rt)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	worker = runtime_worker(rt);
	return worker ? (int)worker->index : -ENOENT;
}
