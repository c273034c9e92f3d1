/* SPDX-License-Identifier: MIT */
/* test_select.c - the first of several operations, in polls, fibers and threads */
#include "tests/unit/select_world.h"

/* ---- arguments -------------------------------------------------------------- */

static int check_null(struct skua_select_case *it, void **field)
{
	void *was = *field;
	int code;

	*field = NULL;
	code = skua_select_try(it, 1, 0);
	*field = was;
	return code;
}

TEST(select__null_or_bad_number__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct selector selector;
	struct world w;
	struct skua_select_case *permits = &w.cases[SKUA_SELECT_PERMITS];

	world_init(&w, rt);
	leave_locks_out(&w, KINDS);
	assert_int_equal(skua_select(NULL, 1, 0, 0), -EINVAL);
	assert_int_equal(skua_select(w.cases, 0, 0, 0), -EINVAL);
	assert_int_equal(skua_select(w.cases, SKUA_SELECT_MAX_CASES + 1, 0, 0),
			 -EINVAL);
	assert_int_equal(skua_select(w.cases, 1, 2, 0), -EINVAL);
	assert_int_equal(skua_select_try(NULL, 1, 0), -EINVAL);
	assert_int_equal(skua_select_try(w.cases, 0, 0), -EINVAL);
	w.cases[0].kind = (enum skua_select_kind)KINDS;
	w.cases[0].object = &w;
	assert_int_equal(skua_select(w.cases, KINDS, 0, 0), -EINVAL);
	w.cases[0].kind = (enum skua_select_kind) - 1;
	assert_int_equal(skua_select(w.cases, KINDS, 0, 0), -EINVAL);
	w.cases[0].kind = SKUA_SELECT_NEVER;
	w.cases[0].object = NULL;
	for (unsigned i = 0; i < KINDS; i++) {
		struct skua_select_case *it = &w.cases[i];

		if (i == SKUA_SELECT_LOCK || i == SKUA_SELECT_READ_LOCK)
			continue;
		assert_int_equal(check_null(it, &it->object),
				 ready_later(i) ? -EINVAL : -EAGAIN);
		assert_int_equal(check_null(it, &it->item),
				 has_item(i) || i == SKUA_SELECT_SEND ||
						 i == SKUA_SELECT_SPSC_SEND
					 ? -EINVAL
					 : -EAGAIN);
	}
	w.cases[0].object = NULL;
	w.cases[0].kind = SKUA_SELECT_LOCK;
	assert_int_equal(skua_select_try(w.cases, 1, 0), -EINVAL);
	w.cases[0].kind = SKUA_SELECT_READ_LOCK;
	assert_int_equal(skua_select_try(w.cases, 1, 0), -EINVAL);
	w.cases[0].kind = SKUA_SELECT_NEVER;
	permits->amount = 0;
	assert_int_equal(skua_select_try(permits, 1, 0), -EINVAL);
	permits->amount = SKUA_MAX_PERMITS + 1;
	assert_int_equal(skua_select_try(permits, 1, 0), -EINVAL);
	permits->amount = 3;
	w.subscription.broadcast = NULL;
	assert_int_equal(skua_select(w.cases, KINDS, 0, 0), -EINVAL);
	w.subscription.broadcast = &w.broadcast;

	selector_init(&selector, &w);
	assert_int_equal(
		skua_select_poll(NULL, &selector.select, &selector.wait, 0),
		-EINVAL);
	assert_int_equal(
		skua_select_poll(&selector.task, NULL, &selector.wait, 0),
		-EINVAL);
	assert_int_equal(
		skua_select_poll(&selector.task, &selector.select, NULL, 0),
		-EINVAL);
	assert_int_equal(skua_select_poll(&selector.task, &selector.select,
					  &selector.wait, 0),
			 -EPERM);
	check_world(&w, KINDS, false);
	destroy(rt);
}

TEST(select__nothing_but_never__waits_for_the_deadline)
{
	struct skua_select_case never[2] = {
		SKUA_SELECT_CASE(SKUA_SELECT_NEVER, NULL, NULL, 0),
		SKUA_SELECT_CASE(SKUA_SELECT_NEVER, NULL, NULL, 0),
	};

	assert_int_equal(skua_select_try(never, 2, 0), -EAGAIN);
	assert_int_equal(skua_select(never, 2, 0, skua_now_ns() + SOON_NS),
			 -ETIMEDOUT);
}

/* ---- each kind -------------------------------------------------------------- */

TEST(select__case_ready_before__taken_at_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct world w;
		int at;

		if (!ready_later(kind))
			continue;
		world_init(&w, rt);
		leave_locks_out(&w, kind);
		make_ready(&w, kind);
		/* A task ends a moment later. */
		do
			at = skua_select_try(w.cases, KINDS, 0);
		while (at == -EAGAIN);
		assert_int_equal(at, kind);
		assert_int_equal(w.cases[kind].code, 0);
		assert_int_equal(release(&w, (int)kind), kind);
		check_world(&w, kind, true);
	}
	destroy(rt);
}

/* The list in which a select waits that has armed all of its cases; of the last case with
 * a list. */
static void wait_until_armed(struct world *w)
{
	wait_for_waiters(&w->full.senders, 1);
	wait_for_waiters(&w->empty.receivers, 1);
	wait_for_waiters(&w->oneshot.waiters, 1);
	wait_for_waiters(&w->broadcast.waiters, 1);
	wait_for_waiters(&w->watch.waiters, 1);
	wait_for_waiters(&w->mutex.waiters, 1);
	wait_for_waiters(&w->semaphore.waiters, 1);
	wait_for_waiters(&w->event.waiters, 1);
	wait_for_waiters(&w->notify.waiters, 1);
	wait_for_waiters(&w->to_read.waiters, 1);
	wait_for_waiters(&w->to_write.waiters, 1);
	wait_for_waiters(&w->full_spsc.senders, 1);
	wait_for_waiters(&w->empty_spsc.receivers, 1);
}

TEST(select__case_ready_while_waiting__wakes)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < 4 * KINDS; i++) {
		struct user it = { .number = i % 4 < 2 ? SKUA_SELECT_IN_ORDER
						       : 0 };
		unsigned kind = i / 4;
		struct world w;

		if (!ready_later(kind))
			continue;
		world_init(&w, rt);
		user_start(&it, rt, i % 2, select_all, &w);
		wait_until_armed(&w);
		make_ready(&w, kind);
		assert_int_equal(user_end(&it), kind);
		assert_int_equal(w.cases[kind].code, 0);
		check_world(&w, kind, true);
	}
	destroy(rt);
}

TEST(select__case_ready_while_a_poll_waits__wakes)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct selector it;
		struct world w;

		if (!ready_later(kind))
			continue;
		world_init(&w, rt);
		selector_init(&it, &w);
		spawn(rt, &it.task);
		wait_until_armed(&w);
		make_ready(&w, kind);
		join(&it.task);
		assert_int_equal(it.result, kind);
		assert_true(it.polls <= 3);
		assert_int_equal(w.cases[kind].code, 0);
		check_world(&w, kind, true);
	}
	destroy(rt);
}

/* A deadline, and a time. */
TEST(select__deadline__no_effect)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct selector it;
	struct world w;

	for (unsigned i = 0; i < 2; i++) {
		world_init(&w, rt);
		leave_locks_out(&w, KINDS);
		assert_int_equal(skua_select_try(w.cases, KINDS, 0), -EAGAIN);
		assert_int_equal(skua_select(w.cases, KINDS, 0,
					     i ? skua_now_ns() + SOON_NS : 0),
				 -ETIMEDOUT);
		check_world(&w, KINDS, false);
	}
	world_init(&w, rt);
	selector_init(&it, &w);
	it.deadline_ns = skua_now_ns() + SOON_NS;
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.result, -ETIMEDOUT);
	check_world(&w, KINDS, false);
	destroy(rt);
}

static int select_all_soon(struct user *it)
{
	struct world *w = it->object;

	return skua_select(w->cases, KINDS, 0, skua_now_ns() + 1000 * SOON_NS);
}

TEST(select__time__comes_before_the_deadline)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct selector it;
	struct world w;

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		world_init(&w, rt);
		w.cases[SKUA_SELECT_TIME].amount = skua_now_ns() + SOON_NS;
		assert_int_equal(user_run(rt, is_fiber, select_all_soon, &w),
				 SKUA_SELECT_TIME);
		assert_true(skua_now_ns() >= w.cases[SKUA_SELECT_TIME].amount);
		check_world(&w, SKUA_SELECT_TIME, false);
	}
	world_init(&w, rt);
	selector_init(&it, &w);
	w.cases[SKUA_SELECT_TIME].amount = skua_now_ns() + SOON_NS;
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.result, SKUA_SELECT_TIME);
	check_world(&w, SKUA_SELECT_TIME, false);
	destroy(rt);
}

TEST(select__cancelled__no_effect)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user it = { 0 };
	struct selector poll;
	struct world w;

	world_init(&w, rt);
	user_start(&it, rt, true, select_all, &w);
	wait_until_armed(&w);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED);
	check_world(&w, KINDS, false);

	world_init(&w, rt);
	selector_init(&poll, &w);
	spawn(rt, &poll.task);
	wait_until_armed(&w);
	assert_int_equal(skua_task_cancel(&poll.task), 0);
	join(&poll.task);
	assert_int_equal(poll.result, -ECANCELED);
	check_world(&w, KINDS, false);
	destroy(rt);
}

/* In a poll and a job, a call that may wait is refused, and has no effect. */
static enum skua_poll poll_refused(struct skua_task *self)
{
	struct selector *it = (struct selector *)self;

	it->result = skua_select(it->world->cases, KINDS, 0, 0);
	return SKUA_DONE;
}

/* ---- references -------------------------------------------------------------- */

#define GATES 5

struct gated {
	struct skua_fiber fiber, opener; /* first: the fiber is its gated */
	struct skua_semaphore gates[GATES];
};

static uint64_t references_of(struct skua_task *task)
{
	/* Relaxed: the task itself asks. */
	return task_state_references(atomic_load_relaxed(task_state(task)));
}

static void select_gates(struct skua_fiber *self)
{
	struct gated *it = (struct gated *)self;
	struct skua_select_case cases[GATES + 2];

	for (unsigned i = 0; i < GATES; i++)
		cases[i] = (struct skua_select_case)SKUA_SELECT_CASE(
			SKUA_SELECT_PERMITS, &it->gates[i], NULL, 1);
	cases[GATES] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_NEVER, NULL, NULL, 0);
	cases[GATES + 1] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_TIME, NULL, NULL, SKUA_FOREVER_NS);
	/* Those of the scheduler. Checked here: with one too many, the fiber would
	 * not end. */
	assert_int_equal(references_of(&self->task), 2);
	assert_int_equal(skua_select(cases, GATES + 2, 0, SKUA_FOREVER_NS), 2);
	assert_int_equal(references_of(&self->task), 2);
	assert_int_equal(
		skua_select(cases, GATES + 2, 0, skua_now_ns() + SOON_NS),
		-ETIMEDOUT);
	assert_int_equal(references_of(&self->task), 2);
}

static void open_gate(struct skua_fiber *self)
{
	struct gated *it = SKUA_CONTAINER_OF(self, struct gated, opener);

	/* The other one waits by then. */
	skua_yield();
	skua_semaphore_release(&it->gates[2], 1);
}

TEST(select__fiber_that_waited__has_its_references_again)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct gated it = { .gates = { { 0 } } };

	for (unsigned i = 0; i < GATES; i++)
		assert_int_equal(skua_semaphore_init(&it.gates[i], 0), 0);
	assert_int_equal(skua_fiber_init(&it.fiber, select_gates, 0), 0);
	assert_int_equal(skua_fiber_init(&it.opener, open_gate, 0), 0);
	spawn(rt, &it.fiber.task);
	spawn(rt, &it.opener.task);
	join(&it.fiber.task);
	join(&it.opener.task);
	destroy(rt);
}

TEST(select__in_a_poll__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct selector it;
	struct world w;

	world_init(&w, rt);
	selector_init(&it, &w);
	it.task = (struct skua_task)SKUA_TASK_INIT(poll_refused);
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.result, -EDEADLK);
	check_world(&w, KINDS, false);
	destroy(rt);
}

/* ---- results ---------------------------------------------------------------- */

/* An error is a result. */
TEST(select__closed_objects__errors_of_their_cases)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	const unsigned kinds[] = {
		SKUA_SELECT_SEND,      SKUA_SELECT_RECEIVE,
		SKUA_SELECT_ONESHOT,   SKUA_SELECT_SUBSCRIPTION,
		SKUA_SELECT_WATCH,     SKUA_SELECT_PERMITS,
		SKUA_SELECT_SPSC_SEND, SKUA_SELECT_SPSC_RECEIVE
	};

	for (unsigned i = 0; i < 2 * sizeof(kinds) / sizeof(*kinds); i++) {
		unsigned kind = kinds[i / 2];
		struct user it = { 0 };
		struct world w;

		world_init(&w, rt);
		user_start(&it, rt, i % 2, select_all, &w);
		wait_until_armed(&w);
		switch (kind) {
		case SKUA_SELECT_SEND:
			assert_int_equal(skua_channel_close(&w.full), 0);
			break;
		case SKUA_SELECT_RECEIVE:
			assert_int_equal(skua_channel_close(&w.empty), 0);
			break;
		case SKUA_SELECT_ONESHOT:
			assert_int_equal(skua_oneshot_close(&w.oneshot), 0);
			break;
		case SKUA_SELECT_SUBSCRIPTION:
			assert_int_equal(skua_broadcast_close(&w.broadcast), 0);
			break;
		case SKUA_SELECT_WATCH:
			assert_int_equal(skua_watch_close(&w.watch), 0);
			break;
		case SKUA_SELECT_SPSC_SEND:
			assert_int_equal(skua_spsc_close(&w.full_spsc), 0);
			break;
		case SKUA_SELECT_SPSC_RECEIVE:
			assert_int_equal(skua_spsc_close(&w.empty_spsc), 0);
			break;
		default:
			assert_int_equal(skua_semaphore_close(&w.semaphore), 0);
			break;
		}
		assert_int_equal(user_end(&it), kind);
		assert_int_equal(w.cases[kind].code, kind == SKUA_SELECT_PERMITS
							     ? -ESHUTDOWN
							     : -EPIPE);
		/* Again, at once. */
		leave_locks_out(&w, KINDS);
		assert_int_equal(skua_select_try(w.cases, KINDS, 0), kind);
		world_end(&w, false);
	}
	destroy(rt);
}

TEST(select__held_mutex_and_joined_task__errors)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct world w;

	world_init(&w, rt);
	leave_locks_out(&w, SKUA_SELECT_LOCK);
	assert_int_equal(skua_mutex_unlock(&w.mutex), 0);
	assert_int_equal(skua_select_try(w.cases, KINDS, 0), SKUA_SELECT_LOCK);
	/* The caller has it already. */
	assert_int_equal(skua_select(w.cases, KINDS, 0, SKUA_FOREVER_NS),
			 SKUA_SELECT_LOCK);
	assert_int_equal(w.cases[SKUA_SELECT_LOCK].code, -EDEADLK);
	check_world(&w, KINDS, false);
	/* The task is joined. */
	assert_int_equal(
		skua_select(&w.cases[SKUA_SELECT_JOIN], 1, 0, SKUA_FOREVER_NS),
		0);
	assert_int_equal(w.cases[SKUA_SELECT_JOIN].code, -EINVAL);
	destroy(rt);
}

/* The broadcast's receiver is told what it missed. */
TEST(select__items_overwritten__number_missed)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_select_case *it;
	struct world w;

	world_init(&w, rt);
	leave_locks_out(&w, KINDS);
	it = &w.cases[SKUA_SELECT_SUBSCRIPTION];
	for (uint64_t i = 0; i < CAPACITY + 3; i++)
		assert_int_equal(skua_broadcast_send(&w.broadcast, &i), 0);
	assert_int_equal(skua_select(w.cases, KINDS, 0, SKUA_FOREVER_NS),
			 SKUA_SELECT_SUBSCRIPTION);
	assert_int_equal(it->code, -EOVERFLOW);
	assert_int_equal(it->amount, 3);
	assert_int_equal(skua_select(w.cases, KINDS, 0, SKUA_FOREVER_NS),
			 SKUA_SELECT_SUBSCRIPTION);
	assert_int_equal(it->code, 0);
	assert_int_equal(w.got[SKUA_SELECT_SUBSCRIPTION], 3);
	world_end(&w, false);
	destroy(rt);
}
