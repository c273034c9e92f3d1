/* SPDX-License-Identifier: MIT */
/* hostile.c - see hostile.h */
#include "tests/hostile/hostile.h"

#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN 8u
/* How often each child receives the token. */
#define TURNS 3u
/* A child yields in one of this many polls. */
#define ONE_YIELDS_IN 3u
/* The greatest number of families that an outside thread spawns at once. When it spawns
 * only one, workers go to sleep all the time. */
#define FAMILIES 16u
#define SPAWNERS 2u

/* ---- a family ------------------------------------------------------------ */

/* A child's slot contains nothing, the token, or the child's waker. */
#define SLOT_EMPTY UINT64_C(0)
#define SLOT_TOKEN UINT64_C(1)

struct child {
	struct skua_task task;
	struct family *family;
	atomic_u64 slot;
	uint32_t index;
	uint32_t polls;
	uint32_t turns;
	uint32_t ended;
};

struct family {
	struct skua_task task;
	struct skua_runtime *rt;
	struct child children[CHILDREN];
	uint32_t spawned;
	uint32_t joined;
	uint32_t ended;
};

/* Take the token, or leave a waker for the child that brings it. Return:
 * whether it was there. */
static bool take_token(struct child *child)
{
	uint64_t mine = skua_task_waker(&child->task).opaque;
	/* Acquire and release, for all exchanges of a slot: the token passes on
	 * what each child that had it wrote. Pairs with pass_token(). */
	uint64_t found = atomic_exchange_acq_rel(&child->slot, mine);

	if (found == SLOT_TOKEN)
		/* There is only one token, so that no child uses the waker
		 * that is in the slot now. */
		found = atomic_exchange_acq_rel(&child->slot, SLOT_EMPTY);
	else
		mine = SLOT_EMPTY;
	skua_waker_drop((struct skua_waker){ (uintptr_t)found });
	return mine != SLOT_EMPTY;
}

static void pass_token(struct child *child)
{
	struct child *children = child->family->children;
	struct child *next = &children[(child->index + 1) % CHILDREN];
	uint64_t found;

	if (next->index == 0 && child->turns == TURNS)
		return; /* all children have had all turns */
	found = atomic_exchange_acq_rel(&next->slot, SLOT_TOKEN);
	if (found == SLOT_TOKEN)
		stress_fail("a second token");
	skua_waker_wake((struct skua_waker){ (uintptr_t)found });
}

static enum skua_poll child_poll(struct skua_task *task)
{
	struct child *child = (struct child *)task;

	if (child->polls++ % ONE_YIELDS_IN == 0)
		return SKUA_YIELD;
	while (take_token(child)) {
		child->turns++;
		pass_token(child);
		if (child->turns == TURNS) {
			child->ended++;
			return SKUA_DONE;
		}
	}
	return SKUA_PENDING;
}

static void spawn_children(struct family *family)
{
	for (uint32_t i = 0; i < CHILDREN; i++) {
		struct child *child = &family->children[i];

		hostile_check(skua_task_init(&child->task, child_poll), "init");
		child->family = family;
		child->index = i;
		child->polls = child->turns = child->ended = 0;
		atomic_init(&child->slot, i == 0 ? SLOT_TOKEN : SLOT_EMPTY);
	}
	for (uint32_t i = 0; i < CHILDREN; i++)
		hostile_check(
			skua_task_spawn(family->rt, &family->children[i].task),
			"spawn from a task");
}

static enum skua_poll family_poll(struct skua_task *task)
{
	struct family *family = (struct family *)task;

	if (family->spawned++ == 0)
		spawn_children(family);
	for (; family->joined < CHILDREN; family->joined++) {
		struct child *child = &family->children[family->joined];
		int code = skua_task_join_poll(task, &child->task);

		if (code == -EAGAIN)
			return SKUA_PENDING;
		hostile_check(code, "join from a task");
		if (child->ended != 1 || child->turns != TURNS)
			stress_fail("a child had %" PRIu32 " turns, and ended "
				    "%" PRIu32 " times",
				    child->turns, child->ended);
	}
	family->ended++;
	return SKUA_DONE;
}

/* ---- the load ------------------------------------------------------------ */

struct spawner {
	struct hostile *h;
	uint64_t tasks;
	void (*begins)(void);
	void (*ends)(void);
	struct rng rng;
	uint64_t done;
	struct family families[FAMILIES];
};

static void spawn_family(struct spawner *s, struct family *family)
{
	hostile_check(skua_task_init(&family->task, family_poll), "init");
	family->rt = s->h->rt;
	family->spawned = family->joined = family->ended = 0;
	hostile_check(skua_task_spawn(family->rt, &family->task), "spawn");
}

static void *spawner_body(void *arg)
{
	struct spawner *s = arg;

	if (s->begins)
		s->begins();
	while (s->done < s->tasks) {
		uint32_t n = 1 + rng_below(&s->rng, FAMILIES);

		for (uint32_t i = 0; i < n; i++)
			spawn_family(s, &s->families[i]);
		for (uint32_t i = 0; i < n; i++) {
			hostile_check(skua_task_join(&s->families[i].task),
				      "join");
			if (s->families[i].ended != 1)
				stress_fail("a parent ended %" PRIu32 " times",
					    s->families[i].ended);
		}
		s->done += n * (CHILDREN + UINT64_C(1));
	}
	if (s->ends)
		s->ends();
	return NULL;
}

uint64_t hostile_run(struct hostile *h, uint64_t tasks, void (*begins)(void),
		     void (*ends)(void))
{
	static struct spawner spawners[SPAWNERS];
	uint64_t done = 0;

	for (unsigned i = 0; i < SPAWNERS; i++) {
		spawners[i].h = h;
		spawners[i].tasks = tasks / SPAWNERS;
		spawners[i].begins = begins;
		spawners[i].ends = ends;
		spawners[i].done = 0;
		rng_init(&spawners[i].rng, h->workers * SPAWNERS + i);
	}
	stress_threads(SPAWNERS, spawner_body, spawners, sizeof(spawners[0]));
	for (unsigned i = 0; i < SPAWNERS; i++)
		done += spawners[i].done;
	return done;
}

uint64_t hostile_run_against(struct hostile *h, uint64_t tasks,
			     void *(*antagonist)(void *))
{
	pthread_t thread;
	uint64_t done;

	if (pthread_create(&thread, NULL, antagonist, h) != 0)
		stress_fail("cannot create a thread");
	done = hostile_run(h, tasks, NULL, NULL);
	/* Relaxed: as in hostile_over(). */
	atomic_store_relaxed(&h->over, 1);
	pthread_join(thread, NULL);
	return done;
}

/* ---- runtimes and helpers ------------------------------------------------ */

static void worker_start(void *ctx, unsigned worker)
{
	struct hostile *h = ctx;

	h->threads[worker] = pthread_self();
	h->tids[worker] = gettid();
	if (h->worker_begins)
		h->worker_begins(worker);
	/* Release: publishes the worker's identity. Pairs with the acquire
	 * in hostile_open(). */
	atomic_fetch_add_release(&h->started, 1);
}

void hostile_open(struct hostile *h, unsigned workers,
		  void (*worker_begins)(unsigned worker))
{
	struct skua_config config = SKUA_CONFIG_INIT;
	struct skua_error err;

	h->worker_begins = worker_begins;
	h->hooks =
		(struct skua_hooks){ .worker_start = worker_start, .ctx = h };
	atomic_init(&h->started, 0);
	atomic_init(&h->over, 0);
	config.workers = workers;
	config.hooks = &h->hooks;
	if (skua_runtime_create(&h->rt, &config, &err) != 0)
		stress_fail("create: %s", err.text);
	h->workers = skua_runtime_workers(h->rt);
	while (atomic_load_acquire(&h->started) != h->workers)
		sched_yield();
}

void hostile_close(struct hostile *h)
{
	hostile_check(skua_runtime_destroy(h->rt), "destroy");
}

void hostile_check(int code, const char *what)
{
	if (code != 0)
		stress_fail("%s: %d", what, code);
}

void hostile_skip(const char *reason)
{
	printf("%s\n", reason);
	exit(77);
}

void hostile_nap_until(uint64_t when_ns)
{
	const struct timespec when = {
		.tv_sec = (time_t)(when_ns / 1000000000u),
		.tv_nsec = (long)(when_ns % 1000000000u),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) ==
	       EINTR)
		;
}

void hostile_nap(uint64_t ns)
{
	hostile_nap_until(skua_now_ns() + ns);
}
