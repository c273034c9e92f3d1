/* SPDX-License-Identifier: MIT */
/* blocking_calls.h - calls of the pool of threads, which note what they have seen */
#ifndef SKUA_TESTS_UNIT_BLOCKING_CALLS_H
#define SKUA_TESTS_UNIT_BLOCKING_CALLS_H

#include <dlfcn.h>
#include <sys/syscall.h>

#include "core/runtime/runtime.h"
#include "tests/unit/process.h"
#include "tests/unit/users.h"

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

static inline void run_job(struct skua_blocking *self)
{
	struct job *it = (struct job *)self;

	it->runs++;
	it->thread = gettid();
	pthread_getname_np(pthread_self(), it->name, sizeof(it->name));
	/* Relaxed: a count. */
	it->order = atomic_fetch_add_relaxed(&begun, 1);
	gate_open(&it->begun);
}

static inline void run_held(struct skua_blocking *self)
{
	run_job(self);
	gate_wait(&((struct job *)self)->go_on);
}

#define JOB_INIT(fn)                                                      \
	{                                                                 \
		.call = SKUA_BLOCKING_INIT(fn), .deadline_ns = FOREVER_NS \
	}
#define FOREVER_NS SKUA_FOREVER_NS

static inline int call_it(struct user *it)
{
	struct job *job = it->object;

	return skua_blocking_call(job->rt, &job->call, job->deadline_ns);
}

/* Runs are over. Read under the lock. */
static inline struct area_blocking figures(struct skua_runtime *rt)
{
	struct area_blocking area;

	waiters_lock(&rt->blocking.waiters);
	area = rt->blocking.area;
	waiters_unlock(&rt->blocking.waiters);
	return area;
}

static inline void wait_for_queue(struct skua_runtime *rt, uint32_t queued,
				  uint32_t waiting)
{
	while (figures(rt).queued != queued || figures(rt).waiting != waiting)
		sched_yield();
}

/* A runtime whose only thread of the pool runs the first job. */
struct busy {
	struct skua_runtime *rt;
	struct job first;
	struct user user;
};

static inline void busy_begin(struct busy *it)
{
	*it = (struct busy){ .first = JOB_INIT(run_held) };
	it->rt = RUNTIME(.workers = 1, .blocking_threads = 1,
			 .blocking_queued = 1);
	it->first.rt = it->rt;
	user_start(&it->user, it->rt, true, call_it, &it->first);
	gate_wait(&it->first.begun);
}

static inline void busy_end(struct busy *it)
{
	gate_open(&it->first.go_on);
	assert_int_equal(user_end(&it->user), 0);
	destroy(it->rt);
}

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

static inline enum skua_poll caller_poll(struct skua_task *self)
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

static inline void caller_init(struct caller *it,
			       void (*fn)(struct skua_blocking *))
{
	*it = (struct caller){
		.task = SKUA_TASK_INIT(caller_poll),
		.job = JOB_INIT(fn),
		.deadline_ns = FOREVER_NS,
	};
}

#endif
