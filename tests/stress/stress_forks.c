/* SPDX-License-Identifier: MIT */
/**
 * stress_forks.c - fork() again and again, beside all that a runtime does
 *
 * While tasks wait for timers and for wakers, and outside threads spawn, join,
 * wake, and use skua_call(), one thread forks. The child asks its parent's
 * runtime, which has no workers there, and is told so; then it has a runtime of
 * its own, with a small load; now and then it forks once more from inside that.
 * Afterwards the parent's tasks are accounted for: a fork disturbs none.
 *
 * Nothing is waited for by the clock. A child that hangs makes its parent say
 * every minute where it is; the limit of the test runner ends both.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <skua/skua.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/rng.h"
#include "tests/sanitized.h"
#include "tests/stress/stress.h"

#define SLEEPERS 8u
#define WAITERS  8u
#define SPAWNERS 2u
#define BATCH    32u
#define BOXES    4u
#define NEAR_NS  100000u

static struct skua_runtime *rt;
static atomic_u32 stopping;
static atomic_u32 waiting; /* waiters that go on */
static atomic_u32 begun;   /* threads, workers included */
static atomic_u64 polls;
static atomic_u64 spawns;
static atomic_u64 boxes[BOXES]; /* wakers of waiters */

static void check(int code, const char *what)
{
	if (code != 0)
		stress_fail("%s: %d", what, code);
}

/* Relaxed: a thread that does not see it goes one more round. */
static bool stops(void)
{
	return atomic_load_relaxed(&stopping) != 0;
}

static void count_poll(void)
{
	/* Relaxed: a count. */
	atomic_fetch_add_relaxed(&polls, 1);
}

static void spawn(struct skua_task *task)
{
	check(skua_task_spawn(rt, task), "spawn");
	/* Relaxed: a count. */
	atomic_fetch_add_relaxed(&spawns, 1);
}

/* ---- the parent's load ---------------------------------------------------- */

/* Sleeps, and checks that it has, until all stop. */
struct sleeper {
	struct skua_task task; /* first: a task is its sleeper */
	struct skua_timer timer;
	struct rng rng;
	uint64_t when_ns;
};

static enum skua_poll sleep_poll(struct skua_task *task)
{
	struct sleeper *it = (struct sleeper *)task;

	count_poll();
	if (skua_timer_pending(&it->timer))
		stress_fail("woken by nobody");
	if (skua_now_ns() < it->when_ns)
		stress_fail("a timer fired early");
	if (stops())
		return SKUA_DONE;
	it->when_ns = skua_now_ns() + rng_below(&it->rng, NEAR_NS);
	check(skua_timer_add(task, &it->timer, it->when_ns), "timer_add");
	return SKUA_PENDING;
}

/* Waits for a wake-up that a box has, until all stop. */
struct waiter {
	struct skua_task task; /* first: a task is its waiter */
	struct rng rng;
	uint64_t promised;
	atomic_u64 posted; /* before each promised wake-up */
};

static void wake(uint64_t waker)
{
	struct waiter *it = (struct waiter *)(uintptr_t)waker;

	/* Relaxed: the wake-up publishes it. */
	atomic_fetch_add_relaxed(&it->posted, 1);
	skua_waker_wake((struct skua_waker){ (uintptr_t)waker });
}

/* Put a waker into a box, and wake what was there; 0 only takes. */
static bool exchange(uint64_t waker, struct rng *rng)
{
	uint64_t taken =
		atomic_exchange_acq_rel(&boxes[rng_below(rng, BOXES)], waker);

	if (taken)
		wake(taken);
	return taken != 0;
}

static enum skua_poll wait_poll(struct skua_task *task)
{
	struct waiter *it = (struct waiter *)task;

	count_poll();
	/* Relaxed: the wake-up published it. */
	if (atomic_load_relaxed(&it->posted) != it->promised)
		stress_fail("a wake-up without what it published");
	if (stops()) {
		atomic_fetch_sub_acq_rel(&waiting, 1);
		return SKUA_DONE;
	}
	it->promised++;
	exchange(skua_task_waker(task).opaque, &it->rng);
	return SKUA_PENDING;
}

static void *sweep(struct rng *rng)
{
	/* Acquire: what the waiters did. */
	while (atomic_load_acquire(&waiting) > 0) {
		if (!exchange(0, rng))
			sched_yield();
	}
	return NULL;
}

static enum skua_poll once_poll(struct skua_task *task)
{
	(void)task;
	count_poll();
	return SKUA_DONE;
}

static void called(void *arg)
{
	count_poll();
	/* Release: pairs with the acquire in spawn_batches(). */
	atomic_fetch_add_release((atomic_u32 *)arg, 1);
}

static void *spawn_batches(void)
{
	struct skua_task tasks[BATCH];
	atomic_u32 ran;

	for (unsigned i = 0; i < BATCH; i++)
		check(skua_task_init(&tasks[i], once_poll), "init");
	while (!stops()) {
		atomic_init(&ran, 0);
		for (unsigned i = 0; i < BATCH; i++) {
			spawn(&tasks[i]);
			check(skua_call(rt, called, &ran), "call");
			atomic_fetch_add_relaxed(&spawns, 1);
		}
		for (unsigned i = 0; i < BATCH; i++)
			check(skua_task_join(&tasks[i]), "join");
		while (atomic_load_acquire(&ran) < BATCH)
			sched_yield();
	}
	return NULL;
}

static struct sleeper sleepers[SLEEPERS];
static struct waiter waiters[WAITERS];

static void start_tasks(void)
{
	for (unsigned i = 0; i < SLEEPERS; i++) {
		sleepers[i] =
			(struct sleeper){ .task = SKUA_TASK_INIT(sleep_poll) };
		rng_init(&sleepers[i].rng, i);
		spawn(&sleepers[i].task);
	}
	for (unsigned i = 0; i < WAITERS; i++) {
		waiters[i] =
			(struct waiter){ .task = SKUA_TASK_INIT(wait_poll) };
		rng_init(&waiters[i].rng, SLEEPERS + i);
		spawn(&waiters[i].task);
	}
}

static void join_tasks(void)
{
	for (unsigned i = 0; i < SLEEPERS; i++)
		check(skua_task_join(&sleepers[i].task), "join");
	for (unsigned i = 0; i < WAITERS; i++)
		check(skua_task_join(&waiters[i].task), "join");
}

/* ---- the child ------------------------------------------------------------ */

enum stage { FORKED, CREATING, RUNNING, FORKING, DESTROYING, LEAVING };

static const char *const stage_names[] = {
	"asking its parent's runtime", "creating a runtime", "running it",
	"waiting for its own child",   "destroying it",      "leaving",
};

/* The children's report, on a page that they share with their parent. */
struct report {
	atomic_u32 stage;
	int code;
	const char *what;
};

static struct report *report;

static void enter(enum stage stage)
{
	/* Release: pairs with the acquire in stage_name(). */
	atomic_store_release(&report->stage, stage);
}

static const char *stage_name(void)
{
	return stage_names[atomic_load_acquire(&report->stage)];
}

/* In a child: @call must return @expected. */
#define MUST(call, expected)                  \
	do {                                  \
		int got_ = (call);            \
		if (got_ != (expected)) {     \
			report->what = #call; \
			report->code = got_;  \
			_exit(EXIT_FAILURE);  \
		}                             \
	} while (0)

/* None of it may wait for what a thread of the parent held. */
static void ask(struct skua_runtime *theirs)
{
	struct skua_task task = SKUA_TASK_INIT(once_poll);
	struct skua_timer timer = SKUA_TIMER_INIT;
	struct skua_stats stats;

	MUST(skua_task_spawn(theirs, &task), -EOWNERDEAD);
	MUST(skua_call(theirs, called, NULL), -EOWNERDEAD);
	MUST(skua_runtime_stats(theirs, &stats), -EOWNERDEAD);
	MUST(skua_runtime_drain(theirs), -EOWNERDEAD);
	MUST(skua_runtime_destroy(theirs), -EOWNERDEAD);
	MUST(skua_worker_index(theirs), -EOWNERDEAD);
	MUST(skua_task_cancel(&sleepers[0].task), -EOWNERDEAD);
	MUST(skua_task_join(&waiters[0].task), -EOWNERDEAD);
	MUST(skua_timer_add(&sleepers[0].task, &timer, 0), -EOWNERDEAD);
	MUST(skua_timer_cancel(&sleepers[1].timer), false);
}

/* The parent's wakers wake nobody here. */
static void wake_in_vain(void)
{
	for (unsigned i = 0; i < BOXES; i++) {
		struct skua_waker waker = { (uintptr_t)atomic_load_relaxed(
			&boxes[i]) };

		skua_waker_wake_by_ref(waker);
		skua_waker_drop(waker);
	}
}

static enum skua_poll child_poll(struct skua_task *task)
{
	struct sleeper *it = (struct sleeper *)task;

	if (it->when_ns != 0)
		return skua_now_ns() < it->when_ns ? SKUA_PENDING : SKUA_DONE;
	it->when_ns = skua_now_ns() + rng_below(&it->rng, NEAR_NS);
	MUST(skua_timer_add(task, &it->timer, it->when_ns), 0);
	return SKUA_PENDING;
}

static void run_load(struct skua_runtime *mine)
{
	struct skua_task tasks[BATCH];
	struct sleeper sleeper = { .task = SKUA_TASK_INIT(child_poll) };

	rng_init(&sleeper.rng, (uint64_t)getpid());
	for (unsigned i = 0; i < BATCH; i++) {
		MUST(skua_task_init(&tasks[i], once_poll), 0);
		MUST(skua_task_spawn(mine, &tasks[i]), 0);
	}
	MUST(skua_runtime_block_on(mine, &sleeper.task), 0);
	for (unsigned i = 0; i < BATCH; i++)
		MUST(skua_task_join(&tasks[i]), 0);
}

static void grandchild(struct skua_runtime *mine)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		ask(rt);
		MUST(skua_runtime_drain(mine), -EOWNERDEAD);
		_exit(EXIT_SUCCESS);
	}
	MUST(pid > 0, true);
	MUST(waitpid(pid, &status, 0) == pid, true);
	MUST(status, 0);
}

static void own_runtime(unsigned number)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = 1 + number % 3 };
	struct skua_runtime *mine;

	enter(CREATING);
	MUST(skua_runtime_create(&mine, &config, NULL), 0);
	enter(RUNNING);
	run_load(mine);
	/* This process has workers now, and still not those. */
	ask(rt);
	if (number % 8 == 0) {
		enter(FORKING);
		grandchild(mine);
	}
	enter(DESTROYING);
	MUST(skua_runtime_destroy(mine), 0);
}

__attribute__((noreturn)) static void child(unsigned number)
{
	/* Relaxed: there is but one thread. */
	uint64_t before = atomic_load_relaxed(&polls);

	ask(rt);
	wake_in_vain();
	/* ThreadSanitizer allows no threads after a fork with threads. */
	if (!THREAD_SANITIZED) {
		own_runtime(number);
		before += BATCH;
	}
	enter(LEAVING);
	MUST(atomic_load_relaxed(&polls) == before, true);
	_exit(EXIT_SUCCESS);
}

/* ---- the parent ----------------------------------------------------------- */

/* Until the child is gone. SIGCHLD is blocked in each thread. */
static void wait_for(pid_t pid, unsigned number)
{
	const struct timespec minute = { .tv_sec = 60 };
	sigset_t signals;
	int status = 0;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (sigtimedwait(&signals, NULL, &minute) < 0 &&
		    errno == EAGAIN)
			fprintf(stderr, "child %u hangs? It is %s\n", number,
				stage_name());
	}
	if (WIFSIGNALED(status))
		stress_fail("child %u, %s: signal %d", number, stage_name(),
			    WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		stress_fail("child %u, %s: exit code %d; %s: %d", number,
			    stage_name(), WEXITSTATUS(status),
			    report->what ? report->what : "?", report->code);
}

static void fork_one(unsigned number)
{
	pid_t pid;

	enter(FORKED);
	pid = fork();
	if (pid < 0)
		stress_fail("fork: errno %d", errno);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child(number);
	}
	wait_for(pid, number);
}

struct foreign {
	unsigned index;
	struct rng rng;
};

static void *foreign_body(void *arg)
{
	struct foreign *foreign = arg;

	atomic_fetch_add_release(&begun, 1);
	return foreign->index < SPAWNERS ? spawn_batches()
					 : sweep(&foreign->rng);
}

static void begin_worker(void *ctx, unsigned worker)
{
	(void)ctx;
	(void)worker;
	atomic_fetch_add_release(&begun, 1);
}

static const struct skua_hooks hooks = { .worker_start = begin_worker };

/* Straight from the kernel, so that nobody holds a lock of a sanitizer's
 * allocator at a fork; the C library sees to its own. */
static void *map(void *ctx, size_t align, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)ctx;
	if ((uintptr_t)memory % align != 0)
		stress_fail("no memory aligned to %zu", align);
	return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(void *ctx, void *memory, size_t size)
{
	(void)ctx;
	munmap(memory, size);
}

static const struct skua_allocator allocator = { map, unmap, NULL };

/* How many the runtime counted, beside what was counted here. */
static void check_counts(void)
{
	uint64_t spawned = atomic_load_relaxed(&spawns);
	uint64_t polled = atomic_load_relaxed(&polls);
	struct skua_stats stats;

	check(skua_runtime_stats(rt, &stats), "stats");
	if (stats.tasks_spawned != spawned)
		stress_fail("%" PRIu64 " spawns, the runtime counted %" PRIu64,
			    spawned, stats.tasks_spawned);
	if (stats.total.tasks_polled != polled)
		stress_fail("%" PRIu64 " polls, the runtime counted %" PRIu64,
			    polled, stats.total.tasks_polled);
}

static void start(unsigned workers)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = workers,
				      .queue_capacity = 16,
				      .allocator = &allocator,
				      .hooks = &hooks };

	atomic_store_relaxed(&stopping, 0);
	atomic_store_relaxed(&waiting, WAITERS);
	atomic_store_relaxed(&begun, 0);
	atomic_store_relaxed(&polls, 0);
	atomic_store_relaxed(&spawns, 0);
	check(skua_runtime_create(&rt, &config, NULL), "create");
	start_tasks();
}

/* Returns how many polls the parent made. */
static uint64_t run_round(unsigned workers, unsigned forks)
{
	struct foreign foreign[SPAWNERS + 1];
	pthread_t threads[SPAWNERS + 1];

	start(workers);
	for (unsigned i = 0; i < SPAWNERS + 1; i++) {
		foreign[i].index = i;
		rng_init(&foreign[i].rng, SLEEPERS + WAITERS + i);
		check(pthread_create(&threads[i], NULL, foreign_body,
				     &foreign[i]),
		      "pthread_create");
	}
	/* A thread that begins is in its sanitizer's allocator. */
	while (atomic_load_acquire(&begun) < workers + SPAWNERS + 1)
		sched_yield();
	for (unsigned n = 0; n < forks; n++)
		fork_one(n);
	atomic_store_relaxed(&stopping, 1);
	for (unsigned i = 0; i < SPAWNERS + 1; i++)
		pthread_join(threads[i], NULL);
	join_tasks();
	check(skua_runtime_drain(rt), "drain");
	check_counts();
	check(skua_runtime_destroy(rt), "destroy");
	return atomic_load_relaxed(&polls);
}

int main(void)
{
	static const unsigned workers[] = { 2, 8 };
	/* A child costs milliseconds. */
	unsigned forks = (unsigned)(stress_ops() / 200000 + 10);
	uint64_t done = 0;
	sigset_t signals;

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (report == MAP_FAILED)
		stress_fail("no shared page");
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	check(pthread_sigmask(SIG_BLOCK, &signals, NULL), "sigmask");
	for (unsigned round = 0; round < 2; round++)
		done += run_round(workers[round], forks);
	printf("forks: %u children, %" PRIu64
	       " polls of their parents, each accounted for\n",
	       2 * forks, done);
	return 0;
}
