/* SPDX-License-Identifier: MIT */
/* test_task_state.c - each transition of the state word, from each state */
#include "core/task_state.h"

#include <pthread.h>

#include "tests/unit/support.h"

static const uint64_t lives[] = { TASK_IDLE, TASK_SCHEDULED, TASK_RUNNING,
				  TASK_COMPLETE };

/* What a party to the end of the task may have set beside the life. */
static const uint64_t ends[] = {
	0,
	TASK_CLAIMED,
	TASK_CLAIMED | TASK_JOIN_WAITING,
	TASK_CLAIMED | TASK_DETACHED,
};

static atomic_u64 word;

static void set(uint64_t value)
{
	atomic_store_relaxed(&word, value);
}

static uint64_t get(void)
{
	return atomic_load_relaxed(&word);
}

static void task_state__bits__are_distinct(void **state)
{
	const uint64_t all = TASK_SCHEDULED | TASK_RUNNING | TASK_COMPLETE |
			     TASK_CLAIMED | TASK_JOIN_WAITING | TASK_DETACHED;

	(void)state;
	assert_int_equal(__builtin_popcountll(all), 6);
	assert_int_equal(TASK_IDLE, 0);
	assert_int_equal(TASK_LIFE,
			 TASK_SCHEDULED | TASK_RUNNING | TASK_COMPLETE);
}

static void task_state_to_spawned__idle__scheduled(void **state)
{
	(void)state;
	for (size_t e = 0; e < COUNT_OF(ends); e++) {
		set(TASK_IDLE | ends[e]);
		assert_int_equal(task_state_transition_to_spawned(&word), 0);
		assert_int_equal(get(), TASK_SCHEDULED | ends[e]);
	}
}

static void task_state_to_spawned__alive_or_complete__ealready(void **state)
{
	(void)state;
	for (size_t l = 1; l < COUNT_OF(lives); l++) {
		for (size_t e = 0; e < COUNT_OF(ends); e++) {
			set(lives[l] | ends[e]);
			assert_int_equal(
				task_state_transition_to_spawned(&word),
				-EALREADY);
			assert_int_equal(get(), lives[l] | ends[e]);
		}
	}
}

static void task_state_to_unspawned__scheduled__idle_again(void **state)
{
	(void)state;
	for (size_t e = 0; e < COUNT_OF(ends); e++) {
		set(TASK_IDLE | ends[e]);
		assert_int_equal(task_state_transition_to_spawned(&word), 0);
		task_state_transition_to_unspawned(&word);
		assert_int_equal(get(), TASK_IDLE | ends[e]);
	}
}

static void task_state__run_and_yield__back_and_forth(void **state)
{
	(void)state;
	for (size_t e = 0; e < COUNT_OF(ends); e++) {
		set(TASK_SCHEDULED | ends[e]);
		for (unsigned round = 0; round < 3; round++) {
			task_state_transition_to_running(&word);
			assert_int_equal(get(), TASK_RUNNING | ends[e]);
			task_state_transition_to_scheduled(&word);
			assert_int_equal(get(), TASK_SCHEDULED | ends[e]);
		}
	}
}

static void task_state_to_complete__unchanged__complete(void **state)
{
	(void)state;
	for (size_t e = 0; e < COUNT_OF(ends); e++) {
		uint64_t old = TASK_RUNNING | ends[e];

		set(old);
		assert_true(task_state_transition_to_complete(&word, &old));
		assert_int_equal(get(), TASK_COMPLETE | ends[e]);
	}
}

static void task_state_to_complete__changed__tells_the_newer_state(void **state)
{
	uint64_t old = TASK_RUNNING;
	const uint64_t newer = TASK_RUNNING | TASK_CLAIMED | TASK_JOIN_WAITING;

	(void)state;
	set(newer);
	assert_false(task_state_transition_to_complete(&word, &old));
	assert_int_equal(old, newer);
	assert_int_equal(get(), newer);
	assert_true(task_state_transition_to_complete(&word, &old));
	assert_int_equal(get(), newer ^ TASK_RUNNING ^ TASK_COMPLETE);
}

static void task_state_to_claimed__free__claimed_once(void **state)
{
	(void)state;
	for (size_t l = 1; l < COUNT_OF(lives); l++) {
		set(lives[l]);
		assert_int_equal(task_state_transition_to_claimed(&word, true),
				 0);
		assert_int_equal(get(), lives[l] | TASK_CLAIMED);
		assert_int_equal(task_state_transition_to_claimed(&word, true),
				 -EALREADY);
		assert_int_equal(task_state_transition_to_claimed(&word, false),
				 -EALREADY);
		assert_int_equal(get(), lives[l] | TASK_CLAIMED);
	}
}

static void task_state_to_claimed__never_spawned__einval_if_asked(void **state)
{
	(void)state;
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

static void task_state_to_ended_by__complete__caller_ends_it(void **state)
{
	static const uint64_t bits[] = { TASK_JOIN_WAITING, TASK_DETACHED };

	(void)state;
	for (size_t b = 0; b < COUNT_OF(bits); b++) {
		for (size_t l = 0; l < COUNT_OF(lives); l++) {
			bool worker_ends_it = lives[l] != TASK_COMPLETE;

			set(lives[l] | TASK_CLAIMED);
			assert_int_equal(task_state_transition_to_ended_by(
						 &word, bits[b]),
					 worker_ends_it);
			assert_int_equal(get(),
					 lives[l] | TASK_CLAIMED | bits[b]);
		}
	}
}

static void task_state_to_joined__complete__idle(void **state)
{
	(void)state;
	set(TASK_COMPLETE | TASK_CLAIMED | TASK_JOIN_WAITING);
	task_state_transition_to_joined(&word);
	assert_int_equal(get(), TASK_IDLE);
}

/* ---- threads ------------------------------------------------------------ */

#define ROUNDS 20000u

struct round {
	atomic_u64 word;
	unsigned field;    /* as joiner or release: set before the second bit */
	unsigned ended[2]; /* by the worker, by the other party */
};

static struct round rounds[ROUNDS];
static atomic_u32 arrived; /* at the rendezvous */

/* Two meet every few rounds, so that they do run beside each other. */
static void rendezvous(unsigned r)
{
	if (r % 32 != 0)
		return;
	atomic_fetch_add_relaxed(&arrived, 1);
	while (atomic_load_relaxed(&arrived) < 2 * (r / 32 + 1))
		sched_yield();
}

static void *finish_all(void *arg)
{
	(void)arg;
	for (unsigned r = 0; r < ROUNDS; r++) {
		uint64_t old;
		unsigned field;

		rendezvous(r);
		old = atomic_load_acquire(&rounds[r].word);
		do {
			field = old & TASK_DETACHED ? rounds[r].field : 0;
		} while (!task_state_transition_to_complete(&rounds[r].word,
							    &old));
		rounds[r].ended[0] = field;
	}
	return NULL;
}

static void task_state__completion_beside_a_detach__one_ends_it(void **state)
{
	pthread_t thread;

	(void)state;
	for (unsigned r = 0; r < ROUNDS; r++)
		atomic_init(&rounds[r].word, TASK_RUNNING);
	assert_int_equal(pthread_create(&thread, NULL, finish_all, NULL), 0);
	for (unsigned r = 0; r < ROUNDS; r++) {
		struct round *it = &rounds[r];

		rendezvous(r);
		assert_int_equal(
			task_state_transition_to_claimed(&it->word, true), 0);
		it->field = 1;
		if (!task_state_transition_to_ended_by(&it->word,
						       TASK_DETACHED))
			it->ended[1] = it->field;
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (unsigned r = 0; r < ROUNDS; r++) {
		assert_int_equal(rounds[r].ended[0] + rounds[r].ended[1], 1);
		assert_int_equal(atomic_load_relaxed(&rounds[r].word),
				 TASK_COMPLETE | TASK_CLAIMED | TASK_DETACHED);
	}
}

/* clang-format off */
static const struct CMUnitTest tests[] = {
	cmocka_unit_test(task_state__bits__are_distinct),
	cmocka_unit_test(task_state_to_spawned__idle__scheduled),
	cmocka_unit_test(task_state_to_spawned__alive_or_complete__ealready),
	cmocka_unit_test(task_state_to_unspawned__scheduled__idle_again),
	cmocka_unit_test(task_state__run_and_yield__back_and_forth),
	cmocka_unit_test(task_state_to_complete__unchanged__complete),
	cmocka_unit_test(task_state_to_complete__changed__tells_the_newer_state),
	cmocka_unit_test(task_state_to_claimed__free__claimed_once),
	cmocka_unit_test(task_state_to_claimed__never_spawned__einval_if_asked),
	cmocka_unit_test(task_state_to_ended_by__complete__caller_ends_it),
	cmocka_unit_test(task_state_to_joined__complete__idle),
	cmocka_unit_test(task_state__completion_beside_a_detach__one_ends_it),
};
/* clang-format on */

int main(void)
{
	return cmocka_run_group_tests_name("task_state", tests, NULL, NULL);
}
