/* SPDX-License-Identifier: MIT */
/**
 * test_rwlock_readers.c - what a reader costs while others read
 *
 * The lock is compiled with a compare-exchange that counts.
 */
#include "core/base/hot.h"
#include "core/sync/verbs.h"
#include "skua/sync.h"
#include "tests/unit/users.h"

/* After the headers. */
#include "tests/unit/counted_exchanges.h"

#include "core/sync/rwlock.c"

static int read_and_unlock(struct user *it)
{
	struct skua_rwlock *lock = it->object;
	unsigned before = tries;

	assert_int_equal(skua_rwlock_read(lock, SKUA_FOREVER_NS), 0);
	assert_int_equal(skua_rwlock_read_unlock(lock), 0);
	return (int)(tries - before);
}

TEST(rwlock__others_read__read_and_unlocked_at_the_first_try)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_rwlock lock = SKUA_RWLOCK_INIT;

	for (unsigned others = 0; others < 3; others++) {
		assert_int_equal(user_run(rt, true, read_and_unlock, &lock), 2);
		assert_int_equal(user_run(rt, false, read_and_unlock, &lock),
				 2);
		assert_int_equal(skua_rwlock_read(&lock, SKUA_FOREVER_NS), 0);
	}
	for (unsigned others = 0; others < 3; others++)
		assert_int_equal(skua_rwlock_read_unlock(&lock), 0);
	assert_int_equal(skua_rwlock_read_unlock(&lock), -EPERM);
	assert_int_equal(skua_rwlock_destroy(&lock), 0);
	destroy(rt);
}
