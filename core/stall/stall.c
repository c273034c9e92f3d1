/* SPDX-License-Identifier: MIT */
/* stall.c - see stall.h */
#include "core/stall/stall.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/os/log.h"
#include "core/base/memory.h"
#include "core/os/peek.h"
#include "core/os/realtime.h"
#include "core/task/task.h"
#include "core/stall/stall_report.h"
#include "probes/probes.h"

/* The time between two checks: a quarter of the shortest limit, but within these
 * bounds. */
#define MIN_PERIOD_NS UINT64_C(100000)
#define MAX_PERIOD_NS UINT64_C(1000000000)
/* How long to wait for a stack. If a worker does not answer in time, its stall is
 * reported without a stack. */
#define PATIENCE_NS UINT64_C(100000000)
/* The least time between two reports about the same worker. */
#define REPORT_NS UINT64_C(1000000000)

/* ---- the poll of a worker -------------------------------------------------- */

/* polled_task - return the address of the task that a worker polls, or 0 */
static uint64_t polled_task(const struct stall_worker *w)
{
	return counter_read(&w->worker->area.task);
}

static uint64_t polls_begun(const struct stall_worker *w)
{
	return counter_read(&w->worker->area.counters.tasks_polled);
}

/* goes_on - tell whether the poll that the last check saw is still under way */
static bool goes_on(const struct stall_worker *w)
{
	return polled_task(w) == w->task && polls_begun(w) == w->number;
}

/* read_task - find out the poll function, the type and the limit of the polled task */
static void read_task(const struct stall_watch *watch, struct stall_worker *w)
{
	struct skua_task task;
	struct skua_task_type type;
	skua_task_fn function;

	w->limit_ns = watch->limit_ns;
	w->type = NULL;
	w->poll = NULL;
	if (!watch->reads_tasks ||
	    !task_peek(watch->pid, (const void *)(uintptr_t)w->task, &task,
		       &function) ||
	    !goes_on(w))
		return;
	w->poll = function;
	w->type = task.type;
	if (w->type && peek(watch->pid, w->type, &type, sizeof(type)) &&
	    type.stall_limit_ns)
		w->limit_ns = type.stall_limit_ns;
}

/* ---- the duration of a poll ------------------------------------------------ */

static pid_t tid_of(const struct stall_worker *w)
{
	return (pid_t)counter_read(&w->worker->area.tid);
}

static void begin_measure(struct stall_worker *w)
{
	usage_read(tid_of(w), &w->first);
	w->last = w->first;
	w->seen_ns = 0;
	w->spent_ns = 0;
	w->measured = true;
	w->suspected = false;
}

/*
 * Add the time since the last check, @wall_ns, to the time that the poll has spent.
 *
 * The poll has spent at most the time during which it was seen, less its waits for a CPU.
 * It has spent exactly that if @waits_over: the kernel then reports all waits.
 */
static void count_usage(struct stall_worker *w, struct usage now,
			uint64_t wall_ns, bool waits_over)
{
	uint64_t cpu_ns = now.cpu_ns - w->first.cpu_ns;
	uint64_t waited_ns, most_ns;

	if (!now.complete) {
		now.wait_ns = w->last.wait_ns;
		waits_over = false;
	}
	if (now.cpu_ns < w->last.cpu_ns)
		now.cpu_ns = w->last.cpu_ns; /* the read failed */
	waited_ns = now.wait_ns - w->first.wait_ns;
	w->seen_ns += wall_ns;
	most_ns = w->seen_ns > waited_ns ? w->seen_ns - waited_ns : 0;
	w->spent_ns += now.cpu_ns - w->last.cpu_ns;
	if (waits_over || w->spent_ns > most_ns)
		w->spent_ns = most_ns;
	if (w->spent_ns < cpu_ns)
		w->spent_ns = cpu_ns;
	w->last = now;
}

static void measure(const struct stall_watch *watch, struct stall_worker *w)
{
	struct usage now;
	uint64_t wall_ns;

	usage_read(tid_of(w), &now);
	wall_ns = now.now_ns - w->last.now_ns;
	/* This thread ran later than planned. The worker may have had no CPU either, so
	 * count one period only. */
	if (wall_ns > 2 * watch->period_ns)
		wall_ns = watch->period_ns;
	if (now.state == USAGE_STOPPED)
		wall_ns = 0;
	count_usage(w, now, wall_ns,
		    now.state == USAGE_SLEEPS || now.state == USAGE_BLOCKED);
}

/* ---- reports --------------------------------------------------------------- */

/* told_lately - tell whether the last report about this worker is too recent for another */
static bool told_lately(const struct stall_worker *w)
{
	return w->told_ns && clock_now_ns() - w->told_ns < REPORT_NS;
}

/*
 * A poll seems to be over its limit: ask for its stack. The answer also proves that its
 * thread runs. Return: true if the poll is over its limit, provided that the next check
 * still sees it.
 *
 * A thread that has no CPU may look as if it had one: if it was interrupted on its way
 * to sleep, it seems to sleep; if the hypervisor has stopped its virtual CPU, it seems
 * to compute. When such a thread gets a CPU, it answers first, and then its poll goes on.
 */
static bool suspect(struct stall_watch *watch, struct stall_worker *w)
{
	struct stall_stack *stack = &w->stack;
	struct usage now;

	w->answered = false;
	w->only_counted = told_lately(w);
	if (!watch->signal || w->only_counted)
		return true;
	if (!stall_stack_ask(stack, tid_of(w), watch->signal, PATIENCE_NS)) {
		stall_report_lost_signal(watch);
		return watch->lost_signal || w->last.state == USAGE_BLOCKED ||
		       !stall_stack_pending(stack) ||
		       usage_blocks(tid_of(w), watch->signal);
	}
	if (stack->answer.words[0] != w->task ||
	    stack->answer.words[1] != w->number)
		return false;
	usage_read(tid_of(w), &now);
	now.now_ns = stack->answer.at_ns;
	count_usage(w, now, now.now_ns - w->last.now_ns, true);
	w->answered = w->spent_ns > w->limit_ns;
	return w->answered;
}

/* report_stall - report, or only count, a stall that a further check has confirmed */
static void report_stall(struct stall_watch *watch, struct stall_worker *w)
{
	w->told = true;
	counter_add_owner(&w->worker->area.counters.stalls, 1);
	telemetry_stall(&w->worker->pool->telemetry, w->worker->index, w->task,
			w->type, w->poll, w->last.now_ns - w->since_ns);
	if (w->only_counted) {
		w->suppressed++;
		return;
	}
	stall_report(watch, w);
	w->told_ns = clock_now_ns();
	w->suppressed = 0;
}

/*
 * A poll seems to be over its limit. The signal may interrupt a sleep of the poll, and so
 * end the poll before the next check. So a stall of a thread that slept and then answered
 * is reported at once.
 */
static void suspected(struct stall_watch *watch, struct stall_worker *w)
{
	bool slept = w->last.state == USAGE_SLEEPS;

	w->suspected = suspect(watch, w);
	if (w->answered && slept)
		report_stall(watch, w);
}

/* ---- the thread ------------------------------------------------------------ */

static void check_worker(struct stall_watch *watch, struct stall_worker *w)
{
	uint64_t task = polled_task(w);
	uint64_t number = polls_begun(w);

	if (!task || !tid_of(w)) {
		w->task = 0;
	} else if (task != w->task || number != w->number) {
		w->task = task;
		w->number = number;
		w->since_ns = clock_now_ns();
		w->measured = false;
		w->told = false;
	} else if (!w->measured) {
		read_task(watch, w);
		begin_measure(w);
	} else if (!w->told) {
		measure(watch, w);
		if (w->spent_ns <= w->limit_ns || !goes_on(w))
			w->suspected = false;
		else if (w->suspected)
			report_stall(watch, w);
		else
			suspected(watch, w);
	}
}

static uint64_t period_ns(const struct stall_watch *watch)
{
	/* Relaxed: any recent value will do. */
	uint64_t limit_ns = atomic_load_relaxed(&task_shortest_limit_ns);

	if (watch->limit_ns < limit_ns)
		limit_ns = watch->limit_ns;
	if (limit_ns / 4 < MIN_PERIOD_NS)
		return MIN_PERIOD_NS;
	return limit_ns / 4 > MAX_PERIOD_NS ? MAX_PERIOD_NS : limit_ns / 4;
}

/* wait_period - sleep until the next check is due or the watcher must end */
static void wait_period(struct stall_watch *watch)
{
	struct stall_rest *rest = &watch->rest;
	uint64_t deadline_ns;

	stall_rest(rest);
	counter_set_owner(&watch->period_ns, period_ns(watch));
	deadline_ns = clock_now_ns() + watch->period_ns;
	while (!stall_rest_ending(rest) && clock_now_ns() < deadline_ns)
		futex_wait_until(&rest->state, STALL_CHECKING, deadline_ns);
}

static void *stall_main(void *arg)
{
	struct stall_watch *watch = arg;

	pthread_setname_np(pthread_self(), "skua-watch");
	for (;;) {
		wait_period(watch);
		if (stall_rest_ending(&watch->rest))
			return NULL;
		for (unsigned i = 0; i < watch->rest.count; i++)
			check_worker(watch, &watch->workers[i]);
		counter_add_owner(&watch->looks, 1);
	}
}

/* ---- life ------------------------------------------------------------------ */

int stall_allocate(struct stall_watch *watch, const struct config *config)
{
	const struct skua_allocator *a = config->allocator;
	struct stall_awake *awake;

	if (!config->stall_limit_ns)
		return 0;
	awake = memory_alloc(a, CACHE_PAIR, config->workers, sizeof(*awake));
	stall_rest_init(&watch->rest, awake, awake ? config->workers : 0);
	watch->workers = memory_alloc(a, CACHE_PAIR, config->workers,
				      sizeof(*watch->workers));
	return awake && watch->workers ? 0 : -ENOMEM;
}

void stall_free(struct stall_watch *watch, const struct config *config)
{
	const struct skua_allocator *a = config->allocator;

	memory_free(a, watch->rest.workers, CACHE_PAIR, config->workers,
		    sizeof(*watch->rest.workers));
	memory_free(a, watch->workers, CACHE_PAIR, config->workers,
		    sizeof(*watch->workers));
}

/* try_means - find out whether the workers' memory and their CPU times can be read, and
 * warn if not */
static void try_means(struct stall_watch *watch)
{
	struct usage usage;
	uint64_t word;

	watch->reads_tasks = peek(watch->pid, watch, &word, sizeof(word));
	if (!watch->reads_tasks)
		log_say(watch->hooks, SKUA_LOG_WARNING,
			"stall reports have no types of tasks, and limits of "
			"types do not apply: process_vm_readv() is refused");
	usage_read(gettid(), &usage);
	if (!usage.complete)
		log_say(watch->hooks, SKUA_LOG_WARNING,
			"stall detection counts CPU time only: no data in "
			"/proc/self/task/*/schedstat");
}

void stall_init(struct stall_watch *watch, struct pool *pool,
		const struct config *config)
{
	if (!config->stall_limit_ns)
		return;
	pool->rest = &watch->rest;
	watch->hooks = &config->hooks;
	watch->limit_ns = config->stall_limit_ns;
	watch->pid = getpid();
	for (unsigned i = 0; i < config->workers; i++) {
		struct stall_worker *w = &watch->workers[i];

		w->worker = pool->workers[i];
		w->stack.words[0] = &w->worker->area.task;
		w->stack.words[1] = &w->worker->area.counters.tasks_polled;
		atomic_init(&w->stack.asked, 0);
		atomic_init(&w->stack.answered, 0);
	}
	try_means(watch);
	if (config->stall_signal < 0)
		return;
	watch->signal = stall_stack_prepare(config->stall_signal);
	if (!watch->signal)
		log_say(watch->hooks, SKUA_LOG_WARNING,
			"stalls are reported without stacks: %s has a handler",
			config->stall_signal ? "the signal"
					     : "each real-time signal");
}

void stall_enter(struct worker *worker)
{
	struct stall_watch *watch = (struct stall_watch *)worker->pool->rest;

	if (watch)
		stall_stack_enter(&watch->workers[worker->index].stack,
				  watch->signal);
}

/* stall_start - see stall.h. If the workers are real-time threads, the watcher gets a
 * higher priority; if the kernel refuses that, the watcher is an ordinary thread */
int stall_start(struct stall_watch *watch, const struct config *config)
{
	pthread_attr_t attr;
	int code;

	if (!watch->limit_ns)
		return 0;
	code = -pthread_attr_init(&attr);
	if (code)
		return code;
	if (config->realtime)
		realtime_ask_above(&attr);
	code = -pthread_create(&watch->thread, &attr, stall_main, watch);
	pthread_attr_destroy(&attr);
	if (code == -EPERM && config->realtime) {
		log_say(watch->hooks, SKUA_LOG_WARNING,
			"stall detection cannot run while workers use all "
			"CPUs: a priority higher than theirs was refused");
		code = -pthread_create(&watch->thread, NULL, stall_main, watch);
	}
	watch->started = code == 0;
	return code;
}

void stall_stop(struct stall_watch *watch)
{
	if (!watch->started)
		return;
	stall_rest_end(&watch->rest);
	pthread_join(watch->thread, NULL);
	watch->started = false;
}
