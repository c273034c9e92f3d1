/* SPDX-License-Identifier: MIT */
/* test_spsc.c - items from one sender to one receiver: polls, fibers and threads */
#include <stdlib.h>
#include <string.h>

#include "core/os/membarrier.h"
#include "core/runtime/runtime.h"
#include "skua/channel.h"
#include "skua/fork.h"
#include "tests/unit/deny.h"
#include "tests/unit/users.h"

#define SOON_NS  UINT64_C(3000000)
#define CAPACITY 4u

struct fixture {
	struct skua_spsc spsc;
	uint64_t memory[SKUA_SPSC_BYTES(CAPACITY, 8) / 8];
};

static void fixture_init(struct fixture *f)
{
	assert_int_equal(skua_spsc_init(&f->spsc, f->memory, CAPACITY, 8), 0);
}

static int send_try(struct fixture *f, uint64_t item)
{
	return skua_spsc_send_try(&f->spsc, &item);
}

static void fill(struct fixture *f)
{
	for (uint64_t i = 0; i < CAPACITY; i++)
		assert_int_equal(send_try(f, i), 0);
	assert_int_equal(send_try(f, CAPACITY), -EAGAIN);
}

TEST(spsc__null_or_bad_number__einval)
{
	struct fixture f;
	struct skua_wait wait = SKUA_WAIT_INIT;
	void *odd = (char *)f.memory + 4;
	uint64_t item = 0;

	assert_int_equal(skua_spsc_init(NULL, f.memory, 4, 8), -EINVAL);
	assert_int_equal(skua_spsc_init(&f.spsc, NULL, 4, 8), -EINVAL);
	assert_int_equal(skua_spsc_init(&f.spsc, odd, 2, 8), -EINVAL);
	for (uint32_t capacity = 0; capacity < 8; capacity++)
		assert_int_equal(skua_spsc_init(&f.spsc, f.memory, capacity, 1),
				 capacity == 2 || capacity == 4 ? 0 : -EINVAL);
	assert_int_equal(
		skua_spsc_init(&f.spsc, f.memory, UINT32_C(1) << 31, 8),
		-EINVAL);
	assert_int_equal(skua_spsc_init(&f.spsc, f.memory, 4, 0), -EINVAL);
	assert_int_equal(
		skua_spsc_init(&f.spsc, f.memory, 2, SKUA_MAX_ITEM_BYTES + 1),
		-EINVAL);
	fixture_init(&f);
	assert_int_equal(skua_spsc_send(NULL, &item, 0), -EINVAL);
	assert_int_equal(skua_spsc_send(&f.spsc, NULL, 0), -EINVAL);
	assert_int_equal(skua_spsc_send_try(NULL, &item), -EINVAL);
	assert_int_equal(skua_spsc_send_try(&f.spsc, NULL), -EINVAL);
	assert_int_equal(skua_spsc_send_poll(NULL, &f.spsc, &item, &wait, 0),
			 -EINVAL);
	assert_int_equal(skua_spsc_receive(NULL, &item, 0), -EINVAL);
	assert_int_equal(skua_spsc_receive(&f.spsc, NULL, 0), -EINVAL);
	assert_int_equal(skua_spsc_receive_try(NULL, &item), -EINVAL);
	assert_int_equal(skua_spsc_receive_try(&f.spsc, NULL), -EINVAL);
	assert_int_equal(skua_spsc_receive_poll(NULL, &f.spsc, &item, &wait, 0),
			 -EINVAL);
	assert_int_equal(skua_spsc_close(NULL), -EINVAL);
	assert_int_equal(skua_spsc_length(NULL), 0);
}

TEST(spsc__many_rounds__first_in_first_out)
{
	struct fixture f;
	uint64_t item, sent = 0, received = 0;

	fixture_init(&f);
	for (unsigned round = 0; round < 1000; round++) {
		for (unsigned i = 0; i <= round % CAPACITY; i++)
			assert_int_equal(send_try(&f, sent++), 0);
		assert_int_equal(skua_spsc_length(&f.spsc),
				 round % CAPACITY + 1);
		while (skua_spsc_receive_try(&f.spsc, &item) == 0)
			assert_true(item == received++);
		assert_true(received == sent);
		assert_int_equal(skua_spsc_length(&f.spsc), 0);
	}
}

/* Items of each size are copied whole, and nothing beside them is touched. */
TEST(spsc__items_of_any_size__copied)
{
	const uint32_t sizes[] = { 1, 3, 7, 8, 9, 16, 17, 100, 65536 };

	for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
		uint32_t bytes = sizes[i];
		struct skua_spsc spsc;
		void *memory = malloc(SKUA_SPSC_BYTES(2, bytes));
		unsigned char *item = malloc(bytes + 1);

		assert_non_null(memory);
		assert_non_null(item);
		assert_int_equal(skua_spsc_init(&spsc, memory, 2, bytes), 0);
		for (unsigned n = 0; n < 5; n++) {
			memset(item, (int)n + 1, bytes);
			item[bytes] = 0xaa;
			assert_int_equal(skua_spsc_send_try(&spsc, item), 0);
			memset(item, 0, bytes);
			assert_int_equal(skua_spsc_receive_try(&spsc, item), 0);
			for (uint32_t at = 0; at < bytes; at++)
				assert_int_equal(item[at], n + 1);
			assert_int_equal(item[bytes], 0xaa);
		}
		free(item);
		free(memory);
	}
}

TEST(spsc__full_or_empty__deadline_passes_and_nothing_stays)
{
	struct fixture f;
	uint64_t item = 9;

	fixture_init(&f);
	assert_int_equal(skua_spsc_receive(&f.spsc, &item, 0), -ETIMEDOUT);
	assert_int_equal(
		skua_spsc_receive(&f.spsc, &item, skua_now_ns() + SOON_NS),
		-ETIMEDOUT);
	assert_true(item == 9);
	fill(&f);
	assert_int_equal(
		skua_spsc_send(&f.spsc, &item, skua_now_ns() + SOON_NS),
		-ETIMEDOUT);
	for (uint64_t i = 0; i < CAPACITY; i++) {
		assert_int_equal(skua_spsc_receive_try(&f.spsc, &item), 0);
		assert_true(item == i);
	}
	assert_int_equal(skua_spsc_receive_try(&f.spsc, &item), -EAGAIN);
}

TEST(spsc__closed__drained_then_epipe)
{
	struct fixture f;
	uint64_t item;

	fixture_init(&f);
	assert_int_equal(send_try(&f, 1), 0);
	assert_int_equal(skua_spsc_close(&f.spsc), 0);
	assert_int_equal(skua_spsc_close(&f.spsc), -EALREADY);
	assert_int_equal(send_try(&f, 2), -EPIPE);
	assert_int_equal(skua_spsc_send(&f.spsc, &item, SKUA_FOREVER_NS),
			 -EPIPE);
	assert_int_equal(skua_spsc_length(&f.spsc), 1);
	assert_int_equal(skua_spsc_receive(&f.spsc, &item, SKUA_FOREVER_NS), 0);
	assert_true(item == 1);
	assert_int_equal(skua_spsc_receive(&f.spsc, &item, SKUA_FOREVER_NS),
			 -EPIPE);
	assert_int_equal(skua_spsc_receive_try(&f.spsc, &item), -EPIPE);
	assert_int_equal(send_try(&f, 3), -EPIPE);
	assert_int_equal(skua_spsc_length(&f.spsc), 0);
}

/* ---- waits ------------------------------------------------------------------ */

static int receive(struct user *it)
{
	uint64_t item = 0;
	int code = skua_spsc_receive(it->object, &item, SKUA_FOREVER_NS);

	return code ? code : (int)item;
}

static int send_number(struct user *it)
{
	uint64_t item = it->number;

	return skua_spsc_send(it->object, &item, SKUA_FOREVER_NS);
}

TEST(spsc__receiver_waits__gets_the_item)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct user it = { .number = 0 };
		struct fixture f;

		fixture_init(&f);
		user_start(&it, rt, is_fiber, receive, &f.spsc);
		wait_for_waiters(&f.spsc.receivers, 1);
		assert_int_equal(send_try(&f, 10), 0);
		assert_int_equal(user_end(&it), 10);
		assert_int_equal(skua_spsc_length(&f.spsc), 0);
	}
	destroy(rt);
}

TEST(spsc__sender_waits__gets_a_place)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct user it = { .number = CAPACITY };
		struct fixture f;
		uint64_t item;

		fixture_init(&f);
		fill(&f);
		user_start(&it, rt, is_fiber, send_number, &f.spsc);
		wait_for_waiters(&f.spsc.senders, 1);
		for (uint64_t i = 0; i <= CAPACITY; i++) {
			assert_int_equal(skua_spsc_receive(&f.spsc, &item,
							   SKUA_FOREVER_NS),
					 0);
			assert_true(item == i);
		}
		assert_int_equal(user_end(&it), 0);
	}
	destroy(rt);
}

TEST(spsc__closed_while_the_other_waits__epipe)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct user receiver = { 0 }, sender = { .number = 7 };
		struct fixture f;

		fixture_init(&f);
		user_start(&receiver, rt, is_fiber, receive, &f.spsc);
		wait_for_waiters(&f.spsc.receivers, 1);
		assert_int_equal(skua_spsc_close(&f.spsc), 0);
		assert_int_equal(user_end(&receiver), -EPIPE);

		fixture_init(&f);
		fill(&f);
		user_start(&sender, rt, is_fiber, send_number, &f.spsc);
		wait_for_waiters(&f.spsc.senders, 1);
		assert_int_equal(skua_spsc_close(&f.spsc), 0);
		assert_int_equal(user_end(&sender), -EPIPE);
		/* The items before are still there, and nothing else. */
		assert_int_equal(skua_spsc_length(&f.spsc), CAPACITY);
	}
	destroy(rt);
}

TEST(spsc__waiting_fiber_cancelled__ecanceled)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user it = { 0 };
	struct fixture f;

	fixture_init(&f);
	user_start(&it, rt, true, receive, &f.spsc);
	wait_for_waiters(&f.spsc.receivers, 1);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED);
	/* The item stays for the next receiver. */
	assert_int_equal(send_try(&f, 1), 0);
	assert_int_equal(skua_spsc_length(&f.spsc), 1);
	destroy(rt);
}

TEST(spsc__second_one_would_wait__ebusy)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct user receiver = { 0 }, sender = { .number = 7 };
		uint64_t item = 9;
		struct fixture f;

		fixture_init(&f);
		user_start(&receiver, rt, is_fiber, receive, &f.spsc);
		wait_for_waiters(&f.spsc.receivers, 1);
		assert_int_equal(
			skua_spsc_receive(&f.spsc, &item, SKUA_FOREVER_NS),
			-EBUSY);
		assert_int_equal(user_run(rt, !is_fiber, receive, &f.spsc),
				 -EBUSY);
		assert_int_equal(send_try(&f, 10), 0);
		assert_int_equal(user_end(&receiver), 10);

		fill(&f);
		user_start(&sender, rt, is_fiber, send_number, &f.spsc);
		wait_for_waiters(&f.spsc.senders, 1);
		assert_int_equal(
			skua_spsc_send(&f.spsc, &item, SKUA_FOREVER_NS),
			-EBUSY);
		assert_int_equal(skua_spsc_receive_try(&f.spsc, &item), 0);
		assert_int_equal(user_end(&sender), 0);
	}
	destroy(rt);
}

#ifndef NDEBUG
/* As if another thread were inside. */
static void send_beside_another(void)
{
	struct fixture f;

	fixture_init(&f);
	f.spsc.sender.inside = 1;
	send_try(&f, 1);
}

static void receive_beside_another(void)
{
	struct fixture f;
	uint64_t item;

	fixture_init(&f);
	f.spsc.receiver.inside = 1;
	skua_spsc_receive_try(&f.spsc, &item);
}
#endif

TEST(spsc__two_at_a_time__asserts)
{
#ifdef NDEBUG
	skip_aloud(NO_ASSERTS);
#else
	assert_true(aborts_saying(send_beside_another, "two callers send"));
	assert_true(
		aborts_saying(receive_beside_another, "two callers receive"));
#endif
}

/* ---- polls ------------------------------------------------------------------ */

#define TIMES 10000u

/* Sends the numbers from 0 on, or receives them. */
struct pump {
	struct skua_task task; /* first */
	struct skua_spsc *spsc;
	struct skua_wait wait;
	uint64_t item, next, wrong;
	int wait_code; /* of a form that waits */
};

static enum skua_poll pump_out(struct skua_task *self)
{
	struct pump *it = (struct pump *)self;

	it->wait_code = skua_spsc_send(it->spsc, &it->next, SKUA_FOREVER_NS);
	for (; it->next < TIMES; it->next++) {
		int code = skua_spsc_send_poll(self, it->spsc, &it->next,
					       &it->wait, SKUA_FOREVER_NS);

		if (code == -EAGAIN)
			return SKUA_PENDING;
		it->wrong += code != 0;
	}
	return SKUA_DONE;
}

static enum skua_poll pump_in(struct skua_task *self)
{
	struct pump *it = (struct pump *)self;

	for (; it->next < TIMES; it->next++) {
		int code = skua_spsc_receive_poll(self, it->spsc, &it->item,
						  &it->wait, SKUA_FOREVER_NS);

		if (code == -EAGAIN)
			return SKUA_PENDING;
		it->wrong += code != 0 || it->item != it->next;
	}
	return SKUA_DONE;
}

TEST(spsc__polls__all_in_order)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct fixture f;
	struct pump out = { .task = SKUA_TASK_INIT(pump_out), .spsc = &f.spsc };
	struct pump in = { .task = SKUA_TASK_INIT(pump_in), .spsc = &f.spsc };

	fixture_init(&f);
	spawn(rt, &in.task);
	spawn(rt, &out.task);
	join(&out.task);
	join(&in.task);
	assert_int_equal(out.wait_code, -EDEADLK);
	assert_true(out.wrong == 0 && in.wrong == 0);
	assert_int_equal(skua_spsc_length(&f.spsc), 0);
	destroy(rt);
}

/* Arms a wait, gives it up, and receives after all. */
static enum skua_poll cancel_then_receive(struct skua_task *self)
{
	struct pump *it = (struct pump *)self;
	uint64_t item = 5;

	it->wrong +=
		skua_spsc_receive_poll(self, it->spsc, &it->item, &it->wait,
				       SKUA_FOREVER_NS) != -EAGAIN;
	it->wrong += skua_wait_cancel(self, &it->wait) != 0;
	it->wrong += skua_spsc_send_try(it->spsc, &item) != 0;
	it->wrong += skua_spsc_receive_poll(self, it->spsc, &it->item,
					    &it->wait, SKUA_FOREVER_NS) != 0;
	/* Granted before it is cancelled: the next call gets the item. */
	it->wrong +=
		skua_spsc_receive_poll(self, it->spsc, &it->item, &it->wait,
				       SKUA_FOREVER_NS) != -EAGAIN;
	it->wrong += skua_spsc_send_try(it->spsc, &item) != 0;
	it->wrong += skua_wait_cancel(self, &it->wait) != -EALREADY;
	it->wrong += skua_spsc_receive_poll(self, it->spsc, &it->item,
					    &it->wait, SKUA_FOREVER_NS) != 0;
	return SKUA_DONE;
}

TEST(spsc__wait_of_a_poll_cancelled__no_effect)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct fixture f;
	struct pump it = { .task = SKUA_TASK_INIT(cancel_then_receive),
			   .spsc = &f.spsc };

	fixture_init(&f);
	spawn(rt, &it.task);
	join(&it.task);
	assert_true(it.wrong == 0 && it.item == 5);
	assert_int_equal(skua_spsc_length(&f.spsc), 0);
	destroy(rt);
}

/* ---- light calls ------------------------------------------------------------ */

#define LIGHT UINT64_C(1) /* as in spsc.c */

/* Both sides find each other on the worker of the caller. */
static int fill_and_empty(struct user *it)
{
	uint64_t item = 0;
	int code;

	for (unsigned round = 0; round < 2; round++) {
		while ((code = skua_spsc_send_try(it->object, &item)) == 0)
			item++;
		if (code != -EAGAIN)
			return code;
		while ((code = skua_spsc_receive_try(it->object, &item)) == 0) {
		}
	}
	return code;
}

static bool is_light(const struct skua_spsc_side *side)
{
	return side->at & LIGHT;
}

TEST(spsc__both_sides_on_a_worker__calls_are_light)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct fixture f;

	if (!rt->pool.membarrier)
		skip_aloud("membarrier does not work here");
	fixture_init(&f);
	assert_int_equal(user_run(rt, true, fill_and_empty, &f.spsc), -EAGAIN);
	assert_true(is_light(&f.spsc.sender) && is_light(&f.spsc.receiver));
	assert_int_equal(user_run(rt, false, fill_and_empty, &f.spsc), -EAGAIN);
	assert_false(is_light(&f.spsc.sender) || is_light(&f.spsc.receiver));
	destroy(rt);
}

/* The other side is on its worker, and its calls are light. */
TEST(spsc__a_side_leaves_the_worker__nobody_sleeps_on)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < 100; i++) {
		struct user here = { .number = i + 1 };
		struct fixture f;
		uint64_t item;

		fixture_init(&f);
		assert_int_equal(user_run(rt, true, fill_and_empty, &f.spsc),
				 -EAGAIN);
		user_start(&here, rt, true, send_number, &f.spsc);
		assert_int_equal(
			skua_spsc_receive(&f.spsc, &item, SKUA_FOREVER_NS), 0);
		assert_true(item == i + 1);
		assert_int_equal(user_end(&here), 0);
		user_start(&here, rt, true, receive, &f.spsc);
		assert_int_equal(send_try(&f, 10), 0);
		assert_int_equal(user_end(&here), 10);
	}
	destroy(rt);
}

/* Its calls are not light any more, although it has made none. */
TEST(spsc__other_side_waits_elsewhere__idle_side_leaves_light)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct fixture f;
	uint64_t item;

	if (!rt->pool.membarrier)
		skip_aloud("membarrier does not work here");
	fixture_init(&f);
	user_run(rt, true, fill_and_empty, &f.spsc);
	assert_true(is_light(&f.spsc.sender));
	assert_int_equal(
		skua_spsc_receive(&f.spsc, &item, skua_now_ns() + SOON_NS),
		-ETIMEDOUT);
	assert_false(is_light(&f.spsc.sender));
	destroy(rt);
}

TEST(spsc__sides_part_again_and_again__seldom_light)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	unsigned light = 0;
	struct fixture f;

	if (!rt->pool.membarrier)
		skip_aloud("membarrier does not work here");
	fixture_init(&f);
	for (unsigned i = 0; i < 1000; i++) {
		user_run(rt, true, fill_and_empty, &f.spsc);
		light += is_light(&f.spsc.sender);
		user_run(rt, false, fill_and_empty, &f.spsc);
	}
	assert_true(light >= 2 && light <= 200);
	destroy(rt);
}

static int wait_without_membarrier(void)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct fixture f;
	uint64_t item;

	fixture_init(&f);
	user_run(rt, true, fill_and_empty, &f.spsc);
	if (!is_light(&f.spsc.sender) || !deny_call(SYS_membarrier))
		return 1;
	if (skua_spsc_receive(&f.spsc, &item, SKUA_FOREVER_NS) != -ENOSYS)
		return 2;
	/* Nothing has changed: an item comes, and is received. */
	if (skua_spsc_receive_try(&f.spsc, &item) != -EAGAIN ||
	    send_try(&f, 3) || skua_spsc_receive_try(&f.spsc, &item) ||
	    item != 3)
		return 3;
	/* The sender has left the worker. */
	if (skua_spsc_receive(&f.spsc, &item, 0) != -ETIMEDOUT)
		return 4;
	destroy(rt);
	return 0;
}

TEST(spsc__membarrier_denied_later__enosys)
{
	if (!membarrier_register())
		skip_aloud("membarrier does not work here");
	assert_int_equal(exit_of(wait_without_membarrier), 0);
}

/* ---- many ------------------------------------------------------------------- */

#define ITEMS 100000u

static uint64_t near(uint64_t i)
{
	return i % 16 ? SKUA_FOREVER_NS : skua_now_ns() + 1000;
}

static int send_many(struct user *it)
{
	for (uint64_t i = 0; i < ITEMS; i++) {
		uint64_t deadline = near(i);
		int code;

		do {
			code = skua_spsc_send(it->object, &i, deadline);
			deadline = SKUA_FOREVER_NS;
		} while (code == -ETIMEDOUT);
		if (code)
			return code;
	}
	return skua_spsc_close(it->object);
}

static int receive_many(struct user *it)
{
	uint64_t next = 0, calls = 0;
	int code;

	do {
		uint64_t item = 0;

		code = skua_spsc_receive(it->object, &item, near(++calls));
		if (code == 0 && item != next++)
			return -EINVAL;
	} while (code == 0 || code == -ETIMEDOUT);
	return code == -EPIPE && next == ITEMS ? 0 : code;
}

TEST(spsc__fibers_and_threads__none_lost_or_doubled)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned kinds = 0; kinds < 4; kinds++) {
		struct user sender = { 0 }, receiver = { 0 };
		struct fixture f;

		fixture_init(&f);
		user_start(&sender, rt, kinds & 1, send_many, &f.spsc);
		user_start(&receiver, rt, kinds & 2, receive_many, &f.spsc);
		assert_int_equal(user_end(&sender), 0);
		assert_int_equal(user_end(&receiver), 0);
	}
	destroy(rt);
}
