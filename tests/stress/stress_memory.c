/* SPDX-License-Identifier: MIT */
/**
 * stress_memory.c - calls that find no memory, in a process that has 64 MB
 *
 * skua_call() is what allocates while a runtime runs. Each runtime has four
 * rounds. First almost all memory is taken, and threads call in
 * bursts while the workers run; then it is there, and they make more calls than
 * it would have room for, one burst after the other. Last, twice, the workers
 * are held while threads call until there is no memory left. Each call is
 * either refused with -ENOMEM or made once; spawns need no memory and are never
 * refused; a runtime that cannot be created says so; and afterwards all goes on
 * as before, with the memory that was had before.
 */
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <skua/skua.h>
#include <sys/resource.h>

#include "tests/sanitized.h"
#include "tests/stress/stress.h"

#define LIMIT_BYTES ((rlim_t)64 << 20)
#define WORKERS     2u
#define CALLERS     2u
/* About what the slab takes at a time; a task is no larger. */
#define PIECE_BYTES 8192u
#define PIECE_ALIGN 128u
/* The memory left for bursts, and a burst, which needs more. */
#define SPARE_PIECES 16u
#define BURST        4096u
#define TASKS        64u
#define ROUNDS       4u
/* So many bursts of all callers are 128 MB. */
#define BURSTS 128u

static struct skua_runtime *rt;
static atomic_u32 held; /* callees stay until it is 0 */
static atomic_u64 ran;
static atomic_u64 tasks_ran;
static pthread_barrier_t begin; /* of a round: main() and the callers */
static pthread_barrier_t end;

static void check(int code, const char *what)
{
	if (code != 0)
		stress_fail("%s: %d", what, code);
}

static int create(struct skua_runtime **out)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = WORKERS };

	return skua_runtime_create(out, &config, NULL);
}

/* ---- memory --------------------------------------------------------------- */

struct piece {
	struct piece *next;
};

/* All that there is, in pieces. */
static struct piece *take_all(void)
{
	struct piece *pieces = NULL;
	struct piece *piece;

	while ((piece = aligned_alloc(PIECE_ALIGN, PIECE_BYTES)) != NULL) {
		piece->next = pieces;
		pieces = piece;
	}
	return pieces;
}

static struct piece *give_back(struct piece *pieces, unsigned most)
{
	for (unsigned i = 0; i < most && pieces; i++) {
		struct piece *next = pieces->next;

		free(pieces);
		pieces = next;
	}
	return pieces;
}

/* ---- calls ---------------------------------------------------------------- */

enum round { SHORT, STEADY, HELD };

struct caller {
	enum round round;
	uint64_t accepted;
	uint64_t refused;
	struct skua_task tasks[TASKS];
};

static void called(void *arg)
{
	(void)arg;
	/* Acquire: pairs with the release in held_round(). */
	while (atomic_load_acquire(&held))
		sched_yield();
	/* Relaxed: a count; the drain orders it. */
	atomic_fetch_add_relaxed(&ran, 1);
}

static enum skua_poll task_poll(struct skua_task *task)
{
	(void)task;
	atomic_fetch_add_relaxed(&tasks_ran, 1);
	return SKUA_DONE;
}

/* Returns whether it was accepted. */
static bool call(struct caller *caller)
{
	int code = skua_call(rt, called, NULL);

	if (code != 0 && code != -ENOMEM)
		stress_fail("call: %d", code);
	if (code == 0)
		caller->accepted++;
	else
		caller->refused++;
	if (code != 0 && caller->round == STEADY)
		stress_fail("no memory, though there was");
	return code == 0;
}

static void call_burst(struct caller *caller)
{
	for (unsigned i = 0; i < BURST; i++)
		call(caller);
}

/* No burst before the last one of all is done. */
static void call_steadily(struct caller *caller)
{
	for (unsigned i = 1; i <= BURSTS; i++) {
		call_burst(caller);
		/* Relaxed: a count. */
		while (atomic_load_relaxed(&ran) <
		       (uint64_t)i * CALLERS * BURST)
			sched_yield();
	}
}

static void spawn_tasks(struct caller *caller)
{
	for (unsigned i = 0; i < TASKS; i++) {
		check(skua_task_init(&caller->tasks[i], task_poll), "init");
		check(skua_task_detach(&caller->tasks[i], NULL), "detach");
		check(skua_task_spawn(rt, &caller->tasks[i]), "spawn");
	}
}

static void run_caller(struct caller *caller)
{
	switch (caller->round) {
	case SHORT:
		call_burst(caller);
		break;
	case STEADY:
		call_steadily(caller);
		break;
	case HELD:
		while (call(caller))
			;
	}
	/* Operations that allocate nothing go on. */
	spawn_tasks(caller);
}

/* Threads that last for all rounds: a stack needs memory, too. */
static void *caller_body(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&begin);
		run_caller(arg);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

/* ---- rounds --------------------------------------------------------------- */

static void reset(struct caller *callers, enum round round)
{
	atomic_store_relaxed(&ran, 0);
	atomic_store_relaxed(&tasks_ran, 0);
	for (unsigned i = 0; i < CALLERS; i++)
		callers[i] = (struct caller){ .round = round };
}

/* Returns how many calls were made. */
static uint64_t check_round(const struct caller *callers, uint64_t *refused)
{
	uint64_t accepted = 0;
	uint64_t made;

	check(skua_runtime_drain(rt), "drain");
	made = atomic_load_relaxed(&ran);
	for (unsigned i = 0; i < CALLERS; i++) {
		accepted += callers[i].accepted;
		*refused += callers[i].refused;
	}
	if (made != accepted)
		stress_fail("%" PRIu64 " calls made of %" PRIu64, made,
			    accepted);
	if (atomic_load_relaxed(&tasks_ran) != CALLERS * TASKS)
		stress_fail("%" PRIu64 " tasks ran of %u",
			    atomic_load_relaxed(&tasks_ran), CALLERS * TASKS);
	return made;
}

static void expect_no_runtime(void)
{
	struct skua_runtime *other;
	int code = create(&other);

	if (code != -ENOMEM && code != -EAGAIN)
		stress_fail("create without memory: %d", code);
}

/* Calls pile up behind the workers until there is no memory. */
static uint64_t held_round(struct caller *callers, uint64_t *refused)
{
	uint64_t before = *refused;
	uint64_t made;

	reset(callers, HELD);
	atomic_store_relaxed(&held, 1);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	expect_no_runtime();
	/* Release: pairs with the acquire in called(). */
	atomic_store_release(&held, 0);
	made = check_round(callers, refused);
	if (*refused - before != CALLERS)
		stress_fail("the limit was not reached");
	return made;
}

/* There is little memory, and the workers run. */
static uint64_t short_round(struct caller *callers, uint64_t *refused)
{
	struct piece *pieces = give_back(take_all(), SPARE_PIECES);
	uint64_t made;

	reset(callers, SHORT);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	made = check_round(callers, refused);
	give_back(pieces, UINT32_MAX);
	return made;
}

static uint64_t steady_round(struct caller *callers, uint64_t *refused)
{
	reset(callers, STEADY);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	return check_round(callers, refused);
}

static uint64_t run_runtime(uint64_t *refused)
{
	static struct caller callers[CALLERS];
	pthread_t threads[CALLERS];
	uint64_t first;
	uint64_t again;
	uint64_t made;

	check(create(&rt), "create");
	for (unsigned i = 0; i < CALLERS; i++)
		check(pthread_create(&threads[i], NULL, caller_body,
				     &callers[i]),
		      "pthread_create");
	made = short_round(callers, refused);
	made += steady_round(callers, refused);
	first = held_round(callers, refused);
	again = held_round(callers, refused);
	/* Some of what was given back is where only workers take it. */
	if (again < first - first / 10)
		stress_fail("memory for %" PRIu64
			    " calls, and then for %" PRIu64,
			    first, again);
	for (unsigned i = 0; i < CALLERS; i++)
		pthread_join(threads[i], NULL);
	check(skua_runtime_destroy(rt), "destroy");
	return made + first + again;
}

int main(void)
{
	const struct rlimit limit = { LIMIT_BYTES, LIMIT_BYTES };
	/* A call that meets no memory costs a system call. */
	uint64_t ops = stress_ops() / 10;
	uint64_t done = 0;
	uint64_t refused = 0;

	if (SANITIZED) {
		puts("a sanitizer needs more than 64 MB of addresses");
		return 77;
	}
	/* An arena for each thread would take 64 MB of addresses. */
	mallopt(M_ARENA_MAX, 1);
	check(setrlimit(RLIMIT_AS, &limit), "setrlimit");
	pthread_barrier_init(&begin, NULL, CALLERS + 1);
	pthread_barrier_init(&end, NULL, CALLERS + 1);
	for (unsigned round = 0; done < ops || round < 3; round++)
		done += run_runtime(&refused);
	printf("memory: %" PRIu64 " operations, %" PRIu64
	       " more refused for want of memory, each made once\n",
	       done, refused);
	return 0;
}
