/* SPDX-License-Identifier: MIT */
/**
 * model_sentinel.c - core/sentinel.[ch]: what only a deadline finds is found
 *
 * Two real workers, in some cases three, in one group or in a group each. A task
 * in the LIFO slot behind a long poll is taken by the other worker (I6), also when
 * there was no sentinel any more (I7); a timer fires beside a long poll. Both hold
 * for workers that sleep in pollers, and a timer fires also if the only free worker
 * searches for ever. Long polls end when the other task was polled, so that a task
 * that is stranded is reported as a livelock. The thread outside comes late, when
 * the sentinel has retired, unless it is scheduled earlier.
 *
 * The last cases leave out parts of the rules; the explorer must find them.
 */
#include <stdalign.h>

#include "core/base/atomic.h"

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	RETIRES_UNFENCED, /* I7: the sentinel's side */
	FILLS_SILENTLY,   /* I6: no summons */
	KEEPS_ROLE,       /* a sentinel that was woken stays it */
	OWN_GROUP_ALONE,  /* a busy worker never checks other groups' timers */
	KEEPS_TURN,       /* it always checks the same other group's */
	SEARCHER_KEEPS_TURN, /* a searcher checks the timers of one other group */
	SEES_ONE_GROUP,      /* the sentinel forgets the timers of a group */
	WATCHES_ONCE,        /* I7: a worker checks for a sentinel only once */
	LEAVES_SILENTLY, /* a sentinel gives the role up, and summons nobody */
};

#define WORKERS 3

static enum defect defect;

static void fence_of(const char *function);

/* A fence that a variant leaves out, by the function that it is in. */
#define atomic_fence_seq_cst() fence_of(__func__)

#include "core/loop/pool.h"
#include "core/loop/timers.h"

static uint64_t next_timer_ns(const struct pool *pool)
{
	return defect == SEES_ONE_GROUP ? pool_group_next_timer_ns(pool, 0)
					: pool_next_timer_ns(pool);
}

#define pool_next_timer_ns(pool) next_timer_ns(pool)

#include "core/loop/sentinel.c"

static bool has_watched[WORKERS];

static void filled(struct worker *w)
{
	if (defect == WATCHES_ONCE) {
		w->watched = has_watched[w->index];
		has_watched[w->index] = true;
	}
	if (defect != FILLS_SILENTLY)
		sentinel_filled(w);
}

static void leave(struct worker *w)
{
	if (defect == LEAVES_SILENTLY && sentinel_is(w))
		give_role(w);
	else if (defect != KEEPS_ROLE)
		sentinel_leave(w);
}

static void fire_due(struct worker *w, uint64_t now_ns, unsigned others)
{
	const unsigned turn = w->group_turn;

	timers_fire_due(w, now_ns, defect == OWN_GROUP_ALONE ? 0 : others);
	if (defect == KEEPS_TURN && turn != w->group)
		w->group_turn = turn;
}

static void take_turn(struct worker *w)
{
	if (defect != SEARCHER_KEEPS_TURN)
		timers_take_turn(w);
}

#define sentinel_filled(w)                 filled(w)
#define sentinel_leave(w)                  leave(w)
#define timers_fire_due(w, now_ns, others) fire_due(w, now_ns, others)
#define timers_take_turn(w)                take_turn(w)

#include "core/loop/work.c"
#include "core/loop/search.c"
#include "core/loop/loop.c"

#undef atomic_fence_seq_cst

#include "tests/model/workers.h"

static void fence_of(const char *function)
{
	if (defect == RETIRES_UNFENCED && strcmp(function, "give_role") == 0)
		return;
	atomic_fence_seq_cst();
}

#define TIMER_NS      UINT64_C(50000) /* from its start */
#define LATE_NS       (EXPLORE_START_NS + 10 * NS_PER_S)
#define LONG_DELAY_NS (20 * LIFO_DELAY_NS)
/* The last look of a sentinel with that delay, if it took the role at the start
 * and sees nobody awake: after 1, 2, 4 and 8 halves of it, and five of DELAY_MAX_NS. */
#define QUIET_NS (EXPLORE_START_NS + 15 * LONG_DELAY_NS / 2 + 5 * DELAY_MAX_NS)

#define TIMERS 3

static struct timer timer;
static struct timer timers[TIMERS];
static atomic_u32 never; /* slept on, and not woken */
static atomic_u32 beats; /* how often the time went on beside short polls */
static unsigned polled[TASKS];
static uint64_t due_ns;
static bool far_timer; /* beside those that fire in turn */

/* ---- tasks -------------------------------------------------------------- */

static void wait_until_polled(unsigned i, unsigned times)
{
	while (polled[i] < times)
		cpu_relax();
}

static void spawn(unsigned i)
{
	explore_assert(workers_spawn(i) == 0);
}

static enum skua_poll finish(struct skua_task *task)
{
	polled[task_number(task)]++;
	return SKUA_DONE;
}

/* A long poll: its child is behind it. */
static enum skua_poll spawn_and_meet(struct skua_task *task)
{
	polled[task_number(task)]++;
	spawn(1);
	wait_until_polled(1, 1);
	return SKUA_DONE;
}

/* The same for tasks 2 and 3. */
static enum skua_poll spawn_third_and_meet(struct skua_task *task)
{
	polled[task_number(task)]++;
	spawn(3);
	wait_until_polled(3, 1);
	return SKUA_DONE;
}

/* The same twice. The slot is filled again after the other task was polled. */
static enum skua_poll spawn_and_meet_twice(struct skua_task *task)
{
	polled[task_number(task)]++;
	for (unsigned i = 1; i <= 2; i++) {
		spawn(i);
		wait_until_polled(i, 1);
	}
	return SKUA_DONE;
}

/* A long poll beside it. */
static enum skua_poll wait_for_second(struct skua_task *task)
{
	polled[task_number(task)]++;
	wait_until_polled(2, 1);
	return SKUA_DONE;
}

/* Its worker has no time to sleep. A poll lasts until the time goes on. */
static enum skua_poll yield_beside_first(struct skua_task *task)
{
	/* Relaxed, here and below: it orders nothing. */
	uint32_t begin = atomic_load_relaxed(&beats);

	(void)task;
	while (polled[0] < 2 && atomic_load_relaxed(&beats) == begin)
		cpu_relax();
	return polled[0] < 2 ? SKUA_YIELD : SKUA_DONE;
}

/* Beside task 0, whose timer ends this. */
static enum skua_poll wait_for_first(struct skua_task *task)
{
	polled[task_number(task)]++;
	wait_until_polled(0, 2);
	return SKUA_DONE;
}

static enum skua_poll wait_beside(struct skua_task *task)
{
	if (polled[0]++ == 0) {
		spawn(1);
		due_ns = explore_now_ns() + TIMER_NS;
		explore_assert(
			timers_add(current_worker, &timer, task, due_ns));
		return SKUA_PENDING;
	}
	explore_assert(explore_now_ns() >= due_ns);
	return SKUA_DONE;
}

static void add_timer(unsigned i, struct skua_task *task, uint64_t when_ns)
{
	explore_assert(timers_add(current_worker, &timers[i], task, when_ns));
}

static enum skua_poll wait_alone(struct skua_task *task)
{
	if (polled[0]++ > 0)
		return SKUA_DONE;
	add_timer(0, task, explore_now_ns() + TIMER_NS);
	return SKUA_PENDING;
}

/* Task 2: has a timer, and waits for it; it is not due in this test. */
static enum skua_poll wait_long(struct skua_task *task)
{
	explore_assert(polled[2]++ == 0);
	explore_assert(
		timers_add(current_worker, &timer, task, EXPLORE_FAR_NS));
	return SKUA_PENDING;
}

/* Wakes the worker that waits for its timers, each time for an earlier one; its
 * child is behind it, and of no other worker. */
static enum skua_poll spawn_and_keep(struct skua_task *task)
{
	polled[0]++;
	spawn(1);
	for (unsigned i = 0; i < TIMERS; i++) {
		explore_assert(
			timers_add(current_worker, &timers[i], task,
				   explore_now_ns() + (TIMERS - i) * LATE_NS));
		cpu_relax();
	}
	for (unsigned i = 0; i < TIMERS; i++)
		timers_cancel(&timers[i]);
	explore_assert(polled[1] == 0);
	return SKUA_DONE;
}

/* Its timers are fired by the other worker, which finds nothing to run by that
 * and stays the sentinel; each is added when the one before has fired. */
static enum skua_poll fire_in_turn(struct skua_task *task)
{
	if (far_timer)
		add_timer(2, task, EXPLORE_FAR_NS);
	for (unsigned i = 0; i < 2; i++) {
		add_timer(i, task, explore_now_ns() + TIMER_NS);
		/* Not by timers_queued(), which takes the lock. */
		while (atomic_load_acquire(&timers[i].worker))
			cpu_relax();
		cpu_relax(); /* the other one is on its way to sleep */
	}
	if (far_timer)
		explore_assert(timers_cancel(&timers[2]));
	return SKUA_DONE;
}

/* Two tasks with a timer each, of one wheel unless task 1 is stolen. The first of
 * them to fire is a long poll, which ends when the other has fired. */
static enum skua_poll wait_for_both(struct skua_task *task)
{
	unsigned i = task_number(task);

	if (polled[i]++ == 0) {
		if (i == 0)
			spawn(1);
		add_timer(i, task, explore_now_ns() + (i + 1) * TIMER_NS);
		return SKUA_PENDING;
	}
	wait_until_polled(1 - i, 2);
	return SKUA_DONE;
}

/* A long poll of a worker that has operations on files to submit: its child waits for them. */
static enum skua_poll queue_and_meet(struct skua_task *task)
{
	polled[task_number(task)]++;
	/* Relaxed: as pool_submit_due() reads it. */
	atomic_store_relaxed(&pool.submit_due_ns, explore_now_ns());
	sentinel_filled(current_worker);
	wait_until_polled(1, 1);
	return SKUA_DONE;
}

/* The operations end at once. */
static void submit(struct pool *it)
{
	if (atomic_exchange_acquire(&it->submit_due_ns, 0) != 0)
		spawn(1);
}

/* ---- outside ------------------------------------------------------------ */

static void sleep_until(uint64_t time_ns)
{
	while (explore_now_ns() < time_ns)
		futex_wait_until(&never, 0, time_ns);
}

static void spawns(void)
{
	explore_assert(workers_spawn(0) == 0);
	workers_shut_down();
}

/* Task 2 keeps a worker busy until the timer of task 0 has fired. */
static void spawns_beside_busy(void)
{
	explore_assert(workers_spawn(2) == 0);
	explore_assert(workers_spawn(0) == 0);
	while (polled[0] < 2) {
		sleep_until(explore_now_ns() + TICK_POLLERS_NS);
		atomic_fetch_add_relaxed(&beats, 1);
	}
	workers_shut_down();
}

/* Task 3 keeps a third one busy, or in a long poll, meanwhile. */
static void spawns_beside_busy_and_long(void)
{
	explore_assert(workers_spawn(3) == 0);
	spawns_beside_busy();
}

/* Tasks 2 and 3 keep two workers busy until the timer of task 0 has fired. The third
 * worker searches meanwhile; so none sums the counters for a drain. */
static void spawns_beside_searcher(void)
{
	for (unsigned i = 2; i <= 3; i++)
		explore_assert(workers_spawn(i) == 0);
	explore_assert(workers_spawn(0) == 0);
	while (polled[0] < 2) {
		sleep_until(explore_now_ns() + TICK_POLLERS_NS);
		atomic_fetch_add_relaxed(&beats, 1);
	}
	workers_join(0);
	workers_join(2);
	workers_join(3);
	pool_stop(&pool);
}

/* Another task comes, which may wake the sentinel and keeps a worker. */
static void spawns_and_wakes(void)
{
	explore_assert(workers_spawn(0) == 0);
	explore_assert(workers_spawn(3) == 0);
	workers_shut_down();
}

/* Once more when the sentinel has retired. */
static void spawns_again_late(void)
{
	explore_assert(workers_spawn(0) == 0);
	workers_join(0);
	sleep_until(explore_now_ns() + LATE_NS);
	explore_assert(workers_spawn(2) == 0);
	workers_shut_down();
}

static void spawns_late(void)
{
	futex_wait_until(&never, 0, LATE_NS);
	spawns();
}

/* Another timer of the first wheel, which is far, is looked at and taken back
 * while workers fire: its lock is held. */
static void spawns_and_cancels(void)
{
	explore_assert(workers_spawn(0) == 0);
	while (polled[0] == 0)
		cpu_relax();
	explore_assert(timers_queued(&timer));
	explore_assert(timers_cancel(&timer));
	workers_shut_down();
}

/* With a timer pending, the sentinel does not retire. */
static void spawns_beside_timer(uint64_t time_ns)
{
	explore_assert(workers_spawn(2) == 0);
	sleep_until(time_ns);
	explore_assert(workers_spawn(0) == 0);
	workers_join(0);
	pool_stop(&pool); /* task 2 stays behind */
}

static void spawns_late_beside_timer(void)
{
	spawns_beside_timer(LATE_NS);
}

/* While the sentinel retires, or gives up looking at the slots. */
static void spawns_at_last_look(void)
{
	sleep_until(QUIET_NS);
	spawns();
}

static void spawns_at_last_look_beside_timer(void)
{
	spawns_beside_timer(QUIET_NS);
}

/* ---- pollers ------------------------------------------------------------ */

/* One a worker, in which it sleeps until the deadline. */
struct source {
	struct skua_poller poller; /* first: a poller is its source */
	atomic_u32 unparked;
};

static struct source sources[WORKERS];

static int source_poll(struct skua_poller *self)
{
	(void)self;
	return 0;
}

static void source_park(struct skua_poller *self, uint64_t deadline_ns)
{
	struct source *it = (struct source *)self;

	if (deadline_ns == SENTINEL_NEVER)
		futex_wait(&it->unparked, 0);
	else
		futex_wait_until(&it->unparked, 0, deadline_ns);
	atomic_exchange_acquire(&it->unparked, 0);
}

static void source_unpark(struct skua_poller *self)
{
	struct source *it = (struct source *)self;

	atomic_store_release(&it->unparked, 1);
	futex_wake(&it->unparked, 1);
}

/* ---- fixture ------------------------------------------------------------ */

static void setup(skua_task_fn first, skua_task_fn other,
		  uint64_t lifo_delay_ns)
{
	defect = NO_DEFECT;
	workers_reset(first, other, lifo_delay_ns);
	workers_place(2, 1);
	memset(&timer, 0, sizeof(timer));
	memset(timers, 0, sizeof(timers));
	memset(polled, 0, sizeof(polled));
	atomic_init(&never, 0);
	atomic_init(&beats, 0);
	far_timer = false;
	explore_watch(&pool.sentinel, sizeof(pool.sentinel));
	explore_watch(sights, sizeof(sights));
}

static void setup_lifo(void)
{
	setup(spawn_and_meet, finish, LIFO_DELAY_NS);
}

static void setup_submits(void)
{
	setup(queue_and_meet, finish, LIFO_DELAY_NS);
	pool.submit = submit;
}

static void setup_pollers(void)
{
	setup_lifo();
	for (unsigned i = 0; i < pool.worker_count; i++) {
		sources[i] =
			(struct source){ .poller = { .poll = source_poll,
						     .park = source_park,
						     .unpark =
							     source_unpark } };
		workers[i].pollers.list = &sources[i].poller;
	}
}

static void setup_timer(void)
{
	setup(wait_beside, wait_for_first, SENTINEL_NEVER);
}

static void setup_private(void)
{
	setup(spawn_and_keep, finish, SENTINEL_NEVER);
}

static void setup_in_turn(void)
{
	setup(fire_in_turn, finish, SENTINEL_NEVER);
}

static void setup_in_turn_beside_far(void)
{
	setup_in_turn();
	far_timer = true;
}

static void setup_both(void)
{
	setup(wait_for_both, wait_for_both, SENTINEL_NEVER);
}

/* Of task 2, which nobody spawns. */
static void setup_both_beside_cancel(void)
{
	setup_both();
	tasks[2].poll = finish;
	schedule_add_reference(&tasks[2]);
	explore_assert(
		timers_add(&workers[0], &timer, &tasks[2], EXPLORE_FAR_NS));
}

static void setup_timer_and_lifo(void)
{
	setup(wait_beside, wait_for_first, LIFO_DELAY_NS);
}

static void setup_far_timer(void)
{
	setup(spawn_and_meet, finish, LIFO_DELAY_NS);
	tasks[2].poll = wait_long;
}

/* A sentinel with so long a delay is never slow. */
static void setup_far_timer_long_delay(void)
{
	setup(spawn_and_meet, finish, LONG_DELAY_NS);
	tasks[2].poll = wait_long;
}

/* With a delay so long that "slow" does not come to the rescue. */
static void setup_lifo_long_delay(void)
{
	setup(spawn_and_meet, finish, LONG_DELAY_NS);
}

/* With a delay that does not double, so that no sentinel is ever slow: a worker that
 * fills its slot summons one only because none is there. */
static void setup_again(void)
{
	setup(spawn_and_meet, finish, DELAY_MAX_NS);
	tasks[2].poll = spawn_third_and_meet;
	memset(has_watched, 0, sizeof(has_watched));
}

static void setup_watches_once(void)
{
	setup_again();
	defect = WATCHES_ONCE;
}

static void setup_lifo_of_groups(void)
{
	setup_lifo();
	workers_place(2, 2);
}

static void setup_timer_of_groups(void)
{
	setup_timer();
	workers_place(2, 2);
}

static void setup_busy(void)
{
	setup_timer();
	tasks[2].poll = yield_beside_first;
}

static void setup_busy_of_groups(void)
{
	setup_busy();
	workers_place(2, 2);
}

static void setup_lifo_of_three_groups(void)
{
	setup_lifo();
	workers_place(3, 3);
}

static void setup_timer_of_three_groups(void)
{
	setup_timer();
	workers_place(3, 3);
}

static void setup_busy_of_three_groups(void)
{
	setup_busy();
	workers_place(3, 3);
}

static void setup_keeps_turn(void)
{
	setup_busy_of_three_groups();
	defect = KEEPS_TURN;
}

/* Two busy workers, and one in a long poll. */
static void setup_two_busy_of_three_groups(void)
{
	setup_busy_of_three_groups();
	tasks[3].poll = yield_beside_first;
}

static void setup_both_of_three_groups(void)
{
	setup_both();
	workers_place(3, 3);
}

static void setup_searcher_of_groups(void)
{
	setup(wait_alone, wait_for_first, LIFO_DELAY_NS);
	workers_place(3, 3);
	pool.tuning.spin_ns = EXPLORE_FAR_NS;
	pool.tuning.far_samples = 2; /* it takes tasks of other groups, too */
}

static void setup_searcher_keeps_turn(void)
{
	setup_searcher_of_groups();
	defect = SEARCHER_KEEPS_TURN;
}

static void setup_both_of_groups(void)
{
	setup_both();
	workers_place(2, 2);
}

static void setup_twice(void)
{
	setup(spawn_and_meet_twice, finish, LIFO_DELAY_NS);
}

static void setup_twice_of_three(void)
{
	setup(spawn_and_meet_twice, finish, LONG_DELAY_NS);
	workers_place(3, 1);
	tasks[3].poll = wait_for_second;
}

static void setup_own_group_alone(void)
{
	setup_busy_of_groups();
	defect = OWN_GROUP_ALONE;
}

static void setup_sees_one_group(void)
{
	setup_timer_of_groups();
	defect = SEES_ONE_GROUP;
}

static void setup_leaves_silently(void)
{
	setup_twice_of_three();
	defect = LEAVES_SILENTLY;
}

static void setup_retires_unfenced(void)
{
	setup_lifo_long_delay();
	defect = RETIRES_UNFENCED;
}

static void setup_fills_silently(void)
{
	setup_lifo();
	defect = FILLS_SILENTLY;
}

static void setup_keeps_role(void)
{
	setup_lifo();
	defect = KEEPS_ROLE;
}

static void check(void)
{
	explore_assert(polled[0] >= 1 && polled[1] == 1);
}

static void check_twice(void)
{
	explore_assert(polled[0] == 1 && polled[1] == 1 && polled[2] == 1);
}

static void check_again(void)
{
	for (unsigned i = 0; i < 4; i++)
		explore_assert(polled[i] == 1);
}

static void check_both(void)
{
	explore_assert(polled[0] == 2 && polled[1] == 2);
}

/* ---- cases -------------------------------------------------------------- */

#define FEW(EXECUTIONS)      EXPLORE_WITHIN(3, 2), .random = (EXECUTIONS)
#define MANY(EXECUTIONS)     EXPLORE_WITHIN(12, 6), .random = (EXECUTIONS)
#define WORKERS_AND(OUTSIDE) workers_run_0, workers_run_1, OUTSIDE
#define THREE_AND(OUTSIDE)   workers_run_0, workers_run_1, workers_run_2, OUTSIDE

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("lifo__few", setup_lifo, check, WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__many", setup_lifo, check, WORKERS_AND(spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("lifo__retired__few", setup_lifo, check,
		       WORKERS_AND(spawns_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__retired__many", setup_lifo, check,
		       WORKERS_AND(spawns_late)),
	  MANY(15000) },
	{ EXPLORE_PASS("lifo__retired__long_delay", setup_lifo_long_delay,
		       check, WORKERS_AND(spawns_late)),
	  EXPLORE_WITHIN(1, 20), .random = 15000 },
	{ EXPLORE_PASS("submits__few", setup_submits, check,
		       WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("submits__retired__few", setup_submits, check,
		       WORKERS_AND(spawns_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("pollers__few", setup_pollers, check,
		       WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("pollers__retired__few", setup_pollers, check,
		       WORKERS_AND(spawns_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("timer__few", setup_timer, check, WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("timer__many", setup_timer, check, WORKERS_AND(spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("private__earlier_timers", setup_private, check,
		       WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("timers_in_turn__few", setup_in_turn, NULL,
		       WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("timers_in_turn__beside_far__few",
		       setup_in_turn_beside_far, NULL, WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("timers_of_two__few", setup_both, check_both,
		       WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("timers_of_two__many", setup_both, check_both,
		       WORKERS_AND(spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("timers_of_two__beside_cancel__few",
		       setup_both_beside_cancel, check_both,
		       WORKERS_AND(spawns_and_cancels)),
	  FEW(15000) },
	{ EXPLORE_PASS("timers_of_two__beside_cancel__many",
		       setup_both_beside_cancel, check_both,
		       WORKERS_AND(spawns_and_cancels)),
	  MANY(15000) },
	{ EXPLORE_PASS("timer_and_lifo__few", setup_timer_and_lifo, check,
		       WORKERS_AND(spawns_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("timer_and_lifo__many", setup_timer_and_lifo, check,
		       WORKERS_AND(spawns_late)),
	  MANY(15000) },
	{ EXPLORE_PASS("lifo__far_timer__few", setup_far_timer, check,
		       WORKERS_AND(spawns_late_beside_timer)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__retires_at_last_look__few", setup_lifo_long_delay,
		       check, WORKERS_AND(spawns_at_last_look)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__far_timer__last_look__few",
		       setup_far_timer_long_delay, check,
		       WORKERS_AND(spawns_at_last_look_beside_timer)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__far_timer__long_delay",
		       setup_far_timer_long_delay, check,
		       WORKERS_AND(spawns_late_beside_timer)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__two_groups__few", setup_lifo_of_groups, check,
		       WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__two_groups__retired__few", setup_lifo_of_groups,
		       check, WORKERS_AND(spawns_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("timer__two_groups__few", setup_timer_of_groups, check,
		       WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("timer__two_groups__many", setup_timer_of_groups, check,
		       WORKERS_AND(spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("timer__busy__few", setup_busy, NULL,
		       WORKERS_AND(spawns_beside_busy)),
	  FEW(15000) },
	{ EXPLORE_PASS("timer__two_groups__busy__few", setup_busy_of_groups,
		       NULL, WORKERS_AND(spawns_beside_busy)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__three_groups__few", setup_lifo_of_three_groups,
		       check, THREE_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__three_groups__retired__few",
		       setup_lifo_of_three_groups, check,
		       THREE_AND(spawns_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("timer__three_groups__few", setup_timer_of_three_groups,
		       check, THREE_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("timer__three_groups__many", setup_timer_of_three_groups,
		       check, THREE_AND(spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("timer__three_groups__busy__few",
		       setup_busy_of_three_groups, NULL,
		       THREE_AND(spawns_beside_busy_and_long)),
	  FEW(15000) },
	{ EXPLORE_PASS("timer__three_groups__busy__many",
		       setup_busy_of_three_groups, NULL,
		       THREE_AND(spawns_beside_busy_and_long)),
	  MANY(15000) },
	{ EXPLORE_PASS("timer__three_groups__two_busy__few",
		       setup_two_busy_of_three_groups, NULL,
		       THREE_AND(spawns_beside_busy_and_long)),
	  FEW(15000) },
	{ EXPLORE_PASS("timers_of_two__three_groups__few",
		       setup_both_of_three_groups, check_both,
		       THREE_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("timer__three_groups__searcher__few",
		       setup_searcher_of_groups, NULL,
		       THREE_AND(spawns_beside_searcher)),
	  FEW(15000) },
	{ EXPLORE_PASS("timer__three_groups__searcher__many",
		       setup_searcher_of_groups, NULL,
		       THREE_AND(spawns_beside_searcher)),
	  MANY(15000) },
	{ EXPLORE_PASS("timers_of_two__two_groups__few", setup_both_of_groups,
		       check_both, WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("timers_of_two__two_groups__many", setup_both_of_groups,
		       check_both, WORKERS_AND(spawns)),
	  MANY(15000) },
	{ EXPLORE_PASS("lifo__again__retired__few", setup_again, check_again,
		       WORKERS_AND(spawns_again_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__twice__few", setup_twice, check_twice,
		       WORKERS_AND(spawns)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__twice__retired__few", setup_twice, check_twice,
		       WORKERS_AND(spawns_late)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__twice__woken__few", setup_twice_of_three,
		       check_twice, THREE_AND(spawns_and_wakes)),
	  FEW(15000) },
	{ EXPLORE_PASS("lifo__twice__woken__many", setup_twice_of_three,
		       check_twice, THREE_AND(spawns_and_wakes)),
	  MANY(15000) },

	{ EXPLORE_BUG("timers_own_group_alone", "livelock",
		      setup_own_group_alone, NULL,
		      WORKERS_AND(spawns_beside_busy)),
	  FEW(100000) },
	{ EXPLORE_BUG("timers_keep_turn", "livelock", setup_keeps_turn, NULL,
		      THREE_AND(spawns_beside_busy_and_long)),
	  FEW(100000) },
	{ EXPLORE_BUG("timers_searcher_keeps_turn", "livelock",
		      setup_searcher_keeps_turn, NULL,
		      THREE_AND(spawns_beside_searcher)),
	  FEW(100000) },
	{ EXPLORE_BUG("timers_sentinel_sees_one_group", "livelock",
		      setup_sees_one_group, check, WORKERS_AND(spawns)),
	  FEW(100000) },
	{ EXPLORE_BUG("idle_I7__watches_once", "livelock", setup_watches_once,
		      check_again, WORKERS_AND(spawns_again_late)),
	  FEW(100000) },
	{ EXPLORE_BUG("idle_I7__leaves_silently", "livelock",
		      setup_leaves_silently, check_twice,
		      THREE_AND(spawns_and_wakes)),
	  FEW(100000) },
	{ EXPLORE_BUG("idle_I7__retires_unfenced", "livelock",
		      setup_retires_unfenced, check, WORKERS_AND(spawns_late)),
	  EXPLORE_WITHIN(1, 20), .random = 500000 },
	{ EXPLORE_BUG("idle_I6__fills_silently", "livelock",
		      setup_fills_silently, check, WORKERS_AND(spawns_late)) },
	{ EXPLORE_BUG("sentinel_keeps_role", "livelock", setup_keeps_role,
		      check, WORKERS_AND(spawns)),
	  FEW(100000) },
};

EXPLORE_MAIN(cases)
