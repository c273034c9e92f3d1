/* SPDX-License-Identifier: MIT */
/**
 * model_stall.c - core/idle/stall_rest.h and stall_stack.h in every interleaving
 *
 * No watcher rests while a worker runs: one that sleeps for good beside a worker
 * that does not end before it was seen is a lost wake-up. And a stack that was answered is
 * read by nobody before it is there, nor written while it is read.
 */
#include "core/idle/stall_rest.h"
#include "core/stall/stall_stack.h"

#include <string.h>

static struct stall_rest rest;
static struct stall_awake awake[2];
/* A worker has been seen awake since it unparked. */
static atomic_u32 seen[2];

/* ---- rests ------------------------------------------------------------------ */

static void setup_workers(unsigned count)
{
	stall_rest_init(&rest, awake, count);
	for (unsigned i = 0; i < 2; i++)
		atomic_init(&seen[i], 0);
}

static void setup_one(void)
{
	setup_workers(1);
	atomic_store_relaxed(&awake[0].awake, 0);
}

static void setup_two(void)
{
	setup_workers(2);
	atomic_store_relaxed(&awake[0].awake, 0);
	atomic_store_relaxed(&awake[1].awake, 0);
}

static void look(void)
{
	for (unsigned i = 0; i < rest.count; i++) {
		if (atomic_load_relaxed(&awake[i].awake))
			atomic_store_relaxed(&seen[i], 1);
	}
}

/* As stall_main(): rests and looks, until it has seen all. */
static void watches(void)
{
	for (;;) {
		bool all = true;

		stall_rest(&rest);
		if (stall_rest_ending(&rest))
			return;
		look();
		for (unsigned i = 0; i < rest.count; i++)
			all &= atomic_load_relaxed(&seen[i]) != 0;
		if (all)
			return;
		cpu_relax();
	}
}

/* A poll that goes on until it was seen. */
static void poll(unsigned i)
{
	while (!atomic_load_relaxed(&seen[i]))
		cpu_relax();
}

static void unparks_0(void)
{
	stall_rest_unparks(&rest, 0);
	poll(0);
}

static void unparks_1(void)
{
	stall_rest_unparks(&rest, 1);
	poll(1);
}

/* Sleeps once more, before the long poll. */
static void unparks_twice(void)
{
	stall_rest_unparks(&rest, 0);
	stall_rest_parks(&rest, 0);
	unparks_0();
}

static void unparks_without_fence(void)
{
	uint32_t resting = STALL_RESTING;

	atomic_store_relaxed(&awake[0].awake, 1);
	if (atomic_load_relaxed(&rest.state) == STALL_RESTING &&
	    atomic_cas_relaxed(&rest.state, &resting, STALL_CHECKING))
		futex_wake(&rest.state, 1);
	poll(0);
}

static void ends(void)
{
	stall_rest_end(&rest);
}

/* Until it is told to end. */
static void watches_for_good(void)
{
	while (!stall_rest_ending(&rest)) {
		stall_rest(&rest);
		cpu_relax();
	}
}

static void unparks_and_parks(void)
{
	stall_rest_unparks(&rest, 0);
	stall_rest_parks(&rest, 0);
}

/* ---- stacks ------------------------------------------------------------------- */

static struct stall_stack stack;
static unsigned note; /* plain: the answer */
static uint32_t signals;

static void setup_stack(void)
{
	memset(&stack, 0, sizeof(stack));
	atomic_init(&stack.asked, 0);
	atomic_init(&stack.answered, 0);
	note = 0;
	signals = 0;
}

/* Asks twice; with each signal, it counts up what the handler waits for. */
static void asks(void)
{
	for (unsigned n = 1; n <= 2; n++) {
		stall_stack_asks(&stack);
		signals++;
		while (stall_stack_pending(&stack))
			cpu_relax();
		explore_assert(explore_read(note) == n);
	}
}

static void answer(void (*answered)(struct stall_stack *, uint32_t))
{
	uint32_t number;

	for (unsigned n = 0; n < 2;) {
		while (signals == n)
			cpu_relax();
		/* The kernel brings the signal behind what was written before:
		 * an answer is not lost here, but may be late. */
		if (stall_stack_asked(&stack, &number)) {
			explore_write(note, note + 1);
			answered(&stack, number);
			n++;
		} else {
			cpu_relax();
		}
	}
}

static void answers(void)
{
	answer(stall_stack_answered);
}

static void answered_relaxed(struct stall_stack *it, uint32_t number)
{
	atomic_store_relaxed(&it->answered, number);
}

static void answers_relaxed(void)
{
	answer(answered_relaxed);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("rest__unpark", setup_one, NULL, watches, unparks_0) },
	{ EXPLORE_PASS("rest__unpark__park__unpark", setup_one, NULL, watches,
		       unparks_twice) },
	{ EXPLORE_PASS("rest__two_unpark", setup_two, NULL, watches, unparks_0,
		       unparks_1),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("rest__end", setup_one, NULL, watches_for_good, ends) },
	{ EXPLORE_PASS("rest__unpark__end", setup_one, NULL, watches_for_good,
		       unparks_and_parks, ends) },
	{ EXPLORE_PASS("stack__two_asked", setup_stack, NULL, asks, answers) },

	{ EXPLORE_BUG("unpark_without_fence", "livelock", setup_one, NULL,
		      watches, unparks_without_fence) },
	{ EXPLORE_BUG("answer_relaxed", "data race", setup_stack, NULL, asks,
		      answers_relaxed) },
};

EXPLORE_MAIN(cases)
