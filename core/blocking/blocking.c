/* SPDX-License-Identifier: MIT */
/* blocking.c - see blocking.h */
#include "core/blocking/blocking.h"

#include <errno.h>

#include "core/base/boundary.h"
#include "core/base/clock.h"
#include "core/blocking/blocking_threads.h"
#include "core/loop/schedule.h"
#include "core/os/futex.h"
#include "core/wait/await.h"
#include "probes/probes.h"

/* The stage of a wait that is armed for a call. */
enum { IN_QUEUE, IN_PLACES };

_Thread_local const struct blocking *blocking_here
	__attribute__((tls_model("initial-exec")));

/* Work that is left for after the lock is released. */
struct due {
	struct wait_chain chain; /* waits to grant */
	/* A task whose call has got a place, and a reference to it; NULL: none. */
	struct skua_task *task;
};

static void do_due(struct due *due)
{
	wait_grant(&due->chain);
	if (due->task)
		schedule_wake_by_value(due->task);
}

/* Number of threads that are running or about to be created. Writers: threads with the
 * lock. Readers: the same, and blocking_stop(). */
static atomic_u32 *threads_of(struct blocking *blocking)
{
	return (atomic_u32 *)&blocking->area.threads;
}

static uint32_t threads_locked(struct blocking *blocking)
{
	/* Relaxed: under the lock. */
	return atomic_load_relaxed(threads_of(blocking));
}

/* Release the lock, after the lists have changed. */
static void unlock(struct blocking *blocking)
{
	blocking->area.queued = blocking->waiters.count;
	blocking->area.waiting = blocking->places.count;
	waiters_unlock(&blocking->waiters);
}

/* ---- calls ------------------------------------------------------------------ */

/* Let the first caller that waits for a place have it, if there is one. */
static void fill_place_locked(struct blocking *blocking, struct due *due)
{
	struct skua_wait *wait = blocking->places.first;

	if (!wait || blocking->waiters.count >= blocking->area.max_queued)
		return;
	wait_move_locked(&blocking->places, &blocking->waiters, wait);
	wait->stage = IN_QUEUE;
	if (wait->verb != &blocking_poll)
		return;
	/* That of the wait keeps it alive until the lock is released. */
	due->task = (struct skua_task *)wait->waiter;
	schedule_add_reference(due->task);
}

static void withdraw_locked(struct blocking *blocking, struct skua_wait *wait,
			    struct due *due)
{
	if (wait->stage == IN_PLACES) {
		wait_withdraw_locked(&blocking->places, wait);
		return;
	}
	wait_withdraw_locked(&blocking->waiters, wait);
	fill_place_locked(blocking, due);
}

/* Queue a call. Return: must the caller create a thread? */
static bool queue_locked(struct blocking *blocking, struct skua_wait *wait,
			 struct due *due)
{
	bool full = blocking->waiters.count >= blocking->area.max_queued;

	wait->code = 0;
	wait->stage = full ? IN_PLACES : IN_QUEUE;
	wait_arm_locked(full ? &blocking->places : &blocking->waiters, wait,
			false);
	if (full)
		probe_blocking_full(blocking->waiters.count,
				    blocking->places.count);
	if (blocking->idle.first) {
		wait_choose_locked(&blocking->idle, blocking->idle.first,
				   &due->chain);
		return false;
	}
	if (threads_locked(blocking) == blocking->area.max_threads)
		return false;
	/* Relaxed: under the lock. */
	atomic_fetch_add_relaxed(threads_of(blocking), 1);
	return true;
}

static void fail_all_locked(struct skua_waiters *of, int code, struct due *due)
{
	for (struct skua_wait *wait = of->first; wait; wait = wait->link[0])
		wait->code = code;
	wait_choose_all_locked(of, &due->chain);
}

/* Note that the log is told. Return: false if it was told less than a second ago. */
static bool tell_locked(struct blocking *blocking)
{
	uint64_t now_ns = clock_now_ns();

	if (blocking->told_ns && now_ns - blocking->told_ns < NS_PER_S)
		return false;
	blocking->told_ns = now_ns;
	return true;
}

/* The thread that was counted could not be created. */
static void not_created(struct blocking *blocking, int refused)
{
	/* -EAGAIN would mean that the call is queued. */
	int code = refused == -EAGAIN ? -ENOMEM : refused;
	struct due due = { { NULL, NULL }, NULL };
	bool tells;

	waiters_lock(&blocking->waiters);
	/* Relaxed: under the lock. */
	atomic_fetch_sub_relaxed(threads_of(blocking), 1);
	if (threads_locked(blocking) == 0) {
		/* Nobody else would run them (B1). */
		fail_all_locked(&blocking->waiters, code, &due);
		fail_all_locked(&blocking->places, code, &due);
	}
	tells = tell_locked(blocking);
	unlock(blocking);
	if (tells)
		blocking_threads_refused(blocking->config, refused);
	wait_grant(&due.chain);
}

static void *thread_main(void *arg);

static void add_thread(struct blocking *blocking)
{
	int code = blocking_threads_create(blocking->config, thread_main,
					   blocking);

	if (code)
		not_created(blocking, code);
}

static int call_step(struct skua_wait *wait, void *object, bool granted,
		     int give_up)
{
	struct blocking *blocking = object;
	struct due due = { { NULL, NULL }, NULL };
	bool grow = false;
	int code;

	if (granted)
		return wait->code;
	if (!await_enter(&blocking->waiters, wait, blocking, &code))
		return code;
	code = give_up ? give_up : -EAGAIN;
	if (!wait_armed_locked(wait)) {
		if (!give_up)
			grow = queue_locked(blocking, wait, &due);
	} else if (give_up) {
		withdraw_locked(blocking, wait, &due);
	}
	unlock(blocking);
	do_due(&due);
	if (grow)
		add_thread(blocking);
	return code;
}

const struct wait_verb blocking_await =
	WAIT_VERB(call_step, BLOCKING, blocking, WAIT_NO_HOLDER);
const struct wait_verb blocking_poll =
	WAIT_VERB(call_step, BLOCKING, blocking, WAIT_NO_HOLDER);

bool blocking_has_place(struct blocking *blocking, const struct skua_wait *wait)
{
	bool has;

	waiters_lock(&blocking->waiters);
	has = wait->stage == IN_QUEUE;
	waiters_unlock(&blocking->waiters);
	return has;
}

/* ---- threads ---------------------------------------------------------------- */

struct thread {
	struct blocking *blocking;
	struct wait_chain taken; /* the call that it runs, or that has ended */
	bool runs;               /* it is counted as running */
	bool last;  /* it has ended during a stop, as the last one */
	bool joins; /* it has ended, after another one: before */
	pthread_t before;
};

static void end_locked(struct thread *thread)
{
	struct blocking *blocking = thread->blocking;

	thread->joins = blocking->has_ended;
	thread->before = blocking->ended;
	blocking->ended = pthread_self();
	blocking->has_ended = true;
	/* Release: the fields above, and what the calls did. Pairs with
	 * blocking_stop(). */
	thread->last = atomic_fetch_sub_release(threads_of(blocking), 1) == 1 &&
		       blocking->stopping;
}

/* Take the first call, if there is one, or end, or sleep. Return: 0; what @give_up is, or
 * -ESHUTDOWN; -EAGAIN. */
static int take_locked(struct thread *thread, struct skua_wait *wait,
		       int give_up, struct due *due)
{
	struct blocking *blocking = thread->blocking;

	blocking->area.running -= thread->runs;
	thread->runs = blocking->waiters.first != NULL;
	blocking->area.running += thread->runs;
	if (thread->runs) {
		wait_choose_locked(&blocking->waiters, blocking->waiters.first,
				   &thread->taken);
		fill_place_locked(blocking, due);
		return 0;
	}
	if (give_up || blocking->stopping) {
		end_locked(thread);
		return give_up ? give_up : -ESHUTDOWN;
	}
	wait_arm_locked(&blocking->idle, wait, true);
	return -EAGAIN;
}

/* A step of a thread of the pool, which waits for a call. */
static int take_step(struct skua_wait *wait, void *object, bool granted,
		     int give_up)
{
	struct thread *thread = object;
	struct blocking *blocking = thread->blocking;
	struct due due = { thread->taken, NULL };
	int code;

	/* A grant says only that a call has come. Another thread may have been
	 * faster. */
	(void)granted;
	if (!await_enter(&blocking->waiters, wait, blocking, &code))
		return code;
	/* The call that has ended is granted after the thread is idle: so the next call
	 * of its caller finds it, and creates no thread. */
	thread->taken = (struct wait_chain){ NULL, NULL };
	if (wait_armed_locked(wait))
		wait_withdraw_locked(&blocking->idle, wait);
	code = take_locked(thread, wait, give_up, &due);
	unlock(blocking);
	do_due(&due);
	if (thread->last)
		futex_wake(threads_of(blocking), 1);
	return code;
}

static const struct wait_verb take = { .step = take_step,
				       .kind = AREA_WAITS_NOTHING,
				       .holder = WAIT_NO_HOLDER };

static void run_taken(const struct thread *thread)
{
	struct skua_blocking *call =
		(struct skua_blocking *)(uintptr_t)thread->taken.first->amount;

	call->run(call);
	BOUNDARY(blocking);
}

static uint64_t idle_until_ns(const struct blocking *blocking)
{
	uint64_t now_ns = clock_now_ns();

	return blocking->idle_ns > SKUA_FOREVER_NS - now_ns
		       ? SKUA_FOREVER_NS
		       : now_ns + blocking->idle_ns;
}

static void run_thread(struct blocking *blocking)
{
	struct thread thread = { .blocking = blocking };

	blocking_here = blocking;
	/* In the child of a fork() in a call, the callers do not exist, and another
	 * thread may have had the lock. */
	while (await(&take, &thread, 0, idle_until_ns(blocking)) == 0) {
		run_taken(&thread);
		if (!pool_alive(blocking->pool))
			return;
	}
	if (thread.joins)
		pthread_join(thread.before, NULL);
}

static void *thread_main(void *arg)
{
	pthread_setname_np(pthread_self(), "skua-block");
	run_thread(arg);
	return NULL;
}

/* ---- life ------------------------------------------------------------------- */

void blocking_init(struct blocking *blocking, const struct pool *pool,
		   const struct config *config)
{
	blocking->area.max_threads = config->blocking_threads;
	blocking->area.max_queued = config->blocking_queued;
	blocking->idle_ns = config->blocking_idle_ns;
	skua_semaphore_init(&blocking->lookups,
			    config->blocking_threads > 1
				    ? config->blocking_threads / 2
				    : 1);
	blocking->pool = pool;
	blocking->config = config;
}

void blocking_stop(struct blocking *blocking)
{
	struct due due = { { NULL, NULL }, NULL };
	uint32_t left;

	waiters_lock(&blocking->waiters);
	blocking->stopping = true;
	wait_choose_all_locked(&blocking->idle, &due.chain);
	waiters_unlock(&blocking->waiters);
	wait_grant(&due.chain);
	/* Acquire: which thread was the last, and what the calls did. Pairs with
	 * end_locked(). The loop repeats as long as a thread has not ended. */
	while ((left = atomic_load_acquire(threads_of(blocking))) > 0)
		futex_wait(threads_of(blocking), left);
	if (blocking->has_ended)
		pthread_join(blocking->ended, NULL);
	blocking->has_ended = false;
}
