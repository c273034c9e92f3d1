/* SPDX-License-Identifier: MIT */
/* test_fork_join.c - forks and joins, from outside and from tasks */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/fork_join/fork_join.h"
#include "core/runtime/runtime.h"
#include "tests/unit/fib.h"
#include "tests/unit/tasks.h"

#define FIB_N      18
#define FIB_RESULT 2584

/* ---- skua_run -------------------------------------------------------------- */

struct call {
	unsigned calls;
	pthread_t thread;
	struct skua_ctx ctx;
};

static void note_call(struct skua_ctx ctx, void *arg)
{
	struct call *call = arg;

	call->calls++;
	call->thread = pthread_self();
	call->ctx = ctx;
}

TEST(run__null__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(skua_run(NULL, note_call, NULL), -EINVAL);
	assert_int_equal(skua_run(rt, NULL, NULL), -EINVAL);
	destroy(rt);
}

TEST(run__a_function__called_once_by_the_caller)
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct call call = { 0 };

		errno = 0;
		assert_int_equal(skua_run(rt, note_call, &call), 0);
		assert_int_equal(errno, 0);
		assert_int_equal(call.calls, 1);
		assert_true(pthread_equal(call.thread, pthread_self()));
		assert_non_null(call.ctx.forks);
		destroy(rt);
	}
}

TEST(run__fib__right_on_any_number_of_workers)
{
	static const unsigned workers[] = { 1, 2, 3, 64 };

	for (unsigned i = 0; i < COUNT_OF(workers); i++) {
		struct skua_runtime *rt = runtime_new(workers[i], 0);
		struct fib_call fib = { .n = FIB_N };

		for (unsigned n = 0; n < 20; n++) {
			fib.result = 0;
			assert_int_equal(skua_run(rt, fib_root, &fib), 0);
			assert_int_equal(fib.result, FIB_RESULT);
		}
		destroy(rt);
	}
}

TEST(run__driven_by_the_caller__right)
{
	struct skua_runtime *rt = RUNTIME(.flags = SKUA_CALLER_DRIVEN);
	struct fib_call fib = { .n = FIB_N };

	assert_int_equal(skua_run(rt, fib_root, &fib), 0);
	assert_int_equal(fib.result, FIB_RESULT);
	destroy(rt);
}

TEST(run__after_a_shutdown__eshutdown)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct call call = { 0 };

	assert_int_equal(
		skua_runtime_shutdown(rt, SKUA_FOREVER_NS, SKUA_SHUTDOWN_RUN),
		0);
	assert_int_equal(skua_run(rt, note_call, &call), -ESHUTDOWN);
	assert_int_equal(call.calls, 0);
	destroy(rt);
}

static int run_in_child(void)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct call call = { 0 };
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0)
		_exit(skua_run(rt, note_call, &call) != -EOWNERDEAD ||
		      call.calls != 0);
	waitpid(child, &status, 0);
	destroy(rt);
	return status;
}

TEST(run__in_a_forked_child__eownerdead)
{
	assert_int_equal(run_in_child(), 0);
}

/* ---- takers of jobs ---------------------------------------------------------- */

/* A job that somebody else has to run. */
struct meeting {
	struct skua_job job; /* first: a job is its meeting */
	struct skua_runtime *rt;
	struct gate runs;
	pthread_t thread;
	int worker;
};

static void meeting_run(struct skua_ctx ctx, struct skua_job *job)
{
	struct meeting *meeting = (struct meeting *)job;

	(void)ctx;
	meeting->thread = pthread_self();
	meeting->worker = skua_worker_index(meeting->rt);
	gate_open(&meeting->runs);
}

static void fork_and_meet(struct skua_ctx ctx, void *arg)
{
	struct meeting *meeting = arg;
	struct skua_ctx inner = skua_fork(ctx, &meeting->job);

	gate_wait(&meeting->runs);
	assert_false(skua_reclaim(inner, &meeting->job));
}

static void meet_often(struct skua_runtime *rt)
{
	struct skua_stats stats;

	for (unsigned i = 1; i <= 100; i++) {
		struct meeting meeting = { .job = { meeting_run }, .rt = rt };

		assert_int_equal(skua_run(rt, fork_and_meet, &meeting), 0);
		assert_false(pthread_equal(meeting.thread, pthread_self()));
		assert_in_range(meeting.worker, 0, 1);
		assert_int_equal(skua_runtime_stats(rt, &stats), 0);
		assert_int_equal(stats.total.jobs_stolen, i);
		assert_int_equal(stats.jobs_stolen_outside, 0);
		/* No search looks for jobs of threads that have left. */
		assert_int_equal(work_map_read(&rt->pool.map,
					       rt->pool.groups->count,
					       WORK_JOBS),
				 0);
	}
	destroy(rt);
}

TEST(fork__an_idle_worker__takes_the_job)
{
	meet_often(runtime_new(2, 0));
}

/* Workers that are awake leave the job to its thread only in the beginning. */
TEST(fork__a_worker_that_searches__takes_the_job)
{
	meet_often(RUNTIME(.workers = 2, .spin_ns = SKUA_MAX_DELAY_NS));
}

/* A job whose own job only the first thread is left to take. */
struct pair {
	struct skua_job job; /* first: a job is its pair */
	struct meeting part;
	struct gate taken;
};

static void pair_run(struct skua_ctx ctx, struct skua_job *job)
{
	struct pair *pair = (struct pair *)job;

	gate_open(&pair->taken);
	fork_and_meet(ctx, &pair->part);
}

static void fork_pair(struct skua_ctx ctx, void *arg)
{
	struct pair *pair = arg;
	struct skua_ctx inner = skua_fork(ctx, &pair->job);

	gate_wait(&pair->taken);
	assert_false(skua_reclaim(inner, &pair->job));
}

TEST(join__a_stolen_job__takes_parts_of_it_meanwhile)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_stats stats;

	for (unsigned i = 1; i <= 100; i++) {
		struct pair pair = { .job = { pair_run },
				     .part = { .job = { meeting_run },
					       .rt = rt } };

		assert_int_equal(skua_run(rt, fork_pair, &pair), 0);
		assert_true(pthread_equal(pair.part.thread, pthread_self()));
		assert_int_equal(pair.part.worker, -ENOENT);
		assert_int_equal(skua_runtime_stats(rt, &stats), 0);
		assert_int_equal(stats.jobs_stolen_outside, i);
	}
	destroy(rt);
}

/* ---- within tasks and jobs --------------------------------------------------- */

static int fib_in_task(struct skua_task *self, void *arg)
{
	fib_root(skua_task_ctx(self), arg);
	return 0;
}

TEST(task_ctx__fib__right_on_any_number_of_workers)
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct fib_call fib = { .n = FIB_N };

		for (unsigned n = 0; n < 20; n++) {
			fib.result = 0;
			assert_int_equal(call_in_poll(rt, fib_in_task, &fib),
					 0);
			assert_int_equal(fib.result, FIB_RESULT);
		}
		destroy(rt);
	}
}

static int other_ctx(struct skua_task *self, void *arg)
{
	struct counter other = COUNTER_INIT;
	struct skua_ctx ctx = skua_task_ctx(&other.task);

	(void)self;
	(void)arg;
	return ctx.forks != NULL || ctx.head != NULL;
}

TEST(task_ctx__not_the_task_that_is_polled__none)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	assert_null(skua_task_ctx(NULL).forks);
	assert_null(skua_task_ctx(&counter.task).forks);
	assert_int_equal(call_in_poll(rt, other_ctx, NULL), 0);
	destroy(rt);
}

static void nothing_run(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	(void)job;
}

static void ctx_check_root(struct skua_ctx ctx, void *arg)
{
	struct skua_job job = { nothing_run };
	struct skua_ctx inner = skua_fork(ctx, &job);

	(void)arg;
	assert_int_equal(skua_ctx_check(inner), 0);
	if (skua_reclaim(inner, &job))
		job.run(ctx, &job);
	assert_int_equal(skua_ctx_check(ctx), 0);
}

TEST(ctx_check__own_or_none__zero_or_einval)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	assert_int_equal(skua_run(rt, ctx_check_root, NULL), 0);
	assert_int_equal(skua_ctx_check(skua_task_ctx(NULL)), -EINVAL);
	destroy(rt);
}

struct inner_call {
	struct skua_job job; /* first: a job is its inner_call */
	struct skua_runtime *rt;
	struct fib_call fib;
	int code;
};

static void inner_run(struct skua_ctx ctx, struct skua_job *job)
{
	struct inner_call *it = (struct inner_call *)job;

	(void)ctx;
	it->code = skua_run(it->rt, fib_root, &it->fib);
}

static void fork_calls(struct skua_ctx ctx, void *arg)
{
	struct inner_call *calls = arg;
	struct skua_scope scope = skua_scope_begin(ctx);

	for (unsigned i = 0; i < 8; i++)
		skua_scope_fork(&scope, &calls[i].job);
	skua_scope_join(&scope);
}

TEST(run__within_jobs__right)
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct inner_call calls[8];

		for (unsigned i = 0; i < COUNT_OF(calls); i++)
			calls[i] = (struct inner_call){ .job = { inner_run },
							.rt = rt,
							.fib = { .n = FIB_N } };
		assert_int_equal(skua_run(rt, fork_calls, calls), 0);
		for (unsigned i = 0; i < COUNT_OF(calls); i++) {
			assert_int_equal(calls[i].code, 0);
			assert_int_equal(calls[i].fib.result, FIB_RESULT);
		}
		destroy(rt);
	}
}

/* ---- many callers ------------------------------------------------------------ */

#define CALLERS 40

struct caller {
	struct skua_runtime *rt;
	struct gate *all_in;
	atomic_u32 *in;
	struct fib_call fib;
	int code;
};

/* All are in their calls at once. */
static void meet_callers(struct skua_ctx ctx, void *arg)
{
	struct caller *caller = arg;

	if (atomic_fetch_add_release(caller->in, 1) == CALLERS - 1)
		gate_open(caller->all_in);
	gate_wait(caller->all_in);
	fib_root(ctx, &caller->fib);
}

static void *call(void *arg)
{
	struct caller *caller = arg;

	caller->code = skua_run(caller->rt, meet_callers, caller);
	return NULL;
}

TEST(run__by_more_threads_than_there_are_places__right)
{
	struct skua_runtime *rt = runtime_new(3, 0);
	struct caller callers[CALLERS];
	pthread_t threads[CALLERS];
	struct gate all_in = { 0 };
	atomic_u32 in = 0;

	for (unsigned i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){ .rt = rt,
					      .all_in = &all_in,
					      .in = &in,
					      .fib = { .n = FIB_N } };
		assert_int_equal(
			pthread_create(&threads[i], NULL, call, &callers[i]),
			0);
	}
	for (unsigned i = 0; i < CALLERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(callers[i].code, 0);
		assert_int_equal(callers[i].fib.result, FIB_RESULT);
	}
	destroy(rt);
}

/* ---- with the rest of the runtime --------------------------------------------- */

/* A call that lasts until it is told to end. */
struct long_call {
	struct skua_runtime *rt;
	struct gate runs;
	struct gate end;
	atomic_u32 ended;
};

static void stay(struct skua_ctx ctx, void *arg)
{
	struct long_call *it = arg;

	(void)ctx;
	gate_open(&it->runs);
	gate_wait(&it->end);
	atomic_store_release(&it->ended, 1);
}

static void *call_long(void *arg)
{
	struct long_call *it = arg;

	assert_int_equal(skua_run(it->rt, stay, it), 0);
	return NULL;
}

static void *end_soon(void *arg)
{
	struct long_call *it = arg;

	for (unsigned i = 0; i < 100; i++)
		sched_yield();
	gate_open(&it->end);
	return NULL;
}

TEST(drain__while_a_call_runs__waits_for_it)
{
	struct long_call it = { .rt = runtime_new(2, 0) };
	pthread_t caller, ender;

	assert_int_equal(pthread_create(&caller, NULL, call_long, &it), 0);
	gate_wait(&it.runs);
	assert_int_equal(pthread_create(&ender, NULL, end_soon, &it), 0);
	assert_int_equal(skua_runtime_drain(it.rt), 0);
	assert_int_equal(atomic_load_acquire(&it.ended), 1);
	pthread_join(caller, NULL);
	pthread_join(ender, NULL);
	destroy(it.rt);
}

TEST(task__while_a_call_runs__runs_too)
{
	struct long_call it = { .rt = runtime_new(1, 0) };
	struct counter counter = COUNTER_INIT;
	pthread_t caller;

	assert_int_equal(pthread_create(&caller, NULL, call_long, &it), 0);
	gate_wait(&it.runs);
	spawn(it.rt, &counter.task);
	join(&counter.task);
	gate_open(&it.end);
	pthread_join(caller, NULL);
	destroy(it.rt);
}

TEST(stats__after_calls__count_no_task)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct fib_call fib = { .n = FIB_N };
	struct skua_stats stats;

	assert_int_equal(skua_run(rt, fib_root, &fib), 0);
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	assert_int_equal(stats.tasks_spawned, 0);
	assert_int_equal(stats.total.tasks_polled, 0);
	destroy(rt);
}

/* ---- what waits for itself --------------------------------------------------- */

struct ends {
	struct skua_runtime *rt;
	int drain, shutdown, destroy;
};

static void end_root(struct skua_ctx ctx, void *arg)
{
	struct ends *ends = arg;

	(void)ctx;
	ends->drain = skua_runtime_drain(ends->rt);
	ends->shutdown = skua_runtime_shutdown(ends->rt, SKUA_FOREVER_NS,
					       SKUA_SHUTDOWN_RUN);
	ends->destroy = skua_runtime_destroy(ends->rt);
}

/* Within the region of another runtime, too. */
static void end_in_another_root(struct skua_ctx ctx, void *arg)
{
	struct ends *ends = arg;
	struct skua_runtime *other = runtime_new(1, 0);

	(void)ctx;
	assert_int_equal(skua_run(other, end_root, arg), 0);
	/* That one is not computed in any more. */
	assert_int_equal(skua_runtime_drain(other), 0);
	destroy(other);
	assert_int_equal(skua_runtime_drain(ends->rt), -EDEADLK);
}

TEST(run__ends_its_runtime__edeadlk)
{
	struct ends ends = { .rt = runtime_new(2, 0) };

	for (unsigned i = 0; i < 2; i++) {
		ends.drain = ends.shutdown = ends.destroy = 0;
		assert_int_equal(skua_run(ends.rt,
					  i ? end_in_another_root : end_root,
					  &ends),
				 0);
		assert_int_equal(ends.drain, -EDEADLK);
		assert_int_equal(ends.shutdown, -EDEADLK);
		assert_int_equal(ends.destroy, -EDEADLK);
	}
	assert_int_equal(skua_runtime_drain(ends.rt), 0);
	destroy(ends.rt);
}

/* ---- past the end ------------------------------------------------------------ */

static void do_nothing(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	(void)job;
}

/* The end of the slots of the place that forks for ever. */
static void *reserve_end;

static void fork_for_ever(struct skua_ctx ctx, void *arg)
{
	struct skua_job *job = arg;

	reserve_end = ctx.forks->end;
	for (;;)
		ctx = skua_fork(ctx, job);
}

static void run_for_ever(struct skua_runtime *rt)
{
	struct skua_job job = { do_nothing };

	skua_run(rt, fork_for_ever, &job);
}

static enum skua_poll poll_for_ever(struct skua_task *self)
{
	struct skua_job job = { do_nothing };

	fork_for_ever(skua_task_ctx(self), &job);
	return SKUA_DONE;
}

static void spawn_for_ever(struct skua_runtime *rt)
{
	struct skua_task task;

	skua_task_init(&task, poll_for_ever);
	skua_runtime_block_on(rt, &task);
}

static void stolen_for_ever(struct skua_ctx ctx, struct skua_job *self)
{
	struct skua_job job = { do_nothing };

	(void)self;
	fork_for_ever(ctx, &job);
}

/* Fork a job until a worker takes it. */
static void wait_for_thief(struct skua_ctx ctx, void *arg)
{
	struct skua_job job = { stolen_for_ever };
	struct skua_ctx inner;

	(void)arg;
	do {
		inner = skua_fork(ctx, &job);
		for (unsigned i = 0; i < 100; i++)
			sched_yield();
	} while (skua_reclaim(inner, &job));
}

static void run_stolen_for_ever(struct skua_runtime *rt)
{
	skua_run(rt, wait_for_thief, NULL);
}

static void at_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	_exit(info->si_addr == reserve_end ? 42 : 1);
}

static void expect_guard(void (*forks)(struct skua_runtime *rt))
{
	const struct sigaction action = { .sa_sigaction = at_fault,
					  .sa_flags = SA_SIGINFO };
	pid_t child = without_core();
	int status;

	if (child == 0) {
		sigaction(SIGSEGV, &action, NULL);
		forks(runtime_new(2, 0));
		_exit(0);
	}
	status = status_of(child);
	if (SKUA_FORK_CHECKS) {
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
	} else {
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 42);
	}
}

/* An external thread, a worker in a poll, and a worker that runs a stolen job. */
TEST(fork__past_the_reserve__ends_the_program)
{
	if (SANITIZED) {
		skip_aloud("a sanitizer handles the signal itself");
		return;
	}
	expect_guard(run_for_ever);
	expect_guard(spawn_for_ever);
	expect_guard(run_stolen_for_ever);
}

/* Is there a guard page behind the slots of worker @i? Then the kernel cannot read it. */
static bool is_guarded(const struct skua_runtime *rt, unsigned i)
{
	const struct split_deque *deque =
		&rt->pool.workers[i]->fork_join->deque;

	return access((const char *)deque->inlined.end, F_OK) != 0 &&
	       errno == EFAULT;
}

static enum skua_poll poll_ctx(struct skua_task *self)
{
	assert_non_null(skua_task_ctx(self).forks);
	return SKUA_DONE;
}

/* A guard page takes a page of page tables, so that the unmapping at the end interrupts
 * other CPUs. The other worker has one, too, if it looks for jobs meanwhile. */
TEST(guard__worker_forks__made_then)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_task task;

	assert_false(is_guarded(rt, 0));
	assert_false(is_guarded(rt, 1));
	skua_task_init(&task, poll_ctx);
	assert_int_equal(skua_task_spawn_on(rt, 1, &task), 0);
	join(&task);
	assert_true(is_guarded(rt, 1));
	destroy(rt);
}

/* Is the mapping of a line of smaps the one with @at? @was: the answer for the line before. */
static bool is_within(const char *line, const void *at, bool was)
{
	uintptr_t from, to;

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) != 2)
		return was;
	return (uintptr_t)at >= from && (uintptr_t)at < to;
}

/* Does the kernel keep large pages away from @at? Its flag for that is "nh". */
static bool keeps_small_pages(const void *at)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	bool within = false, small = false;
	char line[500];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		within = is_within(line, at, within);
		if (within && strncmp(line, "VmFlags:", 8) == 0)
			small = strstr(line, " nh") != NULL;
	}
	fclose(file);
	return small;
}

static void find_slots(struct skua_ctx ctx, void *arg)
{
	*(void ***)arg = ctx.head;
}

/* In a large page, a first fork would take the memory of the places beside its own. */
TEST(slots__large_pages_everywhere__none_for_a_fork)
{
	struct skua_runtime *rt;
	void **outside;

	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
		skip_aloud("the kernel has no large pages");
		return;
	}
	rt = runtime_new(2, 0);
	assert_int_equal(skua_run(rt, find_slots, &outside), 0);
	assert_true(keeps_small_pages(outside));
	for (unsigned i = 0; i < 2; i++)
		assert_true(keeps_small_pages(
			rt->pool.workers[i]->fork_join->deque.slots));
	destroy(rt);
}
