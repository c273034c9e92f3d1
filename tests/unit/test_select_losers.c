/* SPDX-License-Identifier: MIT */
/* test_select_losers.c - several cases of a select are ready, and one takes effect */
#include "tests/unit/select_world.h"

/* ---- several cases ---------------------------------------------------------- */

/* With all cases ready, each call takes one; in order, or each of them some time. */
TEST(select__several_ready__in_order_or_by_turns)
{
	struct skua_event events[4] = { 0 };
	struct skua_select_case cases[4];
	unsigned counts[4] = { 0 };

	for (unsigned i = 0; i < 4; i++) {
		cases[i] = (struct skua_select_case)SKUA_SELECT_CASE(
			SKUA_SELECT_EVENT, &events[i], NULL, 0);
		assert_int_equal(skua_event_set(&events[i]), 0);
	}
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(skua_select(cases, 4, SKUA_SELECT_IN_ORDER, 0),
				 0);
		counts[skua_select(cases, 4, 0, 0)]++;
	}
	for (unsigned i = 0; i < 4; i++)
		assert_in_range(counts[i], 20, 30);
}

/* Two cases are granted before the select runs: one takes effect. The other object is as if
 * nobody had waited for it, and the next waiter there is served. */
struct pair {
	struct world *world;
	unsigned kinds[2];
	struct skua_select_case cases[2];
};

static int select_pair(struct user *it)
{
	struct pair *pair = it->object;

	for (unsigned i = 0; i < 2; i++)
		pair->cases[i] = pair->world->cases[pair->kinds[i]];
	return release(pair->world,
		       skua_select(pair->cases, 2, SKUA_SELECT_IN_ORDER,
				   SKUA_FOREVER_NS) == 0
			       ? (int)pair->kinds[0]
			       : (int)pair->kinds[1]);
}

struct both {
	struct skua_task task; /* first */
	struct world *world;
	unsigned kinds[2];
};

/* In a poll, on the worker of the fiber that selects: it does not run in between. */
static enum skua_poll make_both_ready(struct skua_task *self)
{
	struct both *it = (struct both *)self;

	for (unsigned i = 0; i < 2; i++)
		make_ready(it->world, it->kinds[i]);
	return SKUA_DONE;
}

static struct skua_waiters *list_of(struct world *w, unsigned kind)
{
	switch (kind) {
	case SKUA_SELECT_SEND:
		return &w->full.senders;
	case SKUA_SELECT_RECEIVE:
		return &w->empty.receivers;
	case SKUA_SELECT_PERMITS:
		return &w->semaphore.waiters;
	default:
		return &w->notify.waiters;
	}
}

/* Waits for one object alone. */
static int wait_for_one(struct user *it)
{
	struct world *w = it->object;
	uint64_t item = 0;
	int code;

	switch (it->number) {
	case SKUA_SELECT_SEND:
		return skua_channel_send(&w->full, &item, SKUA_FOREVER_NS);
	case SKUA_SELECT_RECEIVE:
		code = skua_channel_receive(&w->empty, &item, SKUA_FOREVER_NS);
		return code ? code : (int)item;
	case SKUA_SELECT_PERMITS:
		return skua_semaphore_acquire(&w->semaphore, 3,
					      SKUA_FOREVER_NS);
	default:
		return skua_notify_wait(&w->notify, SKUA_FOREVER_NS);
	}
}

TEST(select__two_granted__the_loser_passes_its_grant_on)
{
	const unsigned kinds[] = { SKUA_SELECT_SEND, SKUA_SELECT_RECEIVE,
				   SKUA_SELECT_PERMITS, SKUA_SELECT_NOTIFY };
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < 16; i++) {
		struct user it = { 0 }, next = { 0 };
		struct world w;
		struct both both = { .task = SKUA_TASK_INIT(make_both_ready),
				     .world = &w,
				     .kinds = { kinds[i / 4], kinds[i % 4] } };
		struct pair pair = { .world = &w,
				     .kinds = { kinds[i / 4], kinds[i % 4] } };

		if (i / 4 == i % 4)
			continue;
		world_init(&w, rt);
		user_start(&it, rt, true, select_pair, &pair);
		wait_for_waiters(list_of(&w, pair.kinds[0]), 1);
		wait_for_waiters(list_of(&w, pair.kinds[1]), 1);
		next.number = pair.kinds[1];
		user_start(&next, rt, true, wait_for_one, &w);
		wait_for_waiters(list_of(&w, pair.kinds[1]), 2);
		spawn(rt, &both.task);
		join(&both.task);
		assert_int_equal(user_end(&it), pair.kinds[0]);
		assert_int_equal(user_end(&next),
				 next.number == SKUA_SELECT_RECEIVE ? 42 : 0);
		world_end(&w, false);
	}
	destroy(rt);
}

/* The same without a next waiter: the object has what nobody took. */
TEST(select__two_granted__the_loser_gives_back)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user it = { 0 };
	uint64_t item = 0;
	struct world w;
	struct both both = { .task = SKUA_TASK_INIT(make_both_ready),
			     .world = &w,
			     .kinds = { SKUA_SELECT_EVENT,
					SKUA_SELECT_PERMITS } };
	struct pair pair = {
		.world = &w, .kinds = { SKUA_SELECT_EVENT, SKUA_SELECT_PERMITS }
	};

	for (unsigned i = 0; i < 7; i++) {
		const unsigned kinds[] = {
			SKUA_SELECT_PERMITS,     SKUA_SELECT_RECEIVE,
			SKUA_SELECT_NOTIFY,      SKUA_SELECT_JOIN,
			SKUA_SELECT_GROUP,       SKUA_SELECT_SPSC_SEND,
			SKUA_SELECT_SPSC_RECEIVE
		};

		both.task = (struct skua_task)SKUA_TASK_INIT(make_both_ready);
		both.kinds[1] = pair.kinds[1] = kinds[i];
		world_init(&w, rt);
		user_start(&it, rt, true, select_pair, &pair);
		wait_for_waiters(&w.event.waiters, 1);
		if (i < 3)
			wait_for_waiters(kinds[i] == SKUA_SELECT_NOTIFY
						 ? &w.notify.waiters
						 : list_of(&w, kinds[i]),
					 1);
		spawn(rt, &both.task);
		join(&both.task);
		assert_int_equal(user_end(&it), SKUA_SELECT_EVENT);
		if (kinds[i] == SKUA_SELECT_PERMITS)
			assert_int_equal(
				skua_semaphore_acquire_try(&w.semaphore, 3), 0);
		if (kinds[i] == SKUA_SELECT_RECEIVE)
			assert_int_equal(
				skua_channel_receive_try(&w.empty, &item), 0);
		if (kinds[i] == SKUA_SELECT_SPSC_SEND)
			assert_int_equal(
				skua_spsc_send_try(&w.full_spsc, &item), 0);
		if (kinds[i] == SKUA_SELECT_SPSC_RECEIVE)
			assert_int_equal(
				skua_spsc_receive_try(&w.empty_spsc, &item), 0);
		if (kinds[i] == SKUA_SELECT_NOTIFY)
			assert_int_equal(skua_notify_wait(&w.notify, 0), 0);
		world_end(&w, false);
	}
	destroy(rt);
}

static int select_notify(struct user *it)
{
	struct world *w = it->object;
	struct skua_select_case cases[] = {
		SKUA_SELECT_CASE(SKUA_SELECT_EVENT, &w->event, NULL, 0),
		SKUA_SELECT_CASE(SKUA_SELECT_NOTIFY, &w->notify, NULL, 0),
	};

	return skua_select(cases, 2, SKUA_SELECT_IN_ORDER, SKUA_FOREVER_NS);
}

static enum skua_poll notify_all_and_set(struct skua_task *self)
{
	struct world *w = ((struct both *)self)->world;

	assert_int_equal(skua_notify_all(&w->notify), 0);
	assert_int_equal(skua_event_set(&w->event), 0);
	return SKUA_DONE;
}

/* A notification of all is for those that wait, and makes none for later. */
TEST(select__loser_of_a_notification_of_all__keeps_none)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user it = { 0 };
	struct world w;
	struct both both = { .task = SKUA_TASK_INIT(notify_all_and_set),
			     .world = &w };

	world_init(&w, rt);
	user_start(&it, rt, true, select_notify, &w);
	wait_for_waiters(&w.notify.waiters, 1);
	spawn(rt, &both.task);
	join(&both.task);
	assert_int_equal(user_end(&it), 0);
	assert_int_equal(skua_notify_wait(&w.notify, 0), -ETIMEDOUT);
	check_world(&w, KINDS, false);
	destroy(rt);
}

static enum skua_poll close_and_set(struct skua_task *self)
{
	struct world *w = ((struct both *)self)->world;

	assert_int_equal(skua_semaphore_close(&w->semaphore), 0);
	assert_int_equal(skua_event_set(&w->event), 0);
	return SKUA_DONE;
}

/* A wait that a close has ended has got no permits, and gives none back. */
TEST(select__loser_of_a_closed_semaphore__gives_nothing_back)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user it = { 0 };
	struct world w;
	struct both both = { .task = SKUA_TASK_INIT(close_and_set),
			     .world = &w };
	struct pair pair = {
		.world = &w, .kinds = { SKUA_SELECT_EVENT, SKUA_SELECT_PERMITS }
	};
	uint64_t permits;

	world_init(&w, rt);
	permits = skua_semaphore_permits(&w.semaphore);
	user_start(&it, rt, true, select_pair, &pair);
	wait_for_waiters(&w.semaphore.waiters, 1);
	spawn(rt, &both.task);
	join(&both.task);
	assert_int_equal(user_end(&it), SKUA_SELECT_EVENT);
	assert_int_equal(skua_semaphore_permits(&w.semaphore), permits);
	world_end(&w, false);
	destroy(rt);
}

/* An object may be in several cases. */
static int select_twice(struct user *it)
{
	struct world *w = it->object;
	struct skua_select_case cases[] = {
		w->cases[SKUA_SELECT_PERMITS], w->cases[SKUA_SELECT_RECEIVE],
		w->cases[SKUA_SELECT_PERMITS], w->cases[SKUA_SELECT_RECEIVE],
		w->cases[SKUA_SELECT_LOCK],    w->cases[SKUA_SELECT_LOCK],
		w->cases[SKUA_SELECT_NOTIFY],  w->cases[SKUA_SELECT_NOTIFY],
	};

	return release(
		w, (int)cases[skua_select(cases, 8, 0, SKUA_FOREVER_NS)].kind);
}

TEST(select__same_object_twice__one_effect)
{
	const unsigned kinds[] = { SKUA_SELECT_PERMITS, SKUA_SELECT_RECEIVE,
				   SKUA_SELECT_LOCK, SKUA_SELECT_NOTIFY };
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < 8; i++) {
		struct user it = { 0 };
		struct world w;

		world_init(&w, rt);
		user_start(&it, rt, i % 2, select_twice, &w);
		wait_for_waiters(&w.notify.waiters, 2);
		make_ready(&w, kinds[i / 2]);
		assert_int_equal(user_end(&it), kinds[i / 2]);
		check_world(&w, kinds[i / 2], true);
	}
	destroy(rt);
}

/* One sender and one receiver at a time, also in one select. */
TEST(select__same_spsc_twice__ebusy)
{
	const unsigned kinds[] = { SKUA_SELECT_SPSC_SEND,
				   SKUA_SELECT_SPSC_RECEIVE };
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < 2; i++) {
		struct skua_select_case cases[2];
		struct world w;

		world_init(&w, rt);
		cases[0] = cases[1] = w.cases[kinds[i]];
		assert_int_equal(skua_select(cases, 2, SKUA_SELECT_IN_ORDER,
					     SKUA_FOREVER_NS),
				 1);
		assert_int_equal(cases[1].code, -EBUSY);
		check_world(&w, KINDS, false);
	}
	destroy(rt);
}

/* ---- polls that turn to something else ---------------------------------------- */

struct turncoat {
	struct selector selector; /* first */
	int cancel_code, armed_before, armed_after;
};

static enum skua_poll poll_turncoat(struct skua_task *self)
{
	struct turncoat *it = (struct turncoat *)self;
	struct selector *selector = &it->selector;

	if (selector->polls++ == 0) {
		selector->result =
			skua_select_poll(self, &selector->select,
					 &selector->wait, SKUA_FOREVER_NS);
		it->armed_before = skua_wait_armed(&selector->wait);
		/* A grant that comes first is not lost. */
		if (selector->deadline_ns == 0)
			make_ready(selector->world, SKUA_SELECT_EVENT);
		it->cancel_code = skua_wait_cancel(self, &selector->wait);
		it->armed_after = skua_wait_armed(&selector->wait);
		if (it->cancel_code == 0)
			return SKUA_DONE;
	}
	selector->result = skua_select_poll(self, &selector->select,
					    &selector->wait, SKUA_FOREVER_NS);
	return selector->result == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

TEST(select__wait_cancelled_by_its_poll__withdrawn_or_result)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned set = 0; set < 2; set++) {
		struct turncoat it = { 0 };
		struct world w;

		world_init(&w, rt);
		selector_init(&it.selector, &w);
		it.selector.task =
			(struct skua_task)SKUA_TASK_INIT(poll_turncoat);
		it.selector.deadline_ns = set ? 0 : 1;
		spawn(rt, &it.selector.task);
		join(&it.selector.task);
		assert_true(it.armed_before);
		assert_int_equal(it.cancel_code, set ? -EALREADY : 0);
		assert_int_equal(it.armed_after, set);
		assert_int_equal(it.selector.result,
				 set ? (int)SKUA_SELECT_EVENT : -EAGAIN);
		assert_false(skua_wait_armed(&it.selector.wait));
		check_world(&w, KINDS, false);
	}
	destroy(rt);
}
