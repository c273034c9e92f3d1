/* SPDX-License-Identifier: MIT */
/**
 * stress_sync.c - fibers, polls and threads that lock and wait, all at once
 *
 * Two runtimes share the objects. Each user makes random operations, many with
 * a deadline that is near. A thread cancels fibers, which end with the next
 * wait, and are spawned again. Checked: what a mutex or a writer protects
 * changes by one holder at a time; no permit is lost; each item of a queue with
 * a condition is taken once. A waiter that is not woken hangs the program.
 */
#include <errno.h>
#include <sched.h>
#include <skua/skua.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define FIBERS  12u
#define POLLERS 4u
#define THREADS 3u
#define PERMITS 3u
#define BATCH   64u /* operations between two counts */

static struct {
	struct skua_mutex mutex;
	struct skua_rwlock lock;
	struct skua_semaphore semaphore;
	struct skua_condition filled;
	uint64_t under_mutex, items; /* plain, under the mutex */
	uint64_t left, right;        /* plain, under the lock: equal */
} shared;

static atomic_u64 done, in_mutex, timed_out, cancels, with_permit;
static uint64_t wanted;

static bool is_over(void)
{
	return atomic_load_relaxed(&done) >= wanted;
}

/* ---- operations ----------------------------------------------------------------- */

static uint64_t deadline(struct rng *rng)
{
	return rng_below(rng, 4) ? SKUA_FOREVER_NS
				 : skua_now_ns() + rng_below(rng, 20000);
}

/* Return: is it done? False: the wait was given up. */
static bool succeeded(int code, const char *what)
{
	if (code == -ETIMEDOUT || code == -ECANCELED) {
		atomic_fetch_add_relaxed(&timed_out, 1);
		return false;
	}
	stress_check(code, what);
	return true;
}

static void unlock(void)
{
	stress_check(skua_mutex_unlock(&shared.mutex), "mutex_unlock");
}

/* With a lock: let others come to wait for it. */
static void linger(struct rng *rng)
{
	if (rng_below(rng, 32))
		return;
	if (skua_yield())
		sched_yield(); /* a thread */
}

static void use_mutex(struct rng *rng)
{
	shared.under_mutex++;
	linger(rng);
	atomic_fetch_add_relaxed(&in_mutex, 1);
	unlock();
}

static void produce(struct rng *rng)
{
	if (!succeeded(skua_mutex_lock(&shared.mutex, deadline(rng)), "lock"))
		return;
	shared.items++;
	stress_check(skua_condition_signal(&shared.filled), "signal");
	unlock();
}

/* With a deadline: at the end nobody produces. */
static void consume(struct rng *rng)
{
	uint64_t until_ns = skua_now_ns() + rng_below(rng, 50000);
	int code = 0;

	if (!succeeded(skua_mutex_lock(&shared.mutex, deadline(rng)), "lock"))
		return;
	while (shared.items == 0 && code == 0)
		code = skua_condition_wait(&shared.filled, &shared.mutex,
					   until_ns);
	if (shared.items > 0)
		shared.items--;
	else
		succeeded(code, "condition_wait");
	unlock();
}

static void write_both(struct rng *rng)
{
	if (!succeeded(skua_rwlock_write(&shared.lock, deadline(rng)), "write"))
		return;
	shared.left++;
	linger(rng);
	shared.right++;
	if (rng_below(rng, 2)) {
		stress_check(skua_rwlock_write_unlock(&shared.lock), "unlock");
		return;
	}
	stress_check(skua_rwlock_downgrade(&shared.lock), "downgrade");
	if (shared.left != shared.right)
		stress_fail("a writer beside a reader");
	stress_check(skua_rwlock_read_unlock(&shared.lock), "read_unlock");
}

static void read_both(struct rng *rng)
{
	if (!succeeded(skua_rwlock_read(&shared.lock, deadline(rng)), "read"))
		return;
	linger(rng);
	if (shared.left != shared.right)
		stress_fail("a writer beside a reader");
	stress_check(skua_rwlock_read_unlock(&shared.lock), "read_unlock");
}

static void use_permits(struct rng *rng)
{
	uint64_t n = 1 + rng_below(rng, PERMITS);

	if (!succeeded(
		    skua_semaphore_acquire(&shared.semaphore, n, deadline(rng)),
		    "acquire"))
		return;
	if (atomic_fetch_add_relaxed(&with_permit, n) + n > PERMITS)
		stress_fail("more permits than there are");
	linger(rng);
	atomic_fetch_sub_relaxed(&with_permit, n);
	stress_check(skua_semaphore_release(&shared.semaphore, n), "release");
}

static void operate(struct rng *rng)
{
	switch (rng_below(rng, 8)) {
	case 0:
		write_both(rng);
		break;
	case 1:
		read_both(rng);
		break;
	case 2:
		use_permits(rng);
		break;
	case 3:
		produce(rng);
		break;
	case 4:
		consume(rng);
		break;
	default:
		if (succeeded(skua_mutex_lock(&shared.mutex, deadline(rng)),
			      "lock"))
			use_mutex(rng);
	}
}

/* ---- users ----------------------------------------------------------------------- */

struct user {
	struct skua_fiber fiber; /* first: a fiber is its user */
	struct rng rng;
};

static struct user users[FIBERS];

static void fiber_operates(struct skua_fiber *self)
{
	struct user *user = (struct user *)self;

	/* Relaxed: it ends a little later. */
	while (!is_over() && !skua_task_cancelled(&self->task)) {
		for (unsigned i = 0; i < BATCH; i++)
			operate(&user->rng);
		atomic_fetch_add_relaxed(&done, BATCH);
		skua_yield();
	}
}

static void *thread_operates(void *arg)
{
	struct rng *rng = arg;

	while (!is_over()) {
		for (unsigned i = 0; i < BATCH; i++)
			operate(rng);
		atomic_fetch_add_relaxed(&done, BATCH);
	}
	return NULL;
}

/* The mutex and the semaphore in polls. */
struct poller {
	struct skua_task task; /* first: a task is its poller */
	struct skua_wait wait;
	struct rng rng;
	uint64_t deadline_ns;
	bool permits;
};

static struct poller pollers[POLLERS];

static int call(struct poller *it)
{
	return it->permits
		       ? skua_semaphore_acquire_poll(&it->task,
						     &shared.semaphore, 1,
						     &it->wait, it->deadline_ns)
		       : skua_mutex_lock_poll(&it->task, &shared.mutex,
					      &it->wait, it->deadline_ns);
}

static enum skua_poll poll_operates(struct skua_task *self)
{
	struct poller *it = (struct poller *)self;

	for (unsigned i = 0; i < BATCH; i++) {
		int code;

		if (!skua_wait_armed(&it->wait)) {
			it->permits = rng_below(&it->rng, 2);
			it->deadline_ns = deadline(&it->rng);
		}
		code = call(it);
		if (code == -EAGAIN && rng_below(&it->rng, 4) == 0 &&
		    skua_wait_cancel(self, &it->wait) == 0)
			continue;
		if (code == -EAGAIN)
			return SKUA_PENDING;
		if (!succeeded(code, "poll"))
			continue;
		if (it->permits)
			stress_check(
				skua_semaphore_release(&shared.semaphore, 1),
				"release");
		else
			use_mutex(&it->rng);
	}
	atomic_fetch_add_relaxed(&done, BATCH);
	return is_over() ? SKUA_DONE : SKUA_YIELD;
}

/* ---- the program ------------------------------------------------------------------ */

static struct skua_runtime *create(unsigned workers)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = workers };
	struct skua_runtime *rt;
	struct skua_error error;

	if (skua_runtime_create(&rt, &config, &error) != 0)
		stress_fail("%s", error.text);
	return rt;
}

static void spawn_fiber(struct skua_runtime *rt, struct user *user)
{
	stress_check(skua_fiber_init(&user->fiber, fiber_operates, 0), "init");
	stress_check(skua_task_spawn(rt, &user->fiber.task), "spawn");
}

/* Cancel fibers, and spawn them again. */
static void disturb(struct skua_runtime *const *runtimes)
{
	struct rng rng;

	rng_init(&rng, 1000);
	while (!is_over()) {
		unsigned i = rng_below(&rng, FIBERS);
		struct skua_task *task = &users[i].fiber.task;

		skua_sleep_until(skua_now_ns() + 500000);
		skua_task_cancel(task);
		stress_check(skua_task_join(task), "join");
		atomic_fetch_add_relaxed(&cancels, 1);
		spawn_fiber(runtimes[i % 2], &users[i]);
	}
}

static void check(void)
{
	if (shared.under_mutex != atomic_load_relaxed(&in_mutex))
		stress_fail("two holders of a mutex");
	if (shared.left != shared.right)
		stress_fail("two writers");
	if (skua_semaphore_permits(&shared.semaphore) != PERMITS)
		stress_fail("%" PRIu64 " permits of %u",
			    skua_semaphore_permits(&shared.semaphore), PERMITS);
	stress_check(skua_mutex_destroy(&shared.mutex), "mutex_destroy");
	stress_check(skua_rwlock_destroy(&shared.lock), "rwlock_destroy");
}

int main(void)
{
	struct skua_runtime *runtimes[2] = { create(2), create(1) };
	pthread_t threads[THREADS];
	struct rng rngs[THREADS];

	wanted = stress_ops();
	stress_check(skua_semaphore_init(&shared.semaphore, PERMITS),
		     "semaphore_init");
	for (unsigned i = 0; i < FIBERS; i++) {
		rng_init(&users[i].rng, i);
		spawn_fiber(runtimes[i % 2], &users[i]);
	}
	for (unsigned i = 0; i < POLLERS; i++) {
		pollers[i].task =
			(struct skua_task)SKUA_TASK_INIT(poll_operates);
		rng_init(&pollers[i].rng, 100 + i);
		stress_check(skua_task_spawn(runtimes[i % 2], &pollers[i].task),
			     "spawn");
	}
	for (unsigned i = 0; i < THREADS; i++) {
		rng_init(&rngs[i], 200 + i);
		stress_check(pthread_create(&threads[i], NULL, thread_operates,
					    &rngs[i]),
			     "pthread_create");
	}
	disturb(runtimes);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 2; i++)
		stress_check(skua_runtime_destroy(runtimes[i]), "destroy");
	check();
	printf("%" PRIu64 " operations, %" PRIu64 " given up, %" PRIu64
	       " fibers cancelled\n",
	       atomic_load_relaxed(&done), atomic_load_relaxed(&timed_out),
	       atomic_load_relaxed(&cancels));
	return 0;
}
