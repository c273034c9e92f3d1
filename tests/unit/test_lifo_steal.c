/* SPDX-License-Identifier: MIT */
/* test_lifo_steal.c - the task that a worker would run next, behind its long poll */
#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

static struct skua_runtime *runtime_with_delay(unsigned workers,
					       uint64_t delay_ns)
{
	return RUNTIME(.workers = workers, .lifo_steal_delay_ns = delay_ns);
}

/* Spawns a child, and stays in its poll until the child has run elsewhere. */
struct stubborn {
	struct skua_task task; /* first: a task is its stubborn */
	struct holder child;
	int code;
};

static enum skua_poll wait_for_the_child(struct skua_task *self)
{
	struct stubborn *it = (struct stubborn *)self;

	gate_open(&it->child.go_on);
	it->code = skua_task_spawn(runtime_of_task(self), &it->child.task);
	gate_wait(&it->child.running);
	return SKUA_DONE;
}

static void run_stubborn(struct skua_runtime *rt)
{
	struct stubborn it = { .task = SKUA_TASK_INIT(wait_for_the_child),
			       .child = HOLDER_INIT };

	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.code, 0);
	join(&it.child.task);
}

TEST(lifo_slot__task_behind_a_long_poll__taken_by_an_idle_one)
{
	static const uint64_t delays[] = { 0, SKUA_MIN_LIFO_DELAY_NS,
					   UINT64_C(1000000) };

	for (size_t d = 0; d < COUNT_OF(delays); d++) {
		for (unsigned workers = 2; workers <= 4; workers++) {
			struct skua_runtime *rt =
				runtime_with_delay(workers, delays[d]);

			for (unsigned n = 0; n < 20; n++)
				run_stubborn(rt);
			destroy(rt);
		}
	}
}

/* Then the fields of the sentinel are nobody's. */
static void wait_until_unwatched(struct skua_runtime *rt)
{
	/* Acquire: what the last sentinel has written. Pairs with give_role(). */
	while (!idle_all_parked(&rt->pool.idle) ||
	       atomic_load_acquire(&rt->pool.sentinel.holder) != 0)
		sched_yield();
}

/* All others have slept so long that nobody watches any more. */
TEST(lifo_slot__nobody_watches_any_more__taken_all_the_same)
{
	struct skua_runtime *rt = runtime_with_delay(2, 0);

	for (unsigned n = 0; n < 10; n++) {
		wait_until_unwatched(rt);
		run_stubborn(rt);
	}
	destroy(rt);
}

/* Let a sentinel come, after the last one has stopped at @stopped_ns, until it decides to stop
 * after @checks. Return: did it? */
static bool comes_for(struct skua_runtime *rt, uint64_t stopped_ns,
		      unsigned checks)
{
	struct sentinel *sentinel = &rt->pool.sentinel;

	for (unsigned n = 0; n < 100; n++) {
		sentinel->stopped_ns = stopped_ns ? stopped_ns : skua_now_ns();
		run_stubborn(rt);
		wait_until_unwatched(rt);
		if (sentinel->quiet_max == checks)
			return true;
	}
	return false;
}

/* If it came soon after the last one, it stays for longer. The delay is long, so that "soon" is
 * soon enough for a busy machine; if it is not, the sentinel comes again. */
TEST(sentinel__comes_again__decides_anew_how_long_to_stay)
{
	struct skua_runtime *rt = runtime_with_delay(2, 25000000);

	run_stubborn(rt);
	wait_until_unwatched(rt);
	assert_true(comes_for(rt, 1, 1)); /* long ago */
	assert_true(comes_for(rt, 0, 9)); /* now */
	assert_true(comes_for(rt, 1, 1));
	destroy(rt);
}

/* Nobody but the workers wakes anybody: a chain of them. */
struct nested {
	struct skua_task task; /* first: a task is its nested */
	struct nested *next;
	struct gate running;
	struct gate *end;
};

static enum skua_poll spawn_and_wait_for_the_end(struct skua_task *self)
{
	struct nested *it = (struct nested *)self;

	gate_open(&it->running);
	if (it->next)
		skua_task_spawn(runtime_of_task(self), &it->next->task);
	else
		gate_open(it->end);
	gate_wait(it->end);
	return SKUA_DONE;
}

TEST(lifo_slot__chain_of_long_polls__a_worker_each)
{
	struct skua_runtime *rt = runtime_with_delay(5, 0);

	for (unsigned round = 0; round < 20; round++) {
		struct nested all[5];
		struct gate end = { 0 };

		for (unsigned n = 0; n < 5; n++)
			all[n] = (struct nested){
				.task = SKUA_TASK_INIT(
					spawn_and_wait_for_the_end),
				.next = n < 4 ? &all[n + 1] : NULL,
				.end = &end
			};
		spawn(rt, &all[0].task);
		for (unsigned n = 0; n < 5; n++) {
			gate_wait(&all[n].running);
			join(&all[n].task);
		}
	}
	destroy(rt);
}

/* Spawns a child, and holds its worker. */
struct private_parent {
	struct holder holder; /* first: a task is its private_parent */
	struct waiter child;
	unsigned child_polls; /* at the end of the poll */
};

static enum skua_poll spawn_and_hold(struct skua_task *self)
{
	struct private_parent *it = (struct private_parent *)self;

	skua_task_spawn(runtime_of_task(self), &it->child.task);
	holder_poll(self);
	it->child_polls = waiter_polls(&it->child);
	return SKUA_DONE;
}

TEST(lifo_private__long_poll__runs_after_it)
{
	struct skua_runtime *rt = runtime_with_delay(2, SKUA_LIFO_PRIVATE);
	struct counter other = COUNTER_INIT;

	for (unsigned n = 0; n < 5; n++) {
		struct private_parent it = { .holder = HOLDER_INIT,
					     .child = WAITER_INIT };
		uint64_t end_ns;

		it.holder.task.poll = spawn_and_hold;
		gate_open(&it.child.end);
		holder_hold(rt, &it.holder);
		/* Many times the usual delay, with the other one awake and
		 * asleep in turn. Nothing is expected to happen meanwhile. */
		end_ns = skua_now_ns() + UINT64_C(2000000);
		while (skua_now_ns() < end_ns) {
			spawn(rt, &other.task);
			join(&other.task);
		}
		holder_end(&it.holder);
		assert_int_equal(it.child_polls, 0);
		join(&it.child.task);
		assert_int_equal(waiter_polls(&it.child), 1);
	}
	destroy(rt);
}

/* Each of its timers is earlier than those before, and wakes the worker that waits
 * for them. */
struct timed_parent {
	struct private_parent parent; /* first: a task is its timed_parent */
	struct skua_timer timers[4];
};

static enum skua_poll spawn_and_add_timers(struct skua_task *self)
{
	struct timed_parent *it = (struct timed_parent *)self;
	struct skua_runtime *rt = runtime_of_task(self);
	/* Times that the wheel tells exactly. */
	uint64_t grain_ns = UINT64_C(1) << TIMER_WHEEL_GRAIN_BITS;
	uint64_t when_ns =
		(skua_now_ns() + UINT64_C(1000000000000)) / grain_ns * grain_ns;

	skua_task_spawn(rt, &it->parent.child.task);
	for (size_t n = 0; n < COUNT_OF(it->timers); n++) {
		when_ns -= grain_ns;
		skua_timer_add(self, &it->timers[n], when_ns);
		while (atomic_load_relaxed(&rt->pool.sentinel.until_ns) !=
		       when_ns)
			sched_yield();
	}
	it->parent.child_polls = waiter_polls(&it->parent.child);
	for (size_t n = 0; n < COUNT_OF(it->timers); n++)
		skua_timer_cancel(&it->timers[n]);
	return SKUA_DONE;
}

TEST(lifo_private__timers_added_in_a_poll__runs_after_it)
{
	for (unsigned n = 0; n < 5; n++) {
		struct skua_runtime *rt =
			runtime_with_delay(2, SKUA_LIFO_PRIVATE);
		struct timed_parent it = { .parent.child = WAITER_INIT };

		skua_task_init(&it.parent.holder.task, spawn_and_add_timers);
		gate_open(&it.parent.child.end);
		spawn(rt, &it.parent.holder.task);
		join(&it.parent.holder.task);
		assert_int_equal(it.parent.child_polls, 0);
		join(&it.parent.child.task);
		destroy(rt);
	}
}
