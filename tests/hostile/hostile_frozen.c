/* SPDX-License-Identifier: MIT */
/**
 * hostile_frozen.c - freeze a worker in a task or in a steal; the other workers must go on
 *
 * Source tasks, bound to every second worker, spawn tasks all the time. The other workers,
 * among them the one that will freeze, run only tasks that they steal. That worker freezes
 * in a signal handler, for a signal that a task raises, or between the claim and the
 * release of a steal (frozen_queue.c), until the test thaws it. Meanwhile two conditions
 * must hold:
 *
 *   - Only tasks that the frozen worker alone holds wait for it. When the sources stop,
 *     all tasks must end, except the task in which the worker is frozen, or the tasks that
 *     it has claimed, and the tasks that are bound to it. The task in its LIFO slot and
 *     tasks that come from outside after that must also end.
 *   - The other workers keep at least nine tenths of their rate. The rate is polls divided
 *     by time on a CPU, so that other programs do not matter. Periods of 200 ms with the
 *     frozen worker alternate with periods without it.
 */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "tests/hostile/frozen_queue.h"
#include "tests/hostile/hostile.h"

#define PERIOD_NS UINT64_C(200000000)
/* The least share of their rate that the other workers must keep: nine
 * tenths, minus a margin for noise. */
#define MIN_RATE 0.8
#define LOOK_NS  UINT64_C(200000)

/* The worker that freezes. */
#define FROZEN 1u

enum where { NOWHERE, IN_TASK, IN_STEAL };

static struct hostile h;
static _Thread_local unsigned own_index = UINT32_MAX;

static const char *name(enum where where)
{
	return where == IN_TASK ? "a task" : "a steal";
}

/* ---- freezing ------------------------------------------------------------ */

static atomic_u32 armed;  /* enum where: where the worker freezes next */
static atomic_u32 frozen; /* tasks that it holds; 0: not frozen */
static sem_t thaw;

/* Block until the test calls thaw_it(). Calls nothing of the library. */
static void freeze(uint32_t held)
{
	int saved = errno;

	/* Release, both stores: publish what the worker did before. Pair with the
	 * acquires in freeze_in() and thaw_it(). */
	atomic_store_release(&frozen, held);
	while (sem_wait(&thaw) != 0)
		;
	atomic_store_release(&frozen, 0);
	errno = saved;
}

static void on_signal(int number)
{
	(void)number;
	freeze(1);
}

/* Return whether this worker must freeze here; true only once for each
 * freeze_in(). */
static bool due(enum where where)
{
	uint32_t expected = where;

	/* Acquire: sees what the test prepared. Pairs with the release in
	 * freeze_in(). */
	return own_index == FROZEN && atomic_load_acquire(&armed) == expected &&
	       atomic_cas_relaxed(&armed, &expected, NOWHERE);
}

void frozen_in_steal(uint32_t count)
{
	if (due(IN_STEAL))
		freeze(count);
}

static void begin(unsigned worker)
{
	sigset_t set;

	own_index = worker;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Let the worker freeze, and wait until it has. Return: the number of tasks
 * that it holds. */
static uint32_t freeze_in(enum where where)
{
	atomic_store_release(&armed, where);
	while (atomic_load_acquire(&frozen) == 0)
		hostile_nap(LOOK_NS);
	return atomic_load_acquire(&frozen);
}

static void thaw_it(void)
{
	sem_post(&thaw);
	while (atomic_load_acquire(&frozen) != 0)
		hostile_nap(LOOK_NS);
}

/* ---- sources and their tasks --------------------------------------------- */

/* The number of tasks of a source, and the number of remaining ones at which it spawns
 * new ones. A frozen steal holds fewer than LOW tasks, so that sources go on. */
#define TASKS 128u
#define LOW   64u
/* Rounds of work in a poll. It takes some hundred cycles, so that the cost of scheduling
 * shows. */
#define WORK 400u

struct loose {
	struct skua_task task;
	struct source *source;
	atomic_u32 live;
	uint32_t polls;
};

struct source {
	struct skua_task task;
	struct skua_waker waker;
	atomic_u32 live;
	uint64_t spawned;
	atomic_u64 ended;
	struct loose tasks[TASKS];
};

static struct source sources[HOSTILE_MAX_WORKERS];
static atomic_u32 stopped;

/* Spawned by the task in which the worker freezes; it goes into the LIFO
 * slot of that worker. */
static struct skua_task next;
static atomic_u32 next_polls;

static enum skua_poll next_poll(struct skua_task *task)
{
	(void)task;
	/* Relaxed: a count. */
	atomic_fetch_add_relaxed(&next_polls, 1);
	return SKUA_DONE;
}

static void work(void)
{
	for (unsigned i = 0; i < WORK; i++)
		__asm__ volatile("" ::: "memory");
}

static enum skua_poll loose_poll(struct skua_task *task)
{
	struct loose *loose = (struct loose *)task;

	work();
	if (due(IN_TASK)) {
		hostile_check(skua_task_spawn(h.rt, &next), "spawn");
		raise(SIGUSR1);
	}
	return loose->polls++ == 0 ? SKUA_YIELD : SKUA_DONE;
}

static void loose_ended(struct skua_task *task)
{
	struct loose *loose = (struct loose *)task;
	struct source *source = loose->source;

	if (loose->polls != 2)
		stress_fail("a task ended after %" PRIu32 " polls",
			    loose->polls);
	/* Relaxed: a count. */
	atomic_fetch_add_relaxed(&source->ended, 1);
	/* Release: the task's memory may be reused. Pairs with the acquire
	 * in refill(). */
	if (atomic_fetch_sub_acq_rel(&loose->live, 1) != 1)
		stress_fail("a task ended twice");
	/* Release: the task has ended. Pairs with the acquire in
	 * live_tasks(). */
	if (atomic_fetch_sub_acq_rel(&source->live, 1) == LOW + 1)
		skua_waker_wake_by_ref(source->waker);
}

static void refill(struct source *source)
{
	for (unsigned i = 0; i < TASKS; i++) {
		struct loose *loose = &source->tasks[i];

		if (atomic_load_acquire(&loose->live) != 0)
			continue;
		atomic_store_relaxed(&loose->live, 1);
		loose->source = source;
		loose->polls = 0;
		hostile_check(skua_task_init(&loose->task, loose_poll), "init");
		hostile_check(skua_task_detach(&loose->task, loose_ended),
			      "detach");
		/* Relaxed: the spawn publishes it. */
		atomic_fetch_add_relaxed(&source->live, 1);
		source->spawned++;
		hostile_check(skua_task_spawn(h.rt, &loose->task), "spawn");
	}
}

/* The source starts when it is woken. */
static enum skua_poll source_poll(struct skua_task *task)
{
	struct source *source = (struct source *)task;

	if (skua_task_cancelled(task))
		return SKUA_DONE;
	/* Relaxed, both loads: a recent value is enough, because the thread
	 * that starts and stops the sources waits for the effect. */
	while (!atomic_load_relaxed(&stopped) &&
	       atomic_load_relaxed(&source->live) <= LOW)
		refill(source);
	return SKUA_PENDING;
}

/* Return whether a worker has a source. The other workers, among them
 * FROZEN, only steal. */
static bool has_source(unsigned worker)
{
	return worker % 2 != FROZEN % 2;
}

static void open_sources(void)
{
	for (unsigned i = 0; i < h.workers; i++) {
		struct source *source = &sources[i];

		if (!has_source(i))
			continue;
		hostile_check(skua_task_init(&source->task, source_poll),
			      "init");
		hostile_check(skua_task_spawn_on(h.rt, i, &source->task),
			      "spawn");
		source->waker = skua_task_waker(&source->task);
	}
}

static void start_sources(void)
{
	atomic_store_relaxed(&stopped, 0);
	for (unsigned i = 0; i < h.workers; i++) {
		if (has_source(i))
			skua_waker_wake_by_ref(sources[i].waker);
	}
}

/* Return the number of tasks that have not ended. */
static uint32_t live_tasks(void)
{
	uint32_t live = 0;

	for (unsigned i = 0; i < h.workers; i++)
		live += atomic_load_acquire(&sources[i].live);
	return live;
}

static uint64_t close_sources(void)
{
	uint64_t ended = 0;

	atomic_store_relaxed(&stopped, 1);
	for (unsigned i = 0; i < h.workers; i++) {
		if (!has_source(i))
			continue;
		hostile_check(skua_task_cancel(&sources[i].task), "cancel");
		skua_waker_drop(sources[i].waker);
		hostile_check(skua_task_join(&sources[i].task), "join");
	}
	hostile_check(skua_runtime_drain(h.rt), "drain");
	for (unsigned i = 0; i < h.workers; i++) {
		uint64_t count = atomic_load_relaxed(&sources[i].ended);

		if (count != sources[i].spawned)
			stress_fail("%" PRIu64 " tasks ended of %" PRIu64,
				    count, sources[i].spawned);
		ended += count;
		sources[i].spawned = 0;
		atomic_store_relaxed(&sources[i].ended, 0);
	}
	return ended;
}

/* ---- nothing waits for the frozen worker --------------------------------- */

static atomic_u32 bound_polls;

static enum skua_poll bound_poll(struct skua_task *task)
{
	(void)task;
	/* Relaxed: a count; the join orders it. */
	atomic_fetch_add_relaxed(&bound_polls, 1);
	return SKUA_DONE;
}

static void prepare_next(void)
{
	atomic_store_relaxed(&next_polls, 0);
	hostile_check(skua_task_init(&next, next_poll), "init");
}

static enum skua_poll call_poll(struct skua_task *task)
{
	(void)task;
	return SKUA_DONE;
}

/*
 * Check that work from outside wakes the other workers, which have nothing to do, and
 * sleep or are about to. Not for a worker that is frozen in a steal: it is a searcher, and
 * producers rely on a searcher (core/idle/IDLE.md, I1).
 */
static void wake_sleepers(void)
{
	for (unsigned i = 0; i < 4; i++) {
		struct skua_task call = SKUA_TASK_INIT(call_poll);

		hostile_nap(i * LOOK_NS);
		hostile_check(skua_task_spawn(h.rt, &call), "spawn");
		hostile_check(skua_task_join(&call), "join");
	}
}

/* Two workers that spawn children, in short polls, until a third worker runs
 * one. */
static const unsigned spawners[] = { 0, 2 };
static atomic_u32 helped;

static void child(void *arg)
{
	(void)arg;
	/* Relaxed: the flag publishes no other data. */
	if (own_index != spawners[0] && own_index != spawners[1])
		atomic_store_relaxed(&helped, 1);
}

static enum skua_poll spawner_poll(struct skua_task *task)
{
	(void)task;
	/* The second child displaces the first from the LIFO slot into the
	 * queue. */
	for (unsigned i = 0; i < 2; i++)
		hostile_check(skua_call(h.rt, child, NULL), "call");
	return atomic_load_relaxed(&helped) ? SKUA_DONE : SKUA_YIELD;
}

/*
 * Check that another worker is woken although the frozen worker may count as a searcher:
 * this happens at the end of a tick (core/idle/IDLE.md, I3). The frozen worker may hold a
 * claim on one of the two queues, from which no thief can steal then.
 */
static void wake_beside(void)
{
	struct skua_task tasks[2] = { SKUA_TASK_INIT(spawner_poll),
				      SKUA_TASK_INIT(spawner_poll) };

	if (h.workers < 4)
		return;
	atomic_store_relaxed(&helped, 0);
	for (unsigned i = 0; i < 2; i++)
		hostile_check(skua_task_spawn_on(h.rt, spawners[i], &tasks[i]),
			      "spawn");
	for (unsigned i = 0; i < 2; i++)
		hostile_check(skua_task_join(&tasks[i]), "join");
}

/* Check that each of the other workers runs a task that is bound to it. */
static void call_each(void)
{
	for (unsigned i = 0; i < h.workers; i++) {
		struct skua_task call = SKUA_TASK_INIT(call_poll);

		if (i == FROZEN)
			continue;
		hostile_check(skua_task_spawn_on(h.rt, i, &call), "spawn");
		hostile_check(skua_task_join(&call), "join");
	}
}

static void nothing_waits(enum where where)
{
	struct skua_task bound = SKUA_TASK_INIT(bound_poll);
	uint32_t held;

	prepare_next();
	atomic_store_relaxed(&bound_polls, 0);
	start_sources();
	held = freeze_in(where);
	hostile_check(skua_task_spawn_on(h.rt, FROZEN, &bound), "spawn");
	atomic_store_relaxed(&stopped, 1);
	/* Hangs here if a task waits for the frozen worker. */
	while (live_tasks() > held)
		hostile_nap(LOOK_NS);
	if (where == IN_TASK) {
		hostile_check(skua_task_join(&next), "join");
		wake_sleepers();
	}
	wake_beside();
	call_each();
	if (live_tasks() != held)
		stress_fail("in %s: %" PRIu32 " tasks left, %" PRIu32 " held",
			    name(where), live_tasks(), held);
	if (atomic_load_relaxed(&bound_polls) != 0)
		stress_fail("a bound task ran on another worker");
	thaw_it();
	hostile_check(skua_task_join(&bound), "join");
	while (live_tasks() > 0)
		hostile_nap(LOOK_NS);
	if (atomic_load_relaxed(&bound_polls) != 1 ||
	    atomic_load_relaxed(&next_polls) != (where == IN_TASK))
		stress_fail("a task was polled twice, or never");
}

/* ---- the rate of the other workers --------------------------------------- */

#define MAX_PERIODS 500u

struct period {
	double polls;
	double cpu_s;
};

/* Return the work of the other workers so far. */
static struct period others_now(void)
{
	struct period sum = { 0, 0 };

	for (unsigned i = 0; i < h.workers; i++) {
		struct skua_worker_stats stats;
		struct timespec cpu;
		clockid_t clock;

		if (i == FROZEN)
			continue;
		hostile_check(skua_runtime_worker_stats(h.rt, i, &stats),
			      "stats");
		if (pthread_getcpuclockid(h.threads[i], &clock) != 0 ||
		    clock_gettime(clock, &cpu) != 0)
			stress_fail("a worker has no clock");
		sum.polls += (double)stats.tasks_polled;
		sum.cpu_s += (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec;
	}
	return sum;
}

static struct period measure(void)
{
	struct period before = others_now();
	struct period after;

	hostile_nap(PERIOD_NS);
	after = others_now();
	return (struct period){ after.polls - before.polls,
				after.cpu_s - before.cpu_s };
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), by_size);
	return values[count / 2];
}

/* The shares of their rate and of their CPU time that the other workers keep
 * while one is frozen. */
struct kept {
	double rates[MAX_PERIODS];
	double times[MAX_PERIODS];
	unsigned periods;
};

static void measure_both(struct kept *kept, enum where where)
{
	struct period usual;
	struct period alone;

	/* Repeat an empty period: other programs may have all CPUs for that
	 * long. */
	do {
		usual = measure();
	} while (usual.polls <= 0 || usual.cpu_s <= 0);
	prepare_next();
	freeze_in(where);
	alone = measure();
	thaw_it();
	if (where == IN_TASK)
		hostile_check(skua_task_join(&next), "join");
	kept->rates[kept->periods] =
		alone.cpu_s > 0 ? alone.polls / alone.cpu_s /
					  (usual.polls / usual.cpu_s)
				: 0;
	kept->times[kept->periods] = alone.cpu_s / usual.cpu_s;
	kept->periods++;
}

/* Measure @periods periods; four times as many if the result is bad at first. Return: the
 * median share of their rate that the other workers keep. */
static double rate_kept(enum where where, unsigned periods)
{
	static struct kept kept;
	double rate = 0;
	double time = 0;

	kept.periods = 0;
	start_sources();
	for (unsigned most = periods; most <= 4 * periods;
	     most += 3 * periods) {
		while (kept.periods < most)
			measure_both(&kept, where);
		rate = median(kept.rates, kept.periods);
		time = median(kept.times, kept.periods);
		/* Check the time, too: a waiting worker does not lower the rate,
		 * because it uses no CPU time. */
		if (rate >= MIN_RATE && time >= 0.5)
			return rate;
	}
	/* Not checked with a sanitizer, which slows down some operations
	 * more than others. */
	if (!HOSTILE_SANITIZED)
		stress_fail("frozen in %s, of %u workers: the others keep "
			    "%.0f %% of their rate, for %.0f %% of the time",
			    name(where), h.workers, 100 * rate, 100 * time);
	return rate;
}

/* ---- both ---------------------------------------------------------------- */

static unsigned periods_of(uint64_t tasks)
{
	uint64_t periods = tasks / 1000000;

	if (periods < 3)
		return 3;
	return periods > MAX_PERIODS / 4 ? MAX_PERIODS / 4 : (unsigned)periods;
}

int main(void)
{
	static const unsigned workers[] = { 2, 8 };
	struct sigaction action = { .sa_handler = on_signal };
	unsigned rounds = periods_of(hostile_tasks()) * 4;
	uint64_t done = 0;
	double least = 1e9;

	sem_init(&thaw, 0, 0);
	sigemptyset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	for (unsigned i = 0; i < 2; i++) {
		hostile_open(&h, workers[i], begin);
		open_sources();
		for (enum where where = IN_TASK; where <= IN_STEAL; where++) {
			double kept;

			for (unsigned n = 0; n < rounds; n++)
				nothing_waits(where);
			kept = rate_kept(where, periods_of(hostile_tasks()));
			least = kept < least ? kept : least;
		}
		done += close_sources();
		hostile_close(&h);
	}
	printf("frozen: %" PRIu64 " tasks, each done once; %u times all went "
	       "on but what the frozen worker held; the others kept %.0f %% "
	       "of their rate%s\n",
	       done, 4 * rounds, 100 * least,
	       HOSTILE_SANITIZED ? ", of which a sanitizer says nothing" : "");
	return 0;
}
