/* SPDX-License-Identifier: MIT */
/**
 * fuzz_timer_wheel.c - a timer wheel beside an unordered array
 *
 * The model looks at all its timers each time: which are due, which is first. It
 * holds the wheel to what timer_wheel.h promises: nothing early, nothing lost,
 * the order by grain, how much is done in one call, and what
 * timer_wheel_next() may say. The invariants T1 to T5 are checked as well,
 * after each step.
 */
#include <string.h>

#include "core/queue/timer_wheel.h"
#include "tests/fuzz/fuzz.h"

#define MAX_INPUT 512u
/* More than move in one call, so that a slot moves in parts. */
#define TIMERS    (TIMER_WHEEL_MOVES + 128)
#define CANCELLED 64u
#define MAX_DUE   8u /* are handed out in one call */

struct model_timer {
	bool queued;
	uint64_t deadline_ns;
	uint64_t due_ns; /* rounded up, and not before it was added */
};

static struct timer_wheel wheel;
static struct timer_slot slots[TIMER_WHEEL_SLOTS_TOTAL];
static struct timer_entry entries[TIMERS];
static struct model_timer timers[TIMERS];
static uint64_t now_ns;
static uint64_t seen_ns; /* now_ns at the last expire */
static bool left;        /* more to do, by that */
/* Times of cancelled timers, which timer_wheel_next() may still say. */
static uint64_t cancelled[CANCELLED];
static unsigned cancelled_count; /* CANCELLED: more than are known */

/* ---- the model ------------------------------------------------------------ */

/* Up to a multiple of 256, and to the end of time from the last of them. */
static uint64_t round_up(uint64_t t_ns)
{
	return t_ns > UINT64_MAX - 511 ? UINT64_MAX
				       : (t_ns + 255) & ~UINT64_C(255);
}

/* A time that counts as @t_ns for what is due. */
static uint64_t round_down(uint64_t t_ns)
{
	if (t_ns == UINT64_MAX)
		return t_ns;
	t_ns &= ~UINT64_C(255);
	return t_ns > UINT64_MAX - 511 ? UINT64_MAX - 511 : t_ns;
}

static uint64_t model_earliest(void)
{
	uint64_t earliest = UINT64_MAX;

	for (unsigned i = 0; i < TIMERS; i++) {
		if (timers[i].queued && timers[i].due_ns < earliest)
			earliest = timers[i].due_ns;
	}
	return earliest;
}

static void model_forget_cancelled(void)
{
	unsigned left = 0;

	if (cancelled_count == CANCELLED)
		return;
	for (unsigned i = 0; i < cancelled_count; i++) {
		if (cancelled[i] > now_ns)
			cancelled[left++] = cancelled[i];
	}
	cancelled_count = left;
}

/* ---- invariants ----------------------------------------------------------- */

/* The grain of a multiple of 256, or of the end of time. */
static uint64_t grain_of(uint64_t t_ns)
{
	return t_ns >> TIMER_WHEEL_GRAIN_BITS;
}

/* T2 and T3 of one timer in a slot. */
static void check_entry(const struct timer_entry *entry, unsigned at)
{
	unsigned bits = at / TIMER_WHEEL_SLOTS * TIMER_WHEEL_LEVEL_BITS;
	uint64_t cursor = wheel.cursor;
	uint64_t n = entry->grain >> bits;

	fuzz_check(entry->slot == at + 1, "slot %u, not %u", entry->slot,
		   at + 1);
	fuzz_check(entry->grain == grain_of(timers[entry - entries].due_ns),
		   "grain %" PRIu64 " of timer %td", entry->grain,
		   entry - entries);
	fuzz_check(n - (cursor >> bits) < TIMER_WHEEL_SLOTS &&
			   n % TIMER_WHEEL_SLOTS == at % TIMER_WHEEL_SLOTS,
		   "T2: grain %" PRIu64 " in slot %u, cursor %" PRIu64,
		   entry->grain, at, cursor);
	fuzz_check(cursor <= wheel.slots[at].earliest &&
			   wheel.slots[at].earliest <= entry->grain,
		   "T3: slot %u, %" PRIu64 " before %" PRIu64, at, entry->grain,
		   wheel.slots[at].earliest);
}

static uint64_t check_list(const struct timer_link *list, unsigned at)
{
	uint64_t count = 0;

	/* The list of a slot that was never used is not even empty. */
	for (const struct timer_link *link = list->next; link && link != list;
	     link = link->next) {
		const struct timer_entry *entry =
			(const struct timer_entry *)link;

		fuzz_check(link->next->prev == link, "T5: link");
		check_entry(entry, at);
		count++;
	}
	return count;
}

static void check_invariants(void)
{
	uint64_t count = 0;
	uint64_t queued = 0;

	fuzz_check(wheel.cursor <= wheel.now, "T1");
	for (unsigned at = 0; at < TIMER_WHEEL_SLOTS_TOTAL; at++) {
		uint64_t here = check_list(&wheel.slots[at].list, at);
		uint64_t word = wheel.occupied[at / TIMER_WHEEL_SLOTS];

		fuzz_check((word >> at % TIMER_WHEEL_SLOTS & 1) == (here > 0),
			   "T4: slot %u has %" PRIu64, at, here);
		count += here;
	}
	for (unsigned i = 0; i < TIMERS; i++) {
		fuzz_check(timer_entry_queued(&entries[i]) == timers[i].queued,
			   "timer %u", i);
		queued += timers[i].queued;
	}
	fuzz_check(count == queued,
		   "T5: %" PRIu64 " linked, %" PRIu64 " queued", count, queued);
}

/* ---- steps ---------------------------------------------------------------- */

static void add(unsigned i, uint64_t deadline_ns)
{
	struct model_timer *t = &timers[i];
	uint64_t due_ns = round_up(deadline_ns);

	if (t->queued)
		return;
	timer_wheel_add(&wheel, &entries[i], deadline_ns);
	if (due_ns < round_down(seen_ns))
		due_ns = round_down(seen_ns);
	*t = (struct model_timer){ .queued = true,
				   .deadline_ns = deadline_ns,
				   .due_ns = due_ns };
}

static void cancel(unsigned i)
{
	struct model_timer *t = &timers[i];

	fuzz_check(timer_wheel_cancel(&wheel, &entries[i]) == t->queued,
		   "cancel of timer %u, which is%s queued", i,
		   t->queued ? "" : " not");
	if (t->queued && cancelled_count < CANCELLED)
		cancelled[cancelled_count++] = t->due_ns;
	t->queued = false;
}

/* It is due, and none is due earlier. */
static void handed_out(const struct timer_entry *entry)
{
	struct model_timer *t = &timers[entry - entries];

	fuzz_check(t->queued, "timer %td handed out, but it is not queued",
		   entry - entries);
	fuzz_check(t->due_ns <= round_down(now_ns), "timer %td is early",
		   entry - entries);
	fuzz_check(t->due_ns == model_earliest(),
		   "timer %td handed out before its time", entry - entries);
	t->queued = false;
}

/* Where the timers are; how many are elsewhere than in the last call. */
static unsigned touched(uint32_t *slots)
{
	unsigned count = 0;

	for (unsigned i = 0; i < TIMERS; i++) {
		count += slots[i] != entries[i].slot;
		slots[i] = entries[i].slot;
	}
	return count;
}

/* One call that hands out up to @most; false if it says that it was the last
 * one. */
static bool expire(unsigned most)
{
	static uint32_t slots[TIMERS];
	struct timer_entry *due[MAX_DUE];
	bool more;
	unsigned count;

	touched(slots);
	seen_ns = now_ns;
	count = timer_wheel_expire(&wheel, now_ns, due, most, &more);
	fuzz_check(count <= most && touched(slots) <= TIMER_WHEEL_MOVES + most,
		   "more than it should do in a call");
	for (unsigned i = 0; i < count; i++)
		handed_out(due[i]);
	left = more;
	if (more)
		return true;
	fuzz_check(model_earliest() > round_down(now_ns) ||
			   model_earliest() == UINT64_MAX,
		   "nothing handed out, but %" PRIu64 " is due",
		   model_earliest());
	fuzz_check(wheel.cursor == wheel.now, "T1");
	model_forget_cancelled();
	return false;
}

static void check_next(void)
{
	uint64_t next = timer_wheel_next(&wheel);
	uint64_t earliest = model_earliest();
	bool known = next == earliest || cancelled_count == CANCELLED ||
		     (left && next <= seen_ns);

	if (seen_ns == UINT64_MAX) {
		bool any = false;

		for (unsigned i = 0; i < TIMERS; i++)
			any |= timers[i].queued;
		fuzz_check(next == (any ? 0 : UINT64_MAX), "next is %" PRIu64,
			   next);
		return;
	}
	for (unsigned i = 0; i < cancelled_count; i++)
		known |= cancelled[i] == next;
	fuzz_check(next <= earliest && known,
		   "next is %" PRIu64 ", the earliest %" PRIu64, next,
		   earliest);
}

/* ---- the program ---------------------------------------------------------- */

/* A distance of any size: up to 16 bits, at any place. */
static uint64_t distance(struct fuzz_input *in)
{
	uint64_t bits = fuzz_number(in, 2);

	return bits << fuzz_below(in, 64);
}

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static uint64_t deadline(struct fuzz_input *in)
{
	uint64_t d;

	switch (fuzz_below(in, 8)) {
	case 0: /* within a slot of level 1 */
		return saturating_add(now_ns, fuzz_number(in, 2) >> 3);
	case 1:
		return fuzz_number(in, 8);
	case 2: /* the same as another one's */
		return timers[fuzz_byte(in)].deadline_ns;
	case 3: /* passed */
		d = distance(in);
		return d > now_ns ? 0 : now_ns - d;
	case 4: /* where a slot begins, or 1 ns before */
		d = saturating_add(now_ns, distance(in));
		d &= ~UINT64_C(255)
		     << TIMER_WHEEL_LEVEL_BITS * fuzz_below(in, 11);
		return d - (d > 0 && fuzz_below(in, 2));
	case 5:
		return UINT64_MAX;
	default:
		return saturating_add(now_ns, distance(in));
	}
}

/* Many at once, at equal distances. */
static void add_many(struct fuzz_input *in)
{
	uint64_t at = deadline(in);
	uint64_t step = distance(in);
	unsigned count = 2 * fuzz_byte(in);

	for (unsigned i = 0; i < TIMERS && count > 0; i++) {
		if (timers[i].queued)
			continue;
		add(i, at);
		at = saturating_add(at, step);
		count--;
	}
}

static void move_clock(struct fuzz_input *in)
{
	uint64_t to;

	switch (fuzz_below(in, 4)) {
	case 0:
		to = timer_wheel_next(&wheel);
		break;
	case 1:
		to = timer_wheel_next(&wheel);
		to -= to > 0;
		break;
	default:
		to = saturating_add(now_ns, distance(in));
	}
	/* A clock does not get to the end of time, but all timers may be made
	 * to fire. */
	if (to == UINT64_MAX && fuzz_below(in, 4) != 0)
		return;
	if (to > now_ns)
		now_ns = to;
}

static void step(struct fuzz_input *in)
{
	unsigned count;

	switch (fuzz_below(in, 8)) {
	case 0:
	case 1:
		count = fuzz_byte(in);
		add(count, deadline(in));
		break;
	case 2:
		cancel(fuzz_byte(in));
		break;
	case 3:
		move_clock(in);
		break;
	case 4:
		while (expire(MAX_DUE))
			;
		break;
	case 5: /* and leave the rest */
		count = fuzz_byte(in);
		while (count-- > 0 && expire(1))
			;
		break;
	case 6:
		add_many(in);
		break;
	default:
		check_next();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };

	if (size > MAX_INPUT)
		return -1; /* longer ones say nothing new */
	memset(entries, 0, sizeof(entries));
	memset(timers, 0, sizeof(timers));
	cancelled_count = 0;
	left = false;
	now_ns = fuzz_below(&in, 2) ? fuzz_number(&in, 8) : 0;
	seen_ns = now_ns;
	memset(slots, 0, sizeof(slots));
	timer_wheel_init(&wheel, slots, now_ns);

	while (fuzz_more(&in)) {
		step(&in);
		check_invariants();
	}
	while (expire(1))
		check_next();
	now_ns = UINT64_MAX;
	while (expire(MAX_DUE))
		;
	check_invariants();
	fuzz_check(model_earliest() == UINT64_MAX, "timers lost");
	return 0;
}
