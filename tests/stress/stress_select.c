/* SPDX-License-Identifier: MIT */
/**
 * stress_select.c - fibers, polls and threads that select, all at once
 *
 * Two runtimes share the objects. Each user selects some cases at random: sends to and
 * receives from two small channels, permits, a mutex, a rwlock, a notification, an event, the
 * end of a child, or of the group of a child, a time. Many selects have a deadline that is
 * near; polls withdraw some. Other users wait for the same objects alone. A thread cancels
 * fibers, which are spawned again. Checked: each item that was sent is received once; the
 * mutex has one holder, and the rwlock one writer and no reader beside it; no permit is lost;
 * each child ends once. A waiter that is not woken hangs the program: each wait without a
 * deadline also waits for the event that is set at the end.
 */
#include <errno.h>
#include <sched.h>
#include <skua/skua.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define FIBERS   12u
#define POLLERS  4u
#define THREADS  3u
#define PERMITS  2u
#define CAPACITY 2u
#define CASES    7u
#define BATCH    32u /* operations between two counts */

static struct {
	struct skua_channel channels[2];
	uint64_t memory[2][SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
	struct skua_semaphore semaphore;
	struct skua_mutex mutex;
	struct skua_notify notify;
	struct skua_event over, flicker;
	uint64_t under_mutex; /* plain, under the mutex */
	struct skua_rwlock table;
	uint64_t in_table[2]; /* plain, under the rwlock: two equal numbers */
} shared;

static atomic_u64 done, given_up, cancels, with_permit, in_mutex, numbers;
/* Of all items: how many, and the sum of their hashes. */
static atomic_u64 sent[2], received[2];
static uint64_t wanted;

static bool is_over(void)
{
	return atomic_load_relaxed(&done) >= wanted;
}

static uint64_t hash(uint64_t number)
{
	number = (number ^ number >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return number ^ number >> 29;
}

static void count(atomic_u64 *counts, uint64_t item)
{
	atomic_fetch_add_relaxed(&counts[0], 1);
	atomic_fetch_add_relaxed(&counts[1], hash(item));
}

/* ---- users ------------------------------------------------------------------ */

/* A child ends at once, or after some yields. */
struct child {
	struct skua_task task; /* first */
	unsigned yields;
};

static enum skua_poll poll_child(struct skua_task *self)
{
	struct child *it = (struct child *)self;

	return it->yields-- == 0 ? SKUA_DONE : SKUA_YIELD;
}

/* The cases that a user selects. */
struct choice {
	struct rng rng;
	struct skua_select_case cases[CASES];
	uint64_t items[CASES];
	uint32_t count, flags;
	uint64_t deadline_ns;
	struct child child;
	bool child_lives;
	struct skua_group group;
	bool group_lives; /* a member that is not a child */
	struct child member;
};

static uint64_t soon(struct rng *rng)
{
	return skua_now_ns() + rng_below(rng, 20000);
}

static void add_case(struct choice *it, enum skua_select_kind kind,
		     void *object, uint64_t amount)
{
	uint64_t *item = &it->items[it->count];

	if (kind == SKUA_SELECT_SEND)
		*item = atomic_fetch_add_relaxed(&numbers, 1);
	it->cases[it->count++] = (struct skua_select_case)SKUA_SELECT_CASE(
		kind, object, item, amount);
}

static void spawn_child(struct skua_runtime *rt, struct choice *it)
{
	it->child.task = (struct skua_task)SKUA_TASK_INIT(poll_child);
	it->child.yields = rng_below(&it->rng, 4);
	stress_check(skua_task_spawn(rt, &it->child.task), "spawn child");
	it->child_lives = true;
}

static void spawn_member(struct skua_runtime *rt, struct choice *it)
{
	it->member.task = (struct skua_task)SKUA_TASK_INIT(poll_child);
	it->member.yields = rng_below(&it->rng, 4);
	stress_check(skua_group_init(&it->group, rt), "init group");
	stress_check(skua_group_spawn(&it->group, &it->member.task),
		     "spawn member");
	it->group_lives = true;
}

static void add_random(struct choice *it, struct skua_runtime *rt)
{
	struct rng *rng = &it->rng;
	struct skua_channel *channel = &shared.channels[rng_below(rng, 2)];

	switch (rng_below(rng, 12)) {
	case 11:
		add_case(it,
			 rng_below(rng, 2) ? SKUA_SELECT_READ_LOCK
					   : SKUA_SELECT_WRITE_LOCK,
			 &shared.table, 0);
		break;
	case 10:
		if (it->group_lives)
			break;
		spawn_member(rt, it);
		add_case(it, SKUA_SELECT_GROUP, &it->group, 0);
		break;
	case 0:
		add_case(it, SKUA_SELECT_PERMITS, &shared.semaphore,
			 1 + rng_below(rng, PERMITS));
		break;
	case 1:
		add_case(it, SKUA_SELECT_LOCK, &shared.mutex, 0);
		break;
	case 2:
		add_case(it, SKUA_SELECT_NOTIFY, &shared.notify, 0);
		break;
	case 3:
		add_case(it, SKUA_SELECT_EVENT, &shared.flicker, 0);
		break;
	case 4:
		add_case(it, SKUA_SELECT_TIME, NULL, soon(rng));
		break;
	case 5:
		if (it->child_lives)
			break;
		spawn_child(rt, it);
		add_case(it, SKUA_SELECT_JOIN, &it->child.task, 0);
		break;
	case 6:
	case 7:
		add_case(it, SKUA_SELECT_SEND, channel, 0);
		break;
	default:
		add_case(it, SKUA_SELECT_RECEIVE, channel, 0);
	}
}

static void choose(struct choice *it, struct skua_runtime *rt)
{
	it->count = 0;
	it->flags = rng_below(&it->rng, 2) ? SKUA_SELECT_IN_ORDER : 0;
	for (unsigned i = rng_below(&it->rng, CASES - 1); i > 0; i--)
		add_random(it, rt);
	/* Last: it comes at the end of the program. */
	add_case(it, SKUA_SELECT_EVENT, &shared.over, 0);
	it->deadline_ns =
		rng_below(&it->rng, 4) ? SKUA_FOREVER_NS : soon(&it->rng);
}

/* Let others come to wait. */
static void linger(struct rng *rng, bool may_yield)
{
	if (may_yield && rng_below(rng, 16) == 0 && skua_yield())
		sched_yield(); /* a thread */
}

static void take_case(struct choice *it, struct skua_select_case *won,
		      bool may_yield)
{
	stress_check(won->code, "a case");
	switch (won->kind) {
	case SKUA_SELECT_SEND:
		count(sent, *(uint64_t *)won->item);
		break;
	case SKUA_SELECT_RECEIVE:
		count(received, *(uint64_t *)won->item);
		break;
	case SKUA_SELECT_PERMITS:
		if (atomic_fetch_add_relaxed(&with_permit, won->amount) +
			    won->amount >
		    PERMITS)
			stress_fail("more permits than there are");
		linger(&it->rng, may_yield);
		atomic_fetch_sub_relaxed(&with_permit, won->amount);
		stress_check(
			skua_semaphore_release(&shared.semaphore, won->amount),
			"release");
		break;
	case SKUA_SELECT_LOCK:
		shared.under_mutex++;
		linger(&it->rng, may_yield);
		atomic_fetch_add_relaxed(&in_mutex, 1);
		stress_check(skua_mutex_unlock(&shared.mutex), "unlock");
		break;
	case SKUA_SELECT_JOIN:
		it->child_lives = false;
		break;
	case SKUA_SELECT_GROUP:
		it->group_lives = false;
		break;
	case SKUA_SELECT_READ_LOCK:
		linger(&it->rng, may_yield);
		if (shared.in_table[0] != shared.in_table[1])
			stress_fail("a reader beside a writer");
		stress_check(skua_rwlock_read_unlock(&shared.table), "unlock");
		break;
	case SKUA_SELECT_WRITE_LOCK:
		shared.in_table[0]++;
		linger(&it->rng, may_yield);
		shared.in_table[1]++;
		stress_check(skua_rwlock_write_unlock(&shared.table), "unlock");
		break;
	default:
		break;
	}
}

static void take_result(struct choice *it, int at, bool may_yield)
{
	if (at == -ETIMEDOUT || at == -ECANCELED)
		atomic_fetch_add_relaxed(&given_up, 1);
	else if (at < 0 || (unsigned)at >= it->count)
		stress_fail("select: %d", at);
	else
		take_case(it, &it->cases[at], may_yield);
}

/* ---- operations ------------------------------------------------------------- */

static int settled(int code)
{
	if (code == -ETIMEDOUT || code == -ECANCELED)
		atomic_fetch_add_relaxed(&given_up, 1);
	else
		stress_check(code, "a wait");
	return code;
}

/* One wait without a select, with a deadline. */
static void wait_alone(struct choice *it)
{
	struct skua_channel *channel = &shared.channels[rng_below(&it->rng, 2)];
	uint64_t until_ns = soon(&it->rng), item;

	switch (rng_below(&it->rng, 5)) {
	case 4:
		if (!settled(skua_rwlock_read(&shared.table, until_ns)))
			stress_check(skua_rwlock_read_unlock(&shared.table),
				     "unlock");
		break;
	case 0:
		item = atomic_fetch_add_relaxed(&numbers, 1);
		if (!settled(skua_channel_send(channel, &item, until_ns)))
			count(sent, item);
		break;
	case 1:
		if (!settled(skua_channel_receive(channel, &item, until_ns)))
			count(received, item);
		break;
	case 2:
		if (!settled(skua_semaphore_acquire(&shared.semaphore, PERMITS,
						    until_ns)))
			stress_check(skua_semaphore_release(&shared.semaphore,
							    PERMITS),
				     "release");
		break;
	default:
		settled(skua_notify_wait(&shared.notify, until_ns));
	}
}

static void provide(struct choice *it)
{
	switch (rng_below(&it->rng, 4)) {
	case 0:
		stress_check(skua_event_set(&shared.flicker), "set");
		stress_check(skua_event_reset(&shared.flicker), "reset");
		break;
	case 1:
		stress_check(skua_notify_all(&shared.notify), "notify_all");
		break;
	default:
		stress_check(skua_notify_one(&shared.notify), "notify_one");
	}
}

static void operate(struct choice *it, struct skua_runtime *rt)
{
	switch (rng_below(&it->rng, 8)) {
	case 0:
		wait_alone(it);
		break;
	case 1:
		provide(it);
		break;
	default:
		choose(it, rt);
		take_result(it,
			    skua_select(it->cases, it->count, it->flags,
					it->deadline_ns),
			    true);
	}
	if (it->child_lives) {
		/* Not with the deadline of a cancelled fiber: it may go on. */
		skua_cancel_mask();
		stress_check(skua_task_join(&it->child.task), "join child");
		skua_cancel_unmask();
		it->child_lives = false;
	}
	if (it->group_lives) {
		skua_cancel_mask();
		stress_check(skua_group_wait(&it->group), "wait for group");
		skua_cancel_unmask();
		it->group_lives = false;
	}
}

struct user {
	struct skua_fiber fiber; /* first: a fiber is its user */
	struct choice choice;
	struct skua_runtime *rt;
};

static struct user users[FIBERS];

static void fiber_operates(struct skua_fiber *self)
{
	struct user *it = (struct user *)self;

	/* Relaxed: it ends a little later. */
	while (!is_over() && !skua_task_cancelled(&self->task)) {
		for (unsigned i = 0; i < BATCH; i++)
			operate(&it->choice, it->rt);
		atomic_fetch_add_relaxed(&done, BATCH);
		skua_yield();
	}
}

static void *thread_operates(void *arg)
{
	struct user *it = arg;

	while (!is_over()) {
		for (unsigned i = 0; i < BATCH; i++)
			operate(&it->choice, it->rt);
		atomic_fetch_add_relaxed(&done, BATCH);
	}
	return NULL;
}

struct poller {
	struct skua_task task; /* first: a task is its poller */
	struct skua_wait wait;
	struct skua_select select;
	struct choice choice;
	struct skua_runtime *rt;
	bool joins, waits;
};

static struct poller pollers[POLLERS];

static enum skua_poll poll_operates(struct skua_task *self)
{
	struct poller *it = (struct poller *)self;

	for (unsigned i = 0; i < BATCH; i++) {
		int at;

		if (it->joins &&
		    skua_task_join_poll(self, &it->choice.child.task) != 0)
			return SKUA_PENDING;
		it->choice.child_lives &= !it->joins;
		it->joins = false;
		if (it->waits &&
		    skua_group_wait_poll(self, &it->choice.group) != 0)
			return SKUA_PENDING;
		it->choice.group_lives &= !it->waits;
		it->waits = false;
		if (!skua_wait_armed(&it->wait)) {
			choose(&it->choice, it->rt);
			it->select = (struct skua_select){
				.cases = it->choice.cases,
				.count = it->choice.count,
				.flags = it->choice.flags
			};
		}
		at = skua_select_poll(self, &it->select, &it->wait,
				      it->choice.deadline_ns);
		if (at == -EAGAIN && (rng_below(&it->choice.rng, 4) ||
				      skua_wait_cancel(self, &it->wait)))
			return SKUA_PENDING;
		if (at != -EAGAIN)
			take_result(&it->choice, at, false);
		it->joins = it->choice.child_lives;
		it->waits = it->choice.group_lives;
	}
	atomic_fetch_add_relaxed(&done, BATCH);
	return is_over() && !it->joins && !it->waits ? SKUA_DONE : SKUA_YIELD;
}

/* ---- the program ------------------------------------------------------------------ */

static struct skua_runtime *create(unsigned workers)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = workers };
	struct skua_runtime *rt;
	struct skua_error error;

	if (skua_runtime_create(&rt, &config, &error) != 0)
		stress_fail("%s", error.text);
	return rt;
}

static void spawn_fiber(struct user *it)
{
	stress_check(skua_fiber_init(&it->fiber, fiber_operates, 0), "init");
	stress_check(skua_task_spawn(it->rt, &it->fiber.task), "spawn");
}

/* Cancel fibers, and spawn them again. */
static void disturb(void)
{
	struct rng rng;

	rng_init(&rng, 1000);
	while (!is_over()) {
		struct user *it = &users[rng_below(&rng, FIBERS)];

		skua_sleep_until(skua_now_ns() + 300000);
		skua_task_cancel(&it->fiber.task);
		stress_check(skua_task_join(&it->fiber.task), "join");
		atomic_fetch_add_relaxed(&cancels, 1);
		spawn_fiber(it);
	}
	stress_check(skua_event_set(&shared.over), "set over");
}

static void check(void)
{
	uint64_t item;

	for (unsigned i = 0; i < 2; i++)
		while (skua_channel_receive_try(&shared.channels[i], &item) ==
		       0)
			count(received, item);
	for (unsigned i = 0; i < 2; i++)
		if (atomic_load_relaxed(&sent[i]) !=
		    atomic_load_relaxed(&received[i]))
			stress_fail("%" PRIu64 " items sent, %" PRIu64
				    " received, or others",
				    atomic_load_relaxed(&sent[0]),
				    atomic_load_relaxed(&received[0]));
	if (shared.under_mutex != atomic_load_relaxed(&in_mutex))
		stress_fail("two holders of a mutex");
	stress_check(skua_mutex_destroy(&shared.mutex), "mutex_destroy");
	if (skua_semaphore_permits(&shared.semaphore) != PERMITS)
		stress_fail("%" PRIu64 " permits of %u",
			    skua_semaphore_permits(&shared.semaphore), PERMITS);
}

int main(void)
{
	struct skua_runtime *runtimes[2] = { create(2), create(1) };
	static struct user threads[THREADS];
	pthread_t ids[THREADS];

	wanted = stress_ops() / 50 + 1000; /* most of them wait */
	for (unsigned i = 0; i < 2; i++)
		stress_check(skua_channel_init(&shared.channels[i],
					       shared.memory[i], CAPACITY, 8),
			     "channel_init");
	stress_check(skua_semaphore_init(&shared.semaphore, PERMITS),
		     "semaphore_init");
	for (unsigned i = 0; i < FIBERS; i++) {
		rng_init(&users[i].choice.rng, i);
		users[i].rt = runtimes[i % 2];
		spawn_fiber(&users[i]);
	}
	for (unsigned i = 0; i < POLLERS; i++) {
		pollers[i].task =
			(struct skua_task)SKUA_TASK_INIT(poll_operates);
		rng_init(&pollers[i].choice.rng, 100 + i);
		pollers[i].rt = runtimes[i % 2];
		stress_check(skua_task_spawn(pollers[i].rt, &pollers[i].task),
			     "spawn");
	}
	for (unsigned i = 0; i < THREADS; i++) {
		rng_init(&threads[i].choice.rng, 200 + i);
		threads[i].rt = runtimes[i % 2];
		stress_check(pthread_create(&ids[i], NULL, thread_operates,
					    &threads[i]),
			     "pthread_create");
	}
	disturb();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	for (unsigned i = 0; i < 2; i++)
		stress_check(skua_runtime_destroy(runtimes[i]), "destroy");
	check();
	printf("%" PRIu64 " operations, %" PRIu64 " items, %" PRIu64
	       " given up, %" PRIu64 " fibers cancelled\n",
	       atomic_load_relaxed(&done), atomic_load_relaxed(&sent[0]),
	       atomic_load_relaxed(&given_up), atomic_load_relaxed(&cancels));
	return 0;
}
