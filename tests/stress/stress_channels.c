/* SPDX-License-Identifier: MIT */
/**
 * stress_channels.c - items through bounded channels, while calls are given up
 *
 * Three channels, of small and of large items: two with little room, where most calls wait,
 * and one with more. Fibers, tasks and threads send numbered items, and others receive them,
 * many with a deadline that is near. A thread cancels fibers and tasks, which end with the
 * next wait, and are spawned again. Checked: each item that was sent is received once,
 * whole, and each receiver gets the items of a sender in their order. A waiter that is not
 * woken hangs the program.
 */
#include <errno.h>
#include <sched.h>
#include <skua/skua.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define LANES 3u
#define USERS \
	3u /* senders, and receivers, of a lane: a fiber, a task, a thread */
#define BATCH 256u /* calls, or items, between two counts */
#define LARGE 3u   /* words of a large item */

/* The items sent by a sender, or received from it. */
struct sum {
	uint64_t count;
	uint64_t mixed;
};

struct lane;

struct user {
	union {
		struct skua_task
			task; /* first: a task or a fiber is its user */
		struct skua_fiber fiber;
	} as;
	struct lane *lane;
	unsigned index; /* among the senders, or receivers, of the lane */
	bool receives;
	bool fresh; /* there is no item that has to be sent again */
	struct rng rng;
	struct skua_wait wait;
	uint64_t deadline_ns;
	uint64_t received, given_up;
	uint64_t last[USERS]; /* number of the last item from each sender */
	struct sum sums
		[USERS]; /* a receiver's, of each sender; a sender's first */
	uint64_t item[LARGE];
};

struct lane {
	struct skua_channel channel;
	unsigned words;
	uint64_t *memory;
	struct user users[2 * USERS]; /* the senders first */
};

static struct lane lanes[LANES];
static struct skua_runtime *rt;
static atomic_u64 done;
static atomic_u32 disturbed;
static uint64_t wanted;

static bool is_over(void)
{
	/* Relaxed: it ends a little later. */
	return atomic_load_relaxed(&done) >= wanted;
}

/* ---- items ------------------------------------------------------------------- */

static uint64_t mix(uint64_t n)
{
	n = (n ^ (n >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
	return n ^ (n >> 29);
}

static void add(struct sum *sum, uint64_t item)
{
	sum->count++;
	sum->mixed += mix(item);
}

/* An item has its sender and its number; the further words of a large one follow. */
static void make_item(struct user *it)
{
	if (!it->fresh)
		return;
	it->fresh = false;
	it->item[0] = (uint64_t)it->index << 56 | ++it->last[it->index];
	for (unsigned i = 1; i < it->lane->words; i++)
		it->item[i] = mix(it->item[0] + i);
}

static void take_item(struct user *it)
{
	uint64_t sender = it->item[0] >> 56, number = it->item[0] << 8 >> 8;

	if (sender >= USERS)
		stress_fail("an item that nobody sent");
	for (unsigned i = 1; i < it->lane->words; i++)
		if (it->item[i] != mix(it->item[0] + i))
			stress_fail("an item is torn");
	if (number <= it->last[sender])
		stress_fail("item %" PRIu64 " of sender %" PRIu64
			    " after item %" PRIu64,
			    number, sender, it->last[sender]);
	it->last[sender] = number;
	add(&it->sums[sender], it->item[0]);
}

/* ---- calls ------------------------------------------------------------------- */

static uint64_t deadline(struct rng *rng)
{
	return rng_below(rng, 32) ? SKUA_FOREVER_NS
				  : skua_now_ns() + rng_below(rng, 20000);
}

static int call_waiting(struct user *it)
{
	bool tries = rng_below(&it->rng, 16) == 0;
	uint64_t until_ns = deadline(&it->rng);

	if (it->receives)
		return tries ? skua_channel_receive_try(&it->lane->channel,
							it->item)
			     : skua_channel_receive(&it->lane->channel,
						    it->item, until_ns);
	return tries ? skua_channel_send_try(&it->lane->channel, it->item)
		     : skua_channel_send(&it->lane->channel, it->item,
					 until_ns);
}

static int call_polling(struct user *it)
{
	if (!skua_wait_armed(&it->wait))
		it->deadline_ns = deadline(&it->rng);
	if (it->receives)
		return skua_channel_receive_poll(&it->as.task,
						 &it->lane->channel, it->item,
						 &it->wait, it->deadline_ns);
	return skua_channel_send_poll(&it->as.task, &it->lane->channel,
				      it->item, &it->wait, it->deadline_ns);
}

/* Account for a call. Return: may the user go on? */
static bool account(struct user *it, int code)
{
	if (code == -ETIMEDOUT || code == -ECANCELED || code == -EAGAIN) {
		it->given_up++;
		return code != -ECANCELED;
	}
	if (code == -EPIPE && it->receives)
		return false;
	stress_check(code, it->receives ? "receive" : "send");
	if (it->receives) {
		take_item(it);
		/* Relaxed: a count. */
		if (++it->received % BATCH == 0)
			atomic_fetch_add_relaxed(&done, BATCH);
	} else {
		add(&it->sums[0], it->item[0]);
		it->fresh = true;
	}
	return true;
}

/* Receivers go on until the close. */
static bool goes_on(const struct user *it)
{
	return it->receives || !is_over();
}

/* Return: may the user go on? */
static bool operate(struct user *it)
{
	for (unsigned i = 0; i < BATCH; i++) {
		if (!it->receives)
			make_item(it);
		if (!account(it, call_waiting(it)))
			return false;
	}
	return goes_on(it);
}

/* ---- users ------------------------------------------------------------------- */

static void fiber_operates(struct skua_fiber *self)
{
	struct user *it = (struct user *)self;

	while (operate(it) && !skua_task_cancelled(&self->task))
		skua_yield();
}

static void *thread_operates(void *arg)
{
	while (operate(arg)) {
	}
	return NULL;
}

static enum skua_poll task_operates(struct skua_task *self)
{
	struct user *it = (struct user *)self;

	for (unsigned i = 0; i < BATCH; i++) {
		int code;

		if (!goes_on(it) && !skua_wait_armed(&it->wait))
			return SKUA_DONE;
		if (!it->receives)
			make_item(it);
		code = call_polling(it);
		if (code == -EAGAIN && rng_below(&it->rng, 4) == 0 &&
		    skua_wait_cancel(self, &it->wait) == 0)
			code = -ETIMEDOUT;
		if (code == -EAGAIN)
			return SKUA_PENDING;
		if (!account(it, code))
			return SKUA_DONE;
	}
	return SKUA_YIELD;
}

static bool is_fiber(const struct user *it)
{
	return it->index == 0;
}

static bool is_thread(const struct user *it)
{
	return it->index == USERS - 1;
}

static void spawn_user(struct user *it)
{
	if (is_fiber(it))
		stress_check(skua_fiber_init(&it->as.fiber, fiber_operates, 0),
			     "fiber_init");
	else
		it->as.task = (struct skua_task)SKUA_TASK_INIT(task_operates);
	stress_check(skua_task_spawn(rt, &it->as.task), "spawn");
}

/* Cancel fibers and tasks, and spawn them again. */
static void disturb(void)
{
	struct rng rng;

	rng_init(&rng, 1000);
	while (!is_over()) {
		struct lane *lane = &lanes[rng_below(&rng, LANES)];
		struct user *it = &lane->users[rng_below(&rng, 2 * USERS)];

		if (is_thread(it))
			continue;
		skua_sleep_until(skua_now_ns() + 300000);
		skua_task_cancel(&it->as.task);
		stress_check(skua_task_join(&it->as.task), "join");
		atomic_fetch_add_relaxed(&disturbed, 1);
		spawn_user(it);
	}
}

/* ---- the program ------------------------------------------------------------- */

static void new_lane(struct lane *lane, uint32_t capacity, unsigned words)
{
	lane->words = words;
	lane->memory = malloc(SKUA_CHANNEL_BYTES(capacity, 8 * words));
	if (!lane->memory)
		stress_fail("no memory");
	stress_check(skua_channel_init(&lane->channel, lane->memory, capacity,
				       8 * words),
		     "channel_init");
	for (unsigned i = 0; i < 2 * USERS; i++) {
		struct user *it = &lane->users[i];

		it->lane = lane;
		it->receives = i >= USERS;
		it->index = i % USERS;
		it->fresh = true;
		rng_init(&it->rng, i);
	}
}

/* Wait for the senders, and then, after the close, for the receivers. */
static void end_users(struct lane *lane, const pthread_t *threads, bool receive)
{
	for (unsigned i = 0; i < 2 * USERS; i++) {
		struct user *it = &lane->users[i];

		if (it->receives != receive)
			continue;
		if (is_thread(it))
			pthread_join(threads[i], NULL);
		else
			stress_check(skua_task_join(&it->as.task), "join");
	}
}

/* Each item that was sent was received. Return: the number of items. */
static uint64_t check(const struct lane *lane)
{
	uint64_t items = 0;

	for (unsigned i = 0; i < USERS; i++) {
		const struct sum *sent = &lane->users[i].sums[0];
		struct sum got = { 0, 0 };

		for (unsigned j = USERS; j < 2 * USERS; j++) {
			got.count += lane->users[j].sums[i].count;
			got.mixed += lane->users[j].sums[i].mixed;
		}
		if (got.count != sent->count || got.mixed != sent->mixed)
			stress_fail("sender %u: %" PRIu64
				    " items sent, %" PRIu64 " received%s",
				    i, sent->count, got.count,
				    got.count == sent->count ? ", others" : "");
		items += got.count;
	}
	return items;
}

int main(void)
{
	static const uint32_t capacities[LANES] = { 2, 8, 1024 };
	struct skua_config config = { .size = sizeof(config), .workers = 2 };
	pthread_t threads[LANES][2 * USERS];
	uint64_t items = 0, given_up = 0;
	struct skua_error error;

	wanted = stress_ops();
	if (skua_runtime_create(&rt, &config, &error) != 0)
		stress_fail("%s", error.text);
	for (unsigned i = 0; i < LANES; i++)
		new_lane(&lanes[i], capacities[i], i == 1 ? LARGE : 1);
	for (unsigned i = 0; i < LANES * 2 * USERS; i++) {
		struct user *it = &lanes[i % LANES].users[i / LANES];

		if (!is_thread(it))
			spawn_user(it);
		else if (pthread_create(&threads[i % LANES][i / LANES], NULL,
					thread_operates, it) != 0)
			stress_fail("cannot create a thread");
	}
	disturb();
	for (unsigned i = 0; i < LANES; i++) {
		struct lane *lane = &lanes[i];

		end_users(lane, threads[i], false);
		stress_check(skua_channel_close(&lane->channel), "close");
		end_users(lane, threads[i], true);
		items += check(lane);
		for (unsigned j = 0; j < 2 * USERS; j++)
			given_up += lane->users[j].given_up;
		free(lane->memory);
	}
	stress_check(skua_runtime_destroy(rt), "destroy");
	printf("%" PRIu64 " operations, on items; %" PRIu64
	       " calls given up, %u users "
	       "cancelled\n",
	       items, given_up, atomic_load_relaxed(&disturbed));
	return 0;
}
