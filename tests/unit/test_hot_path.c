/* SPDX-License-Identifier: MIT */
/* test_hot_path.c - busy workers and waiting fibers: no allocation, and no system call,
 * but once a second (core/runtime/affinity.h), which is put off here */
#define SUPPORT_FAIL_ALLOCATIONS
#include "core/loop/current.h"
#include "core/loop/worker.h"
#include "tests/unit/meeting.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define NO_FILTER "the kernel does not let a thread filter its system calls"

/* ---- the work ---------------------------------------------------------------- */

/* Spawned by the driver; wakes it, and ends. */
struct child {
	struct skua_task task; /* first: a task is its child */
	struct skua_waker waker;
	unsigned polls;
};

static enum skua_poll child_poll(struct skua_task *self)
{
	struct child *it = (struct child *)self;

	if (it->polls++ % 2 == 0)
		return SKUA_YIELD;
	skua_waker_wake_by_ref(it->waker);
	skua_waker_drop(it->waker);
	return SKUA_DONE;
}

/* One of each kind: in a group, urgent, bound, and of none. */
enum { MEMBER, URGENT, BOUND, PLAIN, CHILDREN };

/* ---- the driver ----------------------------------------------------------------- */

/*
 * Goes through all that must cost nothing: spawn, wake, coalesced wake,
 * clone, drop, join, yield, pending, a group, a timer that is cancelled; with
 * tasks in the LIFO slot, the local queue, the urgent lane, an inbox and, as the
 * queue is small, in the injection queue.
 */
struct hot_driver {
	struct skua_task task; /* first: a task is its driver */
	struct child children[CHILDREN];
	struct skua_group group; /* of one child */
	struct skua_timer timer;
	unsigned running; /* children not yet joined, as bits */
	unsigned rounds;
	unsigned wrong;
	bool (*begin)(struct hot_driver *it); /* before the first round */
	void (*end)(struct hot_driver *it);   /* after the last */
	bool begun;
	struct meeting meeting;
	struct hot_driver *all; /* the last of these to be done ends all */
	unsigned count;
	atomic_u32 done;
};

static int spawn_child(struct hot_driver *it, unsigned n)
{
	struct skua_runtime *rt = runtime_of_task(&it->task);
	struct skua_task *task = &it->children[n].task;

	if (n == MEMBER)
		return skua_group_spawn(&it->group, task);
	if (n == BOUND)
		return skua_task_spawn_on(rt, (unsigned)skua_worker_index(rt),
					  task);
	return skua_task_spawn(rt, task);
}

static void spawn_children(struct hot_driver *it)
{
	for (unsigned n = 0; n < CHILDREN; n++) {
		struct child *child = &it->children[n];
		struct skua_waker waker = skua_task_waker(&it->task);

		child->waker = skua_waker_clone(waker);
		skua_waker_wake(waker); /* coalesces */
		it->wrong += spawn_child(it, n) != 0;
		it->running |= 1u << n;
	}
}

static void join_children(struct hot_driver *it)
{
	for (unsigned n = 0; n < CHILDREN; n++) {
		int code;

		if (!(it->running & 1u << n))
			continue;
		code = n == MEMBER ? skua_group_wait_poll(&it->task, &it->group)
				   : skua_task_join_poll(&it->task,
							 &it->children[n].task);
		if (code == 0 && n == MEMBER) /* a member cannot be joined */
			skua_task_init(&it->children[n].task, child_poll);
		if (code == 0)
			it->running &= ~(1u << n);
		else
			it->wrong += code != -EAGAIN;
	}
}

/* Has each driver done its rounds? Nobody stops while somebody counts. */
static bool all_done(struct hot_driver *it)
{
	for (unsigned n = 0; n < it->count; n++) {
		if (!atomic_load_acquire(&it->all[n].done))
			return false;
	}
	return true;
}

static enum skua_poll hot_driver_poll(struct skua_task *self)
{
	struct hot_driver *it = (struct hot_driver *)self;

	if (!it->begun) {
		it->begun = true;
		skua_group_init(&it->group, runtime_of_task(self));
		it->wrong += !it->begin(it);
		atomic_store_release(&it->meeting.phase, MEET_NOW);
	}
	join_children(it);
	if (it->running)
		return SKUA_PENDING;
	it->rounds++;
	if (it->rounds >= ROUNDS && meeting_over(&it->meeting))
		atomic_store_release(&it->done, 1);
	if (it->rounds >= ROUNDS && all_done(it)) {
		it->end(it);
		atomic_store_release(&it->meeting.phase, MEET_NO_MORE);
		return SKUA_DONE;
	}
	if (it->rounds % 4 == 0)
		return SKUA_YIELD;
	it->wrong += skua_timer_add(&it->task, &it->timer, UINT64_MAX - 1) != 0;
	it->wrong += !skua_timer_cancel(&it->timer);
	spawn_children(it);
	return SKUA_PENDING;
}

static void hot_driver_init(struct hot_driver *it, struct hot_driver *all,
			    unsigned count,
			    bool (*begin)(struct hot_driver *it),
			    void (*end)(struct hot_driver *it))
{
	*it = (struct hot_driver){ .task = SKUA_TASK_INIT(hot_driver_poll),
				   .begin = begin,
				   .end = end,
				   .all = all,
				   .count = count };
	for (unsigned n = 0; n < CHILDREN; n++)
		it->children[n].task =
			(struct skua_task)SKUA_TASK_INIT(child_poll);
	skua_task_set_urgent(&it->children[URGENT].task, true);
}

/* The calling worker does not look where it may run. */
static void put_off_look(void)
{
	current_here()->affinity_due_ns = UINT64_MAX;
}

/* ---- system calls ------------------------------------------------------------------ */

/* They come first: they fork, and want no threads before that. */

#define CHILD_PASSED 0
#define CHILD_FAILED 1
#define CHILD_CANNOT 77

/*
 * From here on, the calling thread may end the process, and read the clock
 * where that is a system call. Any other one ends the process by SIGSYS.
 */
static bool allow_no_system_call(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_gettime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog program = { COUNT_OF(filter), filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool filter_or_give_up(struct hot_driver *it)
{
	(void)it;
	put_off_look();
	if (!allow_no_system_call())
		_exit(CHILD_CANNOT);
	return true;
}

static bool filter_and_call(struct hot_driver *it)
{
	filter_or_give_up(it);
	sched_yield();
	return true;
}

static void end_process(struct hot_driver *it)
{
	unsigned wrong = 0;

	for (unsigned n = 0; n < it->count; n++)
		wrong += it->all[n].wrong + meeting_wrong(&it->all[n].meeting);
	_exit(wrong ? CHILD_FAILED : CHILD_PASSED);
}

/* Keeps its worker busy, whatever the others take from it. */
static enum skua_poll yield_for_ever(struct skua_task *self)
{
	gate_open(&((struct waiter *)self)->end); /* here: it runs */
	return SKUA_YIELD;
}

/* In a child: @count workers, each bound to no system call. */
static void run_filtered(unsigned count, bool (*begin)(struct hot_driver *it))
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .workers = count,
					 .queue_capacity = 4 };
	static struct hot_driver both[2];
	static struct waiter ballast[2];
	struct skua_runtime *rt;

	if (skua_runtime_create(&rt, &cfg, NULL) != 0)
		_exit(CHILD_FAILED);
	for (unsigned n = 0; n < count; n++) {
		hot_driver_init(&both[n], both, count, begin, end_process);
		if (!meeting_begin(&both[n].meeting, rt, n))
			_exit(CHILD_FAILED);
	}
	for (unsigned n = 0; n < count; n++) {
		skua_task_init(&ballast[n].task, yield_for_ever);
		if (skua_task_spawn_on(rt, n, &ballast[n].task) != 0)
			_exit(CHILD_FAILED);
		gate_wait(&ballast[n].end);
	}
	for (unsigned n = 0; n < count; n++) {
		if (skua_task_spawn_on(rt, n, &both[n].task) != 0)
			_exit(CHILD_FAILED);
	}
	skua_runtime_drain(rt);
	_exit(CHILD_FAILED); /* a driver should have ended it */
}

static int status_of_filtered(unsigned count,
			      bool (*begin)(struct hot_driver *it))
{
	pid_t child = without_core();

	if (child == 0)
		run_filtered(count, begin);
	return status_of(child);
}

static void expect_no_system_call(unsigned count)
{
	int status = status_of_filtered(count, filter_or_give_up);

	if (WIFSIGNALED(status))
		fail_msg("%u workers: ended by signal %d%s", count,
			 WTERMSIG(status),
			 WTERMSIG(status) == SIGSYS ? ": a system call" : "");
	if (WEXITSTATUS(status) == CHILD_CANNOT)
		skip_aloud(NO_FILTER);
	else
		assert_int_equal(WEXITSTATUS(status), CHILD_PASSED);
}

TEST(hot_path__one_busy_worker__makes_no_system_call)
{
	expect_no_system_call(1);
}

TEST(hot_path__two_busy_workers__make_no_system_call)
{
	expect_no_system_call(2);
}

TEST(hot_path__one_system_call__is_found)
{
	int status;

	status = status_of_filtered(1, filter_and_call);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_CANNOT) {
		skip_aloud(NO_FILTER);
		return;
	}
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

/* ---- allocations ---------------------------------------------------------------- */

static bool count_allocations(struct hot_driver *it)
{
	(void)it;
	put_off_look();
	/* The first one would fail, and be noted. */
	allocations_begin(1);
	return true;
}

static void expect_no_allocation(struct hot_driver *it)
{
	it->wrong += allocations_failed();
	allocations_end();
}

TEST(hot_path__one_busy_worker__allocates_nothing)
{
	struct skua_runtime *rt;
	struct hot_driver it;

	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	rt = runtime_new(1, 4);
	hot_driver_init(&it, &it, 1, count_allocations, expect_no_allocation);
	assert_true(meeting_begin(&it.meeting, rt, 0));
	spawn(rt, &it.task);
	join(&it.task);
	meeting_end(&it.meeting);
	assert_int_equal(it.wrong + meeting_wrong(&it.meeting), 0);
	assert_true(it.rounds >= ROUNDS);
	destroy(rt);
}

/* The means find what they are for. */
static bool count_and_allocate(struct hot_driver *it)
{
	void *volatile memory;

	count_allocations(it);
	memory = malloc(1);
	free(memory);
	it->rounds = ROUNDS - 1;
	return true;
}

TEST(hot_path__one_allocation__is_found)
{
	struct skua_runtime *rt;
	struct hot_driver it;

	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	rt = runtime_new(1, 0);
	hot_driver_init(&it, &it, 1, count_and_allocate, expect_no_allocation);
	assert_true(meeting_begin(&it.meeting, rt, 0));
	spawn(rt, &it.task);
	join(&it.task);
	meeting_end(&it.meeting);
	assert_int_equal(it.wrong, 1);
	destroy(rt);
}

int main(void)
{
	if (SANITIZED) {
		fputs("skipped: a sanitizer allocates and makes system calls "
		      "of its own\n",
		      stderr);
		return 77;
	}
	return run_all_tests();
}
