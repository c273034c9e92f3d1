/* SPDX-License-Identifier: MIT */
/* test_blocking_pool.c - the threads of the pool: none to be had, ends, configuration */
#include "tests/unit/blocking_calls.h"

/* ---- threads that cannot be created ------------------------------------- */

#if SANITIZED
#define CAN_FAIL_THREADS 0
#define NO_THREADS_FAIL  "threads cannot be made to fail under a sanitizer"
static int refusal;
#else
#define CAN_FAIL_THREADS 1
#define NO_THREADS_FAIL  ""
/* The result of pthread_create(); 0: it creates a thread. */
static int refusal;

/* Takes the place of the C library's, and forwards to it. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*start)(void *), void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *,
			   void *(*)(void *), void *);

	if (!next) {
		void *symbol = dlsym(RTLD_NEXT, "pthread_create");

		memcpy(&next, &symbol, sizeof(next));
	}
	return refusal ? refusal : next(thread, attr, start, arg);
}
#endif

/* ---- calls -------------------------------------------------------------- */

static void wait_for_pool(struct skua_runtime *rt, uint32_t threads)
{
	while (figures(rt).threads != threads)
		sched_yield();
}

ALL_TESTS(process_settle, NULL);

/* ---- no thread ---------------------------------------------------------- */

static char logged[400];
static atomic_u32 log_lines;

static void note_log(void *ctx, enum skua_log_level level, const char *text)
{
	(void)ctx;
	if (level != SKUA_LOG_WARNING)
		return;
	snprintf(logged, sizeof(logged), "%s", text);
	atomic_fetch_add_relaxed(&log_lines, 1);
}

static const struct skua_hooks hooks = { .log = note_log };

TEST(call__no_thread_to_be_had__enomem_and_logged)
{
	struct skua_runtime *rt = RUNTIME(.workers = 1, .hooks = &hooks);
	struct caller it;

	if (!CAN_FAIL_THREADS) {
		destroy(rt);
		skip_aloud(NO_THREADS_FAIL);
	}
	atomic_store_relaxed(&log_lines, 0);
	for (unsigned fiber = 0; fiber < 2; fiber++) {
		struct job job = JOB_INIT(run_job);
		struct user user = { .number = 0 };

		job.rt = rt;
		refusal = EAGAIN;
		if (!fiber) {
			user.object = &job;
			assert_int_equal(call_it(&user), -ENOMEM);
		} else {
			assert_int_equal(user_run(rt, true, call_it, &job),
					 -ENOMEM);
		}
		refusal = 0;
		assert_int_equal(job.runs, 0);
		assert_int_equal(figures(rt).threads, 0);
		assert_int_equal(figures(rt).queued, 0);
	}
	/* At most once a second. */
	assert_in_range(atomic_load_relaxed(&log_lines), 1, 2);
	assert_non_null(strstr(logged, "pids.max"));
	refusal = EAGAIN;
	caller_init(&it, run_job);
	spawn(rt, &it.task);
	join(&it.task);
	refusal = 0;
	assert_int_equal(it.end, -ENOMEM);
	assert_int_equal(it.job.runs, 0);
	caller_init(&it, run_job);
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.end, 0);
	destroy(rt);
}

TEST(call__pool_has_a_thread_and_gets_no_other__waits_for_it)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct job first = JOB_INIT(run_held), second = JOB_INIT(run_job);
	struct user users[2] = { 0 };

	if (!CAN_FAIL_THREADS) {
		destroy(rt);
		skip_aloud(NO_THREADS_FAIL);
	}
	first.rt = second.rt = rt;
	user_start(&users[0], rt, true, call_it, &first);
	gate_wait(&first.begun);
	refusal = EAGAIN;
	user_start(&users[1], rt, true, call_it, &second);
	wait_for_queue(rt, 1, 0);
	wait_for_pool(rt, 1);
	gate_open(&first.go_on);
	assert_int_equal(user_end(&users[0]), 0);
	assert_int_equal(user_end(&users[1]), 0);
	refusal = 0;
	assert_int_equal(second.thread, first.thread);
	destroy(rt);
}

/* ---- ends --------------------------------------------------------------- */

TEST(pool__idle__ends_its_threads)
{
	struct belongings before = belongings();
	struct skua_runtime *rt =
		RUNTIME(.workers = 1, .blocking_idle_ns = 1000000);
	struct job job = JOB_INIT(run_job);

	before.threads++; /* the worker */
	job.rt = rt;
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(user_run(rt, i % 2, call_it, &job), 0);
		wait_for_pool(rt, 0);
		wait_for_threads(before.threads);
	}
	assert_int_equal(job.runs, 20);
	before.threads--;
	end(rt, before);
}

/* A thread that ends beside a call that comes. */
TEST(pool__threads_end_beside_calls__none_lost)
{
	struct belongings before = belongings();
	struct skua_runtime *rt =
		RUNTIME(.workers = 1, .blocking_idle_ns = 1000);
	struct job job = JOB_INIT(run_job);

	job.rt = rt;
	for (unsigned i = 0; i < 2000; i++) {
		struct user user = { .object = &job };

		assert_int_equal(call_it(&user), 0);
		for (unsigned spin = 0; spin < i % 200 * 50; spin++)
			cpu_relax();
	}
	assert_int_equal(job.runs, 2000);
	end(rt, before);
}

TEST(pool__forever__keeps_its_threads)
{
	struct skua_runtime *rt =
		RUNTIME(.workers = 1, .blocking_idle_ns = SKUA_FOREVER_NS);
	struct job job = JOB_INIT(run_job);
	struct user user = { .object = &job };

	job.rt = rt;
	assert_int_equal(call_it(&user), 0);
	assert_int_equal(figures(rt).threads, 1);
	destroy(rt);
}

TEST(shutdown__outside_call__waited_for_and_later_ones_refused)
{
	struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(1, 0);
	struct job first = JOB_INIT(run_held), late = JOB_INIT(run_job);
	struct user user = { .number = 0 }, later = { .object = &late };

	first.rt = late.rt = rt;
	user_start(&user, rt, false, call_it, &first);
	gate_wait(&first.begun);
	assert_int_equal(skua_runtime_shutdown(rt, 1000000, SKUA_SHUTDOWN_RUN),
			 -ETIMEDOUT);
	assert_int_equal(call_it(&later), -ESHUTDOWN);
	assert_int_equal(late.runs, 0);
	gate_open(&first.go_on);
	assert_int_equal(user_end(&user), 0);
	end(rt, before);
}

TEST(shutdown_cancel__queued_calls_of_fibers__ecanceled)
{
	struct busy busy;
	struct job job = JOB_INIT(run_job);
	struct user user = { .number = 0 };

	busy_begin(&busy);
	job.rt = busy.rt;
	user_start(&user, busy.rt, true, call_it, &job);
	wait_for_queue(busy.rt, 1, 0);
	assert_int_equal(
		skua_runtime_shutdown(busy.rt, 1000000, SKUA_SHUTDOWN_CANCEL),
		-ETIMEDOUT);
	assert_int_equal(user_end(&user), -ECANCELED);
	busy_end(&busy);
}

TEST(call__in_a_runtime_of_the_caller__wakes_it)
{
	struct skua_runtime *rt =
		RUNTIME(.flags = SKUA_CALLER_DRIVEN, .workers = 1);
	struct job job = JOB_INIT(run_job);
	struct user user = { .number = 0 };

	job.rt = rt;
	user_start(&user, rt, true, call_it, &job);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(user_end(&user), 0);
	assert_int_equal(job.runs, 1);
	destroy(rt);
}

static struct skua_runtime *parents;

static int call_in_child(void)
{
	struct job job = JOB_INIT(run_job);

	return skua_blocking_call(parents, &job.call, FOREVER_NS) ==
				       -EOWNERDEAD &&
			       job.runs == 0
		       ? 0
		       : 1;
}

TEST(call__in_child_of_fork__eownerdead)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct job job = JOB_INIT(run_job);
	struct user user = { .object = &job };

	job.rt = rt;
	assert_int_equal(call_it(&user), 0);
	parents = rt;
	assert_int_equal(exit_of(call_in_child), 0);
	assert_int_equal(call_it(&user), 0);
	destroy(rt);
}

/* The child returns from the call: its only thread ends, and then the child. */
static void run_fork(struct skua_blocking *self)
{
	struct job *it = (struct job *)self;

	it->runs++;
	it->thread = fork();
	it->code = call_in_child();
}

TEST(fork__in_a_call__child_ends_when_it_returns)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct job job = JOB_INIT(run_fork);
	struct user user = { .object = &job };

	if (SANITIZED) {
		destroy(rt);
		skip_aloud("a sanitizer's threads do not survive fork()");
	}
	job.rt = parents = rt;
	assert_int_equal(call_it(&user), 0);
	assert_int_equal(job.runs, 1);
	assert_int_equal(job.code, 1); /* the parent's */
	assert_true(WIFEXITED(status_of(job.thread)));
	assert_int_equal(call_it(&user), 0);
	assert_true(WIFEXITED(status_of(job.thread)));
	destroy(rt);
}

/* ---- configuration ------------------------------------------------------ */

static void expect_refused(struct skua_config *cfg, const char *text)
{
	struct skua_runtime *rt;
	struct skua_error err;

	assert_int_equal(skua_runtime_create(&rt, cfg, &err), -EINVAL);
	if (!strstr(err.text, text))
		fail_msg("%s", err.text);
}

TEST(config__out_of_range__refused)
{
	struct skua_config cfg = { .size = sizeof(cfg),
				   .blocking_threads = 4097 };

	expect_refused(&cfg, "blocking_threads: 4097, allowed are 1 to 4096");
	cfg.blocking_threads = 0;
	cfg.blocking_queued = 1000000001;
	expect_refused(&cfg, "blocking_queued: 1000000001");
	cfg.blocking_queued = 0;
	cfg.blocking_idle_ns = 999;
	expect_refused(&cfg, "blocking_idle_ns: 999");
}

TEST(config__default__as_documented)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(figures(rt).max_threads, 64);
	assert_int_equal(figures(rt).max_queued, 1024);
	assert_int_equal(rt->config.blocking_idle_ns, UINT64_C(10000000000));
	destroy(rt);
}

TEST(config__environment__read)
{
	struct skua_runtime *rt;

	setenv("SKUA_BLOCKING_THREADS", "3", 1);
	setenv("SKUA_BLOCKING_QUEUED", "5", 1);
	setenv("SKUA_BLOCKING_IDLE_NS", "forever", 1);
	rt = runtime_new(1, 0);
	assert_int_equal(figures(rt).max_threads, 3);
	assert_int_equal(figures(rt).max_queued, 5);
	assert_int_equal(rt->config.blocking_idle_ns, SKUA_FOREVER_NS);
	destroy(rt);
	unsetenv("SKUA_BLOCKING_THREADS");
	unsetenv("SKUA_BLOCKING_QUEUED");
	unsetenv("SKUA_BLOCKING_IDLE_NS");
}
