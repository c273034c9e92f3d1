/* SPDX-License-Identifier: MIT */
/* test_oneshot.c - one value between polls, fibers and threads */
#include <stdlib.h>

#include "skua/channel.h"
#include "skua/fork.h"
#include "tests/unit/users.h"

#define SOON_NS UINT64_C(3000000)

TEST(oneshot__null__einval)
{
	struct skua_oneshot oneshot = SKUA_ONESHOT_INIT;
	struct skua_wait wait = SKUA_WAIT_INIT;
	uintptr_t value;

	assert_int_equal(skua_oneshot_send(NULL, 1), -EINVAL);
	assert_int_equal(skua_oneshot_close(NULL), -EINVAL);
	assert_int_equal(skua_oneshot_receive(NULL, &value, 0), -EINVAL);
	assert_int_equal(skua_oneshot_receive(&oneshot, NULL, 0), -EINVAL);
	assert_int_equal(skua_oneshot_receive_try(NULL, &value), -EINVAL);
	assert_int_equal(skua_oneshot_receive_try(&oneshot, NULL), -EINVAL);
	assert_int_equal(
		skua_oneshot_receive_poll(NULL, &oneshot, &value, &wait, 0),
		-EINVAL);
}

TEST(oneshot__sent__received_once)
{
	struct skua_oneshot oneshot = SKUA_ONESHOT_INIT;
	uintptr_t value = 0;

	assert_int_equal(skua_oneshot_receive_try(&oneshot, &value), -EAGAIN);
	assert_int_equal(skua_oneshot_receive(&oneshot, &value, 0), -ETIMEDOUT);
	assert_int_equal(skua_oneshot_send(&oneshot, UINTPTR_MAX), 0);
	assert_int_equal(skua_oneshot_send(&oneshot, 2), -EALREADY);
	assert_int_equal(skua_oneshot_close(&oneshot), -EALREADY);
	assert_int_equal(skua_oneshot_receive(&oneshot, &value, 0), 0);
	assert_true(value == UINTPTR_MAX);
	value = 3;
	assert_int_equal(skua_oneshot_receive(&oneshot, &value, 0), -EPIPE);
	assert_int_equal(skua_oneshot_receive_try(&oneshot, &value), -EPIPE);
	assert_int_equal(skua_oneshot_send(&oneshot, 2), -EALREADY);
	assert_true(value == 3);
}

TEST(oneshot__closed__epipe)
{
	struct skua_oneshot oneshot = SKUA_ONESHOT_INIT;
	uintptr_t value = 3;

	assert_int_equal(skua_oneshot_close(&oneshot), 0);
	assert_int_equal(skua_oneshot_close(&oneshot), -EALREADY);
	assert_int_equal(skua_oneshot_send(&oneshot, 2), -EPIPE);
	assert_int_equal(
		skua_oneshot_receive(&oneshot, &value, SKUA_FOREVER_NS),
		-EPIPE);
	assert_true(value == 3);
}

static int receive(struct user *it)
{
	uintptr_t value = 0;
	int code = skua_oneshot_receive(it->object, &value, SKUA_FOREVER_NS);

	return code ? code : (int)value;
}

static int receive_soon(struct user *it)
{
	uintptr_t value;

	return skua_oneshot_receive(it->object, &value,
				    skua_now_ns() + SOON_NS);
}

static int receive_in_poll(struct skua_task *self, void *arg)
{
	uintptr_t value;

	(void)self;
	return skua_oneshot_receive(arg, &value, SKUA_FOREVER_NS);
}

static void receive_in_region(struct skua_ctx ctx, void *arg)
{
	struct skua_oneshot oneshot = SKUA_ONESHOT_INIT;
	uintptr_t value;

	(void)ctx;
	*(int *)arg = skua_oneshot_receive(&oneshot, &value, SKUA_FOREVER_NS);
}

TEST(oneshot__receive_in_poll_or_job__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_oneshot oneshot = SKUA_ONESHOT_INIT;
	int code = 0;

	assert_int_equal(call_in_poll(rt, receive_in_poll, &oneshot), -EDEADLK);
	assert_int_equal(skua_run(rt, receive_in_region, &code), 0);
	assert_int_equal(code, -EDEADLK);
	destroy(rt);
}

TEST(oneshot__waiting_receiver__gets_the_value_or_the_close)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned i = 0; i < 4; i++) {
		struct skua_oneshot oneshot = SKUA_ONESHOT_INIT;
		struct user it = { .number = 0 };

		user_start(&it, rt, i % 2, receive, &oneshot);
		wait_for_waiters(&oneshot.waiters, 1);
		assert_int_equal(i < 2 ? skua_oneshot_send(&oneshot, 77)
				       : skua_oneshot_close(&oneshot),
				 0);
		assert_int_equal(user_end(&it), i < 2 ? 77 : -EPIPE);
	}
	destroy(rt);
}

TEST(oneshot__deadline_or_cancel__nothing_stays)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_oneshot oneshot = SKUA_ONESHOT_INIT;
	struct user it = { .number = 0 };
	uintptr_t value = 0;

	for (unsigned fiber = 0; fiber < 2; fiber++)
		assert_int_equal(user_run(rt, fiber, receive_soon, &oneshot),
				 -ETIMEDOUT);
	user_start(&it, rt, true, receive, &oneshot);
	wait_for_waiters(&oneshot.waiters, 1);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED);
	assert_int_equal(oneshot.word, 0);
	assert_int_equal(skua_oneshot_send(&oneshot, 5), 0);
	assert_int_equal(skua_oneshot_receive_try(&oneshot, &value), 0);
	assert_true(value == 5);
	destroy(rt);
}

/* Receives in polls: gives up once, and waits again. */
struct receiver {
	struct skua_task task; /* first */
	struct skua_wait wait;
	struct skua_oneshot *oneshot;
	uintptr_t value;
	bool soon; /* else no deadline */
	uint64_t deadline_ns;
	int code;
	bool gave_up;
};

/* Again if the deadline had passed before the wait was armed. */
static void arm_and_give_up(struct receiver *it)
{
	do {
		it->deadline_ns =
			it->soon ? skua_now_ns() + SOON_NS : SKUA_FOREVER_NS;
		it->code = skua_oneshot_receive_poll(&it->task, it->oneshot,
						     &it->value, &it->wait,
						     it->deadline_ns);
	} while (it->code == -ETIMEDOUT);
	it->gave_up = skua_wait_cancel(&it->task, &it->wait) == 0;
}

static enum skua_poll receive_poll(struct skua_task *self)
{
	struct receiver *it = (struct receiver *)self;

	if (!it->gave_up)
		arm_and_give_up(it);
	it->code = skua_oneshot_receive_poll(self, it->oneshot, &it->value,
					     &it->wait, it->deadline_ns);
	return it->code == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

TEST(oneshot__received_in_polls__value_or_deadline)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned sent = 0; sent < 2; sent++) {
		struct skua_oneshot oneshot = SKUA_ONESHOT_INIT;
		struct receiver it = {
			.task = SKUA_TASK_INIT(receive_poll),
			.oneshot = &oneshot,
			.soon = !sent,
		};

		spawn(rt, &it.task);
		if (sent) {
			wait_for_waiters(&oneshot.waiters, 1);
			wait_until_waiting(&it.task);
			assert_int_equal(skua_oneshot_send(&oneshot, 9), 0);
		}
		join(&it.task);
		assert_int_equal(it.code, sent ? 0 : -ETIMEDOUT);
		assert_true(it.value == (sent ? 9 : 0));
		assert_true(it.gave_up);
	}
	destroy(rt);
}

/* ---- the receiver frees the oneshot ------------------------------------------------ */

#define ROUNDS 20000u

static int send_rounds(struct user *it)
{
	struct skua_channel *channel = it->object;
	struct skua_oneshot *oneshot;

	while (skua_channel_receive(channel, &oneshot, SKUA_FOREVER_NS) == 0)
		assert_int_equal(skua_oneshot_send(oneshot, it->number), 0);
	return 0;
}

static int receive_rounds(struct user *it)
{
	struct skua_channel *channel = it->object;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct skua_oneshot *oneshot = calloc(1, sizeof(*oneshot));
		uintptr_t value = 0;
		int code;

		assert_non_null(oneshot);
		assert_int_equal(
			skua_channel_send(channel, &oneshot, SKUA_FOREVER_NS),
			0);
		code = skua_oneshot_receive(oneshot, &value,
					    i % 4 ? SKUA_FOREVER_NS
						  : skua_now_ns() + 2000);
		if (code == -ETIMEDOUT)
			code = skua_oneshot_receive(oneshot, &value,
						    SKUA_FOREVER_NS);
		assert_int_equal(code, 0);
		assert_true(value == 21);
		free(oneshot);
	}
	return 0;
}

TEST(oneshot__freed_by_receiver__not_touched)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	uint64_t memory[SKUA_CHANNEL_BYTES(4, sizeof(void *)) / 8];
	struct user senders[2] = { { .number = 21 }, { .number = 21 } };
	struct user receivers[3] = { { .number = 0 } };
	struct skua_channel channel;

	assert_int_equal(skua_channel_init(&channel, memory, 4, sizeof(void *)),
			 0);
	for (unsigned i = 0; i < 2; i++)
		user_start(&senders[i], rt, i, send_rounds, &channel);
	for (unsigned i = 0; i < 3; i++)
		user_start(&receivers[i], rt, i, receive_rounds, &channel);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(user_end(&receivers[i]), 0);
	assert_int_equal(skua_channel_close(&channel), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(user_end(&senders[i]), 0);
	destroy(rt);
}
