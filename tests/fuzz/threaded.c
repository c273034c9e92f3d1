/* SPDX-License-Identifier: MIT */
/**
 * threaded.c - a runtime with threads, and what holds under any interleaving
 *
 * Two outside threads run a program each, on jobs of their own; each job runs
 * a script, and may have a child. In each order, a
 * job is polled by one worker at a time, is done once, is not polled after
 * that, and is released once; what joins, waits or drains has seen its end;
 * the counters add up; and no call returns what its header does not list.
 *
 * A job that waits is woken by a timer of its own, by the end of its child, or
 * by a thread that finds its waker in the mail. So that nobody waits for a job
 * whose waker lies there, a thread that is about to block closes the mail and
 * empties it; a thread that posts then finds it closed, and empties it too.
 */
#include "tests/fuzz/driven.h"

#include <pthread.h>

#include "core/base/atomic.h"

#define OUTSIDE   2u
#define OWN       6u /* jobs of each outside thread */
#define POSTED    4u
#define SCRIPT    6u
#define US        UINT64_C(1000)
#define MAX_STEPS 64u

/* The owner of the end of a job. */
enum fate { JOINED, RELEASED, GROUPED, DRAINED, FATES };

struct actor {
	struct skua_task task; /* first: a task is its actor */
	struct skua_timer timer;
	struct actor *child; /* NULL: is a child itself */
	uint8_t script[SCRIPT];
	unsigned next;  /* of the script; its poller's */
	bool expecting; /* the child must be joined; its poller's */
	enum fate fate;
	bool spawned; /* by its owner, and not yet joined */
	/* Writers: its polls and its release. Readers: all. */
	atomic_u32 running;
	atomic_u32 done;
	atomic_u32 released;
};

struct outside {
	pthread_t thread;
	struct fuzz_input in;
	struct skua_group group;
	struct actor actors[OWN];
	struct actor children[OWN];
};

static struct {
	struct skua_runtime *rt;
	unsigned workers;
	bool bounded; /* max_queued is set */
	struct outside outside[OUTSIDE];
	/* Writers and readers of the following: all. */
	atomic_ptr posted[POSTED];
	atomic_u32 closed; /* threads that want the mail to be empty */
	atomic_u64 spawned;
	atomic_u64 polled;
	atomic_u64 calls_made;
	atomic_u64 calls_run;
} all;

/* Relaxed, wherever it is used: a sum, read when its writers have ended. */
static void count(atomic_u64 *counter)
{
	atomic_fetch_add_relaxed(counter, 1);
}

/* ---- mail ----------------------------------------------------------------- */

static void wake_posted(unsigned i)
{
	/* Acquire and release: the waker is handed on. */
	struct skua_waker waker = { (uintptr_t)atomic_exchange_acq_rel(
		&all.posted[i], NULL) };

	skua_waker_wake(waker);
}

static void empty_mail(void)
{
	for (unsigned i = 0; i < POSTED; i++)
		wake_posted(i);
}

static void post(unsigned i, struct skua_waker waker)
{
	struct skua_waker other = { (uintptr_t)atomic_exchange_acq_rel(
		&all.posted[i], (void *)waker.opaque) };

	skua_waker_wake(other);
	/* Orders the waker before the look. Pairs with close_mail(): one of
	 * the two sees the other's. */
	atomic_fence_seq_cst();
	if (atomic_load_relaxed(&all.closed))
		wake_posted(i);
}

static void close_mail(void)
{
	atomic_fetch_add_relaxed(&all.closed, 1);
	/* As in post(). */
	atomic_fence_seq_cst();
	empty_mail();
}

static void open_mail(void)
{
	atomic_fetch_sub_relaxed(&all.closed, 1);
}

/* ---- jobs ----------------------------------------------------------------- */

static struct actor *actor_of(struct skua_task *task)
{
	return (struct actor *)task;
}

static void actor_release(struct skua_task *task)
{
	struct actor *a = actor_of(task);

	fuzz_check(atomic_load_acquire(&a->done) == 1, "released, not done");
	/* Release: the memory. Pairs with the loads that check it. */
	fuzz_check(atomic_fetch_add_release(&a->released, 1) == 0,
		   "released twice");
}

static enum skua_poll actor_poll(struct skua_task *self);

static void actor_init(struct actor *a, enum fate fate)
{
	skua_task_init(&a->task, actor_poll);
	a->fate = fate;
	a->next = 0;
	a->expecting = false;
	atomic_init(&a->running, 0);
	atomic_init(&a->done, 0);
	atomic_init(&a->released, 0);
	if (fate == RELEASED)
		fuzz_check(skua_task_detach(&a->task, actor_release) == 0,
			   "detach");
}

/* The results of a spawn; true if it was one. */
static bool was_spawned(int code)
{
	fuzz_check(code == 0 || (code == -EAGAIN && all.bounded),
		   "spawn returned %d", code);
	if (code == 0)
		count(&all.spawned);
	return code == 0;
}

static void call_run(void *arg)
{
	fuzz_check(arg == &all && skua_worker_index(all.rt) >= 0, "call");
	count(&all.calls_run);
}

static void make_call(void)
{
	if (was_spawned(skua_call(all.rt, call_run, &all)))
		count(&all.calls_made);
}

/* Has the child been joined? */
static bool join_child(struct actor *a)
{
	int code = skua_task_join_poll(&a->task, &a->child->task);

	fuzz_check(code == 0 || code == -EAGAIN, "join_poll returned %d", code);
	if (code)
		return false;
	fuzz_check(atomic_load_relaxed(&a->child->done) == 1,
		   "joined, but not done");
	a->expecting = false;
	return true;
}

static bool spawn_child(struct actor *a)
{
	actor_init(a->child, JOINED);
	a->expecting = was_spawned(skua_task_spawn(all.rt, &a->child->task));
	return a->expecting;
}

static enum skua_poll pending_timer(struct actor *a, unsigned delay_us)
{
	int code;

	if (skua_timer_cancel(&a->timer))
		return SKUA_YIELD; /* it was woken by something else */
	code = skua_timer_add(&a->task, &a->timer,
			      skua_now_ns() + delay_us * US);
	fuzz_check(code == 0, "timer_add returned %d", code);
	return SKUA_PENDING;
}

static enum skua_poll actor_act(struct actor *a)
{
	unsigned action = a->next < SCRIPT ? a->script[a->next++] : 0;
	struct skua_waker waker;

	switch (action % 8) {
	case 1:
		return SKUA_YIELD;
	case 2: /* woken while it is polled */
		waker = skua_task_waker(&a->task);
		skua_waker_wake(skua_waker_clone(waker));
		skua_waker_drop(waker);
		return SKUA_PENDING;
	case 3:
		return pending_timer(a, action / 8);
	case 4:
		post(action / 8 % POSTED, skua_task_waker(&a->task));
		return SKUA_PENDING;
	case 5:
		if (a->child && spawn_child(a) && !join_child(a))
			return SKUA_PENDING;
		return SKUA_YIELD;
	case 6:
		wake_posted(action / 8 % POSTED);
		return SKUA_YIELD;
	case 7:
		make_call();
		return SKUA_YIELD;
	default:
		/* A timer that is pending would keep the task from ending. */
		skua_timer_cancel(&a->timer);
		return SKUA_DONE;
	}
}

static enum skua_poll actor_poll(struct skua_task *self)
{
	struct actor *a = actor_of(self);
	int worker = skua_worker_index(all.rt);
	enum skua_poll poll;

	fuzz_check(atomic_exchange_acquire(&a->running, 1) == 0,
		   "polled by two workers");
	fuzz_check(atomic_load_relaxed(&a->done) == 0, "polled when done");
	fuzz_check(worker >= 0 && (unsigned)worker < all.workers, "worker %d",
		   worker);
	count(&all.polled);
	poll = a->expecting && !join_child(a) ? SKUA_PENDING : actor_act(a);
	if (poll == SKUA_DONE)
		atomic_fetch_add_release(&a->done, 1);
	atomic_store_release(&a->running, 0);
	return poll;
}

/* ---- outside -------------------------------------------------------------- */

static void outside_spawn(struct outside *o, struct actor *a)
{
	unsigned how = fuzz_byte(&o->in);
	int code;

	if (a->spawned)
		return;
	actor_init(a, (enum fate)(how % FATES));
	for (unsigned i = 0; i < SCRIPT; i++) {
		a->script[i] = fuzz_byte(&o->in);
		a->child->script[i] = (uint8_t)(a->script[i] >> 3);
	}
	skua_task_set_urgent(&a->task, how / 4 % 4 == 1);
	if (a->fate == GROUPED)
		code = skua_group_spawn(&o->group, &a->task);
	else if (how / 4 % 4 == 2)
		code = skua_task_spawn_on(all.rt, how / 16 % all.workers,
					  &a->task);
	else
		code = skua_task_spawn(all.rt, &a->task);
	a->spawned = was_spawned(code);
}

static void outside_cancel(struct actor *a)
{
	int code;

	if (!a->spawned)
		return;
	code = skua_task_cancel(&a->task);
	fuzz_check(code == 0 || code == -EALREADY, "cancel returned %d", code);
}

static void outside_join(struct actor *a)
{
	int code;

	if (!a->spawned)
		return;
	if (a->fate == RELEASED || a->fate == GROUPED) {
		fuzz_check(skua_task_join(&a->task) == -EALREADY,
			   "joined what is somebody else's");
		return;
	}
	close_mail();
	code = skua_task_join(&a->task);
	open_mail();
	fuzz_check(code == 0, "join returned %d", code);
	fuzz_check(atomic_load_relaxed(&a->done) == 1, "joined, not done");
	a->spawned = false;
}

/* All of the thread's own jobs are done; of those that may be done with. */
static void own_are_done(struct outside *o, bool grouped_only)
{
	for (unsigned i = 0; i < OWN; i++) {
		struct actor *a = &o->actors[i];

		if (!a->spawned || (grouped_only && a->fate != GROUPED))
			continue;
		fuzz_check(atomic_load_relaxed(&a->done) == 1, "not done");
		/* One that is not joined keeps its memory until its last
		 * waker is dropped; one that is released may wait for that. */
		a->spawned = !grouped_only;
	}
}

static void outside_group_wait(struct outside *o)
{
	close_mail();
	fuzz_check(skua_group_wait(&o->group) == 0, "group_wait");
	open_mail();
	own_are_done(o, true);
}

static void outside_drain(struct outside *o)
{
	close_mail();
	fuzz_check(skua_runtime_drain(all.rt) == 0, "drain");
	open_mail();
	own_are_done(o, false);
}

static void outside_stats(void)
{
	struct skua_stats stats;

	fuzz_check(skua_runtime_stats(all.rt, &stats) == 0, "stats");
	fuzz_check(stats.workers == all.workers, "workers");
	fuzz_check(skua_worker_index(all.rt) == -ENOENT, "no worker");
	fuzz_check(skua_runtime_poll(all.rt, 0) == -EPERM, "poll");
	fuzz_check(skua_runtime_eventfd(all.rt) == -EPERM, "eventfd");
}

static void outside_step(struct outside *o)
{
	struct actor *a = &o->actors[fuzz_below(&o->in, OWN)];

	switch (fuzz_below(&o->in, 16)) {
	case 0:
		outside_cancel(a);
		break;
	case 1:
	case 2:
		outside_join(a);
		break;
	case 3:
		outside_group_wait(o);
		break;
	case 4:
		outside_drain(o);
		break;
	case 5:
		wake_posted(fuzz_below(&o->in, POSTED));
		break;
	case 6:
		make_call();
		break;
	case 7:
		outside_stats();
		break;
	case 8:
		fuzz_check(skua_group_cancel(&o->group) == 0, "group_cancel");
		break;
	default:
		outside_spawn(o, a);
	}
}

static void *outside_main(void *arg)
{
	struct outside *o = arg;

	for (unsigned i = 0; i < MAX_STEPS && fuzz_more(&o->in); i++)
		outside_step(o);
	return NULL;
}

/* ---- the whole ------------------------------------------------------------ */

static int create(struct fuzz_input *in, struct model_memory *memory)
{
	static const uint64_t spins[] = { SKUA_SPIN_NEVER, 1000, 0, 50000 };
	static const uint64_t delays[] = { 0, SKUA_LIFO_PRIVATE, 1000 };
	struct skua_config cfg = SKUA_CONFIG_INIT;

	all.workers = 1 + fuzz_below(in, 3);
	cfg.workers = all.workers;
	cfg.queue_capacity = 4u << fuzz_below(in, 2);
	cfg.spin_ns = spins[fuzz_below(in, COUNT_OF(spins))];
	cfg.lifo_steal_delay_ns = delays[fuzz_below(in, COUNT_OF(delays))];
	cfg.max_queued = fuzz_below(in, 8) == 7 ? 2 : 0;
	cfg.allocator = &memory->allocator;
	cfg.flags = SKUA_NO_ENV | SKUA_UNPINNED;
	all.bounded = cfg.max_queued != 0;
	model_memory_init(memory);
	return skua_runtime_create(&all.rt, &cfg, NULL);
}

/* Halve the rest of the input among the threads. */
static void outside_init(const struct fuzz_input *in)
{
	size_t half = (size_t)(in->end - in->next) / OUTSIDE;

	for (unsigned i = 0; i < OUTSIDE; i++) {
		struct outside *o = &all.outside[i];

		o->in.next = in->next + i * half;
		o->in.end = o->in.next + half;
		skua_group_init(&o->group, all.rt);
		for (unsigned n = 0; n < OWN; n++)
			o->actors[n].child = &o->children[n];
	}
}

/* After a shutdown each job is done, and nothing was lost or made up. */
static void check_end(void)
{
	struct skua_stats stats;

	fuzz_check(skua_runtime_stats(all.rt, &stats) == 0, "stats");
	fuzz_check(atomic_load_relaxed(&all.calls_made) ==
			   atomic_load_relaxed(&all.calls_run),
		   "calls lost");
	fuzz_check(stats.tasks_spawned == atomic_load_relaxed(&all.spawned),
		   "%" PRIu64 " spawned", stats.tasks_spawned);
	fuzz_check(stats.total.tasks_polled ==
			   atomic_load_relaxed(&all.polled) +
				   atomic_load_relaxed(&all.calls_run),
		   "%" PRIu64 " polled", stats.total.tasks_polled);
	for (unsigned i = 0; i < OUTSIDE * OWN; i++) {
		struct outside *o = &all.outside[i / OWN];
		const struct actor *a = &o->actors[i % OWN];

		fuzz_check(!a->spawned || atomic_load_relaxed(&a->done) == 1,
			   "shut down, but not done");
		fuzz_check(atomic_load_relaxed(&a->released) ==
				   (a->spawned && a->fate == RELEASED),
			   "not released");
	}
}

static void end(enum skua_shutdown how)
{
	int code;

	close_mail();
	code = skua_runtime_shutdown(all.rt, 0, how);
	fuzz_check(code == 0 || code == -ETIMEDOUT, "shutdown returned %d",
		   code);
	fuzz_check(skua_call(all.rt, call_run, &all) == -ESHUTDOWN ||
			   all.bounded,
		   "a call after a shutdown");
	code = skua_runtime_shutdown(all.rt, SKUA_FOREVER_NS, how);
	fuzz_check(code == 0, "shutdown returned %d", code);
	check_end();
	fuzz_check(skua_runtime_destroy(all.rt) == 0, "destroy");
}

void threaded_run(struct fuzz_input *in)
{
	static struct model_memory memory;
	enum skua_shutdown how;

	memset(&all, 0, sizeof(all));
	how = fuzz_below(in, 2) ? SKUA_SHUTDOWN_CANCEL : SKUA_SHUTDOWN_RUN;
	if (create(in, &memory) != 0)
		return; /* there is no thread */
	outside_init(in);
	fuzz_check(pthread_create(&all.outside[1].thread, NULL, outside_main,
				  &all.outside[1]) == 0,
		   "no thread");
	outside_main(&all.outside[0]);
	pthread_join(all.outside[1].thread, NULL);
	end(how);
	fuzz_check(memory.count == 0, "%u blocks remain", memory.count);
}
