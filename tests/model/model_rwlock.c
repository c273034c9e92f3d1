/* SPDX-License-Identifier: MIT */
/**
 * model_rwlock.c - threads that read and write under a lock
 *
 * A writer is alone: its plain writes race with nothing. The last user frees the
 * lock.
 */
#include "tests/model/waiter.h"

#include "core/sync/rwlock.c"

static struct skua_rwlock lock;
static unsigned data; /* plain: under the lock */
static atomic_u32 users;
static atomic_u32 readers_inside;
static atomic_u32 writing; /* has the first one the lock? */

static void setup_users(unsigned n)
{
	waiters_reset();
	lock = (struct skua_rwlock)SKUA_RWLOCK_INIT;
	explore_watch(&lock, sizeof(lock));
	data = 0;
	atomic_init(&users, n);
	atomic_init(&readers_inside, 0);
	atomic_init(&writing, 0);
}

static void setup_two(void)
{
	setup_users(2);
}

static void setup_three(void)
{
	setup_users(3);
}

static void user_leaves(void)
{
	if (atomic_fetch_sub_acq_rel(&users, 1) == 1)
		explore_free(&lock, sizeof(lock));
}

static void write_by(unsigned i, uint64_t deadline_ns)
{
	int code;

	waiter_begin(i);
	code = skua_rwlock_write(&lock, deadline_ns);
	if (code == 0) {
		explore_write(data, explore_read(data) + 1);
		explore_assert(skua_rwlock_write_try(&lock) == -EDEADLK);
		explore_assert(skua_rwlock_write_unlock(&lock) == 0);
	} else {
		explore_assert(code == -ETIMEDOUT);
		/* Once more, perhaps without a wait. */
		explore_assert(skua_rwlock_write(&lock, SKUA_FOREVER_NS) == 0);
		explore_write(data, explore_read(data) + 1);
		explore_assert(skua_rwlock_write_unlock(&lock) == 0);
	}
	user_leaves();
}

static void read_by(unsigned i, uint64_t deadline_ns)
{
	int code;

	waiter_begin(i);
	code = skua_rwlock_read(&lock, deadline_ns);
	if (code == 0) {
		(void)explore_read(data);
		explore_assert(skua_rwlock_write_unlock(&lock) == -EPERM);
		explore_assert(skua_rwlock_read_unlock(&lock) == 0);
	} else {
		explore_assert(code == -ETIMEDOUT);
	}
	user_leaves();
}

/* Writes, then goes on as a reader. */
static void write_then_read_by(unsigned i)
{
	waiter_begin(i);
	explore_assert(skua_rwlock_write(&lock, SKUA_FOREVER_NS) == 0);
	explore_write(data, explore_read(data) + 1);
	explore_assert(skua_rwlock_downgrade(&lock) == 0);
	(void)explore_read(data);
	explore_assert(skua_rwlock_read_unlock(&lock) == 0);
	user_leaves();
}

/* Two readers that wait for each other, with the lock. */
static void read_with_other(unsigned i)
{
	waiter_begin(i);
	explore_assert(skua_rwlock_read(&lock, SKUA_FOREVER_NS) == 0);
	atomic_fetch_add_acq_rel(&readers_inside, 1);
	while (atomic_load_acquire(&readers_inside) < 2)
		cpu_relax();
	explore_assert(skua_rwlock_read_unlock(&lock) == 0);
	user_leaves();
}

/* The same, once a writer has the lock. */
static void read_with_other_after_writer(unsigned i)
{
	while (!atomic_load_acquire(&writing))
		cpu_relax();
	read_with_other(i);
}

static void writes_first_1(void)
{
	waiter_begin(1);
	explore_assert(skua_rwlock_write(&lock, SKUA_FOREVER_NS) == 0);
	atomic_store_release(&writing, 1);
	explore_assert(skua_rwlock_write_unlock(&lock) == 0);
	user_leaves();
}

static void reads_first_0(void)
{
	waiter_begin(0);
	explore_assert(skua_rwlock_read(&lock, SKUA_FOREVER_NS) == 0);
	atomic_store_release(&writing, 1);
	explore_assert(skua_rwlock_read_unlock(&lock) == 0);
}

/* The reader has unlocked when this writer has the lock, and may still be in its
 * call. */
static void writes_and_frees_1(void)
{
	while (!atomic_load_acquire(&writing))
		cpu_relax();
	waiter_begin(1);
	if (skua_rwlock_write(&lock, SOON_NS))
		explore_assert(skua_rwlock_write(&lock, SKUA_FOREVER_NS) == 0);
	explore_free(&lock, sizeof(lock));
}

static void reads_with_2_then(void)
{
	read_with_other_after_writer(0);
}

static void reads_with_0_then(void)
{
	read_with_other_after_writer(2);
}

static void reads_with_2(void)
{
	read_with_other(0);
}

static void reads_with_0(void)
{
	read_with_other(2);
}

/* Gives up, and leaves it at that. */
static void tries_to_write_1(void)
{
	waiter_begin(1);
	if (skua_rwlock_write(&lock, SOON_NS) == 0)
		explore_assert(skua_rwlock_write_unlock(&lock) == 0);
	user_leaves();
}

/* A thread that learns from skua_rwlock_destroy() that the lock is free. */
static void writes_and_says_so(void)
{
	waiter_begin(0);
	explore_assert(skua_rwlock_write(&lock, SKUA_FOREVER_NS) == 0);
	atomic_store_release(&writing, 1);
	explore_write(data, 1);
	explore_assert(skua_rwlock_write_unlock(&lock) == 0);
}

static void destroys(void)
{
	int code;

	if (!atomic_load_acquire(&writing))
		return;
	code = skua_rwlock_destroy(&lock);
	explore_assert(code == 0 || code == -EBUSY);
	if (code == 0)
		explore_assert(explore_read(data) == 1);
}

static void writes_0(void)
{
	write_by(0, SKUA_FOREVER_NS);
}

static void writes_1(void)
{
	write_by(1, SKUA_FOREVER_NS);
}

static void writes_1_soon(void)
{
	write_by(1, SOON_NS);
}

static void reads_0(void)
{
	read_by(0, SKUA_FOREVER_NS);
}

static void reads_1_soon(void)
{
	read_by(1, SOON_NS);
}

static void reads_2(void)
{
	read_by(2, SKUA_FOREVER_NS);
}

static void reads_2_soon(void)
{
	read_by(2, SOON_NS);
}

static void downgrades_0(void)
{
	write_then_read_by(0);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("two_writers", setup_two, NULL, writes_0, writes_1) },
	{ EXPLORE_PASS("writer__reader", setup_two, NULL, writes_0,
		       reads_1_soon) },
	{ EXPLORE_PASS("reader__writer", setup_two, NULL, reads_0,
		       writes_1_soon) },
	{ EXPLORE_PASS("downgrade__reader", setup_two, NULL, downgrades_0,
		       reads_1_soon) },
	{ EXPLORE_PASS("reader__writer_frees", setup_two, NULL, reads_first_0,
		       writes_and_frees_1),
	  EXPLORE_WITHIN(4, 1) },
	{ EXPLORE_PASS("destroy", setup_two, NULL, writes_and_says_so,
		       destroys) },
	/* The writer gives up: the reader behind it comes next. */
	{ EXPLORE_PASS("reader__writer__reader", setup_three, NULL, reads_0,
		       writes_1_soon, reads_2),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("reader__writer__reader__together", setup_three, NULL,
		       reads_with_2, tries_to_write_1, reads_with_0),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("writer__readers__together", setup_three, NULL,
		       writes_first_1, reads_with_2_then, reads_with_0_then),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("writer__readers", setup_three, NULL, writes_0,
		       reads_1_soon, reads_2),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("writers__reader", setup_three, NULL, writes_0, writes_1,
		       reads_2_soon),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("downgrade__writer__reader", setup_three, NULL,
		       downgrades_0, writes_1_soon, reads_2),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(cases)
