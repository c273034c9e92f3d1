/* SPDX-License-Identifier: MIT */
/**
 * model_blocking.c - callers, and threads of the pool that come and go
 *
 * Each call that returns 0 has run once, and its caller sees what it did. One that gives
 * up has not run, and will not. No call is left in the queue (a lost wake-up), whichever
 * thread ends meanwhile or cannot be created. The last caller stops the pool and frees
 * it; each caller frees its call.
 *
 * A thread of the case is one of the pool after blocking_threads_create() has chosen it,
 * and may be chosen again when it has ended.
 *
 * The last cases are the same with a part left out.
 */
#define WAITER_CALLS 12
#include "tests/model/waiter.h"

#include <string.h>

static void join_thread(pthread_t thread);
static unsigned this_thread(void);

#define pthread_self()            ((pthread_t)this_thread())
#define pthread_join(thread, out) join_thread(thread)
#define pool_alive(pool)          ((void)(pool), true)
#include "core/blocking/blocking.c"

#define CALLERS 3 /* threads 0 to 2 */
#define SLOTS   2 /* threads 3 and 4 */
#define SLOT(i) ((i)-CALLERS)
#define CREATED 16 /* threads, at most */

/* States of a slot for a thread. */
enum { FREE_SLOT, CLAIMED, BORN, OVER };

static struct blocking pool;
static struct config config;
static atomic_u32 slots[SLOTS];
static unsigned serials[SLOTS];
static atomic_u32 ended[CREATED];
static atomic_u32 left;   /* callers */
static unsigned refusals; /* of the next creations */
static unsigned threads;  /* that run */
static unsigned created;
static const struct wait_verb *calls_by, *takes_by;

struct letter {
	struct skua_blocking call; /* first: a call is its letter */
	unsigned text;             /* plain: from the function to the caller */
	unsigned runs;
};

static struct letter letters[CALLERS][2];

static void write_letter(struct skua_blocking *call)
{
	struct letter *letter = (struct letter *)call;

	explore_write(letter->text, 1);
	letter->runs++;
}

/* ---- threads ----------------------------------------------------------------- */

/* Claim a slot: one is free, or will be when a thread that has ended has left it. */
static unsigned claim_slot(void)
{
	for (;;) {
		for (unsigned i = 0; i < SLOTS; i++) {
			uint32_t state = FREE_SLOT;

			if (atomic_cas_acquire(&slots[i], &state, CLAIMED))
				return i;
		}
		cpu_relax();
	}
}

int blocking_threads_create(const struct config *of, void *(*run)(void *),
			    void *arg)
{
	unsigned slot;

	explore_assert(of == &config && run == thread_main && arg == &pool);
	if (refusals > 0) {
		refusals--;
		return -EAGAIN;
	}
	slot = claim_slot();
	serials[slot] = created++;
	explore_assert(created <= CREATED);
	threads++;
	explore_assert(threads <= SLOTS);
	atomic_store_release(&slots[slot], BORN);
	futex_wake(&slots[slot], 1);
	return 0;
}

void blocking_threads_refused(const struct config *of, int code)
{
	explore_assert(of == &config && code == -EAGAIN);
}

static unsigned this_thread(void)
{
	return serials[SLOT(me - waiters)];
}

static void join_thread(pthread_t thread)
{
	while (atomic_load_acquire(&ended[thread]) == 0)
		futex_wait(&ended[thread], 0);
}

/* As run_thread(), with the step of the case. */
static void run_with(const struct wait_verb *verb)
{
	struct thread thread = { .blocking = &pool };

	while (await(verb, &thread, 0, idle_until_ns(&pool)) == 0)
		run_taken(&thread);
	if (thread.joins)
		join_thread(thread.before);
}

static void thread_in(unsigned slot)
{
	uint32_t state, serial;

	waiter_begin(CALLERS + slot);
	for (;;) {
		while ((state = atomic_load_acquire(&slots[slot])) < BORN)
			futex_wait(&slots[slot], state);
		if (state == OVER)
			return;
		if (takes_by)
			run_with(takes_by);
		else
			run_thread(&pool);
		threads--;
		serial = serials[slot];
		atomic_store_release(&slots[slot], FREE_SLOT);
		atomic_store_release(&ended[serial], 1);
		futex_wake(&ended[serial], 1);
	}
}

static void thread_0(void)
{
	thread_in(0);
}

static void thread_1(void)
{
	thread_in(1);
}

/* ---- callers ----------------------------------------------------------------- */

static void leave(void)
{
	if (atomic_fetch_sub_acq_rel(&left, 1) > 1)
		return;
	blocking_stop(&pool);
	explore_assert(!pool.waiters.first && !pool.places.first);
	explore_assert(pool.area.threads == 0 && pool.area.running == 0);
	explore_assert(!pool.idle.first);
	explore_free(&pool, sizeof(pool));
	for (unsigned i = 0; i < SLOTS; i++) {
		atomic_store_release(&slots[i], OVER);
		futex_wake(&slots[i], 1);
	}
}

/* Call, and check what the function has left. Return: the code. */
static int call_by(unsigned i, unsigned n, uint64_t deadline_ns)
{
	struct letter *letter = &letters[i][n];
	int code;

	waiter_begin(i);
	code = await(calls_by, &pool, (uintptr_t)&letter->call, deadline_ns);
	explore_assert(code == 0 || code == -ENOMEM ||
		       (code == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	explore_assert(letter->runs == (code == 0));
	if (code == 0)
		explore_assert(explore_read(letter->text) == 1);
	explore_free(letter, sizeof(*letter));
	return code;
}

static void calls_0(void)
{
	explore_assert(call_by(0, 0, SKUA_FOREVER_NS) == 0);
	leave();
}

static void calls_0_twice(void)
{
	explore_assert(call_by(0, 0, SKUA_FOREVER_NS) == 0);
	explore_assert(call_by(0, 1, SKUA_FOREVER_NS) == 0);
	leave();
}

static void calls_1(void)
{
	explore_assert(call_by(1, 0, SKUA_FOREVER_NS) == 0);
	leave();
}

static void calls_1_soon(void)
{
	call_by(1, 0, SOON_NS);
	leave();
}

static void calls_2(void)
{
	explore_assert(call_by(2, 0, SKUA_FOREVER_NS) == 0);
	leave();
}

/* The pool may have no thread. */
static void calls_0_or_fails(void)
{
	call_by(0, 0, SKUA_FOREVER_NS);
	leave();
}

static void calls_1_or_fails(void)
{
	call_by(1, 0, SKUA_FOREVER_NS);
	leave();
}

/* ---- cases ------------------------------------------------------------------- */

static void setup(unsigned callers, unsigned threads_max, unsigned queued_max,
		  uint64_t idle_ns)
{
	waiters_reset();
	memset(&pool, 0, sizeof(pool));
	memset(letters, 0, sizeof(letters));
	for (unsigned i = 0; i < CALLERS; i++) {
		for (unsigned n = 0; n < 2; n++)
			letters[i][n].call.run = write_letter;
	}
	config.blocking_threads = threads_max;
	config.blocking_queued = queued_max;
	config.blocking_idle_ns = idle_ns;
	blocking_init(&pool, NULL, &config);
	explore_watch(&pool, sizeof(pool));
	for (unsigned i = 0; i < SLOTS; i++)
		atomic_init(&slots[i], FREE_SLOT);
	for (unsigned i = 0; i < CREATED; i++)
		atomic_init(&ended[i], 0);
	atomic_init(&left, callers);
	refusals = 0;
	threads = 0;
	created = 0;
	calls_by = &blocking_await;
	takes_by = NULL;
}

static void setup_one(void)
{
	setup(1, 1, 4, SKUA_FOREVER_NS);
}

static void setup_two(void)
{
	setup(2, 1, 4, SKUA_FOREVER_NS);
}

static void setup_two_threads(void)
{
	setup(2, 2, 4, SKUA_FOREVER_NS);
}

/* Threads end at any moment at which they are idle. */
static void setup_one_ends(void)
{
	setup(1, 1, 4, 1000);
}

static void setup_two_end(void)
{
	setup(2, 1, 4, 1000);
}

static void setup_two_threads_end(void)
{
	setup(2, 2, 4, 1000);
}

static void setup_places(void)
{
	setup(3, 1, 1, SKUA_FOREVER_NS);
}

static void setup_refused(void)
{
	setup(2, 2, 4, SKUA_FOREVER_NS);
	refusals = 1;
}

static void setup_refused_all(void)
{
	setup(2, 2, 4, SKUA_FOREVER_NS);
	refusals = 2;
}

/* The second caller may wait for a place. */
static void setup_refused_places(void)
{
	setup(2, 1, 1, SKUA_FOREVER_NS);
	refusals = 1;
}

/* All that were created have been used: the second call needs none. */
static void created_one(void)
{
	explore_assert(created == 1);
}

/* ---- with a part left out ---------------------------------------------------- */

/* A thread that ends at its deadline, although a call may have come. */
static int end_blindly(struct skua_wait *wait, void *object, bool granted,
		       int give_up)
{
	struct thread *thread = object;
	int code;

	if (!give_up)
		return take_step(wait, object, granted, give_up);
	if (!await_enter(&pool.waiters, wait, thread, &code))
		return code;
	if (wait_armed_locked(wait))
		wait_withdraw_locked(&pool.idle, wait);
	end_locked(thread);
	unlock(&pool);
	return give_up;
}

/* A thread that looks at the queue, and counts itself out later. */
static int end_late(struct skua_wait *wait, void *object, bool granted,
		    int give_up)
{
	struct thread *thread = object;
	int code;

	if (!give_up)
		return take_step(wait, object, granted, give_up);
	waiters_lock(&pool.waiters);
	if (!wait_armed_locked(wait) || pool.waiters.first) {
		waiters_unlock(&pool.waiters);
		return take_step(wait, object, granted, 0);
	}
	wait_withdraw_locked(&pool.idle, wait);
	waiters_unlock(&pool.waiters);
	code = give_up;
	waiters_lock(&pool.waiters);
	end_locked(thread);
	unlock(&pool);
	return code;
}

/* A caller that looks for an idle thread before it queues its call. */
static int look_first(struct skua_wait *wait, void *object, bool granted,
		      int give_up)
{
	struct due due = { { NULL, NULL }, NULL };
	bool grow;

	if (granted || wait_armed_locked(wait))
		return call_step(wait, object, granted, give_up);
	waiters_lock(&pool.waiters);
	grow = !pool.idle.first && threads_locked(&pool) == 0;
	if (grow)
		atomic_fetch_add_relaxed(threads_of(&pool), 1);
	else if (pool.idle.first)
		wait_choose_locked(&pool.idle, pool.idle.first, &due.chain);
	waiters_unlock(&pool.waiters);
	wait_grant(&due.chain);
	if (grow)
		add_thread(&pool);
	waiters_lock(&pool.waiters);
	wait->code = 0;
	wait->stage = IN_QUEUE;
	wait->object = &pool;
	wait_arm_locked(&pool.waiters, wait, false);
	unlock(&pool);
	return -EAGAIN;
}

/* A caller whose thread is refused leaves the calls that relied on it. */
static int fail_alone(struct skua_wait *wait, void *object, bool granted,
		      int give_up)
{
	struct due due = { { NULL, NULL }, NULL };
	bool grow;
	int code = -EAGAIN;

	if (granted || wait_armed_locked(wait) || give_up)
		return call_step(wait, object, granted, give_up);
	waiters_lock(&pool.waiters);
	wait->object = &pool;
	grow = queue_locked(&pool, wait, &due);
	unlock(&pool);
	wait_grant(&due.chain);
	if (grow && blocking_threads_create(&config, thread_main, &pool)) {
		waiters_lock(&pool.waiters);
		atomic_fetch_sub_relaxed(threads_of(&pool), 1);
		if (wait_armed_locked(wait)) {
			withdraw_locked(&pool, wait, &due);
			code = -ENOMEM;
		}
		unlock(&pool);
	}
	return code;
}

static const struct wait_verb blind = { .step = end_blindly };
static const struct wait_verb late = { .step = end_late };
static const struct wait_verb hasty = { .step = look_first };
static const struct wait_verb alone = { .step = fail_alone };

static void setup_ends_blindly(void)
{
	setup_one_ends();
	takes_by = &blind;
}

static void setup_ends_late(void)
{
	setup_one_ends();
	takes_by = &late;
}

static void setup_looks_first(void)
{
	setup_two();
	calls_by = &hasty;
}

static void setup_fails_alone(void)
{
	setup(2, 1, 4, SKUA_FOREVER_NS);
	refusals = 1;
	calls_by = &alone;
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("call", setup_one, created_one, calls_0, thread_0),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("call__call", setup_one, created_one, calls_0_twice,
		       thread_0),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_callers", setup_two, created_one, calls_0, calls_1,
		       thread_0),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("two_callers__deadline", setup_two, NULL, calls_0,
		       calls_1_soon, thread_0),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("two_callers__two_threads", setup_two_threads, NULL,
		       calls_0, calls_1, thread_0, thread_1),
	  EXPLORE_WITHIN(6, 2), .random = 60000 },
	/* The race of a thread that ends by idleness with a call that comes. */
	{ EXPLORE_PASS("idle_ends__call", setup_one_ends, NULL, calls_0_twice,
		       thread_0, thread_1),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("idle_ends__two_callers", setup_two_end, NULL, calls_0,
		       calls_1, thread_0, thread_1),
	  EXPLORE_WITHIN(6, 2), .random = 60000 },
	{ EXPLORE_PASS("three_callers__one_place", setup_places, created_one,
		       calls_0, calls_1, calls_2, thread_0),
	  EXPLORE_WITHIN(6, 2), .random = 60000 },
	{ EXPLORE_PASS("threads_refused", setup_refused_all, NULL,
		       calls_0_or_fails, calls_1_or_fails, thread_0, thread_1),
	  EXPLORE_WITHIN(1, 1) },

	{ EXPLORE_PASS("thread_refused__one_place", setup_refused_places, NULL,
		       calls_0_or_fails, calls_1_or_fails, thread_0),
	  EXPLORE_WITHIN(1, 1) },

	{ EXPLORE_PASS("two_callers__deadline__deep", setup_two, NULL, calls_0,
		       calls_1_soon, thread_0),
	  EXPLORE_WITHIN(6, 2), .random = 60000 },
	{ EXPLORE_PASS("idle_ends__call__deep", setup_one_ends, NULL,
		       calls_0_twice, thread_0, thread_1),
	  EXPLORE_WITHIN(6, 2), .random = 60000 },
	{ EXPLORE_PASS("idle_ends__two_callers__two_threads",
		       setup_two_threads_end, NULL, calls_0, calls_1, thread_0,
		       thread_1),
	  EXPLORE_WITHIN(6, 2), .random = 60000 },
	{ EXPLORE_PASS("three_callers__one_place__deadline", setup_places, NULL,
		       calls_0, calls_1_soon, calls_2, thread_0, thread_1),
	  EXPLORE_WITHIN(6, 2), .random = 60000 },
	{ EXPLORE_PASS("thread_refused", setup_refused, NULL, calls_0_or_fails,
		       calls_1_or_fails, thread_0, thread_1),
	  EXPLORE_WITHIN(6, 2), .random = 60000 },

	{ EXPLORE_BUG("idle_ends__blindly", "lost wake-up", setup_ends_blindly,
		      NULL, calls_0_twice, thread_0, thread_1),
	  EXPLORE_WITHIN(6, 2), .random = 60000 },
	{ EXPLORE_BUG("idle_ends__counted_out_later", "lost wake-up",
		      setup_ends_late, NULL, calls_0_twice, thread_0, thread_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("caller__looks_first", "lost wake-up", setup_looks_first,
		      NULL, calls_0, calls_1, thread_0, thread_1),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_BUG("thread_refused__fails_alone", "lost wake-up",
		      setup_fails_alone, NULL, calls_0_or_fails,
		      calls_1_or_fails, thread_0, thread_1),
	  EXPLORE_WITHIN(1, 1) },
};

EXPLORE_MAIN(cases)
