/* SPDX-License-Identifier: MIT */
/* test_task_state.c - each transition of the state word, from each state */
#include "core/task/task_state.h"

#include <pthread.h>

#include "tests/unit/support.h"

#define WOKEN_WHILE_ACTIVE (TASK_SCHEDULED | TASK_ACTIVE)

/* States of a spawned task; WAITING is none of the bits. */
static const uint64_t alive[] = { TASK_SCHEDULED, TASK_ACTIVE,
				  WOKEN_WHILE_ACTIVE, 0 };

/* Marks that others may have set beside that. */
static const uint64_t marks[] = {
	0,
	TASK_CLAIMED,
	TASK_CLAIMED | TASK_END_THREAD,
	TASK_CLAIMED | TASK_END_TASK,
	TASK_CLAIMED | TASK_END_DETACH,
	TASK_CLAIMED | TASK_END_GROUP,
	TASK_CANCELLED,
	TASK_CANCELLED | TASK_CLAIMED | TASK_END_THREAD,
};

/* References: the scheduler's, and wakers. The last: as many as fit. */
static const uint64_t references[] = { 1, 2, 1000, (UINT64_C(1) << 48) - 2 };

static atomic_u64 word;

/* The references of a waker, and of a worker at the end of the last poll. */
static const struct task_state_drop waker = { .references = 1 };
static const struct task_state_drop lent = { .references = 1,
					     .complete = true };
static const struct task_state_drop all = { .references = TASK_SPAWN_REFERENCES,
					    .complete = true };

static void set(uint64_t value)
{
	atomic_store_relaxed(&word, value);
}

static uint64_t get(void)
{
	return atomic_load_relaxed(&word);
}

TEST(task_state__bits__are_distinct)
{
	const uint64_t all = TASK_SCHEDULED | TASK_ACTIVE | TASK_COMPLETE |
			     TASK_CLAIMED | TASK_END_MASK | TASK_CANCELLED |
			     TASK_REFERENCE;

	assert_int_equal(TASK_IDLE, 0);
	assert_int_equal(__builtin_popcountll(TASK_END_MASK), 4);
	assert_int_equal(__builtin_popcountll(all), 10);
	/* References are the upper 48 bits. */
	assert_int_equal(TASK_REFERENCE, UINT64_C(1) << 16);
	assert_true(all < 2 * TASK_REFERENCE);
}

TEST(task_state__each_state__what_it_is)
{
	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		assert_false(task_state_spawned(marks[m]));
		assert_false(task_state_ended(marks[m]));
		assert_true(task_state_spawned(marks[m] | TASK_COMPLETE));
		assert_true(task_state_ended(marks[m] | TASK_COMPLETE));
		for (size_t r = 0; r < COUNT_OF(references); r++) {
			uint64_t held =
				marks[m] + references[r] * TASK_REFERENCE;

			assert_int_equal(task_state_references(held),
					 references[r]);
			assert_true(task_state_spawned(held));
			assert_true(task_state_spawned(held | TASK_COMPLETE));
			assert_false(task_state_ended(held));
			assert_false(task_state_ended(held | TASK_COMPLETE));
		}
	}
}

/* ---- spawn -------------------------------------------------------------- */

TEST(task_state_to_spawned__idle__active_with_references)
{
	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		set(TASK_IDLE | marks[m]);
		assert_int_equal(task_state_transition_to_spawned(&word), 0);
		assert_int_equal(get(), (TASK_ACTIVE | marks[m]) +
						TASK_SPAWN_REFERENCES *
							TASK_REFERENCE);
	}
}

static void expect_no_spawn(uint64_t before)
{
	set(before);
	assert_int_equal(task_state_transition_to_spawned(&word), -EALREADY);
	assert_int_equal(get(), before);
}

TEST(task_state_to_spawned__alive_or_complete__ealready)
{
	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		for (size_t a = 0; a < COUNT_OF(alive); a++)
			expect_no_spawn((alive[a] | marks[m]) + TASK_REFERENCE);
		/* Done, with a waker left, and ended but not joined. */
		expect_no_spawn((TASK_COMPLETE | marks[m]) + TASK_REFERENCE);
		expect_no_spawn(TASK_COMPLETE | marks[m]);
	}
}

TEST(task_state_to_unspawned__spawned__idle_again)
{
	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		set(TASK_IDLE | marks[m]);
		assert_int_equal(task_state_transition_to_spawned(&word), 0);
		task_state_transition_to_unspawned(&word);
		assert_int_equal(get(), TASK_IDLE | marks[m]);
	}
}

/* ---- polls and wake-ups -------------------------------------------------- */

TEST(task_state_to_running__scheduled_or_yielded__runs)
{
	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		uint64_t rest = marks[m] + 3 * TASK_REFERENCE;

		set(TASK_SCHEDULED | rest);
		for (unsigned round = 0; round < 3; round++) {
			task_state_transition_to_running(&word);
			assert_int_equal(get(), TASK_ACTIVE | rest);
		}
	}
}

TEST(task_state_to_running__yielded_and_woken__consumes_it)
{
	set(WOKEN_WHILE_ACTIVE + TASK_REFERENCE);
	task_state_transition_to_running(&word);
	assert_int_equal(get(), TASK_ACTIVE + TASK_REFERENCE);
}

TEST(task_state_to_waiting__not_woken__waits)
{
	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		uint64_t rest = marks[m] + 2 * TASK_REFERENCE;

		set(TASK_ACTIVE | rest);
		assert_true(task_state_transition_to_waiting(&word, true));
		assert_int_equal(get(), rest);
	}
}

TEST(task_state_to_waiting__spare_one_lent__is_made_up_for)
{
	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		uint64_t rest = marks[m] + 2 * TASK_REFERENCE;

		set(TASK_ACTIVE | rest);
		assert_true(task_state_transition_to_waiting(&word, false));
		assert_int_equal(get(), rest + TASK_REFERENCE);
		set(WOKEN_WHILE_ACTIVE | rest);
		assert_false(task_state_transition_to_waiting(&word, false));
		assert_int_equal(get(),
				 (TASK_SCHEDULED | rest) + TASK_REFERENCE);
	}
}

TEST(task_state_to_waiting__woken_meanwhile__caller_queues_it)
{
	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		uint64_t rest = marks[m] + 2 * TASK_REFERENCE;

		set(WOKEN_WHILE_ACTIVE | rest);
		assert_false(task_state_transition_to_waiting(&word, true));
		assert_int_equal(get(), TASK_SCHEDULED | rest);
	}
}

static void expect_woken(uint64_t before, uint64_t and, bool caller_queues)
{
	set(before);
	assert_int_equal(task_state_transition_to_woken(&word, and),
			 caller_queues);
	assert_int_equal(get(), before | TASK_SCHEDULED | and);
}

TEST(task_state_to_woken__waiting__caller_queues_it)
{
	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		expect_woken(marks[m] + TASK_REFERENCE, 0, true);
		expect_woken(marks[m] + TASK_REFERENCE, TASK_CANCELLED, true);
	}
}

TEST(task_state_to_woken__not_waiting__somebody_else_does)
{
	static const uint64_t lives[] = { TASK_SCHEDULED, TASK_ACTIVE,
					  WOKEN_WHILE_ACTIVE, TASK_COMPLETE };

	for (size_t l = 0; l < COUNT_OF(lives); l++) {
		for (size_t m = 0; m < COUNT_OF(marks); m++) {
			uint64_t before =
				(lives[l] | marks[m]) + 2 * TASK_REFERENCE;

			expect_woken(before, 0, false);
			expect_woken(before, TASK_CANCELLED, false);
		}
	}
}

static void expect_woken_by_value(uint64_t before, bool caller_queues,
				  uint64_t bit)
{
	bool queue;

	set(before);
	assert_true(task_state_transition_to_woken_by_value(&word, &queue));
	assert_int_equal(queue, caller_queues);
	assert_int_equal(get(), (before | bit) - TASK_REFERENCE);
}

TEST(task_state_to_woken_by_value__each_state__one_less)
{
	bool queue;

	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		uint64_t rest = marks[m] + 3 * TASK_REFERENCE;

		expect_woken_by_value(rest, true, TASK_ACTIVE);
		expect_woken_by_value(TASK_ACTIVE | rest, false,
				      TASK_SCHEDULED);
		expect_woken_by_value(TASK_SCHEDULED | rest, false, 0);
		expect_woken_by_value(WOKEN_WHILE_ACTIVE | rest, false, 0);
		set(TASK_COMPLETE | rest);
		assert_false(
			task_state_transition_to_woken_by_value(&word, &queue));
		assert_int_equal(get(), TASK_COMPLETE | rest);
	}
}

/* ---- references ---------------------------------------------------------- */

TEST(task_state_add_reference__any__one_more)
{
	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		for (size_t r = 0; r < COUNT_OF(references); r++) {
			uint64_t before =
				marks[m] + references[r] * TASK_REFERENCE;

			set(before);
			task_state_add_reference(&word);
			assert_int_equal(get(), before + TASK_REFERENCE);
		}
	}
}

TEST(task_state_to_dropped__a_wakers__one_less)
{
	static const uint64_t lives[] = { TASK_SCHEDULED, TASK_ACTIVE, 0,
					  TASK_COMPLETE };

	for (size_t l = 0; l < COUNT_OF(lives); l++) {
		for (size_t m = 0; m < COUNT_OF(marks); m++) {
			uint64_t after = (lives[l] | marks[m]) + TASK_REFERENCE;
			uint64_t old = after + TASK_REFERENCE;

			set(old);
			assert_true(task_state_transition_to_dropped(
				&word, &old, waker));
			assert_int_equal(get(), after);
			assert_false(task_state_ended(get()));
		}
	}
}

TEST(task_state_to_dropped__last_of_a_complete_one__ended)
{
	for (size_t m = 0; m < COUNT_OF(marks); m++) {
		uint64_t old = (TASK_COMPLETE | marks[m]) + TASK_REFERENCE;

		set(old);
		assert_true(
			task_state_transition_to_dropped(&word, &old, waker));
		assert_int_equal(get(), TASK_COMPLETE | marks[m]);
		assert_true(task_state_ended(get()));
	}
}

static void expect_complete(uint64_t bits, uint64_t held,
			    struct task_state_drop drop)
{
	uint64_t old = bits + held * TASK_REFERENCE;

	set(old);
	assert_true(task_state_transition_to_dropped(&word, &old, drop));
	assert_int_equal(get(), task_state_less(old, drop));
	assert_true(get() & TASK_COMPLETE);
	assert_false(get() & TASK_ACTIVE);
	assert_int_equal(task_state_references(get()), held - drop.references);
	assert_int_equal(task_state_ended(get()), held == drop.references);
}

TEST(task_state_to_dropped__the_schedulers__complete)
{
	static const uint64_t lives[] = { TASK_ACTIVE, WOKEN_WHILE_ACTIVE };

	for (size_t l = 0; l < COUNT_OF(lives); l++) {
		for (size_t r = 0; r < COUNT_OF(references); r++) {
			expect_complete(lives[l], references[r], lent);
			if (references[r] > 1)
				expect_complete(lives[l], references[r], all);
		}
	}
}

TEST(task_state_to_dropped__changed__tells_the_newer_state)
{
	uint64_t old = TASK_ACTIVE + TASK_REFERENCE;
	const uint64_t newer =
		(TASK_ACTIVE | TASK_CLAIMED | TASK_END_THREAD) + TASK_REFERENCE;

	set(newer);
	assert_false(task_state_transition_to_dropped(&word, &old, lent));
	assert_int_equal(old, newer);
	assert_int_equal(get(), newer);
	assert_true(task_state_transition_to_dropped(&word, &old, lent));
	assert_int_equal(get(), TASK_COMPLETE | TASK_CLAIMED | TASK_END_THREAD);
}

/* ---- the end ------------------------------------------------------------- */

TEST(task_state_to_claimed__free__claimed_once)
{
	for (size_t a = 0; a < COUNT_OF(alive); a++) {
		uint64_t before = alive[a] + TASK_REFERENCE;

		set(before);
		assert_int_equal(task_state_transition_to_claimed(&word, true),
				 0);
		assert_int_equal(get(), before | TASK_CLAIMED);
		assert_int_equal(task_state_transition_to_claimed(&word, true),
				 -EALREADY);
		assert_int_equal(task_state_transition_to_claimed(&word, false),
				 -EALREADY);
		assert_int_equal(get(), before | TASK_CLAIMED);
	}
}

TEST(task_state_to_claimed__never_spawned__einval_if_asked)
{
	set(TASK_IDLE);
	assert_int_equal(task_state_transition_to_claimed(&word, true),
			 -EINVAL);
	assert_int_equal(get(), TASK_IDLE);
	assert_int_equal(task_state_transition_to_claimed(&word, false), 0);
	assert_int_equal(get(), TASK_CLAIMED);
	assert_int_equal(task_state_transition_to_claimed(&word, true),
			 -EINVAL);
	assert_int_equal(task_state_transition_to_claimed(&word, false),
			 -EALREADY);
}

TEST(task_state_to_joined__ended_and_free__idle)
{
	set(TASK_COMPLETE | TASK_CANCELLED);
	assert_true(task_state_transition_to_joined(&word));
	assert_int_equal(get(), TASK_IDLE);
}

TEST(task_state_to_joined__otherwise__as_it_was)
{
	const uint64_t others[] = {
		TASK_IDLE,
		TASK_SCHEDULED + TASK_REFERENCE,
		TASK_ACTIVE + TASK_REFERENCE,
		TASK_COMPLETE + TASK_REFERENCE,
		TASK_COMPLETE | TASK_CLAIMED,
		TASK_COMPLETE | TASK_CLAIMED | TASK_END_TASK,
	};

	for (size_t i = 0; i < COUNT_OF(others); i++) {
		set(others[i]);
		assert_false(task_state_transition_to_joined(&word));
		assert_int_equal(get(), others[i]);
	}
}

static void expect_ended_by(uint64_t before, uint64_t bit, bool caller_acts)
{
	set(before);
	assert_int_equal(task_state_transition_to_ended_by(&word, bit),
			 !caller_acts);
	assert_int_equal(get(), before | bit);
}

TEST(task_state_to_ended_by__ended__caller_acts)
{
	static const uint64_t bits[] = { TASK_END_THREAD, TASK_END_TASK,
					 TASK_END_DETACH, TASK_END_GROUP };

	for (size_t b = 0; b < COUNT_OF(bits); b++) {
		/* Not spawned yet, alive, done with a waker left, ended. */
		expect_ended_by(TASK_CLAIMED, bits[b], false);
		for (size_t a = 0; a < COUNT_OF(alive); a++)
			expect_ended_by((TASK_CLAIMED | alive[a]) +
						TASK_REFERENCE,
					bits[b], false);
		expect_ended_by((TASK_CLAIMED | TASK_COMPLETE) + TASK_REFERENCE,
				bits[b], false);
		expect_ended_by(TASK_CLAIMED | TASK_COMPLETE, bits[b], true);
	}
}

TEST(task_state_to_idle__ended__idle)
{
	/* Woken in its last poll: that leaves a mark. */
	set(TASK_COMPLETE | TASK_SCHEDULED | TASK_CANCELLED | TASK_CLAIMED |
	    TASK_END_THREAD);
	task_state_transition_to_idle(&word);
	assert_int_equal(get(), TASK_IDLE);
}

/* ---- threads ------------------------------------------------------------ */

#define ROUNDS 20000u

struct round {
	atomic_u64 word;
	unsigned field;    /* as joiner or release: set before the second bit */
	unsigned ended[3]; /* by the worker, by a waker, by the other party */
};

static struct round rounds[ROUNDS];
static atomic_u32 arrived; /* at the rendezvous */

/* Three meet every few rounds, so that they do run beside each other. */
static void rendezvous(unsigned r)
{
	if (r % 32 != 0)
		return;
	atomic_fetch_add_relaxed(&arrived, 1);
	while (atomic_load_relaxed(&arrived) < 3 * (r / 32 + 1))
		sched_yield();
}

/* Give references back in each round, in the way @by. */
static void drop_all(unsigned by, struct task_state_drop drop)
{
	for (unsigned r = 0; r < ROUNDS; r++) {
		uint64_t old;
		unsigned field;

		rendezvous(r);
		old = atomic_load_acquire(&rounds[r].word);
		do {
			field = old & TASK_END_DETACH ? rounds[r].field : 0;
		} while (!task_state_transition_to_dropped(&rounds[r].word,
							   &old, drop));
		if (task_state_ended(task_state_less(old, drop)))
			rounds[r].ended[by] = field;
	}
}

static void *complete_all(void *arg)
{
	(void)arg;
	drop_all(0, all);
	return NULL;
}

static void *drop_wakers(void *arg)
{
	(void)arg;
	drop_all(1, waker);
	return NULL;
}

TEST(task_state__end_drop_and_detach_at_once__one_acts)
{
	pthread_t worker;
	pthread_t waker;

	for (unsigned r = 0; r < ROUNDS; r++)
		atomic_init(&rounds[r].word, TASK_ACTIVE + 3 * TASK_REFERENCE);
	assert_int_equal(pthread_create(&worker, NULL, complete_all, NULL), 0);
	assert_int_equal(pthread_create(&waker, NULL, drop_wakers, NULL), 0);
	for (unsigned r = 0; r < ROUNDS; r++) {
		struct round *it = &rounds[r];

		rendezvous(r);
		assert_int_equal(
			task_state_transition_to_claimed(&it->word, true), 0);
		it->field = 1;
		if (!task_state_transition_to_ended_by(&it->word,
						       TASK_END_DETACH))
			it->ended[2] = it->field;
	}
	assert_int_equal(pthread_join(worker, NULL), 0);
	assert_int_equal(pthread_join(waker, NULL), 0);
	for (unsigned r = 0; r < ROUNDS; r++) {
		struct round *it = &rounds[r];

		assert_int_equal(it->ended[0] + it->ended[1] + it->ended[2], 1);
		assert_int_equal(atomic_load_relaxed(&it->word),
				 TASK_COMPLETE | TASK_CLAIMED |
					 TASK_END_DETACH);
	}
}
