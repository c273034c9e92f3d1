/* SPDX-License-Identifier: MIT */
/* test_left.c - hangs: what is left is said, and what it waits for */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/runtime/runtime.h"
#include "skua/group.h"
#include "skua/timer.h"
#include "skua/waker.h"
#include "tests/unit/tasks.h"

#define SECOND_NS UINT64_C(1000000000)

/* ---- a log -------------------------------------------------------------------- */

/* Written by any thread, under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	unsigned count;
	char text[16][280];
} said;

static void keep(void *ctx, enum skua_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	pthread_mutex_lock(&lock);
	if (said.count < 16)
		snprintf(said.text[said.count++], sizeof(said.text[0]), "%s",
			 text);
	pthread_mutex_unlock(&lock);
}

/* How many lines have @part in them. */
static unsigned lines(const char *part)
{
	unsigned count = 0;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < said.count; i++)
		count += strstr(said.text[i], part) != NULL;
	pthread_mutex_unlock(&lock);
	return count;
}

static struct skua_runtime *make(unsigned workers, unsigned flags)
{
	static const struct skua_hooks hooks = { .log = keep };
	struct skua_config cfg = SKUA_CONFIG_INIT;
	struct skua_runtime *rt;

	memset(&said, 0, sizeof(said));
	cfg.workers = workers;
	cfg.hooks = &hooks;
	cfg.flags = SKUA_UNPINNED | SKUA_NO_ENV | flags;
	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), 0);
	return rt;
}

/* Wait until skua_runtime_left() says that. */
static void wait_for_left(struct skua_runtime *rt, const char *part)
{
	struct skua_error what;
	uint64_t end_ns = skua_now_ns() + 20 * SECOND_NS;

	do {
		assert_true(skua_runtime_left(rt, &what) >= 0);
		if (strstr(what.text, part))
			return;
		sched_yield();
	} while (skua_now_ns() < end_ns);
	fail_msg("no '%s' in '%s'", part, what.text);
}

/* ---- tasks that hang ------------------------------------------------------------ */

static const struct skua_task_type type = SKUA_TASK_TYPE("stuck");

/* Its first poll calls this; pending until it is cancelled. */
struct stuck {
	struct skua_task task; /* first: a task is its stuck */
	void (*act)(struct stuck *it);
	struct skua_waker waker;
	struct stuck *other;
	struct skua_group *group;
	struct skua_timer timer;
	bool begun, done_at_once;
};

static enum skua_poll stuck_poll(struct skua_task *self)
{
	struct stuck *it = (struct stuck *)self;

	if (!it->begun && it->act)
		it->act(it);
	it->begun = true;
	if (it->done_at_once || skua_task_cancelled(self))
		return SKUA_DONE;
	return SKUA_PENDING;
}

static void stuck_start(struct skua_runtime *rt, struct stuck *it)
{
	it->task.poll = stuck_poll;
	skua_task_set_type(&it->task, &type);
	spawn(rt, &it->task);
}

static void end(struct skua_runtime *rt, struct stuck *it)
{
	skua_task_cancel(&it->task);
	assert_int_equal(skua_runtime_drain(rt), 0);
}

TEST(left__pending_without_a_waker__no_waker_and_a_hint)
{
	struct skua_runtime *rt = make(2, SKUA_TRACK_TASKS);
	struct stuck one = { .act = NULL }, two = { .act = NULL };

	stuck_start(rt, &one);
	stuck_start(rt, &two);
	wait_for_left(rt, "2 tasks are left: 2 stuck (nothing wakes it)");
	assert_int_equal(lines("nothing refers to it"), 1);
	skua_task_cancel(&one.task);
	end(rt, &two);
	wait_for_left(rt, "0 tasks are left");
	destroy(rt);
}

static void keep_waker(struct stuck *it)
{
	it->waker = skua_task_waker(&it->task);
}

/* By its function, as skua symbolize takes it. */
TEST(left__no_type__its_function)
{
	struct skua_runtime *rt = make(2, SKUA_TRACK_TASKS);
	struct stuck it = { .task.poll = stuck_poll };

	spawn(rt, &it.task);
	wait_for_left(rt,
		      "1 task is left: 1 of no type, polled by test_left+0x");
	end(rt, &it);
	destroy(rt);
}

TEST(left__leaked_waker__for_a_waker)
{
	struct skua_runtime *rt = make(2, SKUA_TRACK_TASKS);
	struct stuck it = { .act = keep_waker };

	stuck_start(rt, &it);
	wait_for_left(rt, "1 task is left: 1 stuck (for a waker)");
	assert_int_equal(lines("nothing refers to it"), 0);
	skua_waker_drop(it.waker);
	end(rt, &it);
	destroy(rt);
}

static struct gate blocked;

static void gate_shut(void)
{
	memset(&blocked, 0, sizeof(blocked));
}

static void block(struct stuck *it)
{
	(void)it;
	while (!gate_is_open(&blocked))
		sched_yield();
}

static void join_other(struct stuck *it)
{
	assert_int_equal(skua_task_join_poll(&it->task, &it->other->task),
			 -EAGAIN);
}

TEST(left__cycle_of_joins__join)
{
	struct skua_runtime *rt = make(1, SKUA_TRACK_TASKS);
	struct stuck a = { .act = join_other }, b = { .act = join_other };
	struct stuck gate = { .act = block, .done_at_once = true };

	a.other = &b;
	b.other = &a;
	gate_shut();
	/* Both are spawned before either is polled. */
	stuck_start(rt, &gate);
	wait_for_left(rt, "(in a poll)");
	stuck_start(rt, &a);
	stuck_start(rt, &b);
	gate_open(&blocked);
	wait_for_left(rt, "2 tasks are left: 2 stuck (join)");
	skua_task_cancel(&a.task);
	skua_task_cancel(&b.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	destroy(rt);
}

static void add_timer(struct stuck *it)
{
	assert_int_equal(skua_timer_add(&it->task, &it->timer,
					skua_now_ns() + 1000 * SECOND_NS),
			 0);
}

TEST(left__timer_left_at_done__waker_left)
{
	struct skua_runtime *rt = make(2, SKUA_TRACK_TASKS);
	struct stuck it = { .act = add_timer, .done_at_once = true };

	stuck_start(rt, &it);
	wait_for_left(rt, "1 stuck (done, timer left)");
	assert_true(skua_timer_cancel(&it.timer));
	join(&it.task);
	destroy(rt);
}

TEST(left__waker_of_a_done_task_dropped__nothing_left)
{
	struct skua_runtime *rt = make(2, SKUA_TRACK_TASKS);
	struct stuck it = { .act = keep_waker, .done_at_once = true };
	struct skua_error what;

	stuck_start(rt, &it);
	wait_for_left(rt, "1 stuck (done, waker left)");
	skua_waker_drop(it.waker);
	join(&it.task);
	assert_int_equal(skua_runtime_left(rt, &what), 0);
	assert_string_equal(what.text, "0 tasks are left");
	destroy(rt);
}

/* The table still has the task, and the memory of it is gone. */
TEST(left__memory_of_an_ended_task_is_unmapped__errno_is_left_alone)
{
	struct skua_runtime *rt = make(2, SKUA_TRACK_TASKS);
	struct stuck *it = mmap(NULL, sizeof(*it), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct skua_error what;

	assert_true(it != MAP_FAILED);
	it->act = keep_waker;
	it->done_at_once = true;
	stuck_start(rt, it);
	wait_for_left(rt, "1 stuck (done, waker left)");
	skua_waker_drop(it->waker);
	join(&it->task);
	munmap(it, sizeof(*it));
	errno = 123;
	assert_int_equal(skua_runtime_left(rt, &what), 0);
	assert_int_equal(errno, 123);
	assert_string_equal(what.text, "0 tasks are left");
	destroy(rt);
}

static void wait_group(struct stuck *it)
{
	assert_int_equal(skua_group_wait_poll(&it->task, it->group), -EAGAIN);
}

TEST(left__group_waits_for_itself__group)
{
	struct skua_runtime *rt = make(2, SKUA_TRACK_TASKS);
	struct skua_group group;
	struct stuck it = { .act = wait_group, .group = &group };

	assert_int_equal(skua_group_init(&group, rt), 0);
	it.task.poll = stuck_poll;
	skua_task_set_type(&it.task, &type);
	assert_int_equal(skua_group_spawn(&group, &it.task), 0);
	wait_for_left(rt, "1 task is left: 1 stuck (group)");
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	destroy(rt);
}

TEST(left__bound_to_a_blocked_worker__queued_and_in_a_poll)
{
	struct skua_runtime *rt = make(2, SKUA_TRACK_TASKS);
	struct stuck it = { .act = block, .done_at_once = true };
	struct counter behind = COUNTER_INIT;

	gate_shut();
	it.task.poll = stuck_poll;
	skua_task_set_type(&it.task, &type);
	assert_int_equal(skua_task_spawn_on(rt, 1, &it.task), 0);
	wait_for_left(rt, "1 stuck (in a poll)");
	skua_task_set_type(&behind.task, &type);
	assert_int_equal(skua_task_spawn_on(rt, 1, &behind.task), 0);
	wait_for_left(rt, "1 stuck (queued)");
	gate_open(&blocked);
	assert_int_equal(skua_runtime_drain(rt), 0);
	destroy(rt);
}

/* ---- a wait that says so --------------------------------------------------------- */

static void shutdown_in_vain(unsigned flags, const char *part)
{
	struct skua_runtime *rt = make(2, flags);
	struct stuck it = { .act = keep_waker };

	stuck_start(rt, &it);
	wait_until_waiting(&it.task);
	assert_int_equal(
		skua_runtime_shutdown(rt, 4 * SECOND_NS, SKUA_SHUTDOWN_RUN),
		-ETIMEDOUT);
	assert_int_equal(lines("nothing happens"), 1);
	assert_int_equal(lines("timed out"), 1);
	assert_int_equal(lines(part), 2);
	assert_int_equal(lines("skua tasks -p"), 2);
	skua_waker_drop(it.waker);
	end(rt, &it);
	destroy(rt);
}

TEST(shutdown__nothing_happens_for_a_second__logs_once)
{
	shutdown_in_vain(0, "1 task is left");
	shutdown_in_vain(SKUA_TRACK_TASKS, "1 stuck (for a waker)");
}

TEST(shutdown__timer_is_pending__logs_nothing)
{
	struct skua_runtime *rt = make(2, 0);
	struct stuck it = { .act = add_timer };

	stuck_start(rt, &it);
	assert_int_equal(
		skua_runtime_shutdown(rt, 2 * SECOND_NS, SKUA_SHUTDOWN_RUN),
		-ETIMEDOUT);
	assert_int_equal(lines("nothing happens"), 0);
	skua_timer_cancel(&it.timer);
	end(rt, &it);
	destroy(rt);
}

/* Do the numbers add up? */
static void check_sum(const char *text, unsigned total)
{
	unsigned all, of_type, more;

	assert_int_equal(sscanf(text,
				"%u tasks are left: %u stuck (nothing wakes "
				"it), and %u more;",
				&all, &of_type, &more),
			 3);
	assert_int_equal(all, total);
	assert_int_equal(of_type + more, total);
}

TEST(left__more_tasks_than_room__counts_all)
{
	enum { TASKS = 10000 };
	struct skua_runtime *rt = make(2, SKUA_TRACK_TASKS);
	struct stuck *all = calloc(TASKS, sizeof(*all));
	struct skua_error what;

	assert_non_null(all);
	for (unsigned i = 0; i < TASKS; i++)
		stuck_start(rt, &all[i]);
	wait_for_left(rt, "10000 tasks are left: ");
	for (unsigned i = 0; i < TASKS; i++)
		wait_until_waiting(&all[i].task);
	assert_int_equal(skua_runtime_left(rt, &what), TASKS);
	check_sum(what.text, TASKS);
	for (unsigned i = 0; i < TASKS; i++)
		skua_task_cancel(&all[i].task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	wait_for_left(rt, "0 tasks are left");
	assert_true(rt->pool.telemetry.area.tasks_left_out > 0);
	destroy(rt);
	free(all);
}

TEST(left__null__einval)
{
	struct skua_error what;

	assert_int_equal(skua_runtime_left(NULL, &what), -EINVAL);
}
