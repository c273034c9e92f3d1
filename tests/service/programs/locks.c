/* SPDX-License-Identifier: MIT */
/*
 * locks.c KIND - fibers that wait for each other
 *
 * It prints "ready", and ends when its standard input has a line or ends.
 *
 *	two     two fibers, each of which holds one mutex and locks the other one's
 *	three   three fibers: one waits for a condition and needs the second one's mutex,
 *		which needs the third one's, which needs one that the first one holds
 *	thread  a fiber and a thread, as "two"
 *	hold    a fiber that holds a mutex for a millisecond, again and again, and another
 *		one that waits for it
 *	kept    a fiber without a type that keeps a mutex, and another one that tries to
 *		lock it for a millisecond, again and again
 *	threads two threads, as "two", with mutexes that have names
 *	many    10,000 fibers, which wait for an event
 *	calm    fibers that wait for each kind of thing, and no deadlock
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skua/skua.h"

#define MS_NS UINT64_C(1000000)

static struct skua_runtime *rt;
static struct skua_mutex first = SKUA_MUTEX_INIT, second = SKUA_MUTEX_INIT,
			 third = SKUA_MUTEX_INIT;
static struct skua_condition filled = SKUA_CONDITION_INIT;
static struct skua_semaphore permits;
static struct skua_event event = SKUA_EVENT_INIT;
static struct skua_notify notify = SKUA_NOTIFY_INIT;
static struct skua_rwlock table = SKUA_RWLOCK_INIT;
static struct skua_barrier barrier;
static struct skua_io silent; /* a pipe into which nobody writes */
static struct skua_once once = SKUA_ONCE_INIT;
static struct skua_barrier all_hold;

static const struct skua_task_type debit = SKUA_TASK_TYPE("debit");
static const struct skua_task_type credit = SKUA_TASK_TYPE("credit");
static const struct skua_task_type audit = SKUA_TASK_TYPE("audit");

static void die(const char *what)
{
	fprintf(stderr, "locks: %s failed\n", what);
	exit(1);
}

static void start(const struct skua_task_type *type, void (*fn)(void *),
		  void *arg)
{
	if (skua_fiber_spawn(rt, type, fn, arg) != 0)
		die("skua_fiber_spawn()");
}

/* ---- deadlocks -------------------------------------------------------------------- */

static void lock_second_of(struct skua_mutex *mutex)
{
	skua_mutex_lock(mutex, SKUA_FOREVER_NS);
}

static __attribute__((noinline)) void lock_both(struct skua_mutex *mine,
						struct skua_mutex *other)
{
	skua_mutex_lock(mine, SKUA_FOREVER_NS);
	skua_barrier_wait(&all_hold, SKUA_FOREVER_NS);
	lock_second_of(other);
	skua_mutex_unlock(other);
	skua_mutex_unlock(mine);
}

static void debit_main(void *arg)
{
	(void)arg;
	lock_both(&first, &second);
}

static void credit_main(void *arg)
{
	(void)arg;
	lock_both(&second, &first);
}

static void *thread_main(void *arg)
{
	credit_main(arg);
	return NULL;
}

static void *other_thread_main(void *arg)
{
	debit_main(arg);
	return NULL;
}

static void name_mutexes(void)
{
	static struct skua_sync_name names[2];

	if (skua_sync_set_name(rt, &names[0], SKUA_SYNC_MUTEX, &first,
			       "accounts") != 0 ||
	    skua_sync_set_name(rt, &names[1], SKUA_SYNC_MUTEX, &second,
			       "journal") != 0)
		die("skua_sync_set_name()");
}

/* Holds `third`, and waits for a condition with `first`. */
static void audit_main(void *arg)
{
	(void)arg;
	skua_mutex_lock(&third, SKUA_FOREVER_NS);
	skua_mutex_lock(&first, SKUA_FOREVER_NS);
	skua_condition_wait(&filled, &first, SKUA_FOREVER_NS);
	skua_mutex_unlock(&first);
	skua_mutex_unlock(&third);
}

/* Holds `first`, for which the waiter of the condition waits later, and locks `second`. */
static void debit_of_three(void *arg)
{
	(void)arg;
	lock_both(&first, &second);
}

static void credit_of_three(void *arg)
{
	(void)arg;
	lock_both(&second, &third);
}

/* ---- other waits -------------------------------------------------------------------- */

static void hold_main(void *arg)
{
	(void)arg;
	for (;;) {
		skua_mutex_lock(&first, SKUA_FOREVER_NS);
		for (uint64_t until = skua_now_ns() + MS_NS;
		     skua_now_ns() < until;)
			;
		skua_mutex_unlock(&first);
		skua_yield();
	}
}

static void keep_main(void *arg)
{
	(void)arg;
	skua_mutex_lock(&first, SKUA_FOREVER_NS);
	skua_event_wait(&event, SKUA_FOREVER_NS);
}

static void try_main(void *arg)
{
	(void)arg;
	for (;;)
		skua_mutex_lock(&first, skua_now_ns() + MS_NS);
}

static void wait_for_permit(void *arg)
{
	(void)arg;
	skua_semaphore_acquire(&permits, 1, SKUA_FOREVER_NS);
}

static void wait_for_event(void *arg)
{
	(void)arg;
	skua_event_wait(&event, SKUA_FOREVER_NS);
}

static enum skua_poll never(struct skua_task *self)
{
	(void)self;
	return SKUA_PENDING;
}

static struct skua_task joined = SKUA_TASK_INIT(never);
static struct skua_task member = SKUA_TASK_INIT(never);
static struct skua_task selected = SKUA_TASK_INIT(never);
static struct skua_group group, group_of_selected;

static void wait_for_either(void *arg)
{
	struct skua_select_case cases[] = {
		SKUA_SELECT_CASE(SKUA_SELECT_EVENT, &event, NULL, 0),
		SKUA_SELECT_CASE(SKUA_SELECT_NEVER, NULL, NULL, 0),
		SKUA_SELECT_CASE(SKUA_SELECT_LOCK, &first, NULL, 0),
		SKUA_SELECT_CASE(SKUA_SELECT_TIME, NULL, NULL, 1ull << 62),
		SKUA_SELECT_CASE(SKUA_SELECT_IO, &silent, NULL, POLLIN),
		SKUA_SELECT_CASE(SKUA_SELECT_GROUP, &group_of_selected, NULL,
				 0),
	};
	int fds[2];

	(void)arg;
	if (pipe(fds) != 0 || skua_io_attach(rt, fds[0], 0, &silent) != 0)
		die("pipe() or skua_io_attach()");
	if (skua_group_init(&group_of_selected, rt) != 0 ||
	    skua_group_spawn(&group_of_selected, &selected) != 0)
		die("skua_group_spawn()");
	skua_select(cases, sizeof(cases) / sizeof(*cases), 0, SKUA_FOREVER_NS);
}

static void wait_for_notify(void *arg)
{
	(void)arg;
	skua_notify_wait(&notify, SKUA_FOREVER_NS);
}

static void wait_to_read(void *arg)
{
	(void)arg;
	skua_rwlock_read(&table, SKUA_FOREVER_NS);
}

static void wait_at_barrier(void *arg)
{
	(void)arg;
	skua_barrier_wait(&barrier, SKUA_FOREVER_NS);
}

static void wait_once(void *arg)
{
	(void)arg;
	skua_once_begin(&once, SKUA_FOREVER_NS);
}

static void sleep_long(void *arg)
{
	(void)arg;
	skua_sleep_until(skua_now_ns() + 3600 * 1000 * MS_NS);
}

static void wait_for_waker(void *arg)
{
	(void)arg;
	for (;;)
		skua_await();
}

static void wait_to_write(void *arg)
{
	(void)arg;
	skua_rwlock_write(&table, SKUA_FOREVER_NS);
}

static void wait_for_task(void *arg)
{
	(void)arg;
	skua_task_join(&joined);
}

static void wait_for_group(void *arg)
{
	(void)arg;
	skua_group_wait(&group);
}

static void wait_for_first(void *arg)
{
	(void)arg;
	skua_mutex_lock(&first, SKUA_FOREVER_NS);
}

static void calm(void)
{
	/* By this thread, which keeps them. */
	skua_mutex_lock(&first, SKUA_FOREVER_NS);
	skua_rwlock_write(&table, SKUA_FOREVER_NS);
	skua_once_begin(&once, SKUA_FOREVER_NS);
	skua_barrier_init(&barrier, 3);
	for (unsigned i = 0; i < 3; i++)
		start(&debit, wait_for_permit, NULL);
	start(&credit, wait_for_event, NULL);
	start(&credit, wait_for_notify, NULL);
	start(&audit, wait_to_read, NULL);
	start(&audit, wait_to_write, NULL);
	if (skua_group_init(&group, rt) != 0 ||
	    skua_group_spawn(&group, &member) != 0 ||
	    skua_task_spawn(rt, &joined) != 0)
		die("skua_group_init()");
	start(&audit, wait_for_task, NULL);
	start(&audit, wait_for_group, NULL);
	start(&audit, wait_at_barrier, NULL);
	start(&audit, wait_once, NULL);
	start(&audit, sleep_long, NULL);
	start(&credit, wait_for_either, NULL);
	start(NULL, wait_for_waker, NULL);
	start(NULL, wait_for_first, NULL);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	struct skua_config config = { .size = sizeof(config), .workers = 2 };
	pthread_t thread;

	if (skua_runtime_create(&rt, &config, NULL) != 0)
		die("skua_runtime_create()");
	skua_barrier_init(&all_hold, 2);
	if (strcmp(kind, "two") == 0) {
		start(&debit, debit_main, NULL);
		start(&credit, credit_main, NULL);
	} else if (strcmp(kind, "thread") == 0) {
		start(&debit, debit_main, NULL);
		if (pthread_create(&thread, NULL, thread_main, NULL) != 0)
			die("pthread_create()");
	} else if (strcmp(kind, "threads") == 0) {
		name_mutexes();
		if (pthread_create(&thread, NULL, thread_main, NULL) != 0 ||
		    pthread_create(&thread, NULL, other_thread_main, NULL) != 0)
			die("pthread_create()");
	} else if (strcmp(kind, "three") == 0) {
		start(&audit, audit_main, NULL);
		usleep(50000); /* until it waits */
		start(&debit, debit_of_three, NULL);
		start(&credit, credit_of_three, NULL);
	} else if (strcmp(kind, "hold") == 0) {
		name_mutexes();
		start(&debit, hold_main, NULL);
		start(&credit, hold_main, NULL);
	} else if (strcmp(kind, "kept") == 0) {
		name_mutexes();
		start(NULL, keep_main, NULL);
		usleep(50000); /* until it holds the mutex */
		start(&debit, try_main, NULL);
	} else if (strcmp(kind, "many") == 0) {
		for (unsigned i = 0; i < 10000; i++)
			start(&debit, wait_for_event, NULL);
	} else if (strcmp(kind, "calm") == 0) {
		calm();
	} else {
		fprintf(stderr, "locks: no kind '%s'\n", kind);
		return 2;
	}
	usleep(50000);
	puts("ready");
	fflush(stdout);
	getchar();
	_exit(0);
}
