/* SPDX-License-Identifier: MIT */
/**
 * stress_histories.c - short histories of channels, each checked for linearizability
 *
 * In each round, two fibers, a task and a thread make a few random calls on a new channel,
 * oneshot, broadcast or watch: with deadlines that are near, beside cancels and a close. An
 * object of one thread must be able to return the same in some order (history.h). The
 * program first checks that it finds planted defects of the bounded channel.
 */
#include <errno.h>
#include <sched.h>
#include <skua/skua.h>

#include "core/base/rng.h"
#include "core/channel/alone.h"
#include "core/channel/item.h"
#include "core/wait/await.h"
#include "tests/sanitized.h"
#include "tests/stress/stress.h"

/* ---- planted defects --------------------------------------------------------- */

enum defect {
	NO_DEFECT,
	CLOSES_EARLY, /* the close hides the items that are left */
	CLAIMS_TWICE, /* two callers may take the same ticket */
};

static enum defect defect;

/* A yield where the defect shows lets it be found soon: by luck alone, that took minutes. */
static bool cas_of(atomic_u64 *word, uint64_t *seen, uint64_t wanted)
{
	if (defect != CLAIMS_TWICE) {
		bool won = atomic_cas_relaxed(word, seen, wanted);

		if (won && defect == CLOSES_EARLY)
			sched_yield();
		return won;
	}
	if (atomic_load_relaxed(word) != *seen) {
		*seen = atomic_load_relaxed(word);
		return false;
	}
	sched_yield();
	atomic_store_relaxed(word, wanted);
	return true;
}

static uint64_t load_of(atomic_u64 *word, const char *function);

#pragma push_macro("atomic_load_acquire")
#undef atomic_cas_relaxed
#define atomic_cas_relaxed(word, seen, wanted) cas_of((word), (seen), (wanted))
#undef atomic_load_acquire
#define atomic_load_acquire(word) load_of((word), __func__)
#include "core/channel/channel.c"
#pragma pop_macro("atomic_load_acquire")

#include "tests/model/channel_spec.h"

static struct skua_channel channel;

static uint64_t load_of(atomic_u64 *word, const char *function)
{
	uint64_t value = atomic_load_acquire(word);

	if (defect == CLOSES_EARLY && value & RING_CLOSED &&
	    strcmp(function, "drained") == 0)
		return atomic_load_relaxed(head_of(&channel)) | RING_CLOSED;
	return value;
}

/* ---- calls ------------------------------------------------------------------- */

/* A call takes several times as long as the operations of other stress tests, and
 * ThreadSanitizer takes a millisecond to begin a fiber. */
#if THREAD_SANITIZED
#define SHARE 64
#elif defined(SKUA_TESTS_STRESS_CHAOS_H)
#define SHARE 1
#else
#define SHARE 8
#endif

#define USERS 4u /* a thread, two fibers, a task */
#define CALLS 5u /* of each; the thread makes one more */

enum object { CHANNEL, ONESHOT, BROADCAST, WATCH, OBJECTS };
enum form { TRY, WAIT, POLL };

static enum object object;
static uint64_t channel_items[SKUA_CHANNEL_BYTES(SPEC_CAPACITY, 8) / 8];
static uint64_t broadcast_items[SKUA_CHANNEL_BYTES(SPEC_CAPACITY, 8) / 8];
static uint64_t watch_value[1];
static struct skua_oneshot oneshot;
static struct skua_broadcast broadcast;
static struct skua_watch watch;
static unsigned sender; /* of the oneshot; the next one receives */
static atomic_u32 started;

struct user {
	union {
		struct skua_task
			task; /* first: a task or a fiber is its user */
		struct skua_fiber fiber;
	} as;
	unsigned index;
	struct rng rng;
	struct skua_subscription subscription;
	uint64_t version; /* of the watch, that it has seen */
	/* A call. */
	struct history_op *op;
	struct skua_wait wait;
	enum spec_kind kind;
	enum form form;
	uint64_t item, missed, deadline_ns;
	unsigned calls;
};

static struct user users[USERS];

/* The form of a call that waits. */
#define CALL(function, ...)                                              \
	(it->form == TRY    ? function##_try(__VA_ARGS__)                \
	 : it->form == WAIT ? function(__VA_ARGS__, it->deadline_ns)     \
			    : function##_poll(&it->as.task, __VA_ARGS__, \
					      &it->wait, it->deadline_ns))

static int call_channel(struct user *it)
{
	if (it->kind == SPEC_SEND)
		return CALL(skua_channel_send, &channel, &it->item);
	if (it->kind == SPEC_RECEIVE)
		return CALL(skua_channel_receive, &channel, &it->item);
	return skua_channel_close(&channel);
}

static int call_oneshot(struct user *it)
{
	uintptr_t *value = (uintptr_t *)&it->item;

	if (it->kind == SPEC_SEND)
		return skua_oneshot_send(&oneshot, it->item);
	if (it->kind == SPEC_RECEIVE)
		return CALL(skua_oneshot_receive, &oneshot, value);
	return skua_oneshot_close(&oneshot);
}

static int call_broadcast(struct user *it)
{
	struct skua_subscription *subscription = &it->subscription;

	if (it->kind == SPEC_SEND)
		return skua_broadcast_send(&broadcast, &it->item);
	if (it->kind == SPEC_RECEIVE)
		return CALL(skua_subscription_receive, subscription, &it->item,
			    &it->missed);
	if (it->kind == SPEC_SUBSCRIBE)
		return skua_broadcast_subscribe(&broadcast, subscription);
	return skua_broadcast_close(&broadcast);
}

static int call_watch(struct user *it)
{
	if (it->kind == SPEC_SEND)
		return skua_watch_set(&watch, &it->item);
	if (it->kind == SPEC_CHANGED)
		return CALL(skua_watch_changed, &watch, &it->version,
			    &it->item);
	if (it->kind == SPEC_GET) {
		it->version = skua_watch_get(&watch, &it->item);
		return 0;
	}
	return skua_watch_close(&watch);
}

static int call_object(struct user *it)
{
	switch (object) {
	case CHANNEL:
		return call_channel(it);
	case ONESHOT:
		return call_oneshot(it);
	case BROADCAST:
		return call_broadcast(it);
	default:
		return call_watch(it);
	}
}

/* ---- users ------------------------------------------------------------------- */

static enum spec_kind random_kind(struct user *it)
{
	unsigned n = rng_below(&it->rng, 32);
	bool receives = n % 2;

	if (n == 0)
		return SPEC_CLOSE;
	switch (object) {
	case ONESHOT:
		if (it->index == sender)
			return SPEC_SEND;
		return it->index == (sender + 1) % USERS ? SPEC_RECEIVE
							 : SPEC_CLOSE;
	case BROADCAST:
		if (n < 5)
			return SPEC_SUBSCRIBE;
		return receives ? SPEC_RECEIVE : SPEC_SEND;
	case WATCH:
		if (n < 5)
			return SPEC_GET;
		return receives ? SPEC_CHANGED : SPEC_SEND;
	default:
		return receives ? SPEC_RECEIVE : SPEC_SEND;
	}
}

/* The thread closes the object in the end, and waits for ever for nothing. A planted defect
 * may lose the close. */
static uint64_t random_deadline(struct user *it)
{
	switch (rng_below(&it->rng, 4)) {
	case 0:
		return 0;
	case 1:
		if (it->index > 0 && !defect)
			return SKUA_FOREVER_NS;
		/* fall through */
	default:
		return skua_now_ns() + rng_below(&it->rng, 20000);
	}
}

static void begin(struct user *it, enum spec_kind kind)
{
	bool tries = rng_below(&it->rng, 3) == 0;

	it->kind = kind;
	it->form = tries ? TRY : it->index == USERS - 1 ? POLL : WAIT;
	it->deadline_ns = random_deadline(it);
	it->op = history_call();
	it->item = (uint64_t)(it->op - history.ops) + 1;
	it->op->given = it->item;
	if (object == BROADCAST && kind != SPEC_SEND)
		it->op->given = it->index;
	if (kind == SPEC_CHANGED)
		it->op->given = it->version;
}

static void end(struct user *it, int code)
{
	uint64_t got = it->item;

	if (code == -EOVERFLOW)
		got = it->missed;
	if (it->kind == SPEC_GET || it->kind == SPEC_CHANGED)
		got = spec_version(it->version, it->item);
	history_return(it->op, it->kind, code, got);
	it->calls++;
}

static void operate(struct user *it)
{
	begin(it, random_kind(it));
	end(it, call_object(it));
}

/* Wait a little for the others. */
static bool all_started(void)
{
	/* Relaxed: it need not be exact. */
	return atomic_load_relaxed(&started) >= USERS;
}

static void fiber_operates(struct skua_fiber *self)
{
	struct user *it = (struct user *)self;

	atomic_fetch_add_relaxed(&started, 1);
	for (unsigned i = 0; i < 100 && !all_started(); i++)
		skua_yield();
	while (it->calls < CALLS)
		operate(it);
}

static enum skua_poll task_operates(struct skua_task *self)
{
	struct user *it = (struct user *)self;

	if (it->calls == 0 && !it->op)
		atomic_fetch_add_relaxed(&started, 1);
	while (it->calls < CALLS) {
		int code;

		if (!skua_wait_armed(&it->wait))
			begin(it, random_kind(it));
		code = call_object(it);
		if (code == -EAGAIN && skua_wait_armed(&it->wait)) {
			if (rng_below(&it->rng, 2) ||
			    skua_wait_cancel(self, &it->wait) != 0)
				return SKUA_PENDING;
			code = -ECANCELED;
		}
		end(it, code);
	}
	return SKUA_DONE;
}

static void thread_operates(struct user *it)
{
	atomic_fetch_add_relaxed(&started, 1);
	for (unsigned i = 0; i < 100 && !all_started(); i++)
		sched_yield();
	while (it->calls < CALLS) {
		if (rng_below(&it->rng, 8) == 0)
			skua_task_cancel(
				&users[1 + rng_below(&it->rng, USERS - 1)]
					 .as.task);
		operate(it);
	}
	begin(it, SPEC_CLOSE);
	end(it, call_object(it));
}

/* ---- rounds ------------------------------------------------------------------ */

static void new_objects(void)
{
	static const struct history_spec *const specs[OBJECTS] = {
		&spec_channel, &spec_oneshot, &spec_broadcast, &spec_watch
	};

	history_reset(specs[object]);
	watch_value[0] = 0;
	oneshot = (struct skua_oneshot)SKUA_ONESHOT_INIT;
	stress_check(
		skua_channel_init(&channel, channel_items, SPEC_CAPACITY, 8),
		"channel_init");
	stress_check(skua_broadcast_init(&broadcast, broadcast_items,
					 SPEC_CAPACITY, 8),
		     "broadcast_init");
	stress_check(skua_watch_init(&watch, watch_value, 8), "watch_init");
}

static void new_user(struct user *it)
{
	it->op = NULL;
	it->calls = 0;
	it->version = 1;
	it->wait = (struct skua_wait)SKUA_WAIT_INIT;
	skua_broadcast_subscribe(&broadcast, &it->subscription);
	if (it->index == USERS - 1)
		it->as.task = (struct skua_task)SKUA_TASK_INIT(task_operates);
	else
		stress_check(skua_fiber_init(&it->as.fiber, fiber_operates, 0),
			     "fiber_init");
}

/* Return the calls; 0: they are not linearizable. */
static unsigned round_of(struct skua_runtime *rt, enum object chosen)
{
	object = chosen;
	new_objects();
	sender = rng_below(&users[0].rng, USERS);
	/* Relaxed: the spawns order it. */
	atomic_store_relaxed(&started, 0);
	for (unsigned i = 0; i < USERS; i++)
		new_user(&users[i]);
	for (unsigned i = 1; i < USERS; i++)
		stress_check(skua_task_spawn(rt, &users[i].as.task), "spawn");
	thread_operates(&users[0]);
	for (unsigned i = 1; i < USERS; i++)
		stress_check(skua_task_join(&users[i].as.task), "join");
	return history_linearizable() ? history.count : 0;
}

static void print_history(void)
{
	fprintf(stderr, "object %d\n", (int)object);
	for (unsigned i = 0; i < history.count; i++) {
		const struct history_op *op = &history.ops[i];

		fprintf(stderr,
			"%3u to %3u: kind %u, given %" PRIu64 ": %d, %" PRIu64
			"\n",
			op->called, op->returned, op->kind, op->given, op->code,
			op->got);
	}
}

/* A defect that is never found would hang here. */
static void find_defect(struct skua_runtime *rt, enum defect planted)
{
	defect = planted;
	while (round_of(rt, CHANNEL)) {
	}
	defect = NO_DEFECT;
}

int main(void)
{
	struct skua_config config = { .size = sizeof(config), .workers = 2 };
	uint64_t wanted = stress_ops() / SHARE, done = 0, rounds = 0;
	struct skua_runtime *rt;
	struct skua_error error;

	if (skua_runtime_create(&rt, &config, &error) != 0)
		stress_fail("%s", error.text);
	for (unsigned i = 0; i < USERS; i++) {
		users[i].index = i;
		rng_init(&users[i].rng, i);
	}
	find_defect(rt, CLOSES_EARLY);
	/* Two callers that have the same ticket race for the item. */
	if (!THREAD_SANITIZED)
		find_defect(rt, CLAIMS_TWICE);
	while (done < wanted) {
		unsigned calls =
			round_of(rt, (enum object)(rounds++ % OBJECTS));

		if (calls == 0) {
			print_history();
			stress_fail("not linearizable, round %" PRIu64, rounds);
		}
		done += calls;
	}
	stress_check(skua_runtime_destroy(rt), "destroy");
	printf("%" PRIu64 " operations, %" PRIu64 " histories\n", done, rounds);
	return 0;
}
