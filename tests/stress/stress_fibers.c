/* SPDX-License-Identifier: MIT */
/**
 * stress_fibers.c - fibers that yield, are stolen, sleep, have children and are cancelled
 *
 * Each fiber keeps numbers in registers and in its stack, and a rounding mode, and checks
 * them after each switch, perhaps on another worker. Some start fibers of their own, and
 * join them. An outside thread spawns batches, and cancels some of them; cancelled fibers
 * mask the cancel and go on for a while. Checked: no fiber runs twice or is lost, and each
 * finds all that it left.
 */
#include <errno.h>
#include <fenv.h>
#include <skua/skua.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define BATCH 48u
#define STEPS 64u
#define DEPTH 3u /* of fibers that start fibers */

struct subject {
	struct skua_fiber fiber; /* first: the function casts back */
	struct skua_runtime *rt;
	struct rng rng;
	unsigned depth;
	unsigned runs; /* plain: the spawn and the join order it */
};

static atomic_u64 switches, spawned, ended, cancelled;

static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
			     FE_TOWARDZERO };

/* Suspend the fiber in one of some ways. */
static void suspend(struct subject *it)
{
	int code;

	switch (rng_below(&it->rng, 16)) {
	case 0:
		code = skua_sleep_until(skua_now_ns() +
					rng_below(&it->rng, 20000));
		if (code && code != -ECANCELED)
			stress_fail("sleep_until: %d", code);
		break;
	case 1:
		skua_cancel_mask();
		stress_check(skua_sleep_until(skua_now_ns() + 1000),
			     "a masked sleep");
		skua_cancel_unmask();
		break;
	default:
		stress_check(skua_yield(), "yield");
	}
	atomic_fetch_add_relaxed(&switches, 1);
}

static void run(struct skua_fiber *self);

static void start(struct subject *it, struct skua_runtime *rt, unsigned seed,
		  unsigned depth)
{
	*it = (struct subject){ .rt = rt, .depth = depth };
	rng_init(&it->rng, seed);
	stress_check(skua_fiber_init(&it->fiber, run, depth ? 0 : 16384),
		     "fiber_init");
	atomic_fetch_add_relaxed(&spawned, 1);
}

/* A child on the stack of its parent, which joins it. */
static void have_child(struct subject *it)
{
	struct subject child;
	int code;

	start(&child, it->rt, (unsigned)rng_below(&it->rng, 1u << 30),
	      it->depth - 1);
	stress_check(skua_task_spawn(it->rt, &child.fiber.task), "spawn");
	skua_cancel_mask(); /* the child is on this stack */
	code = skua_task_join(&child.fiber.task);
	skua_cancel_unmask();
	stress_check(code, "join");
	if (child.runs != 1)
		stress_fail("a child ran %u times", child.runs);
}

static void run(struct skua_fiber *self)
{
	struct subject *it = (struct subject *)self;
	const int mode = modes[rng_below(&it->rng, 4)];
	/* In registers, and again in memory. */
	uint64_t a = (uintptr_t)it, b = ~a, c = a * 3, d = a ^ 0x5555;
	double x = 1.0 / 3;
	volatile uint64_t on_stack[4] = { a, b, c, d };
	const int before = fegetround();

	fesetround(mode);
	for (unsigned i = 0; i < STEPS; i++) {
		suspend(it);
		if (fegetround() != mode)
			stress_fail("another rounding mode after a switch");
		if (a != on_stack[0] || b != on_stack[1] || c != on_stack[2] ||
		    d != on_stack[3] || x != 1.0 / 3)
			stress_fail("other registers after a switch");
		if (skua_fiber_self() != self)
			stress_fail("another fiber after a switch");
		a += i, b ^= a, c -= b, d *= 3;
		on_stack[0] += i;
		on_stack[1] ^= on_stack[0];
		on_stack[2] -= on_stack[1];
		on_stack[3] *= 3;
		if (it->depth > 0 && i % (STEPS / 2) == 1)
			have_child(it);
		if (i % 8 == 7 && skua_task_cancelled(&self->task))
			break;
	}
	fesetround(before);
	it->runs++;
	atomic_fetch_add_relaxed(&ended, 1);
}

static void run_batch(struct skua_runtime *rt, unsigned number)
{
	static struct subject subjects[BATCH];
	struct skua_group group;

	stress_check(skua_group_init(&group, rt), "group_init");
	for (unsigned i = 0; i < BATCH; i++) {
		start(&subjects[i], rt, number * BATCH + i, i % (DEPTH + 1));
		stress_check(skua_group_spawn(&group, &subjects[i].fiber.task),
			     "group_spawn");
	}
	if (number % 4 == 1) {
		skua_sleep_until(skua_now_ns() + 100000);
		stress_check(skua_group_cancel(&group), "group_cancel");
		atomic_fetch_add_relaxed(&cancelled, 1);
	}
	stress_check(skua_group_wait(&group), "group_wait");
	for (unsigned i = 0; i < BATCH; i++)
		if (subjects[i].runs != 1)
			stress_fail("a fiber ran %u times", subjects[i].runs);
}

int main(void)
{
	/* Fewer: a switch is dearer than an operation of the other programs. */
	const uint64_t wanted = stress_ops() / 5 + 1;
	struct skua_config config = { .size = sizeof(config), .workers = 3 };
	struct skua_runtime *rt;
	unsigned batches = 0;

	config.flags = SKUA_UNPINNED | SKUA_NO_ENV;
	stress_check(skua_runtime_create(&rt, &config, NULL), "create");
	while (atomic_load_relaxed(&switches) < wanted)
		run_batch(rt, batches++);
	stress_check(skua_runtime_destroy(rt), "destroy");
	if (atomic_load_relaxed(&ended) != atomic_load_relaxed(&spawned))
		stress_fail("%" PRIu64 " fibers of %" PRIu64 " ended",
			    atomic_load_relaxed(&ended),
			    atomic_load_relaxed(&spawned));
	printf("%" PRIu64 " switches of %" PRIu64 " fibers, %" PRIu64
	       " of %u batches cancelled\n",
	       atomic_load_relaxed(&switches), atomic_load_relaxed(&ended),
	       atomic_load_relaxed(&cancelled), batches);
	return 0;
}
