/* SPDX-License-Identifier: MIT */
/* test_blocking.c - functions that run on the pool of threads for calls that block */
#include <dlfcn.h>
#include <sys/syscall.h>

#include "core/runtime/runtime.h"
#include "tests/unit/process.h"
#include "tests/unit/users.h"

/* ---- threads that cannot be created ----------------------------------------- */

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

/* ---- calls ------------------------------------------------------------------- */

/* A call, and what it has seen. */
struct job {
	struct skua_blocking call; /* first: a call is its job */
	struct skua_runtime *rt;
	uint64_t deadline_ns;
	struct gate begun;
	struct gate go_on;
	struct gate over; /* the call of call_until_over() has returned */
	unsigned runs;
	pid_t thread;
	char name[16];
	unsigned order;
	int code;
};

static atomic_u32 begun;

static void run_job(struct skua_blocking *self)
{
	struct job *it = (struct job *)self;

	it->runs++;
	it->thread = gettid();
	pthread_getname_np(pthread_self(), it->name, sizeof(it->name));
	/* Relaxed: a count. */
	it->order = atomic_fetch_add_relaxed(&begun, 1);
	gate_open(&it->begun);
}

static void run_held(struct skua_blocking *self)
{
	run_job(self);
	gate_wait(&((struct job *)self)->go_on);
}

#define JOB_INIT(fn)                                                      \
	{                                                                 \
		.call = SKUA_BLOCKING_INIT(fn), .deadline_ns = FOREVER_NS \
	}
#define FOREVER_NS SKUA_FOREVER_NS

static int call_it(struct user *it)
{
	struct job *job = it->object;

	return skua_blocking_call(job->rt, &job->call, job->deadline_ns);
}

/* Runs are over. Read under the lock. */
static struct area_blocking figures(struct skua_runtime *rt)
{
	struct area_blocking area;

	waiters_lock(&rt->blocking.waiters);
	area = rt->blocking.area;
	waiters_unlock(&rt->blocking.waiters);
	return area;
}

static void wait_for_queue(struct skua_runtime *rt, uint32_t queued,
			   uint32_t waiting)
{
	while (figures(rt).queued != queued || figures(rt).waiting != waiting)
		sched_yield();
}

static void wait_for_pool(struct skua_runtime *rt, uint32_t threads)
{
	while (figures(rt).threads != threads)
		sched_yield();
}

ALL_TESTS(process_settle, NULL);

TEST(call__null__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct job job = JOB_INIT(NULL);

	assert_int_equal(skua_blocking_call(NULL, &job.call, 0), -EINVAL);
	assert_int_equal(skua_blocking_call(rt, NULL, 0), -EINVAL);
	assert_int_equal(skua_blocking_call(rt, &job.call, 0), -EINVAL);
	assert_int_equal(skua_blocking_start(NULL, &job.call, 0), -EINVAL);
	assert_int_equal(skua_blocking_poll(NULL, &job.call, 0), -EINVAL);
	assert_int_equal(skua_blocking_poll(NULL, NULL, 0), -EINVAL);
	destroy(rt);
}

TEST(call__by_fiber_or_thread__runs_on_a_thread_of_the_pool)
{
	struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(figures(rt).threads, 0);
	for (unsigned fiber = 0; fiber < 2; fiber++) {
		struct job job = JOB_INIT(run_job);

		job.rt = rt;
		assert_int_equal(user_run(rt, fiber, call_it, &job), 0);
		assert_int_equal(job.runs, 1);
		assert_int_not_equal(job.thread, gettid());
		assert_string_equal(job.name, "skua-block");
	}
	assert_int_equal(figures(rt).threads, 1);
	assert_int_equal(figures(rt).queued, 0);
	end(rt, before);
}

/* On one worker: the second fiber runs only if the first holds up nobody. */
static int open_gate(struct user *it)
{
	gate_open(it->object);
	return 0;
}

TEST(call__that_blocks__worker_is_free)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct job job = JOB_INIT(run_held);
	struct user first = { .number = 0 };

	job.rt = rt;
	user_start(&first, rt, true, call_it, &job);
	gate_wait(&job.begun);
	assert_int_equal(user_run(rt, true, open_gate, &job.go_on), 0);
	assert_int_equal(user_end(&first), 0);
	destroy(rt);
}

static void run_nested(struct skua_blocking *self)
{
	struct job *it = (struct job *)self;
	struct job inner = JOB_INIT(run_job);

	run_job(self);
	it->code = skua_blocking_call(it->rt, &inner.call, 0);
	it->code |= inner.runs == 1 && inner.thread == gettid() ? 0 : -1;
}

TEST(call__by_a_call__runs_directly)
{
	struct skua_runtime *rt = RUNTIME(.workers = 1, .blocking_threads = 1);
	struct job job = JOB_INIT(run_nested);

	job.rt = rt;
	assert_int_equal(user_run(rt, true, call_it, &job), 0);
	assert_int_equal(job.code, 0);
	destroy(rt);
}

static enum skua_poll call_by_poll(struct skua_task *self)
{
	struct holder *holder = (struct holder *)self;
	struct job job = JOB_INIT(run_job);

	job.rt = skua_task_runtime(self);
	assert_int_equal(skua_blocking_call(job.rt, &job.call, FOREVER_NS),
			 -EDEADLK);
	assert_int_equal(job.runs, 0);
	gate_open(&holder->running);
	return SKUA_DONE;
}

static void call_in_run(struct skua_ctx ctx, void *arg)
{
	struct job *job = arg;

	(void)ctx;
	job->code = skua_blocking_call(job->rt, &job->call, FOREVER_NS);
}

TEST(call__in_poll_or_run__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = { .task = SKUA_TASK_INIT(call_by_poll) };
	struct job job = JOB_INIT(run_job);

	spawn(rt, &holder.task);
	join(&holder.task);
	job.rt = rt;
	assert_int_equal(skua_run(rt, call_in_run, &job), 0);
	assert_int_equal(job.code, -EDEADLK);
	assert_int_equal(job.runs, 0);
	destroy(rt);
}

static void run_destroy(struct skua_blocking *self)
{
	struct job *it = (struct job *)self;

	it->runs++;
	it->code = skua_runtime_destroy(it->rt);
}

TEST(destroy__in_a_call__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct job job = JOB_INIT(run_destroy);

	job.rt = rt;
	assert_int_equal(user_run(rt, false, call_it, &job), 0);
	assert_int_equal(job.code, -EDEADLK);
	destroy(rt);
}

/* ---- bounds ------------------------------------------------------------------ */

#define CALLERS 10

TEST(calls__more_than_threads__queued_in_their_order)
{
	struct belongings before = belongings();
	struct skua_runtime *rt = RUNTIME(.workers = 2, .blocking_threads = 1,
					  .blocking_queued = CALLERS / 2);
	struct job jobs[CALLERS];
	struct user users[CALLERS] = { 0 };

	atomic_store_relaxed(&begun, 0);
	for (unsigned i = 0; i < CALLERS; i++) {
		jobs[i] = (struct job)JOB_INIT(run_held);
		jobs[i].rt = rt;
		user_start(&users[i], rt, i % 2, call_it, &jobs[i]);
		if (i == 0)
			gate_wait(&jobs[0].begun);
		else if (i <= CALLERS / 2)
			wait_for_queue(rt, i, 0);
		else
			wait_for_queue(rt, CALLERS / 2, i - CALLERS / 2);
	}
	assert_int_equal(figures(rt).threads, 1);
	assert_int_equal(figures(rt).running, 1);
	assert_int_equal(figures(rt).max_threads, 1);
	assert_int_equal(figures(rt).max_queued, CALLERS / 2);
	for (unsigned i = 0; i < CALLERS; i++) {
		gate_wait(&jobs[i].begun);
		gate_open(&jobs[i].go_on);
		assert_int_equal(user_end(&users[i]), 0);
		assert_int_equal(jobs[i].order, i);
	}
	end(rt, before);
}

TEST(calls__up_to_the_limit__run_at_the_same_time)
{
	struct skua_runtime *rt =
		RUNTIME(.workers = 1, .blocking_threads = CALLERS);
	struct job jobs[CALLERS];
	struct user users[CALLERS] = { 0 };

	for (unsigned i = 0; i < CALLERS; i++) {
		jobs[i] = (struct job)JOB_INIT(run_held);
		jobs[i].rt = rt;
		user_start(&users[i], rt, true, call_it, &jobs[i]);
	}
	for (unsigned i = 0; i < CALLERS; i++)
		gate_wait(&jobs[i].begun);
	assert_int_equal(figures(rt).running, CALLERS);
	for (unsigned i = 0; i < CALLERS; i++) {
		gate_open(&jobs[i].go_on);
		assert_int_equal(user_end(&users[i]), 0);
	}
	assert_int_equal(figures(rt).threads, CALLERS);
	destroy(rt);
}

/* ---- deadlines and cancels ----------------------------------------------------- */

/* A runtime whose only thread of the pool runs the first job. */
struct busy {
	struct skua_runtime *rt;
	struct job first;
	struct user user;
};

static void busy_begin(struct busy *it)
{
	*it = (struct busy){ .first = JOB_INIT(run_held) };
	it->rt = RUNTIME(.workers = 1, .blocking_threads = 1,
			 .blocking_queued = 1);
	it->first.rt = it->rt;
	user_start(&it->user, it->rt, true, call_it, &it->first);
	gate_wait(&it->first.begun);
}

static void busy_end(struct busy *it)
{
	gate_open(&it->first.go_on);
	assert_int_equal(user_end(&it->user), 0);
	destroy(it->rt);
}

TEST(call__deadline_while_queued__etimedout_and_not_run)
{
	struct busy busy;

	busy_begin(&busy);
	for (unsigned i = 0; i < 4; i++) {
		struct job job = JOB_INIT(run_job);

		job.rt = busy.rt;
		job.deadline_ns = i < 2 ? skua_now_ns() + 1000000 : 0;
		assert_int_equal(user_run(busy.rt, i % 2, call_it, &job),
				 -ETIMEDOUT);
		assert_int_equal(job.runs, 0);
		assert_int_equal(figures(busy.rt).queued, 0);
	}
	busy_end(&busy);
}

/* The wait for a place, too. The one behind gets it, and then runs. */
TEST(call__deadline_while_it_has_no_place__next_moves_up)
{
	struct busy busy;
	struct job jobs[3];
	struct user users[3] = { 0 };

	busy_begin(&busy);
	for (unsigned i = 0; i < 3; i++) {
		jobs[i] = (struct job)JOB_INIT(run_job);
		jobs[i].rt = busy.rt;
		if (i == 1)
			jobs[i].deadline_ns = skua_now_ns() + 1000000;
		user_start(&users[i], busy.rt, i % 2, call_it, &jobs[i]);
		wait_for_queue(busy.rt, 1, i == 2);
		if (i == 1)
			assert_int_equal(user_end(&users[1]), -ETIMEDOUT);
	}
	gate_open(&busy.first.go_on);
	assert_int_equal(user_end(&users[0]), 0);
	assert_int_equal(user_end(&users[2]), 0);
	assert_int_equal(jobs[1].runs, 0);
	busy_end(&busy);
}

static int call_until_over(struct user *it)
{
	struct job *job = it->object;
	int code = call_it(it);

	gate_open(&job->over);
	return code;
}

/* Begin a call that waits for the job's gate. Return: false if the deadline came first. */
static bool call_begins(struct job *job, struct user *user, bool fiber)
{
	job->deadline_ns = skua_now_ns() + 20000000;
	user_start(user, job->rt, fiber, call_until_over, job);
	while (!gate_is_open(&job->begun) && !gate_is_open(&job->over))
		sched_yield();
	if (gate_is_open(&job->begun))
		return true;
	assert_int_equal(user_end(user), -ETIMEDOUT);
	return false;
}

TEST(call__deadline_while_it_runs__waited_for)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned fiber = 0; fiber < 2; fiber++) {
		struct user user = { .number = 0 };
		struct job job;

		do {
			job = (struct job)JOB_INIT(run_held);
			job.rt = rt;
			user = (struct user){ .number = 0 };
		} while (!call_begins(&job, &user, fiber));
		while (skua_now_ns() < job.deadline_ns)
			sched_yield();
		gate_open(&job.go_on);
		assert_int_equal(user_end(&user), 0);
	}
	destroy(rt);
}

TEST(call__fiber_cancelled__ecanceled_unless_it_runs)
{
	struct busy busy;
	struct job job = JOB_INIT(run_job);
	struct user user = { .number = 0 };

	busy_begin(&busy);
	job.rt = busy.rt;
	user_start(&user, busy.rt, true, call_it, &job);
	wait_for_queue(busy.rt, 1, 0);
	assert_int_equal(skua_task_cancel(&user.fiber.task), 0);
	assert_int_equal(user_end(&user), -ECANCELED);
	assert_int_equal(job.runs, 0);
	assert_int_equal(skua_task_cancel(&busy.user.fiber.task), 0);
	busy_end(&busy);
}

/* ---- polls --------------------------------------------------------------------- */

/* Starts a call and waits for its end; in between it does as it is told. */
struct caller {
	struct skua_task task; /* first: a task is its caller */
	struct job job;
	uint64_t deadline_ns; /* of the end */
	struct gate started;
	atomic_u32 polls;
	bool cancels;
	int start, cancel, again, end, late;
};

static enum skua_poll caller_poll(struct skua_task *self)
{
	struct caller *it = (struct caller *)self;

	/* Relaxed: a count. */
	atomic_fetch_add_relaxed(&it->polls, 1);
	if (!gate_is_open(&it->started)) {
		it->start = skua_blocking_start(self, &it->job.call,
						it->job.deadline_ns);
		if (it->start == -EAGAIN)
			return SKUA_PENDING;
		it->again = skua_blocking_start(self, &it->job.call, 0);
		gate_open(&it->started);
		if (it->start)
			return SKUA_DONE;
		if (it->cancels) {
			it->cancel = skua_wait_cancel(self, &it->job.call.wait);
			if (it->cancel == 0)
				return SKUA_DONE;
		}
	}
	it->end = skua_blocking_poll(self, &it->job.call, it->deadline_ns);
	if (it->end == -EAGAIN)
		return SKUA_PENDING;
	it->late = skua_blocking_poll(self, &it->job.call, FOREVER_NS);
	return SKUA_DONE;
}

static void caller_init(struct caller *it, void (*fn)(struct skua_blocking *))
{
	*it = (struct caller){
		.task = SKUA_TASK_INIT(caller_poll),
		.job = JOB_INIT(fn),
		.deadline_ns = FOREVER_NS,
	};
}

TEST(start__poll__runs)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct caller it;

	for (unsigned i = 0; i < 100; i++) {
		caller_init(&it, run_job);
		spawn(rt, &it.task);
		join(&it.task);
		assert_int_equal(it.start, 0);
		assert_int_equal(it.again, 0);
		assert_int_equal(it.end, 0);
		assert_int_equal(it.late, -EINVAL);
		assert_int_equal(it.job.runs, 1);
	}
	assert_int_equal(skua_blocking_start(&it.task, &it.job.call, 0),
			 -EPERM);
	assert_int_equal(skua_blocking_poll(&it.task, &it.job.call, 0), -EPERM);
	destroy(rt);
}

TEST(start__queue_full__eagain_until_there_is_a_place)
{
	struct busy busy;
	struct caller first, second;

	busy_begin(&busy);
	caller_init(&first, run_held);
	caller_init(&second, run_job);
	spawn(busy.rt, &first.task);
	wait_for_queue(busy.rt, 1, 0);
	gate_wait(&first.started);
	spawn(busy.rt, &second.task);
	wait_for_queue(busy.rt, 1, 1);
	wait_until_waiting(&second.task);
	assert_false(gate_is_open(&second.started));
	gate_open(&busy.first.go_on);
	gate_wait(&second.started);
	gate_open(&first.job.go_on);
	join(&first.task);
	join(&second.task);
	assert_int_equal(first.end, 0);
	assert_int_equal(second.start, 0);
	assert_int_equal(second.end, 0);
	assert_int_equal(second.job.runs, 1);
	busy_end(&busy);
}

TEST(start__queue_full_until_deadline__etimedout)
{
	struct busy busy;
	struct caller first, second;

	busy_begin(&busy);
	caller_init(&first, run_job);
	caller_init(&second, run_job);
	spawn(busy.rt, &first.task);
	wait_for_queue(busy.rt, 1, 0);
	second.job.deadline_ns = skua_now_ns() + 1000000;
	spawn(busy.rt, &second.task);
	join(&second.task);
	assert_int_equal(second.start, -ETIMEDOUT);
	assert_int_equal(second.again, -ETIMEDOUT);
	assert_int_equal(second.job.runs, 0);
	gate_open(&busy.first.go_on);
	join(&first.task);
	busy_end(&busy);
}

TEST(poll__deadline_while_queued__etimedout_and_not_run)
{
	struct busy busy;
	struct caller it;

	busy_begin(&busy);
	caller_init(&it, run_job);
	it.deadline_ns = skua_now_ns() + 1000000;
	spawn(busy.rt, &it.task);
	join(&it.task);
	assert_int_equal(it.start, 0);
	assert_int_equal(it.end, -ETIMEDOUT);
	assert_int_equal(it.late, -EINVAL);
	assert_int_equal(it.job.runs, 0);
	busy_end(&busy);
}

TEST(wait_cancel__queued__not_run)
{
	struct busy busy;
	struct caller it;

	busy_begin(&busy);
	caller_init(&it, run_job);
	it.cancels = true;
	spawn(busy.rt, &it.task);
	join(&it.task);
	assert_int_equal(it.start, 0);
	assert_int_equal(it.cancel, 0);
	assert_int_equal(it.job.runs, 0);
	busy_end(&busy);
}

static enum skua_poll cancel_running(struct skua_task *self)
{
	struct caller *it = (struct caller *)self;

	if (!gate_is_open(&it->started)) {
		it->start = skua_blocking_start(self, &it->job.call, 0);
		it->start =
			skua_blocking_start(self, &it->job.call, FOREVER_NS);
		gate_open(&it->started);
		gate_wait(&it->job.begun);
		it->cancel = skua_wait_cancel(self, &it->job.call.wait);
		gate_open(&it->job.go_on);
	}
	it->end = skua_blocking_poll(self, &it->job.call, 0);
	return it->end == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

TEST(wait_cancel__running__ealready_and_waited_for)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct caller it;

	caller_init(&it, run_held);
	it.task = (struct skua_task)SKUA_TASK_INIT(cancel_running);
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.start, 0);
	assert_int_equal(it.cancel, -EALREADY);
	assert_int_equal(it.end, 0);
	destroy(rt);
}

/* ---- no thread ----------------------------------------------------------------- */

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

/* ---- ends ---------------------------------------------------------------------- */

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

/* ---- configuration --------------------------------------------------------------- */

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
