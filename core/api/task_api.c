/* SPDX-License-Identifier: MIT */
/* task_api.c - the public functions on tasks */
#include <assert.h>
#include <errno.h>

#include "core/loop/current.h"
#include "core/base/boundary.h"
#include "core/base/hot.h"
#include "core/fiber/fiber.h"
#include "core/loop/loop.h"
#include "core/runtime/runtime.h"
#include "core/task/group.h"
#include "core/loop/schedule.h"
#include "core/telemetry/track.h"
#include "core/wait/await.h"
#include "skua/waker.h"

/* Return the state word of a task. Relaxed: the caller itself has caused the
 * bits that it tests, or takes them as a hint. */
static uint64_t state_of(const struct skua_task *task)
{
	return atomic_load_relaxed(task_state((struct skua_task *)task));
}

int skua_task_init(struct skua_task *task, skua_task_fn fn)
{
	if (!task || !fn)
		return -EINVAL;
	*task = (struct skua_task)SKUA_TASK_INIT(fn);
	return 0;
}

static void refuse(struct pool *pool, struct skua_task *task)
{
	if (telemetry_tracks(&pool->telemetry))
		track_forget(&pool->telemetry, task);
	task->pool = NULL;
	task_state_transition_to_unspawned(task_state(task));
}

/* Spawn a task that the calling worker may not count as its own. A separate
 * function, so that the fast path saves fewer registers.
 * @worker: the calling worker; NULL if the caller is no worker of the pool */
static __attribute__((noinline)) int spawn_by_call(struct skua_runtime *rt,
						   struct skua_task *task,
						   struct worker *worker)
{
	unsigned group = idle_group_here(&rt->pool.idle);
	int code = pool_enter_spawn(&rt->pool, group);

	if (code)
		refuse(&rt->pool, task);
	else
		schedule_by(worker, group, task);
	pool_leave(&rt->pool, group);
	return code;
}

/* Spawn a task.
 * @home: 0, or the index + 1 of the only worker that may poll it
 * @tracked: whether the runtime has a table of tasks; a constant at each call,
 *           so that spawns without a table do not pay for it */
static inline __attribute__((always_inline)) int
spawn_as(struct skua_runtime *rt, struct skua_task *task, uint32_t home,
	 bool tracked, const void *caller)
{
	int code = task_state_transition_to_spawned(task_state(task));
	uint32_t kind = task->flags & (TASK_URGENT | TASK_FIBER);
	struct worker *worker;

	if (code)
		return code;
	if (!home && !(kind & TASK_URGENT) && pool_full(&rt->pool)) {
		refuse(&rt->pool, task);
		return -EAGAIN;
	}
	task->pool = &rt->pool;
	task->home = home;
	task->flags = rt->pool.generation * TASK_GENERATION_UNIT | kind;
	/* The caller has checked that the runtime is alive, so that its workers
	 * are alive, too. */
	worker = current_worker;
	if (worker && worker->pool != &rt->pool)
		worker = NULL;
	if (tracked)
		track_spawn(&rt->pool.telemetry, task, caller);
	/* Count the spawn before the task can end: see pool.h. A worker may use
	 * its own counter only while a task that it polls or ends is not done,
	 * because only such a task prevents the drain; a poller does not. */
	if (worker && (worker_polls_any(worker) || worker->finishing)) {
		counter_add_owner(&worker->area.counters.tasks_spawned, 1);
		schedule_by(worker, 0, task);
		return 0;
	}
	return spawn_by_call(rt, task, worker);
}

static __attribute__((noinline, cold)) int
spawn_tracked(struct skua_runtime *rt, struct skua_task *task, uint32_t home,
	      const void *caller)
{
	return spawn_as(rt, task, home, true, caller);
}

static inline __attribute__((always_inline)) int spawn(struct skua_runtime *rt,
						       struct skua_task *task,
						       uint32_t home,
						       const void *caller)
{
	return __builtin_expect(telemetry_tracks(&rt->pool.telemetry), 0)
		       ? spawn_tracked(rt, task, home, caller)
		       : spawn_as(rt, task, home, false, NULL);
}

int runtime_spawn(struct skua_runtime *rt, struct skua_task *task,
		  uint32_t home, const void *caller)
{
	if (!rt || !task || !task->poll)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	return spawn(rt, task, home, caller);
}

int skua_task_spawn(struct skua_runtime *rt, struct skua_task *task)
{
	if (!rt || !task || !task->poll)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	return spawn(rt, task, 0, __builtin_return_address(0));
}

int skua_task_spawn_on(struct skua_runtime *rt, unsigned worker,
		       struct skua_task *task)
{
	if (!rt || worker >= rt->pool.worker_count)
		return -EINVAL;
	return runtime_spawn(rt, task, worker + 1, __builtin_return_address(0));
}

int skua_task_set_urgent(struct skua_task *task, bool urgent)
{
	if (!task)
		return -EINVAL;
	if (task_dead(task))
		return -EOWNERDEAD;
	if (task_state_spawned(state_of(task)))
		return -EALREADY;
	task->flags = (task->flags & TASK_FIBER) | (urgent ? TASK_URGENT : 0);
	return 0;
}

static bool type_valid(const struct skua_task_type *type)
{
	uint64_t limit_ns = type->stall_limit_ns;

	return !type->name[SKUA_TASK_TYPE_NAME - 1] &&
	       (limit_ns == 0 || (limit_ns >= SKUA_MIN_STALL_LIMIT_NS &&
				  limit_ns <= SKUA_MAX_STALL_LIMIT_NS)) &&
	       !type->reserved[0] && !type->reserved[1];
}

static void note_limit(uint64_t limit_ns)
{
	/* Relaxed, all: the limit publishes no other data. The loop repeats
	 * when another thread has changed the limit. */
	uint64_t shortest_ns = atomic_load_relaxed(&task_shortest_limit_ns);

	while (limit_ns && limit_ns < shortest_ns &&
	       !atomic_cas_relaxed(&task_shortest_limit_ns, &shortest_ns,
				   limit_ns))
		;
}

int skua_task_set_type(struct skua_task *task,
		       const struct skua_task_type *type)
{
	if (!task || (type && !type_valid(type)))
		return -EINVAL;
	if (task_dead(task))
		return -EOWNERDEAD;
	if (task_state_spawned(state_of(task)))
		return -EALREADY;
	if (type)
		note_limit(type->stall_limit_ns);
	task->type = type;
	return 0;
}

int skua_task_cancel(struct skua_task *task)
{
	bool wake;
	int code;

	if (!task)
		return -EINVAL;
	if (task_dead(task))
		return -EOWNERDEAD;
	code = task_state_transition_to_cancelled(task_state(task), &wake);
	if (!code && wake)
		schedule(task);
	return code;
}

bool skua_task_cancelled(const struct skua_task *self)
{
	return self && group_task_cancelled((struct skua_task *)self,
					    current_polls(self));
}

/* Wait for the end of a task that the caller has claimed. Returns false if the
 * deadline came first. */
static bool join_by_thread(struct skua_task *task, uint64_t deadline_ns)
{
	struct task_joiner joiner;

	atomic_init(&joiner.done, 0);
	task_end_write(task, (union skua_task_end){ .joiner = &joiner });
	if (!task_state_transition_to_ended_by(task_state(task),
					       TASK_END_THREAD) ||
	    task_joiner_wait_until(&joiner, deadline_ns))
		return true;
	if (task_state_transition_to_withdrawn(task_state(task),
					       TASK_END_THREAD))
		return false;
	/* Too late to withdraw: the thread that ends the task knows where the
	 * joiner is, and wakes it. */
	task_joiner_wait(&joiner);
	return true;
}

/* Is @self the task that joins @task, according to @state? */
static bool joined_by(struct skua_task *task, uint64_t state,
		      const struct skua_task *self)
{
	return (state & TASK_END_TASK) && task_end_read(task).task == self;
}

/* Check the arguments of a join by a task. Returns 0 or a negative errno. */
static inline __attribute__((always_inline)) int
may_join(const struct skua_task *self, const struct skua_task *task)
{
	if (!self || !task || self == task)
		return -EINVAL;
	/* A task that is being polled is alive: only @task needs the check. */
	if (!current_polls(self))
		return task_dead(self) || task_dead(task) ? -EOWNERDEAD
							  : -EPERM;
	return task_dead(task) ? -EOWNERDEAD : 0;
}

/* If @task, which the caller has claimed, is the next one of this worker, poll
 * it at once. Returns true if it has ended; the claim is then given back. */
static inline bool ended_within(struct skua_task *task)
{
	/* The stack of a fiber may be too small for the poll of another task. */
	if (!current_polls_next(task) || (fiber_current() && !fiber_is(task)) ||
	    !loop_poll_within(current_worker, task))
		return false;
	/* Acquire: everything that the task did. Pairs with
	 * task_state_transition_to_dropped(). */
	if (!task_state_ended(atomic_load_acquire(task_state(task))))
		return false;
	task_state_transition_to_idle(task_state(task));
	return true;
}

int skua_task_join_poll(struct skua_task *self, struct skua_task *task)
{
	int code = may_join(self, task);
	uint64_t state;

	if (code)
		return code;
	/* Acquire: everything that the task did, if it has ended. Pairs with
	 * task_state_transition_to_dropped(). */
	state = atomic_load_acquire(task_state(task));
	if (joined_by(task, state, self)) {
		if (!task_state_ended(state)) {
			pool_track_wait(self, AREA_WAIT_JOIN, (uintptr_t)task);
			return -EAGAIN;
		}
		task_state_transition_to_idle(task_state(task));
		return 0;
	}
	if (task_state_transition_to_joined(task_state(task)))
		return 0;
	code = task_state_transition_to_claimed(task_state(task), true);
	if (code)
		return code;
	if (ended_within(task))
		return 0;
	task_end_write(task, (union skua_task_end){ .task = self });
	/* A reference for the thread that ends the task and wakes @self. */
	schedule_add_reference(self);
	pool_track_wait(self, AREA_WAIT_JOIN, (uintptr_t)task);
	if (task_state_transition_to_ended_by(task_state(task), TASK_END_TASK))
		return -EAGAIN;
	schedule_drop(self);
	task_state_transition_to_idle(task_state(task));
	return 0;
}

int skua_task_join_cancel(struct skua_task *self, struct skua_task *task)
{
	int code = may_join(self, task);

	if (code)
		return code;
	/* Relaxed: @self wrote its own join itself, and any other join makes
	 * the check fail. */
	if (!joined_by(task, atomic_load_relaxed(task_state(task)), self))
		return -EINVAL;
	if (!task_state_transition_to_withdrawn(task_state(task),
						TASK_END_TASK))
		return -EALREADY;
	schedule_drop(
		self); /* the reference of the thread that would have woken @self */
	return 0;
}

/* The same in a fiber. */
static int join_by_fiber(struct skua_fiber *fiber, struct skua_task *task,
			 uint64_t deadline_ns)
{
	struct skua_wait wait = { .verb = &await_join,
				  .object = task,
				  .waiter = (uintptr_t)&fiber->task };

	if (!fiber_may_suspend(fiber))
		return -EDEADLK;
	/* The loop repeats when the fiber was woken for another cause. */
	for (;;) {
		int code = skua_task_join_poll(&fiber->task, task);
		int give_up;

		if (code != -EAGAIN)
			return code;
		give_up = await_give_up(fiber, deadline_ns);
		if (give_up && !skua_task_join_cancel(&fiber->task, task))
			return give_up;
		await_suspend(fiber, &wait, deadline_ns, give_up);
	}
}

int skua_task_join_until(struct skua_task *task, uint64_t deadline_ns)
{
	struct skua_fiber *fiber = await_fiber();
	int code;

	if (!task)
		return -EINVAL;
	if (fiber)
		return join_by_fiber(fiber, task, deadline_ns);
	if (task_dead(task))
		return -EOWNERDEAD;
	if (current_here())
		return -EDEADLK;
	if (task_state_transition_to_joined(task_state(task)))
		return 0;
	code = task_state_transition_to_claimed(task_state(task), true);
	if (code)
		return code;
	if (!join_by_thread(task, deadline_ns))
		return -ETIMEDOUT;
	task_state_transition_to_idle(task_state(task));
	return 0;
}

int skua_task_join(struct skua_task *task)
{
	return skua_task_join_until(task, UINT64_MAX);
}

int skua_task_detach(struct skua_task *task, skua_release_fn release)
{
	int code;

	if (!task)
		return -EINVAL;
	if (task_dead(task))
		return -EOWNERDEAD;
	code = task_state_transition_to_claimed(task_state(task), false);
	if (code)
		return code;
	task_end_write(task, (union skua_task_end){ .release = release });
	if (!task_state_transition_to_ended_by(task_state(task),
					       TASK_END_DETACH) &&
	    release)
		release(task);
	BOUNDARY(release);
	return 0;
}

struct skua_task *skua_task_self(void)
{
	const struct worker *worker = current_here();

	return worker ? (struct skua_task *)(uintptr_t)worker->area.task : NULL;
}

HOT int skua_task_set_label(const char *label)
{
	struct worker *worker = current_here();
	struct skua_task *task;

	if (!worker || !worker->area.task)
		return -EPERM;
	task = (struct skua_task *)(uintptr_t)worker->area.task;
	if (task->flags & TASK_FIBER)
		((struct skua_fiber *)task)->label = label;
	else
		telemetry_label_poll(&worker->telemetry, label);
	telemetry_label(&worker->telemetry, task, label);
	return 0;
}

struct skua_runtime *skua_task_runtime(const struct skua_task *task)
{
	static_assert(offsetof(struct skua_runtime, pool) == 0,
		      "a pool is its runtime");
	return task ? task->pool : NULL;
}

/* ---- wakers -------------------------------------------------------------- */

static struct skua_task *task_of_waker(struct skua_waker waker)
{
	return (struct skua_task *)waker.opaque;
}

struct skua_waker skua_task_waker(struct skua_task *self)
{
	if (self) {
		assert(task_state_spawned(state_of(self)));
		schedule_add_reference(self);
	}
	return (struct skua_waker){ (uintptr_t)self };
}

struct skua_waker skua_waker_clone(struct skua_waker waker)
{
	return skua_task_waker(task_of_waker(waker));
}

void skua_waker_wake_by_ref(struct skua_waker waker)
{
	if (waker.opaque)
		schedule_wake(task_of_waker(waker));
}

void skua_waker_wake(struct skua_waker waker)
{
	if (waker.opaque)
		schedule_wake_by_value(task_of_waker(waker));
}

void skua_waker_drop(struct skua_waker waker)
{
	if (waker.opaque)
		schedule_drop(task_of_waker(waker));
}
