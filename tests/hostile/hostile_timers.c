/* SPDX-License-Identifier: MIT */
/**
 * hostile_timers.c - delay a thread that holds the lock of a timer wheel
 *
 * An outside thread (the holder) reads a timer, and stops with the lock of the timer's
 * wheel held (held_timers.c) until the timer is overdue. There are three parts:
 *
 *   - The holder sleeps. Workers that wait for the lock must use no CPU time, all workers
 *     except one must stay available for tasks, and the timers of other wheels must fire.
 *   - The holder computes, on the only CPU of the workers, which are real-time threads.
 *     Workers that wait for the lock must leave the CPU to the holder.
 *   - The same, while a real-time thread with a lower priority than the workers takes that
 *     CPU until the timer has fired. The holder must inherit the priority of the worker
 *     that waits.
 *
 * The last two need the privilege to set SCHED_FIFO.
 */
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include "tests/hostile/held_timers.h"
#include "tests/hostile/hostile.h"

#define DELAY_NS UINT64_C(20000000)
/* How long the holder keeps the lock: in wall-clock time when it sleeps, in
 * its own CPU time when it computes. */
#define HOLD_NS   UINT64_C(200000000)
#define RUN_NS    UINT64_C(30000000)
#define HOG_NS    UINT64_C(300000000)
#define ROUNDS    3u
#define CALLS     4u
#define WORKERS   3u
#define HOG_PRIO  1
#define WORK_PRIO 2

static struct hostile h;

static uint64_t clock_of(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) != 0)
		stress_fail("no clock: %d", errno);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Return the CPU time of all workers so far. */
static uint64_t workers_cpu_ns(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < h.workers; i++) {
		clockid_t clock;

		hostile_check(pthread_getcpuclockid(h.threads[i], &clock),
			      "a worker's clock");
		sum += clock_of(clock);
	}
	return sum;
}

/* ---- a task with a timer -------------------------------------------------- */

struct sleeper {
	struct skua_task task; /* first: it is cast back */
	struct skua_timer timer;
	uint64_t due_ns;
	atomic_u32 polls;
	atomic_u32 *begin; /* the first poll waits until it is not 0; or NULL */
};

static enum skua_poll sleeper_poll(struct skua_task *task)
{
	struct sleeper *it = (struct sleeper *)task;

	/* Relaxed: only this task writes it. Release: a thread that sees the
	 * count sees the added timer. Pairs with the acquire in start(). */
	if (atomic_load_relaxed(&it->polls) > 0) {
		atomic_fetch_add_release(&it->polls, 1);
		return SKUA_DONE;
	}
	it->due_ns = skua_now_ns() + DELAY_NS;
	hostile_check(skua_timer_add(task, &it->timer, it->due_ns), "add");
	atomic_fetch_add_release(&it->polls, 1);
	while (it->begin && atomic_load_acquire(it->begin) == 0)
		sched_yield();
	return SKUA_PENDING;
}

static void sleeper_init(struct sleeper *it, atomic_u32 *begin)
{
	*it = (struct sleeper){ .task = SKUA_TASK_INIT(sleeper_poll),
				.timer = SKUA_TIMER_INIT,
				.begin = begin };
	atomic_init(&it->polls, 0);
}

static void wait_for_polls(struct sleeper *it, uint32_t polls)
{
	while (atomic_load_acquire(&it->polls) < polls)
		hostile_nap(100000);
}

static void join(struct sleeper *it)
{
	hostile_check(skua_task_join(&it->task), "join");
	if (atomic_load_acquire(&it->polls) != 2)
		stress_fail("a task with one timer was polled %" PRIu32
			    " times",
			    atomic_load_acquire(&it->polls));
}

/* ---- the thread with the lock --------------------------------------------- */

struct holder {
	pthread_t thread;
	struct sleeper *sleeper;
	bool runs; /* compute for RUN_NS; else sleep until @release */
	bool late; /* it got the lock after the timer had fired */
	sem_t held;
	sem_t release;
};

static _Thread_local struct holder *holding;

void held_timers(void)
{
	struct holder *holder = holding;
	uint64_t start_ns;

	if (!holder)
		return;
	holding = NULL;
	holder->late = holder->sleeper->timer.slot[0] == 0;
	sem_post(&holder->held);
	if (holder->late)
		return;
	while (!holder->runs) {
		if (sem_wait(&holder->release) == 0)
			return;
	}
	start_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
	while (clock_of(CLOCK_THREAD_CPUTIME_ID) < start_ns + RUN_NS ||
	       skua_now_ns() < holder->sleeper->due_ns + DELAY_NS)
		;
}

static void *hold(void *arg)
{
	struct holder *holder = arg;

	holding = holder;
	if (skua_timer_pending(&holder->sleeper->timer) == holder->late)
		stress_fail("a timer fired while its wheel was locked");
	return NULL;
}

/* Start the holder. Return: whether it holds the lock in time. */
static bool start_holder(struct holder *holder, struct sleeper *sleeper,
			 bool runs, const cpu_set_t *cpu)
{
	pthread_attr_t attr;

	holder->sleeper = sleeper;
	holder->runs = runs;
	sem_init(&holder->held, 0, 0);
	sem_init(&holder->release, 0, 0);
	pthread_attr_init(&attr);
	if (cpu)
		hostile_check(
			pthread_attr_setaffinity_np(&attr, sizeof(*cpu), cpu),
			"affinity");
	hostile_check(pthread_create(&holder->thread, &attr, hold, holder),
		      "thread");
	pthread_attr_destroy(&attr);
	while (sem_wait(&holder->held) != 0)
		;
	return !holder->late;
}

static void end_holder(struct holder *holder)
{
	pthread_join(holder->thread, NULL);
	sem_destroy(&holder->held);
	sem_destroy(&holder->release);
}

/* ---- the holder sleeps ---------------------------------------------------- */

static enum skua_poll call_poll(struct skua_task *task)
{
	(void)task;
	return SKUA_DONE;
}

static void call(void)
{
	struct skua_task task = SKUA_TASK_INIT(call_poll);

	hostile_check(skua_task_spawn(h.rt, &task), "spawn");
	hostile_check(skua_task_join(&task), "join");
}

/* Check that the workers use no CPU time and can do other work meanwhile. */
static void expect_no_spin(const struct sleeper *kept)
{
	uint64_t before_ns, spent_ns;

	hostile_nap_until(kept->due_ns + DELAY_NS);
	before_ns = workers_cpu_ns();
	for (unsigned i = 0; i < CALLS; i++) {
		hostile_nap(HOLD_NS / CALLS);
		call();
	}
	spent_ns = workers_cpu_ns() - before_ns;
	if (!HOSTILE_SANITIZED && spent_ns > HOLD_NS / 10)
		stress_fail("%u workers took %" PRIu64
			    " us of CPU time while a thread that slept for "
			    "%" PRIu64 " us held a wheel's lock",
			    h.workers, spent_ns / 1000, HOLD_NS / 1000);
	if (atomic_load_acquire(&kept->polls) != 1)
		stress_fail("a timer fired while its wheel was locked");
}

/* Run the part. Return: whether the holder got the lock in time. */
static bool holder_sleeps(void)
{
	static struct sleeper kept, other;
	struct holder holder;
	bool held;

	/* Put timers into two wheels: the first poll of @kept, on worker 0,
	 * waits until another worker has polled @other. */
	sleeper_init(&other, NULL);
	sleeper_init(&kept, &other.polls);
	hostile_check(skua_task_spawn_on(h.rt, 0, &kept.task), "spawn");
	wait_for_polls(&kept, 1);
	held = start_holder(&holder, &kept, false, NULL);
	hostile_check(skua_task_spawn(h.rt, &other.task), "spawn");
	join(&other);
	if (held)
		expect_no_spin(&kept);
	sem_post(&holder.release);
	join(&kept);
	end_holder(&holder);
	return held;
}

/* ---- the holder computes, on the CPU of real-time workers ----------------- */

static struct sleeper starved;

static void *hog(void *arg)
{
	uint64_t start_ns = skua_now_ns();

	(void)arg;
	while (atomic_load_acquire(&starved.polls) < 2) {
		if (skua_now_ns() > start_ns + HOG_NS)
			stress_fail("the thread with a wheel's lock got no CPU "
				    "for %" PRIu64 " us: no worker lent it its "
				    "priority",
				    HOG_NS / 1000);
	}
	return NULL;
}

static void start_hog(pthread_t *thread, const cpu_set_t *cpu)
{
	const struct sched_param param = { .sched_priority = HOG_PRIO };
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	pthread_attr_setaffinity_np(&attr, sizeof(*cpu), cpu);
	hostile_check(pthread_create(thread, &attr, hog, NULL), "hog");
	pthread_attr_destroy(&attr);
}

/* Run the part. Return: whether the holder got the lock in time. */
static bool holder_runs(const cpu_set_t *cpu, bool with_hog)
{
	struct holder holder;
	pthread_t hog_thread;
	uint64_t before_ns, spent_ns;
	bool held;

	sleeper_init(&starved, NULL);
	hostile_check(skua_task_spawn(h.rt, &starved.task), "spawn");
	wait_for_polls(&starved, 1);
	before_ns = workers_cpu_ns();
	held = start_holder(&holder, &starved, true, cpu);
	if (with_hog)
		start_hog(&hog_thread, cpu);
	join(&starved);
	spent_ns = workers_cpu_ns() - before_ns;
	if (with_hog)
		pthread_join(hog_thread, NULL);
	end_holder(&holder);
	if (!HOSTILE_SANITIZED && spent_ns > RUN_NS / 2)
		stress_fail("%u real-time workers took %" PRIu64
			    " us of CPU time from a thread that needed %" PRIu64
			    " us to unlock a wheel",
			    h.workers, spent_ns / 1000, RUN_NS / 1000);
	return held;
}

/* Get all CPUs that this process may use, and the first of them for the
 * workers. */
static void first_cpu(cpu_set_t *all, cpu_set_t *one)
{
	unsigned cpu = 0;

	if (sched_getaffinity(0, sizeof(*all), all) != 0)
		stress_fail("no affinity");
	while (!CPU_ISSET(cpu, all))
		cpu++;
	CPU_ZERO(one);
	CPU_SET(cpu, one);
}

/* Return: false if the kernel refuses. */
static bool make_realtime(void)
{
	const struct sched_param param = { .sched_priority = WORK_PRIO };

	for (unsigned i = 0; i < h.workers; i++) {
		if (pthread_setschedparam(h.threads[i], SCHED_FIFO, &param) !=
		    0)
			return false;
	}
	return true;
}

int main(void)
{
	cpu_set_t all, one;
	bool realtime;

	hostile_open(&h, WORKERS, NULL);
	for (unsigned done = 0; done < ROUNDS;)
		done += holder_sleeps();
	hostile_close(&h);

	first_cpu(&all, &one);
	/* The workers inherit this affinity. */
	hostile_check(sched_setaffinity(0, sizeof(one), &one), "affinity");
	hostile_open(&h, 2, NULL);
	hostile_check(sched_setaffinity(0, sizeof(all), &all), "affinity");
	realtime = CPU_COUNT(&all) > 1 && make_realtime();
	for (unsigned done = 0; realtime && done < ROUNDS;)
		done += holder_runs(&one, false);
	for (unsigned done = 0; realtime && done < ROUNDS;)
		done += holder_runs(&one, true);
	hostile_close(&h);
	if (!realtime)
		hostile_skip("no SCHED_FIFO, or one CPU: with a lock held by "
			     "a thread that sleeps all is well, one that real-"
			     "time workers keep off the CPU was not tried");
	printf("timers: %u tasks, each done once; workers that wait for a "
	       "wheel's lock take no CPU time from its holder, and lend it "
	       "their priority\n",
	       ROUNDS * (2 + CALLS + 2));
	return 0;
}
