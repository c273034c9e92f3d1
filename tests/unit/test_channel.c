/* SPDX-License-Identifier: MIT */
/* test_channel.c - items between polls, fibers and threads */
#include <stdlib.h>
#include <string.h>

#include "skua/channel.h"
#include "skua/fork.h"
#include "tests/unit/users.h"

#define SOON_NS  UINT64_C(3000000)
#define CAPACITY 4u

struct fixture {
	struct skua_channel channel;
	uint64_t memory[SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
};

static void fixture_init(struct fixture *f)
{
	assert_int_equal(skua_channel_init(&f->channel, f->memory, CAPACITY, 8),
			 0);
}

static int send_try(struct fixture *f, uint64_t item)
{
	return skua_channel_send_try(&f->channel, &item);
}

static void fill(struct fixture *f)
{
	for (uint64_t i = 0; i < CAPACITY; i++)
		assert_int_equal(send_try(f, i), 0);
	assert_int_equal(send_try(f, CAPACITY), -EAGAIN);
}

TEST(channel__null_or_bad_number__einval)
{
	struct fixture f;
	struct skua_wait wait = SKUA_WAIT_INIT;
	void *odd = (char *)f.memory + 4;
	uint64_t item = 0;

	assert_int_equal(skua_channel_init(NULL, f.memory, 4, 8), -EINVAL);
	assert_int_equal(skua_channel_init(&f.channel, NULL, 4, 8), -EINVAL);
	assert_int_equal(skua_channel_init(&f.channel, odd, 2, 8), -EINVAL);
	for (uint32_t capacity = 0; capacity < 8; capacity++)
		assert_int_equal(
			skua_channel_init(&f.channel, f.memory, capacity, 1),
			capacity == 2 || capacity == 4 ? 0 : -EINVAL);
	assert_int_equal(
		skua_channel_init(&f.channel, f.memory, UINT32_C(1) << 31, 8),
		-EINVAL);
	assert_int_equal(skua_channel_init(&f.channel, f.memory, 4, 0),
			 -EINVAL);
	assert_int_equal(skua_channel_init(&f.channel, f.memory, 2,
					   SKUA_MAX_ITEM_BYTES + 1),
			 -EINVAL);
	fixture_init(&f);
	assert_int_equal(skua_channel_send(NULL, &item, 0), -EINVAL);
	assert_int_equal(skua_channel_send(&f.channel, NULL, 0), -EINVAL);
	assert_int_equal(skua_channel_send_try(NULL, &item), -EINVAL);
	assert_int_equal(skua_channel_send_try(&f.channel, NULL), -EINVAL);
	assert_int_equal(
		skua_channel_send_poll(NULL, &f.channel, &item, &wait, 0),
		-EINVAL);
	assert_int_equal(skua_channel_receive(NULL, &item, 0), -EINVAL);
	assert_int_equal(skua_channel_receive(&f.channel, NULL, 0), -EINVAL);
	assert_int_equal(skua_channel_receive_try(NULL, &item), -EINVAL);
	assert_int_equal(skua_channel_receive_try(&f.channel, NULL), -EINVAL);
	assert_int_equal(
		skua_channel_receive_poll(NULL, &f.channel, &item, &wait, 0),
		-EINVAL);
	assert_int_equal(skua_channel_close(NULL), -EINVAL);
	assert_int_equal(skua_channel_length(NULL), 0);
}

TEST(channel__many_rounds__first_in_first_out)
{
	struct fixture f;
	uint64_t item, sent = 0, received = 0;

	fixture_init(&f);
	for (unsigned round = 0; round < 1000; round++) {
		for (unsigned i = 0; i <= round % CAPACITY; i++)
			assert_int_equal(send_try(&f, sent++), 0);
		assert_int_equal(skua_channel_length(&f.channel),
				 round % CAPACITY + 1);
		while (skua_channel_receive_try(&f.channel, &item) == 0)
			assert_true(item == received++);
		assert_true(received == sent);
		assert_int_equal(skua_channel_length(&f.channel), 0);
	}
}

/* Items of each size are copied whole, and nothing beside them is touched. */
TEST(channel__items_of_any_size__copied)
{
	const uint32_t sizes[] = { 1, 3, 7, 8, 9, 16, 17, 100, 65536 };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t bytes = sizes[i];
		struct skua_channel channel;
		void *memory = malloc(SKUA_CHANNEL_BYTES(2, bytes));
		unsigned char *item = malloc(bytes + 1);

		assert_non_null(memory);
		assert_non_null(item);
		assert_int_equal(skua_channel_init(&channel, memory, 2, bytes),
				 0);
		for (unsigned n = 0; n < 5; n++) {
			memset(item, (int)n + 1, bytes);
			item[bytes] = 0xaa;
			assert_int_equal(skua_channel_send_try(&channel, item),
					 0);
			memset(item, 0, bytes);
			assert_int_equal(
				skua_channel_receive_try(&channel, item), 0);
			for (uint32_t at = 0; at < bytes; at++)
				assert_int_equal(item[at], n + 1);
			assert_int_equal(item[bytes], 0xaa);
		}
		free(item);
		free(memory);
	}
}

TEST(channel__full_or_empty__deadline_passes_and_nothing_stays)
{
	struct fixture f;
	uint64_t item = 9;

	fixture_init(&f);
	assert_int_equal(skua_channel_receive(&f.channel, &item, 0),
			 -ETIMEDOUT);
	assert_int_equal(skua_channel_receive(&f.channel, &item,
					      skua_now_ns() + SOON_NS),
			 -ETIMEDOUT);
	assert_true(item == 9);
	fill(&f);
	assert_int_equal(
		skua_channel_send(&f.channel, &item, skua_now_ns() + SOON_NS),
		-ETIMEDOUT);
	for (uint64_t i = 0; i < CAPACITY; i++) {
		assert_int_equal(skua_channel_receive_try(&f.channel, &item),
				 0);
		assert_true(item == i);
	}
	assert_int_equal(skua_channel_receive_try(&f.channel, &item), -EAGAIN);
}

TEST(channel__closed__drained_then_epipe)
{
	struct fixture f;
	uint64_t item;

	fixture_init(&f);
	assert_int_equal(send_try(&f, 1), 0);
	assert_int_equal(skua_channel_close(&f.channel), 0);
	assert_int_equal(skua_channel_close(&f.channel), -EALREADY);
	assert_int_equal(send_try(&f, 2), -EPIPE);
	assert_int_equal(skua_channel_send(&f.channel, &item, SKUA_FOREVER_NS),
			 -EPIPE);
	assert_int_equal(
		skua_channel_receive(&f.channel, &item, SKUA_FOREVER_NS), 0);
	assert_true(item == 1);
	assert_int_equal(
		skua_channel_receive(&f.channel, &item, SKUA_FOREVER_NS),
		-EPIPE);
	assert_int_equal(skua_channel_receive_try(&f.channel, &item), -EPIPE);
}

/* ---- waits ------------------------------------------------------------------ */

/* Wait until @count receivers wait; one of them may wait alone. */
static void wait_for_receivers(struct skua_channel *channel, uint32_t count)
{
	while (count_of(&channel->receivers) +
		       (__atomic_load_n(&channel->receiver, __ATOMIC_RELAXED) !=
			NULL) !=
	       count)
		sched_yield();
}

static int receive(struct user *it)
{
	uint64_t item = 0;
	int code = skua_channel_receive(it->object, &item, SKUA_FOREVER_NS);

	return code ? code : (int)item;
}

static int send_number(struct user *it)
{
	uint64_t item = it->number;

	return skua_channel_send(it->object, &item, SKUA_FOREVER_NS);
}

/* Each waiter gets one item; they are served in their order. */
TEST(channel__receivers_wait__served_in_order)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct fixture f;
		struct user users[3] = { 0 };

		fixture_init(&f);
		for (unsigned i = 0; i < 3; i++) {
			user_start(&users[i], rt, is_fiber, receive,
				   &f.channel);
			wait_for_receivers(&f.channel, i + 1);
		}
		for (uint64_t i = 0; i < 3; i++)
			assert_int_equal(send_try(&f, i + 10), 0);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(user_end(&users[i]), i + 10);
		assert_int_equal(skua_channel_length(&f.channel), 0);
	}
	destroy(rt);
}

TEST(channel__senders_wait__served_in_order)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct fixture f;
		struct user users[3] = { 0 };
		uint64_t item;

		fixture_init(&f);
		fill(&f);
		for (unsigned i = 0; i < 3; i++) {
			users[i].number = CAPACITY + i;
			user_start(&users[i], rt, is_fiber, send_number,
				   &f.channel);
			wait_for_waiters(&f.channel.senders, i + 1);
		}
		for (uint64_t i = 0; i < CAPACITY + 3; i++) {
			assert_int_equal(skua_channel_receive(&f.channel, &item,
							      SKUA_FOREVER_NS),
					 0);
			assert_true(item == i);
		}
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(user_end(&users[i]), 0);
	}
	destroy(rt);
}

TEST(channel__closed_while_others_wait__epipe)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct fixture f;
		struct user receiver = { 0 }, sender = { .number = 7 };

		fixture_init(&f);
		user_start(&receiver, rt, is_fiber, receive, &f.channel);
		wait_for_receivers(&f.channel, 1);
		assert_int_equal(skua_channel_close(&f.channel), 0);
		assert_int_equal(user_end(&receiver), -EPIPE);

		fixture_init(&f);
		fill(&f);
		user_start(&sender, rt, is_fiber, send_number, &f.channel);
		wait_for_waiters(&f.channel.senders, 1);
		assert_int_equal(skua_channel_close(&f.channel), 0);
		assert_int_equal(user_end(&sender), -EPIPE);
		/* The items before are still there, and nothing else. */
		assert_int_equal(skua_channel_length(&f.channel), CAPACITY);
	}
	destroy(rt);
}

TEST(channel__waiting_fiber_cancelled__ecanceled)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct fixture f;
	struct user it = { 0 };

	fixture_init(&f);
	user_start(&it, rt, true, receive, &f.channel);
	wait_for_receivers(&f.channel, 1);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED);
	/* It is not served any more. */
	assert_int_equal(send_try(&f, 1), 0);
	assert_int_equal(skua_channel_length(&f.channel), 1);
	destroy(rt);
}

/* ---- polls ------------------------------------------------------------------ */

/* Sends the numbers from 0 on, or receives them. */
struct pump {
	struct skua_task task; /* first */
	struct skua_channel *channel;
	struct skua_wait wait;
	uint64_t item, times, wrong;
	int wait_code; /* of a form that waits */
};

static enum skua_poll pump_out(struct skua_task *self)
{
	struct pump *it = (struct pump *)self;

	it->wait_code =
		skua_channel_send(it->channel, &it->item, SKUA_FOREVER_NS);
	for (; it->item < it->times; it->item++) {
		int code = skua_channel_send_poll(self, it->channel, &it->item,
						  &it->wait, SKUA_FOREVER_NS);

		if (code == -EAGAIN)
			return SKUA_PENDING;
		it->wrong += code != 0;
	}
	return SKUA_DONE;
}

/* The item stays in place while the wait is armed. */
static enum skua_poll pump_in(struct skua_task *self)
{
	struct pump *it = (struct pump *)self;

	for (uint64_t next = it->times; next > 0; next = --it->times) {
		int code =
			skua_channel_receive_poll(self, it->channel, &it->item,
						  &it->wait, SKUA_FOREVER_NS);

		if (code == -EAGAIN)
			return SKUA_PENDING;
		it->wrong += code != 0 || it->item + next != 10000;
	}
	return SKUA_DONE;
}

TEST(channel__polls__all_in_order)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct fixture f;
	struct pump out = { .task = SKUA_TASK_INIT(pump_out),
			    .channel = &f.channel,
			    .times = 10000 };
	struct pump in = { .task = SKUA_TASK_INIT(pump_in),
			   .channel = &f.channel,
			   .times = 10000 };

	fixture_init(&f);
	spawn(rt, &in.task);
	spawn(rt, &out.task);
	join(&out.task);
	join(&in.task);
	assert_int_equal(out.wait_code, -EDEADLK);
	assert_true(out.wrong == 0 && in.wrong == 0);
	assert_int_equal(skua_channel_length(&f.channel), 0);
	destroy(rt);
}

/* ---- many ------------------------------------------------------------------- */

#define SENDERS   4u
#define RECEIVERS 4u
#define ITEMS     20000u /* of each sender */

/* An item: the sender's number, and how many it sent before. */
static struct fixture crowd;
static uint64_t seen[SENDERS]; /* atomic: the sum of what was received */
static uint64_t got;           /* atomic: items */

static int send_many(struct user *it)
{
	for (uint64_t i = 0; i < ITEMS; i++) {
		uint64_t item = (uint64_t)it->number << 32 | i;
		uint64_t deadline =
			i % 16 ? SKUA_FOREVER_NS : skua_now_ns() + 1000;
		int code;

		do {
			code = skua_channel_send(it->object, &item, deadline);
			deadline = SKUA_FOREVER_NS;
		} while (code == -ETIMEDOUT);
		if (code)
			return code;
	}
	return 0;
}

static int receive_many(struct user *it)
{
	uint64_t last[SENDERS] = { 0 };
	unsigned n = 0;
	int code;

	do {
		uint64_t item;
		uint64_t deadline =
			++n % 16 ? SKUA_FOREVER_NS : skua_now_ns() + 1000;

		code = skua_channel_receive(it->object, &item, deadline);
		if (code == 0) {
			/* A receiver sees each sender's items in order. */
			if ((item & UINT32_MAX) < last[item >> 32])
				return -EINVAL;
			last[item >> 32] = item & UINT32_MAX;
			__atomic_fetch_add(&seen[item >> 32], item & UINT32_MAX,
					   __ATOMIC_RELAXED);
			__atomic_fetch_add(&got, 1, __ATOMIC_RELAXED);
		}
	} while (code == 0 || code == -ETIMEDOUT);
	return code == -EPIPE ? 0 : code;
}

TEST(channel__fibers_and_threads__none_lost_or_doubled)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct user senders[SENDERS] = { 0 }, receivers[RECEIVERS] = { 0 };

	fixture_init(&crowd);
	memset(seen, 0, sizeof(seen));
	got = 0;
	for (unsigned i = 0; i < SENDERS; i++) {
		senders[i].number = i;
		user_start(&senders[i], rt, i % 2, send_many, &crowd.channel);
		user_start(&receivers[i], rt, i % 2, receive_many,
			   &crowd.channel);
	}
	for (unsigned i = 0; i < SENDERS; i++)
		assert_int_equal(user_end(&senders[i]), 0);
	assert_int_equal(skua_channel_close(&crowd.channel), 0);
	for (unsigned i = 0; i < RECEIVERS; i++)
		assert_int_equal(user_end(&receivers[i]), 0);
	assert_true(got == SENDERS * ITEMS);
	for (unsigned i = 0; i < SENDERS; i++)
		assert_true(seen[i] == (uint64_t)ITEMS * (ITEMS - 1) / 2);
	destroy(rt);
}
