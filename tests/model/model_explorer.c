/* SPDX-License-Identifier: MIT */
/**
 * model_explorer.c - the explorer tested: litmus tests and small bugs
 *
 * Each in a form that is right, which must pass, and in a form that is wrong,
 * which must be found.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      tests/model/model_explorer.c tests/model/explore*.c -o model_explorer
 */
#include "core/base/atomic.h"
#include "core/os/futex.h"
#include "core/os/membarrier.h"

static atomic_u32 x, y, flag;
static uint32_t seen[4];
static uint64_t data;
static uint64_t watched; /* plain, and not marked */

static void setup(void)
{
	atomic_init(&x, 0);
	atomic_init(&y, 0);
	atomic_init(&flag, 0);
	seen[0] = seen[1] = seen[2] = seen[3] = 0;
	data = 0;
	watched = 0;
	explore_watch(&watched, sizeof(watched));
}

/* Store buffering: not both threads may miss the other's store. */
static void buffering_fenced_left(void)
{
	atomic_store_relaxed(&x, 1);
	atomic_fence_seq_cst();
	seen[0] = atomic_load_relaxed(&y);
}

static void buffering_fenced_right(void)
{
	atomic_store_relaxed(&y, 1);
	atomic_fence_seq_cst();
	seen[1] = atomic_load_relaxed(&x);
}

static void buffering_bare_right(void)
{
	atomic_store_release(&y, 1);
	seen[1] = atomic_load_acquire(&x);
}

static void buffering_check(void)
{
	explore_assert(seen[0] || seen[1]);
}

/* Store buffering, where the left thread fences for both. */
static void buffering_for_both_left(void)
{
	atomic_store_relaxed(&x, 1);
	membarrier_fence();
	seen[0] = atomic_load_relaxed(&y);
}

static void buffering_light_right(void)
{
	atomic_store_relaxed(&y, 1);
	atomic_fence_compiler();
	seen[1] = atomic_load_relaxed(&x);
}

static void buffering_light_left(void)
{
	atomic_store_relaxed(&x, 1);
	atomic_fence_compiler();
	seen[0] = atomic_load_relaxed(&y);
}

static void buffering_for_both_too_early(void)
{
	membarrier_fence();
	atomic_store_relaxed(&x, 1);
	seen[0] = atomic_load_relaxed(&y);
}

static void buffering_for_both_too_late(void)
{
	atomic_store_relaxed(&x, 1);
	seen[0] = atomic_load_relaxed(&y);
	membarrier_fence();
}

/* A third thread fences for the two that buffer their stores: one of them may
 * have gone on before, and the other not begun. */
static void fences_for_all(void)
{
	membarrier_fence();
}

/* Message passing: a reader of the flag sees the data. */
static void message_send_release(void)
{
	explore_write(data, 42);
	atomic_store_release(&flag, 1);
}

static void message_send_fence(void)
{
	explore_write(data, 42);
	atomic_thread_fence(memory_order_release);
	atomic_store_relaxed(&flag, 1);
}

static void message_send_relaxed(void)
{
	explore_write(data, 42);
	atomic_store_relaxed(&flag, 1);
}

static void message_receive_acquire(void)
{
	if (atomic_load_acquire(&flag))
		explore_assert(explore_read(data) == 42);
}

static void message_receive_fence(void)
{
	if (!atomic_load_relaxed(&flag))
		return;
	atomic_thread_fence(memory_order_acquire);
	explore_assert(explore_read(data) == 42);
}

static void message_receive_relaxed(void)
{
	if (atomic_load_relaxed(&flag))
		explore_assert(explore_read(data) == 42);
}

static void message_receive_spinning(void)
{
	while (!atomic_load_acquire(&flag))
		cpu_relax();
	explore_assert(explore_read(data) == 42);
}

/* The same, as a history of operations notes it. */
static struct explore_moment sent;

static void moment_send(void)
{
	sent = explore_moment();
	atomic_store_release(&flag, 1);
}

static void moment_receive_acquire(void)
{
	if (atomic_load_acquire(&flag))
		explore_assert(explore_happened(sent));
}

static void moment_receive_relaxed(void)
{
	if (atomic_load_relaxed(&flag))
		explore_assert(explore_happened(sent));
}

/* The same with an atomic for data: a stale value instead of a race. */
static void message_send_two_relaxed(void)
{
	atomic_store_relaxed(&x, 42);
	atomic_store_relaxed(&flag, 1);
}

static void message_receive_two_acquire(void)
{
	if (atomic_load_acquire(&flag))
		explore_assert(atomic_load_relaxed(&x) == 42);
}

/* The same without a mark. */
static void message_send_watched(void)
{
	watched = 42;
	atomic_store_release(&flag, 1);
}

static void message_send_watched_relaxed(void)
{
	watched = 42;
	atomic_store_relaxed(&flag, 1);
}

/* The receiver frees what the sender has used, and may still use. */
static void message_send_and_touch(void)
{
	watched = 42;
	atomic_store_release(&flag, 1);
	atomic_store_relaxed(&x, 1);
}

static void message_send_and_load(void)
{
	atomic_store_release(&flag, 1);
	(void)atomic_load_relaxed(&x);
}

static void message_send_and_add(void)
{
	atomic_store_release(&flag, 1);
	atomic_fetch_add_relaxed(&x, 1);
}

static void message_send_and_exchange(void)
{
	unsigned expected = 0;

	atomic_store_release(&flag, 1);
	atomic_cas_relaxed(&x, &expected, 1);
}

static void message_send_and_touch_plain(void)
{
	atomic_store_release(&flag, 1);
	watched = 42;
}

static void message_receive_and_free(void)
{
	if (!atomic_load_acquire(&flag))
		return;
	explore_free(&x, sizeof(x));
	explore_free(&watched, sizeof(watched));
}

static void message_receive_watched(void)
{
	if (atomic_load_acquire(&flag))
		explore_assert(watched == 42);
}

/* Load buffering: the one weak behaviour that is not explored. */
static void load_buffering_left(void)
{
	seen[0] = atomic_load_relaxed(&x);
	atomic_store_relaxed(&y, 1);
}

static void load_buffering_right(void)
{
	seen[1] = atomic_load_relaxed(&y);
	atomic_store_relaxed(&x, 1);
}

static void load_buffering_check(void)
{
	explore_assert(!seen[0] || !seen[1]);
}

/* 2+2W: each thread's first store comes last in the order of its location,
 * although one of them was executed before the other's second. */
static void two_writes_left(void)
{
	atomic_store_release(&x, 1);
	atomic_store_release(&y, 2);
}

static void two_writes_right(void)
{
	atomic_store_release(&y, 1);
	atomic_store_release(&x, 2);
}

static void two_writes_fenced_left(void)
{
	atomic_store_relaxed(&x, 1);
	atomic_fence_seq_cst();
	atomic_store_relaxed(&y, 2);
}

static void two_writes_fenced_right(void)
{
	atomic_store_relaxed(&y, 1);
	atomic_fence_seq_cst();
	atomic_store_relaxed(&x, 2);
}

static void two_writes_check(void)
{
	explore_assert(atomic_load_relaxed(&x) != 1 ||
		       atomic_load_relaxed(&y) != 1);
}

/* IRIW: two readers agree on the order of two writers' stores. */
static void writes_x(void)
{
	atomic_store_release(&x, 1);
}

static void writes_y(void)
{
	atomic_store_release(&y, 1);
}

static void read_both(atomic_u32 *first, atomic_u32 *second, unsigned i,
		      bool fenced)
{
	seen[i] = atomic_load_acquire(first);
	if (fenced)
		atomic_fence_seq_cst();
	seen[i + 1] = atomic_load_acquire(second);
}

static void reads_x_y(void)
{
	read_both(&x, &y, 0, false);
}

static void reads_y_x(void)
{
	read_both(&y, &x, 2, false);
}

static void reads_x_y_fenced(void)
{
	read_both(&x, &y, 0, true);
}

static void reads_y_x_fenced(void)
{
	read_both(&y, &x, 2, true);
}

static void independent_check(void)
{
	explore_assert(!(seen[0] && !seen[1] && seen[2] && !seen[3]));
}

/* Release sequence: a read-modify-write in between passes the message on, a
 * store does not. */
static void sequence_pass_on(void)
{
	atomic_fetch_add_relaxed(&flag, 1);
}

static void sequence_overwrite(void)
{
	if (atomic_load_relaxed(&flag) == 1)
		atomic_store_relaxed(&flag, 2);
}

static void sequence_receive(void)
{
	if (atomic_load_acquire(&flag) == 2 && atomic_load_relaxed(&x))
		explore_assert(explore_read(data) == 42);
}

static void sequence_send(void)
{
	explore_write(data, 42);
	atomic_store_relaxed(&x, 1);
	atomic_store_release(&flag, 1);
}

/* Coherence: one location is never read backwards. */
static void coherence_write(void)
{
	atomic_store_relaxed(&x, 1);
	atomic_store_relaxed(&x, 2);
}

static void coherence_read(void)
{
	uint32_t first = atomic_load_relaxed(&x);

	explore_assert(atomic_load_relaxed(&x) >= first);
}

/* Two that write it, two that read it: these agree on the order. */
static void coherence_write_one(void)
{
	atomic_store_relaxed(&x, 1);
}

static void coherence_write_two(void)
{
	atomic_store_relaxed(&x, 2);
}

static void coherence_read_left(void)
{
	seen[0] = atomic_load_relaxed(&x);
	seen[1] = atomic_load_relaxed(&x);
}

static void coherence_read_right(void)
{
	seen[2] = atomic_load_relaxed(&x);
	seen[3] = atomic_load_relaxed(&x);
}

static void coherence_check(void)
{
	explore_assert(!(seen[0] == 1 && seen[1] == 2 && seen[2] == 2 &&
			 seen[3] == 1));
}

/* Dekker: announce, look at the other, enter if it is not there. */
static void dekker_enter(atomic_u32 *mine, atomic_u32 *other, bool fenced)
{
	atomic_store_relaxed(mine, 1);
	if (fenced)
		atomic_fence_seq_cst();
	if (atomic_load_acquire(other))
		return;
	explore_write(data, data + 1);
	atomic_store_release(mine, 0);
}

static void dekker_left(void)
{
	dekker_enter(&x, &y, true);
}

static void dekker_right(void)
{
	dekker_enter(&y, &x, true);
}

static void dekker_left_bare(void)
{
	dekker_enter(&x, &y, false);
}

/* A lock: taken by exchange it excludes, taken by load and store it does not;
 * released without order it hands nothing on. */
static void lock_by_exchange(void)
{
	while (atomic_exchange_acquire(&flag, 1))
		cpu_relax();
	explore_write(data, data + 1);
	atomic_store_release(&flag, 0);
}

static void lock_released_relaxed(void)
{
	while (atomic_exchange_acquire(&flag, 1))
		cpu_relax();
	explore_write(data, data + 1);
	atomic_store_relaxed(&flag, 0);
}

static void lock_by_load_and_store(void)
{
	while (atomic_load_acquire(&flag))
		cpu_relax();
	atomic_store_relaxed(&flag, 1);
	explore_write(data, data + 1);
	atomic_store_release(&flag, 0);
}

static void lock_never_released(void)
{
	while (atomic_exchange_acquire(&flag, 1))
		cpu_relax();
}

static void lock_check(void)
{
	explore_assert(data == 2);
}

/* A counter: read-modify-writes lose nothing. */
static void count_atomically(void)
{
	atomic_fetch_add_relaxed(&x, 1);
}

static void count_by_compare_exchange(void)
{
	uint32_t old = atomic_load_relaxed(&x);

	while (!atomic_compare_exchange_weak_explicit(
		&x, &old, old + 1, memory_order_relaxed, memory_order_relaxed))
		;
}

static void count_by_load_and_store(void)
{
	atomic_store_relaxed(&x, atomic_load_relaxed(&x) + 1);
}

static void count_check(void)
{
	explore_assert(atomic_load_relaxed(&x) == 3);
}

/* Sleeping: y is the work, flag says that somebody sleeps or is about to. */
static void sleeper(void)
{
	atomic_store_relaxed(&flag, 1);
	atomic_fence_seq_cst();
	while (!atomic_load_acquire(&y))
		futex_wait(&y, 0);
}

static void waker(void)
{
	atomic_store_release(&y, 1);
	atomic_fence_seq_cst();
	if (atomic_load_relaxed(&flag))
		futex_wake(&y, 1);
}

static void waker_without_fence(void)
{
	atomic_store_release(&y, 1);
	if (atomic_load_relaxed(&flag))
		futex_wake(&y, 1);
}

/* Looks at the sleeper before it leaves the work. */
static void waker_too_early(void)
{
	uint32_t asleep = atomic_load_relaxed(&flag);

	atomic_store_release(&y, 1);
	if (asleep)
		futex_wake(&y, 1);
}

/* Wakes one where two sleep. */
static void waker_of_all(void)
{
	atomic_store_release(&y, 1);
	futex_wake(&y, 2);
}

static void waker_of_one(void)
{
	atomic_store_release(&y, 1);
	futex_wake(&y, 1);
}

/* Takes a return from the futex for a wake-up. */
static void sleeper_once(void)
{
	if (!atomic_load_acquire(&y))
		futex_wait(&y, 0);
	explore_assert(atomic_load_acquire(&y));
}

/* Only a stale load misses what was stored before what it has seen. */
static void sequential_receive(void)
{
	if (atomic_load_relaxed(&flag) && !atomic_load_relaxed(&x))
		explore_assert(!explore_sequential());
}

static void sequential_receive_always(void)
{
	atomic_load_relaxed(&flag);
	atomic_load_relaxed(&x);
	explore_assert(explore_sequential());
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("store_buffering__two_fences", setup, buffering_check,
		       buffering_fenced_left, buffering_fenced_right) },
	{ EXPLORE_BUG("store_buffering__one_fence", "assertion", setup,
		      buffering_check, buffering_fenced_left,
		      buffering_bare_right) },

	{ EXPLORE_PASS("store_buffering__membarrier", setup, buffering_check,
		       buffering_for_both_left, buffering_light_right) },
	{ EXPLORE_BUG("store_buffering__compiler_fences", "assertion", setup,
		      buffering_check, buffering_light_right,
		      buffering_light_left) },
	{ EXPLORE_BUG("store_buffering__membarrier_too_early", "assertion",
		      setup, buffering_check, buffering_for_both_too_early,
		      buffering_light_right) },
	{ EXPLORE_BUG("store_buffering__membarrier_too_late", "assertion",
		      setup, buffering_check, buffering_for_both_too_late,
		      buffering_light_right) },
	{ EXPLORE_BUG("store_buffering__membarrier_of_a_third", "assertion",
		      setup, buffering_check, buffering_light_left,
		      buffering_light_right, fences_for_all) },
	{ EXPLORE_BUG("message__membarrier_hands_over_no_data", "data race",
		      setup, NULL, message_send_relaxed,
		      message_receive_relaxed, fences_for_all) },

	{ EXPLORE_PASS("message__release_and_acquire", setup, NULL,
		       message_send_release, message_receive_acquire) },
	{ EXPLORE_PASS("message__two_fences", setup, NULL, message_send_fence,
		       message_receive_fence) },
	{ EXPLORE_PASS("message__release_to_a_fence", setup, NULL,
		       message_send_release, message_receive_fence) },
	{ EXPLORE_PASS("message__fence_to_an_acquire", setup, NULL,
		       message_send_fence, message_receive_acquire) },
	{ EXPLORE_PASS("message__spinning_receiver", setup, NULL,
		       message_send_release, message_receive_spinning) },
	{ EXPLORE_BUG("message__relaxed_store", "data race", setup, NULL,
		      message_send_relaxed, message_receive_acquire) },
	{ EXPLORE_BUG("message__relaxed_load", "data race", setup, NULL,
		      message_send_release, message_receive_relaxed) },
	{ EXPLORE_BUG("message__relaxed_to_a_fence", "data race", setup, NULL,
		      message_send_relaxed, message_receive_fence) },
	{ EXPLORE_BUG("message__stale_atomic", "assertion", setup, NULL,
		      message_send_two_relaxed, message_receive_two_acquire) },

	{ EXPLORE_PASS("moment__release_and_acquire", setup, NULL, moment_send,
		       moment_receive_acquire) },
	{ EXPLORE_BUG("moment__relaxed_load", "assertion", setup, NULL,
		      moment_send, moment_receive_relaxed) },
	{ EXPLORE_PASS("sequential__sees_all_before", setup, NULL,
		       message_send_two_relaxed, sequential_receive) },
	{ EXPLORE_BUG("sequential__not_always", "assertion", setup, NULL,
		      message_send_two_relaxed, sequential_receive_always) },

	{ EXPLORE_PASS("free__sender_is_done", setup, NULL,
		       message_send_watched, message_receive_and_free) },
	{ EXPLORE_BUG("free__sender_stores", "freed memory", setup, NULL,
		      message_send_and_touch, message_receive_and_free) },
	{ EXPLORE_BUG("free__sender_loads", "freed memory", setup, NULL,
		      message_send_and_load, message_receive_and_free) },
	{ EXPLORE_BUG("free__sender_adds", "freed memory", setup, NULL,
		      message_send_and_add, message_receive_and_free) },
	{ EXPLORE_BUG("free__sender_exchanges", "freed memory", setup, NULL,
		      message_send_and_exchange, message_receive_and_free) },
	{ EXPLORE_BUG("free__sender_writes", "data race", setup, NULL,
		      message_send_and_touch_plain, message_receive_and_free) },
	{ EXPLORE_PASS("message__watched", setup, NULL, message_send_watched,
		       message_receive_watched) },
	{ EXPLORE_BUG("message__watched__relaxed_store", "data race", setup,
		      NULL, message_send_watched_relaxed,
		      message_receive_watched) },

	{ EXPLORE_PASS("load_buffering__is_not_seen", setup,
		       load_buffering_check, load_buffering_left,
		       load_buffering_right) },
	{ EXPLORE_BUG("two_writes_each__release", "assertion", setup,
		      two_writes_check, two_writes_left, two_writes_right) },
	{ EXPLORE_PASS("two_writes_each__two_fences", setup, two_writes_check,
		       two_writes_fenced_left, two_writes_fenced_right) },
	{ EXPLORE_BUG("two_writes_each__one_fence", "assertion", setup,
		      two_writes_check, two_writes_fenced_left,
		      two_writes_right) },
	{ EXPLORE_BUG("independent_reads__acquire", "assertion", setup,
		      independent_check, writes_x, writes_y, reads_x_y,
		      reads_y_x) },
	{ EXPLORE_PASS("independent_reads__fences", setup, independent_check,
		       writes_x, writes_y, reads_x_y_fenced,
		       reads_y_x_fenced) },

	{ EXPLORE_PASS("release_sequence__read_modify_write", setup, NULL,
		       sequence_send, sequence_pass_on, sequence_receive) },
	{ EXPLORE_BUG("release_sequence__store", "data race", setup, NULL,
		      sequence_send, sequence_overwrite, sequence_receive) },

	{ EXPLORE_PASS("coherence", setup, NULL, coherence_write,
		       coherence_read) },

	{ EXPLORE_PASS("coherence__two_writers", setup, coherence_check,
		       coherence_write_one, coherence_write_two,
		       coherence_read_left, coherence_read_right) },

	{ EXPLORE_PASS("dekker__fences", setup, NULL, dekker_left,
		       dekker_right) },
	{ EXPLORE_BUG("dekker__one_fence_missing", "data race", setup, NULL,
		      dekker_left_bare, dekker_right) },

	{ EXPLORE_PASS("lock__exchange", setup, lock_check, lock_by_exchange,
		       lock_by_exchange) },
	{ EXPLORE_BUG("lock__load_and_store", "data race", setup, NULL,
		      lock_by_load_and_store, lock_by_load_and_store) },
	{ EXPLORE_BUG("lock__relaxed_release", "data race", setup, NULL,
		      lock_released_relaxed, lock_released_relaxed) },
	{ EXPLORE_BUG("lock__never_released", "livelock", setup, NULL,
		      lock_never_released, lock_never_released) },

	{ EXPLORE_PASS("counter__read_modify_write", setup, count_check,
		       count_atomically, count_by_compare_exchange,
		       count_atomically) },
	{ EXPLORE_BUG("counter__load_and_store", "assertion", setup,
		      count_check, count_atomically, count_by_load_and_store,
		      count_atomically) },

	{ EXPLORE_PASS("futex__fences", setup, NULL, sleeper, waker) },
	{ EXPLORE_BUG("futex__waker_has_no_fence", "lost wake-up", setup, NULL,
		      sleeper, waker_without_fence) },
	{ EXPLORE_BUG("futex__waker_looks_too_early", "lost wake-up", setup,
		      NULL, sleeper, waker_too_early) },
	{ EXPLORE_PASS("futex__all_woken", setup, NULL, sleeper, sleeper,
		       waker_of_all) },
	{ EXPLORE_BUG("futex__one_of_two_woken", "lost wake-up", setup, NULL,
		      sleeper, sleeper, waker_of_one) },
	{ EXPLORE_BUG("futex__trusts_its_return", "assertion", setup, NULL,
		      sleeper_once, waker_of_one) },
};

EXPLORE_MAIN(cases)
