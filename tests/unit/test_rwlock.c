/* SPDX-License-Identifier: MIT */
/* test_rwlock.c - readers and writers, between fibers and threads */
#include "skua/sync.h"
#include "tests/unit/users.h"

#define ROUNDS 5000u
#define USERS  6u

struct shared {
	struct skua_rwlock lock;
	uint64_t count; /* plain */
};

static int read_and_write(struct user *it)
{
	struct shared *shared = it->object;

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (i % 4 == it->number % 4) {
			assert_int_equal(skua_rwlock_write(&shared->lock,
							   SKUA_FOREVER_NS),
					 0);
			shared->count++;
			if (i % 8 == 0)
				assert_int_equal(
					skua_rwlock_downgrade(&shared->lock),
					0);
			assert_int_equal(i % 8 == 0 ? skua_rwlock_read_unlock(
							      &shared->lock)
						    : skua_rwlock_write_unlock(
							      &shared->lock),
					 0);
		} else if (skua_rwlock_read(&shared->lock,
					    skua_now_ns() + 20000) == 0) {
			assert_int_equal(
				skua_rwlock_write_unlock(&shared->lock),
				-EPERM);
			assert_int_equal(skua_rwlock_read_unlock(&shared->lock),
					 0);
		}
	}
	return 0;
}

TEST(rwlock__readers_and_writers__writers_alone)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct shared shared = { .lock = SKUA_RWLOCK_INIT };
	struct user users[USERS] = { 0 };

	for (unsigned i = 0; i < USERS; i++) {
		users[i].number = i;
		user_start(&users[i], rt, i % 3 != 0, read_and_write, &shared);
	}
	for (unsigned i = 0; i < USERS; i++)
		assert_int_equal(user_end(&users[i]), 0);
	assert_int_equal(shared.count, USERS * ROUNDS / 4);
	assert_int_equal(skua_rwlock_destroy(&shared.lock), 0);
	assert_int_equal(skua_rwlock_read_unlock(&shared.lock), -EPERM);
	destroy(rt);
}

TEST(rwlock__held__try_and_twice_are_refused)
{
	struct skua_rwlock lock = SKUA_RWLOCK_INIT;

	assert_int_equal(skua_rwlock_read(&lock, 0), 0);
	assert_int_equal(skua_rwlock_read_try(&lock), 0);
	assert_int_equal(skua_rwlock_write_try(&lock), -EAGAIN);
	assert_int_equal(skua_rwlock_write(&lock, 0), -ETIMEDOUT);
	assert_int_equal(skua_rwlock_destroy(&lock), -EBUSY);
	assert_int_equal(skua_rwlock_read_unlock(&lock), 0);
	assert_int_equal(skua_rwlock_read_unlock(&lock), 0);
	assert_int_equal(skua_rwlock_write(&lock, 0), 0);
	assert_int_equal(skua_rwlock_write(&lock, 0), -EDEADLK);
	assert_int_equal(skua_rwlock_read(&lock, 0), -EDEADLK);
	assert_int_equal(skua_rwlock_read_try(&lock), -EDEADLK);
	assert_int_equal(skua_rwlock_write_unlock(&lock), 0);
	assert_int_equal(skua_rwlock_write_unlock(&lock), -EPERM);
}
