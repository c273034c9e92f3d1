/* SPDX-License-Identifier: MIT */
/**
 * fuzz_timer_wheel.c - a timer wheel beside an unordered array
 *
 * The model looks at all its timers each time: who is due, who is first. It
 * holds the wheel to what timer_wheel.h promises: nothing early, nothing lost,
 * the order by deadline and by adding, and what timer_wheel_next() may say. The
 * invariants T1 to T6 are checked as well, after each step.
 */
#include <string.h>

#include "core/timer_wheel.h"
#include "tests/fuzz/fuzz.h"

#define MAX_INPUT 512u
/* More than move ahead in one call, so that a slot moves in parts. */
#define TIMERS    (TIMER_WHEEL_AHEAD + 128)
#define CANCELLED 64u
#define SLOT_DUE  (TIMER_WHEEL_SLOTS_TOTAL + 1)

struct model_timer {
	bool queued;
	bool late; /* had passed when it was added, amid a hand-out */
	uint64_t deadline_ns;
	uint64_t serial;
};

static struct timer_wheel wheel;
static struct timer_entry entries[TIMERS];
static struct model_timer timers[TIMERS];
static uint64_t now_ns;
static uint64_t serial;
static bool handing_out; /* since the last expire that found nothing */
/* Deadlines of cancelled timers, which timer_wheel_next() may still say. */
static uint64_t cancelled[CANCELLED];
static unsigned cancelled_count; /* CANCELLED: more than are known */

/* ---- the model ------------------------------------------------------------ */

static bool before(const struct model_timer *a, const struct model_timer *b)
{
	if (a->deadline_ns != b->deadline_ns)
		return a->deadline_ns < b->deadline_ns;
	return a->serial < b->serial;
}

static uint64_t model_earliest(void)
{
	uint64_t earliest = UINT64_MAX;

	for (unsigned i = 0; i < TIMERS; i++) {
		if (timers[i].queued && timers[i].deadline_ns < earliest)
			earliest = timers[i].deadline_ns;
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

static uint64_t width_bits(unsigned level)
{
	return TIMER_WHEEL_BASE_BITS + level * TIMER_WHEEL_LEVEL_BITS;
}

/* T2 and T3 of one timer in a slot. */
static void check_entry(const struct timer_entry *entry, unsigned at)
{
	unsigned level = at / TIMER_WHEEL_SLOTS;
	uint64_t cursor = wheel.cursor_ns;
	uint64_t t = entry->deadline_ns > cursor ? entry->deadline_ns : cursor;
	uint64_t n = t >> width_bits(level);

	fuzz_check(entry->slot == at + 1, "slot %u, not %u", entry->slot,
		   at + 1);
	fuzz_check(n - (cursor >> width_bits(level)) < TIMER_WHEEL_SLOTS &&
			   n % TIMER_WHEEL_SLOTS == at % TIMER_WHEEL_SLOTS,
		   "T2: deadline %" PRIu64 " in slot %u, cursor %" PRIu64,
		   entry->deadline_ns, at, cursor);
	fuzz_check(wheel.slots[at].earliest_ns <= entry->deadline_ns,
		   "T3: slot %u, %" PRIu64 " before %" PRIu64, at,
		   entry->deadline_ns, wheel.slots[at].earliest_ns);
}

static uint64_t check_list(const struct timer_link *list, unsigned at)
{
	uint64_t count = 0;

	for (const struct timer_link *link = list->next; link != list;
	     link = link->next) {
		const struct timer_entry *entry =
			(const struct timer_entry *)link;

		fuzz_check(link->next->prev == link, "T6: link");
		if (at < TIMER_WHEEL_SLOTS_TOTAL)
			check_entry(entry, at);
		else
			fuzz_check(entry->slot == SLOT_DUE &&
					   entry->deadline_ns <= wheel.now_ns,
				   "T5: %" PRIu64 " at %" PRIu64,
				   entry->deadline_ns, wheel.now_ns);
		count++;
	}
	return count;
}

static void check_invariants(void)
{
	uint64_t count = check_list(&wheel.due, TIMER_WHEEL_SLOTS_TOTAL);
	uint64_t queued = 0;

	fuzz_check(wheel.cursor_ns <= wheel.now_ns, "T1");
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
	fuzz_check(wheel.count == count && count == queued,
		   "T4: %" PRIu64 " counted, %" PRIu64 " linked, %" PRIu64
		   " queued",
		   wheel.count, count, queued);
}

/* ---- steps ---------------------------------------------------------------- */

static void add(unsigned i, uint64_t deadline_ns)
{
	struct model_timer *t = &timers[i];

	if (t->queued)
		return;
	timer_wheel_add(&wheel, &entries[i], deadline_ns);
	*t = (struct model_timer){ .queued = true,
				   .late = handing_out && deadline_ns <= now_ns,
				   .deadline_ns = deadline_ns,
				   .serial = serial++ };
}

static void cancel(unsigned i)
{
	struct model_timer *t = &timers[i];

	fuzz_check(timer_wheel_cancel(&wheel, &entries[i]) == t->queued,
		   "cancel of timer %u, which is%s queued", i,
		   t->queued ? "" : " not");
	if (t->queued && cancelled_count < CANCELLED)
		cancelled[cancelled_count++] = t->deadline_ns;
	t->queued = false;
}

/* Those that were there first may not be passed over. */
static void check_handed_out(unsigned handed)
{
	const struct model_timer *t = &timers[handed];

	fuzz_check(t->queued, "timer %u handed out, but it is not queued",
		   handed);
	fuzz_check(t->deadline_ns <= now_ns, "timer %u is early", handed);
	for (unsigned i = 0; i < TIMERS; i++)
		fuzz_check(!timers[i].queued || timers[i].late ||
				   !before(&timers[i], t),
			   "timer %u handed out before timer %u", handed, i);
}

/* Hand out one timer; false if there was none. */
static bool expire_one(void)
{
	const struct timer_entry *entry = timer_wheel_expire(&wheel, now_ns);
	unsigned i;

	handing_out = entry != NULL;
	if (!entry) {
		uint64_t earliest = model_earliest();

		fuzz_check(earliest > now_ns || earliest == UINT64_MAX,
			   "nothing handed out, but %" PRIu64 " is due",
			   earliest);
		fuzz_check(wheel.cursor_ns == wheel.now_ns, "T1");
		model_forget_cancelled();
		return false;
	}
	i = (unsigned)(entry - entries);
	check_handed_out(i);
	timers[i].queued = false;
	return true;
}

static void check_next(void)
{
	uint64_t next = timer_wheel_next(&wheel);
	uint64_t earliest = model_earliest();
	bool known = next == earliest || cancelled_count == CANCELLED;

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
	case 0: /* within a slot of level 0 */
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
		d &= ~UINT64_C(0) << width_bits(fuzz_below(in, 10));
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
		while (expire_one())
			;
		break;
	case 5: /* and leave the rest */
		count = fuzz_byte(in);
		while (count-- > 0 && expire_one())
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
	serial = 0;
	handing_out = false;
	cancelled_count = 0;
	now_ns = fuzz_below(&in, 2) ? fuzz_number(&in, 8) : 0;
	timer_wheel_init(&wheel, now_ns);
	/* Start close to the wrap of the serial numbers. */
	wheel.serial = UINT32_MAX - fuzz_byte(&in);

	while (fuzz_more(&in)) {
		step(&in);
		check_invariants();
	}
	while (expire_one())
		check_next();
	now_ns = UINT64_MAX;
	while (expire_one())
		;
	check_invariants();
	fuzz_check(wheel.count == 0, "%" PRIu64 " timers lost", wheel.count);
	return 0;
}
