/* SPDX-License-Identifier: MIT */
/* test_select_rwlock.c - rwlocks as cases of a select */
#include <errno.h>

#include "skua/select.h"
#include "tests/unit/users.h"

enum { EVENT, LOCK };

/* A lock, and an event that comes first in the order. */
struct world {
	struct skua_rwlock lock;
	struct skua_event event;
	atomic_u32 may_run;
};

static int unlock(struct world *w, unsigned kind)
{
	return kind == SKUA_SELECT_READ_LOCK
		       ? skua_rwlock_read_unlock(&w->lock)
		       : skua_rwlock_write_unlock(&w->lock);
}

/* Select the event, or the lock for @number, which is given back. */
static int select_both(struct user *it)
{
	struct world *w = it->object;
	struct skua_select_case cases[] = {
		SKUA_SELECT_CASE(SKUA_SELECT_EVENT, &w->event, NULL, 0),
		SKUA_SELECT_CASE((enum skua_select_kind)it->number, &w->lock,
				 NULL, 0),
	};
	int at = skua_select(cases, 2, SKUA_SELECT_IN_ORDER, SKUA_FOREVER_NS);

	if (at >= 0 && cases[at].code)
		return cases[at].code;
	return at == LOCK && unlock(w, it->number) ? -EPERM : at;
}

static int lock_alone(struct user *it)
{
	struct world *w = it->object;
	int code = it->number == SKUA_SELECT_READ_LOCK
			   ? skua_rwlock_read(&w->lock, SKUA_FOREVER_NS)
			   : skua_rwlock_write(&w->lock, SKUA_FOREVER_NS);

	return code ? code : unlock(w, it->number);
}

/* Keeps the only worker from running the fiber that selects. */
struct busy {
	struct skua_task task; /* first */
	struct world *world;
	atomic_u32 runs;
};

static enum skua_poll poll_busy(struct skua_task *self)
{
	struct busy *it = (struct busy *)self;

	/* Relaxed, both: flags. */
	atomic_store_relaxed(&it->runs, 1);
	while (!atomic_load_relaxed(&it->world->may_run))
		sched_yield();
	return SKUA_DONE;
}

static const unsigned kinds[] = { SKUA_SELECT_READ_LOCK,
				  SKUA_SELECT_WRITE_LOCK };

/* The select is admitted, and takes the event: the next waiter gets the lock, or nobody has
 * it. @next: KIND of the next waiter; 0: none */
static void lose(struct skua_runtime *rt, unsigned kind, unsigned next)
{
	struct world w = { .lock = SKUA_RWLOCK_INIT };
	struct user it = { .number = kind }, other = { .number = next };
	struct busy busy = { .task = SKUA_TASK_INIT(poll_busy), .world = &w };

	assert_int_equal(skua_rwlock_write_try(&w.lock), 0);
	user_start(&it, rt, true, select_both, &w);
	wait_for_waiters(&w.lock.waiters, 1);
	if (next) {
		user_start(&other, rt, false, lock_alone, &w);
		wait_for_waiters(&w.lock.waiters, 2);
	}
	spawn(rt, &busy.task);
	while (!atomic_load_relaxed(&busy.runs))
		sched_yield();
	assert_int_equal(skua_rwlock_write_unlock(&w.lock), 0);
	assert_int_equal(skua_event_set(&w.event), 0);
	/* The select has the lock, but has not run. */
	assert_int_equal(skua_rwlock_write_try(&w.lock), -EAGAIN);
	atomic_store_relaxed(&w.may_run, 1);
	join(&busy.task);
	assert_int_equal(user_end(&it), EVENT);
	if (next)
		assert_int_equal(user_end(&other), 0);
	assert_null(w.lock.waiters.first);
	assert_int_equal(skua_rwlock_write_unlock(&w.lock), -EPERM);
	assert_int_equal(skua_rwlock_destroy(&w.lock), 0);
}

TEST(select_rwlock__admitted_but_not_taken__passed_on)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < 6; i++)
		lose(rt, kinds[i % 2], i / 2 ? kinds[i / 2 - 1] : 0);
	destroy(rt);
}

/* A select that waits to write keeps readers back. When it takes the event, they go on
 * beside the reader that has the lock. */
TEST(select_rwlock__writer_takes_the_event__readers_go_on)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct world w = { .lock = SKUA_RWLOCK_INIT };
		struct user it = { .number = SKUA_SELECT_WRITE_LOCK };
		struct user reader = { .number = SKUA_SELECT_READ_LOCK };

		assert_int_equal(skua_rwlock_read_try(&w.lock), 0);
		user_start(&it, rt, is_fiber, select_both, &w);
		wait_for_waiters(&w.lock.waiters, 1);
		user_start(&reader, rt, !is_fiber, lock_alone, &w);
		wait_for_waiters(&w.lock.waiters, 2);
		assert_int_equal(skua_event_set(&w.event), 0);
		assert_int_equal(user_end(&it), EVENT);
		assert_int_equal(user_end(&reader), 0);
		assert_int_equal(skua_rwlock_read_unlock(&w.lock), 0);
		assert_int_equal(skua_rwlock_destroy(&w.lock), 0);
	}
	destroy(rt);
}

/* For reading and for writing, two times each. */
static int select_four(struct user *it)
{
	struct world *w = it->object;
	struct skua_select_case cases[4];
	int at;

	for (unsigned i = 0; i < 4; i++)
		cases[i] = (struct skua_select_case)SKUA_SELECT_CASE(
			(enum skua_select_kind)kinds[i % 2], &w->lock, NULL, 0);
	at = skua_select(cases, 4, it->number, SKUA_FOREVER_NS);
	if (at < 0 || cases[at].code)
		return -EINVAL;
	return unlock(w, cases[at].kind);
}

TEST(select_rwlock__same_lock_twice__one_effect)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < 8; i++) {
		struct world w = { .lock = SKUA_RWLOCK_INIT };
		struct user it = { .number = i / 4 ? SKUA_SELECT_IN_ORDER : 0 };

		assert_int_equal(skua_rwlock_write_try(&w.lock), 0);
		user_start(&it, rt, i % 2, select_four, &w);
		wait_for_waiters(&w.lock.waiters, 4);
		assert_int_equal(skua_rwlock_write_unlock(&w.lock), 0);
		assert_int_equal(user_end(&it), 0);
		assert_null(w.lock.waiters.first);
		assert_int_equal(skua_rwlock_destroy(&w.lock), 0);
	}
	destroy(rt);
}

TEST(select_rwlock__writer_itself__edeadlk)
{
	struct world w = { .lock = SKUA_RWLOCK_INIT };

	assert_int_equal(skua_rwlock_write_try(&w.lock), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct skua_select_case it = SKUA_SELECT_CASE(
			(enum skua_select_kind)kinds[i], &w.lock, NULL, 0);

		assert_int_equal(skua_select(&it, 1, 0, SKUA_FOREVER_NS), 0);
		assert_int_equal(it.code, -EDEADLK);
		assert_int_equal(skua_select_try(&it, 1, 0), 0);
		assert_int_equal(it.code, -EDEADLK);
	}
	assert_int_equal(skua_rwlock_write_unlock(&w.lock), 0);
	assert_int_equal(skua_rwlock_destroy(&w.lock), 0);
}
