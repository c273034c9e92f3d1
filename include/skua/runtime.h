/* SPDX-License-Identifier: MIT */
/**
 * runtime.h - create a set of workers, wait for their tasks, end them
 *
 * A process may have several runtimes. Only the thread that calls fork() goes
 * on in the child, so that a runtime of the parent has no workers there: every
 * function of this library that returns an error code and is given such a
 * runtime, or a task of one that has not ended, returns -EOWNERDEAD. The child may create
 * runtimes of its own; the memory of the parent's stays allocated in it.
 */
#ifndef SKUA_RUNTIME_H
#define SKUA_RUNTIME_H

#include <skua/topology.h>

SKUA_BEGIN_DECLS

struct skua_runtime;
struct skua_stall;
struct skua_task;

/* Flags of struct skua_config. */
#define SKUA_UNPINNED (1u << 0) /* leave placing the workers to the kernel */
#define SKUA_NO_ENV   (1u << 1) /* do not look at the environment */
/* No threads: one worker, which runs inside skua_runtime_poll(). */
#define SKUA_CALLER_DRIVEN (1u << 2)
/* Ask for large pages for what is a worker's own. */
#define SKUA_HUGE_PAGES  (1u << 3)
#define SKUA_REALTIME    (1u << 4) /* see skua_runtime_create() */
#define SKUA_LOCK_MEMORY (1u << 5) /* likewise */
/* At the start measure which CPUs are near each other, for up to 50 ms; or never:
 * else only where what the machine tells of its caches is doubtful. */
#define SKUA_MEASURE_TOPOLOGY (1u << 6)
#define SKUA_TRUST_TOPOLOGY   (1u << 7)
/* Keep a table of the tasks that live, for skua_runtime_left(), the log and `skua
 * tasks`. It costs some 200 ns a spawn or poll, and 0.5 MB. */
#define SKUA_TRACK_TASKS (1u << 8)

#define SKUA_MAX_WORKERS        4096
#define SKUA_MIN_QUEUE_CAPACITY 4
#define SKUA_MAX_QUEUE_CAPACITY 32768
#define SKUA_MAX_STEAL_ATTEMPTS 1000000
#define SKUA_MAX_STEAL          16384
#define SKUA_MAX_FAR_SAMPLES    64

/* Values of spin_ns. */
#define SKUA_SPIN_NEVER   UINT64_MAX       /* sleep at once */
#define SKUA_SPIN_FOREVER (UINT64_MAX - 1) /* never sleep: for isolated CPUs */
/* Value of lifo_steal_delay_ns: no other worker takes the task that a worker runs next.
 * */
#define SKUA_LIFO_PRIVATE UINT64_MAX
/* The longest spin_ns and lifo_steal_delay_ns, the shortest of the latter. */
#define SKUA_MAX_DELAY_NS      UINT64_C(1000000000)
#define SKUA_MIN_LIFO_DELAY_NS UINT64_C(1000)
/* The shortest and the longest time after which a poll is reported as stalled. */
#define SKUA_MIN_STALL_LIMIT_NS UINT64_C(100000)
#define SKUA_MAX_STALL_LIMIT_NS UINT64_C(1000000000000)
/* Value of stall_signal: none, so that reports have no stack. */
#define SKUA_STALL_NO_SIGNAL (-1)

/**
 * struct skua_allocator - where a runtime's memory comes from
 * @alloc: returns @size bytes, aligned to @align, a power of two; or NULL
 * @free: takes them back
 * @ctx: handed to both
 *
 * Called in skua_runtime_create() and skua_runtime_destroy(), in skua_call() for its
 * blocks of memory, and, in a group with a release function (skua/group.h), in
 * skua_group_spawn() and before a wait for the group returns 0. From any thread, and
 * from several at once.
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
 * struct skua_hooks - what a runtime tells its user; each may be NULL
 * @worker_start: a worker begins, on its own thread
 * @worker_stop: it ends, on its own thread
 * @worker_park: it is going to sleep
 * @worker_unpark: it has slept
 * @log: something happened that nobody has asked about; one line, no newline;
 *       on the thread that it happened on. The library itself never prints.
 * @ctx: handed to each
 * @stall: a poll takes longer than its limit (stall_limit_ns of struct
 *       skua_config); what of it (skua/stall.h) is borrowed for the call. On a
 *       thread of its own, and not on two at once; while it runs, no other worker
 *       is looked at. Without it the log is told.
 *
 * Hooks must not call the runtime, except skua_worker_index(). A runtime with
 * SKUA_CALLER_DRIVEN has no threads to start and stop; its worker sleeps from
 * where skua_runtime_poll() returns 0 to the next call of it, and first in
 * skua_runtime_create().
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
 * struct skua_config - how a runtime is made
 *
 * Start from SKUA_CONFIG_INIT; in every field but @size, zero is the default.
 *
 * @size: sizeof(struct skua_config), so that the struct can grow
 * @workers: worker threads, 1 to SKUA_MAX_WORKERS; 0 = as many as @placement has
 *        places for, one per allowed CPU by default, but no more than the CPU
 *        time of the control groups suffices for, rounded up
 * @queue_capacity: slots of each local queue, a power of two from
 *        SKUA_MIN_QUEUE_CAPACITY to SKUA_MAX_QUEUE_CAPACITY; 0 = 256
 * @steal_attempts: rounds over the other workers' queues before a worker
 *        parks, at least; 1 to SKUA_MAX_STEAL_ATTEMPTS; 0 = 32, or 1 when
 *        there are more workers than CPUs
 * @max_queued: tasks in the injection queue at which spawning is refused with
 *        -EAGAIN, from workers too; urgent and bound tasks, which have queues of
 *        their own, do not count; 0 = no bound
 * @spin_ns: how long a worker looks for work before it parks, 1 to
 *        SKUA_MAX_DELAY_NS, SKUA_SPIN_NEVER or SKUA_SPIN_FOREVER; 0 = as long
 *        as waking it was measured to take, and longer, up to 50,000, while
 *        work comes within that time: a worker that is called more often than
 *        every 50 us does not sleep; or never when there are more workers than
 *        CPUs, or the control groups have less time than these
 * @lifo_steal_delay_ns: how long a task in a LIFO slot waits behind a long poll before
 *        an idle worker takes it, SKUA_MIN_LIFO_DELAY_NS to SKUA_MAX_DELAY_NS, or
 *        SKUA_LIFO_PRIVATE; 0 = 100,000
 * @cpus: CPUs to run on, as "0-3,8", within those the calling thread is
 *        allowed; NULL = all of them: then an event loop of the program's own
 *        shares one with a worker. Only read during the call.
 * @allocator: NULL = aligned_alloc() and free(), but see below. Borrowed for the
 *        runtime's life.
 * @hooks: NULL = none. Borrowed for the runtime's life.
 * @flags: SKUA_UNPINNED, SKUA_NO_ENV, SKUA_CALLER_DRIVEN, SKUA_HUGE_PAGES,
 *        SKUA_REALTIME, SKUA_LOCK_MEMORY, SKUA_TRACK_TASKS, and one or none of
 *        SKUA_MEASURE_TOPOLOGY and SKUA_TRUST_TOPOLOGY
 * @reserved: 0
 * @steal_max: tasks that one steal takes at most, of half of what a worker of the
 *        same NUMA node has; 1 to SKUA_MAX_STEAL; 0 = 32
 * @steal_max_far: the same of a worker on another node; 0 = 1
 * @far_delay_ns: how long a worker looks for work on its own node before it looks
 *        at others, 1 to SKUA_MAX_DELAY_NS, but no longer than half of its search;
 *        0 = 5,000. Before it sleeps, it looks everywhere once.
 * @far_samples: groups of workers that share a cache, of other nodes, that a worker
 *        then looks at in a round, by chance; 1 to SKUA_MAX_FAR_SAMPLES; 0 = 2
 * @placement: which of the CPUs the workers are on (skua/topology.h);
 *        SKUA_PLACE_LISTED needs @cpus
 * @stall_limit_ns: how long a poll may take before it is reported as stalled, see
 *        below; SKUA_MIN_STALL_LIMIT_NS to SKUA_MAX_STALL_LIMIT_NS; 0 = nobody
 *        looks. Not with SKUA_CALLER_DRIVEN.
 * @stall_signal: a real-time signal by which a stalled worker is asked for its
 *        stack, and that the program neither handles nor waits for, or
 *        SKUA_STALL_NO_SIGNAL; 0 = the highest one that has no handler
 * @reserved2: 0
 *
 * Without an allocator, and with more than one NUMA node that the calling thread
 * may have memory on, what is a pinned worker's own (its state, queue and jobs,
 * and the blocks that it takes for skua_call()) is memory of its CPU's node, or
 * of the nearest one that has any, while there is room. It comes from the kernel,
 * and goes back in skua_runtime_destroy(). Where the kernel refuses, the log is
 * told, and the memory is ordinary. With SKUA_HUGE_PAGES it comes in pieces of 2
 * MiB, one at least a node, for which the kernel is asked for large pages
 * (transparent ones: none have to be set aside); an allocator's is as it is.
 * With SKUA_CALLER_DRIVEN there is one worker, whatever SKUA_WORKERS says, and
 * @workers is 0 or 1.
 *
 * With @stall_limit_ns a thread, "skua-watch", looks at what the workers poll each
 * quarter of the limit (or of the shortest one of a task's type, but not more often
 * than every 100 us, nor less than every second), and not at all while all of them
 * sleep. It sees a poll that it finds under way at several looks:
 *   - a poll that takes more than twice its limit is reported once, to @stall of
 *     the hooks or else to the log;
 *   - a poll that takes longer than its limit, but not twice as long, may end
 *     before it is reported, and mostly does. Choose half of the time that must
 *     not be missed;
 *   - a poll within its limit is never reported.
 * The time that polls take is counted anyway, by samples: `skua top`, `skua stats`
 * and `skua metrics` tell about how many were longer than the limit of the runtime.
 * Time in which its thread waited for a CPU does not count for a report, nor does the
 * time that the process was stopped; but a poll that sleeps or blocks is reported as
 * one that computes is. (Where /proc does not say, the CPU time alone counts.) A worker
 * is reported once a second at most. To note the stack, the worker's thread is
 * interrupted by @stall_signal once a report, with SA_RESTART: some system calls then
 * return EINTR all the same, as signal(7) lists. A type with a limit has it, shorter or
 * longer, in each runtime that has one.
 *
 * A field that is left at its default is taken from the environment, if it is
 * set there: SKUA_WORKERS, SKUA_QUEUE_CAPACITY, SKUA_STEAL_ATTEMPTS,
 * SKUA_MAX_QUEUED, SKUA_SPIN_NS (a number, "never" or "forever"),
 * SKUA_LIFO_STEAL_DELAY_NS (a number or "private"), SKUA_STEAL_MAX,
 * SKUA_STEAL_MAX_FAR, SKUA_FAR_DELAY_NS, SKUA_FAR_SAMPLES,
 * SKUA_STALL_LIMIT_NS (without SKUA_CALLER_DRIVEN), SKUA_CPUS,
 * SKUA_UNPINNED, SKUA_HUGE_PAGES and SKUA_TRACK_TASKS ("0" or "1"), SKUA_MEASURE_TOPOLOGY ("1" for
 * that flag, "0" for SKUA_TRUST_TOPOLOGY, unless either is set), and SKUA_PLACEMENT
 * ("default", "compact", "scatter", "cores", "caches" or "listed"). An empty
 * variable counts as not set. In a Debug build of the library (one without NDEBUG),
 * SKUA_TRACK_TASKS that is not set counts as "1"; with SKUA_NO_ENV the flag alone
 * decides.
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
	unsigned reserved2;
};

/* clang-format off */
#define SKUA_CONFIG_INIT { sizeof(struct skua_config), 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, SKUA_PLACE_DEFAULT, 0, 0, 0 }
/* clang-format on */

/**
 * skua_runtime_create - start the workers
 * @out: receives the runtime; NULL on failure
 * @cfg: how; NULL = all defaults. Borrowed for the call.
 * @err: receives what was wrong on failure; may be NULL
 *
 * Worker i is named "skua-i", blocks all signals but those that a fault or a
 * profiler raises (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF), and
 * @stall_signal if there is a limit, whose handler stays for good,
 * and is bound to the CPU, core or last cache that @placement chose for it.
 * Workers for which there is none may run on any of the chosen CPUs. If the
 * control groups have less CPU time than these, each may run on those of a last
 * cache, beginning with that of the caller. The affinity of the calling thread is
 * not changed and never widened.
 *
 * A worker that is busy looks about once a second, and one that has slept for
 * longer when it has work again, where it may run and how much CPU time there
 * is, as both may change: by a control group, taskset or a CPU that goes offline.
 * A worker that has lost its CPU moves to an allowed one that no other worker has;
 * if there is none, it runs on any allowed CPU. It goes back when its own is allowed
 * again. A worker uses a CPU that was not allowed, or not chosen, at the start only
 * if no other is left to it. While workers share CPUs, they do not spin, unless
 * @spin_ns says so. The number of workers stays. The log hook is told.
 *
 * With SKUA_REALTIME the workers are of the class SCHED_FIFO, priority 1: no usual
 * thread takes their CPUs while they work or spin, except in the time that the kernel
 * keeps for those, mostly a twentieth; and the CPU time of control groups does not
 * limit them. With SKUA_LOCK_MEMORY all memory of the process, now and later, stays in
 * memory (mlockall()), stacks as large as they may get included; the end of the runtime
 * does not undo that.
 *
 * Threads: any, also a worker of another runtime. Blocks: while the threads
 * are created, and while latencies are measured (SKUA_MEASURE_TOPOLOGY). Allocates: yes.
 * Return: 0; -EINVAL (a value in @cfg or in the environment is out of range,
 * or a CPU in @cpus is not allowed); -ENOMEM; -EAGAIN (no thread could be
 * created); -EMFILE, -ENFILE (no descriptors for SKUA_CALLER_DRIVEN); another
 * code of the kernel's; with SKUA_REALTIME or SKUA_LOCK_MEMORY -EPERM or -ENOMEM, of
 * which @err says what is missing. On failure nothing remains.
 */
SKUA_API int skua_runtime_create(struct skua_runtime **out,
				 const struct skua_config *cfg,
				 struct skua_error *err);

/**
 * skua_runtime_plan - what workers skua_runtime_create() would start, and where
 * @cfg: as of that
 * @cpus: receives the CPUs of the first @room workers; of one that may run on
 *        several, one of these. NULL: not wanted
 * @binding: receives to what each worker is bound; NULL: not wanted
 * @err: receives what is wrong on failure; may be NULL
 *
 * No worker is started; later the machine may allow something else.
 *
 * Threads: any. Blocks: for files, and while latencies are measured, by threads of
 * its own (SKUA_MEASURE_TOPOLOGY). Allocates: yes.
 * Return: how many workers; a negative errno value, as skua_runtime_create().
 */
SKUA_API int skua_runtime_plan(const struct skua_config *cfg, unsigned *cpus,
			       unsigned room, enum skua_binding *binding,
			       struct skua_error *err);

/**
 * skua_runtime_block_on - spawn a task and wait until it has ended
 * @rt: live runtime, borrowed
 * @task: initialised, not detached
 *
 * As skua_task_spawn() followed by skua_task_join(); with SKUA_CALLER_DRIVEN,
 * the thread drives the runtime meanwhile, with a task of its own that the
 * counters include.
 * Return: theirs; nothing was spawned if it is not 0.
 */
SKUA_API int skua_runtime_block_on(struct skua_runtime *rt,
				   struct skua_task *task);

/**
 * skua_runtime_drain - wait until all tasks are done; a task that somebody has a
 * waker of is not released by then
 * @rt: live runtime, borrowed
 *
 * Returns after a moment at which every task spawned so far, and every task
 * those spawned, was done. The tasks without a waker have ended: their release
 * functions have returned, and the memory of the others is the caller's. A task
 * of which a waker is left, a pending timer included, ends and is released when
 * that waker is dropped: its memory stays in place until then. A member of a group
 * with a release function may be released by a thread outside that cancels the group
 * or spawns the member meanwhile: a wait for the group covers that. Tasks spawned
 * from outside meanwhile prolong the wait.
 *
 * Threads: outside; several may wait. Blocks: yes. Allocates: nothing.
 * Order: all that the tasks wrote is visible after the call.
 * Return: 0; -EINVAL (@rt is NULL); -EDEADLK (called from a worker, or within
 * skua_run() of @rt).
 */
SKUA_API int skua_runtime_drain(struct skua_runtime *rt);

/**
 * enum skua_shutdown - what becomes of the tasks that are not done
 * @SKUA_SHUTDOWN_RUN: they run to their end
 * @SKUA_SHUTDOWN_CANCEL: each is cancelled when it is polled next: queued and
 *      running ones now, one that waits for a waker when it is woken. All timers
 *      fire now, and those added later at once: a task looks at
 *      skua_task_cancelled() before it waits again. There is no way back to
 *      SKUA_SHUTDOWN_RUN.
 */
enum skua_shutdown { SKUA_SHUTDOWN_RUN, SKUA_SHUTDOWN_CANCEL };

/**
 * skua_runtime_shutdown - finish all tasks and end the workers, in time
 * @rt: live runtime, borrowed
 * @timeout_ns: how long to wait at most; SKUA_FOREVER_NS = without end
 * @how: what becomes of the tasks that are not done
 *
 * From the start of the call, spawning from outside is refused with
 * -ESHUTDOWN; tasks that are not done may still spawn others. On success the
 * workers have ended, every task is done, each join ends and the release
 * functions have returned, except those of members of groups that
 * skua_runtime_drain() excepts; but a task of which a waker is left ends, and is
 * released, when that is dropped, also after the runtime is destroyed. Only
 * skua_runtime_destroy() remains to be called. After a timeout the workers go on, and
 * the call may be repeated, as with SKUA_SHUTDOWN_CANCEL after SKUA_SHUTDOWN_RUN.
 *
 * Threads: outside, one at a time. Blocks: yes. Allocates: nothing.
 * Return: 0; -ETIMEDOUT (tasks are left, as those that wait for a waker that
 * nobody wakes: keep such tasks in a group, and cancel that first;
 * skua_runtime_left() names them);
 * -EINVAL; -EDEADLK (called from a worker, or within skua_run() of @rt).
 */
SKUA_API int skua_runtime_shutdown(struct skua_runtime *rt, uint64_t timeout_ns,
				   enum skua_shutdown how);

/**
 * skua_runtime_destroy - finish all tasks, end the workers, free the runtime
 * @rt: live runtime, owned by the call if it succeeds
 *
 * As skua_runtime_shutdown() without end, unless that was done, and then frees
 * the memory. No other call on @rt may run beside it: other threads have ended,
 * or know, as after skua_runtime_shutdown(), beside which any may. Calls on
 * tasks, wakers and timers may run until it returns, and of a task that is done
 * also afterwards: it may still be joined, and its wakers dropped.
 *
 * Threads: outside. Blocks: until the last task is done. Allocates: nothing.
 * Return: 0; -EINVAL (@rt is NULL); -EDEADLK (called from a worker, of any
 * runtime, or within skua_run() of @rt: @rt lives on).
 */
SKUA_API int skua_runtime_destroy(struct skua_runtime *rt);

/**
 * skua_runtime_destroy_until - destroy the runtime, or give up at a deadline
 * @rt: live runtime, owned by the call if it succeeds
 * @deadline_ns: a time of skua_now_ns() at which to give up; a time in the past
 *      asks whether no task is left; SKUA_FOREVER_NS = never
 * @how: what becomes of the tasks that are not done
 * @err: receives what is wrong on failure, after a timeout as from
 *      skua_runtime_left(); may be NULL
 *
 * As skua_runtime_shutdown() followed by skua_runtime_destroy(). At the
 * deadline the runtime lives on, as after a timeout of skua_runtime_shutdown():
 * its workers run tasks, and spawns from outside are refused. The caller may
 * wake or cancel tasks and call this again, also with another @how.
 *
 * Or the caller abandons the runtime: it makes no further call on it. The
 * program then leaks the runtime, its threads and its descriptors. The workers
 * may poll the tasks that are left until the process ends. Until then these must
 * stay in place: the tasks with all that their polls touch, the configuration's
 * hooks, the allocator and what it gave, and each shared library whose code a
 * task runs, this one included. A runtime with SKUA_CALLER_DRIVEN has no threads
 * of its own: nothing polls its tasks unless a thread calls skua_runtime_poll().
 *
 * Threads: outside. Blocks: until the last task is done, or the deadline; then
 * until the workers have ended. Allocates: nothing.
 * Return: 0; -ETIMEDOUT (tasks are left: @rt lives on); -EINVAL (@rt is NULL, or
 * no such @how); -EDEADLK (called from a worker, of any runtime, or within
 * skua_run() of @rt: @rt lives on).
 */
SKUA_API int skua_runtime_destroy_until(struct skua_runtime *rt,
					uint64_t deadline_ns,
					enum skua_shutdown how,
					struct skua_error *err);

/**
 * skua_runtime_left - say what tasks are left, and what they wait for
 * @rt: live runtime, borrowed
 * @what: receives a line for a person: how many tasks, of which types if the
 *        runtime has SKUA_TRACK_TASKS, and how to see more; may be NULL. Its code
 *        is -ETIMEDOUT if there are any, or else 0.
 *
 * For a program whose skua_runtime_shutdown() has returned -ETIMEDOUT. The log is
 * told the same when skua_runtime_drain(), _shutdown() or _destroy() has waited for
 * a second in which no task was polled, while all workers sleep and no timer is
 * pending.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: how many tasks are spawned and not done; a number that may be of the past
 * at once. -EINVAL (@rt is NULL).
 */
SKUA_API int64_t skua_runtime_left(const struct skua_runtime *rt,
				   struct skua_error *what);

/**
 * skua_runtime_poll - run what is due on the calling thread
 * @rt: live runtime with SKUA_CALLER_DRIVEN, borrowed
 * @deadline_ns: a time of skua_now_ns() at which to return even if there is
 *               more to do, after 50 us of polls or so; 0 = after one such
 *               turn, SKUA_FOREVER_NS = when idle, which tasks that always have
 *               more to do never let it be: a loop that has other things to look
 *               at gives a time, such as 1 ms ahead
 *
 * For a program with an event loop of its own: it waits for the descriptor of
 * skua_runtime_eventfd() to become readable, and then calls this. During the
 * call the thread is worker 0, and blocks signals as a worker does.
 * skua_runtime_block_on(), _drain(), _shutdown()
 * and _destroy() of such a runtime do the same until they are done, or wait
 * while another thread does. skua_task_join() and skua_group_wait() do not:
 * somebody else has to drive.
 *
 * Threads: outside, one at a time. Blocks: never, except in the polls.
 * Allocates: nothing.
 * Return: 0 (idle: wait for the descriptor); 1 (the deadline came: call again, at
 * once or when the descriptor is readable, which it still is); -EINVAL (NULL);
 * -EPERM (the runtime has threads); -EBUSY (another thread is in this call);
 * -EDEADLK (called from a worker).
 */
SKUA_API int skua_runtime_poll(struct skua_runtime *rt, uint64_t deadline_ns);

/**
 * skua_runtime_eventfd - what tells when to call skua_runtime_poll()
 * @rt: live runtime with SKUA_CALLER_DRIVEN, borrowed
 *
 * A descriptor for poll(2), epoll (level-triggered) and the like: readable while a
 * task is runnable or a timer due; at times without cause. Not to be read or
 * closed: skua_runtime_destroy() closes it, and a loop stops watching it first.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the descriptor; -EINVAL (NULL); -EPERM (the runtime has threads).
 */
SKUA_API int skua_runtime_eventfd(struct skua_runtime *rt);

/**
 * skua_runtime_workers - how many workers there are
 * @rt: live runtime, borrowed
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 1 or more; 0 if @rt is NULL.
 */
SKUA_API unsigned skua_runtime_workers(const struct skua_runtime *rt);

/**
 * skua_worker_index - which worker is calling
 * @rt: live runtime, borrowed
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0 to skua_runtime_workers() - 1; -ENOENT if the calling thread is
 * no worker of @rt; -EINVAL if @rt is NULL.
 */
SKUA_API int skua_worker_index(const struct skua_runtime *rt);

SKUA_END_DECLS

#endif
