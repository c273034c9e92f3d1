/* SPDX-License-Identifier: MIT */
/* test_broadcast.c - items for all, between polls, fibers and threads */
#include <string.h>

#include "skua/channel.h"
#include "skua/fork.h"
#include "tests/unit/users.h"

#define SOON_NS  UINT64_C(3000000)
#define CAPACITY 4u

struct item {
	uint32_t words[3]; /* no multiple of 8 bytes */
};

struct station {
	struct skua_broadcast broadcast;
	uint64_t memory[SKUA_CHANNEL_BYTES(CAPACITY, sizeof(struct item)) / 8];
};

static void setup(struct station *it)
{
	assert_int_equal(skua_broadcast_init(&it->broadcast, it->memory,
					     CAPACITY, sizeof(struct item)),
			 0);
}

static int send(struct station *it, uint32_t n)
{
	struct item item = { { n, n, n } };

	return skua_broadcast_send(&it->broadcast, &item);
}

/* Return: the item's number, or an error. */
static int receive(struct skua_subscription *subscription, uint64_t *missed,
		   uint64_t deadline_ns)
{
	struct item item;
	int code = skua_subscription_receive(subscription, &item, missed,
					     deadline_ns);

	if (code)
		return code;
	assert_int_equal(item.words[1], item.words[0]);
	assert_int_equal(item.words[2], item.words[0]);
	return (int)item.words[0];
}

TEST(broadcast__bad_arguments__einval)
{
	struct station it;
	struct skua_broadcast *broadcast = &it.broadcast;
	struct skua_subscription subscription, unset = { NULL, 0 };
	struct skua_wait wait = SKUA_WAIT_INIT;
	struct item item;

	assert_int_equal(skua_broadcast_init(NULL, it.memory, 4, 8), -EINVAL);
	assert_int_equal(skua_broadcast_init(broadcast, NULL, 4, 8), -EINVAL);
	assert_int_equal(skua_broadcast_init(broadcast, it.memory, 0, 8),
			 -EINVAL);
	assert_int_equal(skua_broadcast_init(broadcast, it.memory, 1, 8),
			 -EINVAL);
	assert_int_equal(skua_broadcast_init(broadcast, it.memory, 3, 8),
			 -EINVAL);
	assert_int_equal(skua_broadcast_init(broadcast, it.memory,
					     2 * SKUA_MAX_CAPACITY, 8),
			 -EINVAL);
	assert_int_equal(skua_broadcast_init(broadcast, it.memory, 4, 0),
			 -EINVAL);
	assert_int_equal(skua_broadcast_init(broadcast, it.memory, 4,
					     SKUA_MAX_ITEM_BYTES + 1),
			 -EINVAL);
	assert_int_equal(
		skua_broadcast_init(broadcast, (char *)it.memory + 4, 4, 8),
		-EINVAL);
	setup(&it);
	assert_int_equal(skua_broadcast_subscribe(NULL, &subscription),
			 -EINVAL);
	assert_int_equal(skua_broadcast_subscribe(broadcast, NULL), -EINVAL);
	assert_int_equal(skua_broadcast_subscribe(broadcast, &subscription), 0);
	assert_int_equal(skua_broadcast_send(NULL, &item), -EINVAL);
	assert_int_equal(skua_broadcast_send(broadcast, NULL), -EINVAL);
	assert_int_equal(skua_broadcast_close(NULL), -EINVAL);
	assert_int_equal(skua_subscription_receive(NULL, &item, NULL, 0),
			 -EINVAL);
	assert_int_equal(skua_subscription_receive(&unset, &item, NULL, 0),
			 -EINVAL);
	assert_int_equal(
		skua_subscription_receive(&subscription, NULL, NULL, 0),
		-EINVAL);
	assert_int_equal(
		skua_subscription_receive_try(&subscription, NULL, NULL),
		-EINVAL);
	assert_int_equal(skua_subscription_receive_poll(NULL, &subscription,
							&item, NULL, &wait, 0),
			 -EINVAL);
}

TEST(broadcast__items__each_subscription_gets_those_sent_after_it)
{
	struct station it;
	struct skua_subscription first, second;
	struct item item;

	setup(&it);
	assert_int_equal(skua_broadcast_subscribe(&it.broadcast, &first), 0);
	assert_int_equal(receive(&first, NULL, 0), -ETIMEDOUT);
	assert_int_equal(skua_subscription_receive_try(&first, &item, NULL),
			 -EAGAIN);
	assert_int_equal(send(&it, 1), 0);
	assert_int_equal(skua_broadcast_subscribe(&it.broadcast, &second), 0);
	assert_int_equal(send(&it, 2), 0);
	assert_int_equal(receive(&first, NULL, 0), 1);
	assert_int_equal(receive(&second, NULL, 0), 2);
	assert_int_equal(receive(&first, NULL, 0), 2);
	assert_int_equal(receive(&second, NULL, 0), -ETIMEDOUT);
}

TEST(broadcast__receiver_lags__told_once_and_goes_on)
{
	struct station it;
	struct skua_subscription subscription, copy;
	uint64_t missed = 0;

	setup(&it);
	skua_broadcast_subscribe(&it.broadcast, &subscription);
	for (uint32_t i = 0; i < 11; i++)
		assert_int_equal(send(&it, i), 0);
	copy = subscription;
	assert_int_equal(receive(&copy, NULL, 0), -EOVERFLOW);
	assert_int_equal(receive(&subscription, &missed, 0), -EOVERFLOW);
	assert_int_equal(missed, 7);
	for (int i = 7; i < 11; i++) {
		assert_int_equal(receive(&subscription, &missed, 0), i);
		assert_int_equal(receive(&copy, NULL, 0), i);
	}
	assert_int_equal(receive(&subscription, &missed, 0), -ETIMEDOUT);
	assert_int_equal(missed, 7);
}

TEST(broadcast__closed__items_left_then_epipe)
{
	struct station it;
	struct skua_subscription subscription, late;

	setup(&it);
	skua_broadcast_subscribe(&it.broadcast, &subscription);
	assert_int_equal(send(&it, 1), 0);
	assert_int_equal(send(&it, 2), 0);
	assert_int_equal(skua_broadcast_close(&it.broadcast), 0);
	assert_int_equal(skua_broadcast_close(&it.broadcast), -EALREADY);
	assert_int_equal(send(&it, 3), -EPIPE);
	skua_broadcast_subscribe(&it.broadcast, &late);
	assert_int_equal(receive(&late, NULL, SKUA_FOREVER_NS), -EPIPE);
	assert_int_equal(receive(&subscription, NULL, SKUA_FOREVER_NS), 1);
	assert_int_equal(receive(&subscription, NULL, SKUA_FOREVER_NS), 2);
	assert_int_equal(receive(&subscription, NULL, SKUA_FOREVER_NS), -EPIPE);
	assert_int_equal(receive(&subscription, NULL, SKUA_FOREVER_NS), -EPIPE);
}

static int receive_first(struct station *it, uint64_t deadline_ns)
{
	struct skua_subscription subscription;

	skua_broadcast_subscribe(&it->broadcast, &subscription);
	return receive(&subscription, NULL, deadline_ns);
}

static int receive_in_poll(struct skua_task *self, void *arg)
{
	(void)self;
	return receive_first(arg, SKUA_FOREVER_NS);
}

struct in_region {
	struct station *station;
	int code;
};

static void receive_in_region(struct skua_ctx ctx, void *arg)
{
	struct in_region *it = arg;

	(void)ctx;
	it->code = receive_first(it->station, SKUA_FOREVER_NS);
}

TEST(broadcast__receive_in_poll_or_job__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct station it;
	struct in_region region = { .station = &it };

	setup(&it);
	assert_int_equal(call_in_poll(rt, receive_in_poll, &it), -EDEADLK);
	assert_int_equal(skua_run(rt, receive_in_region, &region), 0);
	assert_int_equal(region.code, -EDEADLK);
	destroy(rt);
}

static int receive_by_user(struct user *it)
{
	return receive_first(it->object, it->number ? skua_now_ns() + SOON_NS
						    : SKUA_FOREVER_NS);
}

TEST(broadcast__send_or_close__all_proceed)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned closes = 0; closes < 2; closes++) {
		struct user users[6] = { { .number = 0 } };
		struct station it;

		setup(&it);
		for (unsigned i = 0; i < 6; i++)
			user_start(&users[i], rt, i % 2, receive_by_user, &it);
		wait_for_waiters(&it.broadcast.waiters, 6);
		assert_int_equal(closes ? skua_broadcast_close(&it.broadcast)
					: send(&it, 8),
				 0);
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(user_end(&users[i]),
					 closes ? -EPIPE : 8);
	}
	destroy(rt);
}

TEST(broadcast__deadline_or_cancel__nothing_stays)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user users[3] = { { .number = 1 },
				 { .number = 1 },
				 { .number = 0 } };
	struct station it;

	setup(&it);
	for (unsigned i = 0; i < 3; i++)
		user_start(&users[i], rt, i, receive_by_user, &it);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(user_end(&users[i]), -ETIMEDOUT);
	wait_for_waiters(&it.broadcast.waiters, 1);
	assert_int_equal(skua_task_cancel(&users[2].fiber.task), 0);
	assert_int_equal(user_end(&users[2]), -ECANCELED);
	assert_int_equal(count_of(&it.broadcast.waiters), 0);
	destroy(rt);
}

/* ---- many items --------------------------------------------------------------------- */

#define ROUNDS  20000u
#define SENDERS 2u

/* The receipts of a subscription: the items of a sender come in order. */
struct receipts {
	struct skua_subscription subscription;
	uint64_t passed; /* received or missed */
	uint32_t last[SENDERS];
};

static void check_item(struct receipts *it, const struct item *item)
{
	uint32_t n = item->words[0];

	assert_int_equal(item->words[1], n);
	assert_int_equal(item->words[2], n);
	assert_true(n / SENDERS > it->last[n % SENDERS]);
	it->last[n % SENDERS] = n / SENDERS;
	it->passed++;
}

struct receiver {
	struct skua_task task; /* first */
	struct skua_wait wait;
	struct receipts receipts;
	struct item item;
};

static enum skua_poll receive_poll(struct skua_task *self)
{
	struct receiver *it = (struct receiver *)self;

	for (;;) {
		uint64_t missed;
		int code = skua_subscription_receive_poll(
			self, &it->receipts.subscription, &it->item, &missed,
			&it->wait, SKUA_FOREVER_NS);

		if (code == -EAGAIN)
			return SKUA_PENDING;
		if (code == -EPIPE)
			return SKUA_DONE;
		assert_true(code == 0 || code == -EOVERFLOW);
		if (code == 0)
			check_item(&it->receipts, &it->item);
		else
			it->receipts.passed += missed;
	}
}

static int receive_all(struct user *it)
{
	struct receipts *receipts = it->object;
	struct item item;
	uint64_t missed;

	for (unsigned i = 0;; i++) {
		int code = skua_subscription_receive(
			&receipts->subscription, &item, &missed,
			i % 4 ? SKUA_FOREVER_NS : skua_now_ns() + 2000);

		if (code == -EPIPE)
			return 0;
		if (code == 0)
			check_item(receipts, &item);
		else if (code == -EOVERFLOW)
			receipts->passed += missed;
		else
			assert_int_equal(code, -ETIMEDOUT);
	}
}

static int send_all(struct user *it)
{
	for (uint32_t i = 1; i <= ROUNDS; i++)
		assert_int_equal(send(it->object, i * SENDERS + it->number), 0);
	return 0;
}

TEST(broadcast__two_senders__each_item_passes_once)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct user senders[SENDERS] = { { .number = 0 }, { .number = 1 } };
	struct user users[4] = { { .number = 0 } };
	struct receipts receipts[4] = { { .passed = 0 } };
	struct receiver polls = { .task = SKUA_TASK_INIT(receive_poll) };
	struct station it;

	setup(&it);
	skua_broadcast_subscribe(&it.broadcast, &polls.receipts.subscription);
	spawn(rt, &polls.task);
	for (unsigned i = 0; i < 4; i++) {
		skua_broadcast_subscribe(&it.broadcast,
					 &receipts[i].subscription);
		user_start(&users[i], rt, i % 2, receive_all, &receipts[i]);
	}
	for (unsigned i = 0; i < SENDERS; i++)
		user_start(&senders[i], rt, i, send_all, &it);
	for (unsigned i = 0; i < SENDERS; i++)
		assert_int_equal(user_end(&senders[i]), 0);
	assert_int_equal(skua_broadcast_close(&it.broadcast), 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(user_end(&users[i]), 0);
		assert_int_equal(receipts[i].passed, SENDERS * ROUNDS);
	}
	join(&polls.task);
	assert_int_equal(polls.receipts.passed, SENDERS * ROUNDS);
	destroy(rt);
}
