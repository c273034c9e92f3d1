/* SPDX-License-Identifier: MIT */
/* task.h - the unit of scheduling: a poll function and its state */
#ifndef SKUA_TASK_H
#define SKUA_TASK_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_runtime;
struct skua_task;

/**
 * enum skua_poll - what a poll function says of its task
 * @SKUA_DONE: finished; it is not polled again
 * @SKUA_PENDING: poll again when a waker of the task was woken, or the task
 *                cancelled; at once, if that happened during this poll
 * @SKUA_YIELD: more to do; poll again after the others that wait
 */
enum skua_poll { SKUA_DONE = 0, SKUA_PENDING = 1, SKUA_YIELD = 2 };

/**
 * skua_task_fn - the poll function of a task
 * @self: the task; the struct that embeds it holds the arguments and results
 *
 * Runs on a worker, never on two at once, on a stack of the usual size of a
 * thread. Should return within microseconds, and must not block: use
 * SKUA_YIELD to let others run. It returns: it must not be left by an
 * exception, longjmp() or pthread_exit() (see SKUA_NOEXCEPT). Any value but
 * those of enum skua_poll is a mistake, which aborts a debug build and else
 * counts as SKUA_DONE.
 *
 * A task whose poll has stored its result has not ended yet. A join or a release
 * function tells others that its memory is free, and its result final.
 */
typedef enum skua_poll (*skua_task_fn)(struct skua_task *self) SKUA_NOEXCEPT;

/**
 * skua_release_fn - gives the memory of a detached task back
 * @task: ended; the library never touches it again
 *
 * The function sees all that the task wrote. It runs on the thread that
 * skua_task_detach() or skua_group_set_release() names, often a worker, and holds
 * that up as a poll does: it should return within microseconds. It may spawn tasks; during a shutdown that is
 * refused with -ESHUTDOWN unless it is called at the end of the task's last poll. A
 * drain waits for it to return, if the task's last waker was gone when its poll was
 * done, and no thread outside was spawning it into its group or cancelling that.
 */
typedef void (*skua_release_fn)(struct skua_task *task) SKUA_NOEXCEPT;

struct skua_group;

/* The waiter for the end of a task; the library's. */
union skua_task_end {
	void *joiner;
	struct skua_task *task;
	skua_release_fn release;
	struct skua_group *group;
};

#define SKUA_TASK_TYPE_NAME 40 /* bytes, the 0 at the end included */

/**
 * struct skua_task_type - what the tasks of one kind have in common
 * @name: for people: what the tools call the tasks; ends with 0
 * @stall_limit_ns: how long a poll of such a task may take before it is reported
 *        as stalled, in a runtime with a limit, SKUA_MIN_STALL_LIMIT_NS to
 *        SKUA_MAX_STALL_LIMIT_NS (skua/runtime.h); 0 = as the runtime has it
 * @reserved: 0
 *
 * Constant, and there for as long as the process: make it static. Other processes
 * read it too.
 */
struct skua_task_type {
	char name[SKUA_TASK_TYPE_NAME];
	uint64_t stall_limit_ns;
	uint64_t reserved[2];
};

/* Initialiser for a type with a literal for its name; one that is too long is an
 * array of negative size. */
/* clang-format off */
#define SKUA_TASK_TYPE(name) \
	{ name, 0 * sizeof(char[sizeof(name) <= SKUA_TASK_TYPE_NAME ? 1 : -1]), \
	  { 0, 0 } }
/* clang-format on */

/**
 * struct skua_task - embed it in a struct of your own
 *
 * Initialise it with SKUA_TASK_INIT() or skua_task_init(); the fields are the
 * library's. A task has ended when its poll returned SKUA_DONE and each of its
 * wakers was dropped. Its memory must stay in place from spawn until it ends
 * for its owner: until a join of it, or a wait for its group, returned 0; its
 * release function, or that of its group, was called; or, for a task that is
 * neither joined nor detached nor in a group and has no waker left, a drain,
 * shutdown or destruction of its runtime that covers it returned 0.
 *
 * Until it is spawned, a task belongs to one thread: no two calls on it at
 * once. After a join it may be spawned again as it is; after any other end it
 * is initialised again first.
 */
struct skua_task {
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

/* Initialiser for a task with poll function @fn that is going to be joined. */
/* clang-format off */
#define SKUA_TASK_INIT(fn) \
	{ NULL, 0, (fn), { NULL }, NULL, NULL, { NULL }, 0, 0 }
/* clang-format on */

/**
 * skua_task_init - make a task ready to spawn
 * @task: memory of the caller, and no task that is spawned and has not ended
 * @fn: its poll function
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (an argument is NULL); nothing else can fail.
 */
SKUA_API int skua_task_init(struct skua_task *task, skua_task_fn fn);

/**
 * skua_task_set_type - say of which kind a task is
 * @task: initialised and not spawned
 * @type: borrowed, also after the task's end; NULL: of none
 *
 * The task keeps it until it is initialised again, or given another.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (@task is NULL; the name of @type does not end, its limit is
 * out of range, or @reserved is not 0); -EALREADY (spawned already).
 */
SKUA_API int skua_task_set_type(struct skua_task *task,
				const struct skua_task_type *type);

/**
 * skua_task_spawn - queue a task to run on any worker
 * @rt: live runtime, borrowed
 * @task: initialised; see struct skua_task for how long it must live
 *
 * From a worker of @rt the task becomes that worker's next one, in its LIFO
 * slot: no other worker takes it from there, unless the worker is still in the
 * same poll when lifo_steal_delay_ns have passed, or a further spawn displaces
 * it. From elsewhere it goes through the injection queue. Tasks run in no
 * order that the caller may rely on.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Order: writes before the call are visible to the first poll.
 * Return: 0; -EINVAL (an argument is NULL, or the task has no poll function);
 * -EALREADY (it was spawned, and is not joined or initialised since);
 * -ESHUTDOWN (the runtime is shutting down: the task is the caller's as
 * before); -EAGAIN (max_queued tasks are queued: likewise).
 *
 * Outside threads that spawn end, or are told, before the runtime is
 * destroyed: -ESHUTDOWN is for those that call while a shutdown waits, and for
 * pollers; tasks may spawn to the end.
 */
SKUA_API int skua_task_spawn(struct skua_runtime *rt, struct skua_task *task);

/**
 * skua_task_spawn_on - queue a task to run on one worker only
 * @rt: live runtime, borrowed
 * @worker: index, below skua_runtime_workers()
 * @task: initialised; see struct skua_task for how long it must live
 *
 * The task is polled by that worker and no other, also after it was woken. It
 * waits while the worker is busy.
 *
 * As skua_task_spawn(). Return: the same; -EINVAL also if there is no such
 * worker.
 */
SKUA_API int skua_task_spawn_on(struct skua_runtime *rt, unsigned worker,
				struct skua_task *task);

/**
 * skua_task_set_urgent - have a task polled before others
 * @task: initialised and not spawned
 * @urgent: whether it is
 *
 * Whenever an urgent task is runnable it goes to the urgent lane, which every
 * worker looks at before its own queues; after 8 urgent tasks in a row a
 * worker takes one that is not. Urgent tasks run first in, first out, on any
 * worker; a task that is spawned on one worker is not urgent.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (NULL); -EALREADY (spawned already).
 */
SKUA_API int skua_task_set_urgent(struct skua_task *task, bool urgent);

/**
 * skua_task_cancel - ask a task to end
 * @task: spawned; the caller sees to it that its memory stays in place
 *
 * The task is polled once more, now or when its poll under way returns, and
 * sees skua_task_cancelled(). It ends when it says so: nothing is taken from
 * under it. A task that was never polled is polled once for this. Each further
 * call has it polled once more. The mark is all that the task sees: a program that
 * first asks to finish and then to stop at once has a flag of its own for that.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Order: writes before the call are visible to that poll.
 * Return: 0; -EINVAL (NULL, or never spawned); -EALREADY (done already).
 */
SKUA_API int skua_task_cancel(struct skua_task *task);

/**
 * skua_task_cancelled - was this task asked to end?
 * @self: the task that is being polled, or one whose memory stays in place
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Order: none in a poll during which the task is cancelled; the poll that follows
 * sees the writes before that call.
 * Return: false also for NULL.
 */
SKUA_API bool skua_task_cancelled(const struct skua_task *self);

/**
 * skua_task_join - wait until a task has ended
 * @task: spawned and not detached
 *
 * Afterwards the task's memory is the caller's, and the task may be spawned
 * again as it is.
 *
 * Threads: outside; of a caller-driven runtime, while another thread drives.
 * Blocks: yes. Allocates: nothing.
 * Order: all that the task wrote is visible after the call.
 * Return: 0; -EINVAL (NULL, never spawned, or joined since); -EALREADY
 * (detached, or another thread joins it); -EDEADLK (called from a worker).
 */
SKUA_API int skua_task_join(struct skua_task *task);

/**
 * skua_task_join_until - the same, but give the join up at some time
 * @task: spawned and not detached
 * @deadline_ns: of skua_now_ns(); a time that has passed: look, and do not wait;
 *               SKUA_FOREVER_NS: no deadline
 *
 * After -ETIMEDOUT nothing has changed: the task goes on, its memory stays its
 * own, and anybody may join or detach it, also this thread once more.
 *
 * As skua_task_join(). Return: the same; -ETIMEDOUT (the task has not ended).
 */
SKUA_API int skua_task_join_until(struct skua_task *task, uint64_t deadline_ns);

/**
 * skua_task_join_poll - join a task from the poll of another one
 * @self: the task that is being polled
 * @task: spawned and not detached; not @self
 *
 * The first call takes the right to join; once the task has ended, @self is
 * woken and calls again. Until then the right is its own, and the task keeps a
 * reference to @self: a @self that returns SKUA_DONE before has not ended until
 * the task has. skua_task_join_cancel() gives the right back.
 *
 * If the worker would poll @task next, as after its spawn by @self, the call may poll
 * it at once, on the stack of @self, and return 0 without a wait. So @self must not
 * hold a lock that @task takes. At most 32 polls are within each other; there are none
 * while @self has a context (skua_task_ctx()), while tasks are tracked, and while polls
 * are recorded or traced.
 *
 * A @self that is woken is queued behind the tasks that its worker has by then.
 *
 * Threads: worker, in the poll of @self. Blocks: never. Allocates: nothing.
 * Order: all that the task wrote is visible after a return of 0.
 * Return: 0 (ended: its memory is the caller's); -EAGAIN (not yet: return
 * SKUA_PENDING); -EINVAL (NULL, @task is @self, or never spawned); -EALREADY
 * (detached, or joined by somebody else); -EPERM (@self is not being polled).
 */
SKUA_API int skua_task_join_poll(struct skua_task *self,
				 struct skua_task *task);

/**
 * skua_task_join_cancel - give a join up that skua_task_join_poll() has begun
 * @self: the task that is being polled
 * @task: of which @self has the right to join
 *
 * After a return of 0 the task does not know @self any more, and does not wake it;
 * it goes on, and anybody may join or detach it, also @self once more. A poll that
 * joins with a deadline, with a timer that it has added before:
 *
 *     code = skua_task_join_poll(self, task);
 *     if (code == -EAGAIN && !skua_timer_pending(&it->timer))
 *             code = skua_task_join_cancel(self, task) ? -EAGAIN : -ETIMEDOUT;
 *     if (code == -EAGAIN)
 *             return SKUA_PENDING; // the end of the task or the timer wakes it
 *     skua_timer_cancel(&it->timer);
 *
 * Threads: worker, in the poll of @self. Blocks: never. Allocates: nothing.
 * Return: 0; -EALREADY (the task has ended: skua_task_join_poll() is still to be
 * called, and returns 0, now or after a wake-up that is on its way); -EINVAL
 * (NULL, @task is @self, or @self has no right to join it); -EPERM (@self is not
 * being polled).
 */
SKUA_API int skua_task_join_cancel(struct skua_task *self,
				   struct skua_task *task);

/**
 * skua_task_detach - let a task end by itself
 * @task: initialised, spawned or done, and not yet joined or detached
 * @release: called once with the task when it has ended, by the thread that
 *           does the last thing to it: the worker of its last poll, the thread that
 *           drops its last waker, or this call; may be NULL for memory that needs no
 *           release
 *
 * A task that is already spawned must be detached by a thread that may join it. One
 * that is detached first, and whose spawn is refused, is not released: it is detached
 * and may be spawned again.
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe if
 * @release is.
 * Return: 0; -EINVAL (NULL); -EALREADY (somebody is joining it, or it is
 * detached or in a group already: @release will not be called).
 */
SKUA_API int skua_task_detach(struct skua_task *task, skua_release_fn release);

/**
 * skua_task_self - the task that the calling thread polls
 *
 * For code that a poll function calls, and that was not handed its task. Within a
 * job it is the task whose poll waits for that job or another one, below it on the
 * stack of the thread: rarely the one that forked the job.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: the task, borrowed until its poll returns; NULL on a thread that polls
 * none, as in release functions, pollers and hooks.
 */
SKUA_API struct skua_task *skua_task_self(void);

/**
 * skua_task_runtime - where a task was spawned
 * @task: the task that is being polled, or one whose memory stays in place and
 *        that is not being spawned meanwhile
 *
 * Threads: any. Blocks: never. Allocates: nothing. Async-signal-safe.
 * Return: the runtime of its last spawn, which may be destroyed if the task has
 * ended; NULL if it was not spawned since it was initialised, if its last spawn
 * was refused, or if @task is NULL.
 */
SKUA_API struct skua_runtime *skua_task_runtime(const struct skua_task *task);

/**
 * skua_call - run a function on a worker
 * @rt: live runtime, borrowed
 * @fn: called once with @arg, as a task's only poll: see skua_task_fn
 * @arg: handed to @fn
 *
 * For what needs no task of its own: it cannot be joined, woken or cancelled,
 * but a drain waits for it.
 *
 * Threads: any. Blocks: never, except for a lock that is held for less than a
 * microsecond, or while memory is allocated. Allocates: 128 bytes, from
 * chunks that the runtime keeps and uses again.
 * Order: writes before the call are visible to @fn.
 * Return: 0; -EINVAL (@rt or @fn is NULL); -ENOMEM; -ESHUTDOWN; -EAGAIN
 * (max_queued tasks are queued).
 */
SKUA_API int skua_call(struct skua_runtime *rt,
		       void (*fn)(void *arg) SKUA_NOEXCEPT, void *arg);

SKUA_END_DECLS

#endif
