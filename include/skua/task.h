/* SPDX-License-Identifier: MIT */
/* task.h - tasks, the unit of scheduling: a poll function and its state */
#ifndef SKUA_TASK_H
#define SKUA_TASK_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_runtime;
struct skua_task;

/**
 * enum skua_poll - result of a poll: what the worker does with the task next
 * @SKUA_DONE: the task is done; it is not polled again
 * @SKUA_PENDING: the task waits; poll it when a waker of it is woken or when it is
 *         cancelled. If that happened during this poll, it is runnable at once
 * @SKUA_YIELD: the task has more to do; poll it again after the tasks that are queued
 */
enum skua_poll { SKUA_DONE = 0, SKUA_PENDING = 1, SKUA_YIELD = 2 };

/**
 * skua_task_fn - poll function of a task
 * @self: the task; the struct that embeds it holds the arguments and results
 *
 * Runs on a worker, on a stack of the usual size of a thread, and never on two
 * workers at once. It should return within microseconds, and must not block: return
 * SKUA_YIELD to let other tasks run. It must return: no exception, longjmp() or
 * pthread_exit() may leave it (see SKUA_NOEXCEPT). A value that is not in enum
 * skua_poll is a mistake: a debug build aborts, other builds take it as SKUA_DONE.
 *
 * A task that has stored its result in its last poll has not ended yet. Only a join
 * or a release function tells that the result is final, and the memory free.
 */
typedef enum skua_poll (*skua_task_fn)(struct skua_task *self) SKUA_NOEXCEPT;

/**
 * skua_release_fn - function that releases the memory of a task that has ended
 * @task: task that has ended; the library never accesses it again
 *
 * The function sees all writes of the task. It runs on the thread that
 * skua_task_detach() or skua_group_set_release() names. That is often a worker, which
 * it delays like a poll: it should return within microseconds. It may spawn tasks;
 * during a shutdown, spawns fail with -ESHUTDOWN, unless the function was called at
 * the end of the task's last poll.
 *
 * A drain waits until the function has returned, if the last waker of the task was
 * gone when its last poll returned, and if at that time no outside thread was
 * spawning the task into its group or cancelling the group.
 */
typedef void (*skua_release_fn)(struct skua_task *task) SKUA_NOEXCEPT;

struct skua_group;

/* The waiter for the end of a task; private to the library. */
union skua_task_end {
	void *joiner;
	struct skua_task *task;
	skua_release_fn release;
	struct skua_group *group;
};

#define SKUA_TASK_TYPE_NAME 40 /* bytes, with the zero at the end */

/**
 * struct skua_task_type - description of the tasks of one kind
 * @name: name that the tools show for these tasks; ends with a zero byte
 * @stall_limit_ns: how long a poll of such a task may take before it is reported as
 *         stalled, in nanoseconds, SKUA_MIN_STALL_LIMIT_NS to SKUA_MAX_STALL_LIMIT_NS
 *         (skua/runtime.h); 0 = the limit of the runtime. It counts only in a runtime
 *         that has a limit
 * @reserved: 0
 *
 * A type must be constant and exist until the process ends: make it static. Other
 * processes read it too.
 */
struct skua_task_type {
	char name[SKUA_TASK_TYPE_NAME];
	uint64_t stall_limit_ns;
	uint64_t reserved[2];
};

/* Initialiser for a type whose name is a string literal. A name that is too long
 * is a compile error: an array of negative size. */
/* clang-format off */
#define SKUA_TASK_TYPE(name) \
	{ name, 0 * sizeof(char[sizeof(name) <= SKUA_TASK_TYPE_NAME ? 1 : -1]), \
	  { 0, 0 } }
/* clang-format on */

/**
 * struct skua_task - a task; embed it in a struct of your own
 *
 * Initialise it with SKUA_TASK_INIT() or skua_task_init(); the fields are private to
 * the library.
 *
 * A task has ended when its poll has returned SKUA_DONE and each of its wakers was
 * dropped. The memory must stay in place from the spawn until one of these tells its
 * owner that it has ended:
 *
 * - a join of the task, or a wait for its group, has returned 0
 * - its release function, or the release function of its group, was called
 * - a drain, shutdown or destroy of its runtime that includes the task has returned
 *   0; this holds for a task without wakers that is neither joined nor detached nor
 *   in a group
 *
 * Until it is spawned, a task belongs to one thread: no two threads may call
 * functions on it at the same time. After a join it may be spawned again without
 * another initialisation; after any other end, initialise it first.
 */
struct skua_task {
	/* private: to the library */
	struct skua_task *next;
	uint64_t state;
	skua_task_fn poll;
	union skua_task_end end;
	void *pool;
	const struct skua_task_type *type;
	union {
		struct skua_task *next;
		uint64_t *slot;
	} member;
	uint32_t home;
	uint32_t flags;
};

/* Initialiser for a task with poll function @fn, to be joined unless it is
 * detached. */
/* clang-format off */
#define SKUA_TASK_INIT(fn) \
	{ NULL, 0, (fn), { NULL }, NULL, NULL, { NULL }, 0, 0 }
/* clang-format on */

/**
 * skua_task_init - initialise a task
 * @task: memory of the caller; must not be a task that was spawned and has not ended
 * @fn: poll function of the task
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (an argument is NULL). It cannot fail otherwise.
 */
SKUA_API int skua_task_init(struct skua_task *task, skua_task_fn fn);

/**
 * skua_task_set_type - set the type of a task
 * @task: initialised and not spawned
 * @type: type, borrowed until the process ends; NULL: no type
 *
 * The task keeps the type until it gets another, or is initialised again.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (@task is NULL, or in @type the name has no end, the limit is
 * out of range, or reserved is not 0); -EALREADY (the task is spawned).
 */
SKUA_API int skua_task_set_type(struct skua_task *task,
				const struct skua_task_type *type);

/**
 * skua_task_spawn - queue a task to run on any worker
 * @rt: live runtime, borrowed
 * @task: initialised, owned by the caller; struct skua_task says how long its memory
 *        must stay in place
 *
 * On a worker of @rt, the task goes to the LIFO slot of that worker, which polls it
 * next. No other worker takes it from there, unless the current poll of the worker
 * lasts for another lifo_steal_delay_ns, or a further spawn displaces the task to the
 * local queue. On other threads, the task goes to the injection queue. An urgent task
 * always goes to the urgent lane. The order in which tasks run is not defined.
 *
 * Before the runtime is destroyed, outside threads must stop spawning: -ESHUTDOWN is
 * a result only while a shutdown waits. During a shutdown, tasks may still spawn, but
 * pollers may not.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Order: writes before the call are visible to the first poll.
 * Return: 0; -EINVAL (an argument is NULL, or the task has no poll function);
 * -EALREADY (the task was spawned, and was not joined or initialised since);
 * -ESHUTDOWN (the runtime is shutting down: the task stays the caller's); -EAGAIN
 * (max_queued tasks are queued: the task stays the caller's).
 */
SKUA_API int skua_task_spawn(struct skua_runtime *rt, struct skua_task *task);

/**
 * skua_task_spawn_on - queue a task to run on one worker only
 * @rt: live runtime, borrowed
 * @worker: index of the worker, below skua_runtime_workers()
 * @task: as for skua_task_spawn()
 *
 * Only that worker polls the task, also each time it is woken. The task waits while
 * the worker is busy.
 *
 * As skua_task_spawn() in all other respects.
 * Return: as skua_task_spawn(); -EINVAL also if there is no such worker.
 */
SKUA_API int skua_task_spawn_on(struct skua_runtime *rt, unsigned worker,
				struct skua_task *task);

/**
 * skua_task_set_urgent - let workers poll a task before other tasks
 * @task: initialised and not spawned
 * @urgent: true to make the task urgent, false to undo that
 *
 * Each time an urgent task becomes runnable it goes to the urgent lane of the workers
 * that share a cache with the calling thread. Each worker checks the lane of its group
 * before its own queues. After 8 urgent tasks in a row, a worker takes a task that is
 * not urgent. The urgent tasks of a lane run first in, first out. Workers of other
 * groups take them if they have nothing else to do, or if the workers of the group
 * are all in long polls. skua_task_spawn_on() ignores the mark.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (@task is NULL); -EALREADY (the task is spawned).
 */
SKUA_API int skua_task_set_urgent(struct skua_task *task, bool urgent);

/**
 * skua_task_cancel - ask a task to end
 * @task: spawned; the caller keeps its memory in place during the call
 *
 * The task is polled once more, at once or when its current poll returns, and
 * skua_task_cancelled() is true from then on. It is never ended by force: it ends
 * when it returns SKUA_DONE. A task that was never polled is polled once for this.
 *
 * Each further call makes the task run once more, but the mark stays the same. A
 * program that first asks a task to finish, and later to stop at once, needs a flag
 * of its own for that.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Order: writes before the call are visible to that poll.
 * Return: 0; -EINVAL (@task is NULL, or was never spawned); -EALREADY (it is done).
 */
SKUA_API int skua_task_cancel(struct skua_task *task);

/**
 * skua_task_cancelled - tell whether a task was asked to end
 * @self: task that is being polled, or one whose memory stays in place
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Order: none in the poll during which skua_task_cancel() is called. The poll after
 * that call sees the writes before it.
 * Return: true after skua_task_cancel(), also if a group or a shutdown cancelled the
 * task; false for NULL. Of a member of a cancelled group, threads other than the one
 * that polls it may be told only after the member has called this function.
 */
SKUA_API bool skua_task_cancelled(const struct skua_task *self);

/**
 * skua_task_join - wait until a task has ended
 * @task: spawned and not detached; owned by the caller after a return of 0
 *
 * After a return of 0 the task may be spawned again without another initialisation.
 *
 * Threads: fibers and outside threads; for a caller-driven runtime, another thread must
 * drive it meanwhile. Blocks: the fiber or thread. Allocates: nothing.
 * Order: all writes of the task are visible after the call.
 * Return: 0; -EINVAL (@task is NULL, was never spawned, or was joined since);
 * -EALREADY (it is detached, or another thread or task joins it); -ECANCELED (the
 * calling fiber was cancelled: as -ETIMEDOUT of skua_task_join_until()); -EDEADLK (called
 * from a worker, but not from a fiber; or by a fiber with a context of skua_task_ctx()).
 */
SKUA_API int skua_task_join(struct skua_task *task);

/**
 * skua_task_join_until - wait until a task has ended, or until a deadline
 * @task: spawned and not detached
 * @deadline_ns: time of skua_now_ns() at which to give up. If it has passed, the call
 *         checks the task and does not wait. SKUA_FOREVER_NS: no deadline
 *
 * After -ETIMEDOUT nothing has changed: the task goes on and its memory must stay in
 * place; any thread or task may join or detach it, also this thread again.
 *
 * As skua_task_join() in all other respects.
 * Return: as skua_task_join(); -ETIMEDOUT (the task has not ended).
 */
SKUA_API int skua_task_join_until(struct skua_task *task, uint64_t deadline_ns);

/**
 * skua_task_join_poll - join a task from the poll of another task
 * @self: task that is being polled
 * @task: spawned and not detached; not @self
 *
 * The first call takes the right to join for @self. When @task has ended, it wakes
 * @self, which calls this again. Until then @task keeps a reference to @self: if
 * @self returns SKUA_DONE earlier, it does not end before @task has.
 * skua_task_join_cancel() gives the right back.
 *
 * If the worker would poll @task next, for example because @self has just spawned it,
 * this call may poll it at once, on the stack of @self, and return 0 without a wait.
 * So @self must not hold a lock that @task takes. At most 32 such polls are nested.
 * There are none while @self has a context (skua_task_ctx()), while tasks are
 * tracked, and while polls are recorded or traced.
 *
 * When @task wakes @self, @self is queued behind the tasks that its worker already
 * has.
 *
 * Threads: worker, in the poll of @self. Blocks: never. Allocates: nothing.
 * Order: all writes of the task are visible after a return of 0.
 * Return: 0 (@task has ended: its memory is the caller's); -EAGAIN (not yet: return
 * SKUA_PENDING); -EINVAL (an argument is NULL, @task is @self, or @task was never
 * spawned); -EALREADY (@task is detached, or another thread or task joins it); -EPERM
 * (@self is not being polled).
 */
SKUA_API int skua_task_join_poll(struct skua_task *self,
				 struct skua_task *task);

/**
 * skua_task_join_cancel - give up a join that skua_task_join_poll() has begun
 * @self: task that is being polled
 * @task: task that @self has the right to join
 *
 * After a return of 0, @task has no reference to @self any more, and does not wake
 * it. @task goes on; any thread or task may join or detach it, also @self again. A
 * poll that joins with a deadline, and has added a timer for it before:
 *
 *	code = skua_task_join_poll(self, task);
 *	if (code == -EAGAIN && !skua_timer_pending(&it->timer))
 *		code = skua_task_join_cancel(self, task) ? -EAGAIN : -ETIMEDOUT;
 *	if (code == -EAGAIN)
 *		return SKUA_PENDING; // the end of the task, or the timer, wakes it
 *	skua_timer_cancel(&it->timer);
 *
 * Threads: worker, in the poll of @self. Blocks: never. Allocates: nothing.
 * Return: 0; -EALREADY (@task has ended: call skua_task_join_poll() again; it returns
 * 0, now or after the wake-up that is on its way); -EINVAL (an argument is NULL,
 * @task is @self, or @self has no right to join it); -EPERM (@self is not being
 * polled).
 */
SKUA_API int skua_task_join_cancel(struct skua_task *self,
				   struct skua_task *task);

/**
 * skua_task_detach - let a task end without a join
 * @task: initialised, spawned or done; not yet joined or detached
 * @release: called once with the task when it has ended, by the thread that makes it
 *           end: the worker of its last poll, the thread that drops its last waker,
 *           or this call. NULL if the memory needs no release
 *
 * To detach a task that is already spawned, the calling thread must have the right to
 * join it. If a task is detached before its spawn, and the spawn fails, @release is
 * not called: the task stays detached, and may be spawned again.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe if @release is.
 * Return: 0; -EINVAL (@task is NULL); -EALREADY (a thread or task joins it, or it is
 * detached or in a group: @release will not be called).
 */
SKUA_API int skua_task_detach(struct skua_task *task, skua_release_fn release);

/**
 * skua_task_self - return the task that the calling thread polls
 *
 * For code that a poll function calls without passing its task. Inside a job, it is
 * the task whose poll is below the job on the stack of the thread, waiting for that
 * job or another one; this is rarely the task that forked the job.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the task, borrowed until its poll returns; NULL on a thread that polls no
 * task, for example in release functions, pollers and hooks.
 */
SKUA_API struct skua_task *skua_task_self(void);

/**
 * skua_task_set_label - label what the task that the calling thread polls does
 * @label: text that stays in place until the process ends; the tools show its first 63
 *         bytes. NULL: no label
 *
 * `skua why`, `skua export` and `skua top` show the label beside the name of the task,
 * and `skua stacks` that of a fiber. A fiber keeps its label until it sets
 * another one, or ends; any other task keeps it until its poll returns. A forked job has
 * no label of its own: on a worker that runs it while a task there joins, the call labels
 * that task; on others it is -EPERM.
 *
 * A task that waits while it has a label is in the middle of something: `skua why`
 * counts that wait as time that the task took, whatever it waits for. So a service
 * sets a label for each request, and NULL before it waits for the next one.
 *
 * While nothing records, a call takes about twenty instructions.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EPERM (the calling thread polls no task: nothing was done).
 */
SKUA_API int skua_task_set_label(const char *label);

/**
 * skua_task_runtime - return the runtime of a task
 * @task: task that is being polled, or one whose memory stays in place and that no
 *        thread spawns meanwhile
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Return: the runtime of its last spawn, borrowed, which may be destroyed if the task
 * has ended; NULL if the task was not spawned since its initialisation, if its last
 * spawn failed, or if @task is NULL.
 */
SKUA_API struct skua_runtime *skua_task_runtime(const struct skua_task *task);

/**
 * skua_call - run a function on a worker, without a task of the caller
 * @rt: live runtime, borrowed
 * @fn: function to call once with @arg, as the only poll of a task: see skua_task_fn
 * @arg: passed to @fn
 *
 * The call cannot be joined or cancelled, but a drain waits for it. A waker of its task
 * (skua_task_self()) must be dropped before the runtime is destroyed.
 *
 * Threads: any. Blocks: never, except for a lock that is held for less than a
 * microsecond, or while memory is allocated. Allocates: 128 bytes, from chunks that
 * the runtime keeps and reuses.
 * Order: writes before the call are visible to @fn.
 * Return: 0; -EINVAL (@rt or @fn is NULL); -ENOMEM; -ESHUTDOWN (the runtime is
 * shutting down); -EAGAIN (max_queued tasks are queued).
 */
SKUA_API int skua_call(struct skua_runtime *rt,
		       void (*fn)(void *arg) SKUA_NOEXCEPT, void *arg);

SKUA_END_DECLS

#endif
