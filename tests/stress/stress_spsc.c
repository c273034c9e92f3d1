/* SPDX-License-Identifier: MIT */
/**
 * stress_spsc.c - numbers from one sender to one receiver, which give up again and again
 *
 * Each line has an spsc, a sender and a receiver: fibers, polls and threads in all
 * combinations: in two runtimes, or, each other round, on the two workers of one, where calls
 * are light now and then. Some calls are cases of a select. Many have a deadline that is near;
 * the main thread cancels fibers, which another fiber replaces, and closes lines before all
 * was sent.
 * Checked: each number that was sent is received once, in order. A side that is not woken
 * hangs the program.
 */
#include <errno.h>
#include <skua/skua.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define KINDS    3u /* of parties */
#define LINES    (KINDS * KINDS)
#define CAPACITY 8u
#define NUMBERS  20000u /* of a line, unless it is closed before */
#define BATCH    64u

enum kind { FIBER, POLL, THREAD };

struct line;

/* A sender or a receiver. */
struct party {
	struct skua_fiber fiber; /* first: a fiber is its party */
	struct skua_task task;   /* of a poll */
	struct skua_wait wait;
	pthread_t thread;
	struct line *line;
	struct rng rng;
	uint64_t count; /* numbers sent or received */
	uint64_t number, deadline_ns;
	enum kind kind;
	bool sends;
	bool selects; /* in this call */
	struct skua_select select;
	struct skua_select_case one;
	atomic_u32 ended;
};

static struct line {
	struct skua_spsc spsc;
	uint64_t memory[SKUA_SPSC_BYTES(CAPACITY, 8) / 8];
	struct party sender, receiver;
} lines[LINES];

static struct skua_runtime *runtimes[2];
static bool together; /* in this round: both sides in one runtime */
static atomic_u64 received, given_up, cancels, closes;

/* ---- a number ------------------------------------------------------------------- */

static uint64_t near_or_never(struct rng *rng)
{
	return rng_below(rng, 4) ? SKUA_FOREVER_NS
				 : skua_now_ns() + rng_below(rng, 20000);
}

static void close_line(struct line *line)
{
	int code = skua_spsc_close(&line->spsc);

	if (code != -EALREADY)
		stress_check(code, "close");
}

/* Choose the form of the next call. */
static void choose(struct party *it)
{
	enum skua_select_kind kind =
		it->sends ? SKUA_SELECT_SPSC_SEND : SKUA_SELECT_SPSC_RECEIVE;

	it->deadline_ns = near_or_never(&it->rng);
	it->selects = rng_below(&it->rng, 4) == 0;
	it->one = (struct skua_select_case)SKUA_SELECT_CASE(
		kind, &it->line->spsc, &it->number, 0);
	it->select = (struct skua_select){ .cases = &it->one, .count = 1 };
}

static int call_select(struct party *it)
{
	int at = it->kind == POLL
			 ? skua_select_poll(&it->task, &it->select, &it->wait,
					    it->deadline_ns)
			 : skua_select(&it->one, 1, 0, it->deadline_ns);

	return at == 0 ? it->one.code : at;
}

static int call(struct party *it)
{
	struct skua_spsc *spsc = &it->line->spsc;

	if (it->sends)
		it->number = it->count;
	if (it->selects)
		return call_select(it);
	if (it->kind == POLL)
		return it->sends
			       ? skua_spsc_send_poll(&it->task, spsc,
						     &it->number, &it->wait,
						     it->deadline_ns)
			       : skua_spsc_receive_poll(&it->task, spsc,
							&it->number, &it->wait,
							it->deadline_ns);
	return it->sends
		       ? skua_spsc_send(spsc, &it->number, it->deadline_ns)
		       : skua_spsc_receive(spsc, &it->number, it->deadline_ns);
}

static void check_number(struct party *it)
{
	if (it->number != it->count)
		stress_fail("%" PRIu64 " received, not %" PRIu64, it->number,
			    it->count);
	atomic_fetch_add_relaxed(&received, 1);
}

/* After a call that did not wait. Return: does the party go on? */
static bool go_on(struct party *it, int code)
{
	if (code == -ETIMEDOUT || code == -ECANCELED) {
		atomic_fetch_add_relaxed(&given_up, 1);
		return true;
	}
	if (code == -EPIPE)
		return false;
	stress_check(code, it->sends ? "send" : "receive");
	if (!it->sends)
		check_number(it);
	it->count++;
	if (it->sends && it->count == NUMBERS)
		close_line(it->line);
	return true;
}

static void end(struct party *it)
{
	atomic_store_release(&it->ended, 1);
}

/* ---- parties -------------------------------------------------------------------- */

static void fiber_acts(struct skua_fiber *self)
{
	struct party *it = (struct party *)self;

	for (;;) {
		choose(it);
		if (!go_on(it, call(it))) {
			end(it);
			return;
		}
		if (skua_task_cancelled(&self->task))
			return;
		if (rng_below(&it->rng, BATCH) == 0)
			skua_yield();
	}
}

static void *thread_acts(void *arg)
{
	struct party *it = arg;

	do
		choose(it);
	while (go_on(it, call(it)));
	end(it);
	return NULL;
}

static struct party *party_of(struct skua_task *task)
{
	return (struct party *)((char *)task - offsetof(struct party, task));
}

static enum skua_poll poll_acts(struct skua_task *self)
{
	struct party *it = party_of(self);

	for (unsigned i = 0; i < BATCH; i++) {
		int code;

		if (!skua_wait_armed(&it->wait))
			choose(it);
		code = call(it);
		if (code == -EAGAIN && rng_below(&it->rng, 4) == 0 &&
		    skua_wait_cancel(self, &it->wait) == 0)
			continue;
		if (code == -EAGAIN)
			return SKUA_PENDING;
		if (!go_on(it, code)) {
			end(it);
			return SKUA_DONE;
		}
	}
	return SKUA_YIELD;
}

static void spawn(struct party *it, struct skua_task *task)
{
	stress_check(skua_task_spawn(runtimes[it->sends || together], task),
		     "spawn");
}

static void spawn_fiber(struct party *it)
{
	stress_check(skua_fiber_init(&it->fiber, fiber_acts, 0), "fiber_init");
	spawn(it, &it->fiber.task);
}

static void start(struct line *line, struct party *it, bool sends,
		  enum kind kind)
{
	struct rng rng = it->rng;

	*it = (struct party){
		.line = line, .sends = sends, .kind = kind, .rng = rng
	};
	if (kind == FIBER)
		spawn_fiber(it);
	if (kind == POLL) {
		it->task = (struct skua_task)SKUA_TASK_INIT(poll_acts);
		spawn(it, &it->task);
	}
	if (kind == THREAD)
		stress_check(pthread_create(&it->thread, NULL, thread_acts, it),
			     "pthread_create");
}

static void join(struct party *it)
{
	if (it->kind == FIBER)
		stress_check(skua_task_join(&it->fiber.task), "join");
	if (it->kind == POLL)
		stress_check(skua_task_join(&it->task), "join");
	if (it->kind == THREAD)
		stress_check(pthread_join(it->thread, NULL), "pthread_join");
}

/* ---- the program ---------------------------------------------------------------- */

static bool has_ended(struct party *it)
{
	return atomic_load_acquire(&it->ended) != 0;
}

static bool all_ended(void)
{
	for (unsigned i = 0; i < LINES; i++)
		if (!has_ended(&lines[i].sender) ||
		    !has_ended(&lines[i].receiver))
			return false;
	return true;
}

/* Cancel a fiber; another one goes on where it was. */
static void replace(struct party *it)
{
	if (it->kind != FIBER || has_ended(it))
		return;
	skua_task_cancel(&it->fiber.task);
	join(it);
	atomic_fetch_add_relaxed(&cancels, 1);
	spawn_fiber(it);
}

static void disturb(struct rng *rng)
{
	struct line *line = &lines[rng_below(rng, LINES)];

	skua_sleep_until(skua_now_ns() + 100000);
	replace(rng_below(rng, 2) ? &line->sender : &line->receiver);
	if (rng_below(rng, 32) == 0) {
		close_line(line);
		atomic_fetch_add_relaxed(&closes, 1);
	}
}

static void run_round(struct rng *rng)
{
	together = !together;
	for (unsigned i = 0; i < LINES; i++) {
		struct line *line = &lines[i];

		stress_check(skua_spsc_init(&line->spsc, line->memory,
					    2u << rng_below(rng, 3), 8),
			     "spsc_init");
		start(line, &line->receiver, false, i / KINDS);
		start(line, &line->sender, true, i % KINDS);
	}
	while (!all_ended())
		disturb(rng);
	for (unsigned i = 0; i < LINES; i++) {
		struct line *line = &lines[i];

		join(&line->sender);
		join(&line->receiver);
		if (line->sender.count != line->receiver.count)
			stress_fail("%" PRIu64 " sent, %" PRIu64 " received",
				    line->sender.count, line->receiver.count);
	}
}

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

int main(void)
{
	uint64_t wanted = stress_ops();
	struct rng rng;

	runtimes[0] = create(1);
	runtimes[1] = create(2);
	rng_init(&rng, 1);
	for (unsigned i = 0; i < LINES; i++) {
		rng_init(&lines[i].sender.rng, 2 * i);
		rng_init(&lines[i].receiver.rng, 2 * i + 1);
	}
	while (atomic_load_relaxed(&received) < wanted)
		run_round(&rng);
	for (unsigned i = 0; i < 2; i++)
		stress_check(skua_runtime_destroy(runtimes[i]), "destroy");
	printf("%" PRIu64 " numbers, %" PRIu64 " calls given up, %" PRIu64
	       " fibers cancelled, %" PRIu64 " lines closed\n",
	       atomic_load_relaxed(&received), atomic_load_relaxed(&given_up),
	       atomic_load_relaxed(&cancels), atomic_load_relaxed(&closes));
	return 0;
}
