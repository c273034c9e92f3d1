/* SPDX-License-Identifier: MIT */
/**
 * stress_blocking.c - fibers, polls and threads that make calls that block, all at once
 *
 * The pool has few threads, which end as soon as they are idle, and few places in its
 * queue. Many calls have a deadline that is near, and a thread cancels fibers. Checked:
 * each call that returned 0 has run once, and the others not at all; what a function
 * wrote is seen by its caller. A call that is not run, or a caller that is not woken,
 * hangs the program.
 */
#include <errno.h>
#include <sched.h>
#include <skua/skua.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define FIBERS  12u
#define POLLERS 4u
#define CALLS   3u /* of a poll, at the same time */
#define THREADS 3u

static atomic_u64 done, ran, given_up, cancels;
static uint64_t wanted;

struct letter {
	struct skua_blocking call; /* first: a call is its letter */
	uint64_t text, runs;       /* plain: from the function to the caller */
};

static bool is_over(void)
{
	return atomic_load_relaxed(&done) >= wanted;
}

static void write_letter(struct skua_blocking *self)
{
	struct letter *letter = (struct letter *)self;

	letter->runs++;
	letter->text++;
	if (letter->runs % 64 == 0)
		sched_yield();
	atomic_fetch_add_relaxed(&ran, 1);
}

static uint64_t deadline(struct rng *rng)
{
	return rng_below(rng, 4) ? SKUA_FOREVER_NS
				 : skua_now_ns() + rng_below(rng, 100000);
}

/* A call has ended. */
static void check_letter(const struct letter *letter, uint64_t before, int code)
{
	if (code == -ETIMEDOUT || code == -ECANCELED)
		atomic_fetch_add_relaxed(&given_up, 1);
	else
		stress_check(code, "call");
	if (letter->runs != before + (code == 0) ||
	    letter->text != letter->runs)
		stress_fail("a call with the result %d ran %" PRIu64 " times",
			    code, letter->runs - before);
	atomic_fetch_add_relaxed(&done, 1);
}

static int call_once(struct skua_runtime *rt, struct letter *letter,
		     struct rng *rng)
{
	uint64_t before = letter->runs;
	int code = skua_blocking_call(rt, &letter->call, deadline(rng));

	check_letter(letter, before, code);
	return code;
}

/* ---- callers -------------------------------------------------------------------- */

struct user {
	struct skua_fiber fiber; /* first: a fiber is its user */
	struct skua_runtime *rt;
	struct rng rng;
	struct letter letter;
};

static struct user users[FIBERS + THREADS];

static void fiber_calls(struct skua_fiber *self)
{
	struct user *it = (struct user *)self;

	while (!is_over() &&
	       call_once(it->rt, &it->letter, &it->rng) != -ECANCELED)
		;
}

static void *thread_calls(void *arg)
{
	struct user *it = *(struct user **)arg;

	while (!is_over())
		call_once(it->rt, &it->letter, &it->rng);
	return NULL;
}

static void spawn_fiber(struct user *it)
{
	stress_check(skua_fiber_init(&it->fiber, fiber_calls, 0), "fiber_init");
	stress_check(skua_task_spawn(it->rt, &it->fiber.task), "spawn");
}

/* ---- polls ---------------------------------------------------------------------- */

/* Makes several calls at the same time. */
struct poller {
	struct skua_task task; /* first: a task is its poller */
	struct rng rng;
	struct {
		struct letter letter;
		uint64_t before, start_ns, end_ns;
		enum { IDLE, STARTS, STARTED } state;
	} calls[CALLS];
};

static struct poller pollers[POLLERS];

/* Return: does the call go on? */
static bool poll_one(struct poller *it, unsigned i)
{
	struct letter *letter = &it->calls[i].letter;
	int code = 0;

	if (it->calls[i].state == IDLE) {
		it->calls[i].before = letter->runs;
		it->calls[i].start_ns = deadline(&it->rng);
		it->calls[i].end_ns = deadline(&it->rng);
		it->calls[i].state = STARTS;
	}
	if (it->calls[i].state == STARTS) {
		code = skua_blocking_start(&it->task, &letter->call,
					   it->calls[i].start_ns);
		if (code == -EAGAIN)
			return true;
		if (code == 0)
			it->calls[i].state = STARTED;
	}
	if (it->calls[i].state == STARTED)
		code = skua_blocking_poll(&it->task, &letter->call,
					  it->calls[i].end_ns);
	if (code == -EAGAIN)
		return true;
	check_letter(letter, it->calls[i].before, code);
	it->calls[i].state = IDLE;
	return false;
}

static enum skua_poll poll_calls(struct skua_task *self)
{
	struct poller *it = (struct poller *)self;
	bool goes_on = false, ended = false;

	for (unsigned i = 0; i < CALLS; i++) {
		if (is_over() && it->calls[i].state == IDLE)
			continue;
		if (poll_one(it, i))
			goes_on = true;
		else
			ended = true;
	}
	if (ended)
		return SKUA_YIELD;
	return goes_on ? SKUA_PENDING : SKUA_DONE;
}

/* ---- main ----------------------------------------------------------------------- */

/* Cancel fibers now and then, and spawn them again. */
static void disturb(void)
{
	for (unsigned i = 0; !is_over(); i = (i + 1) % FIBERS) {
		struct skua_task *task = &users[i].fiber.task;

		skua_sleep_until(skua_now_ns() + 500000);
		skua_task_cancel(task);
		stress_check(skua_task_join(task), "join");
		atomic_fetch_add_relaxed(&cancels, 1);
		spawn_fiber(&users[i]);
	}
}

static void init_user(unsigned i, struct skua_runtime *rt)
{
	users[i].rt = rt;
	users[i].letter.call.run = write_letter;
	rng_init(&users[i].rng, i);
}

static void spawn_poller(struct poller *it, struct skua_runtime *rt,
			 unsigned seed)
{
	it->task = (struct skua_task)SKUA_TASK_INIT(poll_calls);
	rng_init(&it->rng, seed);
	for (unsigned i = 0; i < CALLS; i++)
		it->calls[i].letter.call.run = write_letter;
	stress_check(skua_task_spawn(rt, &it->task), "spawn");
}

int main(void)
{
	struct skua_config cfg = {
		.size = sizeof(cfg),
		.workers = 2,
		.blocking_threads = 3,
		.blocking_queued = 4,
		.blocking_idle_ns = 20000,
	};
	struct user *threads[THREADS];
	pthread_t ids[THREADS];
	struct skua_runtime *rt;

	/* A call takes as long as ten operations of other programs. */
	wanted = stress_ops() / 10 + 1000;
	stress_check(skua_runtime_create(&rt, &cfg, NULL), "create");
	for (unsigned i = 0; i < FIBERS + THREADS; i++)
		init_user(i, rt);
	for (unsigned i = 0; i < FIBERS; i++)
		spawn_fiber(&users[i]);
	for (unsigned i = 0; i < POLLERS; i++)
		spawn_poller(&pollers[i], rt, 100 + i);
	for (unsigned i = 0; i < THREADS; i++) {
		threads[i] = &users[FIBERS + i];
		stress_check(pthread_create(&ids[i], NULL, thread_calls,
					    &threads[i]),
			     "pthread_create");
	}
	disturb();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	stress_check(skua_runtime_destroy(rt), "destroy");
	if (atomic_load_relaxed(&ran) + atomic_load_relaxed(&given_up) !=
	    atomic_load_relaxed(&done))
		stress_fail("%" PRIu64 " calls, of which %" PRIu64
			    " ran and %" PRIu64 " were given up",
			    atomic_load_relaxed(&done),
			    atomic_load_relaxed(&ran),
			    atomic_load_relaxed(&given_up));
	printf("%" PRIu64 " operations, %" PRIu64 " given up, %" PRIu64
	       " fibers cancelled\n",
	       atomic_load_relaxed(&done), atomic_load_relaxed(&given_up),
	       atomic_load_relaxed(&cancels));
	return 0;
}
