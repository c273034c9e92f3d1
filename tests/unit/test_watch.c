/* SPDX-License-Identifier: MIT */
/* test_watch.c - the latest value between polls, fibers and threads */
#include <string.h>

#include "skua/channel.h"
#include "skua/fork.h"
#include "tests/unit/users.h"

#define SOON_NS UINT64_C(3000000)

struct value {
	uint32_t words[5]; /* no multiple of 8 bytes */
};

struct watched {
	struct skua_watch watch;
	uint64_t memory[SKUA_WATCH_BYTES(sizeof(struct value)) / 8];
};

static struct value value_of(uint32_t n)
{
	return (struct value){ { n, n, n, n, n } };
}

static void check_value(const struct value *value, uint32_t n)
{
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(value->words[i], n);
}

static void setup(struct watched *it)
{
	struct value first = value_of(0);

	memcpy(it->memory, &first, sizeof(first));
	assert_int_equal(
		skua_watch_init(&it->watch, it->memory, sizeof(struct value)),
		0);
}

TEST(watch__bad_arguments__einval)
{
	struct watched it;
	struct skua_wait wait = SKUA_WAIT_INIT;
	struct value value = value_of(9);
	uint64_t version = 1;

	setup(&it);
	assert_int_equal(skua_watch_init(NULL, it.memory, 8), -EINVAL);
	assert_int_equal(skua_watch_init(&it.watch, NULL, 8), -EINVAL);
	assert_int_equal(skua_watch_init(&it.watch, it.memory, 0), -EINVAL);
	assert_int_equal(
		skua_watch_init(&it.watch, it.memory, SKUA_MAX_ITEM_BYTES + 1),
		-EINVAL);
	assert_int_equal(skua_watch_init(&it.watch, (char *)it.memory + 4, 8),
			 -EINVAL);
	assert_int_equal(skua_watch_set(NULL, &value), -EINVAL);
	assert_int_equal(skua_watch_set(&it.watch, NULL), -EINVAL);
	assert_int_equal(skua_watch_get(NULL, &value), 0);
	assert_int_equal(skua_watch_get(&it.watch, NULL), 0);
	assert_int_equal(skua_watch_changed(NULL, &version, &value, 0),
			 -EINVAL);
	assert_int_equal(skua_watch_changed(&it.watch, NULL, &value, 0),
			 -EINVAL);
	assert_int_equal(skua_watch_changed(&it.watch, &version, NULL, 0),
			 -EINVAL);
	assert_int_equal(skua_watch_changed_try(NULL, &version, &value),
			 -EINVAL);
	assert_int_equal(skua_watch_changed_poll(NULL, &it.watch, &version,
						 &value, &wait, 0),
			 -EINVAL);
	assert_int_equal(skua_watch_close(NULL), -EINVAL);
	check_value(&value, 9);
	assert_int_equal(skua_watch_get(&it.watch, &value), 1);
	check_value(&value, 0);
}

TEST(watch__set__latest_value_and_its_version)
{
	struct watched it;
	struct value value = value_of(9);
	uint64_t version = 0;

	setup(&it);
	assert_int_equal(skua_watch_changed(&it.watch, &version, &value, 0), 0);
	assert_int_equal(version, 1);
	check_value(&value, 0);
	assert_int_equal(skua_watch_changed(&it.watch, &version, &value, 0),
			 -ETIMEDOUT);
	assert_int_equal(skua_watch_changed_try(&it.watch, &version, &value),
			 -EAGAIN);
	for (uint32_t i = 1; i <= 3; i++) {
		struct value next = value_of(i);

		assert_int_equal(skua_watch_set(&it.watch, &next), 0);
	}
	check_value(&value, 0);
	assert_int_equal(skua_watch_changed_try(&it.watch, &version, &value),
			 0);
	assert_int_equal(version, 4);
	check_value(&value, 3);
	assert_int_equal(skua_watch_get(&it.watch, &value), 4);
}

TEST(watch__closed__last_value_then_epipe)
{
	struct watched it;
	struct value value = value_of(5);
	uint64_t version = 1;

	setup(&it);
	assert_int_equal(skua_watch_set(&it.watch, &value), 0);
	assert_int_equal(skua_watch_close(&it.watch), 0);
	assert_int_equal(skua_watch_close(&it.watch), -EALREADY);
	value = value_of(6);
	assert_int_equal(skua_watch_set(&it.watch, &value), -EPIPE);
	assert_int_equal(skua_watch_changed(&it.watch, &version, &value,
					    SKUA_FOREVER_NS),
			 0);
	check_value(&value, 5);
	assert_int_equal(version, 2);
	assert_int_equal(skua_watch_changed(&it.watch, &version, &value,
					    SKUA_FOREVER_NS),
			 -EPIPE);
	assert_int_equal(skua_watch_changed_try(&it.watch, &version, &value),
			 -EPIPE);
	assert_int_equal(skua_watch_get(&it.watch, &value), 2);
}

static int changed_in_poll(struct skua_task *self, void *arg)
{
	struct watched *it = arg;
	uint64_t version = 1;
	struct value value;

	(void)self;
	return skua_watch_changed(&it->watch, &version, &value,
				  SKUA_FOREVER_NS);
}

struct in_region {
	struct watched *watched;
	int code;
};

static void changed_in_region(struct skua_ctx ctx, void *arg)
{
	struct in_region *it = arg;

	(void)ctx;
	it->code = changed_in_poll(NULL, it->watched);
}

TEST(watch__changed_in_poll_or_job__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct watched it;
	struct in_region region = { .watched = &it };

	setup(&it);
	assert_int_equal(call_in_poll(rt, changed_in_poll, &it), -EDEADLK);
	assert_int_equal(skua_run(rt, changed_in_region, &region), 0);
	assert_int_equal(region.code, -EDEADLK);
	destroy(rt);
}

static int await_change(struct user *it)
{
	struct watched *watched = it->object;
	uint64_t version = 1, deadline_ns = SKUA_FOREVER_NS;
	struct value value;
	int code;

	if (it->number)
		deadline_ns = skua_now_ns() + SOON_NS;
	code = skua_watch_changed(&watched->watch, &version, &value,
				  deadline_ns);
	if (code)
		return code;
	check_value(&value, 4);
	return (int)version;
}

TEST(watch__set_or_close__all_proceed)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned closes = 0; closes < 2; closes++) {
		struct user users[6] = { { .number = 0 } };
		struct value value = value_of(4);
		struct watched it;

		setup(&it);
		for (unsigned i = 0; i < 6; i++)
			user_start(&users[i], rt, i % 2, await_change, &it);
		wait_for_waiters(&it.watch.waiters, 6);
		assert_int_equal(closes ? skua_watch_close(&it.watch)
					: skua_watch_set(&it.watch, &value),
				 0);
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(user_end(&users[i]),
					 closes ? -EPIPE : 2);
	}
	destroy(rt);
}

TEST(watch__deadline_or_cancel__nothing_stays)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user users[3] = { { .number = 1 },
				 { .number = 1 },
				 { .number = 0 } };
	struct watched it;

	setup(&it);
	for (unsigned i = 0; i < 3; i++)
		user_start(&users[i], rt, i, await_change, &it);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(user_end(&users[i]), -ETIMEDOUT);
	wait_for_waiters(&it.watch.waiters, 1);
	assert_int_equal(skua_task_cancel(&users[2].fiber.task), 0);
	assert_int_equal(user_end(&users[2]), -ECANCELED);
	assert_int_equal(count_of(&it.watch.waiters), 0);
	destroy(rt);
}

/* ---- many sets ---------------------------------------------------------------------- */

#define ROUNDS 20000u

struct receiver {
	struct skua_task task; /* first */
	struct skua_wait wait;
	struct watched *watched;
	struct value value;
	uint64_t version;
};

static void check_whole(const struct value *value)
{
	check_value(value, value->words[0]);
}

static enum skua_poll receive_poll(struct skua_task *self)
{
	struct receiver *it = (struct receiver *)self;

	for (;;) {
		uint64_t seen = it->version;
		int code = skua_watch_changed_poll(self, &it->watched->watch,
						   &it->version, &it->value,
						   &it->wait, SKUA_FOREVER_NS);

		if (code == -EAGAIN)
			return SKUA_PENDING;
		if (code == -EPIPE)
			return SKUA_DONE;
		assert_int_equal(code, 0);
		assert_true(it->version > seen);
		check_whole(&it->value);
	}
}

static int receive_all(struct user *it)
{
	struct watched *watched = it->object;
	uint64_t version = 0, seen;
	struct value value;

	for (unsigned i = 0;; i++) {
		int code = skua_watch_changed(&watched->watch, &version, &value,
					      i % 4 ? SKUA_FOREVER_NS
						    : skua_now_ns() + 2000);

		if (code == -EPIPE)
			break;
		assert_true(code == 0 || code == -ETIMEDOUT);
		if (code == 0)
			check_whole(&value);
		seen = skua_watch_get(&watched->watch, &value);
		assert_true(seen >= version);
		check_whole(&value);
	}
	return (int)version;
}

static int set_all(struct user *it)
{
	struct watched *watched = it->object;

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		struct value value = value_of(i);

		assert_int_equal(skua_watch_set(&watched->watch, &value), 0);
	}
	return 0;
}

TEST(watch__two_set__values_are_whole_and_the_last_arrives)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct user setters[2] = { { .number = 0 } };
	struct user receivers[4] = { { .number = 0 } };
	struct watched it;
	struct receiver polls = { .task = SKUA_TASK_INIT(receive_poll),
				  .watched = &it };

	setup(&it);
	spawn(rt, &polls.task);
	for (unsigned i = 0; i < 4; i++)
		user_start(&receivers[i], rt, i % 2, receive_all, &it);
	for (unsigned i = 0; i < 2; i++)
		user_start(&setters[i], rt, i, set_all, &it);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(user_end(&setters[i]), 0);
	assert_int_equal(skua_watch_close(&it.watch), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(user_end(&receivers[i]), 2 * ROUNDS + 1);
	join(&polls.task);
	assert_int_equal(polls.version, 2 * ROUNDS + 1);
	destroy(rt);
}
