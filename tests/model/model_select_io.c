/* SPDX-License-Identifier: MIT */
/**
 * model_select_io.c - threads that wait until a descriptor is ready, or for an event
 *
 * The event of the descriptor, the set of the event, a deadline and a close come at any time.
 * One case takes effect. If it is not the descriptor's, the direction is free afterwards, and
 * the next read finds the byte that was announced: no other event follows. The select and its
 * cases are freed when the call returns. tests/model/mutants.toml has broken variants.
 */
#define WAITER_CALLS 6
#include "tests/model/waiter.h"
#include "core/sync/event.c"
/* Files have their own names for the same things. */
#define begin  attach_begin
#define verbs  call_verbs
#define finish attach_finish
#define event  attach_event
#include "tests/model/io_world.h"
#undef begin
#undef verbs
#undef finish
#undef event

static inline int model_ready(int events)
{
	uint64_t word = atomic_fetch_add_acq_rel(&queue, 0);

	explore_assert(explore_read(open_fd) == 1);
	explore_assert(events & POLLIN);
	return OF(word) ? POLLIN : 0;
}

#define kernel_ready(fd, events) ((void)(fd), model_ready(events))
#include "core/io/ready.c"
#include "core/select/select.c"

static struct skua_event event;
static struct skua_select_case cases[2];
static unsigned told; /* plain: written before the event is set */
static int taken;     /* the index of the case that took effect; -ETIMEDOUT */

static void setup(void)
{
	world_reset();
	world_empty();
	explore_watch(&the_slot, sizeof(the_slot));
	explore_watch(cases, sizeof(cases));
	event = (struct skua_event)SKUA_EVENT_INIT;
	memset(cases, 0, sizeof(cases));
	told = 0;
	taken = -1;
}

/* Select the event, or the descriptor. @first: the index of the event's case. The cases are
 * gone when the call has returned. */
static int select_one(unsigned first, uint64_t deadline_ns)
{
	struct skua_io handle = io;
	int code = 0;

	waiter_begin(0);
	cases[first] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_EVENT, &event, NULL, 0);
	cases[!first] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_IO, &handle, NULL, POLLIN);
	taken = skua_select(cases, 2, SKUA_SELECT_IN_ORDER, deadline_ns);
	explore_assert(taken >= 0 ||
		       (taken == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	if (taken >= 0)
		code = cases[taken].code;
	explore_free(cases, sizeof(cases));
	if (taken == (int)first)
		explore_assert(code == 0 && explore_read(told) == 1);
	return code;
}

/* Then read what was announced, or will be. */
static void select_and_read(unsigned first, uint64_t deadline_ns)
{
	int code = select_one(first, deadline_ns);

	explore_assert(taken != (int)!first || code == POLLIN);
	explore_assert(read_by(0, 2, SKUA_FOREVER_NS) == 1);
	explore_assert(explore_read(letter) == 1);
}

static void event_or_bytes(void)
{
	select_and_read(0, SKUA_FOREVER_NS);
}

static void bytes_or_event(void)
{
	select_and_read(1, SKUA_FOREVER_NS);
}

static void bytes_soon(void)
{
	select_and_read(0, SOON_NS);
}

static void event_or_close(void)
{
	int code = select_one(0, SKUA_FOREVER_NS);

	explore_assert(taken == 0 || code == POLLIN || code == -EBADF);
}

static void close_soon(void)
{
	int code = select_one(0, SOON_NS);

	explore_assert(taken != 1 || code == POLLIN || code == -EBADF);
}

static void sets(void)
{
	waiter_begin(3);
	explore_write(told, 1);
	explore_assert(skua_event_set(&event) == 0);
}

static void closes_it(void)
{
	explore_assert(skua_io_close(io) == 0);
}

static void all_got(void)
{
	uint64_t word = atomic_load_relaxed(&the_slot.word[IO_READ]);

	explore_assert(!event.waiters.first);
	explore_assert(got == sent && OF(atomic_load_relaxed(&queue)) == 0);
	explore_assert((word & IO_OWNER) == IO_FREE);
	explore_assert(atomic_load_relaxed(&the_slot.holders) == (IO_LIVE | 3));
}

static void closed_once(void)
{
	explore_assert(!event.waiters.first);
	explore_assert(closes == 1 && open_fd == 0);
	explore_assert(atomic_load_relaxed(&the_slot.holders) == 0);
}

static const struct explore_case all_cases[] = {
	{ EXPLORE_PASS("bytes", setup, all_got, sends, event_or_bytes, reaps),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("event_or_bytes", setup, all_got, sends, event_or_bytes,
		       reaps, sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("bytes_or_event", setup, all_got, sends, bytes_or_event,
		       reaps, sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("deadline", setup, all_got, sends, bytes_soon, reaps),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close", setup, closed_once, event_or_close, closes_it,
		       sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__event", setup, closed_once, sends,
		       event_or_close, reaps, closes_it),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__deadline", setup, closed_once, close_soon,
		       closes_it),
	  EXPLORE_WITHIN(3, 1) },
};

EXPLORE_MAIN(all_cases)
