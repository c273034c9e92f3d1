/* SPDX-License-Identifier: MIT */
/* test_join_within.c - joins that poll the child themselves, and joiners that wait
 * their turn */
#include "skua/fork.h"
#include "tests/unit/tasks.h"

#define TRIES 100000u

/* A table of tasks, as a debug build has it, and a record have no polls within polls. */
static int without_table(void **state)
{
	(void)state;
	return setenv("SKUA_TRACK_TASKS", "0", 1);
}

ALL_TESTS(without_table, NULL);

/* Spawns its child and joins it, until a join has polled it, or once for each try;
 * what happens besides is up to the test. */
struct parent {
	struct skua_task task; /* first: a task is its parent */
	struct skua_task *child;
	struct skua_runtime *rt;
	void (*before)(struct parent *it); /* a join; or NULL */
	void (*after)(struct parent *it);
	unsigned joins;
	unsigned within; /* joins that returned 0 at once */
	bool spawned;
	bool first; /* join of this child */
};

/* Return: is the child still to be joined? */
static bool join_once(struct parent *it)
{
	int code;

	it->first = !it->spawned;
	if (it->first)
		assert_int_equal(skua_task_spawn(it->rt, it->child), 0);
	it->spawned = true;
	if (it->before)
		it->before(it);
	code = skua_task_join_poll(&it->task, it->child);
	if (it->after)
		it->after(it);
	if (code == -EAGAIN)
		return true;
	assert_int_equal(code, 0);
	it->within += it->first;
	it->spawned = false;
	it->joins++;
	return false;
}

static enum skua_poll parent_poll(struct skua_task *self)
{
	struct parent *it = (struct parent *)self;

	while (it->joins < TRIES && it->within == 0) {
		if (join_once(it))
			return SKUA_PENDING;
	}
	return SKUA_DONE;
}

/* With one worker nobody takes a child meanwhile. */
static void expect_within(struct parent *it)
{
	it->rt = runtime_new(1, 0);
	it->task = (struct skua_task)SKUA_TASK_INIT(parent_poll);
	spawn(it->rt, &it->task);
	join(&it->task);
	assert_int_equal(it->within, 1);
	destroy(it->rt);
}

TEST(join_poll__child_runs_next__polled_within)
{
	struct counter child = COUNTER_INIT;
	struct parent parent = { .child = &child.task };

	expect_within(&parent);
	assert_int_equal(child.polls, parent.joins);
}

/* ---- the right to join ------------------------------------------------------ */

/* Detaches itself, which the join has forestalled: its memory stays the parent's. */
static enum skua_poll detach_self(struct skua_task *self)
{
	((struct counter *)self)->polls++;
	assert_int_equal(skua_task_detach(self, NULL), -EALREADY);
	return SKUA_DONE;
}

TEST(join_poll__child_within_detaches_itself__ealready)
{
	struct counter child = { .task = SKUA_TASK_INIT(detach_self) };
	struct parent parent = { .child = &child.task };

	expect_within(&parent);
	assert_int_equal(child.polls, parent.joins);
}

/* ---- the poll that goes on -------------------------------------------------- */

static void expect_self(struct parent *it)
{
	assert_ptr_equal(skua_task_self(), &it->task);
	assert_int_equal(skua_task_cancelled(&it->task), false);
}

TEST(join_poll__polled_within__self_is_the_parent_again)
{
	struct counter child = COUNTER_INIT;
	struct parent parent = { .child = &child.task,
				 .before = expect_self,
				 .after = expect_self };

	expect_within(&parent);
}

/* The first is the spare reference, if that is still there. A count that is wrong by one
 * ends the parent early, or never. */
static void take_and_drop(struct parent *it)
{
	struct skua_waker first = skua_task_waker(&it->task);
	struct skua_waker second = skua_task_waker(&it->task);

	skua_waker_drop(first);
	skua_waker_drop(second);
}

TEST(join_poll__polled_within__wakers_are_counted)
{
	struct counter child = COUNTER_INIT;
	struct parent before = { .child = &child.task,
				 .before = take_and_drop };
	struct parent after = { .child = &child.task, .after = take_and_drop };

	expect_within(&before);
	expect_within(&after);
}

struct waking {
	struct skua_task task; /* first: a task is its waking */
	struct skua_waker parent;
};

static enum skua_poll wake_parent(struct skua_task *self)
{
	skua_waker_wake(((struct waking *)self)->parent);
	return SKUA_DONE;
}

static void lend_waker(struct parent *it)
{
	if (it->first)
		((struct waking *)it->child)->parent =
			skua_task_waker(&it->task);
}

static enum skua_poll parent_polls_again(struct skua_task *self)
{
	struct parent *it = (struct parent *)self;

	/* A join that returned 0 took the child's wake-up in, and the next poll comes
	 * without a further one. */
	if (it->within > 0)
		return SKUA_DONE;
	while (it->joins < TRIES && it->within == 0) {
		if (join_once(it))
			return SKUA_PENDING;
	}
	return SKUA_PENDING;
}

TEST(join_poll__child_within_wakes_the_parent__polled_again)
{
	struct waking child = { .task = SKUA_TASK_INIT(wake_parent) };
	struct parent parent = { .task = SKUA_TASK_INIT(parent_polls_again),
				 .child = &child.task,
				 .before = lend_waker };

	parent.rt = runtime_new(1, 0);
	spawn(parent.rt, &parent.task);
	join(&parent.task);
	assert_int_equal(parent.within, 1);
	destroy(parent.rt);
}

/* ---- the child that is not done --------------------------------------------- */

struct yielding {
	struct skua_task task; /* first: a task is its yielding */
	atomic_u32 polls;
};

static enum skua_poll yield_once(struct skua_task *self)
{
	struct yielding *it = (struct yielding *)self;

	/* Release: the poll. Pairs with the acquire in wait_for_the_rest(). */
	return atomic_fetch_add_release(&it->polls, 1) % 2 == 0 ? SKUA_YIELD
								: SKUA_DONE;
}

/* The rest of the poll is as long as it takes: another worker must take the child,
 * which the first one was about to poll next. */
static void wait_for_the_rest(struct parent *it)
{
	struct yielding *child = (struct yielding *)it->child;

	while (atomic_load_acquire(&child->polls) % 2 != 0)
		sched_yield();
}

TEST(join_poll__child_yields_within__another_worker_goes_on)
{
	struct yielding child = { .task = SKUA_TASK_INIT(yield_once) };
	struct parent parent = { .task = SKUA_TASK_INIT(parent_poll),
				 .child = &child.task,
				 .rt = runtime_new(2, 0),
				 .after = wait_for_the_rest };

	for (unsigned n = 0; n < 1000; n++) {
		parent.joins = TRIES - 1;
		spawn(parent.rt, &parent.task);
		join(&parent.task);
	}
	destroy(parent.rt);
}

/* Spawns one like itself, and joins it: so deep. */
struct link {
	struct skua_task task; /* first: a task is its link */
	struct skua_runtime *rt;
	struct link *next;
	bool spawned;
};

static enum skua_poll link_poll(struct skua_task *self)
{
	struct link *it = (struct link *)self;

	if (!it->next)
		return SKUA_DONE;
	if (!it->spawned)
		assert_int_equal(skua_task_spawn(it->rt, &it->next->task), 0);
	it->spawned = true;
	return skua_task_join_poll(self, &it->next->task) == -EAGAIN
		       ? SKUA_PENDING
		       : SKUA_DONE;
}

TEST(join_poll__chain_of_a_thousand__ends)
{
	static struct link links[1000];

	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);

		for (unsigned round = 0; round < 100; round++) {
			for (unsigned n = 0; n < COUNT_OF(links); n++)
				links[n] = (struct link){
					.task = SKUA_TASK_INIT(link_poll),
					.rt = rt,
					.next = n + 1 < COUNT_OF(links)
							? &links[n + 1]
							: NULL
				};
			spawn(rt, &links[0].task);
			join(&links[0].task);
		}
		destroy(rt);
	}
}

/* ---- jobs ----------------------------------------------------------------- */

struct forked {
	struct skua_job job; /* first: a job is its forked */
	bool run;
};

static void run_forked(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	((struct forked *)job)->run = true;
}

static void fork_one(struct skua_task *self)
{
	struct skua_ctx ctx = skua_task_ctx(self);
	struct forked it = { .job.run = run_forked };
	struct skua_ctx inner = skua_fork(ctx, &it.job);

	if (skua_reclaim(inner, &it.job))
		run_forked(ctx, &it.job);
	assert_true(it.run);
}

static enum skua_poll forking_poll(struct skua_task *self)
{
	fork_one(self);
	return SKUA_DONE;
}

/* Joins its child between a fork and its join. */
static enum skua_poll fork_around_join(struct skua_task *self)
{
	struct parent *it = (struct parent *)self;
	struct skua_ctx ctx, inner;
	struct forked forked = { .job.run = run_forked };
	bool pending;

	ctx = skua_task_ctx(self);
	inner = skua_fork(ctx, &forked.job);
	pending = join_once(it);
	if (skua_reclaim(inner, &forked.job))
		run_forked(ctx, &forked.job);
	assert_true(forked.run);
	if (pending)
		return SKUA_PENDING;
	return it->joins < 2000 ? SKUA_YIELD : SKUA_DONE;
}

TEST(join_poll__jobs_forked__child_forks_elsewhere)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_task child = SKUA_TASK_INIT(forking_poll);
		struct parent it = { .task = SKUA_TASK_INIT(fork_around_join),
				     .child = &child,
				     .rt = runtime_new(workers, 0) };

		spawn(it.rt, &it.task);
		join(&it.task);
		assert_int_equal(it.joins, 2000);
		if (workers == 1)
			assert_int_equal(it.within, 0);
		destroy(it.rt);
	}
}

static void fork_after(struct parent *it)
{
	if (it->first)
		fork_one(&it->task);
}

TEST(join_poll__child_forks_within__parent_forks_after)
{
	struct skua_task child = SKUA_TASK_INIT(forking_poll);
	struct parent parent = { .child = &child, .after = fork_after };

	expect_within(&parent);
}

/* ---- joiners ----------------------------------------------------------------- */

#define CHILDREN 100u

/* Spawns them all, then joins them in order. */
struct family {
	struct skua_task task; /* first: a task is its family */
	struct skua_runtime *rt;
	struct counter children[CHILDREN];
	unsigned spawned;
	unsigned joined;
	unsigned polls;
};

static enum skua_poll family_poll(struct skua_task *self)
{
	struct family *it = (struct family *)self;

	it->polls++;
	for (; it->spawned < CHILDREN; it->spawned++) {
		struct counter *child = &it->children[it->spawned];

		*child = (struct counter)COUNTER_INIT;
		assert_int_equal(skua_task_spawn(it->rt, &child->task), 0);
	}
	for (; it->joined < CHILDREN; it->joined++) {
		if (skua_task_join_poll(self, &it->children[it->joined].task) !=
		    0)
			return SKUA_PENDING;
	}
	return SKUA_DONE;
}

TEST(joiner__others_queued__polled_after_them)
{
	struct family it = { .task = SKUA_TASK_INIT(family_poll),
			     .rt = runtime_new(1, 0) };

	spawn(it.rt, &it.task);
	join(&it.task);
	/* The child in the LIFO slot is the last; the first wakes the parent, which
	 * goes behind the others. */
	assert_in_range(it.polls, 2, 4);
	destroy(it.rt);
}
