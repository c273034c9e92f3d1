/* SPDX-License-Identifier: MIT */
/**
 * runtime.h - create a set of workers, wait for their tasks, end them
 *
 * A process may have several runtimes. After fork(), only the thread that called it
 * exists in the child, so the runtimes of the parent have no workers there. In the
 * child, every function of the library that returns an error code and receives such a
 * runtime, or a task that runs in one and has not ended, returns -EOWNERDEAD. The
 * child may create runtimes of its own. The memory of the parent's runtimes stays
 * allocated in it.
 */
#ifndef SKUA_RUNTIME_H
#define SKUA_RUNTIME_H

#include <skua/topology.h>

SKUA_BEGIN_DECLS

struct skua_runtime;
struct skua_stall;
struct skua_task;

/* Flags of struct skua_config. */
#define SKUA_UNPINNED (1u << 0) /* bind no worker: the kernel places them */
#define SKUA_NO_ENV   (1u << 1) /* ignore the environment variables */
/* Create no threads, except for calls of skua/blocking.h: the only worker runs inside
 * skua_runtime_poll(). */
#define SKUA_CALLER_DRIVEN (1u << 2)
/* Use huge pages for per-worker memory. */
#define SKUA_HUGE_PAGES  (1u << 3)
#define SKUA_REALTIME    (1u << 4) /* see skua_runtime_create() */
#define SKUA_LOCK_MEMORY (1u << 5) /* see skua_runtime_create() */
/* SKUA_MEASURE_TOPOLOGY: measure at the start which CPUs are near each other, for up
 * to 50 ms. SKUA_TRUST_TOPOLOGY: never measure. With neither, the library measures
 * only if the machine's description of its caches is doubtful. */
#define SKUA_MEASURE_TOPOLOGY (1u << 6)
#define SKUA_TRUST_TOPOLOGY   (1u << 7)
/* Keep a table of the tasks that are not done, for skua_runtime_left(), the log and
 * `skua tasks`. It costs about 200 ns for each spawn and each poll, and 0.5 MB. */
#define SKUA_TRACK_TASKS (1u << 8)

#define SKUA_MAX_WORKERS        4096
#define SKUA_MIN_QUEUE_CAPACITY 4
#define SKUA_MAX_QUEUE_CAPACITY 32768
#define SKUA_MAX_STEAL_ATTEMPTS 1000000
#define SKUA_MAX_STEAL          16384
#define SKUA_MAX_FAR_SAMPLES    64

/* Special values of spin_ns. */
#define SKUA_SPIN_NEVER   UINT64_MAX       /* park at once */
#define SKUA_SPIN_FOREVER (UINT64_MAX - 1) /* never park: for isolated CPUs */
/* Special value of lifo_steal_delay_ns: no other worker takes a task from a LIFO
 * slot. */
#define SKUA_LIFO_PRIVATE UINT64_MAX
/* The maximum of spin_ns, far_delay_ns and lifo_steal_delay_ns, and the minimum of
 * lifo_steal_delay_ns. */
#define SKUA_MAX_DELAY_NS      UINT64_C(1000000000)
#define SKUA_MIN_LIFO_DELAY_NS UINT64_C(1000)
/* The minimum and the maximum of stall_limit_ns. */
#define SKUA_MIN_STALL_LIMIT_NS UINT64_C(100000)
#define SKUA_MAX_STALL_LIMIT_NS UINT64_C(1000000000000)
/* The maxima of blocking_threads and blocking_queued, and the minimum of
 * blocking_idle_ns. */
#define SKUA_MAX_BLOCKING_THREADS 4096
#define SKUA_MAX_BLOCKING_QUEUED  1000000000
#define SKUA_MIN_BLOCKING_IDLE_NS UINT64_C(1000)
/* Special value of stall_signal: no signal, so reports have no stack. */
#define SKUA_STALL_NO_SIGNAL (-1)

/**
 * struct skua_allocator - functions that provide the memory of a runtime
 * @alloc: returns @size bytes, aligned to @align, which is a power of two; or NULL
 * @free: frees memory that @alloc returned; @size is the same
 * @ctx: passed to both
 *
 * The library calls them in skua_runtime_create() and skua_runtime_destroy(); in
 * skua_call(), for its blocks of memory; and, for a group with a release function
 * (skua/group.h), in skua_group_spawn() and before a wait for the group returns 0.
 * Any thread may call them, and several at the same time. Memory of which a runtime may
 * never write to most pages is mapped instead: the places of forked jobs, and samples
 * and timer slots of workers.
 */
struct skua_allocator {
	/* clang-format off */
	void *(*alloc)(void *ctx, size_t align, size_t size) SKUA_NOEXCEPT;
	/* clang-format on */
	void (*free)(void *ctx, void *memory, size_t size) SKUA_NOEXCEPT;
	void *ctx;
};

/* Levels of log messages. */
enum skua_log_level { SKUA_LOG_ERROR, SKUA_LOG_WARNING, SKUA_LOG_INFO };

/**
 * struct skua_hooks - callbacks about events of a runtime; each may be NULL
 * @worker_start: a worker starts; called on its thread
 * @worker_stop: a worker ends; called on its thread
 * @worker_park: a worker is about to sleep; called on its thread
 * @worker_unpark: a worker has slept; called on its thread
 * @log: receives one line of text, without a newline, about an event that no function
 *       returns; called on the thread where it happened. Without it the line is lost,
 *       because the library prints nothing
 * @ctx: passed to each callback
 * @stall: a poll takes longer than its limit (stall_limit_ns of struct skua_config).
 *         @stall is borrowed for the call (skua/stall.h). Called on a thread of the
 *         library that is no worker, one call at a time; while the callback runs, no
 *         other worker is checked. Without it, the library logs the stall
 *
 * Callbacks must not call the runtime, except skua_worker_index(). A runtime with
 * SKUA_CALLER_DRIVEN has no threads that start or stop. Its worker counts as parked
 * after skua_runtime_create(), and each time skua_runtime_poll() has returned 0,
 * until the next call of skua_runtime_poll().
 */
struct skua_hooks {
	void (*worker_start)(void *ctx, unsigned worker) SKUA_NOEXCEPT;
	void (*worker_stop)(void *ctx, unsigned worker) SKUA_NOEXCEPT;
	void (*worker_park)(void *ctx, unsigned worker) SKUA_NOEXCEPT;
	void (*worker_unpark)(void *ctx, unsigned worker) SKUA_NOEXCEPT;
	void (*log)(void *ctx, enum skua_log_level level,
		    const char *text) SKUA_NOEXCEPT;
	void *ctx;
	void (*stall)(void *ctx, const struct skua_stall *stall) SKUA_NOEXCEPT;
};

/**
 * struct skua_config - the configuration of a runtime
 *
 * Start from SKUA_CONFIG_INIT. In every field except @size, zero means the default.
 *
 * @size: sizeof(struct skua_config), so that later versions can add fields
 * @workers: number of workers, 1 to SKUA_MAX_WORKERS; 0 = one for each place of
 *           @placement, which by default is each allowed CPU, but no more than the
 *           CPU time of the control groups allows, rounded up
 * @queue_capacity: slots of each local queue, a power of two from
 *         SKUA_MIN_QUEUE_CAPACITY to SKUA_MAX_QUEUE_CAPACITY; 0 = 256
 * @steal_attempts: minimum number of rounds over the queues of the other workers
 *         before a worker parks, 1 to SKUA_MAX_STEAL_ATTEMPTS; 0 = 32, or 1 if there
 *         are more workers than CPUs. The worker that waits for events of descriptors
 *         may make fewer: it parks when the time of @spin_ns is over
 * @max_queued: when the injection queues of the runtime together have this number of
 *         tasks, a spawn fails with -EAGAIN, on workers too; urgent and bound tasks have
 *         queues of their own and do not count; 0 = no bound. Threads that spawn at the
 *         same time may exceed the bound, by one task each; tasks that are woken or
 *         spilled are queued beyond it
 * @spin_ns: how long a worker searches for work before it parks, in nanoseconds, 1 to
 *           SKUA_MAX_DELAY_NS, or SKUA_SPIN_NEVER or SKUA_SPIN_FOREVER. 0 = as long
 *           as its recent gaps make worthwhile: it searches until work comes, for up
 *           to 50,000, if work usually comes before a sleep and a wake-up would have
 *           cost more, by measurement; it parks at once if not; and never if there
 *           are more workers than CPUs, or if the control groups have less CPU time
 *           than there are CPUs
 * @lifo_steal_delay_ns: how long a task waits in a LIFO slot behind a long poll
 *         before an idle worker takes it, in nanoseconds, SKUA_MIN_LIFO_DELAY_NS to
 *         SKUA_MAX_DELAY_NS, or SKUA_LIFO_PRIVATE; 0 = 100,000
 * @cpus: CPUs to run on, for example "0-3,8"; each must be allowed for the calling
 *        thread. Read only during the call. NULL = all allowed CPUs; an event loop of
 *        the program then shares a CPU with a worker
 * @allocator: borrowed until the runtime is destroyed. NULL = aligned_alloc() and
 *             free(), with the exception below
 * @hooks: borrowed until the runtime is destroyed. NULL = none
 * @flags: any of SKUA_UNPINNED, SKUA_NO_ENV, SKUA_CALLER_DRIVEN, SKUA_HUGE_PAGES,
 *         SKUA_REALTIME, SKUA_LOCK_MEMORY and SKUA_TRACK_TASKS, and at most one of
 *         SKUA_MEASURE_TOPOLOGY and SKUA_TRUST_TOPOLOGY
 * @reserved: 0
 * @steal_max: maximum number of tasks that one steal takes from a worker on the same
 *             NUMA node, 1 to SKUA_MAX_STEAL; a steal never takes more than half of
 *             that worker's tasks; 0 = 32
 * @steal_max_far: the same maximum for a worker on another node; 0 = 1
 * @far_delay_ns: how long a worker searches its own node before it searches others,
 *         in nanoseconds, 1 to SKUA_MAX_DELAY_NS, but no longer than half of its
 *         search; 0 = 5,000. Before it sleeps, it scans all workers once
 * @far_samples: after @far_delay_ns, the number of groups of workers on other nodes
 *         that each round of the search tries, chosen at random; a group shares a
 *         last cache. 1 to SKUA_MAX_FAR_SAMPLES; 0 = 2
 * @placement: on which of the CPUs the workers run (skua/topology.h);
 *             SKUA_PLACE_LISTED needs @cpus
 * @stall_limit_ns: how long a poll may take before it is reported as stalled, see
 *         below; nanoseconds, SKUA_MIN_STALL_LIMIT_NS to SKUA_MAX_STALL_LIMIT_NS; 0 =
 *         no reports. Not available with SKUA_CALLER_DRIVEN
 * @stall_signal: real-time signal that makes a stalled worker note its stack. The
 *         program must neither handle it nor wait for it. SKUA_STALL_NO_SIGNAL =
 *         none; 0 = the highest one that has no handler
 * @fiber_stack: size of the stacks of fibers that name none, in bytes, SKUA_MIN_STACK to
 *         SKUA_MAX_STACK (skua/fiber.h), rounded up to a power of two; 0 = 65,536.
 *         Stacks come from mmap(), also with an @allocator
 * @blocking_threads: maximum number of threads for calls that block (skua/blocking.h), 1
 *         to SKUA_MAX_BLOCKING_THREADS; 0 = 64
 * @blocking_queued: maximum number of such calls that are queued for a thread, 1 to
 *         SKUA_MAX_BLOCKING_QUEUED; the callers of others wait for a place; 0 = 1,024
 * @blocking_idle_ns: how long such a thread is idle before it ends, in nanoseconds, at
 *         least SKUA_MIN_BLOCKING_IDLE_NS; SKUA_FOREVER_NS = it does not end; 0 =
 *         10,000,000,000
 *
 * Memory. Without an allocator, and if the calling thread may have memory on more
 * than one NUMA node, the memory of each pinned worker (its state, its queue, its
 * jobs and its blocks for skua_call()) is on the node of its CPU, or on the nearest
 * node that has memory, as long as there is room. The runtime takes this memory from
 * the kernel, and returns it in skua_runtime_destroy(). If the kernel refuses, the
 * runtime logs a warning and uses ordinary memory. With SKUA_HUGE_PAGES this memory
 * comes in pieces of 2 MiB, at least one for each node, and the kernel is asked to
 * use transparent huge pages for them, so none need to be set aside. Memory of an
 * allocator is used as it is.
 *
 * A runtime with SKUA_CALLER_DRIVEN has one worker: @workers must be 0 or 1, and
 * SKUA_WORKERS is ignored.
 *
 * Stalls. With @stall_limit_ns, a thread named "skua-watch" checks every quarter of
 * the limit (or of the shortest limit of a task type) which poll each worker is in;
 * but at most every 100 us, at least every second, and not at all while all workers
 * sleep. It recognises a poll that is still in progress at several checks:
 *
 * - A poll that takes more than twice its limit is reported once, to the stall hook,
 *   or else to the log.
 * - A poll that takes longer than its limit, but less than twice as long, may end
 *   before it is reported, and mostly does. So choose half of the time that must not
 *   be missed.
 * - A poll within its limit is never reported.
 *
 * The limit does not count time in which the thread waited for a CPU, or in which the
 * process was stopped. A poll that sleeps or blocks is reported like one that
 * computes. (If /proc does not tell how long a thread waited, only CPU time counts.)
 * At most one report a second is made for each worker. To note the stack, each report
 * interrupts the thread of the worker by @stall_signal, with SA_RESTART; the system
 * calls that signal(7) lists then return EINTR nevertheless. A task type that has a
 * limit of its own uses it, shorter or longer, in each runtime that has a limit.
 *
 * Apart from these reports, workers always sample how long polls take: `skua top`,
 * `skua stats` and `skua metrics` estimate how many were longer than the limit of the
 * runtime.
 *
 * Environment. A field that is left at its default takes its value from a variable,
 * if that is set and not empty: SKUA_WORKERS, SKUA_QUEUE_CAPACITY,
 * SKUA_STEAL_ATTEMPTS, SKUA_MAX_QUEUED, SKUA_SPIN_NS (a number, "never" or
 * "forever"), SKUA_LIFO_STEAL_DELAY_NS (a number or "private"), SKUA_STEAL_MAX,
 * SKUA_STEAL_MAX_FAR, SKUA_FAR_DELAY_NS, SKUA_FAR_SAMPLES, SKUA_STALL_LIMIT_NS
 * (ignored with SKUA_CALLER_DRIVEN), SKUA_FIBER_STACK, SKUA_BLOCKING_THREADS,
 * SKUA_BLOCKING_QUEUED, SKUA_BLOCKING_IDLE_NS (a number or "forever"), SKUA_CPUS,
 * SKUA_UNPINNED, SKUA_HUGE_PAGES and
 * SKUA_TRACK_TASKS ("0" or "1"), SKUA_MEASURE_TOPOLOGY ("1" for the flag of that
 * name, "0" for SKUA_TRUST_TOPOLOGY; ignored if one of the two is set), and
 * SKUA_PLACEMENT ("default", "compact", "scatter", "cores", "caches" or "listed"). In
 * a Debug build of the library (one without NDEBUG), SKUA_TRACK_TASKS counts as "1"
 * if it is not set. With SKUA_NO_ENV, only the struct counts.
 */
struct skua_config {
	size_t size;
	unsigned workers;
	uint32_t queue_capacity;
	uint32_t steal_attempts;
	uint32_t max_queued;
	uint64_t spin_ns;
	uint64_t lifo_steal_delay_ns;
	const char *cpus;
	const struct skua_allocator *allocator;
	const struct skua_hooks *hooks;
	unsigned flags;
	unsigned reserved;
	uint32_t steal_max;
	uint32_t steal_max_far;
	uint64_t far_delay_ns;
	uint32_t far_samples;
	enum skua_placement placement;
	uint64_t stall_limit_ns;
	int stall_signal;
	uint32_t fiber_stack;
	uint32_t blocking_threads;
	uint32_t blocking_queued;
	uint64_t blocking_idle_ns;
};

/* clang-format off */
#define SKUA_CONFIG_INIT { sizeof(struct skua_config), 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, SKUA_PLACE_DEFAULT, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/**
 * skua_runtime_create - create a runtime and start its workers
 * @out: receives the runtime, which the caller frees with skua_runtime_destroy();
 *       NULL on failure
 * @cfg: the configuration, borrowed for the call; NULL = all defaults
 * @err: receives a description of the error on failure; may be NULL
 *
 * The thread of worker i is named "skua-i". It blocks all signals, except those that
 * a fault or a profiler raises (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS,
 * SIGPROF), and stall_signal if there is a limit; the handler of that signal stays
 * installed after the runtime is destroyed.
 *
 * Each worker is bound to the CPU, core or last cache that placement chose for it.
 * Workers for which there is no place left may run on any of the chosen CPUs. If the
 * control groups have less CPU time than there are CPUs, each worker may run on all
 * CPUs of one last cache, beginning with the cache of the calling thread. The
 * affinity of the calling thread is not changed, and the workers start on CPUs
 * within it.
 *
 * The allowed CPUs and the CPU time can change while the runtime lives: by a control
 * group, by taskset, or when a CPU goes offline. A busy worker checks for such
 * changes about once a second, and a worker that has slept for longer checks when it
 * has work again. A worker that has lost its CPU moves to an allowed CPU that no
 * other worker has; if there is none, it runs on any allowed CPU. It moves back when
 * its own CPU is allowed again. A worker uses a CPU that was not allowed or not
 * chosen at the start only if no other CPU is left for it. While workers share CPUs
 * they do not spin, unless spin_ns is set. The number of workers never changes. The
 * log hook receives a line about each change.
 *
 * With SKUA_REALTIME, workers have the scheduling class SCHED_FIFO with priority 1.
 * While they work or spin, no ordinary thread takes their CPUs, except in the part of
 * the time that the kernel reserves for ordinary threads, usually a twentieth. The
 * CPU time of control groups does not limit such workers. With SKUA_LOCK_MEMORY, all
 * present and future memory of the process stays in memory (mlockall()), including
 * stacks at their full possible size; the end of the runtime does not undo that.
 *
 * Threads: any, also a worker of another runtime. Blocks: while the threads are
 * created, and while latencies are measured (SKUA_MEASURE_TOPOLOGY). Allocates: yes.
 * Return: 0; -EINVAL (a value in @cfg or in the environment is out of range, or a CPU
 * in cpus is not allowed); -ENOMEM; -EAGAIN (a thread could not be created); -EMFILE
 * or -ENFILE (no descriptors for SKUA_CALLER_DRIVEN); -EPERM or -ENOMEM for
 * SKUA_REALTIME or SKUA_LOCK_MEMORY (@err says what is missing); another error of the
 * kernel. On failure nothing remains.
 */
SKUA_API int skua_runtime_create(struct skua_runtime **out,
				 const struct skua_config *cfg,
				 struct skua_error *err);

/**
 * skua_runtime_plan - tell which workers skua_runtime_create() would start, and where
 * @cfg: as for skua_runtime_create()
 * @cpus: receives the CPUs of the first @room workers; for a worker that may run on
 *        several CPUs, one of these. May be NULL
 * @room: size of @cpus, in elements
 * @binding: receives what each worker would be bound to; may be NULL
 * @err: receives a description of the error on failure; may be NULL
 *
 * No worker is started. A later skua_runtime_create() may differ, because the allowed
 * CPUs may change.
 *
 * Threads: any. Blocks: to read files, and while latencies are measured
 * (SKUA_MEASURE_TOPOLOGY), for which it creates threads. Allocates: yes.
 * Return: the number of workers; or a negative errno value, as skua_runtime_create().
 */
SKUA_API int skua_runtime_plan(const struct skua_config *cfg, unsigned *cpus,
			       unsigned room, enum skua_binding *binding,
			       struct skua_error *err);

/**
 * skua_runtime_block_on - spawn a task and wait until it has ended
 * @rt: live runtime, borrowed
 * @task: initialised, not detached
 *
 * As skua_task_spawn() followed by skua_task_join(), but not in a fiber. With
 * SKUA_CALLER_DRIVEN, the calling thread drives the runtime meanwhile, by a task of the
 * library, which the counters include.
 *
 * Threads: outside. Blocks: until the task has ended. Allocates: nothing.
 * Return: as these functions; -EDEADLK (called from a worker); if it is not 0, the task
 * was not spawned.
 */
SKUA_API int skua_runtime_block_on(struct skua_runtime *rt,
				   struct skua_task *task);

/**
 * skua_runtime_drain - wait until all tasks are done
 * @rt: live runtime, borrowed
 *
 * A task is done when its poll has returned SKUA_DONE. The call returns after a
 * moment at which every task spawned so far was done, and every task that those
 * spawned. Tasks that outside threads spawn meanwhile prolong the wait.
 *
 * Tasks without a waker have then ended: their release functions have returned, or
 * their memory belongs to the caller. A task that still has a waker, which includes a
 * pending timer, ends and is released only when the last waker is dropped; its memory
 * must stay in place until then. In a group with a release function, an outside
 * thread that cancels the group, or that spawns the member, may release a member
 * later than this call returns; a wait for the group includes that release.
 *
 * Threads: outside; several may wait at the same time. Blocks: yes. Allocates:
 * nothing.
 * Order: all writes of the tasks are visible after the call.
 * Return: 0; -EINVAL (@rt is NULL); -EDEADLK (called from a worker, or within
 * skua_run() of @rt).
 */
SKUA_API int skua_runtime_drain(struct skua_runtime *rt);

/**
 * enum skua_shutdown - how a shutdown treats tasks that are not done
 * @SKUA_SHUTDOWN_RUN: they run until they are done
 * @SKUA_SHUTDOWN_CANCEL: each is cancelled at its next poll. Queued and running tasks,
 *         fibers, and tasks whose polls wait with a deadline are polled at once, and their
 *         waits return -ECANCELED (skua/wait.h). A task that waits without a deadline, or
 *         for a waker of the program, is polled only when it is woken. Timers of
 *         skua_timer_add() fire at once, also those that are added later: a task must check
 *         skua_task_cancelled() before it waits again. Deadlines and sleeps of fibers that
 *         mask cancels keep their times. A later SKUA_SHUTDOWN_RUN does not undo the cancel
 */
enum skua_shutdown { SKUA_SHUTDOWN_RUN, SKUA_SHUTDOWN_CANCEL };

/**
 * skua_runtime_shutdown - finish all tasks and end the workers, within a time
 * @rt: live runtime, borrowed
 * @timeout_ns: how long to wait at most, in nanoseconds; SKUA_FOREVER_NS = no limit
 * @how: how to treat tasks that are not done
 *
 * From the start of the call, spawns by outside threads fail with -ESHUTDOWN; tasks
 * that are not done may still spawn. On success the workers have ended, every task is
 * done, joins return, and release functions have returned, except for the members of
 * groups that skua_runtime_drain() describes. If a task still has a waker, it ends,
 * and is released, when the waker is dropped, even after the runtime is destroyed.
 * After success, call skua_runtime_destroy() to free the runtime.
 *
 * After a timeout the workers keep running tasks. The call may be repeated, for
 * example with SKUA_SHUTDOWN_CANCEL after SKUA_SHUTDOWN_RUN.
 *
 * Threads: outside, one at a time. Blocks: yes. Allocates: nothing.
 * Return: 0; -ETIMEDOUT (tasks are left, and skua_runtime_left() names them; for
 * example tasks that wait for a waker that no thread wakes: keep such tasks in a
 * group, and cancel the group first); -EINVAL (@rt is NULL, or @how is no such
 * value); -EDEADLK (called from a worker, or within skua_run() of @rt).
 */
SKUA_API int skua_runtime_shutdown(struct skua_runtime *rt, uint64_t timeout_ns,
				   enum skua_shutdown how);

/**
 * skua_runtime_destroy - finish all tasks, end the workers, free the runtime
 * @rt: live runtime, owned by the call if it succeeds
 *
 * As skua_runtime_shutdown() with SKUA_SHUTDOWN_RUN and no time limit, unless the
 * runtime was shut down before. Then the call frees the memory.
 *
 * No other thread may make a call on @rt while this runs. Either these threads have
 * ended, or they know that they must stop, for example by -ESHUTDOWN during an
 * earlier skua_runtime_shutdown(), which allows other calls at the same time. Calls
 * on tasks and wakers are allowed until this returns. On a task that is done they are
 * allowed afterwards too: the task may still be joined, and its wakers dropped. Calls on
 * timers of @rt are not allowed while this runs, except by its workers.
 *
 * Threads: outside. Blocks: until the last task is done. Allocates: nothing.
 * Return: 0; -EINVAL (@rt is NULL); -EDEADLK (called from a worker of any runtime, or
 * within skua_run() of @rt: the runtime stays alive).
 */
SKUA_API int skua_runtime_destroy(struct skua_runtime *rt);

/**
 * skua_runtime_destroy_until - destroy a runtime, or give up at a deadline
 * @rt: live runtime, owned by the call if it succeeds
 * @deadline_ns: time of skua_now_ns() at which to give up. With a time in the past,
 *         the call succeeds only if no task is left. SKUA_FOREVER_NS = never give up
 * @how: how to treat tasks that are not done
 * @err: receives a description of the error on failure; after a timeout, the text of
 *       skua_runtime_left(). May be NULL
 *
 * As skua_runtime_shutdown() followed by skua_runtime_destroy(). At the deadline the
 * runtime stays alive, as after a timeout of skua_runtime_shutdown(): its workers run
 * tasks, and spawns by outside threads fail. The caller may wake or cancel tasks and
 * call this again, also with another @how.
 *
 * Or the caller abandons the runtime: it makes no further call on it. The program
 * then leaks the runtime, its threads and its descriptors, and the workers may poll
 * the remaining tasks until the process ends. Until then the following must stay in
 * place: these tasks and all memory that their polls use, the hooks, the allocator
 * and the memory that it provided, and each shared library whose code a task runs,
 * this library included. A runtime with SKUA_CALLER_DRIVEN has no threads: its tasks
 * are polled only if a thread calls skua_runtime_poll().
 *
 * Threads: outside. Blocks: until the last task is done, or until the deadline; then
 * until the workers have ended. Allocates: nothing.
 * Return: 0; -ETIMEDOUT (tasks are left: the runtime stays alive); -EINVAL (@rt is
 * NULL, or @how is no such value); -EDEADLK (called from a worker of any runtime, or
 * within skua_run() of @rt: the runtime stays alive).
 */
SKUA_API int skua_runtime_destroy_until(struct skua_runtime *rt,
					uint64_t deadline_ns,
					enum skua_shutdown how,
					struct skua_error *err);

/**
 * skua_runtime_left - tell how many tasks are left, and what they wait for
 * @rt: live runtime, borrowed
 * @what: receives a line of text for people: the number of tasks, their types if the
 *        runtime has SKUA_TRACK_TASKS, and how to find out more. Its code is
 *        -ETIMEDOUT if tasks are left, else 0. May be NULL
 *
 * For programs whose skua_runtime_shutdown() has returned -ETIMEDOUT. The library
 * logs the same line when skua_runtime_drain(), _shutdown() or _destroy() has waited
 * for a second in which no task was polled, all workers slept, and no timer was
 * pending.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the number of tasks that are spawned and not done, which may be out of date
 * at once; -EINVAL (@rt is NULL).
 */
SKUA_API int64_t skua_runtime_left(const struct skua_runtime *rt,
				   struct skua_error *what);

/**
 * skua_runtime_poll - run the due tasks of a caller-driven runtime on the calling
 * thread
 * @rt: live runtime with SKUA_CALLER_DRIVEN, borrowed
 * @deadline_ns: time of skua_now_ns() at which to return although there is more to
 *         do. The call checks it after each turn of about 10 us of polls. 0 = return
 *         after one turn. SKUA_FOREVER_NS = return when the runtime is idle; it never
 *         is while tasks always have more to do. A loop that has other events to
 *         handle passes a time, for example 1 ms ahead
 *
 * For programs with an event loop of their own: the loop waits for the descriptor of
 * skua_runtime_eventfd() to become readable, and then calls this. During the call the
 * thread is worker 0, and blocks signals as workers do.
 *
 * skua_runtime_block_on(), _drain(), _shutdown() and _destroy() of such a runtime
 * drive it too, or wait while another thread drives it. skua_task_join() and
 * skua_group_wait() only wait: another thread must drive the runtime meanwhile.
 *
 * Threads: outside, one at a time. Blocks: never, except in polls that block.
 * Allocates: nothing.
 * Return: 0 (idle: wait for the descriptor); 1 (the deadline has passed and there is
 * more to do: call again, at once or when the descriptor is readable, which it still
 * is); -EINVAL (@rt is NULL); -EPERM (@rt has no SKUA_CALLER_DRIVEN); -EBUSY (another
 * thread is in this call); -EDEADLK (called from a worker).
 */
SKUA_API int skua_runtime_poll(struct skua_runtime *rt, uint64_t deadline_ns);

/**
 * skua_runtime_eventfd - return the descriptor that tells when to call
 * skua_runtime_poll()
 * @rt: live runtime with SKUA_CALLER_DRIVEN, borrowed
 *
 * The descriptor is for poll(2), epoll (level-triggered) and the like. It is readable
 * while a task is runnable or a timer is due, and sometimes without a reason. The
 * program must neither read nor close it: skua_runtime_destroy() closes it. Remove it
 * from the event loop before that.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the descriptor, borrowed; -EINVAL (@rt is NULL); -EPERM (@rt has no
 * SKUA_CALLER_DRIVEN).
 */
SKUA_API int skua_runtime_eventfd(struct skua_runtime *rt);

/**
 * skua_runtime_workers - return the number of workers
 * @rt: live runtime, borrowed
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 1 or more; 0 if @rt is NULL.
 */
SKUA_API unsigned skua_runtime_workers(const struct skua_runtime *rt);

/**
 * skua_worker_index - return the index of the calling worker
 * @rt: live runtime, borrowed
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0 to skua_runtime_workers() - 1; -ENOENT if the calling thread is no worker
 * of @rt; -EINVAL if @rt is NULL.
 */
SKUA_API int skua_worker_index(const struct skua_runtime *rt);

SKUA_END_DECLS

#endif
